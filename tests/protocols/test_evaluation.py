"""Protocols: parts, trials, means and intervals over them, and wrong input."""
import dataclasses
import itertools
import json
import re
import struct
import sys

import numpy as np
import pytest
from scipy.io import savemat

import reid_ref
from reid_ref import Labels, evaluate_distances, evaluate_protocol
from reid_ref.evaluation.how import How
from reid_ref.evaluation.lists import as_ranked_lists
from reid_ref.evaluation.ranked import Lists
from reid_ref.protocols import (
    PROTOCOLS, Part, Rows, average_trials, evaluate_ranked, find_protocol, permuted_galleries,
    read_protocol, read_trials)
from reid_ref.protocols.expectation import drawn_galleries, expectation, sd_of_draws
from reid_ref.protocols.records import protocols_of
from reid_ref.result import headline
from reid_ref.signature import Signature
from tests.documents import ROOT
from tests.refusals import refused

QUERY = Labels([7, 8, 9, 7], [3, 3, 6, 6])
GALLERY = Labels(np.repeat([7, 8, 9], 8), np.tile([1, 1, 2, 2, 4, 4, 5, 5], 3))
DISTANCES = np.random.default_rng(0).random((4, 24))


def evaluated(protocol="sysu-mm01-python", query=QUERY, gallery=GALLERY, distances=DISTANCES,
              **options):
    return evaluate_protocol(protocol, None, None, query, gallery, distances=distances, **options)


#: The sets here are small.
SMALL = "ignore::reid_ref.BenchmarkWarning"


