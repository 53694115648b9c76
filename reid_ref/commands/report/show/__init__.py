"""One HTML page of what `compute` found: no link, no source but data: URIs.

Conventions: the template shows text that is ready; Jinja2 escapes all of it. Only drawings, the
style, the script and the JSON are put in as they are. The same content and the same versions of
Jinja2, matplotlib and Pillow make the same bytes.
"""
from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reid_ref import drawing as figures
from reid_ref._version import __version__
from reid_ref.arrays import InputError
from reid_ref.commands.evaluate.show import facts, sizes
from reid_ref.commands.report.compute import Page, System
from reid_ref.commands.report.show import lists as pictures, lists, tables
from reid_ref.commands.report.show.lists import Images
from reid_ref.commands.report.show.tables import MOST_ROWS, as_json
from reid_ref.drawing.camera_matrix import MOST_CAMERAS
from reid_ref.drawing.rank_list import check_libraries
from reid_ref.drawing.style import as_bytes, panels
from reid_ref.result import RANKS
from reid_ref.text import NO_BENCHMARK, source, spaced, visible

#: In inches: as wide as a column of the page, so that text keeps its size.
WIDTH, HEIGHT = 4.6, 3.5


def svg(draw: Callable[[Any], object], name: str) -> str:
    """Return what `draw` draws into an Axes, as the text of an <svg> element.

    Parameters
    ----------
    draw : callable
    name : str
        Unique in the page; letters, digits and hyphens.
    """
    axes, = panels(1, width=WIDTH, height=HEIGHT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the evaluation has warned
        draw(axes)
        text = as_bytes(axes.figure, ".svg", **{"svg.fonttype": "none", "svg.hashsalt": name})
    return _inside_a_page(text.decode(), name)


def _inside_a_page(text: str, name: str) -> str:
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, count=1, flags=re.DOTALL)
    head, end, body = text.partition(">")
    head = re.sub(r'\s(?:xmlns(?::\w+)?|version|width|height)="[^"]*"', "", head)
    body = body.replace("xlink:href=", "href=")
    body = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", body)
    return f'{head} aria-hidden="true"{end}{body}'.strip()


HERE = Path(__file__).parent


def page(content: Page, images: Images | None = None, max_size: int | None = None) -> str:
    """Return the page.

    Parameters
    ----------
    content : Page
    images : Images, optional
        Without them the page has no pictures.
    max_size : int, optional
        Bytes that it may have at most.

    Raises
    ------
    InputError
        A library or an image is missing, an image cannot be decoded, or the page is too large.
    """
    check_libraries()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    small = {} if images is None else pictures.thumbnails(
        pictures.paths(content, images), images.pixelate)
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True, undefined=StrictUndefined,
                              keep_trailing_newline=True)
    text = environment.get_template("page.html").render(
        **_context(content, lists.Cards(images, small)), pictures=list(small.values()),
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        script=Markup((HERE / "page.js").read_text(encoding="utf-8")),
        data=Markup(_script_json(as_json(content))))
    size = len(text.encode())
    if max_size is not None and size > max_size:
        raise _too_large(size, max_size)
    return text


def check_size(content: Page, images: Images | None, max_size: int) -> None:
    """Refuse, before it is made, a page that would be too large."""
    size = pictures.estimate(content, images)
    if size > max_size:
        raise _too_large(size, max_size)


def size_line(content: Page, images: Images | None) -> str:
    """Return about how large a page will be, in words."""
    n = len(pictures.names_shown(content, images)) if images else 0
    return (f"a page of about {megabytes(pictures.estimate(content, images))}, with "
            f"{n:,} pictures")


def _too_large(size: int, max_size: int) -> InputError:
    return InputError(f"--max-size: the page would have {megabytes(size)}, expected at most "
                      f"{megabytes(max_size)}; show fewer --queries or --top, leave the images "
                      "out with --no-images, or give a larger --max-size")


def megabytes(size: int) -> str:
    """Return bytes in words.

    Examples
    --------
    >>> megabytes(3_460_000)
    '3.5 MB'
    """
    return f"{size / 1e6:.1f} MB"


def _script_json(value: Any) -> str:
    """Return JSON that cannot end a script element."""
    text = json.dumps(value, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _context(content: Page, cards: lists.Cards) -> dict[str, Any]:
    first = content.systems[0]
    return {
        "version": __version__, "title": " and ".join(visible(s.name) for s in content.systems),
        "systems": [_system(system, k) for k, system in enumerate(content.systems)],
        "several": len(content.systems) > 1, "queries": lists.queries(content, cards),
        "tabs": lists.tabs(content), "options": content.options, "drawings": _drawings(content),
        "table_of": tables.query_table(content), "most_rows": f"{MOST_ROWS:,}",
        "heads": ["convention", "mAP", "difference",
                  *(f"Rank-{k}" for k in RANKS), "mINP", "queries in the mean"],
        "comparison": content.comparison and {
            "baseline": visible(content.comparison.baseline), "unit": content.comparison.unit,
            "level": f"{content.comparison.level:g}",
            "rows": tables.comparison_rows(content.comparison.comparisons)},
        "convention": first.result.convention.name}


def _system(system: System, k: int) -> dict[str, Any]:
    return {
        "id": f"s{k}", "name": visible(system.name), "headline": tables.headline(system),
        "interval": tables.interval_words(system),
        "signature": spaced(str(system.result.signature)),
        "facts": facts(system.result, source(system.files, system.data.layout),
                       sizes(system.data),
                       system.known.sentence if system.known else NO_BENCHMARK),
        "findings": system.findings, "low": tables.low_identities(system),
        "cameras": tables.camera_rows(system), "conventions": tables.convention_rows(system),
        "left_out": system.left_out, "way": tables.waterfall(system),
        "drawings": _own_drawings(system, k)}


def _drawings(content: Page) -> dict[str, Any]:
    """Return the drawings that show all systems."""
    results = {visible(system.name): system.result for system in content.systems}
    return _drawn("all", {
        "cmc": lambda axes: figures.cmc(results, ax=axes),
        "pr": lambda axes: figures.precision_recall(results, ax=axes),
        "ap": lambda axes: figures.average_precision(results, ax=axes),
        "good": lambda axes: figures.ap_by_good(results, ax=axes)})


def _own_drawings(system: System, k: int) -> dict[str, Any]:
    draw: dict[str, Callable[[Any], object]] = {
        "distances": lambda axes: figures.distances(system.sample, ax=axes)}
    pairs = system.pairs
    if pairs is not None and len(pairs.cameras) <= MOST_CAMERAS:
        draw["cameras"] = lambda axes: figures.cameras(pairs, ax=axes)
    return _drawn(f"s{k}", draw)


def _drawn(start: str, draw: dict[str, Callable[[Any], object]]) -> dict[str, Any]:
    from markupsafe import Markup

    return {name: Markup(svg(one, f"{start}-{name}")) for name, one in draw.items()}
