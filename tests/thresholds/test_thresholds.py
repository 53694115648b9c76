"""Thresholds against recorded answers, sorted lists of all pairs, scikit-learn, and by hand."""
import numpy as np
import pytest

import reid_ref
from reid_ref import (
    CONVENTIONS, Labels, evaluate_thresholds, evaluate_thresholds_distances)
from reid_ref.arrays.memory import bytes_of
from reid_ref.conventions import find_conventions
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Distances
from reid_ref.ranking import exact_distances
from reid_ref.ranking.exact_distances import pair_products
from reid_ref.ranking.roles import find_roles
from reid_ref.thresholds import evaluation, impostors
from reid_ref.thresholds.questions import Genuine, crossing, equal_error, likely_ranges
from tests import nightly
from tests.cases import market_like, special
from tests.refusals import refused
from tests.shared import shared

RECORDED = ("0", "1", "2", "3_ties", "4_ties")
SQUARED = {"metric": "euclidean", "normalize": False}
FAR = (0, 1e-4, 1e-3, .01, .05, .3, 1)

pytestmark = pytest.mark.filterwarnings("ignore::reid_ref.NaNWarning")


def recorded(name):
    with np.load(shared("goldens/protocols") / f"thresholds_{name}.npz") as file:
        return {key: file[key] for key in file.files}


def labels(identity, camera):
    return Labels(identity, np.full(len(identity), camera))


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_rates_of_pfe(name):
    """TAR and threshold at the FAR that PFE measures, which may be more than was asked for.

    It adds 1e-8 to the best impostor score at FAR 0.
    """
    file = recorded(name)

    def evaluated(far):
        # Ties were recorded in reversed order of the gallery.
        return evaluate_thresholds(
            file["query_features"].astype(float), file["gallery_features"].astype(float)[::-1],
            labels(file["query"], 0), labels(file["gallery"][::-1], 1), far=far, **SQUARED)

    measured, first = np.unique(file["far_measured"], return_index=True)
    found = evaluated(measured)
    np.testing.assert_array_equal(found.tar, file["tar_at"][first])
    np.testing.assert_array_equal(found.far, measured)
    assert_thresholds(found.threshold, found.far, file["threshold_at"][first])
    far, first = np.unique(file["dir_far_measured"], return_index=True)
    n_impostor = found.open_set.impostor
    at = [*evaluated(np.round(far.astype(float) * n_impostor) / n_impostor).open_set.at.values()]
    np.testing.assert_array_equal(np.float32([[*point.dir.values()] for point in at]),
                                  file["dir_at"][first])
    np.testing.assert_array_equal(np.float32([point.far for point in at]), far)
    assert_thresholds(np.array([point.threshold for point in at]), far,
                      file["dir_threshold"][first])
    for rate, point in evaluated(file["far"]).at.items():
        k = np.flatnonzero(file["far"] == rate)[0]
        assert point.far <= rate and point.far <= file["far_measured"][k]


def assert_thresholds(ours, far, scores):
    np.testing.assert_array_equal(ours[far > 0], -scores[far > 0])
    # Just below a whole number, as theirs is.
    np.testing.assert_array_equal(np.ceil(ours[far == 0]), np.ceil(-scores[far == 0]))


@pytest.mark.parametrize("name", RECORDED[2:])
def test_recorded_curve_of_pfe(name):
    """At every distinct impostor score, in steps of the curve that the code computes."""
    file = recorded(name)
    # The first threshold is 1e-8 nearer than the farthest pair, which it rejects.
    rows = slice(1, None, nightly.cases(29, 1))
    far = file["roc_far"][rows]
    found = evaluate_thresholds(
        file["query_features"].astype(float), file["gallery_features"].astype(float),
        labels(file["query"], 0), labels(file["gallery"], 1), far=far, **SQUARED)
    np.testing.assert_array_equal(found.far, far)
    np.testing.assert_array_equal(found.tar, file["roc_tar"][rows])
    np.testing.assert_array_equal(found.threshold, -file["roc_threshold"][rows])


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_numbers_of_fastreid(name):
    file = recorded(name)
    found = evaluate_thresholds(
        file["fastreid_query_features"].astype(float),
        file["fastreid_gallery_features"].astype(float), Labels(*file["fastreid_query"].T),
        Labels(*file["fastreid_gallery"].T), convention="torchreid-function", **SQUARED)
    assert [found.genuine, found.impostor] == file["fastreid_pairs"].tolist()
    np.testing.assert_array_equal([*found.fastreid_tpr_at_fpr.values()], file["fastreid_tpr"])


