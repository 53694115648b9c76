"""The published re-ranking codes: one frozen record each.

All are k-reciprocal re-ranking with k1=20, k2=6, lambda=0.3, but they compute different distances.
Each record is tested against recorded answers of its code (`fixtures/peers/rerank`).
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def half_away(k1: int) -> int:
    """Return MATLAB's round((k1 + 1) / 2), which rounds a half away from zero.

    Examples
    --------
    >>> [half_away(k1) for k1 in (18, 19, 20, 21)]
    [10, 10, 11, 11]
    """
    return (k1 + 2) // 2


def half_to_even(k1: int) -> int:
    """Return numpy's int(around(k1 / 2)) + 1, which rounds a half to the even number.

    Differs from `half_away` for k1 = 3, 7, 11, ..., 19, 23.

    Examples
    --------
    >>> [half_to_even(k1) for k1 in (18, 19, 20, 21)]
    [10, 11, 11, 11]
    """
    return round(k1 / 2) + 1


@dataclass(frozen=True)
class Variant:
    """One published code.

    Parameters
    ----------
    source : str
        Repository and file.
    distance : {"squared", "fourth", "cosine-fourth"}
        The squared Euclidean distance, its square, or the square of 2 - 2 q.g.
    window : callable
        k1 to the number of neighbours of a candidate, itself included.
    itself : int
        1: the first k1 + 1 neighbours of an image are used, itself included; 0: the first k1.
    scaled : bool
        Distances are divided by the largest of their row. If not, the original distance in the
        final sum is 1 - cosine for normalised features, else the squared Euclidean distance, and
        a Jaccard distance below 0 (rounding) becomes 0.
    precision : str
        That of features and distances; "features": that of the given features.
    stored : str
        Precision of encodings and Jaccard distances.
    junk : {"in", "out", "caller"}
        Whether the code's own evaluator re-ranks a gallery with images labelled -1.
    """

    source: str
    distance: str = "squared"
    window: Callable[[int], int] = half_to_even
    itself: int = 1
    scaled: bool = True
    precision: str = "float32"
    stored: str = "float32"
    junk: str = "out"


#: By name. `rerank` says what they share.
VARIANTS = {
    "matlab": Variant(
        "zhunzhong07/person-re-ranking evaluation/utils/re_ranking.m",
        window=half_away, precision="features", junk="in"),
    "ranklist": Variant(
        "zhunzhong07/person-re-ranking python-version/re_ranking_ranklist.py, fed with Euclidean "
        "distances", junk="caller"),
    "torchreid": Variant(
        "KaiyangZhou/deep-person-reid torchreid/utils/rerank.py, fed with squared Euclidean "
        "distances, as its engine does", distance="fourth"),
    "layumi": Variant(
        "layumi/Person_reID_baseline_pytorch re_ranking.py, fed with dot products, as "
        "evaluate_rerank.py does", distance="cosine-fourth", junk="in"),
    "strong-baseline": Variant(
        "michuanhaohao/reid-strong-baseline utils/re_ranking.py (ReID-Survey's is the same)",
        stored="float16"),
    "fast-reid": Variant(
        "JDAI-CV/fast-reid fastreid/utils/compute_dist.py and evaluation/reid_evaluation.py",
        itself=0, scaled=False),
}
