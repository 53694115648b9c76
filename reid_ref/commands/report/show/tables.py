"""The tables of the page: every cell is text that the template shows as it is."""
from __future__ import annotations

from typing import Any

import numpy as np

from reid_ref._version import __version__
from reid_ref.commands import camera_pairs
from reid_ref.commands.compare.compute import Comparisons
from reid_ref.commands.evaluate import show as evaluate
from reid_ref.commands.evaluate.show.rows import per_query_json
from reid_ref.commands.report.compute import NO_DISTANCES, FromDistances, Page, Reported
from reid_ref.console import confidence
from reid_ref.console.answers import dataset_of
from reid_ref.result import RANKS, named_ranks
from reid_ref.text import NO_BENCHMARK, percent, signed_percent, source
from reid_ref.text.plain import plain

#: Rows of the table of queries beyond which it is cut, here and on the page.
MOST_ROWS = 20_000
#: Points of the CMC curve, as many as `--json` has.
CMC = 50


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
        "layout": more.data.layout if more else evaluate.SAVED,
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
        return evaluate.facts(system.result, source(system.files, evaluate.SAVED),
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
