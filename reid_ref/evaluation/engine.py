"""What is ranked to results: rank once for all conventions, then summarise each."""
from __future__ import annotations

from typing import Any

import numpy as np

from reid_ref.arrays import warn
from reid_ref.conventions import Convention
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Ranked
from reid_ref.evaluation.ranks import Ranking
from reid_ref.evaluation.summary import Shared, summarize
from reid_ref.labels import Labels, check_labels
from reid_ref.result import Result


def results_of(ranked: Ranked, query: Labels, gallery: Labels, how: How) -> list[Result]:
    """Evaluate what is ranked: one result per convention, in their order."""
    check_labels(query, gallery)
    return summaries(ranked.ranks(query, gallery, how), query, gallery, how)


def as_requested(results: list[Result], convention: Any) -> Result:
    """Return the result of a single `convention`; of several a dict, as `Evaluates` says."""
    every: Any = by_name(results)
    return results[0] if isinstance(convention, (str, Convention)) else every


def by_name(results: list[Result]) -> dict[str, Result]:
    """Return results by the names of their conventions."""
    return {result.convention.name: result for result in results}


def summaries(ranks: Ranking, query: Labels, gallery: Labels, how: How) -> list[Result]:
    """Return the result of each convention; warn of queries without a match."""
    listed = {} if how.lists is None else {"lists": how.lists.fingerprint()}
    shared = Shared(query, gallery)
    results = [ranks.finish(summarize(
        ranks.of(convention), shared, convention,
        {**ranks.provenance, **(listed if convention.needs_lists else {})}, ranks.curves))
        for convention in how.conventions]
    warn_unmatched(results[0], query, gallery)
    return results


def warn_unmatched(result: Result, query: Labels, gallery: Labels) -> None:
    """Warn of queries without a match: their number, the reasons, the first ones, the remedy."""
    unmatched = np.flatnonzero(~np.isin(result.per_query.status, ("ok", "not loaded")))
    if not unmatched.size:
        return
    if (result.counts.status.get("only same camera")
            and len(np.union1d(query.camera, gallery.camera)) == 1):
        remedy = ("all images are on one camera, and images of the query's own camera are "
                  "ignored: give each camera its own number")
    else:
        remedy = "check that identities and cameras are numbered alike on both sides"
    first = ", ".join(str(k) for k in unmatched[:5])
    statuses = ", ".join(f"{count} {name}" for name, count in result.counts.status.items()
                         if count and name not in ("ok", "not loaded"))
    n_loaded = len(query) - result.counts.status["not loaded"]
    counts_as = ("count as NaN" if np.isnan(result.mAP) else
                 "count as AP 0" if result.counted == n_loaded else "are left out")
    warn(f"{unmatched.size} of {n_loaded} queries have no good image ({statuses}; first: "
         f"{first}): they {counts_as}; {remedy}")
