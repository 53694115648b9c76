"""Do the names of images fit their labels? A wrong order shows wrong pictures."""
from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, Integers, warn
from reid_ref.datasets.names import form_of, parse_names
from reid_ref.labels import Labels

_CLASS = re.compile(r"(?:.*/)?(-1|\d{1,18})/[^/]*")


def check_names(names: Sequence[str], labels: Labels, side: str) -> None:
    """Refuse names whose identity or camera is not that of the labels.

    Parameters
    ----------
    names : sequence of str
        One an image, in the order of the labels.
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
    reid_ref.arrays.errors.InputError: query names: image 0 is '0002_c1_2.jpg', of identity 2 ...
    """
    if not names:
        return
    if form_of(names[0]) is None:
        _check_classes(names, labels, side)
        return
    parsed = parse_names(names, form_of(names[0]))
    identity, camera = parsed["identity"], parsed["camera"]
    shift = -1 if np.array_equal(camera - 1, labels.camera) else 0
    _refuse(names, side, labels, identity, camera,
            (identity != labels.identity) | (camera + shift != labels.camera))


def _check_classes(names: Sequence[str], labels: Labels, side: str) -> None:
    """Check the folder of each image, where it is a number, as ImageFolder's classes are."""
    found = [_CLASS.fullmatch(name.replace("\\", "/")) for name in names]
    if not all(found):
        warn(f"{side} names: {names[0]!r} says neither identity nor camera, so the order of the "
             "images is not checked")
        return
    identity = np.array([int(one[1]) for one in found if one], dtype=np.int64)
    _refuse(names, side, labels, identity, None, identity != labels.identity)


def _refuse(names: Sequence[str], side: str, labels: Labels, identity: Integers,
            camera: Integers | None, bad: npt.NDArray[np.bool_]) -> None:
    if not bad.any():
        return
    k = int(np.argmax(bad))
    said = f"identity {identity[k]}" + ("" if camera is None else f" and camera {camera[k]}")
    raise InputError(
        f"{side} names: image {k} is {names[k]!r}, of {said} by its name, but of identity "
        f"{labels.identity[k]} and camera {labels.camera[k]} by its label, and {bad.sum():,} of "
        f"{len(names):,} differ so; give the names in the order of the features with "
        f"--{side}-names FILE")
