"""`reid-ref explain`: why two conventions give two numbers for one ranking."""
from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from reid_ref.commands import common
from reid_ref.commands.terminal import show

if TYPE_CHECKING:
    from reid_ref.analysis.explain import Explanation, ListedImage
    from reid_ref.files import ResultFile
    from reid_ref.labels import IndexLists

WIDTH = 80


def add(commands: Any) -> None:
    command = commands.add_parser(
        "explain", help="why two conventions give two numbers",
        description="Walk from one convention to another, one choice at a time: the effect of "
                    "each on mAP and Rank-1, the queries that it touched, and those that moved "
                    "most. The effects add up exactly.")
    command.set_defaults(run=run)
    common.add_files(command)
    common.add_lists(command)
    command.add_argument("--from", dest="origin", default="matlab", metavar="NAME",
                         help="a convention (default: matlab)")
    command.add_argument("--to", dest="target", default="torchreid", metavar="NAME",
                         help="a convention (default: torchreid)")
    command.add_argument("--query", type=int, metavar="N",
                         help="show query N (from 0): the ranked list around its good images, "
                              "with every image's role")
    command.add_argument("--json", action="store_true",
                         help="print JSON with full-precision doubles")


def run(args: argparse.Namespace) -> int:
    from reid_ref.analysis.explain import explain
    from reid_ref.arrays import InputError, check_choice
    from reid_ref.conventions import CONVENTIONS, known_as

    args.origin, args.target = known_as(args.origin), known_as(args.target)
    for option, name in (("--from", args.origin), ("--to", args.target)):
        check_choice(name, option, CONVENTIONS)
    data = common.read_files(args)
    if args.query is not None and not 0 <= args.query < len(data.query):
        raise InputError(f"--query: expected a number from 0 to {len(data.query) - 1}, "
                         f"got {args.query}")
    lists = common.read_lists(
        args, [CONVENTIONS[args.origin], CONVENTIONS[args.target]])
    distances = common.distance_matrix(args, data)
    way = explain(distances, data.query, data.gallery, args.origin, args.target, lists=lists,
                  made_of=common.made_of(args, data))
    listed = [] if args.query is None else _list(args.query, distances, data, way, lists)
    if args.json:
        common.print_json({
            "files": args.files, "layout": data.layout, **as_json(way, data),
            **({"query": args.query, "list": [vars(image) for image in listed]}
               if args.query is not None else {})})
    else:
        pages = ([waterfall(way), most_moved(way, data)] if args.query is None
                 else [query_page(args.query, way, data, listed)])
        show("\n".join([*pages, signatures(way)]))
    return 0


def _list(k: int, distances: Any, data: ResultFile, way: Explanation,
          lists: IndexLists | None) -> list[ListedImage]:
    from reid_ref.analysis.explain import ranked_list
    from reid_ref.labels import count_distractors

    return ranked_list(distances[k], data.query[k:k + 1], data.gallery, [way.origin, way.target],
                       lists=lists and lists.of_queries(slice(k, k + 1)),
                       distractors=count_distractors(data.query, data.gallery) > 0)


def waterfall(way: Explanation) -> str:
    """Return one line a step. The effects printed add up to the printed difference."""
    from textwrap import wrap

    def line(change: str, mean_ap: float, before: float | None, rank1: float,
             rank1_before: float | None, touched: str) -> str:
        moved = "" if before is None else f"{_points(mean_ap) - _points(before):+.6f}"
        stepped = "" if rank1_before is None else f"{_points(rank1) - _points(rank1_before):+.4f}"
        return (f"{change:30.30}{_points(mean_ap):>11.6f}{moved:>12}{_points(rank1):>9.4f}"
                f"{stepped:>10}{touched:>8}")

    lines = [f"{'percent':30}{'mAP':>11}{'effect':>12}{'Rank-1':>9}{'effect':>10}{'touched':>8}",
             line(way.origin.name, way.start.mean_ap, None, float(way.start.cmc[0]), None, "")]
    before = way.start
    for step in way.steps:
        lines.append(line(
            f" {step.value}" if step.choice == "ignored" else f" {step.choice} {step.value}",
            step.result.mean_ap, before.mean_ap, float(step.result.cmc[0]),
            float(before.cmc[0]), f"{step.touched:,}"))
        before = step.result
    lines.append(line(way.target.name, way.end.mean_ap, way.start.mean_ap,
                      float(way.end.cmc[0]), float(way.start.cmc[0]), ""))
    meanings = [f"{step.value}: {step.meaning}" for step in way.steps if step.meaning]
    lines += ["", *(text for meaning in meanings for text in wrap(
        meaning, WIDTH, subsequent_indent="    ", break_on_hyphens=False))]
    lines += ["touched: queries whose AP or first match the change moved, or that it dropped",
              "    or took in"]
    return "\n".join(lines)


