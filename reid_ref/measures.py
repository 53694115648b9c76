"""One record per measure: the number of each query that a result is the mean of.

A measure is looked up by its name, as papers print it; an unknown name is an error, and no name
stands for another measure. "k" in the name of a record stands for a number from 1: "Rank-k" is
looked up as "Rank-1". Measures are functions of the ranks of good images under a convention; means
are the convention's own.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from reid_ref import extensions, metrics
from reid_ref.arrays import Doubles, InputError, Integers, Mask
from reid_ref.conventions import Convention
from reid_ref.disk import tables_of
from reid_ref.ranking.good_ranks import GoodRanks, truncate


class Need(NamedTuple):
    """How many places of a list a measure needs, to be known where a good image is not listed.

    `needed`: (ranks, k) to a number, or one per query. `of`, `why`: which lists leave it unknown,
    after its names and as a sentence about some of them.
    """

    needed: Callable[[GoodRanks, int], Any]
    of: str
    why: str


#: More places than any list has.
_EVERY = np.iinfo(np.int64).max

#: By the words of `Measure.places`.
PLACES: Mapping[str, Need] = MappingProxyType({
    "the last good image": Need(
        lambda ranks, k: _EVERY, "", "some lists end before their last good image"),
    "k": Need(lambda ranks, k: k, " of a list that ends before k",
              "some lists end before place {k}, and lack a good image"),
    "R": Need(lambda ranks, k: ranks.n_good, " of one with fewer places than good images exist",
              "some lists have fewer places than good images exist"),
    "the first good image": Need(
        lambda ranks, k: np.where(ranks.found > 0, 0, _EVERY), " of one without a good image",
        "some lists end before their first good image"),
})


@dataclass(frozen=True)
class Measure:
    """A measure.

    Parameters
    ----------
    name : str
        As papers print it; "k" at its end stands for a number where `k` is None.
    words : str
        What it is, of one query.
    source : str
        Where it is defined.
    of_ranks : callable
        (ranks, convention, k) to one value per query in [0, 1]; NaN if a query has none.
    k : int, optional
        None of a measure without k, and of the record of one with k.
    column : str
        The field of `PerQuery` that holds its values; its mean is the field `name` of `Result`.
        Empty: both are computed from the ranks.
    of_curve : bool
        Whether its mean is a point of the CMC curve, which has the convention's rule for queries
        without a match; of all others, the mean is over the queries of mAP.
    places : str
        A key of `PLACES`: the places of a list that it needs. "the last good image": those of
        the whole list, whatever the convention's `top_k`. Empty: those that there are.
    expected : callable, optional
        (mean reciprocal rank, chance of a match at rank k or before, k) to the values of queries
        over all galleries with one good image; None if it is not defined for them.
    """

    name: str
    words: str
    source: str
    of_ranks: Callable[[GoodRanks, Convention, int], Doubles]
    k: int | None = None
    column: str = ""
    of_curve: bool = False
    places: str = ""
    expected: Callable[[Doubles, Doubles, int], Doubles] | None = None

    @property
    def takes_k(self) -> bool:
        """Whether a number belongs in its name, which this record lacks."""
        return self.k is None and self.name[-2:] in ("-k", "@k")

    def at(self, k: int) -> Measure:
        """Return the measure at k, given the record of one that takes k."""
        return replace(self, name=f"{self.name[:-1]}{k}", k=k)

    def expectation(self, reciprocal: Doubles, match: Doubles) -> Doubles:
        """Return the values of queries over all galleries with one good image; see `expected`.

        Raises
        ------
        InputError
            The measure is not defined for them.
        """
        if self.expected is None:
            raise InputError(
                "measure", f"{measure_names(of_expectations=True)}, which an expectation over all "
                "galleries has", repr(self.name),
                "give draws as trials, whose ranked lists this needs")
        return self.expected(reciprocal, match, self.k or 0)

    def as_known(self, values: Doubles, ranks: GoodRanks, convention: Convention,
                 n_gallery: int | None = None) -> Doubles:
        """Return the values of queries, NaN where their ranked list ends too early to tell.

        That is where a list lacks a good image and has fewer places than the measure needs, unless
        the convention takes what is not listed for wrong. `n_gallery`: the gallery images that are
        loaded, if lists may end before the last of them.

        Examples
        --------
        >>> from reid_ref.conventions import CONVENTIONS
        >>> from reid_ref.ranking.good_ranks import from_lists
        >>> lists = from_lists([[1, 4]], n_good=3, n_kept=4)
        >>> measure("P@5").as_known(np.array([.4]), lists, CONVENTIONS["matlab"], n_gallery=9)
        array([nan])
        """
        if n_gallery is None or not self.is_unknown(convention):
            return values
        needed = PLACES[self.places].needed(ranks, self.k or 0)
        if not self.is_whole and convention.top_k is not None:
            needed = np.minimum(needed, convention.top_k)
        ends = (ranks.n_kept + ranks.n_junk < n_gallery) & (ranks.n_kept < needed)
        return np.where(ends & (ranks.found < ranks.n_good), np.nan, values)

    @property
    def is_whole(self) -> bool:
        """Whether it is of the whole list, whatever the convention's `top_k`."""
        return self.places == "the last good image"

    def is_unknown(self, convention: Convention) -> bool:
        """Return whether a list that ends too early leaves it unknown."""
        return bool(self.places) and not self.of_curve and (
            self.is_whole or convention.unlisted == "unknown")

    def in_mean(self, convention: Convention, n_good: Integers) -> Mask:
        """Return which queries are in the mean, given the good images of each."""
        if self.of_curve:  # CMC divides by all, or by those with a good image
            return np.asarray((n_good > 0) | (convention.n_in_cmc(n_good) == len(n_good)))
        counted = np.zeros(len(n_good), dtype=np.bool_)
        # What the mean would take of these numbers, if all had a match, is the queries in it.
        every = np.arange(len(n_good), dtype=np.float64)
        counted[convention.counted(every, n_good, np.ones(len(n_good), np.bool_)).astype(
            np.int64)] = True
        return counted


