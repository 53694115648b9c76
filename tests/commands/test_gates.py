"""Exit codes of evaluate for CI: --expect, --fail-under, --baseline, --strict; the doctor's lines.

The numbers expected are those that Octave gave for fixtures/market_like.mat: Rank-1 22/48 and mAP
0.40163529834691447 (fixtures/market_like.json).
"""
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from reid_ref import Labels
from reid_ref.analysis.doctor import findings_of_conventions
from reid_ref.conventions import CONVENTIONS
from reid_ref.evaluation.how import How
from tests.cases import save, save_features
from tests.commands.test_doctor import of_distances, on_one_camera, sound
from tests.commands.common import MARKET, MARS, ROOT, assert_one_line_error, command, table


def gate(*options, file=MARKET):
    """Run evaluate; return the exit code, and what it told besides warnings."""
    done = command("evaluate", file, *options)
    return done.returncode, [line for line in done.stderr.splitlines() if "warning" not in line]


# ---------------------------------------------------------------- --expect, --fail-under

@pytest.mark.parametrize("wanted", [
    "mAP=40.16", "mAP=40.2", "mAP=40", "Rank-1=45.83,mAP=40.16", "Rank-1=45.8333,mINP=21.634",
    "mAP=40.1635298347", "Rank-345=93.75"])
def test_expected(wanted):
    assert gate("--expect", wanted) == (0, [])


@pytest.mark.parametrize(("options", "line"), [
    (["--expect", "mAP=40.17"],
     "--expect: mAP is 40.163529834691447, expected 40.17 within 0.005"),
    (["--expect", "mAP=40.1"], "--expect: mAP is 40.163529834691447, expected 40.1 within 0.05"),
    (["--expect", "mAP=76.12,Rank-1=45.8,mINP=20", "--tolerance", "0.04"],
     "--expect: mAP is 40.163529834691447, expected 76.12 within 0.04; mINP is "
     "21.634217221713445, expected 20 within 0.04"),
    (["--expect", "mAP=40.16", "--tolerance", "0"],
     "--expect: mAP is 40.163529834691447, expected 40.16 within 0"),
    (["--expect", "mAP=40.16", "--convention", "mars"],
     "--expect: mAP is NaN, expected 40.16 within 0.005")])
def test_unexpected(options, line):
    assert gate(*options) == (3, [f"reid-ref: failed: {line}"])


def test_floors():
    assert gate("--fail-under", "mAP=40.16,Rank-1=45") == (0, [])
    assert gate("--fail-under", "mAP=40.16352983469144") == (0, [])
    assert gate("--fail-under", "mAP=40.1635298347") == (
        4, ["reid-ref: failed: --fail-under: mAP is 40.163529834691447, below 40.1635298347"])
    assert gate("--fail-under", "mAP=41,Rank-1=46", "--convention", "mars")[1] == [
        "reid-ref: failed: --fail-under: mAP is NaN, below 41; Rank-1 is 45.83333333333333, below "
        "46"]


def test_every_gate_is_told_and_the_first_is_the_exit_code():
    status, lines = gate("--expect", "mAP=1.5", "--fail-under", "mAP=99")
    assert status == 3
    assert [line.split(": ")[2] for line in lines] == ["--expect", "--fail-under"]


def test_an_option_given_twice_is_joined():
    assert gate("--fail-under", "mAP=99", "--fail-under", "Rank-1=10")[0] == 4
    assert gate("--expect", "mAP=99", "--expect", "Rank-1=45.83")[0] == 3


# ---------------------------------------------------------------- --baseline

@pytest.fixture
def results(tmp_path):
    """Two systems on 40 identities; the second has the wrong image first for 10 of them."""
    query, gallery = Labels(range(1, 41), [1] * 40), Labels(range(1, 41), [2] * 40)
    good = 1.5 - np.eye(40)
    bad = good.copy()
    bad[:10, 20] = .1
    for name, distances in (("good", good), ("bad", bad)):
        save(tmp_path / f"{name}.npz", distances, query, gallery)
        table("evaluate", tmp_path / f"{name}.npz", "--save", tmp_path / f"{name}.json")
    return tmp_path


def test_significantly_worse(results):
    status, (line,) = gate("--baseline", results / "good.json", file=results / "bad.npz")
    assert status == 5
    # All ten differences have one sign: with two imagined ones, 26 of 2**12 choices of signs are
    # as large; of two metrics, twice that (Holm). AP of the trapezoid at rank 2 of one good image
    # is (0 + 1/2) / 2: 10/40 of 3/4 are lost.
    assert line.startswith(f"reid-ref: failed: --baseline: significantly worse than {results}"
                           "/good.json: mAP -18.75 points, 95 % interval -")
    assert "; Rank-1 -25.00 points, 95 % interval -" in line
    # compare prints the p before it is adjusted.
    assert line.count("p = 0.0063 (0.0127 by Holm's method for 2 metrics)") == 2


@pytest.mark.parametrize("option, field", [(["--metric", "cosine"], "metric:cosine"),
                                           (["--no-normalize"], "normalize:no")])
