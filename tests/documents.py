"""What README.md and docs/ show, run: their Python, and the screens of their commands."""
import contextlib
import io
import re
import shlex
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

from reid_ref import cli

ROOT = Path(__file__).parents[1]
#: A fenced block of Python or of a terminal; a block of text right behind Python is its output.
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?",
                   re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def commands(text):
    """Return every `reid-ref` command of a page, with what is shown below it."""
    return [(command, shown) for kind, block, _ in BLOCK.findall(text) if kind == "console"
            for command, shown in COMMAND.findall(block) if command.startswith("reid-ref ")]


def run_page(text, folder, leave_out="reid-ref scripts", **names):
    """Run the blocks of a page in order, in a folder where fixtures/ lies; return the names."""
    (folder / "fixtures").symlink_to(ROOT / "fixtures")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for kind, block, output in BLOCK.findall(text):
            if kind == "python":
                _run_python(block, output, names)
            for words, shown in commands(f"```{kind}\n{block}```\n"):
                if leave_out not in words:
                    check_screen(words, shown)
    return names


def _run_python(code, output, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "a page", "exec"), names)
    assert printed.getvalue() == output, code


def command(*arguments, cwd=".", **environment):
    """Run the command line in this process: fields as of `subprocess.run`."""
    out, err = io.StringIO(), io.StringIO()
    with (contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
          pytest.MonkeyPatch.context() as patch):
        patch.chdir(cwd)
        for name, value in environment.items():
            patch.setenv(name, str(value))
        try:
            code = cli.main([str(word) for word in arguments])
        except SystemExit as stop:
            code = stop.code
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


def check_screen(words, shown):
    """Compare a screen of 80 columns; one that ends in ... is shown to that line.

    A warning is shown, wrapped, where the page begins with it.
    """
    done = command(*shlex.split(words)[1:], COLUMNS=80)
    printed = done.stdout
    if shown.startswith("reid-ref: warning"):
        warned = [textwrap.fill(line, 79) + "\n" for line in done.stderr.splitlines()]
        printed = "".join(warned) + printed
    printed = [line.rstrip() for line in printed.splitlines()]
    expected = [line.rstrip() for line in shown.rstrip("\n").split("\n")]
    if expected[-1] == "...":
        expected.pop()
        printed = printed[:len(expected)]
    assert printed == expected, f"{words}\n{done.stdout}{done.stderr}"
