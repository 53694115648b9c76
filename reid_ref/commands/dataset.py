"""`reid-ref dataset`: which benchmark label files are from, what counts, what is off."""
from __future__ import annotations

import argparse
from typing import NamedTuple

from reid_ref.console.answers import add_json, show_answer
from reid_ref.console.protocols import hint
from reid_ref.console.request import Request
from reid_ref.datasets import Recognised, read_labels, recognise
from reid_ref.datasets.fingerprints import SetCounts, count, table
from reid_ref.protocols.records import protocols_of
from reid_ref.text import NO_BENCHMARK, names, row


class Counted(NamedTuple):
    """The counts as JSON has them; what only a known benchmark has is null without one."""

    files: list[str]
    dataset: str | None
    off: list[str] | None
    protocols: list[str]
    counts: SetCounts
    expected: SetCounts | None
    source: str | None


def as_answer(files: list[str], counts: SetCounts, benchmark: Recognised | None,
              protocols: list[str]) -> Counted:
    """Return the counts for JSON."""
    if benchmark is None:
        return Counted(files, None, None, protocols, counts, None, None)
    known = benchmark.fingerprint
    return Counted(files, known.name, list(benchmark.off), protocols, counts, known.counts,
                   known.source)


def as_table(files: list[str], counts: SetCounts, benchmark: Recognised | None,
             protocols: str = "") -> str:
    """Return the verdict, and every count next to the benchmark's."""
    fingerprint = benchmark.fingerprint if benchmark else None
    lines = row("input", names(files))
    lines += row("dataset", benchmark.sentence if benchmark else NO_BENCHMARK)
    lines += row("protocol", protocols) if protocols else []
    lines += ["", f"{'':28}{'here':>10}" + (f"{'expected':>10}" if fingerprint else "")]
    for name, value, expected in table(counts, fingerprint):
        line = f"{name:28}{value:>10,}" + (f"{expected:>10,}" if expected is not None else "")
        lines.append(line + ("  *" if expected not in (None, value) else ""))
    return "\n".join(lines + (["", *row("source", fingerprint.source)] if fingerprint else []))


def add(command: argparse.ArgumentParser) -> None:
    """Count images, identities, cameras and good pairs, and compare them with those of the
    benchmark that they resemble.

    Files, in any order: two lists of image names (text or csv, query and gallery or test in the
    file name), two folders of images, or the folder that has both, MARS's tracks_test_info.mat and
    query_IDX.mat, the configuration .mat of CUHK03-NP, the four label vectors of the MATLAB
    drivers, or a result file with labels. The exit code is 1 when something is off.
    """
    command.add_argument("files", nargs="+", metavar="FILE", help="files with labels")
    add_json(command)


def run(request: Request) -> int:
    labels = read_labels(*request.files)
    counts, benchmark = count(*labels), recognise(*labels)
    show_answer(request.format,
                table=lambda: as_table(request.files, counts, benchmark, hint(*labels)),
                json=lambda: as_answer(request.files, counts, benchmark, protocols_of(*labels)))
    return 1 if benchmark and benchmark.off else 0
