"""`reid-ref evaluate LIST --labels ...`: ranked lists in the place of features or distances."""
from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reid_ref.evaluation.result_file import ResultFile


def add(command: Any) -> None:
    command.add_argument("--labels", nargs="+", metavar="FILE",
                         help="FILE holds ranked lists, text, .json or .npy; their labels: a "
                              "table of the queries and one of the gallery (.npy, csv or image "
                              "names), or files that `reid-ref dataset` reads")
    command.add_argument("--numbers-from", type=int, choices=(0, 1),
                         help="what the first gallery image's number is in the lists; default 1 "
                              "in text, 0 in .json and .npy")
    command.add_argument("--n-good", metavar="FILE",
                         help="with --labels: how many good images exist for each query, where "
                              "the gallery lacks some")


def check(args: argparse.Namespace) -> bool:
    """Tell whether ranked lists are given; refuse what does not go together."""
    from reid_ref.arrays import InputError

    if args.labels is None:
        if args.numbers_from is not None or args.n_good is not None:
            raise InputError("--numbers-from, --n-good: expected ranked lists and --labels beside "
                             "them")
        return False
    for option, is_given in (
            ("--metric, --no-normalize", args.metric is not None or not args.normalize),
            ("--rerank", args.rerank is not None), ("--multi-query", args.multi_query is not None),
            ("--ties", args.ties is not None),
            ("--implementation", args.implementation != "fast")):
        if is_given:
            raise InputError(f"{option}: expected features or distances, got ranked lists "
                             "(--labels); leave it out")
    return True


def read(args: argparse.Namespace) -> ResultFile:
    """Read the lists and their labels."""
    from reid_ref.datasets.named_labels import read_sides
    from reid_ref.files.ranked_lists import read_n_good, read_ranked_lists
    from reid_ref.evaluation.result_file import ResultFile

    query, gallery = read_sides(*args.labels)
    ranked = read_ranked_lists(args.files[0], len(query.labels), query.names, gallery.names,
                               args.numbers_from)
    if args.n_good is not None:
        ranked = replace(ranked, n_good=read_n_good(args.n_good))
    return ResultFile("ranked lists", query.labels, gallery.labels, ranked=ranked)
