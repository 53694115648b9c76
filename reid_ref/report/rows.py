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
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.labels import Labels
from reid_ref.report.tables import headline
from reid_ref.result import RANKS, Result
from reid_ref.words import number, percent

#: The name of the row where a single `Result` is given.
ROW_NAME = "Method"
COLUMNS = (*(f"Rank-{k}" for k in RANKS), "mAP", "mINP")

_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"}}


def as_csv(results: Result | Mapping[str, Result]) -> str:
    r"""Return a header and one line a result: name, numbers in full precision, signature.

    Parameters
    ----------
    results : Result or mapping of str to Result
        Row name to result.

    Returns
    -------
    str

    Raises
    ------
    InputError
        No result, a row name that is not a text, or a value that is not a `Result`.

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
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", *COLUMNS, "signature"])
    for name, result in _rows(results).items():
        numbers = dict(headline(result))
        writer.writerow([name, *(number(numbers.get(column, math.nan))
                                 for column in COLUMNS), result.signature])
    return text.getvalue().removesuffix("\n")


def as_markdown(results: Result | Mapping[str, Result]) -> str:
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
    rows = _rows(results)
    lines = [f"| {ROW_NAME} | {' | '.join(COLUMNS)} |", "|:--" + "|--:" * len(COLUMNS) + "|"]
    lines += [f"| {_markdown(name)} | {' | '.join(_percents(result, '-'))} |"
              for name, result in rows.items()]
    # Behind an empty line, because a signature has bars, which would continue the table.
    lines += ["", *(f"- {_markdown(name)}: `{_one_line(result.signature)}`"
                    for name, result in rows.items())]
    return "\n".join(lines)


def as_latex(results: Result | Mapping[str, Result]) -> str:
    r"""Return rows for a LaTeX table, each under a comment with its signature.

    The rows go between ``\midrule`` and ``\bottomrule`` of a table of seven columns, whose
    names stand in the first comment.

    Parameters and errors: as `as_csv`.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances(np.array([[.1, .2, .3]]), query, gallery)
    >>> first, signature, row = as_latex({"R50 & ours": result}).splitlines()
    >>> print(first, row, sep="\n")
    % Method & Rank-1 & Rank-5 & Rank-10 & Rank-20 & mAP & mINP \\
    R50 \& ours & 100.00 & -- & -- & -- & 79.17 & 66.67 \\
    """
    lines = [f"% {ROW_NAME} & {' & '.join(COLUMNS)} \\\\"]
    for name, result in _rows(results).items():
        lines += [f"% {_one_line(name)}: {_one_line(result.signature)}",
                  f"{_latex(name)} & {' & '.join(_percents(result, '--'))} \\\\"]
    return "\n".join(lines)


def per_query_json(result: Result, query: Labels, gallery: Labels) -> dict[str, Any]:
    """Return what each query got, of plain JSON values; what does not exist is None.

    Parameters
    ----------
    result : Result
    query, gallery : Labels
        What was evaluated, in that order.

    Returns
    -------
    dict
        signature; labels (query, gallery: eight hexadecimal digits each, the same where the
        labels are); queries, a list of dict with the keys query (its number, from 0), identity,
        camera, status, counted (in the mean of mAP), ap, inp, first_match, n_good, n_junk.

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
    if len(gallery) != result.counts.gallery:
        raise InputError(f"gallery: expected the labels of the {result.counts.gallery} gallery "
                         f"images evaluated, got {len(gallery)}")
    return {"signature": result.signature,
            "labels": {"query": query.fingerprint(), "gallery": gallery.fingerprint()},
            "queries": _query_rows(result, query)}


def _query_rows(result: Result, query: Labels) -> list[dict[str, Any]]:
    per_query, counted = result.per_query, _in_mean(result)
    if len(query) != len(per_query.ap):
        raise InputError(f"query: expected the labels of the {len(per_query.ap)} queries "
                         f"evaluated, got {len(query)}")
    return [{
        "query": k, "identity": int(query.identity[k]), "camera": int(query.camera[k]),
        "status": str(per_query.status[k]), "counted": k in counted,
        "ap": number(float(per_query.ap[k])), "inp": number(float(per_query.inp[k])),
        "first_match": int(per_query.first_match[k]) or None,
        "n_good": int(per_query.n_good[k]), "n_junk": int(per_query.n_junk[k]),
    } for k in range(len(query))]


def _in_mean(result: Result) -> set[int]:
    """Return the queries in the mean of mAP."""
    loaded = np.flatnonzero(result.per_query.status != "not loaded")
    # What the mean would take of these numbers is the queries that it takes.
    return set(result.convention.counted(
        loaded.astype(np.float64), result.per_query.n_good[loaded]).astype(int).tolist())


def per_query_csv(result: Result, query: Labels) -> str:
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


def _percents(result: Result, absent: str) -> list[str]:
    numbers = dict(headline(result))
    return [percent(numbers.get(column, math.nan), absent) for column in COLUMNS]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _markdown(name: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#~$&])", r"\\\1", _one_line(name))


def _latex(name: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _one_line(name))