def _average_precision(ranks: GoodRanks, convention: Convention, k: int) -> Doubles:
    return convention.average_precision(convention.cut_off(truncate(ranks, k) if k else ranks))


def _matches(ranks: GoodRanks, convention: Convention, k: int) -> Doubles:
    curve = convention.curve
    if curve.of_query is None or not curve.has_values(k):
        raise InputError(
            "measure", got=f"Rank-{k} under convention {convention.name!r} counts "
            f"{curve.words}, without values per query",
            remedy="take mAP, or a CMC of first matches")
    return curve.of_query(convention.cut_off(ranks), k)


def _reciprocal(reciprocal: Doubles, match: Doubles, k: int) -> Doubles:
    return reciprocal


def _first(reciprocal: Doubles, match: Doubles, k: int) -> Doubles:
    return match[:, 0]


#: What each measure is made of, by name.
_FIELDS: dict[str, dict[str, Any]] = {
    "mAP": dict(of_ranks=_average_precision, column="ap", expected=_reciprocal),
    "Rank-k": dict(of_ranks=_matches, of_curve=True, places="k",
                   expected=lambda reciprocal, match, k: match[:, k - 1]),
    "mINP": dict(of_ranks=lambda ranks, *_: metrics.inverse_negative_penalty(ranks), column="inp",
                 places="the last good image", expected=_reciprocal),
    "P@k": dict(of_ranks=lambda ranks, _, k: metrics.precision_at(ranks, k), places="k"),
    "R@k": dict(of_ranks=lambda ranks, _, k: metrics.recall_at(ranks, k), places="k"),
    "AP@k": dict(of_ranks=_average_precision, places="k"),
    "R-Prec": dict(of_ranks=lambda ranks, *_: metrics.r_precision(ranks), places="R",
                   expected=_first),
    "mAP@R": dict(of_ranks=lambda ranks, *_: metrics.average_precision_at_r(ranks), places="R",
                  expected=_first),
    "MRR": dict(of_ranks=lambda ranks, *_: metrics.reciprocal_rank(ranks),
                places="the first good image", expected=_reciprocal),
    "MRR@k": dict(of_ranks=lambda ranks, _, k: metrics.reciprocal_rank(truncate(ranks, k)),
                  places="k"),
    "nDCG@k": dict(of_ranks=lambda ranks, _, k: metrics.normalized_gain_at(ranks, k), places="k")}

