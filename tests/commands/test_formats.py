"""Results in CSV, Markdown, LaTeX and JSON, read back as their readers read them."""
import csv
import dataclasses
import math
import warnings

import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.commands.evaluate.show import rows as formats
from reid_ref.text.table import as_csv as csv_text
from tests.cases import market_like

DISTANCES, QUERY, GALLERY = market_like(3)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # queries without a good image
    RESULT = reid_ref.evaluate_distances(DISTANCES, QUERY, GALLERY)
    SHORT = reid_ref.evaluate_distances(DISTANCES[:, :7], QUERY, Labels(
        GALLERY.identity[:7], GALLERY.camera[:7]), convention="mars")
NUMBERS = [RESULT.mAP, *(RESULT.cmc[k - 1] for k in (1, 5, 10, 20)), RESULT.mINP]
PERCENTS = [f"{100 * value:.2f}" for value in NUMBERS]


def test_csv():
    text = formats.as_csv({'a, "b"': RESULT, "short": SHORT})
    header, first, second = csv.reader(text.split("\n"))
    assert header == ["name", "mAP", "Rank-1", "Rank-5", "Rank-10", "Rank-20", "mINP",
                      "signature"]
    assert first[0] == 'a, "b"' and first[-1] == RESULT.signature
    assert [float(value) for value in first[1:-1]] == NUMBERS  # every bit
    assert second == ["short", "", repr(float(SHORT.cmc[0])), repr(float(SHORT.cmc[4])), "", "",
                      "", SHORT.signature]


@pytest.mark.parametrize(("name", "written"), [
    ("R50_ibn", r"R50\_ibn"), ("a*b", r"a\*b"), ("two\nlines", "two lines"), ("`x`", r"\`x\`"),
    ("ours|v2", r"ours\|v2"), ("[1] <b>", r"\[1\] \<b\>"), ("a\\b", r"a\\b")])
def test_markdown_names(name, written):
    assert formats.as_markdown({name: RESULT}).split("\n")[2].startswith(f"| {written} | ")


def test_the_best_of_a_column_is_bold():
    # Equal as printed is equal to a reader; NaN is never the best.
    rows = RESULT.per_query
    worse, hollow = (
        dataclasses.replace(RESULT, per_query=dataclasses.replace(rows, values=values))
        for values in ({"mAP": rows.ap - 1e-9, "mINP": rows.inp / 2},
                       {"mAP": rows.ap * math.nan, "mINP": rows.inp * math.nan}))
    text = formats.as_latex({"a": RESULT, "b": worse, "c": hollow}, measures=["mAP", "mINP"])
    rows = [line for line in text.split("\n") if line[0] in "abc"]
    assert r"\caption{In percent. Bold: the best of a column as printed; no test was made." in text
    best_map, best_inp = (rf"\textbf{{{value}}}" for value in (PERCENTS[0], PERCENTS[-1]))
    assert rows == [rf"a & {best_map} & {best_inp} \\",
                    rf"b & {best_map} & {50 * RESULT.mINP:.2f} \\", r"c & -- & -- \\"]


@pytest.mark.parametrize(("name", "written"), [
    ("A&B", r"A\&B"), ("50% #1_x", r"50\% \#1\_x"), ("{$}", r"\{\$\}"),
    ("two\nlines", "two lines"), ("a\\b", r"a\textbackslash{}b"),
    ("~^", r"\textasciitilde{}\textasciicircum{}"),
    ("<|>", r"\textless{}\textbar{}\textgreater{}")])
def test_latex_names(name, written):
    lines = formats.as_latex({name: RESULT}).split("\n")
    assert len(lines) == 14 and lines[10].startswith(f"{written} & ")
    assert lines[9].startswith("% ")


# Query 0 has a match, query 1 none, query 2 is labelled -1; of the means each convention takes.
@pytest.mark.parametrize(("convention", "counted", "status"), [
    ("matlab", [True, True, True], ["ok", "identity absent", "only junk"]),
    ("mars", [True, True, True], ["ok", "identity absent", "only junk"]),
    ("torchreid", [True, False, False], ["ok", "identity absent", "not loaded"]),
    ("triplet-reid", [True, False, True], ["ok", "identity absent", "only junk"])])
def test_which_queries_are_counted(convention, counted, status):
    labels = Labels([7, 9, -1], [1, 1, 1]), Labels([7, 8, -1], [2, 2, 2])
    with pytest.warns(reid_ref.UnmatchedWarning):
        result = reid_ref.evaluate_distances([[.2, .1, .3]] * 3, *labels, convention=convention)
    queries = formats.per_query_json(result)["queries"]
    assert [one["counted"] for one in queries] == counted
    assert [one["status"] for one in queries] == status
    assert sum(counted) == result.counted
    lines = formats.per_query_csv(result).splitlines()
    assert lines[0] == ("query,identity,camera,status,counted,ap,inp,first_match,n_good,n_junk")
    assert lines[2].startswith(f"1,9,1,identity absent,{counted[1]},,")


@pytest.mark.parametrize("text, written", [
    ("=1+1", "'=1+1"), ("＝1+1", "'＝1+1"), ("+a", "'+a"), ("-x.npz", "'-x.npz"),
    ("@SUM(A1)", "'@SUM(A1)"),
    ("\t=1", "'\t=1"), ("-1.07", "-1.07"), ("-", "-"), ("a=1", "a=1"), ("", "")])
def test_no_cell_is_a_formula(text, written):
    assert csv_text([text, "x"], [[text, -1.07]]) == f"{written},x\n{written},-1.07"
