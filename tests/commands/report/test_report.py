"""Words and tables that reports share, and the tables that notebooks show."""
import re

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, IndexLists, Labels
from reid_ref.analysis.compare.answer import shown_columns
from reid_ref.commands.evaluate import show as tables
from reid_ref.conventions import IGNORED
from tests.cases import market_like
from tests.commands.report.seen import Page, rows
from tests.documents import ROOT, command


# The query is person 7 on camera 1. Cameras 2 and 3 of SYSU-MM01 are one location.
GALLERY = Labels([7, 7, 8, -1, 7], [1, 2, 1, 2, 3])


@pytest.mark.parametrize(("convention", "said"), [
    ("matlab", "2 (same identity, other camera); 1 same-camera pairs ignored"),
    ("mars", "2 (same identity, other camera); 1 same-camera pairs ignored"),
    ("torchreid", "2 (same identity, other camera); 1 same-camera pairs ignored"),
    ("simpleir", "3 (same identity, any camera)"),
    ("sysu-mm01", "2 (same identity, other location); 2 same-location pairs of any identity "
                  "ignored"),
    ("veri", "1 (in the query's list of good images); 2 ignored (in its list of junk images)"),
    (("label -1",), "3 (same identity, any camera); no other pairs ignored"),
    (("same camera",), "2 (same identity, other camera); 2 same-camera pairs of any identity "
                       "ignored")])
def test_matches_are_told_as_the_convention_takes_them(convention, said):
    if isinstance(convention, tuple):
        convention = CONVENTIONS["matlab"].replace(ignored=convention)
    lists = IndexLists([[1]], [[0, 3]]) if convention == "veri" else None
    result = reid_ref.evaluate_distances([[.1, .2, .3, .4, .5]], Labels([7], [1]), GALLERY,
                                         convention=convention, lists=lists)
    assert tables.matches(result) == said
    assert ("matches", said) in tables.facts(result, "", "")


def test_every_rule_of_what_is_ignored_has_its_words():
    assert set(tables._MATCHES) == set(IGNORED)


def test_statuses_and_ties_in_words():
    query = Labels([7, 9, 5, -1], [1, 1, 1, 1])
    gallery = Labels([7, 8, 5, -1], [2, 2, 1, 2])
    with pytest.warns(reid_ref.UnmatchedWarning):
        result = reid_ref.evaluate_distances(
            [[.1, .1, .3, .4], *[[.1, .2, .3, .4]] * 3], query, gallery, convention="torchreid")
    assert tables.statuses(result.counts) == (
        "1 ok; 1 no match (identity absent); 1 no match (only same camera); "
        "1 labelled -1 (not loaded)")
    assert tables.tied_queries_text(result.counts.tied, 4) == (
        "1 of 4 queries have a good and a wrong image at the same distance")
    assert tables.tied_queries_text(0, 4) == "none that affect the result"


# Notebooks: the numbers of the result, as text, without colours.

def shown(found):
    """The rows of the table and the text below it: no other tags, and no colours."""
    text = found._repr_html_()
    root = Page(text).root
    assert {one.tag for one in root.all()} == {"table", "thead", "tbody", "tr", "th", "td", "p"}
    assert re.search(r"color(?!: inherit)|background|#[0-9a-f]{3}|rgb", text) is None
    return rows(root.one("table")), root.one("p").text


def test_a_result():
    result = reid_ref.evaluate_distances([[.2, .1, .3]], Labels([7], [1]),
                                         Labels([7, 8, 7], [2, 2, 3]))
    table, note = shown(result)
    # By hand: good images at ranks 2 and 3; AP is (0 + 1/2 + 1/2 + 2/3) / 4.
    assert table == [["", "mAP", "Rank-1", "mINP", "queries"],
                     ["percent", "41.67", "0.00", "66.67", "1 of 1"]]
    assert note == str(result.signature).replace("|", " | ")


@pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning")
def test_nan_and_names_that_are_markup():
    named = CONVENTIONS["mars"].replace(name="<script>alert('1')</script>&\"", cmc_length=3)
    result = reid_ref.evaluate_distances(*market_like(8), convention=named)
    table, note = shown(result)
    assert "<script>alert('1')</script>&\"" in note
    assert np.isnan(result.mAP)
    assert dict(zip(*table))["mAP"] == "-"


def test_a_comparison():
    labels = Labels(range(30), [1] * 30), Labels(range(30), [2] * 30)
    distances = 1 - np.eye(30)
    other = reid_ref.evaluate_distances(distances, *labels)
    distances[:10, 20] = -1
    baseline = reid_ref.evaluate_distances(distances, *labels)
    found = reid_ref.compare({"b<as>e": baseline, "o&r": other}, metrics=["Rank-1", "mAP"])
    table, note = shown(found)
    assert table[0] == ["", "metric", *(column.name for column in shown_columns(several=False))]
    rank1 = found.comparisons[0]
    # By hand: ten of thirty more; 2 of 2^10 choices of signs are as extreme.
    assert table[1] == [
        "o&r - b<as>e", "Rank-1", "+33.33",
        f"{100 * rank1.low:+.2f} .. {100 * rank1.high:+.2f}", "0.0063", "10/0/20"]
    assert len(table) == 3 and table[2][1] == "mAP"
    assert note.startswith("differences in percentage points; intervals of 95 %")
    assert shown(rank1)[0] == table[:2]


def test_the_page_opens_with_the_answer(tmp_path):
    saved = "fixtures/baselines/person-reidentification-retail"
    for words, answer in (
            ([f"base={saved}-0031.json.gz", f"ours={saved}-0076.json.gz"],
             "ours is better than base: mAP +20.37 points."),
            ([f"{saved}-0076.json.gz"],
             "person-reidentification-retail-0076 has mAP 82.07 %, Rank-1 91.57 % on "
             "3,368 queries.")):
        page = tmp_path / "page.html"
        assert command("report", *words, "-o", page, cwd=ROOT).returncode == 0
        assert answer in page.read_text().partition("</header>")[0]
