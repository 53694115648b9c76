"""The rows of each trial: given by the caller or a file, or drawn by seeds."""
import random
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import BenchmarkWarning, InputError, Integers, as_integers, warn
from reid_ref.disk import PathLike, check_regular, read_json
from reid_ref.files.formats import read_contents
from reid_ref.files.mat import read_array, variables
from reid_ref.labels import Labels, cells
from reid_ref.protocols.record import MOST_TRIALS, Exact, Given, Part, Protocol, Seeded, Sides


class TrialRows(NamedTuple):
    """Rows of the query and of the gallery array, as numbers; None is every row."""

    query: Any
    gallery: Any


#: The trials of a result that is one of several: all its rows, once.
ONE_OF_SEVERAL = (TrialRows(None, None),)
_TRIALS = ("rand_perm_cam.mat, an .npz file with gallery (and query) of shape (trials, rows), or "
           "JSON pairs")


def rows_of_trials(protocol: Protocol, part: Part, sides: Sides, given: Any,
                   shots: int) -> Iterator[tuple[Integers, Integers]]:
    """Yield the rows of who asks and who answers in each trial, each of its own side."""
    asks, answers, trials = part.query.of(sides), part.gallery.of(sides), protocol.trials
    if given is not None:
        for pair in _checked(given, sides):
            yield (_among(getattr(pair, part.query.side), asks),
                   _among(getattr(pair, part.gallery.side), answers))
    elif isinstance(trials, Seeded):
        rows_of, rows = (part.query, asks) if part.query.drawn else (part.gallery, answers)
        for trial in range(trials.n):
            drawn = trials.rows(random.Random(trials.seed + trial), sides[rows_of.side], rows,
                                shots)
            if part.query.drawn:
                yield drawn, answers
            else:
                yield asks if part.query.drawn is None else np.setdiff1d(asks, drawn), drawn
    else:
        n, file = trials if isinstance(trials, Given) else Given()
        if file:
            raise InputError("trials", f"{file}, for {protocol.name} is the mean of {n} given "
                             "galleries", "none", f"trials=read_trials({file!r}, gallery), or "
                             f"--trials {file}")
        if n > 1:
            warn(f"{protocol.name} is the mean of {n} trials, and this is one: give the rows of "
                 "each, or the files of all (average_trials in Python)", BenchmarkWarning)
        yield asks, answers


def checksum_of(trials: Iterable[tuple[Integers, Integers]]) -> str:
    """Return a checksum of which rows ask and answer in each trial, for the signature.

    Examples
    --------
    >>> checksum_of([(np.array([0, 1]), np.array([2]))])
    '017cecb5'
    """
    checksum = 0
    for rows in chain.from_iterable(trials):
        checksum = zlib.crc32(np.append(len(rows), rows).astype("<i8").tobytes(), checksum)
    return f"{checksum:08x}"


def _among(rows: Integers | None, chosen: Integers) -> Integers:
    """Return the rows of a trial that the part takes, in the trial's order."""
    return chosen if rows is None else rows[np.isin(rows, chosen)]


def _checked(given: Any, sides: Sides) -> Iterator[TrialRows]:
    """Yield pairs of rows, checked: in range, each row once."""
    pairs = list(given)
    if not pairs:
        raise InputError("trials", "at least one pair of query rows and gallery rows", "none")
    for k, pair in enumerate(pairs):
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise InputError(f"trials[{k}]", "a pair: query rows or None, gallery rows or None",
                             type(pair).__name__)
        yield TrialRows(*(None if rows is None else
                          _checked_rows(rows, f"trials[{k}], {side}", len(sides[side]))
                          for side, rows in zip(sides, pair)))


def _checked_rows(given: Any, name: str, n: int) -> Integers:
    rows = as_integers(given, name)
    if len(rows) == 0 or rows.min() < 0 or rows.max() >= n:
        raise InputError(name, f"rows from 0, below {n}",
                         f"{rows.min()} to {rows.max()}" if len(rows) else "no row",
                         "trials of another file?")
    repeated = np.flatnonzero(np.bincount(rows) > 1)
    if len(repeated):
        raise InputError(name, "each row once", f"row {repeated[0]} twice")
    return rows


