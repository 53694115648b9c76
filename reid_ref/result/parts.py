"""What a result is made of: numbers and statuses of queries, counts, fingerprints of labels."""
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import Array, Doubles, Integers, Mask, Texts, Value
from reid_ref.conventions import only_ignored
from reid_ref.disk import tables_of
from reid_ref.labels import Labels, fingerprint

#: What became of a query, in the order in which reports list them, with its meaning. If a
#: convention ignores by more than camera or location, the status names that in the place of these:
#: "only same camera or same clothes".
STATUSES: Mapping[str, str] = tables_of("result/statuses.toml")


def statuses_of(ignored: Iterable[str]) -> list[str]:
    """Return every status that a query can have where a convention ignores this."""
    return [*dict.fromkeys(filter(None, (*STATUSES, only_ignored(ignored))))]


@dataclass(frozen=True, eq=False, kw_only=True)
class PerQuery(Value):
    """The numbers of each of n queries; every array has shape (n,), and cannot be written to.

    Parameters
    ----------
    values : mapping of str to float64
        By the names of the measures in `reid_ref.measures.COLUMNS`; `Result.of_query` gives those
        of every measure.
    first_match : int64
        1-based rank of the first match among kept images; 0 is none.
    n_good, n_junk : int64
        Good and ignored gallery images.
    status : str
        A key of `STATUSES`, or what else the query shares with all images of its identity:
        "only same clothes".
    identity : int64
        Who the query shows: queries of one identity are no independent samples.
    camera : int64
        Which camera took the query; empty if unknown.
    words : mapping of str to array of str
        The texts that the numbers of a column stand for, as in `Labels`.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> from reid_ref import Labels
    >>> result = reid_ref.evaluate_distances(
    ...     np.array([[.2, .1, .3]]), Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3]))
    >>> result.per_query.first_match, result.per_query.n_good, result.per_query.status.tolist()
    (array([2]), array([2]), ['ok'])
    """

    values: Mapping[str, Doubles]
    first_match: Integers
    n_good: Integers
    n_junk: Integers
    status: Texts
    identity: Integers
    camera: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    words: Mapping[str, Texts] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._copy_arrays()

    @property
    def ap(self) -> Doubles:
        """float64, shape (n,): average precision in [0, 1], as `compute_AP.m` returns it.

        NaN without a good image, but 0 if no image is kept.
        """
        return self.values["mAP"]

    @property
    def inp(self) -> Doubles:
        """float64, shape (n,): inverse negative penalty in (0, 1].

        NaN without a ranked good image.
        """
        return self.values["mINP"]

    @property
    def matched(self) -> Mask:
        """bool, shape (n,): whether the query has a good image that can have a rank."""
        return np.asarray(self.status == "ok")

    def labels(self) -> Labels:
        """Return the labels of the queries, without cameras if these are not known."""
        return Labels(self.identity, self.camera if self.camera.size else None, words=self.words)

    def texts(self, name: str) -> Array:
        """Return a column as it was given: labels that are text are text."""
        known = name in self.words
        return self.labels().texts(name) if known else np.asarray(getattr(self, name))


@dataclass(frozen=True)
class Counts:
    """How many images and queries of each kind there were.

    Parameters
    ----------
    query, gallery : int
        Images on either side.
    gallery_junk : int
        Gallery images labelled -1.
    gallery_not_loaded : int
        Those of them that the toolbox's loader leaves out.
    gallery_distractors : int
        Gallery images labelled 0, which are wrong answers for every query; none if a query is
        labelled 0, too: then 0 is a person, as in MSMT17.
    gallery_kept : int
        Gallery images that are loaded, and not ignored for every query. For each query, those
        of its identity on its own camera are ignored as well.
    good, junk_same_camera : int
        Pairs of query and gallery image, over all queries: good ones, and those ignored
        otherwise than for their label (the query's identity on its own camera).
    tied : int
        Queries with a good image at the very distance of a wrong one: their numbers depend on
        the order of ties.
    status : dict of str to int
        Queries by status: each key of `STATUSES`, and that of what the convention ignores.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> from reid_ref import Labels
    >>> counts = reid_ref.evaluate_distances(
    ...     np.array([[.2, .1, .3]]), Labels([7], [1]), Labels([7, -1, 7], [2, 2, 3])).counts
    >>> counts.gallery, counts.gallery_junk, counts.good, counts.status["ok"]
    (3, 1, 2, 1)
    """

    query: int
    gallery: int
    gallery_junk: int
    gallery_not_loaded: int
    gallery_distractors: int
    gallery_kept: int
    good: int
    junk_same_camera: int
    tied: int
    status: dict[str, int]

    @property
    def loaded(self) -> tuple[int, int]:
        """Queries and gallery images that the toolbox's loader takes: those of the signature."""
        return (self.query - self.status.get("not loaded", 0),
                self.gallery - self.gallery_not_loaded)


class Checksums(NamedTuple):
    """CRC-32 of each column; empty if unknown."""

    identity: str = ""
    camera: str = ""


class Fingerprints(NamedTuple):
    """What identifies the labels of both sides."""

    query: Checksums = Checksums()
    gallery: Checksums = Checksums()


def fingerprint_of(labels: Labels) -> Checksums:
    """Return the fingerprint of each column."""
    return Checksums(fingerprint(labels.texts("identity")), fingerprint(
        None if labels.camera is None else labels.texts("camera")))


def for_all(values: Array, loaded: Mask, absent: Any) -> Array:
    """Return one value per query, given those of the loaded queries."""
    if loaded.all():
        return values
    dtype = np.result_type(values, np.asarray(absent)) if values.dtype.kind == "U" else None
    every = np.full(len(loaded), absent, dtype=dtype or values.dtype)
    every[loaded] = values
    return every


@dataclass(frozen=True, eq=False)
class AtK(Value):
    """Numbers of the first k kept images; see `Result.at`.

    Parameters
    ----------
    k : int
    accuracy, precision, recall, mAP : float
        Means over the queries that count, in [0, 1].
    per_query : dict of str to float64 arrays, shape (n,)
        By "accuracy", "precision", "recall" and "ap"; NaN if a query has none.
    """

    k: int
    accuracy: float
    precision: float
    recall: float
    mAP: float
    per_query: dict[str, Doubles] = field(repr=False)


class QueryValues(NamedTuple):
    """What a number is the mean of.

    Parameters
    ----------
    mean : float
        The number, as the convention's own arithmetic has it.
    values : float64, shape (n,)
        One per query; 0 if it does not count.
    counted : bool, shape (n,)
        Which queries are in the mean, by the convention's rule for this metric.
    """

    mean: float
    values: Doubles
    counted: Mask
