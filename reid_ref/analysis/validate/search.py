"""What else would print a figure: every variation under every convention, and what that is worth.

A way is a variation, a ranking and a convention. Many ways of trying find something by accident,
so the answer begins with how often a figure of these decimals is met by none but accident.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from reid_ref.arrays import Doubles, InputError
from reid_ref.arrays.value import Value
from reid_ref.conventions import Convention
from reid_ref.datasets.published import Figure, agreement, unit_of
from reid_ref.evaluation.how import How, Progress
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.result import Result
from reid_ref.text.plain import Share
from reid_ref.variations import (
    Chain, VariedResult, every_variation, chains_of, outcomes_of, passes_of, chains_that_apply)

#: Points around a figure in which another network's might lie as well.
AROUND = 2
#: The share of accidents above which no sentence is written: docs/check_a_paper.md.
ACCIDENTS = .01
#: The share up to which what alone prints a figure is told, but not as the cause.
MANY = .15
#: Points that another decoder, resizing or machine moves the numbers of a network by. Measured on
#: five public networks and Market-1501: mAP 0.00 to 0.08, Rank-1 0.00 to 0.18; conventions lie 0.4
#: points and more apart.
MOVED = 0.2
#: Images above which re-ranking, whose time grows with their square, is not tried.
_MOST_RERANKED = 100_000


class FoundWay(NamedTuple):
    """A way that prints a figure, or is the nearest.

    Parameters
    ----------
    variations : tuple of str
    features : str
        What is ranked: a key of `Features.rankings`, or "distances".
    convention : str
    Rank_1, mAP : float
        In [0, 1]; NaN if it has none.
    signature : str
    options : str
        The command that prints it, after ``reid-ref`` and with FILE for the files; empty if no
        option does.
    words : str
        What was done.
    source : str
        Where that was seen.
    counted : int
        Queries in its mean of AP.
    """

    variations: tuple[str, ...]
    features: str
    convention: str
    Rank_1: Share
    mAP: Share
    signature: str
    options: str
    words: str
    source: str
    counted: int = 0


class Nearest(NamedTuple):
    """The way whose galleries are drawn that is nearest to a figure that none prints.

    Parameters
    ----------
    way : FoundWay
    difference : float
        As `Candidate.difference`.
    """

    way: FoundWay
    difference: float


@dataclass(frozen=True, eq=False)
class Search(Value):
    """What a search for a figure found.

    Parameters
    ----------
    tried : int
        Ways.
    different : int
        Results that differ in the numbers of the figure.
    by_accident : float
        The share of random figures that some way prints, drawn evenly from all with these
        decimals within `AROUND` points; of a Rank-1 those that are k/N. Where a convention is
        within `MOVED` points, also within these of it, and the larger share.
    ways : tuple of FoundWay
        Those that print the figure, the most frequent variations first.
    left_out : dict of str to str
        Variations that do not apply, with the reason.
    not_tried : tuple of str
        Variations that an interruption left untried.
    nearest : Nearest, optional
        None if some way prints the figure, or no gallery that is drawn is near.
    """

    tried: int
    different: int
    by_accident: Share
    ways: tuple[FoundWay, ...]
    left_out: dict[str, str]
    not_tried: tuple[str, ...] = ()
    nearest: Nearest | None = None

    @property
    def tells(self) -> bool:
        """Whether accidents are rare enough for a sentence about the ways."""
        return self.by_accident <= ACCIDENTS

    @property
    def is_alone(self) -> bool:
        """Whether one cause prints the figure, and accidents are not many."""
        return self.by_accident <= MANY and 1 == min(
            len({way.source for way in self.ways}), self.n_results)

    @property
    def n_results(self) -> int:
        """How many results print the figure; single precision makes no other."""
        return len({(round(way.Rank_1, 6), round(way.mAP, 6)) for way in self.ways})


class _Tried(NamedTuple):
    """A way, with all its numbers by name."""

    numbers: dict[str, float]
    way: FoundWay


@dataclass
class Trials:
    """The ways that were tried so far; an interrupted search leaves what it has.

    Parameters
    ----------
    names : tuple of str
        Measures of the figures.
    """

    names: tuple[str, ...]
    tried: list[_Tried] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    waiting: list[Chain] = field(default_factory=list)

    def other_than(self, plain: Mapping[tuple[str, str], Mapping[str, float]]) -> Trials:
        """Return those that differ from the numbers of conventions alone.

        `plain`: by what is ranked and the convention.
        """
        return replace(self, tried=[each for each in self.tried if any(
            repr(value) != repr(each.numbers.get(name)) for name, value in plain.get(
                (each.way.features, each.way.convention), {"": 0}).items())])

    def add(self, outcomes: Iterable[VariedResult]) -> None:
        """Keep the numbers of some ways."""
        for outcome in outcomes:
            numbers = {name: value_of(outcome.result, name)
                       for name in dict.fromkeys(("Rank-1", "mAP", *self.names))}
            chain = outcome.chain
            self.tried.append(_Tried(numbers, FoundWay(
                tuple(each.name for each in chain), outcome.ranking, outcome.convention.name,
                numbers["Rank-1"], numbers["mAP"], str(outcome.result.signature), outcome.options,
                " and ".join(each.words for each in chain),
                "; ".join(each.source for each in chain), outcome.result.counted)))


def run_search(data: ResultFile, conventions: Sequence[Convention], trials: Trials, *,
               depth: int = 1, hopeless: Mapping[str, str] = {},
               max_memory: int | str | None = None, progress: Progress | None = None) -> None:
    """Try the variations that apply to a file; `trials` grows, and `progress` counts passes.

    `hopeless`: kinds of variations that cannot print the figure, with the reason.
    """
    chains, reasons = _chains(data, depth, hopeless)
    trials.left_out.update(reasons)
    groups = passes_of(chains)
    trials.waiting[:] = chains
    how = How(max_memory=max_memory, shared=[])
    # Re-ranking takes longest, the longer the more neighbours it needs, and comes last.
    for group in sorted(groups, key=lambda group: max(each.neighbours for each in group[0])):
        _try(trials, data, group, conventions, how)
        trials.waiting[:] = [chain for chain in trials.waiting if chain not in group]
        if progress is not None:
            progress(1)


def search_pairs(data: ResultFile, conventions: Sequence[Convention], trials: Trials,
                 figure: Figure, plain: float, max_memory: int | str | None = None) -> None:
    """Try the variation nearest to a figure, but re-ranking, with each that ranks nothing anew.

    Also the two nearest of those that do not either. Only where nothing prints the figure,
    conventions alone are `plain` and more than `AROUND` points off, and it leaves less than .75 of
    that.
    """
    def off(each: _Tried) -> float:
        return _difference(each.numbers, figure)
    every, chains = every_variation(), list[Chain]()
    if plain <= AROUND or searched(trials, figure, [1]).ways:
        return
    ways: dict[str, _Tried] = {}
    for each in sorted(trials.tried, key=off):
        ways.setdefault(each.way.variations[0], each)
    bases = [name for name in ways if not every[name].rank]
    tried = {frozenset(each.way.variations) for each in trials.tried}
    for name in dict.fromkeys([*bases[:1], *[
            name for name in bases if not every[name].data][:2]]):
        base = replace(every[name], rankings=(ways[name].way.features,))
        chains += [(base, other) for other in every.values() if off(ways[name]) < .75 * plain
                   and not (other.rank or other.data or other.rankings)
                   and other.name not in trials.left_out
                   and other.kind != base.kind and {name, other.name} not in tried]
    for group in passes_of(chains_that_apply(data, chains)[0]):
        _try(trials, data, group, conventions, How(max_memory=max_memory))


def _try(trials: Trials, data: ResultFile, group: Sequence[Chain],
         conventions: Sequence[Convention], how: How) -> None:
    """Try one pass, or say why it cannot be made."""
    try:
        for outcomes in outcomes_of(data, group, conventions, how):
            trials.add(outcomes)
    except InputError as error:  # what a changed file does not have, such as a norm
        trials.left_out.update({_name(chain): str(error) for chain in group})


def n_passes(data: ResultFile, depth: int, hopeless: Mapping[str, str] = {}) -> int:
    """Return how many passes a search makes."""
    return len(passes_of(_chains(data, depth, hopeless)[0]))


def _chains(data: ResultFile, depth: int,
            hopeless: Mapping[str, str]) -> tuple[list[Chain], dict[str, str]]:
    """Return what to try, and why other variations are not tried."""
    every, n_images = every_variation(), len(data.query) + len(data.gallery)
    if n_images > _MOST_RERANKED:
        hopeless = {**dict.fromkeys(("re-ranking", "expansion"), f"compares each of {n_images:,} "
                                    "images with each; reid-ref rerank does it"), **hopeless}
    without = {name: hopeless[each.kind] for name, each in every.items() if each.kind in hopeless}
    chains, reasons = chains_that_apply(data, chains_of(
        [each for name, each in every.items() if name not in without], depth))
    return chains, reasons | without


def searched(trials: Trials, figure: Figure, counts: Collection[int],
             plain: Sequence[Mapping[str, float]] = ()) -> Search:
    """Return what was found of a figure.

    Parameters
    ----------
    trials : Trials
    figure : Figure
    counts : collection of int
        The numbers of queries that Rank-k may be over.
    plain : sequence of dict of str to float
        The numbers of conventions alone.
    """
    printed, places = figure.numbers(), [*every_variation()]
    found = sorted((way for numbers, way in trials.tried if all(
        agreement(numbers[name], digits) == "rounded" for name, digits in printed.items())),
        key=lambda way: (len(way.variations), [*map(places.index, way.variations)]))
    names = {way.variations for way in found}
    ways = tuple(way for way in found if not any(  # a found one, and one that changes nothing
        {*fewer} < {*way.variations} for fewer in names))
    cells = {tuple(repr(numbers[name]) for name in printed) for numbers, _ in trials.tried}
    points = np.array([list(map(float, cell)) for cell in cells]).reshape(-1, len(printed))
    shares = [share_of_accidents(points, printed, counts), *(
        share_of_accidents(points, {name: Decimal(100 * base[name]).quantize(unit_of(digits))
                                    for name, digits in printed.items()}, counts, MOVED)
        for base in plain if all(abs(100 * base[name] - float(digits)) <= _moved(name, counts)
                                 for name, digits in printed.items()))]
    return Search(len(trials.tried), len(cells), max(shares), ways, dict(trials.left_out),
                  tuple(map(_name, trials.waiting)),
                  None if ways else _nearest(trials, figure, plain))


def _nearest(trials: Trials, figure: Figure,
             plain: Sequence[Mapping[str, float]]) -> Nearest | None:
    """Return the nearest way of galleries of one drawn image, for which digits cannot agree: a
    third as far off as conventions, and within two standard deviations of a draw.

    What draws nothing is near by accident, most often where features were made again.
    """
    reach, records = min((_difference(base, figure) for base in plain), default=0.0), (
        every_variation())
    drawn = [Nearest(each.way, off) for each in trials.tried
             if (off := _difference(each.numbers, figure)) <= min(
                 reach / 3, 200 * _deviation(each.way)) and (
            (kind := records[each.way.variations[0]].kind) == "draws" or kind == "shots"
            and figure.mAP and agreement(each.numbers["mAP"], figure.mAP) == "rounded")]
    return min(drawn, key=lambda nearest: nearest.difference, default=None)


def _deviation(way: FoundWay) -> float:
    """Return the standard deviation of a share of queries, if each answers by itself."""
    return float(np.sqrt(way.Rank_1 * (1 - way.Rank_1) / max(way.counted, 1)))


def _difference(numbers: Mapping[str, float], figure: Figure) -> float:
    """Return the larger difference from a figure, in points; inf where a number is missing."""
    return float(np.nan_to_num(np.max([abs(100 * numbers[name] - float(digits))
                                       for name, digits in figure.numbers().items()]), nan=np.inf))


def _moved(name: str, counts: Collection[int]) -> float:
    """Return the points that remade features move a number by; Rank-k by a query at least."""
    return max(MOVED, 100 / min(counts)) if name.startswith("Rank-") else MOVED


def share_of_accidents(points: Doubles, printed: Mapping[str, Decimal], counts: Collection[int],
                       around: float = AROUND) -> float:
    """Return the share of figures near a printed one that some result prints.

    Parameters
    ----------
    points : float64, shape (n, n_numbers)
        Results in [0, 1].
    printed : dict of str to Decimal
    counts : collection of int
        Numbers of queries, at least one.
    around : float
        How near, in points.

    Examples
    --------
    Of the four counts of two queries and the digits from 48 to 52, one pair is met:

    >>> printed = {"Rank-1": Decimal("50"), "mAP": Decimal("50")}
    >>> share_of_accidents(np.array([[.5, .5]]), printed, [2])
    0.2
    """
    near = [_digits_near(name, digits, counts, around) for name, digits in printed.items()]
    units = np.array([float(unit_of(digits)) for digits in printed.values()])
    known = points[~np.isnan(points).any(axis=1)]
    places = np.round(100 * known / units).astype(np.int64)
    met = {tuple(row) for row in places.tolist()
           if all(place in digits for place, digits in zip(row, near))}
    total = float(np.prod([len(digits) for digits in near]))
    return len(met) / total if total else 0.0


def share_near(points: Doubles, centre: Doubles, distance: float) -> float:
    """Return the share of the square around a figure that is within a distance of some point.

    The square is cut along every edge of the squares around the points: each piece is inside of
    them or outside.
    """
    points = points[(np.abs(points - centre) <= AROUND + distance).all(axis=1)]  # not NaN
    if not len(points):
        return 0.0
    near, share = np.ones((1, len(points)), dtype=bool), np.ones(1)
    for column, middle in zip(points.T, centre):
        edges = np.unique(np.clip([column - distance, column + distance],
                                  middle - AROUND, middle + AROUND))
        pieces = (edges[1:] + edges[:-1])[:, None] / 2
        inside = np.abs(pieces - column) <= distance
        near = (near[:, None] & inside).reshape(-1, len(points))
        share = np.outer(share, np.diff(edges) / (2 * AROUND)).ravel()
    return float(share[near.any(axis=1)].sum())


def _digits_near(name: str, digits: Decimal, counts: Collection[int],
                 around: float) -> set[int]:
    """Return what may have been printed near a number, in units of its last digit.

    A Rank-k that is k/N stands among those that are.
    """
    unit = float(unit_of(digits))
    own, reach = round(float(digits) / unit), max(int(around / unit), 1)
    if name.startswith("Rank-"):
        reach = max(reach, int(min(AROUND, _moved(name, counts)) / unit))
        shares = {round(100 * k / n / unit) for n in set(counts) for k in range(n + 1)}
        if own in shares:
            return {place for place in shares if abs(place - own) <= reach}
    return {place for place in range(own - reach, own + reach + 1) if 0 <= place <= 100 / unit}


def value_of(result: Result, name: str) -> float:
    """Return a number of a result; NaN if its curve ends before."""
    with suppress(InputError):
        if name != "Rank-1" or len(result.cmc):
            return float(result.value(name))
    return float("nan")


def _name(chain: Chain) -> str:
    return "+".join(each.name for each in chain)
