"""How much is measured: a full run, and a quick one to try it."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """How much is measured; `share` of Market-1501's identities, junk and distractors.

    `beside`: the commit, or the checkout, whose search is beside ours.
    """

    share: float
    repetitions: int
    slow_repetitions: int
    octave_queries: int
    dims: tuple[int, ...]
    growth: tuple[int, ...]
    growth_dims: int
    starts: int
    beside: str = "65076e5b"


FULL = Size(share=1, repetitions=7, slow_repetitions=2, octave_queries=100, dims=(512, 2048),
            growth=(19_732, 40_000, 80_000, 160_000, 320_000, 519_732), growth_dims=512,
            starts=10)
QUICK = Size(share=0.05, repetitions=2, slow_repetitions=1, octave_queries=10, dims=(64, 128),
             growth=(987, 2_000, 4_000), growth_dims=64, starts=2)
