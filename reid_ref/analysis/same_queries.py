"""Several results by name, and whether they are of the same queries."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.result import Result

#: What is compared where nothing else is asked for.
METRICS = ("mAP", "Rank-1")


def results_by_name(results: Any, names: Sequence[str] | None = None) -> dict[str, Result]:
    """Return at least two results by name: a sequence by these names, or numbered from 1."""
    if isinstance(results, Mapping):
        named = dict(results)
    else:
        every = [results] if isinstance(results, Result) else list(results)
        names = [str(k + 1) for k in range(len(every))] if names is None else list(names)
        if len(set(names)) < len(names) or len(names) != len(every):
            raise InputError(f"names: expected {len(every)} different names, one for each "
                             f"result, got {', '.join(map(repr, names))}")
        named = dict(zip(names, every))
    for name, result in named.items():
        if not isinstance(name, str):
            raise InputError(f"results: expected a text as the name of each, got {name!r}")
        if not isinstance(result, Result):
            raise InputError(f"results: expected a Result for {name!r}, got "
                             f"{type(result).__name__}; pass what reid_ref.evaluate returns")
    if len(named) < 2:
        raise InputError(f"results: expected at least 2 results, got {len(named)}")
    return named


def checked_metrics(metrics: Sequence[str]) -> list[str]:
    """Return each metric once."""
    if isinstance(metrics, str) or not len(metrics):
        raise InputError(f"metrics: expected a list of metrics, such as ['mAP'], got {metrics!r}")
    return list(dict.fromkeys(metrics))


def check_same_convention(results: Mapping[str, Result]) -> None:
    """Refuse numbers that are made in different ways."""
    (first, one), *others = results.items()
    for name, other in others:
        if other.convention != one.convention:
            raise InputError(
                f"{name}: expected the convention of {first}, {one.convention.name!r}, got "
                f"{other.convention.name!r}; evaluate both under one convention")


def check_same_queries(results: Mapping[str, Result]) -> None:
    """Refuse results of other queries or of another gallery, naming the first difference."""
    check_same_convention(results)
    (first, one), *others = results.items()
    for name, other in others:
        if other.counts.query != one.counts.query:
            raise InputError(f"{name}: expected {one.counts.query} queries, as in {first}, got "
                             f"{other.counts.query}; both must be of the same labels")
        for field, words in (("identity", "identity {} in {}"),
                             ("n_good", "{} good images in {}")):
            ours, theirs = getattr(one.per_query, field), getattr(other.per_query, field)
            bad = np.flatnonzero(ours != theirs)
            if bad.size:
                raise InputError(
                    f"{name}: query {bad[0]} has {words.format(ours[bad[0]], first)} and "
                    f"{words.format(theirs[bad[0]], name)}, and {bad.size} of {len(ours)} queries "
                    "differ so; both must be of the same labels, in the same order")
        if other.counts.gallery != one.counts.gallery:
            raise InputError(f"{name}: expected {one.counts.gallery} gallery images, as in "
                             f"{first}, got {other.counts.gallery}; both must be of the same "
                             "labels")