def all_pairs(distances, query, gallery, convention="matlab"):
    """Distances of the genuine and of the impostor pairs, and the mask of both, in lists."""
    roles = find_roles(query, gallery, CONVENTIONS[convention].not_ranked)
    kept = roles.kept(slice(0, len(query)))
    genuine = np.zeros(kept.shape, bool)
    genuine[roles.good_query, roles.good] = True
    distances = np.where(np.isnan(distances), np.inf, np.asarray(distances, dtype=float))
    return np.sort(distances[genuine & kept]), np.sort(distances[kept & ~genuine]), kept, genuine


def largest_with_at_most(rate, impostor):
    """The largest distance of an impostor that so large a share, ties included, is up to."""
    values, count = np.unique(impostor, return_counts=True)
    fits = values[np.cumsum(count) / len(impostor) <= rate]
    return fits[-1] if len(fits) else np.nextafter(values[0], -np.inf)


def brute_force(genuine, impostor, far=FAR):
    """All numbers from sorted lists of all pairs."""
    points = {}
    for rate in far:
        points[rate] = largest_with_at_most(rate, impostor)
    values = np.union1d(genuine, impostor)
    up_to = np.searchsorted(genuine, values, "right"), np.searchsorted(impostor, values, "right")
    missed, accepted = len(genuine) - up_to[0], up_to[1]
    k = int(np.argmax(accepted * len(genuine) >= missed * len(impostor)))
    points["equal"] = values[k]
    gain = up_to[0] * len(impostor) - up_to[1] * len(genuine)
    points["crossing"] = values[np.argmax(gain)]
    ends = [(accepted[j] / len(impostor), missed[j] / len(genuine)) if j >= 0 else (0.0, 1.0)
            for j in (k - 1, k)]
    counts = {key: (np.count_nonzero(genuine <= value), np.count_nonzero(impostor <= value))
              for key, value in points.items()}
    return points, counts, ends


def compare(found, genuine, impostor, far=FAR):
    points, counts, ((old_far, old_missed), (new_far, missed)) = brute_force(
        genuine, impostor, far)
    ours = {**found.at, "equal": found.equal, "crossing": found.crossing}
    assert {key: point.threshold for key, point in ours.items()} == points
    assert {key: (point.genuine, point.impostor) for key, point in ours.items()} == counts
    assert (found.genuine, found.impostor) == (len(genuine), len(impostor))
    for point in ours.values():
        assert (point.tar, point.far) == (point.genuine / len(genuine),
                                          point.impostor / len(impostor))
    if new_far == missed:
        assert found.eer == new_far
    else:  # on the line between both points
        assert min(old_far, missed) <= found.eer <= min(new_far, old_missed)
        share = (found.eer - old_far) / (new_far - old_far) if new_far > old_far else (
            (old_missed - found.eer) / (old_missed - missed))
        assert old_missed + share * (missed - old_missed) == pytest.approx(found.eer, abs=1e-12)


def matrices():
    for seed in range(nightly.cases(24, 200)):
        rng = np.random.default_rng(seed)
        sizes = {"n_query": int(rng.integers(2, 12)), "n_gallery": int(rng.integers(4, 90)),
                 "identities": int(rng.integers(2, 6)), "cameras": 3}
        yield special(seed, **sizes)
        yield market_like(seed, **sizes, levels=5 if seed % 3 else None,
                          dtype=np.float32 if seed % 2 else np.float64)


@pytest.mark.parametrize("max_memory", [None, 2000])
def test_random_matrices(max_memory):
    """NaN, infinity, ties; blocks of few rows."""
    compared = 0
    for k, (distances, query, gallery) in enumerate(matrices()):
        convention = ("matlab", "torchreid-function", "torchreid", "sysu-mm01")[k % 4]
        loaded = CONVENTIONS[convention].loaded(query.identity)
        genuine, impostor, *_ = all_pairs(distances[loaded], query[loaded], gallery, convention)
        if not len(genuine) or not len(impostor):
            refused("query, gallery", "at least one", evaluate_thresholds_distances, distances,
                    query, gallery, convention=convention)
            continue
        found = evaluate_thresholds_distances(distances, query, gallery, convention=convention,
                                              far=FAR, max_memory=max_memory)
        compare(found, genuine, impostor)
        compared += 1
    assert compared > 30


