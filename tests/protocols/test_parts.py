"""Parts of protocols as results: means over trials, expectations, saved files, statuses."""
import json
import warnings

import numpy as np
import pytest

import reid_ref
from reid_ref import InputError, Labels, evaluate_protocol
from reid_ref.protocols import find_protocol, read_protocol
from reid_ref.protocols.records import protocols_of
from reid_ref.result import query_values
from tests.cases import put
from tests.protocols.recordings import sides
from tests.refusals import refused
from tests.shared import shared

pytestmark = [pytest.mark.filterwarnings("ignore::reid_ref.BenchmarkWarning"),
              pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning"),
              pytest.mark.filterwarnings("ignore::reid_ref.IntervalWarning")]

QUERY = Labels(np.repeat(np.arange(6), 4), np.tile([3, 3, 6, 6], 6))
GALLERY = Labels(np.repeat(np.arange(6), 8), np.tile([1, 1, 2, 2, 4, 4, 5, 5], 6))
#: Trials of other sizes, and one of the queries in which some have no good image.
TRIALS = [(None, np.arange(0, 48, 2)), (np.arange(10), np.arange(48)),
          (np.arange(3, 20), np.arange(17, 48))]


def part(protocol="sysu-mm01-python", seed=0, **options):
    distances = np.random.default_rng(seed).integers(0, 30, (24, 48))
    result, = evaluate_protocol(protocol, None, None, QUERY, GALLERY, distances=distances,
                                **{"part": "all", **options}).values()
    return result


def part_of_seed(seed):
    result, = evaluate_protocol("sysu-mm01-python", None, None, QUERY, GALLERY, part="all",
                                seed=seed, distances=np.zeros((24, 48))).values()
    return result


def pooled_protocol(folder):
    (folder / "mine.json").write_text(
        '{"name": "mine", "convention": "sysu-mm01", "average": "pooled"}')
    return read_protocol(folder / "mine.json")


class TestOverTrials:
    def test_queries_are_those_of_all_trials(self):
        result = part(trials=TRIALS)
        for name in ("ap", "identity", "camera", "status", "first_match"):
            np.testing.assert_array_equal(
                getattr(result.per_query, name),
                np.concatenate([getattr(trial.per_query, name) for trial in result.trials]))
        assert result.counts.query == 24 + 10 + 17 == len(result.ranks.found)
        assert result.counts.gallery == 24 + 48 + 31
        images = result.ranks.image[result.ranks.query >= 34] - 24 - 48
        np.testing.assert_array_equal(images, result.trials[2].ranks.image)

    def test_every_trial_counts_alike_whatever_its_queries(self):
        result = part(trials=TRIALS)
        by_hand = sum(trial.mAP for trial in result.trials) / 3
        assert result.mAP == by_hand
        assert by_hand != pytest.approx(np.nanmean(result.per_query.ap), abs=1e-6)
        for metric in ("mAP", "mINP", "Rank-1", "P@5", "R@5"):
            values = query_values(result, metric)
            assert values.mean == pytest.approx(
                np.mean([query_values(trial, metric).mean for trial in result.trials]), abs=1e-15)
            assert values.values[values.counted].mean() == pytest.approx(values.mean, abs=1e-15)
        assert result.at(5).recall == query_values(result, "R@5").mean

    def test_pooled_is_the_mean_over_all_queries(self, tmp_path):
        result = part(pooled_protocol(tmp_path), trials=TRIALS)
        assert result.mAP == pytest.approx(np.nanmean(result.per_query.ap), abs=1e-15)
        values = query_values(result, "mAP")
        np.testing.assert_array_equal(values.values[values.counted],
                                      result.per_query.ap[values.counted])

    def test_an_interval_is_that_of_splits(self):
        result = part(trials=TRIALS)
        options = {"resamples": 199, "unit": "identity"}
        splits = reid_ref.splits(list(result.trials), metrics=["mAP"], **options)["mAP"]
        interval = result.interval("mAP", **options)
        assert (interval.low, interval.high, interval.se) == (
            splits.interval.low, splits.interval.high, splits.interval.se)
        assert result.sd["mAP"] == pytest.approx(splits.sd, abs=1e-15)

    @pytest.mark.parametrize("trials", [None, TRIALS])
    @pytest.mark.parametrize("metric", ["mAP", "Rank-1", "mINP"])
    def test_a_difference_is_that_of_the_numbers(self, metric, trials):
        before, after = (part(seed=seed, trials=trials) for seed in (0, 1))
        found, = reid_ref.compare(before, after, metrics=[metric], resamples=199).comparisons
        assert found.difference == pytest.approx(
            query_values(after, metric).mean - query_values(before, metric).mean, abs=1e-15)
        assert found.better + found.worse + found.same == 6

    def test_one_trial_is_an_ordinary_result(self):
        result = part("mars")
        ordinary = reid_ref.evaluate_distances(
            np.random.default_rng(0).integers(0, 30, (24, 48)), QUERY, GALLERY,
            convention=find_protocol("mars").convention)
        assert type(result.trials[0]) is type(ordinary)
        assert result.per_query == ordinary.per_query and result.mAP == ordinary.mAP
        assert result.sd == {}

    @pytest.mark.parametrize("drawn, noun", [(None, "trials 10"), (5, "seed 0")])
    def test_other_galleries_are_not_compared(self, drawn, noun):
        """The labels of two seeds are alike; the images are others."""
        second = (part(trials=TRIALS) if drawn is None else part_of_seed(drawn))
        refused("other 1", noun, reid_ref.compare, part(), second)


