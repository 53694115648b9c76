"""The MATLAB drivers as a table, and the files that each loads as features and labels."""
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import Array, InputError, check_choice, check_finite_rows, errors_at
from reid_ref.datasets.labels import CUHK03_KEYS, read_cuhk03, read_indices, read_tracks
from reid_ref.datasets.pooling import pool_tracklets
from reid_ref.disk import PathLike, check_different, tables_of
from reid_ref.distances import unit_rows
from reid_ref.files import read_result, read_rows
from reid_ref.files.formats import NPY, Contents, read_contents
from reid_ref.files.layouts import role_of
from reid_ref.files.stored_arrays import StoredArray, StoredLabels
from reid_ref.labels import Labels


class DriverLine(NamedTuple):
    """One line of a driver.

    Parameters
    ----------
    space : str
        In which distances are measured: a key of `SPACES` of
        `reid_ref.commands.scripts.compute.drivers`.
    reranked : bool
        Whether k-reciprocal re-ranking follows.
    """

    space: str
    reranked: bool = False


class Driver(NamedTuple):
    """What a driver does.

    Parameters
    ----------
    script, repository, commit : str
        Where it is.
    dtype : str
        Of the features that it computes with.
    methods : mapping of str to Method
        Its lines, in the order in which it prints them.
    convention : str
        How it evaluates: a key of `reid_ref.CONVENTIONS`.
    camera_pairs : bool
        Whether it prints means over pairs of cameras.
    files : str
        What it loads, of query and gallery.
    training_files : str
        What it loads for the learnt metrics.
    """

    script: str
    repository: str
    commit: str
    dtype: str
    methods: Mapping[str, DriverLine]
    convention: str
    camera_pairs: bool
    files: str
    training_files: str

    @property
    def without_training(self) -> str:
        """Why a learnt line is left out: there are no training images."""
        return f"learns from training images; {self.training_files} would give them"


#: By name.
DRIVERS: Mapping[str, Driver] = {
    name: Driver(**fields | {"methods": {
        title: DriverLine(**line) for title, line in fields["methods"].items()}})
    for name, fields in tables_of("datasets/matlab/drivers.toml").items()}

_MARS_FILES = {
    ("test", "features"): "ide_feat_test.mat", ("test", "tracks"): "tracks_test_info.mat",
    ("query", "tracks"): "query_IDX.mat",
    ("train", "features"): "ide_feat_train.mat", ("train", "tracks"): "tracks_train_info.mat"}


@dataclass(frozen=True)
class ImageSet:
    """One side of an evaluation, or the training images.

    Parameters
    ----------
    features : array, shape (n, d)
        One row per image, of norm 1, float32 or float64 as the driver computes.
    labels : Labels
        Identity and camera of each row.
    """

    features: Array
    labels: Labels

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Inputs:
    """The images of a driver; `train` is None if no file has training images."""

    query: ImageSet
    gallery: ImageSet
    train: ImageSet | None


def read_inputs(driver: str, *paths: PathLike) -> Inputs:
    """Read the files of a driver, and normalise features as the driver does.

    Parameters
    ----------
    driver : str
        A key of `DRIVERS`.
    *paths : str or path
        The driver's files, in any order, recognised by their names; or, but for MARS, a
        result file as `reid_ref.files.read_result` reads it. Files of training images have
        train in their names.

    Returns
    -------
    Inputs

    Raises
    ------
    InputError
        A file that cannot be read or is missing, arrays that do not fit each other, NaN, an image
        of zeros, a tracklet of no frame, a camera of MARS outside 1 to 6.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "result.npz")
    ...     np.savez(path, query_f=np.eye(2), query_label=[3, 5], query_cam=[1, 1],
    ...              gallery_f=2 * np.eye(2), gallery_label=[3, 5], gallery_cam=[2, 2])
    ...     inputs = read_inputs("market1501", path)
    >>> inputs.gallery.features, inputs.train is None
    (array([[1., 0.],
           [0., 1.]], dtype=float32), True)
    """
    check_choice(driver, "driver", DRIVERS)
    listed = [Path(path) for path in paths]
    check_different(listed)
    return _READERS[driver](listed, np.dtype(DRIVERS[driver].dtype))


# ---------------------------------------------------------------- Market-1501 and result files

def _read_sides(paths: Sequence[Path], dtype: np.dtype[Any]) -> Inputs:
    training = [path for path in paths if _is_training(path)]
    data = read_result(*(path for path in paths if path not in training))
    features = data.features(
        ", ".join(map(str, paths)), "features, since the driver computes the distances")
    query, gallery = (
        _normalized(read_rows(rows), labels, dtype, f"{side} features")
        for rows, labels, side in zip(features, (data.query, data.gallery), ("query", "gallery")))
    train = _read_training(training, dtype) if training else None
    return _checked(query, gallery, train)


def _is_training(path: Path) -> bool:
    return re.search("(?<![a-z])train(?!ed)", path.stem.lower()) is not None


