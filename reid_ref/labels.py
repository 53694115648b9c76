"""Labels of images (identity, camera and more), index lists, and checks of what must fit them."""
from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import (
    Array, InputError, Integers, Mask, Texts, as_array, as_integers, as_labels, as_names,
    check_count, check_finite_rows, check_length, check_numeric_matrix, check_same_length,
    read_only, stored_or_array)
from reid_ref.arrays.value import Value, shortened

JUNK = -1
DISTRACTOR = 0


#: What is known of images besides identity and camera.
FURTHER = ("clothes", "view", "video", "frame", "name")
#: Of labels that are text, those that are numbers if all are.
WHOLE = re.compile("-?[0-9]{1,18}")


@dataclass(frozen=True, eq=False)
class Labels(Value):
    """Identity and camera of each image, and what else is known. Arrays are read-only copies.

    Parameters
    ----------
    identity : array_like, shape (n,), (n, 1) or (1, n)
        Identity of each image: numbers, of any integer dtype or floats that are whole, or text.
        As numbers, -1 is junk and 0 a distractor where no query has it (Market-1501). Text that
        is a whole number in every row of both sides ("0002") is that number; any other text is
        names, of which none is junk or a distractor.
    camera : array_like, same length, optional
        Camera of each image, numbers or text; None if unknown, on both sides. What looks at
        cameras is refused then, as most conventions are.
    clothes, view, video, frame : array_like, same length, optional
        Numbers or text; None if unknown. Only conventions that ignore images by them
        look at them, as some protocols do.
    name : array_like of str, same length, optional
        What each image is called: in ranked lists of names, and wherever images are shown.
    words : mapping of str to array of str, optional
        By column, the texts that its numbers stand for, from 1. `numbered` makes them: until it
        has seen both sides, a column of text is held as it is.

    Raises
    ------
    InputError
        Neither whole numbers nor text, or of different length.

    Examples
    --------
    >>> import numpy as np
    >>> labels = Labels(np.array([7, 7, -1], np.int16), [[1], [2], [1]])
    >>> len(labels), labels.camera
    (3, array([1, 2, 1]))
    >>> Labels([7, 7, 8], [1, 2, 1], clothes=[0, 1, 0])[1:]
    Labels(identity=array([7, 8]), camera=array([2, 1]), clothes=array([1, 0]))
    >>> Labels([7, 8])
    Labels(identity=array([7, 8]))
    """

    identity: Integers
    camera: Integers | None = None
    clothes: Integers | None = field(default=None, kw_only=True)
    view: Integers | None = field(default=None, kw_only=True)
    video: Integers | None = field(default=None, kw_only=True)
    frame: Integers | None = field(default=None, kw_only=True)
    name: Texts | None = field(default=None, kw_only=True)
    words: Mapping[str, Texts] = field(default_factory=dict, kw_only=True)

    if TYPE_CHECKING:  # what it takes, which is more than what it holds
        def __init__(self, identity: npt.ArrayLike, camera: npt.ArrayLike | None = None, *,
                     clothes: npt.ArrayLike | None = None, view: npt.ArrayLike | None = None,
                     video: npt.ArrayLike | None = None, frame: npt.ArrayLike | None = None,
                     name: npt.ArrayLike | None = None,
                     words: Any = ...) -> None: ...

    def __post_init__(self) -> None:
        for column, value in self.columns().items():
            checked = as_names if column == "name" else as_labels
            object.__setattr__(self, column, read_only(checked(value, column)))
        if self.camera is not None:
            check_same_length(len(self.identity), len(self.camera))
        for column, value in self.columns().items():
            check_length(len(value), len(self), column)

    def __len__(self) -> int:
        return len(self.identity)

    def __getitem__(self, images: slice | Array) -> Labels:
        """Return the labels of some images: a slice, a mask or an array of indices."""
        return replace(self, **{
            column: value[images] for column, value in self.columns().items()})

    def __repr__(self) -> str:
        columns = (f"{column}={shortened(value)}" for column, value in self.columns().items())
        return f"Labels({', '.join(columns)})"

    def texts(self, column: str) -> Array:
        """Return a column as it was given: text, or numbers.

        Examples
        --------
        >>> query, gallery = numbered(Labels(["Eve"]), Labels(["Eve", "Dan"]))
        >>> gallery.identity, gallery.texts("identity")
        (array([1, 2]), array(['Eve', 'Dan'], dtype='<U3'))
        """
        values: Array = getattr(self, column)
        return self.words[column][values - 1] if column in self.words else values

    def identity_of(self, image: int) -> int | str:
        """Return the identity of one image, as it was given."""
        return self._shown("identity", image)

    def camera_of(self, image: int) -> int | str | None:
        """Return the camera of one image, as it was given, or None."""
        return None if self.camera is None else self._shown("camera", image)

    def _shown(self, column: str, image: int) -> int | str:
        value = getattr(self, column)[image]
        if column in self.words:
            value = self.words[column][value - 1]
        shown: int | str = value.item()
        return shown

    def names(self) -> list[str] | None:
        """Return the names as a list, or None."""
        return None if self.name is None else self.name.tolist()

    def columns(self) -> dict[str, Any]:
        """Return the columns that are there, by their names."""
        every = {name: getattr(self, name) for name in ("identity", "camera", *FURTHER)}
        return {name: value for name, value in every.items()
                if value is not None or name == "identity"}


