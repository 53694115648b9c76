"""A table, written once for a terminal, as Markdown, as LaTeX, as HTML and as CSV."""
import csv
import io
import re
import shutil
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

#: Points of a column of an article with two.
_COLUMN_OF_TWO = 229
#: Not read by reid_ref.disk, which is a room above.
LATEX = tomllib.loads(Path(__file__).with_name("latex.toml").read_text("utf-8"))


def columns() -> int:
    """Return the columns to write for: those of the terminal, but no fewer than 60, no more than
    80.
    """
    return min(max(shutil.get_terminal_size().columns, 60), 80)


class Cell(NamedTuple):
    """A number as it is printed: bold or underlined, with a mark after it, the ends of an interval
    and its standard deviation.
    """

    text: str
    bold: bool = False
    mark: str = ""
    ends: str = ""
    underlined: bool = False
    sd: str = ""


def _cells(row: Sequence[str | Cell]) -> list[Cell]:
    return [cell if isinstance(cell, Cell) else Cell(cell) for cell in row]


class Table(NamedTuple):
    """Rows of cells below the names of their columns.

    Parameters
    ----------
    heads : sequence of str
        Names of the columns; the first column has the names of the rows.
    rows : sequence of sequences of str or Cell
    notes : sequence of str
        Sentences below the table; in LaTeX the caption, of few words.
    signatures : mapping of str to str
        Row name to the signature of its numbers, if it has one.
    groups : sequence of (str, int)
        Names above the heads, after that of the first column, each with its number of columns.
    comments : sequence of str
        Further sentences; in LaTeX comments.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    notes: Sequence[str] = ()
    signatures: Mapping[str, str] = {}
    groups: Sequence[tuple[str, int]] = ()
    comments: Sequence[str] = ()


def lines(heads: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,),
          indent: int = 0) -> list[str]:
    """Return a table for a terminal: numbers to the right, the columns `left` to the left.

    The first column is at least `indent` wide. A longer name than the terminal has room for
    takes a line of its own; columns that do not fit follow below.

    Examples
    --------
    >>> for line in lines(["percent", "mAP", "Rank-1"], [["ours", "41.64", "-"]]):
    ...     print(line)
    percent    mAP  Rank-1
    ours     41.64       -
    >>> [line.strip() for line in lines(["", "mAP"], [["long " * 16, "42.11"]])][::2]
    ['mAP', '42.11']
    """
    table = [list(heads), *map(list, rows)]
    wide = [max(map(len, column)) + 2 for column in zip(*table)]
    first = max(indent, wide[0] - 2)
    width = columns()
    first = min(first, max(indent, len(heads[0]), width - sum(wide[1:]), 5))
    ends = [1]
    for column in range(1, len(wide)):
        if column > ends[-1] and first + sum(wide[ends[-1]:column + 1]) > width:
            ends.append(column)
    text: list[str] = []
    for start, end in pairwise([*ends, len(wide)]):
        text += [""] if text else []
        for name, *cells in table:
            line = "".join(f"  {cell:<{wide[k] - 2}}" if k in left else f"{cell:>{wide[k]}}"
                           for k, cell in enumerate(cells[start - 1:end - 1], start))
            text += [name] if len(name) > first else []
            name = name if len(name) <= first else ""
            text.append(f"{name:{'<' if 0 in left else '>'}{first}}{line}".rstrip())
    return text


def as_markdown(table: Table) -> str:
    """Return a table in GitHub's Markdown, then its notes and signatures."""
    def cell_text(cell: Cell) -> str:
        before, after = (("**", "**") if cell.bold else ("<u>", "</u>") if cell.underlined
                         else ("", ""))
        return (f"{before}{markdown(cell.text)}{after}" + (f" ± {cell.sd}" if cell.sd else "")
                + (f"<sup>{markdown(cell.mark)}</sup>" if cell.mark else "")
                + (f" [{cell.ends}]" if cell.ends else ""))

    above = ["", *(f"{name} " for name, span in table.groups for _ in range(span))]
    heads = [f"{group}{head}" for group, head in zip_longest(above, table.heads, fillvalue="")]
    text = [f"| {' | '.join(heads)} |", "|:--" + "|--:" * (len(heads) - 1) + "|"]
    text += [f"| {' | '.join(map(cell_text, _cells(row)))} |" for row in table.rows]
    # After an empty line, because a signature has bars, which would continue the table.
    for note in (*table.notes, *table.comments):
        text += ["", markdown(note)]
    text += ["", *((f"- {markdown(name)}: " if name else "") + f"`{one_line(signature)}`"
                   for name, signature in table.signatures.items() if signature)]
    return "\n".join(text)


