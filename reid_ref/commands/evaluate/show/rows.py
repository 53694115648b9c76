"""Results as a table for papers and programs: CSV, Markdown, LaTeX; and the values per query.

Every format carries the signature: a column in CSV, a line below the table in Markdown, a comment
above the row in LaTeX. CSV holds fractions of 1 in full precision; Markdown and LaTeX hold percent
with two decimals. A number that does not exist (NaN, or a rank beyond the curve) is an empty field
in CSV, a dash elsewhere. No text ends in a newline.
"""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from reid_ref.arrays import InputError
from reid_ref.commands.evaluate.compute import PerQueryFile, QueryRow, extra_columns, query_rows
from reid_ref.console.confidence import Intervals, interval_ends
from reid_ref.result import HEADLINE, Result, values_of
from reid_ref.result.views import numbers_of
from reid_ref.statistics import Interval
from reid_ref.text import percent
from reid_ref.text.plain import json_values
from reid_ref.text.table import Cell, Table, as_csv as csv_text, as_latex as latex_text
from reid_ref.text.table import as_markdown as markdown_text

#: The name of the row where a single `Result` is given.
ROW_NAME = "Method"

#: Columns that CSV has of each interval, by the field.
_ENDS = {"low": "low", "high": "high", "se": "SE", "se_naive": "naive SE",
         "design_effect": "design effect", "units": "units"}


def table(results: Result | Mapping[str, Result], *, measures: Iterable[str] = HEADLINE,
          intervals: Intervals = None) -> Table:
    """Return one row per result, in percent.

    The best number of a column is bold, as it is printed, where several rows can be compared:
    those of one convention, over as many queries and gallery images.

    Parameters
    ----------
    results : Result or mapping of str to Result
        Row name to result.
    measures : iterable of str
        The columns, such as "Rank-1" or "P@10".
    intervals : mapping of str to mapping of str to Interval, optional
        Row name to metric to interval (`Result.interval`): further columns in CSV, brackets in
        the cells elsewhere. Of a single result the only entry is taken.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        Anything but results by name, or a name that no measure has.
    """
    rows, columns = _rows(results), list(measures)
    texts = {name: [percent(value) for value in values_of(result, columns)]
             for name, result in rows.items()}
    cells: list[list[str | Cell]] = [[name, *(
        Cell(text, _is_best(text, [texts[other][k] for other in rows
                                   if _comparable(rows[other], result)]),
             ends="" if interval is None else interval_ends(interval, ", "))
        for k, (text, interval) in enumerate(zip(
            texts[name], map(_intervals_of(intervals, name, rows).get, columns))))]
        for name, result in rows.items()]
    notes = ["In percent."]
    if any(isinstance(cell, Cell) and cell.bold for row in cells for cell in row):
        notes.append("Bold: the best of a column as printed; no test was made.")
    drawn = next((interval for by_metric in (intervals or {}).values()
                  for interval in by_metric.values()), None)
    if drawn is not None:
        notes.append(f"Brackets: {drawn.level:g} % intervals by {drawn.unit}, given this gallery "
                     "and these models.")
    return Table([ROW_NAME, *columns], cells, notes,
                 signatures={name: str(result.signature) for name, result in rows.items()})


def as_csv(results: Result | Mapping[str, Result], *, measures: Iterable[str] = HEADLINE,
           intervals: Intervals = None) -> str:
    r"""Return a header and one line per result: name, numbers in full precision, signature.

    Parameters and errors: as `table`.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances(np.array([[.1, .2, .3]]), query, gallery)
    >>> for line in as_csv({"ours": result}).splitlines():
    ...     print(line.partition(",convention")[0])
    name,mAP,Rank-1,Rank-5,Rank-10,Rank-20,mINP,signature
    ours,0.7916666666666666,1.0,,,,0.6666666666666666
    """
    rows, columns = _rows(results), list(measures)
    extra = [f"{metric} {field}" for metric in columns for field in _ENDS.values()]
    lines = []
    for name, result in rows.items():
        by_metric = _intervals_of(intervals, name, rows)
        values = [getattr(by_metric.get(metric), field, None)
                  for metric in columns for field in _ENDS] if intervals else []
        lines.append([name, *json_values([*values_of(result, columns), *values]),
                      result.signature])
    return csv_text(["name", *columns, *(extra if intervals else []), "signature"], lines)