def distances_by_pair(query, gallery, metric, normalize):
    """The documented distance of every pair: exact products and norms, in double."""
    row, image = np.divmod(np.arange(len(query) * len(gallery)), len(gallery))
    product = pair_products(query, gallery, row, image)
    square, other = (exact_distances.squares(side) for side in (query, gallery))
    if not normalize and metric != "cosine":
        values = other[image] - 2 * product + square[row] if metric == "euclidean" else -product
    else:
        with np.errstate(invalid="ignore", divide="ignore"):
            cosine = product / np.sqrt(other)[image] / np.sqrt(square)[row]
        values = {"euclidean": 2 - 2 * cosine, "cosine": 1 - cosine, "dot": -cosine}[metric]
    return values.reshape(len(query), len(gallery))


@pytest.mark.parametrize(("metric", "normalize"), [
    ("euclidean", True), ("euclidean", False), ("cosine", False), ("dot", False), ("dot", True)])
@pytest.mark.parametrize("kind", ["spread", "alike", "long", "ties", "zero"])
def test_features(metric, normalize, kind):
    """Also where single precision cannot tell distances apart, and norms differ by thousands."""
    rng = np.random.default_rng(3)
    identity, other = rng.integers(0, 12, 60), rng.integers(0, 12, 400)
    query, gallery = Labels(identity, rng.integers(0, 3, 60)), Labels(other,
                                                                      rng.integers(0, 3, 400))
    centres = rng.standard_normal((12, 24))
    features = [centres[ids] + rng.standard_normal((len(ids), 24)) for ids in (identity, other)]
    if kind == "alike":
        features = [1000 + 1e-3 * side for side in features]
    elif kind == "long":
        features = [side * 10.0**rng.integers(-3, 4, (len(side), 1)) for side in features]
    elif kind == "ties":
        features = [np.round(side) for side in features]
    elif kind == "zero":
        features[0][3], features[1][[7, 9]] = 0, 0
    query_features, gallery_features = (side.astype(np.float32) for side in features)
    distances = distances_by_pair(query_features, gallery_features, metric, normalize)
    genuine, impostor, *_ = all_pairs(distances, query, gallery)
    with np.errstate(invalid="raise", divide="raise", over="raise"):
        found = evaluate_thresholds(query_features, gallery_features, query, gallery, far=FAR,
                                    metric=metric, normalize=normalize)
    compare(found, genuine, impostor)


def market(seed=1, n_query=90, n_gallery=1500):
    rng = np.random.default_rng(seed)
    identity, other = rng.integers(1, 40, n_query), rng.integers(-1, 30, n_gallery)
    centres = rng.standard_normal((41, 16))
    features = [(centres[ids] + 1.4 * rng.standard_normal((len(ids), 16))).astype(np.float32)
                for ids in (identity, other)]
    return (*features, Labels(identity, rng.integers(0, 6, n_query)),
            Labels(other, rng.integers(0, 6, n_gallery)))


def test_precision_memory_and_parts_change_nothing(monkeypatch, tmp_path):
    h5py = pytest.importorskip("h5py")
    arrays = market()
    expected = evaluate_thresholds(*arrays, far=FAR)
    assert evaluate_thresholds(*arrays, far=FAR, max_memory=60_000) == expected
    with h5py.File(tmp_path / "features.h5", "w") as file:
        stored = [file.create_dataset(name, data=array)
                  for name, array in zip("qg", arrays[:2])]
        for memory in (100_000, 600_000):  # more: the bins of two parts are kept
            assert evaluate_thresholds(*stored, *arrays[2:], far=FAR,
                                       max_memory=memory) == expected
    precisions = []
    whole = evaluation._search
    monkeypatch.setattr("reid_ref.thresholds.evaluation._search", lambda *arguments: (
        precisions.append(arguments[-1]), whole(*arguments))[1])
    monkeypatch.setattr(evaluation, "_BYTES", bytes_of("1T"))  # no pair may be measured in single
    assert evaluate_thresholds(*arrays, far=FAR) == expected
    assert precisions == [np.float32, np.float64]


