"""Another evaluator on the same arrays: equal, or which convention it follows, or why not."""
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import (
    Doubles, InputError, Integers, check_choice, check_count, check_real_distances, read_rows)
from reid_ref.arrays.value import Value
from reid_ref.conventions import CONVENTIONS, METRICS, TIES, Convention
from reid_ref.distances import unit_rows
from reid_ref.evaluation.how import How, Progress
from reid_ref.evaluation.ranked import Features, Ranked
from reid_ref.evaluation.result_file import ResultFile, check_result_file
from reid_ref.foreign.answers import Answer
from reid_ref.foreign.arrays import MAX_RANK, Arrays
from reid_ref.foreign.child import Asking, Child, Outcome
from reid_ref.foreign.importing import TOOLBOXES, check_spec
from reid_ref.labels import JUNK, cameras_of
from reid_ref.measures import RANKS
from reid_ref.result.views import Ranks, means_of
from reid_ref.rules.candidates import find_rules, in_choices, rules_of_protocols
from reid_ref.rules.changed import unlike
from reid_ref.rules.mistakes import FAULTS
from reid_ref.rules.numbers import (
    ADDITIONS, Compared, Mismatch, compared, mismatches, result_of)
from reid_ref.rules.search import (
    Asked, FoundRule, all_agreeing, answered, has_ties, named_rules, nearest_rule, rule_of)

__all__ = ["TOOLBOXES", "CrossCheck", "FirstDifference", "Queries", "Reference", "crosscheck"]

#: Queries that are compared first, with every rule; of each kind, where these do not suffice.
_FIRST, _SAMPLE = 64, 12
#: Why a query differs, where nothing known says it.
UNEXPLAINED = "not explained by the choices and mistakes known here"


@dataclass(frozen=True, eq=False)
class Agreement(Value):
    """How near their number is to ours: a key of `LEVELS`, and the largest difference."""

    level: str
    largest_difference: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Reference(Value, Ranks):
    """Our numbers under the closest convention."""

    mAP: float
    mINP: float
    cmc: Doubles


@dataclass(frozen=True, eq=False)
class Queries(Value):
    """How many queries were compared by AP, how many agree, and which do not."""

    compared: int
    equal: int
    differing: list[int]


@dataclass(frozen=True, eq=False)
class FirstDifference(Value):
    """The first query whose AP differs from the closest convention's.

    Parameters
    ----------
    query : int
        From 0.
    theirs, ours : float
        The two APs; theirs is NaN if it gave none.
    why : str
        As far as it is known.
    """

    query: int
    theirs: float
    ours: float
    why: str


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossCheck(Value, Ranks):
    """What a cross-check found; its fields are the keys of `reid-ref crosscheck --json`.

    Parameters
    ----------
    evaluator, fed : str
        The name that was given, and with what it was called.
    verdict : {"equal", "different", "failed"}
        Failed: it raised, or what it returned is no answer.
    rule : str or None
        What gives its numbers: a convention, choices of one, or one with a mistake.
    follows : str or None
        The convention whose numbers it gives; None unless the verdict is equal.
    also : tuple of str
        Other conventions that give the same numbers here.
    closest : str or None
        The convention that it follows; or else the one from which a choice or a mistake or two
        lead to its numbers, or the one with the most equal APs. None if it gave no numbers.
    unlike : str
        How the rule differs from Market-1501's and from torchreid's, with what that changes here
        in points of mAP.
    unseen : tuple of str
        What these labels and distances cannot show, since there is none of it.
    Rank_1, Rank_5, Rank_10, Rank_20, mAP, mINP, cmc, ap
        Their numbers, None if they gave none; `cmc` at `ranks`; `ap` has an entry per query
        that was compared, NaN if they gave none.
    reference : Reference or None
        Our numbers under the closest convention.
    agreement : dict of str to Agreement
        Of "ap" (all queries), "mAP", "mINP" and "cmc", as far as they answered: how near.
    queries : Queries or None
    first_difference : FirstDifference or None
    remarks : tuple of str
        How CMC or the means differ, and more that is known.
    defects : dict of str to str
        Known defects that show: name to sentence.
    failure : str
        Its own message; "" unless the verdict is failed.
    printed : str
        What it printed.
    warned : tuple of str
        What it warned.
    """

    evaluator: str
    fed: str
    verdict: str
    rule: str | None
    follows: str | None
    also: tuple[str, ...]
    closest: str | None
    unlike: str
    unseen: tuple[str, ...]
    mAP: float | None
    mINP: float | None
    ranks: Integers
    cmc: Doubles
    ap: Doubles | None
    reference: Reference | None
    agreement: dict[str, Agreement]
    queries: Queries | None
    first_difference: FirstDifference | None
    remarks: tuple[str, ...]
    defects: dict[str, str]
    failure: str
    printed: str
    warned: tuple[str, ...]