@pytest.mark.filterwarnings(SMALL)
class TestEvaluation:
    def test_a_trial_is_an_evaluation_of_its_rows(self):
        rows = np.array([5, 0, 9, 20])
        result = evaluated(part="all", trials=[(None, rows), ([2, 0], None)])
        first = evaluate_distances(DISTANCES[:, rows], QUERY, GALLERY[rows],
                                   convention="sysu-mm01")
        second = evaluate_distances(DISTANCES[[2, 0]], QUERY[np.array([2, 0])], GALLERY,
                                    convention="sysu-mm01")
        assert [trial.mAP for trial in result.trials] == [first.mAP, second.mAP]
        assert result.mAP == (first.mAP + second.mAP) / 2
        assert result.sd["mAP"] == pytest.approx(abs(first.mAP - second.mAP) / np.sqrt(2))
        np.testing.assert_array_equal(result.cmc[:3], (first.cmc[:3] + second.cmc[:3]) / 2)

    def test_features_and_their_distances_are_the_same(self):
        rng = np.random.default_rng(1)
        query, gallery = rng.integers(-9, 9, (4, 3)), rng.integers(-9, 9, (24, 3))
        squared = ((query[:, np.newaxis] - gallery)**2).sum(axis=2)
        of_features = evaluate_protocol("sysu-mm01-python", query, gallery, QUERY, GALLERY,
                                        normalize=False, metric="euclidean")
        for part, numbers in evaluated(distances=squared).items():
            np.testing.assert_array_equal(of_features[part].cmc, numbers.cmc)
            assert of_features[part].mAP == numbers.mAP

    def test_distances_that_are_measured_once_change_nothing(self):
        """Trials with most images in common, with equal distances, next to each on its own."""
        rng = np.random.default_rng(4)
        query, gallery = rng.integers(-2, 3, (4, 3)), rng.integers(-2, 3, (24, 3))
        trials = [(None, rng.permutation(24)[:20]) for _ in range(4)] + [([3, 1, 2], None)]
        for protocol in ("sysu-mm01-python", "regdb"):
            once, anew = (evaluate_protocol(protocol, query, gallery, QUERY, GALLERY,
                                            metric="euclidean", normalize=False, trials=trials,
                                            max_memory=memory)
                          for memory in (None, 8 * (24 + 16 * 3)))
            for part in once:
                assert once[part].signature == anew[part].signature
                assert once[part].trials == anew[part].trials

    def test_a_part_of_ranked_lists(self):
        lists = np.argsort(DISTANCES, axis=1, kind="stable")[:, :20]
        lists[2, 15:] = -1
        ranked = Lists(as_ranked_lists(lists, None, None))
        result = evaluate_ranked("mars", ranked, QUERY, GALLERY, trials=[([3, 2], None)])
        assert result.trials[0].per_query == reid_ref.evaluate_ranked_lists(
            lists[[3, 2]], QUERY[np.array([3, 2])], GALLERY,
            convention=find_protocol("mars").convention).per_query
        refused("data", "features or distances", evaluate_ranked, "mars", ranked, QUERY, GALLERY,
                trials=[(None, [1, 2])])

    def test_a_part_that_turns_the_sides(self):
        result = evaluated("regdb", trials=[(None, [1, 9, 17])])
        turned = evaluate_distances(DISTANCES.T[[1, 9, 17]], GALLERY[np.array([1, 9, 17])], QUERY,
                                    convention=find_protocol("regdb").convention)
        assert result["thermal-to-visible"].mAP == turned.mAP

    @pytest.mark.filterwarnings("ignore::reid_ref.BenchmarkWarning")
    def test_results_that_are_trials(self):
        """Each trial with features of its own, or all in one array."""
        rng, rows = np.random.default_rng(3), np.split(np.arange(40), 4)
        labels = Labels(np.arange(40) % 7, np.zeros(40))
        features = [rng.random((40, 5)) for _ in rows]
        chosen = np.concatenate([part[row] for part, row in zip(features, rows)])
        averaged = average_trials("regdb", [
            evaluate_protocol("regdb", part[row], part[row][:, ::-1], labels[row], labels[row])
            for part, row in zip(features, rows)])
        at_once = evaluate_protocol("regdb", chosen, chosen[:, ::-1], labels, labels,
                                    trials=[(row, row) for row in rows])
        for part, result in at_once.items():
            assert headline(averaged[part]) == headline(result)
            assert averaged[part].sd == result.sd
            assert "rows" in result.signature  # which of its images were in each trial
            assert averaged[part].signature == Signature({
                key: value for key, value in result.signature.items() if key != "rows"})

    @pytest.mark.filterwarnings("ignore::reid_ref.BenchmarkWarning")
    @pytest.mark.parametrize("protocol, options, argument, noun", [
        ("ltcc", [{}, {}], "results", "for ltcc has one trial"),
        ("vehicleid", [{}], "results", "one result"),
        ("regdb", [], "results", "at least one"),
        ("regdb", [{}, {"part": "visible-to-thermal"}], "results[1]", "visible-to-thermal"),
        ("viper", [{}], "results[0]", "protocol viper"),
        ("regdb", [{}, {"distances": None, "query_features": np.eye(4),
                        "gallery_features": np.eye(24, 4) + 1}],
         "results[1]", "distances float64"),
    ])
    def test_results_that_are_no_trials(self, protocol, options, argument, noun):
        results = [evaluate_protocol("regdb", **{
            "query_features": None, "gallery_features": None, "query": QUERY,
            "gallery": GALLERY, "distances": DISTANCES, **each}) for each in options]
        refused(argument, noun, average_trials, protocol, results)

    def test_seeds(self):
        result = evaluated(part="indoor", seed=3)
        assert result.trials[0].counts.gallery == 6 and result.signature["seed"] == "3"
        assert evaluated(part="indoor", seed=3).mAP == result.mAP
        trial = evaluated(part="indoor", seed=4).trials[0]
        assert trial.fingerprints == result.trials[1].fingerprints
        assert trial.mAP == result.trials[1].mAP

    def test_the_signature_says_all(self):
        signature = evaluated(part="all").signature
        assert [signature[key] for key in ("protocol", "part", "trials", "seed", "shots")] == [
            "sysu-mm01-python", "all", "10", "0", "1"]
        assert signature["follows"] == "mangye16/Cross-Modal-Re-ID-baseline e817a26"

    def test_an_interval_is_of_the_mean_over_trials(self):
        rng = np.random.default_rng(2)
        labels = Labels(np.repeat(np.arange(20), 2), [1, 2] * 20)
        result = evaluated("vehicleid-draws", labels, labels, rng.random((40, 40)))
        interval = result.interval("mAP", method="analytic")
        assert interval.value == result.mAP
        assert interval.units == 20
        assert interval.low < result.mAP < interval.high

    @pytest.mark.parametrize("seed", range(3))
    def test_an_expectation_is_the_mean_over_all_galleries(self, seed):
        rng = np.random.default_rng(seed)
        identity = rng.permutation(np.repeat(np.arange(4), [1, 2, 3, 2]))
        labels, distances = Labels(identity, np.zeros(8)), rng.integers(0, 9, (8, 8))
        exact = evaluated("vehicleid", labels, labels, distances)
        of_identity = [np.flatnonzero(identity == k) for k in range(4)]
        trials = [(np.setdiff1d(np.arange(8), rows), np.sort(rows))
                  for rows in itertools.product(*of_identity)]
        every = evaluated("vehicleid", labels, labels, distances, trials=trials)
        assert exact.mAP == pytest.approx(every.mAP, abs=1e-14)
        np.testing.assert_allclose(exact.cmc, every.cmc, atol=1e-14)
        with pytest.warns(reid_ref.IntervalWarning):
            assert exact.interval(method="analytic").value == exact.mAP
        galleries = np.array([rows for rows in itertools.product(*of_identity)]).T
        ranks = expectation([distances.astype(float)], labels, labels, 4, True, galleries).ranks
        for name, sd in sd_of_draws(ranks, 1).items():
            assert sd == pytest.approx(every.sd[name], abs=1e-14)

    def test_the_sd_of_a_draw_is_that_of_seeded_galleries(self):
        rng = np.random.default_rng(7)
        query, gallery = (Labels(np.arange(n) % 9, np.full(n, camera))
                          for n, camera in ((20, 1), (40, 0)))
        distances = rng.random((20, 40))
        drawn = drawn_galleries(gallery)
        trials = [(None, rows) for rows in drawn.T]
        exact, every = (evaluated("prcc-single-shot", query, gallery, distances, part="sc",
                                  trials=rows) for rows in (None, trials))
        assert exact.sd == pytest.approx(every.sd, abs=1e-14)
        assert abs(every.mAP - exact.mAP) < 4 * exact.sd["mAP"] / np.sqrt(len(trials))

    def test_an_expectation_of_many_identities_adds_up(self):
        """Identity after identity, of more than the integral has nodes or the circle points."""
        rng = np.random.default_rng(5)
        labels = Labels(np.arange(2000) % 700, np.zeros(2000))
        rows = rng.random((12, 2000))
        rows[:6, ::700] -= .99 * rng.random((6, 1))  # near good images
        whole, short = (expectation([rows], Labels(np.zeros(12), np.zeros(12)), labels, length,
                                    False, drawn_galleries(labels, 2))
                        for length in (700, 20))
        for row, ap, match in zip(rows, whole.ap, whole.match):
            number = np.zeros((3, 700))
            number[:, 0] = 1
            for k in range(1, 700):
                chance = (row[k::700] < row[::700, np.newaxis]).mean(axis=1, keepdims=True)
                number = number * (1 - chance) + chance * np.roll(number, 1, axis=1)
            assert ap == pytest.approx((number / np.arange(1, 701)).sum() / 3, abs=1e-13)
            np.testing.assert_allclose(match, number.cumsum(axis=1).mean(axis=0), atol=1e-13)
        np.testing.assert_allclose(short.match, whole.match[:, :20], atol=1e-13)
        np.testing.assert_array_equal(short.ap, whole.ap)

    def test_an_expectation_of_very_many_identities(self):
        """The good image is farther than all 6,000 others: 1 / rank is 1 / 6,001."""
        labels = Labels(np.arange(6001), np.zeros(6001))
        exact = expectation([-np.arange(6001.)[np.newaxis]], labels[:1], labels, 10, False,
                            drawn_galleries(labels, 2))
        assert exact.ap[0] == pytest.approx(1 / 6001, abs=1e-13)
        np.testing.assert_allclose(exact.match, 0, atol=1e-13)

    def test_one_part_has_its_attributes_and_several_do_not(self):
        assert evaluated(part="all").rank(1) == evaluated()["all"].rank(1)
        with pytest.raises(AttributeError, match="all, indoor"):
            evaluated().mAP

    def test_every_protocol_is_on_record(self):
        for name, protocol in PROTOCOLS.items():
            assert find_protocol(name.upper().replace("-", "_")) is protocol
            assert protocol.benchmark in reid_ref.datasets.benchmarks.BENCHMARKS
            assert protocol.source and protocol.prepare


