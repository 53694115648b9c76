"""`reid-ref doctor`: known mistakes in a result file."""
from __future__ import annotations

import argparse
from dataclasses import dataclass

from reid_ref.commands.doctor.compute import doctor
from reid_ref.commands.doctor.compute.labels import Finding
from reid_ref.commands.doctor.show import as_text
from reid_ref.console import options as common
from reid_ref.console.terminal import show
from reid_ref.files import read_result
from reid_ref.text import source


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor finds, as JSON has it."""

    files: list[str]
    layout: str
    findings: list[Finding]


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Look for known mistakes in a result file: identities that never meet, "
        "made-up cameras, similarities given as distances, copies, features that "
        "separate nothing.")
    command.epilog = (
        "Exit code: 0 where nothing worse than a warning was found, 1 for an error, 2 for "
        "wrong input. Each finding has a key, e.g. doctor:single-camera, with a section "
        "of its own in the documentation.")
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE",
                         help="result file or files, or a folder of .npy files")
    command.add_argument("--seed", type=int, default=12345, metavar="N",
                         help="of the sample of queries and images; default 12345")
    command.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    data = read_result(*args.files)
    findings = doctor(data, seed=args.seed)
    if args.json:
        common.print_json(Diagnosis(args.files, data.layout, findings))
    else:
        show(as_text(findings, source(args.files, data.layout)))
    return int(any(finding.severity == "error" for finding in findings))
