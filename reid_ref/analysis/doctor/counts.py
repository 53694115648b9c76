"""Labels that resemble a benchmark and have other counts."""
from collections.abc import Iterator
from dataclasses import asdict

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.datasets.fingerprints import count


def counts_differ(subject: Subject) -> Iterator[Finding]:
    """Report what differs from the benchmark, a note if that is custom."""
    benchmark, query, gallery = subject.benchmark, subject.query, subject.gallery
    if benchmark is None or not benchmark.off:
        return
    here = asdict(count(query, gallery))
    known = benchmark.fingerprint.counts
    a_selection = len(benchmark.off) == 1 and len(query) < known.query / 2
    name = ("benchmark-counts-without-junk" if benchmark.only_lacks_junk else
            "benchmark-counts-of-a-selection" if a_selection else "benchmark-counts")
    yield tell(name, benchmark.fingerprint.name, "; ".join(benchmark.off),
               **{key: number for name, value in asdict(known).items()
                  for key, number in ((name, here[name]), (f"expected_{name}", value))
                  if None not in (here[name], value) and here[name] != value})
