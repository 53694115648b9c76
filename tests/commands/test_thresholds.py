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


def test_unit_features_have_a_column_of_the_cosine():
    """By whatever distance, the threshold accepts from the same cosine on."""
    assert "cos" not in command("thresholds", "fixtures/market_like.mat", "--no-normalize").stdout
    for metric, threshold in (("euclidean", "0.7552375331511267"), ("dot", "-0.6223812334244366"),
                              ("cosine", "0.37761876657556337")):
        text = command("thresholds", "fixtures/market_like.mat", "--metric", metric).stdout
        heads, row = (line.split() for line in text.splitlines()
                      if line.startswith(("accepted if", "FAR 0.1 %    ")))
        assert heads[2:6] == ["distance", "<=", "cos", ">="] and row[3:5] == [threshold, "0.6224"]
        assert text.count(" 0.6531 ") == 3  # the open set's, too


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


def test_gates(tmp_path):
    """--expect, --fail-under and their exit codes are those of evaluate."""
    found = save(tmp_path / "a.npz")
    tar, eer, dir1 = (f"{100 * value:.2f}" for value in (
        found.at[.1].tar, found.eer, found.open_set.at[.1].dir[1]))
    words = "thresholds", str(tmp_path / "a.npz"), "--far", "1%,0.1"
    expected = f"TAR@FAR=10%={tar},eer={eer},Dir-1@1e-1={dir1}"
    done = command(*words, "--expect", expected, "--fail-under", f"tar@0.1={float(tar) - 1:.2f}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == command(*words).stdout
    done = command(*words, "--expect", f"EER={float(eer) + 1:.2f}", "--fail-under", "TAR@.1=100")
    assert done.returncode == 3 and done.stderr.splitlines() == [
        f"reid-ref: failed: --expect: EER is {100 * found.eer!r}, expected "
        f"{float(eer) + 1:.2f} within 0.005",
        f"reid-ref: failed: --fail-under: TAR@0.1 is {100 * found.at[.1].tar!r}, below 100"]
    done = command(*words, "--expect", f"EER={float(eer) + 1:.2f}", "--tolerance", "1.1",
                   "--fail-under", "TAR@.1=100")
    assert done.returncode == 4


def test_gates_that_cannot_be(tmp_path):
    save(tmp_path / "a.npz")
    words = "thresholds", str(tmp_path / "a.npz")
    for wrong in ("TAR@1e-5=90", "TAR=90", "mAP=90", "TAR@x=90", "TAR@1e-4", "EER@1e-4=1"):
        assert_one_line_error(command(*words, "--expect", wrong),
                              f"--expect: expected NAME=PERCENT, .*0.0001.*'{wrong}'")
    assert_one_line_error(command(*words, "--fail-under", "EER=2"), "more is better, got EER")
    assert_one_line_error(command(*words, "--expect", "TAR@1e-4=0.9"), "looks like a fraction")
    assert_one_line_error(command(*words, "--tolerance", "1"), "--expect with it")
    assert_one_line_error(command(*words, "--save", "a.npz"), "ends in .json")
    labels = {"q_pids": [1, 2], "q_camids": [0, 0], "g_pids": [1, 2, 3], "g_camids": [1, 1, 1]}
    np.savez(tmp_path / "b.npz", distmat=[[.1, .2, .3], [.2, .1, .4]], **labels)
    done = command("thresholds", str(tmp_path / "b.npz"), "--expect", "DIR-1@1e-2=50")
    assert done.returncode == 3 and "DIR-1@0.01 is NaN" in done.stderr


def test_what_is_saved_is_what_json_prints(tmp_path):
    save(tmp_path / "a.npz")
    words = "thresholds", str(tmp_path / "a.npz"), "--save", str(tmp_path / "t.json")
    printed = command(*words, "--json").stdout
    assert (tmp_path / "t.json").read_text() == printed
