"""One HTML page of what `compute` gathered: no link, no source but data: URIs.

The template shows text that is ready; Jinja2 escapes all of it. Only drawings, the style, the
script and the JSON are put in as they are. The same content and the same versions of Jinja2,
matplotlib and Pillow make the same bytes.
"""
from __future__ import annotations

import base64
import io
import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref import drawing as figures
from reid_ref._version import __version__
from reid_ref.arrays import InputError
from reid_ref.commands import camera_pairs
from reid_ref.commands.compare.compute import Comparisons
from reid_ref.commands.evaluate import show as evaluate
from reid_ref.commands.evaluate.show.rows import per_query_json
from reid_ref.commands.report.compute import NO_DISTANCES, FromDistances, Page, Reported
from reid_ref.console import confidence
from reid_ref.console.answers import dataset_of
from reid_ref.console.terminal import phase
from reid_ref.drawing.camera_matrix import MOST_CAMERAS
from reid_ref.drawing.rank_lists import MARKS, read_image
from reid_ref.drawing.style import as_bytes, draw_panels
from reid_ref.evaluation.rank_lists import REASONS, Entry, RankList
from reid_ref.datasets.names import path_below
from reid_ref.result import RANKS, named_ranks
from reid_ref.text import NO_BENCHMARK, percent, signed_percent, source, spaced, visible
from reid_ref.text.plain import plain

#: In inches: as wide as a column of the page, so that text keeps its size.
WIDTH, HEIGHT = 4.6, 3.5
#: The folder of the template, the style and the script.
HERE = Path(__file__).parent
#: Modules that a page needs, and what installs them.
NEEDS = {"jinja2": "jinja2", "matplotlib": "matplotlib", "PIL": "pillow"}
#: Drawings that show all systems.
OF_ALL = {"pr": figures.precision_recall, "ap": figures.average_precision,
          "good": figures.ap_by_good}
#: The folder of the images, and their names below it: of each system those of both sides.
Images = tuple[str, Mapping[str, tuple[Sequence[str], Sequence[str]]]]
#: Pictures fit in here: upright people, wide vehicles.
UPRIGHT, WIDE = (64, 128), (96, 96)
QUALITY = 75
#: Rows of the table of queries beyond which it is cut, here and in the JSON.
MOST_ROWS = 20_000
#: Points of the CMC curve in the JSON, as many as `--json` has.
CMC = 50
#: Tabs, besides the reasons of `rank_lists`.
TABS = {"gain": "largest gain", "loss": "largest loss", "worst": "worst AP", "median": "median AP",
        "random": "random", "rank-1 wrong": "Rank-1 wrong", "no match": "no match",
        "tied": "tied"}
MEANINGS = {**REASONS, "gain": "AP rose most from the baseline",
            "loss": "AP fell most from the baseline"}


def check_libraries() -> None:
    """Refuse, before any work, a page that cannot be made for want of a library."""
    missing = [package for module, package in NEEDS.items() if find_spec(module) is None]
    if missing:
        raise InputError("report", got=f"needs {', '.join(missing)}, not installed here",
                         remedy="pip install \"reid-ref[report]\"")


