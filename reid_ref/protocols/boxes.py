"""`Boxes`: ground truth, detections and queries of person search, and the files with them."""
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.arrays import (
    Array, InputError, Integers, LabelWarning, Value, as_array, as_integers, as_names, as_vector,
    check_choice, check_length, errors_at, warn)
from reid_ref.disk import PathLike, read_json
from reid_ref.files.formats import read_contents
from reid_ref.files.stored_arrays import StoredArray
from reid_ref.ranking.roles import equal_pairs

#: The sizes of CUHK-SYSU's galleries.
SIZES = ("50", "100", "500", "1000", "2000", "4000")
_GALLERY = "gallery_"
#: SeqNet's names to those of `Boxes`.
SEQNET = {"gallery_dets": "detection_box", "gallery_feats": "detection_features",
          "query_box_feats": "query_features"}
_OPTIONAL = ("query_features", "detection_features", "similarity", "image_camera")


@dataclass(frozen=True, eq=False)
class Boxes(Value):
    """Ground truth, detections and queries of person search.

    Images are numbered from 0, in the order of `image`. A box is x1, y1, x2, y2.

    Parameters
    ----------
    image : sequence of str
        The name of every gallery image, and of images that only queries are from.
    truth_image, truth_identity : array_like of int, shape (n_truth,)
        Image and identity of each annotated box. People without an identity may have any number
        that no query has; PRW's ambiguous ones have -2.
    truth_box : array_like, shape (n_truth, 4)
    detection_image : array_like of int, shape (n_detection,)
        The image of each box that the detector found.
    detection_box : array_like, shape (n_detection, 4)
    detection_score : array_like, shape (n_detection,)
    query_image, query_identity : array_like of int, shape (n_query,)
    query_features, detection_features : array_like, shape (n, d), optional
        One row per query and per detection.
    similarity : array_like, shape (n_query, n_detection), optional
        In the place of the features: larger is more similar.
    image_camera : array_like of int, shape (n_image,), optional
        For PRW.
    galleries : mapping of str to array_like of int, shape (n_query, length), optional
        For CUHK-SYSU, by size such as "100": the images of each query's gallery in the order of
        TestG100.mat, shorter rows filled up with -1.

    Raises
    ------
    InputError
        Wrong shapes or counts, boxes without area, images that do not exist, numbers that are not
        finite, an identity that no other image shows.

    Warns
    -----
    LabelWarning
        Images with neither a detection nor an annotated box.

    Examples
    --------
    >>> boxes = Boxes(["a.jpg", "b.jpg"], [0, 1], [7, 7], [[0, 0, 40, 90], [5, 5, 45, 95]],
    ...               [1], [[5, 5, 45, 90]], [.9], [0], [7], similarity=[[.8]])
    >>> boxes.detection_box.shape
    (1, 4)
    """

    image: Any
    truth_image: Any
    truth_identity: Any
    truth_box: Any
    detection_image: Any
    detection_box: Any
    detection_score: Any
    query_image: Any
    query_identity: Any
    query_features: Any = None
    detection_features: Any = None
    similarity: Any = None
    image_camera: Any = None
    galleries: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {"image": as_names(self.image, "image")}
        names, count = np.unique(checked["image"], return_counts=True)
        if count.max(initial=0) > 1:
            raise InputError("image", "each name once", f"{str(names[count > 1][0])!r} twice")
        n_image = len(checked["image"])
        for name in ("truth_image", "detection_image", "query_image"):
            checked[name] = as_integers(getattr(self, name), name)
            _check_images(checked[name], name, n_image)
            if not len(checked[name]):
                raise InputError(name, "at least one", "none")
        n_truth, n_detection, n_query = (len(checked[f"{kind}_image"])
                                         for kind in ("truth", "detection", "query"))
        for name, n in (("truth_identity", n_truth), ("query_identity", n_query),
                        ("image_camera", n_image)):
            if (value := getattr(self, name)) is not None or name not in _OPTIONAL:
                checked[name] = as_integers(value, name)
                check_length(len(checked[name]), n, name)
        for name, shape in (
                ("truth_box", (n_truth, 4)), ("detection_box", (n_detection, 4)),
                ("detection_score", (n_detection,)), ("query_features", (n_query, None)),
                ("detection_features", (n_detection, None)),
                ("similarity", (n_query, n_detection))):
            if (value := getattr(self, name)) is not None or name not in _OPTIONAL:
                checked[name] = _numbers(value, name, shape)
        checked["galleries"] = {
            str(size): _gallery(listed, str(size), n_query, n_image)
            for size, listed in self.galleries.items()}
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        _check_ranked(self)
        _check_boxes(self)

    def fingerprint(self, size: str = "") -> str:
        """Return eight hexadecimal digits of truth, detections and the gallery of that size."""
        crc = 0
        for values in (self.truth_image, self.truth_identity, self.truth_box, self.query_image,
                       self.detection_image, self.detection_box, self.image_camera,
                       self.galleries.get(size)):
            crc = crc if values is None else zlib.crc32(values.tobytes(), crc)
        return f"{crc:08x}"


