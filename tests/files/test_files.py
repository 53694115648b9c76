"""Every layout is read, every refusal is one clear `InputError`, damage never gets through.
 Recorded and real files are read by
tests/evaluation/test_reality.py and tests/datasets.
"""
from __future__ import annotations

import functools
import random
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from reid_ref import UnreadWarning, evaluate_distances
from reid_ref.arrays import InputError
from reid_ref.arrays.stored import read_rows
from reid_ref.files import LAYOUTS, SEPARATE, read_result
from reid_ref.files.layouts import role_of
from reid_ref.labels import Labels
from tests.nightly import cases
from tests.refusals import refused

N_QUERY, N_GALLERY, DIMENSION = 3, 5, 4

_random = np.random.default_rng(7)
FIELDS = {
    "query_features": _random.normal(size=(N_QUERY, DIMENSION)).astype(np.float32),
    "gallery_features": _random.normal(size=(N_GALLERY, DIMENSION)).astype(np.float32),
    "distances": _random.random(size=(N_QUERY, N_GALLERY)),
    "query_identity": np.array([3, 5, 9]), "query_camera": np.array([1, 2, 1]),
    "gallery_identity": np.array([3, 5, 9, 0, -1]), "gallery_camera": np.array([2, 1, 2, 3, 1])}
FIELDS |= {role: np.concatenate([FIELDS[f"{side}_{role}"] for side in ("query", "gallery")])
           for role in ("features", "identity", "camera")}
FIELDS["is_query"] = np.repeat([1, 0], [N_QUERY, N_GALLERY])
LABELS = [field for field in FIELDS if field.endswith(("_identity", "_camera"))]
MATRICES = ("query_features", "gallery_features", "distances")


def stored(layout_name, **changed):
    """Return the arrays of a layout by its keys, as its source would store them."""
    layout = LAYOUTS[layout_name]
    arrays = {key: FIELDS[field].T if layout.columns and FIELDS[field].ndim == 2 else FIELDS[field]
              for field, key in layout.keys.items()}
    return {**arrays, **changed}


def write_npz(path, arrays):
    np.savez(path, **arrays)


def write_npys(path, arrays):
    path.mkdir(exist_ok=True)
    for key, value in arrays.items():
        np.save(path / f"{key}.npy", value)


write_mat = savemat
write_compressed = functools.partial(savemat, do_compression=True)


def write_hdf5(path, arrays, matlab=False):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512 if matlab else 0) as file:
        for key, value in arrays.items():
            value = np.asarray(value)
            value = value.astype(object) if value.dtype.kind == "U" else value
            dataset = file.create_dataset(key, data=np.atleast_2d(value).T if matlab else value)
            if matlab:
                dataset.attrs["MATLAB_class"] = np.bytes_("double")


write_v73 = functools.partial(write_hdf5, matlab=True)
WRITERS = {
    "mat": (write_mat, "r.mat"), "npz": (write_npz, "r.npz"),
    "compressed": (write_compressed, "r.MAT"), "v7.3": (write_v73, "r.mat"),
    "hdf5": (write_hdf5, "r.h5")}


def assert_is_made(result):
    """The file holds what FIELDS holds."""
    for field in MATRICES:
        if getattr(result, field) is not None:
            np.testing.assert_array_equal(getattr(result, field), FIELDS[field])
    assert (result.distances is None) != (result.query_features is None)
    assert (result.query_features is None) == (result.gallery_features is None)
    for field in LABELS:
        side, what = field.split("_")
        np.testing.assert_array_equal(getattr(getattr(result, side), what), FIELDS[field])


def refuse(argument, noun, *paths):
    """The files are refused, and the message starts with a file's name."""
    error = refused(argument, noun, read_result, *paths)
    assert str(error).startswith(tuple(map(str, paths)))
    assert error.__suppress_context__ or error.__context__ is None


