"""`check-table` on the tables of papers: what is judged, what is not, and which is said."""
import io
import time
from decimal import Decimal

import pytest

from reid_ref.cli import main
from reid_ref.commands.check_table import check_page
from reid_ref.datasets.published import counts_of
from tests.commands.common import command

RULE = "|--|--|--|--|--|"


def page_of(*rows, heading="Rank-1 | mAP", above=("# Market-1501",)):
    return [*above, "", f"| Method | {heading} |", RULE, *(f"| {row} |" for row in rows)]


def judged(page, **told):
    """Return, of each row, the reasons for what was not judged and whether it is impossible."""
    return [(one.unjudged, bool(one.faults)) for one in check_page(page, **told)[0]]


def check(page, tmp_path, capsys, *options):
    """Return the exit code, the last line and the error."""
    path = tmp_path / "page.md"
    path.write_text("\n".join(page))
    status = main(["check-table", str(path), *options])
    out, err = capsys.readouterr()
    return status, out.splitlines()[-1], err


# ---------------------------------------------------------------- what was not judged

UNNAMED = "no known benchmark named (--dataset NAME)"
MIXED = page_of("a | 94.42 | 86.1", "b (mean of runs) | 94.42 | 86.1", "c | 94..4 | 86.1",
                "d | - | -", "e | 90.1 | 70.1 | 80.2",
                heading="Market-1501 R-1 | Market-1501 mAP | RegDB R-1", above=())


def test_the_last_line_says_what_was_not_judged(tmp_path, capsys):
    status, last, err = check(MIXED, tmp_path, capsys)
    assert (status, err) == (0, "")
    assert last == ("4 rows read: 2 judged (1 in part), 2 not judged; 0 impossible; not judged: "
                    "mean of runs: 1, Market-1501: no Rank-k: 1, "
                    "RegDB: no count on record (--queries N): 1, unread cells: 1")
    assert check(MIXED, tmp_path, capsys, "--strict")[0] == 1
    assert check(page_of("a | 94.42 | 86.1"), tmp_path, capsys, "--strict")[0] == 0


def test_a_page_of_which_nothing_was_judged_is_2(tmp_path, capsys):
    """A gate that checked nothing was green."""
    page = page_of("a | 94.43 | 86.1", above=())
    status, last, err = check(page, tmp_path, capsys)
    assert status == 2 and last.endswith(f"not judged: {UNNAMED}: 1")
    assert err.count("\n") == 1 and "no number that could be judged" in err
    assert check(page, tmp_path, capsys, "--dataset", "market")[0] == 1
    assert check(page, tmp_path, capsys, "--queries", "1000000")[0] == 0
    assert check(page_of("a | 94.43 | 93.1", heading="R-1 | R-5", above=()), tmp_path,
                 capsys)[0] == 1  # impossible on any


# ---------------------------------------------------------------- means

@pytest.mark.parametrize(("above", "heading", "row", "runs"), [
    (["# Market-1501 (averaged over seeds)"], "R-1 | mAP", "a | 94.43 | 86.1", 0),
    (["# Market-1501", "", "Mean of 5 runs."], "R-1 | mAP", "a | 94.43 | 86.1", 5),
    (["# Market-1501", f"We print means over 3 random splits {'of all ' * 30}."], "R-1 | mAP",
     "a | 94.43 | 86.1", 3),
    (["# Market-1501"], "R-1 (10 trials) | mAP", "a | 94.43 | 86.1", 10),
    (["# Market-1501"], "R-1 | mAP", "a, avg. of folds | 94.43 | 86.1", 0),
    (["# Market-1501"], "R-1 | mAP", "a | 94.43 ± 0.2 | 86.1 ± .3", 0),
    (["# Market-1501"], "R-1 | mAP", "a | 94.43 (0.21) | 86.1 (0.4)", 0),
    (["# Market-1501"], "R-1 | mAP", r"a | $94.43_{\pm 0.2}$ | 86.1", 0),
    (["# Market-1501", "Mean average precision and Rank-1:"], "R-1 | mAP", "a | 94.43 | 86.1", 1),
    (["# Market-1501"], "R-1 | mAP", "Mutual Mean-Teaching | 94.43 | 86.1", 1),
    (["# Market-1501"], "R-1 | mAP", "average pooling | 94.43 | 86.1", 1),
    (["# Market-1501"], "R-1 (mAP)", "a | 94.43 (86.1)", 1),
    (["# Market-1501"], "R-1 (mAP)", "a | 14.44 (4.1)", 1)])
