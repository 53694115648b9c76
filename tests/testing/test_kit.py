"""The kit on evaluators that are right and on those with one mistake each."""
import ast
import re

import pytest

from reid_ref import testing
from reid_ref.testing.checks import CHECKS
from reid_ref.testing.judging import judge
from reid_ref.testing.subject import subject
from tests.nightly import cases
from tests.testing.wrong import ONLY, RIGHT, WRONG


@pytest.mark.parametrize("name", RIGHT)
def test_right_evaluators_pass(name):
    report = testing.check_evaluator(RIGHT[name], "torchreid")
    assert report.passed, str(report)
    assert report.rule == "torchreid"


@pytest.mark.parametrize("name", cases(list(WRONG)[::5], WRONG))
def test_a_mistake_is_caught_and_named(name):
    evaluator, convention, caught, told = WRONG[name]
    report = testing.check_evaluator(evaluator, convention)
    failed = {check.name: check for check in report.checks if check.status != "passed"}
    assert caught in failed, str(report)
    assert next(iter(failed)) == caught, str(report)
    assert told in failed[caught].message, failed[caught].message
    problems = re.findall(r"g_pids = np.array\(.*?\), np.array\((.*?)\)",
                          failed[caught].message)
    assert len(problems) == ("the smallest problem" in failed[caught].message)
    for problem in problems:
        assert len(ast.literal_eval(problem)) <= 5


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "plain"])
def test_each_check_catches_what_plain_does_not(name):
    if "tensors" in name:
        pytest.importorskip("torch")
    for evaluator in ONLY[name]:
        convention = "trec-eval" if evaluator in ONLY["ties"][1:] else "torchreid-function"
        tested = subject(evaluator, convention)
        assert judge(tested, CHECKS["plain"]).passed
        assert not judge(tested, CHECKS[name]).passed, evaluator