def refuse_layumi(tmp_path, key, noun, **changed):
    np.savez(tmp_path / "r.npz", **stored("layumi", **changed))
    refuse(f"r.npz: {key}", noun, tmp_path / "r.npz")


# ---- one file ---------------------------------------------------------------------------


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_in_every_format(tmp_path, layout, writer):
    write, name = WRITERS[writer]
    write(tmp_path / name, {**stored(layout), "note": np.array([[60.0]])})
    result = read_result(tmp_path / name)
    assert_is_made(result)
    assert result.layout.startswith(LAYOUTS[layout].title)
    assert result.extra == ("note",)


FURTHER = {"query_clothes": np.array([4, 4, 7]), "gallery_view": np.arange(N_GALLERY),
           "gallery_frame": np.arange(N_GALLERY) + 2**40}


@pytest.mark.parametrize("writer", [*WRITERS, "npy"])
def test_further_columns_of_labels(tmp_path, writer):
    write, name = WRITERS.get(writer, (write_npys, "r"))
    names = {"npz": {"query_name": ["a", "bc", "d"]}, "npy": {"query_name": ["a", "bc", "d"]},
             "hdf5": {"query_name": np.array(["a", "bc", "d"], dtype=object)}}.get(writer, {})
    write(tmp_path / name, {**stored("layumi"), **FURTHER, **names})
    result = read_result(tmp_path / name)
    assert result.query == Labels(FIELDS["query_identity"], FIELDS["query_camera"],
                                  clothes=[4, 4, 7], name=names.get("query_name"))
    assert result.gallery == Labels(FIELDS["gallery_identity"], FIELDS["gallery_camera"],
                                    view=range(N_GALLERY), frame=FURTHER["gallery_frame"])
    assert result.extra == ()
    if writer == "npy":
        assert read_result(*(tmp_path / name).iterdir()) == result
    write(tmp_path / f"2{name}", {**stored("layumi"), **FURTHER, "query_clothes": np.ones(2)})
    key = "query_clothes.npy" if writer == "npy" else f"2{name}: query_clothes"
    refuse(key, "3 entries", tmp_path / f"2{name}")


def test_columns_that_cannot_be_read(tmp_path):
    refuse_layumi(tmp_path, "query_view", "2.5 at index 1", query_view=[1, 2.5, 3])
    refuse_layumi(tmp_path, "gallery_video", "0.5 at index 0", gallery_video=[.5] * 5)
    refuse_layumi(tmp_path, "query_name", "3 entries", query_name=["a"])
    write_hdf5(tmp_path / "r.h5", stored("layumi", query_name=np.array([b"a", b"\xff", b"c"])))
    refuse("r.h5: query_name", "UTF-8", tmp_path / "r.h5")
    names = np.array(["a", "b", "c"], dtype=object)     # pickles: not read
    np.savez(tmp_path / "r.npz", **stored("layumi", query_name=names))
    result = read_result(tmp_path / "r.npz")
    assert result.query.name is None and result.extra == ("query_name",)


def test_features_win_over_other_results_in_the_file(tmp_path):
    np.savez(tmp_path / "r.npz", **stored("layumi", distances=FIELDS["distances"], ap=0.5))
    with pytest.warns(UnreadWarning, match="distances is not read"):
        result = read_result(tmp_path / "r.npz")
    assert_is_made(result)
    mapped = read_result(tmp_path / "r.npz", names={"distances": "distances"})
    assert mapped.distances is not None and mapped.query_features is None
    assert result.distances is None and set(result.extra) == {"distances", "ap"}


def test_sparse_features_and_other_classes(tmp_path):
    names = np.array([["a.jpg", "b.jpg"]], dtype=object)
    savemat(tmp_path / "r.mat", stored(
        "layumi", query_f=sparse.csc_array(FIELDS["query_features"].astype(float)), names=names,
        options={"epoch": 60, "name": "x"}, word="hello", phase=np.eye(2) * 1j))
    result = read_result(tmp_path / "r.mat")
    assert_is_made(result)
    assert set(result.extra) == {"names", "options", "word", "phase"}


