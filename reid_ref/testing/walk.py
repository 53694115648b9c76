"""Why a query differs: which choice, or which two, turn our AP into theirs.

What explains a difference walks a query's ranked gallery in the plainest way and shares no code
with the fast path: it is a second opinion.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, Integers
from reid_ref.conventions import TIES
from reid_ref.labels import JUNK
from reid_ref.foreign.answers import Answer
from reid_ref.foreign.arrays import Arrays
from reid_ref.testing.matching import DIFFERS, Match, named_first, unlike

#: Queries looked at on either side (differing, equal) for one explanation, and conventions.
_SAMPLE = 12

_CUTOFFS = (1, 5, 10, 20, 50, 100)
_TIED = "a good image ties with a wrong one, and "
#: Every choice an evaluator may make, and its words in a report; the first is the default.
WORDS: dict[str, dict[str, str]] = {
    "rule": {
        "trapezoid": "trapezoids (the precision one place before a hit counts)",
        "step": "step AP (mean precision at the hits) instead of trapezoids",
        "sklearn step": "step AP in which equal distances share one threshold (scikit-learn)",
        "mistaken trapezoid": "trapezoids from the precision of the hit before, not the place",
        "trapezoid from 0": "trapezoids that start at precision 0 instead of 1",
        "interpolated": "interpolated AP (best precision at this recall or beyond)"},
    "label": {
        "-1 ignored": "label -1 images are ignored",
        "-1 wrong": "label -1 images are counted as wrong answers"},
    "camera": {
        "same identity ignored": "images of the query's identity on its own camera are ignored",
        "nothing ignored": "images of the query's identity on its own camera count as hits",
        "camera ignored": "every image on the query's camera is ignored, of any identity",
        "same identity wrong": "images of the query's identity on its own camera count as wrong"},
    "ties": {
        "gallery order": "equal distances keep gallery order",
        "numpy": f"{_TIED}numpy's default argsort, which is not stable, orders them",
        "reversed": f"{_TIED}equal distances are in reversed gallery order",
        "good first": f"{_TIED}good images come first",
        "good last": f"{_TIED}good images come last"},
    "arithmetic": {
        "as given": "distances are compared as they are given",
        "float32": "distances become float32, so that some that differ tie",
        "float16": "distances become float16, so that some that differ tie"},
    "identity": {
        "as given": "identities are compared as they are given",
        "float32": "identities pass through float32, so that those above 2^24 merge"},
    "order": {
        "ascending": "smaller distances come first",
        "descending": "larger values come first: distances are taken for similarities"},
    "cutoff": {
        "whole list": "the whole list counts",
        **{f"found in {k}": f"the first {k} places count, with recall over the good images in them"
           for k in _CUTOFFS},
        **{f"exist, first {k}": f"the first {k} places count, with recall over all good images"
           for k in _CUTOFFS}}}
DEFAULTS = {name: next(iter(values)) for name, values in WORDS.items()}


class Reason(NamedTuple):
    """Choices that turn our AP into theirs, of all the differing queries that were looked at."""

    choices: dict[str, str]
    looked_at: int

    def __str__(self) -> str:
        words = ", and ".join(WORDS[name][value] for name, value in self.choices.items())
        return f"{words} (explains the {self.looked_at} differing queries looked at)"


def _order(distances: npt.NDArray[Any], query: int, arithmetic: str, order: str,
           ties: str) -> tuple[npt.NDArray[Any], Integers]:
    """Return the row of a query as these choices have it, and the order of its images."""
    row = np.array(distances[query])
    if arithmetic != "as given":
        with np.errstate(over="ignore"):
            row = row.astype(arithmetic)
    row = -row if order == "descending" else row
    if ties == "reversed":
        return row, np.lexsort((-np.arange(len(row)), row))
    return row, np.argsort(row, kind=None if ties == "numpy" else "stable")


def query_ap(choices: dict[str, str], arrays: Arrays, query: int,
             order_of: Callable[..., Any] | None = None) -> float:
    """Return the AP of one query under these choices; NaN without a good image.

    Examples
    --------
    >>> import numpy as np
    >>> from reid_ref import Labels
    >>> arrays = Arrays(np.array([[.2, .3, .4, .0, .1]]), Labels([7], [1]),
    ...                 Labels([7, 8, 7, 7, -1], [2, 1, 3, 1, 1]))
    >>> [round(query_ap({**DEFAULTS, **changed}, arrays, 0), 4) for changed in (
    ...     {}, {"rule": "step"}, {"label": "-1 wrong"})]
    [0.7917, 0.8333, 0.3333]
    """
    labels, identity = arrays.gallery.identity, arrays.query.identity[query]
    if choices["identity"] == "float32":
        labels, identity = labels.astype(np.float32), np.float32(identity)
    same = labels == identity
    same_camera = arrays.on_camera(query)
    ignored = (labels == JUNK) & (choices["label"] == "-1 ignored")
    if choices["camera"] in ("same identity ignored", "camera ignored"):
        ignored = ignored | (same_camera & (same | (choices["camera"] == "camera ignored")))
    good = same & ~ignored & ((choices["camera"] == "nothing ignored") | ~same_camera)
    row, order = (order_of or partial(_order, arrays.distances))(
        query, *(choices[name] for name in ("arithmetic", "order", "ties")))
    if choices["ties"] in ("good first", "good last"):
        order = np.lexsort((good if choices["ties"] == "good last" else ~good, row))
    order = order[~ignored[order]]
    hit, values, n = good[order], row[order], int(good.sum())
    recall, _, k = choices["cutoff"].rpartition(" ")
    if recall != "whole":
        hit, values = hit[:int(k)], values[:int(k)]
        n = int(hit.sum()) or n if recall == "found in" else n
    return _area(choices["rule"], hit, values, n) if n else float("nan")


def _area(rule: str, hit: npt.NDArray[np.bool_], values: npt.NDArray[Any], n: int) -> float:
    end = np.arange(len(hit))
    if rule == "sklearn step":
        end = np.append(np.flatnonzero(np.diff(values)), len(values) - 1)
    hits = np.cumsum(hit)[end]
    recall, precision = np.diff(hits, prepend=0) / n, hits / (end + 1)
    if rule == "interpolated":
        precision = np.maximum.accumulate(precision[::-1])[::-1]
    elif rule == "mistaken trapezoid":
        recall, precision = recall[hit], precision[hit]
    if "trapezoid" in rule:
        start = {"trapezoid from 0": 0.0, "mistaken trapezoid": float(hit[0])}.get(rule, 1.0)
        precision = (precision + np.append(start, precision[:-1])) / 2
    return float((recall * precision).sum())


def explaining_choices(arrays: Arrays, matches: list[Match],
                       theirs: Doubles) -> tuple[list[Match], Reason | None]:
    """Find one choice, or else two, that turn our AP into theirs, wherever it can be seen.

    They are sought from several of the nearest conventions, no two alike; the one from which they
    lead to theirs comes first.
    """
    if not (matches[0].compared & ~matches[0].equal & ~np.isnan(theirs)).any():
        return matches, None  # the only differing ones are without an AP of theirs
    closest = unlike(named_first(matches))
    order_of = functools.lru_cache(256)(partial(_order, arrays.distances))
    for count, match in itertools.product((1, 2), closest[:_SAMPLE]):
        reason = _reason(arrays, match, theirs, count, order_of)
        if reason is not None:
            return [match, *(other for other in matches if other is not match)], reason
    return matches, None


def _reason(arrays: Arrays, match: Match, theirs: Doubles, count: int,
            order_of: Callable[..., Any]) -> Reason | None:
    ours, known = match.result.of_query("mAP"), match.compared & ~np.isnan(theirs)
    differ, same = (np.flatnonzero(known & of)[:_SAMPLE].tolist()
                    for of in (~match.equal, match.equal))

    def fit(choices: dict[str, str], target: Doubles) -> bool:
        # A query labelled -1 has AP 0 in evaluation.m, though its good images are all ignored.
        return all(abs(np.nan_to_num(query_ap(choices, arrays, k, order_of)) - target[k])
                   <= match.tolerance[k] for k in differ + same)

    for start in _baselines() if differ else ():
        if fit(start, ours):
            for change in _changes(start, count):
                if fit({**start, **change}, theirs):
                    return Reason(change, len(differ))
    return None


def _baselines() -> list[dict[str, str]]:
    values = {"rule": list(WORDS["rule"])[:3], "label": list(WORDS["label"]),
              "camera": ["same identity ignored", "camera ignored"],
              "ties": ["gallery order", "numpy", "reversed"]}
    return [{**DEFAULTS, **dict(zip(values, choice))}
            for choice in itertools.product(*values.values())]


def _changes(start: dict[str, str], count: int) -> list[dict[str, str]]:
    """Return every change of so many choices."""
    single = [(name, value) for name, values in WORDS.items() for value in values
              if value != start[name]]
    changes = map(dict, itertools.combinations(single, count))
    return [change for change in changes if len(change) == count]


# ------------------------------------------------------------------ known defects
#: Choices that are known defects: the choice, how its values begin, and what follows from it.
_DEFECTS = {
    "float32-identities": ("identity", "float32", "renumber them, e.g. with numpy.unique"),
    "machine-ties": ("ties", "numpy", "another machine gives another number"),
    "narrow-distances": ("arithmetic", "float", "give it whole numbers from ranks"),
    "found-in-top-k": ("cutoff", "found in", "mAP may be higher than of the whole list"),
    "similarities": ("order", "descending", "give it the negative of these distances"),
    "label-counted": ("label", "-1 wrong", "remove them first to have them ignored")}


def defects(arrays: Arrays, answer: Answer, again: Answer | None, match: Match | None,
            reason: Reason | None) -> dict[str, str]:
    """Return the known defects that change these numbers: name to sentence.

    They are recognised by the answer, since such code is copied between repositories; `again` is
    the answer to the same arrays with another random seed.
    """
    choices = {} if reason is None else dict(reason.choices)
    if match is not None and match.agrees and TIES[match.result.convention.ties].sorts:
        choices["ties"] = "numpy"
    if match is not None and "ap" in match.agreement and match.level("ap") < DIFFERS and (
            "label -1" not in match.result.convention.not_ranked
            and JUNK in arrays.gallery.identity):
        choices["label"] = "-1 wrong"
    texts = {name: f"{WORDS[choice][choices[choice]]}: {advice}"
             for name, (choice, start, advice) in _DEFECTS.items()
             if choices.get(choice, "").startswith(start)}
    if not np.array_equal(answer.curve, (again or answer).curve, equal_nan=True):
        texts["random-draws"] = ("it gives different numbers from run to run: two random seeds "
                                 "gave two CMC curves")
    return texts
