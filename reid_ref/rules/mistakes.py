"""Mistakes that no convention has, one record each, and what a rule gives with them.

The walk is the plainest one, query by query and image by image: problems are small.
"""
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles
from reid_ref.conventions import AP, Convention
from reid_ref.disk import tables_of
from reid_ref.foreign.arrays import Arrays
from reid_ref.labels import JUNK
from reid_ref.ranking.roles import query_roles


class Mistake(NamedTuple):
    """One mistake: its key, what it is a mistake of, its words, and what to do about it."""

    key: str
    of: str
    words: str
    advice: str = ""


MISTAKES = tuple(Mistake(key, of, *texts) for of, table in tables_of("rules/mistakes.toml").items()
                 for key, texts in table.items())
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
    sizes, found = np.arange(1, len(ap)), list[Mistake]()
    first = np.cumsum(ap)[:-1] / sizes
    of_batches = [np.mean(np.add.reduceat(ap, np.arange(0, len(ap), k)) / np.minimum(
        k, len(ap) - np.arange(0, len(ap), k))) for k in sizes]
    for key, words, means in (
            ("first", f"only the first {{}} of {len(ap):,} queries count", first),
            ("batch", "the mean is over the means of batches of {} queries", of_batches)):
        fits = sizes[np.abs(np.subtract(means, mean)) <= tolerance]
        found += [Mistake(f"{key} {k}{of}", "mean", words.format(f"{k:,}") + of)
                  for k in fits[-3:].tolist() for of in ("", " in mAP")]
    return found


def mistaken_numbers(arrays: Arrays, convention: Convention,
                     mistakes: Collection[Mistake]) -> Walked:
    """Return what the rule gives with these mistakes."""
    keys = {mistake.key for mistake in mistakes}
    loaded = [convention.loaded(labels.identity) for labels in (arrays.query, arrays.gallery)]
    query, gallery = (_renamed(labels[mask], keys) for labels, mask in zip(
        (arrays.query, arrays.gallery), loaded))
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
        same = gallery.identity == query.identity[k]
        order = _order(distances[k], convention, good, keys)
        near = same if gallery.camera is None else gallery.camera == query.camera_of(k)
        ap[k], inp[k], first = _of_query(order, good, kept, same, near, gallery.identity == JUNK,
                                         convention, keys)
        n_good[k], n_kept[k] = len(good), kept.sum()
        if "unordered" in keys:
            n_good[k] = first is not None
        if first is not None:
            hits[k, max(first + ("behind" in keys) - ("shifted" in keys), 0):] = 1
            hits[k, n_kept[k] if "ends" in keys else len(gallery) + 1:] = 0
        if "known" in keys and not n_good[k] and same.any():
            ap[k], n_good[k] = 0, 1
        if "not reset" in keys and not ap[k] > 0:
            ap[k], n_good[k] = ap[k - 1] if k else 0, 1
    every = "counts 1" in keys or convention.n_in_cmc(np.zeros(1, np.int64)) > 0
    counted = n_good > 0 if not every else n_good >= 0
    weight = _weights(query.identity, counted, n_good, keys)
    weight = None if weight is None or not weight.any() else weight
    cmc = np.full(hits.shape[1], np.nan)
    if counted.any():
        cmc = np.average(hits[counted], axis=0, weights=None if any(
            key.endswith("mAP") for key in keys) else weight)
    if "next" in keys:
        cmc[1:-1] = cmc[2:].copy()
    if "one missed" in keys and len(cmc) and counted.any():
        cmc[0] -= hits[counted][0, 0] / counted.sum()
    if "filled" in keys and counted.any():
        cmc[n_kept[counted].min():] = 0
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


def _weights(identity: Any, counted: Any, n_good: Any, keys: set[str]) -> Any:
    """Return the weight of each query that counts, or None for equal ones."""
    batch, first = (next((int(key.split()[1]) for key in keys if key.startswith(of)), 0)
                    for of in ("batch ", "first "))
    if first:
        return (np.arange(counted.sum()) < first).astype(np.float64)
    if "by match" in keys:
        return n_good[counted].astype(np.float64)
    if not batch and keys.isdisjoint(("by identity", "by identity, mAP")):
        return None
    group = identity[counted] if not batch else np.arange(counted.sum()) // batch
    _, place, size = np.unique(group, return_inverse=True, return_counts=True)
    return 1 / size[place.ravel()]


