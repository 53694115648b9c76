"""Labels that resemble a benchmark and have other counts."""
from collections.abc import Iterator
from dataclasses import asdict

from reid_ref.analysis.doctor.finding import Finding
from reid_ref.datasets.fingerprints import Recognised, SetCounts, count
from reid_ref.labels import Labels


def counts_differ(query: Labels, gallery: Labels,
                  benchmark: Recognised | None) -> Iterator[Finding]:
    """Report what differs from the benchmark; a note if that is custom."""
    if benchmark is None or not benchmark.off:
        return
    name, known = benchmark.fingerprint.name, benchmark.fingerprint.counts
    a_selection = len(benchmark.off) == 1 and len(query) < known.query / 2
    remedy = (f"Take the labels from {name}'s own files; `reid-ref doctor FILE` shows every count."
              if not a_selection else "A selection of the queries has numbers of its own.")
    if benchmark.only_lacks_junk:
        remedy = "Load them where the code that you compare with does."
    yield Finding(
        "doctor:benchmark-counts",
        "note" if a_selection or benchmark.only_lacks_junk else "warning",
        f"The labels look like those of {name}, but {'; '.join(benchmark.off)}.",
        _differences(count(query, gallery), known), remedy)


def _differences(counts: SetCounts, expected: SetCounts) -> dict[str, int | float]:
    """Return each count that differs, and the one expected."""
    evidence: dict[str, int | float] = {}
    for name, value in asdict(expected).items():
        here = getattr(counts, name)
        if None not in (here, value) and here != value:
            evidence |= {name: here, f"expected_{name}": value}
    return evidence