def test_means_of_runs(above, heading, row, runs):
    """All were counts of one run, and so impossible."""
    (one, *_), _ = check_page(page_of(row, heading=heading, above=above))
    assert one.row.numbers[0].runs == runs
    assert bool(one.faults) == (runs == 1)
    assert ("mean of runs" in one.unjudged) == any(n.runs == 0 for n in one.row.numbers)


def test_a_mean_of_known_runs_is_a_count_of_all():
    """Of 100 queries in three runs, 33.33 is 100 of 300, and 33.5 is none."""
    page = page_of("a | 33.33", "b | 33.50", heading="R-1", above=("3 runs:",))
    assert judged(page, queries=100) == [((), False), ((), True)]
    assert "100 queries in 3 runs" in check_page(page, queries=100)[0][1].faults[0]


# ---------------------------------------------------------------- whose row

@pytest.mark.parametrize(("above", "heading", "row", "benchmark"), [
    ([], "R-1 | mAP", "Market-1501 (+ rerank) | 95.68 | 94.1", "market1501"),
    ([], "R-1 | mAP", "market1501_sbs | 95.68 | 94.1", "market1501"),
    ([], "R-1 | mAP", "AGW on DukeMTMC-reID | 95.68 | 94.1", "dukemtmc"),
    (["# Duke"], "R-1 | mAP", "AGW on DukeMTMC-reID | 95.68 | 94.1", "dukemtmc"),
    # What stands further off names another one: it may be what a model learned from.
    (["# Duke"], "R-1 | mAP", "AGW (Market-1501) | 95.68 | 94.1", "unknown"),
    ([], "R-1 | mAP", "AGW pretrained on Market-1501 | 95.68 | 94.1", "unknown"),
    # Other benchmarks whose name holds a known one.
    ([], "R-1 | mAP", "Market-Sketch-1K | 95.68 | 94.1", "unknown"),
    ([], "R-1 | mAP", "Occluded Market | 95.68 | 94.1", "unknown"),
    (["# Market-1501-C"], "R-1 | mAP", "a | 95.68 | 94.1", "unknown"),
    (["# Occluded-DukeMTMC"], "R-1 | mAP", "a | 95.68 | 94.1", "occluded-duke"),
    # A lower heading that names something.
    (["# Market-1501", "## HITSZ-VCM"], "R-1 | mAP", "a | 95.68 | 94.1", "unknown"),
    (["# Market-1501", "## Re-ID results (mAP, Rank-1)"], "R-1 | mAP", "a | 95.68 | 94.1",
     "market1501"),
    (["# OSNet-AIN"], "R-1 | mAP", "a | 95.68 | 94.1", None),
    # Columns of citations.
    (["# Market-1501"], "Paper R-1 | Paper mAP", "a | 95.68 | 94.1", "market1501"),
    (["# Market-1501"], "Rank-1 (reference) | mAP", "a | 95.68 | 94.1", "market1501")])
def test_whose_row_it_is(above, heading, row, benchmark):
    (one,), _ = check_page(page_of(row, heading=heading, above=above))
    assert {number.benchmark for number in one.row.numbers} == {benchmark}
    assert len(one.row.numbers) == 2


def test_what_is_no_number_of_ours():
    page = page_of("[a](x) | 0.9181 | 90.1", heading="Paper | Acc@1 | detection mAP")
    assert not check_page(page)[0] or not check_page(page)[0][0].row.numbers


