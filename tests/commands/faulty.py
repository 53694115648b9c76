"""Evaluators for `test_crosscheck_child`, here where another process can import them.

Each takes torchreid's arguments. `sound` is the one that the others spoil.
"""
import os

import numpy as np


def sound(distmat, q_pids, g_pids, q_camids, g_camids, max_rank=50):
    aps, curves = [], []
    for row, pid, cam in zip(distmat, q_pids, q_camids):
        order = np.argsort(row, kind="stable")
        same = g_pids[order] == pid
        hits = same[~(same & (g_camids[order] == cam))]
        if hits.any():
            precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
            aps.append(precision[hits].mean())
            curves.append(np.maximum.accumulate(hits)[:max_rank])
    return np.mean(curves, axis=0), np.mean(aps)


def leaves(*_):
    os._exit(7)
