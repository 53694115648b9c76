"""The arguments of `reid-ref`: one parser for each command."""
from __future__ import annotations

import argparse
import sys
from typing import Any, NoReturn

from reid_ref.commands import (
    baseline, camera_pairs, check_table, compare, completion, conventions, crosscheck, dataset,
    doctor, evaluate, explain, export, oxford, plot, published, rank_list, report, runs, splits,
    validate, verify)
from reid_ref.commands.terminal import show_plain
from reid_ref.report.names import visible

COMMANDS = (evaluate, compare, runs, splits, camera_pairs, conventions, explain, validate,
            published, crosscheck, export, oxford, dataset, baseline, doctor, plot, report,
            rank_list, verify, check_table)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="reid-ref",
        description="The reference evaluator of person re-identification: Rank-k and mAP, "
                    "bit for bit with the MATLAB scripts.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.add_argument("--cite", action=_Cite, nargs=0,
                        help="print a BibTeX entry of this version and exit")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add(commands)
    completion.add(commands, parser)
    for command in dict.fromkeys(commands.choices.values()):
        command.add_argument("--quiet", action="store_true",
                             help="no progress and no warnings on stderr; errors stay")
    return parser


class _Parser(argparse.ArgumentParser):
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        # A command's parser would hand what it does not know to the parser of all commands,
        # whose help does not list the command's options.
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse takes no notice of a help that could not be printed.
        if file is None or file is sys.stdout:
            show_plain(message.rstrip("\n"))
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{visible(f'{self.prog}: error: {message}; see {self.prog} --help')}\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from reid_ref._version import __version__

        show_plain(f"reid-ref {__version__}")
        parser.exit()


class _Cite(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from reid_ref.report.cite import bibtex

        show_plain(bibtex())
        parser.exit()
