"""What the doctor found, as text."""
from __future__ import annotations

from collections.abc import Sequence

from reid_ref.commands.doctor.compute.labels import Finding
from reid_ref.text import row


def as_text(findings: Sequence[Finding], source: str) -> str:
    """Return one paragraph per finding: severity, sentence, evidence, remedy, key."""
    lines = row("input", source)
    if not findings:
        return "\n".join([*lines, *row("found", "nothing: no known mistake in labels, cameras "
                                       "and a sample of the values")])
    for finding in findings:
        lines += ["", *row(finding.severity, finding.sentence)]
        lines += row("numbers", ", ".join(f"{name.replace('_', ' ')} {value:,}"
                                          for name, value in finding.evidence.items()))
        lines += row("remedy", finding.remedy)
        lines += row("more", f"{finding.key} in the documentation")
    return "\n".join(lines)


def one_line(finding: Finding) -> str:
    """Return a finding as one line of stderr."""
    return f"{finding.sentence} {finding.remedy} ({finding.key})"
