"""Conventions evaluated together give what each gives alone, whatever they ignore."""
import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, IndexLists, Labels
from tests.cases import market_like, same, special
from tests.nightly import cases
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
RULES = ["label -1", "same identity, same camera", "same camera", "same location"]


def together(problem, conventions, **options):
    """The results of conventions evaluated together, which are those of each alone."""
    results = reid_ref.evaluate_distances(*problem, convention=conventions, **options)
    for one, result in zip(conventions, results.values(), strict=True):
        same(result, reid_ref.evaluate_distances(*problem, convention=one, **options))
    return results


@pytest.mark.parametrize("seed", range(cases(20, 60)))
def test_random_sets_of_what_is_ignored(seed):
    rng = np.random.default_rng(seed)
    conventions = []
    for k in range(5):
        ignored = [rule for rule in RULES if rng.random() < 0.5]
        conventions.append(CONVENTIONS["torchreid"].replace(
            name=f"{k}", ignored=tuple(map(str, rng.permutation(ignored))),
            **[{"ties": "grouped"}, {
                "ties": str(rng.choice(["gallery-order", "reversed", "numpy"])),
                "arithmetic": str(rng.choice(["double", "float32"]))}][rng.random() < .75],
            ap="step", unmatched=str(rng.choice(["zero", "drop", "nan"]))))
    together(market_like(seed, levels=[None, 6][seed % 2]), conventions)


@pytest.mark.parametrize("problem", [
    market_like(0), special(1), market_like(2, n_query=25, levels=9)], ids=range(3))
def test_every_convention(problem):
    """What conventions share changes nothing, and no result can be written to by another."""
    results = together(problem, [one for one in CONVENTIONS.values() if not one.needs_lists])
    assert len({id(result.counts.status) for result in results.values()}) == len(results)


def test_lists_together():
    problem = distances, query, gallery = market_like(4)
    rng = np.random.default_rng(1)
    good = [rng.permutation(80)[:5] for _ in range(len(query))]
    junk = [rng.permutation(80)[:9] for _ in range(len(query))]
    names = ["matlab", "veri", "torchreid", "oxford"]
    results = together(problem, names, lists=IndexLists(good, junk))
    assert list(results) == names
    for name in ("matlab", "torchreid"):  # which take no lists
        alone = reid_ref.evaluate_distances(distances, query, gallery, convention=name)
        np.testing.assert_array_equal(results[name].per_query.ap, alone.per_query.ap)
        np.testing.assert_array_equal(results[name].cmc, alone.cmc)
    # By hand: junk is passed over, recall is over the list, its junk included.
    order = np.argsort(distances[0])
    kept = order[~np.isin(order, junk[0])]
    ranks = 1 + np.flatnonzero(np.isin(kept, good[0]))
    ap = sum(((i / (r - 1) if r > 1 else 1) + (i + 1) / r) / 2 / 5 for i, r in enumerate(ranks))
    np.testing.assert_allclose(results["veri"].per_query.ap[0], ap, rtol=1e-13)


def test_whatever_could_change_the_number_is_in_the_signature():
    distances, query, gallery = market_like(2)
    matlab = CONVENTIONS["matlab"]
    changes = [{}, {"ignored": ()}, {"ignored": ("label -1",)}, {"ap": "step"},
               {"ties": "reversed"}, {"unmatched": "drop"}, {"top_k": 5}, {"recall": "found"},
               {"cmc_length": 7}, {"cmc": "all-shots"},
               {"junk_match": "never"}, {"arithmetic": "float32"}]
    signatures = {reid_ref.evaluate_distances(
        distances, query, gallery,
        convention=matlab.replace(**{**change, "name": "mine"})).signature
        for change in changes}
    assert len(signatures) == len(changes)
    lists = [IndexLists([[k]] * len(query), [[]] * len(query)) for k in (1, 2)]
    veri = {reid_ref.evaluate_distances(
        distances, query, gallery, convention="veri", lists=one).signature for one in lists}
    assert len(veri) == 2


@pytest.mark.parametrize("dtype", ["uint8", "bool", "int64", "float32"])
def test_numpy_reversed_on_every_dtype(dtype):
    distances = np.array([[0, 1, 1, 1]], dtype=dtype)
    convention = CONVENTIONS["layumi"].replace(ties="numpy-reversed")
    result = reid_ref.evaluate_distances(
        distances, Labels([1], [1]), Labels([1, 2, 3, 4], [2] * 4), convention=convention)
    assert result.mAP == 1.0


@pytest.mark.parametrize(("index", "good", "argument", "noun"), [
    ([1, 1], [1], "index", "each image once"),
    ([1, 2], [1, 1], "good", "each image once"),
    ([0.5, 1], [1], "index", "whole numbers"),
    (["a"], [1], "index", "whole numbers"),
])
def test_ranked_lists_that_cannot_be(index, good, argument, noun):
    refused(argument, noun, reid_ref.evaluate_ranked_list, index, good)
