"""Distances, features or ranked lists to `GoodRanks`: the ranks of the good images among the kept.

A rank is a count of kept images that come before, so counts add up over tiles, threads and shards.
"""
