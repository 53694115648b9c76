"""`reid-ref crosscheck`: another evaluator on the same arrays, and a report for people."""
from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass

from reid_ref.analysis.crosscheck import CrossCheck, crosscheck
from reid_ref.analysis.crosscheck.made import crosscheck_made
from reid_ref.arrays import InputError
from reid_ref.console import options as common
from reid_ref.console.answers import input_of, show_answer
from reid_ref.console.request import LISTS, NO_FILES, SAVED, Request, narrowed, option
from reid_ref.conventions import find_conventions
from reid_ref.measures import RANKS
from reid_ref.testing.checks import CHECKS
from reid_ref.foreign.words import shorten
from reid_ref.testing.matching import LEVELS
from reid_ref.testing.report import CheckResult
from reid_ref.text import named_rows, with_reasons
from reid_ref.text.numbers import real, whole
from reid_ref.text.table import lines as table_lines

#: How many of the queries that differ are named.
_NAMED = 10
#: Columns of the names of rows.
INDENT = 12


@dataclass(frozen=True, eq=False, kw_only=True)
class Answered(CrossCheck):
    """A cross-check as JSON has it."""

    files: list[str]
    layout: str


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A test by made problems, as JSON has it."""

    evaluator: str
    convention: str
    rule: str | None
    how: str
    passed: bool
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True, kw_only=True)
class CrosscheckRequest(Request):
    """What the command line requests."""

    convention: list[str] | None = narrowed("--convention", not_of=(SAVED,))
    metric: str | None = narrowed("--metric", not_of=(SAVED, LISTS, NO_FILES))
    normalize: bool | None = narrowed("--normalize", not_of=(SAVED, LISTS, NO_FILES))

    evaluator: str = option(
        "--evaluator", required=True, metavar="SPEC",
        help="your module:function or file.py:function, fed by the names of its arguments, or in "
             "torchreid's order (distmat, q_pids, g_pids, q_camids, g_camids, max_rank), which "
             "returns (cmc, mAP) or names its numbers; or fastreid or torchreid, if installed")
    timeout: float = option(
        "--timeout", 600, type=real, metavar="SECONDS",
        help="how long importing it, or any one call, may take (default 600)")
    queries: int | None = option(
        "--queries", not_of=(NO_FILES,), type=whole, metavar="N",
        help="compare N queries, the same ones each time (default: all)")


def add(command: argparse.ArgumentParser) -> None:
    """Run another evaluator on the same distances and labels, and name the convention it follows,
    or the query that differs, and why. Without a file: on made problems, each with one thing that
    evaluators differ in.

    Exit code: 0 equal to a convention, 1 different or failed, 2 wrong input.
    """
    common.add_files(command, nargs="*")
    CrosscheckRequest.add(command, "--evaluator", "--timeout", "--queries", "--convention",
                          "--metric", "--normalize", formats=("table", "json"), conventions="all")


def run(request: CrosscheckRequest) -> int:
    if not request.files:
        return _on_made_problems(request)
    data = common.read_files(request)
    with common.progress_bar(request.queries or len(data.query),
                             f"asking {request.evaluator}") as bar:
        names = common.convention_names(request, "all")
        requested = None if names is None else find_conventions(names)
        how = common.how(request, requested or (), bar=bar)
        metric, normalize = how.distance()
        check = crosscheck(data, request.evaluator, convention=requested, metric=metric,
                           normalize=normalize, timeout=request.timeout, queries=request.queries,
                           progress=how.progress)
    show_answer(request.format, table=lambda: as_text(check, input_of(request.files, data)),
                json=lambda: Answered(**vars(check), files=request.files, layout=data.layout))
    return 0 if check.verdict == "equal" else 1


def _on_made_problems(request: CrosscheckRequest) -> int:
    request.check(NO_FILES, "a result file to evaluate", "no file")
    names = common.convention_names(request, "all")
    if names is not None and len(names) > 1:
        raise InputError("--convention", "one without a file", ", ".join(names))
    with common.progress_bar(len(CHECKS), f"asking {request.evaluator}") as bar:
        progress = {} if bar is None else {"progress": bar.update}
        report = crosscheck_made(request.evaluator, convention=names[0] if names else None,
                                 timeout=request.timeout, **progress)
    show_answer(request.format, table=lambda: str(report), json=lambda: Tested(
        **vars(report), passed=report.passed))
    return 0 if report.passed else 1


def as_text(check: CrossCheck, given: Iterable[tuple[str, str]] = ()) -> str:
    """Return the report for a terminal of 80 columns."""
    name = f"{check.evaluator} {check.version}".strip()
    label = "" if check.verdict == "failed" else "invalid"
    first = [*given, ("evaluator", f"{name}: {check.computes}".removesuffix(": ")),
             ("given", check.fed), ("verdict", verdict(check)),
             *((label, problem) for problem in check.problems)]
    lines = named_rows(first, INDENT)
    for part in (_numbers(check), _per_query(check)):
        lines += ["", *part] if part else []
    return "\n".join(lines + named_rows([
        *(("note", remark) for remark in check.remarks),
        *(("known fault", text) for text in check.defects.values()),
        *(("it warned", text) for text in check.warned[:5]),
        *([("it printed", shorten(check.printed))] if check.printed else []),
        *([("not tried", with_reasons(check.left_out))]
          if check.left_out and check.verdict == "different" else [])], INDENT))


def verdict(check: CrossCheck) -> str:
    """Return the verdict as one sentence."""
    agreement = check.agreement
    near = bool(agreement) and all(item.level != "differs" for item in agreement.values())
    if check.verdict == "failed":
        alone = f"; asked query by query, its APs are those of {check.closest}" if near else ""
        return f"FAILED: {check.failure}{alone}"
    if check.follows is None:
        words = "; the closest is" if not near else ", although its numbers are near"
        return "DIFFERENT: it follows no convention that was tried" + (
            f"{words} {check.closest}" if check.closest else "")
    expected = ""
    if check.expected not in (None, check.follows.split("[")[0]):
        expected = f" (expected: {check.expected})"
    levels = [agreement[name].level for name in ("ap", "mAP", "mINP") if name in agreement]
    how = LEVELS[max(levels, key=list(LEVELS).index, default="bit")][0].removeprefix("equal")
    also = f"; here the same as {', '.join(check.also)}" if check.also else ""
    return f"EQUAL to convention {check.follows}{expected},{how}{also}"


def _numbers(check: CrossCheck) -> list[str]:
    cells = []
    reference = check.reference
    for field in ("mAP", "mINP", *(f"Rank_{k}" for k in RANKS)):
        theirs, ours = getattr(check, field), getattr(reference, field, None)
        if theirs is not None and (reference is None or ours is not None):
            cells.append([field.replace("_", "-"), repr(theirs), *(
                () if ours is None else (repr(ours), f"{theirs - ours:.2g}"))])
    heads = ["", "theirs", *(() if reference is None else (str(check.closest), "difference"))]
    lines = table_lines(heads, cells, indent=10) if cells else []
    words = {"ap": "AP of each query", "cmc": "all of CMC"}
    return lines + named_rows([
        ("", f"{words[name]}: {LEVELS[item.level][0]} (largest difference "
             f"{item.largest_difference:.2g})")
        for name, item in check.agreement.items() if name in words], INDENT)


def _per_query(check: CrossCheck) -> list[str]:
    queries, first = check.queries, check.first_difference
    if queries is None or check.ap is None:
        return []
    pairs = [("per query", f"{queries.equal:,} of {queries.compared:,} APs agree with "
                           f"{check.closest}")]
    if queries.differing:
        more = len(queries.differing) - _NAMED
        pairs.append(("differing", ", ".join(map(str, queries.differing[:_NAMED]))
                      + (f" and {more:,} more" if more > 0 else "")))
    if first is not None:
        pairs += [("first", f"query {first.query}: {first.theirs!r} for {first.ours!r}"),
                  ("why", first.why)]
    return named_rows(pairs, INDENT)
