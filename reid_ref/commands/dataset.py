"""`reid-ref dataset`: which benchmark label files are from, what counts, what is off."""
from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from reid_ref.commands import common
from reid_ref.commands.terminal import show

if TYPE_CHECKING:
    from reid_ref.datasets import Recognised
    from reid_ref.datasets.fingerprints import SetCounts

WIDTH = 80


def add(commands: Any) -> None:
    command = commands.add_parser(
        "dataset", help="which benchmark label files are from, and what is off",
        description="Count images, identities, cameras and good pairs, and compare them with "
                    "those of the benchmark that they resemble.",
        epilog="Files, in any order: two lists of image names (text or csv, query and gallery or "
               "test in the file name), MARS's tracks_test_info.mat and query_IDX.mat, the "
               "configuration .mat of CUHK03-NP, the four label vectors of the MATLAB drivers, or "
               "a result file with labels. The exit code is 1 when something is off.")
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE")
    command.add_argument("--json", action="store_true",
                         help="print JSON: `dataset`, `off`, `counts`, `expected`, `source` (null "
                              "where no benchmark is like it)")


def run(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from reid_ref.datasets import read_labels, recognise
    from reid_ref.datasets.fingerprints import count

    labels = read_labels(*args.files)
    counts, found = count(*labels), recognise(*labels)
    if args.json:
        known = found.fingerprint if found else None
        common.print_json({
            "files": args.files, "dataset": known and known.name,
            "off": list(found.off) if found else None, "counts": asdict(counts),
            "expected": asdict(known.counts) if known else None,
            "source": known and known.source})
    else:
        show(as_table(args.files, counts, found))
    return 1 if found and found.off else 0


def as_table(files: list[str], counts: SetCounts, found: Recognised | None) -> str:
    """Return the verdict, and every count beside the benchmark's."""
    from textwrap import wrap

    from reid_ref.datasets.fingerprints import table

    def row(name: str, text: str) -> list[str]:
        return wrap(text, WIDTH, initial_indent=f"{name:10}", subsequent_indent=" " * 10,
                    break_long_words=False, break_on_hyphens=False)

    known = found.fingerprint if found else None
    lines = row("input", common.names(files))
    lines += row("dataset", found.sentence if found else
                 "none of the known benchmarks has such counts")
    lines += ["", f"{'':28}{'here':>10}" + (f"{'expected':>10}" if known else "")]
    for name, value, expected in table(counts, known):
        line = f"{name:28}{value:>10,}" + (f"{expected:>10,}" if expected is not None else "")
        lines.append(line + ("  *" if expected not in (None, value) else ""))
    return "\n".join(lines + (["", *row("source", known.source)] if known else []))
