"""numpy's arrays and scalars in files of torch.save: no claim of a pickle is believed."""
from __future__ import annotations

import subprocess
import sys
import zipfile

import numpy as np
import pytest

import reid_ref
from reid_ref.files.numpy_pickles import NotPlain, unwrapped
from tests.files.test_files import assert_is_made
from tests.files.test_names import CAMIDS, GF, PIDS, QF
from tests.installed import version_of
from tests.nightly import cases

_RECONSTRUCT, _SCALAR = (np.zeros(0).__reduce__()[0], np.int64(0).__reduce__()[0])
_INTEGERS = (3, "<", None, None, None, -1, -1, 0)
_WORDS = (3, "<", None, None, None, 20, 4, 8)


class Made:
    """Pickled as a call and a state, whatever they are."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


def dtype(state=_INTEGERS, name="i8"):
    return Made(np.dtype, (name, False, True), state)


def array(dtype=None, shape=(8,), data=PIDS.tobytes(), kind=np.ndarray):
    return Made(_RECONSTRUCT, (kind, (0,), b"b"), (1, shape, dtype or globals()["dtype"](), False,
                                                   data))


def scalar(dtype=None, *data):
    return Made(_SCALAR, (dtype or globals()["dtype"](), *(data or (b"\1" + bytes(7),))))


def changed(place, value, state=_INTEGERS):
    return (*state[:place], value, *state[place + 1:])


_FIELD = {"a": (np.dtype("i8"), 0)}
#: What is forged to the dtype.
DTYPES = {
    "fields": dtype(changed(4, _FIELD)), "names": dtype(changed(3, ("a",))),
    "fields and names": dtype(changed(4, _FIELD, changed(3, ("a",)))),
    "subarray": dtype(changed(2, (np.dtype("i8"), (2**40,)))),
    "size": dtype(changed(5, 1)), "large size": dtype(changed(5, 2**31 - 1)),
    "size of text": dtype(changed(5, 2**30, _WORDS), "U5"),
    "no size of text": dtype(changed(5, 0, _WORDS), "U5"),
    "alignment": dtype(changed(6, 3)), "flags": dtype(changed(7, 0x3F)),
    "flags of objects": dtype(changed(7, 1)), "flags of text": dtype(changed(7, 63, _WORDS), "U5"),
    "order of bytes": dtype(changed(1, "!")), "version": dtype(changed(0, 99)),
    "true for 1": dtype(changed(7, False)), "short": dtype(_INTEGERS[:4]),
    "no tuple": dtype({"a": 1}), "metadata": dtype((4, *_INTEGERS[1:], {"a": 1})),
    "objects": dtype((3, "|", None, None, None, -1, -1, 63), "O8"),
    "void": dtype((3, "|", None, None, None, 8, 1, 0), "V8"),
    "bytes": dtype((3, "|", None, None, None, 8, 1, 0), "S8"),
    "dates": dtype((4, "<", None, None, None, -1, -1, 0, ({}, (b"s", 1, 1, 1))), "M8"),
    "structured": Made(np.dtype, ([("a", "i8")], False, True)),
    "two in one": Made(np.dtype, ("i8,i8", False, True)),
    "subarray in the name": Made(np.dtype, ("(2,)i8", False, True)),
    "endless text": Made(np.dtype, ("U99999999999", False, True)),
    "no dtype": 3, "another object": [1, 2]}
ATTACKS = {
    **{f"{name}, array": array(kind) for name, kind in DTYPES.items()},
    **{f"{name}, scalars": [scalar(kind)] * 8 for name, kind in DTYPES.items()},
    **{f"{name}, no entries": array(kind, (0,), b"") for name, kind in DTYPES.items()},
    "a list for the numbers": array(data=PIDS.tolist()),
    "a list for objects": array(DTYPES["objects"], data=PIDS.tolist()),
    "text for the numbers": array(data="a" * 64), "half of the numbers": array(data=bytes(32)),
    "twice the numbers": array(data=bytes(128)), "no numbers": array(data=None),
    "a negative shape": array(shape=(-8,)), "a shape without end": array(shape=(2**61, 2**61)),
    "a shape of text": array(shape=("8",)), "a list as shape": array(shape=[8]),
    "33 axes": array(shape=(1,) * 33, data=bytes(8)),
    "an array as dtype": array(array()), "never filled": Made(
        _RECONSTRUCT, (np.ndarray, (0,), b"b")), "a short state": Made(
            _RECONSTRUCT, (np.ndarray, (0,), b"b"), (1, (8,))),
    "a class in its place": array(kind=np.dtype), "a scalar without bytes": [Made(
        _SCALAR, (dtype(),))] * 8, "a scalar of many bytes": [scalar(None, bytes(99))] * 8,
    "text for a scalar": [scalar(None, "a" * 8)] * 8, "a list for a scalar": [
        scalar(None, [1, 2])] * 8}
_CHILD = """
import contextlib, io, sys
from pathlib import Path
from reid_ref import cli
for path in sorted(Path().glob("*.pt")):
    with contextlib.redirect_stderr(io.StringIO()) as stream:
        code = cli.main(["evaluate", path.name])
    text = stream.getvalue()
    print(code, text.count(chr(10)), int(text.startswith(f"reid-ref: error: {path.name}")),
          len(text) < 700, text)