@pytest.fixture
def binned(monkeypatch):
    """The sizes of the tiles whose pairs are put in bins."""
    sizes, bins = [], impostors.Impostors._bins
    monkeypatch.setattr(impostors.Impostors, "_bins", lambda *arguments: (
        sizes.append(arguments[-1].values.size), bins(*arguments))[1])
    return sizes


@pytest.mark.parametrize(("memory", "times"), [(None, 1), (20_000, 2)])
def test_products_are_made_once_where_likely_pairs_fit(binned, memory, times):
    arrays, told = market(), []
    evaluate_thresholds(*arrays, far=FAR, max_memory=memory, progress=told.append)
    assert sum(binned) == times * len(arrays[2]) * np.count_nonzero(arrays[3].identity >= 0)
    assert sum(told) == len(arrays[2])


@pytest.mark.parametrize("guess", [[], [(-np.inf, -1)], [(.5, .51), (1, 1)], [(2, np.inf)]])
def test_a_wrong_guess_costs_time_alone(monkeypatch, binned, guess):
    arrays = market()
    expected = evaluate_thresholds(*arrays, far=FAR, confidence=90)
    once = sum(binned)
    monkeypatch.setattr(evaluation, "likely_ranges", lambda *_: np.reshape(guess, (-1, 2)))
    assert evaluate_thresholds(*arrays, far=FAR, confidence=90) == expected
    assert sum(binned) == 3 * once


@pytest.mark.parametrize("confidence", [None, 90])
def test_a_guess_without_the_nearest_pairs(monkeypatch, binned, confidence):
    """Enough for the thresholds, but not for intervals, and those of an open set."""
    arrays = market()
    expected = evaluate_thresholds(*arrays, far=FAR[:-1], confidence=confidence)
    once = sum(binned)
    _, impostor, *_ = all_pairs(distances_by_pair(*arrays[:2], "euclidean", True), *arrays[2:])

    def guess(rates, genuine, sample):
        values = np.array([np.quantile(genuine, .2),
                           *(point.threshold for point in expected.at.values())])
        further = impostor[np.searchsorted(impostor, values, side="right")]
        ranges = likely_ranges(rates, genuine, sample)
        ranges[0, 0] = values[0]
        return np.append(ranges, np.transpose([values, further]), axis=0)

    monkeypatch.setattr(evaluation, "likely_ranges", guess)
    assert evaluate_thresholds(*arrays, far=FAR[:-1], confidence=confidence) == expected
    assert sum(binned) == (3 if confidence is None else 4) * once


def test_bins_may_be_resolved_before_all_are_counted():
    distances, query, gallery = market_like(5, n_query=9, n_gallery=70, identities=4, cameras=3)
    genuine, impostor, *_ = all_pairs(distances, query, gallery)
    how = How(tuple(find_conventions("matlab")), None, None, None, None, None)
    known = impostors.Impostors(
        Distances(distances).pairs(query, gallery, how),
        find_roles(query, gallery, CONVENTIONS["matlab"].not_ranked), 9, 70, np.zeros(9, bool),
        np.float64, 10**9, lambda *_: np.array([(-np.inf, np.median(impostor))]), 10**9)
    for high in (np.quantile(impostor, .2), impostor[-1]):
        while (needed := known.overlap(-np.inf, high)).any():
            known.resolve(needed)
        up_to = impostor[impostor <= high]
        for bound in known.below(up_to):
            assert bound.tolist() == np.searchsorted(impostor, up_to, "right").tolist()


@pytest.mark.parametrize("noise", [.1, 1, 3, 30])
def test_the_guess_is_right_also_of_poor_features(monkeypatch, binned, noise):
    *features, query, gallery = market(n_query=300, n_gallery=3000)
    rng = np.random.default_rng(0)
    features = [side + np.float32(noise) * rng.standard_normal(side.shape, np.float32)
                for side in features]
    evaluate_thresholds(*features, query, gallery)
    assert sum(binned) == len(query) * np.count_nonzero(gallery.identity >= 0)


