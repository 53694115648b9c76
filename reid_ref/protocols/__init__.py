"""Benchmarks with more to them than one query set and one gallery."""