def _read_training(paths: Sequence[Path], dtype: np.dtype[Any]) -> ImageSet:
    arrays: dict[str, list[tuple[Contents, StoredArray]]] = {}
    for path, contents in zip(paths, map(read_contents, paths)):
        for key, value in contents.values.items():
            name = path.stem if len(contents.values) == 1 else key
            role = role_of(re.sub("train", "query", name, flags=re.IGNORECASE))
            arrays.setdefault(str(role).removeprefix("query_"), []).append((contents, value))
    fields = sorted(arrays)
    if fields != ["camera", "features", "identity"] or max(map(len, arrays.values())) > 1:
        raise InputError(
            ", ".join(map(str, paths)), "one array each of camera, features and identity of the "
            "training images", ", ".join(f"{len(arrays[field])} of {field}" for field in fields),
            "name all three or none of them")
    (_, identity), (_, camera), (contents, value) = (
        arrays[field][0] for field in ("identity", "camera", "features"))
    labels = StoredLabels(identity, camera).load()
    return _normalized(_rows(value, contents, len(labels)).load(), labels, dtype, value.where)


# ---------------------------------------------------------------- CUHK03

def _read_cuhk03(paths: Sequence[Path], dtype: np.dtype[Any]) -> Inputs:
    """Read the configuration and the features of all images, or a result file."""
    configurations = [path for path in paths if not path.is_dir() and _is_cuhk03(path)]
    if not configurations:
        return _read_sides(paths, dtype)
    rest = [path for path in paths if path not in configurations]
    if len(configurations) > 1 or len(rest) != 1:
        raise InputError(", ".join(map(str, paths)), f"{DRIVERS['cuhk03'].files}: one "
                         "configuration and one file with the features of all images")
    (path,), part = rest, read_cuhk03(configurations[0])
    features = _all_rows(path, len(part.labels)).load()
    query, gallery, train = (
        _normalized(features[index], part.labels[index], dtype, f"{path}: {name}")
        for name, index in (("query", part.query), ("gallery", part.gallery),
                            ("train", part.train)))
    return _checked(query, gallery, train)


def _is_cuhk03(path: Path) -> bool:
    with closing(read_contents(path)) as contents:
        return contents.values.keys() >= set(CUHK03_KEYS)


# ---------------------------------------------------------------- MARS

def _read_mars(paths: Sequence[Path], dtype: np.dtype[Any]) -> Inputs:
    by_role = {_mars_role(path): path for path in paths}
    missing = [name for role, name in _MARS_FILES.items() if role not in by_role]
    if missing or len(by_role) < len(paths):
        raise InputError(
            ", ".join(map(str, paths)), ", ".join(_MARS_FILES.values()),
            f"no {', no '.join(missing)}, from which this driver learns" if missing else
            "two for one of them (by train, test, query and tracks in their names)")
    sides = []
    for side in ("train", "test"):
        tracks, features = by_role[side, "tracks"], by_role[side, "features"]
        info = read_tracks(tracks)
        with errors_at(f"{tracks}, {features}"):
            frames = _all_rows(features, int(info.last.max()) + 1, exactly=False).lazy()
            pooled = pool_tracklets(frames, info.first, info.last)
        sides.append(_finite(pooled.astype(dtype), info.labels, str(features)))
    train, gallery = sides
    index = read_indices(by_role["query", "tracks"], len(gallery))
    query = ImageSet(gallery.features[index], gallery.labels[index])
    return _checked(query, gallery, train)


def _mars_role(path: Path) -> tuple[str, str]:
    name = path.stem.lower()
    side = ("train" if _is_training(path) else "query" if "query" in name else
            "test" if "test" in name else name)
    return side, "tracks" if side == "query" or "track" in name else "features"


# ---------------------------------------------------------------- checks

_READERS: Mapping[str, Callable[[Sequence[Path], np.dtype[Any]], Inputs]] = {
    "market1501": _read_sides, "ide": _read_sides, "cuhk03": _read_cuhk03, "mars": _read_mars}


def _all_rows(path: Path, n: int, exactly: bool = True) -> StoredArray:
    contents = read_contents(path)
    return _rows(contents.single(path, "one matrix, the features of all images"), contents, n,
                 exactly)


def _rows(value: StoredArray, contents: Contents, n: int, exactly: bool = True) -> StoredArray:
    """Return a matrix with one row per image; MATLAB's files have one column per image."""
    if len(value.shape) == 2:
        turned = [] if contents.format == NPY else [value.T]
        for matrix in (*turned, value):
            if matrix.shape[0] == n:
                return matrix
        if not exactly:
            return (*turned, value)[0]
    raise InputError(value.where, f"features of {n} images, one column per image (in .npy "
                     "one row), as many as its labels", f"shape {value.shape}")


def _normalized(features: Array, labels: Labels, dtype: np.dtype[Any], where: str) -> ImageSet:
    if features.dtype.kind not in "fiub":
        raise InputError(where, "real numbers", f"dtype {features.dtype}")
    features = features.astype(dtype)
    check_finite_rows(features, where)
    return _finite(unit_rows(features), labels, where)


def _finite(features: Array, labels: Labels, where: str) -> ImageSet:
    for k in np.flatnonzero(np.isnan(features).any(axis=1))[:1]:
        raise InputError(where, "features that can be normalised", f"only zeros in row {k} "
                         f"(of {len(features)})", "check how it was read, or leave it out")
    return ImageSet(features, labels)


def _checked(query: ImageSet, gallery: ImageSet, train: ImageSet | None) -> Inputs:
    sides = {"query": query, "gallery": gallery, **({} if train is None else {"train": train})}
    for name, side in sides.items():
        if not len(side):
            raise InputError(name, "at least one image", "none")
    if len({side.features.shape[1] for side in sides.values()}) > 1:
        raise InputError("features", "one dimension, as one model gives", ", ".join(
            f"{side.features.shape[1]} ({name})" for name, side in sides.items()))
    return Inputs(query, gallery, train)
