"""`reid-ref doctor`: known mistakes in a result file."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from reid_ref.commands.doctor.compute import doctor
from reid_ref.commands.doctor.compute.labels import Finding
from reid_ref.console import options as common
from reid_ref.console.answers import OfFiles, add_json, show_answer
from reid_ref.console.request import Request
from reid_ref.text import row, source


@dataclass(frozen=True)
class Diagnosis(OfFiles):
    """What the doctor finds, as JSON has it."""

    findings: list[Finding]


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


@dataclass(frozen=True, kw_only=True)
class DoctorRequest(Request):
    """What the command line requests."""

    seed: int


def add(command: argparse.ArgumentParser) -> None:
    """Look for known mistakes in a result file: identities that never meet, made-up cameras,
    similarities given as distances, copies, features that separate nothing.

    Exit code: 0 where nothing worse than a warning was found, 1 for an error, 2 for wrong input.
    Each finding has a key, e.g. doctor:single-camera, with a section of its own in the
    documentation.
    """
    common.add_files(command)
    command.add_argument("--seed", type=int, default=12345, metavar="N",
                         help="of the sample of queries and images; default 12345")
    add_json(command)


def run(request: DoctorRequest) -> int:
    data = common.read_files(request)
    findings = doctor(data, seed=request.seed)
    show_answer(request.format, json=lambda: Diagnosis(request.files, data.layout, findings),
                table=lambda: as_text(findings, source(request.files, data.layout)))
    return int(any(finding.severity == "error" for finding in findings))
