"""`reid-ref export`: the ranking of a result file, in the files of another evaluator."""
from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from reid_ref.commands import common


def add(commands: Any) -> None:
    command = commands.add_parser(
        "export", help="write the ranking of a result file for trec_eval",
        description="Write PREFIX.qrels and PREFIX.run, on which trec_eval -J -c gives the step "
                    "rule's mAP and, as success_k, CMC.",
        epilog="qrels: 1 good, 0 wrong, -1 junk. A query's list ends at its last good image: "
               "nothing behind it can change map, success, P, recall or ndcg (bpref it can). "
               "FILE is any that reid-ref evaluate reads.")
    command.set_defaults(run=run)
    common.add_files(command)
    command.add_argument("--to", choices=("trec",), required=True, help="trec: trec_eval")
    command.add_argument("--output", required=True, metavar="PREFIX",
                         help="write PREFIX.qrels and PREFIX.run")


def run(args: argparse.Namespace) -> int:
    from reid_ref.trec import write_trec
    from reid_ref.validation import InputError

    if args.output.endswith(os.sep) or Path(args.output).is_dir():
        raise InputError(f"--output: expected the beginning of two file names, got the folder "
                         f"{args.output}; e.g. {Path(args.output) / 'result'}")
    paths = Path(f"{args.output}.qrels"), Path(f"{args.output}.run")
    for path in paths:
        common.check_writable(path)
    data = common.read_files(args)
    with common.progress_bar(len(data.query)) as bar, _both_or_none(*paths) as (qrels, ranking):
        progress = None if bar is None else bar.update
        lines = write_trec(common.distance_rows(args, data), data.query, data.gallery, qrels,
                           ranking, progress)
    print(f"wrote {paths[0]} and {paths[1]}: {len(data.query):,} queries, {lines:,} lines each\n"
          f"next  trec_eval -J -c -m map -m success.1,5,10,20 {paths[0]} {paths[1]}")
    return 0


@contextlib.contextmanager
def _both_or_none(*paths: Path) -> Iterator[tuple[TextIO, ...]]:
    """Open files beside `paths`; give them these names when all are complete."""
    from reid_ref.validation import InputError

    parts = [path.with_name(f".{path.name}.{os.getpid()}.part") for path in paths]
    try:
        with contextlib.ExitStack() as stack:
            yield tuple(stack.enter_context(open(part, "w", encoding="utf-8")) for part in parts)
        for part, path in zip(parts, paths):
            os.replace(part, path)
    except OSError as error:
        raise InputError(f"{', '.join(map(str, paths))}: cannot be written: {error.strerror}; "
                         "nothing was written") from None
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
