"""Tables of a page: Markdown, HTML and LaTeX, each as rows of plain text.

Every reader takes one pass over lines or tokens, and no pattern can match in two ways, so that a
hostile page takes time in proportion to its length.
"""
import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from itertools import chain

from reid_ref.text.table import LATEX

#: A wider cell, or a wider row, is no table of results.
_WIDEST = 100
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_LINK = re.compile(r"!?(?<!\\)\[([^\[\]]*)\]\([^()\s]*\)")
#: A tag, and what is raised next to a number.
_TAG = re.compile(r"(?<=[0-9*])<sup>[^<>]*</sup>|<[^<>]*>")
#: A character that does not exist, with more digits than Python turns into a number.
_LONG_REFERENCE = re.compile("&#[0-9]{8,}")
_HTML_HEADING = re.compile(r"<h([1-6])", re.IGNORECASE)
_COMMENT = re.compile(r"(?<!\\)%.*")
_LATEX_HEADING = re.compile(r"\\(chapter|section|subsection|subsubsection|paragraph)\*?\{")


@dataclass
class Grid:
    """One table.

    Parameters
    ----------
    rows : list of (int, list of str)
        The line of each row, from 1, and its cells as plain text; what spans several columns is
        repeated.
    above : list of str
        What may name the benchmark, the nearest first: caption or the line above it, and
        headings.
    headings : list of str
        Those of `above`.
    sentence : str
        The line above it, however long.
    """

    rows: list[tuple[int, list[str]]]
    above: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    sentence: str = ""


def tables_of(page: Sequence[str]) -> list[Grid]:
    r"""Return the tables of a page, in the order of its lines, without code and comments.

    Examples
    --------
    >>> table, = tables_of(["# Market-1501", "| Method | mAP |", "|:--|--:|", "| ours | 84.1 |"])
    >>> table.rows, table.above
    ([(2, ['Method', 'mAP']), (4, ['ours', '84.1'])], ['Market-1501'])
    >>> tables_of([r"\begin{tabular}{lc}", r"ours & \textbf{84.1} \\", r"\end{tabular}"])[0].rows
    [(2, ['ours', '84.1'])]
    """
    shown = _without_comments(_without_code(page))
    lines = [_LONG_REFERENCE.sub("", line) for line in shown]
    html = _HtmlTables()
    if any("<table" in line.lower() for line in lines):
        with suppress(AssertionError):  # of the parser: "<![" and no name, where reading ends
            html.feed("\n".join(lines))  # without close(): an unfinished tag is left alone
    grids = [grid for grid in chain(_markdown(lines), html.grids, _latex(lines)) if grid.rows]
    grids.sort(key=lambda grid: grid.rows[0][0])
    _add_what_is_above(grids, lines)
    return grids


def separated_table(page: Sequence[str]) -> Grid | None:
    """Return a page as one table of cells between commas or tabs; None if it has none.

    Examples
    --------
    >>> separated_table(["name,mAP", '"a, b",84.1']).rows
    [(1, ['name', 'mAP']), (2, ['a, b', '84.1'])]
    """
    lines = csv.reader(page, delimiter="\t" if "\t" in "".join(page[:1]) else ",")
    with suppress(csv.Error):
        rows = [(lines.line_num, [cell.strip() for cell in cells[:_WIDEST]]) for cells in lines
                if any(cells)]
        return Grid(rows) if rows and len(rows[0][1]) > 1 else None
    return None


def markdown_plain(text: str) -> str:
    r"""Return the text that Markdown shows: no link targets, tags and backslashes.

    Examples
    --------
    >>> markdown_plain(r"[OSNet](log.txt) \* <b>94.2</b>&nbsp;%")
    'OSNet * 94.2 %'
    """
    text = unescape(_TAG.sub("", _LINK.sub(r"\1", text))).replace("\\pm", "±")
    return " ".join(re.sub(r"\\(.)", r"\1", text).split())


def _without_code(lines: Sequence[str]) -> list[str]:
    """Return the lines, those of blocks of code empty."""
    text, fence = [], ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence and line.strip().startswith(fence):
            fence, line = "", ""
        text.append("" if fence else line)
    return text


def _without_comments(lines: Sequence[str]) -> list[str]:
    """Return the lines without what is in HTML's comments, which no reader sees."""
    text, kept, end = "\n".join(lines), list[str](), 0
    while (start := text.find("<!--", end)) >= 0 and (after := text.find("-->", start)) >= 0:
        kept += [text[end:start], "\n" * text.count("\n", start, after)]
        end = after + 3
    return "".join([*kept, text[end:]]).split("\n")


