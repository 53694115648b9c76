"""The recipes of docs/files.md: run in the evaluator's code where it is installed, else with what
the evaluator has there, by the names of its code.
"""
from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import reid_ref
from reid_ref import compat
from tests.documents import ROOT
from tests.files.test_files import FIELDS, N_QUERY, assert_is_made
from tests.files.test_names import (
    CAMIDS, FEATS, G_CAMIDS, G_PIDS, GF, PIDS, Q_CAMIDS, Q_PIDS, QF)
from tests.installed import version_of

RECIPES = dict(re.findall(r"^\*\*([^*]+)\*\*(?:(?!\n\*\*).)*?^```py\n(.*?)^```", (
    ROOT / "docs/files.md").read_text(), re.MULTILINE | re.DOTALL))


@pytest.fixture
def torch(tmp_path, monkeypatch):
    version_of("torch")
    monkeypatch.chdir(tmp_path)
    return pytest.importorskip("torch")


def run(recipe, **names):
    """Run a recipe where these names are known; return what it saved, read again."""
    exec(RECIPES[recipe], {"np": np, **names})
    return saved()


def saved():
    file, = Path().iterdir()
    result = reid_ref.read(file)
    assert_is_made(result)
    return result


def source(package, *parts):
    """The syntax tree of a file of an installed package, which is not imported."""
    version_of(package)
    folder, = importlib.util.find_spec(package).submodule_search_locations
    return ast.parse(Path(folder, *parts).read_text())


def defined(tree, name, names):
    """Execute the definition of a class or a function alone."""
    node, = [node for node in ast.walk(tree) if getattr(node, "name", "") == name]
    exec(compile(ast.Module([node], []), name, "exec"), names)
    return names[name]


class Meter:
    avg = 0

    def update(self, _):
        pass


@pytest.mark.filterwarnings("ignore")
def test_torchreid(torch, capsys):
    tree = source("torchreid", "reid", "engine", "engine.py")
    method, = [node for node in ast.walk(tree) if getattr(node, "name", "") == "_evaluate"]
    at, = [k for k, line in enumerate(method.body) if isinstance(line, ast.Assign)
           and ast.unparse(line).startswith("distmat = metrics.compute_distance_matrix(")]
    method.body[at:at] = ast.parse(RECIPES["torchreid"]).body
    metrics = SimpleNamespace(
        compute_distance_matrix=lambda qf, gf, _: torch.cdist(qf, gf),
        evaluate_rank=lambda *arrays, **options: (np.ones(20), 1.))
    function = defined(ast.Module([method], []), "_evaluate", {
        "np": np, "torch": torch, "metrics": metrics, "AverageMeter": Meter,
        "time": SimpleNamespace(time=lambda: 0)})
    engine = SimpleNamespace(use_gpu=False, extract_features=lambda images: images,
                             parse_data_for_eval=lambda batch: batch)
    loaders = [[tuple(map(torch.from_numpy, batch))] for batch in (
        (QF, Q_PIDS, Q_CAMIDS), (GF, G_PIDS, G_CAMIDS))]
    function(engine, "", *loaders)
    saved()


def test_fast_reid(torch):
    tree = source("fastreid", "evaluation", "reid_evaluation.py")
    evaluator = defined(tree, "ReidEvaluator", {
        "DatasetEvaluator": object, "torch": torch,
        "comm": SimpleNamespace(is_main_process=lambda: False, synchronize=lambda: None)})(
            None, N_QUERY)
    for rows in (slice(0, 5), slice(5, None)):
        evaluator.process({"targets": torch.from_numpy(PIDS[rows]),
                           "camids": torch.from_numpy(CAMIDS[rows])},
                          torch.from_numpy(FEATS[rows]))
    run("fast-reid", torch=torch, evaluator=evaluator)


@pytest.mark.filterwarnings("ignore")
def test_transreid(torch):
    evaluator = compat.transreid.R1_mAP_eval(N_QUERY, feat_norm=False)
    evaluator.update((torch.from_numpy(FEATS), PIDS.tolist(), CAMIDS.tolist()))
    run("TransReID, CLIP-ReID, SOLIDER", evaluator=evaluator)


def test_strong_baselines(torch):
    metric = compat.reid_survey.r1_mAP_mINP(N_QUERY)
    for rows in (slice(0, 5), slice(5, None)):
        metric.update((torch.from_numpy(FEATS[rows]), PIDS[rows], CAMIDS[rows]))
    run("BoT (reid-strong-baseline), AGW (ReID-Survey)", self=metric, torch=torch)


def test_open_reid(torch):
    query, gallery = ([(f"{side}{k}.jpg", pid, cam) for k, (pid, cam) in enumerate(zip(
        FIELDS[f"{side}_identity"].tolist(), FIELDS[f"{side}_camera"].tolist()))]
        for side in ("query", "gallery"))
    names = [name for name, _, _ in query + gallery]
    features = dict(zip(names, torch.from_numpy(FEATS)))
    run("open-reid", torch=torch, query=query, gallery=gallery, features=features)


def test_light_reid(torch):
    def smart_eval(mode):
        assert mode == "extract_only"
        torch.save({"query_feats": QF, "query_pids": Q_PIDS, "query_camids": Q_CAMIDS,
                    "gallery_feats": GF, "gallery_pids": G_PIDS, "gallery_camids": G_CAMIDS},
                   "market1501_features.pkl")

    run("light-reid", engine=SimpleNamespace(smart_eval=smart_eval))


def test_simple_ccreid(torch):
    labels = {"q_pids": Q_PIDS, "g_pids": G_PIDS, "q_camids": Q_CAMIDS, "g_camids": G_CAMIDS,
              "q_clothes_ids": Q_PIDS + 20, "g_clothes_ids": G_PIDS + 20}
    result = run("Simple-CCReID", qf=torch.from_numpy(QF), gf=torch.from_numpy(GF),
                 **{name: column.astype(np.float32) for name, column in labels.items()})
    assert result.gallery.clothes.tolist() == labels["g_clothes_ids"].tolist()


def test_each_recipe_is_run():
    assert list(RECIPES) == [
        "torchreid", "fast-reid", "TransReID, CLIP-ReID, SOLIDER",
        "BoT (reid-strong-baseline), AGW (ReID-Survey)", "open-reid",
        "light-reid", "Simple-CCReID"]
