"""`reid-ref check-table`: rows of Markdown tables that cannot be, and none that can."""
import re
from decimal import Decimal

import pytest

from reid_ref.cli import main
from reid_ref.commands.check_table import result_rows
from reid_ref.conventions import CONVENTIONS
from tests.commands.common import MARKET, MARS, assert_one_line_error, command
from tests.documents import ROOT

SIGNATURE = ("convention:matlab|ap:trapezoid|unmatched:zero|ties:gallery-order|distances:float64|"
             "queries:3368|gallery:19732|reid-ref:0.2.0")


def check(text, tmp_path, capsys, *options):
    """Return the exit code, the problems without the file's name, and the summary."""
    path = tmp_path / "README.md"
    path.write_text(text)
    status = main(["check-table", str(path), *options])
    out, err = capsys.readouterr()
    assert err == ""
    *lines, summary = out.splitlines()
    assert all(line.startswith(f"{path}:") for line in lines)
    return status, [line.removeprefix(f"{path}:") for line in lines], summary


def table(*rows, heading="Rank-1 | mAP"):
    return "\n".join([f"| Method | {heading} |", "|:--" * 3 + "|", *rows])


# ---------------------------------------------------------------- impossible

def test_no_count_of_queries(tmp_path, capsys):
    """3028 of 3368 is 89.90499 percent, 3029 is 89.93468: no count is printed 89.91."""
    text = table("| ours | 89.90 | 70 |", "| DenseNet | **89.91%** | 73.58% |", "| a | 89.9 | 3 |")
    assert check(text, tmp_path, capsys, "--dataset", "market1501") == (1, [
        "4: DenseNet: Rank-1 89.91 is no count of 3,368 queries: the nearest are 3,028 (89.90499) "
        "and 3,029 (89.93468)"],
        "3 rows with Rank-k, mAP or mINP: 0 with a signature; counts k/N checked in 3; 1 "
        "impossible")
    assert check(text, tmp_path, capsys)[:2] == (0, [])  # of an unknown number of queries


def test_a_signature_says_how_many_queries(tmp_path, capsys):
    below = table("| ours | 89.91 | 70 |") + f"\n\n- ours: `{SIGNATURE}`\n"
    inside = SIGNATURE.replace("|", r"\|")
    for text in (below, table(f"| ours | 89.91 | `{inside}` |")):
        status, (line,), summary = check(text, tmp_path, capsys, "--dataset", "dukemtmc")
        assert status == 1 and "89.91 is no count of 3,368 queries" in line
        assert "1 with a signature; counts k/N checked in 1" in summary


def test_a_curve_never_falls(tmp_path, capsys):
    text = table("| a | 94.5 | 93.0 |", "| b | 94.5 | 94.46 |", "| c | 94.5 | 94.50 |",
                 "| d | 94.50 | 94.49 |", heading="R1 | R5")
    assert check(text, tmp_path, capsys)[:2] == (1, [
        "3: a: Rank-5 93.0 is below Rank-1 94.5, but a CMC curve never falls",
        "6: d: Rank-5 94.49 is below Rank-1 94.50, but a CMC curve never falls"])


def test_over_100(tmp_path, capsys):
    assert check(table("| a | 100.1 | 200 |"), tmp_path, capsys, "--dataset", "mars")[1] == [
        "3: a: Rank-1 100.1 is over 100 percent", "3: a: mAP 200 is over 100 percent"]


@pytest.mark.parametrize(("old", "new", "problem"), [
    ("ap:trapezoid", "ap:step", "signature: ap is step, but convention matlab has trapezoid"),
    ("unmatched:zero", "unmatched:maybe", "signature unmatched: unknown 'maybe'; known: zero"),
    ("|ties:gallery-order", "", "signature: expected all of convention, ap, unmatched, ties,"),
    ("queries:3368", "queries:0", "signature: expected a number of images, got queries:0")])
def test_a_signature_that_cannot_be(old, new, problem, tmp_path, capsys):
    text = table("| ours | 89.91 | 70 |") + f"\n\n- ours: `{SIGNATURE.replace(old, new)}`\n"
    status, lines, _ = check(text, tmp_path, capsys)
    assert status == 1 and lines[0].startswith(f"3: ours: {problem}")