def test_products_beyond_their_bound_are_refused(monkeypatch):
    monkeypatch.setattr(exact_distances, "slack", lambda dimension: 1e-300)
    refused("query_features, gallery_features", "matrix products", evaluate_thresholds, *market(),
            normalize=False, metric="dot")


def test_most_pairs_are_never_measured(monkeypatch):
    """Thresholds of a large problem need few exact distances."""
    measured = []
    inner = exact_distances.pair_products
    monkeypatch.setattr(exact_distances, "pair_products", lambda *arguments: (
        measured.append(len(arguments[2])), inner(*arguments))[1])
    arrays = market(n_query=400, n_gallery=6000)
    found = evaluate_thresholds(*arrays)
    assert sum(measured) < .1 * found.impostor + 3 * (found.genuine + 2**15)


def test_by_hand():
    """Genuine .1, .2, .6; impostors .3, .5, .9, and one on the query's camera that counts."""
    query, gallery = Labels([7, 8], [1, 1]), Labels([7, 8, 7, -1, 8], [2, 2, 3, 2, 1])
    distances = np.array([[.1, .3, .6, .01, .95], [.5, .2, .9, .02, .03]])
    found = evaluate_thresholds_distances(distances, query, gallery, far=[0, .25, .5, 1])
    assert (found.genuine, found.impostor) == (3, 4)
    assert found.threshold.tolist() == [np.nextafter(.3, 0), .3, .5, .95]
    assert found.tar.tolist() == [2 / 3, 2 / 3, 2 / 3, 1]
    assert found.far.tolist() == [0, .25, .5, 1]
    # From (FAR .25, FRR 1/3) to (.5, 1/3).
    assert (found.equal.threshold, found.eer) == (.5, pytest.approx(1 / 3, abs=1e-15))
    assert found.crossing.threshold == .2
    assert found.open_set is None
    # Of the distances in descending order, .6 has a third of the genuine pairs.
    assert found.fastreid_tpr_at_fpr == {1e-4: 0, 1e-3: 0, 1e-2: 0}


class Known:
    """Impostors of which every distance is known, each so many times."""

    def __init__(self, distances, times):
        self._values, self._times = np.sort(distances), times
        self.number = len(distances) * times

    def below(self, values, side="right"):
        count = np.searchsorted(self._values, values, side=side) * self._times
        return count, count

    def edges(self):
        return np.append(self._values, np.inf)

    def overlap(self, *_):
        return np.zeros(1, bool)


@pytest.mark.parametrize("question", [equal_error, crossing])
@pytest.mark.parametrize("seed", range(5))
def test_numbers_of_pairs_whose_product_has_more_than_64_bits(question, seed):
    """10^5 queries and 10^6 images: 10^11 impostor pairs, and 10^8 genuine ones."""
    rng = np.random.default_rng(seed)
    genuine, wrong = Genuine.of(rng.random(20).round(1)), rng.random(100) + .3
    few, many = (question(Known(wrong, times), genuine._replace(up_to=genuine.up_to * times))
                 for times in (1, 2**31))
    assert few[0] == many[0]


def test_index_lists_say_which_pairs_are_genuine():
    query, gallery = labels([1, 1], 0), labels([1, 1, 2, 2], 0)
    lists = reid_ref.IndexLists([[3], [0, 1]], [[0, 1], []])
    found = evaluate_thresholds_distances(
        [[.1, .2, .3, .4], [.6, .7, .8, .9]], query, gallery, convention="veri", lists=lists,
        far=[1 / 3])
    assert (found.genuine, found.impostor) == (3, 3)
    assert (found.threshold.item(), found.tar.item()) == (.3, 0)
    assert found.signature["lists"] == lists.fingerprint()


def test_one_rate_and_the_least_memory():
    query, gallery = labels([1], 0), labels([1, 2, 2], 1)
    found = evaluate_thresholds_distances([[.2, .1, .3]], query, gallery, far=.5, max_memory=1)
    assert found.threshold.tolist() == [.1]


