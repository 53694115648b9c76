"""How something is ranked and evaluated: one record that a caller makes once and hands on."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.labels import IndexLists

#: Called with the number of queries done since the last call.
Progress = Callable[[int], object]


@dataclass(frozen=True)
class How:
    """How something is ranked and evaluated.

    Parameters
    ----------
    conventions : tuple of Convention
        Results are in their order.
    metric : {"euclidean", "cosine", "dot"}
        Distance between features.
    normalize : bool
        Whether features are divided by their 2-norm first.
    lists : IndexLists, optional
        Good and junk images of every query, for conventions that list them.
    max_memory : int or str, optional
        Working memory, as `reid_ref.evaluate` takes it.
    progress : callable, optional
        Called with the number of queries done since the last call.
    """

    conventions: tuple[Convention, ...] = (CONVENTIONS["matlab"],)
    metric: str = "euclidean"
    normalize: bool = True
    lists: IndexLists | None = None
    max_memory: int | str | None = None
    progress: Progress | None = None

    @property
    def not_ranked(self) -> set[tuple[str, ...]]:
        """What the conventions leave out of the ranking: each rule once."""
        return {convention.not_ranked for convention in self.conventions}


def in_queries(progress: Progress | None, n_query: int) -> Callable[[float], object] | None:
    """Return a function that reports shares of the work as whole queries, `n_query` in all."""
    if progress is None:
        return None
    share, told = 0.0, 0

    def tell(more: float) -> None:
        nonlocal share, told
        share += more
        queries = min(int(share * n_query + 1e-6), n_query)  # work may be begun anew
        if queries > told:
            progress(queries - told)
            told = queries
    return tell
