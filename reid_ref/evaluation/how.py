"""How something is ranked and evaluated: the record of it, and the options of public functions."""
from __future__ import annotations

import functools
import inspect
import re
import textwrap
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
Documented = TypeVar("Documented")


class Evaluates(Protocol[Accepts]):
    """A function that returns one result, or for several conventions a dict of results.

    Parameters
    ----------
    convention : str or Convention, or several of them
        A name in `CONVENTIONS`, or a record of your own. Several, in a list or a tuple, share
        the ranks and take little longer than one.
    """

    @overload
    def __call__(self, *arguments: Accepts.args, **options: Accepts.kwargs) -> Result: ...

    @overload
    def __call__(self, *arguments: Any, convention: Iterable[str | Convention],
                 **options: Any) -> dict[str, Result]: ...


def documented(item: Documented) -> Documented:
    """Put what `Evaluates` and `How` say of an option in the place of ``%(metric)s``."""
    def text(match: re.Match[str]) -> str:
        return textwrap.indent(options[match[2]], match[1])

    if item.__doc__ is not None:  # as with python -OO
        paragraphs = f"{inspect.getdoc(Evaluates)}\n{inspect.getdoc(How)}"
        options = {paragraph[1]: paragraph[0] for paragraph in re.finditer(
            r"^(\w+) : .*(?:\n .*)*", paragraphs, flags=re.MULTILINE)}
        item.__doc__ = re.sub(r"^( *)%\((\w+)\)s$", text, item.__doc__, flags=re.MULTILINE)
    return item


def options_by_name(function: Callable[Accepts, Documented]) -> Callable[Accepts, Documented]:
    """Refuse positional arguments after query and gallery, and complete the docstring.

    Other evaluators take four arrays in the place of query and gallery: `check_labels` says how
    to wrap them.
    """
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    allowed = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)

    @functools.wraps(documented(function))
    def call(*arguments: Accepts.args, **options: Accepts.kwargs) -> Documented:
        surplus = arguments[allowed:]
        if surplus:
            query, gallery = cast(list[Labels], arguments[allowed - 2:allowed])
            check_labels(query, gallery)
            raise InputError("", "the options after query and gallery by name",
                             f"{len(surplus)} more argument(s) by position, the first of type "
                             f"{type(surplus[0]).__name__}", "write convention=..., lists=...")
        return function(*arguments, **options)
    return call


def by_convention(function: Callable[Accepts, Any]) -> Evaluates[Accepts]:
    """Do what `options_by_name` does for a function that takes one or several conventions."""
    return cast(Evaluates[Accepts], options_by_name(function))


@dataclass(frozen=True)
class How:
    """How something is ranked and evaluated; public functions show the text of these options.

    Parameters
    ----------
    conventions : tuple of Convention
        Results are in their order.
    metric : {"euclidean", "cosine", "dot"}, optional
        Distance between features. On normalised features all three give the same ranking.
        Default: that of the convention's toolbox.
    normalize : bool, optional
        Divide each feature by its 2-norm first. Default: as the convention's toolbox does.
        The Market-1501 drivers do, torchreid does not.
    lists : IndexLists, optional
        Good and junk images of every query, for conventions that list them.
    max_memory : int or str, optional
        Working memory in bytes, besides the input and the result: a number, or text such as
        "512M". Default: 256 MiB, or a quarter of the free memory if that is less. The result does
        not depend on it. Features need as much as the
        distances of one query, 8 bytes for each gallery image, and the features of 16 images.
    progress : callable, optional
        Called with the number of queries done since the last call.
    threads : int, optional
        Threads, those of matrix products included. Default: one for each core that the process
        may use, which OMP_NUM_THREADS can limit. The result does not depend on it.
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

    def check_lists(self, query: Labels, gallery: Labels) -> None:
        """Check the index lists where a convention needs them."""
        needed = [record.name for record in self.conventions if record.needs_lists]
        check_lists(self.lists, needed, query, gallery)

    def signed_lists(self) -> dict[str, str]:
        """Return what a signature says of the index lists."""
        return {} if self.lists is None else {"lists": self.lists.fingerprint()}

    def lists_of(self, queries: Any) -> IndexLists | None:
        """Return the index lists of some queries: a slice or an array of indices."""
        return self.lists and self.lists.of_queries(queries)


def shared_progress(progress: Progress | None, count: int) -> Progress | None:
    """Return what reports a query once it has been ranked `count` times."""
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