def crosscheck(data: ResultFile, evaluator: str | Callable[..., Any], *,
               convention: str | Convention | Iterable[str | Convention] | None = None,
               metric: str = "euclidean", normalize: bool = True, timeout: float = 600,
               queries: int | None = None, max_rank: int | None = None,
               tolerance: float | None = None, progress: Progress | None = None,
               **settings: Any) -> CrossCheck:
    """Run another evaluator on the same arrays and compare, query by query.

    It runs in a process of its own, on copies, and is called on a few queries, then on everything
    and, unless it returns the AP of each query, on each query alone. Whatever it raises, prints or
    returns is reported; a crash, an exit or a hang is, too. What fails on the few queries ends
    there. It has your rights: do not run what you do not trust.

    A name is imported in a fresh interpreter. A function object runs in a fork of this process:
    CUDA that is in use here does not work there, and torch there has one thread. If there is no
    fork (Windows) give its name.

    Parameters
    ----------
    data : ResultFile
        As for `reid_ref.explain`. The evaluator is fed a distance matrix: the file's own, in its
        dtype, or that of the features in double, in which every order is the exact one.
    evaluator : str or callable
        A key of `TOOLBOXES`; or "module:function", "file.py:function" or the function itself. It
        is fed by the names of its parameters, such as q_pids or q_clothids, or in torchreid's
        order (distmat, q_pids, g_pids, q_camids, g_camids, max_rank), or gets (distances, query,
        gallery). It returns (cmc, mAP), (cmc, mAP, mINP), (all_cmc, all_AP, all_INP), a `Result`,
        or anything that names its numbers.
    convention : str or Convention, or several of them, optional
        Compare with these alone. Default: all that the labels suffice for, and the rules of
        protocols.
    metric, normalize
        As for `reid_ref.evaluate`; for features.
    timeout : float
        Seconds that importing it, or any one call, may take.
    queries : int, optional
        Compare so many queries, the same ones each time, instead of all.
    max_rank : int, optional
        The longest rank that is asked for. Default: 50.
    tolerance : float, optional
        How far a number may be off. Default: 1e-12, or 2^-20 in single precision.
    progress : callable, optional
        Called with 1 after each query.
    settings
        Further arguments of the evaluator.

    Returns
    -------
    CrossCheck

    Raises
    ------
    InputError
        An unknown evaluator, a missing package, a function that cannot be imported or called
        (with the import's own message), labels without cameras, or arrays that cannot be
        evaluated.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> def theirs(distmat, q_pids, g_pids, q_camids, g_camids, max_rank=50):
    ...     order = np.argsort(distmat, axis=1, kind="stable")
    ...     hits = g_pids[order] == q_pids[:, None]
    ...     precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    ...     ap = (precision * hits).sum(axis=1) / hits.sum(axis=1)
    ...     return np.maximum.accumulate(hits, axis=1).mean(axis=0), ap.mean()
    >>> data = reid_ref.ResultFile(
    ...     "arrays", reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8, 7], [2, 2, 3]),
    ...     distances=np.array([[.1, .2, .3], [.1, .2, .3]]))
    >>> check = reid_ref.crosscheck(data, theirs)
    >>> check.verdict, check.follows, check.agreement["ap"].level
    ('equal', 'torchreid-function', 'bit')
    """
    check_result_file(data)
    cameras_of(data.query, "the call of another evaluator, which takes it")
    if isinstance(evaluator, str):
        check_spec(evaluator)
    if not timeout > 0:
        raise InputError("timeout", "seconds above 0", repr(timeout))
    check_choice(metric, "metric", METRICS)
    requested = None if convention is None else find_rules(convention)
    data.input.without_candidates("crosschecks, since no candidates are handed to an evaluator")
    data.input.check_sizes(data.query, data.gallery)
    every = np.arange(len(data.query))
    if queries is not None:
        check_count(queries, "queries")
        every = _some(every, queries)
    with Child(evaluator, timeout, partial(Asking, max_rank or MAX_RANK, settings)) as child:
        return _compare(child, data, How(metric=metric, normalize=normalize), every, requested,
                        ADDITIONS if tolerance is None else tolerance,
                        progress or (lambda _: None))


