"""`reid-ref evaluate`: Rank-k, mAP and mINP of a result file."""
from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reid_ref.commands.evaluate.command import batch as several, details, rerank as beside
from reid_ref.commands.gate import command as gates
from reid_ref.console import confidence, files as ranked_lists, options as common, systems
from reid_ref.console.files import evaluate_file
from reid_ref.console.terminal import show

if TYPE_CHECKING:
    from reid_ref.conventions import Convention
    from reid_ref.datasets import Recognised
    from reid_ref.evaluation.result_file import ResultFile
    from reid_ref.labels import IndexLists
    from reid_ref.result import Result
    from reid_ref.statistics import Interval

IMPLEMENTATIONS = ("fast", "port", "octave", "all")


def add(command: argparse.ArgumentParser) -> None:
    command.description = "Print Rank-k, mAP and mINP of a result file, or of several."
    command.epilog = (
        "Files: pytorch_result.mat (layumi), the same keys in .npz or MAT v7.3; the "
        "driver's separate feature and label .mat files; or a distance matrix with "
        "labels in .mat, .npz or text, in any order. Files that each hold everything "
        "are evaluated one after the other, a row each. A result that --save wrote is shown "
        "as it is. " + gates.CODES)
    command.set_defaults(run=run)
    common.add_files(command)
    _add_choices(command.add_argument_group("what is counted, and how"))
    _add_output(command.add_argument_group("what is printed and written"))
    confidence.add(command.add_argument_group("how sure the numbers are"))
    gates.add(command.add_argument_group("exit codes for CI"))
    ranked_lists.add(command.add_argument_group("ranked lists in the place of a result file"))
    beside.add(command.add_argument_group("re-ranking and multiple queries"))
    _add_implementations(command.add_argument_group("the MATLAB scripts themselves"))


def _add_choices(group: Any) -> None:
    common.add_options(group, "--convention", "--set")
    group.add_argument("--ties", metavar="ORDER",
                       help="order of equal distances: gallery-order, reversed, grouped, numpy, "
                            "numpy-reversed; or bounds: best, worst and expected numbers")
    common.add_options(group, "--metric", "--no-normalize", "--index-lists", "--max-memory")


def _add_output(group: Any) -> None:
    common.add_options(group, "--ranks", "--name", formats=common.FORMATS)
    group.add_argument("--cmc", metavar="RANKS",
                       help="ranks of the CMC curve in JSON: a number, or all; default 50")
    group.add_argument("--per-query", metavar="FILE",
                       help="write one line a query to FILE, named .csv or .json")
    group.add_argument("--save", metavar="FILE",
                       help="write the whole result to FILE, named .json: this and other commands "
                            "take it in the place of the result file")
    details.add(group)


def _add_implementations(group: Any) -> None:
    group.add_argument("--implementation", choices=IMPLEMENTATIONS, default="fast",
                       help="fast; port (Python, line by line); octave (the scripts, run "
                            "live); all: the three side by side, exit code 1 if they differ")
    group.add_argument("--matlab-dir", metavar="DIR",
                       help="your own checkout of the MATLAB scripts, for octave and all "
                            "(or REID_REF_MATLAB_DIR)")


@dataclass(frozen=True)
class Asked:
    """What is asked for, read from the options before the work."""

    conventions: list[Convention]
    left_out: dict[str, str]
    intervals: dict[str, Any] | None
    gates: gates.Gates


def run(args: argparse.Namespace) -> int:
    asked = _check(args)
    groups = several.groups_of(args)
    if len(groups) > 1 or args.names is not None:
        return several.run(args, groups, asked.conventions, asked.left_out,
                           common.read_lists(args, asked.conventions), asked.intervals)
    if systems.is_saved(args, args.files):
        return _show_saved(args, asked)
    data = ranked_lists.read(args, args.files[0]) if args.labels else common.read_files(args)
    if args.rerank is not None or args.multi_query is not None:
        return beside.run(args, data, asked.conventions[0], asked.intervals)
    lists = common.read_lists(args, asked.conventions)
    if args.implementation != "fast":
        return _evaluate_scripts(args, data, asked.conventions[0])
    if args.ties == "bounds":
        return _tie_bounds(args, data, asked.conventions[0], lists)
    return _evaluate(args, data, asked, lists)


