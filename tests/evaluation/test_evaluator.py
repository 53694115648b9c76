"""Batches, tensors and states of several processes: the doubles of `evaluate` on whole arrays."""
import importlib
import pickle

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, Labels
from reid_ref.arrays import as_array
from reid_ref.evaluation.batches import Evaluator
from tests.cases import same as assert_same
from tests.installed import version_of
from tests.refusals import refused

N_QUERY, N_GALLERY = 24, 131


def images(dtype=np.float32):
    """Features, identity, camera and "is a query": every query has a good image."""
    rng = np.random.default_rng(5)
    n = N_QUERY + N_GALLERY
    is_query = np.arange(n) < N_QUERY
    identity = np.arange(n) % 9 - 1
    identity[is_query] = np.arange(N_QUERY) % 7 + 1
    camera = np.where(is_query, 1, np.arange(n) % 4 + 1)
    features = rng.standard_normal((9, 16))[identity] + 2 * rng.standard_normal((n, 16))
    return features.astype(dtype), identity, camera, is_query


def whole(features, identity, camera, is_query, **settings):
    return reid_ref.evaluate(
        features[is_query], features[~is_query], Labels(identity[is_query], camera[is_query]),
        Labels(identity[~is_query], camera[~is_query]), **settings)


def filled(data, size=10, **settings):
    """Return an evaluator that was given the images in batches of `size`."""
    evaluator = Evaluator(**settings)
    features, identity, camera, is_query = data
    for k in range(0, len(identity), size):
        part = slice(k, k + size)
        evaluator.update(features[part], identity[part], camera[part], is_query=is_query[part])
    return evaluator


# The same doubles, however the images come.

@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16"])
@pytest.mark.parametrize("size", [1, 50, 1000])
def test_any_batch_size_gives_the_doubles_of_evaluate(size, dtype):
    data = images(dtype)
    assert_same(filled(data, size).compute(), whole(*data))


@pytest.mark.parametrize("settings", [
    {"metric": "cosine"}, {"metric": "dot", "normalize": False}, {"convention": "torchreid"},
    {"convention": CONVENTIONS["matlab"].replace(name="mine", top_k=np.int64(7))},
])
def test_settings_reach_evaluate_and_survive_a_state(settings):
    data = images()
    expected = whole(*data, **settings)
    evaluator = filled(data, **settings)
    assert_same(evaluator.compute(), expected)
    assert_same(Evaluator.from_states([evaluator.state()]).compute(), expected)


def test_sides_of_different_dtype():
    features, identity, camera, is_query = images()
    evaluator = Evaluator(normalize=False)
    for side, dtype in ((is_query, np.float64), (~is_query, np.float32)):
        evaluator.update(features[side].astype(dtype), identity[side], camera[side],
                         is_query=dtype == np.float64)
    expected = reid_ref.evaluate(
        features[is_query].astype(np.float64), features[~is_query],
        *(Labels(identity[side], camera[side]) for side in (is_query, ~is_query)),
        normalize=False)
    assert_same(Evaluator.from_states([evaluator.state()]).compute(), expected)


def test_batches_are_copied():
    data = images()
    evaluator, (features, identity, camera, is_query) = Evaluator(), data
    for side in (True, False):
        buffers = [column[is_query == side] for column in (features, identity, camera)]
        evaluator.update(*buffers, is_query=side)
        for buffer in buffers:
            buffer[:] = 1
    assert_same(evaluator.compute(), whole(*data))


def test_more_may_come_after_compute_and_nothing_is_left_after_reset():
    data = images()
    evaluator, done = filled([column[:100] for column in data]), []
    assert_same(evaluator.compute(), whole(*(column[:100] for column in data)))
    evaluator.update(np.zeros((0, 3)), [], [], is_query=True)  # nothing, of any dimension
    rest = [column[100:] for column in data]
    evaluator.update(*rest[:3], is_query=rest[3])
    assert_same(evaluator.compute(max_memory="1M", progress=done.append), whole(*data))
    assert sum(done) == N_QUERY
    evaluator.reset()
    refused("evaluator", "call update()", evaluator.compute)
    evaluator.update(np.ones((1, 3)), [1], [1], is_query=True)  # another dimension


# Several processes.

def test_merge_goes_process_by_process():
    data = images()
    parts = [slice(0, 40), slice(40, 40), slice(40, 50), slice(50, None)]
    one, *others = (filled([column[part] for column in data]) for part in parts)
    states = [each.state() for each in (one, *others)]
    for other in others:
        one.merge(other)
    assert_same(one.compute(), whole(*data))
    assert_same(Evaluator.from_states(states).compute(), whole(*data))


def test_states_are_plain_arrays(tmp_path):
    data = images()
    state = filled(data).state()
    assert all(type(array) is np.ndarray and array.dtype != object for array in state.values())
    assert all(array.flags.writeable for array in state.values())
    np.savez(tmp_path / "state.npz", **state)
    with np.load(tmp_path / "state.npz", allow_pickle=False) as loaded:
        assert_same(Evaluator.from_states([loaded]).compute(), whole(*data))
    assert_same(Evaluator.from_states(
        [pickle.loads(pickle.dumps(state))]).compute(), whole(*data))


