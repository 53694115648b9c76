"""The toolboxes' classes, fed with torch tensors, against what their own code answered."""
import copy
import math
import pickle
import sys
import types

import numpy as np
import pytest

import reid_ref
from reid_ref import compat
from tests.compat.recorded import (
    ORDER_OF_SUMMATION, answers, assert_recorded, problems, recorded)
from tests.documents import BLOCK, ROOT
from tests.refusals import refused

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def batches(seed, ties):
    features, pids, camids, _ = problems.features(seed, ties)
    for start in range(0, len(pids), 16):
        part = slice(start, start + 16)
        yield torch.from_numpy(features[part]), pids[part], camids[part]


def filled(metric, seed, ties):
    metric.reset()
    for batch in batches(seed, ties):
        metric.update(batch)
    return metric


@pytest.mark.parametrize("toolbox, name, key, options", [
    *((toolbox, "R1_mAP_eval", "R1_mAP_eval", {"feat_norm": False})
      for toolbox in ("transreid", "clip_reid", "solider")),
    ("transreid", "R1_mAP_eval", "R1_mAP_eval normalized", {}),
    ("strong_baseline", "R1_mAP", "R1_mAP", {"feat_norm": "no"}),
    ("reid_survey", "r1_mAP_mINP", "r1_mAP_mINP", {"feat_norm": "off"})])
def test_metric(toolbox, name, key, options):
    theirs = answers("transreid" if name == "R1_mAP_eval" else toolbox, key)
    assert len(theirs) == (len(problems.APART) if key.endswith("normalized") else
                           len(problems.PROBLEMS))
    make = getattr(getattr(compat, toolbox), name)
    for seed, ties, answer in theirs:
        metric = filled(make(problems.features(seed, ties)[3], **options), seed, ties)
        answered = metric.compute()
        assert_recorded(answer, *answered[:3 if "mINP" in answer else 2])


