"""How an answer compares with every convention, and why a query differs.

Only here are foreign numbers compared with ours. What explains a difference walks a query's ranked
gallery in the plainest way and shares no code with the fast path: it is a second opinion.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, Integers, ignored, warnings_to
from reid_ref.arrays.value import Value
from reid_ref.commands.crosscheck.compute.candidates import Candidates, place
from reid_ref.commands.crosscheck.compute.evaluators import Answer, Arrays
from reid_ref.conventions import TIES, Convention
from reid_ref.evaluation.engine import results_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Distances
from reid_ref.labels import JUNK
from reid_ref.result import Result

#: How near two numbers are, nearest first: the words, and the rounding error of an operation.
LEVELS = {
    "bit": ("equal to the last bit", 0.0),
    "double": ("equal but for rounding in double", 2.0**-53),
    "float32": ("equal to the precision of float32, not to that of double", 2.0**-24),
    "differs": ("DIFFERENT", np.inf)}
DIFFERS = list(LEVELS).index("differs")
#: How far above 1, or below 0, rounding may take a number: a few sums in float32.
ROUNDING = 2.0**-20
#: What is not a curve.
MEANS = "ap", "mAP", "mINP"
#: Other orders of ties, tried where no named convention fits; two depend on the machine.
_OTHER_TIES = ("reversed", "numpy", "numpy-reversed")
#: Queries looked at on either side (differing, equal) for one explanation, and conventions.
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


def best_matches(answer: Answer, arrays: Arrays, expected: str | None, given: Candidates,
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
    matches = _named_first(matches)
    agree = [match for match in matches if match.agrees] or [
        match for match in matches if match.level("ap") < DIFFERS]
    named = [match for match in agree if match.is_named]
    of_curve = [] if not agree or agree[0].agrees else same_curve(matches)[:_FEW]
    chosen = [*(named or agree), *of_curve] or _unlike(matches)[:_SAMPLE]
    return list({match.name: match.result.convention for match in chosen}.values())


def same_curve(matches: list[Match]) -> list[Match]:
    """Return the matches with the CMC curve that was answered, the preferred names first."""
    return sorted((match for match in matches if match.level("cmc") < DIFFERS), key=_preferred)


def _named_first(matches: list[Match]) -> list[Match]:
    return sorted(matches, key=lambda match: not match.is_named)


def _unlike(matches: Iterable[Match]) -> list[Match]:
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
        results = results_of(Distances(arrays.distances), *arrays.labels(),
                             How(tuple(conventions)))
    return [_match(answer, result) for result in results]


def _match(answer: Answer, result: Result) -> Match:
    ours, operations = result.of_query("mAP"), np.float64(4) + result.per_query.n_good
    theirs = np.full(len(ours), np.nan) if answer.ap is None else answer.ap
    compared = ~np.isnan(ours) & (answer.ap is not None)
    tolerance, away = operations * LEVELS["float32"][1], _differences(theirs, ours)
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
                 round(float(_differences(*curves).sum() / max(1, len(curves[0]))), 5))


def same_ranks(answer: Answer, result: Result) -> tuple[Doubles, Doubles]:
    """Return both CMC curves at the ranks that both have."""
    length = min(len(answer.curve), len(result.cmc))
    return answer.curve[:length], result.cmc[:length]


def _differences(theirs: Any, ours: Any) -> Doubles:
    with np.errstate(invalid="ignore"):
        away = np.nan_to_num(np.abs(np.subtract(theirs, ours)), nan=np.inf)
    same = np.equal(theirs, ours) | (np.isnan(theirs) & np.isnan(ours))
    return np.atleast_1d(np.where(same, 0.0, away))


def _agreement(theirs: Any, ours: Any, operations: Any) -> Agreement:
    away = _differences(theirs, ours)
    level = next(name for name, (_, unit) in LEVELS.items() if (away <= unit * operations).all())
    return Agreement(level, float(away.max(initial=0.0)))


def problems(answer: Answer, queries: Integers, n_gallery: int, nan_agrees: bool) -> list[str]:
    """Return what is wrong with the numbers of an answer, whatever convention they follow."""
    cmc, ap = answer.curve, np.zeros(0) if answer.ap is None else answer.ap
    numbers = {"mAP": answer.mAP, "mINP": answer.mINP}
    ranks = np.arange(1, len(cmc) + 1)
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
    if len(cmc) > n_gallery:
        texts.append(f"its CMC has {len(cmc)} entries; the gallery has {n_gallery} images")
    for k in np.flatnonzero(np.diff(cmc) < -ROUNDING)[:1].tolist():
        texts.append(f"its CMC falls from {float(cmc[k])!r} at Rank-{k + 1} to "
                     f"{float(cmc[k + 1])!r} at Rank-{k + 2}")
    return texts


# ------------------------------------------------------------------ why a query differs
_CUTOFFS = (1, 5, 10, 20, 50, 100)
_TIED = "a good image ties with a wrong one, and "
#: Every choice an evaluator may make, and its words in a report; the first is the default.
WORDS: dict[str, dict[str, str]] = {
    "rule": {
        "trapezoid": "trapezoids (the precision one place before a hit counts)",
        "step": "step AP (mean precision at the hits) instead of trapezoids",
        "sklearn step": "step AP in which equal distances share one threshold (scikit-learn)",
        "mistaken trapezoid": "trapezoids from the precision of the hit before, not the place",
        "trapezoid from 0": "trapezoids that start at precision 0 instead of 1",
        "interpolated": "interpolated AP (best precision at this recall or beyond)"},
    "label": {
        "-1 ignored": "label -1 images are ignored",
        "-1 wrong": "label -1 images are counted as wrong answers"},
    "camera": {
        "same identity ignored": "images of the query's identity on its own camera are ignored",
        "nothing ignored": "images of the query's identity on its own camera count as hits",
        "camera ignored": "every image on the query's camera is ignored, of any identity",
        "same identity wrong": "images of the query's identity on its own camera count as wrong"},
    "ties": {
        "gallery order": "equal distances keep gallery order",
        "numpy": f"{_TIED}numpy's default argsort, which is not stable, orders them",
        "reversed": f"{_TIED}equal distances are in reversed gallery order",
        "good first": f"{_TIED}good images come first",
        "good last": f"{_TIED}good images come last"},
    "arithmetic": {
        "as given": "distances are compared as they are given",
        "float32": "distances become float32, so that some that differ tie",
        "float16": "distances become float16, so that some that differ tie"},
    "identity": {
        "as given": "identities are compared as they are given",
        "float32": "identities pass through float32, so that those above 2^24 merge"},
    "order": {
        "ascending": "smaller distances come first",
        "descending": "larger values come first: distances are taken for similarities"},
    "cutoff": {
        "whole list": "the whole list counts",
        **{f"found in {k}": f"the first {k} places count, with recall over the good images in them"
           for k in _CUTOFFS},
        **{f"exist, first {k}": f"the first {k} places count, with recall over all good images"
           for k in _CUTOFFS}}}
DEFAULTS = {name: next(iter(values)) for name, values in WORDS.items()}


class Reason(NamedTuple):
    """Choices that turn our AP into theirs, of all the differing queries that were looked at."""

    choices: dict[str, str]
    looked_at: int

    def __str__(self) -> str:
        words = ", and ".join(WORDS[name][value] for name, value in self.choices.items())
        return f"{words} (explains the {self.looked_at} differing queries looked at)"


def _order(distances: npt.NDArray[Any], query: int, arithmetic: str, order: str,
           ties: str) -> tuple[npt.NDArray[Any], Integers]:
    """Return the row of a query as these choices have it, and the order of its images."""
    row = np.array(distances[query])
    if arithmetic != "as given":
        with np.errstate(over="ignore"):
            row = row.astype(arithmetic)
    row = -row if order == "descending" else row
    if ties == "reversed":
        return row, np.lexsort((-np.arange(len(row)), row))
    return row, np.argsort(row, kind=None if ties == "numpy" else "stable")


def query_ap(choices: dict[str, str], arrays: Arrays, query: int,
             order_of: Callable[..., Any] | None = None) -> float:
    """Return the AP of one query under these choices; NaN without a good image.

    Examples
    --------
    >>> import numpy as np
    >>> arrays = Arrays(np.array([[.2, .3, .4, .0, .1]]), np.array([7]),
    ...                 np.array([7, 8, 7, 7, -1]), np.array([1]), np.array([2, 1, 3, 1, 1]))
    >>> [round(query_ap({**DEFAULTS, **changed}, arrays, 0), 4) for changed in (
    ...     {}, {"rule": "step"}, {"label": "-1 wrong"})]
    [0.7917, 0.8333, 0.3333]
    """
    labels, identity = arrays.g_pids, arrays.q_pids[query]
    if choices["identity"] == "float32":
        labels, identity = labels.astype(np.float32), np.float32(identity)
    same, same_camera = labels == identity, arrays.g_camids == arrays.q_camids[query]
    ignored = (labels == JUNK) & (choices["label"] == "-1 ignored")
    if choices["camera"] in ("same identity ignored", "camera ignored"):
        ignored = ignored | (same_camera & (same | (choices["camera"] == "camera ignored")))
    good = same & ~ignored & ((choices["camera"] == "nothing ignored") | ~same_camera)
    row, order = (order_of or partial(_order, arrays.distances))(
        query, *(choices[name] for name in ("arithmetic", "order", "ties")))
    if choices["ties"] in ("good first", "good last"):
        order = np.lexsort((good if choices["ties"] == "good last" else ~good, row))
    order = order[~ignored[order]]
    hit, values, n = good[order], row[order], int(good.sum())
    recall, _, k = choices["cutoff"].rpartition(" ")
    if recall != "whole":
        hit, values = hit[:int(k)], values[:int(k)]
        n = int(hit.sum()) or n if recall == "found in" else n
    return _area(choices["rule"], hit, values, n) if n else float("nan")


def _area(rule: str, hit: npt.NDArray[np.bool_], values: npt.NDArray[Any], n: int) -> float:
    end = np.arange(len(hit))
    if rule == "sklearn step":
        end = np.append(np.flatnonzero(np.diff(values)), len(values) - 1)
    hits = np.cumsum(hit)[end]
    recall, precision = np.diff(hits, prepend=0) / n, hits / (end + 1)
    if rule == "interpolated":
        precision = np.maximum.accumulate(precision[::-1])[::-1]
    elif rule == "mistaken trapezoid":
        recall, precision = recall[hit], precision[hit]
    if "trapezoid" in rule:
        start = {"trapezoid from 0": 0.0, "mistaken trapezoid": float(hit[0])}.get(rule, 1.0)
        precision = (precision + np.append(start, precision[:-1])) / 2
    return float((recall * precision).sum())


def explaining_choices(arrays: Arrays, matches: list[Match],
                       theirs: Doubles) -> tuple[list[Match], Reason | None]:
    """Find one choice, or else two, that turn our AP into theirs, wherever it can be seen.

    They are sought from several of the nearest conventions, no two alike; the one from which they
    lead to theirs comes first.
    """
    if not (matches[0].compared & ~matches[0].equal & ~np.isnan(theirs)).any():
        return matches, None  # the only differing ones are without an AP of theirs
    closest = _unlike(_named_first(matches))
    order_of = functools.lru_cache(256)(partial(_order, arrays.distances))
    for count, match in itertools.product((1, 2), closest[:_SAMPLE]):
        reason = _reason(arrays, match, theirs, count, order_of)
        if reason is not None:
            return [match, *(other for other in matches if other is not match)], reason
    return matches, None


def _reason(arrays: Arrays, match: Match, theirs: Doubles, count: int,
            order_of: Callable[..., Any]) -> Reason | None:
    ours, known = match.result.of_query("mAP"), match.compared & ~np.isnan(theirs)
    differ, same = (np.flatnonzero(known & of)[:_SAMPLE].tolist()
                    for of in (~match.equal, match.equal))

    def fit(choices: dict[str, str], target: Doubles) -> bool:
        # A query labelled -1 has AP 0 in evaluation.m, though its good images are all ignored.
        return all(abs(np.nan_to_num(query_ap(choices, arrays, k, order_of)) - target[k])
                   <= match.tolerance[k] for k in differ + same)

    for start in _baselines() if differ else ():
        if fit(start, ours):
            for change in _changes(start, count):
                if fit({**start, **change}, theirs):
                    return Reason(change, len(differ))
    return None


def _baselines() -> list[dict[str, str]]:
    values = {"rule": list(WORDS["rule"])[:3], "label": list(WORDS["label"]),
              "camera": ["same identity ignored", "camera ignored"],
              "ties": ["gallery order", "numpy", "reversed"]}
    return [{**DEFAULTS, **dict(zip(values, choice))}
            for choice in itertools.product(*values.values())]


def _changes(start: dict[str, str], count: int) -> list[dict[str, str]]:
    """Return every change of so many choices."""
    single = [(name, value) for name, values in WORDS.items() for value in values
              if value != start[name]]
    changes = map(dict, itertools.combinations(single, count))
    return [change for change in changes if len(change) == count]


# ------------------------------------------------------------------ known defects
#: Choices that are known defects: the choice, how its values begin, and what follows from it.
_DEFECTS = {
    "float32-identities": ("identity", "float32", "renumber them, e.g. with numpy.unique"),
    "machine-ties": ("ties", "numpy", "another machine gives another number"),
    "narrow-distances": ("arithmetic", "float", "give it whole numbers from ranks"),
    "found-in-top-k": ("cutoff", "found in", "mAP may be higher than of the whole list"),
    "similarities": ("order", "descending", "give it the negative of these distances"),
    "label-counted": ("label", "-1 wrong", "remove them first to have them ignored")}


def defects(arrays: Arrays, answer: Answer, again: Answer | None, match: Match | None,
            reason: Reason | None) -> dict[str, str]:
    """Return the known defects that change these numbers: name to sentence.

    They are recognised by the answer, since such code is copied between repositories; `again` is
    the answer to the same arrays with another random seed.
    """
    choices = {} if reason is None else dict(reason.choices)
    if match is not None and match.agrees and TIES[match.result.convention.ties].sorts:
        choices["ties"] = "numpy"
    if match is not None and "ap" in match.agreement and match.level("ap") < DIFFERS and (
            "label -1" not in match.result.convention.not_ranked and JUNK in arrays.g_pids):
        choices["label"] = "-1 wrong"
    texts = {name: f"{WORDS[choice][choices[choice]]}: {advice}"
             for name, (choice, start, advice) in _DEFECTS.items()
             if choices.get(choice, "").startswith(start)}
    if not np.array_equal(answer.curve, (again or answer).curve, equal_nan=True):
        texts["random-draws"] = ("it gives different numbers from run to run: two random seeds "
                                 "gave two CMC curves")
    return texts
