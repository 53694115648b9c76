"""The public calls: what they answer, what they warn of, what they refuse."""
import subprocess
import sys
import warnings

import numpy as np
import pytest

import reid_ref
import reid_ref.evaluation.distributed
from reid_ref import Labels, evaluate_distances
from reid_ref.conventions import METRICS
from reid_ref.distances import TOLERANCE, distance_matrix
from tests import cases
from tests.commands.common import answer
from tests.refusals import refused

# Query 0: fine. 1: identity absent. 2: only on its own camera. 3: labelled -1.
QUERY = Labels([1, 9, 2, -1], [1, 1, 2, 1])
GALLERY = Labels([1, 1, 2, -1, 0, 1], [1, 2, 2, 2, 3, 3])
DISTANCES = np.array([[.1, .4, .2, .3, .25, .6]] * 4)


def test_the_signature_says_all_that_could_change_the_number():
    with pytest.warns(reid_ref.UnmatchedWarning,
                      match="3 of 4 queries have no good image.*they count as NaN"):
        result = evaluate_distances(DISTANCES, QUERY, GALLERY, convention="mars")
    assert result.signature == (
        "convention:mars|ap:trapezoid|unmatched:nan|ties:gallery-order|distances:float64|"
        f"queries:4|gallery:6|reid-ref:{reid_ref.__version__}")
    features = np.eye(4, 6, dtype=np.float32)
    with pytest.warns(reid_ref.UnmatchedWarning, match="3 of 4"):
        from_features = reid_ref.evaluate(
            features, np.eye(6, dtype=np.float32), QUERY, GALLERY, metric="dot", normalize=False)
    assert "|metric:dot|normalize:no|features:float32|" in str(from_features.signature)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_cosine_is_that_of_normalised_features():
    rng = np.random.default_rng(4)
    features = rng.standard_normal((4, 3)), rng.standard_normal((6, 3)).astype(np.float32)
    before = [array.copy() for array in features]
    results = [reid_ref.evaluate(*features, QUERY, GALLERY, metric=metric, normalize=normalize)
               for metric, normalize in (("cosine", True), ("cosine", False), ("dot", True),
                                         ("euclidean", True))]
    assert len({result.mAP for result in results}) == 1
    for array, copy in zip(features, before):
        np.testing.assert_array_equal(array, copy)
    for result in results[:2]:
        assert "|metric:cosine|normalize:yes|features:float64|" in str(result.signature)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
def test_features_are_measured_as_defined(metric, normalize, dtype):
    rng = np.random.default_rng(8)
    query, gallery = ((4 * rng.standard_normal((n, 16))).astype(dtype) for n in (5, 9))
    exact_query, exact_gallery = query.astype(float), gallery.astype(float)
    if normalize or metric == "cosine":
        exact_query /= np.linalg.norm(exact_query, axis=1, keepdims=True)
        exact_gallery /= np.linalg.norm(exact_gallery, axis=1, keepdims=True)
    if metric == "euclidean":
        expected = ((exact_query[:, np.newaxis] - exact_gallery) ** 2).sum(2)
    else:
        expected = (metric == "cosine") - exact_query @ exact_gallery.T
    np.testing.assert_allclose(
        distance_matrix(query, gallery, metric, normalize), expected,
        rtol=TOLERANCE, atol=TOLERANCE * np.abs(expected).max())


def test_progress_is_told_of_every_query():
    distances, query, gallery = cases.market_like(1)
    done = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reid_ref.evaluate_distances(distances, query, gallery, progress=done.append,
                                    max_memory=5 * distances[0].nbytes)
    assert sum(done) == len(query) and 1 < max(done) <= 5


# Hollow input: a warning and an answer.

def test_nan_distances_warn():
    with pytest.warns(reid_ref.NaNWarning, match="distances: 1 of 3 are NaN; they rank last"):
        result = reid_ref.evaluate_distances(
            [[np.nan, .2, .3]], Labels([1], [1]), Labels([1, 2, 3], [2, 2, 2]))
    assert result.per_query.first_match == [3]


def test_one_camera_warns_with_the_way_out():
    with pytest.warns(reid_ref.UnmatchedWarning, match=(
            "only same camera.*give each camera its own number or, .* evaluate with "
            "ignored=nothing")):
        reid_ref.evaluate_distances(
            [[.1, .2, .3]], Labels([1], [1]), Labels([1, 1, 2], [1, 1, 1]))


