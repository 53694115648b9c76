"""`reid-ref crosscheck`: another evaluator on the same arrays."""
from __future__ import annotations

import argparse
from typing import Any

from reid_ref.commands import common
from reid_ref.commands.terminal import show


def add(commands: Any) -> None:
    command = commands.add_parser(
        "crosscheck", help="run another evaluator on the same arrays and compare",
        description="Run another evaluator on the same distances and labels, and say which "
                    "convention it follows, or which query differs and why.",
        epilog="Exit code: 0 equal to a convention, 1 different or failed, 2 wrong input.")
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE", help="as for evaluate")
    command.add_argument(
        "--evaluator", required=True, metavar="SPEC",
        help="your module:function or file.py:function, called as torchreid's (distmat, q_pids, "
             "g_pids, q_camids, g_camids, max_rank) or as (distances, query, gallery), which "
             "returns (cmc, mAP); or fastreid, torchreid, scikit-learn, pytrec-eval-terrier, "
             "torchmetrics, pytorch-metric-learning, open-metric-learning, if installed")
    command.add_argument("--metric", default="euclidean", metavar="NAME",
                         help="how near two features are: euclidean (default), cosine or dot")
    command.add_argument("--no-normalize", dest="normalize", action="store_false",
                         help="do not divide features by their 2-norm")
    command.add_argument("--timeout", type=float, default=600, metavar="SECONDS",
                         help="how long importing it, or any one call, may take (default 600)")
    command.add_argument("--json", action="store_true", help="print JSON instead of the report")


def run(args: argparse.Namespace) -> int:
    from reid_ref.crosscheck import crosscheck
    from reid_ref.files import read_result
    from reid_ref.report.crosscheck import as_json, as_text
    from reid_ref.report.names import source

    data = read_result(*args.files)
    with common.progress_bar(len(data.query)) as bar:
        check = crosscheck(args.evaluator, _distances(args, data), data.query, data.gallery,
                           timeout=args.timeout, progress=None if bar is None else bar.update)
    if args.json:
        common.print_json({"files": args.files, "layout": data.layout, **as_json(check)})
    else:
        show(as_text(check, source(args.files, data.layout)))
    return 0 if check.verdict == "equal" else 1


def _distances(args: argparse.Namespace, data: Any) -> Any:
    from reid_ref.arrays import check_choice
    from reid_ref.distances import METRICS

    check_choice(args.metric, "--metric", METRICS)
    return common.distance_matrix(args, data)
