"""Index lists, as VeRi-776 ships them, and groups of queries: one number or name per line."""
from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, Integers
from reid_ref.disk import read_lines
from reid_ref.labels import IndexLists


def read_index_lists(good: str | os.PathLike[str], junk: str | os.PathLike[str]) -> IndexLists:
    """Read two text files of gallery numbers, one line a query, counted from 1.

    Parameters
    ----------
    good, junk : str or path
        Such as VeRi-776's gt_index.txt and jk_index.txt; an empty line is an empty list.

    Returns
    -------
    IndexLists
        Counted from 0.

    Raises
    ------
    InputError
        A file that cannot be read, or a line that is not a list of numbers from 1.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [Path(folder, name) for name in ("good.txt", "junk.txt")]
    ...     for path, text in zip(paths, ("2 3\\n1\\n", "1\\n\\n")):
    ...         _ = path.write_text(text)
    ...     read_index_lists(*paths).good
    (array([1, 2]), array([0]))
    """
    lists = [_read(Path(good)), _read(Path(junk))]
    if len(lists[0]) != len(lists[1]):
        raise InputError(junk, f"{len(lists[0])} lines, as {good} has", len(lists[1]))
    return IndexLists(*lists)


def _read(path: Path) -> list[Integers]:
    lists = []
    for number, line in enumerate(read_lines(path, "gallery numbers, one line a query"), 1):
        words = line.split()
        if not all(re.fullmatch("[0-9]{1,19}", word) and 0 < int(word) < 2**63 for word in words):
            raise InputError(f"{path}: line {number}", "gallery numbers from 1", repr(line[:40]))
        lists.append(np.array([int(word) for word in words], dtype=np.int64) - 1)
    return lists


def read_groups(path: str | os.PathLike[str]) -> npt.NDArray[np.str_]:
    """Read the group of each query, one a line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tracklets.txt")
    ...     _ = path.write_text("0001C1T1\\n0001C1T1\\n0002C1T4\\n")
    ...     read_groups(path).tolist()
    ['0001C1T1', '0001C1T1', '0002C1T4']
    """
    groups = [line.strip() for line in read_lines(
        Path(path), "identity, query, or a file with one group a query, a line each")]
    if "" in groups:
        raise InputError(f"{path}: line {groups.index('') + 1}", "the group of a query", "nothing")
    if not groups:
        raise InputError(path, "one group a query, a line each", "an empty file")
    return np.array(groups)
