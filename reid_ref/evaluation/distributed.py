"""`evaluate` for a gallery larger than one machine: in shards, on Dask workers.

The result is bit-identical to `reid_ref.evaluate` on the same arrays. Distances are exact pair by
pair, and a rank is a count, so the result does not depend on the shards: first each shard that has
good pairs computes their distances; then each counts its images before every good pair, and the
counts are added. Shards stay on their workers; only labels and numbers of good pairs are sent.

Needs ``pip install dask distributed``.
"""
import mmap
import os
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from reid_ref.arrays import (
    Array, Doubles, InputError, Integers, as_array, blocks_of, bytes_for, bytes_of, is_stored,
    optional_module, read_rows)
from reid_ref.arrays.stored import as_rows, computed_rows, is_dask, is_lazy, joined_blocks
from reid_ref.conventions import Convention, find_conventions
from reid_ref.evaluation.engine import as_requested, summaries, warn_unmatched
from reid_ref.evaluation.how import How, Progress, takes_conventions, in_queries
from reid_ref.evaluation.ranks import Curves, Ranking, features_provenance, measured, rank_scalings
from reid_ref.labels import Labels, QueryLists, check_feature_shapes, numbered
from reid_ref.ranking.counting import (
    Before, Counting, GalleryPart, Goods, TooFarOff, count_before, wrong_products)
from reid_ref.ranking.exact_distances import (
    checked_query, checked_squares, feature_part, warn_of_zeros)
from reid_ref.ranking.rank import Source
from reid_ref.result import Result

#: Bytes of a shard of an array that has no chunks: large, since each task has an overhead.
SHARD_BYTES = 64 * 2**20

#: Shards whose counts are in memory at once, without a cluster that returns them one by one.
_AT_ONCE = 32


@takes_conventions
def evaluate(query_features: Any, gallery_features: Any, query: Labels, gallery: Labels, *,
             metric: str | None = None, normalize: bool | None = None,
             convention: str | Convention = "matlab",
             lists: QueryLists | None = None, max_memory: int | str | None = None,
             progress: Progress | None = None, client: Any = None) -> Result:
    """Evaluate features in shards, on a cluster or on the threads of this machine.

    Parameters
    ----------
    query_features : dask array or array_like, shape (n_query, d)
        One row per image; finite real numbers of any dtype. Gathered once, then sent to the
        workers.
    gallery_features : dask array or array_like, shape (n_gallery, d)
        The row chunks of a dask array are the shards. Workers read the rows of a memory map, or of
        a dataset of HDF5 or zarr, themselves: all must have access to its file. An array in
        memory is sent to them.
    query, gallery : Labels
        Identity and camera of each image.
    convention : str or Convention, or several of them
        As for `reid_ref.evaluate`; those that need whole rows of distances are refused.
    max_memory : int or str, optional
        Working memory of each thread of a worker, in bytes, besides its shard and the query
        features; by default as for `reid_ref.evaluate`, on the worker.
    progress : callable, optional
        As for `reid_ref.evaluate`; each shard counts as its share of the queries.
    client : distributed.Client, optional
        By default the current one; if there is none, the threads of this machine.

    Other parameters: see `reid_ref.evaluate`.

    Returns
    -------
    Result, or dict of str to Result
        For a list or a tuple of conventions a dict by their names, in the given order.
        The same as those of `reid_ref.evaluate`, whatever the chunks and the workers.

    Raises
    ------
    InputError
        As `reid_ref.evaluate`; also chunks of unknown size, a convention that needs whole rows,
        a file that a worker cannot read, a shard that ends several workers. What the computation
        of a block raises comes as it is.

    Warns
    -----
    InputWarning
        As `reid_ref.evaluate`. Dask has a warning of its own, "Sending large graph", if more
        than 10 MiB of queries or of a gallery in memory are sent to a cluster; it is harmless.

    Notes
    -----
    A shard that has good images is computed twice, for distances and for counts. ``persist`` a
    gallery that takes long to compute and fits into the cluster's memory.

    Examples
    --------
    >>> import numpy as np, dask.array
    >>> rng = np.random.default_rng(0)
    >>> identity, camera = np.arange(12) % 4, np.arange(12) // 4
    >>> features = np.eye(4)[identity] + 0.8 * rng.standard_normal((12, 4))
    >>> shards = dask.array.from_array(features[4:], chunks=(3, 4))
    >>> result = evaluate(features[:4], shards, Labels(identity[:4], camera[:4]),
    ...                   Labels(identity[4:], camera[4:]))
    >>> round(result.mAP, 4), float(result.cmc[0])
    (0.5396, 0.5)
    """
    conventions = find_conventions(convention)
    for record in conventions:
        if record.needs_rows:
            raise InputError(
                "convention", got=f"{record.name!r} needs whole rows of distances (ties "
                f"{record.ties!r}, CMC {record.cmc!r}), which no shard has", remedy="use "
                "reid_ref.evaluate, which reads a memory map or a dataset of HDF5 block by block")
    bytes_of(max_memory)
    client = _client(client)
    checked = check_feature_shapes(query_features, gallery_features, query, gallery)
    bytes_for(max_memory, checked[1])
    how = How(tuple(conventions), metric, normalize, lists, max_memory, progress)
    query, gallery = how.checked(*numbered(query, gallery))
    normalized = "normalized" in how.scalings
    rows = (computed_rows(query_features, 0, len(query), "query_features", client)
            if is_dask(query_features) else as_rows(query_features, "query_features"))
    rows, square = checked_query(rows, normalized)
    queries = _Queries(rows, square, how.scalings, max_memory)
    shards = _shards(gallery_features, client)
    source = _in_shards(shards, queries, normalized, client, in_queries(progress, len(query)))
    ranks = Ranking(rank_scalings(source, query, gallery, how), Curves((), query, gallery),
                    features_provenance(*checked, how))
    results = summaries(measured(ranks, how), query, gallery, how)
    warn_unmatched(results[0], query, gallery)
    return as_requested(results, convention)


