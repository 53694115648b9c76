"""Average precision of ranked lists of names, as Oxford's compute_ap prints it."""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from reid_ref.protocols.oxford import six_digits
from reid_ref.report.names import visible


def as_lines(answers: Mapping[str, np.float32], mean_ap: float) -> str:
    """Return one line a query, name and AP, then mAP."""
    lines = [f"{visible(name)} {six_digits(ap)}" for name, ap in answers.items()]
    return "\n".join([*lines, f"mAP {six_digits(mean_ap)} (mean of all {len(answers)} queries, "
                              "unrounded, in double precision)"])
