"""`reid-ref compare`, `evaluate --mean`: real lists, files of each query, and what is refused."""
import csv
import io
import json
import math
import re
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels, cli
from reid_ref.analysis.compare.answer import COLUMNS, Compared, shown_columns
from reid_ref.commands import plot
from reid_ref.commands.compare.show import as_text, cell
from reid_ref.commands.compare.show.notes import LEGEND, LINES
from reid_ref.statistics import holm
from tests import cases
from tests.commands.common import MARKET, MARS, TIES, answer, command, lists, refusal, table
from tests.documents import ROOT

pytestmark = pytest.mark.filterwarnings(
    "ignore::reid_ref.IntervalWarning", "ignore::reid_ref.UnmatchedWarning")


@pytest.fixture(scope="module")
def compared():
    """JSON of three real lists, by system and metric; read once."""
    found = answer("compare", *lists("mat", "match28000_Mslm", "match6500"))
    return found, {(one["system"], one["metric"]): one for one in found["comparisons"]}


def test_screen(compared):
    out = table("compare", *lists("mat", "match28000_Mslm", "match6500"), "--measure",
                "mAP")
    lines, flat = out.splitlines(), " ".join(out.split())
    for line, name in ((lines[2], "match28000_Mslm"), (lines[3], "match6500")):
        assert line.split()[-2] == f"{compared[1][name, 'mAP']['p_adjusted']:.4f}"
    assert "detectable differences: 1.35 and 2.04 points; smaller ones are often missed" in flat
    assert "adjusted for 2 systems by Holm's method" in flat
    assert "match6500 gained most: query 258 (identity 205)" in flat
    assert max(map(len, lines)) <= 80


def test_the_first_line_of_two_systems_is_a_sentence():
    words = "compare", *lists("mat", "match28000_Mslm"), "--measure"
    assert " ".join(table(*words, "mAP,Rank-1").partition("\n\n")[0].split()) == (
        "match28000_Mslm is better than mat: mAP 27.58 against 26.36 (+1.23 points, 95 % interval "
        "+0.21 to +2.22, p = 0.0183); not significantly different from mat: Rank-1 50.19 against "
        "47.72 (+2.47 points, 95 % interval -0.20 to +5.15, p = 0.0747).")
    assert table("compare", *lists("match28000_Mslm", "mat")).startswith(
        "mat is worse than match28000_Mslm: mAP 26.36 against 27.58 (-1.23 points, ")


@pytest.mark.parametrize("words", [[], ["--all-pairs"]])
def test_the_page_has_these_screens(words):
    files = lists("mat", "match28000_Mslm", "match6500")
    out = table("compare", *files, "--measure", "mAP", *words)
    page = (ROOT / "docs" / "is_it_better.md").read_text()
    block = next(text for text in re.findall("```text\n(mAP .*?)```", page, re.S)
                 if ("better than" in text) == bool(words))
    assert set(block.splitlines()) <= set(out.splitlines())


def test_identical_lists():
    """Two files that hold the same lists, and one file twice."""
    for names in (("mat", "track2"), ("mat", "mat")):
        found = answer("compare", *lists(*names))
        assert {(one["p"], one["difference"], one["better"], one["worse"], one["same"])
                for one in found["comparisons"]} == {(1, 0, 0, 0, 333)}
    assert list(found["values"]) == ["mat", "mat (2)"]
    named = answer("compare", *lists("mat", "mat"), "--name", "ours,again")
    assert list(named["values"]) == ["ours", "again"]
    out = table("compare", *lists("mat", "track2"))
    assert out.count("track2: identical per-query values; p = 1") == 2
    # Nine identities of 333, of root mean square size.
    assert out.count("smallest detectable difference: 2.99 points") == 2
    assert "gained most" not in out


