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
    from dataclasses import asdict

    from reid_ref.arrays import check_choice
    from reid_ref.conventions import CONVENTIONS

    if args.name is not None:
        check_choice(args.name, "NAME", CONVENTIONS)
        one = CONVENTIONS[args.name]
        if args.json:
            common.print_json(asdict(one))
        else:
            show(as_page(one))
        return 0
    if args.json:
        common.print_json({name: asdict(one) for name, one in CONVENTIONS.items()})
    else:
        show(as_list(CONVENTIONS))
    return 0


def as_list(conventions: dict[str, Convention]) -> str:
    """Return one line a convention: AP rule, label -1, queries without a match, CMC."""
    from textwrap import wrap

    from reid_ref.conventions import FUNCTIONS

    lines = [f"{'convention':32}{'AP':18}{'label -1':9}{'no match':14}CMC"]
    for name, one in conventions.items():
        if name in FUNCTIONS.values():
            continue
        junk = ("ignored" if "label -1" in one.ignored else "by list" if one.needs_lists else
                "wrong" if one.loads == "all images" else "absent")
        curve = {"all-shots": "shots", "identities": "ids", "first-match": "first"}.get(
            one.cmc, "drawn")
        lines.append(f"{name:32}{one.ap:18} {junk:8} {one.unmatched:13} {curve}")
    lines += ["", "label -1: ignored, an ordinary wrong answer, or absent (never loaded).",
              *wrap(f"NAME-function is the evaluator alone, without the loader of its toolbox: "
                    f"for {', '.join(FUNCTIONS)}.", WIDTH, break_on_hyphens=False),
              "CMC: first matches, all shots, identities, or one image drawn an identity.",
              "reid-ref conventions NAME shows one in full."]
    return "\n".join(lines)


def as_page(one: Convention) -> str:
    """Return everything about one convention, its choices in words."""
    from textwrap import wrap

    from reid_ref.conventions import (
        ARITHMETIC, CMC, CMC_LENGTH, IGNORED, JUNK_MATCH, LOADS, RECALL, TIES, UNMATCHED)

    length = one.cmc_length
    rows = [("name", one.name), ("source", one.source),
            ("loads", LOADS[one.loads] + (f" ({one.loader})" if one.loader else "")),
            ("ignored", "; ".join(IGNORED[rule] for rule in one.ignored) or "nothing"),
            ("AP", one.ap + ("" if one.top_k is None else f", over the first {one.top_k}")),
            ("recall", f"divides by {RECALL[one.recall]}"),
            ("no match", f"a query without a good image: {UNMATCHED[one.unmatched]}"),
            ("ties", TIES[one.ties]),
            ("junk match", f"a good image that is ignored: {JUNK_MATCH[one.junk_match]}"),
            ("CMC", f"{CMC[one.cmc]}; " + (CMC_LENGTH[length] if isinstance(length, str)
                                           else f"at most {length} ranks")),
            ("arithmetic", ARITHMETIC[one.arithmetic]), ("", "")]
    rows += [("differs", "from matlab in:")] if one.differences else []
    rows += [("", difference) for difference in one.differences]
    return "\n".join(
        line for name, text in rows
        for line in wrap(text, WIDTH, initial_indent=f"{name:12}", subsequent_indent=" " * 12,
                         break_long_words=False, break_on_hyphens=False) or [""])
