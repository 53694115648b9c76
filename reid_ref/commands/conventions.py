"""`reid-ref conventions`: the named conventions, and what each does otherwise than matlab."""
from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from reid_ref.console import options as common
from reid_ref.console.terminal import show
from reid_ref.conventions import (
    ALIASES, ARITHMETIC, CMC_LENGTH, FUNCTIONS, IGNORED, JUNK_MATCH, LOADS, RECALL, TIES,
    UNMATCHED, Convention)
from reid_ref.text import row, wrap


def as_json(one: Convention) -> dict[str, Any]:
    """Return all fields of a record, and its differences from matlab."""
    return {**asdict(one), "differences": one.differences}


def as_list(conventions: Mapping[str, Convention]) -> str:
    """Return one line a convention: AP rule, label -1, queries without a match, CMC."""
    lines = [f"{'convention':32}{'AP':18}{'label -1':9}{'no match':14}CMC"]
    for name, one in conventions.items():
        if name in FUNCTIONS.values():
            continue
        junk = ("ignored" if "label -1" in one.ignored else "by list" if one.needs_lists else
                "wrong" if one.loads == "all images" else "dropped")
        lines.append(f"{name:32}{one.ap:18} {junk:8} {one.unmatched:13} {one.curve.short}")
    lines += ["", "label -1: ignored, wrong (ordinary), by list, or dropped by the loader.",
              *wrap(f"NAME-function is the evaluator alone, without the loader of its toolbox: "
                    f"for {', '.join(FUNCTIONS)}."),
              *wrap(f"Found as well, in any case, with - or _: {', '.join(ALIASES)}."),
              "CMC: first matches, all shots, identities, or one image drawn an identity.",
              "reid-ref conventions NAME shows one in full."]
    return "\n".join(lines)


def as_page(one: Convention) -> str:
    """Return everything about one convention, its choices in words."""
    length = one.cmc_length
    ends = CMC_LENGTH[length].words if isinstance(length, str) else f"at rank {length}, or before"
    rows = [("name", one.name), *(("", f"also: {other}") for other in one.also),
            ("source", one.source),
            ("loads", LOADS[one.loads].words + (f" ({one.loader})" if one.loader else "")),
            ("ignored", "; ".join(IGNORED[rule].words for rule in one.ignored) or "nothing"),
            ("AP", one.ap + ("" if one.top_k is None else f", over the first {one.top_k}")),
            ("recall", f"divides by {RECALL[one.recall].words}"),
            ("no match", f"a query without a good image: {UNMATCHED[one.unmatched].words}"),
            ("ties", TIES[one.ties].words),
            ("junk match", JUNK_MATCH[one.junk_match].words),
            ("CMC", f"{one.curve.words}; ends {ends}"),
            ("arithmetic", ARITHMETIC[one.arithmetic].words), ("", "")]
    rows += [("differs", "from matlab in:")] if one.differences else []
    rows += [("", difference) for difference in one.differences]
    return "\n".join(line for name, text in rows for line in row(name, text, 12) or [""])


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "List the named conventions, or show one: its choices, its source and its "
        "differences from matlab, with their direction.")
    command.set_defaults(run=run)
    command.add_argument("name", nargs="?", metavar="NAME", help="show this one in full")
    command.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    from reid_ref.conventions import CONVENTIONS, find_convention

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
