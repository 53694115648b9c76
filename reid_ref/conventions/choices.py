"""The choices of a convention: for each field a table of values, with their words and behaviour.

`differs` is the difference from `matlab`, empty for the values that matlab has. It ends in a
direction: the number is higher, lower, the same, differs in its last bits, or either way.
"""
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from reid_ref import extensions, metrics
from reid_ref.arrays import Array, Doubles, Integers, Mask
from reid_ref.disk import tables_of
from reid_ref.labels import JUNK
from reid_ref.metrics import (
    DistanceRows, identity_ranks, single_gallery_shot, single_gallery_shot_draws)
from reid_ref.ranking.good_ranks import (
    GoodRanks, beyond, forget_junk_matches, reverse_ties, truncate)


#: The distances between features, each with its description.
METRICS = MappingProxyType({
    "euclidean": "squared Euclidean distance",
    "cosine": "1 - cosine of the angle",
    "dot": "negative dot product",
})


def _same(value: Any, *_: Any) -> Any:
    return value


class ChoiceValue(NamedTuple):
    """A value in words, and what it does, if that is not done elsewhere (`ranking.roles`).

    `short`: what images that are ignored for their query share with it; what a cut counts.
    """

    words: str
    differs: str = ""
    apply: Callable[..., Any] = _same
    short: str = ""


class Rule(NamedTuple):
    """An AP rule; `grouped`: with equal distances as one group; `float32`: in single precision.

    `has_steps`: precision stays the same from one good image to the next, so AP has steps.
    """

    exact: Callable[[GoodRanks], Doubles]
    grouped: Callable[[GoodRanks], Doubles] | None = None
    float32: Callable[[GoodRanks], Doubles] | None = None
    differs: str = ""
    has_steps: bool = False


class Unmatched(NamedTuple):
    """`counted`: AP or INP of each query, its number of good images, and whether it has a match,
    to what a mean takes.

    `answered`: ranks and the lengths of the ranked lists they are from, to the ranks that count.
    """

    words: str
    counted: Callable[[Doubles, Integers, Mask], Doubles]
    in_cmc: bool = True
    differs: str = ""
    answered: Callable[[GoodRanks, Integers], GoodRanks] = _same


class Ties(NamedTuple):
    """`order`: ranks in gallery order to ranks in this order.

    `sorts`: the order comes from sorting whole rows instead. `grouped`: AP takes ties as a group.
    """

    words: str
    order: Callable[[GoodRanks], GoodRanks]
    sorts: bool = False
    grouped: bool = False
    differs: str = ""


class Curve(NamedTuple):
    """A CMC curve.

    Parameters
    ----------
    words, short : str
        In full, and as a column of a list.
    curve : callable
        (ranks, or what `of_rows` gave of all queries; length; n_query) to the curve.
    of_rows : callable, optional
        (`DistanceRows`, length, random numbers) to values per query, where ranks are not enough.
    counts : bool
        Whether it counts queries, one each.
    draws : bool
        Whether it depends on random numbers.
    also_ignored : tuple of str
        Keys of `IGNORED`.
    of_query : callable, optional
        (ranks, k) to the values whose mean is Rank-k, where they follow from ranks.
    only_first : bool
        Whether they do for Rank-1 alone.
    """

    words: str
    short: str
    curve: Callable[[Any, int, int], Doubles]
    of_rows: Callable[[DistanceRows, int, np.random.RandomState], Array] | None = None
    counts: bool = False
    draws: bool = False
    also_ignored: tuple[str, ...] = ()
    differs: str = ""
    of_query: Callable[[GoodRanks, int], Doubles] | None = None
    only_first: bool = False

    def has_values(self, k: int) -> bool:
        """Return whether Rank-k is a mean of values that follow from ranks."""
        return self.of_query is not None and (k == 1 or not self.only_first)


class Arithmetic(NamedTuple):
    """A precision.

    `distances` casts them, `mean` takes AP or INP, and `curve` a curve that counts queries, with
    their number.
    """

    words: str
    distances: Callable[[Array], Array]
    mean: Callable[[Doubles], float]
    curve: Callable[[Doubles, int], Doubles]
    differs: str = ""


def _with_good(values: Doubles, n_good: Integers, matched: Mask) -> Doubles:
    return values[n_good > 0]


def _none_where_empty(ranks: GoodRanks, length: Integers) -> GoodRanks:
    return replace(ranks, n_good=np.where(length > 0, ranks.n_good, 0),
                   n_kept=np.where(length > 0, ranks.n_kept, 0))