def test_columns_says_what_numbers_are(tmp_path, capsys):
    """ "88.5 (71.3)" and "67.4/85.9" below a benchmark's name, and Acc@1."""
    for cells in ("94.43 (86.1)", "94.43/86.1"):
        page = page_of(f"a | {cells}", heading="Market-1501", above=())
        status, last, err = check(page, tmp_path, capsys)
        assert status == 2 and "--columns Rank-1,mAP" in err
        assert check(page, tmp_path, capsys, "--columns", "Rank-1,mAP")[0] == 1
        assert check(page, tmp_path, capsys, "--columns", "mAP,Rank-1")[0] == 0
    page = page_of("a | 0.9443 | 0.861", heading="Acc@1 | mAP")
    (one,), _ = check_page(page)
    assert [(number.metric, str(number.percent)) for number in one.row.numbers] == [
        ("mAP", "86.1")]
    assert check(page, tmp_path, capsys, "--columns", "Rank-1,mAP")[0] == 1


def test_pairs_below_benchmarks(tmp_path, capsys):
    """Both numbers of a pair were read as one measure; a number alone was left out unsaid."""
    page = page_of("a | 94.43/86.1 | 75.1/52.3", "b | 94.42 | 75.1/52.3",
                   heading="Market-1501 | MSMT17", above=())
    first, second = (one.row for one in check_page(page)[0])
    assert len(first.numbers) == 4 and second.unread == (("the name of a benchmark", "94.42"),)
    first, second = check_page(page, columns=("Rank-1", "mAP"))[0]
    assert [number.metric for number in first.row.numbers] == ["Rank-1", "mAP"] * 2
    assert first.faults and second.row.unread == (("Rank-1/mAP", "94.42"),)
    page = page_of("images | 751 | 4101", heading="Market-1501 | MSMT17", above=())
    assert [len(part) for part in check_page(page)] == [0, 1]
    page = page_of("a | 94.42 | 86.1") + ["", *page]
    assert check(page, tmp_path, capsys)[0] == 0
    assert check(page, tmp_path, capsys, "--strict")[0] == 1


def test_fractions():
    """A row of a collapsed network is in percent, as the others are."""
    (first, second), _ = check_page(page_of("a | 94.4 | 86.1", "b | 0.3 | 0.9"))
    assert [str(number.percent) for number in second.row.numbers] == ["0.3", "0.9"]
    (_, second), _ = check_page(page_of("a | 94.4 | 86.1", "b | 0.9442 | 0.861"))
    assert [str(number.percent) for number in second.row.numbers] == ["94.42", "86.1"]


def test_exchanged_columns(capsys, tmp_path):
    page = page_of("a | 67.6 | 90.2 | 96.4", "b | 72.5 | 93.3 | 97.1", "c | 60.1 | 70.2 | 50.4",
                   heading="R-1 | R-5 | mAP", above=("# PRW",))
    (first, *rest), _ = check_page(page)
    assert first.doubts == (
        "mAP is above Rank-5 in 2 of 3 results: the columns are probably exchanged",)
    assert not any(row.doubts for row in rest)
    assert not any(row.doubts for row in check_page(page[:-2])[0])


# ---------------------------------------------------------------- counts on record

@pytest.mark.parametrize(("key", "counts"), [
    ("rstpreid", (2000, 1000)), ("cuhk-pedes", (6156, 3074)), ("icfg-pedes", (19848,)),
    ("duke-video", (702,)), ("celeb-reid", (2972,)), ("last", (10176,)), ("deepchange", (17527,)),
    # Means over draws, and parts whose number of queries is not known.
    ("prcc", ()), ("llcm", ()), ("vc-clothes", ()), ("mevid", ()), ("ccvid", ()), ("grid", ())])
def test_counts_that_protocols_hold(key, counts):
    """They were "not on record"."""
    assert counts_of(key) == counts


