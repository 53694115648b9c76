"""What a file says of itself is no reason to believe it: sizes, links, kinds of file."""
from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from reid_ref import InputError
from reid_ref.arrays import memory
from reid_ref.datasets import read_labels, read_list
from reid_ref.datasets.driver_files import read_inputs
from reid_ref.datasets.oxford import evaluate_query
from reid_ref.files import read_result
from reid_ref.files.lists import read_index_lists
from tests.cases import peak
from tests.files.test_files import (
    assert_is_made, refuse, stored, write_compressed, write_hdf5, write_v73)
from tests.refusals import refused

MB = 2**20


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 10 * MB)


def pack(path, **arrays):
    np.savez_compressed(path, **arrays)


# ---- what is not needed is not read -----------------------------------------------------


@pytest.mark.parametrize("name", ["r.npz", "r.mat", "r.h5", "v73.mat"])
def test_what_is_not_needed_is_not_read(tmp_path, name):
    path, extra = tmp_path / name, np.zeros((1000, 16_000), np.uint8)
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


# ---- what does not fit is refused before it is read -------------------------------------


@pytest.mark.parametrize("write", [pack, write_compressed])
def test_a_bomb_is_refused_before_it_is_expanded(tmp_path, write, little_memory):
    path = tmp_path / ("r.npz" if write is pack else "r.mat")
    arrays = stored("layumi", query_f=np.zeros((3, 5 * 10**6), np.uint8),
                    gallery_f=np.zeros((5, 5 * 10**6), np.uint8))
    write(path, **arrays) if write is pack else write(path, arrays)

    def read():
        refuse(f"{path.name}: query_f", "(3, 5000000) and dtype uint8: ", path)
    assert peak(read)[1] < 8 * MB


def npy(header):
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(100)


HEADERS = {
    "'<f8','shape':(1000000000000,)": "fit in memory", "'<f8','shape':(-1,)": "or damage",
    "'|V2000000000','shape':(3,)": "dtype |V2000000000", "'|O','shape':(3,)": "pickled",
    "'<U500000000','shape':(3,)": "dtype <U500000000", "'<M8[s]','shape':(3,)": "dtype datetime64"}


@pytest.mark.parametrize("header", HEADERS)
def test_headers_of_npz(tmp_path, header, key="query_f"):
    path = tmp_path / "r.npz"
    arrays = stored("layumi")
    del arrays[key]
    np.savez(path, **arrays)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(f"{key}.npy", npy(f"{{'fortran_order':False,'descr':{header}}}"))
    refuse("r.npz: query_f", HEADERS[header], path)


def test_mat_files_of_version_4(tmp_path):
    savemat(tmp_path / "r.mat", {"query_f": np.eye(3)}, format="4")
    refuse("r.mat", "version 4", tmp_path / "r.mat")


def test_a_compressed_array_that_claims_more_than_its_bytes_can_hold(tmp_path):
    path = tmp_path / "r.mat"
    write_compressed(path, {"x": np.ones((1, 3))})
    content = path.read_bytes()
    inside = bytearray(zlib.decompress(content[136:]))
    inside[4:8] = struct.pack("<I", 1_296_629_856)
    packed = zlib.compress(bytes(inside))
    path.write_bytes(content[:128] + struct.pack("<II", 15, len(packed)) + packed)
    answer, taken = peak(lambda: refuse("r.mat", "no array starts at byte 136", path))
    assert taken < MB


def test_a_name_without_end_is_cut_in_the_message(tmp_path):
    np.savez(tmp_path / "r.npz", **{"a" * 10_000: [1]})
    with pytest.raises(InputError, match="a{100,}[.]{3}") as caught:
        read_result(tmp_path / "r.npz")
    assert len(str(caught.value)) < 400


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
    secret = Path(file.filename).with_name("secret")
    secret.write_bytes(bytes(range(24)))
    file.create_dataset("query_label", (3,), "i8", external=[(str(secret), 0, 24)])


def linked_outside(h5py, file):
    del file["query_label"]
    file["query_label"] = h5py.ExternalLink("other.h5", "/query_label")


def never_written(h5py, file):
    del file["query_label"]
    file.create_dataset("query_label", (3,), "i8")


def half_written(h5py, file):
    del file["query_label"]
    file.create_dataset("query_label", (3,), "i8", chunks=(2,))[:2] = 5


@pytest.mark.skipif(sys.platform != "linux", reason="the limit needs /proc")
def test_headers_take_one_gigabyte_at_most():
    with memory.limited(2**30):
        assert len(np.empty(2**28, np.uint8)) == 2**28
        with pytest.raises(MemoryError):
            np.empty(2**31, np.uint8)
    assert len(np.empty(2**31, np.uint8)) == 2**31


@pytest.mark.skipif(sys.platform != "linux", reason="the limit needs /proc")
def test_threads_that_read_headers_leave_no_limit():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)

    def read(seconds):
        with memory.limited(2**30):
            time.sleep(seconds)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read, [.02, .01, .03, .01]))
    assert resource.getrlimit(resource.RLIMIT_AS) == before


@pytest.mark.parametrize(("write", "start"), [(write_hdf5, 0), (write_v73, 512)])
def test_a_damaged_address_of_other_files_takes_no_memory(tmp_path, write, start):
    path = rewritten(tmp_path, lambda h5py, file: None, write)
    content = bytearray(path.read_bytes())
    assert content[start + 48:start + 56] == b"\xff" * 8
    read_result(path)
    content[start + 48:start + 56] = b"\x10\x08" + bytes(6)
    path.write_bytes(content)
    refused(path.name, "one of several files", read_result, path)


@pytest.mark.parametrize("write", [write_hdf5, write_v73])
@pytest.mark.parametrize(("change", "noun"), [
    (virtual, "virtual"), (external, "external"), (linked_outside, "a link"),
    (never_written, "never written"), (half_written, "never written")])
def test_numbers_that_are_not_in_the_file(tmp_path, change, noun, write):
    path = rewritten(tmp_path, change, write)
    refuse(f"{path.name}: query_label", noun, path)


# ---- only regular files -----------------------------------------------------------------


@pytest.mark.parametrize(("name", "read"), [
    ("r.mat", read_result), ("r.npz", read_result), ("r.h5", read_result),
    ("query_id.txt", read_result), ("query.txt", read_labels), ("query.txt", read_list),
    ("r.mat", lambda path: read_inputs("cuhk03", path)),
    ("good.txt", lambda path: read_index_lists(path, path)),
    ("q_good.txt", lambda path: evaluate_query(path.parent / "q", path))])
def test_a_pipe_is_refused(tmp_path, name, read):
    """Such as process substitution makes: reading it twice would wait for ever."""
    for other in ("q_ok.txt", "q_junk.txt"):
        (tmp_path / other).touch()
    os.mkfifo(tmp_path / name)
    refused(name, "a pipe", read, tmp_path / name)


@pytest.mark.parametrize("size", [0, 3])
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
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert "gallery_label: " in done.stdout
