"""Another evaluator on the same arrays: equal, or which convention it follows, or why not."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import (
    Doubles, InputError, Integers, check_choice, check_count, check_real_distances)
from reid_ref.arrays.value import Value
from reid_ref.conventions import METRICS, TOOLBOXES as WITH_LOADER, Convention, find_conventions
from reid_ref.evaluation.how import How, Progress
from reid_ref.evaluation.result_file import ResultFile, check_result_file
from reid_ref.labels import cameras_of
from reid_ref.result.views import Ranks, as_fields, means_of, named_ranks
from reid_ref.foreign.answers import ROUNDING, Answer
from reid_ref.foreign.arrays import Arrays
from reid_ref.rules.candidates import ApplyingConventions, applying, rules_of_protocols
from reid_ref.foreign.child import Child, Outcome
from reid_ref.foreign.importing import TOOLBOXES, check_spec
from reid_ref.testing.matching import (
    DIFFERS, MEANS, Agreement, Match, best_matches, likely_conventions, problems, same_curve,
    same_ranks)
from reid_ref.testing.walk import Reason, defects, explaining_choices

__all__ = ["TOOLBOXES", "CrossCheck", "FirstDifference", "Queries", "Reference", "crosscheck"]

#: Queries that are compared first, with every convention.
_FIRST = 64


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
    evaluator, version : str
        The name that was given; the version, if it is a package.
    computes, fed : str
        What was called, and with what.
    verdict : {"equal", "different", "failed"}
        Failed: it raised, or what it returned is no answer.
    follows : str or None
        The convention whose numbers it gives; None unless the verdict is equal.
    also : tuple of str
        Other conventions that give the same numbers here.
    expected : str or None
        The convention that a built-in evaluator should follow.
    closest : str or None
        The convention that it follows; or else the one from which a choice or two lead to its
        APs, or the one with the most equal APs. None if these are fewer than half, or if there is
        too little to compare, such as a mean alone.
    left_out : dict of str to str
        Conventions that were not tried, with the reason.
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
    problems : tuple of str
        What is wrong with its numbers as such: NaN, a CMC above 1 or falling, lengths.
    failure : str
        Its own message; "" unless the verdict is failed.
    printed : str
        What it printed.
    warned : tuple of str
        What it warned.
    """

    evaluator: str
    version: str
    computes: str
    fed: str
    verdict: str
    follows: str | None
    also: tuple[str, ...]
    expected: str | None
    closest: str | None
    left_out: dict[str, str]
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
    problems: tuple[str, ...]
    failure: str
    printed: str
    warned: tuple[str, ...]


def crosscheck(data: ResultFile, evaluator: str | Callable[..., Any], *,
               convention: str | Convention | Iterable[str | Convention] | None = None,
               metric: str = "euclidean", normalize: bool = True, timeout: float = 600,
               queries: int | None = None, progress: Progress | None = None) -> CrossCheck:
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
        Compare with these alone. Default: all that the labels suffice for and that are quick,
        and the rules of protocols.
    metric, normalize
        As for `reid_ref.evaluate`; for features.
    timeout : float
        Seconds that importing it, or any one call, may take.
    queries : int, optional
        Compare so many queries, the same ones each time, instead of all.
    progress : callable, optional
        Called with 1 after each query.

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
    if isinstance(evaluator, str) and ":" in evaluator:
        check_spec(evaluator)
    elif isinstance(evaluator, str):
        check_choice(evaluator, "evaluator", (*TOOLBOXES, "module:function", "file.py:function"))
    if not timeout > 0:
        raise InputError("timeout", "seconds above 0", repr(timeout))
    check_choice(metric, "metric", METRICS)
    requested = None if convention is None else find_conventions(convention)
    if lists := [record.name for record in requested or () if record.needs_lists]:
        raise InputError("convention", "conventions that take no lists", lists[0], "no lists are "
                         "handed to another evaluator")
    data.input.without_candidates("crosschecks, since no candidates are handed to an evaluator")
    given = applying(data.query, data.gallery, requested)
    data.input.check_sizes(data.query, data.gallery)
    every = np.arange(len(data.query))
    if queries is not None:
        check_count(queries, "queries")
        every = _some(every, queries)
    with TemporaryDirectory(prefix="reid-ref-", ignore_cleanup_errors=True) as folder, \
            closing(Child(evaluator, timeout, folder)) as child:
        check = _compare(child, data, How(metric=metric, normalize=normalize), every, given,
                         progress or (lambda _: None))
    return replace(check, fed=f"{check.fed}{data.input.remark}")


def _at_ranks(answer: Answer) -> dict[str, float]:
    """Return what it gave at the ranks that have a name."""
    at = np.full(max(answer.at, default=0), np.nan)
    at[answer.at - 1] = answer.curve
    return {name: value for name, value in named_ranks(at).items() if answer.ranks is None
            or not np.isnan(value)}