def test_a_baseline_of_other_distances_is_told(option, field, tmp_path):
    table("evaluate", MARKET, "--save", tmp_path / "base.json")
    same, other = (command("evaluate", MARKET, "--baseline", tmp_path / "base.json", *more)
                   for more in ([], option))
    assert "base.json has" not in same.stderr
    line, = (line for line in other.stderr.splitlines() if "base.json has" in line)
    assert field in line and {"metric": "metric:euclidean", "normalize": "normalize:yes"}[
        field.partition(":")[0]] in line


def test_an_empty_name_is_no_folder(tmp_path):
    for words in (["evaluate", MARKET, "--baseline", ""], ["evaluate", ""],
                  ["check-table", ""]):
        assert_one_line_error(command(*words, cwd=tmp_path), "file: .*empty")


def test_better_or_equal_is_no_failure(results):
    for file, baseline in (("good", "bad"), ("bad", "bad")):
        assert gate("--baseline", results / f"{baseline}.json", file=results / f"{file}.npz") == (
            0, [])


def test_a_little_worse_is_not_significant(results):
    arrays = dict(np.load(results / "good.npz"))
    arrays["distmat"][:4, 20] = .1  # four of one sign: 2 / 2**4 > 5 %
    np.savez(results / "little.npz", **arrays)
    assert gate("--baseline", results / "good.json", file=results / "little.npz") == (0, [])


@pytest.mark.parametrize(("file", "margin", "missed"), [
    ("bad", "5", ["mAP 81.25 is 18.75 points below 100.00, the margin is 5",
                  "Rank-1 75.00 is 25 points below 100.00, the margin is 5"]),
    ("one", "2", ["Rank-1 97.50 is 2.5 points below 100.00, the margin is 2"]),
    ("one", "2.5", []), ("good", "0", []),
    ("one", "0", ["mAP 98.12 is 1.875 points below 100.00, the margin is 0",
                  "Rank-1 97.50 is 2.5 points below 100.00, the margin is 0"])])
def test_a_margin_in_points_takes_the_place_of_the_test(file, margin, missed, results):
    """The loss of one of 40 queries is within chance, and above a margin of 2 points."""
    arrays = dict(np.load(results / "good.npz"))
    arrays["distmat"][:1, 20] = .1
    np.savez(results / "one.npz", **arrays)
    good = results / "good.json"
    failed = [f"reid-ref: failed: --baseline: worse than {good}: {'; '.join(missed)}"]
    assert gate("--baseline", good, "--tolerance", margin, file=results / f"{file}.npz") == (
        (5, failed) if missed else (0, []))


def test_the_margin_of_the_page_needs_no_8_identities(tmp_path):
    table("evaluate", MARKET, "--save", tmp_path / "base.json")
    done = command("evaluate", MARKET, "--no-normalize", "--baseline", "base.json", "--tolerance",
                   "0.5", cwd=tmp_path)
    assert done.returncode == 5 and done.stderr.splitlines()[-1] in (
        ROOT / "docs/gates.md").read_text()
    file = everything_lost(tmp_path, 2)
    assert gate("--baseline", tmp_path / "all.json", "--tolerance", "1", file=file)[0] == 5
    assert gate("--baseline", tmp_path / "all.json", "--tolerance", "1",
                file=tmp_path / "all.npz") == (0, [])
    assert_one_line_error(command("evaluate", MARKET, "--tolerance", "1"),
                          "--tolerance: expected --expect or --baseline with it")


def everything_lost(folder, identities):
    """Write a baseline that is right everywhere, and a result that is right nowhere."""
    query, gallery = (Labels(range(identities), [camera] * identities) for camera in (1, 2))
    for name, distances in (("all", -np.eye(identities)), ("none", np.eye(identities))):
        save(folder / f"{name}.npz", distances, query, gallery)
    table("evaluate", folder / "all.npz", "--save", folder / "all.json")
    return folder / "none.npz"


@pytest.mark.parametrize("identities", [1, 2, 7])
def test_a_baseline_over_which_nothing_can_fail_is_refused(identities, tmp_path):
    file = everything_lost(tmp_path, identities)
    done = command("evaluate", file, "--baseline", tmp_path / "all.json", "--save",
                   tmp_path / "new.json")
    assert_one_line_error(done, f"--baseline: .*8 identities.* {identities},")
    assert not (tmp_path / "new.json").exists()


def test_the_fewest_identities_over_which_a_loss_fails(tmp_path):
    file = everything_lost(tmp_path, 8)
    # 22 of 2**10 choices of signs are as large; of two metrics, twice that.
    status, (line,) = gate("--baseline", tmp_path / "all.json", file=file)
    assert status == 5 and line.count("0.0430 by Holm's method for 2 metrics)") == 2


def change(path, new, **changes):
    value = json.loads(path.read_text())
    new.write_text(json.dumps({**value, **changes}))
    return str(new)