def _in_first_places(ranks: GoodRanks, whole: Callable[[], GoodRanks], top_k: int) -> GoodRanks:
    return beyond(ranks, truncate(whole(), top_k))


def _of_identity_ranks(values: Array, length: int, n_query: int) -> Doubles:
    counts = np.bincount(values, minlength=length + 1)[1:length + 1]
    # get_cmc_multi_cam.m of SYSU-MM01 adds up shares, not counts.
    return np.cumsum(metrics.per_query_share(counts.astype(np.float64), n_query))


def _of_chances(values: Array, length: int, n_query: int) -> Doubles:
    matched = values[~np.isnan(values).any(axis=1)]
    total = np.cumsum(matched, axis=0)[-1] if len(matched) else np.zeros(values.shape[1])
    return metrics.per_query_share(total, n_query)


def _fewest_kept(identity: Integers, n_kept: Integers | None) -> int:
    if n_kept is None:
        return len(identity)
    return max(1, int(n_kept.min(initial=len(identity))))


def _curve_in_float32(curve: Doubles, n_query: int) -> Doubles:
    counts = (curve * n_query).round().astype(np.float32)
    return metrics.per_query_share(counts, n_query).astype(np.float64)


#: Which images a toolbox's loader passes on to its evaluator: identities to a mask.
LOADS = MappingProxyType({
    "all images": ChoiceValue(
        "all images", apply=lambda identity: np.ones(len(identity), dtype=np.bool_)),
    "without label -1": ChoiceValue(
        "all images but those labelled -1, which are neither query nor gallery",
        "Images labelled -1 are not loaded, where matlab ignores them: the same, but a query "
        "labelled -1 is left out",
        lambda identity: np.asarray(identity != JUNK)),
})

#: Which gallery images are ignored. The rest of the query's identity is good.
IGNORED = MappingProxyType({rule: ChoiceValue(**fields) for rule, fields in
                            tables_of("conventions/ignored.toml").items()})

#: What most Python evaluators ignore.
SAME_CAMERA = ("same identity, same camera",)


class _Rules(dict[str, Rule]):
    """The rules by name; another name is that of an installed package, which no list has."""

    def __missing__(self, name: str) -> Rule:
        rule = extensions.declared_record("ap_rule", name, Rule)
        if rule is None:
            raise KeyError(name)
        return rule if rule.differs else rule._replace(
            differs=f"AP by the rule {name!r} of an installed package: either way")


#: How average precision is computed.
AP: Mapping[str, Rule] = MappingProxyType(_Rules({
    "trapezoid": Rule(
        metrics.average_precision_trapezoid,
        grouped=metrics.average_precision_grouped_trapezoid,
        float32=metrics.average_precision_trapezoid_float32),
    "trapezoid-layumi": Rule(
        metrics.average_precision_layumi,
        differs="AP adds a recall step of 1/n instead of k/n - (k-1)/n: last bits"),
    "mistaken-trapezoid": Rule(
        metrics.average_precision_mistaken_trapezoid,
        differs="AP by a trapezoid that takes the precision of the good image before, not that "
                "of the position before: higher, never lower"),
    "step": Rule(
        metrics.average_precision_step, grouped=metrics.average_precision_grouped_step,
        float32=metrics.average_precision_step_float32,
        differs="AP by the step rule: higher, never lower", has_steps=True),
    "sklearn-0.18": Rule(
        metrics.average_precision_grouped_trapezoid,
        grouped=metrics.average_precision_grouped_trapezoid,
        differs="AP by scikit-learn 0.18: trapezoid, equal distances as one group: the same "
                "without ties"),
    "sklearn-0.19": Rule(
        metrics.average_precision_grouped_step, grouped=metrics.average_precision_grouped_step,
        differs="AP by scikit-learn since 0.19: step, equal distances as one group: higher "
                "without ties", has_steps=True),
}))

#: What recall, and so AP, divides by: good images that exist and in the list, and `top_k`, to it.
RECALL = MappingProxyType({
    "existing": ChoiceValue("the good images that exist"),
    "found": ChoiceValue(
        "the good images found in the list, or in its first K",
        "Recall is over the good images found in the list: higher where the list is cut",
        # A query whose good images are all after the cut has AP 0, not none.
        lambda n_good, in_list, top_k: np.where(in_list > 0, in_list, n_good)),
    "min(top_k, existing)": ChoiceValue(
        "the good images that exist, or K where more exist than the first K can hold",
        "Recall is over at most as many good images as the first K can hold: higher where more "
        "exist, the same where the list is not cut",
        lambda n_good, in_list, top_k: n_good if top_k is None else np.minimum(n_good, top_k)),
})