def pool(seed):
    rng = np.random.default_rng(seed)
    labels = Labels(np.array([3, 3, 3, 5, 5, 8, 8, 8, 8, 9]), np.zeros(10))
    return evaluate_protocol("vehicleid", None, None, labels, labels,
                             distances=rng.random((10, 10)))["all"]


#: Changes of a saved file, the argument of the error after the file, and a word of it.
OF_TRIALS = [
    (put("mAP", .5), "mAP", "as the rest"),
    (lambda file: file["trials"][1].update(mAP=.5), "trial 2: mAP", "as the rest"),
    (lambda file: file["trials"][2]["queries"]["status"].pop(), "trial 3: queries: identity", ""),
    (put("trials", []), "trials", "none"), (put("trials", 3), "trials", "list"),
    (put("trials", [3]), "trials", "object"),
    (lambda file: file.update(trials=[dict(file)]), "trial 1: queries", "none"),
    (put("average", "best"), "average", "'best'"),
    (lambda file: file["trials"].pop(), "", "as the rest"),
    *((lambda file, value=value: file["trials"][0].update(signature=value), "trial 1", "signature")
      for value in (None, .5, [], {}, "x")),
    (lambda file: file["trials"][1]["ranks"]["n_kept"].__setitem__(0, 49), "trial 2: ranks",
     "n_kept")]
OF_EXPECTATIONS = [
    (lambda file: file["expected"]["match"].pop(), "expected: match", "complete"),
    (lambda file: file["expected"]["weight"].__setitem__(0, 1.5), "expected: weight", "0 to 1"),
    (lambda file: file["expected"]["weight"].__setitem__(0, None), "expected: weight", "0 to 1"),
    (lambda file: file["expected"]["match"].__setitem__(0, 0.0), "Rank-1", "as the rest"),
    (lambda file: file["expected"]["reciprocal"].__setitem__(0, .99), "mAP", "as the rest"),
    (lambda file: file["expected"]["sd"].pop("mAP"), "expected: sd: mAP", "none"),
    *((put("counts", name, 1), f"counts: {name}", "0, as the rest") for name in (
        "gallery_junk", "gallery_distractors", "junk_same_camera", "tied")),
    *((put("counts", "gallery", n), "counts: gallery", "4 to 10") for n in (3, 11)),
    (put("counts", "gallery_kept", 3), "counts: gallery_kept", "as the rest"),
    (put("expected", "sd", "Rank-1", -.5), "expected: sd: Rank-1", "0 to 1"),
    (put("queries", "status", ["ok"] * 10), "expected: reciprocal", "complete")]


