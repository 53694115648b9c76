"""Each query set has an error of its own, held to simulation; by hand: `test_compare.py`."""
import numpy as np
import pytest

from reid_ref.commands.splits import splits_of_scores
from reid_ref.result import QueryValues


def scores(sets):
    return {"Rank-1": {str(k): QueryValues(float(np.mean(values)), np.asarray(values, float),
                                           np.ones(len(values), bool))
                       for k, values in enumerate(sets)}}


def se_of(sets, identities):
    answer = splits_of_scores(scores(sets), "identity", np.concatenate(identities), resamples=199)
    return answer["Rank-1"].interval.se


@pytest.mark.nightly
@pytest.mark.parametrize("shared", [0, 60, 120])
def test_the_error_is_that_of_simulation(shared):
    """Two sets of 120 identities, some of them in both, at .9 and at .3."""
    rng = np.random.default_rng(2)
    means, errors = [], []
    for _ in range(400):
        level = rng.normal(0, .08, 240)  # of identities, alike in both sets
        sets, identities = [], []
        for share, first in ((.9, 0), (.3, 120 - shared)):
            identity = first + np.repeat(np.arange(120), rng.integers(1, 7, 120))
            chance = np.clip(share + level[identity], 0, 1)
            sets.append((rng.random(len(identity)) < chance).astype(float))
            identities.append(identity)
        means.append(np.mean([values.mean() for values in sets]))
        errors.append(se_of(sets, identities))
    np.testing.assert_allclose(np.mean(errors), np.std(means), rtol=.1)
