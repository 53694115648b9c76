"""Another evaluator on the same arrays: equal, or which convention it follows, or why not.

Contents: `crosscheck`, the one entry; `CrossCheck`, what it found; `adapters`, the evaluators of
PyPI; `foreign`, code that is not ours and what it answers; `child`, the process that runs it;
`matching`, which convention; `reasons`, why a query differs; `defects`, known defects.

Distance: smaller is nearer.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles, InputError, check_choice, check_real_distances
from reid_ref.arrays.value import Value
from reid_ref.commands.crosscheck.compute.adapters import ADAPTERS
from reid_ref.commands.crosscheck.compute.child import Child, Outcome
from reid_ref.commands.crosscheck.compute.defects import Evidence, recognise
from reid_ref.commands.crosscheck.compute.foreign import Answer, Arrays, check_spec, problems
from reid_ref.commands.crosscheck.compute.matching import Match, best_matches, same_ranks
from reid_ref.commands.crosscheck.compute.reasons import Reason, explain
from reid_ref.distances import METRICS
from reid_ref.evaluation.how import How
from reid_ref.evaluation.result_file import ResultFile, check_result_file
from reid_ref.result import Result

__all__ = ["ADAPTERS", "CrossCheck", "FirstDifference", "crosscheck"]

#: From how many conventions an explanation is sought, the closest first.
_EXPLAINED_FROM = 12

#: Called with the number of queries done.
Progress = Callable[[int], object]


@dataclass(frozen=True, eq=False)
class FirstDifference(Value):
    """The first query whose AP differs from the closest convention's.

    Parameters
    ----------
    query : int
        From 0.
    theirs, ours : float
        The two APs; theirs is NaN where it gave none.
    why : str
        As far as it can be told.
    """

    query: int
    theirs: float
    ours: float
    why: str


@dataclass(frozen=True, eq=False)
class CrossCheck(Value):
    """What a cross-check found.

    Parameters
    ----------
    evaluator, version : str
        The name that was given; the version, where it is a package.
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
    answer : Answer or None
        Their numbers; `answer.ap` has one entry a query, NaN where it gave none.
    match : Match or None
        The comparison with the convention it follows, or else with the closest.
    first_difference : FirstDifference or None
    remarks : tuple of str
        How CMC or the means differ, and more that can be told.
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
    answer: Answer | None
    match: Match | None
    first_difference: FirstDifference | None
    remarks: tuple[str, ...]
    defects: dict[str, str]
    problems: tuple[str, ...]
    failure: str
    printed: str
    warned: tuple[str, ...]

    @property
    def result(self) -> Result | None:
        """Our result under the convention it follows, or else the closest."""
        return None if self.match is None else self.match.result


def crosscheck(data: ResultFile, evaluator: str | Callable[..., Any], *,
               metric: str = "euclidean", normalize: bool = True, timeout: float = 600,
               progress: Progress | None = None) -> CrossCheck:
    """Run another evaluator on the same arrays and compare, query by query.

    It runs in a process of its own, on copies, and is called once on everything and, unless it
    tells the AP of each query, once on each query alone. Whatever it raises, prints or returns is
    reported; a crash, an exit or a hang is, too. It has your rights: do not run what you do not
    trust.

    A name is imported in a fresh interpreter. A function object runs in a fork of this process:
    CUDA that is in use here does not work there, and torch there has one thread. Where there is no
    fork (Windows) it is imported by its name, too, so it must stand at the top of a file.

    Parameters
    ----------
    data : ResultFile
        As for `reid_ref.explain`. The evaluator is fed a distance matrix: the file's own, in its
        dtype, or that of the features in double, in which every order is the exact one.
    evaluator : str or callable
        A key of `ADAPTERS`; or "module:function", "file.py:function" or the function itself,
        with torchreid's signature (distmat, q_pids, g_pids, q_camids, g_camids, max_rank) or
        ours (distances, query, gallery), returning (cmc, mAP), (cmc, mAP, mINP), (all_cmc,
        all_AP, all_INP) or a `Result`.
    metric, normalize
        As for `reid_ref.evaluate`; for features.
    timeout : float
        Seconds that importing it, or any one call, may take.
    progress : callable, optional
        Called with 1 after each query.

    Returns
    -------
    CrossCheck

    Raises
    ------
    InputError
        An unknown evaluator, a missing package, a function that cannot be imported or called
        (with the import's own message), or arrays that cannot be evaluated.

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
    >>> found = reid_ref.crosscheck(data, theirs)
    >>> found.verdict, found.follows, found.match.agreement["ap"].level
    ('equal', 'torchreid-function', 'bit')
    """
    check_result_file(data)
    if isinstance(evaluator, str):
        if ":" in evaluator:
            check_spec(evaluator)
        else:
            check_choice(evaluator, "evaluator",
                         (*ADAPTERS, "module:function", "file.py:function"))
    if not timeout > 0:
        raise InputError(f"timeout: expected seconds above 0, got {timeout!r}")
    check_choice(metric, "metric", METRICS)
    how = How(metric=metric, normalize=normalize)
    distances = data.input.whole(data.query, data.gallery, how)
    check_real_distances(distances)
    arrays = Arrays(distances, data.query.identity, data.gallery.identity, data.query.camera,
                    data.gallery.camera)
    with Child(evaluator, arrays, timeout) as child:
        found = _compare(child, arrays, progress)
    return replace(found, fed=f"{found.fed}{data.input.remark}")


