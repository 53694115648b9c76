"""`Result` to text: a table for people, JSON and CSV for programs."""
from __future__ import annotations

import csv
import io
import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from reid_ref.arrays import Doubles
from reid_ref.labels import Labels
from reid_ref.result import Counts, Result
from reid_ref.result import json_number as json_number
from reid_ref.result import json_numbers as json_numbers  # noqa: F401  commands take it here

if TYPE_CHECKING:
    from reid_ref.analysis.tie_bounds import TieBounds

#: The ranks of the CMC curve that papers report.
RANKS = (1, 5, 10, 20)
WIDTH = 80


def as_table(result: Result, source: str, sizes: str, dataset: str | None = None) -> str:
    """Return the report for a terminal of 80 columns.

    Parameters
    ----------
    result : Result
    source : str
        Which file, in which layout.
    sizes : str
        Dimension and dtype of what was evaluated.
    dataset : str, optional
        Which benchmark it is, where it is one.
    """
    counts = result.counts
    rows = [
        ("input", source),
        ("images", f"{counts.query:,} queries, {counts.gallery:,} gallery; {sizes}"),
        *([("dataset", dataset)] if dataset else []),
        ("gallery", _gallery(counts)),
        ("pairs", f"{counts.good:,} good, {counts.junk_same_camera:,} ignored for their query "
                  "alone (in matlab: same identity; other camera, same camera)"),
        ("queries", fates(counts)),
        ("ties", _ties(counts)),
    ]
    lines = [line for name, text in rows for line in _row(name, text)]
    lines += ["", f"{'':10}{'percent':>9}  full precision"]
    lines += [f"{name:10}{_percent(value):>9}  {value!r}" for name, value in headline(result)]
    lines += ["", *_row("signature", result.signature.replace("|", " | "))]
    return "\n".join(lines)


def headline(result: Result) -> list[tuple[str, float]]:
    """Return the numbers that papers print, in their order."""
    return [*rank_rows(result.cmc), ("mAP", result.mean_ap), ("mINP", result.mean_inp)]


def rank_rows(cmc: Doubles) -> list[tuple[str, float]]:
    """Return Rank-1, 5, 10 and 20, as far as the gallery reaches."""
    return [(f"Rank-{k}", float(cmc[k - 1])) for k in RANKS if k <= len(cmc)]


def fates(counts: Counts) -> str:
    """Return the queries by fate, in words; fates that no query met are left out."""
    words = [f"{counts.fate['fine']:,} with a good image"]
    words += [f"{n:,} without ({name})" for name, n in counts.fate.items()
              if n and name not in ("fine", "not loaded")]
    if counts.fate["not loaded"]:
        words.append(f"{counts.fate['not loaded']:,} labelled -1 (not loaded)")
    return ", ".join(words)


def side_by_side(answers: dict[str, tuple[float, Doubles]], difference: float) -> str:
    """Return several implementations' numbers in columns, and their largest difference."""
    lines = [f"{'':10}" + "".join(f"{name:>23}" for name in answers)]
    curves = [[*rank_rows(cmc), ("mAP", mean_ap)] for mean_ap, cmc in answers.values()]
    for row in zip(*curves):
        lines.append(f"{row[0][0]:10}" + "".join(f"{value!r:>23}" for _, value in row))
    if len(answers) == 1:
        return "\n".join(lines)
    verdict = ("equal to the last bit" if difference == 0 else "NOT equal")
    lines += ["", f"largest difference, over mAP and all {len(next(iter(answers.values()))[1]):,} "
                  f"entries of CMC: {difference!r} ({verdict})"]
    return "\n".join(lines)


def _gallery(counts: Counts) -> str:
    distractors = f"{counts.gallery_distractors:,} of {{}} are distractors (label 0)"
    if counts.gallery_not_loaded:
        return (f"{counts.gallery_kept:,} loaded; {counts.gallery_not_loaded:,} labelled -1 are "
                "not, the toolbox's loader leaves them out"
                + (f"; {distractors.format('the loaded')}" if counts.gallery_distractors else ""))
    if counts.gallery_kept < counts.gallery:
        return (f"{counts.gallery_kept:,} kept, {counts.gallery_junk:,} junk (label -1)"
                + (f"; {distractors.format('the kept')}" if counts.gallery_distractors else ""))
    others = [distractors.format("them")] if counts.gallery_distractors else []
    if counts.gallery_junk:
        others.append(f"{counts.gallery_junk:,} are labelled -1, which this convention does not "
                      "ignore")
    return "; ".join([f"{counts.gallery_kept:,} kept", *([", ".join(others)] if others else [])])


def _ties(counts: Counts) -> str:
    if not counts.tied:
        return "no query has a good image at the very distance of a wrong one"
    return (f"{counts.tied:,} of {counts.query:,} queries have a good image at the very distance "
            "of a wrong one; --ties bounds shows what their order can do")


