"""Frames to tracklets: the function, and `--pool`."""
import json

import numpy as np
import pytest

from reid_ref import Labels, evaluate
from reid_ref.datasets import pool_frames
from reid_ref.protocols import evaluate_protocol
from tests.commands.common import assert_one_line_error
from tests.documents import command as run
from tests.refusals import refused

RNG = np.random.default_rng(0)
SIDES = {side: {"f": RNG.random((n, 5)).astype(np.float32), "label": RNG.integers(1, 4, n),
                "cam": RNG.integers(1, 3, n), "tracklet": RNG.integers(0, 2, n)}
         for side, n in (("query", 30), ("gallery", 60))}


def labels_of(side):
    return Labels(SIDES[side]["label"], SIDES[side]["cam"], video=SIDES[side]["tracklet"])


@pytest.fixture
def file(tmp_path):
    np.savez(tmp_path / "frames.npz", **{f"{side}_{name}": values for side, every in SIDES.items()
                                         for name, values in every.items()})
    return tmp_path / "frames.npz"


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_a_row_per_tracklet(pooling):
    features, labels = SIDES["gallery"]["f"], labels_of("gallery")
    pooled, tracklets = pool_frames(features, labels, pooling)
    keys = list(zip(labels.identity, labels.camera, labels.video))
    assert list(zip(tracklets.identity, tracklets.camera, tracklets.video)) == list(
        dict.fromkeys(keys))
    assert pooled.dtype == np.float32
    for row, key in zip(pooled, dict.fromkeys(keys)):
        frames = features[[other == key for other in keys]]
        np.testing.assert_array_equal(row, getattr(frames, pooling)(axis=0))


def test_further_columns():
    labels = Labels([1, 1, 1], [1, 1, 1], video=[0, 0, 0], clothes=[0, 1, 0], frame=[1, 2, 3],
                    name=["a", "b", "c"])
    pooled, tracklets = pool_frames([[1.], [2.], [5.]], labels)
    assert pooled.tolist() == [[3.], [2.]]
    assert (tracklets.clothes.tolist(), tracklets.name.tolist()) == ([0, 1], ["a", "b"])
    assert tracklets.frame is None


@pytest.mark.parametrize("features, labels, pooling, argument, noun", [
    (np.eye(2), Labels([1, 1], [1, 1]), "mean", "labels", "labels with video"),
    (np.eye(2), Labels([1, 1], [1, 1], video=[0, 0]), "median", "pooling", "unknown 'median'"),
    (np.eye(3), Labels([1, 1], [1, 1], video=[0, 0]), "max", "features", "2 rows"),
    ([[np.nan], [1]], Labels([1, 1], [1, 1], video=[0, 0]), "max", "features", "finite"),
])
def test_wrong_input(features, labels, pooling, argument, noun):
    refused(argument, noun, pool_frames, features, labels, pooling)


@pytest.mark.filterwarnings(
    "ignore::reid_ref.BenchmarkWarning", "ignore::reid_ref.UnmatchedWarning")
def test_the_option(file):
    pooled = [pool_frames(SIDES[side]["f"], labels_of(side), "max") for side in SIDES]
    arrays, labels = zip(*pooled)
    answer = json.loads(run("evaluate", file, "--pool", "max", "--json").stdout)
    assert answer["mAP"] == evaluate(*arrays, *labels).mAP
    assert "pool:max" in answer["signature"] and answer["layout"].endswith("frames pooled by max")
    part, = json.loads(run("evaluate", file, "--pool", "max", "--protocol", "mars",
                           "--json").stdout)["parts"]
    assert part["mAP"] == evaluate_protocol("mars", *arrays, *labels).mAP
    assert "pool:max" in part["signature"]


def test_without_tracklets(file):
    np.savez(file, **{f"{side}_{name}": values for side, every in SIDES.items()
                      for name, values in every.items() if name != "tracklet"})
    saved = file.with_name("saved.json")
    assert run("evaluate", file, "--save", saved).returncode == 0
    for path, message in ((file, "--pool: .*query_tracklet"), (saved, "--pool")):
        assert_one_line_error(run("evaluate", path, "--pool", "mean"), message)
