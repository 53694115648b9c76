"""The works that are measured; each returns plain numbers for the JSON.

Times are in seconds, the best of several repetitions that take turns; memory in bytes. Every
contestant's numbers are checked before its time counts: see `checks.py`.
"""
from __future__ import annotations

import shutil
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import checks
import commands
import compat
import cores
import intervals
import larger
import made
import peers
import person_search
import protocols
import rerank
import search
import thresholds
from reid_ref import Labels, conventions, evaluate, evaluate_distances
from sizes import Size
from stopwatch import Contestant, clock, own_process, seconds, take_turns

Numbers = dict[str, Any]
ROOT = Path(__file__).parents[1]


def from_distances(size: Size, folder: Path) -> Numbers:
    """(a) A distance matrix to numbers, at three difficulties."""
    market = made.market(size.share)
    evaluators = peers.fastreid(folder)
    return {"queries": len(market.query), "gallery": len(market.gallery),
            **{difficulty: one_matrix(market, difficulty, evaluators, size, folder)
               for difficulty in made.NOISE}}


def one_matrix(market: made.Market, difficulty: str, evaluators: dict[str, peers.Evaluator],
               size: Size, folder: Path) -> Numbers:
    distances = made.distances(market, difficulty)
    np.save(folder / "distances.npy", distances)
    query, gallery = market.query, market.gallery
    result = evaluate_distances(distances, query, gallery)
    checks.against_port(result, distances, query, gallery)
    contestants = {
        "ours": (size.repetitions, clock(lambda: evaluate_distances(distances, query, gallery))),
        "read": (size.repetitions, clock(distances.sum)),
        **fastreid(evaluators, distances, market, size),
        "layumi_loop": (size.slow_repetitions, against(
            peers.layumi_loop, "layumi", distances, query, gallery)),
        **octave(distances, market, size, folder),
        **(in_memory_otherwise(distances, market, size, folder) if difficulty == "middle" else
           {})}
    return {"mAP": result.mAP, "mINP": result.mINP, "rank1": result.cmc[0],
            "seconds": take_turns(contestants),
            "bytes_beyond_input": memory("distances", market, ["distances.npy"], folder)}


def in_memory_otherwise(distances: Any, market: made.Market, size: Size,
                        folder: Path) -> dict[str, Contestant]:
    """The same matrix in double, transposed as MATLAB's, and left on the disk."""
    forms = {"float64": distances.astype(np.float64), "fortran": np.asfortranarray(distances),
             "mapped": np.load(folder / "distances.npy", mmap_mode="r")}
    return {name: (size.repetitions, clock(lambda form=form: evaluate_distances(
        form, market.query, market.gallery))) for name, form in forms.items()}


def against(evaluator: peers.Evaluator, convention: str, distances: Any, query: Labels,
            gallery: Labels, share: float = 1) -> Callable[[], float]:
    """Return the function that times an evaluator, scaled to all queries, and checks its mAP."""
    expected = evaluate_distances(distances, query, gallery, convention=convention).mAP

    def measure() -> float:
        answers: list[float] = []
        spent = seconds(lambda: answers.append(evaluator(distances, query, gallery)))
        checks.near(expected, answers[0], f"mAP of {convention}", checks.ANOTHER_ORDER)
        return spent / share
    return measure


