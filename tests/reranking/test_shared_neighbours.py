"""Re-rankings of the same images share one search for neighbours."""
import numpy as np

import reid_ref
from reid_ref import Labels
from reid_ref.analysis.validate.search import Trials, run_search
from reid_ref.conventions import CONVENTIONS
from reid_ref.reranking.k_reciprocal import evaluate_reranked
from reid_ref.reranking.neighbours import SHARED, ImagePairs
from reid_ref.variations.reranked import settings_of_toolboxes


def test_a_search_finds_neighbours_once_for_each_set(monkeypatch):
    """Nine settings have five sets of distances; the numbers are those of each alone."""
    rng, calls, nearest = np.random.default_rng(0), [], ImagePairs.nearest
    query, gallery = Labels(np.arange(20) % 8, np.ones(20, int)), Labels(
        np.r_[np.arange(60) % 8, [-1] * 8], np.full(68, 2))
    features = rng.standard_normal((20, 6)), rng.standard_normal((68, 6))
    monkeypatch.setattr(ImagePairs, "nearest", lambda self, count, *others: calls.append(count) or
                        nearest(self, count, *others))
    trials, names = Trials(("Rank-1", "mAP")), ["matlab", "torchreid"]
    run_search(reid_ref.ResultFile("made", query, gallery, *features),
               [CONVENTIONS[name] for name in names], trials)
    searched = [count for count in calls if count > 5]  # the others expand queries
    assert len(settings_of_toolboxes()) == 9 and searched == [SHARED] * 5
    found = {way.variations: numbers["mAP"] for numbers, way in trials.tried}
    for variation, name in ("reranked-matlab", "matlab"), ("reranked-torchreid-raw", "torchreid"):
        assert found[variation,] == evaluate_reranked(
            *features, query, gallery, convention=name).mAP
    assert SHARED > max(settings.k1 for settings in settings_of_toolboxes())
