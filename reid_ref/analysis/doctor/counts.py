"""Labels that resemble a benchmark and have other counts."""
from collections.abc import Iterator
from dataclasses import asdict

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.datasets.fingerprints import SetCounts, count


def counts_differ(subject: Subject) -> Iterator[Finding]:
    """Report what differs from the benchmark, a note if that is custom."""
    benchmark, query, gallery = subject.benchmark, subject.query, subject.gallery
    if benchmark is None or not benchmark.off:
        return
    name, known = benchmark.fingerprint.name, benchmark.fingerprint.counts
    a_selection = len(benchmark.off) == 1 and len(query) < known.query / 2
    remedy = (f"Take the labels from {name}'s own files; `reid-ref doctor FILE` shows every count."
              if not a_selection else "A selection of the queries has numbers of its own.")
    if benchmark.only_lacks_junk:
        remedy = "Load them where the code that you compare with does."
    yield tell("benchmark-counts", name, "; ".join(benchmark.off), remedy=remedy,
               severity="note" if a_selection or benchmark.only_lacks_junk else "warning",
               **_differences(count(query, gallery), known))


def _differences(counts: SetCounts, expected: SetCounts) -> dict[str, int | float]:
    """Return each count that differs, and the one expected."""
    evidence: dict[str, int | float] = {}
    for name, value in asdict(expected).items():
        here = getattr(counts, name)
        if None not in (here, value) and here != value:
            evidence |= {name: here, f"expected_{name}": value}
    return evidence
