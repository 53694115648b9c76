"""What all figures share: axes of a column's width, colours, lines, legends, captions, files."""
import contextlib
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import RLock
from typing import Any

from reid_ref.arrays import InputError, optional_module
from reid_ref.disk import tables_of, write_whole
from reid_ref.result import Result
from reid_ref.text import by_reason, visible, wrap

#: Width of one column of a two-column page, and the height of a figure, in inches.
COLUMN, HEIGHT = 3.3, 2.5
#: Inches of the lowest panel (in a narrow figure text needs the height), and of two columns.
LOWEST, TWO_COLUMNS = 2.1, 7.0
#: Inches in a unit of length, and the widths that a figure can have.
UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
NARROWEST, WIDEST = 2.0, 40.0
#: Okabe and Ito's colours: they differ for the colour-blind, too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: Lines differ without colour: solid, dashed, dash-dotted, dotted, dash-dot-dotted.
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v")
#: Settings of matplotlib for axes that are made here.
SETTINGS = tables_of("drawing/settings.toml")


_drawing = RLock()


def check_matplotlib() -> None:
    """Refuse to draw if matplotlib is not installed."""
    optional_module("figures", "matplotlib")


@contextlib.contextmanager
def defaults(**settings: Any) -> Iterator[None]:
    """Let matplotlib draw with its defaults and these settings, whatever is in a matplotlibrc.

    One thread at a time: the settings are the process's.
    """
    check_matplotlib()
    with _drawing:
        from matplotlib.style import context

        with context(["default", settings]):
            yield


def inches(text: str, name: str = "width") -> float:
    """Read a length such as 3.3in, 84mm or 8.4cm; without a unit it is in inches.

    Examples
    --------
    >>> inches("3.3in"), round(inches("84mm"), 3)
    (3.3, 3.307)
    """
    length = re.fullmatch(r"\s*(\d{1,4}(?:\.\d{1,6})?)\s*(in|cm|mm|pt|)\s*", text, re.ASCII)
    width = float(length[1]) * UNITS[length[2] or "in"] if length else 0.0
    if not NARROWEST <= width <= WIDEST:
        raise InputError(name, f"a length from {NARROWEST:g}in to {WIDEST:g}in, such as 3.3in, "
                         "84mm or 8.4cm", repr(text))
    return width