@pytest.mark.parametrize(("camera", "said"), [
    (1, "evaluate with ignored=nothing (--set ignored=nothing)"),  # VehicleID
    (2, "check that identities are numbered alike on both sides")])  # RegDB's 1 and 2
def test_no_cameras_are_asked_for_where_there_are_none(camera, said):
    with pytest.warns(reid_ref.UnmatchedWarning) as caught:
        reid_ref.evaluate_distances([[.1, .2], [.1, .2]], Labels([1, 3], [1, 1]),
                                    Labels([1, 2], [camera, camera]))
    text = str(caught[0].message)
    assert text.endswith(said) and "its own number" not in text and "cameras are numb" not in text


@pytest.mark.parametrize("call", ["features", "distances"])
def test_warnings_point_at_the_caller(call):
    with pytest.warns(reid_ref.InputWarning) as record:
        if call == "features":
            reid_ref.evaluate([[0.]], [[0.]], Labels([1], [1]), Labels([2], [2]))
        else:
            reid_ref.evaluate_distances([[np.nan]], Labels([1], [1]), Labels([2], [2]))
    assert {warning.filename for warning in record} == {__file__}


# Bad input: one message each.

FEATURES = np.ones((4, 3)), np.ones((6, 3))


@pytest.mark.parametrize(("options", "argument", "noun"), [
    ({"query_features": np.ones((3, 3))}, "query_features", "4 rows"),
    ({"gallery_features": np.ones((3, 6))}, "gallery_features", "transpose would fit"),
    ({"gallery_features": np.ones((6, 5))}, "query_features, gallery_features", "dimension"),
    ({"query_features": [[1] * 3] * 2 + [[np.nan] * 3] * 2}, "query_features", "NaN in row 2"),
    ({"gallery_features": [[1] * 3] * 5 + [[-np.inf] * 3]}, "gallery_features", "Inf in row 5"),
    ({"convention": "matlba"}, "convention", "Did you mean 'matlab'"),
    ({"metric": np.arange(4)}, "metric", "one of euclidean, cosine, dot"),
    ({"convention": np.arange(4)}, "convention", "one of matlab"),
    ({"convention": ()}, "convention", "at least one"),
    ({"convention": ["mars", "mars"]}, "convention", "'mars' twice"),
    ({"convention": "veri", "lists": ([], [])}, "lists", "IndexLists("),
    ({"lists": ([[1]] * 4, [[2]] * 4)}, "lists", "IndexLists("),
])
def test_bad_features_and_options(options, argument, noun):
    given = {"query_features": FEATURES[0], "gallery_features": FEATURES[1], **options}
    refused(argument, noun, reid_ref.evaluate, query=QUERY, gallery=GALLERY, **given)


@pytest.mark.parametrize(("distances", "argument", "noun"), [
    (DISTANCES.T, "distances", "transpose would fit"),
    (DISTANCES[:, :5], "distances", "(n_query, n_gallery) = (4, 6)"),
    (DISTANCES.astype(complex), "distances", "reid_ref.matlab.evaluation"),
])
def test_bad_distances(distances, argument, noun):
    refused(argument, noun, reid_ref.evaluate_distances, distances, QUERY, GALLERY)


@pytest.mark.parametrize("side", ["query", "gallery"])
def test_an_empty_side(side):
    sides = {"query": QUERY, "gallery": GALLERY, side: Labels(np.zeros(0, int), np.zeros(0, int))}
    refused(side, "at least one image", evaluate_distances, np.zeros((0, 0)), **sides)
    refused(side, "list", evaluate_distances, DISTANCES, **{**sides, side: [1, 2, 3, 4]})


HEAVY = {"scipy", "h5py", "matplotlib", "oct2py", "torch", "tqdm", "dask", "distributed"}


