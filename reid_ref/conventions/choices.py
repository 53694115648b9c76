"""The choices of a convention: for each field a table of values, and what they do.

Their words are in choices.toml. `differs` is the difference from `matlab`, empty for the values
that matlab has. It ends in a direction: the number is higher, lower, the same, differs in its last
bits, or either way.
"""
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from reid_ref import extensions, metrics
from reid_ref.arrays import Array, Doubles, Integers, Mask
from reid_ref.disk import tables_of
from reid_ref.labels import JUNK
from reid_ref.metrics import (
    DistanceRows, identity_ranks, single_gallery_shot, single_gallery_shot_draws)
from reid_ref.ranking.good_ranks import (
    GoodRanks, beyond, forget_junk_matches, reverse_ties, truncate)


_Value = TypeVar("_Value")
#: The words of all values.
_WORDS = tables_of("conventions/choices.toml")
#: The distances between features, each with its description.
METRICS: Mapping[str, str] = MappingProxyType(_WORDS["metric"])


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
    order: Callable[[GoodRanks], GoodRanks] = _same
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


def _or_zero(values: Doubles, n_good: Integers, matched: Mask) -> Doubles:
    return np.where(matched, values, 0.0)


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


def _values(choice: str, kind: Callable[..., _Value],
            does: Mapping[str, Mapping[str, Any]] = MappingProxyType({})) -> Mapping[str, _Value]:
    """Return the values of a choice by name: their words, and what they do."""
    words = _WORDS[choice]
    return MappingProxyType({name: kind(**words[name], **does.get(name, {}))
                             for name in words | does})


#: Which images a toolbox's loader passes on to its evaluator: identities to a mask.
LOADS = _values("loads", ChoiceValue, {
    "all images": dict(apply=lambda identity: np.ones(len(identity), dtype=np.bool_)),
    "without label -1": dict(apply=lambda identity: np.asarray(identity != JUNK))})

#: Which gallery images are ignored. The rest of the query's identity is good.
IGNORED = _values("ignored", ChoiceValue)

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
AP: Mapping[str, Rule] = MappingProxyType(_Rules(_values("ap", Rule, {
    "trapezoid": dict(
        exact=metrics.average_precision_trapezoid,
        grouped=metrics.average_precision_grouped_trapezoid,
        float32=metrics.average_precision_trapezoid_float32),
    "trapezoid-layumi": dict(exact=metrics.average_precision_layumi),
    "mistaken-trapezoid": dict(exact=metrics.average_precision_mistaken_trapezoid),
    "step": dict(
        exact=metrics.average_precision_step, grouped=metrics.average_precision_grouped_step,
        float32=metrics.average_precision_step_float32, has_steps=True),
    "sklearn-0.18": dict(
        exact=metrics.average_precision_grouped_trapezoid,
        grouped=metrics.average_precision_grouped_trapezoid),
    "sklearn-0.19": dict(
        exact=metrics.average_precision_grouped_step,
        grouped=metrics.average_precision_grouped_step, has_steps=True)})))

#: What recall, and so AP, divides by: good images that exist and in the list, and `top_k`, to it.
RECALL = _values("recall", ChoiceValue, {
    # A query whose good images are all after the cut has AP 0, not none.
    "found": dict(apply=lambda n_good, in_list, top_k: np.where(in_list > 0, in_list, n_good)),
    "min(top_k, existing)": dict(
        apply=lambda n_good, in_list, top_k:
        n_good if top_k is None else np.minimum(n_good, top_k))})

#: Which images `top_k` counts. The function takes a query's ranks, those in the whole list (made
#: only if called), and `top_k`, to ranks that know which of them the cut loses (`n_beyond`).
CUT = _values("cut", ChoiceValue, {"before-ignoring": dict(apply=_in_first_places)})

#: What a good image beyond the end of a ranked list is, in a number that needs more places.
UNLISTED = _values("unlisted", ChoiceValue)

#: What a query without a good image counts as in the means.
UNMATCHED = _values("unmatched", Unmatched, {
    # Not every NaN: INP is unknown where a cut list lacks a good image.
    "zero": dict(counted=_or_zero),
    "nan": dict(counted=_same),
    "drop": dict(counted=_with_good, in_cmc=False),
    "drop-from-map": dict(counted=_with_good),
    "drop-from-cmc": dict(counted=_or_zero, in_cmc=False),
    "drop-unanswered": dict(counted=_with_good, answered=_none_where_empty)})

#: The order of images at equal distance.
TIES = _values("ties", Ties, {
    "reversed": dict(order=reverse_ties), "grouped": dict(grouped=True),
    "numpy": dict(sorts=True), "numpy-reversed": dict(sorts=True)})

#: What a good image that is ignored as well does: the images of a query labelled -1, where
#: that label is ignored. Ranks to ranks with the first matches that count.
JUNK_MATCH = _values("junk_match", ChoiceValue, {"never": dict(apply=forget_junk_matches)})

#: What the CMC curve counts.
CMC = _values("cmc", Curve, {
    "first-match": dict(
        curve=lambda ranks, length, n_query: metrics.cumulative_matching(
            ranks.first_match, length, n_query), counts=True, of_query=metrics.accuracy_at),
    "all-shots": dict(curve=metrics.cumulative_matching_all_shots, of_query=metrics.all_shots_at),
    # The nearest image is of the nearest identity.
    "identities": dict(curve=_of_identity_ranks, of_rows=identity_ranks,
                       of_query=metrics.accuracy_at, only_first=True),
    "single-gallery-shot": dict(curve=_of_chances, of_rows=single_gallery_shot),
    "single-gallery-shot-other-cameras": dict(
        curve=_of_chances, of_rows=single_gallery_shot, also_ignored=("same camera",)),
    "single-gallery-shot-draws": dict(
        curve=_of_chances, of_rows=single_gallery_shot_draws, draws=True)})

#: Where a CMC curve ends, if not at a number of ranks: gallery identities, and the images that
#: each query keeps, to its length.
CMC_LENGTH = _values("cmc_length", ChoiceValue, {
    "gallery": dict(apply=lambda identity, n_kept: len(identity)),
    "identities": dict(apply=lambda identity, n_kept: len(np.unique(identity))),
    "shortest": dict(apply=_fewest_kept)})

#: In which precision sums run.
ARITHMETIC = _values("arithmetic", Arithmetic, {
    "double": dict(distances=_same, mean=metrics.mean_in_order, curve=_same),
    "float32": dict(distances=lambda distances: distances.astype(np.float32),
                    mean=metrics.mean_in_float32, curve=_curve_in_float32)})

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
