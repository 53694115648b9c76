"""Figures as SVG elements inside a page: no link, no date, names that no other figure has."""
from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

from reid_ref.report.figures.saving import as_bytes
from reid_ref.report.figures.style import panels

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