class _Asked(NamedTuple):
    """The answer to some queries: `refused` holds those that failed alone, and why."""

    queries: Integers
    arrays: Arrays
    outcome: Outcome
    answer: Answer
    refused: dict[int, str]


def _compare(child: Child, data: ResultFile, how: How, every: Integers, given: ApplyingConventions,
             progress: Progress) -> CrossCheck:
    about, loading = child.load()
    few = _some(every, _FIRST)
    first = asked = _ask(child, "few", data, how, few,
                         progress if len(few) == len(every) else lambda _: None)
    matches = tried = best_matches(first.answer, first.arrays, about.expected, given)
    if len(few) < len(every) and not (first.outcome.failure and first.answer.ap is None):
        asked = _ask(child, "all", data, how, every, progress, first)
        matches = best_matches(asked.answer, asked.arrays, about.expected, given,
                               likely_conventions(matches))
    queries, arrays, outcome, answer, _ = asked
    reason = None
    if matches and answer.ap is not None and matches[0].level("ap") == DIFFERS:
        matches, reason = explaining_choices(arrays, matches, answer.ap)
        if reason is None and not _is_near(answer.ap, matches[0]):
            matches = []
    match = matches[0] if matches else None
    agrees = match is not None and match.agrees
    wrong = problems(answer, queries, len(arrays.gallery),
                     agrees and match is not None and bool(match.compared.any()))
    verdict = "failed" if outcome.failure else "equal" if agrees and not wrong else "different"
    again = None
    if verdict == "different" or match is not None and match.result.convention.curve.draws:
        again = child.ask("few", seed=1).answer
    return CrossCheck(
        **about._asdict(), verdict=verdict, **_closest(asked, matches, reason),
        follows=match.name if match is not None and verdict == "equal" else None,
        also=_also(matches) if verdict == "equal" else (),
        **as_fields(_at_ranks(answer)), mAP=answer.mAP, mINP=answer.mINP, ranks=answer.at,
        cmc=answer.curve, ap=answer.ap, left_out=_left_out(given, tried),
        remarks=tuple(_remarks(asked, matches, len(data.query))),
        defects=defects(arrays, first.answer, again, match, reason),
        problems=tuple(wrong), failure=outcome.failure,
        printed="\n".join(filter(None, (loading.printed.strip(), outcome.printed.strip()))),
        warned=tuple(dict.fromkeys(loading.warned + outcome.warned)))


def _is_near(theirs: Doubles, match: Match) -> bool:
    """Return whether half of the APs that it gave, or more, are those of a convention."""
    known = match.compared & ~np.isnan(theirs)
    return bool(2 * match.equal.sum() >= known.sum())


def _left_out(given: ApplyingConventions, tried: list[Match]) -> dict[str, str]:
    """Return what was not tried, also not for the curve alone."""
    bases = {match.result.convention.base for match in tried}
    names = {WITH_LOADER.get(base, base) for base in bases}
    return {name: why for name, why in given.left_out.items() if name not in names}


def _some(queries: Integers, n: int) -> Integers:
    """Return n of the queries, drawn with a fixed seed, in order."""
    chosen: Integers = queries[np.sort(np.random.RandomState(0).permutation(len(queries))[:n])]
    return chosen


def _ask(child: Child, name: str, data: ResultFile, how: How, queries: Integers,
         progress: Progress, first: _Asked | None = None) -> _Asked:
    """Ask about some queries, for the AP of each, too, unless that failed at `first`."""
    query, gallery, n = data.query[queries], data.gallery, len(queries)
    arrays = child.give(name, data.input.exact_rows(queries, how),
                        Arrays(np.zeros((0, 0)), query, gallery).columns())
    check_real_distances(arrays.distances)
    outcome, refused, ap = child.ask(name), {}, np.full(n, np.nan)
    answer = outcome.answer or Answer()
    if answer.ap is not None and len(answer.ap) == n:
        progress(n)
        return _Asked(queries, arrays, outcome, answer, {})
    if first is not None and first.answer.ap is None:  # it cannot be asked query by query
        return _Asked(queries, arrays, outcome, replace(answer, ap=None), first.refused)
    for k in range(0 if outcome.hung else n):
        single = child.ask(name, k)
        if single.answer is None or single.answer.mAP is None:
            refused[k] = single.failure or "it gave no mAP"
        else:
            ap[k] = single.answer.mAP
        progress(1)
        if single.hung:
            refused, ap = {k: f"query {queries[k]} alone: {single.failure}"}, np.full(n, np.nan)
        if single.hung or outcome.failure and k == 4 and np.isnan(ap).all():
            break  # it fails on everything
    return _Asked(queries, arrays, outcome,
                  replace(answer, ap=None if np.isnan(ap).all() else ap), refused)