def _compare(child: Child, arrays: Arrays, progress: Progress | None) -> CrossCheck:
    evaluator, loading = child.load()
    outcome, answer, refused = _answered(child, arrays, progress)
    matches = [] if answer.empty else best_matches(answer, arrays, evaluator.expected)
    best = matches[0] if matches else None
    wrong = problems(answer, len(arrays.gallery))
    if best is not None and best.agrees and best.compared.any():
        # NaN where the convention says NaN is no problem, where anything was compared.
        wrong = [text for text in wrong if " is nan;" not in text]
    verdict = "equal" if best is not None and best.agrees and not wrong else "different"
    if outcome.failure:
        verdict = "failed"
    reason = None
    if best is not None and not best.agrees and best.level("ap") == 3:
        matches, reason = _explain(arrays, answer, matches)
        best = matches[0]
    again = None
    if verdict == "different" or (best is not None and best.convention.curve.draws):
        again = child.ask(seed=1)
    evidence = Evidence(arrays, outcome, answer.ap, best, reason, again)
    also = () if best is None else tuple(
        m.name for m in matches[1:] if m.agrees and m.named
        and m.worst <= max(best.worst, 1))
    return CrossCheck(
        evaluator=evaluator.name, version=evaluator.version, computes=evaluator.computes,
        fed=evaluator.fed, verdict=verdict,
        follows=best.name if best is not None and verdict == "equal" else None,
        also=also if verdict == "equal" else (), expected=evaluator.expected,
        answer=None if answer.empty else answer, match=best,
        first_difference=_first_difference(answer, best, reason, refused),
        remarks=tuple(_remarks(outcome, answer, matches, reason, refused)),
        defects=recognise(evidence), problems=tuple(wrong), failure=outcome.failure,
        printed=_joined(loading.printed, outcome.printed),
        warned=tuple(dict.fromkeys(loading.warned + outcome.warned)))


def _answered(child: Child, arrays: Arrays,
              progress: Progress | None) -> tuple[Outcome, Answer, dict[int, str]]:
    """Return what the evaluator said, with an AP of every query; and which it refused, and why."""
    outcome = child.ask()
    answer = outcome.answer or Answer()
    refused: dict[int, str] = {}
    if answer.ap is not None and len(answer.ap) != len(arrays.query):
        refused[-1] = (f"it answers {len(answer.ap)} APs for {len(arrays.query)} queries, so "
                       "queries were asked one at a time")
        answer = _with_ap(answer, None)
    if answer.ap is None:
        ap = _one_by_one(child, len(arrays.query), outcome, refused, progress)
        answer = _with_ap(answer, ap)
    elif progress is not None:
        progress(len(arrays.query))
    return outcome, answer, refused


def _explain(arrays: Arrays, answer: Answer,
             matches: list[Match]) -> tuple[list[Match], Reason | None]:
    """Explain the difference from one of the closest conventions.

    One choice explains better than two. Returns the matches with that convention in front; it
    agrees on as many queries as any.
    """
    silent = np.isnan(answer.ap) if answer.ap is not None else np.zeros(0, dtype=bool)
    if not (matches[0].compared & ~matches[0].equal & ~silent).any():
        return matches, None  # it differs only where it gives no AP
    found: list[tuple[float, int, int, Match, Reason]] = []
    seen: list[Doubles] = []
    for match in matches:
        if match.equal.sum() < matches[0].equal.sum():
            continue
        ours = match.result.per_query.ap
        if answer.ap is None or any(np.allclose(ours, other, rtol=0, atol=1e-7, equal_nan=True)
                                    for other in seen):
            continue
        seen.append(ours)
        reason = explain(arrays, ours, answer.ap, match.equal, match.tolerance)
        if reason is not None:
            missed = 1 - reason.explained / reason.looked_at
            found.append((missed, len(reason.choices), len(seen), match, reason))
        if len(seen) == _EXPLAINED_FROM or (found and found[-1][:2] == (0, 1)):
            break
    if not found:
        return matches, None
    *_, match, reason = min(found, key=lambda item: item[:3])
    return [match, *(other for other in matches if other is not match)], reason


