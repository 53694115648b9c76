"""Labels of all images of a set, and which of these images the names in a file mean."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reid_ref.arrays import InputError, Integers, LabelWarning, warn
from reid_ref.arrays.value import Value
from reid_ref.evaluation.lists import short_name
from reid_ref.files.layouts import SIDES
from reid_ref.files.split import Named, rows_of_sides
from reid_ref.files.stored_arrays import StoredArray
from reid_ref.labels import Labels


@dataclass(frozen=True, eq=False)
class Order(Value):
    """Which images a loader takes, and in which order.

    Parameters
    ----------
    words : str
    query, gallery : int64 arrays
        Places in the labels of all images.
    known : bool
        Whether it can be known without the labels of the file.
    """

    words: str
    query: Integers
    gallery: Integers
    known: bool

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of images."""
        return len(self.query), len(self.gallery)


@dataclass(frozen=True, eq=False)
class GivenLabels(Value):
    """Labels of all images of a set, and the orders in which loaders take them.

    Parameters
    ----------
    title : str
        The set.
    where : str
        The folder or file that they are from.
    query, gallery : Labels
        Of all images; `name` is the path of each, if the images have names.
    orders : tuple of Order
        The usual ones; the first that fits is taken.
    remark : str
        What to know if no order has the number of rows.
    same : bool
        Whether query and gallery are the same images, of which a file may have one matrix.
    """

    title: str
    where: str
    query: Labels
    gallery: Labels
    orders: tuple[Order, ...]
    remark: str = ""
    same: bool = False


def by_names(named: Named, sets: Sequence[GivenLabels]) -> tuple[GivenLabels, Order] | None:
    """Return the set that has all images that the file names, in the file's order."""
    found = {role: named[role][0] for role in ("query_paths", "gallery_paths", "paths")
             if role in named}
    read = {role: array for role, array in found.items() if array.text}
    for array in found.values():
        if not array.text:
            warn(f"{array.where}: the names of the images are not read ({array.summary}), so the "
                 "order of the images is not checked by them", LabelWarning)
    if not ({"query_paths", "gallery_paths"} <= read.keys() or "paths" in read):
        return None
    errors = []
    for given in sets:
        if given.query.name is None:
            continue
        try:
            return given, Order("by the names of the images", *_places(named, read, given), True)
        except InputError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return None


def _places(named: Named, read: Mapping[str, StoredArray],
            given: GivenLabels) -> tuple[Integers, Integers]:
    """Return which images the names mean."""
    sides = [_Names(getattr(given, side), given) for side in SIDES]
    if "query_paths" in read and "gallery_paths" in read:
        query, gallery = (side.find(read[f"{key}_paths"]) for key, side in zip(SIDES, sides))
        return query, gallery
    whole = read["paths"]
    if given.same and not {"num_query", "is_query"} & named.keys():
        images = sides[0].find(whole)
        return images, images
    rows = rows_of_sides(named, {"paths": whole}) or sides[0].leading(whole)
    query, gallery = (side.find(whole.part(rows[key], True)) for key, side in zip(SIDES, sides))
    return query, gallery


class _Names:
    """The images of a side by as much of the end of their paths as tells them apart."""

    def __init__(self, labels: Labels, given: GivenLabels) -> None:
        names = labels.names() or []
        depths = range(1, 2 + max(name.count("/") for name in names))
        self.depth = next((depth for depth in depths if len(
            {_end(name, depth) for name in names}) == len(names)), depths[-1])
        self.places = {_end(name, self.depth): k for k, name in enumerate(names)}
        self.given = given

    def find(self, array: StoredArray) -> Integers:
        """Return the place of every image."""
        names = array.names().tolist()
        places = [self.places.get(_end(name, self.depth)) for name in names]
        if None in places:
            row = places.index(None)
            raise InputError(f"{array.where}: row {row + 1}", f"an image of {self.given.title} "
                             f"in {self.given.where}", repr(names[row][-80:]))
        return np.array(places, dtype=np.int64)

    def leading(self, array: StoredArray) -> dict[str, slice]:
        """Return the rows of both sides, of which the first ones are here."""
        here = [_end(name, self.depth) in self.places for name in array.names().tolist()]
        n = here.index(False) if False in here else len(here)
        return {"query": slice(0, n), "gallery": slice(n, None)}


def _end(name: str, depth: int) -> str:
    folders = name.replace("\\", "/").split("/")[:-1]
    return "/".join([*folders[len(folders) - depth + 1:], short_name(name)])
