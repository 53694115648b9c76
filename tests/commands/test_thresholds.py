"""`reid-ref thresholds`: its table, CSV and JSON say what the library finds."""
import csv
import io
import json

import numpy as np

import reid_ref
from tests.commands.common import assert_one_line_error, command
from tests.thresholds.test_thresholds import market


def save(path, **arrays):
    names = "query_features", "gallery_features"
    query_features, gallery_features, query, gallery = market()
    np.savez(path, **dict(zip(names, (query_features, gallery_features))), **{
        f"{side}_{column}": getattr(labels, column)
        for side, labels in (("query", query), ("gallery", gallery))
        for column in ("identity", "camera")})
    return reid_ref.evaluate_thresholds(query_features, gallery_features, query, gallery,
                                        far=[.01, .1], confidence=90)


def test_every_format_has_the_numbers_of_the_library(tmp_path):
    found = save(tmp_path / "a.npz")
    words = ["thresholds", str(tmp_path / "a.npz"), "--far", "0.01,0.1", "--confidence",
             "--level", "90"]
    answer = json.loads(command(*words, "--json").stdout)
    assert (answer["genuine"], answer["impostor"], answer["eer"]) == (
        found.genuine, found.impostor, found.eer)
    assert list(answer["at"]) == ["0.01", "0.1"]
    ours = [*found.at.values(), found.equal, found.crossing]
    points = [*answer["at"].values(), answer["equal_error"], answer["crossing"]]
    for point, mine in zip(points, ours):
        assert (point["threshold"], point["tar"], point["far"]) == (
            mine.threshold, mine.tar, mine.far)
        assert point["far_interval"]["low"] == mine.far_interval.low
    at = answer["open_set"]["at"].values()
    assert [point["dir"]["5"] for point in at] == [
        point.dir[5] for point in found.open_set.at.values()]
    assert answer["signature"] == str(found.signature)
    assert "|ci:identity-bootstrap-t|level:90|n:10000|seed:12345|" in answer["signature"]
    rows = list(csv.DictReader(io.StringIO(command(*words, "--format", "csv").stdout)))
    assert [float(row["threshold"]) for row in rows] == [
        *(point.threshold for point in ours),
        *(point.threshold for point in found.open_set.at.values())]
    assert float(rows[0]["TAR high"]) == found.at[.01].tar_interval.high
    assert [row["row"] for row in rows] == [
        "FAR 0.01", "FAR 0.1", "equal error", "crossing", "open set FAR 0.01",
        "open set FAR 0.1"]
    text = command(*words).stdout
    cells = [line.split() for line in text.splitlines()]
    for point in ours:  # both rates in percent; of unit features, the cosine too
        numbers = [repr(point.threshold), f"{1 - point.threshold / 2:.4f}",
                   f"{100 * point.tar:.2f}", f"{100 * point.far:.4g}"]
        assert any(numbers == line[k:k + 4] for line in cells for k in range(len(line))), numbers
    assert f"EER       {100 * found.eer:.2f} percent" in text
    assert f"DIR-k     detected and at rank k or less, of {found.open_set.genuine}" in text


def test_rates_may_be_in_percent():
    words = "thresholds", "fixtures/market_like.mat", "--format", "csv", "--far"
    assert command(*words, "1%,0.1%").stdout == command(*words, "1e-2,1e-3").stdout
    assert "cosine" not in command(*words[:2], "--no-normalize").stdout


def test_a_closed_set_says_so(tmp_path):
    labels = {"q_pids": [1, 2], "q_camids": [0, 0], "g_pids": [1, 2, 3], "g_camids": [1, 1, 1]}
    np.savez(tmp_path / "a.npz", distmat=[[.1, .2, .3], [.2, .1, .4]], **labels)
    text = command("thresholds", str(tmp_path / "a.npz")).stdout
    assert "open set  none: no query has an identity, other than -1, that the" in text
    assert "distance  as given, float64; smaller is nearer" in text


def test_what_has_no_distances_or_pairs_is_refused(tmp_path):
    labels = {"q_pids": [1], "q_camids": [0], "g_pids": [2, 3], "g_camids": [1, 1]}
    np.savez(tmp_path / "a.npz", distmat=[[.1, .2]], **labels)
    assert_one_line_error(command("thresholds", str(tmp_path / "a.npz")), "one genuine pair")
    np.savez(tmp_path / "lists.npz", I=[[1, 0]], D=[[.1, .2]], **labels)
    assert_one_line_error(command("thresholds", str(tmp_path / "lists.npz")),
                          "lists.npz: .*features or distances")
