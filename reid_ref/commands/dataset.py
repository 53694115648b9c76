"""`reid-ref dataset`: which benchmark label files are from, what counts, what is off."""
from __future__ import annotations

import argparse

from reid_ref.commands import common
from reid_ref.commands.terminal import show


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
    from reid_ref.report.dataset import as_json, as_table

    labels = read_labels(*args.files)
    counts, found = count(*labels), recognise(*labels)
    if args.json:
        common.print_json({"files": args.files, **as_json(counts, found)})
    else:
        show(as_table(args.files, counts, found))
    return 1 if found and found.off else 0
