"""Groups of queries: one number or name a line, such as the tracklet that a query is from."""
from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError
from reid_ref.files.regular import read_lines


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
        raise InputError(f"{path}: line {groups.index('') + 1}: expected the group of a query, "
                         "got nothing")
    if not groups:
        raise InputError(f"{path}: expected one group a query, a line each, got an empty file")
    return np.array(groups)
