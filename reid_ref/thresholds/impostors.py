"""Impostor pairs by distance: exact counts, in tiles, without a list of all pairs.

Genuine pairs are few and are measured one by one. The distances of impostor pairs are put in equal
bins, tile by tile; a tile's values have a known error. In one pass the pairs of likely bins are
counted bin by bin and kept; of the others it is known how many there are in each run of bins. A
bin is *resolved* by measuring its pairs exactly. So the number of pairs below a value is known
within bounds, which are equal once every bin that may reach the value is resolved. Which bins a
number needs is known after the pass; if these were not likely, all pairs are counted once more.
"""
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Array, Doubles, InputError, Integers, Mask
from reid_ref.arrays.cores import blas_threads, in_threads
from reid_ref.evaluation.ranked import PairParts
from reid_ref.evaluation.ranks import warn_of_nan
from reid_ref.ranking.counting import Band, Block, Counting, GalleryPart, Tile, TooFarOff
from reid_ref.ranking.roles import Roles

#: Bins of equal width; the first and the last have no outer end. Pairs that are no impostors are
#: in one more, and all numbers fit 16 bits.
BINS = 2**16 - 1
#: Pairs that are measured to choose the range of the bins.
_SAMPLE = 2**15
#: Bins on both sides of a likely range, for the error of products: with 2,048 dimensions its
#: bound is about 7 bins.
_MARGIN = 32
#: Distinct distances that are kept before equal ones are added up.
_PENDING = 2**21

_Bins = npt.NDArray[np.uint16]
#: A tile without its values, flat places of pairs in it, and their bins.
_Picked = tuple[Tile, Integers, _Bins]


