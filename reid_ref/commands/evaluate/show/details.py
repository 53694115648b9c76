"""Further tables of one result: numbers at k, worst queries, groups, ties, the scripts.

Rows are plain JSON values; tables are made of these rows.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reid_ref.commands.evaluate.compute import ScriptAnswer
from reid_ref.commands.evaluate.show import tied_queries
from reid_ref.commands.evaluate.show.rows import per_query_json
from reid_ref.evaluation.groups import Groups
from reid_ref.evaluation.tie_bounds import TieBounds
from reid_ref.labels import Labels
from reid_ref.result import RANKS, AtK, Result, named_ranks, ranks_as_json
from reid_ref.text import number, numbers, percent, row, signature_rows, wrap

#: Identities that a table shows.
SHOWN = 20
Row = dict[str, Any]


def at_rows(every: Iterable[AtK]) -> list[Row]:
    """Return one row a k: k, accuracy, precision, recall, mAP."""
    return [{"k": one.k, **{name: number(getattr(one, name)) for name in (
        "accuracy", "precision", "recall", "mAP")}} for one in every]


def at_table(rows: list[Row]) -> str:
    """Return one line a k, in percent."""
    names = ("accuracy", "precision", "recall", "mAP")
    lines = ["", f"{'at k':10}" + "".join(f"{name:>10}" for name in names)]
    lines += [f"{row['k']:<10}" + "".join(f"{_percent(row[name]):>10}" for name in names)
              for row in rows]
    return "\n".join(lines)


def worst_rows(result: Result, queries: Iterable[int],
               wrong: Iterable[Row | None]) -> list[Row]:
    """Return one row a query: what `per_query_json` has, and its nearest wrong image."""
    every = per_query_json(result)["queries"]
    return [{**every[query], "nearest_wrong": image} for query, image in zip(queries, wrong)]


def wrong_rows(images: Iterable[int | None], gallery: Labels) -> list[Row | None]:
    """Return number, identity and camera of each image; None for none."""
    return [None if image is None else {
        "image": image, "identity": int(gallery.identity[image]),
        "camera": int(gallery.camera[image])} for image in images]


def worst_table(rows: list[Row]) -> str:
    """Return one line a query, the lowest AP first."""
    lines = ["", f"{'worst':>6}{'identity':>9}{'cam':>4}{'AP':>7}{'first':>6}{'good':>5}"
                 f"{'wrong':>8}{'identity':>9}{'cam':>4}  status"]
    for entry in rows:
        wrong = entry["nearest_wrong"] or dict.fromkeys(("image", "identity", "camera"), "-")
        lines.append(
            f"{entry['query']:>6}{entry['identity']:>9}{entry['camera']:>4}"
            f"{_percent(entry['ap']):>7}"
            f"{entry['first_match'] or '-':>6}{entry['n_good']:>5}{wrong['image']:>8}"
            f"{wrong['identity']:>9}{wrong['camera']:>4}  {entry['status']}")
    return "\n".join([*lines, *wrap(
        "worst: queries of lowest AP (percent), by number from 0; first: rank of the first "
        "match; good: number of good images; wrong: nearest wrong gallery image, by number from "
        "0, with its identity and camera", rest="    ")])


def group_rows(groups: Groups, by: str) -> list[Row]:
    """Return one row a group; identities by mAP, the lowest first, cameras by number."""
    columns = zip(groups.value.tolist(), groups.queries.tolist(), groups.counted.tolist(),
                  *(map(number, values.tolist())
                    for values in (groups.mAP, groups.rank1, groups.mINP)))
    rows = [dict(zip((by, "queries", "counted", "mAP", "Rank-1", "mINP"), values))
            for values in columns]
    if by == "camera":
        return rows
    return sorted(rows, key=lambda row: (row["mAP"] is None, row["mAP"]))


def group_tables(groups: dict[str, list[Row]]) -> str:
    """Return one line a group, in percent, as many identities as one can look at."""
    lines = []
    for by, rows in groups.items():
        lines += ["", f"{by:10}{'queries':>9}{'counted':>9}{'mAP':>9}{'Rank-1':>9}{'mINP':>9}"]
        shown = rows[:SHOWN] if by == "identity" else rows
        for entry in shown:
            means = "".join(f"{_percent(entry[name]):>9}" for name in ("mAP", "Rank-1", "mINP"))
            lines.append(f"{entry[by]:<10}{entry['queries']:>9}{entry['counted']:>9}{means}")
        if len(shown) < len(rows):
            lines.append(f"and {len(rows) - len(shown):,} more; --json has all")
    return "\n".join(lines)


def _percent(value: float | None) -> str:
    return "-" if value is None else percent(value)


#: By the key that the rows have in JSON.
TABLES: dict[str, Callable[[Any], str]] = {
    "at": at_table, "worst": worst_table, "by": group_tables}


def scripts_table(answers: dict[str, ScriptAnswer], difference: float,
                  ranks: tuple[int, ...] = RANKS) -> str:
    """Return several implementations' numbers in columns, and their largest difference."""
    lines = [f"{'':10}" + "".join(f"{name:>23}" for name in answers)]
    curves = [[*named_ranks(one.cmc, ranks).items(), ("mAP", one.mAP)]
              for one in answers.values()]
    for line in zip(*curves):
        lines.append(f"{line[0][0]:10}" + "".join(f"{value!r:>23}" for _, value in line))
    if len(answers) == 1:
        return "\n".join(lines)
    verdict = "equal to the last bit" if difference == 0 else "NOT equal"
    length = len(next(iter(answers.values())).cmc)
    lines += ["", f"largest difference, over mAP and all {length:,} entries of CMC: "
                  f"{difference!r} ({verdict})"]
    return "\n".join(lines)


def scripts_json(answers: dict[str, ScriptAnswer], difference: float,
                 length: int | None) -> dict[str, Any]:
    """Return the answers as plain JSON values, CMC to rank `length`; see `Result.to_dict`."""
    return {
        "implementations": {
            name: {**ranks_as_json(one.cmc), "mAP": number(one.mAP),
                   "cmc": numbers(one.cmc[:length])} for name, one in answers.items()},
        "largest_difference": number(difference)}


def bounds_table(bounds: TieBounds, n_query: int, ranks: tuple[int, ...] = RANKS) -> str:
    """Return worst, expected and best numbers over the orders of ties, in percent."""
    columns = {"worst": bounds.worst, "expected": bounds.expected, "best": bounds.best}
    lines = [f"{'percent':10}" + "".join(f"{name:>12}" for name in columns)]
    curves = [[*named_ranks(cmc, ranks).items(), ("mAP", mAP)]
              for mAP, cmc in columns.values()]
    for line in zip(*curves):
        lines.append(f"{line[0][0]:10}" + "".join(f"{100 * value:>12.4f}" for _, value in line))
    lines += ["", *row("ties", tied_queries(bounds.tied, n_query)),
              *row("expected", "mean over all orders of ties, computed exactly")]
    return "\n".join([*lines, "", *signature_rows(str(bounds.signature))])


def bounds_json(bounds: TieBounds, length: int | None) -> dict[str, Any]:
    """Return the bounds as plain JSON values, CMC to rank `length`; see `Result.to_dict`."""
    return {
        "tied": bounds.tied,
        **{name: {**ranks_as_json(cmc), "mAP": number(mAP), "cmc": numbers(cmc[:length])}
           for name, (mAP, cmc) in (("worst", bounds.worst), ("best", bounds.best),
                                    ("expected", bounds.expected))},
        "signature": str(bounds.signature)}
