"""Tables that notebooks show: the numbers of the result, as text, without colours."""
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, Labels
from tests.cases import market_like


class Table(HTMLParser):
    """Collect the cells of a table by row, and the text after it."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.note, self.open, self.tags = [], "", [], set()
        self.feed(text)
        assert self.open == []  # every tag is closed

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.add(tag)
        self.rows += [[]] if tag == "tr" else []
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] == "p":
            self.note += data
        else:
            self.rows[-1][-1] += data


TAGS = {"table", "thead", "tbody", "tr", "th", "td", "p"}


def without_colours(text):
    return re.search(r"color(?!: inherit)|background|#[0-9a-f]{3}|rgb", text) is None


def test_a_result():
    result = reid_ref.evaluate_distances([[.2, .1, .3]], Labels([7], [1]),
                                         Labels([7, 8, 7], [2, 2, 3]))
    table = Table(result._repr_html_())
    # By hand: good images at ranks 2 and 3; AP is (0 + 1/2 + 1/2 + 2/3) / 4.
    assert table.rows == [["", "Rank-1", "mAP", "mINP", "queries"],
                          ["percent", "0.00", "41.67", "66.67", "1 of 1"]]
    assert table.note == result.signature.replace("|", " | ")
    assert table.tags == TAGS and without_colours(result._repr_html_())


@pytest.mark.filterwarnings("ignore:.*no good image")
def test_nan_and_names_that_are_markup():
    named = CONVENTIONS["mars"].replace(name="<script>alert('1')</script>&\"", cmc_length=3)
    result = reid_ref.evaluate_distances(*market_like(8), convention=named)
    text = result._repr_html_()
    table = Table(text)
    assert "<script" not in text and table.tags == TAGS
    assert "<script>alert('1')</script>&\"" in table.note
    assert np.isnan(result.mAP)
    assert dict(zip(*table.rows))["mAP"] == "-"


def test_a_comparison():
    labels = Labels(range(30), [1] * 30), Labels(range(30), [2] * 30)
    distances = 1 - np.eye(30)
    other = reid_ref.evaluate_distances(distances, *labels)
    distances[:10, 20] = -1
    baseline = reid_ref.evaluate_distances(distances, *labels)
    found = reid_ref.compare({"b<as>e": baseline, "o&r": other}, metrics=["Rank-1", "mAP"])
    table = Table(found._repr_html_())
    assert table.rows[0] == ["", "metric", "difference", "low", "high", "p", "better", "worse",
                             "same"]
    rank1 = found.comparisons[0]
    # By hand: ten of thirty more; 2 of 2^10 choices of signs are as extreme.
    assert table.rows[1] == [
        "o&r - b<as>e", "Rank-1", "+33.33", f"{100 * rank1.low:+.2f}", f"{100 * rank1.high:+.2f}",
        "0.002", "10", "0", "20"]
    assert len(table.rows) == 3 and table.rows[2][1] == "mAP"
    assert table.note.startswith("differences from b<as>e in percentage points; intervals of 95 %")
    assert without_colours(found._repr_html_()) and table.tags == TAGS
    assert Table(rank1._repr_html_()).rows == table.rows[:2]
