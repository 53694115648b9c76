"""Ranks to a result: all of it follows from them, be they of an evaluation or of a file."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref.arrays import Doubles, Integers
from reid_ref.conventions import Convention
from reid_ref.labels import JUNK, Labels
from reid_ref.ranking.good_ranks import GoodRanks, in_blocks, of_queries
from reid_ref.result import Counts, Fingerprints, PerQuery, Result, for_all
from reid_ref.result.statuses import statuses_of
from reid_ref.signature import Signature


class GalleryCounts(NamedTuple):
    """Gallery images: all of them, those labelled -1, and distractors."""

    gallery: int
    junk: int
    distractors: int


class Asked(NamedTuple):
    """Who asked, shape (n,) each; see `PerQuery`."""

    status: npt.NDArray[np.str_]
    identity: Integers
    camera: Integers

    @classmethod
    def of(cls, query: Labels, status: npt.NDArray[np.str_]) -> Asked:
        """Return these queries; of labels without cameras the column is empty."""
        camera = np.zeros(0, np.int64) if query.camera is None else query.camera
        return cls(status, query.identity, camera)


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def of_ranks(ranks: GoodRanks, curve: Callable[[GoodRanks], Doubles], asked: Asked,
             images: GalleryCounts, convention: Convention, signature: Signature,
             fingerprints: Fingerprints, once: Callable[..., Any] = _call) -> Result:
    """Return the result of the ranks of all queries, in the convention's order of ties.

    Parameters
    ----------
    ranks : GoodRanks
        Images that are not loaded are not in their `n_junk`; a query that is not loaded has none.
    curve : callable
        The ranks of the loaded queries, cut where the convention cuts lists, to the CMC curve.
    asked : Asked
    images : Images
    convention : Convention
    signature : Signature
    fingerprints : Fingerprints
    once : callable
        Calls a function, or remembers what it returned for equal arguments.
    """
    loaded = asked.status != "not loaded"
    whole = of_queries(ranks, loaded)
    cut = convention.cut_off(whole)
    values = {"mAP": once(_of_queries, convention.average_precision, cut),
              # Of the whole list, whatever `top_k` is.
              "mINP": once(_of_queries, metrics.inverse_negative_penalty, whole)}
    per_query = PerQuery(
        values={name: for_all(value, loaded, np.nan) for name, value in values.items()},
        first_match=for_all(cut.first_match, loaded, 0), n_good=ranks.n_good, n_junk=ranks.n_junk,
        **asked._asdict())
    return Result(
        cmc=curve(cut), per_query=per_query, ranks=ranks, convention=convention,
        counts=_counts(per_query, once(_n_tied, whole), images, convention),
        signature=signature, fingerprints=fingerprints)


def not_loaded(convention: Convention, n_junk: int) -> int:
    """Return how many images the convention's loader leaves out, given those labelled -1."""
    return 0 if convention.loaded(np.array([JUNK])).all() else n_junk


def _of_queries(measure: Callable[[GoodRanks], Doubles], ranks: GoodRanks) -> Doubles:
    return np.concatenate([measure(block) for block in in_blocks(ranks)])


def _n_tied(ranks: GoodRanks) -> int:
    return sum(len(metrics.tied_queries(block)) for block in in_blocks(ranks))


def _counts(per_query: PerQuery, tied: int, images: GalleryCounts,
            convention: Convention) -> Counts:
    n_absent = not_loaded(convention, images.junk)
    ignored_junk = images.junk - n_absent if "label -1" in convention.ignored else 0
    other_junk = per_query.n_junk - ignored_junk
    return Counts(
        query=len(per_query.status), gallery=images.gallery, gallery_junk=images.junk,
        gallery_not_loaded=n_absent, gallery_distractors=images.distractors,
        gallery_kept=images.gallery - ignored_junk - n_absent, good=int(per_query.n_good.sum()),
        junk_same_camera=int(other_junk[per_query.status != "not loaded"].sum()), tied=tied,
        status={name: int(np.count_nonzero(per_query.status == name))
                for name in statuses_of(convention.not_ranked)})
