"""What the README shows is what happens."""
import re

import pytest

from tests.documents import ROOT, command, commands, hold, run_page, screen

README = (ROOT / "README.md").read_text()


def run_screens_and_python(folder):
    """Run the blocks of the page; tests/test_install_lines.py calls it in a process of its own."""
    names = {}
    hold("README.md", README, run_page(README, folder, names))
    assert names["result"].mAP == .625


@pytest.mark.octave
def test_the_screen_of_the_scripts(octave, monkeypatch):
    monkeypatch.chdir(ROOT)
    (words, shown), = [pair for pair in commands((ROOT / "docs/proof.md").read_text())
                       if "scripts" in pair[0]]
    hold(words, shown, screen(words, shown))


def test_every_option_and_command_that_a_page_names_exists():
    pages = README + "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", pages)) - {
        "--check", "--keep-going", "--global", "--group", "--mode"}  # of other programs
    used = set(re.findall(r"[`$/] ?reid-ref ([a-z-]+)\b", pages))
    assert len(named) >= 12 and len(used) >= 8
    options = "".join(command(*words, option).stdout for words in [[], *zip(used)]
                      for option in ("--help", *["--help-all"] * (words == ("evaluate",))))
    assert {name for name in named if name not in options} == set()