def panels(n: int, width: float = COLUMN, height: float = HEIGHT, scaled: bool = False) -> Any:
    """Return n axes in a new figure of this width: as many side by side as have a column each.

    `scaled`: panels keep the shape that they have in one column. The figure is not pyplot's: it
    opens no window, and nothing need close it.
    """
    check_matplotlib()
    from matplotlib.figure import Figure

    columns = max(1, min(n, int(width / COLUMN + 0.1)))
    rows = -(-n // columns)
    if scaled:
        height = max(LOWEST, height * width / columns / COLUMN)
    with defaults(**SETTINGS):
        figure = Figure(figsize=(width, rows * height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for left_over in axes[n:]:
        left_over.remove()
    return axes[:n]


def draw_panels(draw: Callable[[Any, Any], object], by_name: Mapping[str, Any], width: float,
                height: float = HEIGHT, scaled: bool = True) -> Any:
    """Return a figure with one panel per value; of several each has its name above it."""
    with defaults():
        axes = panels(len(by_name), width, height, scaled)
        for ax, (name, value) in zip(axes, by_name.items()):
            draw(value, ax)
            loc = "center" if ax.get_title() else "right"
            if len(by_name) > 1:
                add_title(ax, literal(name), *ax.get_title(loc).split("\n"), loc=loc)
    return axes[0].figure


def axes_or(ax: Any, height: float = HEIGHT) -> Any:
    """Return `ax`, or new axes if there are none."""
    return panels(1, height=height)[0] if ax is None else ax


def line_style(k: int) -> dict[str, Any]:
    """Return colour and dashes of line k: 35 that differ."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": DASHES[k % len(DASHES)]}


def drawable_results(results: Mapping[str, Result] | Result) -> dict[str, Result]:
    """Return the results by name as text without formulas; anything else is refused."""
    if isinstance(results, Result):
        results = {results.convention.name: results}
    if not isinstance(results, Mapping) or not results:
        got = "none" if isinstance(results, Mapping) else type(results).__name__
        raise InputError("results", 'results by name, such as {"ours": result}', got)
    return {literal(name): result for name, result in results.items()}


def literal(name: str) -> str:
    """Return a name that matplotlib shows as it is: no formula, and not hidden from the key."""
    text = visible(str(name)).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def joined_conventions(results: Mapping[str, Result]) -> str:
    """Return the names of the conventions of these results."""
    return ", ".join(dict.fromkeys(result.convention.name for result in results.values()))


def text_size(ax: Any) -> float:
    """Return the size of small text in these axes, in points."""
    return 0.875 * float(ax.xaxis.label.get_size())


def add_title(ax: Any, *lines: str, loc: str = "center") -> None:
    """Put a title above the axes in the size of their labels; long lines are wrapped."""
    size = float(ax.xaxis.label.get_size())
    points = ax.get_window_extent().width * 72 / ax.figure.dpi
    # A letter is about 0.55 of its size wide, and a title may reach a little over the axes.
    letters = max(16, int(1.15 * points / (0.55 * size)))
    text = "\n".join(part for line in lines for part in wrap(line, width=letters))
    ax.set_title(text, fontsize=size, loc=loc)


def retitle(figure: Any, title: str) -> None:
    """Put a title in the place of a figure's own; of several panels above theirs."""
    titled = [ax for ax in figure.axes if ax.get_title() or ax.get_title("right")]
    if len(titled) > 1 and not title:
        raise InputError("--no-title", "a figure with one panel", f"{len(titled)}, whose titles "
                         "name what they show", "give --title, or draw them apart")
    with defaults(**SETTINGS):
        if len(titled) > 1:
            figure.suptitle(literal(title), fontsize=SETTINGS["axes.titlesize"])
            return
        for ax in titled:
            ax.set_title("", loc="right")
            add_title(ax, literal(title))


def label(ax: Any, *title: str, loc: str = "center", grid: Any = "both", **names: Any) -> None:
    """Set the title, a grid, and the labels and limits of the axes."""
    add_title(ax, *title, loc=loc)
    ax.grid(alpha=0.3, linewidth=0.4, axis=grid)
    ax.set(**names)


def add_legend(ax: Any, **options: Any) -> Any:
    """Put a key into the axes where it covers least, in small text; return the axes."""
    ax.legend(**{"frameon": False, "fontsize": text_size(ax), "handlelength": 2.6,
                 "borderaxespad": 0.3, "labelspacing": 0.3, **options})
    return ax


def add_legend_below(ax: Any, **options: Any) -> Any:
    """Put a key below the label of the x axis; return the axes."""
    from matplotlib.transforms import ScaledTranslation

    down = -(3.2 * float(ax.xaxis.label.get_size()) + 4) / 72
    place = ax.transAxes + ScaledTranslation(0, down, ax.figure.dpi_scale_trans)
    return add_legend(ax, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=place,
                      **options)


#: What figures show, in words that a paper can use below them.
CAPTIONS = tables_of("drawing/captions.toml")


#: What the bands of CMC curves are.
INTERVALS, RANGE = "95 % confidence intervals", "the range of the runs, each line their mean"


def caption(figure: str, several: bool = False, bands: str = "", measures: str = "") -> str:
    """Return the caption of a figure, of one method or of several, with or without bands.

    Examples
    --------
    >>> caption("pr", several=True)
    'Precision at each level of recall, averaged over the queries.'
    """
    words = CAPTIONS.get(f"{figure}, several" if several else figure, CAPTIONS[figure])
    words = words.format(measures=measures or "Mean average precision (mAP) and Rank-1")
    return f"{words} Bands are {bands}." if bands else words


def with_counts(words: str, results: Mapping[str, Result]) -> str:
    """Return a caption with the convention and the numbers of images of some results."""
    by_size = by_reason({name: result.counts.loaded for name, result in results.items()})
    sizes = [(f"{', '.join(names)}: " if len(by_size) > 1 else "")
             + f"{n_query:,} {'query' if n_query == 1 else 'queries'}, "
             f"{n_gallery:,} gallery image{'s' * (n_gallery != 1)}"
             for (n_query, n_gallery), names in by_size.items()]
    return f"{words} {'; '.join(sizes)}; convention {joined_conventions(results)}."


#: Suffixes of files, with the entries of their metadata that hold the date.
KINDS: dict[str, dict[str, None]] = {
    ".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {}}
#: Dots per inch of a .png: what printers ask for.
DPI = 300


def check_figure(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work, a figure that could not be drawn or saved afterwards."""
    if Path(path).suffix.lower() not in KINDS:
        raise InputError(os.fspath(path), f"a name that ends in {', '.join(KINDS)}")
    check_matplotlib()


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure, whole or not at all, with the same bytes for the same input.

    Parameters
    ----------
    figure : matplotlib Figure
        Such as ``ax.figure``.
    path : str or path
        Ends in .pdf, .svg or .png.

    Raises
    ------
    InputError
        Another suffix; the file cannot be written; matplotlib is not installed.

    Examples
    --------
    >>> import os, tempfile, reid_ref
    >>> labels = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> ax = reid_ref.figures.cmc({"ours": reid_ref.evaluate_distances([[.2, .1, .3]], *labels)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reid_ref.figures.save(ax.figure, os.path.join(folder, "cmc.pdf"))
    ...     os.listdir(folder)
    ['cmc.pdf']
    """
    check_figure(path)
    write_whole(path, as_bytes(figure, Path(path).suffix.lower()))


def as_bytes(figure: Any, kind: str, **settings: Any) -> bytes:
    """Return a figure as the bytes of a file of this kind, with other settings of matplotlib."""
    # Only what is read at this point: text keeps the fonts that it was made with.
    at_end: Any = {name: SETTINGS[name] for name in (
        "svg.hashsalt", "pdf.fonttype", "hatch.linewidth", "font.sans-serif")}
    data = io.BytesIO()
    with defaults(**at_end | settings):
        figure.savefig(data, dpi=DPI, format=kind[1:], metadata=KINDS.get(kind))
    return data.getvalue()


def wrote_line(path: str | os.PathLike[str]) -> str:
    """Return the line that names the file written."""
    return f"wrote {visible(os.fspath(path))}"


def svg(figure: Any, salt: str = "reid-ref") -> str:
    """Return a figure as an <svg> element for an HTML page, with text as text.

    `salt`: of its ids; another one for each figure of a page.

    Examples
    --------
    >>> import reid_ref
    >>> labels = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> ax = reid_ref.figures.cmc({"ours": reid_ref.evaluate_distances([[.2, .1, .3]], *labels)})
    >>> reid_ref.figures.svg(ax.figure)[:4]
    '<svg'
    """
    text = as_bytes(figure, ".svg", **{"svg.fonttype": "none", "svg.hashsalt": salt}).decode()
    return text[text.index("<svg"):]