@pytest.mark.filterwarnings(SMALL)
class TestWrongInput:
    @pytest.mark.parametrize("options, argument, noun", [
        ({"protocol": "regdp"}, "protocol", "unknown 'regdp'"),
        ({"protocol": 7}, "protocol", "a name or a Protocol"),
        ({"protocol": "sysu"}, "trials", "for sysu-mm01"),
        ({"protocol": "PRW"}, "protocol", "a protocol of images"),
        ({"part": "outdoor"}, "part", "unknown 'outdoor'"),
        ({"shots": 5}, "shots", "1 or 10"),
        ({"shots": 10}, "shots", "identity 7, camera 1"),
        ({"protocol": "sysu-mm01"}, "trials", "rand_perm_cam.mat"),
        ({"protocol": "ltcc"}, "query", "labels with clothes"),
        ({"trials": []}, "trials", "at least one"),
        ({"trials": [3]}, "trials[0]", "a pair"),
        ({"trials": [(None, [1, 2, 1])]}, "trials[0], gallery", "row 1 twice"),
        ({"trials": [(None, [24])]}, "trials[0], gallery", "rows from 0, below 24"),
        ({"query": Labels([7, 8, 9, 7], [1, 1, 2, 2])}, "query", "part 'all' (camera 3, 6)"),
        ({"query": Labels([7, 8, 9, 7], [0, 3, 3, 6])}, "query", "cameras 1 to 6"),
        ({"protocol": "vehicleid"}, "query, gallery", "the same images"),
        ({"distances": None}, "distances", "features of both sides"),
        ({"distances": DISTANCES.T}, "distances", "transpose would fit"),
    ])
    def test_one_sentence(self, options, argument, noun):
        refused(argument, noun, evaluated, **options)

    def test_an_identity_that_no_image_shows(self):
        part = Part("some", Rows("query", {"identity": (7, 99)}))
        record = dataclasses.replace(find_protocol("regdb"), parts=(part,))
        refused("query", "an image of identity 99", evaluated, record)
        query, gallery = Labels([7, 8], [1, 1]), Labels([7, 9, 9], [0, 0, 0])
        for protocol, words in (
                ("prcc", r"^part sc: 1 of 2 queries .*\(1 identity absent"),
                ("prcc-single-shot", "^part sc: 1 of 2 queries have no good image: they")):
            with pytest.warns(reid_ref.UnmatchedWarning, match=words):
                evaluated(protocol, query, gallery, np.ones((2, 3)), part="sc")

    @pytest.mark.parametrize("n_gallery, message", [
        (7, "mars, part all: 5 queries and 7 gallery images, where the benchmark has 5 and 6$"),
        (8, "mars, part all: 5 queries and 8 .* 5 and 6; these are the counts of other$")])
    def test_counts_of_another_benchmark(self, n_gallery, message, monkeypatch):
        record = find_protocol("mars")
        other = dataclasses.replace(record, name="other", counts={"all": (5, 8)})
        monkeypatch.setattr(reid_ref.protocols.records, "PROTOCOLS", {**PROTOCOLS, "other": other})
        record = dataclasses.replace(record, counts={"all": (5, 6)})
        query, gallery = Labels([1] * 5, [1] * 5), Labels([1] * n_gallery, [2] * n_gallery)
        with pytest.warns(reid_ref.BenchmarkWarning, match=message):
            evaluated(record, query, gallery, np.zeros((5, n_gallery)))

    @pytest.mark.parametrize("name, n_query, n_gallery", [
        ("llcm", 7166, 8680), ("deepchange", 17527, 62956)])
    def test_the_counts_of_a_file_name_its_protocol(self, name, n_query, n_gallery):
        for more, names in ((0, [name]), (1, [])):
            sides = (Labels(*np.ones((2, n), int), video=np.ones(n, int))
                     for n in (n_query, n_gallery + more))
            assert protocols_of(*sides) == names

    def test_permutations_of_another_size(self):
        order = np.empty((1, 1), object)
        order[0, 0] = np.empty((7, 1), object)
        order[0, 0][6, 0] = np.array([[2, 1, 3]])
        refused("trials", "of the 2 images", permuted_galleries, order, Labels([7, 7], [1, 1]))

    def test_files_of_trials(self, tmp_path):
        pairs = tmp_path / "trials.json"
        pairs.write_text(json.dumps([[None, [5, 0]], [[2, 0], None]]))
        np.savez(tmp_path / "trials.npz", gallery=[[5, 0], [3, 4]])
        of_json, of_npz = (read_trials(path, GALLERY) for path in (
            pairs, tmp_path / "trials.npz"))
        assert [of_json[0].gallery, of_json[1].gallery] == [[5, 0], None]
        assert [pair.gallery.tolist() for pair in of_npz] == [[5, 0], [3, 4]]

    @pytest.mark.parametrize("name, content, noun", [
        ("a.json", b"{", "rand_perm_cam.mat"), ("a.json", b"[[1]]", "rand_perm_cam.mat"),
        ("a.npz", b"PK", "a .npz file"), ("a.mat", b"MATLAB", "rand_perm_cam.mat"),
        ("absent.npz", None, "rand_perm_cam.mat")])
    def test_files_that_are_none(self, tmp_path, name, content, noun):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        refused(name, noun, read_trials, tmp_path / name, GALLERY)

    def test_many_trials_of_a_file(self, tmp_path):
        (tmp_path / "a.json").write_text(json.dumps([[None, None]] * 1001))
        refused("a.json", "1,000 trials", read_trials, tmp_path / "a.json", GALLERY)

    @pytest.mark.parametrize("offset, value", [(9, 8), (40, 14), (41, 112)])
    def test_damaged_permutations(self, tmp_path, offset, value):
        """Each of these bytes ends the process in scipy 1.17's reader."""
        order, images = np.empty((1, 1), object), np.empty((7, 1), object)
        for k in range(7):
            images[k, 0] = np.array([[2., 1], [1, 2]])
        order[0, 0] = images
        savemat(tmp_path / "a.mat", {"rand_perm_cam": order})
        side = Labels([7, 7], [1, 1])
        assert [pair.gallery.tolist() for pair in read_trials(tmp_path / "a.mat", side)] == [
            [1], [0]]
        content = bytearray((tmp_path / "a.mat").read_bytes())
        flags = [found.start() for found in re.finditer(struct.pack("<II", 6, 8), content)]
        content[flags[-1] + offset] = value
        (tmp_path / "a.mat").write_bytes(content)
        refused("a.mat", "rand_perm_cam.mat", read_trials, tmp_path / "a.mat", side)


