"""`reid-ref crosscheck`: another evaluator on the same arrays, and a report for people."""
import argparse
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from reid_ref.analysis.crosscheck import UNEXPLAINED, CrossCheck, crosscheck
from reid_ref.arrays import InputError
from reid_ref.console import options as common
from reid_ref.console.answers import input_of, show_answer
from reid_ref.console.request import LISTS, NO_FILES, SAVED, Request, narrowed, option
from reid_ref.conventions import Convention
from reid_ref.foreign.arguments import setting
from reid_ref.foreign.calling import NO_ANSWER
from reid_ref.foreign.words import shorten
from reid_ref.measures import RANKS
from reid_ref.rules.candidates import find_rules
from reid_ref.rules.numbers import LEVELS
from reid_ref.testing.checks import CHECKS
from reid_ref.testing.kit import crosscheck_made
from reid_ref.testing.report import Report, summary
from reid_ref.text import named_rows
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
    made: Report | None


@dataclass(frozen=True, kw_only=True)
class CrosscheckRequest(Request):
    """What the command line requests."""

    convention: list[str] | None = narrowed("--convention", not_of=(SAVED,))
    metric: str | None = narrowed("--metric", not_of=(SAVED, LISTS, NO_FILES))
    normalize: bool | None = narrowed("--normalize", not_of=(SAVED, LISTS, NO_FILES))

    evaluator: str = option("--evaluator", required=True)
    timeout: float = option("--timeout", 600, type=real)
    max_rank: int | None = option("--max-rank", type=whole)
    tolerance: float | None = option("--tolerance", type=real)
    setting: list[tuple[str, Any]] = option("--setting", (), type=setting, action="append")
    queries: int | None = option("--queries", not_of=(NO_FILES,), type=whole)


def add(command: argparse.ArgumentParser) -> None:
    """Run another evaluator on the same distances and labels, and name the convention it follows,
    or the query that differs, and why; then, or without a file, on made problems, each with one
    thing that evaluators differ in.

    Examples:
        reid-ref crosscheck --evaluator reid_ref.compat.torchreid:evaluate_rank
        reid-ref crosscheck fixtures/market_like.mat \
--evaluator reid_ref.compat.torchreid:evaluate_rank

    Exit code: 0 equal to a convention, and no number wrong on made problems; 1 different or
    failed; 2 wrong input.
    """
    common.add_files(command, nargs="*")
    CrosscheckRequest.add(command, "--evaluator", "--timeout", "--queries", "--convention",
                          "--max-rank", "--tolerance", "--setting", "--metric", "--normalize",
                          formats=("table", "json"), conventions="all")


def run(request: CrosscheckRequest) -> int:
    if not request.files:
        return _on_made_problems(request)
    data, requested = common.read_files(request), _rules(request)
    with common.progress_bar(request.queries or len(data.query),
                             f"asking {request.evaluator}") as bar:
        how = common.how(request, requested or (), bar=bar)
        metric, normalize = how.distance()
        check = crosscheck(data, request.evaluator, convention=requested, metric=metric,
                           normalize=normalize, queries=request.queries, progress=how.progress,
                           **_limits(request), **dict(request.setting))
    report = None if check.failure.startswith(NO_ANSWER) else _report(
        request, check.follows or (requested[0] if requested else None))
    if report and not check.follows:  # whose problems tell more rules apart
        check = replace(check, rule=report.rule or check.rule,
                        unlike=check.unlike or report.unlike)
    given = input_of(request.files, data)
    show_answer(request.format, table=lambda: as_text(check, given, report),
                json=lambda: Answered(**vars(check), files=request.files, layout=data.layout,
                                      made=report))
    # An error on a made problem is told; it is no wrong number.
    return 0 if check.follows and report and all(
        each.status != "failed" for each in report.checks) else 1


def _on_made_problems(request: CrosscheckRequest) -> int:
    request.check(NO_FILES, "a result file to evaluate", "no file")
    rules = _rules(request) or []
    if len(rules) > 1:
        raise InputError("--convention", "one without a file", ", ".join(request.convention or ()))
    report = _report(request, rules[0] if rules else None)
    show_answer(request.format, table=lambda: str(report), json=lambda: report)
    return 0 if report.passed else 1


