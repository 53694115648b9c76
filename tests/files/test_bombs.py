"""A small file takes memory and time in proportion to its size, whatever it says of itself.

Each file is read in a process of its own, which may take 3 GB and 30 processor seconds.
"""
from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest

from reid_ref import Labels
from reid_ref.arrays import memory
from reid_ref.files import formats, pickle_sizes, read_result
from tests.installed import version_of
from tests.refusals import refused

pytest.importorskip("resource")

READ = """
import resource, sys
import numpy, {library}
import reid_ref, reid_ref.datasets, reid_ref.files.lists, reid_ref.protocols.boxes
import reid_ref.protocols.trials, reid_ref.labels
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + 3 * 10**9,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    {call}
    answer = "read"
except reid_ref.InputError as error:
    answer = str(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, answer)
"""
#: What is large by itself.
_LIBRARIES = {".pt": "torch", ".h5": "h5py"}
RESULT = "reid_ref.read({path!r})"


def check(path, expected, call=RESULT):
    """Read a file in a child; it is refused with these words, and takes what it may."""
    if path.suffix in _LIBRARIES:
        pytest.importorskip(_LIBRARIES[path.suffix])
    child = subprocess.run(
        [sys.executable, "-c", READ.format(
            call=call.format(path=str(path)), library=_LIBRARIES.get(path.suffix, "json"))],
        capture_output=True, text=True, timeout=300, check=False)
    assert child.returncode == 0, child.stderr[-2000:]
    taken, answer = child.stdout.split(" ", 1)
    assert int(taken) <= memory.most_for(os.path.getsize(path))
    assert expected in answer


linux = pytest.mark.skipif(sys.platform != "linux", reason="the limit needs /proc")


# ---- files of torch.save ----------------------------------------------------------------

def text(value):
    content = value.encode()
    return b"X" + struct.pack("<I", len(content)) + content


