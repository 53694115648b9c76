"""What a protocol's evaluation returns: a result for each part."""
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from reid_ref.conventions import Convention
from reid_ref.labels import Labels
from reid_ref.protocols.expectation import Expected, sd_of_draws
from reid_ref.protocols.record import Later, Protocol
from reid_ref.result import HEADLINE, Result, headline
from reid_ref.result.parts import Fingerprints, fingerprint_of
from reid_ref.result.made import Asked
from reid_ref.result.means import Expectation, of_chances, over_trials
from reid_ref.signature import Signature, measured_as


def of_trials(protocol: Protocol, part: str, results: Sequence[Result],
              **more: object) -> Result:
    """Return the mean over trials of a part, with its signature."""
    return over_trials(results, protocol.average,
                       results[0].signature.changed(protocol.signed(part, **more)))


def of_expectation(expected: Expected, query: Labels, gallery: Labels, convention: Convention,
                   signature: Signature) -> Expectation:
    """Return the means of what every query has on average."""
    matched = ~np.isnan(expected.ap)
    return of_chances(
        expected.ap[matched], expected.weight[matched], expected.match[matched],
        sd_of_draws(expected.ranks, expected.match.shape[1]),
        Asked.of(query, np.where(matched, "ok", "identity absent")),
        len(np.unique(gallery.identity)), measured_as(convention, signature), signature,
        Fingerprints(fingerprint_of(query), fingerprint_of(gallery)))


class Also(NamedTuple):
    """The number that other papers print on the same files: why, and by which protocol."""

    later: Later
    result: Result


def means_over_parts(parts: Mapping[str, Result], means: Mapping[str, Sequence[str]],
                     names: Iterable[str] = HEADLINE) -> dict[str, dict[str, float]]:
    """Return the means of these measures over parts, by the name of the mean, if it has all parts.
    """
    names = list(names)
    numbers = {mean: [headline(parts[part], names) for part in of_mean]
               for mean, of_mean in means.items() if {*of_mean} <= parts.keys()}
    return {mean: {name: sum(each[name] for each in every) / len(every) for name in every[0]}
            for mean, every in numbers.items()}


class ProtocolResult(Mapping[str, Result]):
    """The results of a protocol's parts by name; with one part it has that part's attributes.

    A part is a `Result`: over several trials a `TrialsResult`, without trials an `Expectation`.

    Parameters
    ----------
    parts : mapping of str to Result
    also : Also, optional
        The result of `Protocol.later`, if it was requested.
    means : mapping of str to tuple of str
        Means over parts, each with its parts; `means` of the result has their numbers.
    layout : str, optional
        What was read, if labels are from elsewhere.
    """

    def __init__(self, parts: Mapping[str, Result], also: Also | None = None,
                 means: Mapping[str, Sequence[str]] = MappingProxyType({}),
                 layout: str = "") -> None:
        self._parts, self.also, self.layout = dict(parts), also, layout
        self.means = means_over_parts(self._parts, means)

    def __getitem__(self, name: str) -> Result:
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __getattr__(self, name: str) -> Any:
        parts = self.__dict__.get("_parts", {})
        if len(parts) == 1 and not name.startswith("_"):
            return getattr(next(iter(parts.values())), name)
        raise AttributeError(f"{name}: a result of the parts {', '.join(parts)}; take one of "
                             "them, such as result[part]")

    def __str__(self) -> str:
        return "\n".join(f"{name}\n{part}" for name, part in self._parts.items())

    __repr__ = __str__
