"""Ranks to a `Result`: pure arithmetic on a few numbers a query, under one convention."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref.arrays import Integers
from reid_ref.conventions import CONVENTIONS, Convention, as_text
from reid_ref.evaluation.curves import Curves
from reid_ref.labels import JUNK, Labels, count_distractors
from reid_ref.metrics import AP_RULES, FLOAT32_RULES, GROUPED_RULES
from reid_ref.ranking.good_ranks import (
    GoodRanks, forget_junk_matches, of_queries, reverse_ties, truncate)
from reid_ref.result import FATES, Counts, PerQuery, Result, signature


def summarize(ranks: GoodRanks, query: Labels, gallery: Labels, convention: Convention,
              made_of: dict[str, str], curves: Curves) -> Result:
    """Turn the ranks of all queries into a `Result`."""
    there = convention.loaded(query.identity)
    n_absent = len(gallery) - int(np.count_nonzero(convention.loaded(gallery.identity)))
    every = replace(ranks, n_junk=ranks.n_junk - n_absent)
    loaded = as_asked(of_queries(every, there), convention)
    ranks = cut_off(loaded, convention)
    rules = (FLOAT32_RULES if convention.arithmetic == "float32" else
             GROUPED_RULES if convention.ties == "grouped" else AP_RULES)
    ap, inp = rules[convention.ap](ranks), metrics.inverse_negative_penalty(ranks)
    n_good = loaded.n_good
    per_query = PerQuery(
        ap=_spread(ap, there, np.nan), inp=_spread(inp, there, np.nan),
        first_match=_spread(ranks.first_match, there, 0), n_good=_spread(n_good, there, 0),
        n_junk=_spread(ranks.n_junk, there, 0),
        fate=_spread(_fates(loaded, query.identity[there], gallery, convention), there,
                     "not loaded"))
    mean = (metrics.mean_in_float32 if convention.arithmetic == "float32"
            else metrics.mean_in_order)
    if convention.unmatched == "zero":
        ap, inp = (np.nan_to_num(values, nan=0.0) for values in (ap, inp))
    elif convention.unmatched != "nan":
        ap, inp = ap[n_good > 0], inp[n_good > 0]
    return Result(
        mAP=mean(ap), cmc=curves.curve(ranks, convention, there), mINP=mean(inp),
        per_query=per_query,
        counts=_counts(per_query, _tied_queries(loaded), query, gallery, n_absent, convention),
        counted=len(ap), signature=_signature(convention, made_of, query, gallery))


def as_asked(ranks: GoodRanks, convention: Convention) -> GoodRanks:
    """Return the ranks in the convention's order of ties, with its matches of junk images."""
    if convention.ties == "reversed":
        ranks = reverse_ties(ranks)
    if convention.junk_match == "never":
        ranks = forget_junk_matches(ranks)
    return ranks


def cut_off(ranks: GoodRanks, convention: Convention) -> GoodRanks:
    """Return what the convention looks at, and the good images that its recall divides by."""
    n_good = ranks.n_good
    if convention.top_k is not None:
        ranks = truncate(ranks, convention.top_k)
    if convention.recall == "found":
        # A query whose good images are all behind the cut has AP 0, not none.
        ranks = replace(ranks, n_good=np.where(ranks.found > 0, ranks.found, n_good))
    return ranks


def _spread(values: npt.NDArray[Any], there: npt.NDArray[np.bool_],
            absent: Any) -> npt.NDArray[Any]:
    """Return one value a query, where `values` are of the loaded ones."""
    if there.all():
        return values
    dtype = np.result_type(values, np.asarray(absent)) if values.dtype.kind == "U" else None
    spread = np.full(len(there), absent, dtype=dtype or values.dtype)
    spread[there] = values
    return spread


def _tied_queries(ranks: GoodRanks) -> int:
    """Count the queries with a good image at the very distance of a wrong one."""
    groups, _, hits = metrics.tie_groups(ranks)
    return len(np.unique(groups.query[groups.tied > hits]))


def _fates(ranks: GoodRanks, identity: Integers, gallery: Labels,
           convention: Convention) -> npt.NDArray[np.str_]:
    fate = np.full(len(identity), "fine", dtype=f"<U{max(map(len, FATES))}")
    absent = ranks.n_good == 0
    fate[absent] = ("only same location" if "same location" in convention.ignored
                    else "only same camera")
    fate[absent & ~np.isin(identity, gallery.identity)] = "identity absent"
    if convention.needs_lists:
        fate[absent] = "none listed"
    fate[(ranks.n_good > 0) & (ranks.found == 0)] = "only junk"
    fate[ranks.n_kept == 0] = "nothing kept"
    return fate


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
        junk_same_camera=int(other_junk[per_query.fate != "not loaded"].sum()), tied=tied,
        fate={name: int(np.count_nonzero(per_query.fate == name)) for name in FATES})


def _signature(convention: Convention, made_of: dict[str, str], query: Labels,
               gallery: Labels) -> str:
    default = CONVENTIONS["matlab"]
    others = {name: getattr(convention, name) for name in (
        "loads", "ignored", "recall", "top_k", "junk_match", "cmc", "cmc_length", "arithmetic")
        if getattr(convention, name) != getattr(default, name)}
    fields = {"convention": convention.name, "ap": convention.ap,
              "unmatched": convention.unmatched, "ties": convention.ties,
              **{name: as_text(value) for name, value in others.items()},
              **made_of}
    return signature(fields, *(labels[convention.loaded(labels.identity)]
                               for labels in (query, gallery)))
