"""Mistakes that no convention has, one record each, and what a rule gives with them.

The walk is the plainest one, query by query and image by image: problems are small.
"""
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles
from reid_ref.conventions import AP, Convention
from reid_ref.disk import tables_of
from reid_ref.foreign.arrays import Arrays
from reid_ref.labels import JUNK, Labels
from reid_ref.ranking.roles import query_roles


class Mistake(NamedTuple):
    """One mistake: its key, which may begin an argument, what it is a mistake of, its words, what
    to do about it, and which number alone has it, "mAP" or "CMC"."""

    key: str
    of: str
    words: str
    advice: str = ""
    alone: str = ""


MISTAKES = tuple(
    Mistake(key.format(each), of, words.format(each, each), *advice[:1])
    for of, table in tables_of("rules/mistakes.toml").items()
    for key, (words, *advice) in table.items() for each in (advice[1:] or [[""]])[0])
#: For one number that no mistake explains, beside others that a rule gives.
_, _, OTHER_MEAN = OTHERS = tuple(
    Mistake(f"other {of}", of, f"{of} follows no rule that was tried")
    for of in ("mINP", "CMC", "mAP"))


@dataclass(frozen=True)
class Walked:
    """Numbers of a walk, as far as `numbers.mismatches` looks at them."""

    convention: Convention
    ap: Doubles
    mAP: float
    mINP: float
    cmc: Doubles

    def of_query(self, measure: str) -> Doubles:
        """Return the AP of each query; NaN where it does not count."""
        return self.ap


def mistakes_of_mean(ap: Doubles, mean: float, tolerance: float) -> list[Mistake]:
    """Return what is made of APs of queries that count, if the mean is of the first ones alone or
    of batches."""
    sizes, found, n = np.arange(1, len(ap)), list[Mistake](), len(ap)
    first = np.cumsum(ap)[:-1] / sizes
    of_batches = [np.mean(np.add.reduceat(ap, np.arange(0, n, k)) / np.minimum(
        k, n - np.arange(0, n, k))) for k in sizes]
    for key, words, means in (
            ("first", f"only the first {{}} of {n:,} queries count; where they come in batches, "
             "the last one is left out", first),
            ("batch", "the mean is over the means of batches of {} queries", of_batches)):
        fits = sizes[np.abs(np.subtract(means, mean)) <= tolerance]
        found += [Mistake(f"{key} {k}", "mean", words.format(f"{k:,}"))
                  for k in fits[:-9:-1].tolist()]
    return found


def mistaken_numbers(arrays: Arrays, convention: Convention,
                     mistakes: Collection[Mistake]) -> Walked:
    """Return what the rule gives with these mistakes."""
    whole = _walked(arrays, convention, frozenset(mistake.key for mistake in mistakes))
    if alone := {mistake.alone for mistake in mistakes} - {""}:
        rule = _walked(arrays, convention, frozenset())
        return replace(whole, cmc=rule.cmc) if alone == {"mAP"} else replace(rule, cmc=whole.cmc)
    return whole


