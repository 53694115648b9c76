"""SYSU-MM01's evaluation, held to reid-ref (its checkout installed; from the root)."""
from reid_ref import testing


@testing.parametrize("sysu-mm01", except_={
    "only same camera": "ValueError: fewer identities than max_rank",
    "small gallery": "the same",
    "ties": "numpy's default sort is not stable"})
def test_eval_sysu(check):
    check("test_sysu.py:eval_sysu")
