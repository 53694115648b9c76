"""AP of the first 500 places, held to reid-ref (its checkout installed; from the root)."""
from reid_ref import CONVENTIONS, testing

RULE = CONVENTIONS["torchreid"].replace(top_k=500, recall="found", cut="before-ignoring")


@testing.parametrize(RULE, except_={
    "small gallery": "ValueError where a query keeps fewer images than max_rank"})
def test_eval_func(check):
    check("reid/evaluation/evaluators.py:Evaluator.eval_func")
