"""`reid-ref validate`: which convention gives a published figure, and can it be at all?"""
from __future__ import annotations

import argparse
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from reid_ref.commands import common
from reid_ref.commands.terminal import show

if TYPE_CHECKING:
    from reid_ref.analysis.figure import Figure
    from reid_ref.analysis.possible import HitCounts, MapBounds
    from reid_ref.analysis.published import Published
    from reid_ref.analysis.reproduce import Candidate, Validation
    from reid_ref.files import ResultFile

WIDTH = 80
#: How many of those that do not reproduce the figure the table shows.
CLOSEST = 5


def add(commands: Any) -> None:
    command = commands.add_parser(
        "validate", help="which convention gives a published figure",
        description="Say which conventions and metrics reproduce a published Rank-1 and mAP on a "
                    "result file, which come closest, and whether the figure is possible at all.",
        epilog="Exit code 0: some convention reproduces the printed digits (rounded); 1: none "
               "does; 2: wrong input.")
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE")
    command.add_argument("--published", metavar="RANK1/MAP",
                         help="percent, with the decimals printed: 81.1/67.6; one alone: 81.1/ "
                              "or /67.6")
    command.add_argument("--paper", metavar="KEY",
                         help="take the figure from the built-in table: see `reid-ref published`")
    command.add_argument("--convention", action="append", metavar="NAME[,NAME]",
                         help="only these conventions (default: all that need no more than the "
                              "file has and are quick)")
    command.add_argument("--json", action="store_true",
                         help="print JSON with full-precision doubles instead of the tables")


def run(args: argparse.Namespace) -> int:
    from reid_ref.analysis.figure import parse_figure
    from reid_ref.analysis.published import by_key
    from reid_ref.analysis.reproduce import RANKINGS, paper_figure, validate
    from reid_ref.arrays import InputError
    from reid_ref.conventions import CONVENTIONS
    from reid_ref.files import read_result

    if (args.published is None) == (args.paper is None):
        raise InputError("--published, --paper: expected one of them, got "
                         + ("none" if args.paper is None else "both")
                         + "; write --published 81.1/67.6, or --paper KEY")
    names = common.convention_names(args, "all")
    for name in names or ():
        if CONVENTIONS[name].needs_lists:
            raise InputError(f"--convention: {name!r} needs lists of good and junk images, which "
                             "this command does not read; `reid-ref evaluate` does")
    paper = None if args.paper is None else by_key(args.paper)
    figure = parse_figure(args.published) if paper is None else paper_figure(paper)
    data = read_result(*args.files)
    _warn_other_queries(paper, data)
    rankings = len(RANKINGS) if data.distances is None else 1
    with common.progress_bar(rankings * len(data.query)) as bar:
        found = validate(data, figure, names,
                         label_minus_1="" if paper is None else paper.label_minus_1,
                         progress=None if bar is None else bar.update)
    if args.json:
        common.print_json({"files": args.files, "layout": data.layout, **as_json(found, paper)})
    else:
        show(as_table(found, common.source(args, data), paper))
    return 0 if found.reproduced else 1


def _warn_other_queries(paper: Published | None, data: ResultFile) -> None:
    from reid_ref.arrays import warn

    if paper is not None and paper.n_query and int(paper.n_query) != len(data.query):
        warn(f"{paper.key} is over {int(paper.n_query):,} queries of {paper.dataset}, this file "
             f"has {len(data.query):,}: it is not the same test set")


def as_json(found: Validation, paper: Published | None) -> dict[str, Any]:
    """Return everything found as plain JSON values; NaN and infinity become None.

    Keys: published (rank1, mAP: text as printed, or null; key, evaluator, label_minus_1, note:
    null without a paper), reproduced, candidates (match, difference in points of percent, rank1,
    mAP, ways: each with features, convention, signature), left_out (convention to reason),
    possible (rank1: for each number of queries the hits that print so and the nearest; mAP:
    bounds).
    """
    from dataclasses import asdict

    def number(value: float) -> float | None:
        return value if abs(value) < float("inf") else None

    figure = found.figure
    return {
        "published": {
            "rank1": None if figure.rank1 is None else str(figure.rank1),
            "mAP": None if figure.mean_ap is None else str(figure.mean_ap),
            **{name: None if paper is None else getattr(paper, name)
               for name in ("key", "evaluator", "label_minus_1", "note")}},
        "reproduced": found.reproduced,
        "candidates": [{
            "match": one.match, "difference": number(one.difference),
            "rank1": number(one.rank1), "mAP": number(one.mean_ap),
            "ways": [dict(zip(("features", "convention", "signature"), way)) for way in one.ways],
        } for one in found.candidates],
        "left_out": found.left_out,
        "possible": {"rank1": [asdict(one) for one in found.hit_counts],
                     "mAP": [asdict(one) for one in found.bounds]},
    }


