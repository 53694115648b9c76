"""Benchmarks that need more than one set of queries and one gallery."""