def _check(args: argparse.Namespace) -> Asked:
    """Return what is asked for; what is wrong, or does not go together, is known before the work.
    """
    common.cmc_length(args)
    if systems.is_saved(args, args.files):
        _check_saved(args)
    conventions, left_out = _conventions(args)
    common.ranks(args)
    beside.check(args, conventions)
    details.check(args, conventions)
    asked = Asked(conventions, left_out, confidence.check(args), gates.check(args, conventions))
    if args.per_query is not None:
        _check_per_query(args)
    if args.save is not None:
        _check_save(args, conventions)
    ranked_lists.check(args, {
        "--metric, --no-normalize": args.metric is not None or not args.normalize,
        "--rerank": args.rerank is not None, "--multi-query": args.multi_query is not None,
        "--ties": args.ties is not None, "--implementation": args.implementation != "fast",
        "--worst": args.worst is not None})
    return asked


def _evaluate(args: argparse.Namespace, data: ResultFile, asked: Asked,
              lists: IndexLists | None) -> int:
    """Evaluate one result, print it, and write what is asked for; return the exit code."""
    from reid_ref.commands.evaluate import show as tables

    results = evaluate_file(args, data, asked.conventions, lists)
    found = gates.examine(args, data, asked.conventions)
    status = gates.status(args, asked.gates, found, next(iter(results.values())))
    _write(args, results)
    more = details.find(args, data, results, lists)
    results, intervals = confidence.find(args, results, asked.intervals)
    _print(args, data.layout, tables.sizes(data), common.recognised(data), results, intervals,
           asked.left_out, more)
    return status


def _show_saved(args: argparse.Namespace, asked: Asked) -> int:
    """Print and write what is asked of a saved result."""
    from reid_ref.commands.evaluate import show as tables

    results = systems.saved_results(args, args.files) or {}
    result, = results.values()
    status = gates.status(args, asked.gates, [], result)
    _write(args, results)
    found = details.find_in_saved(args, result)
    _print(args, tables.SAVED, tables.sizes_of_saved(result), None,
           *confidence.find(args, results, asked.intervals), {}, found)
    return status


def _conventions(args: argparse.Namespace) -> tuple[list[Convention], dict[str, str]]:
    """Return the conventions asked for, with the order of ties asked for, and why `all` is less.
    """
    from reid_ref.arrays import InputError, check_choice
    from reid_ref.conventions import CONVENTIONS, NOT_IN_ALL, TIES

    if common.max_memory(args) is not None and (
            args.implementation != "fast" or args.ties == "bounds"):
        raise InputError("--max-memory: only the fast implementation works in blocks; leave it "
                         "out")
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
        return common.with_choices(args, [
            one for name, one in CONVENTIONS.items() if name not in left_out]), left_out
    asked = [CONVENTIONS[name] for name in names]
    ties = {} if args.ties in (None, "bounds") else {"ties": args.ties}
    return common.with_choices(args, asked, **ties), {}


def _print(args: argparse.Namespace, layout: str, sizes: str, known: Recognised | None,
           results: dict[str, Result], intervals: dict[str, dict[str, Interval]] | None,
           left_out: dict[str, str], found: dict[str, Any]) -> None:
    from reid_ref.commands.evaluate import show as tables
    from reid_ref.commands.evaluate.show import rows
    from reid_ref.text import source

    first = next(iter(results.values()))
    here = source(args.files, layout)
    if args.format == "json":
        common.print_json({"files": args.files, "layout": layout,
                           **tables.results_as_json(results, left_out, known,
                                                    common.cmc_length(args), intervals),
                           **found})
    elif args.format != "table":
        show({"csv": rows.as_csv, "markdown": rows.as_markdown,
              "latex": rows.as_latex}[args.format](
                  results if len(results) > 1 else first, ranks=common.ranks(args),
                  intervals=intervals))
    elif len(results) > 1:
        show(tables.conventions_table(results, left_out, here, sizes,
                                      common.ranks(args, (1, 5, 10)), intervals))
    else:
        show(tables.as_table(first, here, sizes, known.sentence if known else None,
                             common.ranks(args), intervals))
        details.show_tables(found)


def _check_saved(args: argparse.Namespace) -> None:
    """Refuse what is asked of features or distances, where the file is a saved result."""
    from reid_ref.arrays import InputError

    systems.check_not_evaluated(args)
    given = {"--ties": args.ties is not None, "--metric": args.metric is not None,
             "--no-normalize": not args.normalize, "--strict": args.strict,
             "--implementation": args.implementation != "fast",
             "--rerank": args.rerank is not None, "--multi-query": args.multi_query is not None}
    for option in (option for option, is_given in given.items() if is_given):
        raise InputError(f"{option}: expected features or distances, got a saved result; evaluate "
                         "the result file anew")


