"""The doctor on values: numbers of the two sides apart, rows again, features made in two ways."""
import json
import os
from dataclasses import replace

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.analysis.doctor import CHECKS, checked, doctor, findings_of_conventions
from reid_ref.analysis.doctor.shifts import camera_trace, camera_traces
from reid_ref.analysis.doctor.sides import share_separated
from tests.commands.common import FIXTURES, table
from tests.commands.test_doctor import (
    RNG, features, labels, of, of_distances, of_features)
from tests.datasets.test_datasets import read_real
from tests.installed import absent

#: Of ranking raw features; other tests have them.
OF_NORMS = {"doctor:norms-vary"}


def traced(seed=0, trace=1.5, sides=None, dimension=32):
    """Sound data whose features tell the camera, as those of networks do."""
    query, gallery = sides or labels(seed, cameras=6)
    made = features(query, gallery, seed, 1, dimension)
    cameras = np.union1d(query.camera, gallery.camera)
    of_camera = trace * RNG(seed + 1).standard_normal((len(cameras), dimension))
    return of_features(query, gallery, *(
        rows + of_camera[np.searchsorted(cameras, side.camera)]
        for rows, side in zip(made, (query, gallery))))


def real_features():
    """Features of a network on Market-1501's images, which stay where they are made."""
    path = os.environ.get("REID_REF_FEATURES")
    if not path or path == "required":
        absent("REID_REF_FEATURES names no .npz of features of Market-1501's images",
               "REID_REF_FEATURES")
    return reid_ref.read(path)


DATA = [traced, pytest.param(real_features, id="real")]


def by_key(data):
    return {one.key.removeprefix("doctor:"): one for one in doctor(data)
            if one.key not in OF_NORMS}


def only(data):
    (key, one), = by_key(data).items()
    return key, one


def columns(labels, **changes):
    return Labels(**{**labels.columns(), **{
        name: change(getattr(labels, name)) for name, change in changes.items()}})


def trace_of(data):
    return {one.shift: one for one in camera_traces(checked(data))}


# ---------------------------------------------------------------- numbers apart

@pytest.mark.parametrize("make", DATA)
@pytest.mark.parametrize("off", [-1, 1, 2])
def test_cameras_off(make, off):
    data = make()
    traces = trace_of(data)
    assert traces[None].errors < -6 > traces[0].errors
    assert traces[0].mean < .7 * traces[None].mean
    data = replace(data, query=columns(data.query, camera=lambda one: one + off))
    found = by_key(data)["camera-offset"]
    assert (found.severity, found.evidence["offset"]) == ("warning", -off)
    assert f"query_camera {-off:+d}" in found.remedy
    traces = trace_of(data)
    assert traces[-off].mean < traces[None].mean / 2 and traces[0].mean > traces[None].mean * .35
    assert "doctor:camera-offset" in [
        one.key for one in findings_of_conventions(data, of("matlab"))]


def test_cameras_off_in_distances():
    data = traced()
    data = replace(data, query=columns(data.query, camera=lambda one: one + 1))
    assert by_key(of_distances(data))["camera-offset"].evidence["offset"] == -1


def test_the_trace_by_hand():
    """Ten identities on cameras 1 and 2: images of one camera are nearer by 1, 2, 1, 2 ..."""
    identity, camera = np.repeat(np.arange(1, 11), 2), np.tile([1, 2], 10)
    nearer = np.where(identity % 2, 1., 2.)
    distances = 10 - nearer[:, np.newaxis] * (camera[:, np.newaxis] == camera)
    trace = camera_trace(distances, (identity, identity), (camera, camera))
    of_row = [row[(identity != own) & (camera == place)].mean() - row[identity != own].mean()
              for row, own, place in zip(distances, identity, camera)]
    assert trace.mean == pytest.approx(np.mean(of_row), abs=.06)
    assert trace.mean < 0 and trace.shift is None
    assert camera_trace(distances, (identity, identity), (camera, camera), 1).mean > 0
    nine = slice(2, None)
    assert camera_trace(distances[nine], (identity[nine], identity),
                        (camera[nine], camera)) is None


