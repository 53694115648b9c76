"""Which rows of the table of published figures are impossible, by their counts.

A Rank-k over N queries is k/N. On a benchmark whose good images are known, mAP also lies within
the bounds that Rank-1 leaves (`reid_ref.datasets.printed`).
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reid_ref.datasets import FINGERPRINTS, good_and_wrong
from reid_ref.datasets.printed import HitCounts, MapBounds, possible_of_counts
from reid_ref.datasets.published import Published, paper_figure


@dataclass(frozen=True)
class Doubt:
    """A row that is impossible, or possible only if its digits were cut off.

    Parameters
    ----------
    row : Published
    ranks : dict of str to HitCounts
        Each printed Rank-k that is not k/N, rounded.
    bounds : tuple of MapBounds
        The bounds of mAP by each AP rule, where the printed mAP is outside all of them.
    """

    row: Published
    ranks: dict[str, HitCounts]
    bounds: tuple[MapBounds, ...]

    @property
    def verdict(self) -> str:
        """Either "impossible" or "truncated"."""
        if self.bounds or any(hits.rounding == "no" for hits in self.ranks.values()):
            return "impossible"
        return "truncated"


def benchmark_of(row: Published) -> str | None:
    """Return the key of `FINGERPRINTS` whose images a row is over; None where that is not known.

    Examples
    --------
    >>> from reid_ref.datasets.published import by_key
    >>> benchmark_of(by_key("market1501/bagtricks-resnet50"))
    'market1501'
    """
    for key, known in FINGERPRINTS.items():
        name, _, images = known.name.partition(" ")
        if (row.dataset == name and row.n_query == str(known.counts.query)
                and (not images or row.split.split(",")[0] == images.strip("()"))):
            return key
    return None


def check(row: Published) -> Doubt | None:
    """Return what is impossible about a row, or possible only by truncation; None if nothing."""
    ranks = {name: hits for name, hits in row.hit_counts().items() if hits.rounding != "rounded"}
    bounds: tuple[MapBounds, ...] = ()
    benchmark = benchmark_of(row)
    if benchmark is not None:
        good, wrong = good_and_wrong(benchmark)
        _, bounds, _ = possible_of_counts(paper_figure(row), good, good + wrong)
        if any(bound.holds is not False for bound in bounds):
            bounds = ()
    return Doubt(row, ranks, bounds) if ranks or bounds else None


def check_all(rows: Iterable[Published]) -> list[Doubt]:
    """Return the rows in doubt, the impossible ones first."""
    doubts = [doubt for doubt in map(check, rows) if doubt is not None]
    return sorted(doubts, key=lambda doubt: doubt.verdict)
