"""`reid-ref evaluate`: Rank-k, mAP and mINP of a result file."""
from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reid_ref.commands import beside, common
from reid_ref.commands.terminal import show

if TYPE_CHECKING:
    from reid_ref.arrays import Doubles
    from reid_ref.conventions import Convention
    from reid_ref.files import ResultFile
    from reid_ref.labels import IndexLists, Labels
    from reid_ref.result import Result

IMPLEMENTATIONS = ("fast", "port", "octave", "all")
FORMATS = ("table", "json", "csv", "markdown", "latex")


def add(commands: Any) -> None:
    command = commands.add_parser(
        "evaluate", help="Rank-k, mAP and mINP of a result file",
        description="Print Rank-1/5/10/20, mAP and mINP of a result file.",
        epilog="Files: pytorch_result.mat (layumi), the same keys in .npz or MAT v7.3; the "
               "driver's separate feature and label .mat files; or a distance matrix with "
               "labels in .mat, .npz or text. Several files in any order.")
    command.set_defaults(run=run)
    common.add_files(command)
    command.add_argument("--convention", action="append", metavar="NAME[,NAME]",
                         help="matlab (default), another that `reid-ref conventions` lists, or "
                              "all: every one that applies; several make one table")
    command.add_argument("--ties", metavar="ORDER",
                         help="order of equal distances: gallery-order, reversed, grouped, numpy, "
                              "numpy-reversed; or bounds: best, worst and expected numbers")
    common.add_lists(command)
    command.add_argument("--format", choices=FORMATS, default="table",
                         help="table (default); json, in full precision; csv, markdown, latex: "
                              "a row for a paper's table, with the signature")
    command.add_argument("--json", dest="format", action="store_const", const="json",
                         help="the same as --format json")
    command.add_argument("--per-query", metavar="FILE",
                         help="write one line a query to FILE, named .csv or .json")
    beside.add(command)
    command.add_argument("--max-memory", metavar="SIZE",
                         help="memory to work in besides the file's arrays, e.g. 512M; the "
                              "numbers do not depend on it")
    command.add_argument("--implementation", choices=IMPLEMENTATIONS, default="fast",
                         help="fast; port (Python, line by line); octave (the scripts, run "
                              "live); all: the three side by side, exit code 1 if they differ")
    command.add_argument("--matlab-dir", metavar="DIR",
                         help="your own checkout of the MATLAB scripts, for octave and all "
                              "(or REID_REF_MATLAB_DIR)")


def run(args: argparse.Namespace) -> int:
    asked, left_out = _asked(args)
    stands_beside = beside.check(args, asked)
    if args.per_query is not None:
        _check_per_query(args)
    data = common.read_files(args)
    if stands_beside:
        return beside.run(args, data, asked[0])
    lists = common.read_lists(args, asked)
    if args.implementation != "fast":
        return _evaluate_scripts(args, data, asked)
    if args.ties == "bounds":
        return _tie_bounds(args, data, asked[0], lists)
    results = _fast(args, data, asked, lists)
    if args.per_query is not None:
        _write_per_query(args, data, results)
    _print(args, data, results, left_out)
    return 0


def _asked(args: argparse.Namespace) -> tuple[list[Convention], dict[str, str]]:
    """Return the conventions asked for, with the order of ties asked for, and why `all` is less.
    """
    from reid_ref.arrays import InputError, check_choice
    from reid_ref.arrays.memory import bytes_of
    from reid_ref.conventions import CONVENTIONS, NOT_IN_ALL, TIES

    if args.max_memory is not None:
        args.max_memory = bytes_of(args.max_memory, "--max-memory")
        if args.implementation != "fast" or args.ties == "bounds":
            raise InputError("--max-memory: only the fast implementation works in blocks; leave "
                             "it out")
    names = common.convention_names(args, "matlab")
    if args.ties is not None:
        check_choice(args.ties, "--ties", [*TIES, "bounds"])
    if args.matlab_dir is not None and args.implementation not in ("octave", "all"):
        raise InputError("--matlab-dir: expected --implementation octave or all, got "
                         f"{args.implementation}; leave it out, or run the scripts")
    if (names is None or len(names) > 1) and (
            args.ties or args.per_query is not None or args.implementation != "fast"):
        raise InputError("--convention: --ties, --per-query and --implementation need one "
                         f"convention, got {', '.join(names or ['all'])}; name one")
    if names is None:
        left_out = {name: why for name, why in NOT_IN_ALL.items()
                    if not (args.index_lists and CONVENTIONS[name].needs_lists)}
        return [one for name, one in CONVENTIONS.items() if name not in left_out], left_out
    asked = [CONVENTIONS[name] for name in names]
    if args.ties not in (None, "bounds", asked[0].ties):
        asked = [asked[0].replace(ties=args.ties)]
    return asked, {}