def test_complex_distances_are_kept(tmp_path):
    distances = FIELDS["distances"].T + 1j
    savemat(tmp_path / "r.mat", stored("matlab-distances", dist=distances))
    np.testing.assert_array_equal(read_result(tmp_path / "r.mat").distances, distances.T)


# ---- HDF5 -------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["layumi", "torchreid-distances"])
def test_hdf5_the_other_way_round(tmp_path, layout):
    turned = {key: value.T for key, value in stored(layout).items()}
    write_hdf5(tmp_path / "r.h5", turned)
    result = read_result(tmp_path / "r.h5")
    assert_is_made(result)
    assert result.layout.endswith("an HDF5 file, matrices the other way round")


def test_v73_cells_text_and_groups(tmp_path):
    h5py = pytest.importorskip("h5py")
    write_v73(tmp_path / "r.mat", stored("layumi"))
    with h5py.File(tmp_path / "r.mat", "a") as file:
        file.create_group("options")
        text = file.create_group("#refs#").create_dataset("a", data=np.array([[97], [98]], "u2"))
        text.attrs["MATLAB_class"] = np.bytes_("char")
        file["word"] = text
        cells = file.create_dataset("names", (2, 1), dtype=h5py.ref_dtype)
        cells[0, 0] = cells[1, 0] = text.ref
        cells.attrs["MATLAB_class"] = np.bytes_("cell")
    result = read_result(tmp_path / "r.mat")
    assert_is_made(result)
    assert set(result.extra) == {"word", "names"}


@pytest.fixture
def v73(tmp_path):
    """An HDF5 file, and what stores text in it as MATLAB's -v7.3 does: UTF-16, turned."""
    h5py = pytest.importorskip("h5py")

    def char(rows, name="#refs#/a"):
        codes = np.array([[ord(letter) for letter in row] for row in rows], "u2").T
        dataset = file.create_dataset(name, data=codes)
        dataset.attrs["MATLAB_class"] = np.bytes_("char")
        return dataset

    def cells(name, texts, make=char):
        dataset = file.create_dataset(name, (1, len(texts)), dtype=h5py.ref_dtype)
        dataset.attrs["MATLAB_class"] = np.bytes_("cell")
        for k, text in enumerate(texts):
            dataset[0, k] = make([text], f"#refs#/{name}{k}").ref

    write_v73(tmp_path / "r.mat", stored("layumi"))
    with h5py.File(tmp_path / "r.mat", "a") as file:
        yield SimpleNamespace(file=file, char=char, cells=cells, path=tmp_path / "r.mat")


def test_v73_identities_may_be_text(v73):
    """Issue 61: in cells, and in the rows of a char matrix."""
    made = read_result(v73.path)
    for key, labels, write in (("query_label", made.query, v73.cells),
                               ("gallery_label", made.gallery, lambda name, texts: v73.char(
                                   texts, name))):
        del v73.file[key]
        write(key, [f"{value:04d}" for value in labels.identity.tolist()])
    v73.file.close()
    result = read_result(v73.path)
    assert_is_made(result)
    assert "whole numbers as text" in result.layout


def test_v73_char_matrices_of_two_widths(v73):
    """MATLAB fills up rows with blanks; of two widths no identity met its own."""
    made = read_result(v73.path)
    for key, names, n in (("query_label", ["bob", "anna"], len(made.query)),
                          ("gallery_label", ["bob", "anna", "elisabeth"], len(made.gallery))):
        del v73.file[key]
        names = (names * n)[:n]
        v73.char([name.ljust(max(map(len, names))) for name in names], key)
    v73.file.close()
    result = read_result(v73.path)
    assert np.isin(result.query.identity, result.gallery.identity).all()


def test_v73_text_that_is_none(v73, tmp_path):
    del v73.file["query_label"]
    v73.cells("query_label", [1., 2., 3.], lambda value, name: v73.file.create_dataset(
        name, data=np.array([value])))
    v73.file.close()
    refuse("r.mat: query_label", "text in each cell", v73.path)


