"""What a paired test by sign flips can show at all: how many units it takes."""
from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles
from reid_ref.statistics.paired import least_p


def unit_weights(unit: Any, counted: Any) -> Doubles:
    """Return the number of queries that count of each unit that has one."""
    return np.unique(np.asarray(unit)[counted], return_counts=True)[1].astype(np.float64)


def fewest_units(tests: int, alpha: float) -> int:
    """Return how many units of one weight it takes for a p below alpha after Holm's method.

    Examples
    --------
    >>> fewest_units(1, .05), fewest_units(2, .05), fewest_units(780, .05)
    (7, 8, 18)
    """
    return next(n for n in count(2) if tests * least_p(np.ones(n)) < alpha)
