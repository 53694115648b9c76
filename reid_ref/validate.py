"""A published figure against a result file: which convention gives it, and can it be at all?

Aim: given the ranking and the printed digits, name every convention and metric that
reproduces them, show which come closest, and say when no ranking of these labels could.

Conventions: a printed figure is percent and stands for every number that rounds to it; a tie
counts for both neighbours, because which of them a program prints depends on its rounding rule
and on binary noise. Of features the ranking is judged in three ways: normalised (cosine,
Euclidean and dot then rank alike), Euclidean on raw features, dot on raw features. Cosine on raw
features is the first again.

Bounds. Rank-1 over N queries is k/N. Let a query have n good and w wrong images among its
kept ones. AP by the step rule is the mean over its good images of i/r, r being the rank of the
i-th; by the trapezoid rule the mean of (i/r + (i-1)/(r-1)) / 2, or 1 at r = 1. Both fall when any
r grows and the others stay, so over all rankings of that query

====================  =========================  =====================
first good image      best AP at ranks           worst AP at ranks
====================  =========================  =====================
at rank 1 (a hit)     1 ... n (AP 1)             1, w+2 ... w+n
later (a miss)        2 ... n+1                  w+1 ... w+n
====================  =========================  =====================

A query without a good image is a miss of AP 0; one without a wrong image is a hit of AP 1.
Queries are ranked independently of each other. With k hits the best mAP is therefore reached by
giving the hits to the k queries that gain most, best AP of a hit over best AP of a miss, and the
worst by giving them to the k that gain least, worst over worst. Both are reached by some
distance matrix: the bounds are tight. Rules that count equal distances as one group
(scikit-learn's) can leave them where there are ties.

Contents: `parse_figure` and `paper_figure`, `agreement`, `validate`; `hit_counts` and
`map_bounds` for what is possible.

Source: derived here; `tests/test_validate.py` compares with every ranking of small sets.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from reid_ref.conventions import (
    CONVENTIONS, FUNCTIONS, NOT_IN_ALL, Convention, find_conventions)
from reid_ref.metrics import average_precision_step, average_precision_trapezoid
from reid_ref.ranks import from_lists
from reid_ref.result import Labels
from reid_ref.roles import JUNK
from reid_ref.validation import InputError, Integers, each_warning_once

if TYPE_CHECKING:
    from reid_ref.files import ResultFile
    from reid_ref.published import Published
    from reid_ref.result import Result

#: How features are compared: name, metric, divided by their norm.
RANKINGS = {
    "normalised": ("euclidean", True),
    "Euclidean": ("euclidean", False),
    "dot": ("dot", False),
}

#: AP rule to the AP of each query.
RULES = {"trapezoid": average_precision_trapezoid, "step": average_precision_step}

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(%?)")


@dataclass(frozen=True)
class Figure:
    """What was printed, in percent, with its decimals; None was not printed.

    Parameters
    ----------
    rank1, mean_ap : Decimal or None
    """

    rank1: Decimal | None
    mean_ap: Decimal | None

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in (
            ("Rank-1", self.rank1), ("mAP", self.mean_ap)) if value is not None)


@dataclass(frozen=True)
class Candidate:
    """Numbers that one or several ways to evaluate agree on, to the last bit.

    Parameters
    ----------
    ways : tuple of (str, str, str)
        Ranking (a key of `RANKINGS`, or "distances"), convention and signature of each.
    rank1, mean_ap : float
        In [0, 1]; mAP may be NaN.
    match : {"rounded", "truncated", "no"}
        How the printed digits follow from the numbers, the worse of the two.
    difference : float
        The larger of the differences to the printed figures, in points of percent.
    """

    ways: tuple[tuple[str, str, str], ...]
    rank1: float
    mean_ap: float
    match: str
    difference: float


@dataclass(frozen=True)
class HitCounts:
    """Which numbers of hits over N queries print as a Rank-1.

    Parameters
    ----------
    n_query : int
    fewest, most : int
        The range of k whose k/N is printed so; `fewest` > `most` if there is none.
    rounding : {"rounded", "truncated", "no"}
        How k/N gives the digits.
    nearest : tuple of int
        The counts just below and above the printed figure.
    """

    n_query: int
    fewest: int
    most: int
    rounding: str
    nearest: tuple[int, int]


@dataclass(frozen=True)
class MapBounds:
    """The least and the greatest mAP that any ranking has with a printed Rank-1.

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


