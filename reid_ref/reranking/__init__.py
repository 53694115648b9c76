"""k-reciprocal re-ranking on sparse neighbourhoods; `reid_ref.rerank` calls it.

`variants` (what each published code computes), `neighbours` (distances, and the nearest images of
every image), `encoding` (sparse weights, Jaccard distances), `k_reciprocal` (public functions).

Source: Z. Zhong, L. Zheng, D. Cao, S. Li, Re-ranking person re-identification with k-reciprocal
encoding, CVPR 2017.
"""
