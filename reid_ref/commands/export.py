"""`reid-ref export`: the ranking of a result file, in the files of another evaluator."""
from __future__ import annotations

import argparse
import os
from pathlib import Path

from reid_ref.commands import common
from reid_ref.commands.terminal import show


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Write PREFIX.qrels and PREFIX.run, on which trec_eval -J -c gives the step "
        "rule's mAP and, as success_k, CMC.")
    command.epilog = (
        "qrels: 1 good, 0 wrong, -1 junk. A query's list ends at its last good image: "
        "nothing behind it can change map, success, P, recall or ndcg (bpref it can). "
        "FILE is any that reid-ref evaluate reads.")
    command.set_defaults(run=run)
    common.add_files(command)
    common.add_options(command, "--metric", "--no-normalize", "--max-memory")
    command.add_argument("--to", choices=("trec",), required=True, help="trec: trec_eval")
    command.add_argument("--output", required=True, metavar="PREFIX",
                         help="write PREFIX.qrels and PREFIX.run")


def run(args: argparse.Namespace) -> int:
    from reid_ref.files.trec import write_trec
    from reid_ref.files.writing import check_target, whole_files
    from reid_ref.report.trec import written

    _check_prefix(args.output)
    paths = f"{args.output}.qrels", f"{args.output}.run"
    for path in paths:
        check_target(path, args.files)
    data = common.read_files(args)
    with common.progress_bar(len(data.query)) as bar, whole_files(*paths) as (qrels, ranking):
        progress = None if bar is None else bar.update
        lines = write_trec(common.distance_rows(args, data), data.query, data.gallery, qrels,
                           ranking, progress)
    show(written(paths, len(data.query), lines))
    return 0


def _check_prefix(prefix: str) -> None:
    from reid_ref.arrays import InputError

    if prefix in ("", "-"):
        raise InputError(f"--output: expected the beginning of two file names, got {prefix!r}; "
                         "e.g. result")
    if prefix.endswith(os.sep) or os.path.isdir(prefix):
        raise InputError(f"--output: expected the beginning of two file names, got the folder "
                         f"{prefix}; e.g. {Path(prefix) / 'result'}")
    names = [f"{prefix}.{suffix}" for suffix in ("qrels", "run")]
    # Only links can be one file, and without one no folder need be looked up.
    one, other = map(os.path.realpath, names) if any(map(os.path.islink, names)) else names
    if one == other:
        raise InputError(f"--output: expected two files, got two links to {one}; remove one")