@pytest.mark.parametrize("make", DATA)
@pytest.mark.parametrize("spoil", ["shuffled", "permuted"])
def test_cameras_that_do_not_fit(make, spoil):
    """Rank-1 rises by what should be ignored."""
    data = make()
    side = {"shuffled": "gallery"}.get(spoil, "query")
    cameras = np.unique(data.query.camera)
    change = {"shuffled": RNG(0).permutation,
              "permuted": lambda one: np.array([3, 1, 6, 5, 2, 4])[np.searchsorted(cameras, one)]}
    spoilt = replace(data, **{side: columns(getattr(data, side), camera=change[spoil])})
    found = by_key(spoilt)["camera-trace"]
    assert found.severity == "warning"
    assert found.evidence["across"] > .35 * found.evidence["trace"]
    assert reid_ref.evaluate(
        spoilt.query_features, spoilt.gallery_features, spoilt.query, spoilt.gallery).rank(1) > (
        reid_ref.evaluate(data.query_features, data.gallery_features, data.query,
                          data.gallery).rank(1))
    assert "camera-trace" not in by_key(data)


@pytest.mark.parametrize("seed", range(3))
def test_cameras_that_leave_no_trace(seed):
    data = traced(seed, 0)
    assert by_key(data) == {}
    data = replace(data, query=columns(data.query, camera=lambda one: one - 1))
    assert by_key(data) == {}
    assert all(abs(one.errors) < 6 for one in trace_of(data).values())


@pytest.mark.parametrize("make", DATA)
@pytest.mark.parametrize("off", [1, -3])
def test_identities_off(make, off):
    data = make()
    data = replace(data, query=columns(data.query, identity=lambda one: one + off))
    found = by_key(data)["identity-offset"]
    assert (found.severity, found.evidence["offset"]) == ("error", -off)
    assert f"query_identity {-off:+d}" in found.remedy


# ---------------------------------------------------------------- parts of the gallery

def in_another_order(data, rows):
    order = np.arange(len(data.gallery))
    order[rows] = RNG(0).permutation(order[rows])
    return replace(data, gallery_features=data.gallery_features[order])


def by_another_network(data, rows):
    """The same, turned: distances within these rows are kept."""
    turn, _ = np.linalg.qr(RNG(0).standard_normal((data.gallery_features.shape[1],) * 2))
    other = data.gallery_features.copy()
    other[rows] = data.gallery_features[rows] @ turn
    return replace(data, gallery_features=other)