def as_markdown(results: Result | Mapping[str, Result], *, measures: Iterable[str] = HEADLINE,
                intervals: Intervals = None) -> str:
    """Return a Markdown table, one row per result, then a line with each signature.

    Parameters and errors: as `table`.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances(np.array([[.1, .2, .3]]), query, gallery)
    >>> print(as_markdown({"ours": result}).partition("convention")[0])
    | Method | mAP | Rank-1 | Rank-5 | Rank-10 | Rank-20 | mINP |
    |:--|--:|--:|--:|--:|--:|--:|
    | ours | 79.17 | 100.00 | - | - | - | 66.67 |
    <BLANKLINE>
    In percent.
    <BLANKLINE>
    - ours: `
    """
    return markdown_text(table(results, measures=measures, intervals=intervals))


def as_latex(results: Result | Mapping[str, Result], *, measures: Iterable[str] = HEADLINE,
             intervals: Intervals = None) -> str:
    r"""Return a LaTeX table in the style of booktabs, one row per result after its signature.

    Parameters and errors: as `table`.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances(np.array([[.1, .2, .3]]), query, gallery)
    >>> for line in as_latex({"R50 & ours": result},
    ...                      measures=["mAP", "Rank-1", "mINP"]).splitlines():
    ...     print(line.partition(": convention")[0])
    % needs \usepackage{booktabs}
    \begin{table}
    \centering
    \caption{In percent.}
    \label{tab:results}
    \begin{tabular}{lrrr}
    \toprule
    Method & mAP & Rank-1 & mINP \\
    \midrule
    % R50 & ours
    R50 \& ours & 79.17 & 100.00 & 66.67 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    return latex_text(table(results, measures=measures, intervals=intervals))


def _is_best(text: str, column: list[str]) -> bool:
    """Return whether no comparable row surpasses a number as it is printed."""
    if len(column) == 1 or text == "-":
        return False
    return float(text) == max(float(cell) for cell in column if cell != "-")


def _comparable(result: Result, other: Result) -> bool:
    """Return whether two results are of one convention and of as many images, and one part."""
    return (result.signature.get("part") == other.signature.get("part")
            and result.convention == other.convention and result.counts.query == other.counts.query
            and result.counts.gallery == other.counts.gallery)


def per_query_json(result: Result, measures: Sequence[str] = ()) -> dict[str, Any]:
    """Return what each query got, of plain JSON values; what does not exist is None.

    Parameters
    ----------
    result : Result
    measures : sequence of str
        Further measures, which are keys of their own.

    Returns
    -------
    dict
        The keys of `Result.to_dict`; labels (query, gallery: eight hexadecimal digits each, the
        same where the labels are); queries, a list of dict with the keys query (its number, from
        0), identity, camera (None if unknown), status, counted (in the mean of mAP), ap, inp,
        first_match, n_good, n_junk.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances(np.array([[.3, .2, .1]]), query, gallery)
    >>> row, = per_query_json(result)["queries"]
    >>> row["query"], row["identity"], row["status"], row["first_match"], row["n_good"]
    (0, 7, 'ok', 1, 2)
    """
    values: dict[str, Any] = json_values(PerQueryFile(
        **numbers_of(result, names=measures), labels=result.fingerprints,
        queries=query_rows(result, measures)))
    return values


def per_query_csv(result: Result, measures: Sequence[str] = ()) -> str:
    """Return one CSV line per query: doubles in full precision, an empty field for None.

    Columns: the keys of `queries` of `per_query_json`; no camera if cameras are unknown.
    """
    rows = map(json_values, query_rows(result, measures))
    heads = [field.name for field in fields(QueryRow) if not field.metadata
             and (field.name != "camera" or result.per_query.camera.size)]
    heads += extra_columns(measures)
    return csv_text(heads, ([row[head] for head in heads] for row in rows)) + "\n"


def _intervals_of(intervals: Intervals, name: str,
                  rows: Mapping[str, Result]) -> Mapping[str, Interval]:
    if intervals and len(rows) == 1:
        return next(iter(intervals.values()))
    return (intervals or {}).get(name, {})


def _rows(results: Result | Mapping[str, Result]) -> Mapping[str, Result]:
    rows = {ROW_NAME: results} if isinstance(results, Result) else results
    if not isinstance(rows, Mapping) or not rows or not all(
            isinstance(name, str) and isinstance(result, Result) for name, result in rows.items()):
        raise InputError("results", "a Result or a dict of row name to Result",
                         type(results).__name__, "pass what reid_ref.evaluate returns")
    return rows