def page(content: Page, images: Images | None = None) -> str:
    """Return the page; without `images` it has no pictures.

    Raises
    ------
    InputError
        An image is missing, or cannot be decoded.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    cards = Cards(images)
    context = _context(content, cards)
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True, undefined=StrictUndefined,
                              keep_trailing_newline=True)
    text = environment.get_template("page.html").render(
        **context, pictures=list(cards.pictures.values()),
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        script=Markup((HERE / "page.js").read_text(encoding="utf-8")),
        data=Markup(_script_json(as_json(content))))
    return text.encode(errors="backslashreplace").decode()  # names need not be UTF-8


def _script_json(value: Any) -> str:
    """Return JSON that cannot end a script element."""
    text = json.dumps(value, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _context(content: Page, cards: Cards) -> dict[str, Any]:
    systems = [_system(system, k) for k, system in enumerate(content.systems)]
    results = {visible(system.name): system.result for system in content.systems}
    comparison = content.comparison
    return {
        "version": __version__, "title": " and ".join(results), "several": len(systems) > 1,
        "systems": systems, "with_distances": [each for each in systems if "conventions" in each],
        "queries": _queries(content, cards), "tabs": _tabs(content),
        "top": content.options.top, "table_of": query_table(content),
        "drawings": {
            "cmc": _svg(partial(figures.cmc, bands=content.bands), results, "all-cmc"),
            **{name: _svg(draw, results, f"all-{name}") for name, draw in OF_ALL.items()}},
        "most_rows": f"{MOST_ROWS:,}",
        "convention": content.systems[0].result.convention.name,
        "heads": ["convention", "mAP", "difference",
                  *(f"Rank-{k}" for k in RANKS), "mINP", "queries in the mean"],
        "comparison": comparison and {
            "baseline": visible(comparison.baseline), "unit": comparison.unit,
            "level": f"{comparison.level:g}", "rows": comparison_rows(comparison)}}


def _system(system: Reported, k: int) -> dict[str, Any]:
    more = system.more
    shown = {
        "name": visible(system.name), "headline": headline(system),
        "interval": interval_words(system), "facts": facts(system),
        "signature": spaced(str(system.result.signature))}
    if more is None:
        return {**shown, "note": NO_DISTANCES}
    drawings = {"distances": _svg(figures.distances, more.sample, f"s{k}-distances")}
    if more.pairs is not None and len(more.pairs.cameras) <= MOST_CAMERAS:
        drawings["cameras"] = _svg(figures.cameras, more.pairs, f"s{k}-cameras")
    return {**shown, "findings": more.findings, "cameras": more.pairs and {
                "mAP": percent(more.pairs.mAP), "rank1": percent(more.pairs.mean_rank1)},
            "conventions": convention_rows(more, system.result.mAP),
            "left_out": more.left_out, "drawings": drawings}


def _svg(draw: Callable[[Any, Any], object], value: Any, name: str) -> Any:
    """Return what `draw` draws of a value, as an <svg> element; `name` is unique in the page."""
    from markupsafe import Markup

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the evaluation has warned
        figure = draw_panels(draw, {"": value}, WIDTH, HEIGHT, scaled=False)
        text = as_bytes(figure, ".svg", **{"svg.fonttype": "none", "svg.hashsalt": name}).decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg"):], flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, count=1, flags=re.DOTALL)
    head, _, body = text.partition(">")
    head = re.sub(r'\s(?:xmlns(?::\w+)?|version|width|height)="[^"]*"', "", head)
    body = body.replace("xlink:href=", "href=")
    body = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", body)
    return Markup(f'{head} aria-hidden="true">{body}'.strip())


def thumbnail(path: str) -> dict[str, Any]:
    """Return an image as a small JPEG: its data: URI, width and height."""
    image = read_image(path)
    box = UPRIGHT if image.height >= image.width else WIDE
    factor = min(box[0] / image.width, box[1] / image.height)
    width, height = (max(1, round(factor * side)) for side in image.size)
    data = io.BytesIO()
    image.resize((width, height), 2).save(data, "JPEG", quality=QUALITY)   # 2: bilinear
    encoded = base64.b64encode(data.getvalue()).decode()
    return {"uri": f"data:image/jpeg;base64,{encoded}", "width": width, "height": height}


class Cards:
    """Makes the cards of a page; an image is read when the first card shows it."""

    def __init__(self, images: Images | None) -> None:
        self._images = images
        #: By name; `picture` is the number on the page.
        self.pictures: dict[str, dict[str, Any]] = {}

    def of_query(self, system: str, ranked: RankList) -> dict[str, Any]:
        """Return the card of a query."""
        facts = [f"id {ranked.identity}", f"camera {ranked.camera}"]
        return {"role": "query", "mark": "Query", "facts": facts,
                **self._picture(system, 0, ranked.query)}

    def of_entry(self, system: str, entry: Entry) -> dict[str, Any]:
        """Return the card of a gallery image."""
        rank = f"rank {entry.rank}" if entry.rank is not None else "ignored"
        facts = [rank, f"d {entry.distance:.4g}", f"id {entry.identity}",
                 f"camera {entry.camera}", *([entry.reason] if entry.reason else [])]
        return {"role": entry.role, "mark": f"{MARKS[entry.role]} {entry.role[0].upper()}",
                "image": entry.image, "facts": facts, **self._picture(system, 1, entry.image)}

    def _picture(self, system: str, side: int, image: int) -> dict[str, Any]:
        if self._images is None:
            return {"picture": None, "name": ""}
        root, names = self._images
        name = names[system][side][image]
        if name not in self.pictures:
            phase(f"{len(self.pictures) + 1:,} pictures")
            small = thumbnail(path_below(root, name))
            self.pictures[name] = {"picture": len(self.pictures), "name": name, **small}
        return self.pictures[name]


def _queries(content: Page, cards: Cards) -> list[dict[str, Any]]:
    """Return the queries that the page shows, each with one list per system."""
    shown, per_query = [], content.systems[0].result.per_query
    for query in content.queries:
        why = [reason for reason, chosen in content.reasons.items() if query in chosen]
        shown.append({"query": query, "identity": per_query.identity[query],
                      "camera": per_query.camera[query], "why": ",".join(why),
                      "reasons": ", ".join(TABS[reason] for reason in why),
                      "lists": [_list(system, system.more.lists[query], cards)
                                for system in content.systems if system.more]})
    return shown


def _list(system: Reported, ranked: RankList, cards: Cards) -> dict[str, Any]:
    per_query, k = system.result.per_query, ranked.query
    first, n_good = int(per_query.first_match[k]), int(per_query.n_good[k])
    words = [f"AP {percent(float(per_query.ap[k]))}",
             f"first match at rank {first:,}" if first else "no match",
             f"{n_good:,} good image{'' if n_good == 1 else 's'}"]
    if per_query.status[k] != "ok":
        words.append(str(per_query.status[k]))

    def of_entries(entries: Sequence[Entry]) -> list[dict[str, Any]]:
        return [cards.of_entry(system.name, entry) for entry in entries]

    return {"name": system.name, "words": ", ".join(words),
            "cards": [cards.of_query(system.name, ranked), *of_entries(ranked.entries)],
            "more_ignored": ranked.more_ignored, "n_good": n_good,
            "next": ranked.next_good and {
                "rank": f"{ranked.next_good.rank:,}", "card": of_entries([ranked.next_good])[0]},
            "good": of_entries(ranked.good)}


def _tabs(content: Page) -> list[dict[str, Any]]:
    """Return the tabs that have queries."""
    return [{"why": reason, "name": name, "count": len(content.reasons[reason]),
             "meaning": MEANINGS[reason]}
            for reason, name in TABS.items() if content.reasons.get(reason)]


def as_json(content: Page) -> dict[str, Any]:
    """Return the numbers of a page as plain JSON values.

    Of one result the keys of `reid-ref evaluate --json`, and more; of several these by name.
    """
    by_name = {system.name: _numbers(system) for system in content.systems}
    numbers = {"results": by_name, "comparison": content.comparison}
    if content.comparison is None:
        numbers, = by_name.values()
    values: dict[str, Any] = plain({
        "version": __version__, **numbers, "seed": content.options.seed, "shown": content.reasons})
    return values


def _numbers(system: Reported) -> dict[str, Any]:
    more, files, per_query = system.more, list(system.files), per_query_json(system.result)
    numbers = {
        "name": system.name, "files": files,
        "layout": more.data.layout if more else evaluate.made_before(system.result),
        "convention": system.result.convention.name,
        "dataset": dataset_of(more.benchmark) if more else None, **system.result.to_dict(CMC),
        "intervals": system.intervals,
        "per_query": {**per_query, "queries": per_query["queries"][:MOST_ROWS]}}
    if more is None:
        return {**numbers, "note": NO_DISTANCES}
    return {
        **numbers, "findings": more.findings, "rank_lists": list(more.lists.values()),
        "camera_pairs": more.pairs and camera_pairs.as_answer(more.pairs, files, more.data.layout),
        "conventions": {name: result.to_dict(1) for name, result in more.conventions.items()},
        "left_out": more.left_out}


def facts(system: Reported) -> list[tuple[str, str]]:
    """Return what was evaluated, by name, in words."""
    if system.more is None:
        made = evaluate.made_before(system.result)
        return evaluate.facts(system.result, source(system.files, made),
                              evaluate.sizes_of_saved(system.result))
    data, benchmark = system.more.data, system.more.benchmark
    return evaluate.facts(system.result, source(system.files, data.layout), evaluate.sizes(data),
                          benchmark.sentence if benchmark else NO_BENCHMARK)


def headline(system: Reported) -> list[dict[str, str]]:
    """Return the numbers of the headline with their intervals."""
    result = system.result
    values = {"mAP": result.mAP, "mINP": result.mINP, **named_ranks(result.cmc)}
    return [{"metric": metric, "value": percent(values[metric]), "band":
             f"{percent(interval.low)} to {percent(interval.high)}" if interval else ""}
            for metric, interval in system.intervals.items()]


def interval_words(system: Reported) -> str:
    """Return what the intervals are."""
    shown = system.intervals["mAP"] or system.intervals.get("Rank-1")
    if shown is None:
        return "There are no intervals: fewer than two identities count, or a number is NaN."
    by_metric = {name: interval for name, interval in system.intervals.items() if interval}
    return (f"Below each number, its {shown.level:g} % confidence interval: "
            f"{confidence.sentence(by_metric)}.")


def convention_rows(more: FromDistances, reference: float) -> list[list[str]]:
    """Return the numbers under every convention, and the difference of mAP to the reference."""
    rows = []
    for name, result in more.conventions.items():
        ranks = named_ranks(result.cmc)
        rows.append([name, percent(result.mAP), signed_percent(result.mAP - reference),
                     *(percent(ranks.get(f"Rank-{k}", np.nan)) for k in RANKS),
                     percent(result.mINP), f"{result.counted:,}"])
    return rows


def query_table(content: Page) -> dict[str, Any]:
    """Return the heads and the first rows of the table of queries."""
    first = content.systems[0].result.per_query
    n = min(len(first.status), MOST_ROWS)
    heads = ["query", "identity", "camera", "good", "ignored"]
    columns = [np.arange(n), first.identity, first.camera, first.n_good, first.n_junk]
    cells = [list(map(str, column[:n].tolist())) for column in columns]
    for system in content.systems:
        start = f"{system.name}: " if len(content.systems) > 1 else ""
        heads += [start + head for head in ("first match", "AP", "INP", "status")]
        per_query = system.result.per_query
        cells += [[str(k or "-") for k in per_query.first_match[:n].tolist()],
                  list(map(percent, per_query.ap[:n].tolist())),
                  list(map(percent, per_query.inp[:n].tolist())), per_query.status[:n].tolist()]
    return {"heads": heads, "rows": list(zip(*cells)), "all": f"{len(first.status):,}",
            "cut": len(first.status) > n, "listed": set(map(str, content.queries))}


def comparison_rows(comparison: Comparisons) -> list[list[str]]:
    """Return one row per system and metric."""
    return [[compared.system, compared.metric, signed_percent(compared.difference),
             f"{signed_percent(compared.low)} to {signed_percent(compared.high)}",
             f"{compared.p:.4f}", f"{compared.p_adjusted:.4f}",
             *(f"{n:,}" for n in (compared.better, compared.worse, compared.same))]
            for compared in comparison.comparisons]