def cameras_of(labels: Labels, needs: str) -> Integers:
    """Return the cameras of images; refuse labels that have none.

    `needs`: what looks at the cameras, in words.

    Examples
    --------
    >>> cameras_of(Labels([7, 8]), "groups by camera")
    Traceback (most recent call last):
        ...
    reid_ref.arrays.errors.InputError: camera: expected the camera of each image, for groups by ...
    """
    if labels.camera is None:
        raise InputError("camera", f"the camera of each image, for {needs}", "none",
                         "cameras are given by Labels(identity, camera), or as query_camera and "
                         "gallery_camera, which names= (--map) may name")
    return labels.camera


def numbered(query: Labels, gallery: Labels) -> tuple[Labels, Labels]:
    """Return labels whose text is numbers: one number for a text, on both sides.

    Texts are numbered from 1 in their order, those of the queries first, so that their numbers do
    not depend on the gallery. Where every text of a column is a whole number, it is that number.

    Raises
    ------
    InputError
        A column is names on one side, and numbers on the other.

    Examples
    --------
    >>> [side.identity.tolist() for side in numbered(Labels(["b", "c"]), Labels(["a", "c"]))]
    [[1, 2], [3, 2]]
    >>> [side.identity.tolist() for side in numbered(Labels(["0002"]), Labels(["-1", "0002"]))]
    [[2], [-1, 2]]
    """
    changed: list[dict[str, Any]] = [{}, {}]
    words = {column: texts for column, texts in query.words.items()
             if texts is gallery.words.get(column)}
    for column in query.columns().keys() & gallery.columns().keys() - {"name", *words}:
        values = [side.texts(column) for side in (query, gallery)]
        kinds = [side.dtype.kind for side in values]
        if "U" not in kinds:
            continue
        named = [place for place, kind, side in zip(("query", "gallery"), kinds, values)
                 if kind == "U" and not all(map(WHOLE.fullmatch, set(side.tolist())))]
        if named and len(set(kinds)) > 1:
            raise InputError(column, "names on both sides, or numbers on both",
                             f"names on the {named[0]} side alone")
        if named:
            words[column] = _vocabulary(values)
        number = {text: k for k, text in enumerate(words.get(column, np.zeros(0)).tolist(), 1)}
        for new, side in zip(changed, values):
            new[column] = np.array([number.get(text) or int(text) for text in side.tolist()],
                                   dtype=np.int64)
    if not changed[0]:
        return query, gallery
    query, gallery = (replace(side, **new, words=words)
                      for side, new in zip((query, gallery), changed))
    return query, gallery


def _vocabulary(sides: Iterable[Texts]) -> Texts:
    """Return the texts of some columns, each once: the first column's in order, then others'."""
    known: dict[str, None] = {}
    for side in sides:
        known |= dict.fromkeys(sorted(set(side.tolist()) - known.keys()))
    return read_only(np.array(list(known)))


def fingerprint(column: Array | None) -> str:
    """Return eight hexadecimal digits that identify numbers, or texts, in this order; else "".
    """
    if column is None or not len(column):
        return ""
    content = ("\n".join(column.tolist()).encode() if column.dtype.kind == "U" else
               column.astype("<i8").tobytes())
    return f"{zlib.crc32(content):08x}"


