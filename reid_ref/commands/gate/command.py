"""`reid-ref evaluate` with --expect, --fail-under, --baseline or --strict: exit codes for CI."""
from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from reid_ref.commands.compare.compute import Comparison
from reid_ref.commands.doctor.compute.labels import Finding
from reid_ref.commands.gate.compute import Missed
from reid_ref.console import options as common
from reid_ref.console.terminal import tell
from reid_ref.text import signed_percent

Findings = list[Finding]

if TYPE_CHECKING:
    from reid_ref.conventions import Convention
    from reid_ref.evaluation.result_file import ResultFile
    from reid_ref.result import Result
    from reid_ref.result.stored import Stored


def unexpected_line(missed: Sequence[Missed]) -> str:
    """Return what is expected otherwise."""
    return "--expect: " + "; ".join(
        f"{one.name} is {_percent(one.value)}, expected {one.wanted} within {one.tolerance}"
        for one in missed)


def too_low_line(missed: Sequence[Missed]) -> str:
    """Return what is below its floor."""
    return "--fail-under: " + "; ".join(
        f"{one.name} is {_percent(one.value)}, below {one.wanted}" for one in missed)


def worse_line(path: str, found: Sequence[Comparison]) -> str:
    """Return what is worse than in the baseline."""
    return f"--baseline: significantly worse than {path}: " + "; ".join(
        f"{one.metric} {signed_percent(one.difference)} points (95 % interval "
        f"{signed_percent(one.low)} to {signed_percent(one.high)}, p = {one.p_adjusted:.2g})"
        for one in found)


def findings_line(found: Sequence[Finding]) -> str:
    """Return the keys of what the doctor found."""
    return f"--strict: {', '.join(dict.fromkeys(one.key for one in found))}"


def _percent(value: Decimal | None) -> str:
    return "NaN" if value is None else f"{value.normalize():f}"


#: Exit codes. Where several gates fail, all are told, and the first of these is the exit code.
UNEXPECTED, TOO_LOW, WORSE, FINDINGS = 3, 4, 5, 1
CODES = ("Exit code: 0 where all is well; 1 for --strict and a finding, or implementations that "
         "differ; 2 for wrong input; 3 where --expect is missed; 4 below --fail-under; 5 worse "
         "than --baseline. What failed is one line on stderr.")


def add(command: Any) -> None:
    command.add_argument("--expect", metavar="NAME=PERCENT[,...]",
                         help="exit code 3 unless these are the numbers, e.g. "
                              "mAP=76.12,Rank-1=90.1, rounded to the digits given")
    command.add_argument("--tolerance", metavar="POINTS",
                         help="of --expect: percent points that a number may be off, e.g. 0.01")
    command.add_argument("--fail-under", metavar="NAME=PERCENT[,...]",
                         help="exit code 4 where a number is below, e.g. mAP=60,Rank-1=80")
    command.add_argument("--baseline", metavar="FILE",
                         help="exit code 5 where mAP or Rank-1 is significantly worse (paired "
                              "test, 5 percent) than in FILE, which --save FILE.json or "
                              "--per-query FILE.json wrote")
    command.add_argument("--strict", action="store_true",
                         help="exit code 1 where the doctor has a warning or an error; see "
                              "reid-ref doctor")


@dataclass(frozen=True)
class Gates:
    """What a result must pass; empty or None where nothing is asked for."""

    expected: dict[str, Decimal]
    least: dict[str, Decimal]
    tolerance: Decimal | None
    stored: Stored | None


def check(args: argparse.Namespace, asked: list[Convention]) -> Gates:
    """Return what is asked for; refuse what does not go together."""
    from reid_ref.arrays import InputError
    from reid_ref.commands.gate.compute import parse_tolerance, parse_wanted

    if args.tolerance is not None and args.expect is None:
        raise InputError("--tolerance: expected --expect beside it")
    given = of_one_result(args)
    if args.implementation != "fast" or args.ties == "bounds":
        given["--strict"] = args.strict
    elif len(asked) == 1 and args.rerank is None and args.multi_query is None:
        given = {}
    for option in (option for option, is_given in given.items() if is_given):
        raise InputError(f"{option}: expected one convention, and no --ties bounds, "
                         "--implementation, --rerank or --multi-query beside it")
    return Gates(
        {} if args.expect is None else parse_wanted(args.expect, "--expect"),
        {} if args.fail_under is None else parse_wanted(args.fail_under, "--fail-under"),
        None if args.tolerance is None else parse_tolerance(args.tolerance),
        None if args.baseline is None else _baseline(args.baseline))


def _baseline(path: str) -> Stored:
    from reid_ref.result.saved import read_stored

    return read_stored(path)


def of_one_result(args: argparse.Namespace) -> dict[str, bool]:
    """Return the options that are about one result, and whether they are given."""
    return {"--expect": args.expect is not None, "--fail-under": args.fail_under is not None,
            "--baseline": args.baseline is not None}


def examine(args: argparse.Namespace, data: ResultFile,
            asked: Iterable[Convention]) -> Findings:
    """Return what the doctor finds; warn of it where no other warning says it."""
    from reid_ref.arrays import warn
    from reid_ref.arrays.memory import bytes_of
    from reid_ref.commands.doctor.compute import OF_UNMATCHED, doctor_beside
    from reid_ref.commands.doctor.show import one_line

    found = doctor_beside(data, asked, common.max_memory(args) or bytes_of(None))
    for finding in found:
        if finding.key not in OF_UNMATCHED:
            warn(one_line(finding))
    return found


def status(args: argparse.Namespace, gates: Gates, found: Findings, result: Result) -> int:
    """Tell each gate that the result does not pass, and return the exit code."""
    from reid_ref.commands.gate.compute import too_low, unexpected, worse_than

    failed = {}
    if missed := list(unexpected(result, gates.expected, gates.tolerance)):
        failed[UNEXPECTED] = unexpected_line(missed)
    if missed := list(too_low(result, gates.least)):
        failed[TOO_LOW] = too_low_line(missed)
    if gates.stored is not None and (worse := worse_than(gates.stored, result)):
        failed[WORSE] = worse_line(args.baseline, worse)
    for line in failed.values():
        tell(f"failed: {line}")
    return next(iter(failed), of_findings(args, found))


def of_findings(args: argparse.Namespace, found: Findings) -> int:
    """Tell that --strict is missed, where it is, and return its exit code."""

    if not (args.strict and found):
        return 0
    tell(f"failed: {findings_line(found)}")
    return FINDINGS