def fastreid(evaluators: dict[str, peers.Evaluator], distances: Any, market: made.Market,
             size: Size) -> dict[str, Contestant]:
    """Both forms on a gallery without -1; the Python form on a tenth of the queries."""
    kept, gallery = peers.without_junk(distances, market.gallery)
    found = {}
    if "cython" in evaluators:
        found["cython"] = (size.slow_repetitions + 1, against(
            evaluators["cython"], "torchreid-cython", kept, market.query, gallery))
    if "python" in evaluators:
        rows, query = some(market.query, len(market.query) // 10)
        found["python"] = (size.slow_repetitions, against(
            evaluators["python"], "fast-reid", kept[rows], query, gallery,
            len(query) / len(market.query)))
    return found


def octave(distances: Any, market: made.Market, size: Size,
           folder: Path) -> dict[str, Contestant]:
    """matlab_ref on some queries, scaled to all; its numbers are ours to the last bit."""
    rows, query = some(market.query, size.octave_queries)
    try:
        session = peers.Octave(folder, distances[rows], query, market.gallery)
    except peers.Missing as missing:
        print(f"left out: matlab_ref in Octave: {missing}", flush=True)
        return {}
    expected = evaluate_distances(distances[rows], query, market.gallery)

    def measure() -> float:
        out = session.run()
        checks.same(expected.mAP, out["mAP"], "Octave's mAP")
        checks.same(expected.cmc, out["cmc"], "Octave's CMC")
        return float(out["seconds"]) * len(market.query) / len(query)
    return {"octave": (size.slow_repetitions, measure)}


def some(query: Labels, count: int) -> tuple[Any, Labels]:
    """Return evenly spaced rows, and their labels."""
    rows = np.unique(np.linspace(0, len(query) - 1, count, dtype=int))
    return rows, Labels(query.identity[rows], query.camera[rows])


def from_features(size: Size, folder: Path) -> Numbers:
    """(b) Features to numbers, against the matrix product alone, at four difficulties."""
    market = made.market(size.share)
    return {str(dims): {difficulty: one_length(market, difficulty, dims, size, folder)
                        for difficulty in made.DIFFICULTIES} for dims in size.dims}


def one_length(market: made.Market, difficulty: str, dims: int, size: Size,
               folder: Path) -> Numbers:
    query, gallery = made.both_features(market, difficulty, dims)
    np.save(folder / "query.npy", query)
    np.save(folder / "gallery.npy", gallery)
    kept = made.kept(market, gallery)
    product = np.zeros((len(query), len(kept)), np.float32)
    times = take_turns({
        "ours": (size.repetitions,
                 clock(lambda: evaluate(query, gallery, market.query, market.gallery))),
        "product": (size.repetitions, clock(lambda: np.matmul(query, kept.T, out=product)))})
    result = evaluate(query, gallery, market.query, market.gallery)
    checks.against_product(result, query @ gallery.T, query, gallery, market)
    return {"mAP": result.mAP, "seconds": times,
            "bytes_beyond_input": memory("features", market, ["query.npy", "gallery.npy"],
                                         folder)}


def growth(size: Size, folder: Path) -> Numbers:
    """(c) Ever more distractors, from memory-mapped features."""
    market = made.market(size.share)
    most = size.growth[-1]
    more = most - len(market.gallery)
    gallery = Labels(
        np.concatenate([market.gallery.identity, np.zeros(more, np.int64)]),
        np.concatenate([market.gallery.camera, 1 + np.arange(more) % 6]))
    np.save(folder / "query.npy",
            made.features(market.query, "middle", size.growth_dims, made.SEED + 1))
    mapped = np.lib.format.open_memmap(
        folder / "gallery.npy", "w+", np.float32, (most, size.growth_dims))
    starts = [0, *range(len(market.gallery), most, 20_000), most]
    for start, stop in zip(starts, starts[1:]):
        part = Labels(gallery.identity[start:stop], gallery.camera[start:stop])
        mapped[start:stop] = made.features(part, "middle", size.growth_dims,
                                           made.SEED + 2 + start)
    mapped.flush()
    del mapped
    task = {"work": "features", "mapped": True, "inputs": [
        str(folder / name) for name in ("query.npy", "gallery.npy")],
        "labels": save_labels(made.Market(market.query, gallery), folder)}
    rounds = [[own_process({**task, "gallery": count}, repetitions=2) for count in size.growth]
              for _ in range(2)]
    return {"queries": len(market.query), "dims": size.growth_dims, "sizes": [
        {"gallery": count, "seconds": min(one["seconds"] for one in runs),
         "bytes_beyond_input": max(one["bytes_beyond_input"] for one in runs)}
        for count, runs in zip(size.growth, zip(*rounds))]}


def start(size: Size, folder: Path) -> Numbers:
    """(d) The command line: its help, and the whole command on the README's fixture."""
    beside = shutil.which("reid-ref", path=str(Path(sys.executable).parent))
    command = [beside] if beside else [sys.executable, "-m", "reid_ref.cli"]
    commands = {
        "help": [*command, "--help"],
        "fixture": [*command, "evaluate", str(ROOT / "fixtures" / "market_like.mat")],
        "python": [sys.executable, "-c", "pass"],
        "numpy": [sys.executable, "-c", "import numpy"]}
    return {"seconds": take_turns({name: (size.starts, clock(lambda words=words: checks.runs(
        words, folder))) for name, words in commands.items()})}


def all_conventions(size: Size, folder: Path) -> Numbers:
    """(e) All conventions that `--convention all` takes, against one; two that measure otherwise.
    """
    market = made.market(size.share)
    distances, features = made.distances(market, "middle"), made.both_features(
        market, "middle", 2048)
    names = [name for name in conventions.CONVENTIONS if name not in conventions.NOT_IN_ALL]
    works = {"one": (evaluate_distances, (distances,), ["matlab"]),
             "all": (evaluate_distances, (distances,), names),
             **{name: (evaluate, features, [name]) for name in ("matlab", "torchreid")},
             "both": (evaluate, features, ["matlab", "torchreid"])}
    return {"conventions": len(names), "seconds": take_turns({
        key: (size.repetitions, clock(lambda work=work: work[0](
            *work[1], market.query, market.gallery, convention=work[2])))
        for key, work in works.items()})}


def memory(work: str, market: made.Market, inputs: list[str], folder: Path) -> int:
    """Peak memory of one evaluation beyond its input, which is loaded into memory here."""
    answer = own_process({"work": work, "mapped": False, "labels": save_labels(market, folder),
                          "inputs": [str(folder / name) for name in inputs]})
    return int(answer["bytes_beyond_input"])


def save_labels(market: made.Market, folder: Path) -> str:
    path = folder / "labels.npz"
    np.savez(path, query_identity=market.query.identity, query_camera=market.query.camera,
             gallery_identity=market.gallery.identity, gallery_camera=market.gallery.camera)
    return str(path)


#: Name of a work to its function; the names are those of `--only`.
WORKS = {"distances": from_distances, "features": from_features, "growth": growth,
         "start": start, "conventions": all_conventions,
         "rerank": rerank.reranking, "intervals": intervals.intervals,
         "compat": compat.drop_in, "larger": larger.larger, "thresholds": thresholds.thresholds,
         "person_search": person_search.person_search, "protocols": protocols.protocols,
         "cores": cores.cores, "commands": commands.commands, "search": search.search}


def run(names: list[str], size: Size, folder: Path) -> tuple[Numbers, list[str]]:
    """Run the works named, each in the same temporary folder; return which of them failed, too.

    A work that fails is left out, and so is one that cannot be without a package that is missing.
    """
    numbers: Numbers = {}
    failed: list[str] = []
    for name in names:
        print(f"{name} ...", flush=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # hollow parts of the made input are on purpose
            try:
                numbers[name] = WORKS[name](size, folder)
            except peers.Missing as missing:
                print(f"left out: {name}: {missing}", flush=True)
            except Exception:  # half an hour of others would be lost
                traceback.print_exc()
                failed.append(name)
    return numbers, failed
