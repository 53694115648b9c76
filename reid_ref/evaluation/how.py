"""How something is ranked and evaluated: the record of it, and the options of public functions."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from reid_ref.arrays import InputError, LabelWarning, check_choice, check_count, warn
from reid_ref.conventions import CONVENTIONS, METRICS, Convention
from reid_ref.labels import (
    Candidates, Labels, QueryLists, check_labels, check_lists, named_by_row, named_otherwise)
from reid_ref.result import Result

#: Called with the number of queries done since the last call.
Progress = Callable[[int], object]
#: What `How.scaling` calls normalised features.
NORMALISED = "normalized"
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
        if surplus := arguments[allowed:]:
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
    shared : list, optional
        The neighbours that were found last, for re-rankings of the same images.

    Other parameters: see `reid_ref.evaluate`.
    """

    conventions: tuple[Convention, ...] = (CONVENTIONS["matlab"],)
    metric: str | None = None
    normalize: bool | None = None
    lists: QueryLists | None = None
    max_memory: int | str | None = None
    progress: Progress | None = None
    threads: int | None = None
    shared: list[Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.threads is not None:
            object.__setattr__(self, "threads", check_count(self.threads, "threads"))
        if self.metric is not None:
            check_choice(self.metric, "metric", METRICS)
        if isinstance(self.lists, Candidates):
            object.__setattr__(self, "conventions", tuple(
                record if record.needs_candidates else record.replace(
                    ignored=(*record.ignored, "not a candidate")) for record in self.conventions))

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
        return NORMALISED if normalized else metric

    @property
    def scalings(self) -> tuple[str, ...]:
        """The `scaling` of each convention, once: normalised features rank alike by any metric."""
        return tuple(dict.fromkeys(map(self.scaling, self.conventions or (None,))))

    def passes(self) -> list[How]:
        """Return it once for each scaling of features that its conventions need."""
        scalings = self.scalings
        progress = shared_progress(self.progress, len(scalings))
        return [replace(self, progress=progress, conventions=tuple(
            convention for convention in self.conventions if self.scaling(convention) == scaling))
            for scaling in scalings]

    @property
    def not_ranked(self) -> set[tuple[str, ...]]:
        """What the conventions leave out of the ranking: each rule once."""
        return {convention.not_ranked for convention in self.ranked}

    @property
    def ranked(self) -> list[Convention]:
        """The conventions by which images are ranked for these."""
        return [ranked for convention in self.conventions for ranked in convention.ranked]

    @property
    def needs_rows(self) -> bool:
        """Whether a convention needs whole rows of distances."""
        return any(convention.needs_rows for convention in self.conventions)

    def checked(self, query: Labels, gallery: Labels) -> tuple[Labels, Labels]:
        """Return the labels to rank by; check the cameras, gallery and lists of conventions."""
        for convention in self.conventions:
            convention.check_cameras(query, gallery)
            convention.check_gallery(query, gallery)
        needed = [record.name for record in self.conventions if record.needs_lists]
        check_lists(self.lists, needed, query, gallery)
        for convention in self.conventions:
            if convention.needs_candidates and not isinstance(self.lists, Candidates):
                raise InputError(
                    "lists", got=f"convention {convention.name!r} ranks the candidates of each "
                    "query, got none", remedy="give Candidates(mask), or a result file with "
                    "candidates")
        query, gallery = labels_to_rank(query, gallery, self.conventions)
        if any("itself" in convention.ignored for convention in self.conventions) and (
                pairs := named_otherwise(query, gallery)):
            (k, image), n = pairs[0], len(pairs)
            warn(f"labels contradict the names of {n} of {len(query)} queries: query {k}, "
                 f"{(query.names() or [])[k]!r}, has identity {query.identity_of(k)}, and gallery "
                 f"image {image} of that name {gallery.identity_of(image)}, so it is not ignored "
                 "as the query itself but counts as a wrong image", LabelWarning)
        return query, gallery

    def signed_lists(self) -> dict[str, str]:
        """Return the signature's entry of the index lists, or of the candidates."""
        return {} if self.lists is None else {"lists": self.lists.fingerprint()}

    def lists_of(self, queries: Any) -> QueryLists | None:
        """Return the lists of some queries: a slice or an array of indices."""
        return self.lists and self.lists.of_queries(queries)


def labels_to_rank(query: Labels, gallery: Labels,
                   conventions: Iterable[Convention]) -> tuple[Labels, Labels]:
    """Return the labels, with the names that tell a query in the gallery, if one ignores it."""
    needs_names = any("itself" in convention.ignored for convention in conventions)
    has_names = query.name is not None and gallery.name is not None
    return named_by_row(query, gallery) if needs_names and not has_names else (query, gallery)


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


def in_queries(progress: Progress | None, n_query: int) -> Callable[[float], object]:
    """Return a function that reports shares of the work as whole queries, `n_query` in all."""
    if progress is None:
        return lambda share: None
    share, reported = 0.0, 0

    def report(more: float) -> None:
        nonlocal share, reported
        share += more
        queries = min(int(share * n_query + 1e-6), n_query)  # work may be begun anew
        if queries > reported:
            progress(queries - reported)
            reported = queries
    return report
