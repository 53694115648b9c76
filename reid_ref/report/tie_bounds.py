"""What the order of equal distances can do to the numbers, in percent and as JSON."""
from __future__ import annotations

from typing import Any

from reid_ref.analysis.tie_bounds import TieBounds
from reid_ref.report.tables import tied_queries
from reid_ref.result import RANKS, named_ranks, ranks_as_json
from reid_ref.words import number, numbers, row, signature_rows


def bounds_table(bounds: TieBounds, n_query: int, ranks: tuple[int, ...] = RANKS) -> str:
    """Return worst, expected and best numbers over the orders of ties, in percent."""
    columns = {"worst": bounds.worst, "expected": bounds.expected, "best": bounds.best}
    lines = [f"{'percent':10}" + "".join(f"{name:>12}" for name in columns)]
    curves = [[*named_ranks(cmc, ranks).items(), ("mAP", mean_ap)]
              for mean_ap, cmc in columns.values()]
    for line in zip(*curves):
        lines.append(f"{line[0][0]:10}" + "".join(f"{100 * value:>12.4f}" for _, value in line))
    lines += ["", *row("ties", tied_queries(bounds.tied, n_query)),
              *row("expected", "mean over all orders of ties, computed exactly")]
    return "\n".join([*lines, "", *signature_rows(bounds.signature)])


def bounds_json(bounds: TieBounds, length: int | None) -> dict[str, Any]:
    """Return the bounds as plain JSON values, CMC to rank `length`; see `Result.to_dict`."""
    return {
        "tied": bounds.tied,
        **{name: {**ranks_as_json(cmc), "mAP": number(mean_ap), "cmc": numbers(cmc[:length])}
           for name, (mean_ap, cmc) in (("worst", bounds.worst), ("best", bounds.best),
                                        ("expected", bounds.expected))},
        "signature": bounds.signature}