def as_table(found: Validation, source: str, paper: Published | None) -> str:
    """Return the report for a terminal of 80 columns."""
    figure = found.figure
    lines = [*_row("input", source), *_row("published", f"{figure} percent")]
    if paper is not None:
        lines += _row("", f"{paper.key}: {paper.source_repo} {paper.source_path}, commit "
                          f"{paper.source_commit[:7]}; evaluator: {paper.evaluator}"
                          + (f"; label -1: {paper.label_minus_1}" if paper.label_minus_1 else "")
                          + (f"; note: {paper.note}" if paper.note else ""))
    for counts in found.hit_counts:
        lines += _row("Rank-1", _hits(counts))
    if found.bounds:
        lines += _row("mAP", "with that Rank-1, any ranking of these labels has by each AP rule"
                      if figure.rank1 is not None else
                      "any ranking of these labels has by each AP rule")
        for bounds in found.bounds:
            lines += _row("", _bounds(bounds))
        lines += _row("", "(no ties; good is the query's identity on another camera)")
    else:
        lines += _row("mAP", f"no bounds: {found.no_bounds}")
    by_match = {match: [one for one in found.candidates if one.match == match]
                for match in ("rounded", "truncated", "no")}
    if not found.reproduced:
        lines += ["", "No convention reproduces the figure."]
    for match, title, most in (
            ("rounded", "Reproduced by", None),
            ("truncated", "Reproduced only if the digits were cut off, not rounded, by", None),
            ("no", "Closest of the others" if found.reproduced else "Closest", CLOSEST)):
        if by_match[match]:
            lines += ["", title, *_candidates(by_match[match], figure, most)]
    if any(way[0] == "normalised" for one in found.candidates for way in one.ways):
        lines += ["", *_wrap("normalised: features divided by their 2-norm; cosine, Euclidean and "
                             "dot rank alike. Euclidean, dot: features as they are.")]
    if found.left_out:
        reasons: dict[str, list[str]] = {}
        for name, reason in found.left_out.items():
            reasons.setdefault(reason, []).append(name)
        lines += ["", *_wrap("Not tried: " + ". ".join(
            f"{', '.join(names)}: {reason}" for reason, names in reasons.items()) + ".")]
    return "\n".join(lines)


def _hits(counts: HitCounts) -> str:
    over = f"{counts.n_query:,} queries"
    if counts.rounding == "no":
        near = " and ".join(f"{k:,} ({100 * k / counts.n_query:.4f})" for k in counts.nearest)
        return (f"impossible as a count: no k/{counts.n_query} gives these digits, the nearest k "
                f"are {near}. Means over draws, or over all shots, are not bound to k/N")
    hits = (f"{counts.fewest:,}" if counts.fewest == counts.most
            else f"{counts.fewest:,} to {counts.most:,}")
    return (f"possible: {hits} of {over}"
            + (", if the digits were cut off, not rounded" if counts.rounding == "truncated"
               else ""))


def _bounds(bounds: MapBounds) -> str:
    verdict = {None: "", True: ": possible", False: ": impossible"}[bounds.holds]
    over = f"{bounds.map_queries:,} queries"
    if bounds.map_queries != bounds.rank1_queries:
        over += f", Rank-1 over {bounds.rank1_queries:,}"
    return f"{bounds.ap} {100 * bounds.low:.2f} to {100 * bounds.high:.2f} over {over}{verdict}"


def _candidates(candidates: list[Candidate], figure: Figure, most: int | None) -> list[str]:
    places = 2 + max(-int(printed.as_tuple().exponent) for printed in (
        figure.rank1, figure.mean_ap) if printed is not None)
    places = min(max(places, 3), 4)
    # What shows the same digits shares a line, and so do rankings under the same conventions.
    ways: dict[str, dict[str, list[str]]] = {}
    for one in candidates:
        shown = "".join(f"{value:9.{places}f}" for value in (
            100 * one.rank1, 100 * one.mean_ap, one.difference))
        for ranking, name, _ in one.ways:
            ways.setdefault(shown, {}).setdefault(ranking, []).append(name)
    lines = [f"  {'features':12}{'Rank-1':>9}{'mAP':>9}{'diff':>9}  conventions"]
    for shown, names in list(ways.items())[:most]:
        alike: dict[str, list[str]] = {}
        for ranking, some in names.items():
            alike.setdefault(", ".join(some), []).append(ranking)
        for text, rankings in alike.items():
            for left, number, right in zip_longest(
                    rankings, [shown], _wrap(text, WIDTH - 43), fillvalue=""):
                lines.append(f"  {left:12}{number:27}  {right}".rstrip())
    return lines


def _row(name: str, text: str) -> list[str]:
    first, *rest = _wrap(text, WIDTH - 11)
    return [f"{name:11}{first}", *(f"{'':11}{line}" for line in rest)]


def _wrap(text: str, width: int = WIDTH) -> list[str]:
    from textwrap import wrap

    return wrap(text, width, break_long_words=False, break_on_hyphens=False)
