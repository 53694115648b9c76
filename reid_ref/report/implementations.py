"""The fast path, the port and the scripts in Octave, side by side."""
from __future__ import annotations

from typing import Any

from reid_ref.analysis.implementations import ScriptAnswer
from reid_ref.result import RANKS, named_ranks, ranks_as_json
from reid_ref.words import number, numbers


def scripts_table(answers: dict[str, ScriptAnswer], difference: float,
                  ranks: tuple[int, ...] = RANKS) -> str:
    """Return several implementations' numbers in columns, and their largest difference."""
    lines = [f"{'':10}" + "".join(f"{name:>23}" for name in answers)]
    curves = [[*named_ranks(one.cmc, ranks).items(), ("mAP", one.mean_ap)]
              for one in answers.values()]
    for line in zip(*curves):
        lines.append(f"{line[0][0]:10}" + "".join(f"{value!r:>23}" for _, value in line))
    if len(answers) == 1:
        return "\n".join(lines)
    verdict = "equal to the last bit" if difference == 0 else "NOT equal"
    length = len(next(iter(answers.values())).cmc)
    lines += ["", f"largest difference, over mAP and all {length:,} entries of CMC: "
                  f"{difference!r} ({verdict})"]
    return "\n".join(lines)


def scripts_json(answers: dict[str, ScriptAnswer], difference: float,
                 length: int | None) -> dict[str, Any]:
    """Return the answers as plain JSON values, CMC to rank `length`; see `Result.to_dict`."""
    return {
        "implementations": {
            name: {**ranks_as_json(one.cmc), "mAP": number(one.mean_ap),
                   "cmc": numbers(one.cmc[:length])} for name, one in answers.items()},
        "largest_difference": number(difference)}
