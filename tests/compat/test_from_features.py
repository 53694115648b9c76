"""Drop-in classes, handed features of varying norms, print what the toolboxes' own classes do.

The recordings are those of tests/protocols/test_from_features.py: each toolbox's test script from
its features on, without the images that its loader leaves out.
"""
import types

import numpy as np
import pytest

import reid_ref.compat as compat
from reid_ref.labels import JUNK
from tests.protocols.test_from_features import DOUBLE, FOLDER, RECORDINGS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning")


def batches(recording):
    """The features, identities and cameras of both sides, as the loader gives them."""
    with np.load(FOLDER / recording["problem"]) as stored:
        sides = [[stored[f"{side}_{name}"] for name in ("features", "identity", "camera")]
                 for side in ("query", "gallery")]
    for features, identity, camera in sides:
        kept = identity != JUNK
        yield torch.from_numpy(features[kept]), identity[kept], camera[kept]


def five(cmc, mAP):
    return {"mAP": mAP, **{f"Rank-{k}": cmc[k - 1] for k in (1, 5, 10, 20)}}


def of_class(made):
    """What a class of R1_mAP's kind answers."""
    def answer(query, gallery):
        evaluator = made(len(query[0]))
        for batch in (query, gallery):
            evaluator.update(batch)
        cmc, mAP, *_ = evaluator.compute()
        return five(cmc, mAP)
    return answer


def of_fast_reid(query, gallery):
    off = types.SimpleNamespace(ENABLED=False)
    settings = types.SimpleNamespace(TEST=types.SimpleNamespace(
        METRIC="cosine", AQE=off, RERANK=off, ROC=off))
    evaluator = compat.fastreid.ReidEvaluator(settings, len(query[0]))
    for features, identity, camera in (query, gallery):
        evaluator.process({"targets": torch.from_numpy(identity),
                           "camids": torch.from_numpy(camera)}, features)
    return {name: value / 100 for name, value in evaluator.evaluate().items()}


CLASSES = {
    "transreid": of_class(lambda n: compat.transreid.R1_mAP_eval(n)),
    "clip-reid": of_class(lambda n: compat.clip_reid.R1_mAP_eval(n)),
    "solider-reid": of_class(lambda n: compat.solider.R1_mAP_eval(n)),
    "reid-strong-baseline": of_class(lambda n: compat.strong_baseline.R1_mAP(n)),
    "reid-survey": of_class(lambda n: compat.reid_survey.r1_mAP_mINP(n)),
    "fast-reid": of_fast_reid}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_prints_what_the_toolboxs_own_does(name):
    recording = RECORDINGS[name]
    found = CLASSES[name](*batches(recording))
    compared = recording["answers"]["all"].keys() & found.keys()
    assert {"mAP", "Rank-1", "Rank-5", "Rank-10"} <= compared
    for metric in compared:
        theirs = recording["answers"]["all"][metric]
        bound = 2e-7 if metric in recording["float32"] else DOUBLE
        assert float(found[metric]) == pytest.approx(theirs, rel=0, abs=bound), metric