def test_validate_answers_by_the_count_alone():
    """ "The good images of ... are not on record" was all of the answer."""
    for words, status, text in (
            ("rstpreid --published 60.23/", 1, "no k/2000"),
            ("duke-video --published 89.3/90.0", 0, "possible: 627 of 702 queries"),
            ("partial-ilids --queries 119 --published 45.38/55.76", 0, "54 of 119 queries"),
            ("partial-ilids --published 45.38/55.76", 2, "--queries N says it")):
        done = command("validate", "--dataset", *words.split())
        assert done.returncode == status and text in done.stdout + done.stderr


def test_all_columns_of_a_table_of_figures(tmp_path):
    (tmp_path / "figures.csv").write_text(
        "Name,Dataset,Rank-1,mAP,Rank-10\na,Market-1501,0.0%,50.04,0.24%\nb,RSTPReid,60.20,,\n")
    done = command("validate", "--published", tmp_path / "figures.csv")
    first, second = done.stdout.splitlines()
    assert first.endswith("impossible: mAP is out of reach with this Rank-1 and Rank-10")
    assert second.endswith("possible") and done.returncode == 1


# ---------------------------------------------------------------- CSV and text

@pytest.mark.parametrize("between", [",", "\t"])
def test_separated_values(between, monkeypatch, capsys):
    rows = [["name", "data set", "R@1", "mAP"], ["a", "Market-1501", "94.43", "86.1"],
            ["b", "RSTPReid", "60.25", ""]]
    text = "\n".join(between.join(row) for row in rows)
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["check-table", "-"]) == 1
    assert capsys.readouterr().out.splitlines()[0] == (
        "-:2: a: Market-1501 Rank-1 94.43, mAP 86.1")


#: Text as `pdftotext -layout` gives it of pages of two columns: the table in the right column, in
#: the left one, across both, two side by side, and a paste without its blanks.
RIGHT = """\
 All networks are a ResNet-50 [1] whose       Table 2. Comparison with others. Best in bold,
 last stride is 1. We report the Rank-1       re-ranking is not used.
 of all queries and the mAP over them.
 Images are 256 x 128, batches of 64.         Methods            Market-1501   DukeMTMC-reID
 The rate is 0.00035 for 120 epochs. It                          R-1    mAP    R-1    mAP
 is lower after 40 and 70. We gain 3.2 %      PCB [3] (ECCV18)   92.3   77.4   81.8   66.1
 of mAP and 1.1 % of Rank-1 over [12],        MGN [12]           95.7   86.9   88.7   78.4
 and reach a mAP of 86.1 there. Without       ABD-Net [30]       95.6   88.3    -      -
 warm-up it is 84.2, without loss 85.1.       Ours               94.43  86.1   87.21  76.3
 The cost of it is 0.3 seconds a batch."""
LEFT = """\
 Table 4: Results on MSMT17.                      where N is the number of queries. In contrast to
 Model            Venue    Rank-1 Rank-5 mAP     Rank-k, of which 75.32 % are won by 2.1 % of all
 ─────────────────────────────────────────────   images, it takes all matches into account.
 GLAD [5]         MM17      61.4    76.8    34.0  4.3. Ablation study
 OSNet [8]        ICCV19    78.7    -       52.9  We remove one part at a time. Rank-1 falls by 0.9
 TransReID [9]    ICCV21    85.3    92.5    67.4  and mAP by 1.7 without the camera embedding.
 Ours             -         86.27   92.81   69.1  All numbers are of one run, as those of [9]."""
ACROSS = """\
                Table 1. State of the art. † with re-ranking.

                          Market-1501            MSMT17           Occluded-Duke
 Method      Size
                         Rank-1   mAP         Rank-1   mAP        Rank-1   mAP

 BoT [1]     256×128     94.5     85.9        74.1     50.2       51.4     44.7
 AGW† [2]    256×128     95.1     87.8        78.3     55.6       –        –
 Ours        384×128     95.69    90.0        86.29    69.4       66.39    59.2

 1. Introduction                              Re-identification matches images across"""
