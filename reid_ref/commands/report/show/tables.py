"""The tables of the page: every cell is text that the template shows as it is."""
from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from reid_ref._version import __version__
from reid_ref.commands import camera_pairs
from reid_ref.commands.compare.compute import Comparison
from reid_ref.commands.doctor import show as doctor
from reid_ref.commands.evaluate.show import results_as_json
from reid_ref.commands.evaluate.show.rows import per_query_json
from reid_ref.commands.explain import show as explain
from reid_ref.commands.explain.show import as_json as way_as_json
from reid_ref.commands.report.compute import Page, System
from reid_ref.evaluation.groups import by_group
from reid_ref.labels import Labels
from reid_ref.result import RANKS, Result
from reid_ref.text import by_reason, number, percent, signed_percent

#: Rows of the table of queries beyond which it is cut, here and on the page.
MOST_ROWS = 20_000
#: Points of the CMC curve, as many as `--json` has.
CMC = 50


def as_json(content: Page) -> dict[str, Any]:
    """Return the numbers of a page as plain JSON values.

    One file: the keys of `reid-ref evaluate --json`, and more. Several: these by name.
    """
    found = {system.name: _system(system) for system in content.systems}
    reasons = {"seed": content.options.seed, "shown": content.reasons}
    if content.comparison is None:
        only, = found.values()
        return {"version": __version__, **only, **reasons}
    return {"version": __version__, "results": found, **reasons,
            "comparison": _plain(asdict(content.comparison))}


def _system(system: System) -> dict[str, Any]:
    result, data = system.result, system.data
    per_query = per_query_json(result, data.query, data.gallery)
    return {
        "files": list(system.files), "layout": data.layout,
        **results_as_json({"": result}, {}, system.known, CMC),
        "intervals": {metric: found and _plain(asdict(found))
                      for metric, found in system.intervals.items()},
        **doctor.as_json(system.findings),
        "rank_lists": [_plain(asdict(one)) for one in system.lists.values()],
        "camera_pairs": system.pairs and camera_pairs.as_json(system.pairs),
        "conventions": {name: one.to_dict(1) for name, one in system.conventions.items()},
        "left_out": system.left_out, "explain": explain.as_json(system.way, data.query),
        "per_query": {**per_query, "queries": per_query["queries"][:MOST_ROWS]}}


def _plain(value: Any) -> Any:
    """Return nested dicts and lists with None for NaN and infinity."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return number(value) if isinstance(value, float) else value


#: mAP below which an identity is listed, and how many are.
LOW, SHOWN = 0.1, 20
DIGITS = 4


def headline(system: System) -> list[dict[str, str]]:
    """Return the numbers of the headline with their intervals."""
    rows = []
    for metric, found in system.intervals.items():
        value = (system.result.rank(int(metric[5:])) if metric.startswith("Rank-")
                 else getattr(system.result, metric))
        rows.append({"metric": metric, "value": percent(value), "band":
                     f"{percent(found.low)} to {percent(found.high)}" if found else ""})
    return rows


def interval_words(system: System) -> str:
    """Return what the intervals are."""
    found = system.intervals["mAP"] or system.intervals.get("Rank-1")
    if found is None:
        return "There are no intervals: fewer than two identities count, or a number is NaN."
    words = (f"Below each number, its {found.level:g} % confidence interval ({found.method}, by "
             f"{found.unit}: {found.units:,}); it holds for this gallery and this model.")
    others = {metric: one.method for metric, one in system.intervals.items()
              if one and one.method != found.method}
    return words + "".join(f" {', '.join(names)}: {method}, since few units differ."
                           for method, names in by_reason(others).items())


def low_identities(system: System) -> dict[str, Any]:
    """Return the identities of lowest mAP."""
    identity = system.result.per_query.identity
    groups = by_group(system.result, Labels(identity, np.zeros_like(identity)))
    low = np.flatnonzero((groups.mAP < LOW) & (groups.counted > 0))
    order = low[np.argsort(groups.mAP[low], kind="stable")]
    return {"count": f"{len(low):,}", "all": f"{np.count_nonzero(groups.counted):,}",
            "words": ", ".join(f"{groups.value[k]} ({percent(float(groups.mAP[k]))})"
                               for k in order[:SHOWN]),
            "more": len(order) > SHOWN}


def camera_rows(system: System) -> dict[str, Any] | None:
    """Return mAP and Rank-1 of each pair of cameras, with the number of queries."""
    pairs = system.pairs
    if pairs is None:
        return None
    cells = [[(percent(float(ap)), percent(float(rank1)), f"{count:,}")
              for ap, rank1, count in zip(*row)]
             for row in zip(pairs.ap_matrix, pairs.rank1_matrix, pairs.ap_count.tolist())]
    return {"cameras": pairs.cameras.tolist(), "rows": list(zip(pairs.cameras.tolist(), cells)),
            "mAP": percent(pairs.mAP), "rank1": percent(pairs.mean_rank1)}


def convention_rows(system: System) -> list[list[str]]:
    """Return the numbers under every convention, and the difference to the page's own."""
    own = system.result
    return [[name, percent(one.mAP), signed_percent(one.mAP - own.mAP),
             *_ranks(one), percent(one.mINP), f"{one.counted:,}"]
            for name, one in system.conventions.items()]


