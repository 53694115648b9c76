"""The doctor on labels: benchmarks with other counts, and names that say otherwise."""
import json

import numpy as np
import pytest

from reid_ref import Labels
from reid_ref.analysis.doctor import OF_CAMERAS, diagnose
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.datasets import FINGERPRINTS
from tests.cases import save_features
from tests.commands.common import command
from tests.datasets.test_datasets import made, read_real
from tests.nightly import cases


def label_findings(query, gallery):
    return diagnose(Subject(query, gallery)).findings


def found_in(query, gallery):
    return [(one.key.removeprefix("doctor:"), one.severity)
            for one in label_findings(query, gallery)]


def changed(labels, chosen=slice(None), **columns):
    kept = labels[chosen]
    return Labels(**{**kept.columns(), **{
        name: change(getattr(kept, name)) for name, change in columns.items()}})


# ---------------------------------------------------------------- counts of a benchmark

WRONG = [("benchmark-counts", "warning")]


@pytest.mark.parametrize(("found", "said", "spoil"), [
    ([], "", lambda query, gallery: (query, gallery)),
    (WRONG, "the numbers are too high",
     lambda query, gallery: (query, changed(gallery, gallery.identity > 0))),
    ([("benchmark-counts", "note")], "your loader drops them",
     lambda query, gallery: (query, changed(gallery, gallery.identity >= 0))),
    (WRONG, "the number of cameras is 7 instead of 6",
     lambda query, gallery: (changed(query, camera=lambda one: one - 1), gallery)),
    (WRONG, "label 0 has 6,617, which count as wrong answers",
     lambda query, gallery: (query, changed(gallery, identity=lambda one: np.maximum(one, 0)))),
    (WRONG, "label 9999 has 3,819", lambda query, gallery: (query, changed(
        gallery, identity=lambda one: np.where(one == -1, 9999, one)))),
    (WRONG, "there are 3,360 queries instead of 3,368",
     lambda query, gallery: (changed(query, slice(3360)), gallery)),
    ([("benchmark-counts", "note")], "there are 100 queries instead of 3,368",
     lambda query, gallery: (changed(query, slice(100)), gallery))])
def test_market1501(found, said, spoil):
    sides = [Labels(side.identity, side.camera) for side in read_real("market1501")]
    sides = spoil(*sides)
    assert found_in(*sides) == found
    assert all(said in one.sentence for one in label_findings(*sides))


def test_the_evidence_is_each_count_that_differs():
    query, gallery = made(FINGERPRINTS["market1501"].counts)
    one, = label_findings(query, changed(gallery, gallery.identity != 0))
    assert one.evidence == {
        "gallery": 16934, "expected_gallery": 19732, "gallery_identities": 751,
        "expected_gallery_identities": 752, "distractors": 0, "expected_distractors": 2798}


@pytest.mark.parametrize("words", cases([["evaluate", "--strict"], ["explain"]], [
    ["evaluate", "--strict"], ["rerank", "--k1", "2", "--k2", "1", "--strict"],
    ["validate", "--published", "50/50"], ["explain"], ["doctor"]]))
def test_every_command_shows_it(words, tmp_path):
    query, gallery = made(FINGERPRINTS["cuhk03-np-labeled"].counts)
    query, gallery = query[::8], changed(gallery, slice(-50))
    query = Labels(np.resize(query.identity, 1400), np.resize(query.camera, 1400))
    features = [np.random.default_rng(0).standard_normal((len(side), 2)).astype("f4")
                for side in (query, gallery)]
    save_features(tmp_path / "made.npz", features, query, gallery)
    done = command(words[0], tmp_path / "made.npz", *words[1:], "--json")
    answer = json.loads(done.stdout)
    shown = [one["sentence"] for one in answer["findings"]] if words == ["doctor"] else (
        answer["warnings"])
    assert sum("look like those of CUHK03-NP" in line for line in shown) == 1
    assert done.returncode == (words[0] not in ("explain",))
    assert "(doctor:benchmark-counts)" in done.stderr or words == ["doctor"]


# ---------------------------------------------------------------- names


def named(labels):
    names = [("-1" if one < 0 else f"{one:04d}") + f"_c{camera}s1_{row:06d}_00.jpg"
             for row, (one, camera) in enumerate(zip(labels.identity, labels.camera))]
    return Labels(labels.identity, labels.camera, name=names)


