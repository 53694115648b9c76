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
from reid_ref.commands.report.compute import NO_DISTANCES, Page, Reported
from reid_ref.commands.report.show import lists, tables
from reid_ref.commands.report.show.lists import ImageNames
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
#: Drawings that show all systems.
OF_ALL = {"cmc": figures.cmc, "pr": figures.precision_recall, "ap": figures.average_precision,
          "good": figures.ap_by_good}


def check_libraries() -> None:
    """Refuse, before any work, a page that cannot be made for want of a library."""
    missing = [package for module, package in NEEDS.items() if find_spec(module) is None]
    if missing:
        raise InputError("report", got=f"needs {', '.join(missing)}, not installed here",
                         remedy="pip install \"reid-ref[report]\"")


def page(content: Page, images: ImageNames | None = None) -> str:
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
    results = {visible(system.name): system.result for system in content.systems}
    comparison = content.comparison
    return {
        "version": __version__, "title": " and ".join(results), "several": len(systems) > 1,
        "systems": systems, "with_distances": [system for system in systems if "way" in system],
        "queries": lists.queries(content, cards), "tabs": lists.tabs(content),
        "top": content.options.top, "table_of": tables.query_table(content),
        "drawings": {name: _svg(draw, results, f"all-{name}") for name, draw in OF_ALL.items()},
        "most_rows": f"{tables.MOST_ROWS:,}",
        "convention": content.systems[0].result.convention.name,
        "heads": ["convention", "mAP", "difference",
                  *(f"Rank-{k}" for k in RANKS), "mINP", "queries in the mean"],
        "comparison": comparison and {
            "baseline": visible(comparison.baseline), "unit": comparison.unit,
            "level": f"{comparison.level:g}", "rows": tables.comparison_rows(comparison)}}


def _system(system: Reported, k: int) -> dict[str, Any]:
    more = system.more
    shown = {
        "name": visible(system.name), "headline": tables.headline(system),
        "interval": tables.interval_words(system), "facts": tables.facts(system),
        "signature": spaced(str(system.result.signature)), "low": tables.low_identities(system)}
    if more is None:
        return {**shown, "note": NO_DISTANCES}
    drawings = {"distances": _svg(figures.distances, more.sample, f"s{k}-distances")}
    if more.pairs is not None and len(more.pairs.cameras) <= MOST_CAMERAS:
        drawings["cameras"] = _svg(figures.cameras, more.pairs, f"s{k}-cameras")
    return {**shown, "findings": more.findings, "cameras": tables.camera_rows(more),
            "conventions": tables.convention_rows(more, system.result.mAP),
            "left_out": more.left_out, "way": tables.waterfall(more), "drawings": drawings}


def _svg(draw: Callable[[Any, Any], object], value: Any, name: str) -> Any:
    """Return what `draw` draws of a value, as an <svg> element; `name` is unique in the page."""
    from markupsafe import Markup

    axes, = panels(1, width=WIDTH, height=HEIGHT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the evaluation has warned
        draw(value, axes)
        text = as_bytes(axes.figure, ".svg",
                        **{"svg.fonttype": "none", "svg.hashsalt": name}).decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg"):], flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, count=1, flags=re.DOTALL)
    head, _, body = text.partition(">")
    head = re.sub(r'\s(?:xmlns(?::\w+)?|version|width|height)="[^"]*"', "", head)
    body = body.replace("xlink:href=", "href=")
    body = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", body)
    return Markup(f'{head} aria-hidden="true">{body}'.strip())
