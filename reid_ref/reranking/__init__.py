"""k-reciprocal re-ranking on sparse neighbourhoods; `reid_ref.rerank` is its front door.

variants (what each published code computes) -> pairs (distances) -> neighbours (the nearest of
every image) -> encoding (sparse weights, Jaccard distances).

Source: Z. Zhong, L. Zheng, D. Cao, S. Li, Re-ranking person re-identification with k-reciprocal
encoding, CVPR 2017.
"""