# Index.

def test_the_first_image_of_an_index_counts_and_order_is_that_of_the_dataset():
    features, identity, camera, is_query = images()
    changed = features + 1
    evaluator = Evaluator()
    for part, values in ((np.arange(154, 60, -1), changed), (np.arange(70, -1, -1), features)):
        evaluator.update(values[part], identity[part], camera[part], is_query=is_query[part],
                         index=part)
    expected = np.concatenate([features[:61], changed[61:]])  # 61 to 70 came twice
    assert_same(evaluator.compute(), whole(expected, identity, camera, is_query))


def test_without_index_every_image_counts():
    evaluator = filled(images())
    evaluator.merge(evaluator)
    assert evaluator.compute().counts.gallery == 2 * N_GALLERY


def test_images_that_share_an_index_share_labels():
    evaluator = Evaluator()
    evaluator.update(np.eye(2), [1, 2], [1, 1], is_query=True, index=[0, 1])
    for identity in ([1, 2], [3, 4]):
        evaluator.update(np.eye(2), identity, [2, 2], is_query=False, index=[0, 1])
    refused("index", "identity 1 on camera 2", evaluator.compute)


# Arrays of other libraries.

class OnlyDLPack:
    """An array that speaks nothing but DLPack; `kind` is its device, in DLPack's numbers."""

    def __init__(self, array, kind=1):
        self._array, self._kind = array, kind

    def __dlpack__(self, **options):
        assert self._kind == 1, "memory of an accelerator was asked for"
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._kind, 0


class OnAccelerator:
    """Refuses as torch does; `way_out` is the method that copies to main memory."""

    device, requires_grad, dtype = "cuda:0", True, "torch.bfloat16"

    def __init__(self, values=(1.,), way_out="cpu"):
        self._values = values
        if way_out:
            setattr(self, way_out, self._copy)

    def detach(self):
        one = OnAccelerator(self._values)
        one.requires_grad = False
        return one

    def _copy(self):
        assert not (hasattr(self, "cpu") and self.requires_grad), "the copy joined the graph"
        return InMainMemory(self._values)

    def float(self):
        raise AssertionError("memory of the accelerator was spent")

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")


class InMainMemory:
    """A bfloat16, which numpy lacks: it is widened here, where memory is plenty."""

    device, dtype = "cpu", "torch.bfloat16"

    def __init__(self, values):
        self._values = values

    def float(self):
        return np.array(self._values, np.float32)


def test_dlpack_alone_is_enough_and_shares_memory():
    array = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(as_array(OnlyDLPack(array), "features"), array)
    np.testing.assert_array_equal(
        as_array([OnlyDLPack(row) for row in array], "features"), array)


def test_arrays_are_not_copied():
    array = np.arange(6.0).reshape(2, 3)
    assert as_array(array, "features") is array
    array.flags.writeable = False
    assert np.shares_memory(as_array(array, "features"), array)


@pytest.mark.parametrize(("value", "noun"), [
    (OnAccelerator(way_out=""), "a OnAccelerator on device cuda:0 that numpy cannot read"),
    (OnlyDLPack(np.ones(2), kind=2), "a OnlyDLPack that numpy cannot read"),
])
def test_memory_that_numpy_cannot_read(value, noun):
    assert refused("features", noun, as_array, value, "features").__suppress_context__


@pytest.mark.parametrize("way_out", ["cpu", "get"])
def test_what_is_on_an_accelerator_is_copied_to_main_memory(way_out):
    def there(values):
        return OnAccelerator(values, way_out)

    array = as_array(there([[1.5, 2]]), "features")
    assert array.dtype == np.float32 and array.tolist() == [[1.5, 2]]
    assert as_array([there([1, 2]), there([3, 4])], "features").tolist() == [[1, 2], [3, 4]]
    query, gallery = Labels(there([7]), there([1])), Labels(there([7, 8, 7]), there([2, 2, 3]))
    assert gallery.identity.tolist() == [7, 8, 7] and gallery.camera.tolist() == [2, 2, 3]
    # The good images stand at 2 and 3.
    ap = .5 * ((0 + 1 / 2) / 2) + .5 * ((1 / 2 + 2 / 3) / 2)
    assert reid_ref.evaluate_distances(there([[2, 1, 3]]), query, gallery).mAP == ap
    features = there([[0., 1]]), there([[1., 1], [0, 2], [1, 0]])
    assert reid_ref.evaluate(*features, query, gallery).mAP == ap
    evaluator = Evaluator()
    evaluator.update(features[0], there([7]), there([1]), is_query=True)
    evaluator.update(features[1], there([7, 8, 7]), there([2, 2, 3]), is_query=False)
    assert evaluator.compute().mAP == ap


def test_numbers_that_an_extension_of_numpy_knows():
    """As ml_dtypes (jax) does it: an array whose dtype, bfloat16, numpy can only convert."""
    version_of("ml_dtypes")
    ml_dtypes = importlib.import_module("ml_dtypes")
    array = as_array(np.array([1.5, 2.0], ml_dtypes.bfloat16), "features")
    assert array.dtype == np.float32 and array.tolist() == [1.5, 2.0]


