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
from reid_ref.conventions import ALIASES, CONVENTIONS, FUNCTIONS, NAMES
from tests.compat.test_live import load
from tests.installed import version_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

DIMENSION = 12
#: Needs lists, or takes lists that an evaluation server is sent.
WITHOUT_FEATURES = {"veri", "oxford", "trec-eval", "cityflow", "matlab", "mars"}
TOOLBOXES = sorted(name for name in NAMES if not name.endswith("-function")
                   and ALIASES.get(name, name) not in WITHOUT_FEATURES)


def unit(features):
    return features / np.sqrt((features * features).sum(axis=1, keepdims=True, dtype=np.float32))


def squared(query, gallery):
    return ((query * query).sum(axis=1)[:, None] + (gallery * gallery).sum(axis=1)
            - 2 * query @ gallery.T)


#: What the toolbox's code does with features (`Convention.measure` has file and line).
FORMULAS = {
    **dict.fromkeys(
        ("torchreid", "torchreid-cython", "cuhk03-single-shot", "cuhk03-single-shot-draws",
         "open-reid", "CORE-ReID", "BAU", "simpleir", "sysu-mm01", "triplet-reid",
         "open-reid-allshots", "open-reid-cuhk03"),
        squared),
    **dict.fromkeys(
        ("BoT", "bag-of-tricks", "reid-strong-baseline", "AGW", "reid-survey", "TransReID",
         "CLIP-ReID", "SOLIDER", "SOLIDER-REID", "OpenUnReID", "AlignedReID++",
         "AlignedReID-Re-Production-Pytorch", "TOP-ReID", "DeMo",
         "PersonViT", "VersReID", "Pose2ID", "LSTKC", "MMT", "SpCL", "cluster-contrast",
         "cluster-contrast-reid", "CamStyle"),
        lambda query, gallery: squared(unit(query), unit(gallery))),
    **dict.fromkeys(("fast-reid", "fast-reid-cython", "light-reid"),
                    lambda query, gallery: 1 - unit(query) @ unit(gallery).T),
    "layumi": lambda query, gallery: -unit(query) @ unit(gallery).T,
}


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


def formula(name):
    """The formula of this name, or of the evaluator that it is a setting of."""
    made = FORMULAS.get(name) or next((made for known, made in FORMULAS.items()
                                       if name.startswith(known)), None)
    assert made, f"FORMULAS: expected what the code of {name} does with features, got nothing"
    return made


@pytest.mark.parametrize("name", TOOLBOXES)
def test_features_are_measured_as_the_toolbox_does(name):
    convention, differs = CONVENTIONS[name], False
    assert convention.measure, "file and line of the defaults"
    for seed in range(20):
        query_features, gallery_features, *labels = problem(seed)
        result = reid_ref.evaluate(query_features, gallery_features, *labels, convention=name)
        theirs = reid_ref.evaluate_distances(formula(name)(query_features, gallery_features),
                                             *labels, convention=name)
        assert result.mAP == theirs.mAP
        np.testing.assert_array_equal(result.cmc, theirs.cmc)
        np.testing.assert_array_equal(result.per_query.ap, theirs.per_query.ap)
        assert result.signature["metric"] == convention.metric
        other = reid_ref.evaluate(query_features, gallery_features, *labels, convention=name,
                                  metric="euclidean",
                                  normalize=result.signature["normalize"] == "no")
        differs |= other.mAP != result.mAP
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
