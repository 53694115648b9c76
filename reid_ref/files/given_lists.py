"""Ranked lists of the images of a set whose labels come from elsewhere."""
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from reid_ref.arrays import InputError
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files.formats import read_contents
from reid_ref.files.image_places import GivenLabels, Order
from reid_ref.files.lists import read_ranked_lists
from reid_ref.ranking.ranked_lists import RankedLists


def holds_lists(path: Path) -> bool:
    """Return whether a file is one of ranked lists: text, .json, or a .npy of whole numbers."""
    if path.is_dir() or path.suffix.lower() in (".npz", ".mat", ".pt", ".pth", ".pkl", ".h5",
                                                ".hdf5"):
        return False
    if path.suffix.lower() not in (".npy", ".csv", ".tsv"):
        return True
    with contextlib.suppress(InputError):  # lists of different length
        return all(array.dtype.kind in "iuU" and key != "distances"
                   for key, array in read_contents(path).values.items())
    return True


def lists_with_labels(path: Path, sets: Sequence[GivenLabels],
                      first: int | None = None) -> ResultFile:
    """Return the ranked lists of a file with the labels of a set.

    Names mean images of the whole set. Numbers are of the images that a loader takes, in an order
    that is known.

    Raises
    ------
    InputError
        A file that cannot be read, or numbers of images that two loaders count differently.
    """
    errors: list[InputError] = []
    for given, order in _largest_first(sets):
        query, gallery = given.query[order.query], given.gallery[order.gallery]
        try:
            ranked = read_ranked_lists(path, len(query), query.names(), gallery.names(), first)
        except InputError as error:
            errors.append(error)
            continue
        if (sizes := _galleries(given, order)) > {len(gallery)} and _are_numbers(
                path, len(query), query.names(), first):
            order = _of_length(path, given, order, ranked, sizes)
            gallery = given.gallery[order.gallery]
        return ResultFile(f"ranked lists; labels of {given.title}'s folder: {order.words}", query,
                          gallery, ranked=ranked)
    raise errors[0]


def _largest_first(sets: Sequence[GivenLabels]) -> Iterator[tuple[GivenLabels, Order]]:
    """Yield an order for each number of queries, that of the most gallery images."""
    for given in sets:
        by_queries: dict[int, Order] = {}
        for order in sorted((order for order in given.orders if order.known),
                            key=lambda order: -len(order.gallery)):
            by_queries.setdefault(len(order.query), order)
        yield from ((given, order) for order in by_queries.values())


def _galleries(given: GivenLabels, order: Order) -> set[int]:
    return {len(other.gallery) for other in given.orders
            if other.known and len(other.query) == len(order.query)}


def _are_numbers(path: Path, n_query: int, query_names: list[str] | None,
                 first: int | None) -> bool:
    """Return whether lists can be read without the names of gallery images."""
    try:
        return bool(read_ranked_lists(path, n_query, query_names, None, first))
    except InputError:
        return False


def _of_length(path: Path, given: GivenLabels, order: Order, ranked: RankedLists,
               sizes: set[int]) -> Order:
    """Return the order of as many gallery images as the longest list has."""
    for other in given.orders:
        if other.known and other.sizes == (len(order.query), ranked.longest):
            return other
    raise InputError(
        path, f"complete lists, of {' or '.join(f'{size:,}' for size in sorted(sizes))} images, "
        "or names of images", f"numbers in lists of {ranked.longest:,}, which count other images "
        "if a loader leaves some out", "write names, or name the label files of the gallery")
