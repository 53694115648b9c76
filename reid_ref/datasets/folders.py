"""The folder of a data set → labels of its images, in the orders in which loaders take them.

Conventions: where the images are, whose loader takes which of them and in which order are in the
tables `folders` of each benchmark's file (``reid_ref/datasets/NAME.toml``). Identities and cameras
are the numbers in the names; PRCC's cameras A, B and C are 0, 1 and 2, and a camera of VehicleID
is the number of the image, as in Simple-CCReID and fast-reid.

Source: the loaders that each table names.
"""
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.arrays import (
    BenchmarkWarning, InputError, Integers, Mask, errors_at, in_a_line, warn)
from reid_ref.datasets.benchmarks import BENCHMARKS
from reid_ref.datasets.fingerprints import recognise
from reid_ref.datasets.labels import read_cuhk03
from reid_ref.datasets.records import tables
from reid_ref.disk import PathLike, read_lines
from reid_ref.evaluation.lists import short_name
from reid_ref.files.image_names import SUFFIXES, form_of, listed_names, parse_names
from reid_ref.files.image_places import GivenLabels, Order
from reid_ref.labels import Labels

#: Query and gallery, and for each order of images on disk the places of both sides.
Sides = tuple[Labels, Labels, Mapping[str, tuple[Integers, Integers]]]
_VEHICLE = re.compile(r"([0-9]{1,18}) ([0-9]{1,18})")
#: The orders of loaders, in words, and whether they are known without the loader's machine.
ORDERS = {"sorted": ("sorted names", True), "lines": ("the lines of the set's lists", True),
          "listed": ("as the file system lists the images", False)}


def read_folder(folder: PathLike) -> tuple[GivenLabels, ...]:
    """Read the labels of query and gallery from the folder of a data set.

    Parameters
    ----------
    folder : str or path
        Of Market-1501, DukeMTMC-reID, Occluded-Duke, MSMT17, CUHK03-NP, VeRi-776, VehicleID,
        LTCC or PRCC, as it is unpacked, or as layumi's scripts prepare it. Images are not opened.

    Returns
    -------
    tuple of GivenLabels
        Several if the folder has several test sets: labelled and detected boxes of CUHK03-NP, the
        lists of VehicleID. ``reid_ref.read(FILE, labels=...)`` takes them.

    Raises
    ------
    InputError
        No folder, one of none of these sets, or a name that is not of the set.

    Warns
    -----
    BenchmarkWarning
        The numbers of images are not those of the benchmark.

    Examples
    --------
    >>> import tempfile, warnings
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for name in ("query/094_1_c9_015833.png", "test/094_2_c4_000007.png"):
    ...         Path(root, name).parent.mkdir()
    ...         Path(root, name).touch()
    ...     with warnings.catch_warnings(action="ignore"):
    ...         ltcc, = read_folder(root)
    >>> ltcc.title, ltcc.query.identity, ltcc.gallery.clothes
    ('LTCC', array([94]), array([1]))
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(folder, "the folder of a data set")
    found = [each for key, table in _folders() for each in _sets_of(key, table, root)]
    if not found:
        names = in_a_line([f"{BENCHMARKS[key].name}: {' and '.join(table['places'][0])}"
                           for key, table in _folders()], "Market-1501")
        raise InputError(folder, f"the folder of a data set ({names})",
                         in_a_line(sorted(os.listdir(root))) or "an empty folder",
                         "name the folder that contains these")
    by_place: dict[Path, GivenLabels] = {}
    for key, place, given in found:  # DukeMTMC-reID and Occluded-Duke differ in their counts alone
        if place not in by_place or _is_whole(key, given):
            by_place[place] = given
    for key, place, given in found:
        if by_place[place] is given and not _is_whole(key, given):
            _warn_of_counts(key, given)
    return tuple(by_place.values())


def _folders() -> list[tuple[str, Mapping[str, Any]]]:
    """Return the key of each benchmark with every form that its folder may have."""
    return [(key, folder) for key, table in tables().items()
            for folder in table.get("folders", ())]


def _counts(key: str) -> list[tuple[int, int]]:
    """Return the numbers of query and gallery images of a benchmark, or of its parts."""
    table = tables()[key]
    rows = [table["fingerprint"]] if "fingerprint" in table else table["images"]
    return [(row["query"], row["gallery"]) for row in rows]


def _is_whole(key: str, given: GivenLabels) -> bool:
    return (len(given.query), len(given.gallery)) in _counts(key)


def _warn_of_counts(key: str, given: GivenLabels) -> None:
    """Warn of other numbers of images than the benchmark's; some are told with the result."""
    if recognise(given.query, given.gallery) is None:
        n_query, n_gallery = max(_counts(key), key=sum)
        warn(f"{given.where}: {len(given.query):,} query and {len(given.gallery):,} gallery "
             f"images, but {given.title} has {n_query:,} and {n_gallery:,}", BenchmarkWarning)


def _sets_of(key: str, table: Mapping[str, Any],
             root: Path) -> Iterator[tuple[str, Path, GivenLabels]]:
    """Yield the test sets of a benchmark that a folder has, each with its place."""
    for below in table.get("below", [""]):
        for place in table["places"]:
            paths = [root / below / path for path in place]
            if not all(path.exists() for path in paths):
                continue
            with errors_at(root / below):
                sides = _READERS[table["kind"]](paths, root, table.get("names", ""))
            if sides is not None:
                query, gallery, placed = sides
                yield key, paths[-1], GivenLabels(
                    BENCHMARKS[key].name, str(root), query, gallery,
                    tuple(_orders(table["orders"], query, gallery, placed)),
                    table.get("remark", ""), table["kind"] == "vehicles")
                if table["kind"] != "vehicles":  # of which each list is a test set
                    return


