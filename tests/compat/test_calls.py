"""What all modules of the room share: types, errors, notes, `convention=`, `last_result()`."""
import inspect
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import reid_ref
from reid_ref import InputError, compat
from tests.refusals import refused

#: By hand: good at ranks 2 and 3; the second query's identity is not there.
FIVE = (np.array([[.2, .1, .3], [.1, .2, .3]]), np.array([7, 9]), np.array([7, 8, 7]),
        np.array([1, 1]), np.array([2, 2, 3]))
STEP, TRAPEZOID = (1 / 2 + 2 / 3) / 2, (1 / 4 + (1 / 2 + 2 / 3) / 2) / 2

#: Every function of five arrays.
FUNCTIONS = [
    compat.torchreid.evaluate_rank, compat.strong_baseline.eval_func, compat.transreid.eval_func,
    compat.clip_reid.eval_func, compat.solider.eval_func, compat.reid_survey.eval_func,
    compat.fastreid.evaluate_rank, compat.ccreid.evaluate, compat.cross_modal.eval_sysu]


def named(function):
    return function.__module__.removeprefix("reid_ref.compat.")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=named)
def test_another_convention_and_the_whole_result(function):
    cmc, mAP, *_ = function(*FIVE, convention="matlab")
    cmc[0] = 5  # theirs can be written to
    convention = inspect.signature(function).parameters["convention"]
    assert convention.kind is inspect.Parameter.KEYWORD_ONLY
    result = compat.last_result()
    assert isinstance(result, reid_ref.Result) and result.convention.name == "matlab"
    assert result.per_query.status.tolist() == ["ok", "identity absent"]
    if function is compat.fastreid.evaluate_rank:
        assert mAP == [pytest.approx(TRAPEZOID, abs=1e-15)]
    else:
        assert mAP == pytest.approx(TRAPEZOID / 2, abs=1e-15)  # matlab counts AP 0
    function(*FIVE)
    assert "ap:step" in str(compat.last_result().signature)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_each_thread_has_its_last_result():
    compat.torchreid.evaluate_rank(*FIVE)
    mine = compat.last_result()
    with ThreadPoolExecutor(1) as thread:
        refused("last_result", "a call of an evaluator", thread.submit(compat.last_result).result)
        thread.submit(compat.torchreid.evaluate_rank, *FIVE, convention="matlab").result()
        assert thread.submit(compat.last_result).result().convention.name == "matlab"
    assert compat.last_result() is mine


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("error", [AssertionError, RuntimeError, ZeroDivisionError, InputError])
@pytest.mark.parametrize("function", [*FUNCTIONS, compat.openreid.mean_ap, compat.openreid.cmc],
                         ids=named)
def test_no_query_with_a_match(function, error):
    with pytest.raises(error, match=r"all without \(1 identity absent\)"):
        function(FIVE[0][1:], [9], FIVE[2], [1], FIVE[4])


def test_note_of_a_short_gallery():
    first = [one[:1] for one in (FIVE[0], FIVE[1], FIVE[3])]
    arrays = first[0], first[1], FIVE[2], first[2], FIVE[4]
    with pytest.warns(reid_ref.RankedListWarning, match="max_rank: .*at most 3, .*50") as caught:
        cmc, _ = compat.torchreid.evaluate_rank(*arrays)
    assert len(cmc) == 3 and caught[0].filename == __file__
    cmc, _ = compat.torchreid.evaluate_rank(*arrays, max_rank=2)
    assert len(cmc) == 2 and "cmc_length:2" in str(compat.last_result().signature)
    for name in ("torchreid", "matlab"):  # by a rank, and with the gallery
        cmc, _ = compat.torchreid.evaluate_rank(*arrays, max_rank=1, convention=name)
        assert cmc.shape == (1,)


def test_open_reid_labels_of_its_own():
    """Image k shows identity k, and no camera is the query's: 0.1 and 0.4 are matches."""
    assert compat.openreid.cmc(np.array([[.1, .2], [.3, .4]]), topk=2).tolist() == [.5, 1]
    assert compat.openreid.mean_ap(np.array([[.1, .2], [.3, .4]])) == .75


@pytest.mark.parametrize("max_rank", [0, -1, 2.5, True, "5"])
def test_wrong_max_rank(max_rank):
    refused("max_rank", "from 1", compat.reid_survey.eval_func, *FIVE, max_rank=max_rank)


def test_wrong_labels_by_their_name():
    for place, name in enumerate(("q_pids", "g_pids", "q_camids", "g_camids"), 1):
        arrays = [*FIVE[:place], FIVE[place] + 0.5, *FIVE[place + 1:]]
        refused(name, "whole numbers", compat.torchreid.evaluate_rank, *arrays)


def test_wrong_choices():
    clothes = [0, 0], [0, 1, 1]
    with pytest.raises(AssertionError, match="mode: .*'CC' or 'SC'"):
        compat.ccreid.evaluate_with_clothes(*FIVE, *clothes, mode="cc")
    refused("convention", "unknown 'torchried'", compat.torchreid.evaluate_rank, *FIVE,
            convention="torchried")
    refused("first_match_break", "counts each query 10 times", compat.openreid.cmc, *FIVE,
            single_gallery_shot=True, first_match_break=True)
    with pytest.raises(AssertionError, match="both, or all of query_ids"):
        compat.openreid.evaluate_all(FIVE[0], query_ids=[7, 9])
    refused("distmat", "shape", compat.openreid.cmc, np.zeros(3))
    with pytest.raises(AttributeError, match="no attribute 'torchried'"):
        compat.torchried


def test_sysu_looks_at_two_cameras_alone():
    """By hand: a query on 3 loses camera 2; one on 6 loses nothing, not even camera 6."""
    pids = [7], [7, 8, 7]
    for q_camera, g_cameras, expected in ((3, [2, 1, 1], 1 / 2), (6, [6, 6, 1], 5 / 6),
                                          (2, [2, 1, 1], 5 / 6), (3, [3, 1, 1], 5 / 6)):
        _, mAP, _ = compat.cross_modal.eval_sysu(
            np.array([[.1, .2, .3]]), *pids, [q_camera], g_cameras, max_rank=2)
        assert mAP == pytest.approx(expected, abs=1e-15)


def test_tensors():
    torch = pytest.importorskip("torch")
    arrays = [torch.from_numpy(one) for one in FIVE]
    with pytest.warns(reid_ref.InputWarning):
        _, mAP = compat.torchreid.evaluate_rank(*arrays)
    assert mAP == STEP


def test_nothing_imports_torch():
    code = ("import sys, numpy as np, reid_ref; from reid_ref.compat import *\n"
            "for name in reid_ref.compat._TOOLBOXES: getattr(reid_ref.compat, name)\n"
            "reid_ref.compat.torchreid.evaluate_rank(np.eye(2), [1, 2], [1, 2], [1, 1], [2, 2],"
            " 2)\n"
            "print([one for one in ('torch', 'sklearn', 'ignite') if one in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
