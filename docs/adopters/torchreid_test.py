"""Market-1501's evaluation, held to reid-ref (its checkout installed; from the root)."""
from reid_ref import testing


@testing.parametrize("torchreid", except_={
    "small gallery": "ValueError where a query keeps fewer images than max_rank"})
def test_evaluate_rank(check):
    check("torchreid/metrics/rank.py:evaluate_rank", use_cython=False)
