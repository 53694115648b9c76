"""Ranks to a `Result`, under one convention."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref.arrays import Integers
from reid_ref.conventions import CONVENTIONS, Convention, as_text
from reid_ref.evaluation.curves import Curves
from reid_ref.labels import JUNK, Labels, count_distractors
from reid_ref.ranking.good_ranks import GoodRanks, of_queries, spread_queries
from reid_ref.result import STATUSES, Counts, PerQuery, Result, signature, spread


def summarize(ranks: GoodRanks, query: Labels, gallery: Labels, convention: Convention,
              provenance: dict[str, str], curves: Curves) -> Result:
    """Return the `Result` of the ranks of all queries."""
    there = convention.loaded(query.identity)
    n_absent = len(gallery) - int(np.count_nonzero(convention.loaded(gallery.identity)))
    ranks = replace(ranks, n_junk=ranks.n_junk - n_absent)
    loaded = convention.in_order(of_queries(ranks, there))
    ranks = convention.cut_off(loaded)
    ap, inp = convention.average_precision(ranks), metrics.inverse_negative_penalty(ranks)
    n_good = loaded.n_good
    per_query = PerQuery(
        ap=spread(ap, there, np.nan), inp=spread(inp, there, np.nan),
        first_match=spread(ranks.first_match, there, 0), n_good=spread(n_good, there, 0),
        n_junk=spread(ranks.n_junk, there, 0),
        status=spread(_statuses(loaded, query.identity[there], gallery, convention), there,
                      "not loaded"), identity=query.identity)
    ap, inp = (convention.counted(values, n_good) for values in (ap, inp))
    return Result(
        mAP=convention.mean(ap), cmc=curves.curve(ranks, convention, there),
        mINP=convention.mean(inp), per_query=per_query,
        counts=_counts(per_query, _tied_queries(loaded), query, gallery, n_absent, convention),
        counted=len(ap), signature=_signature(convention, provenance, query, gallery),
        ranks=spread_queries(loaded, there), convention=convention)


def _tied_queries(ranks: GoodRanks) -> int:
    """Count the queries with a good and a wrong image at one distance."""
    groups, _, hits = metrics.tie_groups(ranks)
    return len(np.unique(groups.query[groups.tied > hits]))


def _statuses(ranks: GoodRanks, identity: Integers, gallery: Labels,
              convention: Convention) -> npt.NDArray[np.str_]:
    status = np.full(len(identity), "ok", dtype=f"<U{max(map(len, STATUSES))}")
    absent = ranks.n_good == 0
    status[absent] = ("only same location" if "same location" in convention.ignored
                      else "only same camera")
    status[absent & ~np.isin(identity, gallery.identity)] = "identity absent"
    if convention.needs_lists:
        status[absent] = "none listed"
    status[(ranks.n_good > 0) & (ranks.found == 0)] = "only junk"
    status[ranks.n_kept == 0] = "nothing kept"
    return status


def _counts(per_query: PerQuery, tied: int, query: Labels, gallery: Labels, n_absent: int,
            convention: Convention) -> Counts:
    n_junk = int(np.count_nonzero(gallery.identity == JUNK))
    ignored_junk = n_junk - n_absent if "label -1" in convention.ignored else 0
    other_junk = per_query.n_junk - ignored_junk
    return Counts(
        query=len(query), gallery=len(gallery), gallery_junk=n_junk,
        gallery_not_loaded=n_absent,
        gallery_distractors=count_distractors(query, gallery),
        gallery_kept=len(gallery) - ignored_junk - n_absent,
        good=int(per_query.n_good.sum()),
        junk_same_camera=int(other_junk[per_query.status != "not loaded"].sum()), tied=tied,
        status={name: int(np.count_nonzero(per_query.status == name)) for name in STATUSES})


def _signature(convention: Convention, provenance: dict[str, str], query: Labels,
               gallery: Labels) -> str:
    default = CONVENTIONS["matlab"]
    others = {name: getattr(convention, name) for name in (
        "loads", "ignored", "recall", "top_k", "junk_match", "cmc", "cmc_length", "arithmetic")
        if getattr(convention, name) != getattr(default, name)}
    fields = {"convention": convention.name, "ap": convention.ap,
              "unmatched": convention.unmatched, "ties": convention.ties,
              **{name: as_text(value) for name, value in others.items()},
              **provenance}
    return signature(fields, *(labels[convention.loaded(labels.identity)]
                               for labels in (query, gallery)))