def _renamed(labels: Any, keys: set[str]) -> Any:
    columns = dict(labels.columns())
    for column, dtype in (key.split() for key in keys if key.startswith(("identity ", "camera "))):
        columns[column] = columns[column].astype(dtype).astype(np.int64)
    if "absolute" in keys:
        columns["identity"] = np.abs(columns["identity"])
    return type(labels)(**columns)


def _order(row: npt.NDArray[Any], convention: Convention, good: Any,
           keys: set[str]) -> npt.NDArray[np.int64]:
    for dtype in ("float32", "float16"):
        if dtype in keys:
            with np.errstate(over="ignore"):
                row = row.astype(dtype)
    row = -row if "descending" in keys else row
    order: npt.NDArray[np.int64] = np.argsort(row, kind="stable")[int("no first" in keys):]
    if second := keys & {"good first", "good last"}:
        is_good = np.isin(np.arange(len(row)), good)
        order = np.lexsort((is_good == (second == {"good last"}), row))
    elif convention.ties == "reversed":
        order = np.lexsort((-np.arange(len(row)), row))
    elif convention.ties.startswith("numpy"):
        order = np.argsort(-row)[::-1] if "reversed" in convention.ties else np.argsort(row)
    return order


def _of_query(order: Any, good: Any, kept: Any, same: Any, near: Any, junk: Any,
              convention: Convention, keys: set[str]) -> tuple[float, float, int | None]:
    """Return AP, INP and the place of the first match, from 0."""
    is_good = np.zeros(len(kept), np.bool_)
    is_good[good] = True
    matches = is_good if convention.junk_match != "never" else is_good & kept
    is_good = is_good & kept
    if "unordered" in keys:  # as far as the camera of this place in the gallery tells
        order = order[~(same[order] & near[:len(order)])]
        is_good, matches, kept = same, same, kept | same
    if "junk good" in keys:
        is_good |= same & ~kept
    if "junk hits" in keys:
        is_good |= junk
    stays = kept | is_good | ("stay" in keys)
    cut = convention.top_k if convention.cut == "before-ignoring" else None
    listed = order[:cut][stays[order[:cut]]]
    hit = is_good[listed] if cut is not None else is_good[listed][:convention.top_k]
    places = np.flatnonzero(is_good[order[stays[order]]])
    n = len(places) if cut is None and convention.recall != "found" else int(hit.sum())
    if convention.recall.startswith("min") and convention.top_k:
        n = min(n, convention.top_k)
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
    ap = _area(hit, n, convention, keys) if n and hit.any() else 0.0
    if "reciprocal" in keys:
        ap = 1 / (places[0] + 1)
    last = np.flatnonzero(is_good[order])[-1] if "places too" in keys else places[-1]
    return ap, len(places) / (int(last) + ("from place 0" not in keys) or 1), first


def _area(hit: Any, n: int, convention: Convention, keys: set[str]) -> float:
    """Return AP by the rule's areas: steps or trapezoids."""
    place, hits = np.arange(1, len(hit) + 1), np.cumsum(hit)
    hits = hits % 256 if "hits uint8" in keys else hits
    precision = (hits - ("early" in keys)) / (place + ("late" in keys))
    if "interpolated" in keys:
        precision = np.maximum.accumulate(precision[::-1])[::-1]
    before = np.append(0.0 if "from 0" in keys else 1.0, precision[:-1])
    if "hit before" in keys:
        before[hit] = np.append(1.0, precision[hit][:-1])[:hit.sum()]
    if AP[convention.ap].has_steps and "from 0" not in keys:
        before = precision
    areas = ((precision + before) / 2)[hit] / n
    return float(areas["lost first" in keys:].sum())
