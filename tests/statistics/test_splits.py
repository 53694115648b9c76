"""Each query set has an error of its own: held to simulation and to hand-worked sums."""
import numpy as np
import pytest

from reid_ref.commands.splits import splits_of_scores
from reid_ref.result import QueryValues
from reid_ref.statistics import standard_error, unit_sums


def scores(sets):
    return {"Rank-1": {str(k): QueryValues(float(np.mean(values)), np.asarray(values, float),
                                           np.ones(len(values), bool))
                       for k, values in enumerate(sets)}}


def se_of(sets, identities):
    answer = splits_of_scores(scores(sets), "identity", np.concatenate(identities), resamples=199)
    return answer["Rank-1"].interval.se


def drawn(rng, share, identities, start):
    """Queries of identities from `start` on, each with a chance of its own; 1 to 6 of each."""
    identity = start + np.repeat(np.arange(identities), rng.integers(1, 7, identities))
    chance = rng.beta(4 * share, 4 * (1 - share), identities)[identity - start]
    return (rng.random(len(identity)) < chance).astype(float), identity


def test_disjoint_sets_add_their_own_variances():
    rng = np.random.default_rng(0)
    parts = [drawn(rng, .9, 150, 0), drawn(rng, .3, 200, 1000)]
    own = [standard_error(unit_sums(values, identity)) for values, identity in parts]
    se = se_of(*zip(*parts, strict=True))
    # Each counts one half, and no identity is in both.
    np.testing.assert_allclose(se, np.hypot(*own) / 2, rtol=.01)


@pytest.mark.filterwarnings("ignore:.*units for these")
def test_the_same_identities_in_both_sets_are_one_unit():
    rng = np.random.default_rng(1)
    values, identity = drawn(rng, .6, 100, 0)
    own = standard_error(unit_sums(values, identity))
    np.testing.assert_allclose(se_of([values, values], [identity, identity]), own, rtol=1e-12)


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
