"""`reid-ref check-table`: tables in Markdown, HTML and LaTeX, and the rows that cannot be."""
import re
import time
from decimal import Decimal

import pytest

from reid_ref.cli import main
from reid_ref.commands.check_table import EXAMPLE, check_page
from reid_ref.conventions import CONVENTIONS
from reid_ref.datasets.benchmarks import benchmark_named
from reid_ref.datasets.published import counts_of, load, parse_figure, possible_on
from tests.commands.common import MARKET, MARS, command

SIGNATURE = ("convention:matlab|ap:trapezoid|unmatched:zero|ties:gallery-order|distances:float64|"
             "queries:3368|gallery:19732|reid-ref:0.2.0")


def check(text, tmp_path, capsys, *options):
    """Return the exit code, what is impossible without the file's name, and the summary."""
    path = tmp_path / "README.md"
    path.write_text(text)
    status = main(["check-table", str(path), *options])
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    summary = next(k for k, line in enumerate(lines) if not line.startswith(f"{path}:"))
    return status, [line.removeprefix(f"{path}:").replace(" impossible:", "")
                    for line in lines if ": impossible: " in line], "\n".join(lines[summary:])


def read(*lines):
    """Return each row as its name and its numbers: metric, benchmark, digits."""
    return [(one.row.name, [(number.metric, number.benchmark, number.printed)
                            for number in one.row.numbers]) for one in check_page(lines)[0]]


def table(*rows, heading="Rank-1 | mAP"):
    return "\n".join([f"| Method | {heading} |", "|:--" * 3 + "|", *rows])


# ---------------------------------------------------------------- impossible

def test_no_count_of_queries(tmp_path, capsys):
    """3028 of 3368 is 89.90499 percent, 3029 is 89.93468: no count is printed 89.91."""
    text = table("| ours | 89.90 | 70 |", "| DenseNet | **89.91%** | 73.58% |",
                 "| a | 89.9 | 73 |")
    assert check(text, tmp_path, capsys, "--dataset", "market1501") == (1, [
        "4: DenseNet: Rank-1 89.91 is no count of 3,368 queries: the nearest are 3,028 (89.9050) "
        "and 3,029 (89.9347)"],
        "3 rows read: 3 judged, 0 not judged; 1 impossible")
    done = command("check-table", tmp_path / "README.md")
    assert done.returncode == 2 and done.stdout.endswith(
        "3 rows read: 0 judged, 3 not judged; 0 impossible; not judged: no known benchmark named "
        "(--dataset NAME): 3\n")
    assert done.stderr.endswith(
        "got no number that could be judged; no known benchmark named (--dataset NAME)\n")


def test_a_signature_says_how_many_queries(tmp_path, capsys):
    below = table("| ours | 89.91 | 70 |") + f"\n\n- ours: `{SIGNATURE}`\n"
    inside = SIGNATURE.replace("|", r"\|")
    for text in (below, table(f"| ours | 89.91 | `{inside}` |")):
        status, (line,), summary = check(text, tmp_path, capsys, "--dataset", "dukemtmc")
        assert status == 1 and "89.91 is no count of 3,368 queries" in line
        assert summary == "1 row read: 1 judged, 0 not judged; 1 impossible"


def test_a_curve_never_falls(tmp_path, capsys):
    text = table("| a | 94.5 | 93.0 |", "| b | 94.5 | 94.46 |", "| c | 94.5 | 94.50 |",
                 "| d | 94.50 | 94.49 |", heading="R1 | R5")
    assert check(text, tmp_path, capsys)[:2] == (1, [
        "3: a: Rank-5 93.0 is below Rank-1 94.5, but a CMC curve never falls",
        "6: d: Rank-5 94.49 is below Rank-1 94.50, but a CMC curve never falls"])


def test_over_100(tmp_path, capsys):
    assert check(table("| a | 100.1 | 200 |"), tmp_path, capsys, "--dataset", "mars")[1] == [
        "3: a: Rank-1 100.1 is over 100 percent", "3: a: mAP 200 is over 100 percent"]


def test_map_out_of_reach(tmp_path, capsys):
    """`validate` called it impossible, and this did not."""
    for options, heading in ((["--dataset", "Market-1501"], ""), ([], "Market-1501")):
        text = f"# {heading}\n" + table("| swapped | 10.0 | 99.0 |", "| a | 90.1 | 75.0 |",
                                        "| b | 10.0 ± 0.1 | 99.0 |")
        status, (line,), _ = check(text, tmp_path, capsys, *options)
        assert status == 1
        assert line.startswith("4: swapped: mAP 99.0 is out of reach with Rank-1 10.0, which ")
    figure = parse_figure("10.0/99.0")
    bound = possible_on(figure, "market1501", [3368])[1][0]
    assert f"{100 * bound.low:.2f} to {100 * bound.high:.2f} ({bound.ap})" in line
    # There are no bounds where the good images are not on record.
    assert check("# PRW\n" + table("| a | 10.0 | 99.0 |"), tmp_path, capsys)[:2] == (0, [])


