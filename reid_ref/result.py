"""What comes out: `Result`, `PerQuery`, `Counts`, and the signature of a number."""
from __future__ import annotations

import math
import numbers
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref._version import __version__
from reid_ref.arrays import Doubles, InputError, Integers, read_only
from reid_ref.labels import Labels

#: What became of a query, in the order in which reports list them, with its meaning.
FATES = {
    "fine": "at least one good image",
    "identity absent": "no gallery image has the query's identity",
    "only same camera": "the query's identity is in the gallery, but only on its own camera",
    "only same location": "the same, where a location is what is ignored",
    "none listed": "the query's list of good images is empty",
    "only junk": "the query is labelled -1, so all of its good images are junk too",
    "nothing kept": "every gallery image is junk for this query",
    "not loaded": "the query is labelled -1, which the toolbox's loader leaves out",
}


def signature(fields: Mapping[str, str], query: Labels, gallery: Labels) -> str:
    """Return all that could change a number: the fields, how many images, the version."""
    every = {**fields, "queries": len(query), "gallery": len(gallery), "reid-ref": __version__}
    return "|".join(f"{key}:{value}" for key, value in every.items())


@dataclass(frozen=True)
class PerQuery:
    """What each of n queries got; every array has shape (n,), and cannot be written to.

    Parameters
    ----------
    ap : float64
        Average precision in [0, 1], as `compute_AP.m` returns it: NaN without a good image.
    inp : float64
        Inverse negative penalty in (0, 1]; NaN without a ranked good image.
    first_match : int64
        1-based rank of the first match among kept images; 0 is none.
    n_good, n_junk : int64
        Good and ignored gallery images.
    fate : str
        A key of `FATES`.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> result = reid_ref.evaluate_distances(
    ...     np.array([[.2, .1, .3]]), Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3]))
    >>> result.per_query.first_match, result.per_query.n_good, result.per_query.fate.tolist()
    (array([2]), array([2]), ['fine'])
    """

    ap: Doubles
    inp: Doubles
    first_match: Integers
    n_good: Integers
    n_junk: Integers
    fate: npt.NDArray[np.str_]

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            object.__setattr__(self, name, read_only(getattr(self, name)))


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
        Gallery images labelled 0, which are wrong answers for every query; none where a query is
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
    fate : dict of str to int
        Queries by fate: each key of `FATES`.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> counts = reid_ref.evaluate_distances(
    ...     np.array([[.2, .1, .3]]), Labels([7], [1]), Labels([7, -1, 7], [2, 2, 3])).counts
    >>> counts.gallery, counts.gallery_junk, counts.good, counts.fate["fine"]
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
    fate: dict[str, int]


