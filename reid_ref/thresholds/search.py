"""Thresholds of one convention: questions are put until every bin that they need is resolved."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from reid_ref.arrays.memory import bytes_of
from reid_ref.evaluation.how import How, in_queries
from reid_ref.evaluation.ranked import Ranked
from reid_ref.labels import JUNK, Labels
from reid_ref.ranking.gates import Mask
from reid_ref.ranking.roles import Roles, find_roles
from reid_ref.signature import fields_of, signature
from reid_ref.statistics.interval import LEVEL
from reid_ref.statistics.units import RESAMPLES, SEED
from reid_ref.thresholds import intervals
from reid_ref.thresholds.impostors import Impostors
from reid_ref.thresholds.open_set import open_set_of
from reid_ref.thresholds.questions import (
    Genuine, at_rate, crossing, equal_error, fastreid_rates, likely_ranges, rate_where_equal)
from reid_ref.thresholds.values import Point, Thresholds

#: Bytes of memory to work in for each pair that is measured in one pass.
_BYTES = 64


def search(ranked: Ranked, query: Labels, gallery: Labels, how: How, rates: Sequence[float],
           confidence: Mapping[str, Any] | None, precision: Any) -> Thresholds:
    """Find all thresholds, by products in this precision.

    Raises
    ------
    TooFarOff
        The precision does not suffice.
    """
    convention = how.conventions[0]
    roles = find_roles(query, gallery, convention.not_ranked, how.lists)
    absent = _absent(query, gallery, roles)
    memory = bytes_of(how.max_memory)
    pairs = ranked.pairs(query, gallery, how)
    impostors = Impostors(pairs, roles, len(query), len(gallery), absent, precision,
                          memory // _BYTES, partial(likely_ranges, rates), memory // 2,
                          in_queries(how.progress, len(query)))
    genuine = Genuine.of(impostors.genuine)
    *found, equal, crossed, fastreid = _settled(impostors, genuine, rates)
    points: dict[Any, Point] = {
        key: _point(impostors, genuine, value)
        for key, value in zip([*rates, "equal", "crossing"], [*found, equal, crossed])}
    if confidence is not None:
        points = _with_intervals(points, query, gallery, roles, impostors, confidence)
    open_set = open_set_of(ranked, query, gallery, how, impostors, absent, rates, confidence)
    before = (int(impostors.below(equal, "left")[0]), int(genuine.below(equal, "left")))
    at_equal = points["equal"]
    fields = {**fields_of(convention), **ranked.provenance_of(how), "far": _text(rates),
              **how.signed_lists()}
    made = signature(fields, query, gallery).changed(_interval_fields(confidence),
                                                     before="reid-ref")
    return Thresholds(
        len(impostors.genuine), impostors.number, {rate: points[rate] for rate in rates},
        rate_where_equal((at_equal.impostor, at_equal.genuine), before, impostors.number,
                         len(impostors.genuine)),
        at_equal, points["crossing"], fastreid, open_set, convention, made)


def _text(rates: Sequence[float]) -> str:
    return ",".join(f"{rate:g}" for rate in rates)


def _interval_fields(confidence: Mapping[str, Any] | None) -> dict[str, object]:
    """Return the signature's fields of intervals, as a result has them."""
    if confidence is None:
        return {}
    method = confidence.get("method", "bootstrap-t")
    drawn = {"n": confidence.get("resamples", RESAMPLES), "seed": confidence.get("seed", SEED)}
    return {"ci": f"identity-{method}", "level": f"{confidence.get('level', LEVEL):g}",
            **(drawn if method == "bootstrap-t" else {})}


def _absent(query: Labels, gallery: Labels, roles: Roles) -> Mask:
    """Return the queries whose identity the gallery lacks."""
    absent: Mask = ~np.isin(query.identity, gallery.identity) & (query.identity != JUNK)
    absent[roles.good_query] = False
    return absent & (roles.n_kept(len(query)) > 0)


def _settled(impostors: Impostors, genuine: Genuine, rates: Sequence[float]) -> list[Any]:
    """Return the thresholds at the rates, of the EER and of the crossing; fast-reid's numbers."""
    questions = [*(partial(at_rate, impostors, rate) for rate in rates),
                 *(partial(question, impostors, genuine)
                   for question in (equal_error, crossing, fastreid_rates))]
    while True:
        answers, needs = zip(*(question() for question in questions))
        needed = np.logical_or.reduce(needs)
        if not needed.any():
            return list(answers)
        impostors.resolve(needed)


def _point(impostors: Impostors, genuine: Genuine, threshold: float) -> Point:
    n_genuine, n_impostor = (int(genuine.below(threshold)), int(impostors.below(threshold)[0]))
    return Point(threshold=threshold, genuine=n_genuine, impostor=n_impostor,
                 tar=n_genuine / len(impostors.genuine), far=n_impostor / impostors.number)


def _with_intervals(points: Mapping[Any, Point], query: Labels, gallery: Labels, roles: Roles,
                    impostors: Impostors, options: Mapping[str, Any]) -> dict[Any, Point]:
    """Return the points with the intervals of TAR and FAR."""
    n, row = len(query), impostors.row
    every = np.bincount(row, minlength=n)
    shares = {key: (np.bincount(row[impostors.genuine <= point.threshold], minlength=n)
                    / np.maximum(every, 1), every) for key, point in points.items()}
    of_tar = intervals.of_shares(query, shares, **options)
    pairs = intervals.impostors_of(roles, row, impostors.image, n)
    accepted = impostors.accepted(np.array([point.threshold for point in points.values()]))
    of_far = {key: intervals.of_false_accepts(query, gallery, sides, pairs,
                                              options.get("level", LEVEL))
              for key, sides in zip(points, zip(*accepted))}
    return {key: replace(point, tar_interval=of_tar[key], far_interval=of_far[key])
            for key, point in points.items()}
