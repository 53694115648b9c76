"""Variations: what people did to features, labels or numbers, besides the choice of an evaluator.

A variation is a record with small functions: what it does to a `ResultFile`, to a convention, to
the ranking, or to a result. `validate` tries them all where no convention gives a printed figure,
and `explain` shows the effect of one.
"""
from reid_ref.variations.evaluation import (
    Chain, VariedResult, chains_of, outcomes_of, passes_of, chains_that_apply, varied)
from reid_ref.variations.records import VARIATIONS, every_variation, find_variation
from reid_ref.variations.variation import Variation

__all__ = ["Chain", "VariedResult", "VARIATIONS", "Variation", "chains_of", "every_variation",
           "find_variation", "outcomes_of", "passes_of", "chains_that_apply", "varied"]