def test_nan_is_warned_of_and_accepted_last():
    query, gallery = labels([1], 0), labels([1, 2, 2, 1], 1)
    with pytest.warns(reid_ref.NaNWarning):
        found = evaluate_thresholds_distances([[.5, .1, np.nan, np.nan]], query, gallery,
                                              far=[.5, 1])
    assert found.threshold.tolist() == [.1, np.inf] and found.tar.tolist() == [0, 1]
    with pytest.warns(reid_ref.NaNWarning) as warned:
        # Of an open set images are ranked.
        evaluate_thresholds_distances([[.5, .1, np.nan, np.nan], [.5, .1, .2, .3]],
                                      labels([1, 7], 0), gallery)
    assert [str(warning.message)[:23] for warning in warned] == ["distances: 2 of 8 are N"]


def test_most_impostors_are_infinitely_far():
    """As where a toolbox keeps the nearest images of each query alone."""
    distances, query, gallery = market_like(3, n_query=12, n_gallery=80, identities=4, cameras=3)
    is_far = query.identity[:, np.newaxis] != gallery.identity
    is_far &= np.random.default_rng(0).random(distances.shape) < .95
    distances = np.where(is_far, np.inf, distances)
    genuine, impostor, *_ = all_pairs(distances, query, gallery)
    with np.errstate(invalid="raise"):
        compare(evaluate_thresholds_distances(distances, query, gallery, far=(1e-3, .01)),
                genuine, impostor, (1e-3, .01))


@pytest.mark.parametrize(("far", "threshold", "impostor"), [
    (0, np.nextafter(1, 0), 0), (1 / 6, 1, 1), (4 / 6, 1, 1), (5 / 6, 2, 5), (.999, 2, 5),
    (1, 3, 6)])
def test_ties_are_accepted_together_or_not_at_all(far, threshold, impostor):
    """Of six impostor distances, 1, 2, 2, 2, 2, 3."""
    query, gallery = labels([1, 2], 0), labels([1, 2, 3, 4], 1)
    point = evaluate_thresholds_distances([[1.5, 1, 2, 2], [2, 2, 2, 3]], query, gallery,
                                          far=[far]).at[far]
    assert (point.threshold, point.impostor, point.far) == (threshold, impostor, impostor / 6)


@pytest.mark.parametrize("max_memory", [None, 5000])
def test_a_row_never_takes_more_than_its_share(max_memory):
    """Of features and of their exact distances alike, with ties; a row takes what it can."""
    for seed in range(nightly.cases(4, 40)):
        *features, query, gallery = market(seed, n_query=30, n_gallery=200)
        if seed % 2:
            features = [np.round(side) for side in features]
        rates = [.5 / 7, 1e-3, .0015, 1 / 3, .29, 2 / 3, .05]
        found = evaluate_thresholds(*features, query, gallery, far=rates, metric="euclidean",
                                    normalize=False, max_memory=max_memory)
        distances = distances_by_pair(*features, "euclidean", False)
        of_matrix = evaluate_thresholds_distances(distances, query, gallery, far=rates,
                                                  max_memory=max_memory)
        assert of_matrix.at == found.at
        _, impostor, *_ = all_pairs(distances, query, gallery)
        for rate, point in found.at.items():
            further = impostor[impostor > point.threshold]
            assert point.impostor / len(impostor) <= rate
            assert (impostor <= further[0]).sum() / len(impostor) > rate


def test_open_set_against_loops():
    for seed in range(nightly.cases(6, 40)):
        arrays = market(seed)
        query, gallery = arrays[2:]
        found = evaluate_thresholds(*arrays, far=FAR)
        distances = distances_by_pair(*arrays[:2], "euclidean", True)
        *_, kept, genuine = all_pairs(distances, query, gallery)
        absent = ~np.isin(query.identity, gallery.identity)
        nearest = np.sort([distances[k][kept[k]].min() for k in np.flatnonzero(absent)])
        matched = [k for k in range(len(query)) if (kept & genuine)[k].any()]
        assert (found.open_set.genuine, found.open_set.impostor) == (len(matched), len(nearest))
        for rate, point in found.open_set.at.items():
            assert {type(share) for share in point.dir.values()} == {float}
            value = largest_with_at_most(rate, nearest)
            assert (point.threshold, point.impostor) == (value, (nearest <= value).sum())
            for k, share in point.dir.items():
                hits = 0
                for row in matched:
                    best = distances[row][(kept & genuine)[row]].min()
                    rank = 1 + (distances[row][kept[row]] < best).sum()
                    hits += best <= value and rank <= k
                assert share == hits / len(matched)