def _ranks(result: Result) -> list[str]:
    return [percent(float(result.cmc[k - 1])) if k <= len(result.cmc) else "-" for k in RANKS]


def waterfall(system: System) -> dict[str, Any]:
    """Return the way from the page's convention to another, a row a choice."""
    way = way_as_json(system.way, system.data.query)
    before, rows = way["from"], []
    for step in way["steps"]:
        rows.append([f"{step['choice']}: {step['value']}", *_points(step, before),
                     f"{step['affected']:,}", step["meaning"]])
        before = step
    return {"from": way["from"]["convention"], "to": way["to"]["convention"],
            "start": _points(way["from"]), "end": _points(way["to"], way["from"]), "rows": rows}


def _points(numbers: dict[str, Any], before: dict[str, Any] | None = None) -> list[str]:
    cells = []
    for key in ("mAP", "Rank-1"):
        value = numbers.get(key)     # no Rank-1 where nothing is loaded
        cells.append("-" if value is None else f"{100 * value:.{DIGITS}f}")
        other = None if before is None else before.get(key)
        cells.append("" if before is None else "-" if value is None or other is None else
                     f"{100 * value - 100 * other:+.{DIGITS}f}")
    return cells


def query_table(content: Page) -> dict[str, Any]:
    """Return the heads and the first rows of the table of queries."""
    first = content.systems[0]
    labels, several = first.data.query, len(content.systems) > 1
    heads = ["query", "identity", "camera", "good", "ignored"]
    for system in content.systems:
        start = f"{system.name}: " if several else ""
        heads += [start + head for head in ("first match", "AP", "INP", "status")]
    n = min(len(labels), MOST_ROWS)
    columns = [np.arange(n), labels.identity[:n], labels.camera[:n],
               first.result.per_query.n_good[:n], first.result.per_query.n_junk[:n]]
    cells = [list(map(str, column.tolist())) for column in columns]
    for system in content.systems:
        found = system.result.per_query
        cells += [[str(k) if k else "-" for k in found.first_match[:n].tolist()],
                  list(map(percent, found.ap[:n].tolist())),
                  list(map(percent, found.inp[:n].tolist())), found.status[:n].tolist()]
    return {"heads": heads, "rows": list(zip(*cells)), "all": f"{len(labels):,}",
            "cut": len(labels) > n, "listed": set(map(str, first.lists))}


def comparison_rows(comparisons: tuple[Comparison, ...]) -> list[list[str]]:
    """Return a row for each system and metric."""
    return [[one.system, one.metric, signed_percent(one.difference),
             f"{signed_percent(one.low)} to {signed_percent(one.high)}", f"{one.p:.4f}",
             f"{one.p_adjusted:.4f}", f"{one.better:,}", f"{one.worse:,}", f"{one.same:,}"]
            for one in comparisons]
