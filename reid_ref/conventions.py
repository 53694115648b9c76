"""Conventions: what an evaluator counts, and how, as frozen records.

A number of this field means nothing without its convention. A record says everything that
could change the number, and where it comes from.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reid_ref import metrics
from reid_ref.metrics import Doubles
from reid_ref.ranks import GoodRanks

#: AP rule: ranks of the good images to the AP of each query.
AP_RULES: dict[str, Callable[[GoodRanks], Doubles]] = {
    "trapezoid": metrics.average_precision_trapezoid,
}

#: What a query without a good image counts as in the means.
UNMATCHED = {
    "zero": "AP 0, INP 0 and no match, counted",
    "nan": "AP NaN, counted: it makes mAP and mINP NaN",
}


@dataclass(frozen=True)
class Convention:
    """How one evaluator turns ranks into numbers.

    Parameters
    ----------
    name : str
    ap : str
        A key of `AP_RULES`.
    unmatched : str
        A key of `UNMATCHED`.
    source : str
        Repository, file and commit that it follows.
    differences : tuple of str
        What it does otherwise than `matlab`, with the direction of the effect.
    """

    name: str
    ap: str
    unmatched: str
    source: str
    differences: tuple[str, ...] = ()


CONVENTIONS: dict[str, Convention] = {
    "matlab": Convention(
        name="matlab",
        ap="trapezoid",
        unmatched="zero",
        source="zhunzhong07/person-re-ranking 278f2c7, evaluation/utils/evaluation.m; "
               "the Market-1501 protocol (Zheng et al., ICCV 2015)"),
    "mars": Convention(
        name="mars",
        ap="trapezoid",
        unmatched="nan",
        source="liangzheng06/MARS-evaluation 3a91bbc, utils/evaluation_mars.m",
        differences=(
            "1. A query without a good image makes mAP NaN; matlab counts it as 0. "
            "CMC is the same.",)),
}
