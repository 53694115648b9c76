"""Impostor pairs by distance: exact counts, in tiles, without a list of the pairs.

Genuine pairs are few and are measured one by one. Impostor pairs are counted in equal bins of
their distance, tile by tile; a tile's values have a known error. A bin is *resolved* by measuring
its pairs exactly in a further pass, for which the bins of all pairs are kept if they fit. So the
number of pairs below a value is known within bounds, which are equal once every bin that may reach
the value is resolved. Which bins a number needs is known after the first pass, and they are few.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers, warn
from reid_ref.arrays.cores import in_threads
from reid_ref.evaluation.ranked import Pairs
from reid_ref.ranking.counting import Array, Band, Counting, Part, TooFarOff, Tile
from reid_ref.ranking.roles import Mask, Roles

#: Bins of equal width; the first and the last have no outer end. Pairs that are no impostors are
#: in one more, and all numbers fit 16 bits.
BINS = 2**16 - 1
#: Pairs that are measured to choose the range of the bins.
_SAMPLE = 2**15
#: Distinct distances that are kept before equal ones are added up.
_PENDING = 2**21

#: A tile in its part, the queries of the part, and the bins of all its pairs.
_Bins = npt.NDArray[np.uint16]
_Binned = tuple[slice, Part, Tile, _Bins]


class Impostors:
    """The genuine pairs' distances, and what is known of the impostor pairs'.

    Parameters
    ----------
    pairs : Pairs
    roles : Roles
    n_query, n_gallery : int
    alone : bool, shape (n_query,)
        Queries whose nearest impostor is needed, too.
    precision : dtype
        Of the products in tiles.
    most : int
        Pairs to be measured above which products in double are worth their time.
    keeps : bool
        Whether the bins of all pairs, two bytes each, are kept for the further passes.
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

    def __init__(self, pairs: Pairs, roles: Roles, n_query: int, n_gallery: int, alone: Mask,
                 precision: Any, most: int, keeps: bool,
                 done: Callable[[float], object] | None = None) -> None:
        self._pairs, self._roles, self._precision, self._most = pairs, roles, precision, most
        self._done, self._alone = done, alone
        self._size = n_query * np.count_nonzero(roles.columns) * (1 if keeps else 2)
        self._keeps, self._kept = keeps, dict[int, list[tuple[Tile, _Bins]]]()
        good, junk = (row * n_gallery + image for row, image in (
            (roles.good_query, roles.good), (roles.junk_query, roles.junk)))
        kept = roles.columns[roles.good] & ~np.isin(good, junk)
        self.row, self.image = roles.good_query[kept], roles.good[kept]
        self._counting = Counting(*np.divmod(np.union1d(good, junk), n_gallery), roles.columns,
                                  roles.place, roles.query_place)
        self.number = int(roles.n_kept(n_query).sum()) - len(self.row)
        for name, number in (("genuine", len(self.row)), ("impostor", self.number)):
            if not number:
                raise InputError("query, gallery", f"at least one {name} pair under this "
                                 "convention", "none", "check that identities are numbered alike "
                                 "on both sides")
        self.genuine, sample = self._measured(*_spread(n_query, n_gallery))
        self._set_range(np.concatenate([sample, self.genuine]))
        self._nearest_bin = np.full(n_query, BINS)
        self._counts = np.zeros(BINS + 1, dtype=np.int64)
        for rows, _, tile, bins in self._binned():
            self._counts += np.bincount(bins.reshape(-1), minlength=BINS + 1)
            if alone.any():
                queries = np.arange(rows.start + tile.rows.start, rows.start + tile.rows.stop)
                self._nearest_bin[queries] = np.minimum(self._nearest_bin[queries],
                                                        bins.min(axis=1))
        if self._nan and not self._is_rough:  # of features, zeros have been warned of
            warn(f"distances: {self._nan} of {n_query * n_gallery} are NaN; they are farthest")
        self._counts = self._counts[:BINS]
        self.nearest = np.full(n_query, np.inf)
        self._left = self._counts.copy()
        self._before = np.append(0, np.cumsum(self._left))
        self._values, self._up_to = np.zeros(0), np.zeros(1, dtype=np.int64)

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

    def _exact(self, rows: slice, part: Part, row: Integers, column: Integers) -> Doubles:
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

    def _binned(self) -> Iterator[_Binned]:
        """Yield every tile with the bins of its pairs, which were kept, or a thread finds."""
        for k, (rows, part) in enumerate(self._pairs.parts(self._precision)):
            if k in self._kept:
                yield from ((rows, part, *kept) for kept in self._kept[k])
                continue
            kept = []
            for tile, bins in self._found(rows, part):
                yield rows, part, tile, bins
                if self._keeps:
                    kept.append((replace(tile, values=None), bins))
            if self._keeps:
                self._kept[k] = kept

    def _found(self, rows: slice, part: Part) -> Iterator[tuple[Tile, _Bins]]:
        for band in part.bands:
            columns = self._roles.columns[part.images] & band.columns
            if columns.any():
                bins = partial(self._bins, rows, part, band)
                tiles = (tile for block in band.blocks(columns) for tile in block.tiles())
                yield from in_threads(lambda tile: (tile, bins(tile)), tiles, threads=1)

    def _bins(self, rows: slice, part: Part, band: Band,
              tile: Tile) -> _Bins:
        queries = slice(rows.start + tile.rows.start, rows.start + tile.rows.stop)
        kind = np.float32 if tile.values.dtype == np.float32 else np.float64
        slope, base = self._lines(band, queries, tile.rows, kind)
        with np.errstate(invalid="ignore", over="ignore"):
            places = np.multiply(tile.values, slope, dtype=kind)
            places += base
        np.clip(places, 0, BINS - 1, out=places)
        if np.isnan(places.min()):
            is_nan = np.isnan(places)
            self._nan += np.count_nonzero(is_nan)
            places[is_nan] = BINS - 1  # farthest
        bins: _Bins = places.astype(np.uint16)
        images = part.images.start + tile.columns
        bins[:, ~self._roles.columns[images]] = BINS
        counting = self._counting
        if counting.place is not None and counting.query_place is not None:
            bins[counting.place[images] == counting.query_place[queries, np.newaxis]] = BINS
        bins[counting.left_out_of(queries, images)] = BINS
        if self._done is not None:
            self._done(bins.size / self._size)
        return bins

    def _lines(self, band: Band, queries: slice, rows: slice,
               kind: Any) -> tuple[Array, Array]:
        """Return slope and base of each query: value in a tile to bin; adjust the error."""
        scale, off = np.ones(rows.stop - rows.start), np.zeros(rows.stop - rows.start)
        if band.scale is not None and band.off is not None:
            scale, off = band.scale[rows], band.off[rows]
            self._is_rough = True
        base = self._pairs.distances(queries, np.zeros(len(scale)))
        slope = self._pairs.distances(queries, scale) - base
        base = base - self._start
        span = BINS * self._width + abs(self._start)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = slope * off / scale + 4 * float(np.finfo(kind).eps) * (2 * abs(base) + span)
        self._error = max(self._error, float(np.max(error, where=error == error, initial=0)))
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
        reached: Mask = (np.cumsum(marks)[:BINS] > 0) & (self._left > 0)
        return reached

    def below(self, values: Any, side: Any = "right") -> tuple[Integers, Integers]:
        """Return bounds on the number of impostors up to each value; below it with side "left"."""
        known = self._up_to[np.searchsorted(self._values, values, side=side)]
        certain = np.searchsorted(self._upper, values - np.float64(self._error), side="left")
        possible = np.searchsorted(self._lower, values + np.float64(self._error), side="right")
        if side == "right":
            certain = np.where(np.isposinf(values), BINS, certain)
        return known + self._before[certain], known + self._before[possible]

    def range_of(self, place: int) -> tuple[float, float]:
        """Return a range that has the distance of the impostor at a place, counted from 1."""
        k = int(np.searchsorted(np.cumsum(self._counts), place))
        return self._lower[k] - self._error, self._upper[k] + self._error

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
        if (self._is_rough and self._precision == np.float32
                and self._left[needed].sum() > self._most):
            raise TooFarOff
        table, found = np.append(needed, False), np.zeros(BINS, dtype=np.int64)
        # The nearest impostor is at most two errors away from what is nearest in tiles.
        reach = np.where(self._alone, np.minimum(BINS - 1, self._nearest_bin + 2 + np.ceil(
            np.minimum(2 * self._error / self._width, BINS)).astype(np.int64)), -1)
        steps = [(self._values, np.diff(self._up_to))]

        def pick(binned: _Binned) -> tuple[_Binned, Integers]:
            rows, _, tile, bins = binned
            queries = slice(rows.start + tile.rows.start, rows.start + tile.rows.stop)
            picked = table.take(bins, mode="clip")
            near = np.flatnonzero(reach[queries] >= 0)
            picked[near] |= bins[near] <= reach[queries][near, np.newaxis]
            return binned, np.flatnonzero(picked)

        # Bins that are not kept are found by a thread meanwhile.
        for (rows, part, tile, bins), flat in (in_threads if self._keeps else map)(
                pick, self._binned()):
            row, column = np.divmod(flat, bins.shape[1])
            place, row = bins.reshape(-1)[flat].astype(np.int64), row + tile.rows.start
            values = self._exact(rows, part, row, tile.columns[column])
            self._check(place, values)
            np.minimum.at(self.nearest, rows.start + row, values)
            is_needed = needed[place]
            found += np.bincount(place[is_needed], minlength=BINS)
            steps.append(np.unique(values[is_needed], return_counts=True))
            if sum(len(values) for values, _ in steps[1:]) > _PENDING:
                steps = [_added_up(steps)]
        if (found != np.where(needed, self._left, 0)).any():  # products differ between passes
            raise TooFarOff
        self._values, counts = _added_up(steps)
        self._up_to = np.append(0, np.cumsum(counts))
        self._left[needed] = 0
        self._before = np.append(0, np.cumsum(self._left))

    def _check(self, place: Integers, values: Doubles) -> None:
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
        possible = np.append(self._lower <= most + self._error, False)
        unsure = np.zeros(BINS + 1, dtype=bool)
        for value in thresholds:
            unsure[:BINS] |= ((self._lower <= value + self._error)
                              & (self._upper >= value - self._error))
        middle = np.append((self._lower + self._upper) / 2, np.inf)
        middle[[0, BINS - 1]] = -np.inf, np.inf
        for rows, part, tile, bins in self._binned():
            row, column = np.divmod(np.flatnonzero(possible.take(bins, mode="clip")),
                                    bins.shape[1])
            place, row = bins[row, column], row + tile.rows.start
            values, open_ = middle[place], unsure[place]
            values[open_] = self._exact(rows, part, row[open_], tile.columns[column[open_]])
            for k, is_in in enumerate(values <= thresholds[:, np.newaxis]):
                by_query[k] += np.bincount(rows.start + row[is_in], minlength=by_query.shape[1])
                by_image[k] += np.bincount(part.images.start + tile.columns[column[is_in]],
                                           minlength=by_image.shape[1])
        return by_query, by_image


def _spread(n_query: int, n_gallery: int) -> tuple[Integers, Integers]:
    """Return pairs all over the matrix, the same at every call."""
    k = np.arange(min(_SAMPLE, n_query * n_gallery))
    golden = (np.sqrt(5) - 1) / 2
    return (k * golden % 1 * n_query).astype(np.int64), k * n_gallery // len(k)


def _added_up(steps: list[tuple[Doubles, Integers]]) -> tuple[Doubles, Integers]:
    """Return distinct values, ascending, and how often each comes, of several such lists."""
    values, counts = (np.concatenate(side) for side in zip(*steps))
    order = np.argsort(values, kind="stable")
    values, counts = values[order], counts[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])[:len(values)])
    return values[first], np.add.reduceat(counts, first) if len(first) else counts
