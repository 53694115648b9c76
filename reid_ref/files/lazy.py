"""Arrays that stay in the file until their rows are asked for.

Aim: a gallery larger than the memory can be evaluated, block by block.

Conventions: an array is lazy when it is a `numpy.memmap` (.npy files) or an `h5py.Dataset`
(HDF5, MAT v7.3). Both have `shape`, `dtype`, `ndim` and a length, and give an array for a slice
of rows. Labels are never lazy.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from reid_ref.stored import read_rows


@dataclass(frozen=True)
class Stored:
    """A 2-D HDF5 dataset, read by nobody yet, and whether it is meant the other way round."""

    dataset: Any
    turned: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """As it is meant."""
        shape: tuple[int, ...] = self.dataset.shape
        return shape[::-1] if self.turned else shape

    @property
    def T(self) -> Stored:  # noqa: N802
        """The same dataset, meant the other way round."""
        return Stored(self.dataset, not self.turned)

    def load(self) -> npt.NDArray[Any]:
        """Read it all."""
        return read_rows(self.dataset).T if self.turned else read_rows(self.dataset)

    def lazy(self) -> Any:
        """Return the dataset itself if it is stored as it is meant; else read it all."""
        return self.load() if self.turned else self.dataset
