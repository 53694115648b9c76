"""The way from one convention to another: its steps, the queries that moved, one ranked list."""
from __future__ import annotations

from typing import Any

from reid_ref.analysis.explain import Explanation, ListedImage
from reid_ref.labels import Labels
from reid_ref.report.words import number, signature_rows, wrap
from reid_ref.result import Result


def waterfall(way: Explanation) -> str:
    """Return one line a step. The effects printed add up to the printed difference."""
    lines = [f"{'percent':30}{'mAP':>11}{'effect':>12}{'Rank-1':>9}{'effect':>10}{'touched':>8}",
             _step(way.origin.name, way.start)]
    before = way.start
    for step in way.steps:
        change = f" {step.value}" if step.choice == "ignored" else f" {step.choice} {step.value}"
        lines.append(_step(change, step.result, before, f"{step.touched:,}"))
        before = step.result
    lines.append(_step(way.target.name, way.end, way.start))
    lines.append("")
    for step in way.steps:
        if step.meaning:
            lines += wrap(f"{step.value}: {step.meaning}", rest="    ")
    lines += ["touched: queries whose AP or first match the change moved, or that it dropped",
              "    or took in"]
    return "\n".join(lines)


def _step(change: str, result: Result, before: Result | None = None, touched: str = "") -> str:
    mean_ap, rank1 = _points(result.mean_ap), _points(float(result.cmc[0]))
    moved = stepped = ""
    if before is not None:
        moved = f"{mean_ap - _points(before.mean_ap):+.6f}"
        stepped = f"{rank1 - _points(float(before.cmc[0])):+.4f}"
    return f"{change:30.30}{mean_ap:>11.6f}{moved:>12}{rank1:>9.4f}{stepped:>10}{touched:>8}"


def _points(value: float) -> float:
    """Percent, rounded as printed, so that the printed effects add up."""
    return round(100 * value, 6)


def signatures(way: Explanation) -> str:
    """Return what the numbers at both ends were made with."""
    return "\n".join(["", *signature_rows(way.start.signature),
                      *signature_rows(way.end.signature)])


def most_moved(way: Explanation, query: Labels) -> str:
    """Return the queries whose AP moved most, one line each."""
    moved = way.most_moved()
    if not moved:
        return "\nNo query's AP moved."
    lines = ["", f"{'moved most':12}{'identity':>9}{'camera':>8}{'good':>6}"
                 f"{'AP ' + way.origin.name:>21.21}{'AP ' + way.target.name:>24.24}"]
    for k in moved:
        lines.append(
            f"{f'query {k}':12}{query.identity[k]:>9}{query.camera[k]:>8}"
            f"{way.start.per_query.n_good[k]:>6}{way.start.per_query.ap[k]:>21.10f}"
            f"{way.end.per_query.ap[k]:>24.10f}")
    return "\n".join([*lines, "--query N shows the ranked list of one."])


def query_page(k: int, way: Explanation, query: Labels, listed: list[ListedImage]) -> str:
    """Return one query's ranked list around its good images, and its AP on either side."""
    names = way.origin.name, way.target.name
    lines = [f"query {k}: identity {query.identity[k]}, camera {query.camera[k]}", ""]
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


def as_json(way: Explanation, query: Labels) -> dict[str, Any]:
    """Return the way as plain JSON values: from, to, steps, moved_most."""
    start, end = way.start.per_query, way.end.per_query
    return {
        "from": {"convention": way.origin.name, **_numbers(way.start)},
        "steps": [{"choice": step.choice, "value": step.value, "meaning": step.meaning,
                   "touched": step.touched, **_numbers(step.result)} for step in way.steps],
        "to": {"convention": way.target.name, **_numbers(way.end)},
        "moved_most": [{
            "query": k, "identity": int(query.identity[k]), "camera": int(query.camera[k]),
            "ap_from": number(float(start.ap[k])), "ap_to": number(float(end.ap[k]))}
            for k in way.most_moved()],
    }


def _numbers(result: Result) -> dict[str, Any]:
    return {"mAP": number(result.mean_ap), "rank1": number(float(result.cmc[0])),
            "signature": result.signature}


def list_as_json(k: int, listed: list[ListedImage]) -> dict[str, Any]:
    """Return one query's ranked list as plain JSON values."""
    return {"query": k, "list": [{**vars(image), "distance": number(image.distance)}
                                 for image in listed]}
