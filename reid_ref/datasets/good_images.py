"""How many good and wrong images each query of a benchmark has.

Good: the query's identity on another camera. Wrong: every other identity, label -1 included.
Source: the label files named in `FINGERPRINTS`, counted by fixtures/good_images.py.
"""
from __future__ import annotations

import csv
from functools import cache
from importlib import resources

import numpy as np

from reid_ref.arrays import Integers, check_choice
from reid_ref.datasets.fingerprints import FINGERPRINTS


@cache
def good_and_wrong(key: str) -> tuple[Integers, Integers]:
    """Return the two counts of every query of a benchmark, in no particular order.

    Examples
    --------
    >>> good, wrong = good_and_wrong("market1501")
    >>> len(good), int(good.sum())
    (3368, 49649)
    """
    check_choice(key, "dataset", FINGERPRINTS)
    text = (resources.files("reid_ref.datasets") / "good_images.csv").read_text(encoding="ascii")
    rows = [row[1:] for row in csv.reader(text.splitlines()) if row[0] == key]
    good, wrong, queries = np.array(rows, dtype=np.int64).T
    counts = np.repeat(good, queries), np.repeat(wrong, queries)
    for array in counts:
        array.flags.writeable = False
    return counts
