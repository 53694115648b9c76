"""Single-gallery-shot in closed form, against all draws that there are.

The draws are made here by code of its own, which knows nothing of the closed form. By hand:
`check_identities` of `tests/proof/test_fast_mutants.py`.
"""
import itertools

import numpy as np
import pytest

from reid_ref import Labels
from reid_ref.conventions import CONVENTIONS
from reid_ref.evaluation.functions import evaluate_distances

CONVENTION = {"same identity": "cuhk03-single-shot-function",
              "any identity": "open-reid-cuhk03-function"}

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def made(seed, tied):
    rng = np.random.default_rng(seed)
    g_pids, g_camids = rng.integers(0, 5, 14), rng.integers(1, 3, 14)
    q_pids, q_camids = rng.integers(0, 5, 6), rng.integers(1, 3, 6)
    distances = rng.random((6, 14)) + 0.1 * (q_pids[:, np.newaxis] != g_pids)
    return distances.round(1) if tied else distances, q_pids, g_pids, q_camids, g_camids


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
@pytest.mark.parametrize("seed", range(12))
def test_equals_all_draws_there_are(seed, camera):
    case = made(100 + seed, tied=seed % 3 == 0)
    shares = []
    for groups in identities_in_order(case, camera):
        ranks = [1 + sum(place < drawn[0] for place in drawn[1:])
                 for drawn in itertools.product(*groups)]
        shares.append([np.mean([rank <= k for rank in ranks]) for k in range(1, 15)])
    assert shares
    np.testing.assert_allclose(
        expected(case, camera), np.mean(shares, axis=0), rtol=0, atol=1e-12)
