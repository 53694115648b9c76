"""Names of the images of a side: where they are from, and whether they fit the labels.

Names are relative to a root folder, in the order of the features. What they say of identity and
camera is read by `reid_ref.files.image_names`.
"""
from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reid_ref.arrays import InputError, warn
from reid_ref.disk import read_lines
from reid_ref.files.formats import read_contents
from reid_ref.files.layouts import role_of
from reid_ref.files.image_names import form_of, names_in_folder, parse_names
from reid_ref.labels import Labels

_CLASS = re.compile(r"(?:.*/)?(-1|\d{1,18})/[^/]*")


def check_names(names: Sequence[str], labels: Labels, side: str) -> None:
    """Refuse names whose identity or camera is not that of the labels.

    Parameters
    ----------
    names : sequence of str
        One per image, in the order of the labels. Names of no known form may be in folders named
        by the identity, as ImageFolder's classes are.
    labels : Labels
        Cameras may all be one less than in the names, as torchreid counts them.
    side : str
        What messages call them.

    Raises
    ------
    InputError
        The first name that does not fit.

    Warns
    -----
    UserWarning
        The names say no identity, so nothing can be checked.

    Examples
    --------
    >>> check_names(["0002_c1_2.jpg", "0003_c1_1.jpg"], Labels([3, 2], [1, 1]), "query")
    Traceback (most recent call last):
        ...
    reid_ref.arrays.errors.InputError: query_names: image 0 is '0002_c1_2.jpg', of identity 2 ...
    """
    if not names:
        return
    form = form_of(names[0])
    camera = None
    if form:
        parsed = parse_names(names, form)
        identity, camera = parsed["identity"], parsed["camera"]
        shift = -1 if np.array_equal(camera - 1, labels.camera) else 0
        bad = (identity != labels.identity) | (camera + shift != labels.camera)
    else:
        classes = [_CLASS.fullmatch(name.replace("\\", "/")) for name in names]
        if not all(classes):
            warn(f"{side} names: {names[0]!r} says neither identity nor camera, so the order of "
                 "the images is not checked")
            return
        identity = np.array([int(folder[1]) for folder in classes if folder], dtype=np.int64)
        bad = identity != labels.identity
    for k in np.flatnonzero(bad)[:1]:
        said = f"identity {identity[k]}" + ("" if camera is None else f" and camera {camera[k]}")
        raise InputError(
            f"{side}_names", got=f"image {k} is {names[k]!r}, of {said} by its name, but of "
            f"identity {labels.identity[k]} and camera {labels.camera[k]} by its label, and "
            f"{bad.sum():,} of {len(names):,} differ so", remedy="give the names in the order of "
            "the features")


#: Folders of a side, in a root that is a data set of the kind of Market-1501, VeRi, or layumi's.
FOLDERS = {"query": ("query", "image_query"),
           "gallery": ("bounding_box_test", "gallery", "image_test")}


def names_of_side(side: str, n_images: int, files: Sequence[str | os.PathLike[str]],
                  root: str | os.PathLike[str],
                  listed: str | os.PathLike[str] | None = None,
                  known: list[str] | None = None) -> list[str]:
    """Return the names of one side's images, in the order of the features.

    Parameters
    ----------
    side : {"query", "gallery"}
    n_images : int
        How many are expected.
    files : sequence of paths
        The result file or files, which may hold names.
    root : path
        Folder that the names are relative to.
    listed : path, optional
        A text file with one name per line.
    known : list of str, optional
        Names in the labels, where neither says them.

    Raises
    ------
    InputError
        No names, or another number of them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     os.mkdir(os.path.join(root, "query"))
    ...     for name in ("0002_c1_2.jpg", "-1_c1_1.jpg", "Thumbs.db"):
    ...         Path(root, "query", name).touch()
    ...     names_of_side("query", 2, [], root)
    ['query/-1_c1_1.jpg', 'query/0002_c1_2.jpg']
    """
    if not os.path.isdir(root):
        raise InputError(root, "the folder of the images")
    names, where = _names_and_source(side, files, Path(root), listed, known)
    if len(names) != n_images:
        raise InputError(
            where, f"{n_images:,} {side} images, as many as labels", f"{len(names):,}",
            "name them in the order of the features")
    return names


def _names_and_source(side: str, files: Sequence[str | os.PathLike[str]], root: Path,
                      listed: str | os.PathLike[str] | None,
                      known: list[str] | None) -> tuple[list[str], object]:
    """Return names, and where they are from."""
    if listed is not None:
        lines = read_lines(Path(listed), "image names, one per line")
        return [line.strip() for line in lines if line.strip()], listed
    for path in map(Path, files):
        # Text in a .mat file is not read: see mat.py.
        stored = read_contents(path).values if path.suffix.lower() == ".npz" else {}
        array = next((stored[key] for key in stored if role_of(key) == f"{side}_paths"), None)
        if array and array.refusal:
            raise array.refusal
        if array and array.text:
            return [name.strip() for name in array.names().tolist()], path
    if known is not None:
        return known, f"the names of the {side} labels"
    folder = folder_of_side(root, side)
    if folder is None:
        raise InputError(
            f"{side}_names", "a file with one name per line, in the order of the features",
            f"none, the result file holds no names, and {root} has no folder "
            f"{' or '.join(FOLDERS[side])}")
    return names_in_folder(folder, root), folder


def folder_of_side(root: Path, side: str) -> Path | None:
    """Return the folder of the images of a side in that of a data set, or None."""
    return next((root / name for name in FOLDERS[side] if (root / name).is_dir()), None)


def path_below(root: str | os.PathLike[str], name: str) -> str:
    """Return the path of a name below the root.

    Raises
    ------
    InputError
        The name, or a link, leads out of the root, or there is no such file.

    Examples
    --------
    >>> path_below("images", "../secret.jpg")
    Traceback (most recent call last):
        ...
    reid_ref.arrays.errors.InputError: '../secret.jpg': expected an image below images
    """
    clean = name.replace("\\", "/")
    if clean.startswith("/") or os.path.splitdrive(clean)[0] or ".." in clean.split("/"):
        raise InputError(repr(name), f"an image below {root}")
    path = os.path.join(root, clean)
    if not os.path.isfile(path):
        raise InputError(path, got="no such image", remedy=f"names are relative to {root}; "
                         "correct them, or leave the images out")
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise InputError(path, f"an image below {root}", "a link to one that is not")
    return path
