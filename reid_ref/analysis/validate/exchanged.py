"""Numbers under the wrong name: Rank-5 as Rank-1, columns shifted, errors as accuracies."""
from collections.abc import Collection, Mapping
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from reid_ref.analysis.validate.candidates import Way
from reid_ref.analysis.validate.search import ACCIDENTS, share_of_accidents
from reid_ref.datasets.published import Figure, agreement

#: What tables print beside each other.
COLUMNS = ("Rank-1", "mAP", "mINP", "Rank-5", "Rank-10")
#: Numbers of a figure whose orders are tried: of more there are too many.
MOST = 4


class Exchanged(NamedTuple):
    """What prints a figure under other names.

    Parameters
    ----------
    ways : tuple of Way
    measures : dict of str to str
        By the printed name, the measure whose number it is.
    errors : bool
        Each printed number is 100 less that of the measure.
    accidents : float
        The share of random figures that some way prints so.
    """

    ways: tuple[Way, ...]
    measures: dict[str, str]
    errors: bool
    accidents: float


def exchanged_numbers(figure: Figure, numbers: Mapping[Way, Mapping[str, float]],
                      counts: Collection[int]) -> Exchanged | None:
    """Return what prints several numbers under other names, if accidents are rare.

    `numbers`: of each way, by measure. `counts`: the numbers of queries that Rank-k may be over.

    Examples
    --------
    >>> from reid_ref.datasets.published import parse_figure
    >>> numbers = {Way("normalised", "matlab", ""): {"Rank-1": .9, "mAP": .4567, "Rank-5": .95}}
    >>> exchanged_numbers(parse_figure("95.00/45.67"), numbers, [100]).measures
    {'Rank-1': 'Rank-5', 'mAP': 'mAP'}
    """
    printed = figure.numbers()
    if not 2 <= len(printed) <= MOST:
        return None
    found: dict[tuple[bool, tuple[str, ...]], list[Way]] = {}
    points = set()
    for errors, (way, measured) in product((False, True), numbers.items()):
        values = {name: 1 - value if errors else value for name, value in measured.items()}
        for names in permutations(values, len(printed)):
            if errors or names != tuple(printed):
                points.add(tuple(values[name] for name in names))
                if all(agreement(values[name], digits) == "rounded"
                       for name, digits in zip(names, printed.values(), strict=True)):
                    found.setdefault((errors, names), []).append(way)
    if not found:
        return None
    (errors, names), ways = next(iter(found.items()))
    share = share_of_accidents(np.array(list(points)), printed, counts)
    measures = dict(zip(printed, names, strict=True))
    return Exchanged(tuple(ways), measures, errors, share) if share <= ACCIDENTS else None
