"""What a shell completes, asked in that shell; and the BibTeX entry."""
import re
import subprocess
import sys

import pytest

import reid_ref
from tests.commands.common import assert_one_line_error, command, table
from tests.documents import ROOT

#: Hands a line to the function that bash would call, and prints what it offers.
ASK = """
source ./script
read -ra COMP_WORDS <<< "$1"
[[ "$1" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p reid-ref | sed 's/.*-F \\([^ ]*\\).*/\\1/') reid-ref "${COMP_WORDS[-1]}" 2> /dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("shtab")
    folder = tmp_path_factory.mktemp("shell")
    (folder / "script").write_text(table("completion", "bash"))
    for name in ("model_a.mat", "model_b.npz"):
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(("line", "words"), [
    ("reid-ref ev", {"evaluate"}), ("reid-ref evaluate --resam", {"--resamples"}),
    ("reid-ref c", {"check-table", "compare", "conventions", "crosscheck",
                    "completion"}),
    ("reid-ref --c", {"--cite"}),
    ("reid-ref evaluate mod", {"model_a.mat", "model_b.npz"}),
    ("reid-ref evaluate --per-query model_a", {"model_a.mat"}),
    ("reid-ref evaluate --convention fast-", {
        "fast-reid", "fast-reid-function", "fast-reid-cython", "fast-reid-cython-function"}),
    ("reid-ref evaluate --format ma", {"markdown"}),
    ("reid-ref explain --from mar", {"mars"}), ("reid-ref explain --from laym", set()),
    ("reid-ref conventions reid-surv", {"reid-survey", "reid-survey-function"}),
    ("reid-ref protocols ltcc", {"ltcc"}), ("reid-ref table --metric eu", set()),
    ("reid-ref evaluate --protocol sysu-mm01-p", {"sysu-mm01-python"}),
    ("reid-ref baseline --driver mar", {"market1501", "mars"}),
    ("reid-ref completion ", {"bash", "zsh", "tcsh"})])
def test_bash(folder, line, words):
    done = subprocess.run(["bash", "--norc", "-c", ASK, "bash", line], cwd=folder,
                          capture_output=True, text=True)
    assert set(done.stdout.split()) == words, done.stderr


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_have_a_script(shell):
    pytest.importorskip("shtab")
    script = table("completion", shell)
    assert "model" not in script and "fast-reid-function" in script and "markdown" in script


def test_without_shtab(monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert_one_line_error(command("completion", "bash"), r"error: completion: needs shtab \(.*\); "
                          r'pip install "reid-ref\[completion\]"$')


def test_bibtex_says_what_the_citation_file_says():
    facts = dict(re.findall(r"^(\w+): \"?(.*?)\"?$", (ROOT / "CITATION.cff").read_text(),
                            re.MULTILINE))
    author, = re.findall(r"- name: (.*)", (ROOT / "CITATION.cff").read_text())
    assert facts["version"] == reid_ref.__version__
    assert table("--cite") == (
        "@misc{reid-ref,\n"
        f"  author = {{{{{author}}}}},\n"
        f"  title = {{{{{facts['title']}}}}},\n"
        f"  note = {{Version {facts['version']}, {facts['license']} license}}\n"
        "}\n")
