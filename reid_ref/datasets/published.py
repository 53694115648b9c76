"""Figures that others published: what was printed, where, and whether any ranking can have it.

Aim: a printed Rank-1 or mAP can be looked up with its evaluator, and put to the test by
`reid_ref.analysis.validate`.

Conventions: figures are percent and kept as text, because the number of printed decimals
matters. Nothing is corrected: a figure that cannot be right keeps its digits, and its
`note` gives the reason. Rank-k over N queries is k/N; if N is known that was checked.

Source: `published.csv`; each row names its repository, file and commit. The Rank-1
and mAP of every row from a document were found again in that file at that commit; of an
image they were read by eye.

Bounds of mAP: `reid_ref.datasets.map_bounds`.
"""
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from itertools import combinations
from math import ceil, floor
from typing import TypeAlias

import numpy as np

from reid_ref.arrays import InputError, Integers, check_choice, errors_at
from reid_ref.arrays.value import Value
from reid_ref.datasets.benchmarks import BENCHMARKS, Benchmark, benchmark_named, folded
from reid_ref.datasets.fingerprints import FINGERPRINTS, good_and_same_camera, good_and_wrong
from reid_ref.disk import rows_of_table
from reid_ref.datasets.map_bounds import RULES, map_bounds
from reid_ref.labels import JUNK, Labels
from reid_ref.measures import measure

_NAMED = re.compile(r"(?:[\w@-]+=[0-9.%]+,?)+")
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)(%?)")


@dataclass(frozen=True)
class Figure:
    """What was printed, in percent, with its decimals; None was not printed.

    A number over 100 is read, too: it was printed, and is impossible.

    Parameters
    ----------
    rank1, mAP : Decimal or None
    others : tuple of (str, Decimal)
        Further numbers by the names of their measures, such as Rank-5 and mINP.
    """

    rank1: Decimal | None
    mAP: Decimal | None
    others: tuple[tuple[str, Decimal], ...] = ()

    def numbers(self) -> dict[str, Decimal]:
        """Return what was printed, by the names of measures."""
        named = [("Rank-1", self.rank1), ("mAP", self.mAP), *self.others]
        return {name: value for name, value in named if value is not None}

    @property
    def over(self) -> str:
        """What is over 100 percent; empty if nothing is."""
        return ", ".join(f"{name} {value}" for name, value in self.numbers().items()
                         if value > 100)

    def ranks(self) -> dict[int, Decimal]:
        """Return each Rank-k that was printed, by k."""
        return {int(name[5:]): value for name, value in self.numbers().items()
                if name.startswith("Rank-")}

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.numbers().items())


def parse_figure(text: str) -> Figure:
    """Read RANK1/mAP in percent, as printed; either may be left out.

    Raises
    ------
    InputError
        Not that form, a decimal comma, or fractions if percent is expected.

    Examples
    --------
    >>> parse_figure("81.1/67.60").mAP
    Decimal('67.60')
    >>> parse_figure("/67.6").rank1 is None
    True
    >>> str(parse_figure("Rank-1=81.1,Rank-5=92.4,mAP=67.6"))
    'Rank-1 81.1, mAP 67.6, Rank-5 92.4'
    """
    if "=" in text:
        return _named_figure(text)
    parts = [part.strip() for part in text.split("/")]
    if len(parts) == 1 and _NUMBER.fullmatch(parts[0]):
        raise InputError("published", "RANK1/mAP", repr(text), "for Rank-1 alone write "
                         f"'{parts[0]}/', for mAP alone '/{parts[0]}'")
    if len(parts) != 2 or not any(parts):
        raise InputError("published", "RANK1/mAP in percent as printed, such as 81.1/67.6, 81.1/ "
                         "or /67.6", repr(text))
    rank1, mAP = (_percent(part, "published") if part else None for part in parts)
    return Figure(rank1, mAP)