class _Asked(NamedTuple):
    """The answer to some queries: `refused` holds those that failed alone, and why."""

    queries: Integers
    arrays: Arrays
    outcome: Outcome
    answer: Answer
    refused: dict[int, str]


class _Match(NamedTuple):
    """An answer beside our result under the closest convention, field by field.

    `rule`: what gives the answer; `way`: the convention; `wrong`: the numbers that are not its;
    `equal`: of each query, whether its AP is ours or is not compared.
    """

    rule: FoundRule | None
    way: Convention
    result: Any
    parts: dict[str, Compared]
    wrong: list[Mismatch]
    equal: Any

    @property
    def agrees(self) -> bool:
        """Whether every number that it gave is ours."""
        return bool(self.parts) and not self.wrong


def _compare(child: Child, data: ResultFile, how: How, every: Integers,
             requested: list[Convention] | None, tolerance: float,
             progress: Progress) -> CrossCheck:
    loading = child.load()
    name, words = loading.value
    features = _features(data.input, how) if "features" in words else None
    few = _some(every, _FIRST)
    first = asked = _ask(child, "few", data, how, few,
                         progress if len(few) == len(every) else lambda _: None, features)
    if len(few) < len(every) and not (first.outcome.failure and first.answer.ap is None):
        asked = _ask(child, "all", data, how, every, progress, features, first)
    match, also = _matched(first, asked, requested, tolerance)
    if not match.agrees:
        first, asked = (_with_draws(child, part, each) for part, each in (
            ("few", first), ("few" if asked is first else "all", asked)))
        if len(asked.answer.drawn):
            match, also = _matched(first, asked, requested, tolerance)
    _, arrays, outcome, answer, _ = asked
    rule = match.rule
    verdict = "failed" if outcome.failure else "equal" if match.agrees else "different"
    alone = " (AP of each query alone)" if rule and not (
        match.agrees or rule.mistakes or rule.gives(arrays, answer)) else ""

    def cost(base: Convention) -> str:
        if answer.mAP is None or np.isnan(answer.mAP):
            return ""
        points = 100 * (answer.mAP - result_of(arrays, base)[0].mAP)
        return f"; mAP {points:+.2f} points"
    ranks: dict[str, Any] = {
        f"Rank_{k}": float(share) for k, share in zip(answer.at, answer.curve) if k in RANKS}
    return CrossCheck(
        evaluator=name, verdict=verdict, **_closest(asked, match),
        fed=f"{words}; the arrays as they are, label -1 included" + (
            "; features are double, as they are ranked" if features else data.input.remark),
        rule=rule and f"{rule}{alone}", unlike=unlike(rule.convention, cost) if rule else "",
        follows=match.way.name if verdict == "equal" else None,
        also=also if verdict == "equal" else (),
        **ranks, mAP=answer.mAP, mINP=answer.mINP, ranks=answer.at, cmc=answer.curve,
        ap=answer.ap, unseen=tuple(_unseen(arrays)),
        remarks=tuple(_remarks(asked, match, len(data.query))),
        defects=_faults(arrays, answer, rule), failure=outcome.failure,
        printed="\n".join(filter(None, (loading.printed.strip(), outcome.printed.strip()))),
        warned=tuple(dict.fromkeys(loading.warned + outcome.warned)))


def _with_draws(child: Child, name: str, asked: _Asked) -> _Asked:
    """Return an answer with the curves of several seeds, if two seeds give two."""
    again = None if asked.outcome.failure else child.ask(name, draws=True).value
    return asked._replace(answer=replace(asked.answer, drawn=again.drawn)) if again else asked


