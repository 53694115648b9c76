"""How an answer compares with every convention.

Only here are foreign numbers compared with ours.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, Integers, ignored, warnings_to
from reid_ref.arrays.value import Value
from reid_ref.conventions import Convention
from reid_ref.evaluation.engine import results_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Distances
from reid_ref.result import Result
from reid_ref.foreign.answers import ROUNDING, Answer
from reid_ref.foreign.arrays import Arrays
from reid_ref.rules.candidates import ApplyingConventions, place
from reid_ref.rules.mistakes import Walked

#: How near two numbers are, nearest first: the words, and the rounding error of an operation.
LEVELS = {
    "bit": ("equal to the last bit", 0.0),
    "double": ("equal but for rounding in double", 2.0**-53),
    "float32": ("equal to the precision of float32, not to that of double", 2.0**-24),
    "differs": ("DIFFERENT", np.inf)}
DIFFERS = list(LEVELS).index("differs")
#: What is not a curve.
MEANS = "ap", "mAP", "mINP"
#: Other orders of ties, tried where no named convention fits; two depend on the machine.
_OTHER_TIES = ("reversed", "numpy", "numpy-reversed")
#: Conventions that are looked at where no APs agree.
_SAMPLE = 12
#: Conventions whose other orders of ties are tried on all queries.
_FEW = 4


# ------------------------------------------------------------------ which convention
@dataclass(frozen=True, eq=False)
class Agreement(Value):
    """How near their number is to ours: a key of `LEVELS`, and the largest difference."""

    level: str
    largest_difference: float


@dataclass(frozen=True, eq=False)
class Match(Value):
    """An answer compared with our result under one convention.

    Parameters
    ----------
    result : Result
    agreement : dict of str to Agreement
        Of "ap" (all queries), "mAP", "mINP", "cmc": as far as they answered.
    compared, equal : bool, shape (n_query,)
        Queries of which both have an AP, or should have; those that agree.
    tolerance : float64, shape (n_query,)
        What rounding in float32 may cost the AP of a query.
    away, curve_away : float
        Mean difference of the APs, and of the CMC, so rounded that float32 is no difference.
    """

    result: Result
    agreement: dict[str, Agreement]
    compared: npt.NDArray[np.bool_]
    equal: npt.NDArray[np.bool_]
    tolerance: Doubles
    away: float
    curve_away: float

    @property
    def name(self) -> str:
        return self.result.convention.name

    @property
    def is_named(self) -> bool:
        return self.name == self.result.convention.base

    @property
    def agrees(self) -> bool:
        return bool(self.agreement) and self.level(*self.agreement) < DIFFERS

    def level(self, *quantities: str) -> int:
        """Return the place in `LEVELS` of what agrees least; what was not answered is equal."""
        return max((list(LEVELS).index(self.agreement[quantity].level)
                    for quantity in quantities if quantity in self.agreement), default=0)


def best_matches(answer: Answer, arrays: Arrays, expected: str | None, given: ApplyingConventions,
                 among: list[Convention] | None = None) -> list[Match]:
    """Compare an answer with every candidate, or `among` some; return the matches, best first.

    Other orders of ties (`among` some: of a few), and the slow candidates, are tried only
    where no quick and named convention gives the same numbers. A mean alone matches nothing:
    without the AP of each query the list is empty unless a CMC curve agrees.
    """
    if answer.ap is None and not len(answer.curve):
        return []
    quick = among or given.quick
    matches = _match_all(answer, arrays, quick)
    if not any(m.agrees and m.level(*MEANS) < 2 and expected in (None, m.name) for m in matches):
        if among:
            rule = _sorted(matches, expected)[0].result.convention.not_ranked
            quick = [c for c in among if c.not_ranked == rule][:_FEW]
        ties = [c.replace(ties=ties) for c in quick for ties in _OTHER_TIES
                if c.ties == "gallery-order"]
        matches += _match_all(answer, arrays, ties) if ties else []
    best = _sorted(matches, expected)[0]
    if not among and given.slow and best.level("ap") < DIFFERS == best.level("cmc"):
        matches += _match_all(answer, arrays, given.slow)
    if answer.ap is None:
        matches = [m for m in matches if "cmc" in m.agreement and m.level("cmc") < DIFFERS]
    return _sorted(matches, expected)


def likely_conventions(matches: list[Match]) -> list[Convention]:
    """Return the conventions that agree; or those whose APs agree, and a few whose CMC does.

    If no APs agree, a few of the nearest, no two alike.
    """
    matches = named_first(matches)
    agree = [match for match in matches if match.agrees] or [
        match for match in matches if match.level("ap") < DIFFERS]
    named = [match for match in agree if match.is_named]
    of_curve = [] if not agree or agree[0].agrees else same_curve(matches)[:_FEW]
    chosen = [*(named or agree), *of_curve] or unlike(matches)[:_SAMPLE]
    return list({match.name: match.result.convention for match in chosen}.values())


def same_curve(matches: list[Match]) -> list[Match]:
    """Return the matches with the CMC curve that was answered, the preferred names first."""
    return sorted((match for match in matches if match.level("cmc") < DIFFERS), key=_preferred)


def named_first(matches: list[Match]) -> list[Match]:
    return sorted(matches, key=lambda match: not match.is_named)


def unlike(matches: Iterable[Match]) -> list[Match]:
    """Return of all matches whose APs are the same the one with the preferred name."""
    alike: dict[bytes, list[Match]] = {}
    for match in matches:
        alike.setdefault(np.round(match.result.of_query("mAP"), 6).tobytes(), []).append(match)
    return [min(group, key=_preferred) for group in alike.values()]


def _preferred(match: Match) -> tuple[bool, tuple[int, bool]]:
    return not match.is_named, place(match.result.convention)


def _sorted(matches: list[Match], expected: str | None) -> list[Match]:
    """Sort by agreement, then by distance, then by preference.

    Of those that agree, what is expected need not be the nearest in the last bits; of the means
    these are left to chance.
    """
    def merit(match: Match) -> tuple[Any, ...]:
        other, means = match.result.convention.base != expected, match.level(*MEANS)
        differing = sum(match.level(quantity) == DIFFERS for quantity in match.agreement)
        return (not match.agrees, match.agrees and means >= 2, match.agrees and other,
                -int(match.equal.sum()), differing, max(means, 1), max(match.level("cmc"), 1),
                *((0.0, 0.0) if match.agrees else (match.away, match.curve_away)), other,
                match.level("ap"), *_preferred(match))
    return sorted(matches, key=merit)


def _match_all(answer: Answer, arrays: Arrays, conventions: list[Convention]) -> list[Match]:
    with warnings_to(ignored):  # hollow input: the report counts it
        results = results_of(Distances(arrays.distances), arrays.query, arrays.gallery,
                             How(tuple(conventions)))
    return [_match(answer, result) for result in results]


def _match(answer: Answer, result: Result) -> Match:
    ours, operations = result.of_query("mAP"), np.float64(4) + result.per_query.n_good
    theirs = np.full(len(ours), np.nan) if answer.ap is None else answer.ap
    compared = ~np.isnan(ours) & (answer.ap is not None)
    tolerance, away = operations * LEVELS["float32"][1], differences(theirs, ours)
    agreement = {}
    if answer.ap is not None:
        agreement["ap"] = _agreement(theirs[compared], ours[compared], operations[compared])
    for name in ("mAP", "mINP"):
        if (mean := getattr(answer, name)) is not None:
            agreement[name] = _agreement(mean, getattr(result, name), 4 + 4 * len(ours)**0.5)
    curves = same_ranks(answer, result)
    if len(answer.curve):
        agreement["cmc"] = _agreement(*curves, 4.0)
    return Match(result, agreement, compared, compared & (away <= tolerance), tolerance,
                 round(float(away[compared].sum() / max(1, compared.sum())), 5),
                 round(float(differences(*curves).sum() / max(1, len(curves[0]))), 5))


def same_ranks(answer: Answer, result: Result | Walked) -> tuple[Doubles, Doubles]:
    """Return both CMC curves at the ranks that both have."""
    within = answer.at <= len(result.cmc)
    return answer.curve[within], result.cmc[answer.at[within] - 1]


def differences(theirs: Any, ours: Any) -> Doubles:
    """Return how far two numbers are apart; those that are both NaN not at all."""
    with np.errstate(invalid="ignore"):
        away = np.nan_to_num(np.abs(np.subtract(theirs, ours)), nan=np.inf)
    same = np.equal(theirs, ours) | (np.isnan(theirs) & np.isnan(ours))
    return np.atleast_1d(np.where(same, 0.0, away))


def _agreement(theirs: Any, ours: Any, operations: Any) -> Agreement:
    away = differences(theirs, ours)
    level = next(name for name, (_, unit) in LEVELS.items() if (away <= unit * operations).all())
    return Agreement(level, float(away.max(initial=0.0)))


def problems(answer: Answer, queries: Integers, n_gallery: int, nan_agrees: bool) -> list[str]:
    """Return what is wrong with the numbers of an answer, whatever convention they follow."""
    cmc, ap = answer.curve, np.zeros(0) if answer.ap is None else answer.ap
    numbers = {"mAP": answer.mAP, "mINP": answer.mINP}
    ranks = answer.at
    for name, places, values in (("AP of query ", queries, np.nan_to_num(ap)),
                                 ("CMC at Rank-", ranks, cmc)):
        wrong = np.flatnonzero(~((values >= -ROUNDING) & (values <= 1 + ROUNDING)))[:1]
        numbers |= {f"{name}{places[k]}": float(values[k]) for k in wrong}
    texts = [f"its {name} is {number!r}; expected a number from 0 to 1"
             + (", not percent" if 1 < number <= 100 else "") for name, number in numbers.items()
             if number is not None and not -ROUNDING <= number <= 1 + ROUNDING
             and not (nan_agrees and np.isnan(number))]
    if answer.cmc is not None and not len(cmc):
        texts.append("its CMC is empty")
    if answer.ranks is None and len(cmc) > n_gallery:
        texts.append(f"its CMC has {len(cmc)} entries; the gallery has {n_gallery} images")
    for k in np.flatnonzero(np.diff(cmc) < -ROUNDING)[:1].tolist():
        texts.append(f"its CMC falls from {float(cmc[k])!r} at Rank-{ranks[k]} to "
                     f"{float(cmc[k + 1])!r} at Rank-{ranks[k + 1]}")
    return texts