def _walked(arrays: Arrays, convention: Convention, keys: frozenset[str]) -> Walked:
    loaded = [convention.loaded(labels.identity) & ~np.isin(labels.identity, _numbers(
        keys, f"without {side} ")) for side, labels in (
            ("query", arrays.query), ("image", arrays.gallery))]
    query, gallery = (_read(labels[mask], keys, arrays.gallery, side) for side, (labels, mask)
                      in enumerate(zip((arrays.query, arrays.gallery), loaded)))
    distances = arrays.distances[loaded[0]][:, loaded[1]]
    not_ranked = [rule for rule in convention.not_ranked
                  if not (rule == "label -1" and "junk stays" in keys)]
    roles = query_roles(query, gallery, not_ranked)
    ap, inp = np.full(len(query), np.nan), np.full(len(query), np.nan)
    n_good = np.zeros(len(query), np.int64)
    hits, n_kept = np.zeros((len(query), len(gallery) + 1)), np.zeros(len(query), np.int64)
    for k in range(len(query)):
        good, kept = roles(k)
        kept = kept & ((gallery.identity > 0) | ("below 1" not in keys))
        for factor in _numbers(keys, "key ") if gallery.camera is not None else ():
            away = (side.identity * factor + side.columns()["camera"] for side in (gallery, query))
            kept &= next(away) != next(away)[k]
        kept[k:k + ("diagonal" in keys and len(query) == len(gallery))] = False
        same = gallery.identity == query.identity[k]
        order = _order(distances[k], convention, good, kept, keys)
        near = same if gallery.camera is None else gallery.camera == query.camera_of(k)
        ap[k], inp[k], first = _of_query(order, good, kept, same, near, gallery.identity == JUNK,
                                         convention, keys)
        n_good[k], n_kept[k] = len(good), kept.sum()
        if keys & {"unordered", "mask same", "mask good", *_LISTS}:
            n_good[k] = first is not None
        if first is not None:
            hits[k, max(first + ("behind" in keys) - ("shifted" in keys), 0):] = 1
            hits[k, n_kept[k] if "ends" in keys else len(gallery) + 1:] = 0
        if "known" in keys and not n_good[k] and same.any():
            ap[k], n_good[k] = 0, 1
        if "not reset" in keys and not ap[k] > 0:
            ap[k], n_good[k] = ap[k - 1] if k else 0, 1
    hits[n_good == 0] += "unmatched hit" in keys
    every = keys & {"counts 1", "unmatched hit"} or convention.n_in_cmc(np.zeros(1, np.int64)) > 0
    counted = n_good > 0 if not every else n_good >= 0
    weight = _weights(query, counted, n_good, keys)
    weight = None if weight is None or not weight.any() else weight
    cmc = np.full(hits.shape[1], np.nan)
    if counted.any():
        cmc = np.average(hits[counted], axis=0, weights=weight)
        cmc[0] -= hits[counted][0, 0] / counted.sum() * ("one missed" in keys)
        cmc[n_kept[counted].min() if "filled" in keys else len(cmc):] = 0
    if "next" in keys:
        cmc[1:-1] = cmc[2:].copy()
    for digits in _numbers(keys, "down "):
        cmc = np.floor(cmc * 10.0**digits + 1e-9) / 10.0**digits
    if "counts 1" in keys:
        ap, inp, n_good = (np.where(n_good == 0, 1, each) for each in (ap, inp, n_good))
    means = [convention.mean(convention.counted(values, n_good)) for values in (ap, inp)]
    if weight is not None and counted.any():
        means = [float(np.average(np.nan_to_num(values[counted]), weights=weight))
                 for values in (ap, inp)]
    length = convention.curve_length(gallery.identity, None)
    whole = np.full(len(arrays.query), np.nan)
    whole[loaded[0]] = ap
    return Walked(convention, whole, means[0], means[1], cmc[:length])


def _numbers(keys: Collection[str], of: str) -> list[int]:
    """Return the numbers with which keys of a kind end."""
    return [int(key[len(of):]) for key in keys if re.fullmatch(rf"{of}-?\d+", key)]


def _weights(query: Labels, counted: Any, n_good: Any, keys: frozenset[str]) -> Any:
    """Return the weight of each query that counts, or None for equal ones."""
    place, batches, n = np.flatnonzero(counted), _numbers(keys, "batch "), len(query)
    for first in [*_numbers(keys, "first "), *[n - 1] * ("but last" in keys)]:
        return (place < first).astype(np.float64)
    if "by match" in keys:
        return n_good[counted].astype(np.float64)
    if not batches and "by identity" not in keys:
        return None
    group = place // batches[0] if batches else query.identity[counted]
    _, place, size = np.unique(group, return_inverse=True, return_counts=True)
    return 1 / size[place.ravel()]