@dataclass(frozen=True)
class _Queries:
    """The queries, which every shard is compared with, and the options.

    Parameters
    ----------
    features : array, shape (n_query, d)
    square : float64, shape (n_query,)
    scalings : tuple of str
        How they are ranked; see `How.scalings`.
    max_memory
        As given to `evaluate`; the default depends on the worker.
    """

    features: Array
    square: Doubles
    scalings: tuple[str, ...]
    max_memory: int | str | None


@dataclass(frozen=True)
class _Shard:
    """Consecutive gallery images.

    Parameters
    ----------
    number : int
    images : slice
    rows : array, shape (images, d), callable that returns it, or list of the blocks of a dask \
array that hold it, each a Delayed
    widths : tuple of int
        Columns of each block.
    """

    number: int
    images: slice
    rows: Any
    widths: tuple[int, ...] = ()


def _in_shards(shards: list[_Shard], queries: _Queries, normalized: bool, client: Any,
               report: Callable[[float], object] | None) -> Source:
    """Return the distances of the shards as a source for `rank`; see `ranking.rank.in_parts`."""
    shared = _sent_once(queries)
    edges = np.array([shard.images.start for shard in shards] + [shards[-1].images.stop])

    def measure(query: Integers, image: Integers) -> Array:
        by_image = np.argsort(image, kind="stable")
        ends = np.searchsorted(image[by_image], edges)
        pairs = [by_image[first:last] for first, last in pairwise(ends)]
        values = np.empty(len(query))
        # Shards without a pair are not read for their distances; `count` checks their features.
        for shard, distances in _results(client, [
                (shard, (_measure, shard, shared, query[of_shard], image[of_shard]))
                for shard, of_shard in zip(shards, pairs) if len(of_shard)]):
            values[pairs[shard.number]] = distances
        return values

    def count(goods: Goods, groups: dict[str, Counting]) -> dict[str, Before]:
        before = {name: np.zeros((3, len(goods.query)), dtype=np.int64) for name in groups}
        zeros, wanted = [], _sent_once(goods)
        # Each worker gets the labels of its shard alone.
        for _, (counts, zero) in _results(client, [(shard, (_count, shard, shared, wanted, {
                name: _within_shard(counting, shard.images) for name, counting in groups.items()}))
                for shard in shards]):
            zeros.append(zero)
            for name in groups:
                before[name] += counts[name]
            if report:
                report(1 / len(shards))
        if normalized:
            warn_of_zeros("gallery_features", np.concatenate(zeros), edges[-1])
        return before

    return Source(measure, count)


# Functions that run on a worker.