def test_map_is_out_of_reach_only_of_the_rank_1_that_it_goes_with():
    """Two Rank-1 and then two mAP may go together in any order."""
    page = ["# Market-1501", "| M | R-1 | R-1 | mAP | mAP |", RULE, "| a | 99.0 | 2.0 | 90 | 1 |"]
    assert not any(one.faults for one in check_page(page)[0])
    page[1:2] = ["| M | R-1 | mAP | R-1 | mAP |"]
    page[3:] = ["| a | 99.0 | 90 | 10.0 | 99 |"]
    assert ["mAP 99 " in fault for one in check_page(page)[0] for fault in one.faults] == [True]


@pytest.mark.parametrize(("choices", "is_out"), [
    ("matlab|ap:trapezoid", True), ("simpleir|ap:step", False), ("matlab|ap:sklearn-0.18", False)])
def test_a_signature_has_the_bounds_of_its_benchmark(choices, is_out, tmp_path, capsys):
    """No bounds are known of a convention that ignores no image, or of another AP rule."""
    signature = SIGNATURE.replace("matlab|ap:trapezoid", choices)
    if "simpleir" in choices:
        signature = signature.replace("|distances", "|ignored:nothing|recall:found|distances")
    text = table("| ours | 10.0 | 99.0 |") + f"\n\n- ours: `{signature}`\n"
    lines = check(text, tmp_path, capsys)[1]
    assert any("out of reach" in line for line in lines) == is_out


def test_other_digits_are_named_and_are_not_impossible(tmp_path, capsys):
    """81.9 of 3,368 may have got a zero from the page, and 92.75 may be cut off."""
    text = table("| a | 81.90 | 70 |", "| b | 92.75 | 70 |", "| c | 90.11 | 70 |")
    (tmp_path / "a.md").write_text(text)
    assert main(["check-table", str(tmp_path / "a.md"), "--dataset", "market"]) == 0
    said = [line.split(": ", 2)[2] for line in capsys.readouterr().out.splitlines()
            if "possible " in line and "rows" not in line]
    assert [line.split(":")[0] for line in said] == [
        "possible as 81.9", "possible only if truncated, not rounded"]
    assert "Rank-1 81.90 is no count of 3,368 queries" in said[0]


def test_a_row_without_a_fault_has_its_verdict(tmp_path, capsys):
    text = table("| a | 90.11 | 70 |", "| b | 90.12 | 70 |",
                 "| c (mean of several seeds) | 90.1 | 70 |")
    (tmp_path / "a.md").write_text(text)
    main(["check-table", str(tmp_path / "a.md"), "--dataset", "market"])
    assert [line.split(": ")[2] for line in capsys.readouterr().out.splitlines()[:-1]] == [
        "possible", "Rank-1 90.12, mAP 70", "impossible", "not judged"]


def test_mars_may_count_the_queries_with_a_good_image():
    """torchreid leaves its queries out of the gallery: 140 have no good image there."""
    page = ["# MARS", *table("| a | 89.62 | 84.0 |", "| b | 89.67 | 84.0 |",
                             "| c | 89.631 | 84.0 |").splitlines()]
    assert [bool(one.faults) for one in check_page(page)[0]] == [False, False, True]


@pytest.mark.parametrize(("old", "new", "problem"), [
    ("ap:trapezoid", "ap:step", "signature: ap is step, but convention matlab has trapezoid"),
    ("unmatched:zero", "unmatched:maybe", "signature unmatched: unknown 'maybe'; known: zero"),
    ("|ties:gallery-order", "", "signature: .*all of convention, ap, unmatched, ties"),
    ("queries:3368", "queries:0", "signature: .*queries from 1")])
def test_a_signature_that_cannot_be(old, new, problem, tmp_path, capsys):
    text = table("| ours | 89.91 | 70 |") + f"\n\n- ours: `{SIGNATURE.replace(old, new)}`\n"
    status, lines, _ = check(text, tmp_path, capsys)
    assert status == 1 and re.match(f"3: ours: {problem}", lines[0])


# ---------------------------------------------------------------- possible

@pytest.mark.parametrize("names", [
    ",".join(name for name in CONVENTIONS if not CONVENTIONS[name].needs_lists), "torchreid"])
