"""Ranked lists in the place of distances: real submissions, hand-worked lists, the port, files.

Where the lists are complete, the numbers are those of distances that rank the same way.
"""
import json
import time
from pathlib import Path

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, IndexLists, InputError, Labels, evaluate_ranked_lists
from reid_ref.datasets import read_side, read_sides
from reid_ref.files.lists import read_ranked_lists
from tests import cases, nightly
from tests.commands.common import answer, assert_one_line_error, command, lists
from tests.refusals import refused
from tests.shared import shared

FIXTURE = Path(__file__).parents[2] / "fixtures" / "ranked_lists"
TABLES = [str(FIXTURE / f"{side}.csv") for side in ("query", "gallery")]
NEED_COMPLETE = [name for name, one in CONVENTIONS.items() if one.curve.of_rows]

pytestmark = pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning")


# ---------------------------------------------------------------- real submissions

#: existing, min(100, existing), found, trapezoid; Rank-1. The first and Rank-1 are what
#: Evaluation_CityFlow.py of the repository prints, to its fourteen digits.
CITYFLOW = {
    "mat": (0.26358227238296, 0.26463731936490, 0.42943206301864, 0.25985685983880,
            0.47718631178707),
    "match28000_Mslm": (0.27583642683733, 0.27708492542982, 0.44539084993574, 0.27206499148548,
                        0.50190114068441),
    "match30500_baseline": (0.19098856278661, 0.19188819129298, 0.34897561821330,
                            0.18767947527143, 0.39828897338403),
    "match6500": (0.25290568884018, 0.25381024282963, 0.40334125167252, 0.24916971951016,
                  0.46197718631179)}
CITYFLOW["track2"] = CITYFLOW["mat"]  # the same lists as names
RECALL = "min(top_k, existing)"


@pytest.mark.parametrize("name", nightly.cases(["mat", "track2"], CITYFLOW))
def test_cityflow(name):
    folder = shared("real/cityflow")
    query, gallery = read_sides(folder / "query_annotation.npy", folder / "gallery_annotation.npy")
    ranked = read_ranked_lists(folder / f"{name}.txt", len(query))
    rule = CONVENTIONS["cityflow"]
    conventions = [rule, rule.replace(recall=RECALL), rule.replace(recall="found"),
                   rule.replace(ap="trapezoid")]
    results = evaluate_ranked_lists(
        ranked.lists, query, gallery, convention=conventions)
    assert [one.mAP for one in results.values()] == pytest.approx(CITYFLOW[name][:4], abs=1e-12)
    first = results["cityflow"]
    assert first.rank(1) == pytest.approx(CITYFLOW[name][4], abs=1e-12)
    assert len(first.cmc) == 100 and first.counted == 1052 and first.counts.good == 61563
    assert first.counts.status["ok"] == 1052 and np.isnan(first.mINP)


def test_cityflow_on_the_command_line():
    found = answer("evaluate", *lists("track2"))
    assert found["mAP"] == pytest.approx(CITYFLOW["mat"][0], abs=1e-12)
    assert found["mINP"] is None and found["layout"] == "ranked lists"


# ---------------------------------------------------------------- by hand

def test_lists_by_hand():
    """The lists of fixtures/ranked_lists, cut after 4 of 6 images, without cameras."""
    query, gallery = read_sides(*TABLES)
    ranked = read_ranked_lists(FIXTURE / "top4.txt", 3)
    result = evaluate_ranked_lists(ranked.lists, query, gallery, convention="cityflow")
    # Good at 1 and 3; at 2 and 3; the third query's image is not in its list.
    assert result.per_query.ap.tolist() == [(1 + 2 / 3) / 2, (1 / 2 + 2 / 3) / 2, 0]
    assert result.per_query.first_match.tolist() == [1, 2, 0]
    assert result.per_query.n_good.tolist() == [2, 2, 1]
    np.testing.assert_array_equal(result.per_query.inp, [2 / 3, 2 / 3, np.nan])
    assert result.cmc.tolist() == [1 / 3, 2 / 3, 2 / 3, 2 / 3] and np.isnan(result.mINP)
    assert result.per_query.status.tolist() == ["ok"] * 3