def conventions_table(results: dict[str, Result], left_out: dict[str, str], source: str,
                      sizes: str) -> str:
    """Return one line a convention: mAP and Rank-k in percent, and mAP's difference to one.

    Parameters
    ----------
    results : dict of str to Result
        `matlab`, or else the first, is what the others are compared with.
    left_out : dict of str to str
        Conventions that were not computed, and why.
    source, sizes : str
        As for `as_table`.
    """
    first = "matlab" if "matlab" in results else next(iter(results))
    reference = results[first]
    counts = reference.counts
    lines = _row("input", source)
    lines += _row("images", f"{counts.query:,} queries, {counts.gallery:,} gallery; {sizes}")
    lines += _row("ties", _ties(counts))
    lines += ["", f"{'convention':32}{'mAP':>7}{'+/-':>7}{'R-1':>7}{'R-5':>7}{'R-10':>7}"
                  f"{'mINP':>7}{'used':>6}"]
    for name, result in results.items():
        ranks = [_percent(float(result.cmc[k - 1])) if k <= len(result.cmc) else "-"
                 for k in (1, 5, 10)]
        difference = _signed(result.mean_ap - reference.mean_ap)
        cells = [_percent(result.mean_ap), difference, *ranks, _percent(result.mean_inp)]
        lines.append(f"{name:32}" + "".join(f"{cell:>7}" for cell in cells)
                     + f"{result.counted:>6}")
    lines += ["", *_row("+/-", f"mAP less that of {first}, in points of percent")]
    lines += _row("used", "queries in the mean of mAP")
    for why in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name, one in left_out.items() if one == why)
        lines += _row("not here", f"{names}: {why}")
    lines += _row("signature", reference.signature.replace("|", " | "))
    return "\n".join(lines)


def bounds_table(bounds: TieBounds, n_query: int, signature: str) -> str:
    """Return worst, expected and best numbers over the orders of ties, in percent."""
    columns = {"worst": bounds.worst, "expected": bounds.expected, "best": bounds.best}
    lines = [f"{'percent':10}" + "".join(f"{name:>12}" for name in columns)]
    curves = [[*rank_rows(cmc), ("mAP", mean_ap)] for mean_ap, cmc in columns.values()]
    for row in zip(*curves):
        lines.append(f"{row[0][0]:10}" + "".join(f"{100 * value:>12.4f}" for _, value in row))
    lines += ["", f"{bounds.tied:,} of {n_query:,} queries have a good image at the very distance "
                  "of a wrong one.", "expected: mean over all orders of ties, computed exactly"]
    lines += ["", *_row("signature", signature.replace("|", " | "))]
    return "\n".join(lines)


def beside(results: dict[str, Result], source: str, remarks: list[str]) -> str:
    """Return the numbers of several results in columns, in percent, and what each adds to mAP.

    Parameters
    ----------
    results : dict of str to Result
        By a name of at most 15 letters; the first is what the others are compared with.
    source : str
    remarks : list of str
    """
    first = next(iter(results.values()))
    lines = _row("input", source)
    lines += _row("images", f"{first.counts.query:,} queries, {first.counts.gallery:,} gallery")
    for remark in remarks:
        lines += _row("but", remark)
    lines += ["", " " * 10 + "".join(f"{name:>16}" for name in results)]
    for row in zip(*map(headline, results.values())):
        lines.append(f"{row[0][0]:10}" + "".join(f"{_percent(value):>16}" for _, value in row))
    lines.append(f"{'mAP +/-':10}{'':16}" + "".join(
        f"{_signed(one.mean_ap - first.mean_ap):>16}" for one in list(results.values())[1:]))
    lines.append("")
    for one in results.values():
        lines += _row("signature", one.signature.replace("|", " | "))
    return "\n".join(lines)


def largest_difference(answers: dict[str, tuple[float, Doubles]]) -> float:
    """Return the largest difference between any two answers, over mAP and all of CMC.

    NaN differs by 0 from NaN, and by infinity from a number.
    """
    rows = np.array([[mean_ap, *cmc] for mean_ap, cmc in answers.values()])
    nan = np.isnan(rows)
    span = np.ptp(np.where(nan, 0.0, rows), axis=0)
    span[nan.any(axis=0)] = np.inf
    span[nan.all(axis=0)] = 0.0
    return float(span.max())


def as_json(result: Result) -> dict[str, Any]:
    """Return the result as plain JSON values; NaN, which JSON lacks, becomes None.

    Keys: mAP, mINP, cmc (Rank-k is entry k - 1), counts, counted (queries in the mean),
    signature.
    """
    return result.to_dict()


def per_query_csv(result: Result, query: Labels) -> str:
    """Return one CSV line a query: doubles in full precision, NaN as an empty field."""
    per_query = result.per_query
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["query", "identity", "camera", "fate", "ap", "inp", "first_match", "n_good", "n_junk"])
    for k in range(len(query)):
        writer.writerow([
            k, query.identity[k], query.camera[k], per_query.fate[k],
            json_number(float(per_query.ap[k])), json_number(float(per_query.inp[k])),
            per_query.first_match[k] or None, per_query.n_good[k], per_query.n_junk[k]])
    return text.getvalue()


def _signed(difference: float) -> str:
    points = round(100 * difference, 2) + 0.0  # no -0.00
    return "-" if math.isnan(points) else f"{points:+.2f}"


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.2f}"


def _row(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{name:10}", subsequent_indent=" " * 10,
                         break_long_words=False, break_on_hyphens=False)
