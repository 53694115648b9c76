"""Which benchmark labels are from: the verdict, and every count beside the benchmark's."""
from __future__ import annotations

from dataclasses import asdict
from typing import Any

from reid_ref.datasets import Recognised
from reid_ref.datasets.fingerprints import SetCounts, table
from reid_ref.report.names import names
from reid_ref.words import NO_BENCHMARK, row


def as_json(counts: SetCounts, found: Recognised | None) -> dict[str, Any]:
    """Return plain JSON values; what only a known benchmark has is None without one."""
    known = found.fingerprint if found else None
    return {"dataset": known and known.name, "off": list(found.off) if found else None,
            "counts": asdict(counts), "expected": asdict(known.counts) if known else None,
            "source": known and known.source}


def as_table(files: list[str], counts: SetCounts, found: Recognised | None) -> str:
    """Return the verdict, and every count beside the benchmark's."""
    known = found.fingerprint if found else None
    lines = row("input", names(files))
    lines += row("dataset", found.sentence if found else NO_BENCHMARK)
    lines += ["", f"{'':28}{'here':>10}" + (f"{'expected':>10}" if known else "")]
    for name, value, expected in table(counts, known):
        line = f"{name:28}{value:>10,}" + (f"{expected:>10,}" if expected is not None else "")
        lines.append(line + ("  *" if expected not in (None, value) else ""))
    return "\n".join(lines + (["", *row("source", known.source)] if known else []))
