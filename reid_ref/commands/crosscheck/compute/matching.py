"""Which convention an answer follows: only here are foreign numbers compared with ours."""
from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, Integers
from reid_ref.arrays.value import Value
from reid_ref.commands.crosscheck.compute.foreign import Answer, Arrays
from reid_ref.conventions import CONVENTIONS, NOT_IN_ALL, TOOLBOXES, Convention
from reid_ref.evaluation.engine import results_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Distances
from reid_ref.labels import JUNK
from reid_ref.result import Result

#: How near two numbers are, nearest first, with the reason why that still counts as equal.
LEVELS = {
    "bit": "equal to the last bit",
    "double": "equal but for the order in which doubles are added",
    "float32": "equal but for float32, which keeps 24 bits",
    "differs": "DIFFERENT",
}
#: Relative rounding error of one operation at each level.
_UNIT = {"bit": 0.0, "double": 2.0**-53, "float32": 2.0**-24}
#: Queries on which conventions are screened where there are more than twice as many, and how
#: many conventions are kept where all are refuted.
_SCREEN, _NEAREST = 100, 4
#: Other orders of ties, tried where no named convention fits; two depend on the machine.
_OTHER_TIES = ("reversed", "numpy", "numpy-reversed")


@dataclass(frozen=True, eq=False)
class Agreement(Value):
    """How near their number is to ours: a key of `LEVELS`, and the largest difference."""

    level: str
    largest_difference: float

    @property
    def agrees(self) -> bool:
        return self.level != "differs"


@dataclass(frozen=True, eq=False)
class Match(Value):
    """An answer compared with one convention.

    Parameters
    ----------
    convention : Convention
    result : Result
        Ours.
    agreement : dict of str to Agreement
        Of "ap" (all queries), "mAP", "mINP", "cmc": as far as they answered.
    compared, equal : bool, shape (n_query,)
        Queries of which both have an AP, or should have; those that agree.
    tolerance : float64, shape (n_query,)
        What rounding in float32 may cost the AP of a query.
    mean_away : float
        How far their mAP is from that of this convention or, where every AP is known, from the
        mean of their own APs, with queries without a good image counted as it counts them. In
        steps of 1e-6: less tells nothing.
    """

    convention: Convention
    result: Result
    agreement: dict[str, Agreement]
    compared: npt.NDArray[np.bool_]
    equal: npt.NDArray[np.bool_]
    tolerance: Doubles
    mean_away: float

    @property
    def name(self) -> str:
        return self.convention.name

    @property
    def named(self) -> bool:
        """Whether the convention is one of the records as it stands."""
        return self.name == self.convention.base

    @property
    def agrees(self) -> bool:
        return bool(self.agreement) and all(a.agrees for a in self.agreement.values())

    @property
    def differing(self) -> npt.NDArray[np.intp]:
        """The queries that do not agree."""
        return np.flatnonzero(self.compared & ~self.equal)

    @property
    def n_compared(self) -> int:
        return int(np.count_nonzero(self.compared))

    @property
    def n_equal(self) -> int:
        """How many of the compared queries agree."""
        return int(np.count_nonzero(self.equal & self.compared))

    @property
    def worst(self) -> int:
        """Place in `LEVELS` of the AP or mean that agrees least."""
        return max(self.level(quantity) for quantity in ("ap", "mAP", "mINP"))

    def level(self, quantity: str) -> int:
        """Place of the level in `LEVELS`; what was not answered counts as equal."""
        found = self.agreement.get(quantity)
        return 0 if found is None else list(LEVELS).index(found.level)


def best_matches(answer: Answer, arrays: Arrays, expected: str | None = None) -> list[Match]:
    """Compare an answer with every convention; return the matches, the best first.

    Other orders of ties, and the slow conventions, are tried only where
    no quick and named convention gives the same numbers.
    """
    # Without label -1 a toolbox and its bare function are one.
    there = bool((arrays.q_pids == JUNK).any() or (arrays.g_pids == JUNK).any())
    evaluators = [c for c in CONVENTIONS.values() if c.loads == "all images" or there]
    quick = [c for c in evaluators if TOOLBOXES.get(c.name, c.name) not in NOT_IN_ALL]
    matches = _match_all(answer, arrays, _screened(answer, arrays, quick, expected))
    if not any(_exact(m) and m.name == (expected or m.name) for m in matches):
        ties = [c.replace(ties=ties) for c in quick for ties in _OTHER_TIES
                if c.ties == "gallery-order"]
        matches += _match_all(answer, arrays, _screened(answer, arrays, ties, expected))
    best = _ordered(matches, expected)
    if best[0].level("ap") < 3 and best[0].level("cmc") == 3:
        slow = [c for c in evaluators if c not in quick and not c.needs_lists]
        best = _ordered(matches + _match_all(answer, arrays, slow), expected)
    return best