@dataclass(frozen=True)
class Validation:
    """All that is known about a printed figure and a result file.

    Parameters
    ----------
    figure : Figure
    candidates : tuple of Candidate
        Those that reproduce it first, then by difference.
    left_out : dict of str to str
        Conventions that were not tried, with the reason.
    hit_counts : tuple of HitCounts
        Over all queries, and over those with a good image where they are fewer.
    bounds : tuple of MapBounds
        Empty if Rank-1 is impossible, or if bounds are not known.
    no_bounds : str
        Why `bounds` is empty.
    """

    figure: Figure
    candidates: tuple[Candidate, ...]
    left_out: dict[str, str]
    hit_counts: tuple[HitCounts, ...]
    bounds: tuple[MapBounds, ...]
    no_bounds: str

    @property
    def reproduced(self) -> bool:
        """Some convention gives the printed digits, rounded."""
        return any(candidate.match == "rounded" for candidate in self.candidates)


def parse_figure(text: str) -> Figure:
    """Read RANK1/mAP in percent, as printed; either may be left out.

    Raises
    ------
    InputError
        Not that form, a decimal comma, over 100, or fractions where percent is expected.

    Examples
    --------
    >>> parse_figure("81.1/67.60")
    Figure(rank1=Decimal('81.1'), mean_ap=Decimal('67.60'))
    >>> parse_figure("/67.6").rank1 is None
    True
    """
    parts = [part.strip() for part in text.split("/")]
    if len(parts) == 1 and _NUMBER.fullmatch(parts[0]):
        raise InputError(f"published figure: expected RANK1/mAP, got {text!r}; for Rank-1 alone "
                         f"write '{parts[0]}/', for mAP alone '/{parts[0]}'")
    if len(parts) != 2 or not any(parts):
        raise InputError(f"published figure: expected RANK1/mAP in percent as printed, such as "
                         f"81.1/67.6, 81.1/ or /67.6, got {text!r}")
    rank1, mean_ap = (_percent(part) if part else None for part in parts)
    return Figure(rank1, mean_ap)


def paper_figure(row: Published) -> Figure:
    """Return the figure of a row of the built-in table.

    Examples
    --------
    >>> from reid_ref.published import by_key
    >>> str(paper_figure(by_key("market1501/bagtricks-resnet50")))
    'Rank-1 94.5, mAP 85.9'
    """
    return Figure(*(Decimal(text) if text else None for text in (row.rank1, row.mAP)))


def _percent(text: str) -> Decimal:
    number = _NUMBER.fullmatch(text)
    if number is None:
        comma = _NUMBER.fullmatch(text.replace(",", "."))
        raise InputError(
            f"published figure: expected a number in percent such as 81.1, got {text!r}"
            + (f"; write the decimal point as a point: {comma[0]}" if comma else ""))
    value = Decimal(number[1])
    if value > 100:
        raise InputError(f"published figure: expected percent, 0 to 100, got {text}")
    if 0 < value <= 1 and not number[2]:
        raise InputError(
            f"published figure: expected percent, got {text}, which looks like a fraction; write "
            f"{value.scaleb(2):f} (a figure of one percent or less: {text}%)")
    return value


