r"""Names of images: identity and camera in them, their places, and whether they fit labels.

Aim: one pattern per data set, in one table. A pattern fits a whole name or nothing, so that
no part of a name is taken for something else (`(\d+)_c` reads Market-1501's junk, -1, as 1).

Names are relative to a root folder, in the order of the features.

Folders are read in the order that made the features: sorted names (Market-style), or torchvision's
ImageFolder: sorted classes, then sorted names, which is what layumi's result files are made from.
"""
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from reid_ref.arrays import InputError, Integers, LabelWarning, check_choice, in_a_line, warn
from reid_ref.disk import PathLike, read_lines, tables_of
from reid_ref.files.formats import read_contents
from reid_ref.files.layouts import role_of
from reid_ref.labels import Labels

# Folders before the name are left out; 18 names of Market-1501's gallery end in .jpg.jpg.
_FOLDER, _SUFFIX = r"(?:.*[/\\])?", r"(?:\.(?:jpe?g|png|bmp))*"

#: Of names of no known form: the folder that an image is in, as ImageFolder has classes.
_CLASS = re.compile(r"(?:.*/)?(-1|[0-9]{1,18})/[^/]*")


class NameForm(NamedTuple):
    """How the files of a data set are named.

    Parameters
    ----------
    title : str
        The data set.
    example : str
        A name of it.
    pattern : re.Pattern
        Fits a whole name; its named groups are numbers, `identity` and `camera` among them.
    """

    title: str
    example: str
    pattern: re.Pattern[str]


#: Key to how that data set names its files.
FORMS: Mapping[str, NameForm] = MappingProxyType({key: NameForm(
    form["title"], form["example"],
    re.compile(_FOLDER + form["pattern"] + _SUFFIX, re.IGNORECASE | re.ASCII))
    for key, form in tables_of("files/name_forms.toml").items()})


def parse_names(names: Iterable[PathLike], form: str | None = None) -> dict[str, Integers]:
    """Read identity, camera and the other numbers in file names.

    Parameters
    ----------
    names : iterable of str or path
        With or without folders and suffix.
    form : str, optional
        A key of `FORMS`. Default: the one that the first name has.

    Returns
    -------
    dict of str to int64 array, each shape (n,)
        `identity` (-1 is junk), `camera`, and what else the form contains: `frame`, `tracklet`,
        `sequence`, `image`, `date` (month and day), `box`, `outfit`.

    Raises
    ------
    InputError
        A name of another form (it is quoted), no name at all, or an unknown form.

    Examples
    --------
    >>> parsed = parse_names(["-1_c3s2_000451_03.jpg", "query/0002_c1s1_000451_03.jpg"])
    >>> parsed["identity"], parsed["camera"], parsed["frame"]
    (array([-1,  2]), array([3, 1]), array([451, 451]))
    """
    if isinstance(names, (str, os.PathLike)):
        raise InputError(
            "names", "a list of file names", f"one: {os.fspath(names)!r}", "pass [name]")
    listed = [str(name) for name in names]
    if form is None:
        if not listed:
            raise InputError("names", "at least one file name", "none")
        form = form_of(listed[0])
        if form is None:
            examples = in_a_line([f"{each.example} ({each.title})" for each in FORMS.values()])
            raise InputError("names[0]", f"a file name such as {examples}", f"{listed[0]!r:.40}",
                             "or say which array or column is the identity, with names= (--map)")
    check_choice(form, "form", FORMS)
    pattern = FORMS[form].pattern
    matches = []
    for k, name in enumerate(listed):
        match = pattern.fullmatch(name)
        if match is None:
            raise InputError(f"names[{k}]", f"a file name of {FORMS[form].title}, such as "
                             f"{FORMS[form].example}", repr(name))
        matches.append(match.groups())
    columns = zip(*matches) if matches else [()] * pattern.groups
    # -1, and 00-1 in MARS.
    return {group: np.array([-1 if "-" in text else int(text) for text in column], dtype=np.int64)
            for group, column in zip(pattern.groupindex, columns)}


def form_of(name: str) -> str | None:
    """Return the key of `FORMS` whose pattern fits a name, or None."""
    return next((key for key, form in FORMS.items() if form.pattern.fullmatch(name)), None)


SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def listed_names(path: Path) -> list[str]:
    """Return the names in a text file, one per line."""
    lines = read_lines(path, "image names, one per line")
    return [line.strip() for line in lines if line.strip()]


def names_in_folder(folder: Path, root: Path) -> list[str]:
    """Return the names of the images of a folder, relative to a root, in the order of features."""
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    subfolders = [subfolder for path in classes for subfolder, _, _ in sorted(os.walk(path))]
    return _images_in(folder, root) or [
        name for subfolder in subfolders for name in _images_in(Path(subfolder), root)]


def _images_in(folder: Path, root: Path) -> list[str]:
    return sorted((folder / name).relative_to(root).as_posix() for name in os.listdir(folder)
                  if name.lower().endswith(SUFFIXES))


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
    LabelWarning
        The names contain no identity, so nothing can be checked.

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
        bad = identity != labels.identity
        if labels.camera is not None:
            shift = -1 if np.array_equal(camera - 1, labels.camera) else 0
            bad |= camera + shift != labels.camera
    else:
        classes = [_CLASS.fullmatch(name.replace("\\", "/")) for name in names]
        if not all(classes):
            warn(f"{side} names: {names[0]!r} contains neither identity nor camera, so the "
                 "order of the images is not checked", LabelWarning)
            return
        identity = np.array([int(folder[1]) for folder in classes if folder], dtype=np.int64)
        bad = identity != labels.identity
    for k in np.flatnonzero(bad)[:1]:
        on_camera = "" if labels.camera is None else f" and camera {labels.camera[k]}"
        named = f"identity {identity[k]}" + ("" if camera is None else f" and camera {camera[k]}")
        raise InputError(
            f"{side}_names", got=f"image {k} is {names[k]!r}, of {named} by its name, but of "
            f"identity {labels.identity[k]}{on_camera} by its label, and {bad.sum():,} of "
            f"{len(names):,} differ so", remedy="give the names in the order of the features")


#: Folders of a side, in a root that is a data set of the kind of Market-1501, VeRi, or layumi's.
FOLDERS = {"query": ("query", "image_query"),
           "gallery": ("bounding_box_test", "gallery", "image_test")}


def names_of_side(side: str, n_images: int, files: Sequence[PathLike], root: PathLike,
                  listed: PathLike | None = None, known: list[str] | None = None) -> list[str]:
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
        Names in the labels, if there are no files of names.

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
        raise InputError(where, f"{n_images:,} {side} images, as many as labels",
                         f"{len(names):,}", "name them in the order of the features")
    return _in_own_folder(side, names, Path(root))


def _in_own_folder(side: str, names: list[str], root: Path) -> list[str]:
    """Return names with the folder of their side, if they lack it and the images are there."""
    if not names or (root / names[0]).is_file():
        return names
    return next(([f"{folder}/{name}" for name in names] for folder in FOLDERS[side]
                 if (root / folder / names[0]).is_file()), names)


def _names_and_source(side: str, files: Sequence[PathLike], root: Path, listed: PathLike | None,
                      known: list[str] | None) -> tuple[list[str], object]:
    """Return names, and where they are from."""
    if listed is not None:
        return listed_names(Path(listed)), listed
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


def path_below(root: PathLike, name: str) -> str:
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
