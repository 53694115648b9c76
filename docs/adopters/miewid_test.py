"""One against all, held to reid-ref (its checkout installed; from the root)."""
from reid_ref import CONVENTIONS, testing

RULE = CONVENTIONS["torchreid-function"].replace(ignored=("itself",))


@testing.parametrize(RULE)
def test_eval_onevsall(check):
    check("wbia_miew_id/metrics/eval_onevsall.py:eval_onevsall")