def _with_ap(answer: Answer, ap: Doubles | None) -> Answer:
    return Answer(answer.mAP, answer.cmc, answer.mINP, answer.ranks, ap)


def _joined(*texts: str) -> str:
    return "\n".join(text.strip() for text in texts if text.strip())


def _one_by_one(child: Child, n_query: int, whole: Outcome, refused: dict[int, str],
                progress: Progress | None) -> Doubles | None:
    """Return the AP of each query asked alone; NaN where it fails, None where it always does."""
    ap = np.full(n_query, np.nan)
    for k in range(0 if whole.hung else n_query):
        single = child.ask(k)
        if single.answer is None or single.answer.mAP is None:
            refused[k] = single.failure or "it gave no mAP"
        else:
            ap[k] = single.answer.mAP
        if progress is not None:
            progress(1)
        if single.hung:
            refused.clear()
            refused[k] = f"query {k} alone: {single.failure}"
            return None
        if whole.failure and k == 4 and len(refused) == 5:
            break  # it fails on everything
    return None if np.isnan(ap).all() else ap


def _first_difference(answer: Answer, best: Match | None, reason: Reason | None,
                      refused: dict[int, str]) -> FirstDifference | None:
    if best is None or answer.ap is None:
        return None
    differ = best.differing
    if not differ.size:
        return None
    k = int(differ[0])
    if np.isnan(answer.ap[k]):
        known = differ[~np.isnan(answer.ap[differ])]
        if not known.size or reason is None:
            why = f"it gave no AP: {refused[k]}" if k in refused else "it gave no AP"
            return FirstDifference(k, float("nan"), float(best.result.per_query.ap[k]), why)
        k = int(known[0])
    if reason is None:
        why = "not explained by one or two of the choices known here"
    else:
        why = str(reason)
    return FirstDifference(k, float(answer.ap[k]), float(best.result.per_query.ap[k]), why)


def _remarks(outcome: Outcome, answer: Answer, matches: list[Match], reason: Reason | None,
             refused: dict[int, str]) -> list[str]:
    remarks = []
    if outcome.wrote_on_input:
        remarks.append("it writes on the arrays it is given (ours are safe: it got copies)")
    if -1 in refused:
        remarks.append(refused.pop(-1))
    if not matches:
        return remarks
    best = matches[0]
    good = best.result.per_query.n_good > 0
    silent = [k for k in sorted(refused) if good[k]]
    if answer.ap is None:
        remarks.append("it cannot be asked query by query: "
                       + next(iter(refused.values()), "it gave no AP"))
    elif silent:
        count = "1 query" if len(silent) == 1 else f"{len(silent)} queries"
        remarks.append(f"asked alone, it fails on {count} with a good image, first on query "
                       f"{silent[0]}: {refused[silent[0]]}")
    if answer.mAP is not None and best.level("ap") < 3 and best.level("mAP") == 3:
        remarks.append(_mean_remark(answer, best))
    if answer.cmc is not None and best.level("cmc") == 3:
        remarks.append(_cmc_remark(answer, matches))
    return remarks


def _mean_remark(answer: Answer, best: Match) -> str:
    """Say what the mean does with queries without a good image."""
    text = (f"AP agrees query by query, mAP does not: {answer.mAP!r} for "
            f"{best.result.mAP!r}")
    if answer.ap is None or answer.mAP is None:
        return text
    fine, n = answer.ap[best.compared], len(answer.ap)
    ways = {"leaves queries without a good image out": fine.sum() / max(len(fine), 1),
            "counts queries without a good image as 0": fine.sum() / n,
            "counts queries without a good image as 1": (fine.sum() + n - len(fine)) / n}
    for way, value in ways.items():
        if abs(value - answer.mAP) < 1e-6 and n > len(fine):
            return f"{text}; it {way} ({n - len(fine)} of {n})"
    return text


def _cmc_remark(answer: Answer, matches: list[Match]) -> str:
    theirs, ours = same_ranks(answer, matches[0].result)
    k = int(np.argmax(np.abs(theirs - ours) > 2.0**-20))
    rank = k + 1 if answer.ranks is None else int(answer.ranks[k])
    text = (f"CMC differs from {matches[0].name} first at Rank-{rank}: {float(theirs[k])!r} for "
            f"{float(ours[k])!r}")
    like = [m.name for m in matches if m.level("cmc") < 3
            and len(same_ranks(answer, m.result)[0]) == len(theirs)]
    if like:
        return f"{text}; it is that of {', '.join(like[:3])}"
    for match in matches:
        for late, words in ((1, "one rank late: what it calls Rank-2 is Rank-1"),
                            (-1, "one rank early: what it calls Rank-1 is Rank-2")):
            theirs, ours = same_ranks(answer, match.result, late)
            if len(ours) and (np.abs(theirs - ours) <= 2.0**-20).all():
                return f"{text}; it is that of {match.name} {words}"
    return text
