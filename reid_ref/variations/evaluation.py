"""Variations to results: those that rank alike share one ranking.

A chain is one or two variations. Chains with the same changes of the file and of the ranking are
one pass: the file is changed once, ranked once, and every convention with every changed choice is
a summary of that ranking.
"""
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

from reid_ref.arrays import InputError, ignored, warnings_to
from reid_ref.conventions import CHOICES, Convention, choice_text
from reid_ref.evaluation.engine import results_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.result import Result
from reid_ref.variations.variation import Variation

#: Variations that are applied together.
Chain: TypeAlias = tuple[Variation, ...]


class VariedResult(NamedTuple):
    """What a convention gives under a chain.

    Parameters
    ----------
    chain : tuple of Variation
    ranking : str
        What is ranked: a key of `Features.rankings`, or "distances".
    convention : Convention
        As it is without the chain.
    result : Result
        Its signature names the variations.
    options : str
        The command that reproduces it, after ``reid-ref`` and with FILE for the files; empty if
        no option does.
    """

    chain: Chain
    ranking: str
    convention: Convention
    result: Result
    options: str


def chains_of(variations: Iterable[Variation], depth: int = 1) -> list[Chain]:
    """Return each variation alone, and with `depth` 2 the pairs of the declared list.

    A pair has a variation with `pairs`, and two kinds.
    """
    records = list(variations)
    chains: list[Chain] = [(record,) for record in records]
    pairs = combinations(records, 2) if depth > 1 else ()
    return chains + [(one, other) for one, other in pairs if (one.pairs or other.pairs)
                     and one.kind != other.kind and not (one.rank and other.rank)]


def chains_that_apply(data: ResultFile,
                      chains: Iterable[Chain]) -> tuple[list[Chain], dict[str, str]]:
    """Return the chains that apply to a file, and why other variations do not, by their names."""
    every = list(chains)
    reasons = {each.name: reason for chain in every for each in chain
               if (reason := each.lacks(data))}
    return [chain for chain in every
            if not reasons.keys() & {each.name for each in chain}], reasons


def passes_of(chains: Iterable[Chain]) -> list[list[Chain]]:
    """Return the chains in groups that share the changed file and how it is ranked."""
    groups: dict[object, list[Chain]] = {}
    for chain in chains:
        shared = (tuple(id(each.data) for each in chain if each.data),
                  tuple(id(each.rank) for each in chain if each.rank), _rankings(chain))
        groups.setdefault(shared, []).append(chain)
    return list(groups.values())


def outcomes_of(data: ResultFile, chains: Sequence[Chain], conventions: Iterable[Convention],
                how: How) -> Iterator[list[VariedResult]]:
    """Yield what conventions give under chains of one pass, one list for each ranking.

    All rankings of features are made of the same products.

    Warnings are dropped: they are about the file, and the same for all.

    Parameters
    ----------
    data : ResultFile
    chains : sequence of Chain
        One of the lists of `passes_of`.
    conventions : iterable of Convention
    how : How
        Memory and threads.
    """
    first, data = chains[0], unnamed(data)
    with warnings_to(ignored):
        for each in first:
            data = data if each.data is None else each.data(data)
        rank = next((each.rank for each in first if each.rank), _by_distances)
        wanted, tried = _rankings(first), list(_changed(chains, list(conventions)))
        rankings = {name: change for name, change in data.input.rankings().items()
                    if tried and (not wanted or name in wanted)}
        measured = {(name, id(other)): other.replace(**change, measure="") if change else other
                    for name, change in rankings.items() for _, _, other in tried}
        results = dict(zip(measured, rank(data, replace(
            how, conventions=tuple(measured.values())))) if measured else ())
        for name, change in rankings.items():
            yield [VariedResult(chain, name, convention, _finished(
                chain, results[name, id(other)]), _options(chain, convention, other, change))
                   for chain, convention, other in tried]