@pytest.mark.parametrize("make", DATA)
@pytest.mark.parametrize("spoil", [in_another_order, by_another_network])
def test_half_of_the_gallery(make, spoil):
    data = make()
    n = len(data.gallery)
    found = by_key(spoil(data, slice(n // 2, None)))["part-at-chance"]
    assert found.severity == "warning"
    assert f"In rows {n // 2:,} to {n - 1:,} of the {n:,} gallery images" in found.sentence
    assert found.evidence["first"] == n // 2
    assert found.evidence["share"] < .58 < .7 < found.evidence["share_of_others"]


def test_all_of_the_gallery_is_no_part():
    data = traced()
    assert {"chance-level"} <= by_key(in_another_order(data, slice(None))).keys() <= {
        "chance-level", "camera-trace"}


# ---------------------------------------------------------------- rows again

def joined(data, rows):
    return replace(data, gallery=data.gallery[np.r_[:len(data.gallery), rows]],
                   gallery_features=np.concatenate([
                       data.gallery_features, data.gallery_features[rows]]))


@pytest.mark.parametrize("make", DATA)
@pytest.mark.parametrize("n", [100, 12, None])
def test_images_again(make, n):
    data = make()
    n_gallery = len(data.gallery)
    found = by_key(joined(data, np.arange(n_gallery)[:n]))["repeated-images"]
    assert found.evidence["gallery"] == (n or n_gallery)
    assert found.evidence["gallery_first"] == n_gallery
    assert f"of {n_gallery + (n or n_gallery):,} gallery images (first: row {n_gallery})" in (
        found.sentence)


def test_queries_again():
    data = traced()
    rows = np.r_[:120, :40]
    again = replace(data, query=data.query[rows], query_features=data.query_features[rows])
    assert only(again)[1].evidence == {"query": 40, "query_images": 160, "query_first": 120}


def test_few_images_again_and_codes_are_no_finding():
    data = traced()
    assert by_key(joined(data, np.arange(9))) == {}
    codes = [(side > 0).astype("i1") for side in (data.query_features, data.gallery_features)]
    assert not {"repeated-images", "shared-features"} & by_key(
        joined(of_features(data.query, data.gallery, *codes), np.arange(100))).keys()


@pytest.mark.parametrize("make", DATA)
def test_a_batch_written_again(make):
    data = make()
    rows = data.gallery_features.copy()
    rows[-64:] = rows[-128:-64]
    found = by_key(replace(data, gallery_features=rows))["shared-features"]
    identity = data.gallery.identity
    other = int(((identity[-64:] != identity[-128:-64]) & (identity[-64:] > 0)).sum())
    assert other <= found.evidence["gallery"] <= 128
    rows[-64:] = rows[-64]
    assert by_key(replace(data, gallery_features=rows))["shared-features"].evidence[
        "gallery"] == 65


@pytest.mark.parametrize("make", DATA)
def test_rows_that_are_zero(make):
    data = make()
    rows = data.gallery_features.copy()
    rows[[7, 90]] = 0
    found = by_key(replace(data, gallery_features=rows))["zero-features"]
    assert found.severity == "warning"
    assert found.evidence == {"gallery": 2, "gallery_images": len(rows), "gallery_first": 7}


# ---------------------------------------------------------------- made in two ways

def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("make", DATA)
@pytest.mark.parametrize(("query", "gallery"), [
    (unit, lambda rows: 9 * rows), (lambda rows: 2 * rows, lambda rows: rows),
    (lambda rows: 9 * rows, lambda rows: np.concatenate([unit(rows[::2]), 9 * rows[1::2]]))])
def test_sides_of_two_scales(make, query, gallery):
    data = make()
    order = np.r_[:len(data.gallery):2, 1:len(data.gallery):2]
    data = replace(data, gallery=data.gallery[order], query_features=query(data.query_features),
                   gallery_features=gallery(data.gallery_features)[:len(order)])
    found = by_key(data)["norms-of-sides"]
    assert found.severity == "note" and "the median norm is" in found.sentence
    for convention, warned in (("torchreid", True), ("matlab", False)):
        keys = [one.key for one in findings_of_conventions(
            data, reid_ref.evaluation.how.How((reid_ref.CONVENTIONS[convention],)))]
        assert ("doctor:norms-of-sides" in keys) == warned


def test_the_scale_of_both_sides_is_free():
    data = traced()
    for scale in (unit, lambda rows: 40 * rows, lambda rows: unit(rows).astype("f2")):
        assert by_key(replace(data, query_features=scale(data.query_features),
                              gallery_features=scale(data.gallery_features))) == {}


def test_softmax_outputs():
    data = traced()

    def softmax(rows):
        rows = np.exp(rows)
        return rows / rows.sum(axis=1, keepdims=True)

    made = [softmax(side) for side in (data.query_features, data.gallery_features)]
    key, found = only(of_features(data.query, data.gallery, *made))
    assert (key, found.evidence) == ("softmax", {"images": 720, "columns": 32})
    histograms = [np.maximum(side, 0) for side in made]
    for side in histograms:
        side[:, ::2] = side[:, 1::8].repeat(4, axis=1)[:, :16] * 0
        side /= side.sum(axis=1, keepdims=True)
    assert by_key(of_features(data.query, data.gallery, *histograms)) == {}


@pytest.mark.parametrize("make", DATA)
def test_sides_of_another_preprocessing(make):
    data = make()
    rows = data.query_features
    moved = rows + 2 * rows.std() * RNG(5).standard_normal(rows.shape[1])
    found = by_key(replace(data, query_features=moved))["sides-apart"]
    assert found.severity == "warning" and found.evidence["share"] >= .9
    assert "sides-apart" not in by_key(data)


def test_sides_that_share_no_camera_may_be_apart():
    data = traced()
    data = replace(data, query=columns(data.query, camera=lambda one: one + 10),
                   query_features=unit(data.query_features + 5),
                   gallery_features=unit(data.gallery_features))
    assert by_key(data).keys() == {"camera-offset"}
    assert share_separated(checked(data).joined) is None


# ---------------------------------------------------------------- what a convention ranks

def test_chance_level_is_of_what_is_ranked():
    """Norms that hide the direction: at chance as they are, sound normalised."""
    data = traced()
    scale = 10 ** RNG(2).uniform(1, 3, (len(data.gallery), 1))
    data = replace(data, gallery_features=data.gallery_features * scale)
    for convention, found in (("torchreid", True), ("matlab", False)):
        how = reid_ref.evaluation.how.How((reid_ref.CONVENTIONS[convention],))
        keys = [one.key for one in findings_of_conventions(data, how)]
        assert ("doctor:chance-level" in keys) == found


@pytest.mark.parametrize("name", ["market1501", "mars", "veri-776"])
def test_nothing_on_real_labels(name):
    assert by_key(traced(sides=read_real(name))) == {}


# ---------------------------------------------------------------- what a file lacks

@pytest.mark.parametrize(("file", "lacking"), [
    ("special_values.mat", {"image names": "the file has no names",
                            "constant columns": "the file has distances, not features"}),
    ("named.npz", {"matrix of distances": "the file has no distances"}),
    ("labels.npz", {"image names": "the file has no names", "NaN": "labels alone"})])
def test_what_was_looked_at(file, lacking, tmp_path):
    """How many checks ran; which did not, and why; and the same in JSON."""
    data = traced(dimension=64)
    arrays = {f"{side}_{name}": getattr(getattr(data, side), column)
              for side in ("query", "gallery")
              for name, column in (("label", "identity"), ("cam", "camera"))}
    np.savez(tmp_path / "labels.npz", **arrays)
    np.savez(tmp_path / "named.npz", **arrays, query_f=data.query_features,
             gallery_f=data.gallery_features, **{f"{side}_paths": [
                 f"{identity:04d}_c{camera}_{k}.png" for k, (identity, camera) in enumerate(
                     zip(arrays[f"{side}_label"], arrays[f"{side}_cam"]))]
                 for side in ("query", "gallery")})
    path = tmp_path / file if (tmp_path / file).exists() else FIXTURES / file
    answer = json.loads(table("doctor", path, "--json"))
    ran, skipped = answer["checks"], answer["skipped"]
    assert lacking.items() <= skipped.items() and (file != "named.npz" or skipped == lacking)
    assert sorted([*ran, *skipped]) == sorted(CHECKS)
    text = " ".join(table("doctor", path).split())
    found = len({one["key"] for one in answer["findings"]})
    said = "1 found something" if found else "found nothing"
    assert f"checks {len(ran)} of {len(CHECKS)} ran, and {said}" in text
    assert "no known mistake" not in text
    assert all(f"{reason}" in text.partition(" ran, and ")[2] for reason in skipped.values())


@pytest.mark.parametrize("identities", [20, 40, 80])
@pytest.mark.parametrize("side", ["query", "gallery"])
def test_one_side_in_another_order_is_no_average(identities, side):
    """Of few queries as of many: the other side fits its labels, and the two hardly do."""
    rng = RNG(5)
    query = Labels(np.repeat(np.arange(identities), 2), np.tile([1, 2], identities))
    gallery = Labels(np.repeat(np.arange(identities), 5), rng.integers(1, 7, 5 * identities))
    means = rng.standard_normal((identities, 128))
    rows = {name: means[labels.identity] + .9 * rng.standard_normal((len(labels), 128))
            for name, labels in (("query", query), ("gallery", gallery))}
    assert by_key(of_features(query, gallery, *rows.values())) == {}
    rows[side] = rng.permutation(rows[side])
    key, one = only(of_features(query, gallery, *rows.values()))
    assert key in ("chance-level", "sides-misfit") and one.severity == "warning"
