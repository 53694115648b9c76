"""Features that were normalised before a toolbox that ranks them as they come could see them."""
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, Mask, blocks_of, read_rows
from reid_ref.evaluation.how import NORMALISED, How
from reid_ref.evaluation.result_file import ResultFile

#: A norm is 1 within the first (float16: the second).
UNIT, UNIT_HALF = 1e-5, 2e-3
#: Numbers of a matrix that are read at a time.
_BLOCK = 2**22


def is_unit(norms: Doubles, dtype: npt.DTypeLike) -> Mask:
    """Return which norms of features of this dtype are 1."""
    return abs(norms - 1) <= (UNIT_HALF if dtype == np.float16 else UNIT)


def normalised_already(data: ResultFile, how: How) -> str:
    """Return what to say where all norms of the file are 1 and a toolbox ranks features as they
    come; empty elsewhere.
    """
    names = [convention.name for convention in how.conventions if NORMALISED not in (
        how.scaling(convention), How((convention,)).scaling())]
    if data.query_features is None or not names or not all(
            map(_all_unit, (data.query_features, data.gallery_features))):
        return ""
    several = len(names) > 1
    return (f"The file holds normalised features (all norms are 1), and {some_names(names)} "
            f"rank{'s' * (not several)} features as they come: {'their' if several else 'its'} "
            "own number comes from the features before that; save those")


def _all_unit(features: Any) -> bool:
    """Return whether all norms are 1; rows are read up to the first block that has another."""
    for block in blocks_of(features.shape[0], max(1, _BLOCK // max(1, features.shape[1]))):
        rows = np.asarray(read_rows(features, block.start, block.stop))
        with np.errstate(over="ignore"):
            norms = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1))
        if not is_unit(norms, rows.dtype).all():
            return False
    return True


def some_names(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
