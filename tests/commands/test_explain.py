"""From one convention to another, one choice at a time, and lists to recompute by."""
import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, Labels
from reid_ref.conventions import NOT_IN_ALL
from reid_ref.distances import distance_matrix
from reid_ref.evaluation.rank_lists import ranked_list
from tests import cases
from tests.commands.common import MARKET, answer, table

ORDINARY = [name for name in CONVENTIONS if name not in NOT_IN_ALL and name != "mars"]

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def explain(distances, query, gallery, origin="matlab", target="torchreid", **options):
    data = reid_ref.ResultFile("arrays", query, gallery, distances=distances)
    return reid_ref.explain(data, origin, target, **options)


@pytest.mark.parametrize("target", [*ORDINARY, "sysu-mm01", "cuhk03-single-shot"])
@pytest.mark.parametrize("origin", ["matlab", "torchreid-cython", "open-reid"])
def test_the_steps_end_at_the_target(origin, target):
    problem = cases.market_like(3, levels=20)
    way = explain(*problem, origin, target)
    results = reid_ref.evaluate_distances(*problem, convention={origin, target})
    assert way.start.mAP == results[origin].mAP
    assert way.end.mAP == results[target].mAP
    np.testing.assert_array_equal(way.end.cmc, results[target].cmc)
    for step in way.steps:
        assert step.choice in ("loads", "ignored", "ties", "ap", "recall", "top_k", "arithmetic",
                               "unmatched", "unlisted", "junk_match", "cmc", "cmc_length")


def test_a_step_touches_the_queries_whose_numbers_it_moves():
    # Query 0: its good image is first, alone: step and trapezoid agree. Query 1: second.
    distances = np.array([[.1, .9, .5], [.5, .2, .1]])
    query, gallery = Labels([1, 2], [1, 1]), Labels([1, 2, 9], [2, 2, 2])
    way = explain(distances, query, gallery, "matlab", CONVENTIONS["matlab"].replace(ap="step"))
    assert [(step.choice, step.affected) for step in way.steps] == [("ap", 1)]
    assert way.most_moved() == [1]
    assert way.end.per_query.ap[1] - way.start.per_query.ap[1] == 0.5 - 0.25


def test_a_dropped_query_is_affected():
    distances, query = np.array([[.1], [.2]]), Labels([1, 5], [1, 1])
    way = explain(distances, query, Labels([1], [2]), "matlab",
                  CONVENTIONS["matlab"].replace(unmatched="drop"))
    assert [step.affected for step in way.steps] == [1]
    assert (way.start.mAP, way.end.mAP) == (0.5, 1.0)


def test_last_bits_affect_no_query():
    """Two rules that add the same numbers in another order: the walk prints ten digits."""
    problem = cases.market_like(3)
    way = explain(*problem, "torchreid", "open-reid")
    ap, other = (result.of_query("mAP") for result in (way.start, way.end))
    assert (ap != other)[~np.isnan(ap)].any() and np.nanmax(abs(ap - other)) < 1e-15
    assert [(step.choice, step.affected) for step in way.steps] == [("ap", 0), ("cmc_length", 0)]
    assert way.most_moved() == []
    page = table("explain", MARKET, "--from", "torchreid", "--to", "open-reid", "--quiet")
    assert "The AP of no query changed in 10 digits." in page and "moved most" not in page


def test_what_ten_digits_show_is_affected():
    """A float32 average precision differs from the double in its eighth digit or so."""
    step, = explain(*cases.market_like(3, levels=20), "torchreid", "torchreid-cython").steps
    assert step.choice == "arithmetic" and step.affected > 0


def test_a_step_says_all_that_it_changes():
    """Images labelled -1 are loaded, and ignored: either alone would be another number."""
    problem = cases.market_like(3, levels=20)
    way = explain(*problem, "torchreid", "trec-eval")
    step = next(step for step in way.steps if step.choice == "loads")
    assert step.value == "all images, -1 ignored"
    assert step.meaning == "loads all images, and ignores images labelled -1"
    both = CONVENTIONS["torchreid"].replace(
        loads="all images", ignored=("label -1", *CONVENTIONS["torchreid"].ignored))
    assert step.result.mAP == reid_ref.evaluate_distances(*problem, convention=both).mAP
    alone = reid_ref.evaluate_distances(
        *problem, convention=CONVENTIONS["torchreid"].replace(loads="all images"))
    assert step.result.mAP != alone.mAP, "or the labels would lack -1"
    step, = explain(*problem, "torchreid", "torchreid-function").steps
    assert (step.value, step.meaning) == ("all images", "loads all images")
    assert step.result.mAP == alone.mAP


def test_a_default_without_a_source_has_no_empty_brackets():
    """One's own convention need not say; every record here does."""
    data = reid_ref.read(MARKET)
    mine = CONVENTIONS["torchreid"].replace(name="mine", measure="")
    step = reid_ref.explain(data, "matlab", mine).steps[0]
    assert (step.choice, step.meaning) == ("distances", "default of mine")
    assert "()" not in table("explain", MARKET, "--from", "torchreid", "--to", "trec-eval")


def test_the_same_convention_has_no_steps():
    way = explain(*cases.market_like(3), "matlab", "matlab")
    assert way.steps == () and way.end is way.start and way.most_moved() == []