#: Which images `top_k` counts. The function takes a query's ranks, those in the whole list (made
#: only if called), and `top_k`, to ranks that know which of them the cut loses (`n_beyond`).
CUT = MappingProxyType({
    "after-ignoring": ChoiceValue(
        "kept images: ignored ones leave the list before it is cut", short="kept images"),
    "before-ignoring": ChoiceValue(
        "all images, ignored ones included, which leave the list after it is cut and are no "
        "match; images that are no candidates take no place",
        "Ignored images take places among those that the cut counts, so fewer kept ones are left: "
        "either way",
        _in_first_places, "images, ignored ones included,"),
})

#: What a good image beyond the end of a ranked list is, in a number that needs more places.
UNLISTED = MappingProxyType({
    "unknown": ChoiceValue(
        "unknown, and so is a number that needs more places than the list has"),
    "wrong": ChoiceValue(
        "wrong: numbers are over k, or all good images, whatever the list holds",
        "A good image beyond the end of a ranked list counts as wrong in every number, where "
        "P@k, R-Prec and their like are unknown by matlab: the same where lists are complete"),
})

#: What a query without a good image counts as in the means.
UNMATCHED = MappingProxyType({
    "zero": Unmatched(
        "AP 0, INP 0 and no match; counted",
        # Not every NaN: INP is unknown where a cut list lacks a good image.
        lambda values, n_good, matched: np.where(matched, values, 0.0)),
    "nan": Unmatched(
        "AP NaN, which makes mAP and mINP NaN; no match in CMC", _same,
        differs="A query without a good image makes mAP NaN, where matlab counts AP 0: CMC the "
                "same"),
    "drop": Unmatched(
        "left out of mAP, mINP and CMC", _with_good, in_cmc=False,
        differs="A query without a good image is dropped: higher"),
    "drop-from-map": Unmatched(
        "left out of mAP and mINP; no match in CMC, which divides by all queries", _with_good,
        differs="A query without a good image is left out of mAP but a miss in CMC: mAP higher"),
    "drop-unanswered": Unmatched(
        "left out of mAP and mINP, as is one whose ranked list is empty; no match in CMC, which "
        "divides by all queries", _with_good,
        differs="A query without a good image, or with an empty list, is left out of mAP but a "
                "miss in CMC: mAP higher",
        answered=_none_where_empty),
})

#: The order of images at equal distance.
TIES = MappingProxyType({
    "gallery-order": Ties("in gallery order, as MATLAB's stable sort leaves them", _same),
    "reversed": Ties(
        "in reversed gallery order (but for matches that are junk)", reverse_ties,
        differs="Equal distances are in reversed gallery order: either way"),
    "grouped": Ties(
        "AP: as one group, one point of the curve; the rest in gallery order", _same,
        grouped=True,
        differs="AP takes equal distances as one group: either way"),
    "numpy": Ties(
        "as this machine's numpy.argsort(distances) leaves them: not defined elsewhere", _same,
        sorts=True,
        differs="Equal distances are as this machine's numpy.argsort leaves them: either way"),
    "numpy-reversed": Ties(
        "as this machine's numpy.argsort(-distances)[::-1] leaves them; NaN last", _same,
        sorts=True,
        differs="Equal distances are as this machine's numpy.argsort leaves their negatives, "
                "reversed: either way"),
})

#: What a good image that is ignored as well does: the images of a query labelled -1, where
#: that label is ignored. Ranks to ranks with the first matches that count.
JUNK_MATCH = MappingProxyType({
    "raises-cmc": ChoiceValue(
        "a good image that is ignored raises the query's CMC curve, as in compute_AP.m"),
    "never": ChoiceValue(
        "a good image that is ignored is no match",
        "A query labelled -1 never matches, where matlab's rule lets its images, good and junk at "
        "once, raise its CMC curve: CMC lower",
        forget_junk_matches),
})

