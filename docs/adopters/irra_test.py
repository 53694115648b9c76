"""The evaluation of CUHK-PEDES, held to reid-ref (its checkout installed; from the root)."""
from reid_ref import testing


@testing.parametrize("cuhk-pedes", except_={
    "queries without a match": "IndexError in mINP where a query has no match",
    "small gallery": "IndexError in mINP where a query has no match"})
def test_rank(check):
    check("utils/metrics.py:rank")