# ------------------------------------------------------------------ which rule
def _matched(first: _Asked, asked: _Asked, requested: list[Convention] | None,
             tolerance: float) -> tuple[_Match, tuple[str, ...]]:
    """Return the answer beside the rule that gives it, or the closest; and the other names."""
    sample = [*_by_ap(first, range(2), range(2, 24)), (first.arrays, first.answer)]
    ways, claimed = requested or named_rules(answered(sample)), requested or []
    rule = rule_of(sample, claimed, tolerance) or rule_of(sample[:-1], claimed, tolerance)
    way = rule and _named(rule.convention, requested) or nearest_rule(
        answered(sample), tolerance, requested)
    match = _beside(asked, way, rule)
    if not match.equal.all():  # perhaps these queries show what the first did not
        differ, same = (np.flatnonzero(of)[:_SAMPLE] for of in (~match.equal, match.equal))
        pairs = _by_ap(asked, differ[:2], differ, same)
        if rule is None or not all(rule.gives(*pair) for pair in pairs):
            rule = rule_of(pairs, [*claimed, way], tolerance)
            match = _beside(asked, rule and _named(rule.convention, requested) or way, rule)
    if not match.agrees:
        return match, ()
    others = [each for each in all_agreeing(ways, answered(sample), tolerance)
              if each.name == each.base != match.way.base][:_SAMPLE]
    others = all_agreeing(others, [(asked.arrays, asked.answer)], tolerance)
    return match, tuple(each.name for each in others)


def _named(way: Convention, requested: list[Convention] | None) -> Convention | None:
    """Return a rule as it is requested, or without its changed choices but for that of ties."""
    if requested:
        return next((each for each in requested if each == way), None)
    named = CONVENTIONS.get(way.base, way)
    return named if named.ties == way.ties else named.replace(ties=way.ties)


def _by_ap(asked: _Asked, *parts: Iterable[int]) -> Asked:
    """Return parts of the queries as problems of their own, answered by their APs."""
    ap = np.zeros(0) if asked.answer.ap is None else asked.answer.ap
    known = [[k for k in queries if k < len(ap) and not np.isnan(ap[k])] for queries in parts]
    return [(asked.arrays.take(queries), Answer(ap=ap[queries], single=asked.answer.single))
            for queries in known if queries]


def _beside(asked: _Asked, way: Convention, rule: FoundRule | None) -> _Match:
    """Return an answer beside our result under a convention, changed by choices or not."""
    result, = result_of(asked.arrays, way)
    tolerance = max(ADDITIONS, rule.tolerance if rule else 0)
    parts = {part.field: part for part in compared(asked.answer, result, tolerance)}
    equal = np.ones(len(asked.queries), bool)
    if "ap" in parts:
        equal[~np.isnan(result.of_query("mAP"))] = parts["ap"].away <= parts["ap"].allowed
    wrong, _ = mismatches(asked.answer, result, tolerance)
    return _Match(rule, way, result, parts, wrong, equal)


def _some(queries: Integers, n: int) -> Integers:
    """Return n of the queries, drawn with a fixed seed, in order."""
    chosen: Integers = queries[np.sort(np.random.RandomState(0).permutation(len(queries))[:n])]
    return chosen


def _features(ranked: Ranked, how: How) -> tuple[Doubles, ...] | None:
    """Return the features of both sides in double, of norm 1 if they are ranked so."""
    if not isinstance(ranked, Features):
        return None
    query, gallery = (np.asarray(read_rows(side), np.float64)
                      for side in (ranked.query, ranked.gallery))
    return (unit_rows(query), unit_rows(gallery)) if how.distance()[1] else (query, gallery)


def _ask(child: Child, name: str, data: ResultFile, how: How, queries: Integers,
         progress: Progress, features: tuple[Doubles, ...] | None,
         first: _Asked | None = None) -> _Asked:
    """Ask about some queries, for the AP of each, too, unless that failed at `first`."""
    query, gallery, n = data.query[queries], data.gallery, len(queries)
    arrays = child.give(name, data.input.exact_rows(queries, how), query, gallery,
                        features and (features[0][queries], features[1]))
    check_real_distances(arrays.distances)
    outcome, refused, ap = child.ask(name), {}, np.full(n, np.nan)
    answer = outcome.value or Answer()
    if answer.ap is not None or first and first.answer.ap is None:  # nor can it be asked by query
        progress(n)
        return _Asked(queries, arrays, outcome, answer, first.refused if first else {})
    for k in range(0 if outcome.hung else n):
        single = child.ask(name, k)
        if single.value is None or single.value.mAP is None:
            refused[k] = single.failure or "it gave no mAP"
        else:
            ap[k] = single.value.mAP
        progress(1)
        if single.hung:
            refused, ap = {k: f"query {queries[k]} alone: {single.failure}"}, np.full(n, np.nan)
        if single.hung or outcome.failure and k == 4 and np.isnan(ap).all():
            break  # it fails on everything
    return _Asked(queries, arrays, outcome,
                  replace(answer, ap=None if np.isnan(ap).all() else ap), refused)


