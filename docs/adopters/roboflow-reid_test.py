"""Market-1501's evaluation, held to reid-ref (its checkout installed; from the root)."""
from reid_ref import testing


@testing.parametrize("torchreid", junk=True, except_={
    "nothing kept": "mAP is 0 where no query has a match"})
def test_compute_reid_metrics(check):
    check("reid/eval/metrics.py:_compute_reid_metrics")