def test_v73_empty_array(tmp_path):
    h5py = pytest.importorskip("h5py")
    write_v73(tmp_path / "r.mat", stored("layumi"))
    with h5py.File(tmp_path / "r.mat", "a") as file:
        for key in ("query_label", "query_cam"):
            del file[key]
            file[key] = np.zeros(2, np.uint64)
            file[key].attrs.update(MATLAB_class=np.bytes_("double"), MATLAB_empty=1)
    refuse("r.mat: query_label", "at least one image", tmp_path / "r.mat")


def test_hdf5_without_h5py(tmp_path, monkeypatch):
    write_v73(tmp_path / "r.mat", stored("layumi"))
    monkeypatch.setitem(sys.modules, "h5py", None)
    refuse("r.mat: an HDF5 file (MATLAB's v7.3)", "needs h5py, which is not installed; pip "
           "install h5py, or save it with -v7", tmp_path / "r.mat")


# ---- several files ----------------------------------------------------------------------


NAMES = {"query_features": ("ResNet_50_IDE_query", "ff"),
         "gallery_features": ("ResNet_50_IDE_test", "ff"),
         "query_identity": ("queryID", "queryID"), "query_camera": ("queryCam", "queryCAM"),
         "gallery_identity": ("testID", "testID"), "gallery_camera": ("testCam", "testCAM")}


def write_driver(folder, names=NAMES, write=write_mat):
    """Write the files that MATLAB's drivers load; return their paths."""
    paths = []
    for field, (name, variable) in names.items():
        path = folder / f"{name}.mat"
        value = FIELDS[field]
        write(path, {variable: value.T if field in MATRICES else value[:, None]})
        paths.append(path)
    return paths


def write_texts(folder, separator=" "):
    paths = []
    for name, field in {"query_gallery_distance": "distances", "query_id": "query_identity",
                        "query_cam": "query_camera", "gallery_id": "gallery_identity",
                        "gallery_cam": "gallery_camera"}.items():
        path = folder / f"{name}.txt"
        np.savetxt(path, FIELDS[field], delimiter=separator, fmt="%.17g")
        paths.append(path)
    return paths


@pytest.mark.parametrize("write", [write_mat, write_compressed, write_v73])
@pytest.mark.parametrize("seed", range(3))
def test_driver_files_in_any_order(tmp_path, seed, write):
    paths = write_driver(tmp_path, write=write)
    random.Random(seed).shuffle(paths)
    result = read_result(*paths)
    assert_is_made(result)
    assert result.layout == SEPARATE["features"] and result.extra == ()


@pytest.mark.parametrize("names", [
    {**NAMES, "query_features": ("QUERY", "ff"), "gallery_features": ("market_gallery", "x")},
    {**NAMES, "query_features": ("a", "probFea"), "gallery_features": ("b", "galFea")},
    {**NAMES, "query_identity": ("a", "label_query"), "gallery_camera": ("b", "cam_gallery")},
    {**NAMES, "query_identity": ("queryID", "x"), "gallery_camera": ("testcam", "ans")},
    {**NAMES, "query_identity": ("testCam_old", "queryID")}])
def test_roles_by_variable_then_by_file(tmp_path, names):
    assert_is_made(read_result(*write_driver(tmp_path, names)))


@pytest.mark.parametrize("separator", [" ", "\t", ",", ", "])
def test_text_files(tmp_path, separator):
    result = read_result(*write_texts(tmp_path, separator)[::-1])
    assert_is_made(result)
    assert result.layout == SEPARATE["distances"]


def test_text_may_have_a_mark_comments_and_empty_lines(tmp_path):
    paths = write_texts(tmp_path)
    paths[1].write_text("\ufeff# identity\r\n\r\n3\r\n5 # five\r\n9\r\n", encoding="utf-8")
    assert_is_made(read_result(*paths))