def _named_figure(text: str) -> Figure:
    """Read NAME=NUMBER,NAME=NUMBER: names of measures, percent."""
    numbers: dict[str, Decimal] = {}
    for part in text.split(","):
        name, _, digits = (word.strip() for word in part.partition("="))
        with errors_at("published"):
            name = measure(name).name
        if name in numbers:
            raise InputError("published", f"{name} once", repr(text))
        numbers[name] = _percent(digits, "published")
    return Figure(numbers.pop("Rank-1", None), numbers.pop("mAP", None), tuple(numbers.items()))


def is_figure(text: str) -> bool:
    """Return whether a text is meant as RANK1/mAP, and not as the name of a file.

    Examples
    --------
    >>> is_figure("81.1/67,6"), is_figure("81.1/a.mat"), is_figure("mAP=67.6,Rank-5=92.4")
    (True, False, True)
    """
    pair = "/" in text and not set(text) - set("0123456789.,%/ ")
    return pair or _NAMED.fullmatch(text) is not None


def parse_percent(text: str, name: str = "published") -> Decimal:
    """Read one number of at most 100 percent; messages begin with `name`."""
    value = _percent(text, name)
    if value > 100:
        raise InputError(name, "percent, 0 to 100", text)
    return value


def _percent(text: str, name: str) -> Decimal:
    number = _NUMBER.fullmatch(text)
    if number is None:
        comma = _NUMBER.fullmatch(text.replace(",", "."))
        raise InputError(name, "a number in percent such as 81.1", repr(text),
                         f"write the decimal point as a point: {comma[0]}" if comma else "")
    value = Decimal(number[1])
    if 0 < value <= 1 and not number[2]:
        raise InputError(name, "percent", f"{text}, which looks like a fraction",
                         f"write {value.scaleb(2):f} (a figure of one percent or less: {text}%)")
    return value


def agreement(value: float, printed: Decimal) -> str:
    """Return how a number gives the printed percent.

    Parameters
    ----------
    value : float
        In [0, 1], or NaN.
    printed : Decimal
        Percent; its decimals are those printed.

    Returns
    -------
    {"rounded", "truncated", "no"}

    Examples
    --------
    >>> [agreement(x, Decimal("81.1")) for x in (0.8105, 0.8115, 0.8119, 0.8104)]
    ['rounded', 'rounded', 'truncated', 'no']
    """
    if value != value:
        return "no"
    error = Decimal(repr(float(value))) * 100 - printed
    unit = unit_of(printed)
    if abs(error) <= unit / 2:
        return "rounded"
    return "truncated" if 0 <= error < unit else "no"


def unit_of(printed: Decimal) -> Decimal:
    return Decimal(1).scaleb(int(printed.as_tuple().exponent))


#: Begins the reason why mAP has no bounds where no ranking has the printed Rank-k.
IMPOSSIBLE = "impossible: no ranking of these labels has that "
#: How a printed number follows from an exact one, the best first.
ROUNDINGS = ("rounded", "truncated", "padded", "no")
#: Programs print float32, which has no more digits of a percentage than these.
_SINGLE = Decimal("0.00001")


@dataclass(frozen=True)
class HitCounts:
    """Which numbers of hits over N queries print as a Rank-1.

    Parameters
    ----------
    n_query : int
    fewest, most : int
        The range of k whose k/N is printed so; `fewest` > `most` if there is none.
    rounding : {"rounded", "truncated", "padded", "no"}
        How k/N gives the digits; padded: only without the zeros that they end in.
    nearest : tuple of int
        The counts just below and above the printed figure.
    possible_as : Decimal or None
        Of a padded figure, the digits that `fewest` to `most` are rounded to.
    """

    n_query: int
    fewest: int
    most: int
    rounding: str
    nearest: tuple[int, int]
    possible_as: Decimal | None = None


#: What is known of a pair: the hits that print as its Rank-1, the bounds of mAP, and why there
#: are none.
Possibility: TypeAlias = tuple[tuple[HitCounts, ...], tuple["MapBounds", ...], str]


