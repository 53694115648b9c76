"""The JSON inside a page: what `reid-ref evaluate --json` prints, and the rest of the page."""
from __future__ import annotations

from dataclasses import asdict
from typing import Any

from reid_ref._version import __version__
from reid_ref.analysis.page import Page, System
from reid_ref.report import camera_pairs, doctor, explain
from reid_ref.report.rows import per_query_json
from reid_ref.report.tables import results_as_json
from reid_ref.words import number

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