@pytest.mark.parametrize("name, role", [
    ("queryID", "query_identity"), ("QUERYID", "query_identity"), ("querycam", "query_camera"),
    ("g_camids", "gallery_camera"), ("q_pids", "query_identity"), ("probFea", "query_features"),
    ("probe_labels", "query_identity"), ("ResNet_50_IDE_test", "gallery_features"),
    ("labeled_query", "query_features"), ("Camstyle_gal", "gallery_features"),
    ("query_gallery_distance", "distances"), ("pdist2", "distances"),
    ("query_id_distractors", "query_identity"), ("mquery_f", None), ("feat", "features"),
    ("query_test", None), ("query_id_cam", None), ("id", "identity"), ("", None)])
def test_role_of_a_name(name, role):
    assert role_of(name) == role


# ---- refusals: the file -----------------------------------------------------------------


def test_no_file_and_an_empty_folder(tmp_path):
    refused("paths", "at least one result file", read_result)
    refuse(tmp_path.name, "a folder of .npy files", tmp_path)


@pytest.mark.parametrize(("name", "error", "remedy"), [
    ("r.mat", PermissionError(13, "Permission denied"), "change its rights"),
    (".", PermissionError(13, "Permission denied"), "change its rights"),
    ("r.mat", OSError(5, "Input/output error"), "copy it again")])
def test_errors_of_the_system(tmp_path, monkeypatch, name, error, remedy):
    def failing(*_):
        raise error
    (tmp_path / "r.mat").touch()
    for function in ("open", "iterdir"):
        monkeypatch.setattr(Path, function, failing)
    refuse((tmp_path / name).name, f"{error.strerror}; {remedy}", tmp_path / name)


NOTHING_OF_OURS = b"certainly not a result file " * 30


@pytest.mark.parametrize(("name", "content", "noun"), [
    ("r.mat", None, "No such file or directory"),
    *((name, b"", "an empty one") for name in ("r.mat", "r.npz", "r.h5", "r.txt")),
    ("r", b"x", "no suffix"), ("r.mat", NOTHING_OF_OURS, "a MAT file"),
    ("r.npz", NOTHING_OF_OURS, "a zip archive")])
def test_what_is_no_result_file(tmp_path, name, content, noun):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    refuse(name, noun, tmp_path / name)


# ---- refusals: what it holds ------------------------------------------------------------


def in_row_3(value):
    return np.where(np.arange(5)[:, np.newaxis] == 3, value, FIELDS["gallery_features"])


@pytest.mark.parametrize(("changed", "key", "noun"), [
    ({"query_cam": [1, 2]}, "query_cam", "3 and 2"),
    ({"gallery_f": np.ones((4, 5))}, "gallery_f", "transpose would fit"),
    ({"gallery_f": np.ones((5, 7))}, "gallery_f", "4 and 7"),
    ({"query_label": [3, 5.5, 9]}, "query_label", "5.5 at index 1"),
    ({"query_f": np.zeros((0, 4)), "query_label": [], "query_cam": []}, "query_label", "image"),
    ({"gallery_f": in_row_3(np.nan)}, "gallery_f", "NaN in row 3"),
    ({"gallery_f": in_row_3(-np.inf)}, "gallery_f", "Inf in row 3"),
    ({"gallery_cam": list("abcde")}, "gallery_cam", "names on both sides")])
def test_what_cannot_be_evaluated(tmp_path, changed, key, noun):
    refuse_layumi(tmp_path, key, noun, **changed)


def test_features_that_are_a_struct(tmp_path):
    write_mat(tmp_path / "r.mat", stored("layumi", query_f={"a": 1}))
    refuse("r.mat: query_f", "a MATLAB struct", tmp_path / "r.mat")


@pytest.mark.parametrize("layout, key", [
    ("matlab-distances", "dist"), ("torchreid-distances", "distmat")])
