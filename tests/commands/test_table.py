"""`reid-ref compare` of several benchmarks, from saved results, against `reid_ref.compare`."""
import csv
import dataclasses
import io

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.commands.check_table import check_page
from reid_ref.commands.compare.command import Read, _benchmark
from reid_ref.datasets.fingerprints import FINGERPRINTS
from tests.commands.common import answer, refusal, table


def of_thirty(wrong, n=30, convention="matlab"):
    """A result of n identities with one gallery image each; the first `wrong` are missed."""
    distances = 1 - np.eye(n)
    distances[:wrong, n - 1] = -1
    return reid_ref.evaluate_distances(distances, Labels(range(n), [1] * n),
                                       Labels(range(n), [2] * n), convention=convention)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """old, new and other, each on `first`; old and new on `second`, too."""
    root = tmp_path_factory.mktemp("results")
    for method, first, second in (("old", 10, 9), ("new", 0, 8), ("other", 11, None)):
        (root / method).mkdir()
        of_thirty(first).save(root / method / "first.json")
        if second is not None:
            of_thirty(second, 40).save(root / method / "second.json")
    of_thirty(3, convention="torchreid").save(root / "torchreid.json")
    return root


METHODS = "compare", "old", "new", "other"


def test_terminal(folder):
    lines = table(*METHODS, cwd=folder).splitlines()
    assert lines[:5] == [
        "             first               second",
        "percent      mAP     Rank-1       mAP    Rank-1",
        "old        75.00      66.67     83.12     77.50",
        "new      >100.00*   >100.00*   >85.00    >80.00",
        "other      72.50      63.33         -         -"]
    flat = " ".join(" ".join(lines).split())
    assert "* p < 0.05, ** p < 0.01 against old: two-sided test by sign flips" in flat
    assert "of first signature convention:matlab" in flat and "of second signature" in flat


def test_papers(folder):
    text = table(*METHODS, "--format", "latex", cwd=folder)
    assert "\n".join([
        r"& \multicolumn{2}{c}{first} & \multicolumn{2}{c}{second} \\",
        r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}", r"System & mAP & Rank-1 & mAP & Rank-1 \\",
        r"\midrule", r"old & 75.00 & 66.67 & 83.12 & 77.50 \\"]) in text
    best = r"\textbf{100.00}\textsuperscript{*}"
    assert rf"new & {best} & {best} & \textbf{{85.00}} &" in text
    assert r" & -- & -- \\" in text and "scriptsize" not in text
    assert text.count("% first: convention:matlab|") == 1
    text = table(*METHODS, "--format", "markdown", cwd=folder)
    assert "| System | first mAP | first Rank-1 | second mAP | second Rank-1 |" in text
    assert r"| new | **100.00**<sup>\*</sup> |" in text and "- second: `convention:matlab" in text


def test_the_numbers_are_those_of_compare(folder):
    found = answer(*METHODS, cwd=folder)["benchmarks"]
    for name, methods in (("first", METHODS[1:]), ("second", METHODS[1:3])):
        expected = reid_ref.compare({method: reid_ref.load(folder / method / f"{name}.json")
                                     for method in methods})
        assert found[name]["values"] == expected.values
        assert [(one["difference"], one["p_adjusted"]) for one in found[name]["comparisons"]] == [
            (one.difference, one.p_adjusted) for one in expected.comparisons]
    rows = list(csv.DictReader(io.StringIO(table(*METHODS, "--format", "csv", cwd=folder))))
    assert [row["name"] for row in rows] == list(METHODS[1:])
    assert float(rows[0]["second mAP"]) == found["second"]["values"]["old"]["mAP"]
    assert rows[2]["second mAP"] == rows[2]["second signature"] == ""
    assert rows[2]["first signature"] == found["first"]["signatures"]["other"]


def test_files_by_name(folder):
    """A file is a method; results of the same labels are in one column, whatever their names."""
    found = answer("compare", "ours=old/first.json,old/second.json", "new/second.json",
                   "--measure", "mINP", cwd=folder)["benchmarks"]
    assert {name: list(one["values"]) for name, one in found.items()} == {
        "first": ["ours"], "second": ["ours", "second"]}
    found = answer("compare", "a=old/first.json", "b=new/first.json", cwd=folder)
    assert list(found["values"]) == ["a", "b"]


def test_several_files_on_one_benchmark_are_seeds(folder):
    """Each query has its mean over them, of which that of all is the mean."""
    found = answer("compare", "old=old/first.json,other/first.json", "new=new/first.json",
                   cwd=folder)
    assert list(found["values"]) == ["old", "new"] and len(found["files"]) == 3
    one, two, new = (reid_ref.load(folder / name / "first.json")
                     for name in ("old", "other", "new"))
    assert found["values"]["old"]["mAP"] == (one.mAP + two.mAP) / 2
    of_map, _ = found["comparisons"]
    assert of_map["difference"] == pytest.approx(new.mAP - (one.mAP + two.mAP) / 2, abs=1e-15)
    # One of thirty queries gains half of what it gains over the second seed.
    assert (of_map["better"], of_map["worse"], of_map["same"]) == (11, 0, 19)
    assert of_map["methods"] is None and of_map["p_decides"] is None