NIGHT = re.search(r"```\n(name = .*?)```", (ROOT / "docs/protocols.md").read_text(), re.DOTALL)[1]


class TestFiles:
    def read(self, folder, text, name="mine.json"):
        (folder / name).write_text(text)
        return read_protocol(folder / name)

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="TOML needs Python 3.11")
    def test_the_file_of_the_page(self, tmp_path):
        protocol = self.read(tmp_path, NIGHT, "night.toml")
        view = np.arange(24) % 2
        query = Labels(GALLERY.identity, GALLERY.camera, view=view)
        distances = np.random.default_rng(0).random((24, 24))
        result = evaluated(protocol, query, query, distances)
        assert len(result.trials) == 5 and list(result) == ["night-to-day"]
        assert result.trials[0].counts.query == 12
        assert result.signature["ap"] == "trapezoid"

    def test_defaults(self, tmp_path):
        protocol = self.read(tmp_path, '{"name": "mine", "convention": "torchreid"}')
        assert protocol.convention == reid_ref.CONVENTIONS["torchreid"]
        result = evaluated(protocol)
        assert result.mAP == evaluate_distances(DISTANCES, QUERY, GALLERY,
                                                convention="torchreid").mAP

    def test_galleries_are_drawn_by_columns_that_labels_have(self, tmp_path):
        protocol = self.read(tmp_path, '{"name": "mine", "convention": "mars", "trials": '
                                       '{"kind": "seeded", "unit": ["clothes"]}}')
        refused("query", "labels with clothes", evaluated, protocol)

    @pytest.mark.parametrize("text, place, noun", [
        pytest.param("[" * 100_000, "", "a protocol in TOML", id="deep"),
        ("{", "", "a protocol in TOML"), ("[]", ": the file", "a table of name"),
        ('{"nam": 1}', ": the file", "unknown 'nam'"), ('{"name": 1}', ": name", "a text"),
        ('{"name": "a"}', ": convention", "a table of base"),
        ('{"convention": "mars"}', ": name", "a text of one line"),
        ('{"name": "a", "convention": "mars", "convention": "matlab"}', "", "'convention' twice"),
        ('{"name": "a", "convention": {"ap": "step", "ap": "trapezoid"}}', "", "'ap' twice"),
        ('{"name": "a", "convention": "mars", "note": "' + 2**16 * "x" + '"}', "", "65,536 bytes"),
    ])
    def test_wrong_files(self, tmp_path, text, place, noun):
        refused(f"mine.json{place}", noun, self.read, tmp_path, text)

    @pytest.mark.parametrize("changes, place, noun", [
        ({"name": "a|b"}, "name", "one line without |"),
        ({"parts": [{"name": "b|c"}]}, "name", "'b|c'"),
        ({"parts": [{"name": "b"}, {"name": "b"}]}, "parts", "b, b"),
        ({"parts": [{"name": str(k)} for k in range(101)]}, "parts", "101"),
        ({"parts": [{"query": {"side": "b"}}]}, "side", "unknown 'b'"),
        ({"parts": [{"query": {"where": {"b": [1]}}}]}, "where", "unknown 'b'"),
        ({"parts": [{"ignored": ["b"]}]}, "ignored", "unknown 'b'"),
        ({"parts": [{"query": {"drawn": "b"}}]}, "drawn", "true or false"),
        ({"parts": [{"unmatched": "no"}]}, "unmatched", "true or false"),
        ({"tracks": 1}, "tracks", "true or false"),
        ({"convention": "b"}, "convention", "unknown 'b'"),
        ({"convention": {"ap": "b"}}, "ap", "unknown 'b'"),
        ({"convention": {"top_k": [None]}}, "top_k", "a whole number"),
        ({"needs": ["b"]}, "needs", "unknown 'b'"),
        ({"shots": [-1, 2]}, "shots", "a whole number from 1"),
        ({"shots": [1.5]}, "shots", "a list of whole"),
        ({"average": "b"}, "average", "unknown 'b'"),
        ({"trials": {"kind": "b"}}, "kind", "unknown 'b'"),
        ({"trials": {"kind": "exact"}}, "convention", "ignored nothing"),
        ({"convention": {"base": "torchreid-function", "ignored": [], "unmatched": "zero"},
          "trials": {"kind": "exact"}}, "convention", "unmatched drop"),
        *(({"trials": {"kind": kind, "n": n}}, "n", "1000") for kind in ("seeded", "given")
          for n in (1001, 10**9, 10**30)),
        ({"parts": [{"name": "b"}, {"name": "c"}], "trials": {"kind": "seeded", "n": 501}},
         "n", "500"),
    ])
    def test_wrong_values(self, tmp_path, changes, place, noun):
        text = json.dumps({"name": "a", "convention": "mars", **changes})
        refused(f"mine.json: {place}", noun, self.read, tmp_path, text)

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="TOML needs Python 3.11")
    @pytest.mark.parametrize("text", ["a" + 30_000 * ".a" + "=1", "[" + 30_000 * "a." + "a]"])
    def test_long_keys_are_not_parsed(self, text, tmp_path):
        refused("p.toml: line 2", "30000", self.read, tmp_path, f"# mine\n{text}\n", "p.toml")

    @pytest.mark.parametrize("name", [
        "sysu-mm01", "SYSU_MM01", "matlab", "agw", "torchreid-function", "mars-ap3d",
        "matlab[ap=step]", "cuhk-sysu"])
    def test_names_of_reid_ref_are_its_own(self, name, tmp_path):
        text = json.dumps({"name": name, "convention": {"ap": "step"}})
        refused("mine.json: name", "of your own", self.read, tmp_path, text)

    def test_nor_does_a_part_make_one(self, tmp_path):
        values = {"name": "sysu", "convention": "agw", "parts": [{"name": "mm01"}]}
        assert self.read(tmp_path, json.dumps(values)).convention.name == "AGW"
        values["parts"][0]["ignored"] = ["same camera"]
        refused("mine.json: name", "'sysu-mm01'", self.read, tmp_path, json.dumps(values))


