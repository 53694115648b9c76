"""re_ranking.m: distances after k-reciprocal encoding."""
import numpy as np
import numpy.typing as npt

from reid_ref.matlab.MahDist import MahDist
from reid_ref.matlab._inputs import Integers, re_ranking_inputs
from reid_ref.matlab._values import (
    add_up_rows, divide_rows, exponential, ismember, mean_of_columns, product, round_half_away,
    sort_ascending, unique, weigh)

Singles = npt.NDArray[np.float32]


# re_ranking.m:1 | function final_dist = re_ranking(feat, M, W, query_num, k1, k2, lambda)
def re_ranking(
        feat: npt.ArrayLike, M: npt.ArrayLike, W: npt.ArrayLike, query_num: int, k1: int, k2: int,
        lambda_: float) -> Singles:
    """Return the distances of queries and gallery, re-ranked by their reciprocal neighbours.

    Parameters
    ----------
    feat : array_like of float, shape (d, n)
        Features, one *column* an image, the queries first.
    M : array_like of float, shape (p, p), or a scalar
        The metric of `MahDist`; 1 gives squared Euclidean distances.
    W : array_like of float, shape (d, p), or a scalar
        Projection of the features, as XQDA learns it; 1 leaves them as they are.
    query_num : int
        Number of queries, 1 to n - 1.
    k1 : int
        How many neighbours may be reciprocal, 1 to n - 1; the paper has 20.
    k2 : int
        Over how many neighbours an encoding is averaged, 1 (not at all) to n; the paper has 6.
    lambda_ : float
        Share of the original distance, 0 to 1; the paper has 0.3.

    Returns
    -------
    final_dist : ndarray of float32, shape (n - query_num, query_num)
        Gallery x query, as `evaluation` wants it. The row of an image at distance 0 from all
        images is NaN.

    Raises
    ------
    ValueError
        Not real, shapes that do not fit, a number out of its range.

    Notes
    -----
    Distances are single if `feat` or `W` is float32; the encoding is always single. Distances
    are squared; each row is divided by its maximum after ranking; images labelled -1 are
    included. Memory: two n x n matrices of the precision of `feat`, one of integers and one or
    two of singles.

    Source: ``re_ranking.m`` of zhunzhong07/person-re-ranking, commit 278f2c7,
    ``evaluation/utils``. Z. Zhong, L. Zheng, D. Cao, S. Li: Re-ranking person
    re-identification with k-reciprocal encoding, CVPR 2017.

    Examples
    --------
    Two queries, at 0 and 5; the gallery stands at 1, 2 and 6:

    >>> feat = np.array([[0.0, 5.0, 1.0, 2.0, 6.0]])
    >>> re_ranking(feat, 1, 1, query_num=2, k1=2, k2=1, lambda_=0.3).round(4)
    array([[0.0356, 0.892 ],
           [0.1154, 0.808 ],
           [1.    , 0.0353]], dtype=float32)
    """
    feat, M, W, query_num, k1, k2, lambda_ = re_ranking_inputs(
        feat, M, W, query_num, k1, k2, lambda_)

    # re_ranking.m:20-23 | X = feat' * W;
    X = product(feat.T, W)
    original_dist = MahDist(M, X, X)
    n = len(original_dist)
    initial_rank = np.array([sort_ascending(row) for row in original_dist])

    # re_ranking.m:26-27 | farthest = max(original_dist, [], 2);
    farthest = np.fmax.reduce(original_dist, axis=1)
    original_dist = divide_rows(original_dist, farthest)

    # re_ranking.m:30-32 | half = round((k1 + 1) / 2);
    half = round_half_away((k1 + 1) / 2)
    V = np.zeros((n, n), np.float32)
    for i in range(n):
        # re_ranking.m:33-35 | reciprocal = k_reciprocal(initial_rank, i, k1 + 1);
        reciprocal = k_reciprocal(initial_rank, i, k1 + 1)
        expansion = reciprocal
        for j in range(len(reciprocal)):
            # re_ranking.m:36-41 | brought = k_reciprocal(initial_rank, reciprocal(j), half);
            brought = k_reciprocal(initial_rank, reciprocal[j], half)
            known = ismember(brought, reciprocal)
            if known.sum() > 2 / 3 * len(brought):
                expansion = np.concatenate((expansion, brought))
        # re_ranking.m:42-45 | expansion = unique(expansion);
        expansion = unique(expansion)
        weight = exponential(-original_dist[i, expansion])
        V[i, expansion] = divide_rows(weight, add_up_rows(weight))

    # re_ranking.m:48-50 | if k2 ~= 1
    if k2 != 1:
        V_qe = np.zeros((n, n), np.float32)
        for i in range(n):
            # re_ranking.m:51-55 | nearest = V(initial_rank(i, 1:k2), :);
            nearest = V[initial_rank[i, :k2]]
            V_qe[i] = mean_of_columns(nearest)
        V = V_qe

    # re_ranking.m:58-59 | jaccard_dist = zeros(query_num, n, 'single');
    jaccard_dist = np.zeros((query_num, n), np.float32)
    for i in range(query_num):
        # re_ranking.m:60-63 | used = V(i, :) ~= 0;
        used = V[i] != 0
        shared = add_up_rows(np.fmin(V[i, used], V[:, used]))
        jaccard_dist[i] = 1 - shared / (2 - shared)

    # re_ranking.m:65-67 | original_dist = original_dist(1:query_num, :);
    original_dist = original_dist[:query_num]
    final_dist: Singles = weigh(jaccard_dist, 1 - lambda_) + weigh(original_dist, lambda_)
    final_dist = final_dist[:, query_num:].T
    return final_dist


# re_ranking.m:70 | function neighbours = k_reciprocal(initial_rank, i, k)
def k_reciprocal(initial_rank: Integers, i: int, k: int) -> Integers:
    """Return the first `k` of image `i` that have `i` among their own first `k`."""
    # re_ranking.m:73-75 | forward = initial_rank(i, 1:k);
    forward = initial_rank[i, :k]
    backward = initial_rank[forward, :k]
    neighbours: Integers = forward[(backward == i).any(axis=1)]
    return neighbours