#: Every measure by the name of its record; measures.toml has their words and sources.
MEASURES: Mapping[str, Measure] = MappingProxyType({
    name: Measure(name, **words, **_FIELDS[name])
    for name, words in tables_of("measures.toml").items()})


def measure(name: str) -> Measure:
    """Return the measure of a name, with its k.

    Raises
    ------
    InputError
        No measure has this name.

    Examples
    --------
    >>> measure("mINP").column, measure("Rank-10").k
    ('inp', 10)
    >>> measure("F1")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    reid_ref.arrays.errors.InputError: measure: expected mAP, Rank-k, mINP, ... with a \
number from 1 for k, such as 'Rank-1', got 'F1'
    """
    record = _record(name, MEASURES.get) or _record(name, _installed)
    if record is None:
        further = extensions.declared_names("measure")
        raise InputError("measure", f"{measure_names(further)} with a number from 1 "
                         "for k, such as 'Rank-1'", repr(name))
    return record


def _record(name: str, find: Callable[[str], Measure | None]) -> Measure | None:
    """Return the record of a name, with its k, given that of a name without a number."""
    record = find(name) if isinstance(name, str) else None
    if record is not None and not record.takes_k:
        return record
    match = re.fullmatch("(.*[-@])([1-9][0-9]{0,17})", str(name))
    if match is None or (record := find(f"{match[1]}k")) is None:
        return None
    return record.at(int(match[2]))


def _installed(name: str) -> Measure | None:
    """Return the record of an installed package, whose values come from the ranks alone."""
    record = extensions.declared_record("measure", name, Measure)
    return replace(record, column="") if record is not None and record.name == name else None


#: The measures whose values are columns of `PerQuery`, and whose means are fields of `Result`.
COLUMNS = [record for record in MEASURES.values() if record.column]


def words_of_ends(convention: Convention) -> str:
    """Return what a good image that a ranked list lacks is, in words.

    Examples
    --------
    >>> from reid_ref.conventions import CONVENTIONS
    >>> words_of_ends(CONVENTIONS["trec-eval"])
    'a good image that a list lacks counts as missed, and leaves mINP unknown'
    """
    names = {key: [name for name, record in MEASURES.items() if record.places == key
                   and record.is_unknown(convention)] for key in PLACES}
    first, *more = (", ".join(of_key) + PLACES[key].of for key, of_key in names.items() if of_key)
    text = f"a good image that a list lacks counts as missed, and leaves {first} unknown"
    return f"{text}; also {'; '.join(more)}" if more else text


#: What papers print, in their order; Rank-k stands for several ranks.
PRINTED = ("mAP", "Rank-k", "mINP")


#: The ranks of the CMC curve that papers report.
RANKS = (1, 5, 10, 20)


def printed(ranks: Iterable[int]) -> list[str]:
    """Return the names of what papers print, with these ranks of the CMC curve.

    Examples
    --------
    >>> printed([1, 5])
    ['mAP', 'Rank-1', 'Rank-5', 'mINP']
    """
    ranks = list(ranks)
    return [each.name for name in PRINTED for each in (
        map(MEASURES[name].at, ranks) if MEASURES[name].takes_k else [MEASURES[name]])]


def any_case(text: str) -> str:
    """Return the name of a measure as its record has it, given it in any case, also as "rank1".

    Examples
    --------
    >>> any_case("map"), any_case("rank1"), any_case("ndcg@10"), any_case("F1")
    ('mAP', 'Rank-1', 'nDCG@10', 'F1')
    """
    written = re.sub("^rank-?", "rank-", text.lower())
    record = _record(written, {name.lower(): each for name, each in MEASURES.items()}.get)
    return text if record is None else record.name


def measure_names(further: Iterable[str] = (), of_expectations: bool = False) -> str:
    """Return the names of all records in words, or of those that expectations have."""
    *most, last = (*(record.name for record in MEASURES.values()
                     if record.expected is not None or not of_expectations), *further)
    return f"{', '.join(most)} or {last}"
