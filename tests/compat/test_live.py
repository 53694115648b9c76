"""torchreid's and fastreid's own rank.py, where they are installed, on the same problems."""
import importlib.metadata
import importlib.util
import json
import sys
import types
import warnings

import numpy as np
import pytest

from reid_ref import compat
from reid_ref.conventions import CONVENTIONS
from tests.compat.recorded import ORDER_OF_SUMMATION, problems
from tests.documents import ROOT
from tests.installed import version_of
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

PLACES = {"torchreid": "torchreid/reid/metrics/", "fastreid": "fastreid/evaluation/"}
PEERS = ROOT / "fixtures/peers"


class OldNumpy:
    """numpy with the name that rank.py asks for and numpy no longer has; argsort as told."""

    bool = bool

    def __init__(self, kind):
        self.kind = kind

    def __getattr__(self, name):
        return getattr(np, name)

    def argsort(self, values, axis=-1):
        return np.argsort(values, axis=axis, kind=self.kind)


def load(package, kind, file="rank"):
    """Load a file by itself, as its package pulls in more; `kind` is that of its argsort."""
    version_of(package)
    path = importlib.metadata.distribution(package).locate_file(f"{PLACES[package]}{file}.py")
    spec = importlib.util.spec_from_file_location(f"live_{package}_{file}", str(path))
    module = importlib.util.module_from_spec(spec)
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules)
              if name.split(".")[0] == package}
    sys.modules[package] = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns that its Cython form is not beside it
            spec.loader.exec_module(module)
    finally:
        del sys.modules[package]
        sys.modules.update(hidden)
    module.np = OldNumpy(kind)
    return getattr(module, f"evaluate_{file}")


def compare(theirs, mine):
    """CMC to the bit; AP and INP up to the order of summation; the same types all through."""
    assert len(theirs) == len(mine)
    for one, other in zip(theirs, mine):
        assert type(one) is type(other)
    assert theirs[0].dtype == mine[0].dtype == np.float32
    np.testing.assert_array_equal(theirs[0], mine[0])
    for one, other in zip(theirs[1:], mine[1:]):
        if isinstance(one, list):
            assert [type(value) for value in one] == [type(value) for value in other]
        np.testing.assert_allclose(other, one, rtol=0, atol=ORDER_OF_SUMMATION)


@pytest.mark.parametrize("kind, ties", [("stable", False), ("stable", True), (None, True)])
@pytest.mark.parametrize("package, record", [
    ("torchreid", "torchreid-function"), ("fastreid", "fast-reid-function")])
def test_evaluate_rank(package, record, kind, ties):
    """On ties numpy's own argsort is met by the convention that sorts as it does."""
    theirs, ours = load(package, kind), getattr(compat, package).evaluate_rank
    convention = None if kind else CONVENTIONS[record].replace(ties="numpy")
    for seed in range(problems.COUNT):
        p = problems.problem(seed, ties)
        compare(theirs(*p[:5], max_rank=p.max_rank),
                ours(*p[:5], max_rank=p.max_rank, convention=convention))


@pytest.mark.parametrize("package", PLACES)
def test_single_gallery_shot(package):
    """Its draws after seed 0, and its additions in float32; many queries, at one rank too."""
    theirs, ours = load(package, "stable"), getattr(compat, package).evaluate_rank
    many = [(np.random.default_rng(seed).random((40, 60)), np.arange(40) % 5, np.arange(60) % 5,
             np.ones(40, int), 2 + np.arange(60) % 3, max_rank)
            for seed in range(10) for max_rank in (1, 5)]
    for *arrays, max_rank in [(*problem[:5], problem.max_rank) for problem in (
            problems.problem(seed, False) for seed in range(problems.COUNT))] + many:
        np.random.seed(0)
        answer = theirs(*arrays, max_rank=max_rank, use_metric_cuhk03=True)
        compare(answer, ours(*arrays, max_rank=max_rank, use_metric_cuhk03=True))


