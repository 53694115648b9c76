"""Learnt metrics of the MATLAB drivers: XQDA, KISSME with its components, and training pairs.

Aim: to learn from training features the metrics that the drivers of Market-1501, CUHK03 and MARS
learn: XQDA (Liao et al., CVPR 2015), KISSME (Koestinger et al., CVPR 2012) on 200 components, and
the Mahalanobis distance of similar pairs.

Conventions: features have one row an image. A metric is a symmetric matrix M; the squared
distance of two features is (x - y) M (x - y)', and smaller is nearer. M of XQDA need not be
definite, so its distances may be negative. All random choices are arguments (`order`, `draws`),
so that two runs, or Octave and Python, can use the same pairs.

Sources: the papers, and the behaviour of the code in zhunzhong07/person-re-ranking (278f2c7),
zhunzhong07/IDE-baseline-Market-1501 (8be027b) and liangzheng06/MARS-evaluation (3a91bbc), run
in GNU Octave. ``matlab_ref/`` has `XQDA`, `xqda_pairs`, `kissme_pairs`, `pca_ide`, `pca_mars`
and `kissme_metric`, which do the same.

Differences from that code, none above the rounding of the arithmetic:

1. A covariance that cannot be inverted is refused; that code warns, and its metric is infinite
   or noise.
2. M is made symmetric before it is used. In that code the last bits of an inverse may differ
   across the diagonal.
3. `pca` works on the smaller side, d x d or n x n. For Market-1501 the IDE driver decomposes
   a 12,936 x 12,936 matrix, whose leading vectors follow from a 2,048 x 2,048 one.
4. `pca` and `kissme` compute in double, as the IDE and the MARS driver do. `xqda` computes in
   single precision on float32 features, as the Market-1501 driver does (the others: double).

The signs of W's columns and of components are arbitrary and differ between libraries; distances
do not depend on them.
"""
from reid_ref.metric_learning.metric import (
    N_COMPONENTS, kissme, mahalanobis_distances, pca, similar_pairs_metric, xqda)
from reid_ref.metric_learning.pairs import N_DRAWS, kissme_pairs, xqda_pairs

#: Relative difference within which two correct metrics in double may disagree, as distances
#: over the largest one: matrices are inverted, so rounding (1e-16) grows with their condition
#: number. With 3e3, the largest that was measured, Octave and Python were 5e-14 apart.
TOLERANCE = 1e-10

__all__ = [
    "N_COMPONENTS", "N_DRAWS", "TOLERANCE", "kissme", "kissme_pairs", "mahalanobis_distances",
    "pca", "similar_pairs_metric", "xqda", "xqda_pairs",
]
