"""The built-in table: what it must hold, and what a user sees of it.

The collected figures that it was made from are read where they are: see `tests.shared`.
"""
import csv
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest

from reid_ref import CONVENTIONS
from reid_ref.analysis.validate.figures import benchmark_of, find_doubt, check_all
from reid_ref.commands.validate.show.figures import as_list, as_page
from reid_ref.datasets.benchmarks import benchmark_named
from reid_ref.datasets.published import by_key, find, load
from reid_ref.protocols import PROTOCOLS
from tests.commands.common import answer, command, table
from tests.refusals import refused
from tests.shared import shared

RANKS = ("rank1", "rank5", "rank10", "rank20")
QUERIES = {"Market-1501": 3368, "DukeMTMC-reID": 2228, "CUHK03-NP": 1400, "MSMT17": 11659,
           "VeRi-776": 1678, "SketchReID": 50, "Occluded-DukeMTMC": 2210, "CUHK-SYSU": 2900,
           "PRW": 2057}
#: A mean of several runs is no k/N.
V2_QUERIES = {"aerial to CCTV": 2356, "CCTV to aerial": 1811, "aerial to wearable": 2209,
              "wearable to aerial": 2340}
#: Without the queries in the gallery, 140 of the 1,980 have no good image and are left out.
MARS_QUERIES = {"mars": 1980, "matlab": 1980, "mars-torchreid": 1840}
#: What takes boxes, and no images of people.
PERSON_SEARCH = {"cuhk-sysu": {"100"}, "prw": {"all"}}
#: Its loaders take all images of the test identities on both sides: counted from the data sets'
#: own lists, and printed in its issue 16.
OPEN_REID_QUERIES = {"Market-1501": 16483, "DukeMTMC-reID": 16426}


def is_suspect(row):
    """A printed Rank-k is no k/N over its N queries, rounded."""
    return any(hits.rounding != "rounded" for hits in row.hit_counts().values())


def listed(dataset):
    """The list of a benchmark's figures as the command prints it."""
    return command("validate", "--dataset", dataset).stdout


def page(key):
    """One figure in full."""
    return as_page(check_all([by_key(key)]))


def test_every_row_has_a_unique_key_figure_evaluator_and_source():
    rows = load()
    assert len(rows) == len({row.key for row in rows}) == 915
    for row in rows:
        assert re.fullmatch(r"[a-z0-9-]+/[a-z0-9]+(-[a-z0-9]+)*", row.key), row
        assert len(row.key) <= 53 and row.dataset and row.method and row.evaluator, row
        assert re.fullmatch(r"[\w-]+/[\w-]+", row.source_repo) and row.source_path, row
        assert row.rank1 and re.fullmatch(r"[0-9a-f]{40}", row.source_commit), row
        assert re.fullmatch(r"(20[0-2]\d)?", row.year), row


def test_every_figure_is_of_a_known_benchmark_and_protocol():
    for row in load():
        benchmark = benchmark_named(row.dataset)
        assert benchmark or row.dataset == "SketchReID", row
        if row.protocol in PERSON_SEARCH:
            assert row.part in PERSON_SEARCH[row.protocol], row
        elif row.protocol in PROTOCOLS:
            assert PROTOCOLS[row.protocol].benchmark == benchmark, row
            assert row.part in [part.name for part in PROTOCOLS[row.protocol].parts], row
        else:
            assert row.protocol in ("", *CONVENTIONS) and not row.part, row


