"""Results in CSV, Markdown, LaTeX and JSON, read back as their readers read them."""
import csv
import dataclasses
import json
import math
import re
import warnings

import numpy as np
import pytest

import reid_ref
from reid_ref import InputError, Labels
from reid_ref.commands.evaluate.show import rows as formats
from tests.cases import market_like

DISTANCES, QUERY, GALLERY = market_like(3)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # queries without a good image
    RESULT = reid_ref.evaluate_distances(DISTANCES, QUERY, GALLERY)
    SHORT = reid_ref.evaluate_distances(DISTANCES[:, :7], QUERY, Labels(
        GALLERY.identity[:7], GALLERY.camera[:7]), convention="mars")
NUMBERS = [*(RESULT.cmc[k - 1] for k in (1, 5, 10, 20)), RESULT.mean_ap, RESULT.mean_inp]
PERCENTS = [f"{100 * value:.2f}" for value in NUMBERS]


def test_csv():
    text = formats.as_csv({'a, "b"': RESULT, "short": SHORT})
    header, first, second = csv.reader(text.split("\n"))
    assert header == ["name", "Rank-1", "Rank-5", "Rank-10", "Rank-20", "mAP", "mINP",
                      "signature"]
    assert first[0] == 'a, "b"' and first[-1] == RESULT.signature
    assert [float(value) for value in first[1:-1]] == NUMBERS  # every bit
    assert second == ["short", repr(float(SHORT.cmc[0])), repr(float(SHORT.cmc[4])), "", "", "",
                      "", SHORT.signature]


def test_markdown():
    lines = formats.as_markdown({"ours|v2": RESULT, "short": SHORT}).split("\n")
    assert lines[:2] == ["| Method | Rank-1 | Rank-5 | Rank-10 | Rank-20 | mAP | mINP |",
                         "|:--|--:|--:|--:|--:|--:|--:|"]
    assert lines[2] == "| ours\\|v2 | " + " | ".join(PERCENTS) + " |"
    assert lines[3].endswith("| - | - | - | - |")
    # Every row has as many cells as the head: bars that are not escaped divide cells.
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines[:4]} == {8}
    # The empty line ends the table; the signatures have bars of their own.
    assert lines[4:] == ["", f"- ours\\|v2: `{RESULT.signature}`", f"- short: `{SHORT.signature}`"]


@pytest.mark.parametrize(("name", "written"), [
    ("R50_ibn", r"R50\_ibn"), ("a*b", r"a\*b"), ("two\nlines", "two lines"), ("`x`", r"\`x\`"),
    ("[1] <b>", r"\[1\] \<b\>"), ("a\\b", r"a\\b")])
def test_markdown_names(name, written):
    assert formats.as_markdown({name: RESULT}).split("\n")[2].startswith(f"| {written} | ")


def test_latex():
    text = formats.as_latex({"ours": RESULT, "short": SHORT})
    needs, begin, top, head, mid, *rows, bottom, end = text.split("\n")
    assert needs == r"% needs \usepackage{booktabs}" and begin == r"\begin{tabular}{lrrrrrr}"
    assert head == r"Method & Rank-1 & Rank-5 & Rank-10 & Rank-20 & mAP & mINP \\"
    assert (top, mid, bottom, end) == (
        r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}")
    signature, row, short_signature, short = rows
    assert signature == f"% ours: {RESULT.signature}"
    assert row == "ours & " + " & ".join(PERCENTS) + r" \\"
    assert short_signature == f"% short: {SHORT.signature}"
    assert short.endswith(r" & -- & -- & -- & -- \\") and short.count("&") == 6


def test_the_best_of_a_column_is_bold():
    # Equal as printed is equal to a reader; NaN is never the best.
    worse = dataclasses.replace(RESULT, mAP=RESULT.mAP - 1e-9, mINP=RESULT.mINP / 2)
    hollow = dataclasses.replace(RESULT, mAP=math.nan, mINP=math.nan)
    text = formats.as_latex({"a": RESULT, "b": worse, "c": hollow}, ranks=[])
    rows = [line for line in text.split("\n") if line[0] in "abc"]
    best_map, best_inp = (rf"\textbf{{{value}}}" for value in PERCENTS[-2:])
    assert rows == [rf"a & {best_map} & {best_inp} \\",
                    rf"b & {best_map} & {50 * RESULT.mINP:.2f} \\", r"c & -- & -- \\"]


def test_ranks_that_are_shown():
    header, row = csv.reader(formats.as_csv(RESULT, ranks=(2, 80, 81)).split("\n"))
    assert header == ["name", "Rank-2", "Rank-80", "Rank-81", "mAP", "mINP", "signature"]
    assert row[1:4] == [repr(float(RESULT.cmc[1])), repr(float(RESULT.cmc[79])), ""]
    assert formats.as_markdown(RESULT, ranks=iter([2])).startswith("| Method | Rank-2 | mAP |")