#: A label that none on the other side is, when the number of the side is added.
_NONE = 2**40
#: How the labels of a side are read, by the numbers and the side: 0 of queries, 1 of images.
_READINGS: dict[str, Callable[[Any, int], Any]] = {
    "abs": lambda labels, side: np.abs(labels),
    "falsy": lambda labels, side: np.where(labels == 0, _NONE + side, labels),
    "negative": lambda labels, side: np.where(labels < 0, _NONE + side, labels),
    "small": lambda labels, side: np.where((labels > 256) | (labels < -5), _NONE + side, labels),
    "first": lambda labels, side: labels if side else np.full_like(labels, labels[0])}

#: How the keys of mistakes begin that change labels.
_OF_LABELS = ("identity ", "camera ", "first camera", "neighbour")


def _read(labels: Labels, keys: frozenset[str], gallery: Labels, side: int) -> Labels:
    """Return the labels of a side as they are read with these mistakes."""
    columns = dict(labels.columns())
    if not len(labels) or not any(key.startswith(_OF_LABELS) for key in keys):
        return labels
    for column, how in (key.split(" ", 1) for key in keys
                        if key.startswith(_OF_LABELS[:2])):
        values, modulo = columns[column], _numbers([how], "%")
        with np.errstate(over="ignore", invalid="ignore"):
            columns[column] = (values % modulo[0] if modulo else _READINGS[how](
                values, side) if how in _READINGS else values.astype(how)).astype(np.int64)
    if "first camera" in keys and not side:
        _, first, group = np.unique(labels.identity, return_index=True, return_inverse=True)
        columns["camera"] = columns["camera"][first[group.ravel()]]
    if "neighbour" in keys and not side:
        names = np.unique(gallery.identity)
        columns["identity"] = names[np.searchsorted(names[:-1], labels.identity)]
    return Labels(**columns)


_DISTANCES: dict[str, Callable[[Any], Any]] = {
    "descending": np.negative, "unsorted": np.zeros_like, "distances abs": np.abs,
    "distances clip": partial(np.maximum, 0),
    **{f"decimals {k}": partial(np.round, decimals=k) for k in range(1, 7)},
    **{dtype: partial(np.ndarray.astype, dtype=dtype) for dtype in (
        "float32", "float16", "int64")}}
#: What becomes of a list, by its order of images, and their distances.
_LISTS: dict[str, Callable[[Any, Any], Any]] = {
    "no first": lambda order, row: order[1:], "no last": lambda order, row: order[:-1],
    "not 0": lambda order, row: order[row[order] != 0],
    "finite": lambda order, row: order[~np.isinf(row[order])],
    "merged first": lambda order, row: order[np.unique(row[order], return_index=True)[1]],
    "merged last": lambda order, row: order[::-1][np.unique(
        row[order[::-1]], return_index=True)[1]]}


def _order(row: npt.NDArray[Any], convention: Convention, good: Any, kept: Any,
           keys: frozenset[str]) -> npt.NDArray[np.int64]:
    for key in keys & {*_DISTANCES}:
        with np.errstate(over="ignore", invalid="ignore"):
            row = _DISTANCES[key](row)
    for far in _numbers(keys, "at "):
        row, kept[:] = np.where(kept, row, far), True
    order: npt.NDArray[np.int64] = np.argsort(row, kind="stable")
    if second := keys & {"good first", "good last"}:
        is_good = np.isin(np.arange(len(row)), good)
        order = np.lexsort((is_good == (second == {"good last"}), row))
    elif convention.ties == "reversed":
        order = np.lexsort((-np.arange(len(row)), row))
    elif convention.ties.startswith("numpy"):
        order = np.argsort(-row)[::-1] if "reversed" in convention.ties else np.argsort(row)
    if keys & {"merged last", "merged first"}:
        order = order[kept[order]]
    for n in _numbers(keys, "sorted "):
        order = np.argpartition(row, min(n, len(row) - 1))
        order[:n] = order[:n][np.argsort(row[order[:n]], kind="stable")]
    for key in keys & {*_LISTS}:
        order = _LISTS[key](order, row)
    return order


