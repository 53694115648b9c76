"""What an export for trec_eval wrote, and the command to run next."""
from __future__ import annotations

from reid_ref.report.names import visible


def written(paths: tuple[str, str], n_query: int, lines: int) -> str:
    """Return both file names, what is in them, and how trec_eval reads them."""
    qrels, ranking = map(visible, paths)
    return (f"wrote {qrels} and {ranking}: {n_query:,} queries, {lines:,} lines each\n"
            f"next  trec_eval -J -c -m map -m success.1,5,10,20 {qrels} {ranking}")