def test_the_ranked_list_says_every_role():
    gallery = Labels([1, -1, 1, 0, 5, 1], [2, 2, 1, 3, 3, 3])
    row = np.array([.5, .1, .2, .3, .4, .6])
    conventions = [CONVENTIONS["matlab"], CONVENTIONS["torchreid-function"]]
    listed = ranked_list(row, Labels([1], [1]), gallery, conventions, around=9)
    assert [(one.place, one.image, one.role, one.ranks) for one in listed] == [
        (1, 1, "junk (label -1)", (None, 1)),
        (2, 2, "junk (same camera)", (None, None)),
        (3, 3, "distractor", (1, 2)),
        (4, 4, "wrong", (2, 3)),
        (5, 0, "good", (3, 4)),
        (6, 5, "good", (4, 5))]
    assert [one.distance for one in listed] == sorted(row)
    toolbox = ranked_list(row, Labels([1], [1]), gallery, [CONVENTIONS["torchreid"]], around=9)
    assert toolbox[0].role == "not loaded" and toolbox[0].ranks == (None,)
    assert [one.ranks[0] for one in toolbox] == [one.ranks[0] for one in listed]


def test_a_good_image_that_is_junk_is_called_both():
    listed = ranked_list(np.array([.2, .1]), Labels([-1], [1]), Labels([-1, 7], [2, 2]),
                         [CONVENTIONS["matlab"]])
    assert [one.role for one in listed] == ["wrong", "good+junk (label -1)"]


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
def test_features_are_ranked_as_evaluate_ranks_them(metric):
    query_features, gallery_features, query, gallery = near_ties = cases.nearly_tied()
    data = reid_ref.ResultFile("arrays", query, gallery, query_features, gallery_features)
    names = [name for name in ORDINARY if not CONVENTIONS[name].needs_lists]
    expected = reid_ref.evaluate(*near_ties, metric=metric, convention=names)
    rounded = reid_ref.evaluate_distances(
        distance_matrix(query_features, gallery_features, metric, True), query, gallery,
        convention=names)
    wrong_in_float32 = 0
    for name in names:
        way = reid_ref.explain(data, "matlab", name, metric=metric, max_memory="100K")
        for result, ours in ((way.start, expected["matlab"]), (way.end, expected[name])):
            assert result.mAP == ours.mAP and result.signature == ours.signature
            np.testing.assert_array_equal(result.per_query.ap, ours.per_query.ap)
            np.testing.assert_array_equal(result.cmc, ours.cmc)
        wrong_in_float32 += rounded[name].mAP != expected[name].mAP
    assert wrong_in_float32 == len(names)  # or this test could not fail


def test_the_list_of_a_query_has_the_ranks_of_evaluate(tmp_path):
    near_ties = cases.nearly_tied()
    cases.save_features(tmp_path / "near.npz", near_ties[:2], *near_ties[2:])
    result = reid_ref.evaluate(*near_ties)
    for k in np.flatnonzero(result.per_query.status == "ok")[:4]:
        listed = answer("explain", tmp_path / "near.npz", "--query", k)["list"]
        ranks = [image["ranks"][0] for image in listed if image["role"] == "good"]
        assert ranks == result.ranks.rank[result.ranks.query == k].tolist()


def test_a_query_changes_no_number_of_the_walk():
    """The two measure differently: matlab on normalised features, torchreid on raw ones."""
    walk, with_list = answer("explain", MARKET), answer("explain", MARKET, "--query", 1)
    listed = with_list.pop("list")
    assert with_list.pop("query") == 1 and with_list == walk
    assert listed[0]["distance"] == pytest.approx(.981578, abs=1e-6)
    page = table("explain", MARKET, "--query", 1)
    moved = {query["query"]: query for query in walk["moved_most"]}
    assert f"torchreid\n    AP {moved[1]['ap_to']!r}, " in page
    said = "ranked by the distances of matlab"
    assert said in page
    assert said not in table("explain", MARKET, "--query", 1, "--normalize")


def test_a_query_without_a_good_image_says_what_counts():
    page = table("explain", MARKET, "--query", 45)  # the warning: it counts as AP 0
    assert "matlab\n    no good image: AP 0, INP 0 and no match; counted\n" in page
    assert "torchreid\n    no good image: left out of mAP, mINP and CMC\n" in page


def test_the_command_hands_on_its_memory(monkeypatch):
    given = []
    explain = reid_ref.explain

    def seen(*arguments, **options):
        given.append(options["max_memory"])
        return explain(*arguments, **options)

    monkeypatch.setattr("reid_ref.commands.explain.command.explain", seen)
    table("explain", MARKET, "--quiet", "--max-memory", "1M")
    assert given == [2**20]


def test_where_no_image_is_loaded_rank_1_is_unknown(tmp_path):
    """A gallery of label -1 alone: torchreid loads none of it, and the curve has no point."""
    cases.save(tmp_path / "junk.npz", [[.1, .2]], Labels([1], [1]), Labels([-1, -1], [2, 2]))
    out = table("explain", tmp_path / "junk.npz")
    assert "torchreid" in out and " nan" in out


def test_a_given_metric_is_a_step_where_it_changes_the_ranking():
    data = reid_ref.read(MARKET)  # by default both normalise; by this metric one does
    first = reid_ref.explain(data, "matlab", "light-reid", metric="euclidean").steps[0]
    assert (first.choice, first.value) == ("distances", "euclidean, not normalised")
    last = reid_ref.explain(data, "matlab", "light-reid", metric="euclidean").steps[-1].result
    assert last.mAP == reid_ref.evaluate(
        data.query_features, data.gallery_features, data.query, data.gallery,
        convention="light-reid", metric="euclidean").mAP
    assert reid_ref.explain(data, "matlab", "light-reid").steps[0].choice == "ap"