def _check_images(images: Integers, name: str, n_image: int) -> None:
    outside = images[(images < 0) | (images >= n_image)]
    if len(outside):
        raise InputError(name, f"images 0 to {n_image - 1}", int(outside[0]),
                         "number the images from 0, in the order of `image`")


def _numbers(value: Any, name: str, shape: tuple[int | None, ...]) -> Array:
    """Return finite numbers of that shape, in which None is any length."""
    array = as_vector(value, name) if len(shape) == 1 else as_array(value, name)
    fits = array.ndim == len(shape) and all(
        n in (None, length) for n, length in zip(shape, array.shape))
    if not fits or array.dtype.kind not in "iuf":
        raise InputError(name, f"numbers of shape {str(shape).replace('None', 'd')}",
                         f"{array.dtype} of shape {array.shape}")
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        raise InputError(name, "finite numbers", f"{array[tuple(wrong[0])]} at index "
                         f"{', '.join(map(str, wrong[0]))}")
    return array


def _check_ranked(boxes: Boxes) -> None:
    """Check that there are features of both sides, or a similarity."""
    given = [name for name in ("query_features", "detection_features", "similarity")
             if getattr(boxes, name) is not None]
    if given not in (["query_features", "detection_features"], ["similarity"]):
        raise InputError("similarity", "query_features and detection_features, or similarity",
                         ", ".join(given) or "neither")
    if boxes.similarity is None:
        first, second = boxes.query_features.shape[1], boxes.detection_features.shape[1]
        if first != second:
            raise InputError(", ".join(given), "the same dimension", f"{first} and {second}")


def _check_boxes(boxes: Boxes) -> None:
    """Refuse boxes without area, and queries whose identity no other image shows."""
    for name in ("truth_box", "detection_box"):
        each = getattr(boxes, name)
        flat = np.flatnonzero((each[:, 2:] <= each[:, :2]).any(axis=1))
        if len(flat):
            corners = ", ".join(f"{value:g}" for value in each[flat[0]])
            raise InputError(name, "boxes x1, y1, x2, y2 with an area",
                             f"{corners} in row {flat[0]}", "of x, y, width and height add the "
                             "first two to the last two")
    query, truth = equal_pairs(boxes.query_identity, boxes.truth_identity)
    other = boxes.truth_image[truth] != boxes.query_image[query]
    absent = np.setdiff1d(np.arange(len(boxes.query_identity)), query[other])
    if len(absent):
        raise InputError("query_identity", "identities that are annotated in another image",
                         f"{boxes.query_identity[absent[0]]} of query {absent[0]}",
                         "are truth and queries numbered alike?")
    neither = np.setdiff1d(np.arange(len(boxes.image)),
                           np.concatenate([boxes.truth_image, boxes.detection_image]))
    if len(neither):
        warn(f"image: {len(neither):,} of {len(boxes.image):,} images have neither a detection "
             f"nor an annotated box (first: {boxes.image[neither[0]]})", LabelWarning)


def _gallery(listed: Any, size: str, n_query: int, n_image: int) -> Integers:
    check_choice(size, "galleries", SIZES)
    name = f"{_GALLERY}{size}"
    images = as_array(listed, name)
    if images.ndim != 2 or len(images) != n_query or images.dtype.kind not in "iu":
        raise InputError(name, f"whole numbers, one row for each of {n_query:,} queries",
                         f"{images.dtype} of shape {images.shape}")
    _check_images(images[images != -1].astype(np.int64), name, n_image)
    return images.astype(np.int64)


