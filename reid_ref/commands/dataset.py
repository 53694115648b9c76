"""`reid-ref dataset`: which benchmark label files are from, what counts, what is off."""
from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from reid_ref.console import options as common
from reid_ref.console.terminal import show
from reid_ref.datasets import Recognised
from reid_ref.datasets.fingerprints import SetCounts, table
from reid_ref.text import NO_BENCHMARK, names, row


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


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Count images, identities, cameras and good pairs, and compare them with "
        "those of the benchmark that they resemble.")
    command.epilog = (
        "Files, in any order: two lists of image names (text or csv, query and gallery or "
        "test in the file name), MARS's tracks_test_info.mat and query_IDX.mat, the "
        "configuration .mat of CUHK03-NP, the four label vectors of the MATLAB drivers, or "
        "a result file with labels. The exit code is 1 when something is off.")
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE", help="files with labels")
    command.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    from reid_ref.datasets import read_labels, recognise
    from reid_ref.datasets.fingerprints import count

    labels = read_labels(*args.files)
    counts, found = count(*labels), recognise(*labels)
    if args.json:
        common.print_json({"files": args.files, **as_json(counts, found)})
    else:
        show(as_table(args.files, counts, found))
    return 1 if found and found.off else 0