def cells(labels: Labels, *columns: str) -> dict[tuple[int, ...], Integers]:
    """Return the images of each value of a column, or values of several, in their order.

    Examples
    --------
    >>> cells(Labels([7, 8, 7], [1, 1, 2]), "camera", "identity")
    {(1, 7): array([0]), (1, 8): array([1]), (2, 7): array([2])}
    """
    keys = np.stack([cameras_of(labels, "images by camera") if column == "camera" else
                     getattr(labels, column) for column in columns])
    every, code = np.unique(keys, axis=1, return_inverse=True)
    images = np.argsort(code.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(code.reshape(-1)))[:-1]
    return dict(zip(map(tuple, every.T.tolist()), np.split(images, ends)))


@dataclass(frozen=True, eq=False)
class IndexLists(Value):
    """Good and junk gallery images of every query, for conventions that list them.

    Parameters
    ----------
    good, junk : sequence of int arrays, one per query
        Gallery indices from 0, each once; an image on both lists is junk.

    Raises
    ------
    InputError
        Lists of different number, or an index that is negative or not a whole number.

    Examples
    --------
    >>> IndexLists(good=[[1, 4]], junk=[[0]]).good
    (array([1, 4]),)
    """

    good: Sequence[Integers]
    junk: Sequence[Integers]

    if TYPE_CHECKING:
        def __init__(self, good: Sequence[npt.ArrayLike],
                     junk: Sequence[npt.ArrayLike]) -> None: ...

    def __post_init__(self) -> None:
        for name in ("good", "junk"):
            lists = tuple(read_only(as_integers(
                images if np.size(images) else np.zeros(0, np.int64), f"{name}[{k}]"))
                for k, images in enumerate(getattr(self, name)))
            for k, images in enumerate(lists):
                if (images < 0).any() or len(np.unique(images)) != len(images):
                    raise InputError(
                        f"{name}[{k}]", "gallery indices from 0, each once", images.tolist())
            object.__setattr__(self, name, lists)
        if len(self.good) != len(self.junk):
            raise InputError("junk", f"{len(self.good)} lists, one for each list of good images",
                             len(self.junk))

    def within(self, images: Any) -> IndexLists:
        """Return the lists: they name every image that is ignored, so each image is loaded."""
        return self

    def of_queries(self, queries: slice | Integers) -> IndexLists:
        """Return the lists of some queries: a slice or an array of indices."""
        chosen = np.arange(len(self.good))[queries]
        return IndexLists([self.good[k] for k in chosen], [self.junk[k] for k in chosen])

    def fingerprint(self) -> str:
        """Return the CRC-32 of all lists: eight hexadecimal digits for the signature."""
        numbers = [array for side in (self.good, self.junk) for images in side
                   for array in (np.array([len(images)]), images)]
        return f"{zlib.crc32(np.concatenate(numbers).astype('<i8').tobytes()):08x}"


@dataclass(frozen=True, eq=False)
class Candidates(Value):
    """The gallery images that may be found for each query, for protocols where these differ.

    All other images are ignored for the query, besides those that the convention ignores.

    Parameters
    ----------
    mask : bool array, shape (n_query, n_gallery); or sequence of sequences of int, one per query
        Which images are candidates, or their gallery indices from 0.
    n_gallery : int, optional
        The number of gallery images, if indices are given.

    Raises
    ------
    InputError
        Not a matrix of true and false; indices without `n_gallery`, or that the gallery does not
        have.

    Examples
    --------
    >>> Candidates([[0, 2], []], n_gallery=3).mask.astype(int)
    array([[1, 0, 1],
           [0, 0, 0]])
    """

    mask: Mask
    n_gallery: int | None = None

    if TYPE_CHECKING:
        def __init__(self, mask: npt.ArrayLike | Sequence[npt.ArrayLike],
                     n_gallery: int | None = None) -> None: ...

    def __post_init__(self) -> None:
        is_mask = self.n_gallery is None or getattr(self.mask, "dtype", None) == np.bool_
        mask = (as_array(self.mask, "mask") if is_mask
                else _mask_of(self.mask, check_count(self.n_gallery, "n_gallery")))
        if mask.ndim != 2 or mask.dtype.kind != "b":
            raise InputError("mask", "true or false, shape (n_query, n_gallery)",
                             f"dtype {mask.dtype}, shape {mask.shape}",
                             "give indices of candidates with n_gallery=...")
        object.__setattr__(self, "mask", read_only(mask))
        object.__setattr__(self, "n_gallery", mask.shape[1])

    @property
    def key(self) -> Integers:
        """int64, shape (n_query,): queries with the same number have the same candidates."""
        return np.arange(len(self.mask), dtype=np.int64)

    def tile(self, queries: slice, images: Any) -> Mask:
        """Return the candidates among some images: bool, shape (queries, images)."""
        return self.mask[queries][:, images]

    def pairs(self, query: Integers, image: Integers) -> Mask:
        """Return which pairs of query and image are of a candidate: bool, shape (pairs,)."""
        return self.mask[query, image]

    def within(self, images: Any) -> Candidates:
        """Return the candidates among some gallery images: a slice, a mask or indices."""
        return Candidates(self.mask[:, images])

    def of_queries(self, queries: slice | Integers) -> Candidates:
        """Return the candidates of some queries: a slice or an array of indices."""
        return Candidates(self.mask[queries])

    def fingerprint(self) -> str:
        """Return the CRC-32 of the mask: eight hexadecimal digits for the signature."""
        return f"{zlib.crc32(np.packbits(self.mask, axis=1).tobytes()):08x}"

    def check(self, query: Labels, gallery: Labels) -> None:
        """Refuse labels of other numbers of images."""
        expected = len(query), len(gallery)
        if self.mask.shape != expected:
            raise InputError("lists", f"candidates of shape (n_query, n_gallery) = {expected}",
                             self.mask.shape)


