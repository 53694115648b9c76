"""Nobody's time counts before its numbers are right.

Ours equals the line-faithful port, and Octave, to the last bit on a sample of the queries. The
other evaluators agree with our convention of their name; they sort with an unstable sort, so
what float32 distances leave equal may stand in another order.
"""
from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import made
from reid_ref import Labels, Result, evaluate_distances, matlab

#: Queries on which the port, which walks the whole gallery, is run.
SAMPLE = 20
#: mAP of an evaluator that leaves equal distances in another order, or adds in float32.
ANOTHER_ORDER = 2e-5
#: mAP on distances that another order of operations rounds differently.
ROUNDING = 1e-4


def same(ours: Any, theirs: Any, what: str) -> None:
    if not np.array_equal(ours, theirs):
        raise SystemExit(f"{what} differs: ours {ours}, theirs {theirs}")


def near(ours: float, theirs: float, what: str, tolerance: float) -> None:
    if not abs(ours - theirs) <= tolerance:
        raise SystemExit(f"{what} differs: ours {ours!r}, theirs {theirs!r}")


def against_port(result: Result, distances: Any, query: Labels, gallery: Labels) -> None:
    rows = np.linspace(0, len(query) - 1, SAMPLE, dtype=int)
    part = Labels(query.identity[rows], query.camera[rows])
    ours = evaluate_distances(distances[rows], part, gallery)
    cmc, mAP, _, _ = matlab.evaluation(distances[rows].T, gallery.identity, part.identity,
                                       gallery.camera, part.camera)
    same(ours.mAP, mAP, "the port's mAP")
    same(ours.cmc, cmc, "the port's CMC")
    same(ours.per_query.ap, result.per_query.ap[rows], "AP in another block")


def against_product(result: Result, product: Any, query: Any, gallery: Any,
                    market: made.Market) -> None:
    product /= -np.linalg.norm(gallery, axis=1)
    product /= np.linalg.norm(query, axis=1)[:, np.newaxis]
    again = evaluate_distances(product, market.query, market.gallery)
    near(result.mAP, again.mAP, "mAP from the matrix product", ROUNDING)


def runs(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
