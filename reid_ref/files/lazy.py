"""Arrays that stay in the file until they are asked for.

Aim: what nobody needs is not read, what does not fit is refused before it is read, and a gallery
larger than the memory can be evaluated, block by block.

Conventions: an array is lazy when it is a `numpy.memmap` (.npy files) or an `h5py.Dataset`
(HDF5, MAT v7.3). Both have `shape`, `dtype`, `ndim` and a length, and give an array for a slice
of rows. Labels are never lazy.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, Integers, as_integers, as_vector, check_same_length, memory
from reid_ref.labels import Labels

_LABEL_BYTES = 48     # of a label while it is read, checked and held as a 64-bit integer


@dataclass(frozen=True)
class Stored:
    """An array of a file as its header describes it; it has not been read.

    `where` is "path: key", for messages. `refusal` says why it cannot be read. `read` returns it
    in `stored_shape`. `size` is what that takes, where more than its shape says. `dataset` is
    what gives single rows without reading all. `turned`: it is meant the other way round.
    """

    where: str
    stored_shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], Any]
    refusal: str = ""
    size: int = 0
    dataset: Any = None
    turned: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """As it is meant."""
        return self.stored_shape[::-1] if self.turned else self.stored_shape

    @property
    def T(self) -> Stored:  # noqa: N802
        """The same array, meant the other way round."""
        return replace(self, turned=not self.turned)

    @property
    def numbers(self) -> bool:
        """Whether it holds numbers that can be read."""
        return not self.refusal and self.dtype.kind in "biufc"

    @property
    def in_parts(self) -> bool:
        """Whether its rows can be had without reading all."""
        return self.dataset is not None and (
            not self.turned or isinstance(self.dataset, np.memmap))

    def as_floats(self) -> Stored:
        """The same numbers in double precision."""
        return replace(self, dtype=np.dtype(float), read=lambda: self.read().astype(float))

    def outline(self) -> npt.NDArray[Any]:
        """Return an array of the same shape and dtype that takes no memory, to be checked."""
        self._check(math.prod(self.shape[1:]) if self.in_parts else math.prod(self.shape))
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)

    def load(self) -> npt.NDArray[Any]:
        """Read it all."""
        self._check(math.prod(self.shape))
        value: npt.NDArray[Any] = self.read()
        return value.T if self.turned else value

    def lazy(self) -> Any:
        """Return what gives its rows, if there is such a thing; else read it all."""
        if not self.in_parts:
            return self.load()
        return self.dataset.T if self.turned else self.dataset

    def vector(self) -> Integers:
        """Read one whole number an image."""
        memory.check_fits(_LABEL_BYTES * self.length(), self.where, f"{self.length():,} labels",
                          "is it the right array?")
        return as_integers(self.load().reshape(-1), self.where)

    def length(self) -> int:
        """Return the number of images, of which MATLAB's [] has none: it is 0 x 0."""
        outline = self.outline()
        return as_vector(outline, self.where).size if outline.size else 0

    def _check(self, n_read: int) -> None:
        """Refuse what holds no numbers, and what would take more memory than there is."""
        if self.refusal:
            raise InputError(f"{self.where}: {self.refusal}")
        if not self.numbers:
            raise InputError(
                f"{self.where}: expected numbers, got dtype {str(self.dtype)[:60]}; map names to "
                "integers first, e.g. numpy.unique(names, return_inverse=True)[1]")
        whole = math.prod(max(n, 1) for n in self.shape) * self.dtype.itemsize
        n_bytes = whole if whole >= 2**63 else max(self.size, n_read * self.dtype.itemsize)
        memory.check_fits(
            n_bytes, self.where, f"an array of shape {self.shape} and dtype {self.dtype}",
            "features and distances in .npy or HDF5 files are read in parts")


@dataclass(frozen=True)
class StoredLabels:
    """Labels of a file that nobody has read yet; their number is known, to check others by.

    `n_images`: how many there may be, where features or distances tell it.
    """

    identity: Stored
    camera: Stored
    n_images: Collection[int] = ()

    def __len__(self) -> int:
        n, n_camera = self.identity.length(), self.camera.length()
        check_same_length(n, n_camera, (self.identity.where, self.camera.where), self.n_images)
        return n

    def load(self) -> Labels:
        """Read them, if there are as many identities as cameras."""
        len(self)
        return Labels(self.identity.vector(), self.camera.vector())
