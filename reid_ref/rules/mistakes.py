"""Mistakes that no convention has, one record each, and what a rule gives with them.

The walk is the plainest one, query by query and image by image: problems are small.
"""
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

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


_TABLES = tables_of("rules/mistakes.toml")
#: Sentences on what shows without a mistake.
FAULTS: dict[str, str] = _TABLES.pop("faults")
#: Keys and words of mistakes of a mean whose sizes are found, not tried.
_SIZES = _TABLES.pop("sizes")
MISTAKES = tuple(
    Mistake(key.format(each), of, words.format(each, each), *advice[:1])
    for of, table in _TABLES.items()
    for key, (words, *advice) in table.items() for each in (advice[1:] or [[""]])[0])
#: For one number that no mistake explains, beside others that a rule gives.
OTHERS = tuple(Mistake(f"other {of}", of, f"{of} follows no rule that was tried")
               for of in ("mINP", "CMC", "mAP"))


class Walked(NamedTuple):
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
    """Return what is made of APs of queries that count, if the mean is of some of them alone or of
    batches."""
    n, size = len(ap), np.arange(1, max(len(ap), 1))
    ends, starts = np.cumsum(ap), (n - 1) // size * size
    means: list[Any] = [
        ends[size - 1] / size, ends[n // size * size - 1] / (n // size * size),
        (ends[-1] - ends[starts - 1] * (starts > 0)) / (n - starts),
        [np.mean(np.add.reduceat(ap, np.arange(0, n, k)) / np.diff(np.arange(0, n, k), append=n))
         for k in size]]
    return [Mistake(key.format(k), "mean", words.format(f"{k:,}", f"{n:,}"))
            for (key, (words,)), of_size in zip(_SIZES.items(), means) for k in size[
                np.abs(np.subtract(of_size, mean)) <= tolerance][:-9:-1].tolist()]


def mistaken_numbers(arrays: Arrays, convention: Convention,
                     mistakes: Collection[Mistake]) -> Walked:
    """Return what the rule gives with these mistakes."""
    whole = _walked(arrays, convention, frozenset(mistake.key for mistake in mistakes))
    if alone := {mistake.alone for mistake in mistakes} - {""}:
        rule = _walked(arrays, convention, frozenset())
        return whole._replace(cmc=rule.cmc) if alone == {"mAP"} else rule._replace(cmc=whole.cmc)
    return whole


@np.errstate(all="ignore")
def _walked(arrays: Arrays, convention: Convention, keys: frozenset[str]) -> Walked:
    if "square" in keys and len(arrays.query) == len(arrays.gallery):
        arrays = replace(arrays, distances=arrays.distances.T)
    if "transposed" in keys and len(arrays.query) > len(arrays.gallery):
        arrays = Arrays(arrays.distances.T, arrays.gallery, arrays.query)
    if "ties reversed" in keys:
        convention = convention.replace(ties="reversed")
    rows, images = (_there(labels.identity, convention, keys, side) for side, labels in (
        ("query", arrays.query), ("image", arrays.gallery)))
    query, gallery = (_read(labels, keys, arrays.gallery, side) for side, labels in enumerate(
        (arrays.query[rows], arrays.gallery[images])))
    distances = _converted(arrays.distances[rows][:, images], "distances", keys)
    roles = query_roles(query, gallery, [rule for rule in convention.not_ranked if not (
        rule == "label -1" and "junk stays" in keys)])
    ap, inp, first, n_good, n_kept = np.reshape([
        _of_query(k, distances[k], query, gallery, *roles(k), convention, keys)
        for k in range(len(query))], (-1, 5)).T
    if "counts 1" in keys:
        ap, inp, n_good = (np.where(n_good == 0, 1, each) for each in (ap, inp, n_good))
    if "not reset" in keys:
        before = np.maximum.accumulate(np.where(n_good > 0, np.arange(len(ap)), -1))
        ap, n_good = np.append(ap, 0)[before], np.ones(len(ap))
    length = convention.curve_length(gallery.identity, None)
    if keys & {"unfound last", "unfound first"}:
        first = np.where((n_good > 0) & (first >= length), (length - 1) * (
            "unfound last" in keys), first)
    if "unmatched hit" in keys:
        first = np.where(n_good == 0, 0, first)
    every = {"counts 1", "unmatched hit"} & keys or convention.n_in_cmc(np.zeros(1, np.int64))
    counted = (n_good > 0) | bool(every)
    weight = _weights(query, counted, n_good, keys)
    ap = _converted(ap, "AP", keys)
    means = [convention.mean(convention.counted(values, n_good)) if weight is None else float(
        np.average(np.nan_to_num(values[counted]), weights=weight)) for values in (ap, inp)]
    whole = np.full(len(arrays.query), np.nan)
    whole[rows] = ap
    cmc = _curve(first[counted], n_kept[counted], len(gallery) + 1, weight, keys)
    return Walked(convention, whole, means[0], means[1], cmc[:length])


def _numbers(keys: Collection[str], of: str) -> list[int]:
    """Return the numbers with which keys of a kind end."""
    return [int(key[len(of):]) for key in keys if re.fullmatch(rf"{of}-?\d+", key)]


def _weights(query: Labels, counted: Any, n_good: Any, keys: frozenset[str]) -> Any:
    """Return the weight of each query that counts, or None for equal ones."""
    groups = [np.flatnonzero(counted) // size for size in _numbers(keys, "batch ")] + [
        values[counted] for name, values in query.columns().items() if f"by {name}" in keys]
    weight: Any = n_good[counted] if "by match" in keys else np.zeros(0)
    n = len(counted)
    for multiple in _numbers(keys, "padded "):
        weight = np.bincount(np.arange(n + -n % multiple) % n)[counted]
    if "last of each" in keys:
        names = list(zip(*(values[counted] for name, values in query.columns().items()
                           if name in ("identity", "camera"))))
        weight = np.array([name not in names[k + 1:] for k, name in enumerate(names)])
    for group in groups:
        _, place, size = np.unique(group, return_inverse=True, return_counts=True)
        weight = 1 / size[place.ravel()]
    return weight if weight.any() else None


def _curve(first: Any, n_kept: Any, length: int, weight: Any, keys: frozenset[str]) -> Any:
    """Return CMC by the place of each query's first match."""
    if not len(first):
        return np.full(length, np.nan)
    first, place = first[:, np.newaxis], np.arange(length)
    hits = place >= np.maximum(first + ("behind" in keys) - ("shifted" in keys), 0)
    hits &= (place < n_kept[:, np.newaxis]) | ("ends" not in keys)
    hits[0, 0] &= "one missed" not in keys
    cmc = np.average(hits, axis=0, weights=weight)
    cmc[int(n_kept.min()) if "filled" in keys else length:] = 0
    if "next" in keys:
        cmc[1:-1] = cmc[2:].copy()
    if "not accumulated" in keys:
        cmc = np.diff(cmc, prepend=0)
    return _converted(cmc, "CMC", keys)


# ------------------------------------------------------------------ what is read
#: A label that none on the other side is, when the number of the side is added.
_NONE = 2**40
#: How numbers are read, by a number and the side: 0 of queries, 1 of images; else as a dtype.
_HOW: dict[str, Callable[[Any, int, int], Any]] = {
    "abs": lambda values, n, side: np.abs(values),
    "clip": lambda values, n, side: np.maximum(values, 0),
    "turned": lambda values, n, side: -values,
    "equal": lambda values, n, side: np.zeros_like(values),
    "text": lambda values, n, side: np.unique(
        values.astype(np.str_), return_inverse=True)[1].reshape(values.shape),
    "scaled": lambda values, n, side: values / np.nanmax(values),
    "exp": lambda values, n, side: -np.exp(-values),
    "wrapped": lambda values, n, side: np.where(
        (values == 0) & (values.dtype.kind == "u"), np.inf, values),
    "digits": lambda values, n, side: [int(str(each)[:n]) for each in values.tolist()],
    "decimals": lambda values, n, side: np.round(values, n),
    "down": lambda values, n, side: np.floor(values * 10.0**n + 1e-9) / 10.0**n,
    "modulo": lambda values, n, side: values % n,
    "renumbered": lambda values, n, side: np.unique(values, return_inverse=True)[1].ravel(),
    "falsy": lambda values, n, side: np.where(values == 0, _NONE + side, values),
    "negative": lambda values, n, side: np.where(values < 0, _NONE + side, values),
    "small": lambda values, n, side: np.where(
        (values > 256) | (values < -5), _NONE + side, values),
    "first": lambda values, n, side: values if side else np.repeat(values[:1], len(values)),
    "query": lambda values, n, side: values if side else np.roll(values, n),
    "image": lambda values, n, side: np.roll(values, n) if side else values}


def _converted(values: Any, of: str, keys: frozenset[str], side: int = 0) -> Any:
    """Return numbers as they are read with the mistakes whose keys begin by what they are of."""
    for key in keys:
        if key.startswith(f"{of} "):
            how, number = f"{key} 0".split(" ")[1:3]
            values = np.asarray(_HOW[how](values, int(number), side)) if how in _HOW else (
                values.astype(how))
    return values


def _there(identity: Any, convention: Convention, keys: frozenset[str], side: str) -> Any:
    """Return which rows of a side are not left out: by their label, or as a slice."""
    there, n = convention.loaded(identity), len(identity)
    for of, value in (key.split(" ")[1:] for key in keys if key.startswith(f"{side} ")):
        if of == "label":
            there = there & (identity != int(value))
        elif of == "rows":
            left = slice(*(int(end) if end else None for end in value.split(":")))
            there = there & np.isin(np.arange(n), np.arange(n)[left])
        else:  # batches
            end, tail = n // int(value) * int(value) or n, (n - 1) // int(value) * int(value)
            there = there & (np.arange(n) < end if of == "full" else np.arange(n) >= tail)
    return there


def _read(labels: Labels, keys: frozenset[str], gallery: Labels, side: int) -> Labels:
    """Return the labels of a side as they are read with these mistakes."""
    columns = dict(labels.columns())
    for name in {"identity", "camera"} & {*columns}:
        for of in (name, "labels"):
            columns[name] = _converted(columns[name], of, keys, side).astype(np.int64)
    if "first camera" in keys and not side:
        _, first, group = np.unique(labels.identity, return_index=True, return_inverse=True)
        columns["camera"] = columns["camera"][first[group.ravel()]]
    if "neighbour" in keys and not side:
        names = np.unique(gallery.identity)
        columns["identity"] = names[np.searchsorted(names[:-1], labels.identity)]
    return Labels(**columns)


# ------------------------------------------------------------------ one query
#: What becomes of a list, by its order of images, their distances and their identities; of those
#: that are kept, if the key begins so.
_LISTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "no first": lambda order, row, identity: order[1:],
    "no last": lambda order, row, identity: order[:-1],
    "not 0": lambda order, row, identity: order[row[order] != 0],
    "finite": lambda order, row, identity: order[~np.isinf(row[order])],
    "ranks": lambda order, row, identity: np.sort(order)[
        np.argsort(np.searchsorted(np.sort(order), order))],
    "identities": lambda order, row, identity: order[np.sort(
        np.unique(identity[order], return_index=True)[1])],
    "first": lambda order, row, identity: order[np.unique(row[order], return_index=True)[1]],
    "last": lambda order, row, identity: order[::-1][
        np.unique(row[order[::-1]], return_index=True)[1]]}