@dataclass(frozen=True, eq=False)
class MapBounds(Value):
    """The least and the greatest mAP that any ranking has with the printed Rank-k and mINP.

    Parameters
    ----------
    ap : str
        A key of `RULES`.
    rank1_queries, map_queries : int
        How many queries Rank-1 and mAP are taken over.
    fewest, most : int
        Hits at rank 1, as in `HitCounts`.
    low, high : float
        Bounds in [0, 1].
    holds : bool or None
        Whether the printed mAP lies within; None if no mAP was printed.
    """

    ap: str
    rank1_queries: int
    map_queries: int
    fewest: int
    most: int
    low: float
    high: float
    holds: bool | None


def possible(figure: Figure, query: Labels, gallery: Labels) -> Possibility:
    """Return the hits that print as its Rank-1, the bounds of mAP, and why there are none."""
    n_good, n_kept = good_and_kept(query, gallery)
    if (query.identity == JUNK).any():
        return (_hits(figure, n_good), (),
                "some queries are labelled -1, which evaluators treat differently")
    return possible_of_counts(figure, n_good, n_kept)


def _hits(figure: Figure, n_good: Integers) -> tuple[HitCounts, ...]:
    """Return the hits over all queries, and over those with a good image if they are fewer."""
    if figure.rank1 is None:
        return ()
    over = dict.fromkeys((len(n_good), int(np.count_nonzero(n_good)) or len(n_good)))
    return tuple(hit_counts(figure.rank1, n) for n in over)


def possible_of_counts(figure: Figure, n_good: Integers, n_kept: Integers) -> Possibility:
    """Return the same from each query's numbers of good and of kept images."""
    n_all = len(n_good)
    n_matched = int(np.count_nonzero(n_good)) or n_all
    bounds = []
    # Rank-k over all queries goes with mAP over all, or over those with a good image.
    pairs = [(n_all, n_all), (n_all, n_matched), (n_matched, n_matched)]
    for n_rank1, n_map in dict.fromkeys(pairs if figure.ranks() else pairs[::2]):
        counts = {k: hit_counts(value, n_rank1) for k, value in figure.ranks().items()}
        hits = {k: (count.fewest, count.most) for k, count in counts.items()}
        for rule in RULES:
            ends = map_bounds(n_good, n_kept, hits, rule, n_map < n_all, _most_inp(figure, n_all))
            if ends is not None:
                bounds.append(MapBounds(rule, n_rank1, n_map, *hits.get(1, (0, n_all)), *ends,
                                        _within(figure.mAP, *ends)))
    return _hits(figure, n_good), tuple(bounds), "" if bounds else (
        f"{_no_ranking(figure)}, if good is the query's identity on another camera")


def _no_ranking(figure: Figure) -> str:
    return IMPOSSIBLE + " and ".join(f"Rank-{k}" for k in figure.ranks())


def _most_inp(figure: Figure, n_query: int) -> float | None:
    """Return the greatest sum of INP over the queries that is printed so, if mINP is printed."""
    printed = figure.numbers().get("mINP")
    return None if printed is None else float(printed + unit_of(printed)) / 100 * n_query


def possible_on(figure: Figure, benchmark: str | None, queries: Sequence[int]) -> Possibility:
    """Return the same of a printed pair, by what is on record.

    Parameters
    ----------
    figure : Figure
    benchmark : str or None
        A key of `FINGERPRINTS` gives bounds of mAP, another name or None does not.
    queries : sequence of int
        The numbers of queries that Rank-1 may count.

    Examples
    --------
    >>> swapped = parse_figure("10.0/99.0")
    >>> [verdict_of(swapped, *possible_on(swapped, key, [3368])) for key in ("market1501", None)]
    ['no', 'rounded']
    """
    counts = () if figure.rank1 is None else tuple(hit_counts(figure.rank1, n) for n in queries)
    fitting = [n for n in queries if _are_counts(figure, n)]
    if benchmark not in FINGERPRINTS:
        return counts, (), ("the good images are not on record" if fitting or not queries
                            else _no_ranking(figure))
    good, wrong = good_and_wrong(benchmark)
    _, bounds, no_bounds = possible_of_counts(figure, good, good + wrong)
    if not bounds and {*fitting} - {len(good)}:
        no_bounds = "the good images are not on record for all protocols"
    return counts, bounds, no_bounds


