"""Follow CONTRIBUTING.md: apply each diff in a copy; the tests that fail are those it announces.

What a section announces is its block of ``path::test`` below the diff; commands that it names
after "Then run" are run first. Nothing else may fail, and each of them must.

Usage: python tests/contributing.py [NUMBER of the diff ...] [--only TESTS ...]
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Addition(NamedTuple):
    """A section of the page with a diff: the diff, the commands after it, what then fails."""

    title: str
    diff: str
    commands: list[str]
    announced: set[str]


def additions():
    """The sections of CONTRIBUTING.md that have a diff."""
    for section in re.split("^## ", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE):
        blocks = dict(re.findall("^```(diff|text)\n(.*?)^```", section, re.MULTILINE | re.DOTALL))
        if "diff" in blocks:
            yield Addition(section.partition("\n")[0], blocks["diff"],
                           re.findall("Then run `python (.*?)`", section),
                           set(blocks.get("text", "").split()))


def copy(folder):
    """Copy what git knows, as it is now."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def failures(addition, folder, tests):
    """Apply an addition in a folder; return which tests fail there, and what pytest printed."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    subprocess.run(["git", "apply", "-"], input=addition.diff, text=True, cwd=folder, check=True)
    for command in addition.commands:
        subprocess.run([sys.executable, *command.split()], cwd=folder, env=environment, check=True)
    printed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", "--numprocesses=auto",
         "-p", "no:cacheprovider", *tests], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    return set(re.findall(r"^(?:FAILED|ERROR) ([^\[\s]+)", printed, re.MULTILINE)), printed


def main():
    """Return 1 if an addition breaks what the page does not announce, or the other way round."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = list(additions())
    parser.add_argument("number", nargs="*", type=int, help=f"1 to {len(every)}; default: all")
    parser.add_argument("--only", nargs="+", default=[], metavar="TESTS",
                        help="run these alone; what is announced elsewhere is not expected")
    args = parser.parse_args()
    status = 0
    for number in args.number or range(1, len(every) + 1):
        addition = every[number - 1]
        with tempfile.TemporaryDirectory() as folder:
            copy(Path(folder))
            failed, printed = failures(addition, folder, args.only)
        expected = {test for test in addition.announced
                    if not args.only or test.startswith(tuple(args.only))}
        print(f"{addition.title}: {len(failed)} tests fail, {len(expected)} announced")
        if failed != expected:
            status = 1
            print(printed)
            for test in sorted(failed - expected):
                print(f"not announced: {test}")
            for test in sorted(expected - failed):
                print(f"does not fail: {test}")
    return status


if __name__ == "__main__":
    sys.exit(main())
