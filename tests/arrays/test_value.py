"""Every public dataclass is equal by value, and is copied, pickled and sent to a process whole."""
import ast
import copy
import dataclasses
import inspect
import pickle
import re
import sys
import textwrap
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import h5py
import numpy as np
import pytest

import reid_ref
from reid_ref import datasets, files, statistics
from reid_ref.arrays.stored import is_lazy
from reid_ref.evaluation.how import How
from reid_ref.files import RankedLists, read_ranked_lists
from reid_ref.files.image_places import GivenLabels, Order
from reid_ref.variations import VARIATIONS

RNG = np.random.default_rng(0)
QUERY, GALLERY = (reid_ref.Labels(
    np.arange(n) % 6, np.arange(n) % camera, clothes=np.arange(n), view=[1] * n, video=[2] * n,
    frame=np.arange(n), name=[f"{k}.jpg" for k in range(n)]) for n, camera in ((12, 2), (40, 5)))
DISTANCES = RNG.random((12, 40))
COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy,
          "pickle": lambda value: pickle.loads(pickle.dumps(value))}


def is_public(value):
    return inspect.isclass(value) and dataclasses.is_dataclass(value)


def annotations(value):
    """What a function returns, or a class holds and its methods return, as its source says it."""
    node, = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    for part in node.body if isinstance(node, ast.ClassDef) else [node]:
        text = getattr(part, "annotation", None) or getattr(part, "returns", None)
        if text is not None:
            yield ast.unparse(text)
    for base in value.__bases__ if is_public(value) else ():
        if is_public(base):
            yield from annotations(base)


def public_classes():
    """The dataclasses among the names of the package and of its public rooms that list theirs,
    and all that is reached from these.
    """
    rooms = [reid_ref, *(getattr(reid_ref, name) for name in reid_ref._ROOMS)]
    found, todo = set(), [getattr(room, name) for room in rooms
                          for name in getattr(room, "__all__", ())]
    while todo:
        one = todo.pop()
        if one in found if is_public(one) else not inspect.isfunction(one):
            continue
        found |= {one} if is_public(one) else set()
        names = vars(sys.modules[one.__module__])
        todo += [names[word] for text in annotations(one) for word in re.findall(r"\w+", text)
                 if is_public(names.get(word))]
    return {one.__name__: one for one in found}


PUBLIC = public_classes()
del PUBLIC["Variation"]  # a record of functions, which is pickled by its name


def one_ap_otherwise(distmat, q_pids, g_pids, q_camids, g_camids):
    """An evaluator that follows a convention on all queries but one."""
    result = reid_ref.evaluate_distances(
        distmat, reid_ref.Labels(q_pids, q_camids), reid_ref.Labels(g_pids, g_camids),
        convention="torchreid-function")
    ap = result.per_query.ap.copy()
    ap[0] *= .9
    return result.cmc, np.nanmean(ap), ap


def answers():
    """What public functions return."""
    data = reid_ref.ResultFile("arrays", QUERY, GALLERY, distances=DISTANCES)
    result = reid_ref.evaluate_distances(DISTANCES, QUERY, GALLERY)
    two = {"a": result, "b": reid_ref.evaluate_distances(DISTANCES**2 * RNG.random((12, 40)),
                                                         QUERY, GALLERY)}
    yield reid_ref.IndexLists([[0, 1]], [[2]]), result, reid_ref.Candidates(DISTANCES < .5)
    yield reid_ref.testing.check_evaluator(
        lambda distances, query, gallery: reid_ref.evaluate_distances(distances, query, gallery),
        "matlab")
    yield How(tuple(reid_ref.CONVENTIONS.values())[:1])
    yield reid_ref.explain(data, "matlab", VARIATIONS["same-camera-kept"])
    yield result.at(3), result.interval("mAP")
    other_seeds = [reid_ref.evaluate_distances(DISTANCES * RNG.random((12, 40)), QUERY, GALLERY)
                   for _ in range(2)]
    yield reid_ref.compare({"a": list(two.values()), "b": other_seeds}), reid_ref.runs(two)
    yield reid_ref.by_group(result, QUERY), reid_ref.camera_pairs(DISTANCES, QUERY, GALLERY)
    other = np.where(GALLERY.identity == GALLERY.identity[0], 99, GALLERY.identity)
    yield reid_ref.evaluate_thresholds_distances(
        DISTANCES, QUERY, reid_ref.Labels(other, GALLERY.camera), confidence=95)
    one_camera = reid_ref.Labels(GALLERY.identity, np.ones(40))
    yield reid_ref.doctor(dataclasses.replace(data, gallery=one_camera))
    yield reid_ref.Finding("doctor:x", "note", "", {"share": .5})
    yield reid_ref.explain(data, "matlab", "torchreid")
    yield reid_ref.validate(data, published="50.0/30.2")
    yield reid_ref.crosscheck(data, one_ap_otherwise)
    yield dataclasses.replace(data, ranked=RankedLists([np.arange(3)] * 12, "list {}".format))
    yield datasets.Recognised(datasets.FINGERPRINTS["market1501"], ("x",)), datasets.FORMS
    yield files.LAYOUTS
    yield reid_ref.protocols.PROTOCOLS["ltcc"], dict(reid_ref.evaluate_protocol(
        "prcc-single-shot", None, None, reid_ref.Labels(QUERY.identity, QUERY.camera + 1),
        reid_ref.Labels(GALLERY.identity, [0] * 40), distances=DISTANCES))
    yield reid_ref.Boxes(["a", "b"], [0, 1], [7, 7], [[0, 0, 4, 9]] * 2, [1], [[0, 0, 4, 8]], [.9],
                         [0], [7], similarity=[[.8]], galleries={"50": [[1]]})
    yield GivenLabels("Mine", "folder", QUERY, GALLERY, (
        Order("sorted names", np.arange(12), np.arange(40), True),))
    yield datasets.Tracks([0], [1], QUERY), datasets.Partition(QUERY, *[np.arange(2)] * 3)
    models = statistics.difference(*RNG.random((2, 40)), np.arange(40) % 30)
    yield models, statistics.between_methods(models, RNG.random(3), RNG.random(3))
    yield statistics.unit_sums(RNG.random(40), np.arange(40) % 30)