def _are_counts(figure: Figure, n_query: int) -> bool:
    """Return whether each printed Rank-k is a count of so many queries, and the curve rises."""
    counts = [hit_counts(value, n_query) for _, value in sorted(figure.ranks().items())]
    return all(count.fewest <= count.most for count in counts) and all(
        count.fewest <= later.most for count, later in combinations(counts, 2))


def verdict_of(figure: Figure, counts: Sequence[HitCounts], bounds: Sequence[MapBounds],
               no_bounds: str) -> str:
    """Return how some ranking prints a figure, as far as is known; "no" if none does.

    Returns
    -------
    {"rounded", "truncated", "padded", "no"}
        As the `rounding` of `HitCounts`.
    """
    if figure.over or no_bounds.startswith(IMPOSSIBLE) or out_of_reach(bounds):
        return "no"
    ways = {hits.rounding for hits in counts} or {"rounded"}
    return next(rounding for rounding in ROUNDINGS if rounding in ways)


def out_of_reach(bounds: Sequence[MapBounds]) -> bool:
    """Return whether a printed mAP is outside of all the bounds."""
    return bool(bounds) and all(bound.holds is False for bound in bounds)


def _within(printed: Decimal | None, low: float, high: float) -> bool | None:
    if printed is None:
        return None
    unit = unit_of(printed)
    # Rounded or truncated; 1e-9 is far above the rounding of the sums.
    return bool(float(printed - unit / 2) <= 100 * high + 1e-9
                and float(printed + unit) >= 100 * low - 1e-9)


def good_and_kept(query: Labels, gallery: Labels) -> tuple[Integers, Integers]:
    """Count each query's good images, and the most that any common evaluator keeps.

    Good: the query's identity on another camera. Kept: all but the query's identity on its own
    camera. Without cameras, no image is on the query's own. Images labelled -1 are among the kept
    here, because evaluators that do not know the label keep them; this makes the worst AP a little
    worse, and is sound for both kinds.

    Returns
    -------
    n_good, n_kept : int64, shape (n_query,)

    Examples
    --------
    >>> good_and_kept(Labels([7, 9], [1, 1]), Labels([7, 7, -1, 8], [1, 2, 1, 1]))
    (array([1, 0]), array([3, 4]))
    """
    n_good, n_same = good_and_same_camera(query, gallery)
    return n_good, len(gallery) - n_same


def hit_counts(printed: Decimal, n_query: int) -> HitCounts:
    """Find the numbers of hits k whose k/N is printed so.

    Parameters
    ----------
    printed : Decimal
        Rank-1 in percent; its decimals are those printed.
    n_query : int

    Examples
    --------
    >>> hit_counts(Decimal("14.0"), 50)
    HitCounts(n_query=50, fewest=7, most=7, rounding='rounded', nearest=(7, 7), possible_as=None)
    >>> hit_counts(Decimal("89.91"), 3368).rounding
    'no'
    >>> padded = hit_counts(Decimal("89.70"), 1678)
    >>> padded.rounding, padded.possible_as, padded.fewest, padded.most
    ('padded', Decimal('89.7'), 1505, 1506)
    """
    if printed > 100:
        return HitCounts(n_query, n_query + 1, n_query, "no", (n_query, n_query))
    if unit_of(printed) < _SINGLE:
        printed = printed.quantize(_SINGLE)
    share, unit = Decimal(n_query) / 100, unit_of(printed)
    nearest = floor(printed * share), ceil(printed * share)
    fewest = ceil((printed - unit / 2) * share)
    most = min(n_query, floor((printed + unit / 2) * share))
    if fewest <= most:
        return HitCounts(n_query, max(0, fewest), most, "rounded", nearest)
    # From here on the figure itself is no k/N, so only those just above can be cut to it.
    fewest, most = nearest[1], min(n_query, ceil((printed + unit) * share) - 1)
    if fewest <= most:
        return HitCounts(n_query, fewest, most, "truncated", nearest)
    text = str(printed)
    if "." in text and text.endswith("0"):
        shorter = Decimal(text[:-1].removesuffix("."))
        hits = hit_counts(shorter, n_query)
        if hits.rounding in ("rounded", "padded"):
            return replace(hits, rounding="padded", nearest=nearest,
                           possible_as=hits.possible_as or shorter)
    return HitCounts(n_query, fewest, most, "no", nearest)


