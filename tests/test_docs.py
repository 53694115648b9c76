"""What the pages of docs/ show is what happens; the pages that are computed say what is so."""
import json
import re
import subprocess
import sys

import pytest

import reid_ref
from tests.documents import ROOT, run_page

PAGES = sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != "api.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, tmp_path):
    text = page.read_text()
    for module in set(re.findall(r"^(?:import|from) (torch|distributed)\b", text, re.MULTILINE)):
        pytest.importorskip(module)
    run_page(text, tmp_path)


ROWS = re.findall(r"^\| `reid-ref (.*?)` \| (.*?) \|$", (ROOT / "docs/json.md").read_text(),
                  re.MULTILINE)


def test_the_page_of_json_has_every_command():
    source = (ROOT / "reid_ref/commands").glob("*.py")
    prints_json = {path.stem.replace("_", "-") for path in source
                   if "print_json(" in path.read_text()} - {"common", "beside"}
    assert {command.split()[0] for command, _ in ROWS} == prints_json


@pytest.mark.parametrize(("command", "keys"), ROWS, ids=[command for command, _ in ROWS])
def test_keys_of_json(command, keys):
    done = subprocess.run([sys.executable, "-m", "reid_ref.cli", *command.split()], cwd=ROOT,
                          capture_output=True, text=True)
    assert list(json.loads(done.stdout)) == re.findall(r"`(\w+)`", keys), done.stderr
