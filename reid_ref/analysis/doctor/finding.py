"""A finding: what the doctor tells, with its evidence and its remedy."""
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reid_ref.arrays.value import Value
from reid_ref.disk import tables_of

#: Name to severity, sentence and remedy.
TEXTS: Mapping[str, Mapping[str, str]] = tables_of("analysis/doctor/findings.toml")

#: From the least to the most serious. A note is worth knowing and may well be intended; a
#: warning means that the numbers are probably wrong; an error, that they have no meaning.
SEVERITIES = ("note", "warning", "error")


@dataclass(frozen=True, eq=False)
class Finding(Value):
    """One thing about the input that a person should know before they believe a number.

    Parameters
    ----------
    key : str
        Its name, "doctor:..."; the documentation has a section of this name.
    severity : {"note", "warning", "error"}
    sentence : str
        What was found.
    evidence : dict of str to int or float
        The numbers that the sentence is about.
    remedy : str
        What to do, with a command if there is one.

    Examples
    --------
    >>> Finding("doctor:single-camera", "error", "All images are on one camera.",
    ...         {"cameras": 1}, "Give each camera its own number.").severity
    'error'
    """

    key: str
    severity: str
    sentence: str
    evidence: dict[str, int | float] = field(default_factory=dict)
    remedy: str = ""

    @property
    def line(self) -> str:
        """The finding as one line of stderr."""
        return f"{self.sentence} {self.remedy} ({self.key})"


def tell(name: str, *values: Any, severity: Any = "", remedy: Any = "",
         **evidence: Any) -> Finding:
    """Return the finding of this name in findings.toml, with values and evidence in its sentence.

    Numbers that have a name are its evidence.
    """
    texts = TEXTS[name]
    sentence, to_do = (re.sub(r"(?<=\d)%", " %", text.format(*values, **evidence)) for text in (
        texts["sentence"], remedy or texts.get("remedy", "")))
    return Finding("doctor:" + texts.get("key", name), severity or texts["severity"], sentence, {
        key: round(float(value), 6) if isinstance(value, (float, np.floating)) else int(value)
        for key, value in evidence.items()}, to_do)
