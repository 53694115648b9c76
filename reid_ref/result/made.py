"""Numbers to a result, be they of an evaluation or of a file."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from reid_ref import metrics
from reid_ref.arrays import Integers, Texts
from reid_ref.conventions import Convention
from reid_ref.labels import JUNK, Labels
from reid_ref.ranking.good_ranks import in_blocks, spread_queries
from reid_ref.result import Result
from reid_ref.result.parts import Counts, Fingerprints, PerQuery, for_all, statuses_of
from reid_ref.result.formula import Numbers
from reid_ref.signature import Signature


class GalleryCounts(NamedTuple):
    """Gallery images: all of them, those labelled -1, and distractors."""

    gallery: int
    junk: int
    distractors: int


class Asked(NamedTuple):
    """Who asked, shape (n,) each; see `PerQuery`."""

    status: Texts
    identity: Integers
    camera: Integers
    words: Mapping[str, Texts]

    @classmethod
    def of(cls, query: Labels, status: Texts) -> Asked:
        """Return these queries, their texts numbered by themselves; an empty column is unknown."""
        columns: dict[str, Any] = {"camera": np.zeros(0, np.int64)}
        words = {}
        for name in query.columns().keys() & {"identity", "camera"}:
            columns[name] = values = query.texts(name)
            if values.dtype.kind == "U":
                words[name], place = np.unique(values, return_inverse=True)
                columns[name] = place.reshape(-1) + 1
        return cls(status, **columns, words=words)


def of_numbers(numbers: Numbers, asked: Asked, images: GalleryCounts, convention: Convention,
               signature: Signature, fingerprints: Fingerprints) -> Result:
    """Return the result; images that are not loaded are not in the `n_junk` of the ranks."""
    loaded = asked.status != "not loaded"
    ranks = spread_queries(numbers.ranks, loaded)
    per_query = PerQuery(
        values={name: for_all(value, loaded, np.nan) for name, value in numbers.values.items()},
        first_match=for_all(numbers.cut.first_match, loaded, 0), n_good=ranks.n_good,
        n_junk=ranks.n_junk, **asked._asdict())
    tied = sum(len(metrics.tied_queries(block)) for block in in_blocks(numbers.ranks))
    return Result(
        cmc=numbers.curve, per_query=per_query, ranks=ranks, convention=convention,
        counts=_counts(per_query, tied, images, convention), signature=signature,
        fingerprints=fingerprints)


def not_loaded(convention: Convention, n_junk: int) -> int:
    """Return how many images the convention's loader leaves out, given those labelled -1."""
    return 0 if convention.loaded(np.array([JUNK])).all() else n_junk


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