def _answer(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return an answer or wrong input, which a worker would log as its failure if it were raised.
    """
    try:
        return function(*arguments)
    except InputError as error:
        return error


def _measure(shard: _Shard, queries: _Queries, query: Integers, image: Integers) -> Array:
    """Return the distances of the shard's pairs."""
    return _open(shard, queries, np.float32)[0].exact(query, image - shard.images.start)


def _count(shard: _Shard, queries: _Queries, goods: Goods,
           groups: dict[str, Counting]) -> tuple[dict[str, Before], Integers]:
    """Return the shard's counts before each good image, and its rows of zeros."""
    n_pairs = len(queries.scalings) * len(queries.features)
    for precision in (np.float32, np.float64):
        part, square = _open(shard, queries, precision)
        with suppress(TooFarOff):  # then in double precision
            before = {name: count_before(part, goods, n_pairs, counting)
                      for name, counting in groups.items()}
            return before, shard.images.start + np.flatnonzero(square == 0)
    raise wrong_products()


def _within_shard(counting: Counting, images: slice) -> Counting:
    """Return what is counted in a shard: the pairs and the labels of its own images."""
    pairs = (counting.left_out >= images.start) & (counting.left_out < images.stop)
    return replace(counting.within(images), left_out_query=counting.left_out_query[pairs],
                   left_out=counting.left_out[pairs])


def _open(shard: _Shard, queries: _Queries, precision: Any) -> tuple[GalleryPart, Doubles]:
    """Return the part of the gallery, and the squared norms of its rows."""
    try:
        if shard.widths:
            gallery = joined_blocks(shard.rows, shard.images, shard.widths, "gallery_features")
        else:
            rows = shard.rows() if callable(shard.rows) else shard.rows
            gallery = as_array(rows, "gallery_features")
    except OSError as error:
        raise InputError("gallery_features", "a file that every worker can read",
                         f"{error} on {socket.gethostname()}", "put it on storage that all "
                         "workers share, under one path") from None
    square = checked_squares(gallery, "gallery_features", shard.images.start)
    return feature_part(queries.features, gallery, queries.square, square, shard.images,
                        queries.scalings, bytes_of(queries.max_memory), precision), square


# Shards.


def _shards(gallery: Any, client: Any) -> list[_Shard]:
    if is_dask(gallery):
        edges = np.cumsum([0, *gallery.chunks[0]]).tolist()
        chunks = [(slice(*ends), list(blocks))
                  for ends, blocks in zip(pairwise(edges), gallery.to_delayed())
                  if ends[0] < ends[1]]
        return [_Shard(k, images, blocks, gallery.chunks[1])
                for k, (images, blocks) in enumerate(chunks)]
    if not is_lazy(gallery):
        gallery = as_array(gallery, "gallery_features")
    read = _reader(gallery, client)
    row_bytes = gallery.shape[1] * gallery.dtype.itemsize
    shards = blocks_of(gallery.shape[0], SHARD_BYTES // row_bytes)  # zarr arrays have no len()
    return [_Shard(k, block, partial(read, block.start, block.stop) if read else gallery[block])
            for k, block in enumerate(shards)]


def _reader(array: Any, client: Any) -> Callable[[int, int], Array] | None:
    """Return the function by which a worker reads rows; None if they must be sent."""
    if client is None:
        return partial(read_rows, array)
    if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap) and array.filename:
        return partial(_mapped_rows, str(array.filename), array.dtype, "r", array.offset,
                       array.shape, "C" if array.flags.c_contiguous else "F")
    if hasattr(array, "file"):
        return partial(_hdf5_rows, os.path.abspath(array.file.filename), array.name)
    return partial(read_rows, array) if is_stored(array) else None


def _mapped_rows(*place: Any) -> Array:
    """Return some rows of a map: the arguments of `numpy.memmap`, the first row and the last."""
    *arguments, start, stop = place
    return np.memmap(*arguments)[start:stop]


def _hdf5_rows(path: str, name: str, start: int, stop: int) -> Array:
    with optional_module(path, "h5py").File(path, "r") as file:
        return read_rows(file[name], start, stop)


# The cluster.


def _client(client: Any) -> Any:
    """Return the client to use; None for the threads of this machine."""
    distributed = optional_module("reid_ref.distributed", "distributed", "dask.array")
    with suppress(ValueError):  # there is none
        return distributed.default_client() if client is None else client
    return None


def _sent_once(value: Any) -> Any:
    """Return a value as the result of a task, which many tasks share.

    The task runs again if its worker is lost; scattered data would not be restored.
    """
    from dask import delayed
    return delayed(value, name=f"shared-{uuid.uuid4().hex}", traverse=False)


def _results(client: Any, calls: list[tuple[_Shard, tuple[Any, ...]]],
             ) -> Iterator[tuple[_Shard, Any]]:
    """Make calls on the workers; yield each shard and its answer, in the order of arrival.

    Wrong input of the first shard is raised when all have answered.
    """
    from dask import delayed
    shards = [shard for shard, _ in calls]
    tasks = [delayed(_answer, pure=False)(*call) for _, call in calls]
    errors = {}
    for shard, answer in (_in_threads(shards, tasks) if client is None else
                          _in_cluster(shards, tasks, client)):
        if isinstance(answer, InputError):
            errors[shard.number] = answer
        else:
            yield shard, answer
    if errors:
        raise errors[min(errors)]


def _in_threads(shards: list[_Shard], tasks: list[Any]) -> Iterator[tuple[_Shard, Any]]:
    from dask import compute
    for part in blocks_of(len(tasks), _AT_ONCE):
        yield from zip(shards[part], compute(*tasks[part]))


def _in_cluster(shards: list[_Shard], tasks: list[Any],
                client: Any) -> Iterator[tuple[_Shard, Any]]:
    from distributed import KilledWorker, as_completed
    futures = client.compute(tasks)
    shard_of = dict(zip(futures, shards))
    try:
        for future in as_completed(futures, client.loop):
            images = shard_of[future].images
            try:
                answer = future.result()
            except KilledWorker:
                raise InputError(
                    "gallery_features", got="several workers ended on the shard of rows "
                    f"{images.start} to {images.stop - 1}, probably out of memory: each thread "
                    "of a worker needs its shard, the query features and max_memory",
                    remedy="pass smaller chunks, gallery_features.rechunk(...)") from None
            yield shard_of[future], answer
            future.release()
    finally:
        client.cancel(futures)