def read_boxes(path: PathLike) -> Boxes:
    """Read `Boxes` from a file of arrays, or from a .json file of lists, by the same names.

    Parameters
    ----------
    path : str or path
        A .npz, .mat or HDF5 file, a file of torch.save, a folder of .npy files, or .json. The
        names are the arguments of `Boxes`; the galleries are ``gallery_50`` to ``gallery_4000``.
        Lists with an array per image, as SeqNet has them, are read, too (docs/person-search.md).
        Other names are not read.

    Raises
    ------
    InputError
        The file cannot be read, lacks an array, or what `Boxes` refuses.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "boxes.npz")
    ...     np.savez(path, image=["a", "b"], truth_image=[0, 1], truth_identity=[7, 7],
    ...              truth_box=[[0, 0, 4, 9]] * 2, detection_image=[1],
    ...              detection_box=[[0, 0, 4, 8]], detection_score=[.9], query_image=[0],
    ...              query_identity=[7], similarity=[[.8]], gallery_50=[[1]])
    ...     read_boxes(path).galleries
    {'50': array([[1]])}
    """
    given = _from_json(path) if Path(path).suffix.lower() == ".json" else _from_arrays(path)
    field_names = [each.name for each in fields(Boxes) if each.name != "galleries"]
    if missing := [name for name in field_names[:9] if name not in given]:
        raise InputError(path, f"boxes of person search: {', '.join(field_names[:9])}",
                         f"no {missing[0]}", "docs/person-search.md describes each")
    with errors_at(path):
        return Boxes(**{name: given[name] for name in field_names if name in given}, galleries={
            name.removeprefix(_GALLERY): value for name, value in given.items()
            if name.startswith(_GALLERY)})


def _from_json(path: PathLike) -> dict[str, Any]:
    values = read_json(path, "JSON")
    if not isinstance(values, dict):
        raise InputError(path, "a JSON object of lists", type(values).__name__)
    return values


def _from_arrays(path: PathLike) -> dict[str, Any]:
    with closing(read_contents(Path(path))) as contents:
        return _arrays_of_lists({
            SEQNET.get(name, name): stored for name, stored in contents.values.items()
            if name in {*Boxes.__dataclass_fields__, *SEQNET} or name.startswith(_GALLERY)})


def _arrays_of_lists(stored: Mapping[str, StoredArray]) -> dict[str, Any]:
    """Read arrays of boxes by name; of lists the images, scores and rows of features are known.

    Such a list has an array for each image, as in the eval_cache.pth that serend1p1ty/SeqNet,
    engine.py saves; the score is the fifth column of detections.
    """
    values: dict[str, Any] = {name: array.names() if array.text else array.load()
                              for name, array in stored.items()}
    for kind in ("truth", "detection"):
        box = stored.get(f"{kind}_box")
        if box is not None and box.parts:
            values.setdefault(f"{kind}_image", np.repeat(np.arange(len(box.parts)), box.parts))
    detections = values.get("detection_box")
    if detections is not None and detections.ndim == 2 and detections.shape[1] == 5:
        values.setdefault("detection_score", detections[:, 4])
        values["detection_box"] = detections[:, :4]
    for name in ("query_features", "detection_features"):
        if name in stored and stored[name].parts and values[name].size:
            n = len(stored[name].parts) if name == "query_features" else len(values[name])
            values[name] = values[name].reshape(n, -1)
    if "query_image" in stored and stored["query_image"].text and "image" in values:
        values["query_image"] = _numbers_of_names(
            values["query_image"], values["image"], stored["query_image"].where)
    return values


def _numbers_of_names(names: Any, images: Any, where: str) -> Any:
    """Return the numbers of images by their names."""
    number = {name: k for k, name in enumerate(np.asarray(images).tolist())}
    if missing := [name for name in names.tolist() if name not in number]:
        raise InputError(where, "names of images of `image`", repr(missing[0]))
    return np.array([number[name] for name in names.tolist()])