def saved(path, *parts, packed=False):
    """Write a pickle as torch.save does, or `packed`."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else 0) as archive:
        with archive.open("a/data.pkl", "w", force_zip64=True) as file:
            for part in (b"\x80\x02", *parts, b"."):
                file.write(part)
        archive.writestr("a/version", "3\n")
        archive.writestr("a/byteorder", "little")
    return path


def names(*parts):
    return b"}" + text("query_paths") + b"](" + b"".join(parts) + b"es"


def doubled_tuples(n):
    """A tuple that holds another twice, and that one another."""
    pairs = b"".join(b"h%ch%c\x86q%c" % (k - 1, k - 1, k) for k in range(1, n))
    return b"K\x01K\x02\x86q\x00" + pairs


PACKED = {"lists": [b"](", *[b"]" * 10**6] * 20, b"e"],
          "text": [b"}" + text("f") + b"X" + struct.pack("<I", 10**9), *[b"a" * 10**7] * 100,
                   b"s"]}
LARGE = "far more memory than the file"
STORED = {
    "lists": ((b"](" + b"]" * 2 * 10**6 + b"e"), LARGE),
    "lists in lists": (b"]" * 10**6 + b"a" * (10**6 - 1), LARGE),
    "tensors of one storage": (b"](ctorch\ndevice\nq\x00" + text("cpu") + b"\x85q\x01"
                               + b"h\x00h\x01R" * 10**6 + b"e", LARGE),
    "a key of tuples": (b"}" + doubled_tuples(45) + b"K\x01s", "hold one another"),
    "a set of tuples": (b"c__builtin__\nset\n](" + doubled_tuples(45) + b"e\x85R",
                        "hold one another"),
    "one set after another": (
        b"](c__builtin__\nset\nq\x00]q\x01(" + b"(" + b"K\x01" * 10**5 + b"te\x85q\x02"
        + b"h\x00h\x02R" * 10**4 + b"e", "hold one another"),
    "one long name": (names(text("a" * 100_000), *(text(f"{k:05}") for k in range(10_000))),
                      "at most 4,096 characters, got 100,000"),
    "one name often": (names(text("a" * 100_000) + b"q\x01", b"h\x01" * 20_000),
                       "at most 4,096 characters, got 100,000"),
    "a shorter one often": (names(text("a" * 4000) + b"q\x01", b"h\x01" * 200_000),
                            "of like lengths")}


@pytest.mark.parametrize("name", PACKED)
def test_torch_save_packs_nothing(tmp_path, name):
    check(saved(tmp_path / "r.pt", *PACKED[name], packed=True), "got a compressed record")


@pytest.mark.parametrize("name", STORED)
def test_objects_of_torch_save(tmp_path, name):
    content, expected = STORED[name]
    check(saved(tmp_path / "r.pt", content), expected)


@linux
@pytest.mark.parametrize("content", [
    b"cbuiltins\nbytearray\n\x8a\x05" + struct.pack("<Q", 2 * 10**9)[:5] + b"\x85R",
    b"](c_codecs\nencode\nq\x00" + text("a" * 10**6) + b"q\x01" + text("utf-32") + b"q\x02000"
    + b"h\x00h\x01h\x02\x86R" * 1000 + b"e"])
def test_what_a_call_of_torch_takes(tmp_path, content):
    check(saved(tmp_path / "r.pt", content), "r.pt: expected a file of torch.save")


def test_old_files_of_torch_save(tmp_path):
    path = tmp_path / "r.pt"
    path.write_bytes(b"\x80\x02K\x01." * 3 + b"\x80\x02](" + b"]" * 2 * 10**6 + b"e.")
    check(path, LARGE)


def test_the_directory_of_an_archive_is_the_one_that_torch_reads(tmp_path):
    version_of("torch")
    path = saved(tmp_path / "r.pt", b"}")
    content = bytearray(path.read_bytes())
    content[-6:-2] = struct.pack("<I", 7)
    path.write_bytes(content)
    refused("r.pt", "a file of torch.save", read_result, path)


def test_what_torch_saves_is_read(tmp_path):
    """The weights of opcodes are above what is taken, and below what files have."""
    version_of("torch")
    import torch

    path = tmp_path / "r.pt"
    rows = [[float(k), 1.0, 2.0, 3.0] for k in range(50_000)]
    paths = [f"query/{k:06}_c1s1_000151_01.jpg" for k in range(50_000)]
    torch.save({"boxes": rows, "labels": list(torch.arange(20_000)), "paths": paths,
                "tuples": [(name, k, 1) for k, name in enumerate(paths)]}, path)
    pickle_sizes.check_pickles(path)
    arrays = formats.read_contents(path).values
    assert arrays["boxes"].parts == (4,) * 50_000 and arrays["labels"].shape == (20_000,)
    assert arrays["paths"].names().tolist() == paths
    torch.save({"query_f": torch.ones(3)}, path, _use_new_zipfile_serialization=False)
    assert formats.read_contents(path).values["query_f"].shape == (3,)


# ---- names ------------------------------------------------------------------------------

N = 10_000
LONG = ["a" * 100_000, *(f"{k:06}" for k in range(N - 1))]
TOO_LONG = "at most 4,096 characters, got 100,000"


def labels():
    return {"query_identity": np.arange(N), "query_camera": np.ones(N, int),
            "gallery_identity": np.arange(N), "gallery_camera": np.ones(N, int),
            "query_features": np.ones((N, 2)), "gallery_features": np.ones((N, 2))}


def test_tables(tmp_path):
    path = tmp_path / "query.csv"
    path.write_text("name,identity,camera\n" + "".join(f"{name},1,1\n" for name in LONG))
    check(path, f"query.csv: name: expected names of {TOO_LONG}",
          "reid_ref.datasets.read_side({path!r})")


@pytest.mark.parametrize("call", [
    "reid_ref.files.lists.read_groups({path!r})",
    "reid_ref.files.roles._mapped('query_paths', {path!r}, {{}})"])
def test_lists_of_names(tmp_path, call):
    path = tmp_path / "names.txt"
    path.write_text("\n".join(LONG))
    check(path, TOO_LONG, call)


@pytest.mark.parametrize(("width", "n", "expected"), [
    (25_000, N, "at most 4,096 characters, got 25,000"),
    (4000, N, "at most 20 times as large as its file")])
def test_names_of_npz(tmp_path, width, n, expected):
    path = tmp_path / "r.npz"
    np.savez_compressed(path, **labels(), query_paths=np.full(n, "a", f"U{width}"))
    check(path, expected)


@pytest.mark.parametrize("kind", ["variable", "fixed", "one text"])
def test_names_of_hdf5(tmp_path, kind):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "r.h5"
    with h5py.File(path, "w") as file:
        for key, value in labels().items():
            file[key] = value
        if kind == "fixed":
            file.create_dataset("query_paths", data=np.zeros(N, "S100000"), compression="gzip",
                                chunks=(10,))
        else:
            file.create_dataset("query_paths", data=LONG, dtype=h5py.string_dtype())
    if kind == "one text":      # each name is the first one's place in the file
        content = bytearray(path.read_bytes())
        first = content.index(struct.pack("<I", 100_000))
        place = bytes(content[first:first + 16])
        content[first:first + 16 * N] = place * N
        path.write_bytes(content)
    check(path, "query_paths: expected")


@pytest.mark.parametrize("values", [
    {"image": LONG}, {"truth_box": [LONG]}, {"query_identity": [1, *LONG]}])
def test_names_of_boxes(tmp_path, values):
    path = tmp_path / "r.json"
    every = ("image truth_image truth_identity truth_box detection_image detection_box "
             "detection_score query_image query_identity").split()
    path.write_text(json.dumps({**dict.fromkeys(every, [0]), "image": ["a"], **values}))
    check(path, TOO_LONG, "reid_ref.protocols.boxes.read_boxes({path!r})")


def test_names_of_trials(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps([[[0], LONG]]))
    check(path, TOO_LONG, "list(reid_ref.protocols.trials._checked(reid_ref.protocols.trials."
          "read_trials({path!r}, None), {{'query': [0], 'gallery': [0]}}))")


def test_names_of_ranked_lists(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps([[0, *LONG]]))
    check(path, TOO_LONG, "reid_ref.files.lists.read_ranked_lists({path!r}, 1)")


@pytest.mark.parametrize(("content", "call"), [
    ("[" + "[]," * 5 * 10**6 + "[]]", "reid_ref.protocols.boxes.read_boxes({path!r})"),
    ("[" + "{}," * 5 * 10**6 + "{}]", "reid_ref.load({path!r})"),
    ("[" + '{"a":0},' * 3 * 10**6 + "{}]", "reid_ref.load({path!r})")])
def test_json_of_small_values(tmp_path, content, call):
    path = tmp_path / "r.json"
    path.write_text(content)
    check(path, "many small lists or objects", call)


# ---- what is packed ---------------------------------------------------------------------

def test_packed_arrays(tmp_path):
    """Where memory is free, too."""
    path = tmp_path / "r.npz"
    np.savez_compressed(path, **{**labels(), "query_identity": np.zeros(4 * 10**7, int)})
    check(path, "query_identity: expected an array at most 20 times as large as its file")


def element(kind, content):
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def matrix(kind, shape, name, body):
    return (element(6, struct.pack("<II", kind, 0)) + element(5, struct.pack("<2i", *shape))
            + element(1, name) + body)


def test_cells_within_cells(tmp_path):
    """Each held a copy of what is in it."""
    path, inner = tmp_path / "rand_perm_cam.mat", element(14, matrix(
        9, (1, 4 * 10**7), b"", element(2, bytes(4 * 10**7))))
    heads = []
    size = len(inner)
    for k in range(100):
        head = matrix(1, (1, 1), b"rand_perm_cam" if k == 99 else b"", b"")
        heads.append(struct.pack("<II", 14, len(head) + size) + head)
        size += len(heads[-1])
    packed = zlib.compress(b"".join(heads[::-1]) + inner)
    path.write_bytes(b"MATLAB 5.0".ljust(124) + struct.pack("<H", 0x100) + b"IM"
                     + struct.pack("<II", 15, len(packed)) + packed)
    check(path, "permutations", "reid_ref.protocols.trials.read_trials({path!r}, "
          "reid_ref.labels.Labels([1], [1]))")


def test_an_archive_of_many_arrays_of_one_place(tmp_path):
    path = tmp_path / "r.npz"
    np.savez(path, a=[1])
    content = path.read_bytes()
    start = content.index(b"PK\x01\x02")
    entry = content[start:content.index(b"PK\x05\x06")]
    every = b"".join(entry.replace(b"a.npy", f"{k:05x}".encode()) for k in range(100_001))
    end = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, 100_001, 100_001,
                      len(every), start)
    path.write_bytes(content[:start] + every + end + struct.pack(
        "<IIQI", 0x07064b50, 0, start + len(every), 1) + struct.pack(
        "<IHHHHIIH", 0x06054b50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0))
    check(path, "more than 100,000 arrays", "reid_ref.files.formats.read_contents("
          "__import__('pathlib').Path({path!r}))")


def test_a_name_is_read_up_to_the_limit():
    assert Labels([1], [1], name=["a" * 4096]).names() == ["a" * 4096]
    refused("name", "4,097", Labels, [1], [1], name=["a" * 4097])