def test_fastreid_is_scikit_learns_curve_read_at_the_nearest_point():
    metrics = pytest.importorskip("sklearn.metrics")
    for seed in range(nightly.cases(20, 200)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 400))
        query, gallery = Labels([1], [0]), labels(rng.integers(1, 3, n), 1)
        distances = rng.permutation(n).astype(float) if seed % 2 else rng.integers(
            0, 9, n).astype(float)
        if seed % 5 == 0:  # all genuine pairs are nearer, so points are left out
            distances = np.sort(distances)
            gallery = labels(np.sort(gallery.identity), 1)
        is_impostor = gallery.identity != 1
        if is_impostor.all() or not is_impostor.any():
            continue
        fpr, tpr, _ = metrics.roc_curve(is_impostor, distances)
        found = evaluate_thresholds_distances(distances[np.newaxis], query, gallery)
        assert found.fastreid_tpr_at_fpr == {
            rate: tpr[np.argmin(abs(fpr - rate))] for rate in (1e-4, 1e-3, 1e-2)}


def test_interval_of_tar_is_that_of_a_mean_over_queries():
    arrays = market()
    query, gallery = arrays[2:]
    found = evaluate_thresholds(*arrays, confidence=90)
    distances = distances_by_pair(*arrays[:2], "euclidean", True)
    *_, kept, genuine = all_pairs(distances, query, gallery)
    good = kept & genuine
    point = found.at[1e-2]
    row, _ = np.nonzero(good)
    values = (distances[good] <= point.threshold).astype(float)
    expected = reid_ref.statistics.interval(values, query.identity[row], level=90)
    assert (point.tar_interval.low, point.tar_interval.high, point.tar_interval.se) == (
        pytest.approx((expected.low, expected.high, expected.se), rel=1e-9))
    assert point.tar_interval.unit == "identity"
    assert found.open_set.at[1e-2].intervals[1].queries == found.open_set.genuine


def test_interval_of_far_is_that_of_identities_on_both_sides():
    """The standard error against the jackknife: a person is left out as query and as image."""
    arrays = market(n_query=200, n_gallery=600)
    query, gallery = arrays[2:]
    found = evaluate_thresholds(*arrays, far=[.05], confidence=95)
    distances = distances_by_pair(*arrays[:2], "euclidean", True)
    *_, kept, genuine = all_pairs(distances, query, gallery)
    mask = kept & ~genuine
    accepted = mask & (distances <= found.at[.05].threshold)
    # Distractors, of unknown identity, are left out one by one; junk has no pairs.
    people = [(query.identity == k, gallery.identity == k)
              for k in np.union1d(query.identity, gallery.identity) if k > 0]
    people += [(query.identity == -2, np.arange(600) == k)
               for k in np.flatnonzero(gallery.identity == 0)]
    without = []
    for row, image in people:
        rest = mask[~row][:, ~image]
        without.append(accepted[~row][:, ~image].sum() / rest.sum())
    expected = np.std(without) * np.sqrt(len(people) - 1)
    interval = found.at[.05].far_interval
    assert interval.se == pytest.approx(expected, rel=.06)
    assert interval.se > 2 * interval.se_naive
    assert interval.low < found.at[.05].far < interval.high
    assert interval.value == found.at[.05].far


@pytest.mark.parametrize(("options", "argument", "noun"), [
    *(({"far": far}, "far", "rates from 0 to 1") for far in ([2], [], [.1, .1], [np.nan], ["a"])),
    ({"confidence": 20}, "confidence", "percent"),
    ({"convention": "veri"}, "lists", "convention 'veri' takes")])
def test_wrong_arguments(options, argument, noun):
    refused(argument, noun, evaluate_thresholds, *market(), **options)


def test_pairs_of_one_kind_are_refused():
    query, gallery = labels([1, 2], 0), labels([3, 4], 1)
    for sides, noun in (((query, gallery), "genuine"),
                        ((labels([1, 1], 0), labels([1, 1], 1)), "impostor")):
        refused("query, gallery", noun, evaluate_thresholds_distances, np.ones((2, 2)), *sides)


def test_bins_fit_sixteen_bits():
    assert impostors.BINS < 2**16