#: Mistakes with which a query counts if its list has a match.
_OF_LISTS = {"listed", "unordered", "mask good", "mask same",
             *_LISTS, *map("kept {}".format, _LISTS)}


def _order(row: Any, convention: Convention, is_good: Any, kept: Any, identity: Any,
           keys: frozenset[str]) -> Any:
    """Return the images of a query's list, the nearest first."""
    for far in _numbers(keys, "at "):
        row, kept[:] = np.where(kept, row, far), True
    order = np.argsort(row, kind="stable")
    if second := keys & {"good first", "good last"}:
        order = np.lexsort((is_good == (second == {"good last"}), row))
    elif convention.ties == "reversed":
        order = np.lexsort((-np.arange(len(row)), row))
    elif convention.ties.startswith("numpy"):
        order = np.argsort(-row)[::-1] if "reversed" in convention.ties else np.argsort(row)
    for n in _numbers(keys, "sorted "):
        order = np.argpartition(row, min(n, len(row) - 1))
        order[:n] = order[:n][np.argsort(row[order[:n]], kind="stable")]
    for key in keys & _OF_LISTS:
        listed = order[kept[order]] if key.startswith("kept ") else order
        if change := _LISTS.get(key.removeprefix("kept ")):
            order = change(listed, row, identity)
    return _converted(order, "order", keys)


