"""Arguments to calls: the command `reid-ref`.

Nothing heavy is imported before it is needed, so that `--help` answers at once. Wrong input
ends in one line on stderr and exit code 2.
"""
from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from typing import Any, NoReturn, TextIO

from reid_ref.commands import (
    baseline, camera_pairs, conventions, crosscheck, dataset, evaluate, explain, export, oxford,
    published, validate)

COMMANDS = (evaluate, camera_pairs, conventions, explain, validate, published, crosscheck, export,
            oxford, dataset, baseline)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    from reid_ref.validation import InputError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name in another encoding is no error
            stream.reconfigure(errors="backslashreplace")
    args = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning
            status = int(args.run(args))
            if sys.stdout is not None:
                sys.stdout.flush()
            return status
    except InputError as error:
        print(f"reid-ref: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("reid-ref: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, say) has what it wanted; keep Python from complaining at exit.
        _drop_output()
        return 0
    except OSError as error:
        # A full disk behind stdout, a name that is too long: whatever no check foresaw.
        _drop_output()
        print(f"reid-ref: error: {error}", file=sys.stderr)
        return 2


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="reid-ref",
        description="The reference evaluator of person re-identification: Rank-k and mAP, "
                    "bit for bit with the MATLAB scripts.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from reid_ref._version import __version__

        print(f"reid-ref {__version__}")
        parser.exit()


def _show_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int,
                  file: TextIO | None = None, line: str | None = None) -> None:
    print(f"reid-ref: warning: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