def test_formats(compared):
    words = ["compare", *lists("mat", "match28000_Mslm", "match6500"), "--format"]
    rows = list(csv.DictReader(io.StringIO(table(*words, "csv"))))
    for row in rows:
        one = compared[1][row["system"], row["metric"]]
        assert float(row["difference"]) == one["difference"] and float(row["p"]) == one["p"]
        assert row["signature"].startswith("convention:cityflow|")
    text = table(*words, "markdown")
    assert "| mat | 26.36 | 47.72 |" in text
    # Bold: the best. One star: p adjusted is 0.025.
    assert r"| match28000\_Mslm | **27.58**<sup>\*</sup> [+0.2" in text
    assert "| match6500 | 25.29 [-2.6" in text
    assert r"\* p \< 0.05" in text and "difference to mat" in text
    text = table(*words, "latex")
    # Its Rank-1 is the best, and not told apart from the first: bold without a star.
    assert (r"match28000\_Mslm & \textbf{27.58}\textsuperscript{*} & \textbf{50.19} \\" + "\n"
            r" & {\scriptsize [+0.2") in text
    caption, = re.findall(r"\\caption\{(.*)\}", text)
    assert caption == (r"In percent. Bold: best. Brackets: 95 \% interval of the difference to "
                       r"mat. * p \textless{} 0.05.") and len(caption.split()) < 20
    assert "% * p < 0.05, ** p < 0.01 against mat: two-sided test by sign flips" in text
    assert r"mat & 26.36 & 47.72 \\" in text


# ---------------------------------------------------------------- files of each query


def test_saved_results_need_no_features(tmp_path):
    ours, theirs = (tmp_path / f"{name}.json" for name in ("ours", "theirs"))
    table("evaluate", MARKET, "--save", ours)
    table("evaluate", MARKET, "--no-normalize", "--save", theirs)
    of_files = answer("compare", ours, theirs, "--measure", "mAP,mINP,Rank-1,P@5")
    data = reid_ref.read(MARKET)
    ours, theirs = (reid_ref.evaluate(
        data.query_features, data.gallery_features, data.query, data.gallery,
        normalize=normalize) for normalize in (True, False))
    expected = reid_ref.compare(ours, theirs, metrics=["mAP", "mINP", "Rank-1", "P@5"])
    assert [(one["difference"], one["p"], one["low"]) for one in of_files["comparisons"]] == [
        (one.difference, one.p, one.low) for one in expected.comparisons]
    assert of_files["values"]["ours"]["mAP"] == ours.mAP


def test_the_legend_has_the_words_of_its_unit():
    words = ["compare", MARKET, MARKET, "--resamples", 99]
    assert "identities whose queries together gained, lost, or did neither" in table(*words)
    assert "+/-/=     queries that gained, lost, or did neither\n" in table(
        *words, "--unit", "query")


def test_a_result_named_as_an_argument_is_not_taken_for_an_option(tmp_path):
    """The message of a file lists.npz began with --index-lists."""
    distances, query, gallery = cases.market_like(5, n_query=60, n_gallery=150, identities=25)
    for name, n in (("lists", 60), ("seed", 59)):
        labels = {f"{side}_{column}": getattr(images, column) for side, images in (
            ("query", query[:n]), ("gallery", gallery)) for column in ("identity", "camera")}
        np.savez(tmp_path / f"{name}.npz", distances=distances[:n], **labels)
    names = tmp_path / "lists.npz", tmp_path / "seed.npz"
    assert refusal("compare", *names).startswith("seed: ")
    assert refusal("compare", *names[::-1]).startswith("lists: ")


#: Words of compare and of evaluate --mean, the argument that the error names, and a word of it.
REFUSED = [
    ("matlab.json torchreid.json", "torchreid", "one convention"),
    (f"{MARKET} {MARS}", "mars_like", "48 queries"),
    (f"{MARS} {TIES}", "ties", "of 30 queries differ"),
    (MARKET, "FILE", "at least 2"),
    ("matlab.json gallery.json", "gallery", "00000000"),
    ("mars.json mars2.json", "--measure", "NaN under convention 'mars'"),
    (f"{MARKET} again.mat --convention mars", "--measure", "NaN under convention 'mars'"),
    ("matlab.json broken.json", "broken.json", "--save"),
    ("matlab.json torchreid.json --measure mapp", "--measure", "'mapp'"),
    ("matlab.json torchreid.json --convention mars", "--convention", "saved results"),
    (f"{MARKET} again.mat --unit nowhere", "nowhere", "cannot be read"),
    ("matlab.json torchreid.json --seed -1", "--seed", "from 0")]


