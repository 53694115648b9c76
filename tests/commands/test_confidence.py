"""`reid-ref evaluate --confidence`: what it prints, in every form, and refuses."""
import csv
import io
import json

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from tests.cases import save
from tests.commands.common import (
    MARKET, MARS, TIES, answer, assert_one_line_error, command, results, table)

pytestmark = pytest.mark.filterwarnings(
    "ignore::reid_ref.IntervalWarning", "ignore::reid_ref.UnmatchedWarning")


def test_a_number_without_an_interval_is_still_printed():
    done = command("evaluate", MARKET, "--convention", "mars", "--confidence", "--ranks", "1")
    assert done.returncode == 0 and done.stdout.count("45.83") == 1
    assert "reid-ref: warning: no interval of mAP, mINP under convention 'mars': the number is " \
        "NaN, since a query that counts has no value\n" in done.stderr
    found = answer("evaluate", MARKET, "--convention", "sysu-mm01", "--confidence")
    assert list(found["confidence"]) == ["mAP", "Rank-1", "mINP"] and found["Rank-1"] > 0
    assert any("no interval of Rank-5, Rank-10" in told
               for told in found["warnings"])


def test_where_no_query_counts_nothing_else_is_said(tmp_path):
    """They were said to count as NaN, and lists of features to end early."""
    save(tmp_path / "none.npz", [[.1, .2], [.2, .1]], Labels([1, 2], [1, 1]),
         Labels([3, 4], [2, 2]))
    words = tmp_path / "none.npz", "--set", "unmatched=drop"
    done = command("evaluate", *words, "--confidence")
    assert ": they are left out; " in done.stderr and "[unmatched=drop]': no query counts" \
        in done.stderr
    assert "mAP is NaN, for no query counts" in command(
        "compare", tmp_path / "none.npz", *words, "--name", "a", "--name", "b").stderr


def test_each_warning_is_told_once():
    done = command("evaluate", MARKET, "--convention", "matlab,layumi,torchreid", "--confidence",
                   "--resamples", "99")
    assert [line for line in done.stderr.splitlines() if "units for these" in line] == [
        f"reid-ref: warning: only {units} units for these intervals, which may "
        "be too narrow below 20" for units in (19, 16)]


def by_library(convention="matlab", **options):
    data = reid_ref.read(MARKET)
    result = reid_ref.evaluate(data.query_features, data.gallery_features, data.query,
                               data.gallery, convention=convention)
    return result.interval("mAP", **options)


