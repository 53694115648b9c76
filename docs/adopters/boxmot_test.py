"""Market-1501's evaluation, held to reid-ref (its checkout installed; from the root)."""
from reid_ref import testing


@testing.parametrize("torchreid", except_={
    "small gallery": "ValueError where a query keeps fewer images than max_rank",
    "nothing kept": "mAP is 0 where no query has a match"})
def test_evaluate_ranking(check):
    check("boxmot/reid/training/evaluator.py:evaluate_ranking")
