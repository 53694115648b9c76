"""Conventions: what an evaluator counts, and how, as frozen records.

Numbers can be compared only under one convention. A record holds every choice that could change
a number, its source, and its differences from `matlab` with their direction. A toolbox's name
means its loader and its evaluator; `NAME-function` is the evaluator alone.
"""
from reid_ref.conventions.choices import (
    AP, ARITHMETIC, CHOICES, CMC, CMC_LENGTH, CUT, IGNORED, JUNK_MATCH, LOADS, METRICS, RECALL,
    TIES, UNLISTED, UNMATCHED, Rule, choice_text, is_only_ignored, only_ignored)
from reid_ref.conventions.convention import NO_CHOICES, Convention, Reranking, loaded_images
from reid_ref.conventions.records import (
    ALIASES, CONVENTIONS, FUNCTIONS, NAMES, NOT_IN_ALL, SYSU_CAMERAS, TOOLBOXES, changed,
    check_known, choices_of_text, every_convention, find_convention, find_conventions, known_as,
    lacking_cameras, left_out)

__all__ = [
    "ALIASES", "AP", "ARITHMETIC", "CHOICES", "CMC", "CMC_LENGTH", "CONVENTIONS", "CUT",
    "Convention", "FUNCTIONS", "IGNORED", "JUNK_MATCH", "LOADS", "METRICS", "NAMES", "NOT_IN_ALL",
    "NO_CHOICES", "RECALL", "Reranking", "Rule", "SYSU_CAMERAS", "TIES", "TOOLBOXES", "UNLISTED",
    "UNMATCHED", "choice_text", "changed", "check_known", "choices_of_text", "every_convention",
    "find_convention", "find_conventions", "is_only_ignored", "known_as", "lacking_cameras",
    "left_out", "loaded_images", "only_ignored",
]