@pytest.mark.parametrize(("benchmark", "protocol", "part", "figures", "sources"), [
    ("market1501", "torchreid", "", 5, 3), ("dukemtmc", "torchreid", "", 5, 3),
    ("msmt17", "torchreid", "", 5, 3), ("cuhk03-np", "matlab", "", 5, 1),
    ("cuhk03-np", "torchreid", "", 4, 2),
    ("occluded-duke", "torchreid", "", 4, 2),
    ("sysu-mm01", "sysu-mm01-python", "all", 5, 3),
    ("sysu-mm01", "sysu-mm01-python", "indoor", 5, 3), ("sysu-mm01", "sysu-mm01", "all", 5, 3),
    ("sysu-mm01", "sysu-mm01", "indoor", 5, 3),
    ("regdb", "regdb", "visible-to-thermal", 5, 3), ("regdb", "regdb", "thermal-to-visible", 5, 3),
    ("llcm", "llcm", "infrared-to-visible", 5, 1),
    ("llcm", "llcm", "visible-to-infrared-as-test-py", 5, 1),
    ("veri776", "veri-776", "all", 4, 2), ("vehicleid", "vehicleid-draws", "all", 15, 3),
    ("veri-wild", "veri-wild", "all", 15, 3), ("ltcc", "ltcc", "general", 5, 3),
    ("ltcc", "ltcc", "cc", 5, 3), ("prcc", "prcc", "sc", 5, 3), ("prcc", "prcc", "cc", 5, 3),
    ("mars", "mars", "all", 5, 2), ("mars", "mars-torchreid", "all", 5, 1),
    ("duke-video", "duke-video", "all", 3, 1), ("cuhk-pedes", "cuhk-pedes", "text-to-image", 5, 3),
    ("icfg-pedes", "icfg-pedes", "text-to-image", 5, 3),
    ("rstpreid", "rstpreid", "text-to-image", 5, 3), ("cuhk-sysu", "cuhk-sysu", "100", 5, 3),
    ("prw", "prw", "all", 5, 3), ("ag-reid", "ag-reid", "all", 5, 1),
    ("ag-reid", "ag-reid-v2", "all", 5, 2),
    ("ccvid", "ccvid", "general", 5, 3), ("ccvid", "ccvid", "cc", 5, 3),
    ("deepchange", "deepchange", "all", 5, 2),
    *(("cargo", "cargo", part, 5, 1) for part in ("all", "gg", "aa", "ag"))])
def test_large_benchmarks_have_figures(benchmark, protocol, part, figures, sources):
    rows = [row for row in find(benchmark, protocol=protocol) if row.part == part]
    assert len(rows) >= figures and len({row.source_repo for row in rows}) >= sources


@pytest.mark.parametrize(("dataset", "sizes"), [
    ("VehicleID", ("800 vehicles", "1600 vehicles", "2400 vehicles")),
    ("VERI-Wild", ("test small", "test medium", "test large")),
    ("AG-ReID", ("aerial to ground", "ground to aerial")),
    ("AG-ReID.v2", ("aerial to CCTV", "CCTV to aerial", "aerial to wearable",
                    "wearable to aerial")),
    ("SYSU-MM01", ("all search, 1 shot", "all search, 10 shots"))])
def test_every_size_of_a_test_set_has_figures(dataset, sizes):
    for size in sizes:
        assert sum(row.split == size for row in find(dataset)) >= 5


def test_queries_are_those_that_the_source_ranks():
    for row in load():
        queries = QUERIES
        if row.source_repo == "Cysu/open-reid" and row.dataset in OPEN_REID_QUERIES:
            queries = OPEN_REID_QUERIES
            assert "every image of the test identities" in row.note
        if row.dataset == "MARS":
            queries = {"MARS": MARS_QUERIES.get(row.protocol, "")}
        if row.dataset == "AG-ReID.v2" and "mean of several runs" not in row.note:
            queries = {row.dataset: V2_QUERIES[row.split]}
        assert row.n_query == str(queries.get(row.dataset, "")), row


def test_a_suspect_row_is_told_from_its_digits():
    row = by_key("market1501/bagtricks-resnet50")
    assert not is_suspect(row)
    assert is_suspect(replace(row, rank1="89.91"))  # no k of 3,368 gives these digits
    assert not is_suspect(replace(row, rank1="89.91", n_query=""))
    assert not is_suspect(replace(row, note="Rank-1: not k/N"))


def printed(row):
    return [(name, Decimal(getattr(row, name))) for name in (*RANKS, "mAP", "mINP")
            if getattr(row, name)]


def test_figures_are_percent_and_ranks_do_not_fall():
    for row in load():
        for _, value in printed(row):
            assert 0 < value <= 100, row
        ranks = [value for name, value in printed(row) if name in RANKS]
        assert ranks == sorted(ranks), row


def prints_as(value, n):
    """How k/n gives these digits: counted by trying every k."""
    unit = Decimal(1).scaleb(value.as_tuple().exponent)
    errors = [Decimal(100 * k) / n - value for k in range(n + 1)]
    if any(abs(error) <= unit / 2 for error in errors):
        return "rounded"
    return "truncation" if any(0 <= error < unit for error in errors) else "misprint"


def test_nothing_was_changed_or_lost():
    columns = ("dataset", "split", "rerank", *RANKS, "mAP", "mINP", "source_repo",
               "source_commit")

    def rows(source):
        return Counter(tuple(row[name] for name in columns) for row in source)
    with open(shared("published/published.csv"), encoding="utf-8", newline="") as file:
        theirs = rows(csv.DictReader(file))
    ours = rows(vars(row) for row in load())
    assert theirs.total() == 432
    assert theirs - ours == Counter()


