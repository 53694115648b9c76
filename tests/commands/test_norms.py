"""Norms that vary: the shares of wrong pairs, the doctor's note, and the warning of evaluate."""
import json
from dataclasses import replace

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.analysis.doctor import doctor, findings_of_conventions
from reid_ref.analysis.doctor.norms import WrongShares, wrong_shares
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.evaluation.how import How
from tests.cases import save_features
from tests.commands.common import command
from tests.commands.test_doctor import (
    RNG, features, labels, of_distances, of_features, sound)

#: Equal queries of identity 1 on camera 1, as many as show something; good first, then wrong ones.
QUERY = [[1, 0]] * 5
#: Cosines 1, .7, .7, 0, 0. Squared distances 1, .82, 13, 2, 5: the second image is nearer. Dot
#: products 2, .9, 3, 0, 0: the third is.
RAW_IS_WORSE = [[2, 0], [.9, .9], [3, 3], [0, 1], [0, 2]]
#: Cosines .9, 1, 0. Squared distances .25, 4, 2.
RAW_IS_BETTER = [[1, .5], [3, 0], [0, 1]]


def made(gallery, query=QUERY):
    n = len(gallery)
    return of_features(Labels([1] * len(query), [1] * len(query)),
                       Labels([1, *range(2, n + 1)], [2, *[1] * (n - 1)]),
                       np.array(query, float), np.array(gallery, float))


def scaled(data, spread, seed=0):
    """The same directions; norms of mean 1 and this standard deviation."""
    rng = RNG(seed)
    return of_features(data.query, data.gallery, *(
        side / np.linalg.norm(side, axis=1, keepdims=True)
        * (1 + spread * rng.standard_normal((len(side), 1)))
        for side in (data.query_features, data.gallery_features)))


def shares_of(data, metric="euclidean"):
    subject = Subject(data.query, data.gallery, data)
    return wrong_shares(subject.scores_of(metric), subject.scores)


@pytest.mark.parametrize(("gallery", "metric", "raw", "normalised"), [
    (RAW_IS_WORSE, "euclidean", 1 / 4, 0), (RAW_IS_WORSE, "dot", 1 / 4, 0),
    (RAW_IS_BETTER, "euclidean", 0, 1 / 2), (RAW_IS_BETTER, "dot", 1 / 2, 1 / 2)])
def test_shares_by_hand(gallery, metric, raw, normalised):
    shares = shares_of(made(gallery), metric)
    assert shares == WrongShares(raw, normalised, 5 * (raw > normalised), 5 * (raw < normalised))
    assert (shares.falls, shares.rises) == (raw > normalised, raw < normalised)


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
def test_shares_are_those_of_all_pairs(metric):
    data = scaled(sound(n_query=40, n_gallery=100, identities=10), .03)
    of_query = {"raw": [], "normalised": []}
    for query, identity, camera in zip(data.query_features, data.query.identity,
                                       data.query.camera):
        good = data.gallery_features[(data.gallery.identity == identity)
                                     & (data.gallery.camera != camera)]
        wrong = data.gallery_features[data.gallery.identity != identity]
        if metric == "dot":
            distance = [-(side @ query) for side in (good, wrong)]
        else:
            distance = [((side - query) ** 2).sum(axis=1) for side in (good, wrong)]
        cosine = [-(side @ query) / np.linalg.norm(side, axis=1) for side in (good, wrong)]
        for name, (of_good, of_wrong) in (("raw", distance), ("normalised", cosine)):
            of_query[name].append((of_wrong < of_good[:, np.newaxis]).mean())
    change = np.subtract(of_query["raw"], of_query["normalised"])
    shares = shares_of(data, metric)
    np.testing.assert_allclose(shares[:2], [np.mean(of_query["raw"]), np.mean(
        of_query["normalised"])], rtol=0, atol=1e-12)
    assert shares[2:] == ((change > 1e-12).sum(), (change < -1e-12).sum())
    assert min(shares[2:]) > 0


@pytest.mark.parametrize(("raw", "normalised", "falls", "rises"), [
    (.12, .1, True, False), (.119, .1, False, False), (1e-5, 0, True, False),
    (.1, .12, False, True), (.1, .119, False, False), (0, 0, False, False)])
def test_from_a_ratio_of_1_2_on_either_way(raw, normalised, falls, rises):
    shares = WrongShares(raw, normalised, 5 * (raw > normalised), 5 * (raw < normalised))
    assert (shares.falls, shares.rises) == (falls, rises)


@pytest.mark.parametrize(("gain", "lose", "falls"), [
    (5, 0, True), (4, 0, False), (1, 0, False), (10, 3, False), (11, 3, True), (3, 11, False),
    (0, 0, False)])
def test_clearly_more_queries_gain_than_lose(gain, lose, falls):
    """By more than two standard errors: 5 > 2 * 5 ** .5, 4 = 2 * 4 ** .5, 7 < 2 * 13 ** .5."""
    assert WrongShares(.2, .1, gain, lose).falls == falls
    assert WrongShares(.1, .2, lose, gain).rises == falls