"""


def save(path, pids, **further):
    version_of("torch")
    import torch
    torch.save({"qf": torch.from_numpy(QF), "gf": torch.from_numpy(GF), "pids": pids,
                "camids": CAMIDS, **further}, path)


def test_forged_arrays_and_scalars_end_in_one_line(tmp_path):
    """Every claim is refused, in a process that numpy's own reader would end."""
    attacks = cases([*ATTACKS.values()][::3], [*ATTACKS.values()])
    for k, attack in enumerate(attacks):
        save(tmp_path / f"{k:03}.pt", attack)
        save(tmp_path / f"{k:03}_unused.pt", PIDS, unused=attack)
    done = subprocess.run([sys.executable, "-c", _CHILD], cwd=tmp_path, capture_output=True,
                          text=True)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.replace("\n\n", "\n").splitlines()
    assert len(lines) == 2 * len(attacks)
    assert [line for line in lines if not line.startswith("2 1 1 True")] == []


@pytest.mark.parametrize("order", ["<", ">"])
def test_what_is_not_forged_is_read(tmp_path, order):
    """The attacks are pickled in the same way as this."""
    numbers = PIDS.astype(f"{order}i8")
    save(tmp_path / "a.pt", array(dtype(changed(1, order)), data=numbers.tobytes()))
    assert_is_made(reid_ref.read(tmp_path / "a.pt"))
    save(tmp_path / "b.pt", [scalar(dtype(changed(1, order)), numbers[k:k + 1].tobytes())
                             for k in range(8)])
    assert_is_made(reid_ref.read(tmp_path / "b.pt"))


@pytest.mark.parametrize("kind", "?bBhHiIlLqQefdgFDGU")
def test_every_dtype_of_numbers_and_text(tmp_path, kind):
    from reid_ref.files.saved_tensors import read_tensors
    for values in (np.arange(6).astype(kind).reshape(2, 3), np.zeros((0, 3), kind),
                   np.arange(6).astype(kind).reshape(2, 3).T, np.array(7).astype(kind),
                   np.arange(6).astype(kind).astype(np.dtype(kind).newbyteorder(">"))):
        save(tmp_path / "r.pt", PIDS, array=values, scalar=values.reshape(-1)[:1].tolist(),
             of_numpy=[entry for entry in values.reshape(-1)])
        (tmp_path / "r.pt").rename(path := tmp_path / "moved.pt")
        arrays = read_tensors(path)
        np.testing.assert_array_equal(arrays["array"].read(), values)
        assert arrays["array"].dtype == values.dtype and arrays["array"].shape == values.shape
        np.testing.assert_array_equal(arrays["of_numpy"].read(), values.reshape(-1))


@pytest.mark.parametrize("core", ["core", "_core"])
def test_both_spellings_of_numpy(tmp_path, core):
    save(tmp_path / "r.pt", list(PIDS))
    with zipfile.ZipFile(tmp_path / "r.pt") as old, zipfile.ZipFile(
            tmp_path / "other.pt", "w") as new:
        for name in old.namelist():
            part = old.read(name)
            if name.endswith("data.pkl"):
                assert b"numpy._core.multiarray" in part or b"numpy.core.multiarray" in part
                for spelling in (b"numpy._core.", b"numpy.core."):
                    part = part.replace(spelling, f"numpy.{core}.".encode())
            new.writestr(name, part)
    assert_is_made(reid_ref.read(tmp_path / "other.pt"))


def test_containers_that_hold_one_another():
    within = [1]
    within.append(within)
    assert unwrapped(within) == [1, ()]
    doubled = [0.5]
    for _ in range(60):
        doubled = [doubled, doubled]
    with pytest.raises(NotPlain, match="hold one another"):
        unwrapped({"qf": doubled})