def small():
    gallery = Labels(np.repeat(np.arange(-1, 29), 12), np.arange(360) % 6 + 1)
    return named(Labels(np.arange(1, 29), np.arange(28) % 6 + 1)), named(gallery)


def anew(values):
    """Numbers from 0 in another order; -1 stays."""
    return np.where(values < 0, values, (7 * values + 3) % 29)


@pytest.mark.parametrize(("query", "gallery"), [
    ({}, {}), ({"camera": lambda one: one - 1}, {"camera": lambda one: one - 1}),
    ({"identity": anew}, {"identity": anew}),
    ({"camera": lambda one: 7 - one}, {"camera": lambda one: 7 - one})])
def test_labels_that_fit_the_names(query, gallery):
    sides = small()
    assert found_in(changed(sides[0], **query), changed(sides[1], **gallery)) == []


@pytest.mark.parametrize(("column", "said", "query", "gallery"), [
    ("identity", "30 of 360 gallery images", {}, {"identity": lambda one: np.roll(one, 1)}),
    ("identity", "28 of 28 query images", {"identity": lambda one: one + 1}, {}),
    ("identity", "12 of 360 gallery images is not that of its name (first: gallery image 0, '-1_",
     {}, {"identity": lambda one: np.where(one < 0, 99, one)}),
    ("camera", "28 of 28 query images is", {"camera": lambda one: one - 1}, {}),
    ("camera", "300 of 360 gallery images", {"camera": lambda one: one * 0 + 1},
     {"camera": lambda one: one * 0 + 1})])
def test_labels_that_contradict_the_names(column, said, query, gallery):
    sides = small()
    sides = changed(sides[0], **query), changed(sides[1], **gallery)
    one, = [one for one in label_findings(*sides) if one.key == f"doctor:{column}-in-names"]
    assert one.severity == "warning" and said in one.sentence
    assert f"doctor:{column}-in-names" in OF_CAMERAS or column == "identity"


def test_what_the_names_say_is_never_called_another():
    """Identities of the gallery exchanged; cameras of one side from 0; cameras grouped."""
    query, gallery = small()
    exchanged = changed(gallery, identity=anew)
    one, = [one for one in label_findings(query, exchanged) if "in-names" in one.key]
    assert "gallery images" in one.sentence and "query images" not in one.sentence
    made_up = changed(query, camera=lambda one: one * 0), changed(gallery, camera=lambda one: (
        one * 0 + 1))
    one, = [one for one in label_findings(*made_up) if "in-names" in one.key]
    assert "28 of 28 query images" in one.sentence
    grouped = [changed(side, camera=lambda one: one // 4) for side in (query, gallery)]
    assert ("camera-in-names", "note") in found_in(*grouped)
    other = changed(query, camera=lambda one: one + 10)
    assert [key for key, _ in found_in(other, gallery)][-1] == "camera-in-names"


def test_names_of_no_known_form_show_nothing():
    query, gallery = small()
    shifted = changed(query, camera=lambda one: one - 1, name=lambda one: [
        f"image{k}.jpg" for k in range(len(one))])
    assert "camera-in-names" not in dict(found_in(shifted, gallery))


def test_names_beside_labels_are_read(tmp_path):
    """Under layumi's keys for features and labels, too."""
    query, gallery = small()
    np.savez(tmp_path / "named.npz", query_f=np.eye(28), gallery_f=np.ones((360, 28)),
             query_label=query.identity, gallery_label=gallery.identity + 1,
             query_paths=query.name,
             query_cam=query.camera, gallery_cam=gallery.camera, gallery_paths=gallery.name)
    done = command("evaluate", tmp_path / "named.npz", "--strict")
    assert done.returncode == 1 and "doctor:identity-in-names" in done.stderr


def test_the_sequence_digit_as_the_camera():
    """On real names: `0001_c1s2_...` read as camera 2."""
    query, gallery = read_real("market1501")
    assert found_in(query, gallery) == []
    read = [changed(side, camera=lambda _: [int(name.rsplit("_", 3)[1][-1]) for name in names])
            for side in (query, gallery) for names in [side.names()]]
    assert dict(found_in(*read)) == {"benchmark-counts": "warning", "camera-in-names": "warning"}