def test_junk_does_not_count_in_a_list():
    gallery = Labels([-1, 7, 7, 8, 7], [2, 1, 2, 2, 3])
    result = evaluate_ranked_lists([[0, 1, 3, 2]], Labels([7], [1]), gallery)
    # Kept are image 3, wrong, and image 2 at rank 2, of two good ones: (0 + 1/2) / 2 / 2.
    assert result.per_query.ap.tolist() == [1 / 8] and result.per_query.n_junk.tolist() == [2]
    assert result.ranks.rank.tolist() == [2] and result.ranks.image.tolist() == [2]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_n_good_of_a_query_that_is_not_loaded():
    """Two gallery images have the second query's label, -1, on another camera."""
    def of(convention):
        return reid_ref.evaluate_ranked_lists(
            [[0, 1], [2, 0]], Labels([7, -1], [1, 1]), Labels([7, -1, -1], [2, 2, 2]),
            n_good=[2, 0], convention=convention)
    result = of("torchreid")
    assert result.per_query.status.tolist() == ["ok", "not loaded"]
    assert result.mAP == .5 and result.counted == 1
    for conventions in ("torchreid-function", ["torchreid", "matlab"]):
        refused("n_good", "query 1", of, conventions)


@pytest.mark.parametrize(("ranked", "n_good", "ap"), [
    ([1, 0], None, 1.0), ([1, 0], [2], 0.5), ([1, 0], [4], 0.25), ([0], [3], 0)])
def test_good_images_from_outside_count_as_missed(ranked, n_good, ap):
    result = evaluate_ranked_lists([ranked], Labels([7], [1]), Labels([8, 7], [2, 2]),
                                   n_good=n_good, convention="trec-eval")
    assert result.mAP == ap and result.per_query.n_good[0] == (n_good or [1])[0]
    assert np.isnan(result.mINP) == (n_good is not None) == ("n_good:" in str(result.signature))


def test_what_became_of_queries_behind_the_cut():
    """A good image behind the cut is there; the images of a query labelled -1 are junk."""
    query, gallery = Labels([7, -1, 9], [1, 1, 1]), Labels([8, 7, -1, 8], [2, 2, 2, 2])
    result = evaluate_ranked_lists([[0], [0], [0]], query, gallery)
    assert result.per_query.status.tolist() == ["ok", "only junk", "identity absent"]
    np.testing.assert_array_equal(result.per_query.ap, [0, 0, np.nan])
    assert len(result.cmc) == 1 and np.isnan(result.mINP)


# ---------------------------------------------------------------- beside distances

def same(result, expected):
    for name in ("mAP", "mINP", "cmc", "counted", "counts"):
        np.testing.assert_array_equal(getattr(result, name), getattr(expected, name), name)
    assert result.per_query == expected.per_query and result.ranks == expected.ranks


def test_a_query_twice_in_a_long_list_is_found_in_linear_time(tmp_path):
    path, names = tmp_path / "twice.json", [f"q{k}" for k in range(50_000)]
    path.write_text("{" + ",".join(f'"{name}":[1]' for name in [*names, "q7"]) + "}")
    start = time.process_time()
    refused("twice.json", "'q7' twice", read_ranked_lists, path, len(names), names)
    assert time.process_time() - start < 2


def problem(seed):
    distances, query, gallery = cases.market_like(seed)
    rng = np.random.default_rng(seed)
    lists = IndexLists([rng.permutation(80)[:5] for _ in range(len(query))],
                       [rng.permutation(80)[:9] for _ in range(len(query))])
    return distances, distances.argsort(axis=1), query, gallery, lists


@pytest.mark.parametrize("seed", range(nightly.cases(2, 6)))
def test_complete_lists_give_the_numbers_of_distances(seed):
    distances, ranked, query, gallery, lists = problem(seed)
    rule = CONVENTIONS["torchreid"]
    conventions = [*CONVENTIONS, rule.replace(top_k=7), rule.replace(recall=RECALL, top_k=2),
                   rule.replace(ties="reversed"), rule.replace(ties="numpy")]
    expected = reid_ref.evaluate_distances(
        distances, query, gallery, convention=conventions, lists=lists)
    handed = {"matrix": ranked.astype(np.int32), "sequence": ranked.tolist(),
              "blocks": ranked.astype(np.uint16)}
    for name, given in handed.items():
        results = evaluate_ranked_lists(given, query, gallery, convention=conventions, lists=lists,
                                        max_memory=9000 if name == "blocks" else None)
        assert list(results) == list(expected)
        for one in expected:
            same(results[one], expected[one])
            assert "|ranked:complete|" in str(results[one].signature)


