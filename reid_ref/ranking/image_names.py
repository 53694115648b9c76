"""Images by their names: with or without folders and suffix."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from reid_ref.arrays import InputError

#: Some names of Market-1501 end in .jpg.jpg.
SUFFIX = r"(?:\.(?:jpe?g|png|bmp))+"


def plain(name: str) -> str:
    """Return a name without folders and suffix.

    Examples
    --------
    >>> plain("query/0002_c1s1_000451_03.jpg.jpg"), plain("17")
    ('0002_c1s1_000451_03', '17')
    """
    return re.sub(f"{SUFFIX}$", "", re.split(r"[/\\]", name)[-1], flags=re.IGNORECASE)


def places_of(names: Sequence[str], argument: str) -> Mapping[str, int]:
    """Return where each image stands, by its name, and by its plain name where no two share it.

    Raises
    ------
    InputError
        A name that comes twice.

    Examples
    --------
    >>> places_of(["a/1.jpg", "b/1.jpg", "b/2.jpg"], "names")
    {'2': 2, 'a/1.jpg': 0, 'b/1.jpg': 1, 'b/2.jpg': 2}
    """
    exact: dict[str, int] = {}
    short: dict[str, int] = {}
    shared = set()
    for k, name in enumerate(map(str, names)):
        if name in exact:
            raise InputError(f"{argument}: expected each name once, got {name!r} twice, for image "
                             f"{exact[name]} and image {k}")
        exact[name] = k
        if short.setdefault(plain(name), k) != k:
            shared.add(plain(name))
    return {**{name: k for name, k in short.items() if name not in shared}, **exact}


def place(places: Mapping[str, int], word: str) -> int | None:
    """Return where the image of that name stands, or None."""
    return places.get(word, places.get(plain(word)))
