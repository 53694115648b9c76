"""The gates of `reid-ref evaluate`: --expect, --fail-under, --baseline, --strict, for CI."""
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from reid_ref.analysis.compare import compare_systems
from reid_ref.analysis.compare.answer import change_words, p_text
from reid_ref.analysis.doctor import WARNED_OF, findings_of_conventions
from reid_ref.analysis.doctor.finding import Finding
from reid_ref.arrays import ComparisonWarning, FindingWarning, InputError, NormWarning, warn
from reid_ref.arrays.memory import bytes_of
from reid_ref.console.request import OF_ONE, SAVED, Request, option
from reid_ref.console.terminal import print_stderr
from reid_ref.conventions import Convention
from reid_ref.datasets.published import parse_percent, unit_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.norms import normalised_already
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.measures import any_case, measure, measure_names
from reid_ref.result import Result, query_values
from reid_ref.result.saved import load
from reid_ref.result.systems import scores_of_runs
from reid_ref.statistics import holm
from reid_ref.statistics.paired import fewest_units, least_p, unit_weights
from reid_ref.text import percent

Findings = list[Finding]

#: Exit codes. If several gates fail, all are printed, and the first of these is the exit code.
UNEXPECTED, TOO_LOW, WORSE, FINDINGS = 3, 4, 5, 1
#: Percent points; a tolerance above it would pass almost any number.
MOST = 5
#: Of the test against a baseline, over the metrics together (Holm).
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class GateRequest(Request):
    """What the command line requests."""

    expect: list[str] | None = option("--expect", **OF_ONE, action="append")
    tolerance: str | None = option("--tolerance", needs=("--expect", "--baseline"), more=True)
    fail_under: list[str] | None = option("--fail-under", **OF_ONE, action="append")
    baseline: str | None = option("--baseline", **OF_ONE)
    strict: bool = option(
        "--strict", False, not_of=(SAVED,), more=True, action="store_true",
        without={"--protocol": "which ranks a selection of the images"})


def named_measure(name: str) -> str:
    """Return the name of a measure, given in any case; an InputError lists all."""
    try:
        return measure(any_case(name)).name
    except InputError:
        raise InputError("", f"NAME=PERCENT, NAME being {measure_names()}, e.g. "
                         "mAP=76.12,Rank-1=90.1") from None


class Gates(NamedTuple):
    """What a result must pass; empty or None if nothing is requested."""

    expected: dict[str, Decimal]
    least: dict[str, Decimal]
    tolerance: Decimal | None
    baseline: Result | None


def read_gates(request: GateRequest, names: Callable[[str], str] = named_measure) -> Gates:
    """Read what numbers must pass, before the work; `names` is that of `parse_wanted`."""
    tolerance = None if request.tolerance is None else parse_tolerance(request.tolerance)
    return Gates(parse_wanted(request.expect or (), "--expect", names),
                 parse_wanted(request.fail_under or (), "--fail-under", names), tolerance,
                 None if request.baseline is None else read_baseline(request.baseline, tolerance))


def read_baseline(path: str, tolerance: Decimal | None) -> Result:
    """Read a saved result; without a tolerance, refuse one of so few identities that no loss is
    significant.
    """
    baseline = load(path)
    metrics = _tested(baseline.convention)
    weights = [unit_weights(baseline.per_query.identity, query_values(baseline, metric).counted)
               for metric in metrics]
    least = min(map(least_p, weights)) * len(metrics)
    if tolerance is None and least >= ALPHA:
        raise InputError(
            "--baseline", f"at least {fewest_units(len(metrics), ALPHA)} identities of equally "
            f"many queries", f"{max(map(len, weights))}, where p of the test is never below "
            f"{min(1, least):.2g}, so that the gate cannot fail", "take more identities, or a "
            "margin: --tolerance 0.5")
    return baseline


def _tested(convention: Convention) -> list[str]:
    """Return the metrics that are compared with a baseline."""
    return ["mAP", *(["Rank-1"] if convention.curve.has_values(1) else [])]


def parse_wanted(texts: Iterable[str], option: str,
                 names: Callable[[str], str] = named_measure) -> dict[str, Decimal]:
    """Read numbers by name from every use of an option.

    `names` returns a name as its number has it, or raises what is expected.

    Examples
    --------
    >>> parse_wanted(["mAP=76.12,rank1=90.1"], "--expect")
    {'mAP': Decimal('76.12'), 'Rank-1': Decimal('90.1')}
    """
    wanted: dict[str, Decimal] = {}
    for part in (part for text in texts for part in text.split(",")):
        name, _, number = (word.strip() for word in part.rpartition("="))
        try:
            name = names(name)
        except InputError as error:
            raise InputError(option, error.expected, repr(part.strip()), error.remedy) from None
        if name in wanted:
            raise InputError(option, f"{name} once", "it twice", "leave one out")
        wanted[name] = parse_percent(number, f"{option} {name}")
    return wanted