def test_bad_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("matlab", "torchreid", "mars"):
        table("evaluate", MARKET, "--convention", name, "--save", f"{name}.json")
    shutil.copy(MARKET, "again.mat")
    shutil.copy("mars.json", "mars2.json")
    Path("broken.json").write_text('{"queries": [{"query": 0}]}')
    value = json.loads(Path("matlab.json").read_text())
    value["labels"]["gallery"]["identity"] = "00000000"
    Path("gallery.json").write_text(json.dumps(value))
    for words, argument, word in REFUSED:
        for first in (["compare"], ["evaluate", "--mean", "runs"]):
            line = refusal(*first, *words.split())
            assert line.startswith(f"{argument}: ") and word in line, line
    for words, argument, word in (("--convention matlab,mars", "--convention", "under one"),
                                  ("--metric mAP", "--metric", "--measure")):
        line = refusal("compare", MARKET, MARKET, *words.split())
        assert line.startswith(f"{argument}: ") and word in line, line
    for words, argument in (("--convention matlab,mars", "--mean"), ("--save x.json", "--save"),
                            ("--by camera --json --cmc all", "--cmc")):
        line = refusal("evaluate", MARKET, "again.mat", "--mean", "runs", *words.split())
        assert line.startswith(f"{argument}: "), line


# ---------------------------------------------------------------- runs, splits


SPLITS = "--mean", "splits"


def test_splits_have_queries_of_their_own():
    found = answer("evaluate", MARKET, TIES, *SPLITS, "--measure", "mAP")["metrics"]["mAP"]
    assert found["queries"] == {"market_like": 48, "ties": 30}
    both = np.concatenate([reid_ref.read(name).query.identity for name in (MARKET, TIES)])
    assert found["interval"]["units"] == len(np.unique(both))
    out = " ".join(table("evaluate", MARKET, TIES, *SPLITS).split())
    assert "sd how much the number changes from one query set to another" in out
    assert "market_like 48 40.16" in out


def test_splits_in_every_format():
    words = ["evaluate", MARKET, TIES, *SPLITS, "--measure", "mAP,mINP", "--format"]
    rows = list(csv.DictReader(io.StringIO(table(*words, "csv"))))
    assert [(row["metric"], row["split"], row["queries"]) for row in rows] == [
        ("mAP", "market_like", "48"), ("mAP", "ties", "30"),
        ("mINP", "market_like", "48"), ("mINP", "ties", "30")]
    assert "| market\\_like | 40.16 | 21.63 |" in table(*words, "markdown")
    assert r"market\_like & 40.16 & 21.63 \\" in table(*words, "latex")


def test_splits_refuse_groups_and_other_conventions(tmp_path):
    groups = tmp_path / "groups.txt"
    groups.write_text("a\n")
    assert refusal("evaluate", MARKET, TIES, *SPLITS, "--unit", groups).startswith("--unit: ")
    for name in ("matlab", "torchreid"):
        table("evaluate", MARKET, "--convention", name, "--save", tmp_path / f"{name}.json")
    assert "evaluate both under one convention" in refusal(
        "evaluate", tmp_path / "matlab.json", tmp_path / "torchreid.json", *SPLITS)


# ---------------------------------------------------------------- all pairs

def all_pairs():
    return ["compare", *lists("mat", "match28000_Mslm", "match6500"), "--all-pairs"]


def test_all_pairs(compared):
    """Each pair is as where one of it is the baseline, and Holm is over all of a metric."""
    found = answer(*all_pairs())
    assert found["values"] == compared[0]["values"] and found["baseline"] == "mat"
    other = answer("compare", *lists("match28000_Mslm", "match6500"))["comparisons"]
    ours = compared[0]["comparisons"]
    expected = [*ours[:2], other[0], *ours[2:], other[1]]
    assert [one["p_adjusted"] for one in found["comparisons"]] == [
        p for k in (0, 3) for p in holm([one["p"] for one in expected[k:k + 3]])]
    adjusted = {"p_adjusted": 0, "p_decides": 0}
    for one, two in zip(found["comparisons"], expected, strict=True):
        assert one | adjusted == two | adjusted and one["p_decides"] == one["p_adjusted"]


