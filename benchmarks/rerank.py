"""Re-ranking a full benchmark: time and memory beside a public code, from the same features.

The public code is fastreid/evaluation/rerank.py of the wheel fastreid 1.4.0: torchreid's, and
but for its input zhunzhong07's re_ranking_ranklist.py. As torchreid's engine does, it is fed
with squared Euclidean distances, which count as its work as they do as ours. Each contestant runs
in a process of its own; this file is that process, too.

Before a time counts: on whole numbers ours is the port to the last bit; at full size the public
code's answer is ours within `SAME`, but for rows that a near tie among neighbours changes.
"""
from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import checks
import made
import peers
import stopwatch
from reid_ref import evaluate_distances, matlab
from reid_ref.reranking.k_reciprocal import rerank, rerank_blocks
from sizes import Size
from table import MIB, Row, memory_row, second

Array = npt.NDArray[Any]
Numbers = dict[str, Any]

#: Largest difference of a distance that rounding explains.
SAME = 1e-5
#: Share of distances that may differ by more: another last bit, another neighbour.
OTHERS = 1e-3
#: Images of MSMT17's test set.
MSMT17 = {"query": 11_659, "gallery": 82_161}


def reranking(size: Size, folder: Path) -> Numbers:
    """(f) Features to re-ranked distances, at Market-1501's and at MSMT17's size."""
    peers.package("scipy")
    against_port()
    market = made.market(size.share)
    return {**{str(dims): one_length(market, dims, folder) for dims in size.dims},
            "msmt17": msmt17(size.share, size.dims[-1], folder)}


def against_port() -> None:
    """On exact distances, with ties, ours gives the port's very bits."""
    rng = np.random.default_rng(made.SEED)
    features = rng.integers(0, 9, (600, 8)).astype(float)
    ours = rerank(features[:100], features[100:], normalize=False)
    checks.same(ours, matlab.re_ranking(features.T, 1, 1, 100, 20, 6, 0.3).T, "re-ranking")


def one_length(market: made.Market, dims: int, folder: Path) -> Numbers:
    query, gallery = (one / np.linalg.norm(one, axis=1, keepdims=True)
                      for one in made.both_features(market, "middle", dims))
    np.save(folder / "query.npy", query)
    np.save(folder / "gallery.npy", gallery)
    numbers: Numbers = {"ours": own_process("ours", folder, repetitions=2)}
    ours = np.load(folder / "answer.npy")
    numbers.update(mAP=rank(ours, market), mAP_before=rank(-query @ gallery.T, market))
    del query, gallery
    try:
        peers.source("rerank.py")
    except peers.Missing as missing:
        print(f"left out: the public re-ranking: {missing}", flush=True)
        return numbers
    numbers["peer"] = own_process("peer", folder)
    theirs = np.load(folder / "answer.npy")
    checks.near(numbers["mAP"], rank(theirs, market), "re-ranked mAP", checks.ROUNDING)
    numbers["differ"] = float(np.mean(np.abs(ours - theirs) > SAME))
    if numbers["differ"] > OTHERS:
        raise SystemExit(f"re-ranking: {numbers['differ']:.2%} of distances differ")
    return numbers


def rank(distances: Array, market: made.Market) -> float:
    return float(evaluate_distances(distances, market.query, market.gallery).mAP)


def msmt17(share: float, dims: int, folder: Path) -> Numbers:
    """Ours alone, block by block and all at once: memory is that with the features."""
    rng = np.random.default_rng(made.SEED)
    points = rng.standard_normal((max(2, round(share * 3060)), made.LATENT), np.float32)
    rotation = rng.standard_normal((made.LATENT, dims), np.float32)
    for name, images in MSMT17.items():
        images = max(60, round(share * images))
        latent = points[rng.integers(0, len(points), images)]
        latent += 0.885 * rng.standard_normal(latent.shape, np.float32)
        np.save(folder / f"{name}.npy", latent @ rotation)
    bytes_held = sum((folder / f"{name}.npy").stat().st_size for name in MSMT17)
    return {"dims": dims, "bytes_of_features": bytes_held,
            **{work: own_process(work, folder) for work in ("blocks", "whole")}}


def own_process(work: str, folder: Path, repetitions: int = 1) -> Numbers:
    return stopwatch.own_process({"work": work, "folder": str(folder)}, repetitions,
                                 child=Path(__file__))


def rows(measured: Numbers) -> list[Row]:
    """Make the rows of the table."""
    found = []
    for dims, one in measured.items():
        if dims == "msmt17":
            continue
        work, spent = f"(f) re-ranking, {dims}-d", one["ours"]["seconds"]
        if "peer" in one:
            theirs = one["peer"]["seconds"]
            found.append(Row(work, second(spent), f"torchreid's code: {second(theirs)}",
                             theirs / spent, "x faster", "rerank"))
            found.append(memory_row(work, one["peer"]["bytes_beyond_input"],
                                    "the features, torchreid's code"))
        found.append(memory_row(work, one["ours"]["bytes_beyond_input"], "the features",
                                "rerank memory"))
    one = measured["msmt17"]
    for name, text in (("blocks", "block by block"), ("whole", "with the answer")):
        held = one[name]["bytes_beyond_input"] + one["bytes_of_features"]
        found.append(Row(f"(f) MSMT17's size, {one['dims']}-d, {text}",
                         second(one[name]["seconds"]), "memory with the features", held / MIB,
                         " MiB", "msmt17 memory"))
    return found


# In the process of its own

def ours(query: Array, gallery: Array) -> Array:
    return rerank(query, gallery, variant="torchreid", normalize=False)


def peer(query: Array, gallery: Array) -> Array:
    re_ranking = peers.load("fastreid_rerank", peers.source("rerank.py")).re_ranking
    answer: Array = re_ranking(*(squared(*pair) for pair in (
        (query, gallery), (query, query), (gallery, gallery))))
    return answer


def squared(rows: Array, columns: Array) -> Array:
    distances: Array = rows @ columns.T
    distances *= -2
    distances += (rows**2).sum(axis=1)[:, np.newaxis]
    distances += (columns**2).sum(axis=1)
    return distances


def blocks(query: Array, gallery: Array) -> None:
    for block in rerank_blocks(query, gallery):
        del block


def whole(query: Array, gallery: Array) -> None:
    rerank(query, gallery)


WORKS: dict[str, Callable[[Array, Array], Array | None]] = {
    "ours": ours, "peer": peer, "blocks": blocks, "whole": whole}


def main() -> None:
    task = json.loads(sys.argv[1])
    folder = Path(task["folder"])
    query, gallery = np.load(folder / "query.npy"), np.load(folder / "gallery.npy")
    print("ready", flush=True)
    for _ in sys.stdin:
        answers: list[Array | None] = []
        spent = stopwatch.seconds(lambda: answers.append(WORKS[task["work"]](query, gallery)))
        print(json.dumps({"seconds": spent}), flush=True)
        if answers[0] is not None:
            np.save(folder / "answer.npy", answers[0])


if __name__ == "__main__":
    main()