@pytest.mark.parametrize(("baseline", "message"), [
    ("missing.json", "No such file"), ("summary.json", "--save keeps what commands need"),
    ("changed.json", "as the rest of the file gives"), ("other.json", "the same images")])
def test_baselines_that_cannot_be(baseline, message, results):
    good = results / "good.json"
    value = json.loads(good.read_text())
    nobody = {"identity": "00000000", "camera": "00000000"}
    change(good, results / "other.json", labels={**value["labels"], "gallery": nobody})
    change(good, results / "changed.json", mAP=.9)
    (results / "summary.json").write_text(table("evaluate", results / "good.npz", "--json"))
    done = command("evaluate", results / "good.npz", "--baseline", results / baseline)
    assert_one_line_error(done, f"{baseline}.*{re.escape(message)}")


def test_a_baseline_brings_its_rule(results):
    """What --convention or --set name instead is not comparable."""
    good, base = results / "good.npz", results / "torchreid.json"
    table("evaluate", good, "--convention", "torchreid", "--save", base)
    assert "convention:torchreid" in table("evaluate", good, "--baseline", base)
    done = command("evaluate", good, "--baseline", base, "--convention", "matlab")
    assert_one_line_error(done, "torchreid.json.*under one convention")


def test_the_baseline_is_not_overwritten(results):
    path = results / "good.json"
    before = path.read_text()
    assert gate("--baseline", path, "--save", path, file=results / "good.npz")[0] == 2
    assert path.read_text() == before


# ---------------------------------------------------------------- the doctor

@pytest.fixture
def reversed_file(tmp_path):
    data = of_distances(sound(), lambda d: 20 - d)
    save(tmp_path / "reversed.npz", data.distances, data.query, data.gallery)
    return str(tmp_path / "reversed.npz")


def test_a_finding_is_one_line_and_in_json(reversed_file):
    done = command("evaluate", reversed_file, "--json")
    out, err = done.stdout, done.stderr
    assert err.startswith("reid-ref: warning: The ranking is worse than chance: ")
    assert err.endswith(" (doctor:reversed)\n") and err.count("\n") == 1
    assert json.loads(out)["warnings"] == [err.removeprefix("reid-ref: warning: ").rstrip()]


def test_a_sample_that_does_not_fit_is_not_taken(reversed_file, tmp_path):
    assert gate("--strict", "--max-memory", "1G", file=reversed_file)[0] == 1
    assert gate("--strict", "--max-memory", "64K", file=reversed_file)[0] == 0
    data = sound()
    data = replace(data, query_features=-data.query_features)
    matlab = How((CONVENTIONS["matlab"],))
    assert [one.key for one in findings_of_conventions(data, matlab, 2**21)] == ["doctor:reversed"]
    assert findings_of_conventions(data, matlab, 2**20) == []


def test_strict(reversed_file):
    assert gate("--strict", file=reversed_file)[0] == 1
    done = command("evaluate", reversed_file, MARKET, "--strict")
    assert done.returncode == 1
    assert "reid-ref: warning: reversed: The ranking is worse" in done.stderr
    assert gate("--strict", "--quiet", file=reversed_file) == (
        1, ["reid-ref: failed: --strict: doctor:reversed"])
    for words in (["evaluate", MARKET], ["rerank", MARKET],
                  ["evaluate", MARKET, MARS, "--convention", "all"]):
        table(*words, "--strict")
    assert gate("--strict", "--fail-under", "mAP=99", file=reversed_file)[0] == 4


def test_nothing_is_told_twice(tmp_path):
    one = on_one_camera()
    save_features(tmp_path / "one.npz", (one.query_features, one.gallery_features), one.query,
                  one.gallery)
    warning, failed = command("evaluate", tmp_path / "one.npz", "--strict").stderr.splitlines()
    assert "all images are on one camera" in warning
    assert failed == "reid-ref: failed: --strict: doctor:single-camera"


def test_what_no_rule_ignores_is_no_finding(tmp_path):
    """Where no image is ignored for its camera, one camera is no mistake."""
    one = on_one_camera()
    matlab = CONVENTIONS["matlab"]
    assert [found.key for found in findings_of_conventions(one, How((matlab,)))] \
        == ["doctor:single-camera"]
    for other in (matlab.replace(ignored=("label -1",)), CONVENTIONS["veri"]):
        assert findings_of_conventions(one, How((other,))) == []


def test_ranked_lists_have_labels_alone(tmp_path):
    data = sound(n_query=30, n_gallery=200)
    np.save(tmp_path / "lists.npy", np.tile(np.arange(200), (30, 1)))
    for name, side, shift in (("query", data.query, 10), ("gallery", data.gallery, 0)):
        np.savetxt(tmp_path / f"{name}.csv", np.stack([side.identity, side.camera + shift], 1),
                   "%d", ",", header="identity,camera", comments="")
    done = command("evaluate", "lists.npy", "--labels", "query.csv", "gallery.csv", "--strict",
                   cwd=tmp_path)
    assert done.returncode == 1 and "(doctor:camera-offset)" in done.stderr
