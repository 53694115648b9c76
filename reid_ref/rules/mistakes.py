"""Mistakes that no convention has, one record each, and what a rule gives with them.

The walk is the plainest one, query by query and image by image: problems are small.
"""
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import Doubles, InputError
from reid_ref.conventions import AP, Convention
from reid_ref.disk import tables_of
from reid_ref.foreign.arrays import Arrays
from reid_ref.labels import JUNK, Labels
from reid_ref.ranking.roles import query_roles


class Mistake(NamedTuple):
    """One mistake: its key, which may begin an argument, what it is a mistake of, its words, what
    to do about it, and which number alone has it, "mAP" or "CMC"; its key and its words for any
    number or type of its kind, and that."""

    key: str
    of: str
    words: str
    advice: str = ""
    alone: str = ""
    kind: str = ""
    template: str = ""
    number: Any = None


_TABLES = tables_of("rules/mistakes.toml")
#: Sentences on what shows without a mistake.
FAULTS: dict[str, str] = _TABLES.pop("faults")
#: Keys and words of mistakes of a mean whose sizes are found, not tried.
_SIZES = _TABLES.pop("sizes")
MISTAKES = tuple(
    Mistake(key.format(each), of, re.sub(r"\b1 (decimal|kept place)s", r"1 \1", words.format(
        each)), (advice or [""])[0], "", key, words, each)
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


def mistaken_numbers(arrays: Arrays, convention: Convention, mistakes: Collection[Mistake],
                     walk: Callable[..., Walked] | None = None) -> Walked:
    """Return what the rule gives with these mistakes; `walk`: `walked`, or what remembers it."""
    walk = walk or walked
    whole = walk(arrays, convention, frozenset(
        key for mistake in mistakes for key in mistake.key.split(" & ")))
    if alone := {mistake.alone for mistake in mistakes} - {""}:
        rule = walk(arrays, convention, frozenset())
        return rule._replace(ap=whole.ap, mAP=whole.mAP) if alone == {"mAP"} else (
            rule._replace(cmc=whole.cmc))
    return whole


@np.errstate(all="ignore")
def walked(arrays: Arrays, convention: Convention, keys: frozenset[str]) -> Walked:
    """Return what the rule gives with the mistakes of these keys."""
    if "square" in keys and len(arrays.query) == len(arrays.gallery):
        arrays = replace(arrays, distances=arrays.distances.T)
    if "transposed" in keys and len(arrays.query) > len(arrays.gallery):
        arrays = Arrays(arrays.distances.T, arrays.gallery, arrays.query)
    if "ties reversed" in keys:
        convention = convention.replace(ties="reversed")
    for recall in {"found", "existing"} & {*re.findall(r"cut (\w+)", " ".join(keys))}:
        with suppress(InputError):  # choices that do not go together
            convention = convention.replace(
                top_k=_numbers(keys, f"cut {recall} ")[0], recall=recall)
    rows, images = (_there(labels, convention, keys, side) for side, labels in (
        ("query", arrays.query), ("image", arrays.gallery)))
    query, gallery = (_read(labels, keys, arrays.gallery, side) for side, labels in enumerate(
        (arrays.query[rows], arrays.gallery[images])))
    distances = _converted(arrays.distances[rows][:, images], "distances", keys)
    distances = _converted(distances.T, "columns", keys).T
    roles = query_roles(query, gallery, [rule for rule in convention.not_ranked if not (
        rule == "label -1" and "junk stays" in keys)])
    ap, inp, first, n_good, n_kept = np.reshape([
        _of_query(k, _converted(row, "row", keys), query, gallery, *roles(k), convention, keys)
        for k, row in enumerate(distances)], (-1, 5)).T
    if "counts 1" in keys:
        ap, inp, n_good = (np.where(n_good == 0, 1, each) for each in (ap, inp, n_good))
    places = np.arange(len(ap))
    before = np.maximum.accumulate(np.where(n_good > 0, places, -1))
    if "skipped" in keys:  # every second one of those in a row stays
        stays = (n_good == 0) & ((places - before) % 2 == 0)
        ap, n_good = np.where(stays, 0, ap), n_good + stays
    for decimals in _numbers(keys, "above "):
        n_good = np.where(ap > 10.0**-decimals, n_good, 0)
    if "valid first" in keys:
        ap, inp = (np.where(n_good > 0, each, 0) for each in (ap, inp))
        n_good = places < np.sum(n_good > 0)
    if "carried" in keys and not AP[convention.ap].has_steps:
        last = np.append(1.0, inp)[np.append(-1, before[:-1]) + 1]
        ap = ap + (first == 0) * (last - 1) / 2 / np.maximum(n_good, 1)
    if "not reset" in keys:
        ap, n_good = np.append(ap, 0)[before], np.ones(len(ap))
    length = convention.curve_length(gallery.identity, None)
    for last in [*_numbers(keys, "last rank "), *[length] * ("last rank" in keys)]:
        first = np.where(first == last, last - 1, first)
    if keys & {"unfound last", "unfound first"}:
        first = np.where((n_good > 0) & (first >= length), (length - 1) * (
            "unfound last" in keys), first)
    if "unmatched hit" in keys:
        first = np.where(n_good == 0, 0, first)
    inp, n_inp = (np.nan_to_num(inp), n_good + 1) if "INP 0" in keys else (inp, n_good)
    every = {"counts 1", "unmatched hit"} & keys or convention.n_in_cmc(np.zeros(1, np.int64))
    counted = (n_good > 0) | bool(every)
    weight = _weights(query, counted, n_good, keys)
    ap = _converted(ap, "AP", keys)
    means = [convention.mean(np.ravel(_converted(convention.counted(
        values, n), "each", keys))) if weight is None else float(np.average(np.nan_to_num(
            values[counted]), weights=weight)) for values, n in ((ap, n_good), (inp, n_inp))]
    means = _converted(np.array(means), "mean", keys).tolist()
    whole = np.full(len(arrays.query), np.nan)
    whole[rows] = ap
    first = _converted(first, "first", keys)
    cmc = _curve(first[counted], n_kept[counted], len(gallery) + 1, weight, keys)
    if "zero tail" in keys:
        length = max(length, len(gallery))
        cmc, length = np.append(cmc[:length], np.zeros(999)), length + 999
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
    there = (place < n_kept[:, np.newaxis]) | ("ends at" not in keys)
    cmc = _converted((hits & there).sum(axis=0), "count", keys) / there.sum(axis=0) if (
        weight is None) else np.average(hits, axis=0, weights=weight)
    cmc[int(n_kept.min()) if "filled" in keys else length:] = 0
    return _converted(cmc, "CMC", keys)


# ------------------------------------------------------------------ what is read
#: A label that none on the other side is, when the number of the side is added.
_NONE = 2**40
#: How numbers are read, by a number and the side, 0 of queries, 1 of images; else as a dtype, or
#: by a function of numpy.
_HOW: dict[str, Callable[[Any, int, int], Any]] = {
    "within": lambda values, n, side: np.where(values < n, values, np.inf),
    "centred": lambda values, n, side: values - values.mean(axis=-1, keepdims=True),
    "range": lambda values, n, side: (values - values.min()) / np.ptp(values) * n,
    "cycle": lambda values, n, side: values if side else values[np.arange(len(values)) % n],
    "sorted": lambda values, n, side: values if side else np.sort(values),
    "next": lambda values, n, side: np.append(values[:1], [*values[2:], values[-1]]),
    "turned": lambda values, n, side: -values if (values < 0).any() else values,
    "differences": lambda values, n, side: np.diff(values, prepend=0),
    "largest": lambda values, n, side: np.maximum.accumulate(values),
    "text": lambda values, n, side: np.unique(
        values.astype(np.str_), return_inverse=True)[1].reshape(values.shape),
    "scaled": lambda values, n, side: values / np.nanmax(values),
    "wrapped": lambda values, n, side: np.where(
        (values == 0) & (values.dtype.kind == "u"), np.inf, values),
    "digits": lambda values, n, side: [int(str(each)[:n]) for each in values.tolist()],
    "down": lambda values, n, side: np.floor(values * 10.0**n + 1e-9) / 10.0**n,
    "renumbered": lambda values, n, side: np.unique(values, return_inverse=True)[1].ravel(),
    "falsy": lambda values, n, side: np.where(values == 0, _NONE + side, values),
    "signed": lambda values, n, side: np.where(values < 0, _NONE + side, values),
    "beyond": lambda values, n, side: np.where(
        (values < 0) | (values > n), _NONE + side, values),
    "small": lambda values, n, side: np.where(
        (values > 256) | (values < -5), _NONE + side, values),
    "query": lambda values, n, side: values if side else np.roll(values, n),
    "image": lambda values, n, side: np.roll(values, n) if side else values}


def _converted(values: Any, of: str, keys: frozenset[str], side: int = 0) -> Any:
    """Return numbers as they are read with the mistakes whose keys begin by what they are of."""
    for key in keys:
        if key.startswith(f"{of} ") and np.size(values):
            for how, number in re.findall(r"([a-z]\w*)(?: (-?\d+))?", key.removeprefix(of)):
                of_numpy, given = getattr(np, how, None), [np.int64(number)] if number else []
                values = np.asarray(_HOW[how](values, int(number or 0), side) if how in _HOW else (
                    values.astype(how) if isinstance(of_numpy, type) else
                    of_numpy(values, *given)))  # type: ignore[misc]
    return values


def _there(labels: Labels, convention: Convention, keys: frozenset[str], side: str) -> Any:
    """Return which rows of a side are not left out: by their label or camera, or as a slice."""
    there, n, columns = convention.loaded(labels.identity), len(labels), labels.columns()
    for of, value in (key.split(" ")[1:] for key in keys if key.startswith(f"{side} ")):
        if of in columns:
            there = there & (columns[of] != int(value))
        elif of in ("first", "last"):  # of each identity, or of each that is on a camera
            step = 1 if of == "first" else -1
            both = np.stack([columns["identity"], columns[value]])[:, ::step]
            there = there & np.isin(np.arange(n), np.unique(
                both, axis=1, return_index=True)[1])[::step] if n else there
        elif of == "step":
            there = there & (np.arange(n) % max(1, n // int(value)) == 0)
        elif of == "rows":
            left = slice(*(int(end) if end else None for end in value.split(":")))
            there = there & np.isin(np.arange(n), np.arange(n)[left])
        elif of in ("full", "tail"):  # of batches
            end, tail = n // int(value) * int(value) or n, (n - 1) // int(value) * int(value)
            there = there & (np.arange(n) < end if of == "full" else np.arange(n) >= tail)
    return there


#: How the keys begin of what changes how labels are read.
_OF_LABELS = ("identity", "camera", "labels", "own", "neighbour", "one camera")


def _read(labels: Labels, keys: frozenset[str], gallery: Labels, side: int) -> Labels:
    """Return the labels of a side as they are read with these mistakes."""
    if not any(key.startswith(_OF_LABELS) for key in keys):
        return labels
    columns = dict(labels.columns())
    for name in {"identity", "camera"} & {*columns}:
        for of in (name, "labels"):
            columns[name] = _converted(columns[name], of, keys, side).astype(np.int64)
    if "own first camera" in keys and not side:
        _, first, group = np.unique(labels.identity, return_index=True, return_inverse=True)
        columns["camera"] = columns["camera"][first[group.ravel()]]
    if "neighbour" in keys and not side:
        names = np.unique(gallery.identity)
        columns["identity"] = names[np.searchsorted(names[:-1], labels.identity)]
    for of, cameras in (("gallery", gallery.columns()["camera"]), ("query", columns["camera"])):
        if f"one camera {of}" in keys and not side and np.ptp(cameras) == 0:
            columns["camera"] = np.full(len(labels), _NONE)
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
    for n in _numbers(keys, "sorted ") if kept.any() else ():
        images = np.flatnonzero(kept)
        order = images[np.argpartition(row[images], min(n, len(images) - 1))]
        head = np.sort(order[:n])
        order[:n] = head[np.argsort(row[head], kind="stable")]
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
        largest = int(max(each.columns()["camera"].max(initial=0) for each in (query, gallery)))
        for factor in [*_numbers(keys, "key "), *[largest] * ("key largest" in keys)]:
            kept = kept & (identity * factor + gallery.columns()["camera"]
                           != query.identity[k] * factor + query.columns()["camera"][k])
    kept = kept & ((identity > 0) | ("below 1" not in keys))
    kept[k:k + ("diagonal" in keys and len(query) == len(gallery))] = False
    for of, how in (key.split() for key in keys if key.startswith(("same ", "near "))):
        names, name = ((labels.identity if of == "same" else labels.columns()["camera"])
                       for labels in (gallery, query[k:k + 1]))
        is_so = getattr(np, how)(names, name) if how != "prefix" else np.char.startswith(
            names.astype(np.str_), name.astype(np.str_))
        own, (same, near) = same & near, (is_so, near) if of == "same" else (same, is_so)
        good, kept = np.flatnonzero(same & ~near), (kept | own) & ~(same & near)
    if "moved last" in keys:
        row, kept, good = np.where(kept, row, np.inf), kept | True, np.flatnonzero(same)
    if "one ignored" in keys:
        ignored = np.flatnonzero(~kept)
        kept = kept | (np.arange(len(kept)) != ignored[np.argsort(
            row[ignored], kind="stable")][:1].sum()) | (len(ignored) == 0)
        good = np.flatnonzero(same & kept)
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
    filled = np.ones((len(kept) - n_kept) * (query.identity[k] in _numbers(keys, "filled with ")))
    n_good += len(filled)
    is_good, stays, matches = (np.append(each[order], filled > 0) for each in (
        is_good, stays, matches | is_good))
    ap, inp, first = _of_list(
        is_good, stays, matches, n_recalled, rest, n_good, convention, keys)
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
    listed = listed[:len(places)] if "at R" in keys else listed
    hit = good[listed]
    for most in _numbers(keys, "misses "):
        ago = np.arange(len(hit)) - np.maximum.accumulate(np.where(hit, np.arange(len(hit)), -1))
        hit = hit & (np.cumsum(ago == most) == 0)
    first = np.inf if not len(matched) else float(
        matched[0] if "places" in keys else stays[:matched[0]].sum())
    if not len(places):
        none = 0.0 if n_good else np.nan  # all of them ignored as well
        return none, none if convention.unmatched == "zero" else np.nan, first
    ends = convention.top_k and "uncut" not in keys or _numbers(keys, "misses ")
    if ends and not hit.any() or len(matched) and matched[0] >= min(_numbers(keys, "seen ") or [
            len(good)]):
        first = np.inf
    first = places[-1] if "last match" in keys else first
    n = len(places) if cut is None and convention.recall != "found" else int(hit.sum())
    if convention.recall.startswith("min") and convention.top_k:
        n = min(n, convention.top_k)
    n = n if n_recalled is None else n_recalled
    for most in _numbers(keys, "matches "):
        hit, n = hit & (np.cumsum(hit) <= most), min(n, most)
    n = int(_converted(np.array(n), "n", keys))
    n += rest * ("all good" in keys) + (len(hit) - n) * ("list" in keys)
    place = listed + 1 if "gaps" in keys else np.arange(1, len(hit) + 1)
    if any(key.startswith("places ") for key in keys) and hit.any():
        first = float(_converted(place, "places", keys)[hit].min()) - 1
    ap = _area(hit, place, n, convention, keys) if n and hit.any() else 0.0
    last = np.flatnonzero(good)[-1] if "INP places" in keys else places[-1]
    return ap, (1 if "INP one" in keys else len(places)) / (
        int(last) + ("from place 0" not in keys) or 1), first


#: Mistakes that a rule of steps may have with its trapezoids.
_TRAPEZOIDS = {"from 0", "hit before", "hit to hit"}


def _area(hit: Any, place: Any, n: int, convention: Convention, keys: frozenset[str]) -> float:
    """Return AP by the rule's areas: steps or trapezoids."""
    hits, place = (_converted(values, of, keys).astype(float) for values, of in (
        (np.cumsum(hit, dtype=np.float16 if "added hits" in keys else None), "hits"),
        (place, "places")))
    precision = (hits - ("early" in keys)) / np.maximum(place + ("late" in keys), 1)
    precision = _converted(precision, "precision", keys)
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
    areas[hit] = _converted(areas[hit], "at", keys)
    last = hit.sum() - ("lost last" in keys)
    return float(areas[hit][bool(keys & {"lost first", "between hits"}):last].sum() / n)
