"""`reid-ref conventions`: the named conventions, and what each does otherwise than matlab."""
from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from reid_ref.commands import common
from reid_ref.commands.terminal import show

if TYPE_CHECKING:
    from reid_ref.conventions import Convention

WIDTH = 80


def add(commands: Any) -> None:
    command = commands.add_parser(
        "conventions", help="the named conventions, and how they differ from matlab",
        description="List the named conventions, or show one: its choices, its source and its "
                    "differences from matlab, with their direction.")
    command.set_defaults(run=run)
    command.add_argument("name", nargs="?", metavar="NAME", help="show this one in full")
    command.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    from reid_ref.arrays import check_choice
    from reid_ref.conventions import CONVENTIONS, known_as

    if args.name is not None:
        name = known_as(args.name)
        check_choice(name, "NAME", CONVENTIONS)
        one = CONVENTIONS[name]
        if args.json:
            common.print_json(as_json(one))
        else:
            show(as_page(one))
        return 0
    if args.json:
        common.print_json({name: as_json(one) for name, one in CONVENTIONS.items()})
    else:
        show(as_list(CONVENTIONS))
    return 0


def as_json(one: Convention) -> dict[str, Any]:
    """Return all fields of a record, and its differences from matlab."""
    from dataclasses import asdict

    return {**asdict(one), "differences": one.differences}


def as_list(conventions: dict[str, Convention]) -> str:
    """Return one line a convention: AP rule, label -1, queries without a match, CMC."""
    from textwrap import wrap

    from reid_ref.conventions import ALIASES, FUNCTIONS

    lines = [f"{'convention':32}{'AP':18}{'label -1':9}{'no match':14}CMC"]
    for name, one in conventions.items():
        if name in FUNCTIONS.values():
            continue
        junk = ("ignored" if "label -1" in one.ignored else "by list" if one.needs_lists else
                "wrong" if one.loads == "all images" else "absent")
        lines.append(f"{name:32}{one.ap:18} {junk:8} {one.unmatched:13} {one.curve.short}")
    lines += ["", "label -1: ignored, an ordinary wrong answer, or absent (never loaded).",
              *wrap(f"NAME-function is the evaluator alone, without the loader of its toolbox: "
                    f"for {', '.join(FUNCTIONS)}.", WIDTH, break_on_hyphens=False),
              *wrap(f"Found as well, in any case, with - or _: {', '.join(ALIASES)}.", WIDTH,
                    break_on_hyphens=False),
              "CMC: first matches, all shots, identities, or one image drawn an identity.",
              "reid-ref conventions NAME shows one in full."]
    return "\n".join(lines)


def as_page(one: Convention) -> str:
    """Return everything about one convention, its choices in words."""
    from textwrap import wrap

    from reid_ref.conventions import (
        ARITHMETIC, CMC_LENGTH, IGNORED, JUNK_MATCH, LOADS, RECALL, TIES, UNMATCHED)

    length = one.cmc_length
    ends = CMC_LENGTH[length].words if isinstance(length, str) else f"at most {length} ranks"
    rows = [("name", one.name), *(("", f"also: {other}") for other in one.also),
            ("source", one.source),
            ("loads", LOADS[one.loads].words + (f" ({one.loader})" if one.loader else "")),
            ("ignored", "; ".join(IGNORED[rule].words for rule in one.ignored) or "nothing"),
            ("AP", one.ap + ("" if one.top_k is None else f", over the first {one.top_k}")),
            ("recall", f"divides by {RECALL[one.recall].words}"),
            ("no match", f"a query without a good image: {UNMATCHED[one.unmatched].words}"),
            ("ties", TIES[one.ties].words),
            ("junk match", f"a good image that is ignored: {JUNK_MATCH[one.junk_match].words}"),
            ("CMC", f"{one.curve.words}; {ends}"),
            ("arithmetic", ARITHMETIC[one.arithmetic].words), ("", "")]
    rows += [("differs", "from matlab in:")] if one.differences else []
    rows += [("", difference) for difference in one.differences]
    return "\n".join(
        line for name, text in rows
        for line in wrap(text, WIDTH, initial_indent=f"{name:12}", subsequent_indent=" " * 12,
                         break_long_words=False, break_on_hyphens=False) or [""])
