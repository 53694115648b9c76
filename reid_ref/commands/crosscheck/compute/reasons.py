"""Why one query's AP differs: the choices an evaluator makes, tried one or two at a time.

This walks one query's ranked gallery in the plainest way and shares no code with the fast
path, so that what it says is a second opinion.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles
from reid_ref.commands.crosscheck.compute.foreign import Arrays

#: Queries looked at on either side (differing, equal) for one explanation.
SAMPLE = 12


@dataclass(frozen=True)
class Choices:
    """What decides the AP of one ranking; every value is a key of `WORDS`."""

    rule: str = "trapezoid"
    label: str = "-1 ignored"
    camera: str = "same identity ignored"
    ties: str = "gallery order"
    arithmetic: str = "distances as given"
    identity: str = "identities as given"
    order: str = "ascending"
    cutoff: str = "whole list"


#: Every choice an evaluator may make, and how a report says that it makes it.
WORDS: dict[str, dict[str, str]] = {
    "rule": {
        "trapezoid": "trapezoids (the precision one place before a hit counts)",
        "step": "step AP (mean precision at the hits) instead of trapezoids",
        "sklearn step": "step AP in which equal distances share one threshold (scikit-learn)",
        "sklearn trapezoid": "trapezoids in which equal distances share one threshold "
                             "(scikit-learn before 0.19)",
        "mistaken trapezoid": "trapezoids between hits: the precision of the hit before, not of "
                              "the place before",
        "trapezoid from 0": "trapezoids that start at precision 0 instead of 1",
        "interpolated": "interpolated AP (best precision at this recall or beyond)",
    },
    "label": {
        "-1 ignored": "label -1 images are ignored",
        "-1 wrong": "label -1 images are counted as wrong answers",
    },
    "camera": {
        "same identity ignored": "images of the query's identity on its own camera are ignored",
        "nothing ignored": "images of the query's identity on its own camera are not ignored: "
                           "they count as hits",
        "camera ignored": "every image on the query's camera is ignored, of any identity",
        "same identity wrong": "images of the query's identity on its own camera are counted as "
                               "wrong answers",
    },
    "ties": {
        "gallery order": "equal distances keep gallery order",
        "numpy": "a good image ties with a wrong one, and numpy's default argsort, which is not "
                 "stable, orders them (on this machine)",
        "reversed": "a good image ties with a wrong one, and equal distances stand in reversed "
                    "gallery order",
        "good first": "a good image ties with a wrong one, and good images come first",
        "good last": "a good image ties with a wrong one, and good images come last",
    },
    "arithmetic": {
        "distances as given": "distances are compared as they are given",
        "float32": "distances become float32, so that some that differ tie",
        "float16": "distances become float16, so that some that differ tie",
    },
    "identity": {
        "identities as given": "identities are compared as they are given",
        "float32": "identities pass through float32, so that those above 2^24 merge",
    },
    "order": {
        "ascending": "smaller distances come first",
        "descending": "larger values come first: distances are taken for similarities",
    },
    "cutoff": {
        "whole list": "the whole list counts",
        **{f"{how} {k}": f"only the first {k} places count, and recall is over the good images "
                         f"{what}" for how, what in (("found in", "found there"),
                                                     ("exist, first", "that exist"))
           for k in (1, 5, 10, 20, 50, 100)},
    },
}


@dataclass(frozen=True)
class Reason:
    """Choices that turn our AP into theirs: `explained` of `looked_at` differing queries."""

    choices: tuple[tuple[str, str], ...]
    explained: int
    looked_at: int

    @property
    def words(self) -> str:
        """The choices as a sentence."""
        return ", and ".join(WORDS[name][value] for name, value in self.choices)

    @property
    def full(self) -> bool:
        """Whether it explains every query looked at."""
        return self.explained == self.looked_at

    def __str__(self) -> str:
        if self.full:
            return (f"{self.words} (explains the {self.looked_at} differing queries looked at)")
        return (f"not explained as a whole; one cause would explain {self.explained} of the "
                f"{self.looked_at} differing queries looked at: {self.words}")


def average_precision(choices: Choices, row: npt.NDArray[Any], identity: int, camera: int,
                      arrays: Arrays) -> float:
    """Return the AP of one query under these choices; NaN without a good image.

    Examples
    --------
    >>> import numpy as np
    >>> row = np.array([.2, .3, .4, .0, .1])
    >>> arrays = Arrays(row[None], np.array([7]), np.array([7, 8, 7, 7, -1]),
    ...                 np.array([1]), np.array([2, 1, 3, 1, 1]))
    >>> [round(average_precision(c, row, 7, 1, arrays), 4) for c in (
    ...     Choices(), Choices(rule="step"), Choices(label="-1 wrong"))]
    [0.7917, 0.8333, 0.3333]
    """
    good, kept = _roles(choices, identity, camera, arrays)
    n = int(np.count_nonzero(good))
    if not n:
        return float("nan")
    row = _values(choices, row)
    order = _order(choices.ties, row, good)
    order = order[kept[order]]
    hit, values = good[order], row[order]
    if choices.cutoff != "whole list":
        how, k = choices.cutoff.rsplit(" ", 1)
        hit, values = hit[:int(k)], values[:int(k)]
        n = int(np.count_nonzero(hit)) if how == "found in" else n
        if not hit.any():
            return 0.0
    return _area(choices.rule, hit, values, n)


def _roles(choices: Choices, identity: int, camera: int,
           arrays: Arrays) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    labels = arrays.gallery.identity
    if choices.identity == "float32":
        same = labels.astype(np.float32) == np.float32(identity)
    else:
        same = labels == identity
    here = arrays.gallery.camera == camera
    good, kept = same & ~here, ~(same & here)
    if choices.camera == "nothing ignored":
        good, kept = same, np.ones_like(same)
    elif choices.camera == "same identity wrong":
        kept = np.ones_like(same)
    elif choices.camera == "camera ignored":
        kept = ~here
    if choices.label == "-1 ignored":
        kept = kept & (labels != -1)
    return good & kept, kept


def _values(choices: Choices, row: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if choices.arithmetic != "distances as given":
        with np.errstate(over="ignore"):
            row = row.astype(choices.arithmetic)
    return -row if choices.order == "descending" else row


def _order(ties: str, row: npt.NDArray[Any],
           good: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    if ties == "numpy":
        return np.argsort(row)
    if ties == "reversed":
        return np.lexsort((-np.arange(len(row)), row))
    if ties in ("good first", "good last"):
        return np.lexsort((good == (ties == "good last"), row))
    return np.argsort(row, kind="stable")


def _area(rule: str, hit: npt.NDArray[np.bool_], values: npt.NDArray[Any], n: int) -> float:
    if rule.startswith("sklearn"):
        end = np.append(np.flatnonzero(np.diff(values)), len(values) - 1)
        so_far = np.cumsum(hit)[end]
        precision, recall = np.append(1.0, so_far / (end + 1)), np.append(0.0, so_far / n)
        height = precision[1:]
        if rule == "sklearn trapezoid":
            height = (precision[1:] + precision[:-1]) / 2
        return float(np.sum(np.diff(recall) * height))
    place = np.flatnonzero(hit)
    nth = np.arange(1, len(place) + 1)
    precision = nth / (place + 1)
    if rule == "step":
        return float(precision.sum() / n)
    if rule == "interpolated":
        return float(np.maximum.accumulate(precision[::-1]).sum() / n)
    if rule == "mistaken trapezoid":
        before = np.append(float(place[0] == 0), precision[:-1])
    else:
        start = 0.0 if rule == "trapezoid from 0" else 1.0
        before = np.where(place > 0, (nth - 1) / np.maximum(place, 1), start)
    return float(((before + precision) / 2).sum() / n)


def explain(arrays: Arrays, ours: Doubles, theirs: Doubles, equal: npt.NDArray[np.bool_],
            tolerance: Doubles) -> Reason | None:
    """Find one or two choices that turn our AP into theirs, on every query where it can be seen.

    Parameters
    ----------
    arrays : Arrays
    ours, theirs : float64, shape (n_query,)
        NaN where there is no AP; such queries are left out.
    equal : bool, shape (n_query,)
        Queries that agree, which an explanation must leave alone.
    tolerance : float64, shape (n_query,)
        What rounding may cost.

    Returns
    -------
    Reason or None
        None where nothing known here explains the first query that differs.
    """
    known = ~np.isnan(ours) & ~np.isnan(theirs)
    differ = np.flatnonzero(known & ~equal)[:SAMPLE]
    queries = [int(k) for k in (*differ, *np.flatnonzero(known & equal)[:SAMPLE])]
    if not differ.size:
        return None

    def fits(choices: Choices, target: Doubles, looked_at: Sequence[int]) -> list[bool]:
        # A query labelled -1 has AP 0 in evaluation.m, though its good images are all ignored.
        return [bool(abs(np.nan_to_num(average_precision(
            choices, arrays.distances[k], int(arrays.query.identity[k]),
            int(arrays.query.camera[k]), arrays)) - target[k]) <= tolerance[k]) for k in looked_at]

    best: Reason | None = None
    for start in _baselines():
        if not all(fits(start, ours, queries)):
            continue
        for changed in _changes(start):
            if not fits(changed, theirs, queries[:1])[0]:
                continue
            hits = fits(changed, theirs, queries)
            reason = Reason(_difference(start, changed), sum(hits[:len(differ)]), len(differ))
            broken = len(hits) - len(differ) - sum(hits[len(differ):])
            if broken <= len(hits) // 8 and (best is None or _merit(reason) > _merit(best)):
                best = reason
    return best if best is not None and 2 * best.explained >= best.looked_at else None


def _merit(reason: Reason) -> tuple[int, int]:
    return reason.explained, -len(reason.choices)


def _baselines() -> Iterator[Choices]:
    for rule, label, camera, ties in itertools.product(
            ("trapezoid", "step", "sklearn step", "sklearn trapezoid"), WORDS["label"],
            ("same identity ignored", "camera ignored"), ("gallery order", "numpy", "reversed")):
        yield Choices(rule=rule, label=label, camera=camera, ties=ties)


def _changes(start: Choices) -> Iterator[Choices]:
    single = [(name, value) for name, values in WORDS.items() for value in values
              if value != getattr(start, name)]
    for change in single:
        yield replace(start, **dict((change,)))
    for pair in itertools.combinations(single, 2):
        if pair[0][0] != pair[1][0]:
            yield replace(start, **dict(pair))


def _difference(start: Choices, changed: Choices) -> tuple[tuple[str, str], ...]:
    return tuple((f.name, getattr(changed, f.name)) for f in fields(Choices)
                 if getattr(start, f.name) != getattr(changed, f.name))
