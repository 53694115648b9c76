"""What is ranked to results: rank once for all conventions, then summarise each."""
from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref.arrays import Doubles, Integers, warn
from reid_ref.arrays.cores import using
from reid_ref.conventions import UNMATCHED, Convention, loaded_images, only_ignored
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Ranked
from reid_ref.evaluation.ranks import Ranking
from reid_ref.labels import JUNK, Labels, check_labels, count_distractors, is_single_shot
from reid_ref.ranking.good_ranks import GoodRanks, in_blocks, of_queries, spread_queries
from reid_ref.result import (
    Counts, Fingerprints, PerQuery, Result, in_mean_of, spread, statuses_of)
from reid_ref.signature import fields_of, measured_as, signature


def results_of(ranked: Ranked, query: Labels, gallery: Labels, how: How) -> list[Result]:
    """Evaluate what is ranked: one result per convention, in their order."""
    check_labels(query, gallery)
    results: dict[int, Result] = {}
    for part in ranked.passes(how):
        with using(how.threads):
            ranks = ranked.ranks(query, gallery, part)
        results.update(zip(map(id, part.conventions), summaries(ranks, query, gallery, part)))
    in_order = [results[id(convention)] for convention in how.conventions]
    warn_unmatched(in_order[0], query, gallery)
    return in_order


def as_requested(results: list[Result], convention: Any) -> Result:
    """Return the result of a single `convention`; of several a dict, as `Evaluates` says."""
    every: Any = by_name(results)
    return results[0] if isinstance(convention, (str, Convention)) else every


def by_name(results: list[Result]) -> dict[str, Result]:
    """Return results by the names of their conventions."""
    return {result.convention.name: result for result in results}


def summaries(ranks: Ranking, query: Labels, gallery: Labels, how: How) -> list[Result]:
    """Return the result of each convention, which has the metric that was used."""
    listed = how.signed_lists()
    # What conventions share is computed once: the function is called once for equal arguments.
    once = functools.cache(lambda function, *arguments: function(*arguments))
    results = [ranks.finish(summarize(
        ranks, query, gallery, convention,
        {**ranks.provenance, **(listed if convention.needs_lists else {})}, once))
        for convention in how.conventions]
    return [replace(result, convention=measured_as(result.convention, result.signature))
            for result in results]


def warn_unmatched(result: Result, query: Labels, gallery: Labels) -> None:
    """Warn of queries without a match: their number, the reasons, the first ones, the remedy."""
    unmatched = np.flatnonzero(~np.isin(result.per_query.status, ("ok", "not loaded")))
    if not unmatched.size:
        return
    if (result.counts.status.get("only same camera")
            and len(np.union1d(query.camera, gallery.camera)) == 1):
        remedy = ("all images are on one camera, and images of the query's own camera are "
                  "ignored: " + ("" if is_single_shot(gallery) else "give each camera its own "
                                 "number or, ") + "where the data has no cameras, as RegDB and "
                  "VehicleID, evaluate with ignored=nothing (--set ignored=nothing)")
    elif result.counts.status["nothing kept"] == unmatched.size:
        remedy = "every gallery image is ignored for them, or their ranked lists are empty"
    elif not np.intersect1d(query.camera, gallery.camera).size:
        remedy = "check that identities are numbered alike on both sides"
    else:
        remedy = "check that identities and cameras are numbered alike on both sides"
    first = ", ".join(str(k) for k in unmatched[:5])
    statuses = ", ".join(f"{count} {name}" for name, count in result.counts.status.items()
                         if count and name not in ("ok", "not loaded"))
    n_loaded = len(query) - result.counts.status["not loaded"]
    counts_as = ("count as NaN" if result.counted and np.isnan(result.mAP) else
                 "count as AP 0" if result.counted == n_loaded else
                 "are left out of mAP and mINP, and are misses in CMC"
                 if UNMATCHED[result.convention.unmatched].in_cmc else "are left out")
    warn(f"{unmatched.size} of {n_loaded} queries have no good image ({statuses}; first: "
         f"{first}): they {counts_as}; {remedy}")


