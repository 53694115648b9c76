"""The arguments of `reid-ref`: one parser for each command."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from reid_ref._version import __version__
from reid_ref.console.terminal import show_plain
from reid_ref.text import visible

#: As CITATION.cff of the repository has them, which an installed package lacks.
TITLE = "reid-ref: the reference evaluator of person re-identification"
AUTHOR = "The reid-ref authors"
LICENSE = "MIT"


def bibtex() -> str:
    """Return a BibTeX entry of this version.

    Inner braces keep capitals, and the name of a group in one piece.
    """
    return "\n".join([
        "@misc{reid-ref,",
        f"  author = {{{{{AUTHOR}}}}},",
        f"  title = {{{{{TITLE}}}}},",
        f"  note = {{Version {__version__}, {LICENSE} license}}",
        "}"])


#: Each command: its module, and its line in the list of commands.
COMMANDS = {
    "evaluate": ("evaluate.command", "Rank-k, mAP and mINP of result files"),
    "compare": ("compare.command", "is one system better than another?"),
    "runs": (
        "runs.command", "several training runs of one method: their spread, and their interval"),
    "splits": ("splits", "several query sets or trials of one benchmark: their mean and interval"),
    "camera-pairs": ("camera_pairs", "mAP and Rank-1 for each pair of cameras"),
    "conventions": ("conventions", "the named conventions, and how they differ from matlab"),
    "explain": ("explain.command", "why two conventions give two numbers"),
    "validate": ("validate.command", "which convention gives a published figure"),
    "published": ("published", "figures that others published, with their sources"),
    "crosscheck": ("crosscheck.command", "run another evaluator on the same arrays and compare"),
    "export": ("export", "write the ranking of a result file for trec_eval"),
    "oxford": ("oxford", "AP of ranked lists of names, as Oxford's compute_ap prints it"),
    "dataset": ("dataset", "which benchmark label files are from, and what is off"),
    "baseline": ("baseline.command", "every line that a MATLAB driver prints"),
    "doctor": ("doctor.command", "known mistakes in labels, cameras and features"),
    "plot": ("plot", "figures for a paper: CMC, precision and recall, AP, cameras ..."),
    "report": (
        "report.command", "one HTML page: numbers, rank lists with pictures, figures, tables"),
    "verify": ("verify", "whether the numbers of a stored result follow from its queries"),
    "check-table": ("check_table", "rows of Markdown tables whose numbers cannot be"),
    "completion": ("completion", "a script for your shell's completion"),
}


def make_parser(argv: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of all commands.

    With the words of a command line, only commands that they name get their arguments, so that
    the modules of the others are not imported.
    """
    parser = _Parser(
        prog="reid-ref",
        description="The reference evaluator of person re-identification: Rank-k and mAP, "
                    "bit for bit with the MATLAB scripts.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.add_argument("--cite", action=_Cite, nargs=0,
                        help="print a BibTeX entry of this version and exit")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    named = COMMANDS if argv is None or "completion" in argv else COMMANDS.keys() & argv
    for name, (module, line) in COMMANDS.items():
        command = commands.add_parser(name, help=line)
        if name in named:
            import_module(f"reid_ref.commands.{module}").add(command)
        if name == "completion":
            command.set_defaults(parser=parser)
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

        show_plain(bibtex())
        parser.exit()
