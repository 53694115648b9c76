"""Galleries of millions of images: time and memory, alone and on Dask's worker processes.

Made features of 128 dimensions, memory-mapped, with ever more distractors, as for (c). The Dask
path and the path of one process take turns, from the same file on the same cores: worker
processes have one thread each, and so has their BLAS, as Dask sets it. This file is also the
process that measures these.
"""
from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import checks
import made
import peers
import stopwatch
from reid_ref import Labels, distributed, evaluate
from sizes import Size
from table import MIB, Row, second

Numbers = dict[str, Any]

DIMS = 128
#: Images of the gallery; the last two are compared with the first.
GALLERIES = (1_000_000, 3_000_000, 10_000_000)
#: Queries beside all, on the largest gallery.
QUERIES = (100, 1_000)
#: Worker processes of the cluster, which is measured on the smallest gallery.
WORKERS = (2, 4)
#: Images that are made at once.
_AT_ONCE = 250_000


def larger(size: Size, folder: Path) -> Numbers:
    """(i) Galleries of millions of images from a memory-mapped file."""
    peers.package("distributed")
    market = made.market(size.share)
    galleries = [max(len(market.gallery), round(size.share * images)) for images in GALLERIES]
    gallery = make(market, galleries[-1], folder)
    task = {"work": "features", "mapped": True, "labels": str(folder / "labels.npz"),
            "inputs": [str(folder / name) for name in ("query.npy", "gallery.npy")]}
    works = [(len(market.query), images) for images in galleries]
    works += [(max(1, round(size.share * queries)), galleries[-1]) for queries in QUERIES]
    sizes = [{"queries": queries, "gallery": images, **stopwatch.own_process(
        {**task, "queries": queries, "gallery": images})} for queries, images in works]
    save_labels(market.query, Labels(gallery.identity[:galleries[0]],
                                     gallery.camera[:galleries[0]]), folder)
    return {"dims": DIMS, "sizes": sizes, "cluster": stopwatch.own_process(
        {"folder": str(folder), "repetitions": size.slow_repetitions}, child=Path(__file__))}


def make(market: made.Market, images: int, folder: Path) -> Labels:
    """Write features and labels; return the labels of the gallery."""
    more = images - len(market.gallery)
    gallery = Labels(np.concatenate([market.gallery.identity, np.zeros(more, np.int64)]),
                     np.concatenate([market.gallery.camera, 1 + np.arange(more) % 6]))
    np.save(folder / "query.npy", made.features(market.query, "middle", DIMS, made.SEED + 1))
    mapped = np.lib.format.open_memmap(folder / "gallery.npy", "w+", np.float32, (images, DIMS))
    for start in range(0, images, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        mapped[part] = made.features(Labels(gallery.identity[part], gallery.camera[part]),
                                     "middle", DIMS, made.SEED + 2 + start)
    mapped.flush()
    save_labels(market.query, gallery, folder)
    return gallery


def save_labels(query: Labels, gallery: Labels, folder: Path) -> None:
    np.savez(folder / "labels.npz", query_identity=query.identity, query_camera=query.camera,
             gallery_identity=gallery.identity, gallery_camera=gallery.camera)


def rows(measured: Numbers) -> list[Row]:
    """Make the rows of the table."""
    found = []
    first = measured["sizes"][0]
    each = first["seconds"] / first["gallery"]
    for one in measured["sizes"]:
        work = f"(i) {one['gallery']:,} images, {one['queries']:,} queries"
        if one["queries"] == first["queries"]:
            found.append(Row(work, second(one["seconds"]),
                             f"time per image at {first['gallery']:,}",
                             one["seconds"] / one["gallery"] / each, wanted="growth"))
        else:
            found.append(Row(work, second(one["seconds"]), "time", one["seconds"], " s"))
        found.append(Row(work, "", "memory beyond mapped features",
                         one["bytes_beyond_input"] / MIB, " MiB", "memory"))
    times = measured["cluster"]["times"]
    alone = times["alone"]
    found += [Row(f"(i) {first['gallery']:,} images, Dask, {name}", second(spent),
                  f"one process: {second(alone)}", spent / alone, wanted="cluster")
              for name, spent in times.items() if name != "alone"]
    return found


# In the process of its own

def in_turns(folder: Path, repetitions: int) -> dict[str, float]:
    """Return the best time of one process, and of clusters of worker processes."""
    from distributed import Client, LocalCluster

    features = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("query", "gallery")]
    with np.load(folder / "labels.npz") as stored:
        query, gallery = (Labels(stored[f"{side}_identity"], stored[f"{side}_camera"])
                          for side in ("query", "gallery"))
    features[1] = features[1][:len(gallery)]
    expected = evaluate(*features, query, gallery).mAP

    def on_cluster(client: Client) -> Callable[[], float]:
        def measure() -> float:
            found: list[float] = []
            spent = stopwatch.seconds(lambda: found.append(distributed.evaluate(
                *features, query, gallery, client=client).mAP))
            checks.same(expected, found[0], "mAP on the cluster")
            return spent
        measure()  # workers import what they need
        return measure

    times = {"alone": float("inf")}
    for count in WORKERS:  # idle workers of another cluster would disturb
        with LocalCluster(count, threads_per_worker=1, dashboard_address=None,
                          local_directory=str(folder)) as cluster, Client(cluster) as client:
            found = stopwatch.take_turns({
                "alone": (repetitions, stopwatch.clock(
                    lambda: evaluate(*features, query, gallery))),
                f"{count} workers": (repetitions, on_cluster(client))})
        times = {**times, **found, "alone": min(times["alone"], found["alone"])}
    return times


def main() -> None:
    warnings.simplefilter("ignore")  # the hollow parts of the input are on purpose
    task = json.loads(sys.argv[1])
    print("ready", flush=True)
    for _ in sys.stdin:
        times = in_turns(Path(task["folder"]), task["repetitions"])
        print(json.dumps({"seconds": sum(times.values()), "times": times}), flush=True)


if __name__ == "__main__":
    main()
