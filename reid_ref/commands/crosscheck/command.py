"""`reid-ref crosscheck`: another evaluator on the same arrays."""
from __future__ import annotations

import argparse

from reid_ref.console import options as common
from reid_ref.console.terminal import show


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Run another evaluator on the same distances and labels, and say which "
        "convention it follows, or which query differs and why.")
    command.epilog = "Exit code: 0 equal to a convention, 1 different or failed, 2 wrong input."
    command.set_defaults(run=run)
    common.add_files(command)
    command.add_argument(
        "--evaluator", required=True, metavar="SPEC",
        help="your module:function or file.py:function, called as torchreid's (distmat, q_pids, "
             "g_pids, q_camids, g_camids, max_rank) or as (distances, query, gallery), which "
             "returns (cmc, mAP); or fastreid, torchreid, scikit-learn, pytrec-eval-terrier, "
             "torchmetrics, pytorch-metric-learning, open-metric-learning, if installed")
    command.add_argument("--timeout", type=float, default=600, metavar="SECONDS",
                         help="how long importing it, or any one call, may take (default 600)")
    common.add_options(command, "--metric", "--normalize", formats=("table", "json"))


def run(args: argparse.Namespace) -> int:
    from reid_ref.commands.crosscheck.compute import crosscheck
    from reid_ref.commands.crosscheck.show import as_json, as_text
    from reid_ref.text import source

    data = common.read_files(args)
    with common.progress_bar(len(data.query)) as bar:
        how = common.how(args, (), bar=bar)
        check = crosscheck(data, args.evaluator, metric=how.metric, normalize=how.normalize,
                           timeout=args.timeout, progress=how.progress)
    if args.format == "json":
        common.print_json({"files": args.files, "layout": data.layout, **as_json(check)})
    else:
        show(as_text(check, source(args.files, data.layout)))
    return 0 if check.verdict == "equal" else 1