def test_what_evaluate_prints_is_possible(names, tmp_path, capsys):
    assert main(["evaluate", MARKET, MARS, "--convention", names, "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    n = 2 * len(names.split(","))
    status, lines, summary = check(text, tmp_path, capsys)
    assert (status, lines) == (0, [])
    assert summary.startswith(f"{n} rows read: {n} judged")


def test_one_digit_of_what_evaluate_prints_is_changed(tmp_path, capsys):
    main(["evaluate", MARKET, "--format", "markdown", "--name", r"R50 | ours [a](b)*"])
    text = capsys.readouterr().out
    assert check(text, tmp_path, capsys)[:2] == (0, [])
    status, lines, summary = check(text.replace("45.83", "45.84"), tmp_path, capsys)
    assert summary == "1 row read: 1 judged (1 in part), 0 not judged; 1 impossible"
    assert status == 1 and lines == [
        r"3: R50 | ours [a](b)*: Rank-1 45.84 is no count of 48 queries: the nearest are 22 "
        "(45.8333) and 23 (47.9167)"]


# ---------------------------------------------------------------- reading

@pytest.mark.parametrize(("heading", "name"), [
    ("Rank-1", "Rank-1"), ("rank1", "Rank-1"), ("Rank@1", "Rank-1"), ("R-10", "Rank-10"),
    ("R@1 (%)", "Rank-1"), ("**Top-5**", "Rank-5"), ("CMC 20", "Rank-20"), ("mAP↑", "mAP"),
    ("MAP (%)", "mAP"), ("`mINP`", "mINP"), ("Market-1501 R1", "Rank-1"), ("R50", None),
    ("Rank", None), ("Params", None), ("rank1 gain", None), ("Avg. mAP", None), ("mAP@0.5", None),
    ("mAP50", None)])
def test_headings(heading, name):
    rows = read(f"|x|{heading}|", "|-|-|", "|a|3.5|")
    assert [metric for _, numbers in rows for metric, _, _ in numbers] == ([name] if name else [])


@pytest.mark.parametrize(("cell", "value"), [
    ("**94.2**", "94.2"), ("94.20 %", "94.20"), ("<b>94.2</b>", "94.2"), ("_94_", "94"),
    ("[94.2](log.txt)", "94.2"), ("~~94.2~~", "94.2"), ("94.2 (82.6)", "94.2"), ("0.942", "0.942"),
    ("94.2&nbsp;%", "94.2"), ("84.1 (+0.3)", "84.1"), ("84.1±0.3", "84.1"), ("94.2†", "94.2"),
    ("94,2", "94.2"), ("９４.2％", "94.2"), ("**94.2** [3]", "94.2"), ("94.2 [3, 17]", "94.2"),
    ("95.68±.05", "95.68"), (r"$95.68_{\pm 0.05}$", "95.68"), ("95.68 (0.05)", "95.68"),
    *((cell, None) for cell in ("-", "", "+1.3", "n/a", "ResNet-50", "9" * 30, "1 h"))])
def test_cells(cell, value):
    rows = read("x | mAP", "--|--", f"a | {cell}")
    assert [digits for _, numbers in rows for _, _, digits in numbers] == (
        [value] if value else [])


def test_shares_are_read_as_percent():
    (row,), _ = check_page(["x | mAP | R-1", "--|--|--", "a | 0.942 | 0.9420"])
    assert [one.percent for one in row.row.numbers] == [Decimal("94.2"), Decimal("94.20")]


UNREAD = ["٩٠.١٣", "-90.13", ".9013", "90.1.3", "9" * 5000, "90.13 w/ RR",
          "9.013e1", "90·13", "+1.3", "90.1/84.1 (3)"]


@pytest.mark.parametrize("cell", UNREAD)
def test_what_is_no_number_is_unread(cell, tmp_path, capsys):
    """It was left out without a word, or another number was read: 13 of a full-width 90.13."""
    one, heading = ("90.11", "Rank-1") if "/" not in cell.split()[0] else ("90.1/9", "R1/mAP")
    text = table(f"| a | {cell} | 70.1 |", f"| b | {one} | 70.1 |", heading=f"{heading} | mINP")
    (row, _), _ = check_page(text.splitlines())
    assert [number.printed for number in row.row.numbers] == ["70.1"]
    assert [unread for _, unread in row.row.unread] == [cell]
    (tmp_path / "a.md").write_text(text)
    assert main(["check-table", str(tmp_path / "a.md"), "--dataset", "market"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and f"a: unread: '{cell[:40]}" in out
    assert "Market-1501: no Rank-k: 1, unread cells: 1" in out
    (tmp_path / "a.md").write_text(text.replace("| 70.1", "| -").rsplit("\n", 1)[0])
    done = command("check-table", tmp_path / "a.md")
    assert done.returncode == 2 and "no number that could be judged" in done.stderr


@pytest.mark.parametrize("cell", ["-", "", "n/a", "×", "[1.2, 3.4]", "[12]", "ResNet-50"])
def test_what_is_not_meant_as_a_number_is_left_out(cell):
    (row,), unread = check_page(table(f"| a | {cell} | 70.1 |").splitlines())
    assert (row.row.unread, unread) == ((), [])


def test_a_column_without_a_metric_is_not_unread():
    page = ["| M | Params | GFLOPs | Market |", RULE, "| a | 2,2 | 4.1 | 9 (8) |",
            "| Std | 1,1 | 0,1 | 0.1 |"]
    (row, *_), _ = check_page(page, columns=("Rank-1", "mAP"))
    assert (len(row.row.numbers), row.row.unread) == (2, ())


def test_a_network_is_no_rank(tmp_path, capsys):
    """The parameters of R-50 were its Rank-50, below its Rank-1, and so impossible."""
    text = "## Market-1501\n\n| Backbone | Params | Rank-1 |\n|--|--|--|\n" + "\n".join(
        f"| {name} | {params} | 94.5 |" for name, params in (
            ("R-50", 25.6), ("R 101", "44,6"), ("R_152-ibn", 60.2)))
    assert [len(numbers) for _, numbers in read(*text.splitlines())] == [1, 1, 1]
    status, lines, summary = check(text, tmp_path, capsys)
    assert (status, lines) == (0, []) and "unread" not in summary


def test_cells_that_the_user_describes_are_unread():
    page = ["| M | Params | Market | Duke |", RULE,
            "| a | 2,2 | 94;2 (84,1) | 9 (8) |", "| b | 2.2 | 9 (8) | 90.1 80.2 70.3 |"]
    rows = [row for row, *_ in check_page(page, columns=("Rank-1", "mAP"))[0]]
    assert [len(row.numbers) for row in rows] == [2, 2]
    assert [row.unread for row in rows] == [
        (("Rank-1/mAP", "94;2 (84,1)"),), (("Rank-1/mAP", "90.1 80.2 70.3"),)]


def test_a_table_of_which_nothing_was_read_is_named(tmp_path, capsys):
    """Beside a table that was read it was left out without a word."""
    text = table("| a | 90.11 | 70.1 |") + "\n\n| Set | images |\n|--|--|\n| Market | 9 |\n"
    status, _, summary = check(text, tmp_path, capsys, "--dataset", "market")
    assert status == 0 and summary.startswith(
        f"unread: tables of which no number was read, at {tmp_path}/README.md:5\n1 row read")
    (tmp_path / "a.md").write_text(text + "\n" + table("| a | 90.1.1 | 70.1.1 |"))
    done = command("check-table", tmp_path / "a.md")
    assert done.returncode == 2 and "no number that could" in done.stderr


def test_what_is_in_a_comment_is_on_no_page():
    """`<!-- | M | mAP |` was a header with one more column: each number was its neighbour's."""
    old = ["<!-- | M | R-1 | mAP |", RULE, "| a | 9 | 8 |", "| b | 7 | 6 | -->"]
    new = ["| M | R-1 | mAP |", RULE, "| c | 5 <!-- 55 --> | 4 |"]
    (row, *_), = check_page(["# Market", *old, *new])[0]
    assert (row.line, row.name) == (8, "c") and [one.printed for one in row.numbers] == ["5", "4"]
    assert len(check_page(["text <!-- without end", new[0], new[1], "| c | 5 | 4 |"])[0]) == 1


def test_where_tables_are():
    page = ["x | mAP", "--|--", "a | 1.5", "", "| y | mAP |", "text", "```", "x | mAP", "--|--",
            "b | 1.5", "```", "  ~~~md", "x | mAP", "--|--", "c | 1.5", "  ~~~", "| x | mAP |",
            "|:-:|--:|", "| [d](link) | 1.5 | more |", "| e |"]
    assert [(one.row.line, one.row.name) for one in check_page(page)[0]] == [(3, "a"), (19, "d")]


LATEX = r"""
\section{Experiments} % on Market-1501
\begin{table*}[t]
\caption{Comparison on MSMT17~\cite{wei}.}
\begin{tabular}{l|cc|cc}
\toprule
\multirow{2}{*}{Method} & \multicolumn{2}{c|}{Market-1501} & \multicolumn{2}{c}{SYSU-MM01} \\
\cmidrule(lr){2-3} \cmidrule(lr){4-5}
 & \begin{tabular}{@{}c@{}}R-1\\(\%)\end{tabular} & mAP & R-1 & mAP \\[2pt] \midrule
\rowcolor{gray!20} OSNet$^\dag$~\cite[p.~3]{zhou} & 94.80 & \underline{84.9} & 47.50 & 47.65 \\
\multicolumn{5}{l}{\textit{With re-ranking}} \\
ours & \textbf{89.91} & {\color{red}\bf 86.0} & 47.5$_{\pm 0.2}$ & -- \\
\bottomrule
\end{tabular}
\end{table*}
\begin{tabular}{lc} & Rank-1 \cr \hline ours & 81.2 \cr \end{tabular}
""".splitlines()


def test_latex():
    market, sysu = "market1501", "sysu-mm01"
    assert read(*LATEX) == [
        ("OSNet†", [("Rank-1", market, "94.80"), ("mAP", market, "84.9"),
                    ("Rank-1", sysu, "47.50"), ("mAP", sysu, "47.65")]),
        ("ours", [("Rank-1", market, "89.91"), ("mAP", market, "86.0"),
                  ("Rank-1", sysu, "47.5")]),
        ("ours", [("Rank-1", None, "81.2")])]
    first, second, third = check_page(LATEX)[0]
    assert [one.row.line for one in (first, second, third)] == [10, 12, 16]
    assert first.faults == third.faults == ()
    assert "89.91 is no count of 3,368 queries" in second.faults[0]


def test_latex_of_papers():
    page = [r"\begin{tabular}{lc} & Rank-1 \\ \Xhline{1pt}", r"A$\alpha$ \cite{x} & 81.2 \\",
            r"\Xhline{.5pt} ours, $\lambda{=}0.2$ & \colorbox{best}{\bf 82.3} \\",
            r"\end{tabular}"]
    assert read(*page) == [("Aα", [("Rank-1", None, "81.2")]),
                           ("ours, λ=0.2", [("Rank-1", None, "82.3")])]


def test_groups_of_rows():
    """A deviation is no result."""
    page = r"""\begin{tabular}{llcc} & & R-1 & R-5 \\
        \multirow{2}{*}{Part-based} & MSCAN \cite{x} & 80.3 & 90.1 \\ & PCB & 92.3 & 93.1 \\
        \multicolumn{2}{l}{Baseline} & 88.1 & 92.0 \\ BoT & - & 94.5 & 97.2 \\
        Mean & & 88.8 & 93.1 \\ Std & & 6.2 & 2.9 \\ \end{tabular}""".splitlines()
    assert [name for name, _ in read(*page)] == ["Part-based", "PCB", "Baseline", "BoT", "Mean"]


HTML = """
<h2>Supervised</h2><table><caption>VehicleID</caption>
<tr><th rowspan=2>Method</th><th colspan="2">Duke<br>MTMC</th><th>Occluded-Duke</th></tr>
<tr><th>mAP</th><th>R1</th><th>mAP</th></tr>
<tr><td rowspan="2">ViT &amp; co</td><td>79.6</td><td><b>89.0</b></td><td>53.8</td></tr>
<tr><td>80.1</td><td>200</td><td></td></tr>
</table>""".splitlines()


def test_html():
    duke, occluded = "dukemtmc", "occluded-duke"
    assert read(*HTML) == [
        ("ViT & co", [("mAP", duke, "79.6"), ("Rank-1", duke, "89.0"),
                      ("mAP", occluded, "53.8")]),
        ("ViT & co", [("mAP", duke, "80.1"), ("Rank-1", duke, "200")])]
    assert check_page(HTML)[0][1].faults == ("Rank-1 200 is over 100 percent",)


# ---------------------------------------------------------------- which benchmark

RULE = "|--|--|--|--|--|"


@pytest.mark.parametrize(("page", "benchmarks"), [
    (["# Market-1501", "## Baselines", "| M | R-1 |", RULE, "| a | 9 |"], ["market1501"]),
    (["Market", "======", "| M | R-1 |", RULE, "| a | 9 |"], ["market1501"]),
    (["## MSMT17_V1", "**Market1501 -> DukeMTMC**", "| M | R-1 |", RULE, "| a | 9 |"],
     ["dukemtmc"]),
    (["Market and Duke:", "| M | R-1 |", RULE, "| a | 9 |"], ["several"]),
    (["# MARS", "| M | Market R1 | New R1 |", RULE, "| a | 9 | 8 |"], ["market1501", "unknown"]),
    (["# MARS", "| Dataset | R-1 |", RULE, "| VeRi | 9 |", "| Mine | 8 |"],
     ["veri-776", "unknown"]),
    (["# MARS", "| Pre-trained | R-1 |", RULE, "| MSMT17 | 9 |"], ["mars"]),
    (["# MARS", "| Source | Target | R-1 |", RULE, "| Duke | CUHK03-NP | 9 |"], ["cuhk03-np"]),
    (["# MARS", "| Source -> Target | R-1 |", RULE, "| Market → Duke | 9 |", "| MSMT2Market | 8 |",
      "| M → MS | 7 |", "| Mine | 6 |"], ["dukemtmc", "market1501", "unknown", "unknown"]),
    (["# MARS", "| Training → testing | R-1 |", RULE, "| Duke | 9 |"], ["dukemtmc"]),
    (["| | M | R-1 |", RULE, "| Market | a | 9 |", "| | b | 8 |", "| Duke | | |", "| | c | 7 |"],
     ["market1501", "market1501", "dukemtmc"]),
    (["| | Market | Duke |", RULE, "| R-1 | 9 | 8 |"], ["market1501", "dukemtmc"]),
    (["| M | Market | | VERI-Wild | |", RULE, "| | R1 | mAP | R1 | mAP |", "|a|9|8|7|6|"],
     ["market1501", "market1501", "veri-wild", "veri-wild"]),
    (["| M | Rank | | mAP |", RULE, "| | 1 | 5 | |", "| PRW | 9 | 9 | 8 |"], ["prw"] * 3),
    (["| M | Market R1/mAP |", RULE, "| a | 9/8 |"], ["market1501", "market1501"]),
    # One domain to another; letters name none.
    (["# MARS", "## MSMT2Market", "| M | R-1 |", RULE, "| a | 9 |"], ["market1501"]),
    (["# MARS", "## Market2MSMT", "| M | R-1 |", RULE, "| a | 9 |"], ["msmt17"]),
    (["# MARS", "## Market2Mine", "| M | R-1 |", RULE, "| a | 9 |"], ["unknown"]),
    (["# MARS", "## Market -> Mine", "| M | R-1 |", RULE, "| a | 9 |"], ["unknown"]),
    (["# MARS", "## Market →", "| M | R-1 |", RULE, "| a | 9 |"], ["unknown"]),
    (["# MARS", "| M | market1501_to_duke | | MSMT17toMarket |", RULE, "| | R1 | mAP | R1 |",
      "|a|9|8|7|"], ["dukemtmc", "dukemtmc", "unknown"]),
    (["# MARS", "| M | MS+D+C->M | | M → Duke R-1 |", RULE, "| | R1 | mAP | |", "|a|9|8|7|"],
     ["unknown", "unknown", "dukemtmc"]),
    (["# MSMT17 -> Market & Duke", "| M | R-1 |", RULE, "| a | 9 |"], ["several"]),
    (["# CUHK03-NP", "| | Labeled | Labeled | detected |", RULE,
      "| M | R@1 | mAP | R@1 |", "|a|9|8|7|"],
     ["cuhk03-np-labeled", "cuhk03-np-labeled", "cuhk03-np-detected"]),
    (["# CUHK03 (CUHK03-NP)", "| M | R-1 |", RULE, "| a | 9 |"], ["several"])])
def test_what_a_number_is_of(page, benchmarks):
    assert [key for _, numbers in read(*page) for _, key, _ in numbers] == benchmarks


SECTIONS = {
    "Markdown": ("| M | R-1 |\n" + RULE, "| **{}** | |", "| {} | {} |", ""),
    "HTML": ("<table><tr><th>M<th>R-1</tr>", "<tr><td colspan=2>{}</tr>", "<tr><td>{}<td>{}</tr>",
             "</table>"),
    "LaTeX": (r"\begin{{tabular}}{{lc}} M & R-1 \\", r"\multicolumn{{2}}{{l}}{{{}}} \\",
              r"{} & {} \\", r"\end{{tabular}}")}


@pytest.mark.parametrize("form", SECTIONS)
@pytest.mark.parametrize(("lines", "benchmarks"), [
    ("Market/9/8/Duke/7/6", ["market1501"] * 2 + ["dukemtmc"] * 2),
    ("7/Duke/7", ["mars", "dukemtmc"]), ("Supervised/9/Duke/7", ["mars", "dukemtmc"]),
    ("Market/9/Mine/8/Duke/7", ["market1501", "unknown", "dukemtmc"]),
    ("Market/9/With re-ranking/8", ["market1501", "unknown"]),
    ("9/With re-ranking/8/Transformer-based methods/7", ["mars"] * 3),
    ("9/Duke → Market/8/Pretrained on Duke/7", ["mars", "market1501", "unknown"]),
    ("Market/9/Our data set/8/Supervised/7", ["market1501", "unknown", "unknown"])])
def test_lines_across_a_table_name_benchmarks(form, lines, benchmarks):
    """All was of the first such line; in Markdown of none."""
    head, across, row, end = SECTIONS[form]
    page = [head, *(row.format("a", line) if line.isdigit() else across.format(line)
                    for line in lines.split("/")), end]
    page = "\n".join(["# MARS", *page]).replace("{{", "{").replace("}}", "}").splitlines()
    assert [key for _, numbers in read(*page) for _, key, _ in numbers] == benchmarks


@pytest.mark.parametrize(("head", "below", "benchmarks"), [
    ("| M | R-1 | R-1 |", "| | Market | Duke |", ["unknown"] * 2),
    ("| M | Market R-1 | Duke R-1 |", "| MSMT17 | | |", ["several"] * 2),
    ("| M | Market R-1 | Market R-5 |", "| MSMT17 | | |", ["several"] * 2),
    ("| M | Market R-1 | Market R-5 |", "| Market | | |", ["market1501"] * 2)])
def test_rows_of_benchmarks_in_the_middle(head, below, benchmarks):
    """The header held for all; a line that names another may be what was trained on."""
    rows = ["| | PRW | LTCC |"] if "unknown" in benchmarks else [below]
    page = [head, RULE, below, "| a | 9 | 9 |", *rows, "| a | 8 | 9 |"]
    assert [key for _, key, _ in read(*page)[-1][1]] == benchmarks


@pytest.mark.parametrize("row", [
    "ResNet50 (pretrained on {}) |", "ResNet50 pre-trained on {} |", "{} pretraining |",
    "R50 [MSMT17 pretrain, {}] |", "Market-1501 (extra data: {}) |"])
@pytest.mark.parametrize("heading", ["Extra data", "Pretrain", "Additional data", "Init"])
def test_what_a_model_learned_from_is_not_its_benchmark(row, heading):
    """Of such a row that was the benchmark, and of a column with "Extra" or "Pretrain"."""
    page = ["# Market-1501", f"| M | {heading} | R-1 |", RULE, f"| {row} | 9 |".format("Duke"),
            "| a | Duke | 9 |", "| Pretrained on Duke | | |", "| a | | 9 |"]
    assert [key for _, numbers in read(*page) for _, key, _ in numbers] == [
        "unknown", "market1501", "unknown"]


@pytest.mark.parametrize("head", [
    r"\multicolumn{3}{c}{Market-1501} \\ M & R-1 & mAP \\",
    r"& \multicolumn{2}{c}{Market-1501} \\ M & R-1 & mAP \\"])
def test_a_benchmark_above_the_metrics_is_a_header(head):
    """Above the header the line is a title, and those below are nearer."""
    page = [r"\begin{tabular}{lcc}", head, r"a & 9 & 8 \\ \multicolumn{3}{c}{With re-ranking} \\",
            r"a & 9 & 8 \\", r"\end{tabular}"]
    assert {key for _, numbers in read(*page) for _, key, _ in numbers} == {"market1501"}


def test_no_number_is_checked_against_another_benchmark(tmp_path, capsys):
    """70.05 is no count of Market-1501's queries, but it is RegDB's."""
    text = "\n".join(["# RegDB", table("| AGW | 70.05 | 66.37 |"), "# CUHK03 and Market",
                      table("| a | 70.05 | 3 |"), "# Mine", table("| b | 70.05 | 3 |")])
    status, lines, summary = check(text, tmp_path, capsys, "--dataset", "Market-1501")
    assert (status, len(lines)) == (1, 1) and lines[0].startswith("12: b: Rank-1 70.05")
    assert summary == (
        "3 rows read: 1 judged, 2 not judged; 1 impossible; not judged: RegDB: no count on record "
        "(--queries N): 1, several benchmarks: 1")


@pytest.mark.parametrize(("key", "n_queries"), [
    ("cuhk-sysu", [2900]), ("prw", [2057]), ("mars", [1980, 1840]), ("regdb", []), ("ltcc", []),
    ("ag-reid", []), ("sysu-mm01", []), ("viper", []), ("several", [])])
def test_counts_are_those_of_published_figures(key, n_queries):
    """PRW was said to have none; LTCC has 493 queries, but not in every protocol."""
    assert list(counts_of(key)) == n_queries
    printed = {row.n_query for row in load() if benchmark_named(row.dataset) == key}
    assert not n_queries or printed - {""} == {str(n) for n in n_queries}
    page = [f"# {key}", *table("| a | 87.617 | 3 |").splitlines()]
    (checked,), _ = check_page(page)
    assert len(checked.faults) == checked.is_judged == bool(n_queries)


def test_rows_are_printed_with_the_digits_as_read(tmp_path, capsys):
    (tmp_path / "a.md").write_text(table("| ours | **0.9451** | 0.8 |", heading="Duke R1 | mAP"))
    assert main(["check-table", str(tmp_path / "a.md")]) == 1
    line, fault, *_ = capsys.readouterr().out.splitlines()
    assert line == (f"{tmp_path}/a.md:3: ours: DukeMTMC-reID Rank-1 0.9451; (unknown benchmark) "
                    "mAP 0.8")


def test_a_long_name_is_cut(tmp_path, capsys):
    (tmp_path / "page.md").write_text(f"| M | Rank-1 |\n|---|---|\n| {'x' * 999} | 90.0 |\n")
    assert main(["check-table", str(tmp_path / "page.md"), "--dataset", "market"]) == 0
    assert f": {'x' * 77}...: possible: Rank-1 90.0\n" in capsys.readouterr().out


def test_a_mean_over_runs_is_no_count(tmp_path, capsys):
    for row in ("| a | 89.91 ± 0.2 | 70 |", "| **Mean** | 89.91 | 70 |", "| Std. | 89.91 | 0.3 |"):
        text = table("| a | 89.90 | 70 |", row)
        assert check(text, tmp_path, capsys, "--dataset", "market")[:2] == (0, [])


# ---------------------------------------------------------------- what is refused

@pytest.mark.parametrize(("text", "message"), [
    ("| Model | Accuracy on Market |\n|--|--|\n| a | 94.5 |",
     "a table with Rank-k, mAP or mINP in its header, .*columns Model, Accuracy on Market"),
    (r"\begin{tabular}{lc} Method & Market \\ ours & 94.5 \\ \end{tabular}", "Method, Market"),
    ("No table.", "a table with Rank-k, mAP or mINP in its header, .*none")])
def test_a_page_that_is_not_understood_is_never_0(text, message, tmp_path):
    path = tmp_path / "paper.tex"
    path.write_text(text)
    done = command("check-table", path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert re.search(message, done.stderr)
    (tmp_path / "filled.md").write_text(done.stdout.split("\n", 1)[1])
    assert [row.numbers[0].metric for row, *_ in check_page(EXAMPLE.splitlines())[0]] == [
        "Rank-1"] * 3
    assert main(["check-table", str(tmp_path / "filled.md"), "--strict"]) == 0


def test_several_files(tmp_path, capsys):
    (tmp_path / "a.md").write_text(table("| a | 101 | 3 |"))
    (tmp_path / "b.md").write_text(table("| b | 50.5 | 3.2 |"))
    (tmp_path / "c.md").write_text("No table at all.")
    assert main(["check-table", *(str(tmp_path / f"{name}.md") for name in "abc")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{tmp_path}/a.md:3: a: Rank-1 101, mAP 3"
    assert lines[1].startswith(f"{tmp_path}/a.md:3: a: impossible: Rank-1 101 is over")
    assert lines[3].startswith("2 rows")


# ---------------------------------------------------------------- hostile pages

N = 20_000
HOSTILE = {
    "dashes": " " * N + "-" + " " * N + "x", "blanks": " " * N + "-x", "tabs": "\t" * N + "-x",
    "brackets": "[" * N, "links": "[](" * N, "named links": "[x](" * N,
    "signatures": f"| {'convention:' * N} | 3 | 4 |",
    "benchmarks": f"| {'market to ' * N} | 3 | 4 |", "digits": f"| a | {'9' * N} | {'9.' * N} |",
    "arrows": f"| Market Duke {'-' * N} | 3 | 4 |", "tags": "<table>" + "<" * N,
    "comments": "<table>" + "<!--" * N, "shut comments": "<!-->-->" * N,
    "marked": "<table>" + "<![" * N, "quotes": "<table><a " + "='\"" * N,
    "cells": "<table><tr>" + "<td colspan=99 rowspan=99999999999>" * N,
    "character": "<table><tr><td>&#" + "9" * N, "pipes": "|" * N,
    "braces": r"\begin{tabular}{l}" + "{" * N, "captions": r"\begin{table}" + r"\caption{" * N,
    "options": r"\begin{tabular}{l}" + r"\cite[" * N + r"\end{tabular}",
    "nested": r"\begin{tabular}" * N,
    "twos": f"| {'2' * N} | 3 | 4 |", "domains": f"| {'market2' * N} | 3 | 4 |",
    "letters": f"| {'m+' * N}->{'m ' * N} | 3 | 4 |", "signs": f"| a | {'-(' * N}9 | {'_' * N} |",
    "spans": r"\begin{tabular}{l}" + r"\multicolumn{999}{c}{9} & " * N}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_line_takes_linear_time(name):
    """Any of these took over 20 s, or would: a pattern that can match in two ways, or a search."""
    start = time.process_time()
    check_page(["| M | Rank-1 | mAP |", HOSTILE[name], "|--|--|--|", HOSTILE[name]])
    assert time.process_time() - start < 2
