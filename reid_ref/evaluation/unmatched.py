"""Queries without a match: what is warned of them."""
from __future__ import annotations

import numpy as np

from reid_ref.arrays import UnmatchedWarning, warn
from reid_ref.conventions import UNMATCHED
from reid_ref.labels import Labels, is_single_shot
from reid_ref.result import Result


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
    counts_as = ("count as NaN" if result.counted and np.isnan(result.mAP) else
                 "count as AP 0" if result.counted == n_loaded else
                 "are left out of mAP and mINP, and are misses in CMC"
                 if UNMATCHED[result.convention.unmatched].in_cmc else "are left out")
    warn(f"{unmatched.size} of {n_loaded} queries have no good image ({statuses}; first: "
         f"{first}): they {counts_as}; {remedy}", UnmatchedWarning)
