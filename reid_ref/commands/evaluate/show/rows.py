"""`Result` in the formats that others read: CSV, Markdown, LaTeX, and JSON for each query.

Aim: numbers that can be pasted into a paper or a README without losing what they mean, so
every format carries the signature: a column in CSV, a line under the table in Markdown, a
comment above the row in LaTeX.

Conventions: a dict of several results makes one row each, named by its key. CSV holds fractions
of 1 in full precision; Markdown and LaTeX hold percent with two decimals. A number that does not
exist (NaN, or a rank beyond the curve) is an empty field in CSV, a dash elsewhere. No text ends
in a newline.
"""
from __future__ import annotations

import csv
import io
import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any

from reid_ref.arrays import InputError
from reid_ref.console.confidence import Intervals
from reid_ref.labels import Labels
from reid_ref.result import RANKS, Result, in_mean
from reid_ref.statistics import Interval
from reid_ref.text import csv_text, latex, markdown, number, one_line, percent

#: The name of the row where a single `Result` is given.
ROW_NAME = "Method"

#: Columns that CSV has of each interval, by the field.
_ENDS = {"low": "low", "high": "high", "se": "SE", "se_naive": "naive SE",
         "design_effect": "design effect", "units": "units"}


def as_csv(results: Result | Mapping[str, Result], *, ranks: Iterable[int] = RANKS,
           intervals: Intervals = None) -> str:
    r"""Return a header and one line a result: name, numbers in full precision, signature.

    Parameters
    ----------
    results : Result or mapping of str to Result
        Row name to result.
    ranks : iterable of int
        Which Rank-k are columns.
    intervals : mapping of str to mapping of str to Interval, optional
        Row name to metric to interval (`Result.interval`): further columns in CSV, brackets in
        the cells elsewhere. Of a single result the only entry is taken.

    Returns
    -------
    str

    Raises
    ------
    InputError
        No result, a row name that is not a text, a value that is not a `Result`, or a rank that
        is not a whole number from 1.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances(np.array([[.1, .2, .3]]), query, gallery)
    >>> for line in as_csv({"ours": result}).splitlines():
    ...     print(line.partition(",convention")[0])
    name,Rank-1,Rank-5,Rank-10,Rank-20,mAP,mINP,signature
    ours,1.0,,,,0.7916666666666666,0.6666666666666666
    """
    rows, ranks = _rows(results), _ranks(ranks)
    columns = _columns(ranks)
    extra = [f"{metric} {field}" for metric in columns for field in _ENDS.values()]
    lines: list[list[Any]] = [["name", *columns, *(extra if intervals else []), "signature"]]
    for name, result in rows.items():
        found = _intervals_of(intervals, name, rows)
        ends = [number(getattr(found[metric], field)) if metric in found else None
                for metric in columns for field in _ENDS] if intervals else []
        lines.append([name, *map(number, _values(result, ranks)), *ends, str(result.signature)])
    return csv_text(lines)


def as_markdown(results: Result | Mapping[str, Result], *, ranks: Iterable[int] = RANKS,
                intervals: Intervals = None) -> str:
    """Return a Markdown table, one row a result, and under it a line with each signature.

    Parameters and errors: as `as_csv`.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances(np.array([[.1, .2, .3]]), query, gallery)
    >>> print(as_markdown({"ours": result}).partition("convention")[0])
    | Method | Rank-1 | Rank-5 | Rank-10 | Rank-20 | mAP | mINP |
    |:--|--:|--:|--:|--:|--:|--:|
    | ours | 100.00 | - | - | - | 79.17 | 66.67 |
    <BLANKLINE>
    - ours: `
    """
    rows, ranks = _rows(results), _ranks(ranks)
    columns = _columns(ranks)
    lines = [f"| {ROW_NAME} | {' | '.join(columns)} |", "|:--" + "|--:" * len(columns) + "|"]
    for name, result in rows.items():
        cells = _with_ends(_percents(result, ranks, "-"), columns,
                           _intervals_of(intervals, name, rows), " [{}, {}]")
        lines.append(f"| {markdown(name)} | {' | '.join(cells)} |")
    # Behind an empty line, because a signature has bars, which would continue the table.
    lines += ["", *(f"- {markdown(name)}: `{one_line(str(result.signature))}`"
                    for name, result in rows.items())]
    return "\n".join(lines)


def as_latex(results: Result | Mapping[str, Result], *, ranks: Iterable[int] = RANKS,
             intervals: Intervals = None) -> str:
    r"""Return a LaTeX tabular in the style of booktabs, one row a result, under its signature.

    The best number of a column is bold, as it is printed, where several rows can be compared:
    those of one convention, over as many queries and gallery images.

    Parameters and errors: as `as_csv`.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances(np.array([[.1, .2, .3]]), query, gallery)
    >>> for line in as_latex({"R50 & ours": result}, ranks=[1]).splitlines():
    ...     print(line.partition(": convention")[0])
    % needs \usepackage{booktabs}
    \begin{tabular}{lrrr}
    \toprule
    Method & Rank-1 & mAP & mINP \\
    \midrule
    % R50 & ours
    R50 \& ours & 100.00 & 79.17 & 66.67 \\
    \bottomrule
    \end{tabular}
    """
    rows, ranks = _rows(results), _ranks(ranks)
    columns = _columns(ranks)
    lines = [r"% needs \usepackage{booktabs}", rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
             r"\toprule", rf"{ROW_NAME} & {' & '.join(columns)} \\", r"\midrule"]
    for name, result in rows.items():
        cells = _with_ends(_best_bold(result, rows, ranks), columns,
                           _intervals_of(intervals, name, rows), r" {{\scriptsize [{}, {}]}}")
        lines += [f"% {one_line(name)}: {one_line(str(result.signature))}",
                  rf"{latex(name)} & {' & '.join(cells)} \\"]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _intervals_of(intervals: Intervals, name: str,
                  rows: Mapping[str, Result]) -> Mapping[str, Interval]:
    if intervals and len(rows) == 1:
        intervals = {name: next(iter(intervals.values()))}
    return (intervals or {}).get(name, {})