def signatures(way: Explanation) -> str:
    """Return what the numbers at both ends were made with."""
    from textwrap import wrap

    return "\n".join(["", *(line for result in (way.start, way.end) for line in wrap(
        result.signature.replace("|", " | "), WIDTH, initial_indent=f"{'signature':10}",
        subsequent_indent=" " * 10, break_long_words=False, break_on_hyphens=False))])


def most_moved(way: Explanation, data: ResultFile) -> str:
    """Return the queries whose AP moved most, one line each."""
    moved = way.most_moved()
    if not moved:
        return "\nNo query's AP moved."
    lines = ["", f"{'moved most':12}{'identity':>9}{'camera':>8}{'good':>6}"
                 f"{'AP ' + way.origin.name:>21.21}{'AP ' + way.target.name:>24.24}"]
    for k in moved:
        lines.append(
            f"{f'query {k}':12}{data.query.identity[k]:>9}{data.query.camera[k]:>8}"
            f"{way.start.per_query.n_good[k]:>6}{way.start.per_query.ap[k]:>21.10f}"
            f"{way.end.per_query.ap[k]:>24.10f}")
    return "\n".join([*lines, "--query N shows the ranked list of one."])


def query_page(k: int, way: Explanation, data: ResultFile, listed: list[ListedImage]) -> str:
    """Return one query's ranked list around its good images, and its AP on either side."""
    names = way.origin.name, way.target.name
    lines = [f"query {k}: identity {data.query.identity[k]}, camera {data.query.camera[k]}", ""]
    for name, result in zip(names, (way.start, way.end)):
        first = result.per_query.first_match[k]
        lines += [name, f"    AP {float(result.per_query.ap[k])!r}, {result.per_query.n_good[k]} "
                        f"good, " + (f"the first at rank {first}" if first else "no match")]
    lines += ["", f"{'place':>6}{names[0]:>11.10}{names[1]:>11.10}{'image':>7}{'identity':>9}"
                  f"{'cam':>4}{'distance':>10}  role"]
    before = 0
    for image in listed:
        if image.place != before + 1:
            lines.append(f"{'...':>6}")
        before = image.place
        ranks = "".join(f"{'-' if rank is None else rank:>11}" for rank in image.ranks)
        lines.append(f"{image.place:>6}{ranks}{image.image:>7}{image.identity:>9}"
                     f"{image.camera:>4}{image.distance:>10.6g}  {image.role}")
    lines += ["", "At the k-th good image, at rank r of n good in all: precision P = k/r,",
              "before it B = (k-1)/(r-1), or 1 at rank 1. Step AP = sum of P/n; trapezoid",
              "AP = sum of (B + P)/2 / n."]
    return "\n".join(lines)


def as_json(way: Explanation, data: ResultFile) -> dict[str, Any]:
    """Return the way as plain JSON values: from, to, steps, moved_most."""
    from reid_ref.report.tables import json_number

    def numbers(result: Any) -> dict[str, Any]:
        return {"mAP": json_number(result.mean_ap), "rank1": json_number(float(result.cmc[0])),
                "signature": result.signature}

    return {
        "from": {"convention": way.origin.name, **numbers(way.start)},
        "steps": [{"choice": step.choice, "value": step.value, "meaning": step.meaning,
                   "touched": step.touched, **numbers(step.result)} for step in way.steps],
        "to": {"convention": way.target.name, **numbers(way.end)},
        "moved_most": [{
            "query": k, "identity": int(data.query.identity[k]),
            "camera": int(data.query.camera[k]),
            "ap_from": json_number(float(way.start.per_query.ap[k])),
            "ap_to": json_number(float(way.end.per_query.ap[k]))} for k in way.most_moved()],
    }


def _points(value: float) -> float:
    """Percent, rounded as printed, so that the printed effects add up."""
    return round(100 * value, 6)
