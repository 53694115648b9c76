"""The checks: one record each, with the sentence that it stands for."""
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from reid_ref.conventions import Convention
from reid_ref.foreign.arrays import Arrays
from reid_ref.labels import JUNK
from reid_ref.testing import problems


class Check(NamedTuple):
    """One check.

    Parameters
    ----------
    name, sentence : str
        Its pytest id, and what an evaluator that passes does.
    problems : callable
        (convention, whether one set is evaluated against itself) to the problems.
    judge : str
        How answers are judged; "numbers": they are those of the rule.
    of_rule : bool
        Whether the problems tell rules apart.
    takes_sides : bool
        Whether it needs two sets.
    """

    name: str
    sentence: str
    problems: Callable[[Convention, bool], list[Arrays]]
    judge: str = "numbers"
    of_rule: bool = False
    takes_sides: bool = False


_UNSORTED = problems.renamed(907, 12, 340, 5, 10_907, 28)
CHECKS = {check.name: check for check in (
    Check("plain", "It gives the rule's numbers where every query has a match.",
          problems.plain, of_rule=True),
    Check("long gallery", "All of a list of 1,100 images counts, or as much of it as the rule "
          "counts.", problems.long, of_rule=True, takes_sides=True),
    Check("queries without a match", "A query whose identity is not in the gallery counts as the "
          "rule counts it.", problems.unmatched, of_rule=True),
    Check("only same camera", "A query whose images are all on its own camera counts as the rule "
          "counts it.", problems.only_same_camera, of_rule=True, takes_sides=True),
    Check("label 0", "Images and queries labelled 0 are what the rule makes of them.",
          problems.distractors, of_rule=True, takes_sides=True),
    Check("label -1", "Images labelled -1 are ignored, or what the rule makes of them.",
          problems.junk_gallery, of_rule=True, takes_sides=True),
    Check("queries labelled -1", "A query labelled -1 counts as the rule counts it.",
          problems.junk_queries, of_rule=True, takes_sides=True),
    Check("small gallery", "A gallery shorter than the longest rank is evaluated, even of right "
          "answers only.",
          problems.small_gallery, of_rule=True),
    Check("one query", "One query alone is evaluated.", problems.one_query, takes_sides=True),
    Check("nothing kept", "Without any match it gives the rule's numbers or, if the rule has "
          "none, an exception or NaN.", problems.nothing_kept, takes_sides=True),
    Check("large identities", "Identities that agree in 8, 16, 24 or 32 bits stay apart.",
          problems.renamed(2**24 + 7, 2**24 + 8, 7, 2**8 + 7, 2**16 + 7, 2**32 + 7)),
    Check("negative identities", "Identities below -1 are identities.",
          problems.renamed(-7, 7, -300, 300, -2, 12)),
    Check("unsorted identities", "Identities may have gaps, any order and the same last digits.",
          _UNSORTED),
    Check("many queries", "The mean is over all of 2,111 queries; there may be as many "
          "queries as images.", problems.many_queries, takes_sides=True),
    Check("many matches", "An identity may have 400 images.", problems.many_matches,
          takes_sides=True),
    Check("very long gallery", "All of a list of 70,000 images counts, or as much of it as the "
          "rule counts.", problems.very_long, takes_sides=True),
    Check("any cameras", "Cameras may be -1, 0 or any number.", problems.cameras,
          takes_sides=True),
    Check("any distances", "Distances may be 0, and have any sign and size.",
          problems.any_distances),
    Check("infinite distances", "Infinite distances are the farthest, or end in an exception.",
          problems.infinite, "infinite distances"),
    Check("NaN distances", "Images whose distance is NaN are not the nearest.",
          problems.with_nan, "nan"),
    Check("ties", "With equal distances each number lies between the least and the most that "
          "their order allows, and is that of gallery order if the rule defines it.",
          problems.ties, "ties", takes_sides=True),
    Check("double distances", "Distances that differ only in double precision are ranked, not "
          "tied, if the rule is in double precision.", problems.near),
    Check("float32 distances", "Distances may be float32.",
          problems.of_dtype(np.float32)),
    Check("integer distances", "Distances may be whole numbers, signed or unsigned.",
          problems.of_dtype(np.int64, np.uint8)),
    Check("numpy", "It uses no name that numpy has removed.", problems.plain, "numpy"),
    Check("inputs unchanged", "It does not change its arguments.", problems.plain, "unchanged"),
    Check("the same answer twice", "The same arrays give the same numbers, ties included.",
          problems.ties, "twice"),
    Check("memory order", "The matrix may lie in memory column by column, or end in an exception.",
          problems.plain, "a matrix by columns"),
    Check("labels of 16 bits", "Labels in 16 bits give the same numbers, or an exception.",
          _UNSORTED, "int16"),
    Check("labels as lists", "Labels in lists give the same numbers, or an exception.",
          problems.plain, "lists"),
    Check("labels as tensors", "Labels in tensors give the same numbers, or an exception.",
          problems.plain, "tensors"))}


def checks_of(convention: Convention, junk: bool | None = None) -> list[Check]:
    """Return the checks that a rule is tested by.

    Parameters
    ----------
    convention : Convention
    junk : bool, optional
        Whether images labelled -1 are handed over. Default: where the rule itself decides what
        becomes of them, and not its loader.

    Examples
    --------
    >>> from reid_ref.conventions import CONVENTIONS
    >>> names = [check.name for check in checks_of(CONVENTIONS["torchreid"])]
    >>> "ties" in names, "label -1" in names
    (True, False)
    """
    given = convention.loads == "all images" if junk is None else junk
    return [check for check in CHECKS.values() if given or f"label {JUNK}" not in check.name
            and f"labelled {JUNK}" not in check.name]
