"""`check-table` on the tables of papers: what is judged, what is not, and which is said."""
import pytest

from reid_ref.cli import main
from reid_ref.commands.check_table import Told, check_page
from reid_ref.datasets.published import counts_of
from tests.commands.common import command

RULE = "|--|--|--|--|--|"


def page_of(*rows, heading="Rank-1 | mAP", above=("# Market-1501",)):
    return [*above, "", f"| Method | {heading} |", RULE, *(f"| {row} |" for row in rows)]


def judged(page, **told):
    """Return, of each row, the reasons for what was not judged and whether it is impossible."""
    return [(one.unjudged, bool(one.faults)) for one in check_page(page, Told(**told))[0]]


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
    assert last == ("4 rows read: 2 judged, 1 in part, 1 not judged; 0 impossible; not judged: "
                    "mean of runs: 1, RegDB: no count on record (--queries N): 1, unread cells: 1")
    assert check(MIXED, tmp_path, capsys, "--strict")[0] == 1
    assert check(page_of("a | 94.42 | 86.1"), tmp_path, capsys, "--strict")[0] == 0


def test_a_page_of_which_nothing_was_judged_is_2(tmp_path, capsys):
    """A gate that checked nothing was green."""
    page = page_of("a | 94.43 | 86.1", above=())
    status, last, err = check(page, tmp_path, capsys)
    assert status == 2 and last.endswith(f"not judged: {UNNAMED}: 1")
    assert err.count("\n") == 1 and "expected a number to judge" in err
    assert check(page, tmp_path, capsys, "--dataset", "market")[0] == 1
    assert check(page, tmp_path, capsys, "--queries", "1000000")[0] == 0
    assert check(page_of("a | 94.43 | 93.1", heading="R-1 | R-5", above=()), tmp_path,
                 capsys)[0] == 1  # impossible on any


# ---------------------------------------------------------------- means

@pytest.mark.parametrize(("above", "heading", "row", "runs"), [
    (["# Market-1501 (averaged over seeds)"], "R-1 | mAP", "a | 94.43 | 86.1", 0),
    (["# Market-1501", "", "Mean of five runs."], "R-1 | mAP", "a | 94.43 | 86.1", 5),
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
    assert ("mean of runs" in one.unjudged) == all(n.runs == 0 for n in one.row.numbers)


def test_a_mean_of_known_runs_is_a_count_of_all():
    """Of 100 queries in three runs, 33.33 is 100 of 300, and 33.5 is none."""
    page = page_of("a | 33.33", "b | 33.50", heading="R-1", above=("Three runs:",))
    assert judged(page, queries=100) == [((), False), ((), True)]
    assert "100 queries in 3 runs" in check_page(page, Told(queries=100))[0][1].faults[0]


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
