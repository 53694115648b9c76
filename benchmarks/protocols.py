"""Protocols beside one plain evaluation of the same images.

Made features, a point for each identity and noise, and about as many images as SYSU-MM01 and the
small list of VehicleID have.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import checks
import made
import peers
from reid_ref import Labels, evaluate, evaluate_protocol
from sizes import Size
from stopwatch import clock, take_turns
from table import Row, second

Numbers = dict[str, Any]
DIMS, NOISE = 2048, 4


def protocols(size: Size, folder: Path) -> Numbers:
    """(l) Ten trials of both shots, all search; all galleries of 800 vehicles."""
    peers.package("scipy")
    identities = max(4, round(96 * size.share))
    cells = np.arange(identities * 6 * 20)
    labels = Labels(cells // 120, cells // 20 % 6 + 1)
    features = of(labels)
    asks, answers = (np.flatnonzero(np.isin(labels.camera, cameras))
                     for cameras in ((3, 6), (1, 2, 4, 5)))
    sysu = features[asks], features[answers], labels[asks], labels[answers]
    vehicles = np.arange(round(6_400 * size.share)) // 8
    pool = Labels(vehicles, np.zeros(len(vehicles)))
    vehicleid = (of(pool),) * 2 + (pool,) * 2
    same_as_alone(sysu)

    def both_shots() -> None:
        for shots in (1, 10):
            evaluate_protocol("sysu-mm01-python", *sysu, part="all", shots=shots)

    works = {"sysu plain": clock(lambda: evaluate(*sysu, convention="torchreid")),
             "sysu": clock(both_shots),
             "vehicleid plain": clock(lambda: evaluate(*vehicleid, convention="simpleir")),
             "vehicleid": clock(lambda: evaluate_protocol("vehicleid", *vehicleid))}
    return {"sysu images": [len(asks), len(answers)], "vehicleid images": len(pool),
            "seconds": take_turns({name: (size.slow_repetitions, work)
                                   for name, work in works.items()})}


def of(labels: Labels) -> made.Array:
    rng = np.random.default_rng(made.SEED)
    points = rng.standard_normal((int(labels.identity.max()) + 1, DIMS), dtype=np.float32)
    noise = rng.standard_normal((len(labels), DIMS), dtype=np.float32)
    return points[labels.identity] + NOISE * noise


def same_as_alone(sysu: Any) -> None:
    """A trial has the numbers of its rows alone."""
    rows = np.arange(0, len(sysu[3]), 20)
    trial, = evaluate_protocol("sysu-mm01-python", *sysu, part="all",
                               trials=[(None, rows)]).trials
    alone = evaluate(sysu[0], sysu[1][rows], sysu[2], sysu[3][rows], convention=trial.convention)
    checks.same(alone.mAP, trial.mAP, "mAP of a trial")


def rows(measured: Numbers) -> list[Row]:
    """Make the rows of the table."""
    times = measured["seconds"]
    works = {"sysu": "(l) SYSU-MM01, all search, ten trials of 1 and of 10 shots",
             "vehicleid": f"(l) VehicleID, expectation, {measured['vehicleid images']:,} images"}
    return [Row(work, second(times[name]), f"one evaluation: {second(times[f'{name} plain'])}",
                times[name] / times[f"{name} plain"], "x as long", "protocol")
            for name, work in works.items()]
