"""What a file says of itself is no reason to believe it: sizes, links, kinds of file."""
from __future__ import annotations

import io
import os
import socket
import struct
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from reid_ref import InputError
from reid_ref.arrays import memory
from reid_ref.datasets import read_labels, read_list
from reid_ref.drivers import read_inputs
from reid_ref.files import read_result
from reid_ref.files.lists import read_index_lists
from reid_ref.protocols.oxford import evaluate_query
from tests.files.test_files import (
    assert_is_made, mat5_offset, refuse, stored, write_compressed, write_hdf5, write_mat,
    write_mat4, write_v73)
from tests.files.test_files_large import write_folder

MB = 2**20


def peak(call, *arguments):
    """Return what a call answers and the bytes that it took at most."""
    tracemalloc.start()
    try:
        answer = call(*arguments)
        return answer, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 100 * MB)


def pack(path, **arrays):
    np.savez_compressed(path, **arrays)


# ---- what is not needed is not read -----------------------------------------------------


@pytest.mark.parametrize("name", ["r.npz", "r.mat", "r.h5", "v73.mat"])
def test_what_is_not_needed_is_not_read(tmp_path, name):
    path, extra = tmp_path / name, np.zeros((1000, 64_000), np.uint8)
    if name == "r.npz":
        pack(path, **stored("layumi", extra=extra))
    elif name == "r.mat":
        write_compressed(path, stored("layumi", extra=extra))
    else:
        h5py = pytest.importorskip("h5py")
        (write_v73 if name == "v73.mat" else write_hdf5)(path, stored("layumi"))
        with h5py.File(path, "a") as file:
            more = file.create_dataset("extra", data=extra.reshape(-1), compression="gzip")
            if name == "v73.mat":
                more.attrs["MATLAB_class"] = np.bytes_("char")
    for read in (read_result, read_labels):
        answer, taken = peak(read, path)
        assert taken < 8 * MB
    result = read_result(path)
    assert_is_made(result)
    assert result.extra == ("extra",)