def agreement(value: float, printed: Decimal) -> str:
    """Say how a number gives the printed percent.

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
    unit = _unit(printed)
    if abs(error) <= unit / 2:
        return "rounded"
    return "truncated" if 0 <= error < unit else "no"


def _unit(printed: Decimal) -> Decimal:
    return Decimal(1).scaleb(int(printed.as_tuple().exponent))


def validate(data: ResultFile, figure: Figure,
             conventions: Iterable[str | Convention] | None = None, *, label_minus_1: str = "",
             progress: Callable[[int], object] | None = None) -> Validation:
    """Compare a printed figure with every convention and metric, and with what is possible.

    Parameters
    ----------
    data : ResultFile
        What `reid_ref.files.read_result` returns.
    figure : Figure
    conventions : iterable of str or Convention, optional
        Default: all but those in `reid_ref.conventions.NOT_IN_ALL`, and the bare functions where
        an image is labelled -1.
    label_minus_1 : {"", "loaded", "not loaded"}
        Whether the code behind the figure loaded images labelled -1, where known (a column of
        the built-in table). "not loaded": the default leaves out whatever ranks them, and bounds
        are those without them.
    progress : callable, optional
        Called with the number of queries done after each block, for each ranking anew.

    Returns
    -------
    Validation

    Raises
    ------
    InputError
        As `reid_ref.evaluate` and `reid_ref.evaluate_distances`.

    Warns
    -----
    UserWarning
        As those, each message once.

    Examples
    --------
    >>> from reid_ref.files import ResultFile
    >>> data = ResultFile("made", Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3]), None, None,
    ...                   np.array([[.1, .2, .3]]), {})
    >>> found = validate(data, parse_figure("100/83.3"), ["matlab", "torchreid"])
    >>> found.reproduced, [way[1] for way in found.candidates[0].ways]
    (True, ['torchreid'])
    """
    query, gallery = data.query, data.gallery
    if conventions is None:
        is_there = bool((gallery.identity == JUNK).any() or (query.identity == JUNK).any())
        left_out = _left_out(is_there, label_minus_1)
        conventions = [name for name in CONVENTIONS if name not in left_out]
    else:
        left_out = {}
    if label_minus_1 == "not loaded":
        query, gallery = (labels[labels.identity != JUNK] for labels in (query, gallery))
    # NaN is not equal to itself; its text is.
    numbers: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    with each_warning_once():
        for ranking, results in _results(data, find_conventions(conventions), progress):
            for name, result in results.items():
                same = repr(float(result.cmc[0])), repr(float(result.mean_ap))
                numbers.setdefault(same, []).append((ranking, name, result.signature))
    candidates = [_candidate(float(rank1), float(mean_ap), tuple(ways), figure)
                  for (rank1, mean_ap), ways in numbers.items()]
    order = ("rounded", "truncated", "no")
    candidates.sort(key=lambda one: (order.index(one.match), one.difference))
    return Validation(figure, tuple(candidates), left_out,
                      *_possible(figure, query, gallery))


def _left_out(is_there: bool, label_minus_1: str) -> dict[str, str]:
    """Return what is not tried by default, with the reason.

    `is_there`: an image of the file is labelled -1.
    """
    left_out = dict(NOT_IN_ALL)
    if not is_there:
        return left_out
    for name, function in FUNCTIONS.items():
        if name not in NOT_IN_ALL:
            del left_out[function]
    if label_minus_1 == "not loaded":
        left_out.update({
            name: "ranks images labelled -1, which the code behind this figure does not load"
            for name, one in CONVENTIONS.items()
            if name not in left_out and "label -1" not in one.not_ranked})
    return left_out


def _results(data: ResultFile, names: list[Convention],
             progress: Callable[[int], object] | None) -> Iterator[tuple[str, dict[str, Result]]]:
    from reid_ref.evaluate import evaluate_conventions, evaluate_features

    labels = data.query, data.gallery
    if data.distances is not None:
        yield "distances", evaluate_conventions(
            data.distances, *labels, names, progress=progress)
        return
    for ranking, (metric, normalize) in RANKINGS.items():
        yield ranking, evaluate_features(
            data.query_features, data.gallery_features, *labels, names, metric, normalize,
            progress=progress)


def _candidate(rank1: float, mean_ap: float, ways: tuple[tuple[str, str, str], ...],
               figure: Figure) -> Candidate:
    pairs = [(value, printed) for value, printed in (
        (rank1, figure.rank1), (mean_ap, figure.mean_ap)) if printed is not None]
    matches = {agreement(value, printed) for value, printed in pairs}
    match = next(name for name in ("no", "truncated", "rounded") if name in matches)
    differences = [abs(100 * value - float(printed)) for value, printed in pairs]
    return Candidate(ways, rank1, mean_ap, match,
                     np.inf if np.isnan(differences).any() else max(differences))


def _possible(figure: Figure, query: Labels, gallery: Labels,
              ) -> tuple[tuple[HitCounts, ...], tuple[MapBounds, ...], str]:
    n_good, n_kept = good_and_kept(query, gallery)
    n_all, n_matched = len(query), int(np.count_nonzero(n_good))
    over = [n_all] if n_matched in (0, n_all) else [n_all, n_matched]
    counts = () if figure.rank1 is None else tuple(hit_counts(figure.rank1, n) for n in over)
    if (query.identity == JUNK).any():
        return counts, (), "some queries are labelled -1, which evaluators treat differently"
    bounds = []
    # Rank-1 over all queries goes with mAP over all, or over those with a good image.
    pairs = [(n_all, n_all), (n_all, over[-1]), (over[-1], over[-1])]
    for n_rank1, n_map in dict.fromkeys(pairs if counts else pairs[::2]):
        hits = next(((one.fewest, one.most) for one in counts if one.n_query == n_rank1),
                    (0, n_all))
        for rule in RULES:
            found = map_bounds(n_good, n_kept, hits, rule, drop=n_map < n_all)
            if found is not None:
                bounds.append(MapBounds(rule, n_rank1, n_map, *hits, *found,
                                        _within(figure.mean_ap, *found)))
    reason = ("" if bounds else "no ranking of these labels has that Rank-1, if good is the "
              "query's identity on another camera")
    return counts, tuple(bounds), reason


def _within(printed: Decimal | None, low: float, high: float) -> bool | None:
    if printed is None:
        return None
    unit = _unit(printed)
    # Rounded or truncated; 1e-9 is far above the rounding of the sums.
    return bool(float(printed - unit / 2) <= 100 * high + 1e-9
                and float(printed + unit) >= 100 * low - 1e-9)


def good_and_kept(query: Labels, gallery: Labels) -> tuple[Integers, Integers]:
    """Count each query's good images, and the most that any common evaluator keeps.

    Good: the query's identity on another camera. Kept: all but the query's identity on its own
    camera. Images labelled -1 are among the kept here, because evaluators that do not know the
    label keep them; this makes the worst AP a little worse, and is sound for both kinds.

    Returns
    -------
    n_good, n_kept : int64, shape (n_query,)

    Examples
    --------
    >>> good_and_kept(Labels([7, 9], [1, 1]), Labels([7, 7, -1, 8], [1, 2, 1, 1]))
    (array([1, 0]), array([3, 4]))
    """
    same = Counter(gallery.identity.tolist())
    own = Counter(zip(gallery.identity.tolist(), gallery.camera.tolist()))
    n_own = np.array([own[pair] for pair in zip(query.identity.tolist(), query.camera.tolist())],
                     dtype=np.int64)
    n_same = np.array([same[identity] for identity in query.identity.tolist()], dtype=np.int64)
    return n_same - n_own, len(gallery) - n_own


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
    HitCounts(n_query=50, fewest=7, most=7, rounding='rounded', nearest=(7, 7))
    >>> hit_counts(Decimal("89.91"), 3368)
    HitCounts(n_query=3368, fewest=3029, most=3028, rounding='no', nearest=(3028, 3029))
    """
    def ceiling(percent: Decimal) -> int:
        return int((percent * n_query / 100).to_integral_value(ROUND_CEILING))

    def floor(percent: Decimal) -> int:
        return int((percent * n_query / 100).to_integral_value(ROUND_FLOOR))

    unit = _unit(printed)
    nearest = floor(printed), ceiling(printed)
    fewest, most = ceiling(printed - unit / 2), min(n_query, floor(printed + unit / 2))
    if fewest <= most:
        return HitCounts(n_query, max(0, fewest), most, "rounded", nearest)
    # From here on the figure itself is no k/N, so only those just above can be cut to it.
    fewest, most = nearest[1], ceiling(printed + unit) - 1
    return HitCounts(n_query, fewest, most, "truncated" if fewest <= most else "no", nearest)


