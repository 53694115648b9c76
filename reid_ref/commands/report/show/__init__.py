"""One HTML page of what `compute` gathered: no link, no source but data: URIs.

The template shows text that is ready; Jinja2 escapes all of it. Only drawings, the style, the
script and the JSON are put in as they are. The same content and the same versions of Jinja2,
matplotlib and Pillow make the same bytes.
"""
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref import drawing as figures
from reid_ref._version import __version__
from reid_ref.analysis.compare.answer import (
    HOW_METHODS, METHODS, MODELS, ONE_SEED, Comparison, Comparisons, shown_columns, too_few)
from reid_ref.arrays import ignored, warnings_to
from reid_ref.commands.evaluate import show as evaluate
from reid_ref.commands.evaluate.compute import pair_matrices
from reid_ref.commands.evaluate.show.rows import per_query_json
from reid_ref.commands.report.compute import NO_DISTANCES, FromDistances, Page, Reported
from reid_ref.commands.report.show.cards import Cards, Images
from reid_ref.console import confidence
from reid_ref.console.answers import layout_and_sizes, dataset_of
from reid_ref.disk import tables_of
from reid_ref.drawing.camera_matrix import MOST_CAMERAS, camera_change, shared_scale
from reid_ref.drawing.results import caption_of, curves_height, shared_axes
from reid_ref.drawing.style import INTERVALS, caption, draw_panels
from reid_ref.evaluation.causes import names_of
from reid_ref.evaluation.how import Progress
from reid_ref.evaluation.rank_lists import REASONS, Entry
from reid_ref.result import HEADLINE, values_of
from reid_ref.result.systems import METRICS
from reid_ref.result.views import to_dict
from reid_ref.statistics import Spread
from reid_ref.text import (
    NO_BENCHMARK, by_reason, percent, signed_percent, source, spaced, visible)
from reid_ref.text.plain import json_values

#: In inches: as wide as a column of the page, so that text keeps its size.
WIDTH, HEIGHT = 4.6, 2.9
#: The folder of the template, the style and the script.
HERE = Path(__file__).parent
#: Modules that a page needs.
NEEDS = "jinja2", "matplotlib", "PIL.Image"
#: Drawings that show all systems, besides CMC.
OF_ALL = {"pr": figures.precision_recall, "ap": figures.average_precision,
          "good": figures.ap_by_good}
#: Rows of the table of queries beyond which it is cut, here and in the JSON.
MOST_ROWS = 20_000
#: Points of the CMC curve in the JSON, as many as `--json` has.
CMC = 50
_WORDS: dict[str, dict[str, str]] = tables_of("commands/report/show/tabs.toml")
#: By reason, the name of its tab, and what it means.
TABS, MEANINGS = _WORDS["tabs"], {**REASONS, **_WORDS["meanings"]}


def page(content: Page, images: Images | None = None, progress: Progress | None = None) -> str:
    """Return the page; without `images` it has no pictures. `progress` counts rank lists.

    Raises
    ------
    InputError
        An image is missing, or cannot be decoded.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    cards = Cards(images, progress or (lambda _: None))
    names = list(map(visible, query_names(content, images)))
    context = _context(content, cards, names, images)
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True, undefined=StrictUndefined,
                              keep_trailing_newline=True)
    text = environment.get_template("page.html").render(
        **context, pictures=list(cards.pictures.values()),
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        script=Markup((HERE / "page.js").read_text(encoding="utf-8")),
        data=Markup(_script_json({**as_json(content), "query_names": names[:MOST_ROWS]})))
    return text.encode(errors="backslashreplace").decode()  # names need not be UTF-8


def _script_json(value: Any) -> str:
    """Return JSON that cannot end a script element."""
    text = json.dumps(value, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _context(content: Page, cards: Cards, names: list[str],
             images: Images | None) -> dict[str, Any]:
    results = {visible(system.name): system.result for system in content.systems}
    compared, several = content.comparison, len(content.systems) > 1
    measures = content.options.measures
    with_distances = {visible(system.name): system.more for system in content.systems
                      if system.more}
    return {
        "version": __version__, "title": " and ".join(results), "several": several,
        "systems": [{"name": visible(system.name), "numbers": headline_cells(system, compared),
                     "seeds": max(each.runs for each in system.spreads.values())}
                    for system in content.systems],
        "metrics": list(content.systems[0].intervals),
        "seeds": any(spread.runs > 1 for system in content.systems
                     for spread in system.spreads.values()),
        "intervals": list(dict.fromkeys(interval_words(system, several)
                                        for system in content.systems)),
        "comparison": compared and {
            "baseline": visible(compared.baseline), "unit": compared.unit, "how": HOW_METHODS,
            "nouns": confidence.NOUNS[compared.unit], "level": f"{compared.level:g}",
            "columns": [column for column in shown_columns(len(results) > 2)
                        if "better" not in column.fields], "too_few": too_few(compared)},
        "figures": _figures(content, results),
        "facts": _of_systems(content, partial(system_facts, measures=measures)),
        "findings": _of_systems(content, _findings),
        "causes": causes_table(with_distances), "cameras": _cameras(with_distances),
        "queries": _queries(content, cards, names), "tabs": _tabs(content),
        "has_lists": with_distances,
        "pictured": images is not None, "top": content.options.top, "most_rows": f"{MOST_ROWS:,}",
        "n_queries": len(content.systems[0].result.per_query.status),
        "convention": content.systems[0].result.convention.name,
        "conventions": conventions_table(with_distances, results, measures),
        "left_out": next((more.left_out for more in with_distances.values()), {})}


def _figures(content: Page, results: Mapping[str, Any]) -> list[tuple[Any, str, str]]:
    """Return the drawings of what all systems share, and of each one's distances; captions."""
    drawings = [(_svg(partial(figures.cmc, bands=content.bands), results, "cmc"), "",
                 caption("cmc", bands=INTERVALS * any(content.bands)))]
    drawings += [(_svg(draw, results, name), "", caption(name, several=len(results) > 1))
                 for name, draw in OF_ALL.items()]
    samples = {system.name: system.more.sample for system in content.systems if system.more}
    draw = partial(figures.distances, scale=shared_axes(list(samples.values())))
    return drawings + [(_svg(draw, sample, f"distances{k}"),
                        visible(name) if len(results) > 1 else "", caption(caption_of([sample])))
                       for k, (name, sample) in enumerate(samples.items())]