class Impostors:
    """The genuine pairs' distances, and what is known of the impostor pairs'.

    Parameters
    ----------
    pairs : PairParts
    roles : Roles
    n_query, n_gallery : int
    alone : bool, shape (n_query,)
        Queries whose nearest impostor is needed, too.
    precision : dtype
        Of the products in tiles.
    most : int
        Pairs to be measured above which products in double are worth their time.
    likely : callable
        Distances of the genuine pairs and of a sample of all pairs, to ranges of distance, shape
        (n, 2), whose pairs are likely to be measured.
    room : int
        Bytes for pairs that are kept.
    done : callable, optional
        Called with shares of the first two passes, which add up to 1.

    Attributes
    ----------
    row, image : int64, shape (genuine pairs,)
    genuine : float64, shape (genuine pairs,)
        Distances of the genuine pairs, query after query; NaN is infinitely far.
    number : int
        Impostor pairs.
    nearest : float64, shape (n_query,)
        Distance of the nearest impostor of the queries `alone`, once some bin is resolved.
    """

    def __init__(self, pairs: PairParts, roles: Roles, n_query: int, n_gallery: int, alone: Mask,
                 precision: Any, most: int, likely: Callable[[Doubles, Doubles], Doubles],
                 room: int, done: Callable[[float], object] | None = None) -> None:
        self._pairs, self._roles, self._precision, self._most = pairs, roles, precision, most
        self._done, self._alone, self._room = done, alone, room
        self._no_reach, self._lock = np.full(n_query, -1), Lock()
        self._size = 2 * n_query * np.count_nonzero(roles.columns)
        good, junk = (row * n_gallery + image for row, image in (
            (roles.good_query, roles.good), (roles.junk_query, roles.junk)))
        kept = roles.columns[roles.good] & ~np.isin(good, junk)
        self.row, self.image = roles.good_query[kept], roles.good[kept]
        self._counting = Counting(*np.divmod(np.union1d(good, junk), n_gallery), roles.columns,
                                  roles.gates)
        self.number = int(roles.n_kept(n_query).sum()) - len(self.row)
        for name, number in (("genuine", len(self.row)), ("impostor", self.number)):
            if not number:
                raise InputError("query, gallery", f"at least one {name} pair under this "
                                 "convention", "none", "check that identities are numbered alike "
                                 "on both sides")
        self.genuine, sample = self._measured(*_spread(n_query, n_gallery))
        self._set_range(np.concatenate([sample, self.genuine]))
        self._likely = np.zeros(BINS, dtype=bool)
        for first, last in np.searchsorted(self._upper, likely(self.genuine, sample)).tolist():
            self._likely[max(first - _MARGIN, 0):last + 1 + _MARGIN] = True
        self._count()
        if self._nan and not self._is_rough:  # of features, zeros have been warned of
            warn_of_nan(self._nan, n_query * n_gallery)
        self.nearest = np.full(n_query, np.inf)

    def _measured(self, row: Integers, image: Integers) -> tuple[Doubles, Doubles]:
        """Return the exact distances of the genuine pairs, and of these pairs."""
        every, images = np.append(self.row, row), np.append(self.image, image)
        values = np.empty(len(every))
        for rows, part in self._pairs.parts(self._precision):
            inside = np.flatnonzero((every >= rows.start) & (every < rows.stop)
                                    & (images >= part.images.start) & (images < part.images.stop))
            values[inside] = self._exact(rows, part, every[inside] - rows.start,
                                         images[inside] - part.images.start)
        return values[:len(self.row)], values[len(self.row):]

    def _exact(self, rows: slice, part: GalleryPart, row: Integers, column: Integers) -> Doubles:
        values = self._pairs.distances(rows.start + row, part.exact(row, column))
        return np.where(np.isnan(values), np.inf, values)

    def _set_range(self, values: Doubles) -> None:
        """Choose bins for most of these distances; far ones are in the bins at the ends."""
        values = values[np.isfinite(values)]
        low, high = np.quantile(values, [.001, .999]) if len(values) else (0.0, 0.0)
        self._start = float(low)
        self._width = float(high - low) / BINS or np.spacing(max(abs(low), 1.0))
        edges = self._start + self._width * np.arange(1, BINS)
        self._lower, self._upper = np.append(-np.inf, edges), np.append(edges, np.inf)
        self._error, self._is_rough, self._nan = 0.0, False, 0

    def _count(self) -> None:
        """Count the pairs of likely bins, and keep them if they fit; count those in other runs."""
        self._nearest_bin = np.full(len(self._alone), BINS)
        self._values, self._up_to = np.zeros(0), np.zeros(1, dtype=np.int64)
        kept: dict[int, list[_Picked]] = {}
        counts, room = np.zeros(BINS, dtype=np.int64), self._room
        edges = np.flatnonzero(np.diff(self._likely, prepend=True, append=True))
        start, end = edges[::2], edges[1::2]  # of runs of bins that are not likely
        before = np.zeros(len(end), dtype=np.int64)
        for k, (rows, part) in enumerate(self._pairs.parts(self._precision)):
            for (tile, flat, bins), below in self._tiles(rows, part, self._likely, self._no_reach,
                                                         end):
                counts += np.bincount(bins, minlength=BINS)
                before += below
                room -= 6 * len(flat)  # bytes
                if room >= 0:
                    kept.setdefault(k, []).append((tile, flat.astype(np.int32), bins))
        self._kept = kept if room >= 0 else None
        self._counts = counts
        in_run = np.diff(before - np.append(0, np.cumsum(counts))[end], prepend=0)
        self._runs = np.zeros((2, BINS + 1), dtype=np.int64)
        self._runs[0, end], self._runs[1, start + 1] = in_run, in_run
        np.cumsum(self._runs, axis=1, out=self._runs)
        self._left = counts.copy()
        self._before = self._runs + np.append(0, np.cumsum(counts))

    def _tiles(self, rows: slice, part: GalleryPart, wanted: Mask, reach: Integers,
               ends: Integers) -> Iterator[tuple[_Picked, Integers]]:
        """Yield of every tile the pairs that `_pick` returns, as threads find them."""
        for band in part.bands:
            columns = self._roles.columns[part.images] & band.columns
            if columns.any():
                pick = partial(self._pick, rows, part, band, np.append(wanted, False), reach, ends)
                with blas_threads(1):  # each thread has products of its own
                    for answers in in_threads(pick, band.blocks(columns)):
                        for answer in answers:
                            self._report(answer[0][0])
                            yield answer

    def _pick(self, rows: slice, part: GalleryPart, band: Band, wanted: Mask, reach: Integers,
              ends: Integers, block: Block) -> list[tuple[_Picked, Integers]]:
        """Return the pairs in wanted bins, and of each query up to its reach, of every tile.

        Also how many there are before some bins.
        """
        answers = []
        for tile in block.tiles():
            bins = self._bins(rows, part, band, tile)
            picked = wanted.take(bins, mode="wrap")  # which numpy does faster
            if self._alone.any():
                nearest, of_tile = self._nearest_bin[rows][tile.rows], bins.min(axis=1)
                with self._lock:
                    np.minimum(nearest, of_tile, out=nearest)
                limit = reach[rows][tile.rows]
                near = np.flatnonzero(limit >= 0)
                picked[near] |= bins[near] <= limit[near, np.newaxis]
            flat = np.flatnonzero(picked)
            before = [np.count_nonzero(bins < end) for end in ends.tolist()]
            answers.append(((replace(tile, values=None), flat, bins.reshape(-1)[flat]),
                            np.array(before, dtype=np.int64)))
        return answers

    def _picked(self, wanted: Mask,
                reach: Integers) -> Iterator[tuple[slice, GalleryPart, _Picked]]:
        """Yield the pairs in wanted bins, and of each query up to its reach, kept or found anew.
        """
        kept = self._kept
        if (wanted & ~self._likely).any() or not self._likely[:reach.max() + 1].all():
            kept = None
        for k, (rows, part) in enumerate(self._pairs.parts(self._precision)):
            if kept is None:
                for picked, _ in self._tiles(rows, part, wanted, reach, np.zeros(0, np.int64)):
                    yield rows, part, picked
                continue
            for tile, flat, bins in kept.get(k, []):
                is_in = wanted.take(bins, mode="wrap")
                if self._alone.any():
                    is_in |= bins <= reach[rows][tile.rows][flat // len(tile.columns)]
                yield rows, part, (tile, flat[is_in].astype(np.int64), bins[is_in])
                self._report(tile)

    def _bins(self, rows: slice, part: GalleryPart, band: Band, tile: Tile) -> _Bins:
        queries = slice(rows.start + tile.rows.start, rows.start + tile.rows.stop)
        kind = np.float32 if tile.values.dtype == np.float32 else np.float64
        slope, base = self._lines(band, queries, tile.rows, kind)
        with np.errstate(invalid="ignore", over="ignore"):
            places = np.multiply(tile.values, slope, dtype=kind)
            places += base
        np.clip(places, 0, BINS - 1, out=places)
        if np.isnan(places.min()):
            is_nan = np.isnan(places)
            with self._lock:
                self._nan += int(np.count_nonzero(is_nan))
            places[is_nan] = BINS - 1  # farthest
        bins: _Bins = places.astype(np.uint16)
        images = part.images.start + tile.columns
        bins[:, ~self._roles.columns[images]] = BINS
        counting = self._counting
        for gate in counting.gates:
            bins[~gate.tile(queries, images)] = BINS
        bins[counting.left_out_of(queries, images)] = BINS
        return bins

    def _report(self, tile: Tile) -> None:
        if self._done is not None:
            self._done((tile.rows.stop - tile.rows.start) * len(tile.columns) / self._size)

    def _lines(self, band: Band, queries: slice, rows: slice, kind: Any) -> tuple[Array, Array]:
        """Return slope and base of each query: value in a tile to bin; adjust the error."""
        scale, off = np.ones(rows.stop - rows.start), np.zeros(rows.stop - rows.start)
        if band.scale is not None:
            scale, off = band.scale[rows], band.off[rows]
            self._is_rough = True
        base = self._pairs.distances(queries, np.zeros(len(scale)))
        slope = self._pairs.distances(queries, scale) - base
        base = base - self._start
        span = BINS * self._width + abs(self._start)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = slope * off + 4 * float(np.finfo(kind).eps) * (2 * abs(base) + span)
        most = float(np.max(error, where=error == error, initial=0))
        with self._lock:
            self._error = max(self._error, most)
        return ((slope / self._width).astype(kind)[:, np.newaxis],
                (base / self._width).astype(kind)[:, np.newaxis])

    def overlap(self, low: Any, high: Any) -> Mask:
        """Return the bins, not resolved, whose pairs may be at a distance from `low` to `high`.

        Both may be arrays, of several ranges.
        """
        first = np.searchsorted(self._upper, np.atleast_1d(low) - self._error, side="left")
        end = np.searchsorted(self._lower, np.atleast_1d(high) + self._error, side="right")
        first = np.minimum(first, end)
        marks = np.bincount(first, minlength=BINS + 1) - np.bincount(end, minlength=BINS + 1)
        return np.asarray((np.cumsum(marks)[:BINS] > 0) & ((self._left > 0) | ~self._likely))

    def below(self, values: Any, side: Any = "right") -> tuple[Integers, Integers]:
        """Return bounds on the number of impostors up to each value; below it with side "left"."""
        resolved = self._up_to[np.searchsorted(self._values, values, side=side)]
        certain = np.searchsorted(self._upper, values - np.float64(self._error), side="left")
        possible = np.searchsorted(self._lower, values + np.float64(self._error), side="right")
        if side == "right":
            certain = np.where(np.isposinf(values), BINS, certain)
        return resolved + self._before[0, certain], resolved + self._before[1, possible]

    def range_of(self, place: int) -> tuple[float, float]:
        """Return a range that has the distance of the impostor at a place, counted from 1."""
        last, first = (int(np.searchsorted(np.cumsum(self._counts) + run[1:], place))
                       for run in self._runs)
        return self._lower[first] - self._error, self._upper[last] + self._error

    def resolved(self, low: float, high: float) -> Doubles:
        """Return the distinct distances of resolved impostors from `low` to `high`, ascending."""
        first = np.searchsorted(self._values, low, side="left")
        return self._values[first:np.searchsorted(self._values, high, side="right")]

    def edges(self) -> Doubles:
        """Return distances between which the number of impostors changes little."""
        return np.concatenate([self._lower[1:], self._values, [np.inf]])

    def resolve(self, needed: Mask) -> None:
        """Measure the impostors in these bins, and the nearest ones of the queries `alone`.

        Raises
        ------
        TooFarOff
            A tile exceeds its bound, or there are more pairs than products in double leave.
        """
        if not self._likely[needed].all():
            self._likely[:] = True
            self._count()
            return
        if (self._is_rough and self._precision == np.float32
                and self._left[needed].sum() > self._most):
            raise TooFarOff
        counted = np.zeros(BINS, dtype=np.int64)
        # The nearest impostor is at most two errors away from what is nearest in tiles.
        reach = np.where(self._alone, np.minimum(BINS - 1, self._nearest_bin + 2 + np.ceil(
            np.minimum(2 * self._error / self._width, BINS)).astype(np.int64)), -1)
        steps = [(self._values, np.diff(self._up_to))]
        for rows, part, (tile, flat, place) in self._picked(needed, reach):
            row, column = np.divmod(flat, len(tile.columns))
            row += tile.rows.start
            values = self._exact(rows, part, row, tile.columns[column])
            self._check(place, values)
            np.minimum.at(self.nearest, rows.start + row, values)
            is_needed = needed[place]
            counted += np.bincount(place[is_needed], minlength=BINS)
            steps.append(np.unique(values[is_needed], return_counts=True))
            if sum(len(values) for values, _ in steps[1:]) > _PENDING:
                steps = [_added_up(steps)]
        if (counted != np.where(needed, self._left, 0)).any():  # products differ between passes
            raise TooFarOff
        self._values, counts = _added_up(steps)
        self._up_to = np.append(0, np.cumsum(counts))
        self._left[needed] = 0
        self._before = self._runs + np.append(0, np.cumsum(self._left))

    def _check(self, place: _Bins, values: Doubles) -> None:
        """Refuse tiles whose values differ from exact distances by more than half their bound."""
        with np.errstate(invalid="ignore"):  # infinite distances are in the last bin
            off = np.fmax(self._lower[place] - values, values - self._upper[place])
        if (off > self._error / 2).any():
            raise TooFarOff

    def accepted(self, thresholds: Doubles) -> tuple[Array, Array]:
        """Return how many impostors of each query, and of each image, each threshold accepts.

        Returns
        -------
        int64, shape (thresholds, n_query) and (thresholds, n_gallery)
        """
        by_query, by_image = (np.zeros((len(thresholds), n), dtype=np.int64) for n in (
            len(self._alone), len(self._roles.columns)))
        most = float(np.max(thresholds))
        possible = self._lower <= most + self._error
        unsure = np.zeros(BINS + 1, dtype=bool)
        for value in thresholds:
            unsure[:BINS] |= ((self._lower <= value + self._error)
                              & (self._upper >= value - self._error))
        middle = np.append((self._lower + self._upper) / 2, np.inf)
        middle[[0, BINS - 1]] = -np.inf, np.inf
        for rows, part, (tile, flat, place) in self._picked(possible, self._no_reach):
            row, column = np.divmod(flat, len(tile.columns))
            row += tile.rows.start
            values, open_ = middle[place], unsure[place]
            values[open_] = self._exact(rows, part, row[open_], tile.columns[column[open_]])
            for k, is_in in enumerate(values <= thresholds[:, np.newaxis]):
                by_query[k] += np.bincount(rows.start + row[is_in], minlength=by_query.shape[1])
                by_image[k] += np.bincount(part.images.start + tile.columns[column[is_in]],
                                           minlength=by_image.shape[1])
        return by_query, by_image


def _spread(n_query: int, n_gallery: int) -> tuple[Integers, Integers]:
    """Return pairs all over the matrix, the same at every call."""
    k = np.arange(min(_SAMPLE, n_query * n_gallery), dtype=np.int64)
    golden = (np.sqrt(5) - 1) / 2
    return (k * golden % 1 * n_query).astype(np.int64), k * n_gallery // len(k)


def _added_up(steps: list[tuple[Doubles, Integers]]) -> tuple[Doubles, Integers]:
    """Return distinct values, ascending, and how often each comes, of several such lists."""
    values, counts = (np.concatenate(side) for side in zip(*steps))
    order = np.argsort(values, kind="stable")
    values, counts = values[order], counts[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])[:len(values)])
    return values[first], np.add.reduceat(counts, first) if len(first) else counts