def test_what_transreid_returns_besides():
    features, pids, camids, n = problems.features(0, False)
    metric = filled(compat.transreid.R1_mAP_eval(n, feat_norm=False), 0, False)
    _, _, distances, got_pids, got_camids, query, gallery = metric.compute()
    between = ((features[:n, np.newaxis].astype(np.float64) - features[n:]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(distances, between.astype(np.float32))
    assert distances.dtype == np.float32 and query.shape == (n, 3)
    assert list(got_pids) == pids.tolist() and list(got_camids) == camids.tolist()
    assert len(gallery) == len(pids) - n


@pytest.mark.parametrize("toolbox", ["transreid", "solider"])
def test_reranked_distances(toolbox):
    """Theirs keeps encodings in float16: its sums round, by 2^-11 just below 1."""
    n = problems.features(0, False)[3]
    metric = filled(getattr(compat, toolbox).R1_mAP_eval(n, reranking=True), 0, False)
    distances = metric.compute()[2]
    theirs = np.reshape(recorded("transreid")[f"{toolbox} reranked distances"], distances.shape)
    np.testing.assert_allclose(distances, theirs, rtol=0, atol=2.0 ** -11)


@pytest.mark.parametrize("toolbox, name", [
    ("strong_baseline", "R1_mAP_reranking"), ("reid_survey", "r1_mAP_mINP_reranking")])
def test_reranking_metrics(toolbox, name):
    """The same distances as SOLIDER's, which are compared above, behind their own function."""
    n = problems.features(0, False)[3]
    metric = filled(getattr(getattr(compat, toolbox), name)(n), 0, False)
    other = filled(compat.solider.R1_mAP_eval(n, reranking=True), 0, False)
    np.testing.assert_array_equal(metric.five(*metric.sides())[0], other.compute()[2])
    assert metric.compute()[1] == other.compute()[1]


def test_ignite_is_the_base_where_it_is_installed(monkeypatch):
    class Metric:
        def __init__(self):
            self.reset()

    metrics = types.ModuleType("ignite.metrics")
    metrics.Metric = Metric
    monkeypatch.setitem(sys.modules, "ignite", types.ModuleType("ignite"))
    monkeypatch.setitem(sys.modules, "ignite.metrics", metrics)
    compat.strong_baseline.__dict__.pop("R1_mAP", None)
    try:
        made = compat.strong_baseline.R1_mAP(3)
        assert isinstance(made, Metric) and type(made).__name__ == "R1_mAP"
        assert made.feats == []
    finally:
        compat.strong_baseline.__dict__.pop("R1_mAP")


def fill(evaluator, every):
    """Hand fast-reid's evaluator these batches, and no others; return what it keeps of them."""
    evaluator.reset()
    for features, pids, camids in every:
        evaluator.process({"targets": torch.from_numpy(pids),
                           "camids": torch.from_numpy(camids)}, features)
    return evaluator._predictions


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_fastreid_evaluator(metric):
    pytest.importorskip("sklearn")
    theirs = answers("fastreid", f"ReidEvaluator {metric}")
    assert len(theirs) == len(problems.PROBLEMS if metric == "euclidean" else problems.APART)
    for seed, ties, answer in theirs:
        evaluator = compat.fastreid.ReidEvaluator(
            problems.fastreid_settings(metric), problems.features(seed, ties)[3])
        fill(evaluator, batches(seed, ties))
        results = evaluator.evaluate()
        assert list(results) == list(answer)
        for name, value in results.items():
            exact = name.startswith(("Rank", "TPR"))
            tolerance = 0 if exact else 100 * ORDER_OF_SUMMATION  # in percent
            theirs = np.float32(answer[name]) if name.startswith("Rank") else answer[name]
            np.testing.assert_allclose(value, theirs, rtol=0, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("metric, how", [("cosine", "normalized"), ("euclidean", "as-is")])
def test_fastreid_evaluator_reranks(metric, how):
    """The distances that fast-reid's own code mixed; in float32: see test_rerank.py."""
    folder = ROOT / "fixtures/peers/rerank"
    with np.load(folder / "features.npz") as stored, np.load(folder / "answers.npz") as answered:
        query, gallery = (torch.from_numpy(stored[side]) for side in ("query", "gallery"))
        theirs = answered[f"fast-reid k1=20 k2=6 {how} junk-in"]
    settings = problems.fastreid_settings(metric)
    settings.TEST.RERANK = types.SimpleNamespace(ENABLED=True, K1=20, K2=6, LAMBDA=0.3)
    found = compat.fastreid.ReidEvaluator(settings, len(query))._distances(query, gallery)
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("first", [True, False])
def test_fastreid_evaluator_of_several_processes(monkeypatch, first):
    """The first process evaluates the batches of all; the others return nothing."""
    seed, ties, answer = answers("fastreid", "ReidEvaluator euclidean")[0]
    evaluator = compat.fastreid.ReidEvaluator(
        problems.fastreid_settings("euclidean"), problems.features(seed, ties)[3])
    every = list(batches(seed, ties))
    others = fill(evaluator, every[2:])
    comm = types.ModuleType("fastreid.utils.comm")
    comm.get_world_size, comm.synchronize = lambda: 2, lambda: None
    comm.is_main_process = lambda: first
    comm.gather = lambda mine, dst: [mine, others] if first else []
    monkeypatch.setitem(sys.modules, comm.__name__, comm)
    fill(evaluator, every[:2])
    found = evaluator.evaluate()
    assert found == {} if not first else found["Rank-1"] == np.float32(answer["Rank-1"])


def test_fastreid_roc():
    theirs = answers("fastreid", "roc")
    assert len(theirs) == len(problems.PROBLEMS)
    for seed, ties, answer in theirs:
        p = problems.problem(seed, ties)
        scores, labels = compat.fastreid.evaluate_roc(*p[:5])
        assert scores.dtype == p.distmat.dtype and labels.dtype == np.float64
        assert [math.fsum(one.tolist()) for one in (scores, labels)] == answer["sums"]
        np.testing.assert_array_equal(scores[:3], np.array(answer["first"], scores.dtype))


def test_mmtracking():
    theirs = answers("mmtracking", "ReIDMetrics")
    assert len(theirs) == len(problems.PROBLEMS)
    for seed, ties, answer in theirs:
        metric = compat.mmengine.ReIDMetrics(["mAP", "CMC"])
        for features, pids, _ in batches(seed, ties):
            metric.process({}, [
                {"pred_feature": one, "gt_label": {"label": torch.tensor([pid])}}
                for one, pid in zip(features, pids)])
        assert metric.compute_metrics(metric.results) == answer


def test_mmtracking_refuses_as_theirs():
    with pytest.raises(KeyError, match="mINP"):
        compat.mmengine.ReIDMetrics("mINP")
    with pytest.raises(TypeError, match="list or a str"):
        compat.mmengine.ReIDMetrics(5)
    with pytest.raises(AssertionError, match="from 1 to max_rank 10"):
        compat.mmengine.ReIDMetrics(metric_options={"rank_list": [20], "max_rank": 10})


def test_torchmetrics():
    """The numbers of `reid_ref.evaluate` on the whole arrays, batch by batch."""
    torchmetrics = pytest.importorskip("torchmetrics")
    metric = compat.torchmetrics.ReIDMetric(normalize=False, convention="torchreid", ranks=(1, 3))
    assert isinstance(metric, torchmetrics.Metric)
    features, pids, camids, n = problems.features(3, False)
    for start in range(0, len(pids), 16):
        index = np.arange(start, min(start + 16, len(pids)))
        metric.update(torch.from_numpy(features[index]), torch.from_numpy(pids[index]),
                      torch.from_numpy(camids[index]), torch.from_numpy(index < n))
    expected = reid_ref.evaluate(
        features[:n], features[n:], reid_ref.Labels(pids[:n], camids[:n]),
        reid_ref.Labels(pids[n:], camids[n:]), normalize=False, convention="torchreid")
    for one in (metric, copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        found = one.compute()
        assert {name: value.item() for name, value in found.items()} == {
            "mAP": expected.mAP, "mINP": expected.mINP, "Rank-1": expected.cmc[0],
            "Rank-3": expected.cmc[2]}
        assert found["mAP"].dtype == torch.float64
    assert compat.last_result().signature == expected.signature
    metric.reset()
    assert metric.features == []
    refused("compute", "a call of update", metric.compute)
    refused("convention", "'nothing'", compat.torchmetrics.ReIDMetric, convention="nothing")


def test_the_recipe_for_pytorch_metric_learning():
    """The class that the page shows; where no camera is shared, its mAP is the library's own."""
    pytest.importorskip("pytorch_metric_learning")
    page = (ROOT / "docs/drop_in.md").read_text()
    recipe, = [code for kind, code, _ in BLOCK.findall(page) if "ReIDCalculator" in code]
    names = {"reid_ref": reid_ref}
    exec(recipe.partition("\ncalculator = ")[0], names)
    calculator = names["ReIDCalculator"](
        include=("reid_mAP", "mean_average_precision"),
        knn_func=names["CustomKNN"](names["CosineSimilarity"]()))
    for seed, _ in problems.APART:
        features, pids, _, n = problems.features(seed, False)
        features, pids = torch.from_numpy(features), torch.from_numpy(pids)
        assert torch.isin(pids[:n], pids[n:]).all()  # it leaves out queries without a match
        calculator.cameras = torch.ones(n), torch.full((len(pids) - n,), 2)
        found = calculator.get_accuracy(features[:n], pids[:n], features[n:], pids[n:])
        assert found["reid_mAP"] == pytest.approx(found["mean_average_precision"], abs=1e-6)
