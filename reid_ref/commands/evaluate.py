"""`reid-ref evaluate`: Rank-k, mAP and mINP of a result file."""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reid_ref.commands.common import (
    check_writable, print_json, progress_bar, write_whole)

if TYPE_CHECKING:
    from reid_ref.files import ResultFile
    from reid_ref.result import Doubles, Result

IMPLEMENTATIONS = ("fast", "port", "octave", "all")


def add(commands: Any) -> None:
    command = commands.add_parser(
        "evaluate", help="Rank-k, mAP and mINP of a result file",
        description="Print Rank-1/5/10/20, mAP and mINP of a result file.",
        epilog="Files: pytorch_result.mat (layumi), the same keys in .npz or MAT v7.3; the "
               "driver's separate feature and label .mat files; or a distance matrix with "
               "labels in .mat, .npz or text. Several files in any order.")
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE")
    command.add_argument("--metric", default="euclidean", metavar="NAME",
                         help="how near two features are: euclidean (default), cosine or dot")
    command.add_argument("--no-normalize", dest="normalize", action="store_false",
                         help="do not divide features by their 2-norm")
    command.add_argument("--convention", default="matlab", metavar="NAME",
                         help="matlab (default) or mars")
    command.add_argument("--json", action="store_true",
                         help="print JSON with full-precision doubles instead of the table")
    command.add_argument("--per-query", metavar="FILE.csv", help="write one line a query")
    command.add_argument("--implementation", choices=IMPLEMENTATIONS, default="fast",
                         help="fast; port (Python, line by line); octave (the scripts, run "
                              "live); all: the three side by side, exit code 1 if they differ")
    command.add_argument("--matlab-dir", metavar="DIR",
                         help="your own checkout of the MATLAB scripts, for octave and all "
                              "(or REID_REF_MATLAB_DIR)")


def run(args: argparse.Namespace) -> int:
    from reid_ref import report
    from reid_ref.conventions import CONVENTIONS
    from reid_ref.files import read_result
    from reid_ref.validation import check_choice

    check_choice(args.convention, "--convention", CONVENTIONS)
    if args.per_query:
        check_writable(Path(args.per_query))
    data = read_result(*args.files)
    if args.implementation != "fast":
        return _evaluate_scripts(args, data)
    result = _fast(args, data)
    if args.per_query:
        write_whole(Path(args.per_query), report.per_query_csv(result, data.query))
    if args.json:
        print_json({**_source(args, data), **report.as_json(result)})
    else:
        print(report.as_table(result, f"{', '.join(args.files)}: {data.layout}", _sizes(data)))
    return 0


def _fast(args: argparse.Namespace, data: ResultFile) -> Result:
    from reid_ref.evaluate import evaluate, evaluate_distances

    with progress_bar(len(data.query)) as bar:
        progress = None if bar is None else bar.update
        if data.distances is not None:
            return evaluate_distances(data.distances, data.query, data.gallery, args.convention,
                                      progress=progress)
        return evaluate(*_features(data), data.query, data.gallery, args.metric, args.normalize,
                        args.convention, progress=progress)


def _evaluate_scripts(args: argparse.Namespace, data: ResultFile) -> int:
    from reid_ref import report
    from reid_ref.conventions import CONVENTIONS
    from reid_ref.evaluate import evaluate_distances
    from reid_ref.scripts import run_octave, run_port
    from reid_ref.validation import InputError

    if args.per_query:
        raise InputError("--per-query: the scripts return no value for each query; use "
                         "--implementation fast")
    labels = _distances(args, data), data.query, data.gallery
    convention = CONVENTIONS[args.convention]
    answers: dict[str, tuple[float, Doubles]] = {}
    if args.implementation == "all":
        fast = evaluate_distances(*labels, args.convention)
        answers["fast"] = fast.mean_ap, fast.cmc
    if args.implementation in ("port", "all"):
        port = run_port(*labels, convention)
        answers["port"] = port.mean_ap, port.cmc
    if args.implementation in ("octave", "all"):
        octave = run_octave(*labels, convention, args.matlab_dir)
        answers["octave"] = octave.mean_ap, octave.cmc
    difference = report.largest_difference(answers)
    if args.json:
        print_json({**_source(args, data), "implementations": {
            name: {"mAP": report.json_number(mean_ap), "cmc": cmc.tolist()}
            for name, (mean_ap, cmc) in answers.items()}, "largest_difference": difference})
    else:
        print(report.side_by_side(answers, difference))
    return 0 if difference == 0 else 1


def _distances(args: argparse.Namespace, data: ResultFile) -> Any:
    from reid_ref.distances import distance_matrix

    if data.distances is not None:
        return data.distances
    return distance_matrix(
        *_features(data), metric=args.metric, normalize=args.normalize)


def _features(data: ResultFile) -> tuple[Any, Any]:
    # A result file holds distances or both feature arrays; its reader sees to that.
    return data.query_features, data.gallery_features


def _source(args: argparse.Namespace, data: ResultFile) -> dict[str, Any]:
    return {"files": args.files, "layout": data.layout}


def _sizes(data: ResultFile) -> str:
    if data.distances is not None:
        return f"distances {data.distances.dtype}"
    features, _ = _features(data)
    return f"features {features.shape[1]}-d {features.dtype}"