def _fast(args: argparse.Namespace, data: ResultFile, asked: list[Convention],
          lists: IndexLists | None) -> dict[str, Result]:
    from reid_ref.evaluation.engine import results_of_distances, results_of_features

    with common.progress_bar(len(data.query)) as bar:
        options = {"lists": lists, "max_memory": args.max_memory,
                   "progress": None if bar is None else bar.update}
        if data.distances is not None:
            return results_of_distances(
                data.distances, data.query, data.gallery, asked, **options)
        return results_of_features(
            data.query_features, data.gallery_features, data.query, data.gallery, asked,
            args.metric, args.normalize, **options)


def _print(args: argparse.Namespace, data: ResultFile, results: dict[str, Result],
           left_out: dict[str, str]) -> None:
    from reid_ref.arrays import warn
    from reid_ref.datasets.fingerprints import recognise
    from reid_ref.report import rows as formats, tables as report

    result = next(iter(results.values()))
    known = recognise(data.query, data.gallery)
    # That a loader drops label -1 changes no number of matlab, and is the custom of many.
    if known and any("your loader drops them" not in one for one in known.off):
        warn(known.sentence)
    if args.format == "json":
        answers = {name: report.as_json(one) for name, one in results.items()}
        body = ({"conventions": answers, "left_out": left_out} if len(results) > 1
                else answers.popitem()[1])
        dataset = known and {"name": known.fingerprint.name, "off": list(known.off)}
        common.print_json({"files": args.files, "layout": data.layout, "dataset": dataset, **body})
    elif args.format != "table":
        rows = results if len(results) > 1 else result
        show({"csv": formats.as_csv, "markdown": formats.as_markdown,
              "latex": formats.as_latex}[args.format](rows))
    elif len(results) > 1:
        show(report.conventions_table(
            results, left_out, common.source(args, data), _sizes(data)))
    else:
        show(report.as_table(result, common.source(args, data), _sizes(data),
                             known.sentence if known else None))


def _check_per_query(args: argparse.Namespace) -> None:
    """Refuse, before any work, a file for --per-query that could not be written as it says."""
    from reid_ref.arrays import InputError
    from reid_ref.files.writing import check_target, is_direct

    name = args.per_query
    if name == "-":
        raise InputError("--per-query: expected a file, got '-', and standard output has the "
                         "report; name a file")
    check_target(name, [*args.files, *(args.index_lists or ())])
    suffix = Path(name).suffix
    if suffix.lower() not in (".csv", ".json") and not (suffix == "" and is_direct(name)):
        raise InputError(f"--per-query: expected a name that ends in .csv or .json, got {name}")


def _write_per_query(args: argparse.Namespace, data: ResultFile,
                     results: dict[str, Result]) -> None:
    import json

    from reid_ref.files.writing import whole_files
    from reid_ref.report import rows as formats, tables as report

    result, = results.values()
    text = (json.dumps(formats.per_query_json(result, data.query), indent=1) + "\n"
            if Path(args.per_query).suffix.lower() == ".json"
            else report.per_query_csv(result, data.query))
    with whole_files(args.per_query) as (file,):
        file.write(text)