@pytest.mark.parametrize("name", NEED_COMPLETE[:2])
def test_curves_that_need_every_image_refuse_cut_lists(name):
    _, ranked, query, gallery, lists = problem(1)
    error = refused("ranked[0]", "all 80 gallery images", evaluate_ranked_lists, ranked[:, :79],
                    query, gallery, convention=name, lists=lists)
    assert name in error.remedy


# ---------------------------------------------------------------- files

NAMES = [f"{k:06d}.jpg" for k in range(1, 7)]
FORMS = {
    "numbers.txt": "1 3 2 6\n5 3 4 1\n1 2 3 4\n",
    "tabs.txt": "1\t3\t2\t6\n5\t3\t4\t1\n1\t2\t3\t4\n\n",
    "commas.csv": "1,3,2,6\r\n5, 3, 4, 1\r\n1,2,3,4\r\n",
    "padded.txt": "0001 0003 0002 0006\n0005 0003 0004 0001\n0001 0002 0003 0004",
    "names.txt": "000001.jpg 000003.jpg 000002.jpg 000006.jpg\n"
                 "000005.jpg 000003.JPG 000004.jpg 000001.jpg\n"
                 "000001.jpg 000002.jpg 000003.jpg 000004.jpg\n",
    "plain.txt": "000001 000003 000002 000006\ng/000005.jpg 000003 000004 000001.jpg.jpg\n"
                 "000001 000002 000003 000004\n",
    "lists.json": "[[0, 2, 1, 5], [4, 2, 3, 0], [0, 1, 2, 3]]",
    "names.json": '[["000001.jpg", "000003", "000002", "000006"], '
                  '["000005", "000003", "000004", "000001"], '
                  '["000001", "000002", "000003", "000004"]]',
    "queries.json": '{"b": [4, 2, 3, 0], "a.jpg": [0, 2, 1, 5], "x/c.jpg": [0, 1, 2, 3]}',
    "atrw.json": '[{"query_id": "c", "ans_ids": ["000001", "000002", "000003", "000004"]},'
                 ' {"query_id": "b", "ans_ids": ["000005", "000003", "000004", "000001"]},'
                 ' {"query_id": "a", "ans_ids": ["000001", "000003", "000002", "000006"]}]',
}
TOP4 = [[0, 2, 1, 5], [4, 2, 3, 0], [0, 1, 2, 3]]


@pytest.mark.parametrize("name", FORMS)
def test_every_form_holds_the_same_lists(name, tmp_path):
    (tmp_path / name).write_bytes(FORMS[name].encode())
    ranked = read_ranked_lists(tmp_path / name, 3, ["a.jpg", "b.jpg", "c.jpg"], NAMES)
    assert [one.tolist() for one in ranked.lists] == TOP4
    if name in ("numbers.txt", "tabs.txt", "commas.csv", "names.txt"):  # no names are needed
        ranked = read_ranked_lists(tmp_path / name, 3)
        assert [one.tolist() for one in ranked.lists] == TOP4


def test_numbers_from_0_and_from_1(tmp_path):
    text, array, listed = (tmp_path / name for name in ("visda.txt", "one.npy", "one.json"))
    text.write_text("0000 0002 0001 0005\n0004 0002 0003 0000\n0000 0001 0002 0003\n")
    assert [one.tolist() for one in read_ranked_lists(text, 3, first=0).lists] == TOP4
    np.save(array, np.array(TOP4) + 1)
    assert read_ranked_lists(array, 3, first=1).lists.tolist() == TOP4
    listed.write_text(json.dumps((np.array(TOP4) + 1).tolist()))
    assert [one.tolist() for one in read_ranked_lists(listed, 3, first=1).lists] == TOP4