def _of_query(order: Any, good: Any, kept: Any, same: Any, near: Any, junk: Any,
              convention: Convention, keys: frozenset[str]) -> tuple[float, float, int | None]:
    """Return AP, INP and the place of the first match, from 0."""
    is_good = np.zeros(len(kept), np.bool_)
    is_good[good] = True
    matches = is_good if convention.junk_match != "never" else is_good & kept
    is_good, n_good = is_good & kept, None
    if "unordered" in keys:  # as far as the camera of this place in the gallery tells
        order = order[~(same[order] & near[:len(order)])]
        is_good, matches, kept = same, same, kept | same
    if mask := keys & {"mask good", "mask same"}:
        by_good, order, kept = mask == {"mask good"}, order[kept[:len(order)]], kept | True
        n_good = int(is_good.sum()) if by_good else None
        matches = is_good = is_good if by_good else same
    is_good = is_good | (same & ~kept & ("junk good" in keys)) | (junk & ("junk hits" in keys))
    stays = kept | is_good | ("stay" in keys)
    cut = convention.top_k if convention.cut == "before-ignoring" else None
    listed = np.flatnonzero(stays[order[:cut]])[:convention.top_k if cut is None else None]
    hit = is_good[order[listed]]
    places = np.flatnonzero(is_good[order[stays[order]]])
    n = len(places) if cut is None and convention.recall != "found" else int(hit.sum())
    if convention.recall.startswith("min") and convention.top_k:
        n = min(n, convention.top_k)
    n = n if n_good is None else n_good
    n += int((same & ~is_good).sum()) * ("all good" in keys) + ("one more" in keys)
    matched = np.flatnonzero((matches | is_good)[order])
    before_it = order[:matched[0]] if len(matched) else order
    first = None if not len(matched) else len(before_it) if "places" in keys else int(
        stays[before_it].sum())
    if not len(places):
        none = 0.0 if len(good) else np.nan  # all of them ignored as well
        return none, none if convention.unmatched == "zero" else np.nan, first
    if convention.top_k and "uncut" not in keys and not hit.any():
        first = None
    place = listed + 1 if "gaps" in keys else np.arange(1, len(hit) + 1)
    ap = _area(hit, place, n, convention, keys) if n and hit.any() else 0.0
    last = np.flatnonzero(is_good[order])[-1] if "places too" in keys else places[-1]
    return ap, len(places) / (int(last) + ("from place 0" not in keys) or 1), first


def _area(hit: Any, place: Any, n: int, convention: Convention, keys: frozenset[str]) -> float:
    """Return AP by the rule's areas: steps or trapezoids."""
    hits = np.cumsum(hit)
    for kind, dtype in (key.split() for key in keys if re.match(r"(hits|places) \w*\d$", key)):
        with np.errstate(over="ignore"):
            hits, place = (each.astype(dtype).astype(float) if kind == of else each
                           for of, each in (("hits", hits), ("places", place)))
    with np.errstate(all="ignore"):
        precision = (hits - ("early" in keys)) / (place + ("late" in keys))
    if "reciprocal" in keys:
        return float(1 / place[hit][0])
    best = np.maximum.accumulate(precision[::-1])[::-1]
    if "points 11" in keys:
        return float(np.append(best, 0)[np.searchsorted(hits / n, np.linspace(0, 1, 11))].mean())
    precision = best if "interpolated" in keys else precision
    before = np.append(0.0 if "from 0" in keys else 1.0, precision[:-1])
    if keys & {"hit before", "hits alone"}:
        before[hit] = np.append(1.0, precision[hit][:-1])[:hit.sum()]
    if "hit place" in keys:
        before = np.where(place > 1, (hits - 1) / place, 1.0)
    if AP[convention.ap].has_steps and "from 0" not in keys:
        before = precision
    areas = (precision + before) / 2 * ("no start" not in keys or np.arange(len(hit)) > 0)
    return float((areas[hit] / n)[bool(keys & {"lost first", "hits alone"}):].sum())