def _cameras(systems: Mapping[str, FromDistances]) -> dict[str, Any]:
    """Return the words about pairs of cameras, and their maps: on one scale, and the changes."""
    pairs = {name: more.pairs for name, more in systems.items() if more.pairs}
    drawn = {name: each for name, each in pairs.items() if len(each.cameras) <= MOST_CAMERAS}
    maps = []
    if drawn:
        draw = partial(figures.cameras, scale=shared_scale(list(drawn.values()), "mAP"))
        maps = [(_svg(draw, each, f"cameras{k}"), name if len(systems) > 1 else "",
                 caption("cameras")) for k, (name, each) in enumerate(drawn.items())]
        (first, baseline), *compared = drawn.items()
        maps += [(_svg(partial(camera_change, baseline), each, f"change{k}"),
                  f"{name} less {first}", caption("change"))
                 for k, (name, each) in enumerate(compared)
                 if np.array_equal(each.cameras, baseline.cameras)]
    return {"known": any(more.data.gallery.camera is not None for more in systems.values()),
            "means": [(name, percent(each.mAP), percent(each.mean_rank1))
                      for name, each in pairs.items()], "maps": maps}


def _of_systems(content: Page, of_one: Callable[[Reported], Iterable[tuple[str, ...]]],
                ) -> list[tuple[str, tuple[str, ...]]]:
    """Return the entries of each system; an entry of all systems comes once, without a name.

    Entries with the same first word follow each other.
    """
    by_entry: dict[tuple[str, ...], list[str]] = {}
    for system in content.systems:
        for entry in of_one(system):
            by_entry.setdefault(entry, []).append(visible(system.name))
    first = {entry[0]: k for k, entry in reversed(list(enumerate(by_entry)))}
    return [("" if len(names) == len(content.systems) else ", ".join(names), entry)
            for entry, names in sorted(by_entry.items(), key=lambda item: first[item[0][0]])]


def _findings(system: Reported) -> list[tuple[str, ...]]:
    """Return key, severity and words of what the doctor found."""
    if system.more is None:
        return [("", "note", NO_DISTANCES)]
    return [(each.key, each.severity, f"{each.sentence} {each.remedy}")
            for each in system.more.findings]


def _svg(draw: Callable[[Any, Any], object], value: Any, name: str) -> Any:
    """Return what `draw` draws of a value, as an <svg> element; `name` is unique in the page."""
    from markupsafe import Markup

    with warnings_to(ignored):  # the evaluation has warned
        key = curves_height(len(value) if isinstance(value, Mapping) else 1) - curves_height(1)
        figure = draw_panels(draw, {"": value}, WIDTH, HEIGHT + key, scaled=False)
        for part in (figure, *figure.axes):
            part.set_facecolor("none")
        text = figures.svg(figure, name)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, count=1, flags=re.DOTALL)
    head, _, body = text.partition(">")
    head = re.sub(r'\s(?:xmlns(?::\w+)?|version|width|height)="[^"]*"', "", head)
    # Black lines have the colour of the text around them, as black text has.
    body = body.replace("xlink:href=", "href=").replace("stroke: #000000", "stroke: currentColor")
    body = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", body)
    return Markup(f'{head} aria-hidden="true">{body}'.strip())


