"""Nothing beyond the array API standard is used: its strict implementation does all."""
import importlib

import numpy as np
import pytest

from reid_ref import evaluate, evaluate_distances
from tests.cases import special
from tests.devices.common import assert_same, features, labels, quietly
from tests.installed import version_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def strict():
    version_of("array_api_strict")
    return importlib.import_module("array_api_strict")


@pytest.mark.parametrize("seed", range(60))
def test_features(strict, there, seed):
    rng = np.random.default_rng(seed)
    query, gallery = features(rng, ("float32", "float64", "int32")[seed % 3])
    both = labels(rng, len(query), len(gallery))
    options = {"metric": ("euclidean", "cosine", "dot")[seed // 3 % 3],
               "normalize": bool(seed // 9 % 2), "convention": ["matlab", "simpleir"]}
    expected, said = quietly(evaluate, query, gallery, *both, **options)
    found, also = quietly(evaluate, strict.asarray(query), strict.asarray(gallery), *both,
                          **options)
    assert there.ran() and also == said
    assert_same(found, expected)


@pytest.mark.parametrize("seed", range(20))
def test_a_matrix(strict, there, seed):
    distances, *both = special(seed)
    assert_same(evaluate_distances(strict.asarray(distances), *both),
                evaluate_distances(distances, *both))
    assert there.ran()
