"""`reid-ref evaluate` with --rerank or --multi-query: the original numbers, and others beside."""
from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from reid_ref.commands.gate import command as gates
from reid_ref.console import confidence, options as common
from reid_ref.console.files import evaluate_file
from reid_ref.console.terminal import show

if TYPE_CHECKING:
    from reid_ref.conventions import Convention
    from reid_ref.evaluation.result_file import ResultFile
    from reid_ref.result import Result


def add(command: Any) -> None:
    command.add_argument("--rerank", nargs="?", const="matlab", metavar="VARIANT",
                         help="also after k-reciprocal re-ranking: matlab (default), ranklist, "
                              "torchreid, layumi, strong-baseline, fast-reid; put FILE first")
    command.add_argument("--k1", type=int, metavar="N", help="of --rerank; default 20")
    command.add_argument("--k2", type=int, metavar="N", help="of --rerank; default 6")
    command.add_argument("--lambda", dest="lambda_", type=float, metavar="X",
                         help="of --rerank: share of the original distance, 0 to 1; default 0.3")
    command.add_argument("--multi-query", metavar="FILE",
                         help="also with multiple queries: a file with mquery_f, mquery_label and "
                              "mquery_cam, pooled for each query by their mean and maximum")


def check(args: argparse.Namespace, asked: list[Convention]) -> None:
    """Refuse options of re-ranking and multiple queries that do not go together."""
    from reid_ref.arrays import InputError, check_choice
    from reid_ref.reranking.k_reciprocal import VARIANTS

    if _numbers(args) and args.rerank is None:
        raise InputError("--k1, --k2, --lambda: expected --rerank beside them")
    if args.rerank is None and args.multi_query is None:
        return
    if args.rerank is not None:
        check_choice(args.rerank, "--rerank", VARIANTS)
        if args.multi_query is not None:
            raise InputError("--rerank, --multi-query: expected one of them; the drivers never "
                             "re-rank multiple queries")
    if (len(asked) > 1 or args.ties == "bounds" or args.per_query is not None
            or args.implementation != "fast" or args.format not in ("table", "json")):
        raise InputError("--rerank, --multi-query: expected one convention, a table or JSON; "
                         "leave out --ties bounds, --per-query, --implementation, other formats")


def _numbers(args: argparse.Namespace) -> dict[str, Any]:
    """Return the numbers of re-ranking that were given."""
    numbers = {"k1": args.k1, "k2": args.k2, "lambda_": args.lambda_}
    return {name: value for name, value in numbers.items() if value is not None}


def run(args: argparse.Namespace, data: ResultFile, convention: Convention,
        options: dict[str, Any] | None) -> int:
    from reid_ref.arrays import InputError, each_warning_once
    from reid_ref.commands.evaluate import show as tables
    from reid_ref.text import source

    option = "--rerank" if args.rerank is not None else "--multi-query"
    data.features(option)
    if args.index_lists:
        raise InputError(f"{option}: --index-lists is not taken; leave it out")
    remarks: list[str] = []
    with each_warning_once():
        results = {"original": evaluate_file(args, data, [convention], None)[convention.name]}
        if args.rerank is not None:
            results["re-ranked"] = reranked = _reranked(args, data, convention)
            remarks = tables.reranked_remarks(args.rerank, data.gallery, reranked)
        else:
            results.update(_multi_query(args, data, convention))
        results, intervals = confidence.find(args, results, options)
    found = gates.examine(args, data, [convention])
    if args.format == "json":
        common.print_json({
            "files": args.files, "layout": data.layout, "remarks": remarks,
            "results": tables.each_as_json(results, common.cmc_length(args), intervals)})
    else:
        show(tables.beside(results, source(args.files, data.layout), remarks,
                           common.ranks(args), intervals))
    return gates.of_findings(args, found)


def _reranked(args: argparse.Namespace, data: ResultFile, convention: Convention) -> Result:
    from reid_ref.reranking.k_reciprocal import evaluate_reranked

    with common.progress_bar(len(data.query)) as bar:
        return evaluate_reranked(
            data.query_features, data.gallery_features, data.query, data.gallery,
            variant=args.rerank, normalize=args.normalize, convention=convention,
            progress=None if bar is None else bar.update, **_numbers(args))


def _multi_query(args: argparse.Namespace, data: ResultFile,
                 convention: Convention) -> dict[str, Result]:
    from reid_ref.commands.evaluate.compute import evaluate_multi_query
    from reid_ref.datasets.pooling import POOLINGS

    with common.progress_bar(len(POOLINGS) * len(data.query)) as bar:
        results = evaluate_multi_query(
            data, args.multi_query, convention, args.metric or common.METRIC, args.normalize,
            common.max_memory(args),
            None if bar is None else bar.update)
    return {f"multiple, {pooling}": one for pooling, one in results.items()}
