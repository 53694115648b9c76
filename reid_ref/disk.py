"""Files that are read are regular files; files that are written are whole or not at all.

After an error (a full disk, Ctrl-C, wrong input found late) the old file is still there, and no
other is left. A new file is written in the folder of the one it replaces, under a random name,
with the usual rights of a new file, and renamed at the end. A link is followed: the file that it
names is replaced. What is no regular file, such as a pipe or /dev/null, is written to directly.

A command never replaces what it reads: `check_regular` and `check_targets` keep the list of what
is read and of what is to be written, by identity, so that links deceive neither.
"""
import contextlib
import csv
import errno
import io
import json
import os
import pkgutil
import stat
import tomllib
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from reid_ref.arrays import InputError
from reid_ref.arrays.memory import check_fits, check_share

PathLike = str | os.PathLike[str]

_TEXT_FACTOR = 12     # bytes of memory for each byte of text while its lines are split and read

#: zlib's number for the form of gzip.
_GZIP = 31
#: The most bytes that zlib packs in one.
_MOST_PACKED = 1032

#: While a command runs: the name of each file that it reads or is to write, by identity and use.
_USED: dict[str, dict[tuple[int, int], str]] | None = None


@contextlib.contextmanager
def inputs_kept() -> Iterator[None]:
    """While the block runs, refuse every file that is both read and written."""
    global _USED
    before, _USED = _USED, {"read": {}, "written": {}}
    try:
        yield
    finally:
        _USED = before


def _note(name: str, use: str, status: os.stat_result | None) -> None:
    """Note that a file is read, or is to be written; refuse one that is both."""
    if _USED is None or status is None or not stat.S_ISREG(status.st_mode):
        return
    key = status.st_dev, status.st_ino
    _USED[use][key] = name
    if key in _USED["read"] and key in _USED["written"]:
        raise InputError(_USED["written"][key], "a file to write",
                         f"{_USED['read'][key]}, which is read", "give another name")


def check_not_written(paths: Iterable[PathLike]) -> None:
    """Refuse to write one of many files of which only some will be read, such as images."""
    if _USED is not None and _USED["written"]:
        for path in paths:
            status = _status(path)
            if status is not None and (status.st_dev, status.st_ino) in _USED["written"]:
                _note(os.fspath(path), "read", status)


def check_regular(path: PathLike) -> None:
    """Note that a file is read; refuse pipes, sockets and devices, whose reading may never end.

    Whatever opens a file for reading calls this first.

    Raises
    ------
    InputError
        Also of a file that the command is to write.
    OSError
        The path does not exist, or its status cannot be read.
    """
    status = os.stat(path)
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise InputError(path, "a file", "a pipe or a device, which cannot be read twice",
                         "write its content to a file first")
    _note(os.fspath(path), "read", status)


def path_of(path: PathLike) -> Path:
    """Return a path; refuse an empty name, which would be that of the current folder.

    Raises
    ------
    InputError
    """
    if not os.fspath(path):
        raise InputError("file", "the name of a file", "an empty text")
    return Path(path)