def permuted_galleries(permutations: Any, gallery: Labels, shots: int = 1) -> list[TrialRows]:
    """Return the ten trials of SYSU-MM01's authors, as pairs for `evaluate_protocol`.

    Parameters
    ----------
    permutations : array of object, shape (6, 1)
        `rand_perm_cam` of rand_perm_cam.mat, as `scipy.io.loadmat` returns it: by camera and
        identity the order of the images, counted from 1, in each of ten trials.
    gallery : Labels
        All images of the test identities on the visible cameras, those of an identity and camera
        in the order of their file names.
    shots : int
        Images of each identity and camera in a trial.

    Raises
    ------
    InputError
        An identity and camera with another number of images than its permutations.

    Examples
    --------
    >>> order = np.empty((1, 1), object)
    >>> order[0, 0] = np.empty((7, 1), object)
    >>> order[0, 0][6, 0] = np.array([[2, 1], [1, 2]])
    >>> permuted_galleries(order, Labels([7, 7], [1, 1]))[0].gallery
    array([1])
    """
    orders = []
    for (camera, identity), rows in cells(gallery, "camera", "identity").items():
        try:
            order = np.asarray(permutations[camera - 1, 0][identity - 1, 0], dtype=np.int64)
        except (IndexError, TypeError, ValueError):
            order = np.zeros((0, 0), np.int64)
        if order.ndim != 2 or order.shape[1] != len(rows) or not (
                np.sort(order, axis=1) == np.arange(1, len(rows) + 1)).all():
            raise InputError(
                "trials", f"permutations of the {len(rows)} images of identity {identity} on "
                f"camera {camera}", f"permutations of {order.shape[-1]}", "the gallery must be "
                "all images of the test identities, not one trial's")
        if shots > len(rows):
            raise InputError("shots", f"at most {len(rows)}, the images of identity {identity} "
                             f"on camera {camera}", shots)
        orders.append(rows[order[:, :shots] - 1])
    return [TrialRows(None, np.concatenate([rows[trial] for rows in orders]))
            for trial in range(len(orders[0]))]


def read_trials(path: PathLike, gallery: Labels, shots: int = 1) -> list[TrialRows]:
    """Read the rows of every trial from a file.

    Parameters
    ----------
    path : str or path
        SYSU-MM01's rand_perm_cam.mat; an .npz file with `gallery` and perhaps `query`, one row
        of rows per trial; or a .json file: a list of pairs, of lists or null.
    gallery : Labels
    shots : int
        Of rand_perm_cam.mat.

    Raises
    ------
    InputError
        The file cannot be read, or is none of these.
    """
    try:
        pairs = _pairs(path, gallery, shots)
    except InputError:
        raise
    except Exception as error:  # readers raise whatever a damaged file makes of them
        raise InputError(path, _TRIALS, f"{type(error).__name__}: {error}") from None
    if len(pairs) > MOST_TRIALS:
        raise InputError(path, f"at most {MOST_TRIALS:,} trials", f"{len(pairs):,}")
    return pairs


def _pairs(path: PathLike, gallery: Labels, shots: int) -> list[TrialRows]:
    suffix = Path(path).suffix.lower()
    check_regular(path)
    if suffix == ".mat":
        with open(path, "rb") as file:
            every = {variable.name: variable for variable in variables(file)}
            permutations = read_array(file, every["rand_perm_cam"])
        return permuted_galleries(permutations, gallery, shots)
    if suffix == ".npz":
        arrays = read_contents(Path(path)).values
        rows = arrays["gallery"].load()
        queries: Any = arrays["query"].load() if "query" in arrays else [None] * len(rows)
        return [TrialRows(*pair) for pair in zip(queries, rows, strict=True)]
    return [TrialRows(*pair) for pair in read_json(path, _TRIALS)]


def check_averaged(protocol: Protocol, argument: str, n: int) -> int:
    """Return how many trials a protocol has; refuse several results if it has one."""
    if isinstance(protocol.trials, Exact) or protocol.trials.n == 1:
        raise InputError(argument, f"one result, for {protocol.name} has one trial", n,
                         "evaluate each system in a call of its own, or compare them")
    return protocol.trials.n