def _add_what_is_above(grids: list[Grid], lines: Sequence[str]) -> None:
    """Append the line above each table, and the headings that it is below."""
    headings: dict[int, str] = {}
    above, last = "", 0
    for grid in grids:
        for number in range(last, grid.rows[0][0] - 1):
            line, after = lines[number].strip(), lines[number + 1].strip()
            level, text = _heading(line, after)
            if level:
                headings = {k: heading for k, heading in headings.items() if k < level}
                headings[level], above = text, ""
            elif "|" not in line and line[:1] not in ("\\", "%") and set(line) - set("=- "):
                above = markdown_plain(line) or above
        if above and len(above) <= 120:
            grid.above.append(above)
        grid.headings = [text for _, text in sorted(headings.items(), reverse=True)]
        grid.above.extend(grid.headings)
        grid.sentence, above, last = above, "", max(last, grid.rows[-1][0])


def _heading(line: str, after: str) -> tuple[int, str]:
    """Return the level and text of a heading; 0 for another line."""
    if line.startswith("#"):
        text = line.lstrip("#")
        return len(line) - len(text), markdown_plain(text)
    html, latex = _HTML_HEADING.match(line), _LATEX_HEADING.match(line)
    if html:
        return int(html[1]), markdown_plain(line)
    if latex:
        return LATEX["levels"][latex[1]], _COMMENT.sub("", line[latex.end():]).strip("{} ")
    if line and "|" not in line and len(after) > 1 and set(after) in ({"="}, {"-"}):
        return 1 if after[0] == "=" else 2, markdown_plain(line)
    return 0, ""


# Markdown: a line of heads, a line of dashes, rows.

def _markdown(lines: Sequence[str]) -> Iterator[Grid]:
    grid: Grid | None = None
    for number, line in enumerate(lines, 1):
        if "|" not in line:
            grid = None
        elif grid is None and number < len(lines) and _is_dashes(lines[number]):
            grid = Grid([(number, _cells(line))])
            yield grid
        elif grid is not None and not _is_dashes(line):
            grid.rows.append((number, _cells(line)))


def _is_dashes(line: str) -> bool:
    cells = line.strip().strip("|").split("|")
    return "|" in line and all(
        "-" in cell and not cell.strip().strip(":").strip("-") for cell in cells)


def _cells(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip().removeprefix("|"))
    return [markdown_plain(cell) for cell in (cells if cells[-1].strip() else cells[:-1])]


# HTML.

