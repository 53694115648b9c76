"""Arrays that stay in the file until they are needed.

An array that is not needed is not read, one larger than memory is refused before it is read, and
a gallery larger than memory is evaluated block by block. An array is lazy when it is a
`numpy.memmap` (.npy files) or an `h5py.Dataset` (HDF5, MAT v7.3). Labels are never lazy.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.arrays import (
    Array, InputError, Integers, Texts, as_integers, as_labels, as_names, as_vector, check_length,
    check_same_length, memory)
from reid_ref.arrays.stored import in_rows
from reid_ref.arrays.texts import check_width
from reid_ref.labels import Labels

_SMALL = 2**26        # bytes of an array that is read whole, though some rows are needed
_LABEL_BYTES = 48     # of a label while it is read, checked and held as a 64-bit integer


def _fit_doubles(values: Any) -> bool:
    """Return whether doubles are as exact as these numbers."""
    return values.dtype.kind not in "iu" or bool(
        values.min(initial=0) >= -2**53 and values.max(initial=0) <= 2**53)


def pickled(where: object, remedy: str = "save numbers, or names with .astype(str)") -> InputError:
    """Return the error of pickled objects."""
    return InputError(where, "plain arrays", "pickled objects, which can run code", remedy)


def saved_again(path: Path, load: str) -> str:
    """Return how to save what a pickle holds as arrays; `load`: what reads it if it is trusted."""
    return (f"if you trust it: data = {load}; torch.save(data, {path.stem + '.pt'!r}), or, if "
            f"it is a dict of arrays, numpy.savez({path.stem + '.npz'!r}, **data)")


@dataclass(frozen=True)
class StoredArray:
    """An array of a file as its header describes it, not yet read.

    `where` is "path: key", for messages. `read` returns the array in `stored_shape`; `refusal`
    is why it cannot be read. `size`: the bytes that this takes, if more than by its shape.
    `dataset` gives rows without reading the whole, and `head` the first ones, or None. `turned`:
    the array is the transpose of what is stored. `parts`: of a list of arrays that was stored, the
    rows of each. `on_disk`: the bytes of the file, which may be far smaller than what it packs.
    """

    where: str
    stored_shape: tuple[int, ...] = ()
    dtype: np.dtype[Any] = np.dtype(object)
    read: Callable[[], Any] = lambda: None
    refusal: InputError | None = None
    size: int = 0
    dataset: Any = None
    turned: bool = False
    head: Callable[[int], Any] = lambda n: None
    parts: tuple[int, ...] = ()
    on_disk: int = 2**62

    @classmethod
    def refused(cls, error: InputError) -> StoredArray:
        """Return an array that raises this error when it is read."""
        return cls(error.argument, refusal=error)

    @classmethod
    def of(cls, where: str, array: Array, in_file: bool = False) -> StoredArray:
        """Return an array that is read, or, `in_file`, one whose memory is that of a file."""
        dataset = None
        if in_file:
            dataset = array.view(np.memmap)
            dataset.flags.writeable = False
        return cls(where, array.shape, array.dtype, lambda: array, dataset=dataset,
                   head=lambda n: array[:n] if array.ndim else None)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array, not of what is stored."""
        return self.stored_shape[::-1] if self.turned else self.stored_shape

    @property
    def T(self) -> StoredArray:  # noqa: N802
        """The transposed array; nothing is read."""
        return replace(self, turned=not self.turned)

    @property
    def numbers(self) -> bool:
        """Whether it holds numbers that can be read."""
        return not self.refusal and self.dtype.kind in "biufc"

    @property
    def text(self) -> bool:
        """Whether it holds text that can be read."""
        return not self.refusal and self.dtype.kind == "U"

    @property
    def summary(self) -> str:
        """Dtype and shape, for messages."""
        return f"({self.refusal.got})" if self.refusal else f"{self.dtype} {self.shape}"

    @property
    def in_parts(self) -> bool:
        """Whether rows can be read without reading the whole."""
        return self.dataset is not None and (
            not self.turned or isinstance(self.dataset, np.memmap))

    def as_floats(self) -> StoredArray:
        """The same numbers in double precision; as they are if doubles lack some of them."""
        values = self.read()
        return replace(self, dtype=np.dtype(float),
                       read=lambda: values.astype(float)) if _fit_doubles(values) else self

    def negative(self) -> StoredArray:
        """The numbers with the other sign, which are read whole; of integers as doubles."""
        floats = self.dtype.kind in "fc"
        dtype = self.dtype if floats or not self.numbers else np.dtype(float)

        def read() -> Any:
            values = self.read()
            if floats:
                return -values
            if self.numbers and not _fit_doubles(values):
                raise InputError(self.where, "similarities up to 2^53, if they are whole numbers",
                                 "larger ones", "save them as distances, smaller is nearer")
            return -values.astype(float)

        return replace(self, dtype=dtype, dataset=None, head=lambda n: None, read=read)

    def outline(self) -> Array:
        """Return an array of the same shape and dtype that takes no memory, for checks."""
        self._check(math.prod(self.shape[1:]) if self.in_parts else math.prod(self.shape))
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)

    def load(self) -> Array:
        """Read the whole array, in the order of C if a copy fits in memory."""
        self._check(math.prod(self.shape))
        read = self.read()
        value: Array = read.T if self.turned else read
        return in_rows(value) if value.nbytes < memory.free_bytes() else value

    def first(self, n: int) -> Array | None:
        """Return the first rows; None if a large array would be read for them."""
        if self.in_parts:
            return np.asarray(self.lazy()[:n])
        rows = None if self.turned else self.head(n)
        if rows is None and math.prod(self.shape) * self.dtype.itemsize <= _SMALL:
            rows = self.load()[:n]
        return rows

    def lazy(self) -> Any:
        """Return the dataset, if it gives rows; otherwise read the whole array."""
        if not self.in_parts:
            return self.load()
        return self.dataset.T if self.turned else self.dataset

    def part(self, rows: slice | Integers, flat: bool) -> StoredArray:
        """Return some rows of a matrix or, `flat`, some entries of a vector or of names."""
        def read() -> Any:
            value = self.read().T if self.turned else self.read()
            return (np.ravel(value) if flat else value)[rows]

        shape = (math.prod(self.shape),) if flat else self.shape
        n = len(range(shape[0])[rows]) if isinstance(rows, slice) else len(rows)
        mapped = isinstance(self.dataset, np.memmap) and isinstance(rows, slice) and not flat
        return replace(
            self, stored_shape=(n, *shape[1:]), read=read, turned=False, parts=(),
            size=0 if mapped else max(self.size, math.prod(shape) * self.dtype.itemsize),
            dataset=self.lazy()[rows].view(np.memmap) if mapped else None)

    def vector(self) -> Integers:
        """Read one whole number per image."""
        memory.check_fits(_LABEL_BYTES * self.length(), self.where, f"{self.length():,} labels",
                          "is it the right array?")
        return as_integers(self.load().reshape(-1), self.where)

    def labels(self) -> Array:
        """Read one label per image, a whole number or a text."""
        return as_labels(self.names(), self.where) if self.text else self.vector()

    def names(self) -> Texts:
        """Read one name per image."""
        if self.refusal:
            raise self.refusal
        check_width(self.dtype.itemsize // 4, self.where)
        self._check_size(2 * math.prod(self.shape) * self.dtype.itemsize, "names",
                         "leave them out")
        return as_names(np.ravel(self.read()), self.where)

    def length(self) -> int:
        """Return the number of images; MATLAB's [], which is 0 x 0, has none."""
        if self.text:
            return math.prod(self.shape)
        outline = self.outline()
        return as_vector(outline, self.where).size if outline.size else 0

    def _check(self, n_read: int) -> None:
        """Refuse an array without numbers, or one larger than memory."""
        if self.refusal:
            raise self.refusal
        if not self.numbers:
            raise InputError(self.where, "numbers", f"dtype {str(self.dtype)[:60]}")
        whole = math.prod(max(n, 1) for n in self.shape) * self.dtype.itemsize
        n_bytes = whole if whole >= 2**63 else max(self.size, n_read * self.dtype.itemsize)
        self._check_size(n_bytes, f"an array of shape {self.shape} and dtype {self.dtype}",
                         "features and distances in .npy or HDF5 files are read in parts")

    def _check_size(self, n_bytes: int, what: str, remedy: str) -> None:
        """Refuse to read more than is free, or far more than the file has."""
        memory.check_fits(n_bytes, self.where, what, remedy)
        memory.check_share(n_bytes, self.on_disk, self.where, what, "save it uncompressed")


@dataclass(frozen=True)
class StoredLabels:
    """Labels of a file, not yet read; their number is known from the headers.

    `further`: the other columns that the file has.
    """

    identity: StoredArray
    camera: StoredArray | None = None
    further: Mapping[str, StoredArray] = field(default_factory=dict)

    def __len__(self) -> int:
        n = self.identity.length()
        if self.camera is not None:
            check_same_length(n, self.camera.length(), (self.identity.where, self.camera.where))
        return n

    def load(self) -> Labels:
        """Read the labels; every column must have an entry for each image."""
        n = len(self)
        for column in self.further.values():
            check_length(column.length(), n, column.where)
        camera = None if self.camera is None else self.camera.labels()
        further: dict[str, Any] = {name: column.names() if name == "name" else column.labels()
                                   for name, column in self.further.items()}
        return Labels(self.identity.labels(), camera, **further)
