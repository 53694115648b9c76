"""Whether an answer to a problem is a rule's, number by number; only here are both compared."""
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from reid_ref.arrays import Doubles, ignored, warnings_to
from reid_ref.conventions import Convention
from reid_ref.evaluation.engine import results_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Distances
from reid_ref.foreign.answers import Answer
from reid_ref.foreign.arrays import Arrays
from reid_ref.result import Result
from reid_ref.rules.mistakes import Walked

#: How far sums of the same terms in another order may lie apart.
ADDITIONS = 1e-12
#: How far numbers of single precision may: a few roundings, of numbers up to 1.
SINGLE = 2.0**-20
#: How near numbers are, nearest first, by the largest difference: key to words.
LEVELS = {"bit": "to the last bit", "double": "but for the order of additions",
          "float32": "to single precision", "tolerance": "within the tolerance given",
          "differs": "DIFFERENT"}
NEARNESS = tuple(LEVELS.values())
#: Standard errors that a drawn curve may be from its expectation.
_ERRORS = 5
#: What an answer is compared with: a result, or a walk with mistakes in it.
Numbers: TypeAlias = Result | Walked


class Mismatch(NamedTuple):
    """One number that is not the rule's."""

    name: str
    theirs: float
    ours: float

    def __str__(self) -> str:
        percent = " (percent beside numbers that are shares)" * self.is_percent
        return f"{self.name} is {self.theirs!r}, by the rule {self.ours!r}{percent}"

    @property
    def is_percent(self) -> bool:
        """Whether it is a hundred times the rule's number."""
        return self.ours > 0.02 and abs(self.theirs / 100 - self.ours) < SINGLE


class Compared(NamedTuple):
    """One field of an answer beside ours: the names of its numbers, both, how far they may be."""

    field: str
    names: list[str]
    theirs: Doubles
    ours: Doubles
    allowed: Doubles

    @property
    def away(self) -> Doubles:
        """How far each two numbers are apart; those that are both NaN not at all."""
        with np.errstate(invalid="ignore"):
            away = np.nan_to_num(np.abs(self.theirs - self.ours), nan=np.inf)
        both = np.isnan(self.theirs) & np.isnan(self.ours)
        return np.where((self.theirs == self.ours) | both, 0.0, away)

    @property
    def share(self) -> float:
        """How many of their numbers are ours."""
        return float(np.mean(self.away <= self.allowed)) if len(self.ours) else 1.0

    @property
    def level(self) -> str:
        """A key of `LEVELS`."""
        if self.share < 1:
            return "differs"
        largest = float(self.away.max(initial=0))
        return ("bit" if not largest else "double" if largest <= ADDITIONS else
                "float32" if largest <= SINGLE else "tolerance")


def result_of(arrays: Arrays, *conventions: Convention) -> list[Result]:
    """Return our results on a problem."""
    with warnings_to(ignored):
        return results_of(Distances(arrays.distances), arrays.query, arrays.gallery,
                          How(conventions))


def is_drawn(convention: Convention) -> bool:
    """Whether others draw for the CMC curve, which an expectation then stands for."""
    return convention.curve.short == "drawn" and not convention.curve.draws


def compared(answer: Answer, result: Numbers, tolerance: float) -> Iterator[Compared]:
    """Yield what both have."""
    ap = result.of_query("mAP")

    def beside(field: str, names: list[str], theirs: Any, ours: Any) -> Compared:
        allowed = max(tolerance, SINGLE if field in answer.single else 0)
        return Compared(field, names, theirs, ours, np.full(len(ours), allowed))
    for name in ("mAP", "mINP"):
        if (mean := getattr(answer, name)) is not None:
            yield beside(name, [name], np.array([mean]), np.array([getattr(result, name)]))
    if answer.ap is not None:
        counted = np.flatnonzero(~np.isnan(ap))
        names = [f"AP of query {k}" for k in counted]
        none = len(ap) > 1 and not len(counted) and np.nan_to_num(answer.ap).any()
        if len(answer.ap) in (len(ap), len(counted)) and not none:  # a rule counts some query
            theirs = answer.ap[counted] if len(answer.ap) == len(ap) else answer.ap
            yield beside("ap", names, theirs, ap[counted])
        else:
            sizes = (np.array([float(len(part))]) for part in (answer.ap, counted))
            yield beside("ap", ["the number of APs"], *sizes)
    if len(answer.curve) and len(result.cmc):
        names, ours = [f"Rank-{k}" for k in answer.at], _cmc_at(answer, result)
        if len(answer.drawn) and is_drawn(result.convention):
            yield Compared("cmc", names, answer.drawn.mean(axis=0), ours, _sampling_error(
                answer.drawn, ours, len(ap)))
        else:
            yield beside("cmc", names, answer.curve, ours)


def _cmc_at(answer: Answer, result: Numbers) -> Doubles:
    """Return CMC at the ranks of an answer; beyond what is known of it, what does not fall."""
    cmc, is_ours = result.cmc, isinstance(result, Result)
    if isinstance(result, Result) and not result.convention.curve.of_rows:
        whole = result.convention.curve_of_ranks(result.ranks, max(len(cmc), *answer.at))
        cmc = whole if np.array_equal(whole[:len(cmc)], cmc, equal_nan=True) else cmc
    beyond, ours = answer.at > len(cmc), np.array(cmc[np.minimum(answer.at, len(cmc)) - 1])
    theirs = answer.curve[beyond]
    ours[beyond] = np.maximum.accumulate(np.clip(
        np.nan_to_num(theirs, nan=-1), cmc[-1], 1)) if is_ours else theirs
    return ours


def _sampling_error(curves: Doubles, expected: Doubles, n: int) -> Doubles:
    """Return how far the mean of drawn curves may be from what is expected.

    A query's hit is a draw of chance p, so the variance of a share is at most p (1 - p) / n, and
    less where the evaluator draws several times; how much less, the curves tell.
    """
    most = expected * (1 - expected) / n
    share = min(1.0, float(curves.var(axis=0, ddof=1).sum() / max(most.sum(), 1e-12)))
    allowed: Doubles = SINGLE + _ERRORS * np.sqrt(share * (most + 1 / n**2) / len(curves))
    return allowed


def mismatches(answer: Answer, result: Numbers, tolerance: float) -> tuple[list[Mismatch], int]:
    """Return which numbers are not ours, and how near the others are: a place in `NEARNESS`."""
    wrong, level = [], 0
    for part in compared(answer, result, tolerance):
        if part.level == "differs":
            k = int(np.argmax(part.away > part.allowed))
            wrong.append(Mismatch(part.names[k], float(part.theirs[k]), float(part.ours[k])))
        elif part.field != "cmc":  # whose single precision is the rule of most copies
            level = max(level, list(LEVELS).index(part.level))
    return wrong, level
