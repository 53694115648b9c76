"""Each toolbox's function against what its own code answered: fixtures/compat."""
import contextlib
import io
import subprocess
import sys

import numpy as np
import pytest
import scipy.io

from reid_ref import compat
from reid_ref.conventions import CONVENTIONS
from tests.compat.recorded import (
    ORDER_OF_SUMMATION, answers, assert_recorded, problems, recorded)
from tests.documents import ROOT

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FUNCTIONS = {
    ("transreid", "eval_func"): lambda p: compat.transreid.eval_func(*p[:5], p.max_rank),
    ("strong_baseline", "eval_func"):
        lambda p: compat.strong_baseline.eval_func(*p[:5], p.max_rank),
    ("reid_survey", "eval_func"): lambda p: compat.reid_survey.eval_func(*p[:5], p.max_rank),
    ("cross_modal", "eval_sysu"): lambda p: compat.cross_modal.eval_sysu(*problems.sysu(p)),
    ("cross_modal", "eval_regdb"):
        lambda p: compat.cross_modal.eval_regdb(*p[:3], p.max_rank),
    ("ccreid", "evaluate"): lambda p: compat.ccreid.evaluate(*p[:5]),
    ("ap3d", "evaluate"): lambda p: compat.ap3d.evaluate(*p[:5]),
    ("ccreid", "CC"): lambda p: compat.ccreid.evaluate_with_clothes(*p[:7], "CC"),
    ("ccreid", "SC"): lambda p: compat.ccreid.evaluate_with_clothes(*p[:7], mode="SC"),
}


def asked(toolbox, function):
    """Each problem, whether it has ties, and their answer."""
    theirs = answers(toolbox, function)
    assert min(sum(ties == kind for _, ties, _ in theirs) for kind in (False, True)) >= 50
    return [(problems.problem(seed, ties), ties, answer) for seed, ties, answer in theirs]


@pytest.mark.parametrize("toolbox, function", FUNCTIONS)
def test_function(toolbox, function):
    stopped = 0
    for p, _, answer in asked(toolbox, function):
        cmc, *means = FUNCTIONS[toolbox, function](p)
        if "error" in answer:
            # Queries that keep different numbers of identities, fewer than the curve has ranks.
            assert cmc[-1] == 1 and 0 < means[0] < 1
            stopped += 1
        else:
            assert_recorded(answer, cmc, *means)
    assert bool(stopped) == (function == "eval_sysu") and stopped < 10


@pytest.mark.parametrize("toolbox", ["ap3d", "ccreid"])
def test_to_the_bit(toolbox):
    """AP3D's code, which is Simple-CCReID's, adds image after image and query after query."""
    for p, _, answer in asked(toolbox, "evaluate"):
        cmc, mAP = getattr(compat, toolbox).evaluate(*p[:5])
        assert mAP == answer["mAP"] and type(mAP) is np.float64
        assert cmc[:len(answer["cmc"])].tolist() == answer["cmc"]


@pytest.mark.parametrize("name", problems.OPEN_REID)
def test_open_reid_cmc(name):
    for p, _, answer in asked("openreid", name):
        cmc = compat.openreid.cmc(*p[:5], topk=p.max_rank, **problems.OPEN_REID[name])
        if name == "market1501":
            assert_recorded(answer, cmc)
        else:  # shares of 1/n or 1/10, added query by query
            assert (len(cmc), str(cmc.dtype)) == (answer["length"], answer["dtype"])
            np.testing.assert_allclose(cmc[:10], answer["cmc"], rtol=0, atol=ORDER_OF_SUMMATION)


def test_open_reid_mean_ap():
    for p, _, answer in asked("openreid", "mean_ap"):
        mAP = compat.openreid.mean_ap(*p[:5])
        np.testing.assert_allclose(mAP, answer["mAP"], rtol=0, atol=ORDER_OF_SUMMATION)


def test_open_reid_evaluate_all():
    (seed, ties, answer), = answers("openreid", "evaluate_all")
    p, printed = problems.problem(seed, ties), io.StringIO()
    with contextlib.redirect_stdout(printed):
        top1 = compat.openreid.evaluate_all(
            p.distmat, query_ids=p.q_pids, gallery_ids=p.g_pids, query_cams=p.q_camids,
            gallery_cams=p.g_camids)
    assert printed.getvalue() == answer["printed"]
    assert top1 == pytest.approx(answer["top1"], abs=ORDER_OF_SUMMATION)


def test_layumi_evaluate():
    """With a stable sort of the scores, read backwards, equal ones stand reversed."""
    pytest.importorskip("torch")
    reversed_ = CONVENTIONS["layumi"].replace(ties="reversed")
    for p, ties, answer in asked("layumi", "evaluate"):
        gallery, unit = -p.distmat.T, np.eye(len(p.q_pids), dtype=p.distmat.dtype)
        for k, (ap, first) in enumerate(answer["queries"]):
            ours = compat.layumi.evaluate(
                unit[k], p.q_pids[k], p.q_camids[k], gallery, p.g_pids, p.g_camids,
                convention=reversed_ if ties else None)
            assert ours[0] == ap
            index = np.argsort(-p.distmat[k], kind="stable")[::-1]
            same, own = p.g_pids == p.q_pids[k], p.g_camids == p.q_camids[k]
            junk = np.flatnonzero(same & own), np.flatnonzero(p.g_pids == -1)
            listed = compat.layumi.compute_mAP(
                index, np.flatnonzero(same & ~own), np.append(*junk))
            assert listed[0] == ap
            np.testing.assert_array_equal(listed[1].numpy(), ours[1].numpy())
            curve = np.zeros(len(p.g_pids), np.int32)
            curve[0 if first < 0 else slice(first, None)] = -1 if first < 0 else 1
            assert ours[1].type() == "torch.IntTensor"
            np.testing.assert_array_equal(ours[1].numpy(), curve)


def test_layumi_script(tmp_path):
    for name, arrays in problems.layumi_files().items():
        scipy.io.savemat(tmp_path / f"{name}.mat", arrays)
    lines = recorded("layumi")["script lines"]
    for expected in (lines, lines[:1]):  # with multi_query.mat, and without
        done = subprocess.run([sys.executable, "-m", "reid_ref.compat.layumi"], cwd=tmp_path,
                              capture_output=True, text=True)
        assert done.stdout.splitlines() == expected, done.stderr
        (tmp_path / "multi_query.mat").unlink(missing_ok=True)


def test_every_recording_is_compared():
    here = {path.stem for path in (ROOT / "fixtures/compat").glob("*.json")}
    assert here == {toolbox for toolbox, _ in FUNCTIONS} | {
        "openreid", "layumi", "mmtracking", "fastreid", "irra", "seqnet"}
