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
    full = np.append(first, np.nan)[n // sizes * sizes - 1]  # NaN where every batch is full
    for key, words, means in (
            ("full", "in batches of {} queries the last one is left out, which is not full", full),
            ("first", f"only the first {{}} of {n:,} queries count", first),
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
        for key in (_picked(_KEYS, keys), *(partial(_added, factor=factor) for factor in _numbers(
                keys, "key "))):
            kept &= key is None or key(gallery) != key(query)[k]
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
    cmc = _picked(_CURVES, keys, lambda curve: curve)(cmc)
    for digits in _numbers(keys, "down "):
        cmc = np.floor(cmc * 10.0**digits + 1e-9) / 10.0**digits
    if "counts 1" in keys:
        ap, inp, n_good = (np.where(n_good == 0, 1, each) for each in (ap, inp, n_good))
    means = [convention.mean(convention.counted(values, n_good)) for values in (ap, inp)]
    if weight is not None and counted.any():
        means = [float(np.average(np.nan_to_num(values[counted]), weights=weight))
                 for values in (ap, inp)]
    n, more = counted.sum(), ("one query more" in keys) - ("one query less" in keys)
    length = convention.curve_length(gallery.identity, None)
    whole = np.full(len(arrays.query), np.nan)
    whole[loaded[0]] = ap
    share = n / (n + more or 1) if more else 1
    return Walked(convention, whole, share * means[0], share * means[1], share * cmc[:length])


_CURVES: dict[str, Callable[[Any], Any]] = {
    "next": lambda cmc: np.append(cmc[0], [*cmc[2:], cmc[-1]]),
    "steps": lambda cmc: np.diff(cmc, prepend=0)}


def _picked(table: dict[str, Any], keys: Collection[str], rest: Any = None) -> Any:
    return next((table[key] for key in table if key in keys), rest)


def _numbers(keys: Collection[str], of: str) -> list[int]:
    """Return the numbers with which keys of a kind end."""
    return [int(key[len(of):]) for key in keys if re.fullmatch(rf"{of}-?\d+", key)]


def _weights(query: Labels, counted: Any, n_good: Any, keys: frozenset[str]) -> Any:
    """Return the weight of each query that counts, or None for equal ones."""
    place, batches, n = np.flatnonzero(counted), _numbers(keys, "batch "), len(query)
    for first in [*_numbers(keys, "first "), *[n - 1] * ("but last" in keys), *(
            n // size * size for size in _numbers(keys, "full "))]:
        return (place < first).astype(np.float64)
    if "but first" in keys:
        return (place > 0).astype(np.float64)
    if "by match" in keys:
        return n_good[counted].astype(np.float64)
    if "once each" in keys:
        both = [query.identity, query.columns()["camera"]]
        return np.isin(place, np.unique(both, axis=1, return_index=True)[1]).astype(np.float64)
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
    "clip": lambda labels, side: np.maximum(labels, 0),
    "least": lambda labels, side: np.maximum(labels, -1),
    "digit": lambda labels, side: np.abs(labels).astype("S1"),
    "falsy": lambda labels, side: np.where(labels == 0, _NONE + side, labels),
    "negative": lambda labels, side: np.where(labels < 0, _NONE + side, labels),
    "small": lambda labels, side: np.where((labels > 256) | (labels < -5), _NONE + side, labels),
    "beside": lambda labels, side: labels + side,
    "first": lambda labels, side: labels if side else np.full_like(labels, labels[0])}

#: How the keys of mistakes begin that change labels.
_OF_LABELS = ("identity ", "camera ", "first camera", "neighbour")


def _read(labels: Labels, keys: frozenset[str], gallery: Labels, side: int) -> Labels:
    """Return the labels of a side as they are read with these mistakes."""
    columns = dict(labels.columns())
    if not any(key.startswith(_OF_LABELS) for key in keys):
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


def _added(labels: Labels, factor: int) -> Any:
    return labels.identity * factor + labels.columns()["camera"]


_KEYS: dict[str, Callable[[Labels], Any]] = {
    "key digits": lambda labels: np.char.add(*(
        labels.columns()[name].astype(str) for name in ("identity", "camera")))}
_DISTANCES: dict[str, Callable[[Any], Any]] = {
    "descending": np.negative, "distances abs": np.abs,
    "distances clip": lambda row: np.maximum(row, 0),
    "text": lambda row: np.unique(row.astype(str), return_inverse=True)[1]}
#: What becomes of a list, by its order of images, and their distances.
_LISTS: dict[str, Callable[[Any, Any], Any]] = {
    "no first": lambda order, row: order[1:],
    "no last": lambda order, row: order[:-1],
    "no image 0": lambda order, row: order[order != 0],
    "no last image": lambda order, row: order[order != len(row) - 1],
    "not 0": lambda order, row: order[row[order] != 0],
    "finite": lambda order, row: order[~np.isinf(row[order])],
    "merged last": lambda order, row: order[np.append(
        row[order][1:] != row[order][:-1], row[order][:1] == row[order][:1])],
    "merged first": lambda order, row: order[np.append(
        row[order][:1] == row[order][:1], row[order][1:] != row[order][:-1])]}


def _order(row: npt.NDArray[Any], convention: Convention, good: Any, kept: Any,
           keys: frozenset[str]) -> npt.NDArray[np.int64]:
    row = _picked(_DISTANCES, keys, np.asarray)(row)
    for dtype in keys & {"float32", "float16", "int64"}:
        with np.errstate(over="ignore", invalid="ignore"):
            row = row.astype(dtype)
    for digits in _numbers(keys, "decimals "):
        row = np.round(row, digits)
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
    return np.asarray(_picked(_LISTS, keys, lambda order, row: order)(order, row))


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
    n = len(hit) if "by length" in keys else n if n_good is None else n_good
    n += int((same & ~is_good).sum()) * ("all good" in keys) + ("one more" in keys) - (
        "one less" in keys)
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
    return ap, (len(places) if "INP of one" not in keys else 1) / (
        int(last) + ("from place 0" not in keys) or 1), first


_PRECISIONS: dict[str, Callable[[Any, Any], Any]] = {
    "late": lambda hits, place: hits / (place + 1),
    "early": lambda hits, place: (hits - 1) / place,
    "smoothed": lambda hits, place: (hits + 1) / (place + 1),
    "whole": lambda hits, place: hits // place}
#: AP that is no area: by precision, which places are hits, and recall.
_OTHER_AP: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reciprocal": lambda precision, hit, recall: 1 / (1 + np.argmax(hit)),
    "every place": lambda precision, hit, recall: precision.mean(),
    "R-precision": lambda precision, hit, recall: hit[:hit.sum()].mean(),
    "points 11": lambda precision, hit, recall: np.append(np.maximum.accumulate(
        precision[::-1])[::-1], 0)[np.searchsorted(recall, np.linspace(0, 1, 11))].mean()}
#: Precision where a trapezoid begins: by precision, which places are hits, hits, and places.
_BEFORE: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "from 0": lambda precision, hit, hits, place: np.append(0.0, precision[:-1]),
    "always 1": lambda precision, hit, hits, place: np.ones(len(hit)),
    "hit place": lambda _, hit, hits, place: np.where(place > 1, (hits - 1) / place, 1.0),
    "hit before": lambda precision, hit, hits, _: np.append(1.0, precision[hit])[hits - 1],
    "hits alone": lambda precision, hit, hits, _: np.append(
        -precision[hit][:1], precision[hit])[hits - 1]}


def _area(hit: Any, place: Any, n: int, convention: Convention, keys: frozenset[str]) -> float:
    """Return AP by the rule's areas: steps or trapezoids."""
    hits = counted = np.cumsum(hit)
    for kind, dtype in (key.split() for key in keys if re.match(r"(hits|places) \w*\d$", key)):
        with np.errstate(over="ignore"):
            counted, place = (each.astype(dtype if kind == of else float).astype(float)
                              for of, each in (("hits", counted), ("places", place)))
    with np.errstate(all="ignore"):
        precision = _picked(_PRECISIONS, keys, np.divide)(counted, place)
    if other := _picked(_OTHER_AP, keys):
        return float(other(precision, hit, hits / n))
    if "interpolated" in keys:
        precision = np.maximum.accumulate(precision[::-1])[::-1]
    before = _picked(_BEFORE, keys, lambda *_: np.append(1.0, precision[:-1]))(
        precision, hit, hits, place)
    if AP[convention.ap].has_steps and "from 0" not in keys:
        before = precision
    areas = (precision + before) / 2 * ("no start" not in keys or np.arange(len(hit)) > 0)
    return float((areas[hit] / n)["lost first" in keys:].sum())