def unnamed(data: ResultFile) -> ResultFile:
    """Return a file whose texts are numbers alone, which variations change."""
    return replace(data, query=replace(data.query, words={}),
                   gallery=replace(data.gallery, words={}))


def varied(data: ResultFile, variation: Variation, convention: Convention, how: How) -> Result:
    """Return the result of a convention under one variation, ranked as `how` has it.

    Re-ranking takes its own toolbox's scaling of features; float32-cosine has distances.

    Raises
    ------
    InputError
        It does not apply to the file, or to the convention.
    """
    if reason := variation.lacks(data):
        raise InputError("target", f"a variation that applies to {data.input.noun}",
                         f"{variation.name!r}, which does not: {reason}")
    changed = _chosen((variation,), convention)
    if changed is None or not variation.conventions(convention):
        raise InputError("target", f"a variation that changes {convention.name}",
                         f"{variation.name!r}, under which it is the same, or has no meaning",
                         "take another convention as origin")
    data = (variation.data or unnamed)(unnamed(data))
    if variation.rank is not None and len(variation.rankings) == 1:
        how = replace(how, **data.input.rankings()[variation.rankings[0]])
    return _finished((variation,), (variation.rank or _by_distances)(
        data, replace(how, conventions=(changed,)))[0])


def _by_distances(data: ResultFile, how: How) -> list[Result]:
    return results_of(data.input, data.query, data.gallery, how)


def _rankings(chain: Chain) -> tuple[str, ...]:
    """Return the rankings that every variation of a chain allows; empty: all."""
    limits = [each.rankings for each in chain if each.rankings] or [()]
    return tuple(name for name in limits[0] if all(name in other for other in limits))


def _changed(chains: Iterable[Chain], conventions: Sequence[Convention],
             ) -> Iterator[tuple[Chain, Convention, Convention]]:
    """Yield each chain with each convention, as it is and changed, where that can be."""
    shared: dict[Convention, Convention] = {}
    for chain, convention in product(chains, conventions):
        other = _chosen(chain, convention)
        if other is not None and all(each.conventions(convention) for each in chain):
            yield chain, convention, shared.setdefault(other, other)


def _chosen(chain: Chain, convention: Convention) -> Convention | None:
    """Return a convention with the choices of a chain; None if some variation changes nothing."""
    for each in chain:
        if each.choices is not None:
            choices = each.choices(convention)
            new = {key: value for key, value in (choices or {}).items()
                   if getattr(convention, key) != value}
            # What also changes the file or the ranking is tried even if no choice changes.
            if not new and (choices is None or not (each.data or each.rank)):
                return None
            try:
                convention = convention.replace(**new) if new else convention
            except InputError:  # a rule of AP that has no cut list, say
                return None
    return convention


def _finished(chain: Chain, result: Result) -> Result:
    """Return the result as it is signed, after what the chain does to results."""
    for each in chain:
        result = result if each.result is None else each.result(result)
    return replace(result, signature=result.signature.changed(
        {"variation": "+".join(each.name for each in chain)}))


def _options(chain: Chain, convention: Convention, changed: Convention,
             change: Mapping[str, object]) -> str:
    """Return the command line after ``reid-ref`` that does the same; empty if none does."""
    reranks = any(each.rank for each in chain)
    if reranks and len(chain) > 1 or any(
            each.data or each.result or each.rank and not each.options for each in chain):
        return ""
    words = ["rerank" if reranks else "evaluate", "FILE", "--convention", convention.name]
    if change and not reranks:
        words += ["--metric", str(change["metric"])]
    if change:
        words.append("--normalize" if change["normalize"] else "--no-normalize")
    words += [word for each in chain for word in each.options.split()]
    choices = ",".join(
        f"{key}={choice_text(getattr(changed, key))}" for key in (*CHOICES, "top_k")
        if getattr(changed, key) != getattr(convention, key))
    return shlex.join([*words, "--set", choices] if choices else words)
