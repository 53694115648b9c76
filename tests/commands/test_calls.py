"""Read, explain, validate, export: from Python in one call, with the answers of the commands."""
import json

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels, ResultFile
from tests.commands.common import MARKET, command
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
# Kept, in order: wrong, good, good: step AP (1/2 + 2/3) / 2, trapezoid (1/4 + 7/12) / 2.
HAND = ResultFile("arrays", Labels([7], [1]), Labels([7, 8, 7, -1], [2, 2, 3, 2]),
                  distances=np.array([[.2, .1, .3, .4]]))


@pytest.mark.parametrize("call", [
    reid_ref.doctor, reid_ref.explain, lambda data: reid_ref.validate(data, "81.1/67.6"),
    lambda data: reid_ref.export(data, "prefix"),
    lambda data: reid_ref.crosscheck(data, "fastreid")])
def test_the_name_of_a_file_is_no_result_file(call):
    refused("data", "pass reid_ref.read(FILE)", call, MARKET)


def test_validate_is_the_command():
    done = command("validate", MARKET, "--published", "80/60", "--json", "--no-search")
    printed = json.loads(done.stdout)
    found = reid_ref.validate(reid_ref.read(MARKET), "80/60", search=False)
    assert found.reproduced == printed["reproduced"] == (done.returncode == 0)
    assert [None if np.isnan(one.mAP) else one.mAP for one in found.candidates] == [
        one["mAP"] for one in printed["candidates"]]
    # Rank-1 is 0; mAP 58.3 is the step rule's.
    assert reid_ref.validate(HAND, "0.0/58.3", convention="torchreid").reproduced


def test_crosscheck_arrays_and_a_function():
    import reid_ref.analysis.crosscheck  # the room does not hide the function

    found = reid_ref.crosscheck(
        HAND, lambda distances, query, gallery: ([0., 1., 1.], (1 / 2 + 2 / 3) / 2))
    assert (found.verdict, found.evaluator) == ("equal", "<lambda>")
    refused("metric", "unknown 'manhattan'", reid_ref.crosscheck, HAND, len, metric="manhattan")
    assert reid_ref.analysis.crosscheck.crosscheck is reid_ref.crosscheck
