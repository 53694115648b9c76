"""`reid-ref conventions`: the named conventions, and what each does otherwise than matlab."""
from __future__ import annotations

import argparse

from reid_ref.commands import common
from reid_ref.commands.terminal import show


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "List the named conventions, or show one: its choices, its source and its "
        "differences from matlab, with their direction.")
    command.set_defaults(run=run)
    command.add_argument("name", nargs="?", metavar="NAME", help="show this one in full")
    command.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    from reid_ref.conventions import CONVENTIONS, find_convention
    from reid_ref.report.conventions import as_json, as_list, as_page

    if args.name is not None:
        one = CONVENTIONS[find_convention(args.name, "NAME").base]
        if args.json:
            common.print_json(as_json(one))
        else:
            show(as_page(one))
        return 0
    if args.json:
        common.print_json({"conventions": {
            name: as_json(one) for name, one in CONVENTIONS.items()}})
    else:
        show(as_list(CONVENTIONS))
    return 0