@pytest.mark.parametrize(("name", "written"), [
    ("A&B", r"A\&B"), ("50% #1_x", r"50\% \#1\_x"), ("{$}", r"\{\$\}"),
    ("two\nlines", "two lines"), ("a\\b", r"a\textbackslash{}b"),
    ("~^", r"\textasciitilde{}\textasciicircum{}"),
    ("<|>", r"\textless{}\textbar{}\textgreater{}")])
def test_latex_names(name, written):
    lines = formats.as_latex({name: RESULT}).split("\n")
    assert len(lines) == 9 and lines[6].startswith(f"{written} & ")
    assert lines[5].startswith("% ")


def test_a_single_result_is_one_row_named_method():
    for write in (formats.as_csv, formats.as_markdown, formats.as_latex):
        assert write(RESULT) == write({"Method": RESULT})
        assert not write(RESULT).endswith("\n")


@pytest.mark.parametrize("write", [formats.as_csv, formats.as_markdown, formats.as_latex])
@pytest.mark.parametrize(("results", "message"), [
    ({}, "results: expected at least one result, got an empty dict"),
    ([RESULT], "results: expected a Result or a dict of row name to Result, got list"),
    ({"x": 0.5}, "results: expected a Result for 'x', got float; pass what reid_ref.evaluate"),
    ({3: RESULT}, "results: expected a text as the name of each row, got 3"),
    ({" ": RESULT}, "results: expected a text as the name of each row, got ' '"),
])
def test_results_that_make_no_row(write, results, message):
    with pytest.raises(InputError, match=message):
        write(results)


def test_per_query_json():
    answer = json.loads(json.dumps(formats.per_query_json(RESULT, QUERY, GALLERY),
                                   allow_nan=False))
    assert list(answer) == [*RESULT.to_dict(), "labels", "queries"]
    assert {name: answer[name] for name in RESULT.to_dict()} == RESULT.to_dict()
    rows = answer["queries"]
    per_query = RESULT.per_query
    assert len(rows) == len(QUERY) and [row["query"] for row in rows] == list(range(len(QUERY)))
    assert list(rows[0]) == ["query", "identity", "camera", "status", "counted", "ap", "inp",
                             "first_match", "n_good", "n_junk"]
    for name in ("ap", "inp"):
        values = [np.nan if row[name] is None else row[name] for row in rows]
        np.testing.assert_array_equal(values, getattr(per_query, name))
        assert None in [row[name] for row in rows]
    assert [row["first_match"] or 0 for row in rows] == per_query.first_match.tolist()
    assert 0 not in [row["first_match"] for row in rows]
    for name in ("n_good", "n_junk", "status"):
        assert [row[name] for row in rows] == getattr(per_query, name).tolist()
    for name in ("identity", "camera"):
        assert [row[name] for row in rows] == getattr(QUERY, name).tolist()


def test_per_query_json_of_other_queries():
    with pytest.raises(InputError, match="query: expected the labels of the 12 queries evaluated, "
                                         "got 80"):
        formats.per_query_json(RESULT, GALLERY, GALLERY)
    with pytest.raises(InputError, match="gallery: expected the labels of the 80 gallery images "
                                         "evaluated, got 12"):
        formats.per_query_json(RESULT, QUERY, QUERY)


# Query 0 has a match, query 1 none, query 2 is labelled -1; of the means each convention takes.
@pytest.mark.parametrize(("convention", "counted", "status"), [
    ("matlab", [True, True, True], ["ok", "identity absent", "only junk"]),
    ("mars", [True, True, True], ["ok", "identity absent", "only junk"]),
    ("torchreid", [True, False, False], ["ok", "identity absent", "not loaded"]),
    ("triplet-reid", [True, False, True], ["ok", "identity absent", "only junk"])])
def test_which_queries_are_counted(convention, counted, status):
    labels = Labels([7, 9, -1], [1, 1, 1]), Labels([7, 8, -1], [2, 2, 2])
    with pytest.warns(UserWarning):
        result = reid_ref.evaluate_distances([[.2, .1, .3]] * 3, *labels, convention=convention)
    queries = formats.per_query_json(result, *labels)["queries"]
    assert [one["counted"] for one in queries] == counted
    assert [one["status"] for one in queries] == status
    assert sum(counted) == result.counted
    lines = formats.per_query_csv(result, labels[0]).splitlines()
    assert lines[0] == ("query,identity,camera,status,counted,ap,inp,first_match,n_good,n_junk")
    assert lines[2].startswith(f"1,9,1,identity absent,{counted[1]},,")


def test_the_labels_of_two_files_are_told_apart():
    same = Labels(np.array([7, -1], np.int16), [1, 2])
    # CRC-32 of the eight-byte little-endian numbers 7, -1, 1, 2, by gzip.
    assert Labels([7, -1], [1, 2]).fingerprint() == same.fingerprint() == "e1c68079"
    others = [Labels([-1, 7], [1, 2]), Labels([7, -1], [2, 1]), Labels([7], [1])]
    assert len({same.fingerprint(), *(one.fingerprint() for one in others)}) == 4
