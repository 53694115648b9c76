"""What README.md and docs/ show, run: their Python, and the screens of their commands.

`docs/written.py` writes what they print now; the tests hold the pages to it.
"""
import contextlib
import difflib
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


def is_octave(words):
    """Return whether a command needs GNU Octave."""
    return "reid-ref scripts" in words and "--driver" not in words


def run_page(text, folder, names, without=is_octave):
    """Run the blocks of a page in order, where fixtures/ lies; return the page as it is then.

    What the Python defines is added to `names`. Commands that are `without` keep their screens.
    """
    def block(match):
        kind, body, _ = match.groups()
        if kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(body, "a page", "exec"), names)
            output = printed.getvalue()
            return f"```python\n{body}```\n" + f"\n```text\n{output}```\n" * bool(output)
        return f"```{kind}\n{COMMAND.sub(shown, body)}```\n"

    def shown(match):
        words, text = match.groups()
        if words.startswith("reid-ref ") and not without(words):
            text = screen(words, text)
        return f"$ {words}\n{text}"

    (folder / "fixtures").symlink_to(ROOT / "fixtures")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return BLOCK.sub(block, text)


def hold(name, text, now):
    """Hold a page, or a part of it, to what it shows when it is run; fail with a diff."""
    if now != text:
        pytest.fail(difference(name, text, now), pytrace=False)


def difference(name, text, now):
    """Return the lines of a page that change, and what changes them."""
    lines = difflib.unified_diff(text.splitlines(True), now.splitlines(True), name,
                                 f"{name} as it is now", n=2)
    return "".join(lines) + "If this is meant, run: python docs/written.py\n"


def names_for(page):
    """Return what the Python of a page takes for granted."""
    return loaders() if page == "training_loop" else {}


def loaders():
    """Loaders with the keys of torchreid's and fast-reid's batches: 8 queries, 32 gallery."""
    import torch

    images = torch.eye(40, 8)
    labels = torch.arange(40) % 8, torch.arange(40) // 8
    sides = {side: [dict(zip(("img", "pid", "camid"), (images[part], *(
        label[part] for label in labels))))] for side, part in (
            ("query", slice(0, 8)), ("gallery", slice(8, 40)))}
    return {"engine": SimpleNamespace(test_loader={"market1501": sides}), "num_query": 8,
            "test_loader": [dict(zip(("images", "targets", "camids"), (images[part], *(
                label[part] for label in labels)))) for part in (slice(0, 16), slice(16, 40))]}


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


def screen(words, shown):
    """Return what a command prints on 80 columns, as a page shows it, which shows `shown`.

    One that ends in ... is cut to as many lines. Warnings are shown, wrapped, where a page begins
    with one. Empty lines at the end are the page's.
    """
    done = command(*shlex.split(words)[1:], COLUMNS=80)
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    if shown.startswith("reid-ref: warning"):
        lines[:0] = [part for line in done.stderr.splitlines() for part in textwrap.wrap(line, 79)]
    old = shown.rstrip("\n").split("\n")
    if old[-1] == "...":
        lines = [*lines[:len(old) - 1], "..."]
    assert lines, f"{words}\n{done.stderr}"
    return "\n".join(lines) + (shown[len(shown.rstrip("\n")):] or "\n")