def nearest(counts: HitCounts) -> str:
    """Return the hits just below and above a printed Rank-k, each with its percentage."""
    return " and ".join(f"{k:,} ({100 * k / counts.n_query:.4f})" for k in counts.nearest)


ALL = "`reid-ref validate --dataset NAME` and reid_ref.published.load() list the known ones"
#: Fields that are a Rank-k.
RANKS = {"rank1": "Rank-1", "rank5": "Rank-5", "rank10": "Rank-10", "rank20": "Rank-20"}


@dataclass(frozen=True)
class Published:
    """One printed result; an empty text is something its source does not print or state.

    Parameters
    ----------
    key : str
        Unique name, ``dataset/method``.
    dataset, split : str
    n_query : str
        Number of queries that Rank-k counts in the code of the source, if known: those of the
        dataset's protocol but for open-reid, and for MARS without its queries in the gallery.
    method, backbone, setting, rerank : str
    protocol, part : str
        What it is made of: a name of `reid_ref.protocols.PROTOCOLS` and one of its parts, or else
        a name of `reid_ref.CONVENTIONS`. Empty if unknown.
    min_score : str
        Of person search: the least score of the detections that the code keeps; empty if
        unknown.
    rank1, rank5, rank10, rank20, mAP, mINP : str
        Percent, with the digits that were printed.
    evaluator : str
        What the code of the source does at that commit.
    label_minus_1 : {"loaded", "not loaded", ""}
        Whether images labelled -1 reached that evaluator; empty if the dataset has none, or
        if unknown.
    source_paper, year, source_repo, source_path, source_commit : str
    note : str
        What to know before trusting the digits.
    """

    key: str
    dataset: str
    split: str
    n_query: str
    method: str
    backbone: str
    setting: str
    protocol: str
    part: str
    min_score: str
    rerank: str
    rank1: str
    rank5: str
    rank10: str
    rank20: str
    mAP: str
    mINP: str
    evaluator: str
    label_minus_1: str
    source_paper: str
    year: str
    source_repo: str
    source_path: str
    source_commit: str
    note: str

    def hit_counts(self) -> dict[str, HitCounts]:
        """Return which hits over its N queries print as each Rank-k; empty if N is unknown."""
        return {name: hit_counts(Decimal(getattr(self, field)), int(self.n_query))
                for field, name in RANKS.items() if getattr(self, field) and self.n_query}


@cache
def load() -> tuple[Published, ...]:
    """Return every printed result, those of one source together.

    Examples
    --------
    >>> len(load()) > 700
    True
    """
    return tuple(Published(**row) for row in rows_of_table("datasets/published.csv"))


@cache
def counts_of(key: str) -> tuple[int, ...]:
    """Return over how many queries papers count Rank-k on a benchmark; none if unknown.

    Where fingerprints or published figures do not tell, the first protocol does, if it has the
    counts of all its parts and no protocol of the benchmark is a mean over draws. On MARS some
    codes take the queries out of the gallery, and then leave out the 140 without a good image.

    Examples
    --------
    >>> counts_of("market1501"), counts_of("cuhk03-np"), counts_of("mars"), counts_of("ltcc")
    ((3368,), (1400,), (1980, 1840), ())
    >>> counts_of("rstpreid")  # 2,000 captions, and 1,000 images
    (2000, 1000)
    """
    numbers = {benchmark.counts.query for name, benchmark in FINGERPRINTS.items()
               if name == key or name.startswith(f"{key}-")}
    rows = [row for row in load() if benchmark_named(row.dataset) == key]
    if numbers:
        numbers |= {int(row.n_query) for row in rows if row.n_query and row.protocol}
    elif len(printed := {row.n_query for row in rows}) == 1 and "" not in printed:
        numbers = set(map(int, printed))
    elif key in BENCHMARKS:
        numbers = _of_protocols(BENCHMARKS[key])
    return tuple(sorted(numbers, reverse=True))