def _tie_bounds(args: argparse.Namespace, data: ResultFile, convention: Convention,
                lists: IndexLists | None) -> int:
    from reid_ref.analysis.tie_bounds import check_rule, tie_bounds
    from reid_ref.arrays import InputError
    from reid_ref.evaluation.curves import Curves
    from reid_ref.evaluation.engine import rank_blocks, rank_features, rank_key, warn_unmatched
    from reid_ref.evaluation.summary import summarize
    from reid_ref.labels import check_lists
    from reid_ref.ranking.good_ranks import of_queries
    from reid_ref.report import tables as report

    if args.per_query is not None or args.format not in ("table", "json"):
        raise InputError("--ties bounds: prints a table or JSON of three numbers each; leave out "
                         "--per-query and other formats")
    check_rule(convention)
    check_lists(lists, [convention.name] if convention.needs_lists else [],
                data.query, data.gallery)
    labels = data.query, data.gallery
    with common.progress_bar(len(data.query)) as bar:
        progress = None if bar is None else bar.update
        if data.distances is not None:
            ranked, _ = rank_blocks(common.distance_rows(args, data), *labels, [convention],
                                    lists, progress)
            ranks = ranked[rank_key(convention)]
        else:  # any order of ties has the same groups
            ranks = rank_features(
                data.query_features, data.gallery_features, *labels, [convention.not_ranked],
                args.metric, args.normalize, lists=lists,
                progress=progress)[convention.not_ranked]
    curves = Curves([convention], *labels)
    result = summarize(ranks, *labels, convention, common.made_of(args, data), curves)
    warn_unmatched(result, *labels)
    signature = result.signature.replace(f"|ties:{convention.ties}|", "|ties:bounds|")
    bounds = tie_bounds(of_queries(ranks, convention.loaded(data.query.identity)), convention,
                        len(data.gallery))
    if args.format == "json":
        common.print_json({
            "files": args.files, "layout": data.layout, "convention": convention.name,
            "tied": bounds.tied, **{
                name: {"mAP": report.json_number(mean_ap), "cmc": report.json_numbers(cmc)}
                for name, (mean_ap, cmc) in (("worst", bounds.worst), ("best", bounds.best),
                                             ("expected", bounds.expected))},
            "signature": signature})
    else:
        show(report.bounds_table(bounds, len(data.query), signature))
    return 0


def _evaluate_scripts(args: argparse.Namespace, data: ResultFile,
                      asked: list[Convention]) -> int:
    from reid_ref.arrays import InputError
    from reid_ref.evaluation.functions import evaluate_distances
    from reid_ref.report import tables as report

    if args.per_query is not None or args.ties or args.format not in ("table", "json"):
        raise InputError("--implementation: --per-query, --ties and other formats need the fast "
                         "one; the scripts return no value for each query")
    labels = common.distance_matrix(args, data), data.query, data.gallery
    convention, = asked
    answers: dict[str, tuple[float, Doubles]] = {}
    if args.implementation == "all":
        fast = evaluate_distances(*labels, convention=convention)
        answers["fast"] = fast.mean_ap, fast.cmc
    try:
        answers.update(_script_answers(args, labels, convention))
    except InputError as error:
        message = str(error).replace("matlab_dir:", "--matlab-dir:", 1)
        raise InputError(f"--implementation {args.implementation}: {message}") from None
    difference = report.largest_difference(answers)
    if args.format == "json":
        common.print_json({"files": args.files, "layout": data.layout, "implementations": {
            name: {"mAP": report.json_number(mean_ap), "cmc": cmc.tolist()}
            for name, (mean_ap, cmc) in answers.items()}, "largest_difference": difference})
    else:
        show(report.side_by_side(answers, difference))
    return 0 if difference == 0 else 1


def _script_answers(args: argparse.Namespace, labels: tuple[Any, Labels, Labels],
                    convention: Convention) -> Iterator[tuple[str, tuple[float, Doubles]]]:
    from reid_ref.analysis.implementations import run_octave, run_port

    if args.implementation in ("port", "all"):
        port = run_port(*labels, convention)
        yield "port", (port.mean_ap, port.cmc)
    if args.implementation in ("octave", "all"):
        octave = run_octave(*labels, convention, args.matlab_dir)
        yield "octave", (octave.mean_ap, octave.cmc)


def _sizes(data: ResultFile) -> str:
    if data.distances is not None:
        return f"distances {data.distances.dtype}"
    features: Any = data.query_features
    return f"features {features.shape[1]}-d {features.dtype}"