def text_of(path: Path, expected: str) -> str:
    """Return the content of a text file.

    Raises
    ------
    InputError
        It cannot be read; the message names what was expected.
    """
    try:
        check_regular(path)
        text = _content(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or (
            "cut, damaged, or not packed by gzip" if isinstance(error, zlib.error) else
            "not text in UTF-8")
        raise InputError(
            path, got=f"cannot be read: {reason}", remedy=f"expected {expected}") from None
    return io.StringIO(text, newline=None).read() if "\r" in text else text


def read_lines(path: Path, expected: str) -> list[str]:
    """Return the lines of a text file, as `text_of` reads it."""
    return text_of(path, expected).splitlines()


def check_json(path: PathLike, text: str) -> None:
    """Refuse JSON whose values take far more memory than the text: lists of empty lists.

    An object is counted twice, since its pairs are a list first.
    """
    lists, objects, pairs = (text.count(character) for character in "[{:")
    check_share(len(text) + 88 * lists + 320 * objects + 64 * pairs + 32 * text.count(","),
                len(text), os.fspath(path), "many small lists or objects",
                "is it the right file?")


def is_json(path: PathLike) -> bool:
    """Return whether a file is JSON by its name, .json, or .json.gz, packed by gzip."""
    return os.fspath(path).lower().endswith((".json", ".json.gz"))


def is_packed(path: PathLike) -> bool:
    """Return whether a file is packed by gzip, by its name."""
    return os.fspath(path).lower().endswith(".gz")


def _content(path: Path) -> bytes:
    """Return the bytes of a text file; of a packed one no more than it tells at its end."""
    fits = partial(check_fits, where=str(path), what="text",
                   remedy="save large matrices and complete lists as .npy")
    fits(_TEXT_FACTOR * os.path.getsize(path))
    content = path.read_bytes()
    if not is_packed(path):
        return content
    size = int.from_bytes(content[-4:], "little")
    if size <= _MOST_PACKED * len(content):
        fits(_TEXT_FACTOR * size)
        machine = zlib.decompressobj(_GZIP)
        unpacked = machine.decompress(content, size + 1)
        if len(unpacked) == size and machine.eof and not machine.unused_data:
            return unpacked
    raise zlib.error("not one whole file")


def pack(content: bytes) -> bytes:
    """Pack by gzip, without a time or a name: the same content gives the same bytes.

    Examples
    --------
    >>> pack(b"text")[4:8]
    b'\\x00\\x00\\x00\\x00'
    """
    return zlib.compress(content, 9, _GZIP)


def unique(path: PathLike, what: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object, `what` of which is refused twice.

    Examples
    --------
    >>> unique("x.json", "key", [("a", 1), ("b", 2)])
    {'a': 1, 'b': 2}
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        (name, _), = Counter(name for name, _ in pairs).most_common(1)
        raise InputError(path, f"each {what} once", f"{name!r} twice")
    return values


def read_json(path: PathLike, expected: str, loads: Callable[[str], Any] | None = None,
              what: str = "key") -> Any:
    """Return what a JSON file holds, or a file of another format, which `loads` parses.

    `what` the keys of JSON objects are, for messages.

    Raises
    ------
    InputError
        It cannot be read, has another format, or an object has a key twice; the message names
        what was expected.
    """
    text = text_of(Path(path), expected)
    check_json(path, text)
    try:
        return loads(text) if loads else json.loads(
            text, object_pairs_hook=partial(unique, path, what))
    except InputError:
        raise
    except (ValueError, RecursionError, ImportError) as error:
        raise InputError(path, expected, f"{type(error).__name__}: {error}") from None


def rows_of_table(name: str) -> list[dict[str, str]]:
    """Return the rows of a .csv file of this package, named below its folder."""
    content = pkgutil.get_data("reid_ref", name) or b""
    return list(csv.DictReader(content.decode().splitlines()))


def tables_of(name: str) -> dict[str, Any]:
    """Return the tables of a .toml file of this package, named below its folder."""
    return tomllib.loads((pkgutil.get_data("reid_ref", name) or b"").decode())


def check_different(paths: list[Path]) -> None:
    """Refuse a file that is named twice."""
    for path in paths:
        if paths.count(path) > 1:
            raise InputError(path, "different files", "this one twice")


@contextlib.contextmanager
def renamed(names: Mapping[str, str]) -> Iterator[None]:
    """Let a message that begins with an argument's name begin with another, such as a file's."""
    try:
        yield
    except InputError as error:
        raise error.renamed(names) from None


def check_targets(*paths: PathLike) -> None:
    """Refuse, before any work, files that could not be written afterwards, or that are read.

    Parameters
    ----------
    *paths : str or path
        All that a command is to write.

    Raises
    ------
    InputError
        A folder, a file in a folder that does not exist or cannot be written to, a file
        without the right to write it, one that the command reads, or one file twice.

    Examples
    --------
    >>> check_targets(os.curdir)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    reid_ref.arrays.errors.InputError: .: expected a file name in a folder that exists, got a f...
    """
    for path in paths:
        name = os.fspath(path)
        try:
            _check_target(name)
        except OSError as error:
            raise InputError(name, got=f"cannot be written: {error.strerror}") from None
    if len(set(map(os.path.realpath, paths))) < len(paths):
        raise InputError(paths[-1], "different files", "this one twice")


def _check_target(name: str) -> None:
    status = _status(name)
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise InputError(name, "a file name in a folder that exists", "a folder")
    _note(name, "written", status)
    if is_direct(name):
        return
    target = os.path.realpath(name)
    folder = os.path.dirname(target)
    if not os.path.basename(name) or not os.path.isdir(folder):
        raise InputError(name, "a file name in a folder that exists")
    for path in (folder, target):
        if os.path.exists(path) and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def write_whole(path: PathLike, content: str | bytes) -> None:
    """Write one file as `whole_files` does."""
    with whole_files(path, mode="wb" if isinstance(content, bytes) else "w") as (file,):
        file.write(content)


@contextlib.contextmanager
def whole_files(*paths: PathLike, mode: str = "w") -> Iterator[tuple[Any, ...]]:
    """Open files for writing; they get their names when the block has ended without an error.

    Parameters
    ----------
    *paths : str or path
    mode : {"w", "wb"}
        Text, which is UTF-8 with "\\n" at the end of each line, or bytes.

    Yields
    ------
    tuple of files
        One for each path.

    Raises
    ------
    InputError
        A file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "new.txt")
    ...     with whole_files(path) as (file,):
    ...         _ = file.write("whole")
    ...         before = os.path.exists(path)
    ...     before, os.listdir(folder)
    (False, ['new.txt'])
    """
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
    names = [os.fspath(path) for path in paths]
    parts: dict[str, str] = {}
    nothing = "; nothing was written"
    try:
        with contextlib.ExitStack() as stack:
            files = []
            for name in names:
                _note(name, "written", _status(name))
                if is_direct(name):
                    nothing = ""
                    descriptor = os.open(name, os.O_WRONLY)
                else:
                    target = os.path.realpath(name)
                    part = os.path.join(
                        os.path.dirname(target), f".reid-ref-{os.urandom(8).hex()}.part")
                    parts[part] = target
                    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
                files.append(stack.enter_context(
                    open(descriptor, mode, encoding=encoding, newline=newline)))
            yield tuple(files)
        for part, target in parts.items():
            os.replace(part, target)
            nothing = ""
    except OSError as error:
        if error.errno is None:  # an error of reading, not of writing
            raise
        raise InputError(
            ", ".join(names), got=f"cannot be written: {error.strerror}{nothing}") from None
    finally:
        for part in parts:
            with contextlib.suppress(OSError):
                os.unlink(part)


def _status(name: PathLike) -> os.stat_result | None:
    with contextlib.suppress(FileNotFoundError):
        return os.stat(name)
    return None


def is_direct(path: PathLike) -> bool:
    """Return whether a file is written to directly: see the top of this module."""
    status = _status(path)
    return status is not None and not stat.S_ISREG(status.st_mode)
