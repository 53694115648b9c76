"""Do the summaries of a stored result follow from its values a query, to the last bit?"""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from reid_ref import metrics
from reid_ref.arrays import Doubles
from reid_ref.conventions import ARITHMETIC
from reid_ref.labels import Labels
from reid_ref.result import STATUSES
from reid_ref.result.stored import Stored
from reid_ref.signature import off_its_name
from reid_ref.text import number, numbers


@dataclass(frozen=True)
class Check:
    """One number of the file, and the same computed again.

    Parameters
    ----------
    name : str
    written, found : Any
        Plain JSON values; None is NaN.
    """

    name: str
    written: Any
    found: Any

    @property
    def agrees(self) -> bool:
        """Whether both are the same."""
        return bool(self.written == self.found)


@dataclass(frozen=True)
class Verified:
    """What was checked.

    Parameters
    ----------
    checks : tuple of Check
    problems : tuple of str
        What is wrong otherwise.
    left_out : tuple of str
        Numbers that do not follow from the values of each query.
    """

    checks: tuple[Check, ...]
    problems: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems and all(one.agrees for one in self.checks)


def verify(stored: Stored) -> Verified:
    """Compute every summary again from the values of each query, and check the signature."""
    ranks = [name for name in stored.numbers if re.fullmatch("Rank-[1-9][0-9]{0,6}", name)]
    counts_queries = stored.convention.curve.counts
    checks = [*_images(stored), *_means(stored)]
    if counts_queries:
        checks += _curve(stored, ranks)
    problems = [*off_its_name(stored.fields), *_queries(stored)]
    return Verified(tuple(checks), tuple(problems), () if counts_queries else (*ranks, "cmc"))


def _images(stored: Stored) -> Iterator[Check]:
    """Yield the counts of queries, of images and of good pairs."""
    per_query, counts = stored.per_query, _dict(stored.numbers.get("counts"))
    loaded = np.count_nonzero(per_query.status != "not loaded")
    yield Check("queries of the signature", int(stored.fields["queries"]), int(loaded))
    gallery, absent = counts.get("gallery"), counts.get("gallery_not_loaded")
    if isinstance(gallery, int) and isinstance(absent, int):
        yield Check("gallery of the signature", int(stored.fields["gallery"]), gallery - absent)
    yield Check("counts: query", counts.get("query"), len(per_query.status))
    yield Check("counts: good", counts.get("good"), int(per_query.n_good.sum()))
    yield Check("counts: status", counts.get("status"), {
        name: int(np.count_nonzero(per_query.status == name)) for name in STATUSES})
    yield Check("labels: query", stored.labels.get("query"),
                Labels(per_query.identity, stored.camera).fingerprint())


def _means(stored: Stored) -> Iterator[Check]:
    """Yield mAP, mINP and the number of queries in them, in the convention's own arithmetic."""
    for name, values in (("mAP", stored.per_query.ap), ("mINP", stored.per_query.inp)):
        mean = stored.convention.mean(stored.in_mean(values))
        yield Check(name, stored.numbers.get(name), number(mean))
    kept = stored.in_mean(np.arange(len(stored.counted), dtype=np.float64)).astype(np.int64)
    yield Check("counted", stored.numbers.get("counted"), len(kept))
    yield Check("queries that are counted", np.flatnonzero(stored.counted).tolist(), kept.tolist())


def _curve(stored: Stored, ranks: list[str]) -> Iterator[Check]:
    """Yield Rank-k and the curve."""
    written = stored.numbers.get("cmc")
    length = len(written) if isinstance(written, list) else 0
    every = [int(name.removeprefix("Rank-")) for name in ranks]
    curve = _first_matches(stored, max([length, *every]))
    for k in every:
        yield Check(f"Rank-{k}", stored.numbers[f"Rank-{k}"], number(float(curve[k - 1])))
    yield Check("cmc", written, numbers(curve[:length]))


def _first_matches(stored: Stored, length: int) -> Doubles:
    there = stored.per_query.status != "not loaded"
    n_query = stored.convention.n_in_cmc(stored.per_query.n_good[there])
    curve = metrics.cumulative_matching(stored.per_query.first_match[there], length, n_query)
    return ARITHMETIC[stored.convention.arithmetic].curve(curve, n_query)


def _queries(stored: Stored) -> Iterator[str]:
    """Yield what no evaluation gives a query; of each kind the first."""
    per_query = stored.per_query
    loaded = per_query.status != "not loaded"
    faults = {
        "ap: expected a number from 0 to 1": (per_query.ap < 0) | (per_query.ap > 1),
        "inp: expected a number above 0, to 1": (per_query.inp <= 0) | (per_query.inp > 1),
        "ap: expected a number, for it has good images":
            np.isnan(per_query.ap) & loaded & (per_query.n_good > 0),
        "first_match: expected none, for it has no good image":
            (per_query.first_match > 0) & (per_query.n_good == 0),
        "status: expected another than ok, for it has no good image":
            (per_query.status == "ok") & (per_query.n_good == 0)}
    for text, bad in faults.items():
        if bad.any():
            yield f"query {int(np.flatnonzero(bad)[0])}: {text}"


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