def test_what_is_not_needed_is_not_loaded():
    code = f"""
import sys, reid_ref, reid_ref.files
from reid_ref import Evaluator, Labels, distributed
evaluator = Evaluator()
evaluator.update([[1., 0.], [0., 2.]], [1, 2], [1, 1], is_query=True)
evaluator.update([[1., 0.], [0., 2.]], [1, 2], [2, 2], is_query=False)
print(evaluator.compute().mAP, *sorted({HEAVY!r} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1.0\n" and done.stderr == ""


FOUR = QUERY.identity, GALLERY.identity, QUERY.camera, GALLERY.camera


@pytest.mark.parametrize("call", [
    lambda *arrays: reid_ref.evaluate(*FEATURES, *arrays),
    lambda *arrays: reid_ref.evaluate(*FEATURES, *arrays, convention=["matlab"]),
    lambda *arrays: reid_ref.evaluate_reranked(*FEATURES, *arrays),
    lambda *arrays: reid_ref.distributed.evaluate(*FEATURES, *arrays),
    lambda *arrays: reid_ref.evaluate_distances(DISTANCES, *arrays),
    lambda *arrays: reid_ref.evaluate_distances(DISTANCES, *arrays, 50),
    lambda *arrays: reid_ref.camera_pairs(DISTANCES, *arrays),
])
def test_labels_as_four_arrays_are_told_how_to_be_wrapped(call):
    refused("query", "Labels(gallery_identity, gallery_camera)", call, *FOUR)


@pytest.mark.parametrize(("call", "inputs"), [
    (reid_ref.evaluate, FEATURES), (reid_ref.evaluate_distances, [DISTANCES]),
    (reid_ref.camera_pairs, [DISTANCES]), (reid_ref.evaluate_reranked, FEATURES),
    (reid_ref.distributed.evaluate, FEATURES)])
def test_options_by_position(call, inputs):
    refused("", "by name", call, *inputs, QUERY, GALLERY, "matlab", None)


# What is frozen stays as it is.

def test_labels_share_nothing_with_what_was_handed_in():
    for dtype in (np.int64, np.int16, np.float64):
        identity, camera = np.array([1, 2, 3], dtype), np.array([[1, 2, 3]], dtype)
        labels = Labels(identity, camera)
        lists = reid_ref.IndexLists([identity], [camera])
        identity[0], camera[0, 0] = 9, 9  # and so they are not read-only
        for array in (labels.identity, labels.camera, *lists.good, *lists.junk):
            np.testing.assert_array_equal(array, [1, 2, 3])


@pytest.mark.parametrize("array", [
    QUERY.identity, reid_ref.IndexLists([[0]], [[1]]).junk[0],
    reid_ref.camera_pairs(DISTANCES, QUERY, GALLERY).ap])
def test_arrays_stay_read_only(array):
    with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
        array.flags.writeable = True


@pytest.mark.parametrize("name", sorted(set(reid_ref.CONVENTIONS) - {"veri", "oxford"}))
@pytest.mark.parametrize("case", ["absent", "junk query", "nothing kept", "one of each",
                                  "junk gallery", "all junk"])
def test_no_convention_stumbles_over_queries_without_a_match(name, case, tmp_path):
    query, gallery = {
        "absent": (Labels([5], [1]), Labels([1, 2], [2, 2])),
        "junk query": (Labels([-1], [1]), Labels([-1, 2], [2, 2])),
        "nothing kept": (Labels([1], [1]), Labels([1, 1], [1, 1])),
        "one of each": (Labels([1, 5], [1, 1]), Labels([1, 2], [2, 2])),
        "junk gallery": (Labels([-1, 7], [1, 1]), Labels([-1, -1], [2, 2])),
        "all junk": (Labels([-1], [1]), Labels([-1, -1], [2, 2])),
    }[case]
    distances = np.arange(2.0 * len(query)).reshape(len(query), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        result = reid_ref.evaluate_distances(distances, query, gallery, convention=name)
        if result.convention.ties == "gallery-order":
            reid_ref.evaluate_distances(distances, query, gallery,
                                        convention=result.convention.replace(ties="numpy"))
    result.save(tmp_path / "saved.json")
    assert reid_ref.load(tmp_path / "saved.json").signature == result.signature
    known = result.cmc[~np.isnan(result.cmc)]
    assert ((known >= 0) & (known <= 1)).all() and (np.diff(known) >= 0).all()
    assert np.isnan(result.mAP) or 0 <= result.mAP <= 1
    assert len(known) in (0, len(result.cmc))


def test_commands_rank_features_as_evaluate_does(tmp_path):
    *features, query, gallery = cases.nearly_tied(lowest=0)
    cases.save_features(tmp_path / "near.npz", features, query, gallery)
    result = reid_ref.evaluate(*features, query, gallery)
    bounds = answer("ties", tmp_path / "near.npz")
    worst, _, best = (bound["mAP"] for bound in bounds["results"])
    assert bounds["tied"] == result.counts.tied and worst <= result.mAP <= best
    rounded = reid_ref.evaluate_distances(
        distance_matrix(*features, "euclidean", True), query, gallery)
    assert not worst <= rounded.mAP <= best
