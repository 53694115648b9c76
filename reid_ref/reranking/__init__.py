"""k-reciprocal re-ranking on sparse neighbourhoods; `reid_ref.rerank` calls it.

`neighbours` (distances, and the nearest images of every image), `encoding` (what each published
code computes; sparse weights, Jaccard distances), `settings` (what a convention's toolbox does by
default), `k_reciprocal` (public functions).

Source: Z. Zhong, L. Zheng, D. Cao, S. Li, Re-ranking person re-identification with k-reciprocal
encoding, CVPR 2017.
"""
