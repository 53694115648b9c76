"""A published figure against a result file: what reproduces it, what comes closest."""
from __future__ import annotations

from dataclasses import asdict
from itertools import zip_longest
from typing import Any

from reid_ref.commands.validate.compute import Candidate, Validation
from reid_ref.datasets import Fingerprint
from reid_ref.datasets.printed import Figure, HitCounts, MapBounds, nearest
from reid_ref.datasets.published import Published
from reid_ref.text import WIDTH, by_reason, number, row, wrap

#: How many of those that do not reproduce the figure the table shows.
CLOSEST = 5


def as_json(found: Validation, paper: Published | None) -> dict[str, Any]:
    """Return everything found as plain JSON values; NaN and infinity become None.

    Keys: published (Rank-1, mAP: text as printed, or null; key, evaluator, label_minus_1, note:
    null without a paper), reproduced, candidates (match, difference in percentage points, Rank-1,
    mAP, ways: each with features, convention, signature), left_out (convention to reason),
    possible (Rank-1: for each number of queries the hits that print so and the nearest; mAP:
    bounds).
    """
    figure = found.figure
    return {
        "published": {
            "Rank-1": None if figure.rank1 is None else str(figure.rank1),
            "mAP": None if figure.mAP is None else str(figure.mAP),
            **{name: None if paper is None else getattr(paper, name)
               for name in ("key", "evaluator", "label_minus_1", "note")}},
        "reproduced": found.reproduced,
        "candidates": [{
            "match": one.match, "difference": number(one.difference),
            "Rank-1": number(one.rank1), "mAP": number(one.mAP),
            "ways": [dict(zip(("features", "convention", "signature"), way)) for way in one.ways],
        } for one in found.candidates],
        "left_out": found.left_out,
        "possible": {"Rank-1": [asdict(one) for one in found.hit_counts],
                     "mAP": [asdict(one) for one in found.bounds]},
    }


def as_table(found: Validation, source: str, paper: Published | None) -> str:
    """Return the report for a terminal of 80 columns."""
    lines = [*_row("input", source), *_row("published", f"{found.figure} percent")]
    if paper is not None:
        lines += _row("", f"{paper.key}: {paper.source_repo} {paper.source_path}, commit "
                          f"{paper.source_commit[:7]}; evaluator: {paper.evaluator}"
                          + (f"; label -1: {paper.label_minus_1}" if paper.label_minus_1 else "")
                          + (f"; note: {paper.note}" if paper.note else ""))
    lines += [*_possible(found), *_tables(found)]
    if found.candidates:
        lines += ["", "diff: the larger of the differences to the figure, in percentage points."]
    if any(way[0] == "normalised" for one in found.candidates for way in one.ways):
        lines += [*wrap("normalised: features divided by their 2-norm; cosine, Euclidean and "
                        "dot rank alike. Euclidean, dot: features as they are.")]
    if found.left_out:
        lines += ["", *wrap("Not tried: " + ". ".join(
            f"{', '.join(names)}: {reason}"
            for reason, names in by_reason(found.left_out).items()) + ".")]
    return "\n".join(lines)


def known_counts(known: Fingerprint) -> str:
    """Return what is known of a benchmark, in the place of a file."""
    return (f"no file; {known.counts.query:,} queries and {known.counts.gallery:,} gallery images "
            f"of {known.name}, by their known counts")


def _row(name: str, text: str) -> list[str]:
    return row(name, text, 11)


def _possible(found: Validation) -> list[str]:
    lines = [line for counts in found.hit_counts for line in _row("Rank-1", _hits(counts))]
    if not found.bounds:
        return [*lines, *_row("mAP", f"no bounds: {found.no_bounds}")]
    given = "with that Rank-1, " if found.figure.rank1 is not None else ""
    lines += _row("mAP", f"{given}the mAP that a ranking of these labels can have:")
    for bounds in found.bounds:
        lines += _row("", _bounds(bounds))
    return [*lines, *_row("", "(without ties; good images: the query's identity, other camera)")]


def _tables(found: Validation) -> list[str]:
    if not found.candidates:  # there is no file
        return []
    lines = [] if found.reproduced else ["", "No convention reproduces the figure."]
    for match, title, most in (
            ("rounded", "Reproduced by", None),
            ("truncated", "Reproduced only if the digits were cut off, not rounded, by", None),
            ("no", "Closest of the others" if found.reproduced else "Closest", CLOSEST)):
        candidates = [one for one in found.candidates if one.match == match]
        if candidates:
            lines += ["", title, *_candidates(candidates, found.figure, most)]
    return lines


def _hits(counts: HitCounts) -> str:
    over = f"{counts.n_query:,} queries"
    if counts.rounding == "no":
        return (f"impossible as a count: no k/{counts.n_query} gives these digits, the nearest k "
                f"are {nearest(counts)}. Means over draws, or over all shots, are not bound to "
                "k/N")
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
        figure.rank1, figure.mAP) if printed is not None)
    places = min(max(places, 3), 4)
    # What shows the same digits shares a line, and so do rankings under the same conventions.
    ways: dict[str, dict[str, list[str]]] = {}
    for one in candidates:
        shown = "".join(f"{value:9.{places}f}" for value in (
            100 * one.rank1, 100 * one.mAP, one.difference))
        for ranking, name, _ in one.ways:
            ways.setdefault(shown, {}).setdefault(ranking, []).append(name)
    lines = [f"  {'features':12}{'Rank-1':>9}{'mAP':>9}{'diff':>9}  conventions"]
    for shown, names in list(ways.items())[:most]:
        alike: dict[str, list[str]] = {}
        for ranking, some in names.items():
            alike.setdefault(", ".join(some), []).append(ranking)
        for text, rankings in alike.items():
            for left, digits, right in zip_longest(
                    rankings, [shown], wrap(text, width=WIDTH - 43), fillvalue=""):
                lines.append(f"  {left:12}{digits:27}  {right}".rstrip())
    return lines
