"""The way from one convention to another: its steps, the queries that moved, one ranked list."""
from __future__ import annotations

from typing import Any

from reid_ref.commands.explain.compute import Explanation
from reid_ref.evaluation.query_list import ListedImage
from reid_ref.labels import Labels
from reid_ref.result import Result, ranks_as_json
from reid_ref.text import number, signature_rows, wrap


def waterfall(way: Explanation) -> str:
    """Return one line a step. The effects printed add up to the printed difference."""
    lines = [f"{'percent':29}{'mAP':>11}{'effect':>12}{'Rank-1':>9}{'effect':>10}{'affected':>9}",
             _step(way.origin.name, way.start)]
    before = way.start
    for step in way.steps:
        change = f" {step.value}" if step.choice == "ignored" else f" {step.choice} {step.value}"
        lines.append(_step(change, step.result, before, f"{step.affected:,}"))
        before = step.result
    lines.append(_step(way.target.name, way.end, way.start))
    lines.append("")
    for step in way.steps:
        if step.meaning:
            lines += wrap(f"{step.value}: {step.meaning}", rest="    ")
    lines += wrap("affected: queries whose AP or first match a step changed, or which it dropped "
                  "or added", rest="    ")
    return "\n".join(lines)


def _step(change: str, result: Result, before: Result | None = None, affected: str = "") -> str:
    mAP, rank1 = _points(result.mAP), _points(float(result.cmc[0]))
    moved = stepped = ""
    if before is not None:
        moved = f"{mAP - _points(before.mAP):+.6f}"
        stepped = f"{rank1 - _points(float(before.cmc[0])):+.4f}"
    line = f"{change:29.29}{mAP:>11.6f}{moved:>12}{rank1:>9.4f}{stepped:>10}{affected:>9}"
    return line.rstrip()


def _points(value: float) -> float:
    """Percent, rounded as printed, so that the printed effects add up."""
    return round(100 * value, 6)


def signatures(way: Explanation) -> str:
    """Return what the numbers at both ends were made with."""
    return "\n".join(["", *signature_rows(str(way.start.signature)),
                      *signature_rows(str(way.end.signature))])


def most_moved(way: Explanation, query: Labels) -> str:
    """Return the queries whose AP moved most, one line each."""
    moved = way.most_moved()
    if not moved:
        return "\nThe AP of no query changed."
    lines = ["", f"{'moved most':12}{'identity':>9}{'camera':>8}{'good':>6}"
                 f"{'AP ' + way.origin.name:>21.21}{'AP ' + way.target.name:>24.24}"]
    for k in moved:
        lines.append(
            f"{f'query {k}':12}{query.identity[k]:>9}{query.camera[k]:>8}"
            f"{way.start.per_query.n_good[k]:>6}{way.start.per_query.ap[k]:>21.10f}"
            f"{way.end.per_query.ap[k]:>24.10f}")
    return "\n".join([*lines, "--query N shows the ranked list of query N."])


def query_page(k: int, way: Explanation, query: Labels, listed: list[ListedImage]) -> str:
    """Return one query's ranked list around its good images, and its AP on either side."""
    names = way.origin.name, way.target.name
    lines = [f"query {k}: identity {query.identity[k]}, camera {query.camera[k]}", ""]
    for name, result in zip(names, (way.start, way.end)):
        first = result.per_query.first_match[k]
        lines += [name, f"    AP {float(result.per_query.ap[k])!r}, {result.per_query.n_good[k]} "
                        f"good, " + (f"first match at rank {first}" if first else "no match")]
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
    lines += ["", *wrap(f"place: in the list of all images. {names[0]}, {names[1]}: the rank "
                        "among the images that each keeps."),
              *wrap("AP of n good images, of which the k-th has rank r: precision there is P = "
                    "k/r, and at the rank before B = (k-1)/(r-1), or 1 where r is 1. Step AP is "
                    "the sum of P, over n. Trapezoid AP is the sum of (B + P)/2, over n.")]
    return "\n".join(lines)


def as_json(way: Explanation, query: Labels) -> dict[str, Any]:
    """Return the way as plain JSON values: from, to, steps, moved_most."""
    start, end = way.start.per_query, way.end.per_query
    return {
        "from": {"convention": way.origin.name, **_numbers(way.start)},
        "steps": [{"choice": step.choice, "value": step.value, "meaning": step.meaning,
                   "affected": step.affected, **_numbers(step.result)} for step in way.steps],
        "to": {"convention": way.target.name, **_numbers(way.end)},
        "moved_most": [{
            "query": k, "identity": int(query.identity[k]), "camera": int(query.camera[k]),
            "ap_from": number(float(start.ap[k])), "ap_to": number(float(end.ap[k]))}
            for k in way.most_moved()],
    }


def _numbers(result: Result) -> dict[str, Any]:
    return {**ranks_as_json(result.cmc), "mAP": number(result.mAP), "mINP": number(result.mINP),
            "signature": str(result.signature)}


def list_as_json(k: int, listed: list[ListedImage]) -> dict[str, Any]:
    """Return one query's ranked list as plain JSON values."""
    return {"query": k, "list": [{**vars(image), "distance": number(image.distance)}
                                 for image in listed]}