def test_options_reach_the_interval(tmp_path):
    tracklets = tmp_path / "tracklets.txt"
    tracklets.write_text("".join(f"t{k // 2:02}\n" for k in range(48)))
    for words, options, signature in (
            ("--level 90 --resamples 199 --seed 7",
             {"level": 90, "resamples": 199, "seed": 7},
             "ci:identity-bootstrap-t|level:90|n:199|seed:7|reid-ref:"),
            ("--unit query --resamples 199", {"unit": "query", "resamples": 199},
             "ci:query-bootstrap-t|level:95|n:199|seed:12345|reid-ref:"),
            ("--confidence-method analytic --level 97.5", {"method": "analytic", "level": 97.5},
             "ci:identity-analytic|level:97.5|reid-ref:"),
            (f"--unit {tracklets}", {"unit": np.arange(48) // 2},
             "ci:group-bootstrap-t|level:95|n:10000|seed:12345|reid-ref:")):
        found = answer("evaluate", MARKET, "--confidence", *words.split())
        one, expected = found["confidence"]["mAP"], by_library(**options)
        for field in ("low", "high", "se", "units", "unit", "method", "level", "resamples"):
            assert one[field] == getattr(expected, field), (words, field)
        assert f"|gallery:345|{signature}" in found["signature"]


def test_conventions_and_files_and_reranking_have_their_own():
    of_market = by_library()
    conventions = results("evaluate", MARKET, "--convention", "matlab,torchreid", "--confidence",
                          key="convention")
    for name, units in (("matlab", 19), ("torchreid", 16)):
        assert conventions[name]["confidence"]["mAP"]["units"] == units
        assert conventions[name]["confidence"]["mAP"]["se"] == by_library(name).se
    files = results("evaluate", MARKET, TIES, "--confidence")
    assert files["market_like"]["confidence"]["mAP"]["se"] == of_market.se
    assert files["ties"]["confidence"]["mAP"]["queries"] == 30
    after = results("rerank", MARKET, "--confidence")
    low, high = (after["re-ranked"]["confidence"]["mAP"][end] for end in ("low", "high"))
    assert low < after["re-ranked"]["mAP"] < high
    assert after["original"]["confidence"]["mAP"]["se"] == of_market.se


@pytest.mark.parametrize("words", [
    ["evaluate", MARKET, "--convention", "matlab,mars"], ["evaluate", MARKET, TIES],
    ["rerank", MARKET]], ids=["conventions", "files", "rerank"])
def test_tables_of_several_rows(words):
    out = table(*words, "--confidence")
    assert "95 % interval" in out and "48 queries of 19 identities" in " ".join(out.split())
    interval = by_library()
    assert f"{100 * interval.low:.2f} .. {100 * interval.high:.2f}" in out
    assert max(map(len, out.splitlines())) <= 80


def test_formats():
    one = by_library()
    words = ["evaluate", MARKET, "--confidence", "--ranks", "1", "--format"]
    row, = csv.DictReader(io.StringIO(table(*words, "csv")))
    assert float(row["mAP low"]) == one.low and float(row["mAP high"]) == one.high
    assert float(row["mAP SE"]) == one.se and float(row["mAP naive SE"]) == one.se_naive
    assert float(row["mAP design effect"]) == one.design_effect and row["mAP units"] == "19"
    ends = f"[{100 * one.low:.2f}, {100 * one.high:.2f}]"
    assert f"| 40.16 {ends} |" in table(*words, "markdown")
    assert "\n" + rf" & {{\scriptsize {ends}}} & " in table(*words, "latex")
    assert r"Brackets: 95 \% intervals by identity" in table(*words, "latex")
    for form in ("csv", "markdown", "latex"):
        assert "|ci:identity-bootstrap-t|level:95|" in table(*words, form)


def test_a_file_of_each_query_says_nothing_of_intervals(tmp_path):
    table("evaluate", MARKET, "--confidence", "--per-query", tmp_path / "out.json")
    assert "ci:" not in json.loads((tmp_path / "out.json").read_text())["signature"]


def test_all_right_is_a_one_sided_bound(tmp_path):
    save(tmp_path / "right.npz", 1 - np.eye(40), *(Labels(range(40), [k] * 40) for k in (1, 2)))
    out = table("evaluate", tmp_path / "right.npz", "--confidence")
    # (alpha / 2) ** (1 / 40) = 0.0250 ** 0.025
    row, = (line.split() for line in out.splitlines() if line.startswith("mAP "))
    assert row == ["mAP", "100.00", "91.19", "..", "100.00", "0.00", "0.00"]
    assert "the exact one-sided bound of 40 identities" in " ".join(out.split())


def test_bad_input(tmp_path):
    short, blank = tmp_path / "short.txt", tmp_path / "blank.txt"
    short.write_text("a\nb\nc\n")
    blank.write_text("a\n\nc\n")
    save(tmp_path / "identity.npz", np.arange(6.) + np.zeros((5, 1)),
         Labels([1] * 5, [1] * 5), Labels([1, 2] * 3, [2] * 6))
    for words, message in (
            ([tmp_path / "identity.npz"], "--unit: .*at least 2 units"),
            ([MARS, "--unit", short], "--unit: .*30 entries"),
            ([MARKET, "--unit", blank], "blank.txt: line 2: .*one group per query"),
            ([MARKET, "--unit", "camera"], "camera: .*No such file.*identity, query")):
        assert_one_line_error(command("evaluate", *words, "--confidence"), message)


def test_the_screen_says_where_the_bootstrap_fails(tmp_path):
    """Of thirty identities one is never first: resamples without it have no standard error."""
    # Each identity has a second image, anywhere in the list.
    distances = np.random.default_rng(0).random((30, 60))
    distances[np.arange(30), np.arange(30)] = -1
    distances[0, 1] = -2
    save(tmp_path / "few.npz", distances, Labels(np.arange(1, 31), np.zeros(30)),
         Labels(np.tile(np.arange(1, 31), 2), np.ones(60)))
    out = table("evaluate", str(tmp_path / "few.npz"), "--confidence", "--ranks", "1")
    assert "\nanalytic  Rank-1: " in out and "for the bootstrap" in " ".join(out.split())
    rank_1 = next(line.split() for line in out.splitlines() if line.startswith("Rank-1 "))
    assert rank_1[1] == "96.67" and 50 < float(rank_1[2]) < float(rank_1[4]) < 100
