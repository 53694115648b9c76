"""The table of published figures: a list of them, and a page of one."""
from __future__ import annotations

from dataclasses import asdict

from reid_ref.analysis.published import Published
from reid_ref.words import row, wrap

#: Fields whose name is not what a reader calls them.
_NAMES = {"rank1": "Rank-1", "rank5": "Rank-5", "rank10": "Rank-10", "rank20": "Rank-20",
          "source_paper": "paper", "source_repo": "repository", "source_path": "file",
          "source_commit": "commit", "n_query": "queries", "label_minus_1": "label -1"}


def as_list(figures: tuple[Published, ...]) -> str:
    """Return key, Rank-1 and mAP of each result, under its source and evaluator."""
    lines: list[str] = []
    heading = ""
    for one in figures:
        title = f"{one.source_repo} {one.source_path}: {one.evaluator}"
        if title != heading:
            heading = title
            lines += ([""] if lines else []) + wrap(title)
            lines.append(f"  {'':53} {'Rank-1':>9} {'mAP':>9}")
        lines.append(f"  {one.key:53} {_cell(one.rank1):>9} {_cell(one.mAP):>9}"
                     + (" *" if one.is_suspect else ""))
    starred = sum(one.is_suspect for one in figures)
    lines += ["", f"{len(figures)} published figures, percent, as printed"
                  + (f"; * {starred} whose Rank-k is not k/N" if starred else "")]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """As printed, but for the few with more than four decimals."""
    return text if len(text) <= 7 else f"{float(text):.4f}"


def as_page(figure: Published) -> str:
    """Return everything about one result; what its source does not state is left out."""
    return "\n".join(line for name, text in asdict(figure).items() if text
                     for line in row(_NAMES.get(name, name), text, 12))
