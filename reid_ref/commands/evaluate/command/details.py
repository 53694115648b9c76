"""`reid-ref evaluate` with --at, --worst or --by: more of one result than its headline."""
from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reid_ref.console import options as common
from reid_ref.console.terminal import show

if TYPE_CHECKING:
    from reid_ref.conventions import Convention
    from reid_ref.evaluation.result_file import ResultFile
    from reid_ref.labels import IndexLists
    from reid_ref.result import Result


def add(command: Any) -> None:
    command.add_argument("--at", metavar="K[,K]",
                         help="also accuracy, precision, recall and mAP of the first K images, "
                              "e.g. 1,5,10")
    command.add_argument("--worst", type=int, metavar="N",
                         help="also the N queries of lowest AP, each with its nearest wrong image")
    command.add_argument("--by", action="append", choices=("identity", "camera"),
                         help="also mAP, Rank-1 and mINP of each identity, or of each query "
                              "camera; may be given twice")


def check(args: argparse.Namespace, asked: list[Convention]) -> None:
    """Refuse what cannot be read, and what these tables do not stand below."""
    from reid_ref.arrays import InputError

    if args.at is None and args.worst is None and args.by is None:
        return
    if args.at is not None:
        _ranks(args.at)
    if args.worst is not None and args.worst < 1:
        raise InputError(f"--worst: expected a number of queries from 1, got {args.worst}")
    if (len(asked) > 1 or args.ties == "bounds" or args.implementation != "fast"
            or args.rerank is not None or args.multi_query is not None
            or args.format not in ("table", "json")):
        raise InputError("--at, --worst, --by: expected one convention, a table or JSON; leave "
                         "out --ties bounds, --implementation, --rerank, --multi-query, other "
                         "formats")


def _ranks(text: str) -> list[int]:
    from reid_ref.arrays import InputError

    words = [word.strip() for word in text.split(",")]
    # Beyond 18 digits is no rank of any gallery, and no int64.
    if not all(word.isascii() and word.isdigit() and int(word) > 0 and len(word) < 19
               for word in words):
        raise InputError(f"--at: expected whole numbers from 1, such as 1,5,10, got {text!r}")
    return list(dict.fromkeys(map(int, words)))


def find(args: argparse.Namespace, data: ResultFile, results: dict[str, Result],
         lists: IndexLists | None) -> dict[str, Any]:
    """Return what was asked for as plain JSON values; empty if nothing was."""
    from reid_ref.commands.evaluate.show.details import wrong_rows
    from reid_ref.evaluation.query_list import nearest_wrong

    result = next(iter(results.values()))
    return _find(args, result, lambda queries: wrong_rows(nearest_wrong(
        data, queries, common.how(args, [result.convention], lists)), data.gallery))


def find_in_saved(args: argparse.Namespace, result: Result) -> dict[str, Any]:
    """Return what `find` does, without wrong images, which a saved result does not have."""
    return _find(args, result, lambda queries: [None] * len(queries))


def _find(args: argparse.Namespace, result: Result, nearest: Callable[[Any], Any],
          ) -> dict[str, Any]:
    from reid_ref.commands.evaluate.show import details as report
    from reid_ref.evaluation.groups import by_group
    from reid_ref.evaluation.rank_lists import worst_queries

    found: dict[str, Any] = {}
    if args.at is not None:
        found["at"] = report.at_rows([result.at(k) for k in _ranks(args.at)])
    if args.worst is not None:
        queries = worst_queries(result, args.worst)
        found["worst"] = report.worst_rows(result, queries, nearest(queries))
    if args.by is not None:
        found["by"] = {by: report.group_rows(by_group(result, by=by), by)
                       for by in dict.fromkeys(args.by)}
    return found


def show_tables(found: dict[str, Any]) -> None:
    """Print what `find` found, a table each."""
    from reid_ref.commands.evaluate.show.details import TABLES

    for name, rows in found.items():
        show(TABLES[name](rows))
