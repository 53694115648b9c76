"""What the checks found, and as text."""
from dataclasses import dataclass, field, replace

from reid_ref.rules.candidates import in_choices, rules_of_protocols
from reid_ref.rules.search import NO_RULE
from reid_ref.testing.checks import CHECKS
from reid_ref.text import wrap
from reid_ref.text.table import columns


#: How the line begins of a check that fails for a cause that was told.
AS_ABOVE = "as above"
#: What is told of a failure that no new copy of the evaluator shows.
KEEPS = ("a new copy of it that is asked nothing else gives the rule's numbers: it keeps "
         "something between calls")
INFLUENCE = ("each of these queries alone gives the rule's numbers, together they do not: queries "
             "influence one another, or the mean is not over them")


@dataclass(frozen=True)
class CheckResult:
    """What came of one check.

    Parameters
    ----------
    name : str
        A key of `CHECKS`.
    status : {"passed", "failed", "error"}
        Error: the evaluator raised an exception.
    message : str
        One line, and then what shows it; "" if there is nothing to tell.
    """

    name: str
    status: str
    message: str = ""

    @property
    def first_line(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]


@dataclass(frozen=True)
class Report:
    """What the checks found.

    Parameters
    ----------
    evaluator, convention : str
        Its name, and the rule that it claims.
    rule : str or None
        The rule that gives its numbers on the problems that tell rules apart: a convention, or
        one with other choices or mistakes; None if there is none.
    how : str
        How it was called, and how its answer was understood.
    unlike : str
        How the rule differs from Market-1501's and from torchreid's; "" if one was claimed.
    passed : bool
        Whether every check passed.
    checks : tuple of CheckResult
    """

    evaluator: str
    convention: str
    rule: str | None
    how: str
    unlike: str
    passed: bool
    checks: tuple[CheckResult, ...] = field(repr=False)

    def __str__(self) -> str:
        """Return the rule first, then a line per check, then what shows each failure."""
        passed = sum(check.status == "passed" for check in self.checks)
        lines = [*wrap(f"{self.evaluator}: {_verdict(self)}", rest="  "),
                 *wrap(self.how, "  ", "  "),
                 f"  {passed} of {len(self.checks)} checks pass", ""]
        width = max(len(check.name) for check in self.checks)
        for check in self.checks:
            words = "the same cause" if f"\n{AS_ABOVE}" in check.message else check.first_line
            status = check.status if check.status == "passed" else check.status.upper()
            first = f"{status:<6}  {check.name:<{width}}  {words}"
            is_long = len(first) > columns()
            lines.append(f"{first[:columns() - 4]} ..." if is_long else first.rstrip())
        told = dict[str, CheckResult]()
        for check in self.checks:
            if check.status != "passed" and f"\n{AS_ABOVE}" not in check.message:
                told.setdefault(check.message, check)
        for message, check in told.items():
            lines += ["", *wrap(f"{check.name}: {CHECKS[check.name].sentence}"), *(
                part for line in message.split("\n") for part in _lines(line))]
        return "\n".join(lines)


def summary(report: Report) -> str:
    """Return how many checks pass, which fail, and another rule if it follows one."""
    bad = [check.name for check in report.checks if check.status != "passed"]
    n, more = len(report.checks), f" and {len(bad) - 3} more" * (len(bad) > 3)
    other = f"; there it follows {report.rule}" * (report.rule not in (None, report.convention))
    return f"{n - len(bad)} of {n} checks on made problems pass" + (
        f"; not {', '.join(bad[:3])}{more}" if bad else "") + other


def _lines(line: str) -> list[str]:
    """Return a line of a message, wrapped unless it is code to paste."""
    return [f"  {line}"] if line.startswith(" ") else wrap(line, "  ", "  ")


def _verdict(report: Report) -> str:
    """Return the rule that it follows, how that differs from others, and which checks fail."""
    errors, failed = ([check for check in report.checks if check.status == status]
                      for status in ("error", "failed"))
    if len(errors) == len(report.checks):
        return "it ends in an error on every problem"
    if report.rule is None and report.checks[0] in errors:
        return "it gives no numbers that could be compared"
    passed, of = len(report.checks) - len(errors) - len(failed), len(report.checks)
    name = report.rule or report.convention
    if name in rules_of_protocols():
        name = f"{name}, which is {in_choices(rules_of_protocols()[name][0])}"
    where = "wherever it answers, " * bool(errors and not failed)
    words = f"{where}its numbers are those of {name}"
    cause = [check.first_line for check in failed if check.name == "inputs unchanged"]
    told = dict.fromkeys(
        line.partition(": ")[2] for check in failed for line in check.message.split("\n")[1:]
        if ", but for a mistake: " in line and not line.startswith(AS_ABOVE) or line in (
            KEEPS, INFLUENCE))
    cause += [each for each in told if each not in name]
    words = words.removesuffix(f": {NO_RULE}") if cause else words
    no_rule = report.rule is None and not cause
    if report.rule is None and report.checks[0] in failed:
        words = f"it passes {passed} of {of} checks by {name}"
        if 2 * passed < of:
            words = f"its numbers are not those of {name}{', and no rule gives them' * no_rule}"
            if report.unlike and no_rule:
                words = f"no rule gives its numbers; the nearest is {name}"
            return "; ".join([words, *cause])
    if report.rule not in (None, report.convention):
        if not name.startswith(f"{report.convention}, "):
            words = f"its numbers are not those of {report.convention} but those of {name}"
        failed = []  # of another rule
    kinds = dict.fromkeys(check.first_line.partition(":")[0] for check in errors)
    wrong = f"wrong: {report.checks[0].first_line}" if report.checks[0] in failed else (
        _names("wrong", failed))
    texts = [words, report.unlike, _names(" and ".join(kinds), errors), wrong,
             "no rule gives these numbers" * bool(failed and no_rule), *cause,
             "CMC was not given, so it was not compared" * bool(
                 "it gives " in report.how and "CMC" not in report.how)]
    return "; ".join(filter(None, texts))


def _names(lead: str, checks: list[CheckResult]) -> str:
    return f"{lead}: {', '.join(check.name for check in checks)}" * bool(checks)


def without_numbers(checks: list[CheckResult]) -> tuple[CheckResult, ...]:
    """Return the checks, all of them errors if the first one gives no number."""
    first = checks[0]
    if first.status != "error":
        return tuple(checks)
    return tuple(replace(check, status="error", message=f"{first.message}\n{AS_ABOVE}")
                 if check.status == "passed" else check for check in checks)