SIDE = """\
 Table 5: Market-1501                       Table 6: Market-1501
 Parts      Rank-1     mAP                  Loss           Rank-1     mAP
 1          93.1       82.7                 triplet        93.97      84.9
 3          94.0       84.5                 + centre       94.52      85.4
 6          94.50      85.6                 + circle       94.36      85.1"""
PASTE = """\
Table 3. Comparison on Market-1501.
Method Backbone Rank-1 Rank-5 mAP
PCB [3] ResNet-50 92.3 97.2 77.4
MGN [12] ResNet-50 95.7 - 86.9
Ours ViT-B/16 (384) 95.69 98.5 90.0"""


@pytest.mark.parametrize(("text", "rows", "impossible"), [
    (RIGHT, [("PCB", "92.3 77.4 81.8 66.1"), ("MGN", "95.7 86.9 88.7 78.4"),
             ("ABD-Net", "95.6 88.3"), ("Ours", "94.43 86.1 87.21 76.3")],
     ["94.43"]),
    (LEFT, [("GLAD", "61.4 76.8 34.0"), ("OSNet", "78.7 52.9"), ("TransReID", "85.3 92.5 67.4"),
            ("Ours", "86.27 92.81 69.1")], []),
    (ACROSS, [("BoT", "94.5 85.9 74.1 50.2 51.4 44.7"), ("AGW†", "95.1 87.8 78.3 55.6"),
              ("Ours", "95.69 90.0 86.29 69.4 66.39 59.2")], ["66.39"]),
    (SIDE, [("1", "93.1 82.7"), ("triplet", "93.97 84.9"), ("3", "94.0 84.5"),
            ("+ centre", "94.52 85.4"), ("6", "94.50 85.6"), ("+ circle", "94.36 85.1")],
     ["94.52"]),
    (PASTE, [("PCB", "92.3 97.2 77.4"), ("MGN", "95.7 86.9"), ("Ours", "95.69 98.5 90.0")], [])],
    ids=["right", "left", "across", "side by side", "paste"])
def test_tables_of_text(text, rows, impossible):
    checked, _ = check_page(text.splitlines())
    assert [(one.row.name.split(" ResNet")[0].split(" ViT")[0],
             " ".join(number.printed for number in one.row.numbers)) for one in checked] == rows
    assert all(one.is_judged and not one.unjudged for one in checked)
    faults = [fault.split()[1] for one in checked for fault in one.faults]
    assert faults == impossible


def test_text_without_a_table_is_none():
    assert check_page([*RIGHT.splitlines()[:3], "Rank-1 is 94.3, and mAP 85.", "94.2 81.3"]) == (
        [], [])


@pytest.mark.parametrize("line", [
    "Rank-1 mAP", "a  94.2  81.3", "a, b, 94.2", "# Market-1501 (AGW-1)", "x" * 30, "| a | 94.2 |",
    "Table 1: mean of 3 runs", "a-b-c Market-1501-C  R-1  mAP"])
def test_a_page_of_many_lines_takes_linear_time(line):
    """A million lines take minutes; 8,000 are tried here."""
    start = time.process_time()
    check_page(["Market-1501", "Method  R-1  mAP", *[line] * 8_000])
    assert time.process_time() - start < 4


@pytest.mark.parametrize("page", [
    ["| R-1 |", "|--|", "| 94.2 |"],
    ["| 方法 | Rank-1 | mAP |", "|--|--|--|", "| 我们 | ９４．２ | 81 |"],
    ["<table><tr><th>R-1<th colspan=2>mAP</tr><tr><td rowspan=9>94.2<td>81<td></tr></table>"]])
def test_odd_tables_are_read(page):
    assert check_page(page)[0][0].row.numbers[0].percent == Decimal("94.2")
