from oml.functional.metrics import LongTensor, calc_retrieval_metrics
from reid_ref import testing


@testing.parametrize("light-reid", junk=False, except_={"nothing kept": "1 if nothing is kept"})
def test_calc_retrieval_metrics(check):
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        kept = (g_pids != q_pids[:, None]) | (g_camids != q_camids[:, None])
        lists = [LongTensor([k for k in row.argsort() if on[k]]) for row, on in zip(distmat, kept)]
        good = [LongTensor([k for k in ids if g_pids[k] == p]) for ids, p in zip(lists, q_pids)]
        return calc_retrieval_metrics(lists, good, cmc_top_k=(1, 5), map_top_k=(len(g_pids),))
    check(evaluate)
