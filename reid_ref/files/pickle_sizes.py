"""What a pickle of torch.save takes, from its opcodes, before anything is made of it.

One byte of a pickle makes an empty list, and five a tensor of which the file has the numbers once.
A tuple that holds another twice, and so on, takes no memory, but hashing it as a key takes time
without end. So the opcodes are walked first, as torch's reader of weights walks them.
"""
import os
import struct
import zipfile
from pathlib import Path
from typing import BinaryIO

from reid_ref.arrays.memory import most_for

#: Bytes of data.pkl; tensors are not in it.
MOST = 2**28
#: Opcodes of torch's reader of weights to the bytes that follow them.
_ARGUMENT = {**dict.fromkeys(b"N\x88\x89)]}(tR\x81bQaesuE.0\x85\x86\x87\x8f", 0),
             **dict.fromkeys(b"Khq\x80", 1), ord("M"): 2, **dict.fromkeys(b"Jjr", 4), ord("G"): 8}
#: Texts and long integers: bytes of their length.
_LENGTH = {ord("X"): 4, ord("U"): 1, 0x8a: 1}
#: Bytes of memory that an opcode takes at most until its object is an array.
_TAKES = {**dict.fromkeys(b"]}(\x8fR\x81", 400), ord("Q"): 300,
          **dict.fromkeys(b"t\x85\x86\x87", 150), **dict.fromkeys(b"qrX", 100)}
_OTHER, _CHARACTER = 40, 5
_TUPLES = {0x85: 1, 0x86: 2, 0x87: 3}
#: Ends of the names whose call hashes what is in a list.
_HASHING = (b"set", b"Counter", b"OrderedDict")
_POPS = {ord("a"): 1, ord("s"): 2, ord("R"): 1, 0x81: 1, ord("b"): 1}


class Oversized(Exception):
    """A file of torch.save that takes far more than its size; the message says why."""


def check_pickles(path: Path) -> None:
    """Refuse a file of torch.save whose objects take far more memory or time than its size.

    Raises
    ------
    Oversized
    IndexError, KeyError, struct.error, zipfile.BadZipFile
        The file is damaged.
    """
    size = os.path.getsize(path)
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":     # torch 1.5 and older: four pickles, then keys
            file.seek(0)
            data, at = file.read(MOST + 1), 0
            for _ in range(4):
                at = walk(data, at, size)
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
                    walk(archive.read(entry), 0, size)


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


def walk(data: bytes, at: int, size: int) -> int:
    """Return where a pickle ends; refuse one that takes too much for a file of that size."""
    most, takes, n_hashed, n = most_for(size), 0, 0, 0
    stack: list[int] = []     # of each object, what is looked at to hash it
    marked: list[list[int]] = []
    memo: dict[int, int] = {}
    heaviest, hashing = 0, False
    while True:
        op = data[at]
        at += 1
        n += 1
        takes += _TAKES.get(op, _OTHER)
        if op in _LENGTH:
            width = _LENGTH[op]
            length = int.from_bytes(data[at:at + width], "little")
            at += width + length
            takes += _CHARACTER * length
            stack.append(1)
        elif op == 0x63:     # a name: two lines
            end = data.index(b"\n", data.index(b"\n", at) + 1)
            hashing = hashing or data[at:end].endswith(_HASHING)
            at = end + 1
            stack.append(1)
        else:
            argument = 0
            if width := _ARGUMENT[op]:
                argument = int.from_bytes(data[at:at + width], "little")
                at += width
            if op == 0x28:
                marked.append(stack)
                stack = []
            elif op in b"hj":
                stack.append(memo[argument])
                n_hashed += memo[argument]
            elif op in b"qr":
                memo[argument] = stack[-1]
            elif op == 0x74:
                stack, tuple_of = marked.pop(), stack
                stack.append(1 + sum(tuple_of))
                heaviest = max(heaviest, stack[-1])
            elif op in b"eu":
                stack = marked.pop()
            elif op in _TUPLES:
                stack[-_TUPLES[op]:] = [1 + sum(stack[-_TUPLES[op]:])]
                heaviest = max(heaviest, stack[-1])
            elif op in _POPS:
                n_hashed += heaviest if hashing and op == 0x52 else 0
                del stack[-_POPS[op]:]
            elif op == 0x2e:
                return at
            elif op == 0x51:
                stack[-1] = 1
            elif op != 0x80:
                stack.append(1)
        if takes > most:
            raise Oversized("objects that take far more memory than the file")
        if n_hashed > 10 * n + 10**6:
            raise Oversized("containers that hold one another")