def test_rows_filled_up_with_minus_one(tmp_path):
    np.save(tmp_path / "lists.npy", [[0, 1, -1], [-1, -1, -1], [2, 1, 0]])
    lists = read_ranked_lists(tmp_path / "lists.npy", 3).lists
    query, gallery = Labels([7, 7, 7], [1] * 3), Labels([7, 7, 8], [2, 3, 2])
    result = evaluate_ranked_lists(lists, query, gallery, convention="trec-eval")
    expected = evaluate_ranked_lists([[0, 1], [], [2, 1, 0]], query, gallery,
                                     convention="trec-eval")
    assert result.per_query.ap.tolist() == [1, 0, (1 / 2 + 2 / 3) / 2]
    same(result, expected)
    assert "|ranked:0-3|" in str(result.signature)


def test_tables_of_labels(tmp_path):
    np.save(tmp_path / "query.npy", [[6, 17], [7, 9], [6, 9]])
    (tmp_path / "table.txt").write_text(
        "\nimgid camid vehicleID box\nq/1.jpg 6 17 0\n\n2 7 -1 1\n")
    (tmp_path / "names.txt").write_text("0002_c1s1_000451_03.jpg 2\n-1_c3s2_000451_03.jpg -1\n")
    columns, table, names = (read_side(tmp_path / name) for name in (
        "query.npy", "table.txt", "names.txt"))
    assert columns.identity.tolist() == [17, 9, 9] and columns.name is None
    assert columns.camera.tolist() == [6, 7, 6]
    assert table.identity.tolist() == [17, -1] and table.names() == ["q/1.jpg", "2"]
    assert names.camera.tolist() == [1, 3]
    assert names.names() == ["0002_c1s1_000451_03.jpg", "-1_c3s2_000451_03.jpg"]


# ---------------------------------------------------------------- bad input

BAD = {
    "a number out of range": ("t.txt", "1 2\n3 7\n1 2\n", "line 2: .*gallery images 1 to 6"),
    "a number twice": ("t.txt", "1 2\n3 4\n2 5 1 2\n", "line 3: .* 2 more than once"),
    "an unknown name": ("t.txt", "000001 000002\n000001 000009\n000001\n", "line 2: .*'000009'"),
    "a word among numbers": ("t.txt", "1 2\n1 x\n1\n", "line 2: .*gallery numbers.*'x'"),
    "a missing query": ("t.txt", "1 2\n3\n", "line 3: .*a query is missing"),
    "an empty line": ("t.txt", "1 2\n\n3\n", "line 2: .*list of query 2, .*empty"),
    "an empty file": ("t.txt", "", "t.txt: .*ranked lists, .*empty file"),
    "no JSON": ("t.json", "[[1], [2]", "t.json: .*ranked lists as JSON"),
    "floats in JSON": ("t.json", "[[1], [2], [0, 2.5]]", r"list 3: .*whole numbers, .*2\.5"),
    "a query missing in JSON": ("t.json", '{"a": [1], "c": [2]}', "t.json: .* 'b.jpg'"),
    "a query twice in JSON": ("t.json", '{"a": [1], "a": [1], "b": [1], "c": [2]}', "'a' twice"),
    "no answers": ("t.json", '[{"query_id": 1}]', "list 1: .*an object with query_id and"),
    "floats": ("t.npy", np.zeros((3, 2)), "t.npy and 2 more files: it lacks query_features"),
    "a number twice in a row": ("t.npy", [[0, 1], [3, 3], [1, 0]], "row 2: .*3 more than once"),
}


def fails(path, message, labels=TABLES):
    """Lists, with the labels of query and gallery, end in one line of error."""
    assert_one_line_error(command("evaluate", path, "--labels", *labels), message)


@pytest.mark.parametrize(("name", "content", "message"), BAD.values(), ids=BAD)
def test_bad_lists_end_in_one_line(name, content, message, tmp_path):
    if isinstance(content, str):
        (tmp_path / name).write_text(content)
    else:
        np.save(tmp_path / name, content)
    fails(tmp_path / name, message)