@dataclass(frozen=True)
class Result:
    """The numbers of one evaluation, with all that is needed to believe them.

    Parameters
    ----------
    mAP : float
        Mean average precision, in [0, 1]; `mean_ap` is another name for it.
    cmc : float64, shape (n_gallery,)
        Rank-k is ``cmc[k - 1]``, in [0, 1].
    mINP : float
        Mean inverse negative penalty, in [0, 1]; `mean_inp` is another name for it. A query
        without a good image counts as it does in mAP.
    per_query : PerQuery
    counts : Counts
    counted : int
        Queries in the mean of mAP: all, or those with a good image where the convention drops
        the others.
    signature : str
        Everything that could change the numbers, the version last.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> result = reid_ref.evaluate_distances(
    ...     np.array([[.2, .1, .3]]), Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3]))
    >>> round(result.mAP, 4), result.rank(1), round(result.mINP, 4)
    (0.4167, 0.0, 0.6667)
    >>> result.signature.split("|")[0]
    'convention:matlab'
    >>> print(result)  # doctest: +ELLIPSIS
    percent:   Rank-1 0.00
               mAP 41.67, mINP 66.67
    queries:   1 of 1 counted
    signature: convention:matlab | ap:trapezoid | unmatched:zero |...
    """

    mAP: float
    cmc: Doubles
    mINP: float
    per_query: PerQuery
    counts: Counts
    counted: int
    signature: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "cmc", read_only(self.cmc))

    @property
    def mean_ap(self) -> float:
        """Another name for `mAP`."""
        return self.mAP

    @property
    def mean_inp(self) -> float:
        """Another name for `mINP`."""
        return self.mINP

    def __str__(self) -> str:
        """Return Rank-k, mAP and mINP in percent, the queries counted, and the signature."""
        ranks = [(f"Rank-{k}", self.rank(k)) for k in (1, 5, 10, 20) if k <= len(self.cmc)]
        means = [("mAP", self.mAP), ("mINP", self.mINP)]
        # NaN is no percentage: "-", as in tables.
        first, second = (", ".join(
            f"{name} " + ("-" if math.isnan(value) else f"{100 * value:.2f}")
            for name, value in values) for values in (ranks, means))
        signature = textwrap.wrap(
            self.signature.replace("|", " | "), 79, initial_indent="signature: ",
            subsequent_indent=" " * 11, break_on_hyphens=False, break_long_words=False)
        return "\n".join([f"percent:   {first}", f"           {second}",
                          f"queries:   {self.counted:,} of {self.counts.query:,} counted",
                          *signature])

    def rank(self, k: int) -> float:
        """Return Rank-k, the point k of the CMC curve, in [0, 1].

        Raises
        ------
        InputError
            `k` is not a whole number from 1 to the length of the curve.

        Examples
        --------
        >>> import reid_ref
        >>> result = reid_ref.evaluate_distances(
        ...     [[.2, .1, .3]], Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3]))
        >>> result.rank(1), result.rank(2)
        (0.0, 1.0)
        """
        if not isinstance(k, numbers.Integral) or not 1 <= k <= len(self.cmc):
            raise InputError(f"k: expected a whole number from 1 to {len(self.cmc)}, the length "
                             f"of this CMC curve, got {k!r}")
        return float(self.cmc[k - 1])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values; NaN, which JSON lacks, becomes None.

        Returns
        -------
        dict
            mAP, mINP, cmc (a list: Rank-k is entry k - 1), counts, counted, signature.

        Examples
        --------
        >>> import json, reid_ref
        >>> result = reid_ref.evaluate_distances(
        ...     [[.1, .2]], Labels([7], [1]), Labels([7, 8], [2, 2]))
        >>> json.dumps(result.to_dict())[:56]
        '{"mAP": 1.0, "mINP": 1.0, "cmc": [1.0, 1.0], "counts": {'
        """
        return {
            "mAP": json_number(self.mAP),
            "mINP": json_number(self.mINP),
            "cmc": json_numbers(self.cmc),
            "counts": asdict(self.counts),
            "counted": self.counted,
            "signature": self.signature,
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row a query, in the order of the queries.

        Returns
        -------
        pandas.DataFrame
            Columns: the fields of `PerQuery`, by their names. The index, `query`, counts from 0.

        Raises
        ------
        InputError
            pandas is not installed.

        Examples
        --------
        >>> import reid_ref
        >>> result = reid_ref.evaluate_distances(
        ...     [[.1, .2]], Labels([7], [1]), Labels([7, 8], [2, 2]))
        >>> result.to_frame().loc[0, "ap"]  # doctest: +SKIP
        1.0
        """
        try:
            import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError as error:
            raise InputError(
                f"to_frame: needs pandas ({error}); pip install pandas, or take the arrays of "
                "result.per_query") from None
        columns = {name: getattr(self.per_query, name).copy()
                   for name in PerQuery.__dataclass_fields__}
        return pandas.DataFrame(
            columns, index=pandas.RangeIndex(self.counts.query, name="query"))


def json_numbers(values: Doubles) -> list[float | None]:
    """Return a list of doubles, None for NaN."""
    return [json_number(value) for value in values.tolist()]


def json_number(value: float) -> float | None:
    """Return `value`, or None for NaN."""
    return None if math.isnan(value) else value
