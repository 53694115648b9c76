"""Index lists: the good and junk gallery images of every query, as VeRi-776 ships them."""
from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from reid_ref.arrays import InputError, Integers
from reid_ref.files.regular import read_lines
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
        raise InputError(f"{junk}: expected {len(lists[0])} lines, as {good} has, "
                         f"got {len(lists[1])}")
    return IndexLists(*lists)


def _read(path: Path) -> list[Integers]:
    lists = []
    for number, line in enumerate(read_lines(path, "gallery numbers, one line a query"), 1):
        words = line.split()
        if not all(re.fullmatch("[0-9]{1,19}", word) and 0 < int(word) < 2**63 for word in words):
            raise InputError(f"{path}: line {number}: expected gallery numbers from 1, "
                             f"got {line[:40]!r}")
        lists.append(np.array([int(word) for word in words], dtype=np.int64) - 1)
    return lists
