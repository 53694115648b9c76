"""What is ranked to results: rank once for all conventions, summarise each, warn once."""
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from reid_ref.arrays import Integers, Mask, Texts, UnmatchedWarning, warn
from reid_ref.arrays.cores import using
from reid_ref.conventions import UNMATCHED, Convention, find_conventions, only_ignored
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Ranked
from reid_ref.evaluation.ranks import Ranking
from reid_ref.labels import JUNK, Labels, check_labels, count_distractors, is_single_shot
from reid_ref.measures import COLUMNS
from reid_ref.ranking.good_ranks import GoodRanks
from reid_ref.result import Result
from reid_ref.result.parts import Fingerprints, fingerprint_of, statuses_of
from reid_ref.result.formula import numbers
from reid_ref.result.made import Asked, GalleryCounts, of_numbers
from reid_ref.signature import fields_of, measured_as, signature


def results_of(ranked: Ranked, query: Labels, gallery: Labels, how: How) -> list[Result]:
    """Evaluate an input: one result per convention, in their order."""
    query, gallery = check_labels(query, gallery)
    how = ranked.among(how)
    results: dict[int, Result] = {}
    for part in ranked.passes(how):
        with using(how.threads):
            ranks = ranked.ranks(query, gallery, part)
        results.update(zip(map(id, part.conventions), summaries(ranks, query, gallery, part)))
    in_order = [results[id(convention)] for convention in how.conventions]
    warn_unmatched(in_order[0], query, gallery)
    return in_order


def as_requested(results: list[Result], convention: Any) -> Result:
    """Return the result of a single `convention`; of several, a dict by the names requested."""
    every: Any = {record.name: result
                  for record, result in zip(find_conventions(convention), results)}
    return results[0] if isinstance(convention, (str, Convention)) else every


def by_name(results: list[Result]) -> dict[str, Result]:
    """Return results by the names of their conventions."""
    return {result.convention.name: result for result in results}


def summaries(ranks: Ranking, query: Labels, gallery: Labels, how: How) -> list[Result]:
    """Return the result of each convention, which has the metric that was used."""
    listed, results = how.signed_lists(), []
    images = GalleryCounts(len(gallery), int(np.count_nonzero(gallery.identity == JUNK)),
                           count_distractors(query, gallery))
    fingerprints = Fingerprints(fingerprint_of(query), fingerprint_of(gallery))
    for convention in how.conventions:
        loaded, in_gallery = (convention.loaded(side.identity) for side in (query, gallery))
        ranked = ranks.of(convention)
        ranked = replace(ranked, n_junk=ranked.n_junk - np.count_nonzero(~in_gallery))
        status = _statuses(ranked, loaded, query, gallery, convention.not_ranked, ranks.can_rank)
        made = numbers(
            ranked, convention, COLUMNS, loaded,
            lambda cut: ranks.curves.curve(cut, convention, loaded)[:ranks.longest],
            matched=status[loaded] == "ok", whole=lambda: ranks.of(convention.of_whole_list))
        signed = signature(
            {**fields_of(convention), **ranks.provenance,
             **(listed if convention.needs_lists or convention.needs_candidates else {})},
            *(side if mask.all() else side[mask]
              for side, mask in ((query, loaded), (gallery, in_gallery))))
        result = ranks.finish(of_numbers(
            made, Asked.of(query, status), images, convention, signed, fingerprints))
        results.append(replace(result, convention=measured_as(convention, result.signature)))
    return results


def _statuses(ranks: GoodRanks, loaded: Mask, query: Labels, gallery: Labels,
              ignored: tuple[str, ...], can_rank: Callable[..., Integers] | None) -> Texts:
    """Return the status of every query."""
    names = statuses_of(ignored)
    status = np.full(len(query), "ok", dtype=f"<U{max(map(len, names))}")
    absent = ranks.n_good == 0
    status[absent] = only_ignored(ignored)
    status[absent & ~np.isin(query.identity, gallery.identity)] = "identity absent"
    if "listed as junk" in ignored:
        status[absent] = "none listed"
    matched = (ranks.found if can_rank is None else can_rank(ignored)) > 0
    status[~absent & ~matched] = "only junk"
    status[(ranks.n_kept == 0) & (absent | ~matched)] = "nothing kept"
    status[~loaded] = "not loaded"
    return status


def warn_unmatched(result: Result, query: Labels, gallery: Labels) -> None:
    """Warn of queries without a match: their number, the reasons, the first ones, the remedy."""
    unmatched = np.flatnonzero(~np.isin(result.per_query.status, ("ok", "not loaded")))
    if not unmatched.size:
        return
    cameras = [labels.camera for labels in (query, gallery) if labels.camera is not None]
    if (result.counts.status.get("only same camera")
            and len(np.unique(np.concatenate(cameras))) == 1):
        remedy = ("all images are on one camera, and images of the query's own camera are "
                  "ignored: " + ("" if is_single_shot(gallery) else "give each camera its own "
                                 "number or, ") + "if the data has no cameras, as RegDB and "
                  "VehicleID, evaluate with ignored=nothing (--set ignored=nothing)")
    elif result.counts.status["nothing kept"] == unmatched.size:
        remedy = "every gallery image is ignored for them, or their ranked lists are empty"
    elif not cameras or not np.isin(cameras[0], cameras[1]).any():
        remedy = "check that identities are numbered alike on both sides"
    else:
        remedy = "check that identities and cameras are numbered alike on both sides"
    first = ", ".join(str(k) for k in unmatched[:5])
    statuses = ", ".join(f"{count} {name}" for name, count in result.counts.status.items()
                         if count and name not in ("ok", "not loaded"))
    n_loaded = len(query) - result.counts.status["not loaded"]
    in_cmc = UNMATCHED[result.convention.unmatched].in_cmc
    counts_as = ("count as NaN" if result.counted and np.isnan(result.mAP) else
                 "count as AP 0" + ", and are left out of CMC" * (not in_cmc)
                 if result.counted == n_loaded else
                 "are left out of mAP and mINP, and are misses in CMC"
                 if in_cmc else "are left out")
    warn(f"{unmatched.size} of {n_loaded} queries have no good image ({statuses}; first: "
         f"{first}): they {counts_as}; {remedy}", UnmatchedWarning)
