"""Distances, features or ranked lists to `GoodRanks`: the ranks of the good images among the kept.

A rank is one more than the number of kept images before it; these counts add up over tiles,
threads and shards.
"""
