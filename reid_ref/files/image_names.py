r"""Names of images: what they say of identity and camera, and the names of the images in a folder.

Aim: one pattern per data set, in one table. A pattern fits a whole name or nothing, so that
no part of a name is taken for something else (`(\d+)_c` reads Market-1501's junk, -1, as 1).

Folders are read in the order that made the features: sorted names (Market-style), or torchvision's
ImageFolder: sorted classes, then sorted names, which is what layumi's result files are made from.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from reid_ref.arrays import InputError, Integers, check_choice

# Folders before the name are left out; 18 names of Market-1501's gallery end in .jpg.jpg.
_FOLDER, _SUFFIX = r"(?:.*[/\\])?", r"(?:\.(?:jpe?g|png|bmp))*"


@dataclass(frozen=True)
class NameForm:
    """How the files of a data set are named.

    Parameters
    ----------
    title : str
        The data set.
    example : str
        A name of it.
    pattern : re.Pattern
        Fits a whole name; its named groups are numbers, `identity` and `camera` among them.
    source : str
    """

    title: str
    example: str
    pattern: re.Pattern[str]
    source: str


#: Key to how that data set names its files.
FORMS: Mapping[str, NameForm] = MappingProxyType({key: NameForm(
    title, example, re.compile(_FOLDER + pattern + _SUFFIX, re.IGNORECASE), source)
    for key, (title, example, pattern, source) in {
    "market1501": (
        "Market-1501", "0002_c1s1_000451_03.jpg",
        r"(?P<identity>-1|\d{4})_c(?P<camera>\d)s(?P<sequence>\d)_(?P<frame>\d{6})_(?P<box>\d\d)",
        "readme.txt of Market-1501; Zheng et al., ICCV 2015"),
    "dukemtmc": (
        "DukeMTMC-reID", "0005_c2_f0046985.jpg",
        r"(?P<identity>\d{4})_c(?P<camera>\d)_f(?P<frame>\d{7})",
        "layumi/DukeMTMC-reID_evaluation, README.md"),
    "msmt17": (
        "MSMT17", "0000_000_01_0303morning_0015_0.jpg",
        r"(?P<identity>\d{4})_(?P<image>\d{3})_(?P<camera>\d\d)_(?P<date>\d{4})"
        r"(?:morning|noon|afternoon)_\d{4}_\d+(?:_ex)?",
        "the lists of MSMT17_V1 (SamvitJ/MSMT17-Dataset, a7687ff); Wei et al., CVPR 2018"),
    "cuhk03-np": (
        "CUHK03-NP", "0003_c1_21.png",
        r"(?P<identity>\d{4})_c(?P<camera>\d)_(?P<image>\d{1,18})",
        "zhunzhong07/person-re-ranking, CUHK03-NP/README.md"),
    "mars": (
        "MARS", "0001C1T0001F001.jpg",
        r"(?P<identity>00-1|\d{4})C(?P<camera>\d)T(?P<tracklet>\d{4})F(?P<frame>\d{3,4})",
        "liangzheng06/MARS-evaluation, utils/info_mars.m; junk is 00-1"),
    "veri776": (
        "VeRi-776", "0002_c002_00030600_0.jpg",
        r"(?P<identity>\d{4})_c(?P<camera>\d{2,3})_(?P<frame>\d{8})_(?P<box>\d{1,18})",
        "liu-xb/RAM, ex.txt (fb92aab)")}.items()})


def parse_names(names: Iterable[str | os.PathLike[str]],
                form: str | None = None) -> dict[str, Integers]:
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
        `identity` (-1 is junk), `camera`, and what else the form tells: `frame`, `tracklet`,
        `sequence`, `image`, `date` (month and day), `box`.

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
            known = ", ".join(f"{naming.example} ({naming.title})" for naming in FORMS.values())
            raise InputError("names[0]", f"a file name such as {known}", repr(listed[0]))
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


def names_in_folder(folder: Path, root: Path) -> list[str]:
    """Return the names of the images of a folder, relative to a root, in the order of features."""
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    subfolders = [subfolder for path in classes for subfolder, _, _ in sorted(os.walk(path))]
    return _images_in(folder, root) or [
        name for subfolder in subfolders for name in _images_in(Path(subfolder), root)]


def _images_in(folder: Path, root: Path) -> list[str]:
    return sorted((folder / name).relative_to(root).as_posix() for name in os.listdir(folder)
                  if name.lower().endswith(SUFFIXES))