@pytest.mark.parametrize("package", PLACES)
def test_no_match_is_caught_as_theirs(package):
    arrays = np.eye(2), np.array([1, 2]), np.array([1, 3]), np.array([1, 1]), np.array([1, 2])
    for function in (load(package, "stable"), getattr(compat, package).evaluate_rank):
        with pytest.raises(AssertionError):
            function(*arrays)
    refused("q_pids, g_pids", "1 identity absent, 1 only same camera",
            getattr(compat, package).evaluate_rank, *arrays)


def import_cython_of(module, monkeypatch):
    """Put a module in the place of a toolbox's, which says that it has its Cython form."""
    rank = types.ModuleType(module)
    rank.IS_CYTHON_AVAI = True
    monkeypatch.setitem(sys.modules, module, rank)
    return rank


def arrays_of(case):
    with np.load(PEERS / f"{case}.npz") as stored:
        return [stored[name] for name in ("distmat", "q_pids", "g_pids", "q_camids", "g_camids")]


@pytest.mark.parametrize("module, package, peer", [
    ("torchreid.metrics.rank", "torchreid", "torchreid-cython"),
    ("torchreid.reid.metrics.rank", "torchreid", "torchreid-cython"),
    ("fastreid.evaluation.rank", "fastreid", "fast-reid-cython")])
def test_cython_where_the_toolbox_has_it(monkeypatch, module, package, peer):
    """Recorded answers of the compiled forms; fast-reid's gives arrays in the place of lists."""
    known = json.loads((PEERS / f"{peer}.json").read_text())
    rank = import_cython_of(module, monkeypatch)
    for available in (True, False):
        rank.IS_CYTHON_AVAI = available
        for case in ("market64", "market32", "clean"):
            answer = getattr(compat, package).evaluate_rank(*arrays_of(case))
            single = compat.last_result().convention.arithmetic == "float32"
            assert single == available
            if available and package == "torchreid":
                assert answer[1] == float(np.float32(known[f"{case} mAP"]))
            elif available:
                for values, name in zip(answer[1:], ("ap", "inp")):
                    recorded = [one for one in known[f"{case} {name}"] if one is not None]
                    assert values.dtype == np.float32
                    np.testing.assert_array_equal(values, np.float32(recorded))


@pytest.mark.parametrize("package, module", [
    ("torchreid", "torchreid.metrics.rank"), ("fastreid", "fastreid.evaluation.rank")])
def test_single_gallery_shot_in_cython(monkeypatch, package, module):
    """Its curve has `max_rank` places: 0 beyond the identities, of which each is drawn once."""
    known = json.loads((PEERS / "torchreid-cuhk03-cython.json").read_text())
    import_cython_of(module, monkeypatch)
    for case in ("market64", "market32", "clean", "short", "cuhk", "tiny"):
        cmc, mAP = getattr(compat, package).evaluate_rank(*arrays_of(case), use_metric_cuhk03=True)
        theirs = np.float32(known[f"{case} cmc"])
        assert len(cmc) == known[f"{case} cmc_length"] == len(theirs)
        np.testing.assert_array_equal(cmc, theirs)
        assert mAP == float(np.float32(known[f"{case} mAP"]))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "bool"])
@pytest.mark.parametrize("q_pids, g_pids", [
    ([1, 2, 3], [1, 2, 3, 4, 1]), ([9, 9], [1, 2, 3, 4, 1]), ([1, 1], [1] * 5)])
def test_dtypes_of_evaluate_roc(monkeypatch, dtype, q_pids, g_pids):
    """Without a good pair, or without a wrong one, theirs are doubles."""
    monkeypatch.setitem(sys.modules, "faiss", types.ModuleType("faiss"))  # imported, not used
    distances = (100 * np.random.default_rng(0).random((len(q_pids), 5))).astype(dtype)
    arrays = distances, np.array(q_pids), np.array(g_pids), np.ones(len(q_pids), int), np.zeros(5)
    theirs = load("fastreid", "stable", "roc")(*arrays)
    for one, other in zip(theirs, compat.fastreid.evaluate_roc(*arrays), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_cython_is_not_used_unasked(monkeypatch):
    import_cython_of("torchreid.metrics.rank", monkeypatch)
    p = problems.problem(0, False)
    compat.torchreid.evaluate_rank(*p[:5], use_cython=False)
    assert compat.last_result().convention.arithmetic == "double"