def test_letters_of_the_systems_that_one_beats():
    lines = table(*all_pairs()).splitlines()
    assert [line.split() for line in lines[:4]] == [
        ["mAP", "percent", "better", "than"], ["a", "mat", "26.36"],
        ["b", "match28000_Mslm", "27.58", "a", "c"], ["c", "match6500", "25.29"]]
    assert lines[7].split()[:4] == ["c", "-", "a", "-1.07"]
    flat = " ".join(" ".join(lines).split())
    assert "p adjusted for 3 pairs by Holm's method; better than: below 0.05" in flat
    assert "detectable differences: 1.35, 2.04 and 1.82 points" in flat
    assert r"| b match28000\_Mslm | **27.58**<sup>ac</sup> | **50.19** |" in table(
        *all_pairs(), "--format", "markdown")
    text = table(*all_pairs(), "--format", "latex")
    assert r"b match28000\_Mslm & \textbf{27.58}\textsuperscript{ac} & \textbf{50.19} \\" in text
    assert r"Letters: better than these (p \textless{} 0.05)" in text and "[" not in text
    text = table(*all_pairs(), "--format", "latex", "--underline")
    assert r"a mat & \underline{26.36} &" in text


def test_bold_is_the_best_whatever_the_test_finds():
    """The best beats the first, not the second."""
    query, gallery = (Labels(range(40), [k] * 40) for k in (1, 2))
    systems = {}
    for name, wrong in (("first", 20), ("second", 3), ("best", 2)):
        distances = 1 - np.eye(40)
        distances[:wrong, 39] = -1
        systems[name] = reid_ref.evaluate_distances(distances, query, gallery)
    for all_pairs, mark in ((False, "**"), (True, "a")):
        answer = reid_ref.compare(systems, metrics=["Rank-1"], all_pairs=all_pairs)
        first, second, best = (cell(answer, name, "Rank-1", underline=True) for name in systems)
        assert (best.bold, best.underlined, best.mark) == (True, False, mark)
        assert (second.bold, second.underlined) == (False, True)
        assert not first.bold and not first.underlined
        assert not cell(answer, "second", "Rank-1").underlined
    assert [one.better_system for one in answer.comparisons] == ["second", "best", None]


@pytest.mark.parametrize("identities", [8, 9])
def test_over_too_few_identities_there_is_no_letter_and_a_note(identities, tmp_path):
    """Of three pairs the least p is 3 * 11 / 2**9 with eight identities, 3 * 12 / 2**10 with nine.
    """
    query, gallery = (Labels(range(identities), [k] * identities) for k in (1, 2))
    names = ("all", "none", "half")
    for name, scale in zip(names, (-1, 1, 0)):
        result = reid_ref.evaluate_distances(scale * np.eye(identities), query, gallery)
        result.save(tmp_path / f"{name}.json")
    files = [str(tmp_path / f"{name}.json") for name in names]
    options = "--all-pairs", "--measure", "mAP"
    text = " ".join(table("compare", *files, *options).split())
    assert ("too few to tell by mAP" in text) == (identities == 8)
    assert ("takes at least 9 units" in text) == (identities == 8)
    assert ("smallest detectable" in text) == (identities == 9)
    latex = table("compare", *files, *options, "--format", "latex")
    assert ("too few to tell" in latex, r"\textsuperscript{b" in latex) == (
        identities == 8, identities == 9)
    systems = {name: reid_ref.load(file) for name, file in zip(names, files)}
    found = reid_ref.compare(systems, metrics=["mAP"], all_pairs=True)
    assert found.too_few == ({"mAP": 9} if identities == 8 else {})
    assert ("too few to tell" in found._repr_html_()) == (identities == 8)
    assert answer("compare", *files, *options)["too_few"] == found.too_few


@pytest.fixture(scope="module")
def many():
    """Thirty-four systems over 40 identities; each is wrong once more than the one before."""
    query, gallery = (Labels(range(40), [k] * 40) for k in (1, 2))
    systems = {}
    for wrong in range(34):
        distances = 1 - np.eye(40)
        distances[:wrong, 39] = -1
        systems[f"s{wrong}"] = reid_ref.evaluate_distances(distances, query, gallery)
    return systems


def test_of_many_pairs_some_are_significant(many):
    """561 pairs: of 10,000 flips the least p is 1/10,001, and 0.056 when adjusted."""
    found = reid_ref.compare(many, metrics=["Rank-1"], all_pairs=True)
    far = found.comparisons[32]
    assert (far.baseline, far.system, far.worse) == ("s0", "s33", 33)
    assert far.trials == 224_400 and far.p_adjusted < .01 and far.better_system == "s0"
    alone, = reid_ref.compare(many["s0"], many["s33"], metrics=["Rank-1"]).comparisons
    assert (far.low, far.high, far.se) == (alone.low, alone.high, alone.se)
    near = found.comparisons[0]
    assert (near.p, near.trials) == (1, 10_000 - 10_000 % 8)
    # Where few changed, all choices are counted, and more would not be others.
    eleven = found.comparisons[10]
    assert (eleven.worse, eleven.trials) == (11, 8_192)


