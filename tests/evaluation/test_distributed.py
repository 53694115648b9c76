"""On Dask, whatever the chunks, the workers and their fate: the numbers of one machine."""
from __future__ import annotations

import contextlib
import functools
import logging
import os
import signal
import sys
import traceback
import warnings

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, IndexLists, Labels
from tests import cases, nightly
from tests.cases import quietly, same
from tests.refusals import refused

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
from reid_ref.evaluation import distributed as ours  # noqa: E402

N_QUERY, N_GALLERY, DIMENSION = 15, 120, 24


@contextlib.contextmanager
def processes(number):
    """A cluster's client; each worker has one thread, and is started again when it dies."""
    with distributed.LocalCluster(
            n_workers=number, threads_per_worker=1, dashboard_address=":0",
            silence_logs=logging.CRITICAL) as cluster, \
            distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    with processes(2) as client:
        yield client


@pytest.fixture(params=["threads", "cluster"])
def where(request):
    """The client to pass: none, and a cluster's."""
    return None if request.param == "threads" else request.getfixturevalue("client")


def problem(seed, dtype=np.float64, n_gallery=N_GALLERY):
    """Features that tie, within a chunk and across, and labels with -1, 0 and unknown ones."""
    _, query, gallery = cases.market_like(seed, N_QUERY, n_gallery)
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((N_QUERY + n_gallery, DIMENSION))
    features[rng.integers(0, len(features), 40)] = features[rng.integers(0, len(features), 40)]
    features = (8 * features).round().astype(dtype) if np.dtype(dtype).kind in "iu" else features
    features = features.astype(dtype)
    return features[:N_QUERY], features[N_QUERY:], query, gallery


def check(query_features, gallery_features, query, gallery, *arguments, where, plain, **options):
    """Compare the result and the warnings with those on the `plain` gallery."""
    result, warned = quietly(ours.evaluate, query_features, gallery_features, query, gallery,
                             *arguments, client=where, **options)
    expected, expected_warnings = quietly(
        reid_ref.evaluate, np.asarray(query_features), plain, query, gallery, *arguments,
        **options)
    same(result, expected)
    assert warned == expected_warnings
    return result


CHUNKS = [(N_GALLERY, DIMENSION), (40, DIMENSION), (17, 10), (2, DIMENSION),
          ((3, 0, 100, 17), (4, 20))]


@pytest.mark.parametrize("chunks", nightly.cases(CHUNKS[2::2], CHUNKS), ids=str)
def test_chunks(where, chunks):
    query_features, gallery_features, query, gallery = problem(1, np.float32)
    shards = da.from_array(gallery_features, chunks=chunks)
    result = check(da.from_array(query_features, chunks=(4, 9)), shards, query, gallery,
                   where=where, plain=gallery_features)
    assert result.counts.tied > 0 and (query.identity == -1).any()


@pytest.mark.parametrize("name", nightly.cases(["torchreid", "simpleir", "veri"], [
    name for name, one in CONVENTIONS.items() if not one.needs_rows]))
def test_conventions(name):
    query_features, gallery_features, query, gallery = problem(3)
    rng = np.random.default_rng(1)
    lists = None
    if CONVENTIONS[name].needs_lists:
        lists = IndexLists([rng.permutation(N_GALLERY)[:5] for _ in range(N_QUERY)],
                           [rng.permutation(N_GALLERY)[:9] for _ in range(N_QUERY)])
    check(query_features, da.from_array(gallery_features, chunks=(33, -1)), query, gallery,
          convention=name, lists=lists, where=None, plain=gallery_features)


def test_the_current_client_is_the_default(client, monkeypatch):
    query_features, gallery_features, query, gallery = problem(3)
    monkeypatch.setattr(ours, "_in_threads", None)
    with client.as_current():
        check(query_features, da.from_array(gallery_features, chunks=(60, -1)), query, gallery,
              where=None, plain=gallery_features)


