"""Tables that notebooks show: the numbers of the result, as text, without colours."""
import re

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, Labels
from tests.cases import market_like
from tests.report.seen import Page, rows


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
    assert table == [["", "Rank-1", "mAP", "mINP", "queries"],
                     ["percent", "0.00", "41.67", "66.67", "1 of 1"]]
    assert note == result.signature.replace("|", " | ")


@pytest.mark.filterwarnings("ignore:.*no good image")
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
    assert table[0] == ["", "metric", "difference", "low", "high", "p", "better", "worse",
                        "same"]
    rank1 = found.comparisons[0]
    # By hand: ten of thirty more; 2 of 2^10 choices of signs are as extreme.
    assert table[1] == [
        "o&r - b<as>e", "Rank-1", "+33.33", f"{100 * rank1.low:+.2f}", f"{100 * rank1.high:+.2f}",
        "0.002", "10", "0", "20"]
    assert len(table) == 3 and table[2][1] == "mAP"
    assert note.startswith("differences from b<as>e in percentage points; intervals of 95 %")
    assert shown(rank1)[0] == table[:2]