def _orders(loaders: list[dict[str, Any]], query: Labels, gallery: Labels,
            placed: Mapping[str, tuple[Integers, Integers]]) -> Iterator[Order]:
    """Yield the images that each loader takes, in its order."""
    for loader in loaders:
        if loader["order"] not in placed:
            continue
        words, known = ORDERS[loader["order"]]
        sides = [places[_kept(labels, loader)[places]] for labels, places in
                 zip((query, gallery), placed[loader["order"]])]
        if "cameras" in loader and query.camera is not None:
            sides[0] = sides[0][np.isin(query.camera[sides[0]], loader["cameras"])]
            words += f", queries of {loader['words']}"
        words += f", without {loader['without']}" if "without" in loader else ""
        words += f", as in {loader['loaders']}" if "loaders" in loader else ""
        yield Order(words, sides[0], sides[1], known)


def _kept(labels: Labels, loader: Mapping[str, Any]) -> Mask:
    """Return which images a loader does not leave out, by `without`: a label or a name."""
    without = str(loader.get("without", ""))
    kept = np.ones(len(labels), dtype=bool)
    if without.startswith("label "):
        kept[labels.identity == int(without.removeprefix("label "))] = False
    elif without:
        kept[[short_name(name) == short_name(without) for name in labels.names() or ()]] = False
    return kept


# ---------------------------------------------------------------- kinds of folders

def _read_names(paths: list[Path], root: Path, form: str) -> Sides | None:
    """Read two folders of images, or two lists of their names; None if they have other names."""
    sides = [_names_on_disk(path, root) for path in paths]
    if not all(names and form_of(names[0]) == form for names in sides):
        return None
    parsed = []
    for path, names in zip(paths, sides):
        with errors_at(path.name):
            parsed.append(parse_names(names, form))
    clothes: list[Any] = [None, None]
    if "outfit" in parsed[0]:
        # A number for each person and outfit of both sides, in the order of the names.
        outfits = [short_name(name).rpartition("_c")[0] for names in sides for name in names]
        numbers = np.unique(outfits, return_inverse=True)[1].astype(np.int64)
        clothes = [numbers[:len(sides[0])], numbers[len(sides[0]):]]
    query, gallery = (Labels(numbers["identity"], numbers["camera"], clothes=worn, name=names)
                      for numbers, worn, names in zip(parsed, clothes, sides))
    given = "lines" if paths[0].is_file() else "listed"
    return query, gallery, _placed(given, *sides)


def _placed(given: str, *sides: list[str]) -> dict[str, tuple[Integers, Integers]]:
    """Return the places of both sides in the order given and in that of sorted names."""
    query, gallery = ([np.arange(len(names)), np.array(sorted(
        range(len(names)), key=lambda k: names[k].split("/")), dtype=np.int64)]
        for names in sides)
    return {given: (query[0], gallery[0]), "sorted": (query[1], gallery[1])}


def _names_on_disk(path: Path, root: Path) -> list[str]:
    """Return the names in a list, or those of a folder's images in the order of `os.listdir`."""
    if path.is_file():
        return [line.split()[0] for line in listed_names(path)]
    entries = [name for name in os.listdir(path) if not name.startswith(".")]
    below = path.relative_to(root).as_posix()
    images = [f"{below}/{name}" for name in entries if name.lower().endswith(SUFFIXES)]
    return images or [image for name in entries if (path / name).is_dir()
                      for image in _names_on_disk(path / name, root)]


def _read_cameras(paths: list[Path], root: Path, _: str) -> Sides:
    """Read PRCC: a folder for each camera, A, B and C, with one for each person."""
    images = [_names_on_disk(path, root) for path in paths]
    camera = np.repeat(np.arange(len(paths)), list(map(len, images)))
    names = [name for of_camera in images for name in of_camera]
    persons = [name.split("/")[-2] for name in names]
    for name, person in zip(names, persons):
        if not re.fullmatch("[0-9]{1,9}", person):
            raise InputError(name, "an image in a folder named by the person, such as 032")
    identity, number = np.unique(np.array(persons, dtype=np.int64), return_inverse=True)
    # Cameras A and B see the same clothes, camera C others.
    clothes = 2 * number + (camera == len(paths) - 1)
    labels = Labels(identity[number], camera, clothes=clothes, name=names)
    gallery, query = labels[camera == 0], labels[camera > 0]
    return query, gallery, _placed("listed", query.names() or [], gallery.names() or [])


def _read_vehicles(paths: list[Path], root: Path, _: str) -> Sides:
    """Read a list of VehicleID: image and vehicle; all images are on both sides."""
    rows = []
    for number, line in enumerate(read_lines(paths[0], "lines of image and vehicle"), 1):
        match = _VEHICLE.fullmatch(line.strip())
        if match is None:
            raise InputError(f"{paths[0]}: line {number}", "numbers of image and vehicle",
                             repr(line[:40]))
        rows.append(match.groups())
    labels = Labels([int(vehicle) for _, vehicle in rows], [int(image) for image, _ in rows],
                    name=[f"image/{image}.jpg" for image, _ in rows])
    places = np.arange(len(labels))
    return labels, labels, {"lines": (places, places)}


def _read_configuration(paths: list[Path], root: Path, _: str) -> Sides:
    """Read the configuration of CUHK03-NP, whose images have no names that are read."""
    whole = read_cuhk03(paths[0])
    query, gallery = whole.labels[whole.query], whole.labels[whole.gallery]
    return query, gallery, {"lines": (np.arange(len(query)), np.arange(len(gallery)))}


_READERS = {"names": _read_names, "cameras": _read_cameras, "vehicles": _read_vehicles,
            "configuration": _read_configuration}