def _queries(content: Page, cards: Cards, names: list[str]) -> list[dict[str, Any]]:
    """Return the queries that the page shows, each with one list per system."""
    shown, per_query = [], content.systems[0].result.per_query
    labels = per_query.labels()
    for query in content.queries:
        why = [reason for reason, chosen in content.reasons.items() if query in chosen]
        shown.append({"query": query, "identity": labels.identity_of(query),
                      "camera": labels.camera_of(query), "why": ",".join(why),
                      "name": names[query] if names else "",
                      "reasons": ", ".join(TABS[reason] for reason in why),
                      "lists": [_list(system, system.more, query, cards)
                                for system in content.systems if system.more]})
    return shown


def query_names(content: Page, images: Images | None) -> list[str]:
    """Return the names of the queries, as those of images or in a result file; none if none."""
    if images is not None:
        return list(next(iter(images[1].values()))[0])
    names = (system.more.data.query.names() for system in content.systems if system.more)
    return next(filter(None, names), [])


def _list(system: Reported, more: FromDistances, query: int, cards: Cards) -> dict[str, Any]:
    per_query, ranked, loss = system.result.per_query, more.lists[query], more.causes.shown[query]
    first, n_good = int(per_query.first_match[query]), int(per_query.n_good[query])
    words = [f"AP {percent(float(system.result.of_query('mAP')[query]))} %",
             f"first match at rank {first:,}" if first else "no match",
             f"{n_good:,} good image{'' if n_good == 1 else 's'}"]
    if per_query.status[query] != "ok":
        words.append(str(per_query.status[query]))

    def of_entries(entries: Sequence[Entry]) -> list[dict[str, Any]]:
        return [cards.of_entry(system.name, entry) for entry in entries]

    return {"name": visible(system.name), "words": ", ".join(words),
            "cause": loss.cause if loss.cause not in ("nothing lost", "no match") else "",
            "returned": f"{100 * loss.returned[loss.cause]:.2f}"
            if loss.cause in loss.returned else "",
            "cards": [cards.of_query(system.name, ranked), *of_entries(ranked.entries)],
            "more_ignored": ranked.more_ignored, "n_good": n_good,
            "next": ranked.next_good and of_entries([ranked.next_good])[0],
            "good": of_entries(ranked.good)}


def _tabs(content: Page) -> list[dict[str, Any]]:
    """Return the tabs that have queries."""
    counts = {why: len({query for reason in why.split(",")
                        for query in content.reasons.get(reason, ())}) for why in TABS}
    return [{"why": why, "name": name, "count": counts[why], "meaning": MEANINGS[why]}
            for why, name in TABS.items() if counts[why]]


def as_json(content: Page) -> dict[str, Any]:
    """Return the numbers of a page as plain JSON values.

    Of one result the keys of `reid-ref evaluate --json`, and more; of several these by name.
    """
    by_name = {system.name: _numbers(system, content.options.measures)
               for system in content.systems}
    numbers = {"results": by_name, "comparison": content.comparison}
    if content.comparison is None:
        numbers, = by_name.values()
    values: dict[str, Any] = json_values({
        "version": __version__, **numbers, "seed": content.options.seed, "shown": content.reasons})
    return values


def _numbers(system: Reported, measures: Sequence[str]) -> dict[str, Any]:
    more, files = system.more, list(system.files)
    per_query = per_query_json(system.result, measures)
    numbers = {
        "name": system.name, "files": files,
        "layout": layout_and_sizes(system.result, more.data if more else None)[0],
        "convention": system.result.convention.name,
        "dataset": dataset_of(more.benchmark) if more else None,
        **to_dict(system.result, CMC, measures),
        "intervals": system.intervals, "spreads": system.spreads,
        "per_query": {**per_query, "queries": per_query["queries"][:MOST_ROWS]}}
    if more is None:
        return {**numbers, "note": NO_DISTANCES}
    return {
        **numbers, "findings": more.findings, "rank_lists": list(more.lists.values()),
        "camera_pairs": more.pairs and pair_matrices(more.pairs),
        "conventions": {name: to_dict(result, 1, measures)
                        for name, result in more.conventions.items()},
        "left_out": more.left_out, "causes": more.causes}