@pytest.mark.parametrize(("text", "message"), [
    ("name,identity\na,1\n", "gallery: .*cameras on both sides, or on neither"),
    ("identity,camera,camera\n1,2,2\n", "line 1: .*each column once, got 'camera' twice"),
    ("identity,camera\n1,2\n\n1\n", "line 4: .*2 columns"),
    ("a b c\n", "line 1: .*an image name"),
    ("name,identity,camera\na.jpg,1,1\na.jpg,2,1\n", "'a.jpg' twice, for image")])
def test_bad_tables_end_in_one_line(text, message, tmp_path):
    (tmp_path / "gallery.csv").write_text(text)
    fails(FIXTURE / "top4.txt", message, [TABLES[0], tmp_path / "gallery.csv"])


def test_columns_of_annotations(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((4, 3), int))
    refused("a.npy", "two columns, camera and", read_side, tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", [[7, 1], [8, 1], [9, 2]])
    with pytest.warns(reid_ref.LabelWarning, match="3 cameras and 2 identities; the first"):
        read_side(tmp_path / "b.npy")


QUERY, GALLERY = Labels([7], [1]), Labels([7, 8], [2, 2])


@pytest.mark.parametrize(("ranked", "options", "argument", "noun"), [
    ([[0], [1]], {}, "ranked", "one list for each query"),
    ([[0, 0.5]], {}, "ranked[0]", "whole numbers"),
    ([["a"]], {}, "ranked[0]", "needs gallery_names"),
    ({"a": [0]}, {}, "ranked", "needs query_names"),
    ([[0]], {"n_good": [0]}, "n_good", "at least 1 for query 0"),
    ([[0]], {"n_good": [1, 2]}, "n_good", "one number for each query"),
    ([[0]], {"convention": "veri"}, "lists", "veri"),
])
def test_bad_input_in_python(ranked, options, argument, noun):
    refused(argument, noun, evaluate_ranked_lists, ranked, QUERY, GALLERY, **options)


@pytest.mark.parametrize(("options", "message"), [
    (["--metric", "cosine"], "--metric: .*--labels"),
    (["--worst", "2"], "--worst: .*--labels"),
    (["--per-query", TABLES[0]], "query.csv"),
    (["--n-good", TABLES[0]], "query.csv"),
])
def test_options_that_lists_refuse(options, message):
    before = Path(TABLES[0]).read_text()
    fails(FIXTURE / "top4.txt", message, [*TABLES, *options])
    assert Path(TABLES[0]).read_text() == before
    done = command("evaluate", FIXTURE / "top4.txt", "--numbers-from", "1")
    assert_one_line_error(done, "--numbers-from: .*--labels")


@pytest.mark.parametrize("words", ["evaluate lists.npz --worst 1",
                                   "plot rank-lists lists.npz -o x.svg",
                                   "plot distances lists.npz -o x.svg",
                                   "explain lists.npz", "report lists.npz -o x.svg",
                                   "thresholds lists.npz"])
def test_what_needs_distances_says_what_to_give(words, tmp_path):
    np.savez(tmp_path / "lists.npz", I=[[1, 0]], q_pids=[7], q_camids=[0], g_pids=[7, 8],
             g_camids=[1, 1])
    assert_one_line_error(command(*words.split(), cwd=tmp_path),
                          "lists.npz: .*; give the features or the distances that were ranked")
    assert not (tmp_path / "x.svg").exists()


def test_reranking_takes_features_alone(tmp_path):
    labels = {"q_pids": [7], "q_camids": [0], "g_pids": [7, 8], "g_camids": [1, 1]}
    for name, array in (("lists", {"I": [[1, 0]]}), ("distances", {"distmat": [[.1, .2]]})):
        np.savez(tmp_path / f"{name}.npz", **array, **labels)
        assert_one_line_error(command("rerank", f"{name}.npz", cwd=tmp_path),
                              f"{name}.npz: .*; give the features")


def test_n_good_and_per_query_on_the_command_line(tmp_path):
    (tmp_path / "n.txt").write_text("2\n4\n1\n")
    found = answer("evaluate", FIXTURE / "top4.txt", "--labels", *TABLES, "--convention",
                   "cityflow", "--n-good", tmp_path / "n.txt", "--per-query",
                   tmp_path / "out.json")
    expected = [(1 + 2 / 3) / 2, (1 / 2 + 2 / 3) / 4, 0]
    assert found["mAP"] == pytest.approx(sum(expected) / 3, rel=1e-15)
    rows = json.loads((tmp_path / "out.json").read_text())["queries"]
    assert [row["ap"] for row in rows] == expected and [row["n_good"] for row in rows] == [2, 4, 1]


# ---------------------------------------------------------------- how long a list a number needs

def two_queries(length, convention="matlab"):
    """20 and 10 good images, all of them first, in lists that are cut."""
    gallery = Labels([7] * 20 + [8] * 10 + [9] * 70, [2] * 100)
    orders = [np.arange(100), np.r_[20:30, 0:20, 30:100]]
    return evaluate_ranked_lists([order[:length] for order in orders], Labels([7, 8], [1, 1]),
                                 gallery, convention=convention)


#: The mean over both, and from how many places on it is known.
NEEDED = {"R-Prec": (1, 20), "P@10": (1, 10), "P@15": (25 / 30, 15), "P@90": (1 / 6, 20),
          "R@10": (.75, 10), "R@15": (.875, 15), "nDCG@10": (1, 10), "MRR": (1, 1),
          "mINP": (1, 20)}


@pytest.mark.parametrize("length", [1, 5, 9, 10, 14, 15, 19, 20, 100])
@pytest.mark.parametrize("name", NEEDED)
def test_a_number_that_needs_more_places_is_unknown(name, length):
    value, needed = NEEDED[name]
    result = two_queries(length)
    if length >= needed:
        assert result.value(name) == pytest.approx(value, abs=1e-15)
    else:
        assert np.isnan(result.value(name)) and np.isnan(result.of_query(name)[0])
        with pytest.raises(InputError, match=f"{name} is NaN, for some lists "):
            result.interval(name)
    if name[:2] == "P@":
        assert np.array_equal(result.at(int(name[2:])).precision, result.value(name), True)


def test_a_list_without_a_good_image_leaves_the_reciprocal_rank_unknown():
    query, gallery = Labels([7, 8], [1, 1]), Labels([7, 8, 9, 9], [2] * 4)
    lists = [[2, 0], [2, 3]]
    result = evaluate_ranked_lists(lists, query, gallery)
    np.testing.assert_array_equal(result.of_query("MRR"), [.5, np.nan])
    assert np.isnan(result.value("MRR"))
    # Where all kept images are listed, or the convention looks no further, nothing is unknown.
    assert evaluate_ranked_lists([[2, 0, 3, 1], [2, 3, 0, 1]], query, gallery).value(
        "MRR") == (1 / 2 + 1 / 4) / 2
    cut = CONVENTIONS["matlab"].replace(top_k=2)
    assert evaluate_ranked_lists(lists, query, gallery, convention=cut).value("MRR") == 1 / 4


def test_trec_eval_takes_what_is_not_listed_for_wrong():
    """It divides by k and by R, whatever was retrieved."""
    result = two_queries(5, "trec-eval")
    for name, expected in (("R-Prec", .375), ("P@10", .5), ("AP@10", .375), ("R@10", .375)):
        assert result.value(name) == pytest.approx(expected, abs=1e-15), name
    assert np.isnan(result.mINP) and "unlisted:wrong" in str(result.signature)
    assert evaluate_ranked_lists([[2, 3]], Labels([7], [1]), Labels([7, 9, 9, 9], [2] * 4),
                                 convention="trec-eval").value("MRR") == 0


def test_good_images_outside_the_gallery_are_wrong_in_complete_lists():
    result = evaluate_ranked_lists([[0, 1]], Labels([7], [1]), Labels([7, 9], [2, 2]), n_good=[3])
    assert result.value("P@5") == 1 / 5 and result.value("R-Prec") == 1 / 3
    assert np.isnan(result.mINP)


def test_trials_of_different_lengths_keep_what_each_knows():
    from reid_ref.result.means import over_trials
    first, second = two_queries(100), two_queries(20)
    both = over_trials([first, second], "trials", first.signature)
    assert both.of_query("P@90").tolist() == [20 / 90, 10 / 90] * 2
