"""Damage that a reader cannot refuse at the door: members of archives, values of JSON, words."""
from __future__ import annotations

import io
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable

Change = Callable[[bytes], bytes]
#: Values that have broken readers of numbers and texts.
VALUES = (None, True, 0, -1, 1, 2**31, 2**63, -2**63, 10**400, .5, 1e308, float("nan"),
          float("inf"), "", "a", "\0", "\ud800", "nan", [], [[]], {}, [None])


def mutated(content: bytes, seed: int, change: Change) -> bytes:
    """Change a file inside its container where it has one, else, and a third of the time, its
    bytes.
    """
    dice = random.Random(seed)
    if dice.random() < 2 / 3:
        for inside in (_in_zip, _in_mat5, _in_json):
            made = inside(content, dice, change)
            if made is not None:
                return made
    return change(content)


def flipped(content: bytes, dice: random.Random) -> bytes:
    """Change, insert, delete or repeat a few bytes: what serves where there is no atheris."""
    changed = bytearray(content)
    for _ in range(dice.choice((1, 1, 2, 8))):
        place, size = dice.randrange(len(changed) + 1), dice.choice((1, 1, 4, 16))
        changed[place:place + dice.choice((0, size))] = dice.choice((
            b"", dice.randbytes(size), changed[:place][-size:], b"9" * size, b"\xff" * size))
    return bytes(changed)


def _in_zip(content: bytes, dice: random.Random, change: Change) -> bytes | None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > 2**20:
                return None
            members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    except Exception:
        return None
    if not members:
        return None
    k = dice.randrange(len(members))
    name, inside = members[k]
    members[k] = (change(name.encode()).decode("latin1"), inside) if dice.random() < .1 else (
        name, change(inside))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", dice.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
                         ) as archive:
        for name, inside in members:
            archive.writestr(zipfile.ZipInfo(name or "x"), inside)
    return target.getvalue()


def _in_mat5(content: bytes, dice: random.Random, change: Change) -> bytes | None:
    """Change one compressed variable of a MAT v5 file."""
    if content[126:128] != b"IM":
        return None
    places, at = [], 128
    while at + 8 <= len(content):
        kind, size = struct.unpack("<II", content[at:at + 8])
        if kind == 15:
            places.append((at, size))
        at += 8 + size
    if not places:
        return None
    at, size = dice.choice(places)
    try:
        inside = zlib.compress(change(zlib.decompress(content[at + 8:at + 8 + size])))
    except zlib.error:
        return None
    return b"".join((content[:at], struct.pack("<II", 15, len(inside)), inside,
                     content[at + 8 + size:]))


def _in_json(content: bytes, dice: random.Random, change: Change) -> bytes | None:
    """Replace, delete or repeat one value, at any depth."""
    if content[:1] not in (b"{", b"["):
        return None
    try:
        value = root = json.loads(content)
    except (ValueError, RecursionError):
        return None
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return None
        key = dice.choice(keys)
        if not isinstance(value[key], (dict, list)) or dice.random() < .2:
            break
        value = value[key]
    how = dice.random()
    if how < .15:
        del value[key]
    elif how < .3 and isinstance(value, list):
        value.insert(key, value[key])
    elif how < .6 and isinstance(value[key], str):
        value[key] = change(value[key].encode(errors="replace")).decode("utf-8", "replace")
    else:
        value[key] = dice.choice(VALUES)
    return json.dumps(root).encode()