def test_damage_in_what_is_not_needed_is_no_reason(tmp_path):
    path = tmp_path / "r.npz"
    np.savez(path, **stored("layumi"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("note.npy", b"\x93NUMPY\x01\x00\x05\x00what?")
        archive.writestr("epoch.npy", npy("{'descr':'<f8','fortran_order':False,'shape':(-1,)}"))
    assert_is_made(read_result(path))


def test_nested_cells_are_not_followed(tmp_path):
    """Sixty cells, each holding the one before it twice: 2^60 in all."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "r.mat"
    write_v73(path, stored("layumi"))
    with h5py.File(path, "a") as file:
        group, inner = file.create_group("#refs#"), file["query_cam"]
        for k in range(60):
            cells = group.create_dataset(str(k), (2, 1), dtype=h5py.ref_dtype)
            cells[0, 0] = cells[1, 0] = inner.ref
            cells.attrs["MATLAB_class"] = np.bytes_("cell")
            inner = cells
        file["names"] = inner
    assert_is_made(read_result(path))
    with h5py.File(path, "a") as file:
        del file["query_cam"]
        file["query_cam"] = file["names"]
    refuse(path, match="query_cam: expected numbers, got a MATLAB cell")


def test_a_mat_file_with_text_without_end(tmp_path):
    """scipy makes room for as many letters as the size says."""
    path = tmp_path / "r.mat"
    for key, word in (("sentence", {"sentence": "hello"}), ("query_f", {"query_f": "hello"})):
        write_mat(path, stored("layumi", **word))
        content = bytearray(path.read_bytes())
        place = mat5_offset(content, key) + 32
        content[place:place + 8] = struct.pack("<ii", 2**20, 2**20)
        path.write_bytes(content)
        if key == "sentence":
            assert_is_made(read_result(path))
        else:
            refuse(path, match="query_f: expected numbers, got a MATLAB char")


# ---- what does not fit is refused before it is read -------------------------------------


@pytest.mark.parametrize("write", [pack, write_compressed])
def test_a_bomb_is_refused_before_it_is_expanded(tmp_path, write, little_memory):
    path = tmp_path / ("r.npz" if write is pack else "r.mat")
    large = {"query_f": np.zeros((3, 5 * 10**7), np.uint8),
             "gallery_f": np.zeros((5, 5 * 10**7), np.uint8)}
    if write is pack:
        write(path, **stored("layumi", **large))
    else:
        write(path, stored("layumi", **large))

    def read():
        refuse(path, match=r"query_f: expected numbers that fit in memory, got an array of shape "
               r"\(3, 50000000\) and dtype uint8: 0.1 GiB where 0.1 are free; ")
    assert peak(read)[1] < 8 * MB


@pytest.mark.parametrize("side", ["query", "gallery"])
def test_shapes_are_compared_before_anything_is_read(tmp_path, side):
    path = tmp_path / "r.npz"
    many = np.zeros(6 * 10**7, np.uint8)
    pack(path, **stored("layumi", **{f"{side}_label": many, f"{side}_cam": many}))

    def read():
        refuse(path, match=f"{side}_f: expected 60000000 rows, one for each label")
    assert peak(read)[1] < 8 * MB
    pack(path, **stored("layumi", **{f"{side}_cam": many}))
    refuse(path, match=f"{side}_cam: expected . entries, one for each image, got 60000000")


def test_many_labels_need_memory(tmp_path, little_memory):
    n = 3 * 10**6
    pack(tmp_path / "r.npz", **stored(
        "layumi", gallery_label=np.zeros(n, "u1"), gallery_cam=np.zeros(n, "u1"),
        gallery_f=np.zeros((n, 4), "u1")))
    refuse(tmp_path / "r.npz", match="gallery_label: expected numbers that fit in memory, got "
           "3,000,000 labels: 0.1 GiB where 0.1 are free; is it the right array")


@pytest.mark.parametrize("write", [write_mat, write_compressed, write_mat4])
def test_a_sparse_matrix_is_as_large_as_it_says(tmp_path, write):
    path = tmp_path / "r.mat"
    arrays = stored("layumi")
    write(path, arrays)
    arrays["query_f"] = sparse.coo_array(([1.], ([3], [3])), shape=(10**6, 10**6))
    savemat(path, {key: value if sparse.issparse(value) else np.asarray(value, float)
                   for key, value in arrays.items()},
            format="4" if write is write_mat4 else "5",
            do_compression=write is write_compressed)
    refuse(path, match=r"query_f: expected numbers that fit in memory, got .* \(1000000, 1000000\)"
                       ".*: 7,450.6 GiB")


def test_indices_of_a_sparse_matrix_stay_inside(tmp_path):
    path = tmp_path / "r.mat"
    write_mat(path, stored("layumi", query_f=sparse.csc_array(np.eye(3, 4))))
    content = bytearray(path.read_bytes())
    place = mat5_offset(content, "query_f") + 64     # behind flags, size and name: row indices
    assert struct.unpack_from("<5I", content, place - 8) == (5, 12, 0, 1, 2)
    content[place:place + 12] = struct.pack("<III", 0, 1, 10**6)
    path.write_bytes(content)
    refuse(path, match="damaged file")


def test_a_mat4_file_with_a_size_without_end(tmp_path):
    path = tmp_path / "r.mat"
    write_mat4(path, stored("layumi"))
    content = bytearray(path.read_bytes())
    for size in ((2**30, 2**30), (2**15, 2**14), (-1, -3)):
        content[4:12] = struct.pack("<ii", *size)
        path.write_bytes(content)
        refuse(path, match="or a damaged file|known layout, got query_f;")


def npy(header, data=bytes(100), version=1):
    text = header.encode("latin1") + b"\n"
    return (b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I",
                                                             len(text)) + text + data)


HEADERS = {
    "'<f8','shape':(10**12,)": "or damage",
    "'<f8','shape':(1000000000000,)": "fit in memory",
    "'<f8','shape':(4611686018427387904,4611686018427387904)": "fit in memory",
    "'<f8','shape':(0,99999999999999999999999)": "fit in memory",
    "'<f8','shape':(-1,)": "or damage",
    "'<f8','shape':(True,)": r"expected features|expected \d entries",
    "'<f8','shape':(" + "1," * 70 + ")": "or damage",
    "'|V2000000000','shape':(3,)": "expected numbers, got dtype",
    "'<U500000000','shape':(3,)": "expected numbers, got dtype <U500000000; map names",
    "('<f8',(100000000,)),'shape':(3,)": "expected numbers, got dtype",
    "[('a','<f8')],'shape':(3,)": "expected numbers, got dtype",
    "'<M8[s]','shape':(3,)": "expected numbers, got dtype datetime64",
    "'|O','shape':(3,)": "pickled Python objects"}


@pytest.mark.parametrize("key", ["query_label", "query_f"])
@pytest.mark.parametrize("header", HEADERS)
def test_headers_of_npz(tmp_path, header, key):
    path = tmp_path / "r.npz"
    arrays = stored("layumi")
    del arrays[key]
    np.savez(path, **arrays)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(f"{key}.npy", npy(f"{{'fortran_order':False,'descr':{header}}}"))
    refuse(path, match=HEADERS[header])


@pytest.mark.parametrize("folder", [False, True])
def test_a_header_without_end(tmp_path, folder):
    """Version 2 has headers of up to 4 GiB; numpy reads them before it looks at them."""
    head = b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1)
    if folder:
        write_folder(tmp_path)
        path = tmp_path
        (path / "query_f.npy").write_bytes(head)
        os.truncate(path / "query_f.npy", 2**33)
    else:
        arrays = stored("layumi")
        del arrays["query_f"]
        path = tmp_path / "r.npz"
        np.savez(path, **arrays)
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("query_f.npy", head + bytes(64 * MB))

    def read():
        refuse(path, match="query_f")
    assert peak(read)[1] < 8 * MB


def test_labels_in_a_mapped_file_without_end(tmp_path):
    write_folder(tmp_path)
    for key in ("query_label", "query_cam"):
        path = tmp_path / f"{key}.npy"
        path.write_bytes(npy("{'descr':'|u1','fortran_order':False,'shape':(1000000000000,)}"))
        os.truncate(path, 10**12 + 200)
    refuse(tmp_path, match="query_label.npy: expected numbers that fit in memory|query_f.npy: "
                           "expected 1000000000000 rows")


def test_text_without_end(tmp_path):
    (tmp_path / "dist.txt").touch()
    os.truncate(tmp_path / "dist.txt", 10**11)
    refuse(tmp_path / "dist.txt", match="dist.txt: expected numbers that fit in memory, got text")


def test_two_arrays_of_one_name(tmp_path):
    path = tmp_path / "r.npz"
    np.savez(path, **stored("layumi"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("query_f", b"another")
    refuse(path, match="two arrays of the name 'query_f'")


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
def test_damaged_compression(tmp_path, method):
    path = tmp_path / "r.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        for key, value in stored("layumi").items():
            one = io.BytesIO()
            np.save(one, value)
            archive.writestr(f"{key}.npy", one.getvalue())
    content = bytearray(path.read_bytes())
    for place in range(50, 100):
        content[place] ^= 0x5A
    path.write_bytes(content)
    refuse(path, match="query_f: expected an array as numpy.savez writes it, got something else")


# ---- HDF5: the numbers are in the file --------------------------------------------------


def rewritten(tmp_path, change, write=write_hdf5):
    """Write a result file, change it; return its path."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / ("r.mat" if write is write_v73 else "r.h5")
    write(path, stored("layumi"))
    with h5py.File(path, "a") as file:
        change(h5py, file)
    return path


def virtual(h5py, file):
    del file["query_label"]
    layout = h5py.VirtualLayout((3,), "i8")
    layout[:] = h5py.VirtualSource("missing.h5", "x", (3,))
    file.create_virtual_dataset("query_label", layout)


def external(h5py, file):
    del file["query_label"]
    secret = os.path.join(os.path.dirname(file.filename), "secret")
    with open(secret, "wb") as other:
        other.write(bytes(range(24)))
    file.create_dataset("query_label", (3,), "i8", external=[(secret, 0, 24)])


def linked_outside(h5py, file):
    del file["query_label"]
    file["query_label"] = h5py.ExternalLink("other.h5", "/query_label")


def linked_inside(h5py, file):
    del file["query_label"]
    file["query_label"] = h5py.SoftLink("/query_cam")


def null(h5py, file):
    del file["query_label"]
    file["query_label"] = h5py.Empty("f8")
    file["query_label"].attrs["MATLAB_class"] = np.bytes_("double")


def never_written(h5py, file):
    del file["query_label"]
    file.create_dataset("query_label", (3,), "i8")


def half_written(h5py, file):
    del file["query_label"]
    file.create_dataset("query_label", (3,), "i8", chunks=(2,))[:2] = 5


def of_strange_class(h5py, file):
    file["query_label"].attrs["MATLAB_class"] = np.arange(5)


def of_fields(h5py, file):
    del file["query_label"]
    file["query_label"] = np.zeros(3, [("a", "i4")])


@pytest.mark.parametrize("write", [write_hdf5, write_v73])
@pytest.mark.parametrize(("change", "message"), [
    (virtual, "expected the numbers themselves, got a virtual dataset"),
    (external, "expected the numbers themselves, got a dataset whose bytes are in another file"),
    (linked_outside, "expected an array, got a link"), (linked_inside, "expected an array, got a"),
    (null, "expected numbers, got a dataset without any"),
    (never_written, "expected numbers, got a dataset of which all or a part was never written"),
    (half_written, "expected numbers, got a dataset of which all or a part was never written"),
    (of_strange_class, r"expected numbers, got a MATLAB \[0 1 2 3 4\]"),
    (of_fields, r"expected numbers, got dtype \[\('a', '<i4'\)\]")])
def test_numbers_that_are_not_in_the_file(tmp_path, change, message, write):
    refuse(rewritten(tmp_path, change, write), match=f"query_label: {message}")


@pytest.mark.parametrize("size", [0, 3, 2**20])
def test_a_chunk_of_a_size_that_cannot_be(tmp_path, size):
    """HDF5 2.0 ends the process on a chunk too small for its checksum."""
    def change(h5py, file):
        value = file["gallery_label"][()]
        del file["gallery_label"]
        file.create_dataset("gallery_label", data=value, chunks=(3,), compression="gzip",
                            fletcher32=True)
        places.append(file["gallery_label"].id.get_chunk_info(0).size)

    places = []
    path = rewritten(tmp_path, change)
    assert_is_made(read_result(path))
    content = path.read_bytes()
    at = content.index(b"TREE\x01")     # the index of chunks: size, filter mask, offset
    key = content.index(struct.pack("<IIQ", places[0], 0, 0), at)
    path.unlink()
    path.write_bytes(content[:key] + struct.pack("<I", size) + content[key + 4:])
    code = ("import sys, reid_ref.files as files\n"
            "try: files.read_result(sys.argv[1])\nexcept ValueError as error: print(error)")
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True,
                          check=True)
    assert "gallery_label: expected numbers, got a dataset of which all or a part" in done.stdout


def test_datasets_that_are_written_in_full(tmp_path):
    def chunks(h5py, file):
        for key in ("query_f", "gallery_label"):
            value = file[key][()]
            del file[key]
            file.create_dataset(key, data=value, chunks=(2,) * value.ndim, compression="gzip")
        scalar = file.create_dataset("epoch", data=60)
        assert scalar.chunks is None
    assert_is_made(read_result(rewritten(tmp_path, chunks)))


def test_an_external_link_is_not_even_opened(tmp_path):
    """Opening a pipe would wait for ever."""
    os.mkfifo(tmp_path / "pipe")

    def change(h5py, file):
        file["aaa"] = h5py.ExternalLink(str(tmp_path / "pipe"), "/x")
    assert_is_made(read_result(rewritten(tmp_path, change)))


# ---- only regular files -----------------------------------------------------------------


def make(path, kind):
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        os.symlink("/dev/zero", path)
    else:
        here = os.getcwd()
        os.chdir(path.parent)     # a socket's path has at most 108 bytes
        try:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(path.name)
        finally:
            os.chdir(here)


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a socket"])
@pytest.mark.parametrize(("name", "read"), [
    ("r.mat", read_result), ("r.npz", read_result), ("r.h5", read_result),
    ("query_id.txt", read_result), ("query.txt", read_labels), ("query.txt", read_list),
    ("r.mat", lambda path: read_inputs("cuhk03", path)),
    ("good.txt", lambda path: read_index_lists(path, path)),
    ("q_good.txt", lambda path: evaluate_query(path.parent / "q", path))])
def test_only_regular_files_are_read(tmp_path, kind, name, read):
    for other in ("q_ok.txt", "q_junk.txt"):
        (tmp_path / other).touch()
    make(tmp_path / name, kind)
    with pytest.raises(InputError, match=f"{name}: expected a file, got {kind}.* to a file first"):
        read(tmp_path / name)


def test_a_pipe_in_a_folder_of_npy(tmp_path):
    write_folder(tmp_path)
    (tmp_path / "query_f.npy").unlink()
    os.mkfifo(tmp_path / "query_f.npy")
    refuse(tmp_path, match="query_f.npy: expected a file, got a pipe")


def test_process_substitution(tmp_path):
    np.savez(tmp_path / "r.npz", **stored("layumi"))
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m reid_ref.cli evaluate <(cat {tmp_path}/r.npz)"],
        capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "expected a file, got a pipe, such as <(...) makes," in done.stderr


# ---- numbers of many digits -------------------------------------------------------------


@pytest.mark.parametrize("number", ["9" * 5000, "9223372036854775808", "0", "\u00b2"])
def test_an_index_list_with_a_strange_number(tmp_path, number):
    path = tmp_path / "good.txt"
    path.write_text(f"1 2\n3 {number}\n", encoding="utf-8")
    with pytest.raises(InputError, match="good.txt: line 2: expected gallery numbers from 1"):
        read_index_lists(path, path)