@pytest.mark.parametrize("key, noun", [
    ("market1501/bagtrick-resnet5", "nearest: market1501/bagtricks-resnet50, "),
    ("MARKET1501/BagTricks-ResNet50", "nearest: market1501/bagtricks-resnet50, "),
    ("spcl", "nearest: market1501/spcl-gom, dukemtmc/spcl-gom; "),
    ("qqqq", "unknown 'qqqq'; "), ("", "unknown ''; ")])
def test_an_unknown_key_names_the_nearest(key, noun):
    refused("key", noun, by_key, key)


def test_find_by_part_of_the_name_in_any_case():
    assert {row.dataset for row in find("market 1501")} == {"Market-1501"}
    assert {row.dataset for row in find("cuhk03np")} == {"CUHK03-NP"}
    assert {row.dataset for row in find("MSMT17_V1")} == {"MSMT17"}
    osnet = find("msmt", "OSNET")
    assert len(osnet) == 7 and all("osnet" in row.method for row in osnet)
    assert {row.key for row in find(method="r101")} >= {"msmt17/sbs-r101-ibn"}
    assert {row.dataset for row in find(method="bot(r50)")} == {
        "Market-1501", "DukeMTMC-reID", "MSMT17"}
    assert find() == load()


@pytest.mark.parametrize(("arguments", "argument", "noun"), [
    ({"dataset": "Maket-1501"}, "dataset", "unknown 'Maket-1501'"),
    ({"method": "zzz"}, "method", "no published figure has 'zzz'"),
    ({"dataset": "mars", "method": "zzz"}, "method", "figure on mars has 'zzz'")])
def test_nothing_found_is_said(arguments, argument, noun):
    refused(argument, noun, find, **arguments)


def test_the_list_fits_80_columns_and_stars_what_cannot_be():
    out = as_list(check_all(load()))
    lines = out.splitlines()
    # One repository's name alone is longer.
    assert max(len(line) for line in lines if " " in line) <= 80
    for row in load():
        line = next(line for line in lines if line.split()[:1] == [row.key])
        assert line.endswith(" *") == is_suspect(row)
        if len(row.mAP) <= 7:
            assert line.split()[1:2 + bool(row.mAP)] == [row.rank1] + [row.mAP] * bool(row.mAP)
    assert lines[-2].startswith("915 published figures, percent, as printed; checked: ")


def test_the_list_names_evaluator_and_source_once_a_block():
    first, head, *rows = listed("mars").splitlines()
    assert any(row.startswith("1,980 queries, 11,310 in the gallery (with its queries): ")
               for row in rows)
    assert first == "jiyanggao/Video-Person-ReID README.md: eval_metrics.py: rectangular AP"
    assert head.split() == ["protocol", "mars-torchreid", "Rank-1", "mAP"]
    assert [row.split()[0] for row in rows[:rows.index("")]] == [
        row.key for row in find("mars", protocol="mars-torchreid")]


def test_the_list_names_a_protocol_wherever_it_changes():
    lines = as_list(check_all(find("sysu", "DDAG"))).splitlines()
    assert [line.split()[:3] for line in lines[2:lines.index("")]] == [
        ["protocol", "sysu-mm01-python,", "all"], ["sysu-mm01/ddag-all", "54.75", "53.02"],
        ["protocol", "sysu-mm01-python,", "indoor"], ["sysu-mm01/ddag-indoor", "61.02", "67.98"]]
    assert "  protocol not stated  " in listed("cargo")


def test_person_search_has_the_score_of_the_detections():
    """Figures of unlike scores stand under unlike headings; QEEPS states none."""
    scores = {}
    for row in load():
        if row.protocol in PERSON_SEARCH:
            scores.setdefault((row.source_repo, row.protocol), set()).add(row.min_score)
        else:
            assert row.min_score == "", row
    assert {key: value for key, value in scores.items() if value != {"0.5"}} == {
        ("daodaofr/AlignPS", "cuhk-sysu"): {"0.2"}, ("daodaofr/AlignPS", "prw"): {"0.15"},
        ("JialeCao001/PSTR", "cuhk-sysu"): {"0.25"}, ("JialeCao001/PSTR", "prw"): {"0.3"},
        **{("munjalbharti/Query-guided-End-to-End-Person-Search", name): {""}
           for name in ("cuhk-sysu", "prw")}}
    heading = ""
    for line in listed("prw").splitlines():
        if line.startswith("  protocol "):
            heading = line
        elif line.startswith("  prw/"):
            score = by_key(line.split()[0]).min_score or "not stated"
            assert heading.startswith(f"  protocol prw, score {score} "), line
    assert re.search(r"^least score 0.15$", page("prw/alignps"), re.M)