def test_a_curve_over_identities_ends_at_its_length():
    """Where more identities come first than the curve has ranks."""
    labels = Labels([3], [1]), Labels([1, 2, 3], [2, 2, 2])
    convention = reid_ref.CONVENTIONS["sysu-mm01"].replace(cmc_length=2)
    result = evaluate_distances([[.1, .2, .3]], *labels, convention=convention)
    np.testing.assert_array_equal(result.cmc, [0, 0])


@pytest.mark.parametrize("rule, columns, good", [
    ("same identity, same clothes", {"clothes": [1, 2, 1, 2]}, [1, 3]),
    ("same identity, other clothes", {"clothes": [1, 2, 1, 2]}, [0, 2]),
    ("same identity, same view", {"view": [1, 2, 1, 2]}, [1, 3]),
    ("same identity, same video", {"video": [1, 1, 2, 2]}, [2, 3]),
    ("same identity, same frame", {"frame": [1, 1, 2, 2]}, [2, 3]),
    ("same identity, near frame", {"video": [1, 1, 2, 1], "frame": [4, 5, 4, 1]}, [1, 2]),
    ("same identity, near frame", {"video": [1] * 4, "frame": [4, 5, 4, 1 - 2**63]}, [1, 3]),
])
def test_what_is_ignored_of_the_query_s_identity(rule, columns, good):
    gallery = Labels([7] * 4, [1] * 4, **columns)
    query = Labels([7], [1], **{name: [1] for name in columns})
    convention = reid_ref.CONVENTIONS["matlab"].replace(ignored=(rule,))
    result = evaluate_distances([[.1, .2, .3, .4]], query, gallery, convention=convention)
    np.testing.assert_array_equal(result.ranks.image, good)
    refused("query", "labels with", evaluate_distances, [[.1, .2, .3, .4]], Labels([7], [1]),
            gallery, convention=convention)