@pytest.mark.parametrize("seed", range(nightly.cases(6, 20)))
def test_random(seed):
    rng = np.random.default_rng(seed)
    query_features, gallery_features, query, gallery = problem(
        seed, [np.float32, np.int8, np.float16][seed % 3], n_gallery=int(rng.integers(1, 90)))
    cuts = np.sort(rng.integers(0, len(gallery) + 1, 4))
    chunks = tuple(np.diff([0, *cuts, len(gallery)]).tolist())
    check(query_features, da.from_array(gallery_features, chunks=(chunks, (4, 20))), query,
          gallery, metric=["euclidean", "dot", "cosine"][seed // 2 % 3],
          normalize=bool(rng.random() < 0.5), where=None, plain=gallery_features,
          max_memory=int(rng.integers(4000, 20_000)))


# ---- what is no dask array --------------------------------------------------------------


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr(ours, "SHARD_BYTES", 32 * DIMENSION * 8)


@pytest.mark.parametrize("order", "CF")
def test_mapped_npy(where, order, tmp_path, small_shards):
    query_features, gallery_features, query, gallery = problem(4)
    np.save(tmp_path / "g.npy", np.asarray(gallery_features, order=order))
    mapped = np.load(tmp_path / "g.npy", mmap_mode="r")
    check(query_features, mapped, query, gallery, where=where, plain=gallery_features)
    check(query_features, mapped[20:], query, Labels(gallery.identity[20:], gallery.camera[20:]),
          where=where, plain=gallery_features[20:])


def test_hdf5_arrays_and_lists(where, tmp_path, small_shards):
    h5py = pytest.importorskip("h5py")
    query_features, gallery_features, query, gallery = problem(5, np.float32)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["g"], file["q"] = gallery_features, query_features
    with h5py.File(tmp_path / "f.h5", "r") as file:
        check(file["q"], file["g"], query, gallery, where=where, plain=gallery_features)
    check(query_features, gallery_features, query, gallery, where=where, plain=gallery_features)
    check(query_features.tolist(), gallery_features.tolist(), query, gallery, where=where,
          plain=gallery_features.tolist())


def test_workers_read_a_map_themselves(client, tmp_path, small_shards):
    query_features, gallery_features, query, gallery = problem(4)
    np.save(tmp_path / "g.npy", gallery_features)
    mapped = np.load(tmp_path / "g.npy", mmap_mode="r")
    os.remove(tmp_path / "g.npy")  # this process still has its map
    refused("gallery_features", "a file that every worker can", ours.evaluate, query_features,
            mapped, query, gallery, client=client)


# ---- workers that die -------------------------------------------------------------------


def die(marker):
    """Kill this worker, unless one died of this marker before."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def die_when_counted(markers):
    """Let this worker die with its first counts in hand."""
    original = ours.count_before

    @functools.wraps(original)
    def count_before(*arguments):
        counts = original(*arguments)
        for marker in markers:
            die(marker)
        return counts
    ours.count_before = count_before


@pytest.mark.parametrize("number", nightly.cases([1], [1, 2]))
def test_workers_killed_while_they_count(client, tmp_path, number):
    """The second kill takes the last worker that had the query features, too."""
    query_features, gallery_features, query, gallery = problem(7, np.float32)
    shards = da.from_array(gallery_features, chunks=(11, -1))
    markers = [tmp_path / f"{k}" for k in range(number)]
    before = set(client.run(os.getpid).values())
    client.run(die_when_counted, markers)
    check(query_features, shards, query, gallery, where=client, plain=gallery_features)
    client.wait_for_workers(2, timeout=60)
    assert len(list(tmp_path.iterdir())) == number
    assert len(before - set(client.run(os.getpid).values())) == number


# ---- what is said -----------------------------------------------------------------------


def test_zero_rows_and_unmatched_warn_as_on_one_machine(where):
    query_features, gallery_features, query, gallery = problem(9)
    query_features[3] = gallery_features[[20, 70, 71]] = 0
    shards = da.from_array(gallery_features, chunks=(32, -1))
    warned = quietly(ours.evaluate, query_features, shards, query, gallery, client=where)[1]
    assert ("gallery_features: 3 of 120 rows are all zero (first: row 20); they cannot be "
            "normalised, so their distances are NaN") in warned
    check(query_features, shards, query, gallery, where=where, plain=gallery_features)
    check(query_features, shards, query, gallery, metric="dot", normalize=False, where=where,
          plain=gallery_features)


def refuse(argument, noun, *arguments, **options):
    error = refused(argument, noun, ours.evaluate, *arguments, **options)
    assert error.__cause__ is None
    return error


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite_is_named_by_its_row_in_the_gallery(where, value, capfd):
    query_features, gallery_features, query, gallery = problem(10)
    gallery_features[[77, 90]] = value
    shards = da.from_array(gallery_features, chunks=(32, -1))
    noun = f"{'NaN' if np.isnan(value) else 'Inf'} in row"
    error = refuse("gallery_features", f"{noun} 77", query_features, shards, query, gallery,
                   client=where)
    same_error = refused("gallery_features", f"{noun} 77", reid_ref.evaluate, query_features,
                         gallery_features, query, gallery)
    assert error.args == same_error.args
    assert "dask" not in "".join(traceback.format_tb(error.__traceback__))
    assert capfd.readouterr().err == ""
    query_features[2] = value
    refuse("query_features", f"{noun} 2", da.from_array(query_features), shards, query, gallery,
           client=where)


def test_shapes_and_dtypes_are_refused_unread():
    query_features, _, query, gallery = problem(11)
    unread = da.from_delayed(dask.delayed(pytest.fail)("read"), (N_GALLERY, DIMENSION), float)
    for argument, noun, *features in (
            ("gallery_features", "transpose would fit", query_features, unread.T),
            ("query_features, gallery_features", "24 and 23", query_features, unread[:, 1:]),
            ("gallery_features", "(24,)", query_features, unread[0]),
            ("gallery_features", "dtype complex128", query_features, unread.astype(complex)),
            ("query_features", "dtype <U1", da.from_array(np.array([["a"]])), unread)):
        refuse(argument, noun, *features, query, gallery)


def test_unknown_chunks_are_refused_with_the_way_out():
    query_features, gallery_features, query, gallery = problem(11)
    shards = da.from_array(gallery_features, chunks=(30, -1))
    some = shards[shards[:, 0] > -100]
    for evaluate in (ours.evaluate, reid_ref.evaluate):
        refused("gallery_features", "call gallery_features.compute_chunk_sizes()", evaluate,
                query_features, some, query, gallery)
    refused("distances", "known size", reid_ref.evaluate_distances, some[:, :15].T, query, gallery)
    check(query_features, some.compute_chunk_sizes(), query, gallery, where=None,
          plain=gallery_features)


@pytest.mark.parametrize("name", ["sysu-mm01", "cuhk03-single-shot"])
def test_conventions_that_need_rows_are_refused(name):
    refuse("convention", "use reid_ref.evaluate", *problem(12), convention=name)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_dask_arrays_on_one_machine_are_as_arrays():
    query_features, gallery_features, query, gallery = problem(15)
    stored = [da.from_array(one, chunks=chunks) for one, chunks in (
        (query_features, (4, 9)), (gallery_features, ((7, 0, 60, 53), (20, 4))))]
    for options in ({}, {"max_memory": "9K"}, {"convention": "sysu-mm01", "max_memory": "9K"}):
        same(reid_ref.evaluate(*stored, query, gallery, **options),
             reid_ref.evaluate(query_features, gallery_features, query, gallery, **options))


@pytest.mark.parametrize("change", [
    lambda block: np.concatenate([block, block[:3]]), lambda block: block[:-3],
    lambda block: np.concatenate([block, block], axis=1), lambda block: block[0]])
def test_blocks_of_another_shape_than_declared(change):
    distances, query, gallery = cases.market_like(3)
    array = da.from_array(distances, chunks=(5, 30))
    wrong = array.map_blocks(change, dtype=array.dtype, meta=array._meta)
    for evaluate in (reid_ref.evaluate_distances, reid_ref.camera_pairs):
        refused("distances", "a block of shape (5, 30)", evaluate, wrong, query, gallery)


def test_dask_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    refused("reid_ref.distributed", "needs dask, which is not installed", ours.evaluate,
            *problem(1))


def test_several_conventions_share_the_shards(where):
    query_features, gallery_features, query, gallery = problem(5)
    shards = da.from_array(gallery_features, chunks=(7, DIMENSION))
    told, names = [], ["torchreid", "matlab", "simpleir"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for normalize in (True, None):  # torchreid and simpleir measure otherwise by default
            results = ours.evaluate(query_features, shards, query, gallery, client=where,
                                    normalize=normalize, convention=names, progress=told.append)
            assert list(results) == names
            for name, result in results.items():
                same(result, reid_ref.evaluate(query_features, gallery_features, query, gallery,
                                               normalize=normalize, convention=name))
    assert sum(told) == 2 * N_QUERY and len(told) > 10