# torch itself.

@pytest.fixture(scope="module")
def torch():
    version_of("torch")
    return importlib.import_module("torch")


@pytest.fixture
def tensors(torch):
    return [torch.from_numpy(column.copy()) for column in images()]


def test_tensors_share_their_memory(torch):
    tensor = torch.ones(2, 3)
    for each in (tensor, tensor.clone().requires_grad_(), torch.nn.Parameter(tensor)):
        assert np.shares_memory(as_array(each, "features"), each.detach().numpy())


@pytest.mark.parametrize(("dtype", "wide"), [
    ("float16", "float16"), ("float32", "float32"), ("float64", "float64"),
    ("bfloat16", "float32"), ("float8_e4m3fn", "float32")])
@pytest.mark.parametrize("grad", [False, True])
def test_tensors_give_the_doubles_of_arrays(tensors, torch, dtype, wide, grad):
    """What numpy lacks is widened."""
    narrow = tensors[0].to(getattr(torch, dtype))
    expected = whole(narrow.to(getattr(torch, wide)).numpy(), *images()[1:])
    tensors[0] = narrow.requires_grad_(grad and dtype != "float8_e4m3fn")
    assert as_array(tensors[0], "features").dtype == wide
    assert_same(filled(tensors, 32).compute(), expected)
    assert_same(whole(*tensors), expected)


# Bad input: one message each, and nothing added.

GOOD = {"features": np.eye(2), "identity": [1, 2], "camera": [1, 1], "is_query": True}


@pytest.mark.parametrize(("change", "argument", "noun"), [
    ({"features": np.eye(3)}, "features", "(2, d)"),
    ({"features": np.ones(3), "identity": [1], "camera": [1]}, "features", "features[None]"),
    ({"identity": [1], "camera": [1, 2, 3]}, "identity, camera", "1 and 3"),
    ({"is_query": [True]}, "is_query", "2 booleans"),
    ({"index": [1]}, "index", "2 entries"),
    ({"index": [1, 2]}, "index", "one, where earlier"),
    ({"features": np.ones((2, 5))}, "features", "as in earlier batches"),
])
def test_bad_batches(change, argument, noun):
    evaluator = Evaluator()
    evaluator.update(**GOOD)
    before = pickle.dumps(evaluator.state())
    refused(argument, noun, evaluator.update, **{**GOOD, **change})
    assert pickle.dumps(evaluator.state()) == before
    evaluator = Evaluator()
    evaluator.update(**GOOD, index=[4, 2])
    refused("index", "none, where earlier", evaluator.update, **{**GOOD, "is_query": False})


@pytest.mark.parametrize("query", [True, False])
def test_a_missing_side(query):
    evaluator = Evaluator()
    refused("evaluator", "call update()", evaluator.compute)
    evaluator.update(**{**GOOD, "is_query": query})
    refused("evaluator", f"is_query={not query}", evaluator.compute)


def test_what_is_no_evaluator_and_no_state_at_all():
    refused("metric", "manhattan", Evaluator, metric="manhattan")
    refused("states", "at least one", Evaluator.from_states, [])


@pytest.mark.parametrize(("settings", "place", "noun"), [
    ({"metric": "dot"}, "", "same settings, metric"),
    ({"convention": "mars"}, "", "same settings, convention 'matlab'"),
    ({"convention": CONVENTIONS["matlab"].replace(name="matlab", ap="step")}, "", "ap='step'"),
    ({}, ": features", "as in earlier batches"),
])
def test_evaluators_that_do_not_go_together(settings, place, noun):
    one, other = Evaluator(), Evaluator(**settings)
    one.update(**GOOD)
    other.update(np.eye(3), [1, 2, 3], [2, 2, 2], is_query=False)
    before = pickle.dumps(one.state())
    refused(f"other{place}", noun, one.merge, other)
    assert pickle.dumps(one.state()) == before
    refused(f"states[1]{place}", noun, Evaluator.from_states, [one.state(), other.state()])


@pytest.mark.parametrize(("state", "place", "noun"), [
    ({}, "", "what Evaluator.state() returns"),
    ({"settings": np.array('{"convention": {"nme": "x"}}')}, "", "TypeError"),
    ({**filled(images()).state(), "gallery_camera": np.zeros(3)}, ": camera", "for each image"),
])
def test_what_is_no_state(state, place, noun):
    refused(f"states[1]{place}", noun, Evaluator.from_states, [Evaluator().state(), state])


def test_several_conventions_give_a_dict_and_travel_with_the_state():
    evaluator = Evaluator(convention=["torchreid", "matlab"])
    data = images()
    evaluator.update(*data[:3], is_query=data[3])
    again = Evaluator.from_states([evaluator.state()])
    for one in (evaluator, again):
        results = one.compute()
        assert list(results) == ["torchreid", "matlab"]
        assert_same(results["matlab"], whole(*data))
    assert isinstance(Evaluator(convention=["matlab"]).convention, tuple)
    refused("other", "torchreid, matlab", Evaluator().merge, evaluator)
