"""What the JSON of several commands has: where numbers are from, and numbers without a Result."""
from __future__ import annotations

from dataclasses import dataclass

from reid_ref.arrays import Doubles
from reid_ref.datasets import Recognised
from reid_ref.result import Ranks, ranks_of
from reid_ref.text.plain import Share


@dataclass(frozen=True)
class Dataset:
    """The benchmark that labels are of, and what differs from it."""

    name: str
    off: list[str]


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a result is from."""

    name: str
    files: list[str]
    layout: str
    dataset: Dataset | None
    convention: str


@dataclass(frozen=True, kw_only=True)
class NamedCurve(Ranks):
    """mAP and a CMC curve, by a name; cmc may end before the curve does."""

    name: str
    mAP: Share
    cmc: list[Share]


def dataset_of(benchmark: Recognised | None) -> Dataset | None:
    """Return a benchmark for JSON."""
    return None if benchmark is None else Dataset(benchmark.fingerprint.name, list(benchmark.off))


def curve_of(name: str, mAP: float, cmc: Doubles, length: int | None) -> NamedCurve:
    """Return mAP and a curve to rank `length` for JSON."""
    return NamedCurve(name=name, **ranks_of(cmc), mAP=mAP, cmc=cmc[:length].tolist())