class TestSaved:
    @pytest.mark.parametrize("trials", [None, TRIALS, TRIALS[:1], "pooled"])
    def test_saved_is_fresh(self, trials, tmp_path):
        result = (part(pooled_protocol(tmp_path), trials=TRIALS) if trials == "pooled" else
                  part(trials=trials))
        result.save(tmp_path / "part.json")
        loaded = reid_ref.load(tmp_path / "part.json")
        assert loaded == result
        assert loaded.interval("mAP", resamples=99) == result.interval("mAP", resamples=99)

    @pytest.mark.parametrize("saved, change, field, word", [
        *((lambda: part(trials=TRIALS), *case) for case in OF_TRIALS),
        *((lambda: pool(0), *case) for case in OF_EXPECTATIONS)])
    def test_a_changed_file_is_refused(self, saved, change, field, word, tmp_path):
        path = tmp_path / "part.json"
        saved().save(path)
        file = json.loads(path.read_text())
        change(file)
        path.write_text(json.dumps(file))
        with pytest.raises(InputError) as caught:
            reid_ref.load(path)
        assert caught.value.argument.startswith(f"{path}: {field}") and word in str(caught.value)

    def test_trials_are_of_one_metric(self, tmp_path):
        features = np.random.default_rng(0).normal(size=(72, 3))
        result, = evaluate_protocol("sysu-mm01-python", features[:24], features[24:], QUERY,
                                    GALLERY, part="all", trials=TRIALS).values()
        result.save(tmp_path / "part.json")
        file = json.loads((tmp_path / "part.json").read_text())
        trial = file["trials"][2]
        trial["convention"]["metric"] = "dot"
        trial["signature"] = trial["signature"].replace("metric:euclidean", "metric:dot")
        (tmp_path / "part.json").write_text(json.dumps(file))
        with pytest.raises(InputError, match="metric dot"):
            reid_ref.load(tmp_path / "part.json")


class TestExpectation:
    def test_values_are_weighted(self):
        result = pool(0)
        # An image of three asks in two of three galleries; the only image of 9 never asks.
        weight = np.repeat([2 / 3, 1 / 2, 3 / 4, 0], [3, 2, 4, 1])
        by_hand = np.nansum(result.per_query.ap * weight) / weight.sum()
        assert result.mAP == pytest.approx(by_hand, abs=1e-15)
        assert result.per_query.status.tolist() == ["ok"] * 9 + ["identity absent"]
        for metric in ("mAP", "Rank-1", "Rank-3"):
            values = query_values(result, metric)
            assert values.values[values.counted].mean() == pytest.approx(values.mean, abs=1e-15)

    def test_two_are_compared(self):
        before, after = pool(0), pool(1)
        for metric in ("mAP", "Rank-1"):
            found, = reid_ref.compare(before, after, metrics=[metric]).comparisons
            assert found.difference == pytest.approx(
                query_values(after, metric).mean - query_values(before, metric).mean, abs=1e-15)

    def test_is_loaded_as_it_was_saved(self, tmp_path):
        result, path = pool(0), tmp_path / "x.json"
        result.save(path)
        loaded = reid_ref.load(path)
        assert loaded == result and type(loaded) is type(result)
        assert loaded.sd == result.sd and loaded.trials == ()
        assert loaded.interval("Rank-1") == result.interval("Rank-1")

    @pytest.mark.parametrize("use", [
        lambda result: reid_ref.precision_recall(result, 0), lambda result: result.at(3),
        reid_ref.by_group])
    def test_what_needs_lists_is_refused(self, use, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        refused("protocol", "trials, whose ranked lists", use, pool(0))
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name, protocol, columns", [
    ("ltcc_0", "ltcc", ("clothes",)), ("ltcc_3_ties", "ltcc", ("clothes",)),
    ("ccvid_1", "ccvid", ("clothes",)), ("occluded_duke_1", "occluded-duke", ())])
