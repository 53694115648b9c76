"""The numbers of the fast path, the port and Octave in columns, in full precision."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from reid_ref.commands.scripts.compute.octave import ScriptAnswer
from reid_ref.result import RANKS, named_ranks
from reid_ref.text.table import lines


def as_table(answers: Mapping[str, ScriptAnswer], difference: float,
             ranks: Sequence[int] = RANKS) -> str:
    """Return one column per program, and their largest difference."""
    curves = [{**named_ranks(answer.cmc, ranks), "mAP": answer.mAP} for answer in answers.values()]
    text = lines(["", *answers], [[name, *(repr(curve[name]) for curve in curves)]
                                  for name in curves[0]], indent=10)
    verdict = "equal to the last bit" if difference == 0 else "NOT equal"
    length = len(next(iter(answers.values())).cmc)
    return "\n".join([*text, "", f"largest difference, over mAP and all {length:,} entries of "
                                 f"CMC: {difference!r} ({verdict})"])