def test_distances_that_do_not_fit(tmp_path, layout, key):
    arrays, keys = stored(layout), LAYOUTS[layout].keys
    for changed, place, noun in (
            ({key: arrays[key].T}, key, "transpose would fit"),
            ({key: np.ones((9, 9))}, key, "(3, 5)"),
            *(({keys[name]: [3, 5]}, keys[name.replace("identity", "camera")], "one of each")
              for name in LABELS)):
        write_mat(tmp_path / "r.mat", {**arrays, **changed})
        refuse(f"r.mat: {place}", noun, tmp_path / "r.mat")


# ---- refusals: several files ------------------------------------------------------------


@pytest.mark.parametrize(("content", "noun"), [
    (b"# header\n3\nfive\n9\n", "string 'five'"),
    (b"3 5\n9\n", "changed from 2 to 1 at row 2"), (b"# nothing\n", "none"),
    (b"3\n\xff\xfe\n", "not text"),
    (b"3 5\n9 7\n", "a vector")])
def test_text_that_holds_no_labels(tmp_path, content, noun):
    paths = write_texts(tmp_path)
    paths[1].write_bytes(content)
    refuse("query_id.txt", noun, *paths)


@pytest.mark.parametrize(("name", "arrays", "argument", "noun"), [
    ("other.mat", {"x": np.eye(2)}, "other.mat", "belongs to the features"),
    ("query.txt", np.eye(2), "query.txt", "one array for query_features"),
    ("probe_pids.csv", [1], "probe_pids.csv", "one array for query_identity"),
    ("r.mat", stored("layumi"), "r.mat: query_f", "one array for query_features"),
    ("queryCam.mat", None, "queryCam.mat", "this one twice")])
def test_a_file_too_many(tmp_path, name, arrays, argument, noun):
    paths = write_driver(tmp_path)
    if arrays is not None:
        write = {".mat": savemat}.get(Path(name).suffix, np.savetxt)
        write(tmp_path / name, arrays)
    refuse(argument, noun, *paths, tmp_path / name)


def test_a_file_that_is_missing(tmp_path):
    paths = write_driver(tmp_path)[:-1]
    refuse(f"{paths[0].name} and 4 more files", "it lacks gallery_camera", *paths)


# ---- damage -----------------------------------------------------------------------------


def damaged(content, seed, count):
    """Yield copies of the file's bytes, cut off or with some bytes changed."""
    dice = random.Random(seed)
    for number in range(count):
        if number % 3 == 0:
            yield content[:dice.randrange(1, len(content))]
            continue
        changed = bytearray(content)
        for _ in range(dice.choice((1, 1, 2, 8))):
            changed[dice.randrange(len(changed))] = dice.randrange(256)
        yield bytes(changed)


@pytest.mark.parametrize("writer", [*WRITERS, "npy"])
def test_damage_ends_in_a_refusal_or_a_correct_read(tmp_path, writer):
    write, name = WRITERS.get(writer, (write_npys, "r"))
    path = result = tmp_path / name
    cells = np.array([["a.jpg", "bb.jpg"]], dtype=object)
    more = {"names": cells, "options": {"a": 1.0, "b": "text"}, "query_f": sparse.csc_array(
        FIELDS["query_features"].astype(float))} if write is write_mat else {}
    write(path, {**stored("layumi"), **more})
    if writer == "npy":
        path = path / "gallery_f.npy"
    refused = 0
    count = cases(24, 300)
    for content in damaged(path.read_bytes(), seed=1, count=count):
        path.unlink()     # HDF5 would take a file that is still open for the same one
        path.write_bytes(content)
        try:
            found = read_result(result)
            for side, features in (("query", found.query_features),
                                   ("gallery", found.gallery_features)):
                assert read_rows(features).shape == features.shape
                assert len(features) == len(getattr(found, side))
        except InputError as error:
            assert str(error).startswith(str(result))
            refused += 1
    assert refused > count / 6


def mat5_offset(content, variable):
    """Return where the element of a variable starts in an uncompressed MAT v5 file."""
    return content.index(variable.encode()) - 48


