"""Features and distances in one file: what is not read, and whether it ranks otherwise."""
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from reid_ref.files import read_result
from reid_ref.files.formats import read_contents

N_QUERY, N_GALLERY = 20, 70
_random = np.random.default_rng(3)
QUERY = _random.normal(size=(N_QUERY, 12)).astype(np.float32)
GALLERY = _random.normal(size=(N_GALLERY, 12)).astype(np.float32) * np.linspace(
    .5, 2, N_GALLERY, dtype=np.float32)[:, np.newaxis]
LABELS = {f"{side}_{column}": np.arange(n) % 5 + (side == "gallery") for side, n in (
    ("query", N_QUERY), ("gallery", N_GALLERY)) for column in ("identity", "camera")}
FEATURES = {"query_features": QUERY, "gallery_features": GALLERY}


def unit(features):
    return features / np.linalg.norm(features, axis=1, keepdims=True)


SQUARES = (QUERY**2).sum(axis=1)[:, np.newaxis] + (GALLERY**2).sum(axis=1) - 2 * QUERY @ GALLERY.T
ALIKE = {
    "euclidean": np.sqrt(SQUARES), "squared": SQUARES, "half": SQUARES.astype(np.float16),
    "bytes": np.uint8(SQUARES * 255 / SQUARES.max()), "cosine": 1 - unit(QUERY) @ unit(GALLERY).T,
    "similarity": unit(QUERY) @ unit(GALLERY).T, "dot": -QUERY @ GALLERY.T,
    "with a NaN": np.where(np.eye(N_QUERY, N_GALLERY) > 0, np.nan, SQUARES)}
OTHERWISE = {
    "another model's": _random.random((N_QUERY, N_GALLERY)), "other rows": SQUARES[::-1],
    "other columns": SQUARES[:, ::-1], "constant": np.ones((N_QUERY, N_GALLERY)),
    "re-ranked": SQUARES + 4 * SQUARES.std() * _random.random((N_QUERY, N_GALLERY))}


def warned(path):
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        result = read_result(path)
    return result, [str(message.message) for message in messages]


@pytest.mark.parametrize("kind", ALIKE)
def test_distances_of_the_features_are_no_contradiction(kind, tmp_path):
    np.savez(tmp_path / "r.npz", distances=ALIKE[kind], **FEATURES, **LABELS)
    result, messages = warned(tmp_path / "r.npz")
    assert messages == [] and result.extra == ("distances",)


@pytest.mark.parametrize("kind", OTHERWISE)
def test_distances_that_contradict_the_features(kind, tmp_path):
    np.savez(tmp_path / "r.npz", distances=OTHERWISE[kind], **FEATURES, **LABELS)
    result, (message,) = warned(tmp_path / "r.npz")
    assert result.distances is None
    assert "r.npz: distances is not read" in message
    assert "otherwise, with rank correlation" in message


@pytest.mark.parametrize(("distances", "n"), [(SQUARES, 0), (OTHERWISE["other rows"], 1)])
def test_features_beside_the_distances_that_are_ranked(distances, n, tmp_path):
    """torchreid's layout has distances; features beside them were dropped without a word."""
    labels = dict(zip(("q_pids", "q_camids", "g_pids", "g_camids"), LABELS.values()))
    np.savez(tmp_path / "r.npz", distmat=distances, qf=QUERY, gf=GALLERY, **labels)
    result, messages = warned(tmp_path / "r.npz")
    assert result.distances is not None and len(messages) == n
    assert [text for text in messages if "qf, " not in text or "otherwise" not in text] == []


def write_hdf5(path, arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


def write_by_columns(path, arrays):
    np.savez(path, **{name: np.asfortranarray(array) for name, array in arrays.items()})


def write_folder(path, arrays):
    path.mkdir()
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)


@pytest.mark.parametrize(("name", "write"), [
    ("r.npz", lambda path, arrays: np.savez_compressed(path, **arrays)),
    ("r.npz", write_by_columns), ("r.mat", savemat), ("r.h5", write_hdf5), ("r", write_folder)])
@pytest.mark.parametrize("turned", [False, True])
def test_every_format_and_both_orders_of_axes(name, write, turned, tmp_path):
    for distances, n in ((SQUARES, 0), (OTHERWISE["other rows"], 1)):
        path = tmp_path / str(n) / name
        path.parent.mkdir()
        write(path, {**FEATURES, **LABELS, "distances": distances.T if turned else distances})
        _, messages = warned(path)
        assert len(messages) == n and all("otherwise" in text for text in messages)


def test_a_matrix_of_other_images(tmp_path):
    for shape, n in (((N_QUERY, N_GALLERY - 1), 1), ((N_GALLERY, N_GALLERY), 0)):
        np.savez(tmp_path / "r.npz", distances=np.ones(shape), **FEATURES, **LABELS)
        _, messages = warned(tmp_path / "r.npz")
        assert len(messages) == n and all(f"{N_GALLERY - 1})" in text for text in messages)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_the_first_rows_of_an_archive_are_read_alone(save, tmp_path, monkeypatch):
    save(tmp_path / "r.npz", a=np.arange(60_000.).reshape(300, 200))
    read = []
    array = read_contents(tmp_path / "r.npz").values["a"]
    monkeypatch.setattr("zipfile.ZipExtFile.read", lambda file, n=-1, own=__import__(
        "zipfile").ZipExtFile.read: read.append(n) or own(file, n))
    np.testing.assert_array_equal(array.first(3), np.arange(600.).reshape(3, 200))
    assert sum(read) < 10_000 and -1 not in read


def test_a_large_array_that_has_no_first_rows_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("reid_ref.files.stored_arrays._SMALL", 100)
    write_by_columns(Path(tmp_path, "r.npz"), {
        **FEATURES, **LABELS, "distances": OTHERWISE["other rows"]})
    _, (message,) = warned(tmp_path / "r.npz")
    assert "distances is not read" in message and "otherwise" not in message
