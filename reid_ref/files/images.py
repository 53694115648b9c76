"""Names of the images behind features: from lists, from a result file, or from folders.

Names are relative to a root folder, in the order of the features. Folders are read in the order
that made the features: sorted names (Market-style), or torchvision's ImageFolder: sorted classes,
then sorted names, which is what layumi's result files are made from.
"""
from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from reid_ref.arrays import InputError
from reid_ref.disk import read_lines
from reid_ref.files.formats import read_contents

#: Keys of result files that hold names, by side.
KEYS = {side: tuple(f"{start}_{end}" for start in starts
                    for end in ("paths", "path", "names", "name", "imgs", "files"))
        for side, starts in (("query", ("query", "q")), ("gallery", ("gallery", "g")))}
#: Folders of a side, in a root that is a data set of the kind of Market-1501, VeRi, or layumi's.
FOLDERS = {"query": ("query", "image_query"),
           "gallery": ("bounding_box_test", "gallery", "image_test")}
SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


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
        A text file with one name a line.
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
                      known: list[str] | None) -> tuple[list[str], str]:
    """Return names, and where they are from."""
    if listed is not None:
        lines = read_lines(Path(listed), "image names, one a line")
        return [line.strip() for line in lines if line.strip()], str(listed)
    for path in map(Path, files):
        stored = _stored_names(path, KEYS[side])
        if stored is not None:
            return stored, str(path)
    if known is not None:
        return known, f"the names of the {side} labels"
    for folder in FOLDERS[side]:
        if (root / folder).is_dir():
            return _names_in_folder(root, folder), str(root / folder)
    raise InputError(f"{side}_names", "a file with one name per line, in the order of the "
                     "features", f"none, the result file holds no names, and {root} has no folder "
                     f"{' or '.join(FOLDERS[side])}")


def _names_in_folder(root: Path, folder: str) -> list[str]:
    """Return sorted names, or ImageFolder's order where each class has a folder of its own."""
    top = root / folder
    classes = sorted(entry.name for entry in os.scandir(top) if entry.is_dir())
    names = _images_in(top, root)
    if names or not classes:
        return names
    return [name for label in classes for subfolder, _, _ in sorted(os.walk(top / label))
            for name in _images_in(Path(subfolder), root)]


def _images_in(folder: Path, root: Path) -> list[str]:
    below = folder.relative_to(root).as_posix()
    return sorted(f"{below}/{name}" for name in os.listdir(folder)
                  if name.lower().endswith(SUFFIXES))


def _stored_names(path: Path, keys: Sequence[str]) -> list[str] | None:
    """Return the names in a .npz file, if it holds any as text; objects are never unpickled.

    Text in a .mat file is not read: see mat5.py.
    """
    if path.suffix.lower() != ".npz" or not path.is_file():
        return None
    values = read_contents(path).values
    value = next((values[key] for key in keys if key in values), None)
    if value and value.refusal:
        raise value.refusal
    if value is None or not value.text:
        return None
    return [str(name).strip() for name in value.names()]


def path_below(root: str | os.PathLike[str], name: str) -> str:
    """Return the path of a name below the root.

    Raises
    ------
    InputError
        The name leads out of the root, or there is no such file.

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
    return path
