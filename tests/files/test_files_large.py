"""Matrices in .npy files and in HDF5 stay in the file, and every refusal is as for others."""
from __future__ import annotations

import numpy as np
import pytest

from reid_ref.files import LAYOUTS, is_lazy, read_result, read_rows
from tests.files.test_files import (
    FIELDS, MATRICES, assert_is_made, refuse, stored, write_driver, write_hdf5, write_npys,
    write_texts, write_v73)
from tests.refusals import refused

COLUMNS = [name for name, layout in LAYOUTS.items() if layout.columns]
#: Of an array of both sides each side is a part, which is read.
ROWS = [name for name, layout in LAYOUTS.items()
        if not layout.columns and "is_query" not in layout.keys]


def write_folder(folder, layout="layumi", **changed):
    """Write the .npy files of a layout; return their paths."""
    arrays = stored(layout, **changed)
    write_npys(folder, arrays)
    return [folder / f"{key}.npy" for key in arrays]


def matrices(result):
    return [getattr(result, field) for field in MATRICES if getattr(result, field) is not None]


def kinds(result):
    return {type(matrix) for matrix in matrices(result)}


def write_chunked(path, arrays):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for key, array in arrays.items():
            chunked = {"chunks": True, "compression": "gzip"} if np.ndim(array) == 2 else {}
            file.create_dataset(key, data=array, **chunked)


# ---- .npy -------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_folder_is_mapped(tmp_path, layout):
    write_folder(tmp_path, layout)
    np.save(tmp_path / "train_f.npy", np.array([{}], dtype=object))     # not looked at
    (tmp_path / "notes.txt").write_text("epoch 60")
    result = read_result(tmp_path)
    assert_is_made(result)
    assert kinds(result) == {np.memmap} and all(map(is_lazy, matrices(result)))
    assert not any(array.flags.writeable for array in matrices(result))
    assert type(result.gallery.identity) is np.ndarray
    assert result.layout == LAYOUTS[layout].title + ", in .npy files"
    assert result.extra == ("train_f",)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_files_of_a_folder_are_the_folder(tmp_path, layout):
    result = read_result(*write_folder(tmp_path, layout)[::-1])
    assert_is_made(result)
    assert kinds(result) == {np.memmap} and result.layout.startswith(LAYOUTS[layout].title)


def write_fields(folder, names):
    write_npys(folder, {name: FIELDS[field] for name, field in names.items()})
    return [folder / f"{name}.npy" for name in names]


def test_features_with_labels_of_other_files(tmp_path):
    features = write_fields(tmp_path, {"query": "query_features", "gallery": "gallery_features"})
    for labels in (write_driver(tmp_path)[2:], write_texts(tmp_path)[1:]):
        result = read_result(*labels, *features)
        assert_is_made(result)
        assert kinds(result) == {np.memmap}


# ---- HDF5 -------------------------------------------------------------------------------


@pytest.mark.parametrize("write, layouts, stays", [
    (write_hdf5, ROWS, True), (write_chunked, ROWS, True), (write_v73, COLUMNS, True),
    (write_v73, ROWS, False), (write_hdf5, COLUMNS, False)])
def test_hdf5_is_read_only_where_it_has_to_be_turned(tmp_path, write, layouts, stays):
    """MATLAB's gallery x query lies in the file query after query."""
    h5py = pytest.importorskip("h5py")
    for layout in layouts:
        path = tmp_path / f"{layout}.mat"
        write(path, {**stored(layout), "more": np.array([[1., 2., 3.]])})
        result = read_result(path)
        assert_is_made(result)
        assert kinds(result) == {h5py.Dataset if stays else np.ndarray}
        for matrix in matrices(result):
            assert is_lazy(matrix) == stays
            assert len(matrix) == matrix.shape[0] and matrix.ndim == 2
            np.testing.assert_array_equal(read_rows(matrix, 1, 3), np.asarray(matrix)[1:3])
        assert result.extra == ("more",)


def test_file_is_closed_with_the_last_array(tmp_path):
    h5py = pytest.importorskip("h5py")
    write_hdf5(tmp_path / "r.h5", stored("layumi"))
    result = read_result(tmp_path / "r.h5")
    with pytest.raises(OSError, match="already open"):
        h5py.File(tmp_path / "r.h5", "w")
    del result
    h5py.File(tmp_path / "r.h5", "w").close()


@pytest.mark.parametrize("write", [write_hdf5, write_v73])
def test_only_what_was_read_is_known_to_be_finite(tmp_path, write):
    features = FIELDS["gallery_features"].copy()
    features[3, 1] = np.nan
    write(tmp_path / "r.h5", stored("layumi", gallery_f=features))
    if write is write_v73:
        refuse("r.h5: gallery_f", "NaN in row 3", tmp_path / "r.h5")
    else:
        assert np.isnan(read_result(tmp_path / "r.h5").gallery_features[3, 1])


# ---- refusals ---------------------------------------------------------------------------


def test_folder_among_several(tmp_path):
    (tmp_path / "folder").mkdir()
    refuse("folder", "Is a directory", *write_folder(tmp_path), tmp_path / "folder")


@pytest.mark.parametrize("content, noun", [
    (b"", "an empty one"), (b"not an array at all", "damage"),
    (b"\x93NUMPY\x01\x00\x76\x00{'descr", "damage"), (None, "mmap length")])
def test_no_npy(tmp_path, content, noun):
    write_folder(tmp_path)
    path = tmp_path / "query_f.npy"
    path.write_bytes(path.read_bytes()[:-1] if content is None else content)
    refuse("query_f.npy", noun, tmp_path)


@pytest.mark.parametrize("key", ["gallery_f", "gallery_label"])
def test_damaged_hdf5_names_file_and_key(tmp_path, key):
    """What HDF5 notices only when it reads rows; labels are read at once."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "r.h5"
    write_chunked(path, stored("layumi", gallery_label=FIELDS["gallery_identity"][:, None]))
    with h5py.File(path) as file:
        place = file[key].id.get_chunk_info(0)
    with path.open("r+b") as file:
        file.seek(place.byte_offset)
        file.write(bytes(place.size))
    if key == "gallery_label":
        refuse(f"r.h5: {key}", "OSError", path)
    else:
        features = read_result(path).gallery_features
        refused(f"r.h5: {key}", "OSError", read_rows, features)