def _closest(asked: _Asked, matches: list[Match], reason: Reason | None) -> dict[str, Any]:
    """Return the fields of the comparison with the convention that it follows, or the closest."""
    queries, _, _, answer, refused = asked
    if not matches:
        return {"closest": None, "reference": None, "agreement": {}, "queries": None,
                "first_difference": None}
    match, result, first = matches[0], matches[0].result, None
    differing = np.flatnonzero(match.compared & ~match.equal).tolist()
    if differing and answer.ap is not None:
        k, why = differing[0], "not explained by one or two of the choices known here"
        if reason is not None:
            k, why = next(k for k in differing if not np.isnan(answer.ap[k])), str(reason)
        elif np.isnan(answer.ap[k]):
            why = f"it gave no AP: {refused.get(k, 'NaN')}"
        first = FirstDifference(int(queries[k]), float(answer.ap[k]),
                                float(result.of_query("mAP")[k]), why)
    return {"closest": match.name, "agreement": match.agreement, "first_difference": first,
            "reference": Reference(**means_of(result), cmc=result.cmc),
            "queries": Queries(int(match.compared.sum()), int(match.equal.sum()),
                               queries[differing].tolist())}


def _also(matches: list[Match]) -> tuple[str, ...]:
    """Return the other conventions, as named, that give the same numbers here."""
    return tuple(m.name for m in matches[1:] if m.agrees and m.is_named
                 and m.level(*MEANS) <= max(matches[0].level(*MEANS), 1))


def _remarks(asked: _Asked, matches: list[Match], n_query: int) -> list[str]:
    queries, _, outcome, answer, refused = asked
    remarks = [*outcome.told, *["its numbers are percent: divided by 100"] * answer.percent]
    if len(queries) < n_query:
        remarks.append(f"called with a sample of {len(queries):,} of {n_query:,} queries")
    if matches and (
            base := matches[0].result.convention.base) in rules_of_protocols():
        remarks.append(f"{base} is no convention but a rule of protocols: "
                       f"{', '.join(rules_of_protocols()[base][1])}")
    if answer.ap is None and not outcome.failure:
        remarks.append("per-query APs were not returned, and it cannot be asked query by query: "
                       + next(iter(refused.values()), "it gave no AP")
                       + ("" if matches else "; means alone name no convention"))
    n_good = matches[0].result.per_query.n_good if matches else np.ones(len(queries))
    if not n_good.all():
        remarks.append(f"{np.sum(n_good == 0)} of {len(n_good)} queries have no good image")
    silent = [k for k in sorted(refused) if n_good[k]]
    if answer.ap is not None and silent:
        good = " with a good image" * bool(matches)
        remarks.append(f"asked alone, it fails on {len(silent)}{good}, first on query "
                       f"{queries[silent[0]]}: {refused[silent[0]]}")
    if not matches:
        return remarks if answer.ap is None else [
            *remarks, "no convention gives half of its APs, and none does with one or two of the "
            "other choices known here"]
    match = matches[0]
    if match.level("ap") < DIFFERS == match.level("mAP"):
        remarks.append(_mean_remark(answer, match))
    if match.level("cmc") == DIFFERS:
        remarks.append(_cmc_remark(answer, matches))
    return remarks


def _mean_remark(answer: Answer, match: Match) -> str:
    """Return what the mean does with queries without a good image."""
    text = f"mAP differs from {match.name}: {answer.mAP!r} for {match.result.mAP!r}"
    if answer.ap is None or answer.mAP is None or not match.compared.any():
        return text
    ap, n = answer.ap[match.compared], len(answer.ap)
    means = {"leaves queries without a good image out": ap.mean(),
             "counts queries without a good image as 0": ap.sum() / n,
             "counts queries without a good image as 1": (ap.sum() + n - len(ap)) / n}
    rules = [f"; it {rule} ({n - len(ap)} of {n})" for rule, mean in means.items()
             if abs(mean - answer.mAP) < 1e-6 and n > len(ap)]
    return f"AP agrees query by query, {text}{''.join(rules[:1])}"


def _cmc_remark(answer: Answer, matches: list[Match]) -> str:
    """Return the first rank at which the curve differs, and the name of the curve."""
    theirs, ours = same_ranks(answer, matches[0].result)
    k = int(np.argmax(np.abs(theirs - ours) > ROUNDING))
    text = (f"CMC differs from {matches[0].name} first at Rank-{k + 1}: "
            f"{float(theirs[k])!r} for {float(ours[k])!r}")
    like = ", ".join(match.name for match in same_curve(matches)[:3] if match.is_named)
    both = ", and no convention has both" * (matches[0].level(*MEANS) < DIFFERS)
    return f"{text}; it is that of {like}{both}" if like else text
