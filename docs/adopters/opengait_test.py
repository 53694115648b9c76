"""Gait3D's evaluation, held to reid-ref (its checkout installed; from the root)."""
from reid_ref import CONVENTIONS, testing

RULE = CONVENTIONS["torchreid-function"].replace(
    ignored=("same identity, same view",), unmatched="drop-from-map")


@testing.parametrize(RULE)
def test_compute_ACC_mAP(check):
    check("opengait/evaluation/metric.py:compute_ACC_mAP")