def _rules(request: CrosscheckRequest) -> list[Convention] | None:
    """Return the rules that are named, a changed one or one of a protocol as screens name it."""
    names = [name.strip() for given in request.convention or ["all"]
             for name in re.split(r",(?![^\[]*\])", given)]
    return None if "all" in names else find_rules(names)


def _report(request: CrosscheckRequest, convention: str | Convention | None) -> Report:
    with common.progress_bar(len(CHECKS), f"asking {request.evaluator}") as bar:
        progress = {} if bar is None else {"progress": bar.update}
        return crosscheck_made(
            request.evaluator, convention=convention, settings=dict(request.setting), **progress,
            **_limits(request))


def _limits(request: CrosscheckRequest) -> dict[str, Any]:
    return {name: getattr(request, name) for name in ("timeout", "max_rank", "tolerance")}


def as_text(check: CrossCheck, given: Iterable[tuple[str, str]] = (),
            report: Report | None = None) -> str:
    """Return the report for a terminal of 80 columns; `report`: of the made problems."""
    lines = named_rows([*given, ("evaluator", check.evaluator), ("given", check.fed),
                        ("verdict", verdict(check))], INDENT)
    for part in (_numbers(check), _per_query(check)):
        lines += ["", *part] if part else []
    return "\n".join(lines + named_rows([
        *(("note", remark) for remark in check.remarks),
        *(("known fault", text) for text in check.defects.values()),
        *(("it warned", text) for text in check.warned[:5]),
        *([("it printed", shorten(check.printed))] if check.printed else []),
        *([("not tested", f"{', '.join(check.unseen)}: these arrays have none")]
          if check.unseen and check.verdict == "equal" else []),
        *([("made", summary(report))] if report else [])], INDENT))


def verdict(check: CrossCheck) -> str:
    """Return the verdict as one sentence."""
    agreement = check.agreement
    if check.verdict == "failed":
        near = bool(agreement) and all(item.level != "differs" for item in agreement.values())
        alone = f"; asked query by query, its APs are those of {check.closest}" if near else ""
        rule = f"; where it answers, it follows {check.rule}" if check.rule else ""
        return f"FAILED: {check.failure}{alone}{rule}"
    if check.follows is None:
        words = f"it follows {check.rule}" if check.rule else (
            "it follows no convention that was tried")
        # The toolbox whose rule it is has a loader that leaves them out.
        words += "".join(f"; {text.partition(':')[0]} here" for text in check.defects.values())
        closest = f"the closest is {check.closest}" * bool(check.closest and not check.rule)
        return "; ".join(filter(None, (f"DIFFERENT: {words}", closest, check.unlike)))
    levels = [agreement[name].level for name in ("ap", "mAP", "mINP") if name in agreement]
    how = LEVELS[max(levels, key=list(LEVELS).index, default="bit")]
    also = f"here the same as {', '.join(check.also)}" * bool(check.also)
    return "; ".join(filter(None, (
        f"EQUAL to convention {check.follows}, {how}", also, check.unlike)))


def _numbers(check: CrossCheck) -> list[str]:
    cells = []
    for field in ("mAP", "mINP", *(f"Rank_{k}" for k in RANKS)):
        theirs, ours = getattr(check, field), getattr(check.reference, field, None)
        if theirs is not None and ours is not None:
            cells.append([field.replace("_", "-"), repr(theirs), repr(ours),
                          f"{theirs - ours:.2g}"])
    heads = ["", "theirs", str(check.closest), "difference"]
    lines = table_lines(heads, cells, indent=10) if cells else []
    words = {"ap": "AP of each query", "cmc": "all of CMC"}
    return lines + named_rows([
        ("", f"{words[name]}: {LEVELS[item.level]} (largest difference "
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
                  *[("why", first.why)] * (first.why != UNEXPLAINED or not check.defects)]
    return named_rows(pairs, INDENT)