def parse_tolerance(text: str) -> Decimal:
    """Read percentage points."""
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?", text) or Decimal(text) > MOST:
        raise InputError("--tolerance", f"percentage points up to {MOST}, such as 0.01",
                         repr(text))
    return Decimal(text)


def examine(data: ResultFile, how: How, normalize: bool | None = None) -> Findings:
    """Return the doctor's findings; warn of those without a warning of their own, and of
    features that were normalised before a toolbox could see them.

    `normalize`: True where raw features are shown beside normalised ones, and need no warning.
    """
    if sentence := normalised_already(data, how):
        warn(sentence, NormWarning)
    findings = findings_of_conventions(
        data, how if normalize is None else replace(how, normalize=normalize),
        bytes_of(how.max_memory))
    for finding in findings:
        if finding.key not in WARNED_OF:
            warn(finding.line, FindingWarning)
    return findings


def of_findings(request: GateRequest, findings: Sequence[Finding]) -> int:
    """Print that --strict is missed, if it is, and return its exit code."""
    if not (request.strict and findings):
        return 0
    keys = dict.fromkeys(finding.key for finding in findings)
    print_stderr(f"failed: --strict: {', '.join(keys)}")
    return FINDINGS


def status(request: GateRequest, gates: Gates, result: Result) -> int:
    """Print each gate that the result does not pass, and return the exit code."""
    path, margin = str(request.baseline), gates.tolerance
    return status_of(gates, result.value, {WORSE: (
        f"--baseline: {'significantly ' * (margin is None)}worse than {path}",
        [] if gates.baseline is None else [*_worse(result, gates.baseline, path, margin)])})


def status_of(gates: Gates, value: Callable[[str], float],
              further: Mapping[int, tuple[str, list[str]]]) -> int:
    """Print each gate that is missed, and return the exit code.

    `value` is the number of a name; `further` what other gates miss, by exit code.
    """
    missed = {
        UNEXPECTED: ("--expect", list(_off(value, gates.expected, "--expect", gates.tolerance))),
        TOO_LOW: ("--fail-under", list(_off(value, gates.least, "--fail-under"))), **further}
    failed = {code: f"failed: {gate}: {'; '.join(texts)}"
              for code, (gate, texts) in missed.items() if texts}
    for line in failed.values():
        print_stderr(line)
    return next(iter(failed), 0)


def _off(value_of: Callable[[str], float], wanted: Mapping[str, Decimal], option: str,
         tolerance: Decimal | None = None) -> Iterator[str]:
    """Yield the numbers that are not as an option has them; NaN never is.

    What is expected is rounded to the digits given, or within a tolerance; else it is the least.
    """
    for name, number in wanted.items():
        try:
            value = value_of(name)
        except InputError as error:  # an expectation has few, and a curve ends
            raise InputError(option, error.expected, error.got, error.remedy) from None
        # Exactly as the double prints.
        percent = None if value != value else Decimal(repr(value)) * 100
        text = "NaN" if percent is None else f"{percent.normalize():f}"
        allowed = unit_of(number) / 2 if tolerance is None else tolerance
        if option == "--expect" and (percent is None or abs(percent - number) > allowed):
            yield f"{name} is {text}, expected {number} within {allowed}"
        elif option == "--fail-under" and (percent is None or percent < number):
            yield f"{name} is {text}, below {number}"


def _worse(result: Result, baseline: Result, path: str,
           tolerance: Decimal | None) -> Iterator[str]:
    """Yield the metrics in which the result is worse, mAP, Rank-1, or both: by more points than
    the tolerance, or significantly if there is none.
    """
    for key in ("metric", "normalize"):
        before, now = baseline.signature.get(key), result.signature.get(key)
        if before and now and before != now:
            warn(f"--baseline: {path} has {key}:{before}, and this result {key}:{now}, so "
                 "the difference is of the distances as well", ComparisonWarning)
    # The name of the baseline is that of its file, for messages.
    systems, metrics = {path: [baseline], "result": [result]}, _tested(result.convention)
    if tolerance is not None:
        for name, runs in scores_of_runs(systems, metrics)[1].items():
            (first,), (second,) = runs.values()
            loss = (Decimal(repr(first)) - Decimal(repr(second))) * 100
            if loss > tolerance:
                yield (f"{name} {percent(second)} is {float(loss):g} points below "
                       f"{percent(first)}, the margin is {tolerance}")
        return
    compared = compare_systems(systems, metrics).comparisons
    for metric, p in zip(compared, holm([comparison.p for comparison in compared])):
        if metric.difference < 0 and p < ALPHA:
            adjusted = f" ({p_text(p)} by Holm's method for {len(compared)} metrics)"
            yield f"{metric.metric} {change_words(metric)}{adjusted * (len(compared) > 1)}"