def test_saved_parts_of_recordings(name, protocol, columns, tmp_path):
    """What the benchmark's code answered, from the file of the part."""
    recorded = np.load(shared("goldens/protocols") / f"{name}.npz")
    results = evaluate_protocol(protocol, *sides(recorded, "identity", "camera", *columns),
                                metric="euclidean", normalize=False)
    for key, result in results.items():
        result.save(tmp_path / "part.json")
        loaded = reid_ref.load(tmp_path / "part.json")
        theirs = recorded[f"{key}_map" if columns else "map"]
        assert loaded.mAP == result.mAP == pytest.approx(float(theirs), abs=1e-12)
        curve = recorded[f"{key}_cmc" if columns else "cmc"]
        np.testing.assert_allclose(loaded.cmc[:len(curve)], curve[:len(loaded.cmc)], atol=1e-12)


def test_rank_1_of_a_recording_has_values():
    """SYSU-MM01's curve counts identities; its first point is the mean over queries."""
    recorded = np.load(shared("goldens/protocols") / "sysu_all_1shot.npz")
    camera, identity, _ = recorded["image"].T
    images, probe = Labels(identity, camera), recorded["probe"]
    result = evaluate_protocol(
        "sysu-mm01", recorded["features"][probe], recorded["features"], images[probe], images,
        part="all", metric="euclidean", normalize=False,
        trials=[(None, rows) for rows in recorded["matlab_gallery"][:2]])
    values = query_values(result["all"], "Rank-1")
    assert values.mean == pytest.approx(result.rank(1), abs=1e-15)
    assert values.values[values.counted].mean() == pytest.approx(result.rank(1), abs=1e-15)


@pytest.mark.parametrize("protocol, which, status", [
    ("ltcc", "general", "only same camera"), ("ltcc", "cc", "only same camera or same clothes"),
    ("ltcc", "sc", "only same camera or other clothes"), ("cargo", "ag", "only same view"),
    ("cargo", "all", "only same camera"), ("deepchange", "all", "only same video"),
    ("sysu-mm01", "all", "only same location"),
    ("icfg-pedes-trapezoid", "without-own-image", "only same frame")])
def test_a_status_says_what_is_ignored(protocol, which, status, tmp_path):
    clothes = 2 if which == "sc" else 1
    query = Labels([7, 8], [3, 3], clothes=[1, 1], view=[0, 0], video=[4, 4], frame=[9, 9])
    gallery = Labels([7, 8], [2 if protocol == "sysu-mm01" else 3, 4], view=[0, 1],
                     clothes=[clothes, 3 - clothes], video=[4, 5], frame=[9, 8])
    distances = np.zeros((len(query), len(gallery)))
    result = evaluate_protocol(protocol, None, None, query, gallery, part=which,
                               distances=distances, trials=[(None, None)])
    assert result.per_query.status[0] == status and result.counts.status[status] == 1
    result.save(tmp_path / "part.json")
    loaded = reid_ref.load(tmp_path / "part.json")
    assert loaded.counts == result.counts and loaded.per_query.status[0] == status


class TestCounts:
    def images(self, n, cameras):
        return Labels(np.ones(n), np.resize(cameras, n))

    @pytest.mark.parametrize("query, gallery, names", [
        ((3803, [3, 6]), (6775, [1, 2, 4, 5]),
         ["sysu-mm01", "sysu-mm01-python", "sysu-mm01-deen"]),
        ((3873 + 3543, [1] * 3873 + [2] * 3543), (3384, [0]), ["prcc", "prcc-single-shot"]),
        ((1980, [1]), (11310, [2]), ["mars"]), ((1980, [1]), (11311, [2]), [])])
    def test_whose_they_are(self, query, gallery, names):
        assert protocols_of(self.images(*query), self.images(*gallery)) == names

    @pytest.mark.filterwarnings("default::reid_ref.BenchmarkWarning")
    def test_wrong_ones_are_one_warning(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            evaluate_protocol("sysu-mm01-python", None, None, QUERY, GALLERY,
                              distances=np.zeros((24, 48)))
        told = [str(warning.message) for warning in caught
                if warning.category is reid_ref.BenchmarkWarning]
        assert told == ["sysu-mm01-python, part all: 24 queries and 48 gallery images, where the "
                        "benchmark has 3,803 and 6,775; part indoor: 24 queries and 24 gallery "
                        "images, where the benchmark has 3,803 and 2,939"]
