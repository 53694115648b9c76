"""What a pickle of torch.save takes, from its opcodes, before anything is made of it.

One byte of a pickle makes an empty list, and five a tensor of which the file has the numbers once.
A tuple that holds another twice, and so on, takes no memory, but hashing it as a key takes time
without end. So the opcodes are walked first, as torch's reader of weights walks them.
"""
import io
import os
import pickletools
import struct
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from reid_ref.arrays.memory import most_for

#: Bytes of data.pkl; tensors are not in it.
MOST = 2**28
#: Bytes of memory that an opcode takes at most until its object is an array; torch's reader of
#: weights takes no other opcodes.
_TAKES = {name: n_bytes for n_bytes, names in {
    400: "EMPTY_LIST EMPTY_DICT EMPTY_SET MARK REDUCE NEWOBJ", 300: "BINPERSID",
    150: "TUPLE TUPLE1 TUPLE2 TUPLE3", 100: "BINPUT LONG_BINPUT BINUNICODE",
    40: "NONE NEWTRUE NEWFALSE EMPTY_TUPLE BUILD APPEND APPENDS SETITEM SETITEMS BININT BININT1 "
        "BININT2 LONG1 BINFLOAT SHORT_BINSTRING GLOBAL BINGET LONG_BINGET PROTO STOP",
    }.items() for name in names.split()}
#: And a character of a text.
_CHARACTER = 5
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
#: Ends of the names whose call hashes what is in a list.
_HASHING = ("set", "Counter", "OrderedDict")
_POPS = {"APPEND": 1, "SETITEM": 2, "REDUCE": 1, "NEWOBJ": 1, "BUILD": 1}


class Oversized(Exception):
    """A file of torch.save that takes far more than its size; the message says why."""


def check_pickles(path: Path) -> None:
    """Refuse a file of torch.save whose objects take far more memory or time than its size.

    Raises
    ------
    Oversized
    IndexError, KeyError, ValueError, struct.error, zipfile.BadZipFile
        The file is damaged.
    """
    size = os.path.getsize(path)
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":     # torch 1.5 and older: four pickles, then keys
            file.seek(0)
            data = io.BytesIO(file.read(MOST + 1))
            for _ in range(4):
                walk(data, size)
            return
        with zipfile.ZipFile(file) as archive:
            _check_directory(file, size, archive)
            for entry in archive.infolist():
                if entry.compress_type != zipfile.ZIP_STORED or (
                        entry.compress_size != entry.file_size):
                    raise Oversized("a compressed record, as torch.save writes none")
                if entry.filename.endswith(".pkl"):
                    if entry.file_size > MOST:
                        raise Oversized(f"{entry.file_size / 2 ** 20:,.0f} MiB of objects")
                    walk(io.BytesIO(archive.read(entry)), size)


def _check_directory(file: BinaryIO, size: int, archive: zipfile.ZipFile) -> None:
    """Refuse an archive of which torch could read another directory than zipfile does.

    zipfile takes what stands before the last records, wherever they say that it is.
    """
    file.seek(max(0, size - 98))
    tail = file.read()
    start, = struct.unpack("<I", tail[-6:-2])
    if tail[-42:-38] == b"PK\6\7":
        record, = struct.unpack("<Q", tail[-34:-26])
        start, = struct.unpack("<Q", tail[-50:-42])
        if record != size - 98:
            raise zipfile.BadZipFile("its directory is elsewhere")
    if tail[-22:-18] != b"PK\5\6" or start != archive.start_dir:
        raise zipfile.BadZipFile("its directory is elsewhere")


def walk(data: BinaryIO, size: int) -> None:
    """Read a pickle to its end; refuse one that takes too much for a file of that size."""
    most, takes, n_hashed = most_for(size), 0, 0
    stack: list[int] = []     # of each object, what is looked at to hash it
    marked: list[list[int]] = []
    memo: dict[int, int] = {}
    heaviest, hashing = 0, False
    argument: Any
    for n, (opcode, argument, _) in enumerate(pickletools.genops(data), 1):
        name = opcode.name
        takes += _TAKES[name]
        if name == "MARK":
            marked.append(stack)
            stack = []
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
            n_hashed += memo[argument]
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name == "TUPLE":
            stack, tuple_of = marked.pop(), stack
            stack.append(1 + sum(tuple_of))
            heaviest = max(heaviest, stack[-1])
        elif name in ("APPENDS", "SETITEMS"):
            stack = marked.pop()
        elif name in _TUPLES:
            stack[-_TUPLES[name]:] = [1 + sum(stack[-_TUPLES[name]:])]
            heaviest = max(heaviest, stack[-1])
        elif name in _POPS:
            n_hashed += heaviest if hashing and name == "REDUCE" else 0
            del stack[-_POPS[name]:]
        elif name == "BINPERSID":
            stack[-1] = 1
        elif name not in ("PROTO", "STOP"):
            hashing = hashing or name == "GLOBAL" and argument.endswith(_HASHING)
            takes += _CHARACTER * len(argument) if isinstance(argument, str) else 0
            stack.append(1)
        if takes > most:
            raise Oversized("objects that take far more memory than the file")
        if n_hashed > 10 * n + 10**6:
            raise Oversized("containers that hold one another")