#: What the CMC curve counts.
CMC = MappingProxyType({
    "first-match": Curve(
        "queries whose first good image has rank k or less", "first",
        lambda ranks, length, n_query: metrics.cumulative_matching(
            ranks.first_match, length, n_query), counts=True, of_query=metrics.accuracy_at),
    "all-shots": Curve(
        "every good image, by the wrong images before it, with weight 1/good", "shots",
        metrics.cumulative_matching_all_shots,
        differs="CMC counts every good image, by the wrong ones before it: lower",
        of_query=metrics.all_shots_at),
    "identities": Curve(
        "queries whose identity is among the k nearest identities", "ids",
        _of_identity_ranks, identity_ranks,
        differs="CMC counts identities, not images: higher",
        # The nearest image is of the nearest identity.
        of_query=metrics.accuracy_at, only_first=True),
    "single-gallery-shot": Curve(
        "expectation over galleries of one image drawn from each identity", "drawn",
        _of_chances, single_gallery_shot,
        differs="CMC of one gallery image drawn from each identity, as an expectation, which no "
                "seed moves: either way, mostly higher"),
    "single-gallery-shot-other-cameras": Curve(
        "expectation over galleries of one image drawn from each identity, without any image of "
        "the query's camera", "drawn",
        _of_chances, single_gallery_shot, also_ignored=("same camera",),
        differs="CMC of one image drawn from each identity of the other cameras, as an "
                "expectation, which no seed moves: either way, mostly higher"),
    "single-gallery-shot-draws": Curve(
        "mean of 10 draws of one gallery image from each identity, by "
        "numpy.random.RandomState(0)", "drawn",
        _of_chances, single_gallery_shot_draws, draws=True,
        differs="CMC of one gallery image drawn from each identity, 10 draws by seed 0: either "
                "way, mostly higher, and off the expectation by up to some points"),
})

#: Where a CMC curve ends, if not at a number of ranks: gallery identities, and the images that
#: each query keeps, to its length.
CMC_LENGTH = MappingProxyType({
    "gallery": ChoiceValue(
        "at the number of gallery images", apply=lambda identity, n_kept: len(identity)),
    "identities": ChoiceValue(
        "at the number of gallery identities",
        "CMC has as many ranks as the gallery has identities: the same numbers, cut off",
        lambda identity, n_kept: len(np.unique(identity))),
    "shortest": ChoiceValue(
        "at the fewest images that any query keeps",
        "CMC is cut to the fewest images that any query keeps: the same numbers", _fewest_kept),
})

#: In which precision sums run.
ARITHMETIC = MappingProxyType({
    "double": Arithmetic("double", _same, metrics.mean_in_order, _same),
    "float32": Arithmetic(
        "distances, sums of AP, CMC and their means in single precision",
        lambda distances: distances.astype(np.float32), metrics.mean_in_float32, _curve_in_float32,
        "Distances, sums of AP, CMC and their means are float32: either way, about 1e-7 without "
        "new ties"),
})

#: The tables by the field of a convention.
CHOICES: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "loads": LOADS, "ignored": IGNORED, "ap": AP, "recall": RECALL, "cut": CUT,
    "unlisted": UNLISTED, "unmatched": UNMATCHED,
    "ties": TIES, "junk_match": JUNK_MATCH, "cmc": CMC, "cmc_length": CMC_LENGTH,
    "arithmetic": ARITHMETIC,
})


def known_values(choice: str, value: Any) -> list[str]:
    """Return the values of a choice; if `value` is none of them, those of packages as well."""
    values = list(CHOICES[choice])
    return values if choice != "ap" or value in values else [
        *values, *extensions.declared_names("ap_rule")]


#: Statuses of queries whose identity's images are all ignored are made of these.
SHARED = {value.short for value in IGNORED.values() if value.short}


def only_ignored(ignored: Iterable[str]) -> str:
    """Return the status of a query whose identity's images are all ignored, by what they share.

    Examples
    --------
    >>> only_ignored(["same identity, same camera", "same identity, same clothes"])
    'only same camera or same clothes'
    """
    shorts = dict.fromkeys(filter(None, (IGNORED[rule].short for rule in ignored)))
    return f"only {' or '.join(shorts)}" if shorts else ""


def is_only_ignored(status: str) -> bool:
    """Return whether a text is what `only_ignored` can return."""
    return status.startswith("only ") and SHARED.issuperset(status[5:].split(" or "))


def choice_text(value: Any) -> str:
    """Return a choice as text; several are joined by +."""
    several = isinstance(value, (tuple, list))
    return "+".join(map(str, value)) or "nothing" if several else str(value)
