"""What the published re-ranking codes compute: one frozen record each.

They all say "k-reciprocal, k1=20, k2=6, lambda=0.3" and are different computations. Each record
is checked against recorded answers of that code (`fixtures/peers/rerank`).
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


def half_even_and_one(k1: int) -> int:
    """Return numpy's int(around(k1 / 2)) + 1, which rounds a half to the even number.

    Differs from `half_away` for k1 = 3, 7, 11, ..., 19, 23.

    Examples
    --------
    >>> [half_even_and_one(k1) for k1 in (18, 19, 20, 21)]
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
        Inside: the squared Euclidean distance, that squared again, or (2 - 2 q.g) squared.
    window : callable
        k1 to the number of neighbours of a candidate, itself included.
    own : int
        1: an image's first k1 + 1 neighbours are looked at, itself included; 0: its first k1.
    scaled : bool
        Distances are divided by their row's largest. If not, the distance in the final mix is
        1 - cosine where features are normalised, else the squared Euclidean distance, and a
        Jaccard distance below 0 (rounding) becomes 0.
    precision : str
        Of features and distances: "features" is that of the caller's features.
    stored : str
        Precision of encodings and Jaccard distances.
    junk : {"in", "out", "caller"}
        Whether images of label -1 are in the gallery that its own evaluator re-ranks.
    """

    source: str
    distance: str = "squared"
    window: Callable[[int], int] = half_even_and_one
    own: int = 1
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
        own=0, scaled=False),
}
