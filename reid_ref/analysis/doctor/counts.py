"""Labels that resemble a benchmark and have other counts."""
from collections.abc import Iterator
from dataclasses import asdict

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.datasets.fingerprints import Recognised, SetCounts, count, recognise
from reid_ref.labels import Labels


def counts_differ(subject: Subject) -> Iterator[Finding]:
    """Report what differs from the benchmark, a note if that is custom; and exchanged sides."""
    benchmark, query, gallery = subject.benchmark, subject.query, subject.gallery
    if (benchmark is None or benchmark.off) and (
            exchanged := recognise(gallery, query)) and not exchanged.off:
        yield tell("sides-exchanged", {"queries": len(query), "gallery": len(gallery)},
                   exchanged.fingerprint.name)
    elif benchmark is not None and benchmark.off:
        yield _counts_differ(query, gallery, benchmark)


def _counts_differ(query: Labels, gallery: Labels, benchmark: Recognised) -> Finding:
    name, known = benchmark.fingerprint.name, benchmark.fingerprint.counts
    a_selection = len(benchmark.off) == 1 and len(query) < known.query / 2
    remedy = (f"Take the labels from {name}'s own files; `reid-ref doctor FILE` shows every count."
              if not a_selection else "A selection of the queries has numbers of its own.")
    if benchmark.only_lacks_junk:
        remedy = "Load them where the code that you compare with does."
    return tell("benchmark-counts", _differences(count(query, gallery), known), name,
                "; ".join(benchmark.off),
                severity='note' if a_selection or benchmark.only_lacks_junk else 'warning',
                remedy=remedy)


def _differences(counts: SetCounts, expected: SetCounts) -> dict[str, int | float]:
    """Return each count that differs, and the one expected."""
    evidence: dict[str, int | float] = {}
    for name, value in asdict(expected).items():
        here = getattr(counts, name)
        if None not in (here, value) and here != value:
            evidence |= {name: here, f"expected_{name}": value}
    return evidence
