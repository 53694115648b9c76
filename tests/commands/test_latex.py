"""Tables for a paper, set by pdflatex in articles of two columns: nothing is wider than its place.

.ci/release requires pdflatex (REID_REF_LATEX=required); elsewhere these are skipped without it.
"""
import shutil
import subprocess

import pytest

from tests.commands.common import MARKET, lists, table
from tests.commands.test_table import of_thirty
from tests.installed import absent

NAMES = ["--name", "BoT (R50),TransReID (ViT-B),CLIP-ReID"]
CLASSES = [r"\documentclass[twocolumn]{article}", r"\documentclass[10pt,conference]{IEEEtran}",
           r"\documentclass[sigconf,nonacm]{acmart}"]


@pytest.fixture(autouse=True)
def _pdflatex():
    if shutil.which("pdflatex") is None:
        absent("pdflatex is not installed", "REID_REF_LATEX")


def tables(folder):
    """Every kind of table by the command that prints it; single ones are a column wide."""
    for name, wrong in (("ours", 2), ("baseline", 12)):
        (folder / name).mkdir()
        for n, benchmark in enumerate(("Market-1501", "DukeMTMC-reID", "MSMT17"), 30):
            of_thirty(wrong, n).save(folder / name / f"{benchmark}.json")
    of_lists = [*lists("mat", "match28000_Mslm", "match6500"), *NAMES]
    ours, baseline = (folder / name / "MSMT17.json" for name in ("ours", "baseline"))
    return [table(*words, "--format", "latex") for words in (
        ["evaluate", *of_lists, "--confidence"], ["compare", *of_lists],
        ["compare", *of_lists, "--all-pairs"], ["evaluate", *of_lists, "--mean", "runs"],
        ["compare", baseline, ours], ["evaluate", MARKET], ["evaluate", MARKET, "--ranks", "1"],
        ["compare", folder / "baseline", folder / "ours"])]


def pdflatex(folder, text):
    """Set a text; return the log."""
    (folder / "paper.tex").write_text(text)
    subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
                   cwd=folder, capture_output=True, check=False, timeout=300)
    return (folder / "paper.log").read_text(errors="replace")


@pytest.mark.parametrize("document", CLASSES)
def test_tables_fit(document, tmp_path):
    printed = tables(tmp_path)
    # Of comparisons every table is a column wide, of ranks to 20 two.
    assert [r"\begin{table}" in text for text in printed[:3]] == [False, True, True]
    log = pdflatex(tmp_path, "\n".join([
        document, r"\usepackage{booktabs}\begin{document}", *printed, r"\end{document}"]))
    if "not found" in log:
        absent("the class of the article is not installed", "REID_REF_LATEX")
    assert "Output written on paper.pdf" in log, log[-2000:]
    assert "Overfull" not in log, log[log.index("Overfull"):][:200]


def test_a_table_that_is_too_wide_is_seen(tmp_path):
    """The log is what says it: seven columns in the place of one."""
    wide = r"\begin{table}" + tables(tmp_path)[0].partition(r"\begin{table*}")[2].replace(
        "table*", "table")
    log = pdflatex(tmp_path, "\n".join([
        CLASSES[0], r"\usepackage{booktabs}\begin{document}", wide, r"\end{document}"]))
    assert "Output written on paper.pdf" in log and "Overfull" in log
