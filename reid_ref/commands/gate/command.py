"""`reid-ref evaluate` with --expect, --fail-under, --baseline or --strict: exit codes for CI."""
from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from reid_ref.arrays import warn
from reid_ref.arrays.memory import bytes_of
from reid_ref.commands.compare.compute import Comparison
from reid_ref.commands.doctor.compute import OF_UNMATCHED, findings_of_conventions
from reid_ref.commands.doctor.compute.labels import Finding
from reid_ref.commands.gate.compute import (
    parse_tolerance, parse_wanted, too_low, unexpected, worse_than)
from reid_ref.console import options as common
from reid_ref.console.terminal import print_stderr
from reid_ref.conventions import Convention
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.result import Result
from reid_ref.result.saved import read_stored
from reid_ref.result.stored import Stored
from reid_ref.text import signed_percent

Findings = list[Finding]

#: Exit codes. Where several gates fail, all are printed, and the first of these is the exit code.
UNEXPECTED, TOO_LOW, WORSE, FINDINGS = 3, 4, 5, 1
CODES = ("Exit code: 0 where all is well; 1 for --strict and a finding; 2 for wrong input; 3 "
         "where --expect is missed; 4 below --fail-under; 5 worse than --baseline. What failed "
         "is one line on stderr.")


def add(command: Any) -> None:
    command.add_argument("--expect", action="append", metavar="NAME=PERCENT[,...]",
                         help="exit code 3 unless these are the numbers, e.g. "
                              "mAP=76.12,Rank-1=90.1, rounded to the digits given")
    command.add_argument("--tolerance", metavar="POINTS",
                         help="with --expect: how many percentage points a number may be off, "
                              "e.g. 0.01")
    command.add_argument("--fail-under", action="append", metavar="NAME=PERCENT[,...]",
                         help="exit code 4 where a number is below, e.g. mAP=60,Rank-1=80")
    command.add_argument("--baseline", metavar="FILE",
                         help="exit code 5 where mAP or Rank-1 is significantly worse (paired "
                              "test, 5 percent) than in FILE, which --save FILE.json or "
                              "--per-query FILE.json wrote")
    add_strict(command)


def add_strict(command: Any) -> None:
    command.add_argument("--strict", action="store_true",
                         help="exit code 1 where the doctor has a warning or an error; see "
                              "reid-ref doctor")


@dataclass(frozen=True)
class Gates:
    """What a result must pass; empty or None where nothing is requested."""

    expected: dict[str, Decimal]
    least: dict[str, Decimal]
    tolerance: Decimal | None
    stored: Stored | None


def check(args: argparse.Namespace) -> Gates:
    """Read what a result must pass, before the work."""
    if args.expect is None:
        common.refuse({"--tolerance": args.tolerance}, "--expect with it", "none; add it")
    return Gates(
        parse_wanted(args.expect or (), "--expect"),
        parse_wanted(args.fail_under or (), "--fail-under"),
        None if args.tolerance is None else parse_tolerance(args.tolerance),
        None if args.baseline is None else read_stored(args.baseline))


def of_one_result(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that are about one result, by name."""
    return {"--expect": args.expect, "--fail-under": args.fail_under, "--baseline": args.baseline}


def examine(args: argparse.Namespace, data: ResultFile,
            conventions: Iterable[Convention]) -> Findings:
    """Return what the doctor finds; warn of it where no other warning says it."""
    findings = findings_of_conventions(data, conventions,
                                       common.max_memory(args) or bytes_of(None))
    for finding in findings:
        if finding.key not in OF_UNMATCHED:
            warn(finding.line)
    return findings


def status(args: argparse.Namespace, gates: Gates, result: Result) -> int:
    """Print each gate that the result does not pass, and return the exit code."""
    failed = {}
    if missed := list(unexpected(result, gates.expected, gates.tolerance)):
        failed[UNEXPECTED] = "--expect: " + "; ".join(
            f"{number.name} is {_percent(number.value)}, expected {number.wanted} within "
            f"{number.tolerance}" for number in missed)
    if missed := list(too_low(result, gates.least)):
        failed[TOO_LOW] = "--fail-under: " + "; ".join(
            f"{number.name} is {_percent(number.value)}, below {number.wanted}"
            for number in missed)
    if gates.stored is not None and (worse := worse_than(gates.stored, result)):
        failed[WORSE] = worse_line(args.baseline, worse)
    for line in failed.values():
        print_stderr(f"failed: {line}")
    return next(iter(failed), 0)


def of_findings(args: argparse.Namespace, findings: Sequence[Finding]) -> int:
    """Print that --strict is missed, where it is, and return its exit code."""
    if not (args.strict and findings):
        return 0
    keys = dict.fromkeys(finding.key for finding in findings)
    print_stderr(f"failed: --strict: {', '.join(keys)}")
    return FINDINGS


def worse_line(path: str, worse: Sequence[Comparison]) -> str:
    return f"--baseline: significantly worse than {path}: " + "; ".join(
        f"{metric.metric} {signed_percent(metric.difference)} points (95 % interval "
        f"{signed_percent(metric.low)} to {signed_percent(metric.high)}, "
        f"p = {metric.p_adjusted:.2g})" for metric in worse)


def _percent(value: Decimal | None) -> str:
    return "NaN" if value is None else f"{value.normalize():f}"