def _closest(asked: _Asked, match: _Match) -> dict[str, Any]:
    """Return the fields of the comparison with the convention that it follows, or the closest."""
    if not match.parts:
        return {"closest": None, "reference": None, "agreement": {}, "queries": None,
                "first_difference": None}
    queries, ap, first = asked.queries, asked.answer.ap, None
    differing = np.flatnonzero(~match.equal).tolist()
    if differing and ap is not None:
        k = next((k for k in differing if not np.isnan(ap[k])), differing[0])
        why = (match.rule and match.rule.words) or UNEXPLAINED
        if np.isnan(ap[k]):
            why = f"it gave no AP: {asked.refused.get(k, 'NaN')}"
        first = FirstDifference(int(queries[k]), float(ap[k]),
                                float(match.result.of_query("mAP")[k]), why)
    n = len(match.parts["ap"].ours) if "ap" in match.parts else 0
    return {"closest": match.way.name, "first_difference": first,
            "agreement": {name: Agreement(part.level, float(part.away.max(initial=0)))
                          for name, part in match.parts.items()},
            "reference": Reference(**means_of(match.result), cmc=match.result.cmc),
            "queries": Queries(n, n - len(differing), queries[differing].tolist())}


def _unseen(arrays: Arrays) -> list[str]:
    """Return what evaluators differ in that these arrays do not have."""
    query, gallery = arrays.query, arrays.gallery
    has = {"a query whose identity is not in the gallery": not np.isin(
               query.identity, gallery.identity).all(),
           f"label {JUNK} among the queries": JUNK in query.identity,
           f"label {JUNK} among the gallery": JUNK in gallery.identity,
           f"a gallery of fewer than {MAX_RANK} images": len(gallery) <= MAX_RANK,
           "equal distances": has_ties(arrays)}
    return [words for words, is_there in has.items() if not is_there]


def _faults(arrays: Arrays, answer: Answer, rule: FoundRule | None) -> dict[str, str]:
    """Return the known faults that change these numbers: name to sentence."""
    way = rule.convention if rule else None
    shows = {"random-draws": len(answer.drawn) > 0} | ({
        "machine-ties": TIES[way.ties].sorts,
        "found-in-top-k": way.recall == "found" and bool(way.top_k),
        "label-counted": f"label {JUNK}" not in way.not_ranked and (
            JUNK in arrays.gallery.identity)} if way else {})
    return {re.sub(r" -?\d+", "", mistake.key): f"{mistake.words}: {mistake.advice}"
            for mistake in (rule.mistakes if rule else ()) if mistake.advice} | {
        name: FAULTS[name].format(top_k=way and way.top_k) for name, there in shows.items()
        if there}


def _remarks(asked: _Asked, match: _Match, n_query: int) -> list[str]:
    queries, _, outcome, answer, refused = asked
    remarks = [*answer.told, *["its numbers are percent: divided by 100"] * answer.percent]
    if len(queries) < n_query:
        remarks.append(f"called with a sample of {len(queries):,} of {n_query:,} queries")
    if match.way.base in rules_of_protocols():
        remarks.append(f"{match.way.base} is {in_choices(match.way)}")
    if answer.ap is None and not outcome.failure:
        remarks.append("per-query APs were not returned, and it cannot be asked query by query: "
                       + next(iter(refused.values()), "it gave no AP"))
    n_good = match.result.per_query.n_good
    if match.parts and not n_good.all():
        remarks.append(f"{np.sum(n_good == 0)} of {len(n_good)} queries have no good image")
    silent = [k for k in sorted(refused) if n_good[k]]
    if answer.ap is not None and silent:
        remarks.append(f"asked alone, it fails on {len(silent)} with a good image, first on query "
                       f"{queries[silent[0]]}: {refused[silent[0]]}")
    return [*remarks, *(f"{each}".replace("by the rule", f"by {match.way.name}")
                        for each in match.wrong if not each.name.startswith("AP"))]