def map_bounds(n_good: Integers, n_kept: Integers, hits: tuple[int, int], rule: str,
               drop: bool = False) -> tuple[float, float] | None:
    """Least and greatest mAP over all rankings with so many hits at rank 1.

    Parameters
    ----------
    n_good, n_kept : int64, shape (n_query,)
        Good images of each query, and images that count for it, good ones included.
    hits : (int, int)
        Fewest and most queries whose first image is good.
    rule : str
        A key of `RULES`.
    drop : bool
        Leave queries without a good image out of the mean, instead of counting AP 0.

    Returns
    -------
    (float, float) or None
        None if no ranking has so many hits.

    Examples
    --------
    Two queries, each with two good images among four. One hit: at best ranks 1, 2 and
    2, 3, at worst 1, 4 and 3, 4.

    >>> import numpy as np
    >>> low, high = map_bounds(np.array([2, 2]), np.array([4, 4]), (1, 1), "step")
    >>> round(low, 4), round(high, 4)  # (3/4 + 5/12) / 2 and (1 + 7/12) / 2
    (0.5833, 0.7917)
    """
    n_wrong = n_kept - n_good
    free = (n_good > 0) & (n_wrong > 0)
    must = int(np.count_nonzero((n_good > 0) & (n_wrong == 0)))
    can = must + int(np.count_nonzero(free))
    divisor = int(np.count_nonzero(n_good)) if drop else len(n_good)
    fewest, most = max(hits[0], must), min(hits[1], can)
    if fewest > most or divisor == 0:
        return None
    n, w = n_good[free], n_wrong[free]

    def ap(ranks: Callable[[int, int], Iterable[int]]) -> Any:
        # Queries with the same counts have the same extremes.
        pairs, back = np.unique(np.stack([n, w]), axis=1, return_inverse=True)
        return RULES[rule](from_lists([list(ranks(*pair)) for pair in pairs.T.tolist()]))[
            back.reshape(-1)]

    worst_hit = ap(lambda n, w: [1, *range(w + 2, w + n + 1)])
    worst_miss = ap(lambda n, w: range(w + 1, w + n + 1))
    best_miss = ap(lambda n, w: range(2, n + 2))
    least_gain = np.sort(worst_hit - worst_miss)[:fewest - must]
    most_gain = np.sort(1 - best_miss)[::-1][:most - must]
    return (float((must + worst_miss.sum() + least_gain.sum()) / divisor),
            float((must + best_miss.sum() + most_gain.sum()) / divisor))
