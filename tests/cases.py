"""Made inputs that several test files share."""
import numpy as np

from reid_ref import Labels


def market_like(seed, n_query=12, n_gallery=80, identities=6, cameras=4, levels=None,
                dtype=np.float64):
    """Random distances and labels with junk (-1), distractors (0) and unknown identities.

    `levels`: draw distances from so many whole numbers, so that they tie.
    """
    rng = np.random.default_rng(seed)
    gallery = Labels(
        rng.integers(-1, identities, n_gallery), rng.integers(1, cameras + 1, n_gallery))
    query = Labels(
        rng.integers(-1, identities + 1, n_query), rng.integers(1, cameras + 1, n_query))
    if levels is None:
        distances = rng.standard_normal((n_query, n_gallery))
    else:
        distances = rng.integers(0, levels, (n_query, n_gallery)).astype(np.float64)
    return distances.astype(dtype), query, gallery


def special(seed, **sizes):
    """As `market_like`, with NaN, Inf, -Inf, -0 and ties among the distances."""
    distances, query, gallery = market_like(seed, **sizes)
    rng = np.random.default_rng(seed + 1)
    distances = distances.round(1)
    for value in (np.nan, np.inf, -np.inf, 0.0, -0.0):
        distances[rng.random(distances.shape) < 0.1] = value
    return distances, query, gallery