def _of_query(k: int, row: Any, query: Labels, gallery: Labels, good: Any, kept: Any,
              convention: Convention, keys: frozenset[str]) -> tuple[float, ...]:
    """Return AP, INP, the place of the first match from 0, and how many are good and kept."""
    identity = gallery.identity
    same, near = identity == query.identity[k], np.ones(len(kept), np.bool_)
    if gallery.camera is not None:
        near = gallery.camera == query.camera_of(k)
        for factor in _numbers(keys, "key "):
            kept = kept & (identity * factor + gallery.columns()["camera"]
                           != query.identity[k] * factor + query.columns()["camera"][k])
    kept = kept & ((identity > 0) | ("below 1" not in keys))
    kept[k:k + ("diagonal" in keys and len(query) == len(gallery))] = False
    if "inverted" in keys:
        good, kept = np.flatnonzero(same & near), kept & ~same | same & near
    is_good = np.zeros(len(kept), np.bool_)
    is_good[good] = True
    is_good |= np.isin(row, row[good]) & ("tied hits" in keys)
    order = _order(row, convention, is_good, kept, identity, keys)
    n_good, n_kept = len(good), int(kept.sum())
    matches = is_good if convention.junk_match != "never" else is_good & kept
    is_good, n_recalled = is_good & kept, None
    if mask := keys & {"mask good", "mask same", "mask known", "unordered"}:
        n_recalled = int(is_good.sum()) if mask == {"mask good"} else None
        stays = kept[:len(order)]
        if mask == {"unordered"}:  # as far as the camera of this place in the gallery tells
            stays = (kept | same)[order] & ~(same[order] & near[:len(order)])
        order, kept = order[stays], kept | True
        matches = is_good = is_good if mask == {"mask good"} else same
    is_good = is_good | (same & ~kept & ("junk good" in keys)) | (
        (identity == JUNK) & ("junk hits" in keys))
    stays, rest = kept | is_good | ("stay" in keys), int((same & ~is_good).sum())
    ap, inp, first = _of_list(is_good[order], stays[order], (matches | is_good)[order],
                              n_recalled, rest, n_good, convention, keys)
    if keys & _OF_LISTS:
        n_good = int(np.isfinite(first))
    if "known" in keys and not n_good and same.any():
        ap, n_good = 0.0, 1
    return ap, inp, first, n_good, n_kept


