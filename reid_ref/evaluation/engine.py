"""What is ranked to results: rank once for all conventions, then summarise each."""
from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Integers
from reid_ref.arrays.cores import using
from reid_ref.conventions import Convention, find_conventions, loaded_images, only_ignored
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Ranked
from reid_ref.evaluation.ranks import Ranking
from reid_ref.evaluation.unmatched import warn_unmatched
from reid_ref.labels import JUNK, Labels, check_labels, count_distractors
from reid_ref.ranking.good_ranks import GoodRanks, of_queries, spread_queries
from reid_ref.result import Fingerprints, Result, fingerprint_of, for_all
from reid_ref.result.made import Asked, GalleryCounts, of_ranks
from reid_ref.result.statuses import statuses_of
from reid_ref.signature import fields_of, measured_as, signature


def results_of(ranked: Ranked, query: Labels, gallery: Labels, how: How) -> list[Result]:
    """Evaluate an input: one result per convention, in their order."""
    check_labels(query, gallery)
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
    listed = how.signed_lists()
    # What conventions share is computed once: the function is called once for equal arguments.
    once = functools.cache(lambda function, *arguments: function(*arguments))
    results = [ranks.finish(summarize(
        ranks, query, gallery, convention,
        {**ranks.provenance, **(listed if convention.takes_lists else {})}, once))
        for convention in how.conventions]
    return [replace(result, convention=measured_as(result.convention, result.signature))
            for result in results]


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
    """Return the `Result` of the ranks of all queries; `once(f, *args)` caches f(*args)."""
    loaded = once(Loaded, ranks.of(convention), query, gallery, convention.loads)
    in_order = convention.in_order(loaded.ranks)
    status = once(_statuses, in_order, loaded, gallery, convention.not_ranked, ranks.can_rank)
    n_absent = len(gallery) - len(loaded.gallery)
    in_list = convention.in_cut_list(in_order, lambda: _of_whole_list(ranks, loaded, convention))
    return of_ranks(
        spread_queries(replace(in_list, n_junk=in_list.n_junk - n_absent), loaded.mask),
        lambda cut: ranks.curves.curve(cut, convention, loaded.mask)[:ranks.longest],
        Asked.of(query, status),
        GalleryCounts(len(gallery), int(np.count_nonzero(gallery.identity == JUNK)),
                      once(count_distractors, query, gallery)), convention,
        signature({**fields_of(convention), **provenance}, loaded.query, loaded.gallery),
        Fingerprints(*(once(fingerprint_of, side) for side in (query, gallery))), once)


def _of_whole_list(ranks: Ranking, loaded: Loaded, convention: Convention) -> GoodRanks:
    """Return the ranks of all loaded images of the query's identity in the whole list."""
    return convention.in_order(of_queries(ranks.of(convention.of_whole_list), loaded.mask))


def _statuses(ranks: GoodRanks, loaded: Loaded, gallery: Labels,
              ignored: tuple[str, ...], can_rank: Callable[..., Integers] | None,
              ) -> npt.NDArray[np.str_]:
    """Return the status of every query."""
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
    every: npt.NDArray[np.str_] = for_all(status, loaded.mask, "not loaded")
    return every