def as_latex(table: Table) -> str:
    """Return a LaTeX table for booktabs: notes are its caption, an interval is below its number,
    each signature is in a comment, above its row, and other comments are above the table. One that
    is too wide for a column spans two.
    """
    def cell_text(cell: Cell) -> str:
        text = "--" if cell.text == "-" else latex(cell.text)
        font = "textbf" if cell.bold else "underline" if cell.underlined else ""
        return ((rf"\{font}{{{text}}}" if font else text)
                + (rf" {{\scriptsize $\pm$ {cell.sd}}}" if cell.sd else "")
                + (rf"\textsuperscript{{{cell.mark}}}" if cell.mark else ""))

    comments = {name: f"% {one_line(name)}: {one_line(signature)}"
                for name, signature in table.signatures.items()}
    star = "*" if _points(table) > _COLUMN_OF_TWO else ""
    text = [r"% needs \usepackage{booktabs}", *(f"% {one_line(each)}" for each in table.comments),
            rf"\begin{{table{star}}}", r"\centering",
            rf"\caption{{{latex(' '.join(table.notes))}}}", r"\label{tab:results}",
            rf"\begin{{tabular}}{{l{'r' * (len(table.heads) - 1)}}}", r"\toprule",
            *_latex_groups(table), rf"{' & '.join(map(latex, table.heads))} \\", r"\midrule"]
    for row in map(_cells, table.rows):
        name = row[0].text
        text += [comments.pop(name)] if name in comments else []
        text.append(rf"{' & '.join(map(cell_text, row))} \\")
        ends = [cell.ends and rf"{{\scriptsize [{cell.ends.replace('-', '$-$')}]}}"
                for cell in row]
        if any(ends):
            text.append(rf"{' & '.join(ends)} \\")
    return "\n".join([*text, r"\bottomrule", r"\end{tabular}", *comments.values(),
                      rf"\end{{table{star}}}"])


def _latex_groups(table: Table) -> list[str]:
    """Return the row of the names above the heads, and the rules below them."""
    names, rules, first = "", "", 2
    for name, span in table.groups:
        names += rf" & \multicolumn{{{span}}}{{c}}{{{latex(name)}}}"
        rules += rf"\cmidrule(lr){{{first}-{first + span - 1}}}"
        first += span
    return [rf"{names[1:]} \\", rules] if names else []


def _points(table: Table) -> float:
    """Return about how wide LaTeX sets a table, in points.

    Letters of 10 points are 5 wide, those of an interval 3.6; columns are 12 apart.
    """
    def width(cell: str | Cell) -> float:
        if isinstance(cell, str):
            return 5 * len(cell)
        sd = f" ± {cell.sd} " if cell.sd else ""
        return max(5 * len(cell.text) + 4 * len(cell.mark) + 3.6 * len(sd),
                   3.6 * len(f"[{cell.ends}]"))

    return sum(12 + max(map(width, column)) for column in zip(table.heads, *table.rows))


def as_html(table: Table) -> str:
    """Return a small table for a notebook; it has no colours, so it fits light and dark.

    Examples
    --------
    >>> text = as_html(Table(["", "mAP"], [["a<b", "41.64"]], ["percent"]))
    >>> ">a&lt;b</th>" in text, ">41.64</td>" in text
    (True, True)
    """
    right, left = (f'style="text-align: {side}; padding: 0.2em 0.6em"'
                   for side in ("right", "left"))
    head = "".join(f'<th scope="col" {right}>{escape(name)}</th>' for name in table.heads)
    body = ""
    for name, *values in table.rows:
        cells = "".join(f"<td {right}>{escape(str(value))}</td>" for value in values)
        body += f'<tr><th scope="row" {left}>{escape(str(name))}</th>{cells}</tr>'
    # Without "inherit" a page in quirks mode writes tables in black, also on a dark ground.
    return (f'<table style="color: inherit"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table>"
            f'<p style="opacity: 0.75; font-size: smaller; overflow-wrap: anywhere">'
            f"{escape(' '.join(table.notes))}</p>")


def as_csv(heads: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return values in full precision as CSV, an empty field for None.

    Examples
    --------
    >>> print(as_csv(["name", "gain"], [["=1+1", -1.07], ["-x.npz", None]]))
    name,gain
    '=1+1,-1.07
    '-x.npz,
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_cell, row) for row in [heads, *rows])
    return text.getvalue().removesuffix("\n")


def _cell(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula: OWASP's apostrophe before a text."""
    if isinstance(value, str) and re.match(r"[=+\-@＝＋－＠\t\r\n]", value):
        return value if re.fullmatch("[+-]?[0-9.]*", value) else f"'{value}"
    return value


def one_line(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def markdown(text: str) -> str:
    """Return a text as Markdown shows it."""
    return re.sub(r"([\\`*_{}\[\]<>|#~$&])", r"\\\1", one_line(text))


def latex(text: str) -> str:
    """Return a text as LaTeX sets it."""
    return "".join(LATEX["set"].get(character, character) for character in one_line(text))
