"""Drop-in evaluators beside the toolboxes' own, on one distance matrix of Market-1501's size.

fastreid's come from the wheel fastreid 1.4.0 (torchreid's code, and mINP); the others from clones
of their repositories, in the folder that REID_REF_CLONES names, at the commits of
fixtures/compat. Theirs run on a tenth of the queries, scaled to all; ours on all of them. Before
a time counts, both give the same mAP on that tenth.
"""
from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import checks
import made
import peers
from reid_ref import Labels, compat
from sizes import Size
from stopwatch import Contestant, clock, seconds, take_turns
from table import Row, second

Numbers = dict[str, Any]
#: A toolbox's function and ours, called alike; the answer is one number.
Pair = tuple[Callable[..., Any], Callable[..., Any]]

FIXTURES = Path(__file__).parents[1] / "fixtures" / "compat"
EVAL_REID = "data/datasets/eval_reid.py"


def drop_in(size: Size, folder: Path) -> Numbers:
    """(h) A toolbox's evaluator and ours under its name, on the same arrays."""
    market = made.market(size.share)
    distances, gallery = peers.without_junk(made.distances(market, "middle"), market.gallery)
    pairs = {**from_wheel(folder), **from_clones(os.environ.get("REID_REF_CLONES", ""))}
    return {"seconds": {name: one_pair(pair, name, distances, market.query, gallery, size)
                        for name, pair in pairs.items()}}


def one_pair(pair: Pair, name: str, distances: Any, query: Labels, gallery: Labels,
             size: Size) -> dict[str, float]:
    cython = name.endswith("Cython")
    rows = np.arange(0, len(query), 1 if cython else 10)
    theirs, ours = pair
    five, part = (five_of(distances[which], query[which], gallery)
                  for which in (np.arange(len(query)), rows))
    expected = ours(*part)
    share = len(rows) / len(query)

    def measure() -> float:
        answers: list[float] = []
        spent = seconds(lambda: answers.append(theirs(*part)))
        checks.near(expected, answers[0], name, checks.ANOTHER_ORDER)
        return spent / share
    contestants: dict[str, Contestant] = {
        "ours": (size.repetitions, clock(lambda: ours(*five))),
        "theirs": (size.slow_repetitions, measure)}
    return take_turns(contestants)


def five_of(distances: Any, query: Labels, gallery: Labels) -> tuple[Any, ...]:
    labels = query.identity, gallery.identity, query.camera, gallery.camera
    return distances, *(one.copy() for one in labels)  # the Cython form wants to write


def mean_ap(function: Callable[..., Any]) -> Callable[..., float]:
    """Return the mean of the second answer, mAP or the AP of each query."""
    return lambda *five: float(np.mean(function(*five)[1]))


def from_wheel(folder: Path) -> dict[str, Pair]:
    ours = mean_ap(compat.fastreid.evaluate_rank)
    found: dict[str, Pair] = {}
    for name, get in (("fastreid.evaluate_rank, Cython", lambda: peers.build(folder).evaluate_cy),
                      ("fastreid.evaluate_rank", peers.load_python)):
        try:
            theirs = get()
        except peers.Missing as missing:
            print(f"left out: {name}: {missing}", flush=True)
            continue
        found[name] = mean_ap(lambda *five, call=theirs: call(*five, peers.MAX_RANK)), ours
    return found


def from_clones(clones: str) -> dict[str, Pair]:
    if not clones:
        print("left out: the other toolboxes: REID_REF_CLONES names no folder with their clones",
              flush=True)
        return {}
    sys.path.insert(0, str(FIXTURES))
    import generate

    generate.CLONES = Path(clones)

    class Numpy(generate.StableNumpy):  # type: ignore[misc]
        argsort = staticmethod(np.argsort)

    def load(repository: str, commit: str, path: str, name: str, **stubs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = generate.load(name, generate.source(repository, commit, path), **stubs)
        module.np = Numpy()
        return module
    survey = load("mangye16/ReID-Survey", "38f5912", EVAL_REID, "survey")
    strong = load("michuanhaohao/reid-strong-baseline", "3da7e6f", EVAL_REID, "strong")
    modal = load("mangye16/Cross-Modal-Re-ID-baseline", "e817a26", "eval_metrics.py", "modal")
    clothes = load("guxinqian/Simple-CCReID", "f773d01", "tools/eval_metrics.py", "clothes")
    ranking = load("Cysu/open-reid", "3293ca7", "reid/evaluation_metrics/ranking.py",
                   "reid.evaluation_metrics.ranking", reid__utils={"to_numpy": np.asarray})
    return {
        "strong_baseline.eval_func": tuple(map(mean_ap, (
            strong.eval_func, compat.strong_baseline.eval_func))),
        "reid_survey.eval_func": tuple(map(mean_ap, (
            survey.eval_func, compat.reid_survey.eval_func))),
        "cross_modal.eval_sysu": tuple(map(mean_ap, (
            modal.eval_sysu, compat.cross_modal.eval_sysu))),
        "ccreid.evaluate": tuple(map(mean_ap, (clothes.evaluate, compat.ccreid.evaluate))),
        "ccreid.evaluate_with_clothes": tuple(mean_ap(in_other_clothes(one)) for one in (
            clothes.evaluate_with_clothes, compat.ccreid.evaluate_with_clothes)),
        "openreid.mean_ap": (ranking.mean_ap, compat.openreid.mean_ap),
        "openreid.cmc": tuple(lambda *five, call=one: float(call(*five)[0]) for one in (
            ranking.cmc, compat.openreid.cmc))}  # type: ignore[dict-item]


def in_other_clothes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Clothes that change with the camera, so that each query finds some."""
    return lambda *five: function(*five, five[3] % 2, five[4] % 2, mode="CC")


def rows(measured: Numbers) -> list[Row]:
    """Make the rows of the table."""
    return [Row(f"(h) {name}", second(times["ours"]),
                f"its own: {second(times['theirs'])}"
                + ("" if name.endswith("Cython") else " (a tenth of the queries, scaled)"),
                times["theirs"] / times["ours"], "x faster", "cython")
            for name, times in measured["seconds"].items()]
