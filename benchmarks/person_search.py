"""Person search at CUHK-SYSU's size: made boxes and features to ranks and numbers.

Each gallery runs in a process of its own, which is this file; the process has the boxes, so what
it holds beyond them is what the evaluation takes.
"""
from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import made
import stopwatch
from reid_ref.protocols import Boxes, evaluate_person_search
from sizes import Size
from table import Row, memory_row

Numbers = dict[str, Any]
#: Queries, images, detections in an image, and the dimension of features.
QUERIES, IMAGES, PER_IMAGE, DIMS = 2_900, 6_978, 8, 256
GALLERIES = ("100", "4000", "whole")


def person_search(size: Size, folder: Path) -> Numbers:
    """(k) Boxes to numbers, in each gallery."""
    return {gallery: {"queries": QUERIES, "images": IMAGES, **stopwatch.own_process(
        {"share": size.share, "gallery": gallery}, min(size.repetitions, 3),
        child=Path(__file__))} for gallery in GALLERIES}


def boxes(share: float, gallery: str) -> Boxes:
    """Return people in two to seven images each, of which the detector finds nine in ten."""
    rng = np.random.default_rng(made.SEED)
    n_query, n_image = (max(60, round(share * n)) for n in (QUERIES, IMAGES))
    images = [rng.choice(n_image, rng.integers(2, 8), replace=False) for _ in range(n_query)]
    truth_image = np.concatenate(images)
    identity = np.repeat(np.arange(n_query), list(map(len, images)))
    corner, sides = rng.integers(0, 900, (2, n_image * PER_IMAGE, 2))
    any_box = np.hstack([corner, corner + 30 + sides // 5])
    truth = any_box[:len(identity)]
    detected = np.flatnonzero(rng.random(len(identity)) < 0.9)
    any_box = any_box[len(detected):]
    person = rng.standard_normal((n_query, DIMS), dtype=np.float32)
    features = rng.standard_normal((n_image * PER_IMAGE, DIMS), dtype=np.float32)
    features[:len(detected)] += person[identity[detected]]
    size = 0 if gallery == "whole" else min(int(gallery), n_image - 1)
    galleries = [_gallery(rng, shown, n_image, size) for shown in images]
    return Boxes(
        [f"s{k}.jpg" for k in range(n_image)], truth_image, identity, truth,
        np.append(truth_image[detected], rng.integers(0, n_image, len(any_box))),
        np.vstack([truth[detected] + rng.integers(-5, 6, (len(detected), 4)), any_box]),
        np.ones(n_image * PER_IMAGE), [shown[0] for shown in images], np.arange(n_query),
        person + rng.standard_normal(person.shape, dtype=np.float32), features,
        galleries={gallery: galleries} if size else {})


def _gallery(rng: np.random.Generator, shown: Any, n_image: int, size: int) -> Any:
    """Return the other images of a person, filled up with images of others."""
    others = np.setdiff1d(rng.permutation(n_image)[:size + len(shown)], shown)
    return np.append(shown[1:], others)[:size]


def rows(measured: Numbers) -> list[Row]:
    """Make the rows of the table."""
    lines = []
    for gallery, numbers in measured.items():
        work = f"(k) person search, gallery {gallery}"
        lines.append(Row(work, "", f"{numbers['queries']:,} queries, {numbers['images']:,} images",
                         numbers["seconds"], " s", "person search"))
        lines.append(memory_row(work, numbers["bytes_beyond_input"], "the boxes",
                                "person search memory"))
    return lines


def main() -> None:
    task = json.loads(sys.argv[1])
    warnings.simplefilter("ignore", UserWarning)
    searched = boxes(task["share"], task["gallery"])

    def work() -> None:
        evaluate_person_search("cuhk-sysu", searched, part=task["gallery"])

    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps({"seconds": stopwatch.seconds(work)}), flush=True)


if __name__ == "__main__":
    main()
