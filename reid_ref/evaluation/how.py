"""How something is ranked and evaluated: the record of it, and the options of public functions."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from reid_ref.arrays import InputError, check_choice
from reid_ref.arrays.errors import check_count
from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.conventions import METRICS
from reid_ref.labels import IndexLists, Labels, check_labels, check_lists
from reid_ref.result import Result

#: Called with the number of queries done since the last call.
Progress = Callable[[int], object]
Accepts = ParamSpec("Accepts")
Returned = TypeVar("Returned")


class Evaluates(Protocol[Accepts]):
    """A function that returns one result, or for several conventions a dict of results."""

    @overload
    def __call__(self, *arguments: Accepts.args, **options: Accepts.kwargs) -> Result: ...

    @overload
    def __call__(self, *arguments: Any, convention: Iterable[str | Convention],
                 **options: Any) -> dict[str, Result]: ...


def options_by_name(function: Callable[Accepts, Returned]) -> Callable[Accepts, Returned]:
    """Refuse positional arguments after query and gallery.

    Other evaluators take four arrays in the place of query and gallery: `check_labels` refuses
    them with the way to wrap them.
    """
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    allowed = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)

    @functools.wraps(function)
    def call(*arguments: Accepts.args, **options: Accepts.kwargs) -> Returned:
        surplus = arguments[allowed:]
        if surplus:
            query, gallery = cast(list[Labels], arguments[allowed - 2:allowed])
            check_labels(query, gallery)
            raise InputError("", "the options after query and gallery by name",
                             f"{len(surplus)} more argument(s) by position, the first of type "
                             f"{type(surplus[0]).__name__}", "write convention=..., lists=...")
        return function(*arguments, **options)
    return call


def takes_conventions(function: Callable[Accepts, Any]) -> Evaluates[Accepts]:
    """Do what `options_by_name` does for a function that takes one or several conventions."""
    return cast(Evaluates[Accepts], options_by_name(function))


@dataclass(frozen=True)
class How:
    """How something is ranked and evaluated.

    Parameters
    ----------
    conventions : tuple of Convention
        Results are in their order.

    Other parameters: see `reid_ref.evaluate`.
    """

    conventions: tuple[Convention, ...] = (CONVENTIONS["matlab"],)
    metric: str | None = None
    normalize: bool | None = None
    lists: IndexLists | None = None
    max_memory: int | str | None = None
    progress: Progress | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None:
            object.__setattr__(self, "threads", check_count(self.threads, "threads"))
        if self.metric is not None:
            check_choice(self.metric, "metric", METRICS)

    def distance(self, convention: Convention | None = None) -> tuple[str, bool]:
        """Return the metric, and whether features are normalised: as given, or by default.

        The default is that of the convention; without one, of the first.
        """
        record = convention or (*self.conventions, CONVENTIONS["matlab"])[0]
        metric = self.metric or record.metric
        normalize = record.normalize if self.normalize is None else self.normalize
        return metric, bool(normalize) or metric == "cosine"  # the cosine is that of unit features

    def scaling(self, convention: Convention | None = None) -> str:
        """Return how features are ranked: "normalized", or else by "euclidean" or "dot"."""
        metric, normalized = self.distance(convention)
        return "normalized" if normalized else metric

    @property
    def scalings(self) -> tuple[str, ...]:
        """The `scaling` of each convention, once: normalised features rank alike by any metric."""
        return tuple(dict.fromkeys(map(self.scaling, self.conventions or (None,))))

    def passes(self) -> list[How]:
        """Return it once for each scaling of features that its conventions need."""
        scalings = self.scalings
        if len(scalings) == 1:
            return [self]
        progress = shared_progress(self.progress, len(scalings))
        return [replace(self, progress=progress, conventions=tuple(
            convention for convention in self.conventions if self.scaling(convention) == scaling))
            for scaling in scalings]

    @property
    def not_ranked(self) -> set[tuple[str, ...]]:
        """What the conventions leave out of the ranking: each rule once."""
        return {convention.not_ranked for convention in self.conventions}

    @property
    def needs_rows(self) -> bool:
        """Whether a convention needs whole rows of distances."""
        return any(convention.needs_rows for convention in self.conventions)

    def check(self, query: Labels, gallery: Labels) -> None:
        """Check that there are the cameras and the index lists that conventions need."""
        for convention in self.conventions:
            convention.check_cameras(query, gallery)
        needed = [record.name for record in self.conventions if record.needs_lists]
        check_lists(self.lists, needed, query, gallery)

    def signed_lists(self) -> dict[str, str]:
        """Return the signature's entry of the index lists."""
        return {} if self.lists is None else {"lists": self.lists.fingerprint()}

    def lists_of(self, queries: Any) -> IndexLists | None:
        """Return the index lists of some queries: a slice or an array of indices."""
        return self.lists and self.lists.of_queries(queries)


def shared_progress(progress: Progress | None, count: int) -> Progress | None:
    """Report progress only after all `count` passes over a query."""
    if progress is None:
        return None
    ranked, report = 0, progress

    def after(n_query: int) -> None:
        nonlocal ranked
        before, ranked = ranked // count, ranked + n_query
        if ranked // count > before:
            report(ranked // count - before)
    return after


def in_queries(progress: Progress | None, n_query: int) -> Callable[[float], object] | None:
    """Return a function that reports shares of the work as whole queries, `n_query` in all."""
    if progress is None:
        return None
    share, reported = 0.0, 0

    def report(more: float) -> None:
        nonlocal share, reported
        share += more
        queries = min(int(share * n_query + 1e-6), n_query)  # work may be begun anew
        if queries > reported:
            progress(queries - reported)
            reported = queries
    return report
