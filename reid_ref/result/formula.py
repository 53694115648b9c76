"""The formula: from the ranks of good images to the numbers of a convention, every step in order.

An evaluation, a saved result and a variation call it. Results that are not of ranks enter at a
step: drawn and counted identities at the curve, other rules of AP at the values (a measure with
another `of_ranks`), expectations and means over trials at the mean
(`Result._mean_of`).
"""
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from reid_ref.arrays import Doubles, Mask
from reid_ref.conventions import Convention
from reid_ref.measures import Measure
from reid_ref.ranking.good_ranks import GoodRanks, in_blocks, of_queries


class Numbers(NamedTuple):
    """What the formula gives, of the n queries that are loaded.

    Parameters
    ----------
    ranks : GoodRanks
        In the convention's order of ties, and with what a cut of the list loses: the ranks that a
        result keeps.
    cut : GoodRanks
        The same, cut where the convention cuts lists.
    values : dict of str to float64, shape (n,)
        Each query's value, by the name of the measure.
    means : dict of str to float
    curve : float64, shape (length,)
        The CMC curve.
    """

    ranks: GoodRanks
    cut: GoodRanks
    values: dict[str, Doubles]
    means: dict[str, float]
    curve: Doubles


def numbers(ranks: GoodRanks, convention: Convention, measures: Iterable[Measure], loaded: Mask,
            curve: Callable[[GoodRanks], Doubles], *, matched: Mask | None = None,
            whole: Callable[[], GoodRanks] | None = None, n_gallery: int | None = None,
            known: Mapping[str, Doubles] | None = None) -> Numbers:
    """Return the numbers of these ranks under a convention.

    Parameters
    ----------
    ranks : GoodRanks
        Of all queries.
    loaded : bool, shape (n_query,)
        The queries that the convention's loader passes on.
    curve : callable
        Ranks cut where the convention cuts lists, to the CMC curve.
    matched : bool, shape (n,), optional
        Which loaded queries have a match. Default: those that have a good image.
    whole : callable, optional
        To the ranks under `Convention.of_whole_list`. None: `ranks` are those of a result, in the
        convention's order of ties and with what a cut loses.
    n_gallery : int, optional
        Loaded gallery images, if lists may end before the last of them.
    known : mapping of str to float64, shape (n,), optional
        Values of loaded queries that need not be computed.

    Examples
    --------
    >>> from reid_ref.conventions import CONVENTIONS
    >>> from reid_ref.measures import MEASURES
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> matlab, lists = CONVENTIONS["matlab"], from_lists([[1, 4, 5], [2, 3]], n_kept=5)
    >>> found = numbers(lists, matlab, [MEASURES["mINP"]], np.array([True, True]),
    ...                 lambda cut: matlab.curve_of_ranks(cut, length=5))
    >>> found.values["mINP"].round(2), round(found.means["mINP"], 2), found.curve
    (array([0.6 , 0.67]), 0.63, array([0.5, 1. , 1. , 1. , 1. ]))
    """
    values, means = dict(known or {}), {}
    in_list = of_queries(ranks, loaded)
    if whole is not None:
        in_order = convention.in_order(in_list)
        in_list = convention.in_cut_list(
            in_order, lambda: convention.in_order(of_queries(whole(), loaded)))
    for which in measures:
        if which.name not in values:
            listed = in_list if which.is_whole else convention.cut_list(in_list)
            of_query = np.concatenate([which.of_ranks(block, convention, which.k or 0)
                                       for block in in_blocks(listed)])
            values[which.name] = which.as_known(of_query, in_list, convention, n_gallery)
        counted = convention.counted(values[which.name], in_list.n_good, matched)
        means[which.name] = convention.mean(counted)
    cut = convention.cut_off(in_list)
    return Numbers(in_list, cut, values, means, curve(cut))