def with_signatures(found):
    return Compared(**vars(found), files=[], signatures={})


def test_a_smallest_p_comes_with_its_reason(many):
    found = reid_ref.compare(many, metrics=["Rank-1"], all_pairs=True)
    text = " ".join(as_text(with_signatures(found)).split())
    assert "<0.0001 0.0025" in text
    assert "10,000 drawn or all if there are fewer, 224,400 where p < 0.002" in text
    assert "the smallest possible p of 224,400 flips is 4.5e-06, adjusted 0.0025" in text
    detectable = [f"{100 * one.detectable:.2f}" for one in found.comparisons]
    low, high = (find(detectable, key=float) for find in (min, max))
    assert f"smallest detectable differences: {low} to {high} points" in text
    two = reid_ref.compare(many["s0"], many["s33"], metrics=["Rank-1"])
    assert "adjusted" not in as_text(with_signatures(two))


@pytest.mark.parametrize(("resamples", "number"), [(11_219, "11,220"), (199, "11,220")])
def test_flips_that_cannot_suffice_are_refused(resamples, number, many):
    with pytest.raises(reid_ref.InputError, match=f"^resamples: .*{number} flips"):
        reid_ref.compare(many, all_pairs=True, resamples=resamples)


def test_flips_that_are_asked_for_are_all_that_are_drawn(many):
    three = {name: many[name] for name in ("s0", "s20", "s33")}
    found = reid_ref.compare(three, metrics=["Rank-1"], all_pairs=True, resamples=500)
    assert {one.trials for one in found.comparisons} == {500} and found.resamples == 500
    assert refusal("compare", MARKET, MARKET, "--resamples", 19).startswith("--resamples: ")


@pytest.mark.parametrize("several", [False, True])
def test_every_column_is_shown_wherever_comparisons_are(tmp_path, several):
    files, loaded = [], {}
    for name in "abc"[:2 + several]:
        files.append(str(tmp_path / f"{name}.json"))
        assert command("evaluate", MARKET, "--save", files[-1]).returncode == 0
        loaded[name] = reid_ref.load(files[-1])
    screen, notebook = table("compare", *files), reid_ref.compare(loaded)._repr_html_()
    heads = table("compare", *files, "--format", "csv").splitlines()[0].split(",")
    pair = answer("compare", *files)["comparisons"][0]
    for column in COLUMNS:
        assert set(column.fields) <= set(heads) & pair.keys(), column.name
        shown = column.cell is not None and (several or not column.several)
        assert (column in shown_columns(several)) == shown, column.name
        assert (f">{column.name}</th>" in notebook) == shown, column.name
        if shown:
            assert (column.head or column.name).format(level=95) in screen, column.name


@pytest.mark.parametrize("several", [False, True])
def test_every_line_and_legend_is_shown(tmp_path, several):
    """Each record of what is said says something; JSON has the fields of a line."""
    first, second = (cases.market_like(seed, n_query=40, n_gallery=200) for seed in (0, 1))
    results = {"a": reid_ref.evaluate_distances(first[0], *second[1:]),
               "b": reid_ref.evaluate_distances(*second)}
    results |= {"c": results["a"]} if several else {}
    for name, result in results.items():
        result.save(tmp_path / f"{name}.json")
    files = [f"{name}.json" for name in results]
    screen = " ".join(table("compare", *files, cwd=tmp_path).split())
    paper = table("compare", *files, "--format", "latex", cwd=tmp_path)
    found, json_pair = reid_ref.compare(results), answer(
        "compare", *files, cwd=tmp_path)["comparisons"][0]
    by_metric = [[change for change in found.comparisons if change.metric == metric]
                 for metric in found.values["a"]]
    for line in LINES:
        said = [line.words(found, changes) for group in by_metric for changes in (
            [[one] for one in group] if line.of_each else [group])]
        assert any(said) and all(" ".join(words.split()) in screen for words in said), line.fields
        assert set(line.fields) <= json_pair.keys()
    for legend in LEGEND:
        words, comment = legend.words(found), legend.comment(found)
        assert f"{legend.name} {' '.join(words.split())}" in screen or not words
        assert bool(words) == (legend.name in ("+/-/=", "p", "interval")
                               or several and legend.name == "Holm")
        assert f"{comment}." in paper.replace(r"\textless{}", "<").replace(r"\%", "%")