@pytest.mark.parametrize(("name", "metric", "normalize"), [
    ("ltcc", "cosine", "yes"), ("sysu-mm01-python", "cosine", "yes"),
    ("msmt17", "euclidean", "no"), ("msmt17-fast-reid", "cosine", "yes"),
    ("veri-776", "euclidean", "no"), ("veri-wild-2019", "euclidean", "no"),
    ("vehicleid", "euclidean", "no"), ("market1501", "euclidean", "yes"),
    ("mars", "cosine", "yes"), ("mars-torchreid", "euclidean", "no"), ("viper", "euclidean", "no"),
    ("sysu-mm01", "euclidean", "no"), ("cargo", "cosine", "yes")])
def test_features_are_measured_as_in_the_code_that_is_followed(name, metric, normalize):
    convention = PROTOCOLS[name].convention
    assert How((convention,)).distance() == (metric, normalize == "yes")
    assert convention.measure


@pytest.mark.filterwarnings("ignore::reid_ref.BenchmarkWarning")
def test_the_signature_of_an_expectation_says_what_was_measured():
    query, gallery = Labels([0, 1], [1, 1]), Labels([0, 1, 1], [0, 0, 0])
    features = np.eye(3)[:2] + .1, np.eye(3) + .2
    said = evaluate_protocol("prcc-single-shot", *features, query, gallery, part="sc").signature
    assert (said["metric"], said["normalize"], said["features"]) == ("cosine", "yes", "float64")
    said = evaluate_protocol("prcc-single-shot", None, None, query, gallery, part="sc",
                             distances=np.eye(2, 3)).signature
    assert said["distances"] == "float64"


def test_a_device_is_no_file():
    refused("zero", "a file", read_protocol, "/dev/zero")
