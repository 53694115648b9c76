"""`python -m reid_ref.compat --patch TOOLBOX[,TOOLBOX...] SCRIPT ARGS...`."""
from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from reid_ref.arrays import InputError, check_choice
from reid_ref.compat.patch import PATCHES, run_script


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"reid-ref: error: {message}; see {self.prog} --help\n")


def main() -> int:
    """Run the script; wrong arguments are one line on stderr and exit code 2."""
    parser = _Parser(
        prog="python -m reid_ref.compat",
        description="Run a script unedited, with the evaluator of its toolbox replaced by "
                    "reid-ref's: same signature, same types, its toolbox's own rule.")
    parser.add_argument("--patch", required=True, metavar="TOOLBOX[,TOOLBOX...]",
                        help=f"some of {', '.join(PATCHES)}")
    parser.add_argument("script", metavar="SCRIPT", help="the script")
    parser.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER,
                        help="its arguments")
    args = parser.parse_args()
    if not os.path.isfile(args.script):
        parser.error(f"SCRIPT: expected a Python file, got {args.script}, which is not there")
    toolboxes = args.patch.split(",")
    try:
        for name in toolboxes:
            check_choice(name, "--patch", PATCHES)
    except InputError as error:
        parser.error(str(error))
    run_script(args.script, args.arguments, toolboxes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
