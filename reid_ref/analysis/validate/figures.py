"""The built-in figures that others published, and which of them are impossible.

A Rank-k over N queries is k/N. On a benchmark whose good images are known, mAP also lies within
the bounds that Rank-1 leaves (`reid_ref.datasets.published`).
"""
from collections.abc import Sequence
from typing import NamedTuple

from reid_ref.datasets import FINGERPRINTS
from reid_ref.datasets.published import (
    ROUNDINGS, HitCounts, MapBounds, Published, out_of_reach, paper_figure, possible_on,
    verdict_of)

#: From the most to the least serious.
VERDICTS = ("impossible", "padded", "truncated")


class DoubtRow(NamedTuple):
    """A row in doubt: each Rank-k that is not k/N, and the bounds that mAP is outside of.

    Parameters
    ----------
    key : str
    verdict : {"impossible", "truncated", "padded"}
    ranks : dict of str to HitCounts
        Each printed Rank-k that is not k/N, rounded.
    mAP : list of MapBounds
        The bounds of mAP by each AP rule, where the printed mAP is outside all of them.
    """

    key: str
    verdict: str
    ranks: dict[str, HitCounts]
    mAP: list[MapBounds]


class Figures(NamedTuple):
    """Rows as JSON has them, and those in doubt; `checked` rows have a known number of queries."""

    figures: list[Published]
    checked: int
    doubts: list[DoubtRow]

    @property
    def possible(self) -> bool:
        """No row is impossible."""
        return all(doubt.verdict != "impossible" for doubt in self.doubts)


def benchmark_of(row: Published) -> str | None:
    """Return the key of `FINGERPRINTS` whose images a row is over; None if unknown.

    Examples
    --------
    >>> from reid_ref.datasets.published import by_key
    >>> benchmark_of(by_key("market1501/bagtricks-resnet50"))
    'market1501'
    """
    for key, benchmark in FINGERPRINTS.items():
        name, _, images = benchmark.name.partition(" ")
        if (row.dataset == name and row.n_query == str(benchmark.counts.query)
                and (not images or row.split.split(",")[0] == images.strip("()"))):
            return key
    return None


def find_doubt(row: Published) -> DoubtRow | None:
    """Return what is impossible about a row, or only by cut digits or added zeros; else None."""
    ranks = {name: hits for name, hits in row.hit_counts().items() if hits.rounding != "rounded"}
    figure, queries = paper_figure(row), [int(row.n_query)] if row.n_query else []
    known = possible_on(figure, benchmark_of(row), queries)
    ways = {verdict_of(figure, *known), *(hits.rounding for hits in ranks.values())}
    worst = next(way for way in reversed(ROUNDINGS) if way in ways)
    bounds = list(known[1]) if out_of_reach(known[1]) else []
    return None if worst == "rounded" else DoubtRow(
        row.key, "impossible" if worst == "no" else worst, ranks, bounds)


def check_all(rows: Sequence[Published]) -> Figures:
    """Return rows with those in doubt, the impossible ones first."""
    doubts = sorted(filter(None, map(find_doubt, rows)),
                    key=lambda doubt: VERDICTS.index(doubt.verdict))
    return Figures(list(rows), sum(bool(row.n_query) for row in rows), doubts)