def _of_list(good: Any, stays: Any, matches: Any, n_recalled: int | None, rest: int, n_good: int,
             convention: Convention, keys: frozenset[str]) -> tuple[float, float, float]:
    """Return AP, INP and the place of the first match, by what is at each place of a list."""
    cut = convention.top_k if convention.cut == "before-ignoring" else None
    listed = np.flatnonzero(stays[:cut])[:convention.top_k if cut is None else None]
    places, matched = np.flatnonzero(good[stays]), np.flatnonzero(matches)
    listed = listed[:len(places)] if keys & {"at R", "R-precision"} else listed
    hit = good[listed]
    first = np.inf if not len(matched) else float(
        matched[0] if "places" in keys else stays[:matched[0]].sum())
    if not len(places):
        none = 0.0 if n_good else np.nan  # all of them ignored as well
        return none, none if convention.unmatched == "zero" else np.nan, first
    if convention.top_k and "uncut" not in keys and not hit.any():
        first = np.inf
    n = len(places) if cut is None and convention.recall != "found" else int(hit.sum())
    if convention.recall.startswith("min") and convention.top_k:
        n = min(n, convention.top_k)
    n = n if n_recalled is None else n_recalled
    n += rest * ("all good" in keys) + ("one more" in keys) + (len(hit) - n) * ("list" in keys)
    place = listed + 1 if "gaps" in keys else np.arange(1, len(hit) + 1)
    ap = _area(hit, place, n, convention, keys) if n and hit.any() else 0.0
    last = np.flatnonzero(good)[-1] if "INP places" in keys else places[-1]
    return ap, len(places) / (int(last) + ("from place 0" not in keys) or 1), first


#: Mistakes that a rule of steps may have with its trapezoids.
_TRAPEZOIDS = {"from 0", "hit before", "hit to hit"}


def _area(hit: Any, place: Any, n: int, convention: Convention, keys: frozenset[str]) -> float:
    """Return AP by the rule's areas: steps or trapezoids."""
    hits, place = (_converted(values, of, keys).astype(float) for values, of in (
        (np.cumsum(hit), "hits"), (place, "places")))
    if "reciprocal" in keys:
        return float(1 / place[hit][0])
    precision = (hits - ("early" in keys)) / (place + ("late" in keys))
    precision = np.floor(precision) if "whole" in keys else precision
    precision = np.ones(len(hit)) if "R-precision" in keys else precision
    best = np.maximum.accumulate(precision[::-1])[::-1]
    if "points 11" in keys:
        return float(np.append(best, 0)[np.searchsorted(hits / n, np.linspace(0, 1, 11))].mean())
    precision = best if "interpolated" in keys else precision
    before = np.append(0.0 if "from 0" in keys else 1.0, precision[:-1])
    if keys & {"hit before", "between hits", "hit to hit"}:
        start = precision[hit][0] if "hit to hit" in keys else 1.0
        before[hit] = np.append(start, precision[hit][:-1])[:hit.sum()]
    if "hit place" in keys:
        before = np.where(place > 1, (hits - 1) / place, 1.0)
    if AP[convention.ap].has_steps and not keys & _TRAPEZOIDS:
        before = precision
    areas = (precision + before) / 2 * ("no start" not in keys or np.arange(len(hit)) > 0)
    last = hit.sum() - ("lost last" in keys)
    return float(areas[hit][bool(keys & {"lost first", "between hits"}):last].sum() / n)
