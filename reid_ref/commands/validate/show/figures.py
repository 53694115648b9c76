"""Published figures in lists and in full, for people."""
from collections.abc import Iterator
from dataclasses import asdict

from reid_ref.analysis.validate.figures import DoubtRow, Figures
from reid_ref.datasets.benchmarks import BENCHMARKS, ImageCounts, benchmark_named
from reid_ref.datasets.published import RANKS, Published, nearest
from reid_ref.protocols import PROTOCOLS
from reid_ref.text import named_rows, wrap
from reid_ref.text.table import columns

#: Fields whose name is not what a reader calls them.
_NAMES = {**RANKS, "source_paper": "paper", "source_repo": "repository", "source_path": "file",
          "source_commit": "commit", "n_query": "queries", "label_minus_1": "label -1",
          "min_score": "least score"}
#: A verdict as the heading of the rows below it.
_TITLES = {"impossible": "Impossible",
           "padded": "Possible only if zeros were added to the digits",
           "truncated": "Possible only if the digits were cut off, not rounded"}


def as_list(answer: Figures) -> str:
    """Return key, Rank-1 and mAP of each row, below its source, evaluator and protocol; then the
    rows in doubt, which are starred.
    """
    lines: list[str] = []
    rows, starred = answer.figures, {doubt.key for doubt in answer.doubts}
    headings = ["", ""]
    for figure in rows:
        title = f"{figure.source_repo} {figure.source_path}: {figure.evaluator}"
        of = protocol_of(figure)
        if [title, of] != headings:
            lines += ["", *wrap(title)] if title != headings[0] else []
            width = columns() - 27
            lines += [f"  {f'protocol {of}':{width}} {'Rank-1':>9} {'mAP':>9}"]
            headings = [title, of]
        lines.append(f"  {figure.key:{width}} {_cell(figure.rank1):>9} {_cell(figure.mAP):>9}"
                     + " *" * (figure.key in starred))
    benchmarks = {benchmark_named(figure.dataset) for figure in rows}
    counts = [line for benchmark in BENCHMARKS.values() if {benchmark.key} == benchmarks
              for images in benchmark.images for line in _counts(images)]
    lines += ["", *counts] if counts else []
    lines += ["", *_doubts(answer)]
    lines += wrap(f"{len(rows)} published figures, percent, as printed; checked: "
                  f"{answer.checked}, those whose number of queries is known")
    return "\n".join(lines[1:])


def _counts(images: ImageCounts) -> list[str]:
    part = f" ({images.part})" if images.part else ""
    return wrap(f"{images.query:,} queries, {images.gallery:,} in the gallery{part}: "
                f"{'; '.join(filter(None, (images.note, images.source)))}", rest="    ")


def protocol_of(figure: Published) -> str:
    """Return the protocol of a figure, its part if it is one of several, and the score."""
    record = PROTOCOLS.get(figure.protocol)
    is_one = not figure.part or record is not None and len(record.parts) == 1
    score = f", score {figure.min_score or 'not stated'}" if record and record.boxes else ""
    return (figure.protocol or "not stated") + ("" if is_one else f", {figure.part}") + score


def _cell(text: str) -> str:
    """As printed, but for the few with more than four decimals."""
    return text if len(text) <= 7 else f"{float(text):.4f}"


def as_page(answer: Figures) -> str:
    """Return everything about the only row, but for what its source does not state."""
    figure, = answer.figures
    rows = [(_NAMES.get(name, name), text) for name, text in asdict(figure).items() if text]
    verdict = "possible" if answer.checked else "not checked: the number of queries is not known"
    for doubt in answer.doubts:
        verdict = "; ".join([_TITLES[doubt.verdict].lower(), *_reasons(doubt, figure)])
    return "\n".join(named_rows([*rows, ("verdict", verdict)], 12))


def _doubts(answer: Figures) -> Iterator[str]:
    """Yield the rows that are impossible, and those possible if digits were cut off or added."""
    rows = {row.key: row for row in answer.figures}
    for verdict, title in _TITLES.items():
        chosen = [doubt for doubt in answer.doubts if doubt.verdict == verdict]
        yield from [f"{title}: {len(chosen)}"] * bool(chosen)
        for doubt in chosen:
            yield f"  {doubt.key}"
            for reason in _reasons(doubt, rows[doubt.key]):
                yield from wrap(reason, first="      ", rest="          ")
        yield from [""] * bool(chosen)


def _reasons(doubt: DoubtRow, row: Published) -> Iterator[str]:
    for name, hits in doubt.ranks.items():
        printed = getattr(row, name.lower().replace("-", ""))
        padded = f"; possible as {hits.possible_as}" if hits.possible_as is not None else ""
        yield f"{name} {printed} of {hits.n_query:,} queries{padded}; nearest: {nearest(hits)}"
    for bound in doubt.mAP:
        yield (f"mAP {row.mAP}; {bound.ap} with that Rank-1: "
               f"{100 * bound.low:.2f} to {100 * bound.high:.2f}")