def test_seeds_on_several_benchmarks(folder):
    """Both answers are below the main table, on each benchmark."""
    files = {name: [f"{name}/{benchmark}.json" for benchmark in ("first", "second")]
             for name in ("old", "new")}
    words = ["compare", f"old={','.join(files['old'])},other/first.json",
             f"new={','.join(files['new'])}"]
    screen = table(*words, cwd=folder)
    assert "first, mAP\n" in screen and "second, mAP" not in screen
    assert "new: one seed: these models alone" in screen
    assert ">100.00  " in screen and "100.00*" not in screen
    assert answer(*words, cwd=folder)["benchmarks"]["second"]["comparisons"][0]["p_decides"] == (
        answer(*words, cwd=folder)["benchmarks"]["second"]["comparisons"][0]["p_adjusted"])


@pytest.mark.parametrize("key", ["market1501", "dukemtmc", "msmt17", "occluded-duke"])
@pytest.mark.parametrize("without_junk", [False, True])
def test_the_benchmark_is_known_by_its_counts(key, without_junk, folder):
    path, known = folder / "old/first.json", FINGERPRINTS[key]
    saved = reid_ref.load(path)
    n = known.counts.query
    changed = dataclasses.replace(
        saved, counts=dataclasses.replace(
            saved.counts, query=n, gallery=known.counts.gallery
            - without_junk * known.counts.junk),
        per_query=dataclasses.replace(
            saved.per_query, identity=np.arange(n) % known.counts.query_identities))
    assert _benchmark(Read(path, changed), {}) == known.name
    fewer = dataclasses.replace(changed, counts=dataclasses.replace(changed.counts, query=n - 1))
    assert _benchmark(Read(path, fewer), {}) == "first"


def test_refusals(folder):
    def refused(*methods):
        return refusal("compare", *(str(folder / name) if "=" not in name else name.replace(
            "=", f"={folder}/") for name in methods))

    (folder / "empty").mkdir()
    for words, argument, noun in (
            (["old", "x=torchreid.json"], "first: x", "one convention"),
            (["other", "old"], "other", "name another system first"),
            (["old", "empty"], "empty", "files"), (["old", "nothing"], "nothing", "No such file"),
            (["old"], "FILE", "at least 2")):
        line = refused(*words)
        assert argument in line.partition(" expected")[0] and noun in line, line
    assert refusal("compare", "x=", "y=a") .startswith("x=: ")


@pytest.mark.parametrize("form", ["latex", "markdown"])
@pytest.mark.parametrize(("words", "n_metrics"), [
    ("compare old new other", 4), ("compare old/first.json new/first.json other/first.json", 2),
    ("compare old/first.json new/first.json other/first.json --all-pairs", 2),
    ("evaluate old/first.json new/first.json other/first.json --name a,b,c --confidence", 6)])
def test_check_table_reads_what_is_printed_for_a_paper(words, n_metrics, form, folder):
    text = table(*words.split(), "--format", form, cwd=folder)
    checked, unread = check_page(text.splitlines())
    assert not unread and [len(one.row.numbers) for one in checked[:2]] == [n_metrics] * 2, text
    assert len(checked) == 3 and not any(one.faults for one in checked)
    assert [[number.printed for number in one.row.numbers][:2] for one in checked] == [
        ["75.00", "66.67"], ["100.00", "100.00"], ["72.50", "63.33"]]


def test_check_table_leaves_out_what_is_raised():
    page = ["| System | mAP | Rank-1 |", "|:--|--:|--:|",
            "| a | 27.58<sup>2</sup> | **50.1**<sup>b</sup> |"]
    numbers = check_page(page)[0][0].row.numbers
    assert [number.printed for number in numbers] == ["27.58", "50.1"]


def test_a_benchmark_of_too_few_identities_is_named(folder, tmp_path):
    for method, wrong in (("old", 6), ("new", 0)):
        of_thirty(wrong, 6).save(tmp_path / f"{method}.json")
    files = [f"{method}={folder / method / 'first.json'},{tmp_path / method}.json"
             for method in ("old", "new")]
    text = " ".join(table("compare", *files).split())
    assert "no marks old: too few to tell by mAP, Rank-1" in text and "first: too" not in text
    assert "No marks on old: too few to tell" in table("compare", *files, "--format", "latex")
    assert "too few" not in table(*METHODS, cwd=folder)
