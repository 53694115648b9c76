"""Rows of printed tables that cannot be, one line each, as compilers print them."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from reid_ref.analysis.check_table import Checked


def as_text(files: Mapping[str, Sequence[Checked]]) -> str:
    """Return a line for each problem, and how many rows were looked at."""
    rows = [one for checked in files.values() for one in checked]
    lines = [f"{path}:{one.row.line}: {one.row.name}: {problem}"
             for path, checked in files.items() for one in checked for problem in one.problems]
    signed = sum(one.row.signature is not None for one in rows)
    counts = sum(one.n_query is not None for one in rows)
    bad = sum(bool(one.problems) for one in rows)
    read = "1 row" if len(rows) == 1 else f"{len(rows):,} rows"
    return "\n".join([*lines, f"{read} with Rank-k, mAP or mINP: {signed:,} with a "
                      f"signature; counts k/N checked in {counts:,}; {bad:,} impossible"])
