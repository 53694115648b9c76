"""Words and tables that reports share."""
import math

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, IndexLists, Labels, words
from reid_ref.conventions import IGNORED
from reid_ref.report import tables


def test_long_words_stay_whole():
    long = "x" * 100
    assert words.row("input", f"a {long} b") == ["input     a", " " * 10 + long, " " * 10 + "b"]
    assert words.wrap("one-two three", width=9) == ["one-two", "three"]
    assert words.row("", "text", 12) == [" " * 12 + "text"]


def test_signature_is_wrapped_between_its_fields():
    lines = words.signature_rows("|".join(f"field{k}:value" for k in range(8)))
    assert lines[0].startswith("signature field0:value | field1:value")
    assert len(lines) == 2 and max(map(len, lines)) <= 80


def test_percent():
    assert words.percent(0.12345) == "12.35" and words.percent(1.0) == "100.00"
    assert words.percent(math.nan) == "-" and words.percent(math.nan, "--") == "--"
    assert words.signed_percent(-0.00001) == "+0.00"
    assert words.signed_percent(math.nan) == "-"
    assert words.signed_percent(-0.5) == "-50.00"


def test_numbers_that_json_lacks():
    values = np.array([0.1, np.nan, np.inf, -np.inf, 0.0])
    assert words.numbers(values) == [0.1, None, None, None, 0.0]
    assert words.number(None) is None


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
    assert f"\nmatches   {said.split(')')[0]})" in tables.as_table(result, "", "").replace(
        "\n          ", " ")


def test_every_rule_of_what_is_ignored_has_its_words():
    assert set(tables._MATCHES) == set(IGNORED)


def test_statuses_and_ties_in_words():
    query = Labels([7, 9, 5, -1], [1, 1, 1, 1])
    gallery = Labels([7, 8, 5, -1], [2, 2, 1, 2])
    with pytest.warns(UserWarning):
        result = reid_ref.evaluate_distances(
            [[.1, .1, .3, .4], *[[.1, .2, .3, .4]] * 3], query, gallery, convention="torchreid")
    assert tables.statuses(result.counts) == (
        "1 ok; 1 no match (identity absent); 1 no match (only same camera); "
        "1 labelled -1 (not loaded)")
    assert tables.tied_queries(result.counts.tied, 4) == (
        "1 of 4 queries have a good and a wrong image at the same distance")
    assert tables.tied_queries(0, 4) == "none that affect the result"
