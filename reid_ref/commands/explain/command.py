"""`reid-ref explain`: why two conventions give two numbers for one ranking."""
from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.commands.explain import show as report
from reid_ref.commands.explain.compute import explain, list_of_query
from reid_ref.console import options as common
from reid_ref.console.terminal import show
from reid_ref.conventions import find_convention


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Walk from one convention to another, one choice at a time: the effect of "
        "each on mAP and Rank-1, the queries affected, and those that moved most. "
        "The effects add up exactly.")
    command.set_defaults(run=run)
    common.add_files(command)
    command.add_argument("--from", dest="origin", default="matlab", metavar="NAME",
                         help="a convention (default: matlab)")
    command.add_argument("--to", dest="target", default="torchreid", metavar="NAME",
                         help="a convention (default: torchreid)")
    common.add_options(command, "--set", "--metric", "--normalize", "--index-lists",
                       "--max-memory", formats=("table", "json"))
    command.add_argument("--query", type=int, metavar="N",
                         help="show query N (from 0): the ranked list around its good images, "
                              "with every image's role, by the distances of --from")


def run(args: argparse.Namespace) -> int:
    origin, target = common.with_choices(args, [
        find_convention(args.origin, "--from"), find_convention(args.target, "--to")])
    data = common.read_files(args)
    if args.query is not None and not 0 <= args.query < len(data.query):
        raise InputError("--query", f"a number from 0 to {len(data.query) - 1}", args.query)
    lists = common.read_lists(args, [origin, target])
    how = common.how(args, [origin])
    if args.query is not None:  # both sides of its page have one order of images
        metric, normalize = how.distance()
        how = replace(how, metric=metric, normalize=normalize)
    walk = explain(data, origin, target, metric=how.metric, normalize=how.normalize, lists=lists,
                   max_memory=how.max_memory)
    listed = ([] if args.query is None else list_of_query(
        args.query, next(data.input.exact_rows(np.array([args.query]), how)), data.query,
        data.gallery, walk, lists))
    if args.format == "json":
        common.print_json(report.as_answer(walk, data.query, args.files, data.layout, args.query,
                                           listed))
    else:
        pages = ([report.waterfall(walk), report.most_moved(walk, data.query)]
                 if args.query is None
                 else [report.query_page(args.query, walk, data.query, listed)])
        show("\n".join([*pages, report.signatures(walk)]))
    return 0
