"""Nothing beyond the array API standard is used: its strict implementation does all."""
import importlib

import numpy as np
import pytest

from reid_ref import evaluate, evaluate_distances, rerank
from reid_ref.reranking.encoding import VARIANTS
from tests.cases import special
from tests.ranking.devices.common import assert_same, problem, quietly
from tests.installed import version_of
from tests.nightly import cases

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def strict():
    version_of("array_api_strict")
    return importlib.import_module("array_api_strict")


@pytest.mark.parametrize("seed", range(cases(18, 60)))
def test_features(strict, there, seed):
    query, gallery, *both = problem(seed, ("float32", "float64", "int32")[seed % 3])
    options = {"metric": ("euclidean", "cosine", "dot")[seed // 3 % 3],
               "normalize": bool(seed // 9 % 2), "convention": ["matlab", "simpleir"]}
    expected, said = quietly(evaluate, query, gallery, *both, **options)
    found, also = quietly(evaluate, strict.asarray(query), strict.asarray(gallery), *both,
                          **options)
    assert there.ran() and also == said
    assert_same(found, expected)


@pytest.mark.parametrize("seed", range(cases(4, 20)))
def test_a_matrix(strict, there, seed):
    distances, *both = special(seed)
    assert_same(evaluate_distances(strict.asarray(distances), *both),
                evaluate_distances(distances, *both))
    assert there.ran()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("library", ["strict", "torch"])
def test_rerank_in_main_memory(request, there, library, variant):
    """Near ties of normalised whole numbers, and real numbers: the same doubles."""
    asarray = request.getfixturevalue(library).asarray
    rng = np.random.default_rng(2)
    for normalize, shape in ((True, "integers"), (False, "standard_normal")):
        query, gallery = ((rng.integers(-3, 4, (n, 5)) if shape == "integers"
                           else rng.standard_normal((n, 64))).astype(np.float32)
                          for n in (12, 60))
        options = {"k1": 6, "k2": 3, "variant": variant, "normalize": normalize}
        found = rerank(asarray(query + 9), asarray(gallery + 9), **options)
        np.testing.assert_array_equal(found, rerank(query + 9, gallery + 9, **options))