# ---------------------------------------------------------------- methods of several seeds


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Two methods of three seeds over 60 identities; a third of one; a file of other queries."""
    root = tmp_path_factory.mktemp("seeds")

    def save(name, wrong, identities=60):
        query, gallery = (Labels(range(identities), [k] * identities) for k in (1, 2))
        distances = 1 - np.eye(identities)
        distances[wrong, identities - 1] = -1
        reid_ref.evaluate_distances(distances, query, gallery).save(root / f"{name}.json")

    for name, wrong in (("a0", 24), ("a1", 34), ("a2", 29), ("b0", 10), ("b1", 21), ("b2", 16),
                        ("c0", 8)):
        save(name, range(wrong))
    save("other", range(5), 50)
    return root


A, B = "A=a0.json,a1.json,a2.json", "B=b0.json,b1.json,b2.json"


def test_methods_of_three_seeds_have_two_answers(seeds):
    """Thirteen identities better on average: these models differ, and such methods may not."""
    found = answer("compare", A, B, "--measure", "Rank-1", cwd=seeds)
    one, = found["comparisons"]
    assert found["spreads"]["A"]["Rank-1"]["runs"] == 3 and list(found["values"]) == ["A", "B"]
    numbers = [[reid_ref.load(seeds / f"{name}{k}.json").rank(1) for k in range(3)]
               for name in "ab"]
    for name, of_runs in zip("AB", numbers):
        assert found["values"][name]["Rank-1"] == pytest.approx(np.mean(of_runs), abs=1e-15)
        assert found["spreads"][name]["Rank-1"]["sd"] == pytest.approx(np.std(of_runs, ddof=1))
    assert one["p"] < .001 and one["methods"]["p"] == one["p_decides"] > .01
    assert one["methods"]["low"] < one["low"] and one["high"] < one["methods"]["high"]
    screen = table("compare", A, B, "--measure", "Rank-1", cwd=seeds)
    assert re.search(r"Rank-1 +percent +sd +its interval +seeds\nA +51.67 +8.33 +4.34 .. 52.37 +3",
                     screen)
    row_of = r" +change.*\nB +\+22.22 +(\S+) \.\. (\S+) +(\S+)"
    models, methods = (re.search(title + row_of, screen) for title in (
        "these trained models", "the methods"))
    assert [float(end) for end in models.groups()[:2]] == [
        round(100 * one[name], 2) for name in ("low", "high")]
    assert methods.groups()[2] == f"{one['methods']['p']:.4f}"
    row, = csv.DictReader(io.StringIO(table(
        "compare", A, B, "--measure", "Rank-1", "--format", "csv", cwd=seeds)))
    assert float(row["methods_p"]) == one["methods"]["p"] and row["system_runs"] == "3"


def test_stars_letters_and_holm_are_of_the_methods(seeds):
    """Of twelve identities fewer, between seeds five apart: significant for these models alone."""
    words = "compare", A, B, "C=c0.json"
    text = table(*words, "--format", "latex", "--measure", "Rank-1", cwd=seeds)
    assert r"C & \textbf{86.67} \\" in text and "textsuperscript{**}" not in text
    assert r"A & 51.67 {\scriptsize $\pm$ 8.33} \\" in text
    screen = table(*words, "--all-pairs", "--measure", "Rank-1", cwd=seeds)
    assert "c - a, c - b: one seed: these models alone" in screen
    found = answer(*words, "--all-pairs", "--measure", "Rank-1", cwd=seeds)["comparisons"]
    assert [one["methods"] is None for one in found] == [False, True, True]
    assert [one["p_decides"] is None for one in found] == [False, True, True]
    assert found[0]["methods"]["p_adjusted"] == found[0]["methods"]["p"]  # of one pair
    same = reid_ref.compare({name: [reid_ref.load(seeds / f"{name.lower()}{k}.json")
                                    for k in range(3)] for name in "AB"}, metrics=["Rank-1"])
    assert same.comparisons[0].methods.p == found[0]["methods"]["p"]
    notebook = same._repr_html_()
    assert "B - A, these trained models" in notebook and "B - A, the methods" in notebook


def test_paired_seeds(seeds):
    words = "compare", A, B, "--measure", "Rank-1"
    paired, = answer(*words, "--paired-seeds", cwd=seeds)["comparisons"]
    alone, = answer(*words, cwd=seeds)["comparisons"]
    # Gains of 14, 13, 13 identities, where each method varies by five.
    assert paired["methods"]["se_runs"] == pytest.approx(math.sqrt(1 / 3 / 3) / 60)
    assert paired["p"] == alone["p"] and paired["methods"]["p"] < alone["methods"]["p"]
    assert "seeds are pairs" in " ".join(table(*words, "--paired-seeds", cwd=seeds).split())


@pytest.mark.parametrize(("words", "line"), [
    ("A=a0.json,a1.json B=", "B=: expected NAME=FILE[,FILE...]"),
    ("A=a0.json,,a1.json b0.json", "A=a0.json,,a1.json: expected NAME=FILE[,FILE...]"),
    ("a0.json,a1.json b0.json", "a0.json,a1.json: expected NAME=FILE[,FILE...]"),
    ("A=a0.json,./a0.json B=b0.json", "A: expected a file of its own for each seed"),
    ("A=a0.json,a1.json B=a0.json,b1.json", "B: expected a file of its own for each seed"),
    ("A=a0.json,other.json,a1.json B=b0.json,b1.json",
     "A: expected files of queries that another system has, too, got other.json on other"),
    (f"{A} B=b0.json,b1.json --paired-seeds",
     "--paired-seeds: expected as many results of each system"),
    ("a0.json b0.json --paired-seeds", "--paired-seeds: expected as many results")])
def test_bad_seeds(words, line, seeds, monkeypatch):
    monkeypatch.chdir(seeds)
    assert refusal("compare", *words.split()).startswith(line)


def test_seeds_that_are_copies_are_named(tmp_path):
    """A seed that is not passed on: equal files tell nothing of other seeds."""
    data = reid_ref.read(MARKET)
    features, rng = data.query_features, np.random.default_rng(0)
    files = {}
    for name, sizes in (("A", [0, 0, 0]), ("B", [.03, .06, .06])):
        files[name] = [tmp_path / f"{name}{k}.json" for k in range(3)]
        for file, size in zip(files[name], sizes):
            noisy = features + size * rng.normal(size=features.shape)
            reid_ref.evaluate(noisy, data.gallery_features, data.query, data.gallery).save(file)
    words = [f"{name}={','.join(map(str, of_name))}" for name, of_name in files.items()]
    done = command("compare", *words, "--measure", "mAP", "--resamples", "999")
    named, = [line for line in done.stderr.splitlines() if "equal results" in line]
    assert all(f"{file} of A" in named for file in files["A"]) and "of B" not in named
    assert "0.00 .. 0.00" not in done.stdout and "one seed: these models alone" in done.stdout
    assert re.search(r"^A +40.16 +0.00 +- +3$", done.stdout, re.M)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_difference_is_detectable_that_the_interval_does_not_tell_from_none():
    labels = Labels(range(20), [1] * 20), Labels(range(20), [2] * 20)
    distances = 1 - np.eye(20)
    distances[0] = [18.5, *range(19)]  # one query changes, and by little: from rank 20 to 19
    one = reid_ref.evaluate_distances(distances, *labels)
    distances[0, 0] = 17.5
    other = reid_ref.evaluate_distances(distances, *labels)
    for pair in ((one, other), (other, one), (one, one)):
        for found in reid_ref.compare(*pair).comparisons:
            assert found.detectable >= found.high - found.difference
            assert found.detectable >= found.difference - found.low


# ---------------------------------------------------------------- seeds

@pytest.fixture
def methods(tmp_path):
    """Saved results of two methods with three seeds, in folders of their own, and the results."""
    data, results = reid_ref.read(MARKET), {}
    random = np.random.default_rng(0)
    for method, scale in (("base", .3), ("ours", .2)):
        (tmp_path / method).mkdir()
        for k in range(3):
            noisy = data.query_features + scale * random.normal(size=data.query_features.shape)
            result = reid_ref.evaluate(noisy, data.gallery_features, data.query, data.gallery)
            result.save(tmp_path / method / f"{method}_{k}.json")
            results.setdefault(method, []).append(result)
    return tmp_path, results


def test_a_hint_where_names_differ_by_a_number(methods):
    folder, _ = methods
    files = [f"{method}/{method}_{k}.json" for method in ("base", "ours") for k in range(3)]
    done = command("compare", *files, cwd=folder)
    written = " ".join(f"{name}={','.join(each)}" for name, each in (
        ("base", files[:3]), ("ours", files[3:])))
    assert done.returncode == 0 and f"seeds of a method, write {written}\n" in done.stderr
    for words in (written.split(), files[:3], files[:2] + files[3:4], ["base", "ours"]):
        assert "seeds of" not in command("compare", *words, cwd=folder).stderr
    assert (command("compare", *written.split(), cwd=folder).stdout
            == command("compare", "base=base", "ours=ours", cwd=folder).stdout
            == command("compare", "base", "ours", cwd=folder).stdout)


def test_a_curve_for_each_method(methods, monkeypatch):
    """The mean of the runs with their range, not six curves."""
    folder, results = methods
    monkeypatch.chdir(folder)
    drawn = {}
    cmc = plot.FIGURES["cmc"].draw.args[1]

    def kept(by_name, ax=None, **options):
        drawn.update(by_name=by_name, ax=cmc(by_name, ax, **options), bands=options["bands"])

    monkeypatch.setitem(plot.FIGURES, "cmc", plot.FIGURES["cmc"]._replace(
        draw=partial(plot._shared, "cmc", kept)))
    files = ",".join(f"base/base_{k}.json" for k in range(3))
    assert cli.main(["plot", "cmc", f"base={files}", "ours", "-o", "x.svg", "--quiet"]) == 0
    for (name, runs), line, band in zip(results.items(), drawn["ax"].lines, drawn["bands"]):
        curves = 100 * np.array([run.cmc[:20] for run in runs])
        np.testing.assert_allclose(line.get_ydata(), curves.mean(axis=0), rtol=1e-14)
        assert line.get_label() == f"{name} (Rank-1 {curves[:, 0].mean():.2f})"
        np.testing.assert_array_equal(100 * band.low, curves.min(axis=0))
        np.testing.assert_array_equal(100 * band.high, curves.max(axis=0))
    assert len(drawn["ax"].lines) == 2
    done = command("plot", "cmc", "base", "-o", "y.svg", cwd=folder)
    assert "Bands are the range of the runs, each line their mean. 48 queries" in " ".join(
        done.stdout.split())
    for figure in ("pr", "ap"):
        assert command("plot", figure, "base", "ours", "-o", "z.svg", cwd=folder).returncode == 0
    done = command("plot", "rank-lists", f"x={MARKET},{MARKET}", "-o", "z.svg", cwd=folder)
    assert done.returncode == 2
    done = command("plot", "conventions", "base", "-o", "z.svg", cwd=folder)
    assert done.returncode == 2 and "cmc, pr and ap draw the mean of several" in done.stderr


def test_a_saved_result_brings_its_rule(tmp_path):
    """What is compared with, or drawn beside, a saved result is evaluated under its rule."""
    data = reid_ref.read(MARKET)
    for k, name in enumerate("ab"):
        np.savez(tmp_path / f"{name}.npz", query_f=data.query_features + k / 9,
                 gallery_f=data.gallery_features, query_label=data.query.identity,
                 gallery_label=data.gallery.identity)
    command("evaluate", "a.npz", "--set", "ignored=nothing,ap=step", "--save", "a.json",
            cwd=tmp_path)
    rule = "ignored=nothing,ap=step"
    for words in (["compare"], ["plot", "cmc", "-o", "x.svg"], ["report", "-o", "x.html"],
                  ["compare", "--set", rule]):
        done = command(*words, "a.json", "b.npz", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        if words[0] == "compare":
            assert rule in done.stdout
    done = command("evaluate", "b.npz", "--baseline", "a.json", cwd=tmp_path)
    assert done.returncode in (0, 5) and rule in done.stdout
    assert command("compare", "a.json", "b.npz", "--convention", "simpleir",
                   cwd=tmp_path).returncode == 2