class _HtmlTables(HTMLParser):
    """Collects the outermost tables of a page, spans of rows and columns filled in."""

    def __init__(self) -> None:
        super().__init__()
        self.grids: list[Grid] = []
        self._depth = 0
        self._text: list[str] = []
        self._open = ""
        self._spans = 1, 1
        self._below: dict[int, tuple[int, str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._text.append(" ")
        if tag == "table":
            self._depth += 1
            if self._depth == 1:
                self.grids.append(Grid([]))
                self._below = {}
        elif self._depth == 1 and tag in ("tr", "td", "th", "caption"):
            self._end_cell()
            if tag == "tr":
                self.grids[-1].rows.append((self.getpos()[0], []))
                self._fill()
            else:
                self._open = tag
                of = dict(attrs)
                self._spans = _span(of.get("rowspan")), _span(of.get("colspan"))

    def handle_endtag(self, tag: str) -> None:
        if tag == "table" and self._depth:
            self._depth -= 1
        if tag in ("td", "th", "tr", "caption", "table") and self._depth <= 1:
            self._end_cell()

    def handle_data(self, data: str) -> None:
        if self._open:
            self._text.append(data)

    def _end_cell(self) -> None:
        text = " ".join("".join(self._text).split())
        if self._open == "caption":
            self.grids[-1].above.append(text)
        elif self._open and self.grids[-1].rows:
            cells = self.grids[-1].rows[-1][1]
            for _ in range(self._spans[1]):
                if self._spans[0] > 1:
                    self._below[len(cells)] = self._spans[0], text
                cells.append(text)
            self._fill()
        self._open, self._text = "", []
        if self.grids and self.grids[-1].rows:
            del self.grids[-1].rows[-1][1][_WIDEST:]

    def _fill(self) -> None:
        """Append what the rows above span into this one."""
        cells = self.grids[-1].rows[-1][1]
        while self._below.get(len(cells), (1, ""))[0] > 1:
            left, text = self._below[len(cells)]
            self._below[len(cells)] = left - 1, text
            cells.append(text)


def _span(text: str | None) -> int:
    return min(int(text), _WIDEST) if text and text.isdecimal() and len(text) < 9 else 1


# LaTeX: tokens; a brace knows the one that closes it, so that nothing is searched for twice.

_TOKEN = re.compile(r"\\[A-Za-z]+|\\[\s\S]|[{}\[\]&\n]|[^\\{}\[\]&\n]+")
#: Groups between the name of an environment and its first cell.
_TABULARS: dict[str, int] = LATEX["tabulars"]
_FLOATS = ("table", "table*", "wraptable", "longtable")
_ROW_ENDS = ("\\\\", "\\cr", "\\tabularnewline")
_SHOWN: dict[str, str] = LATEX["shown"] | dict.fromkeys(_ROW_ENDS, " ")


class _Latex:
    """The tokens of a page and, of each opening brace, the place of the closing one."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.tokens = _TOKEN.findall("\n".join(_COMMENT.sub("", line) for line in lines))
        self.closing: dict[int, int] = {}
        self.line: list[int] = []
        opened, line = list[int](), 1
        for place, token in enumerate(self.tokens):
            line += token.count("\n")
            self.line.append(line)
            if token == "{":
                opened.append(place)
            elif token == "}" and opened:
                self.closing[opened.pop()] = place
        self.closing.update(dict.fromkeys(opened, len(self.tokens)))

    def environment(self, place: int) -> str:
        """Return the name of the environment that a token begins or ends, or ""."""
        is_one = self.tokens[place] in ("\\begin", "\\end")
        return "".join(self.tokens[place + 2:place + 3]) if is_one else ""

    def after(self, place: int, groups: int) -> int:
        """Return the place after optional arguments and so many groups."""
        while place < len(self.tokens):
            token = self.tokens[place]
            if token == "[":
                end = self.tokens[place:place + 40]
                place += end.index("]") if "]" in end else 0
            elif token == "{" and groups:
                place, groups = self.closing[place], groups - 1
            elif not groups or token.strip() and token[0] != "(":
                break
            place += 1
        return place

    def text(self, place: int, end: int) -> str:
        """Return tokens as plain text."""
        shown: list[str] = []
        while place < end:
            token = self.tokens[place]
            place += 1
            if token[0] == "\\":
                shown.append(_SHOWN.get(token, token[1:] if token[1:] in "%&_#${}|" else ""))
                hidden = LATEX["hidden"].get(token[1:], 0)
                # Of a nested table the columns are no text.
                hidden += (_TABULARS.get(self.environment(place - 1), 0)
                           if token == "\\begin" else 0)
                if hidden or token in _ROW_ENDS:
                    place = self.after(place, hidden)
            elif token not in "{}":
                shown.append(" " if token in "&\n" else re.sub(r"[$^_]", "", token))
        return " ".join("".join(shown).replace("~", " ").split())

    def rows(self, place: int, end: int) -> Iterator[tuple[int, list[str]]]:
        """Yield the line and the cells of each row between two places."""
        cells, first, nested = list[str](), place, 0
        while place <= end:
            token = self.tokens[place] if place < end else "\\cr"
            if token == "{":
                place = min(self.closing[place], end - 1)
            elif token in ("\\begin", "\\end"):
                nested += 1 if token == "\\begin" else -1
            elif nested <= 0 and token in ("&", *_ROW_ENDS):
                cells += [self.text(first, place)] * self.span(first, place)
                first = place + 1
                if token != "&":
                    first = self.after(first, 0)
                    if any(cells):
                        yield self.line[min(place, end - 1)], cells[:_WIDEST]
                    cells = []
            place += 1

    def span(self, place: int, end: int) -> int:
        """Return how many columns a cell spans."""
        for k in range(place, min(end, place + 40)):
            if self.tokens[k] == "\\multicolumn":
                return _span("".join(self.tokens[k + 2:k + 3]))
        return 1


def _latex(lines: Sequence[str]) -> Iterator[Grid]:
    if not any("\\begin{" in line for line in lines):
        return
    page = _Latex(lines)
    level = start = 0
    tables: list[Grid] = []  # of one float, which share its caption
    caption = ""
    for place, token in enumerate(page.tokens):
        name, step = page.environment(place), 1 if token == "\\begin" else -1
        if name in _TABULARS:
            if level == 0 and step == 1:
                start = page.after(place + 4, _TABULARS[name])
            level = max(0, level + step)
            if level == 0 and step == -1:
                tables.append(Grid(list(page.rows(start, place))))
        elif token == "\\caption" and place >= start:
            first = page.after(place + 1, 0)
            start = page.closing.get(first, first)
            caption = page.text(first, start)
        if name in _FLOATS or place == len(page.tokens) - 1:
            for table in tables:
                table.above.extend(filter(None, [caption]))
            yield from tables
            tables, caption = [], ""
