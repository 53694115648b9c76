"""Ranks to a `Result`: pure arithmetic on a few numbers a query, under one convention."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref._version import __version__
from reid_ref.conventions import CONVENTIONS, Convention, as_text
from reid_ref.curves import Curves
from reid_ref.metrics import AP_RULES, FLOAT32_RULES, GROUPED_RULES
from reid_ref.ranks import GoodRanks, forget_junk_matches, reverse_ties, truncate
from reid_ref.result import FATES, Counts, Labels, PerQuery, Result
from reid_ref.roles import JUNK, count_distractors


def summarize(ranks: GoodRanks, query: Labels, gallery: Labels, convention: Convention,
              made_of: dict[str, str], curves: Curves) -> Result:
    """Turn the ranks of all queries into a `Result`."""
    if convention.ties == "reversed":
        ranks = reverse_ties(ranks)
    if convention.junk_match == "never":
        ranks = forget_junk_matches(ranks)
    fates = _fates(ranks, query, gallery)
    tied = _tied_queries(ranks)
    if convention.top_k is not None:
        ranks = truncate(ranks, convention.top_k)
    n_good, counted = ranks.n_good, ranks.n_good > 0
    if convention.recall == "found":
        # A query whose good images are all behind the cut has AP 0, not none.
        ranks = replace(ranks, n_good=np.where(ranks.found > 0, ranks.found, n_good))
    rules = (FLOAT32_RULES if convention.arithmetic == "float32" else
             GROUPED_RULES if convention.ties == "grouped" else AP_RULES)
    per_query = PerQuery(
        ap=rules[convention.ap](ranks), inp=metrics.inverse_negative_penalty(ranks),
        first_match=ranks.first_match, n_good=n_good, n_junk=ranks.n_junk, fate=fates)
    mean = (metrics.mean_in_float32 if convention.arithmetic == "float32"
            else metrics.mean_in_order)
    if convention.unmatched == "zero":
        ap, inp = (np.nan_to_num(values, nan=0.0) for values in (per_query.ap, per_query.inp))
    elif convention.unmatched == "nan":
        ap, inp = per_query.ap, per_query.inp
    else:
        ap, inp = per_query.ap[counted], per_query.inp[counted]
    return Result(
        mean_ap=mean(ap), cmc=curves.curve(ranks, convention), mean_inp=mean(inp),
        per_query=per_query, counts=_counts(per_query, tied, query, gallery, convention),
        counted=len(ap), signature=_signature(convention, made_of, query, gallery))


def _tied_queries(ranks: GoodRanks) -> int:
    """Count the queries with a good image at the very distance of a wrong one."""
    groups, _, hits = metrics.tie_groups(ranks)
    return len(np.unique(groups.query[groups.tied > hits]))


def _fates(ranks: GoodRanks, query: Labels, gallery: Labels) -> npt.NDArray[np.str_]:
    fate = np.full(len(query), "fine", dtype=f"<U{max(map(len, FATES))}")
    fate[ranks.n_good == 0] = "only same camera"
    fate[(ranks.n_good == 0) & ~np.isin(query.identity, gallery.identity)] = "identity absent"
    fate[(ranks.n_good > 0) & (ranks.found == 0)] = "only junk"
    fate[ranks.n_kept == 0] = "nothing kept"
    return fate


def _counts(per_query: PerQuery, tied: int, query: Labels, gallery: Labels,
            convention: Convention) -> Counts:
    n_junk = int(np.count_nonzero(gallery.identity == JUNK))
    labelled_junk = n_junk if "label -1" in convention.ignored else 0
    other_junk = per_query.n_junk[query.identity != JUNK] - labelled_junk
    return Counts(
        query=len(query), gallery=len(gallery), gallery_junk=n_junk,
        gallery_distractors=count_distractors(query, gallery),
        gallery_kept=len(gallery) - labelled_junk,
        good=int(per_query.n_good.sum()), junk_same_camera=int(other_junk.sum()), tied=tied,
        fate={name: int(np.count_nonzero(per_query.fate == name)) for name in FATES})


def _signature(convention: Convention, made_of: dict[str, str], query: Labels,
               gallery: Labels) -> str:
    default = CONVENTIONS["matlab"]
    others = {name: getattr(convention, name) for name in (
        "ignored", "recall", "top_k", "junk_match", "cmc", "cmc_length", "arithmetic")
        if getattr(convention, name) != getattr(default, name)}
    fields = {"convention": convention.name, "ap": convention.ap,
              "unmatched": convention.unmatched, "ties": convention.ties,
              **{name: as_text(value) for name, value in others.items()},
              **made_of, "queries": str(len(query)), "gallery": str(len(gallery)),
              "reid-ref": __version__}
    return "|".join(f"{key}:{value}" for key, value in fields.items())
