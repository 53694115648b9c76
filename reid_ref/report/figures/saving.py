"""A figure to a file: the same bytes for the same input and versions."""
from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from reid_ref.arrays import InputError
from reid_ref.files.writing import whole_files
from reid_ref.report.figures.style import SETTINGS, check_matplotlib
from reid_ref.report.names import visible

#: Suffixes of files, with the entries of their metadata that hold the date.
KINDS: dict[str, dict[str, None]] = {
    ".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {}}
#: Dots per inch of a .png: what printers ask for.
DPI = 300


def check_figure(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work, a figure that could not be drawn or saved afterwards."""
    if Path(path).suffix.lower() not in KINDS:
        raise InputError(f"{os.fspath(path)}: expected a name that ends in {', '.join(KINDS)}")
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
    kind = Path(path).suffix.lower()
    data = as_bytes(figure, kind)  # before the file is opened: drawing can fail
    with whole_files(path, mode="wb") as (file,):
        file.write(data)


def as_bytes(figure: Any, kind: str, **settings: Any) -> bytes:
    """Return a figure as the bytes of a file of this kind, with other settings of matplotlib."""
    from matplotlib import rc_context

    # Only what is asked at this point: text keeps the fonts that it was made with.
    at_end: Any = {name: SETTINGS[name] for name in (
        "svg.hashsalt", "pdf.fonttype", "hatch.linewidth", "font.sans-serif")}
    data = io.BytesIO()
    with rc_context(at_end | settings):
        figure.savefig(data, dpi=DPI, format=kind[1:], metadata=KINDS[kind])
    return data.getvalue()


def written(path: str | os.PathLike[str]) -> str:
    """Return the line that says which file was written."""
    return f"wrote {visible(os.fspath(path))}"


def svg(figure: Any) -> str:
    """Return a figure as an <svg> element for an HTML page, with text as text.

    Examples
    --------
    >>> import reid_ref
    >>> labels = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> ax = reid_ref.figures.cmc({"ours": reid_ref.evaluate_distances([[.2, .1, .3]], *labels)})
    >>> reid_ref.figures.svg(ax.figure)[:4]
    '<svg'
    """
    text = as_bytes(figure, ".svg", **{"svg.fonttype": "none"}).decode()
    return text[text.index("<svg"):]