# ---------------------------------------------------------------- possible

@pytest.mark.parametrize("names", [
    ",".join(name for name in CONVENTIONS if not CONVENTIONS[name].needs_lists), "torchreid"])
def test_what_evaluate_prints_is_possible(names, tmp_path, capsys):
    assert main(["evaluate", MARKET, MARS, "--convention", names, "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    n = 2 * len(names.split(","))
    status, lines, summary = check(text, tmp_path, capsys)
    assert (status, lines) == (0, [])
    assert summary.startswith(f"{n} rows with Rank-k, mAP or mINP: {n} with a signature")


def test_one_digit_of_what_evaluate_prints_is_changed(tmp_path, capsys):
    main(["evaluate", MARKET, "--format", "markdown", "--name", r"R50 | ours [a](b)*"])
    text = capsys.readouterr().out
    assert check(text, tmp_path, capsys)[:2] == (0, [])
    status, lines, summary = check(text.replace("45.83", "45.84"), tmp_path, capsys)
    assert summary.startswith("1 row with Rank-k, mAP or mINP: 1 with a signature")
    assert status == 1 and lines == [
        r"3: R50 | ours [a](b)*: Rank-1 45.84 is no count of 48 queries: the nearest are 22 "
        "(45.83333) and 23 (47.91667)"]


# ---------------------------------------------------------------- reading

@pytest.mark.parametrize(("heading", "name"), [
    ("Rank-1", "Rank-1"), ("rank1", "Rank-1"), ("Rank@1", "Rank-1"), ("R-10", "Rank-10"),
    ("R@1 (%)", "Rank-1"), ("**Top-5**", "Rank-5"), ("CMC 20", "Rank-20"), ("mAP↑", "mAP"),
    ("MAP (%)", "mAP"), ("`mINP`", "mINP"), ("R50", "Rank-50"), ("Rank", None),
    ("Market-1501 Rank-1 / mAP", None), ("Params", None), ("rank1 gain", None)])
def test_headings(heading, name):
    rows = result_rows([f"|x|{heading}|", "|-|-|", "|a|3.5|"])
    assert [row.numbers for row in rows] == ([{name: Decimal("3.5")}] if name else [])


@pytest.mark.parametrize(("cell", "value"), [
    ("**94.2**", "94.2"), ("94.20 %", "94.20"), ("<b>94.2</b>", "94.2"), ("_94_", "94"),
    ("[94.2](log.txt)", "94.2"), ("~~94.2~~", "94.2"), ("0.942", "94.2"), ("0.9420", "94.20"),
    *((cell, None) for cell in ("-", "", "94.2 (82.6)", "94.2/82.6", "+1.3", "n/a", "94,2"))])
def test_cells(cell, value):
    rows = result_rows(["x | mAP", "--|--", f"a | {cell}"])
    assert [str(row.numbers["mAP"]) for row in rows] == ([value] if value else [])


def test_where_tables_are():
    page = ["x | mAP", "--|--", "a | 1.5", "", "| y | mAP |", "text", "```", "x | mAP", "--|--",
            "b | 1.5", "```", "  ~~~md", "x | mAP", "--|--", "c | 1.5", "  ~~~", "| x | mAP |",
            "|:-:|--:|", "| [d](link) | 1.5 | more |", "| e |"]
    assert [(row.line, row.name) for row in result_rows(page)] == [(3, "a"), (19, "d")]


@pytest.mark.parametrize(("options", "message"), [
    (["missing.md"], "missing.md: cannot be read: No such file or directory; expected Markdown"),
    ([MARKET], "market_like.mat: cannot be read: not text; expected Markdown"),
    ([str(ROOT / "README.md"), "--dataset", "market"], "--dataset: unknown 'market'; known: ")])
def test_wrong_input(options, message):
    assert_one_line_error(command("check-table", *options), re.escape(message))


def test_several_files(tmp_path, capsys):
    (tmp_path / "a.md").write_text(table("| a | 101 | 3 |"))
    (tmp_path / "b.md").write_text(table("| b | 50.5 | 3.2 |"))
    assert main(["check-table", str(tmp_path / "a.md"), str(tmp_path / "b.md")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{tmp_path}/a.md:3: a: Rank-1 101 is over")
    assert lines[1].startswith("2 rows")