def inside(value):
    """A value and all that is in it."""
    yield value
    if dataclasses.is_dataclass(value):
        value = vars(value)
    if isinstance(value, (Mapping, list, tuple)):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from inside(one)


@pytest.fixture(scope="module")
def examples():
    with pytest.warns(reid_ref.InputWarning):
        return {type(one).__name__: one for answer in answers() for one in inside(answer)
                if dataclasses.is_dataclass(one)}


@pytest.fixture(scope="module")
def sent_back(examples):
    """The same after a way through a process that shares nothing with this one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return dict(zip(examples, pool.map(copy.deepcopy, examples.values())))


def with_fields(value, change):
    """A copy whose fields are changed, without the checks of its class."""
    other = copy.copy(value)
    for field in dataclasses.fields(value):
        object.__setattr__(other, field.name, change(field.name, getattr(value, field.name)))
    return other


def without_numbers(value):
    """The same with NaN for every float."""
    if isinstance(value, (float, np.ndarray)) and np.result_type(value).kind == "f":
        return np.full_like(value, np.nan) if isinstance(value, np.ndarray) else float("nan")
    if type(value) is dict:
        return {key: without_numbers(one) for key, one in value.items()}
    return tuple(map(without_numbers, value)) if type(value) is tuple else value


def another(value):
    """What differs from a value in its content, where it is an array."""
    if isinstance(value, np.ndarray) and value.size:
        other = np.array(value, dtype=object if value.dtype.kind == "U" else value.dtype)
        other[-1:] = other[-1:] == 0
        return other.astype(value.dtype)
    return object()


def hash_of(value):
    try:
        return hash(value)
    except TypeError:     # a dict, or a tuple of arrays, has none
        return None


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_dataclasses_are_values(name, examples, sent_back):
    value = examples[name]
    for other in (*(make(value) for make in COPIES.values()), sent_back[name]):
        assert type(other) is PUBLIC[name] and other is not value
        assert other == value and hash_of(other) == hash_of(value)
        assert not any(one.flags.writeable for one in inside(other) if isinstance(one, np.ndarray))
    unknown = with_fields(value, lambda _, one: without_numbers(one))
    again = pickle.loads(pickle.dumps(unknown))
    assert again == unknown and hash_of(again) == hash_of(unknown)
    for field in dataclasses.fields(value):
        other = with_fields(value, lambda own, one: another(one) if own == field.name else one)
        assert (other != value) == field.compare, field.name


@pytest.mark.parametrize("name", ["Labels", "IndexLists", "Result", "CameraPairs"])
def test_no_array_of_labels_and_results_can_be_written_to(name, examples):
    arrays = [one for one in inside(examples[name]) if isinstance(one, np.ndarray)]
    assert arrays and not any(one.flags.writeable for one in arrays)


@pytest.mark.parametrize("kind", ["npz", "h5", "lists"])
def test_what_is_in_a_file_is_copied_by_value(kind, tmp_path):
    arrays = {"query_f": RNG.random((12, 4)), "query_label": QUERY.identity,
              "query_cam": QUERY.camera, "gallery_f": RNG.random((40, 4)),
              "gallery_label": GALLERY.identity, "gallery_cam": GALLERY.camera}
    if kind == "lists":
        np.save(tmp_path / "lists.npy", DISTANCES.argsort())
        data = reid_ref.ResultFile("", QUERY, GALLERY, ranked=read_ranked_lists(
            tmp_path / "lists.npy", 12))
    elif kind == "h5":
        with h5py.File(tmp_path / "result.h5", "w") as file:
            file.update(arrays)
    elif kind == "npz":
        np.savez(tmp_path / "result.npz", **arrays)
    if kind != "lists":
        data = reid_ref.read(tmp_path / f"result.{kind}")

    def large(data):
        return data.gallery_features if data.ranked is None else data.ranked.lists

    for how, make in COPIES.items():
        other = make(data)
        assert other == data and data == other
        assert is_lazy(large(other)) == (is_lazy(large(data)) and how != "pickle")
        array = large(data)[:].copy()
        array[-1, -1] += 1
        assert other != (dataclasses.replace(data, gallery_features=array) if data.ranked is None
                         else dataclasses.replace(data, ranked=dataclasses.replace(
                             data.ranked, lists=array)))
