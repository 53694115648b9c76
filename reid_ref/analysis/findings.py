"""What a check of the input has found: `Finding`, and the order of severities."""
from __future__ import annotations

from dataclasses import dataclass, field

#: From the least to the most serious. A note is worth knowing and may well be intended; a
#: warning says that the numbers are probably not what they seem; an error, that they mean nothing.
SEVERITIES = ("note", "warning", "error")


@dataclass(frozen=True)
class Finding:
    """One thing about the input that a person should know before they believe a number.

    Parameters
    ----------
    key : str
        Its name, "doctor:..."; the documentation has a section of this name.
    severity : {"note", "warning", "error"}
    sentence : str
        What was found.
    evidence : dict of str to int or float
        The numbers behind the sentence.
    way_out : str
        What to do, with a command where there is one.

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
    way_out: str = ""