#: What is given of each query besides its labels.
QueryLists = IndexLists | Candidates


def _mask_of(lists: Any, n_gallery: int) -> Mask:
    mask = np.zeros((len(lists), n_gallery), dtype=np.bool_)
    for k, images in enumerate(lists):
        indices = as_integers(images if np.size(images) else np.zeros(0, np.int64), f"mask[{k}]")
        outside = indices[(indices < 0) | (indices >= n_gallery)]
        if len(outside):
            raise InputError(f"mask[{k}]", f"indices from 0 to {n_gallery - 1}, as n_gallery is "
                             f"{n_gallery}", int(outside[0]))
        mask[k, indices] = True
    return mask


def named_by_row(query: Labels, gallery: Labels) -> tuple[Labels, Labels]:
    """Return the labels of one set on both sides, with the row of each image as its name.

    Raises
    ------
    InputError
        The sides are not one set.

    Examples
    --------
    >>> named_by_row(Labels([7, 8]), Labels([7, 8]))[0].name.tolist()
    ['0', '1']
    """
    if query != gallery:
        raise InputError(
            "query, gallery", "one set on both sides, or the name of each image, since a query "
            "itself is ignored", "labels that differ, without names", "give Labels(..., name=...),"
            " or query_paths and gallery_paths in the file")
    named = replace(query, name=np.arange(len(query)).astype(np.str_))
    return named, named


def named_otherwise(query: Labels, gallery: Labels) -> list[tuple[int, int]]:
    """Return each query whose name is that of an image of another identity, with the first such.

    Examples
    --------
    >>> named_otherwise(Labels([7, 8], name=["a", "b"]), Labels([7, 9, 9], name=["a", "b", "b"]))
    [(1, 1)]
    """
    if query.name is None or gallery.name is None or query is gallery:
        return []
    _, code = np.unique(np.concatenate([query.name, gallery.name]), return_inverse=True)
    asked, images = np.split(code.reshape(-1), [len(query)])
    order = np.lexsort([np.arange(len(gallery)), gallery.identity, images])
    first, last = (np.searchsorted(images[order], asked, side) for side in ("left", "right"))
    pairs = []
    for k in np.flatnonzero(first < last).tolist():
        ends = order[[first[k], last[k] - 1]]  # of the least and of the largest identity
        other = ends[gallery.identity[ends] != query.identity[k]]
        pairs += [(k, int(other[0]))] if len(other) else []
    return pairs


def count_distractors(query: Labels, gallery: Labels) -> int:
    """Count the gallery images labelled 0; none if a query has label 0, an identity then (MSMT17).

    Examples
    --------
    >>> gallery = Labels([0, 0, 1], [1, 2, 1])
    >>> count_distractors(Labels([1], [2]), gallery), count_distractors(Labels([0], [2]), gallery)
    (2, 0)
    """
    if (query.identity == DISTRACTOR).any():
        return 0
    return int(np.count_nonzero(gallery.identity == DISTRACTOR))


def is_single_shot(gallery: Labels) -> bool:
    """Return whether no identity has two gallery images on one camera, or at all without cameras.
    """
    real = gallery.identity > DISTRACTOR
    pairs = np.stack([column[real] for column in (gallery.identity, gallery.camera)
                      if column is not None])
    return bool(real.any()) and len(np.unique(pairs, axis=1).T) == np.count_nonzero(real)