def _check_save(args: argparse.Namespace, asked: list[Convention]) -> None:
    """Refuse, before any work, what is no single result, or cannot be written as it says."""
    from reid_ref.arrays import InputError
    from reid_ref.disk import check_different

    if (len(asked) > 1 or args.ties == "bounds" or args.implementation != "fast"
            or args.rerank is not None or args.multi_query is not None):
        raise InputError("--save: expected one result of one convention; leave out --ties bounds, "
                         "--implementation, --rerank, --multi-query, and save each in a call of "
                         "its own")
    _check_written(args, "--save", args.save, (".json",))
    if args.per_query is not None:
        check_different([Path(args.save), Path(args.per_query)])


def _check_per_query(args: argparse.Namespace) -> None:
    """Refuse, before any work, a file for --per-query that could not be written as it says."""
    _check_written(args, "--per-query", args.per_query, (".csv", ".json"))


def _check_written(args: argparse.Namespace, option: str, name: str,
                   suffixes: tuple[str, ...]) -> None:
    from reid_ref.arrays import InputError
    from reid_ref.disk import check_target, is_direct

    if name == "-":
        raise InputError(f"{option}: expected a file, got '-', and standard output has the "
                         "report; name a file")
    check_target(name, [*args.files, *(args.index_lists or ()), *(args.labels or ()),
                        *([args.baseline] if args.baseline is not None else ())])
    suffix = Path(name).suffix
    if suffix.lower() not in suffixes and not (suffix == "" and is_direct(name)):
        raise InputError(f"{option}: expected a name that ends in {' or '.join(suffixes)}, got "
                         f"{name}")


def _write(args: argparse.Namespace, results: dict[str, Result]) -> None:
    """Write the files of --save and --per-query, where they are asked for."""
    from reid_ref.commands.evaluate.show.rows import per_query_csv, per_query_json
    from reid_ref.disk import whole_files

    if args.save is not None:
        next(iter(results.values())).save(args.save)
    if args.per_query is None:
        return
    result, = results.values()
    text = (json.dumps({"schema": common.SCHEMA, **per_query_json(result)}, indent=1) + "\n"
            if Path(args.per_query).suffix.lower() == ".json" else per_query_csv(result))
    with whole_files(args.per_query) as (file,):
        file.write(text)


def _tie_bounds(args: argparse.Namespace, data: ResultFile, convention: Convention,
                lists: IndexLists | None) -> int:
    from reid_ref.arrays import InputError
    from reid_ref.commands.evaluate.show.details import bounds_json, bounds_table
    from reid_ref.evaluation.tie_bounds import tie_bounds_of

    if args.per_query is not None or args.format not in ("table", "json"):
        raise InputError("--ties bounds: prints a table or JSON of three numbers each; leave out "
                         "--per-query and other formats")
    with common.progress_bar(len(data.query)) as bar:
        bounds = tie_bounds_of(data.input, data.query, data.gallery,
                               common.how(args, [convention], lists, bar))
    if args.format == "json":
        common.print_json({"files": args.files, "layout": data.layout,
                           "convention": convention.name,
                           **bounds_json(bounds, common.cmc_length(args))})
    else:
        show(bounds_table(bounds, len(data.query), common.ranks(args)))
    return 0


def _evaluate_scripts(args: argparse.Namespace, data: ResultFile, convention: Convention) -> int:
    from reid_ref.arrays import InputError
    from reid_ref.commands.evaluate.compute import largest_difference, run_fast, run_scripts
    from reid_ref.commands.evaluate.show.details import scripts_json, scripts_table

    if args.per_query is not None or args.ties or args.format not in ("table", "json"):
        raise InputError("--implementation: --per-query, --ties and other formats need the fast "
                         "one; the scripts return no value for each query")
    distances = data.input.by_product(common.how(args, [convention]))
    given = distances, data.query, data.gallery, convention
    answers = {"fast": run_fast(*given)} if args.implementation == "all" else {}
    try:
        answers.update(run_scripts(args.implementation, *given, args.matlab_dir))
    except InputError as error:
        message = str(error).replace("matlab_dir:", "--matlab-dir:", 1)
        raise InputError(f"--implementation {args.implementation}: {message}") from None
    difference = largest_difference(answers)
    if args.format == "json":
        common.print_json({"files": args.files, "layout": data.layout,
                           **scripts_json(answers, difference, common.cmc_length(args))})
    else:
        show(scripts_table(answers, difference, common.ranks(args)))
    return 0 if difference == 0 else 1