class Loaded:
    """What a loader passes on: which queries, the labels, and the ranks of these queries.

    Images that are not loaded are still in the `n_junk` of the ranks.
    """

    def __init__(self, ranks: GoodRanks, query: Labels, gallery: Labels, loads: str) -> None:
        self.mask, in_gallery = (loaded_images(labels.identity, loads)
                                 for labels in (query, gallery))
        self.query = query if self.mask.all() else query[self.mask]
        self.gallery = gallery if in_gallery.all() else gallery[in_gallery]
        self.ranks = of_queries(ranks, self.mask)


def summarize(ranks: Ranking, query: Labels, gallery: Labels, convention: Convention,
              provenance: dict[str, str], once: Callable[..., Any]) -> Result:
    """Return the `Result` of the ranks of all queries; `once` calls a function, or remembers."""
    loaded = once(Loaded, ranks.of(convention), query, gallery, convention.loads)
    mask, n_absent = loaded.mask, len(gallery) - len(loaded.gallery)
    in_order = convention.in_order(loaded.ranks)
    cut = convention.cut_off(in_order)
    ap = once(_of_queries, convention.average_precision, cut)
    # INP is of the whole list, whatever `top_k` is.
    inp = once(_of_queries, metrics.inverse_negative_penalty, in_order)
    n_good, n_junk = in_order.n_good, in_order.n_junk - n_absent
    status, n_status = once(_statuses, in_order, loaded, gallery, convention.not_ranked,
                            ranks.can_rank)
    per_query = PerQuery(
        ap=spread(ap, mask, np.nan), inp=spread(inp, mask, np.nan),
        first_match=spread(cut.first_match, mask, 0), n_good=spread(n_good, mask, 0),
        n_junk=spread(n_junk, mask, 0), status=status, identity=query.identity,
        camera=query.camera)
    ap, inp = (in_mean_of(per_query, name, convention, mask) for name in ("ap", "inp"))
    return Result(
        mAP=convention.mean(ap), cmc=ranks.curves.curve(cut, convention, mask)[:ranks.longest],
        mINP=convention.mean(inp), per_query=per_query,
        counts=_counts(per_query, once(_n_tied, in_order),
                       dict(n_status), query, gallery, n_absent, convention),
        counted=len(ap),
        signature=signature({**fields_of(convention), **provenance}, loaded.query,
                            loaded.gallery),
        ranks=spread_queries(replace(in_order, n_junk=n_junk), mask), convention=convention,
        fingerprints=Fingerprints(*(once(Labels.fingerprint, side) for side in (query, gallery))))


def _of_queries(measure: Callable[[GoodRanks], Doubles], ranks: GoodRanks) -> Doubles:
    return np.concatenate([measure(block) for block in in_blocks(ranks)])


def _n_tied(ranks: GoodRanks) -> int:
    return sum(len(metrics.tied_queries(block)) for block in in_blocks(ranks))


def _statuses(ranks: GoodRanks, loaded: Loaded, gallery: Labels,
              ignored: tuple[str, ...], can_rank: Callable[..., Integers] | None,
              ) -> tuple[npt.NDArray[np.str_], dict[str, int]]:
    """Return the status of every query, and how many queries have each."""
    identity, names = loaded.query.identity, statuses_of(ignored)
    status = np.full(len(identity), "ok", dtype=f"<U{max(map(len, names))}")
    absent = ranks.n_good == 0
    status[absent] = only_ignored(ignored)
    status[absent & ~np.isin(identity, gallery.identity)] = "identity absent"
    if "listed as junk" in ignored:
        status[absent] = "none listed"
    matched = (ranks.found if can_rank is None else can_rank(ignored)[loaded.mask]) > 0
    status[~absent & ~matched] = "only junk"
    status[(ranks.n_kept == 0) & (absent | ~matched)] = "nothing kept"
    every = spread(status, loaded.mask, "not loaded")
    return every, {name: int(np.count_nonzero(every == name)) for name in names}


def _counts(per_query: PerQuery, tied: int, status: dict[str, int], query: Labels,
            gallery: Labels, n_absent: int, convention: Convention) -> Counts:
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
        status=status)
