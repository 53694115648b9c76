"""The doctor: a made file for each finding, and nothing on what is sound."""
import json
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels, ResultFile
from reid_ref.analysis.doctor import SMALL_SAMPLE, doctor, findings_of_conventions
from reid_ref.analysis.doctor.finding import TEXTS
from reid_ref.analysis.doctor.sample import share_nearer
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.evaluation.how import How
from reid_ref.files import RankedLists
from tests.cases import save_features
from tests.commands.common import assert_one_line_error, command
from tests.datasets.test_datasets import read_real
from tests.documents import ROOT
from tests.nightly import cases
from tests.refusals import refused
from tests.shared import shared

RNG = np.random.default_rng

#: Every convention, with features normalised: raw ones have tests of their own.
NORMALISED = How(tuple(reid_ref.CONVENTIONS.values()), normalize=True)


def of(name):
    return How((reid_ref.CONVENTIONS[name],), normalize=True)


def labels(seed, n_query=120, n_gallery=600, identities=40, cameras=4):
    """Every identity is on every camera of the gallery, so that each query has a match."""
    rng = RNG(seed)
    gallery = Labels(np.arange(n_gallery) % identities + 1,
                     np.arange(n_gallery) // identities % cameras + 1)
    return Labels(rng.integers(1, identities + 1, n_query),
                  rng.integers(1, cameras + 1, n_query)), gallery


def features(query, gallery, seed=0, noise=1.5, dimension=64):
    rng = RNG(seed)
    identities = np.union1d(query.identity, gallery.identity)
    centres = rng.standard_normal((len(identities), dimension))
    return [centres[np.searchsorted(identities, side.identity)]
            + noise * rng.standard_normal((len(side), dimension)) for side in (query, gallery)]


def of_features(query, gallery, query_features, gallery_features):
    return ResultFile("made", query, gallery, query_features=query_features,
                      gallery_features=gallery_features)


def sound(seed=0, **sizes):
    query, gallery = labels(seed, **sizes)
    return of_features(query, gallery, *features(query, gallery, seed))


def findings(data):
    """Without the note on norms, which made features have as well: its test is below."""
    return [finding for finding in doctor(data) if finding.key != "doctor:norms-vary"]


def keys(data):
    return [finding.key for finding in findings(data)]


def test_every_finding_has_its_section_and_every_section_its_finding():
    text = "".join(path.read_text() for path in (ROOT / "reid_ref/analysis/doctor").glob("*.py"))
    assert [name for name in TEXTS if f'"{name}"' not in text and "-in-names" not in name] == []
    keys = {"doctor:" + texts.get("key", name) for name, texts in TEXTS.items()}
    sections = re.findall("^## (doctor:.*)$", (ROOT / "docs/doctor.md").read_text(), re.MULTILINE)
    assert len(sections) == len({*sections}) and len(keys) > 25
    assert keys == {*sections}


def test_a_gallery_of_one_image_gives_no_warning_of_numpy():
    data = ResultFile("made", Labels([1, 2], [1, 1]), Labels([1], [2]),
                      distances=np.array([[.3], [.2]]))
    assert keys(data)[:2] == ["doctor:nothing-wrong", "doctor:identities-differ"]


def all_keys(data):
    """What the command `doctor` finds, and what `evaluate` finds on the way."""
    found = findings_of_conventions(data, NORMALISED)
    return keys(data) + [finding.key for finding in found]


def of_distances(data, change=lambda d: d):
    q, g = data.query_features, data.gallery_features
    distances = np.sqrt(((q[:, np.newaxis] - g) ** 2).sum(axis=2))
    return ResultFile("made", data.query, data.gallery, distances=change(distances))


# ---------------------------------------------------------------- nothing

@pytest.mark.parametrize("sizes", [
    {"n_query": 5, "n_gallery": 20, "identities": 4, "cameras": 2}, {},
    {"n_query": 2000, "n_gallery": 6000, "identities": 300, "cameras": 6}])
@pytest.mark.parametrize("seed", range(5))
def test_nothing_on_sound_data(sizes, seed):
    data = sound(seed, **sizes)
    assert all_keys(data) == []
    if len(data.query) < 1000:
        assert keys(of_distances(data)) == []


@pytest.mark.parametrize("name", ["market_like", "mars_like", "special_values", "ties"])
def test_nothing_on_the_fixtures(name):
    """But for the NaN of one, seen in both samples."""
    expected = 2 * ["doctor:nan"] if name == "special_values" else []
    assert all_keys(reid_ref.read(f"fixtures/{name}.mat")) == expected


@pytest.mark.parametrize(("name", "noise", "dimension"), [
    ("market1501", 4, 64), ("dukemtmc", 4, 64), ("mars", 4, 64), ("msmt17", 2, 9),
    ("veri-776", 3, 64), ("occluded-duke", 1, 64)])
def test_nothing_on_benchmarks(name, noise, dimension):
    query, gallery = read_real(name)
    data = of_features(query, gallery, *features(query, gallery, 0, noise, dimension))
    assert all_keys(data) == []


def test_nothing_on_cuhk03():
    folder = shared("real/cuhk03_np_100q")
    data = reid_ref.read(*(folder / f"{name}.txt" for name in (
        "query_gallery_distance", "query_id", "gallery_id", "query_cam", "gallery_cam")))
    found, = doctor(data)
    assert (found.key, found.severity) == ("doctor:benchmark-counts", "note")
    assert "there are 100 queries instead of 1,400" in found.sentence
    assert findings_of_conventions(data, NORMALISED) == []


def test_the_sample_does_not_grow():
    """100 queries, their images and 1,000 others, however large the gallery is."""
    query, gallery = labels(0, n_query=3000, n_gallery=20000, identities=1000)
    data = ResultFile("made", query, gallery, distances=np.zeros((3000, 20000), bool))
    sample = Subject(query, gallery, data, size=SMALL_SAMPLE).sample
    assert len(sample.query) == 100
    assert len(sample.image) <= 1000 + 100 * 20
    assert sample.good.any(axis=1).all()


def test_sketches_and_photographs_are_no_more_than_a_note():
    found = doctor(reid_ref.read(shared("real/sketch_reid") / "pytorch_result.mat"))
    assert [(one.key, one.severity) for one in found] == [("doctor:disjoint-cameras", "note")]


# ---------------------------------------------------------------- each finding

def relabelled(**changes):
    """Sound data with other labels: functions of (query, gallery), by array."""
    data = sound()
    sides = {"query": data.query, "gallery": data.gallery}
    return replace(data, **{name: Labels(
        changes.get(f"{name}_identity", lambda one: one)(side.identity),
        changes.get(f"{name}_camera", lambda one: one)(side.camera))
        for name, side in sides.items()})


def on_one_camera():
    return relabelled(query_camera=np.zeros_like, gallery_camera=np.zeros_like)


@pytest.mark.parametrize(("key", "severity", "evidence", "said", "changes"), [
    ("single-camera", "error", {"cameras": 1, "queries": 120, "unmatched": 120}, "",
     {"query_camera": np.zeros_like, "gallery_camera": np.zeros_like}),
    ("identity-offset", "error", {"offset": -700}, "-700",
     {"query_identity": lambda one: one + 700}),
    ("identities-differ", "error", {"identity_absent": 120}, "",
     {"query_identity": lambda one: one * 1000 + one % 7}),
    ("camera-per-image", "warning", {}, "720 images have 720 different cameras", {
        "query_camera": lambda one: np.arange(120),
        "gallery_camera": lambda one: np.arange(120, 720)}),
    ("camera-offset", "warning", {"offset": -10}, "", {"query_camera": lambda one: one + 10}),
    ("disjoint-cameras", "note", {}, "", {"query_camera": lambda one: one * 0 + 9})])
def test_labels_that_cannot_be_meant(key, severity, evidence, said, changes):
    found, = findings(relabelled(**changes))
    assert (found.key, found.severity) == (f"doctor:{key}", severity)
    assert evidence.items() <= found.evidence.items() and said in found.sentence


@pytest.mark.parametrize("column", ["identity", "camera"])
def test_labels_further_apart_than_64_bits_hold(column):
    lowest = np.int64(-2**63)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = {one.key: one.evidence for one in findings(relabelled(**{
            f"query_{column}": lambda one: lowest + one,
            f"gallery_{column}": lambda one: 2**62 + one}))}
    assert found[f"doctor:{column}-offset"]["offset"] == 2**62 + 2**63


def test_one_image_per_identity_needs_no_cameras():
    """VehicleID: the remedy is not to number cameras that do not exist."""
    query, gallery = Labels(np.arange(1, 31), [0] * 30), Labels(np.arange(1, 31), [0] * 30)
    one, *_ = doctor(of_features(query, gallery, *features(query, gallery)))
    assert one.remedy.startswith("If the data has no cameras, as RegDB and VehicleID, use ")
    assert doctor(on_one_camera())[0].remedy == f"Store the camera of each image. {one.remedy}"


def test_some_identities_differ():
    some = relabelled(query_identity=lambda one: np.where(one > 20, one + 900, one))
    apart, found = findings(some)
    assert apart.key == "doctor:numbered-apart"
    assert {f"identity_{k}": apart.evidence[f"identity_{k}"] for k in range(921, 941)} == {
        f"identity_{k + 900}": k for k in range(21, 41)}
    n = np.count_nonzero(some.query.identity > 900)
    assert (found.key, found.severity) == ("doctor:identities-differ", "warning")
    assert found.evidence["unmatched"] == n and f"{n} of 120" in found.sentence
    unknown, = doctor(reid_ref.read(ROOT / "fixtures/goldens/query_unknown.mat"))
    assert unknown.sentence.startswith("19 of 30 queries have no match, 15 of them because their")


def test_same_camera_only():
    data = relabelled(query_camera=lambda one: one * 0 + 1, gallery_camera=lambda one: one * 0 + 1)
    other = Labels(data.gallery.identity, np.where(data.gallery.identity > 38, 2, 1))
    found, = findings(replace(data, gallery=other))
    assert (found.key, found.severity) == ("doctor:same-camera-only", "warning")


def test_labels_swapped():
    data = sound(identities=300, n_gallery=1200)
    query, gallery = (Labels(side.camera, side.identity) for side in (data.query, data.gallery))
    assert "doctor:labels-swapped" in keys(replace(data, query=query, gallery=gallery))


def test_one_good_image():
    data = sound(n_query=40, n_gallery=40, identities=40)
    shifted = Labels(data.query.identity, data.query.camera + 1)
    assert "doctor:one-good-image" in keys(replace(data, query=shifted))


def test_similarities_given_as_distances():
    found, = findings(of_distances(sound(), lambda d: 20 - d))
    assert (found.key, found.severity) == ("doctor:reversed", "error")
    assert found.evidence["auc"] < .4 and "negate" in found.remedy


def test_nan_is_found_and_an_evaluation_says_it_once(tmp_path):
    def with_nan(distances):
        distances[3, :9] = np.nan
        return distances

    data = of_distances(sound(), with_nan)
    found, = findings(data)
    assert (found.key, found.severity) == ("doctor:nan", "warning")
    assert 0 < found.evidence["nan"] <= 9
    np.savez(tmp_path / "nan.npz", distances=data.input.matrix, query_label=data.query.identity,
             query_cam=data.query.camera, gallery_label=data.gallery.identity,
             gallery_cam=data.gallery.camera)
    answer = command("evaluate", tmp_path / "nan.npz", "--strict")
    assert answer.stderr.count("NaN") == 1
    assert "doctor:nan" in answer.stderr and answer.returncode == 1


def test_chance_level():
    data = sound()
    noise = RNG(5).standard_normal
    found, = findings(of_features(data.query, data.gallery, noise((120, 64)), noise((600, 64))))
    assert (found.key, found.severity) == ("doctor:chance-level", "warning")
    assert .45 < found.evidence["auc"] < .55


def test_area_under_the_curve_by_hand():
    """Good at 1 and 4, wrong at 2, 3, 4: pairs won 3 and 0, one tie; 3.5 of 6."""
    assert share_nearer(np.array([1., 4.]), np.array([3., 4., 2.])) == 3.5 / 6


def test_constant_columns():
    data = sound()
    wide = [np.concatenate([side, np.ones((len(side), 900))], axis=1)
            for side in (data.query_features, data.gallery_features)]
    assert keys(of_features(data.query, data.gallery, *wide)) == ["doctor:constant-columns"]


def test_means_made_with_test_labels():
    data = sound()
    means = data.gallery_features.copy()
    for identity in range(1, 41):
        here = data.gallery.identity == identity
        means[here] = means[here].mean(axis=0)
    found, = findings(replace(data, gallery_features=means))
    assert (found.key, found.severity) == ("doctor:equal-within-identity", "error")
    assert found.evidence["equal"] == found.evidence["identities"] == 40


def test_features_that_are_all_equal_were_not_made_with_labels():
    data = sound()
    assert keys(replace(data, gallery_features=np.ones_like(data.gallery_features)))[0] == (
        "doctor:duplicate-features")


def test_words_that_identities_share_were_not_made_with_labels():
    """The index of the nearest of 48 words, in one column."""
    data = sound()
    words = RNG(1).integers(0, 48, 41)
    rows = [words[side.identity][:, np.newaxis] + .0 for side in (data.query, data.gallery)]
    assert "doctor:equal-within-identity" not in keys(of_features(data.query, data.gallery, *rows))


def test_duplicate_features():
    data = sound()
    last = data.gallery_features.copy()
    last[200:] = last[RNG(0).integers(150, 200, 400)]
    assert "doctor:duplicate-features" in keys(replace(data, gallery_features=last))


@pytest.mark.parametrize("distances", [False, True])
def test_query_in_gallery(distances):
    data = sound()
    copied = data.query_features.copy()
    for k in range(0, 120, 2):
        good = (data.gallery.identity == data.query.identity[k]) & (
            data.gallery.camera != data.query.camera[k])
        copied[k] = data.gallery_features[np.flatnonzero(good)[0]]
    data = replace(data, query_features=copied)
    found, *again = findings(of_distances(data) if distances else data)
    assert (found.key, found.severity) == ("doctor:query-in-gallery", "warning")
    assert [one.key for one in again] == ["doctor:repeated-images"] * (not distances)
    assert found.evidence == {"queries": 120, "with_copy": 60}


def shuffled(data, share):
    """The same with the identities of a share of the gallery dealt out anew."""
    rng, identity = RNG(3), data.gallery.identity.copy()
    chosen = np.flatnonzero((rng.random(len(identity)) < share) & (identity > 0))
    identity[chosen] = rng.permutation(identity[chosen])
    return replace(data, gallery=Labels(identity, data.gallery.camera))


@pytest.mark.parametrize(("noise", "dimension"), [(1, 64), (1.5, 64), (1.5, 96)])
def test_shuffled_labels_are_found(noise, dimension):
    """A fifth of the gallery's labels, as a loader with another order makes them."""
    query, gallery = read_real("market1501")
    data = of_features(query, gallery, *features(query, gallery, 0, noise, dimension))
    assert all_keys(data) == []
    counts, found = findings(shuffled(data, .2))
    assert counts.key == "doctor:benchmark-counts"
    assert (found.key, found.severity) == ("doctor:two-modes", "warning")
    assert .15 < found.evidence["share"] < .25 and "of the good pairs are as far" in found.sentence
    assert [one.key for one in findings_of_conventions(
        shuffled(data, .2), of("simpleir"))] == ["doctor:benchmark-counts", "doctor:two-modes"]


@pytest.mark.parametrize("share", cases([.2], [.1, .2, .5]))
@pytest.mark.parametrize("shift", cases([.3, 2], [.3, .6, 1, 2, 4, 8]))
def test_two_kinds_of_images_are_no_shuffled_labels(share, shift):
    """Infrared beside visible: good pairs of two kinds are far, but not anywhere."""
    query, gallery = labels(0, n_query=600, n_gallery=6000, identities=300)
    moved = [side + shift * (RNG(1).random(len(side)) < share)[:, np.newaxis]
             for side in features(query, gallery, 0, 1)]
    assert all_keys(of_features(query, gallery, *moved)) == []


def msmt17(camera):
    query, gallery = read_real("msmt17")
    query, gallery = (Labels(side.identity, camera(side.camera)) for side in (query, gallery))
    return of_features(query, gallery, *features(query, gallery, 0, 2, 9))


def test_cameras_of_one_digit_on_a_benchmark_with_more():
    found, counts = findings(msmt17(lambda camera: camera % 10))
    assert counts.evidence["cameras"], counts.evidence["expected_cameras"] == (10, 15)
    assert (found.key, found.severity) == ("doctor:camera-digit", "warning")
    assert "There are 10 cameras, 0 to 9, where MSMT17 has 15" in found.sentence
    assert found.evidence == {"cameras": 10, "expected": 15}
    assert keys(msmt17(lambda camera: np.minimum(camera, 10))) == ["doctor:benchmark-counts"]


@pytest.mark.parametrize(("divisor", "found"), [(10, ["doctor:camera-digit"]), (100, [])])
def test_cameras_of_one_digit_and_names_with_two(divisor, found):
    data = sound(cameras=12)
    sides = {name: Labels(side.identity, side.camera % divisor, name=[
        f"{identity:04d}_000_{camera:02d}_0303morning_0015_0.jpg"
        for identity, camera in zip(side.identity, side.camera)])
        for name, side in (("query", data.query), ("gallery", data.gallery))}
    assert keys(replace(data, **sides)) == found
    one, = found or [""]
    of_conventions = [finding.key for finding in findings_of_conventions(
        replace(data, **sides), of("simpleir"))]
    assert one == "" or one not in of_conventions


# ---------------------------------------------------------------- how it is asked

def test_an_hdf5_file_is_read_in_blocks(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    data = sound(n_gallery=2000)
    read = []
    monkeypatch.setattr("reid_ref.evaluation.ranked._BLOCK", 64 * 8 * 300)
    monkeypatch.setattr("reid_ref.evaluation.ranked.read_rows",
                        lambda array, start, stop: read.append(stop - start) or array[start:stop])
    with h5py.File(tmp_path / "features.h5", "w") as file:
        file["gallery"] = data.gallery_features[::-1]
        stored = replace(data, gallery_features=file["gallery"])
        found = doctor(stored)
        assert findings_of_conventions(stored, of("matlab")) == []
    assert len(read) >= 14 and read == ([300] * 6 + [200]) * (len(read) // 7)
    assert found == doctor(replace(data, gallery_features=data.gallery_features[::-1])) != []


def test_arrays_that_do_not_fit():
    data = sound()
    labels = data.query, data.gallery
    refused("distances", "shape", doctor, ResultFile("made", *labels, distances=np.ones((3, 4))))
    refused("query_features", "120 rows", doctor,
            replace(data, query_features=data.query_features[:5]))
    refused("data", "features of both sides", doctor,
            ResultFile("made", *labels, query_features=data.query_features))
    ranked = RankedLists([np.zeros(0, np.int64)] * 120, str)
    refused("data", "ranked lists", doctor, ResultFile("made", *labels, ranked=ranked))


def test_the_command(tmp_path):
    data, one_camera = on_one_camera(), str(tmp_path / "one.npz")
    save_features(one_camera, (data.query_features, data.gallery_features), data.query,
                  data.gallery)
    done = command("doctor", one_camera)
    assert done.returncode == 1 and "doctor:single-camera" in done.stdout
    assert "error     All images are of camera 0" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80 + len(one_camera)
    found, = json.loads(command("doctor", one_camera, "--json").stdout)["findings"]
    assert (found["key"], found["severity"]) == ("doctor:single-camera", "error")


def test_no_warning_of_numpy():
    data = sound()
    doctor(replace(data, query_features=np.zeros_like(data.query_features)))


def test_the_command_takes_labels_alone(tmp_path):
    """Lists of names, MARS's two files and vectors have no values; features and distances do."""
    data = on_one_camera()
    labels = {f"{side[0]}_{name}": getattr(getattr(data, side), column)
              for side in ("query", "gallery")
              for name, column in (("pids", "identity"), ("camids", "camera"))}
    made = {
        "vectors": labels, "lists": {**labels, "ranked_lists": np.zeros((120, 9), int)},
        "features": {**labels, "qf": np.ones((120, 4)), "gf": np.ones((600, 4))},
        "broken": {**labels, "distmat": np.ones((3, 4))},
        "unnamed": {**labels, "A": np.ones((3, 4))}}
    for name, arrays in made.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
    for name, alone in (("vectors", True), ("lists", True), ("features", False)):
        done = command("doctor", tmp_path / f"{name}.npz", "--json")
        found = json.loads(done.stdout)
        assert ("without" in found["layout"]) == alone and done.returncode == 1
        assert found["findings"][0]["key"] == "doctor:single-camera"
    assert_one_line_error(command("doctor", tmp_path / "broken.npz"), "distmat: .*shape")
    assert_one_line_error(command("doctor", tmp_path / "unnamed.npz"), "lacks query_features")
