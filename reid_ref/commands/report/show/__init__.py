"""One HTML page of what `compute` gathered: no link, no source but data: URIs.

The template shows text that is ready; Jinja2 escapes all of it. Only drawings, the style, the
script and the JSON are put in as they are. The same content and the same versions of Jinja2,
matplotlib and Pillow make the same bytes.
"""
from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from reid_ref import drawing as figures
from reid_ref._version import __version__
from reid_ref.arrays import InputError
from reid_ref.commands.report.compute import NO_DISTANCES, FromDistances, Page, Reported
from reid_ref.commands.report.show import lists, tables
from reid_ref.commands.report.show.lists import Images
from reid_ref.drawing.camera_matrix import MOST_CAMERAS
from reid_ref.drawing.style import as_bytes, panels
from reid_ref.result import RANKS
from reid_ref.text import spaced, visible

#: In inches: as wide as a column of the page, so that text keeps its size.
WIDTH, HEIGHT = 4.6, 3.5
#: The folder of the template, the style and the script.
HERE = Path(__file__).parent
#: Modules that a page needs, and what installs them.
NEEDS = {"jinja2": "jinja2", "matplotlib": "matplotlib", "PIL": "pillow"}
#: A function that draws into Axes.
Draw = Callable[[Any], object]


def check_libraries() -> None:
    """Refuse, before any work, a page that cannot be made for want of a library."""
    missing = [package for module, package in NEEDS.items() if find_spec(module) is None]
    if missing:
        raise InputError(f"report: needs {', '.join(missing)}, not installed here; "
                         'pip install "reid-ref[report]"')


def page(content: Page, images: Images | None = None) -> str:
    """Return the page; without `images` it has no pictures.

    Raises
    ------
    InputError
        An image is missing, or cannot be decoded.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    cards = lists.Cards(images)
    context = _context(content, cards)
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True, undefined=StrictUndefined,
                              keep_trailing_newline=True)
    return environment.get_template("page.html").render(
        **context, pictures=list(cards.pictures.values()),
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        script=Markup((HERE / "page.js").read_text(encoding="utf-8")),
        data=Markup(_script_json(tables.as_json(content))))


def _script_json(value: Any) -> str:
    """Return JSON that cannot end a script element."""
    text = json.dumps(value, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _context(content: Page, cards: lists.Cards) -> dict[str, Any]:
    systems = [_system(system, k) for k, system in enumerate(content.systems)]
    return {
        "version": __version__, "title": " and ".join(visible(s.name) for s in content.systems),
        "systems": systems, "with_distances": [system for system in systems if "way" in system],
        "several": len(content.systems) > 1, "queries": lists.queries(content, cards),
        "tabs": lists.tabs(content), "options": content.options, "drawings": _drawings(content),
        "table_of": tables.query_table(content), "most_rows": f"{tables.MOST_ROWS:,}",
        "heads": ["convention", "mAP", "difference",
                  *(f"Rank-{k}" for k in RANKS), "mINP", "queries in the mean"],
        "comparison": content.comparison and {
            "baseline": visible(content.comparison.baseline), "unit": content.comparison.unit,
            "level": f"{content.comparison.level:g}",
            "rows": tables.comparison_rows(content.comparison.comparisons)},
        "convention": content.systems[0].result.convention.name}


def _system(system: Reported, k: int) -> dict[str, Any]:
    more = system.more
    shown = {
        "name": visible(system.name), "headline": tables.headline(system),
        "interval": tables.interval_words(system), "facts": tables.facts(system),
        "signature": spaced(system.result.signature), "low": tables.low_identities(system)}
    if more is None:
        return {**shown, "note": NO_DISTANCES}
    return {**shown, "findings": more.findings, "cameras": tables.camera_rows(more),
            "conventions": tables.convention_rows(more, system.result.mAP),
            "left_out": more.left_out, "way": tables.waterfall(more),
            "drawings": _drawings_of_distances(more, k)}


def _drawings(content: Page) -> dict[str, Any]:
    """Return the drawings that show all systems."""
    results = {visible(system.name): system.result for system in content.systems}
    return _drawn("all", {
        "cmc": lambda axes: figures.cmc(results, ax=axes),
        "pr": lambda axes: figures.precision_recall(results, ax=axes),
        "ap": lambda axes: figures.average_precision(results, ax=axes),
        "good": lambda axes: figures.ap_by_good(results, ax=axes)})


def _drawings_of_distances(more: FromDistances, k: int) -> dict[str, Any]:
    draw: dict[str, Draw] = {"distances": lambda axes: figures.distances(more.sample, ax=axes)}
    pairs = more.pairs
    if pairs is not None and len(pairs.cameras) <= MOST_CAMERAS:
        draw["cameras"] = lambda axes: figures.cameras(pairs, ax=axes)
    return _drawn(f"s{k}", draw)


def _drawn(start: str, draw: dict[str, Draw]) -> dict[str, Any]:
    """Return drawings as <svg> elements whose names are unique in the page."""
    from markupsafe import Markup

    return {name: Markup(_svg(function, f"{start}-{name}")) for name, function in draw.items()}


def _svg(draw: Draw, name: str) -> str:
    axes, = panels(1, width=WIDTH, height=HEIGHT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the evaluation has warned
        draw(axes)
        text = as_bytes(axes.figure, ".svg",
                        **{"svg.fonttype": "none", "svg.hashsalt": name}).decode()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, count=1, flags=re.DOTALL)
    head, end, body = text.partition(">")
    head = re.sub(r'\s(?:xmlns(?::\w+)?|version|width|height)="[^"]*"', "", head)
    body = body.replace("xlink:href=", "href=")
    body = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", body)
    return f'{head} aria-hidden="true"{end}{body}'.strip()