def test_few_queries_show_nothing():
    data = made(RAW_IS_WORSE, QUERY[:4])
    assert shares_of(data) == WrongShares(.25, 0, 4, 0) and norms_of(data) == []


# ---------------------------------------------------------------- the doctor

def norms_of(data):
    return [found for found in doctor(data) if found.key == "doctor:norms-vary"]


@pytest.mark.parametrize(("gallery", "shown", "numbers"), [
    (RAW_IS_WORSE, "25 % of the pairs; of normalised features, in 0.0 %",
     {"spread": .542358, "wrong_raw": .25, "wrong_normalised": 0}),
    (RAW_IS_BETTER, "0.0 % of the pairs; of normalised features, in 50 %",
     {"spread": .537075, "wrong_raw": 0, "wrong_normalised": .5})])
def test_a_note_either_way(gallery, shown, numbers):
    found, = norms_of(made(gallery))
    assert found.severity == "note" and found.evidence == numbers
    assert f"a wrong image is nearer than a good one in {shown}." in found.sentence


@pytest.mark.parametrize(("spread", "n"), [(0, 0), (.01, 0), (.1, 1)])
def test_norms_that_vary(spread, n):
    assert len(norms_of(scaled(sound(), spread))) == n


def test_a_strong_model_has_the_note():
    """Where few pairs are wrong either way, a share of right pairs hardly moves."""
    query, gallery = labels(0)
    data = scaled(of_features(query, gallery, *features(query, gallery, 0, noise=1)), .05)
    evidence = norms_of(data)[0].evidence
    assert evidence["wrong_raw"] < .002
    assert evidence["wrong_raw"] > 1.2 * evidence["wrong_normalised"] > 0


# ---------------------------------------------------------------- evaluate

@pytest.fixture
def file(tmp_path):
    data = made(RAW_IS_WORSE)
    save_features(tmp_path / "made.npz", (data.query_features, data.gallery_features), data.query,
                  data.gallery)
    return tmp_path / "made.npz"


WARNING = ("Features are ranked as they are ({}): in a sample, a wrong image is nearer than a "
           "good one in 25 % of the pairs; divided by their 2-norms, in 0.0 %. Codes that "
           "normalise print another number. (doctor:norms-vary)")


@pytest.mark.parametrize(("options", "names"), [
    ("", []), ("--convention torchreid", ["torchreid"]), ("--no-normalize", ["matlab"]),
    ("--no-normalize --metric dot", ["matlab"]), ("--no-normalize --metric cosine", []),
    ("--convention torchreid --normalize", []), ("--convention torchreid --metric cosine", []),
    ("--convention matlab,torchreid,open-reid", ["torchreid, open-reid"]),
    ("--convention matlab,fast-reid,torchreid,torchreid-function,open-reid,simpleir",
     ["torchreid, torchreid-function, open-reid and 1 more"])])
def test_evaluate_warns_of_raw_features_and_strict_counts_it(file, options, names):
    done = command("evaluate", file, *options.split(), "--strict", "--json")
    warned = [line for line in json.loads(done.stdout)["warnings"] if "norms-vary" in line]
    assert warned == [WARNING.format(name) for name in names], done.stderr
    assert done.returncode == len(names)
    failed = [line for line in done.stderr.splitlines() if "failed" in line]
    assert failed == ["reid-ref: failed: --strict: doctor:norms-vary"] * len(names)


def test_each_metric_of_raw_features_has_its_own_shares():
    """By Euclidean distance both wrong images are nearer, by dot product one."""
    data = made([[2, 0], [.9, .9], [1.5, 1.5], [3, 3]])
    matlab = reid_ref.CONVENTIONS["matlab"]
    raw = How(tuple(replace(matlab, name=metric, metric=metric, normalize=False)
                    for metric in ("euclidean", "dot")))
    found = findings_of_conventions(data, raw)
    assert [(one.key, one.severity) for one in found] == [("doctor:norms-vary", "warning")] * 2
    assert [one.sentence.split("(")[1].split(")")[0] for one in found] == ["euclidean", "dot"]
    assert [one.evidence["wrong_raw"] for one in found] == [.333333, .333333]


def test_rerank_warns_as_well(file):
    done = command("rerank", file, "--no-normalize", "--k1", "2", "--k2", "1", "--strict")
    assert WARNING.format("matlab") in done.stderr and done.returncode == 1


@pytest.mark.parametrize("data", [
    made(RAW_IS_BETTER), of_distances(made(RAW_IS_WORSE)), scaled(sound(), 0)])
def test_no_warning_where_raw_features_rank_no_worse(data):
    raw = How(tuple(reid_ref.CONVENTIONS.values()), normalize=False)
    assert [one for one in findings_of_conventions(data, raw) if "norms" in one.key] == []