def test_sound_arrays_that_the_check_sees_in_part(tmp_path):
    large = np.random.default_rng(1).random((400, 400)) * 1j     # compressed: beyond the window
    write_compressed(tmp_path / "r.mat", stored("layumi", phase=large))
    assert_is_made(read_result(tmp_path / "r.mat"))
    write_compressed(tmp_path / "r.mat", stored(
        "torchreid-distances", distmat=large, q_pids=np.arange(400)[None],
        q_camids=np.ones((1, 400)), g_pids=np.arange(400), g_camids=np.ones((400, 1))))
    np.testing.assert_array_equal(read_result(tmp_path / "r.mat").distances, large)


def test_cell_with_an_empty_array(tmp_path):
    """MATLAB writes an empty cell as an element without content; scipy does not."""
    cell = struct.pack("<14I", 6, 8, 1, 0, 5, 8, 1, 1, 1 | 1 << 16, ord("c"), 14, 0, 0, 0)[:48]
    write_mat(tmp_path / "r.mat", stored("layumi"))
    with (tmp_path / "r.mat").open("ab") as file:
        file.write(struct.pack("<II", 14, len(cell)) + cell)
    assert read_result(tmp_path / "r.mat").extra == ("c",)


# Each of these ends the process in scipy 1.17's reader.
@pytest.mark.parametrize("variable, offset, value, noun", [
    ("query_cam", 17, 0x08, "requires a buffer"),      # complex, with no imaginary part
    ("query_cam", 16, 0xEE, "no array starts"),             # class
    ("query_f", 56, 0x0E, "no numbers in an array"),        # type of the data
    ("query_f", 57, 0x70, "no numbers in an array")])
def test_changes_that_would_end_the_process(tmp_path, variable, offset, value, noun):
    path = tmp_path / "r.mat"
    write_mat(path, stored("layumi"))
    content = bytearray(path.read_bytes())
    content[mat5_offset(content, variable) + offset] = value
    path.write_bytes(content)
    refuse("r.mat", noun, path)


@pytest.mark.parametrize("far", [2**53 + 1, 2**63 - 1, 2**64 - 1])
def test_whole_distances_in_text_are_those_of_an_npz(far, tmp_path):
    """The good image is one nearer than the wrong one, which doubles do not tell."""
    np.savez(tmp_path / "d.npz", distmat=np.array([[far, far - 1], [1, 2]], np.uint64),
             q_pids=[1, 2], g_pids=[2, 1], q_camids=[1, 1], g_camids=[2, 2])
    (tmp_path / "query_gallery_distance.txt").write_text(f"{far} {far - 1}\n1 2\n")
    for name, values in {"query_id": "1 2", "gallery_id": "2 1", "query_cam": "1 1",
                         "gallery_cam": "2 2"}.items():
        (tmp_path / f"{name}.txt").write_text(values.replace(" ", "\n"))
    text = read_result(*(tmp_path / f"{name}.txt" for name in (
        "query_gallery_distance", "query_id", "gallery_id", "query_cam", "gallery_cam")))
    found = [evaluate_distances(each.distances, each.query, each.gallery)
             for each in (text, read_result(tmp_path / "d.npz"))]
    assert found[0].mAP == found[1].mAP == 1


def test_whole_similarities_that_doubles_lack_are_refused(tmp_path):
    labels = {"q_pids": [1], "g_pids": [2, 1], "q_camids": [1], "g_camids": [2, 2]}
    for largest, fits in ((2**53, True), (2**53 + 1, False)):
        np.savez(tmp_path / "s.npz", similarity=np.array([[largest, 3]]), **labels)
        if fits:
            assert read_result(tmp_path / "s.npz").distances[0].tolist() == [-largest, -3]
        else:
            refused(f"{tmp_path / 's.npz'}: similarity", "similarities up to 2",
                    lambda: np.asarray(read_result(tmp_path / "s.npz").distances))