def system_facts(system: Reported, measures: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """Return what was evaluated, by name, in words."""
    result, more = system.result, system.more
    layout, sizes = layout_and_sizes(result, more.data if more else None)
    dataset = more and (more.benchmark.sentence if more.benchmark else NO_BENCHMARK)
    return [*evaluate.facts(result, source(system.files, layout), sizes, dataset,
                            measures or HEADLINE),
            ("signature", spaced(str(result.signature)))]


def headline_cells(system: Reported, compared: Comparisons | None = None) -> list[dict[str, Any]]:
    """Return the numbers of the headline with their intervals, and what they gained."""
    changes = {change.metric: change for change in (compared.comparisons if compared else ())
               if change.system == system.name}
    return [{"metric": metric, "value": percent(system.spreads[metric].mean),
             "sd": "" if system.spreads[metric].sd is None else sd_words(system.spreads[metric]),
             "band": confidence.interval_ends(interval, " to ") if interval else "",
             "changes": [] if compared is None or metric not in changes else
             change_words(changes[metric], len(compared.values) > 2, compared.has_seeds)}
            for metric, interval in system.intervals.items()]


def sd_words(spread: Spread) -> str:
    """Return the standard deviation over seeds with its interval."""
    low, high = (percent(end or 0.0) for end in (spread.low, spread.high))
    return f"sd {percent(spread.sd or 0.0)} ({low} to {high})"


def change_words(change: Comparison, several: bool, seeds: bool = False) -> list[dict[str, Any]]:
    """Return the cells of a comparison, of systems with seeds one for each question; `role`
    colours what is sure.
    """
    role = "good" if change.better_system == change.system else (
        "wrong" if change.better_system else "")
    if not seeds:
        return [_answer(change, several, "", role)]
    return [_answer(change, several, MODELS, ""),
            _answer(change.of_methods, several, METHODS, role) if change.of_methods else
            {"question": METHODS, "none": ONE_SEED}]


def _answer(change: Comparison, several: bool, question: str, role: str) -> dict[str, Any]:
    (_, difference), (_, interval), *more = (
        (column.name, cell(change)) for column, cell in shown_columns(several).items()
        if "better" not in column.fields)
    counts = [] if question == METHODS else [
        f"{change.better:,} better", f"{change.worse:,} worse", f"{change.same:,} same"]
    return {"question": question, "none": "", "difference": difference, "interval": interval,
            "more": [*map(" ".join, more), *counts], "role": role}


def interval_words(system: Reported, several: bool) -> str:
    """Return what the intervals are, of several systems in words that fit all."""
    shown = next(filter(None, system.intervals.values()), None)
    if shown is None:
        return "There are no intervals: fewer than two identities count, or a number is NaN."
    by_metric = {name: interval for name, interval in system.intervals.items() if interval}
    words = confidence.sentence(by_metric, "these models" if several else "this model")
    if several:
        words = re.sub(r" \(design effect[^)]*\)", "", words)
    return f"Below each number, its {shown.level:g} % confidence interval: {words}."


def causes_table(systems: Mapping[str, FromDistances]) -> dict[str, Any]:
    """Return for each cause of loss how often it is one, and the AP that it costs."""
    if not systems:
        return {}
    sampled = max(more.causes.sampled for more in systems.values())
    meanings = {cause: meaning for more in systems.values()
                for cause, meaning in names_of(more.data.gallery).causes.items()}
    rows = [[cause, *(f"{more.causes.queries.get(cause, 0):,}" + (
        f" ({signed_percent(more.causes.returned[cause])})" if cause in more.causes.returned
        else "") for more in systems.values())]
        for cause in meanings
        if any(more.causes.queries.get(cause) for more in systems.values())]
    return {"heads": ["cause", *(systems if len(systems) > 1 else ["queries"])], "rows": rows,
            "sampled": f"{sampled:,}", "meanings": meanings}


def conventions_table(systems: Mapping[str, FromDistances],
                      results: Mapping[str, Any],
                      measures: Sequence[str] = ()) -> dict[str, Any]:
    """Return the numbers under conventions that differ: of one system all, of several mAP and
    Rank-1; and in words which others have the same.
    """
    if not systems:
        return {}
    main, *more_heads = columns = measures or (HEADLINE if len(systems) == 1 else METRICS)
    start = {name: f"{name}: " if len(results) > 1 else "" for name in systems}
    heads = ["convention"]
    for name in systems:
        heads += [start[name] + head for head in (main, "difference", *more_heads)]
    first = {name: result for name, result in next(iter(systems.values())).conventions.items()
             if all(name in more.conventions for more in systems.values())}
    rows = []
    for convention, result in first.items():
        row = [convention]
        for name, more in systems.items():
            each = more.conventions[convention]
            before, = values_of(results[name], [main])
            value, *values = values_of(each, columns)
            row += [percent(value), signed_percent(value - before), *map(percent, values)]
        rows.append([*row, f"{result.counted:,}"])
    heads.append("queries in the mean")
    named = by_reason({name: tuple(numbers) for name, *numbers in rows})
    return {"heads": heads, "rows": [[first, *numbers] for numbers, (first, *_) in named.items()],
            "main": main, "equal": [f"{', '.join(others)} ({first})"
                                    for first, *others in named.values() if others],
            "reasons": {name: result.convention.differences for name, result in first.items()}}