def _of_protocols(benchmark: Benchmark) -> set[int]:
    """Return the numbers of queries of a benchmark's first protocol; none if one is not known."""
    if not benchmark.protocols or any("trials" in table for table in benchmark.protocols):
        return set()
    first = benchmark.protocols[0]
    counts, numbers = first.get("counts", {}), {images.query for images in benchmark.images}
    if "drop" in first["convention"].get("unmatched", ""):
        return set()
    for part in first.get("parts", ()):
        is_exchanged = part.get("query", {}).get("side") == "gallery"
        if not is_exchanged and part["name"] not in counts or part.get("unmatched"):
            return set()
        numbers |= {pair[1] for pair in counts.values() if is_exchanged}
    return numbers | {query for query, _ in counts.values()} if counts else set()


def by_key(key: str) -> Published:
    """Return the result of that key.

    Raises
    ------
    InputError
        No such key; the nearest ones are listed.

    Examples
    --------
    >>> row = by_key("market1501/bagtricks-resnet50")
    >>> row.rank1, row.mAP, row.source_repo
    ('94.5', '85.9', 'michuanhaohao/reid-strong-baseline')
    """
    figures = {row.key: row for row in load()}
    if key not in figures:
        text = str(key).casefold()
        near = list(dict.fromkeys([*(name for name in figures if text and text in name),
                                   *get_close_matches(text, figures, n=3)]))[:3]
        raise InputError(
            "key", got=f"unknown {key!r}",
            remedy=(f"nearest: {', '.join(near)}; " if near else "") + ALL)
    return figures[key]


def find(dataset: str = "", method: str = "", protocol: str = "") -> tuple[Published, ...]:
    """Return the results whose dataset and method contain these texts, in any case.

    Parameters
    ----------
    dataset : str
        Part of the dataset's name, without regard to hyphens and spaces, or any spelling of it.
    method : str
        Part of the method, backbone or key.
    protocol : str
        The protocol's whole name, in any case.

    Raises
    ------
    InputError
        No dataset has that in its name, or no figure is of that protocol (the known ones are
        listed), or nothing fits all.

    Examples
    --------
    >>> [row.key for row in find("market", "osnet_x0_5")][:1]
    ['market1501/osnet-x0-5']
    """
    key = benchmark_named(dataset)
    rows = [row for row in load() if folded(dataset, "") in folded(row.dataset, "")
            or key is not None and key == benchmark_named(row.dataset)]
    if not rows:
        check_choice(dataset, "dataset", dict.fromkeys(row.dataset for row in load()))
    if protocol:
        name = folded(protocol, "-")
        protocols = {folded(row.protocol, "-"): row.protocol for row in rows}
        if not protocols.get(name):
            raise InputError("protocol", "one with published figures"
                             f"{' of this dataset' if dataset else ''}: "
                             f"{', '.join(sorted(filter(None, protocols)))}", repr(protocol))
        rows = [row for row in rows if row.protocol == protocols[name]]
    wanted = method.casefold()
    rows = [row for row in rows
            if any(wanted in text.casefold() for text in (row.method, row.backbone, row.key))]
    if not rows:
        raise InputError("method", got="no published figure "
                         f"{f'on {dataset} ' if dataset else ''}has {method!r} in its method, "
                         "backbone or key", remedy=ALL)
    return tuple(rows)


def paper_figure(row: Published) -> Figure:
    """Return the figure of a row of the built-in table.

    Examples
    --------
    >>> str(paper_figure(by_key("market1501/bagtricks-resnet50")))
    'Rank-1 94.5, mAP 85.9'
    """
    rank1, mAP = (Decimal(text) if text else None for text in (row.rank1, row.mAP))
    return Figure(rank1, mAP)