def _screened(answer: Answer, arrays: Arrays, conventions: list[Convention],
              expected: str | None) -> list[Convention]:
    """Leave out, where there are many queries, conventions that a sample of them refutes.

    Kept are the conventions whose AP agrees on the sample, or else the nearest few.
    """
    if len(arrays.query) <= 2 * _SCREEN or answer.ap is None:
        return conventions
    sample = np.linspace(0, len(arrays.query) - 1, _SCREEN).astype(np.int64)
    matches = _ordered(_match_all(
        Answer(ap=answer.ap[sample]), arrays.rows(sample), conventions), expected)
    kept = {m.name for m in matches if m.agrees} or {m.name for m in matches[:_NEAREST]}
    return [c for c in conventions if c.name in kept]


def _exact(match: Match) -> bool:
    return match.agrees and match.worst < 2


def _ordered(matches: list[Match], expected: str | None) -> list[Match]:
    """Sort: those that agree first, the nearest first, of equals the expected one."""
    def merit(match: Match) -> tuple[float, ...]:
        differing = sum(agreement.level == "differs" for agreement in match.agreement.values())
        return (not match.agrees, -int(match.equal.sum()), differing, match.worst,
                match.level("cmc"), 0.0 if match.agrees else match.mean_away,
                not _is(match, expected), not match.named)
    ordered = sorted(matches, key=merit)
    # What is expected need not be the nearest in the last bits, nor in its ties.
    for match in ordered:
        if _is(match, expected) and match.agrees and (
                _exact(match) or not _exact(ordered[0])):
            return [match, *(other for other in ordered if other is not match)]
    return ordered


def _is(match: Match, expected: str | None) -> bool:
    return match.convention.base == expected


def _match_all(answer: Answer, arrays: Arrays, conventions: Iterable[Convention]) -> list[Match]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # hollow input: the report counts it
        tried = list(conventions)
        results = results_of(Distances(arrays.distances), arrays.query, arrays.gallery,
                             How(tuple(tried)))
    return [match(answer, result, result.convention) for result in results]


def match(answer: Answer, result: Result, convention: Convention) -> Match:
    """Compare an answer with one result."""
    n_query = len(result.per_query.ap)
    agreement: dict[str, Agreement] = {}
    operations = result.per_query.n_good.astype(np.float64) + 4.0
    compared = ~np.isnan(result.per_query.ap)
    equal = np.zeros(n_query, dtype=bool)
    if answer.ap is not None and len(answer.ap) == n_query:
        equal = compared & _within(answer.ap, result.per_query.ap, operations * _UNIT["float32"])
        agreement["ap"] = _agreement(
            answer.ap[compared], result.per_query.ap[compared], operations[compared])
    else:
        compared = np.zeros(n_query, dtype=bool)
    mean = np.array([4 + 4 * n_query**0.5])
    for quantity, theirs, ours in (("mAP", answer.mAP, result.mAP),
                                   ("mINP", answer.mINP, result.mINP)):
        if theirs is not None:
            agreement[quantity] = _agreement(np.array([theirs]), np.array([ours]), mean)
    if answer.cmc is not None and len(answer.cmc):
        theirs_cmc, ours_cmc = same_ranks(answer, result)
        agreement["cmc"] = _agreement(theirs_cmc, ours_cmc, np.full(len(ours_cmc), 4.0))
    return Match(convention, result, agreement, compared, equal, operations * _UNIT["float32"],
                 _mean_away(answer, result, compared))


def _mean_away(answer: Answer, result: Result, compared: npt.NDArray[np.bool_]) -> float:
    mean = result.mAP
    if answer.mAP is None:
        return 0.0
    if answer.ap is not None and compared.any():
        ours, theirs = result.per_query.ap[compared].sum(), answer.ap[compared].sum()
        if ours > 0 and not np.isnan(theirs):
            mean *= float(theirs / ours)
    if np.isnan(mean) or np.isnan(answer.mAP):
        return 0.0 if np.isnan(mean) and np.isnan(answer.mAP) else np.inf
    return float(np.round(abs(mean - answer.mAP), 6))


def same_ranks(answer: Answer, result: Result, late: int = 0) -> tuple[Doubles, Doubles]:
    """Return both CMC curves at the ranks that both have; theirs may come some ranks late."""
    if answer.cmc is None:
        return np.zeros(0), np.zeros(0)
    ranks: Integers = np.arange(1, len(answer.cmc) + 1) if answer.ranks is None else answer.ranks
    ranks = ranks[:len(answer.cmc)] - late
    inside = (ranks >= 1) & (ranks <= len(result.cmc))
    return answer.cmc[:len(ranks)][inside], result.cmc[ranks[inside] - 1]


def _within(theirs: Doubles, ours: Doubles, tolerance: Doubles) -> npt.NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        near = np.abs(theirs - ours) <= tolerance
    within: npt.NDArray[np.bool_] = (
        near | (theirs == ours) | (np.isnan(theirs) & np.isnan(ours)))
    return within


def _agreement(theirs: Doubles, ours: Doubles, operations: Doubles) -> Agreement:
    same = _within(theirs, ours, np.zeros(len(ours)))
    with np.errstate(invalid="ignore"):
        away = np.where(same, 0.0, np.abs(theirs - ours))
    away[np.isnan(away)] = np.inf
    largest = float(away.max(initial=0.0))
    for level, unit in _UNIT.items():
        if (away <= unit * operations).all():
            return Agreement(level, largest)
    return Agreement("differs", largest)