def _with_ends(cells: list[str], metrics: list[str], found: Mapping[str, Interval],
               form: str) -> list[str]:
    """Return cells with the ends of their intervals in percent."""
    return [cell + form.format(percent(found[metric].low), percent(found[metric].high))
            if metric in found else cell for cell, metric in zip(cells, metrics)]


def _best_bold(result: Result, rows: Mapping[str, Result], ranks: Iterable[int]) -> list[str]:
    """Return a row's cells; bold are those that no comparable row surpasses as printed."""
    cells = _percents(result, ranks, "--")
    others = [_percents(other, ranks, "--") for other in rows.values() if _alike(other, result)]
    if len(others) == 1:
        return cells
    best = [max((float(cell) for cell in column if cell != "--"), default=None)
            for column in zip(*others)]
    return [rf"\textbf{{{cell}}}" if cell != "--" and float(cell) == top else cell
            for cell, top in zip(cells, best)]


def _alike(one: Result, other: Result) -> bool:
    """Tell whether two results may be compared: one convention, and as many images."""
    return (one.convention == other.convention and one.counts.query == other.counts.query
            and one.counts.gallery == other.counts.gallery)


def per_query_json(result: Result, query: Labels | None = None,
                   gallery: Labels | None = None) -> dict[str, Any]:
    """Return what each query got, of plain JSON values; what does not exist is None.

    Parameters
    ----------
    result : Result
    query, gallery : Labels, optional
        What was evaluated, in that order. Default: as the result has them.

    Returns
    -------
    dict
        The keys of `Result.to_dict`; labels (query, gallery: eight hexadecimal digits each, the
        same where the labels are); queries, a list of dict with the keys query (its number, from
        0), identity, camera, status, counted (in the mean of mAP), ap, inp, first_match, n_good,
        n_junk.

    Raises
    ------
    InputError
        `query` or `gallery` has another length.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances(np.array([[.3, .2, .1]]), query, gallery)
    >>> row, = per_query_json(result, query, gallery)["queries"]
    >>> row["query"], row["identity"], row["status"], row["first_match"], row["n_good"]
    (0, 7, 'ok', 1, 2)
    """
    if gallery is not None and len(gallery) != result.counts.gallery:
        raise InputError(f"gallery: expected the labels of the {result.counts.gallery} gallery "
                         f"images evaluated, got {len(gallery)}")
    prints = {side: getattr(result.fingerprints, side) if one is None else one.fingerprint()
              for side, one in (("query", query), ("gallery", gallery))}
    return {**result.to_dict(), "labels": prints, "queries": _query_rows(result, query)}


def _query_rows(result: Result, query: Labels | None) -> list[dict[str, Any]]:
    per_query, counted = result.per_query, in_mean(result).tolist()
    query = per_query.labels() if query is None else query
    if len(query) != len(per_query.ap):
        raise InputError(f"query: expected the labels of the {len(per_query.ap)} queries "
                         f"evaluated, got {len(query)}")
    return [{
        "query": k, "identity": int(query.identity[k]), "camera": int(query.camera[k]),
        "status": str(per_query.status[k]), "counted": counted[k],
        "ap": number(float(per_query.ap[k])), "inp": number(float(per_query.inp[k])),
        "first_match": int(per_query.first_match[k]) or None,
        "n_good": int(per_query.n_good[k]), "n_junk": int(per_query.n_junk[k]),
    } for k in range(len(query))]


def per_query_csv(result: Result, query: Labels | None = None) -> str:
    """Return one CSV line a query: doubles in full precision, an empty field for None.

    Columns: the keys of `queries` of `per_query_json`, with the same errors.
    """
    rows = _query_rows(result, query)
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _rows(results: Result | Mapping[str, Result]) -> Mapping[str, Result]:
    if isinstance(results, Result):
        return {ROW_NAME: results}
    if not isinstance(results, Mapping):
        raise InputError("results: expected a Result or a dict of row name to Result, got "
                         f"{type(results).__name__}")
    if not results:
        raise InputError("results: expected at least one result, got an empty dict")
    for name, result in results.items():
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"results: expected a text as the name of each row, got {name!r}")
        if not isinstance(result, Result):
            raise InputError(f"results: expected a Result for {name!r}, got "
                             f"{type(result).__name__}; pass what reid_ref.evaluate returns")
    return results


def _ranks(ranks: Iterable[int]) -> tuple[int, ...]:
    found = tuple(ranks)
    for k in found:
        if isinstance(k, bool) or not isinstance(k, numbers.Integral) or k < 1:
            raise InputError(f"ranks: expected whole numbers from 1, got {k!r}")
    return found


def _columns(ranks: Iterable[int]) -> list[str]:
    return [*(f"Rank-{k}" for k in ranks), "mAP", "mINP"]


def _values(result: Result, ranks: Iterable[int]) -> list[float]:
    """Return the numbers of a row; NaN for a rank beyond the curve."""
    return [*(float(result.cmc[k - 1]) if k <= len(result.cmc) else math.nan for k in ranks),
            result.mAP, result.mINP]


def _percents(result: Result, ranks: Iterable[int], absent: str) -> list[str]:
    return [percent(value, absent) for value in _values(result, ranks)]
