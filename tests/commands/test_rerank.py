"""`reid-ref rerank`: two or three results side by side."""
import json

import numpy as np
import pytest
import scipy.io

import reid_ref
from reid_ref.files import read_result
from tests.cases import save_features
from tests.commands.common import MARKET, command, results, table


@pytest.fixture
def multi_query(tmp_path):
    """Two noisy images for every query, as layumi's multi_query.mat has them."""
    data = read_result(MARKET)
    rng = np.random.default_rng(3)
    twice = np.repeat(np.arange(len(data.query)), 2)
    features = data.query_features[twice] + .05 * rng.standard_normal(
        (len(twice), data.query_features.shape[1])).astype(np.float32)
    path = tmp_path / "multi_query.mat"
    scipy.io.savemat(path, {"mquery_f": features, "mquery_label": data.query.identity[twice],
                            "mquery_cam": data.query.camera[twice]})
    return path


def labels(data):
    return data.query, data.gallery


@pytest.mark.filterwarnings("ignore::reid_ref.IntervalWarning")
def test_the_change_has_the_interval_and_p_of_compare():
    data = read_result(MARKET)
    with pytest.warns(reid_ref.UnmatchedWarning):
        before = reid_ref.evaluate(data.query_features, data.gallery_features, *labels(data))
        after = reid_ref.evaluate_distances(
            reid_ref.rerank(data.query_features, data.gallery_features), *labels(data))
    expected = reid_ref.compare(before, after).comparisons
    text = " ".join(table("rerank", MARKET, "--confidence").split())
    for change in expected:
        low, high = (f"{100 * end:+.2f}" for end in (change.low, change.high))
        assert (f"change {change.metric} {100 * change.difference:+.2f} points, 95 % interval "
                f"{low} to {high}, p = {change.p:.4f}") in text
    assert "change mAP" not in table("rerank", MARKET)
    assert " change Rank-1 " in " ".join(table(  # a number without an interval has no change
        "rerank", MARKET, "--confidence", "--convention", "mars").split())


def test_before_and_after_re_ranking():
    done = command("rerank", MARKET, "--json")
    assert done.stderr.count("3 of 48 queries") == 1  # once for both
    data, (original, reranked) = read_result(MARKET), json.loads(done.stdout)["results"]
    with pytest.warns(reid_ref.UnmatchedWarning):
        before = reid_ref.evaluate(data.query_features, data.gallery_features, *labels(data))
        after = reid_ref.evaluate_distances(
            reid_ref.rerank(data.query_features, data.gallery_features), *labels(data))
    assert original["mAP"] == before.mAP
    assert reranked["mAP"] == after.mAP
    assert reranked["cmc"] == after.cmc[:50].tolist()
    assert "|rerank:matlab|k1:20|k2:6|lambda:0.3|" in reranked["signature"]


def test_precisions_that_differ_are_signed_alike(tmp_path):
    data = read_result(MARKET)
    path = tmp_path / "both.npz"
    save_features(path, (data.query_features, data.gallery_features.astype(np.float64)),
                  data.query, data.gallery)
    for result in results("rerank", path).values():
        assert "|normalize:yes|features:float64|queries:" in result["signature"]


def test_variants_whose_loader_drops_junk_are_given_none():
    done = command("rerank", MARKET, "--variant", "fast-reid", "--k1", 5, "--k2", 2, "--lambda",
                   .5, "--json")
    data = read_result(MARKET)
    kept = data.gallery.identity != -1
    gallery = reid_ref.Labels(data.gallery.identity[kept], data.gallery.camera[kept])
    distances = reid_ref.rerank(data.query_features, data.gallery_features[kept], 5, 2, .5,
                                "fast-reid")
    with pytest.warns(reid_ref.UnmatchedWarning):
        expected = reid_ref.evaluate_distances(distances, data.query, gallery)
    answer = json.loads(done.stdout)
    assert answer["results"][1]["mAP"] == expected.mAP
    assert "fast-reid re-ranks a gallery without label -1: 60 images left out" \
        in answer["warnings"]


def test_single_and_multiple_queries(multi_query):
    data, stored = read_result(MARKET), scipy.io.loadmat(multi_query)
    images = reid_ref.Labels(stored["mquery_label"], stored["mquery_cam"])
    by_name = results("rerank", MARKET, "--multi-query", multi_query)
    assert list(by_name) == ["original", "multiple, mean", "multiple, max"]
    for pooling in ("mean", "max"):
        pooled = reid_ref.pool_queries(data.query, images, stored["mquery_f"], pooling)
        with pytest.warns(reid_ref.UnmatchedWarning):
            expected = reid_ref.evaluate(pooled, data.gallery_features, *labels(data))
        assert by_name[f"multiple, {pooling}"]["mAP"] == expected.mAP
        assert f"|multi-query:{pooling}|" in by_name[f"multiple, {pooling}"]["signature"]


def test_the_table_fits_a_terminal(multi_query):
    out = table("rerank", MARKET, "--multi-query", multi_query)
    assert max(map(len, out.splitlines())) <= 80
    heading, *lines = out.partition("\npercent ")[2].splitlines()[:7]
    assert heading.split() == "original multiple, mean change multiple, max change".split()
    for _, original, *cells in map(str.split, lines):
        for value, change in zip(cells[::2], cells[1::2], strict=True):
            assert change[0] in "+-"  # the three are rounded each for itself
            assert abs(float(value) - float(original) - float(change)) < .0101