def check_labels(query: Labels, gallery: Labels) -> tuple[Labels, Labels]:
    """Return query and gallery, `numbered`; check that they are `Labels`, not empty, and both have
    cameras or neither.
    """
    for name, labels in (("query", query), ("gallery", gallery)):
        if not (hasattr(labels, "identity") and hasattr(labels, "camera")):
            raise InputError(
                name, "Labels(identity, camera)", type(labels).__name__, "wrap the four arrays: "
                "Labels(query_identity, query_camera), Labels(gallery_identity, gallery_camera)")
        if len(labels) == 0:
            raise InputError(name, "at least one image", "none")
    if (query.camera is None) != (gallery.camera is None):
        side, other = ("query", "gallery") if gallery.camera is None else ("gallery", "query")
        raise InputError(other, "cameras on both sides, or on neither",
                         f"none, where the {side} has them", "give both, or leave both out")
    both = isinstance(query, Labels) and isinstance(gallery, Labels)  # not yet read: a file's
    return numbered(query, gallery) if both else (query, gallery)


def check_features(query_features: Any, gallery_features: Any, query: Labels,
                   gallery: Labels) -> tuple[Array, Array]:
    """Return both feature arrays, checked: one row per image, equal dimension, finite."""
    checked = check_feature_shapes(query_features, gallery_features, query, gallery)
    for name, array in zip(("query_features", "gallery_features"), checked):
        check_finite_rows(array, name)
    return checked


def check_feature_shapes(
        query_features: Any, gallery_features: Any, query: Labels, gallery: Labels,
        ) -> tuple[Any, Any]:
    """Return both feature arrays, checked in shape and dtype; a stored dataset is not read."""
    check_labels(query, gallery)
    checked = []
    for name, value, labels in (("query_features", query_features, query),
                                ("gallery_features", gallery_features, gallery)):
        array = stored_or_array(value, name)
        check_numeric_matrix(array, name, "features (n, d), one row per image")
        if array.dtype.kind == "c":
            raise InputError(name, "real features", f"dtype {array.dtype}")
        if array.shape[0] != len(labels):
            fits = array.shape[1] == len(labels)
            raise InputError(
                name, f"{len(labels)} rows, one for each label", f"shape {array.shape}",
                "its transpose would fit: pass or save it transposed" if fits
                else "features and labels must come from the same run")
        checked.append(array)
    dimensions = [array.shape[1] for array in checked]
    if dimensions[0] != dimensions[1]:
        raise InputError(
            "query_features, gallery_features", "the same dimension",
            f"{dimensions[0]} and {dimensions[1]}", "both must come from the same model")
    if dimensions[0] == 0:
        raise InputError("query_features, gallery_features", "at least one dimension", "0")
    return checked[0], checked[1]


def check_distances(distances: Any, query: Labels, gallery: Labels) -> Array:
    """Return the distances as an array, checked: queries in rows, gallery in columns."""
    check_labels(query, gallery)
    array: Array = stored_or_array(distances, "distances")
    check_numeric_matrix(array, "distances", "distances (n_query, n_gallery)")
    expected = (len(query), len(gallery))
    if array.shape != expected:
        fits = array.shape == expected[::-1]
        raise InputError(
            "distances", f"shape (n_query, n_gallery) = {expected}", array.shape,
            "its transpose would fit: pass or save it transposed (MATLAB keeps gallery x query)"
            if fits else "distances and labels must come from the same run")
    return array


def check_lists(lists: QueryLists | None, names: list[str], query: Labels,
                gallery: Labels) -> None:
    """Check the index lists that the conventions `names` need: one of each a query, in range."""
    if not (lists is None or isinstance(lists, QueryLists)):
        raise InputError("lists", "IndexLists(good, junk) or Candidates(mask)",
                         type(lists).__name__)
    if isinstance(lists, Candidates):
        lists.check(query, gallery)
    if not names:
        return
    if not isinstance(lists, IndexLists):
        raise InputError(
            "lists", got=f"convention {names[0]!r} takes the good and junk images of every query "
            "from lists, got none", remedy="give IndexLists(good, junk), or the files of both")
    if len(lists.good) != len(query):
        raise InputError("lists", f"{len(query)} lists, one for each query", len(lists.good))
    for name, side in (("good", lists.good), ("junk", lists.junk)):
        for k, images in enumerate(side):
            if len(images) and images.max() >= len(gallery):
                raise InputError(f"lists: {name}[{k}]", f"indices below {len(gallery)}, the "
                                 "number of gallery images", images.max())
