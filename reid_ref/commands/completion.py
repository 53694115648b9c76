"""`reid-ref completion`: a script with which a shell completes commands, options and names."""
from __future__ import annotations

import argparse

from reid_ref import extensions
from reid_ref.arrays import InputError
from reid_ref.console.terminal import show_plain
from reid_ref.conventions import METRICS, NAMES
from reid_ref.datasets.driver_files import DRIVERS
from reid_ref.protocols.records import PROTOCOLS
from reid_ref.reranking.k_reciprocal import VARIANTS

SHELLS = ("bash", "zsh", "tcsh")
#: The metavar of an option that takes a file or a folder.
FILES = ("FILE", "DIR", "GROUND_TRUTH", "RANKED_LIST", "ROOT", "UNIT", ("GOOD", "JUNK"),
         "METHOD")


def add(command: argparse.ArgumentParser) -> None:
    """Print a script with which a shell completes commands, options, files and the names of
    conventions and protocols. bash and zsh: eval "$(reid-ref completion bash)" in ~/.bashrc, or
    the same with zsh in ~/.zshrc; tcsh: save it, and source it in ~/.tcshrc. Needs shtab: pip
    install "reid-ref[completion]".
    """
    command.add_argument("shell", choices=SHELLS, help="bash, zsh or tcsh")


def _known() -> dict[str, list[str]]:
    """Return the names that argparse does not know, by the argument's name."""
    conventions = [*NAMES, *extensions.names("convention")]
    return {"convention": [*conventions, "all"], "name": conventions, "origin": conventions,
            "target": conventions, "protocol": [*PROTOCOLS, *extensions.names("protocol")],
            "metric": [*METRICS], "variant": [*VARIANTS], "driver": [*DRIVERS]}


def run(args: argparse.Namespace) -> None:
    try:
        import shtab
    except ImportError as error:
        raise InputError("completion", got=f"needs shtab ({error})", remedy="pip install "
                         "\"reid-ref[completion]\"") from None
    commands, = args.parser._subparsers._group_actions
    known = _known()
    for command in commands.choices.values():
        for action in command._actions:
            if action.metavar in FILES:
                setattr(action, "complete", shtab.FILE)
            elif action.choices is None and action.dest in known:
                action.choices = known[action.dest]
    show_plain(shtab.complete(args.parser, shell=args.shell))
