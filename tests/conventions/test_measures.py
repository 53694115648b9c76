"""A toolbox's name brings its distances: those that its own formula makes, the same results.

Features are whole numbers times a power of two, and normalised ones halves: no product rounds, in
float32 neither, so that the comparison is exact.
"""
import ast
import importlib.metadata
import importlib.util

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.conventions import ALIASES, CONVENTIONS, FUNCTIONS
from reid_ref.conventions.records import COPIES, TOOLBOX_TABLES, procedures_of
from reid_ref.variations.labels import joined
from tests.compat.test_live import load
from tests.installed import version_of
from tests.nightly import cases

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

DIMENSION = 12


def unit(features):
    return features / np.sqrt((features * features).sum(axis=1, keepdims=True, dtype=np.float32))


def squared(query, gallery):
    return ((query * query).sum(axis=1)[:, None] + (gallery * gallery).sum(axis=1)
            - 2 * query @ gallery.T)


#: What the toolbox's code does with features, by name.
FORMULAS = {name: formula for names, formula in (
    *((copy["names"], copy["formula"]) for copy in COPIES),
    *(([evaluator.name for evaluator in procedures_of(table)], table["formula"])
      for table in TOOLBOX_TABLES if "formula" in table)) for name in names}
TOOLBOXES = sorted(FORMULAS)


def problem(seed, n_query=12, n_gallery=60):
    """Features of norms 4, 8 and 16, four entries each, and labels."""
    rng = np.random.default_rng(seed)
    features = np.zeros((n_query + n_gallery, DIMENSION), np.float32)
    for row in features:
        row[rng.choice(DIMENSION, 4, replace=False)] = rng.choice([-2, 2], 4)
    features *= 2.0 ** rng.integers(0, 3, (len(features), 1))
    identity, camera = rng.integers(0, 6, len(features)), rng.integers(1, 4, len(features))
    identity[-2:] = -1
    return (features[:n_query], features[n_query:], Labels(identity[:n_query], camera[:n_query]),
            Labels(identity[n_query:], camera[n_query:]))


def formula(name, query, gallery):
    """The distances by the formula of this name."""
    return eval(FORMULAS[name], {"unit": unit, "squared": squared, "q": query, "g": gallery})


@pytest.mark.parametrize("name", cases([*TOOLBOXES][::4], [*TOOLBOXES]))
def test_features_are_measured_as_the_toolbox_does(name):
    convention, differs = CONVENTIONS[name], False
    for seed in range(20):
        query_features, gallery_features, *labels = problem(seed)
        if convention.queries_first:
            gallery_features = np.concatenate([query_features, gallery_features])
            labels[1] = joined(*labels)
        result = reid_ref.evaluate(query_features, gallery_features, *labels, convention=name)
        theirs = reid_ref.evaluate_distances(formula(name, query_features, gallery_features),
                                             *labels, convention=name)
        np.testing.assert_equal(result.mAP, theirs.mAP)  # may be NaN
        np.testing.assert_array_equal(result.cmc, theirs.cmc)
        np.testing.assert_array_equal(result.per_query.ap, theirs.per_query.ap)
        assert result.signature["metric"] == convention.metric
        other = reid_ref.evaluate(query_features, gallery_features, *labels, convention=name,
                                  metric="euclidean",
                                  normalize=result.signature["normalize"] == "no")
        differs |= not np.array_equal(other.per_query.ap, result.per_query.ap, equal_nan=True)
    assert differs, "or the problems could not tell the distances apart"


def test_several_conventions_each_by_its_own_distances():
    names = [name for name in TOOLBOXES if name not in ALIASES and name not in FUNCTIONS.values()]
    query_features, gallery_features, *labels = problem(3)
    progress = []
    together = reid_ref.evaluate(query_features, gallery_features, *labels, convention=names,
                                 progress=progress.append)
    assert list(together) == names and sum(progress) == len(labels[0])
    for name, result in together.items():
        alone = reid_ref.evaluate(query_features, gallery_features, *labels, convention=name)
        assert alone == result and alone.signature == result.signature


def test_torchreid_itself():
    """Its own engine's defaults, its distance matrix and its evaluator."""
    torch = pytest.importorskip("torch")
    version_of("torchreid")
    place = importlib.metadata.distribution("torchreid").locate_file
    tree = ast.parse(place("torchreid/reid/engine/engine.py").read_text())
    run, = (node for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name == "_evaluate")
    defaults = dict(zip([argument.arg for argument in run.args.args][-len(run.args.defaults):],
                        map(ast.literal_eval, run.args.defaults)))
    assert (defaults["dist_metric"], defaults["normalize_feature"]) == ("euclidean", False)
    spec = importlib.util.spec_from_file_location(
        "torchreid_distance", str(place("torchreid/reid/metrics/distance.py")))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    evaluate_rank = load("torchreid", "stable")
    for seed in range(20):
        query_features, gallery_features, query, gallery = problem(seed)
        matrix = module.compute_distance_matrix(
            torch.tensor(query_features), torch.tensor(gallery_features),
            defaults["dist_metric"]).numpy()
        cmc, mAP = evaluate_rank(matrix, query.identity, gallery.identity, query.camera,
                                 gallery.camera, use_cython=False)
        result = reid_ref.evaluate(query_features, gallery_features, query, gallery,
                                   convention="torchreid-function")
        np.testing.assert_array_equal(result.cmc.astype(np.float32), cmc)
        np.testing.assert_allclose(result.mAP, mAP, rtol=0, atol=4e-15)  # order of summation


def test_fastreid_itself():
    version_of("fastreid")
    path = importlib.metadata.distribution("fastreid").locate_file("fastreid/config/defaults.py")
    assert f'\n_C.TEST.METRIC = "{CONVENTIONS["fast-reid"].metric}"\n' in path.read_text()