def test_figures_with_many_decimals_are_shortened_in_the_list_only():
    line = next(line for line in listed("market1501").splitlines() if "/spcl-gom " in line)
    assert line.split() == ["market1501/spcl-gom", "89.5190", "76.0478"]
    assert re.search(r"^mAP +76.0478415258$", page("market1501/spcl-gom"), re.M)


def test_json():
    rows = answer("validate", "--dataset", "vehicleid")["figures"]
    assert rows == [vars(row) for row in find("vehicleid")]
    one = answer("validate", "--paper", "mars/rnn-resnet50")
    assert one == {"schema": 1, "warnings": [], "figures": [vars(by_key("mars/rnn-resnet50"))],
                   "checked": 1, "doubts": []}


def test_a_protocol_has_the_number_of_its_figures():
    assert answer("protocols", "mars")["published"] == len(find("mars"))
    assert "validate --dataset mars lists" in table("protocols", "mars-torchreid")
    assert "published" not in table("protocols", "viper")


# Which are impossible.

def test_check_names_exactly_the_rows_that_no_count_gives():
    found = check_all(load())
    impossible, truncated = set(), set()
    for row in load():
        said = {prints_as(value, int(row.n_query)) for name, value in printed(row)
                if name in RANKS and row.n_query}
        if "misprint" in said:
            impossible.add(row.key)
        elif "truncation" in said:
            truncated.add(row.key)
    padded = {"dukemtmc/deep-person", "veri776/reference-6"}  # 80.90 and 89.70
    assert (len(impossible), len(truncated), padded <= impossible) == (13, 3, True)
    doubts = {name: {doubt.key for doubt in found.doubts if doubt.verdict == name}
              for name in ("impossible", "truncated", "padded")}
    assert doubts == {"impossible": impossible - padded, "truncated": truncated, "padded": padded}
    assert not found.possible and len(load()) > found.checked > 400
    for dataset, status in (("VeRi", 1), ("market1501", 1), ("MARS", 0)):
        done = command("validate", "--dataset", dataset)
        starred = re.findall(r"^  (\S+) .* \*$", done.stdout, re.M)
        assert done.returncode == status
        assert {*starred} == {row.key for row in find(dataset) if is_suspect(row)}


@pytest.mark.parametrize(("key", "status", "verdict"), [
    ("dukemtmc/deep-person", 0, "possible only if zeros were added .* possible as 80.9;"),
    ("market1501/densenet121-news", 1, "impossible; Rank-1 89.91 of 3,368 queries; nearest: "),
    ("mars/rnn-resnet50", 0, "possible$"), ("mars/lstrl", 0, "not checked: the number of")])
def test_one_figure_in_full_has_a_verdict(key, status, verdict):
    done = command("validate", "--paper", key)
    assert done.returncode == status
    assert re.search(f" verdict {verdict}", " ".join(done.stdout.split()))


def test_check_holds_map_against_the_bounds_that_rank_1_leaves():
    row = by_key("market1501/bagtricks-resnet50")
    assert find_doubt(row) is None
    # With one hit in ten no ranking of these images has an mAP of 99, nor one of 1 with all hits.
    for rank1, mAP in (("10.0", "99.0"), ("100.0", "1.0")):
        changed = replace(row, rank1=rank1, mAP=mAP)
        found = check_all([changed])
        doubt, = found.doubts
        assert doubt.verdict == "impossible" and doubt.ranks == {} and len(doubt.mAP) == 2
        assert f"mAP {mAP}; step with that Rank-1: " in as_list(found)
    # Where the images are not known, neither are bounds.
    assert find_doubt(replace(row, rank1="10.0", mAP="99.0", dataset="another")) is None


@pytest.mark.parametrize(("dataset", "split", "n_query", "key"), [
    ("CUHK03-NP", "labeled", "1400", "cuhk03-np-labeled"),
    ("CUHK03-NP", "detected, 1400 query / 5332 gallery", "1400", "cuhk03-np-detected"),
    ("CUHK03-NP", "labeled/detected not stated in the table", "1400", None),
    ("Market-1501", "open-reid default split 0", "16483", None),
    ("MSMT17", "standard", "11659", "msmt17"), ("Market-1501", "", "", None)])
def test_the_benchmark_of_a_row(dataset, split, n_query, key):
    row = replace(load()[0], dataset=dataset, split=split, n_query=n_query)
    assert benchmark_of(row) == key
