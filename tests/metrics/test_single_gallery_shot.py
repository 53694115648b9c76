"""Single-gallery-shot in closed form, against draws and against all draws there are.

The draws are made here by code of its own, which knows nothing of the closed form.
"""
import itertools
from pathlib import Path

import numpy as np
import pytest

from reid_ref import Labels
from reid_ref.conventions import CONVENTIONS
from reid_ref.evaluation.functions import evaluate_distances

PEERS = Path(__file__).parents[2] / "fixtures" / "peers"
CONVENTION = {"same identity": "cuhk03-single-shot-function",
              "any identity": "open-reid-cuhk03-function"}

N_DRAWS = 10_000
#: Standard errors that the mean of the draws may be off: one in 150,000 is farther, and some
#: hundreds of ranks are looked at. The seeds are fixed, so a test that passes keeps passing.
SIGMAS = 4.5

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def made(seed, identities, gallery, queries, cameras, spread, tied=False):
    rng = np.random.default_rng(seed)
    g_pids, g_camids = rng.integers(0, identities, gallery), rng.integers(1, cameras + 1, gallery)
    q_pids, q_camids = rng.integers(0, identities, queries), rng.integers(1, cameras + 1, queries)
    distances = rng.random((queries, gallery)) + spread * (q_pids[:, np.newaxis] != g_pids)
    return distances.round(1) if tied else distances, q_pids, g_pids, q_camids, g_camids


def stored(case):
    with np.load(PEERS / f"{case}.npz") as arrays:
        return tuple(arrays[name] for name in (
            "distmat", "q_pids", "g_pids", "q_camids", "g_camids"))


SETS = {
    "cuhk": lambda: stored("cuhk"),
    "clean": lambda: stored("clean"),
    "short": lambda: stored("short"),
    "market-like": lambda: stored("market64"),
    "many an identity": lambda: made(1, 12, 300, 15, 4, 0.2),
    "one or two an identity": lambda: made(2, 80, 120, 25, 3, 0.3),
    "hopeless": lambda: made(3, 40, 200, 20, 2, 0.0),
    "tied": lambda: made(4, 20, 150, 20, 3, 0.3, tied=True),
}


def expected(case, camera):
    distances, q_pids, g_pids, q_camids, g_camids = case
    name = CONVENTION[camera]
    record = CONVENTIONS[name].replace(name="all ranks", cmc_length="gallery")
    return evaluate_distances(
        distances, Labels(q_pids, q_camids), Labels(g_pids, g_camids),
        convention=[record])["all ranks"].cmc


def identities_in_order(case, camera):
    """For each query with a match: the places of each identity's kept images, its own first."""
    distances, q_pids, g_pids, q_camids, g_camids = case
    for row, pid, camid in zip(distances, q_pids, q_camids):
        ignored = g_camids == camid
        if camera == "same identity":
            ignored = ignored & (g_pids == pid)
        order = [j for _, j in sorted(zip(row.tolist(), range(len(row)))) if not ignored[j]]
        places = {}
        for place, j in enumerate(order):
            places.setdefault(int(g_pids[j]), []).append(place)
        if int(pid) in places:
            yield [places.pop(int(pid)), *places.values()]


@pytest.mark.parametrize("camera", CONVENTION)
@pytest.mark.parametrize("name", SETS)
def test_within_the_standard_error_of_draws(name, camera):
    case = SETS[name]()
    rng = np.random.default_rng(2003)
    share, variance = [], []
    length = len(case[2])
    for groups in identities_in_order(case, camera):
        drawn = np.array([np.array(group)[rng.integers(0, len(group), N_DRAWS)]
                          for group in groups])
        rank = 1 + (drawn[1:] < drawn[0]).sum(axis=0)
        hits = np.cumsum(np.bincount(rank, minlength=length + 1)[1:])
        share.append(hits / N_DRAWS)
        # One hit and one miss are added, or a rank that all draws hit had no error at all.
        likely = (hits + 1) / (N_DRAWS + 2)
        variance.append(likely * (1 - likely) / N_DRAWS)
    mine = expected(case, camera)
    standard_error = np.sqrt(np.sum(variance, axis=0)) / len(share)
    away = np.abs(mine - np.mean(share, axis=0)) / standard_error
    assert away.max() <= SIGMAS, f"rank {away.argmax() + 1}"
    assert 0 < mine[0] < 1 and len(share) >= 10
    # The draws could tell: a curve 2% off somewhere would not pass.
    assert (0.02 / standard_error).max() > SIGMAS


@pytest.mark.parametrize("camera", CONVENTION)
@pytest.mark.parametrize("seed", range(12))
def test_equals_all_draws_there_are(seed, camera):
    case = made(100 + seed, 5, 14, 6, 2, 0.1, tied=seed % 3 == 0)
    shares = []
    for groups in identities_in_order(case, camera):
        ranks = [1 + sum(place < drawn[0] for place in drawn[1:])
                 for drawn in itertools.product(*groups)]
        shares.append([np.mean([rank <= k for rank in ranks]) for k in range(1, 15)])
    assert shares
    np.testing.assert_allclose(
        expected(case, camera), np.mean(shares, axis=0), rtol=0, atol=1e-12)


def test_by_hand():
    """Identity 8 is nearer with one of two images, 9 with one of three, 7's own is drawn."""
    case = (np.array([[.1, .2, .3, .4, .5, .6]]), np.array([7]),
            np.array([8, 9, 7, 8, 9, 9]), np.array([1]), np.full(6, 2))
    curve = expected(case, "same identity")
    np.testing.assert_allclose(
        curve, [1 / 2 * 2 / 3, 1 - 1 / 2 * 1 / 3, 1, 1, 1, 1], rtol=0, atol=1e-15)


def test_ten_draws_scatter_about_the_expectation():
    """The 10-draw form follows the seed; the closed form is what it scatters about."""
    distances, q_pids, g_pids, q_camids, g_camids = stored("cuhk")
    query, gallery = Labels(q_pids, q_camids), Labels(g_pids, g_camids)
    results = evaluate_distances(distances, query, gallery, convention=[
        "cuhk03-single-shot", "cuhk03-single-shot-draws"])
    exact, drawn = (results[name].cmc for name in results)
    assert exact[0] != drawn[0]
    # 30 queries of 10 draws: at most sqrt(1/4 / 300).
    assert np.abs(exact - drawn).max() <= SIGMAS * np.sqrt(0.25 / 300)
