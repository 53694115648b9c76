"""What is ranked: features, distances, blocks of distances, or ranked lists.

Ranking keys (`ranking.exact_distances`) omit the query's norm. Exact distances (`exact_rows`,
`exact_blocks`) contain it, so they can be compared between queries; distances that round to the
same double are separated by one ulp, so that the order is kept.
"""
from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from reid_ref import distances as blas
from reid_ref.arrays import (
    Array, Doubles, InputError, Integers, Mask, Value, blocks_of, bytes_for, bytes_of,
    check_real_distances, is_stored, read_rows, stored_or_array, with_rows)
from reid_ref.conventions import Convention
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranks import (
    Curves, Ranking, features_provenance, measured, rank_blocks, rank_features, row_blocks)
from reid_ref.labels import Candidates, Labels, check_distances, check_feature_shapes, check_labels
from reid_ref.ranking.counting import GalleryPart, matrix_part
from reid_ref.ranking.exact_distances import feature_parts, feature_rows, squares
from reid_ref.ranking.good_ranks import GoodRanks, concatenate
from reid_ref.ranking.rank import Ignored
from reid_ref.ranking.ranked_lists import (
    ListBlock, RankedLists, blocks as list_blocks, places_in_block, ranks_of_block)
from reid_ref.ranking.roles import find_all_roles

Arrays = Iterator[Array]
#: Bytes of a stored array that are read at a time, to take some of its rows.
_BLOCK = 2**26


@dataclass(frozen=True)
class SampleValues:
    """Values of some queries and some gallery images, for checks of the input.

    Parameters
    ----------
    distances : array, shape (n_query, n_image)
        Smaller is nearer; of features, minus the cosine.
    given : list of array
        The same array, if the distances were given.
    features : list of (query, gallery)
        The rows of both sides, if there are features.
    """

    distances: Array
    given: list[Array] = field(default_factory=list)
    features: list[tuple[Array, Array]] = field(default_factory=list)


class PairParts(NamedTuple):
    """All pairs of query and image, in parts, and their distances, which queries share.

    Parameters
    ----------
    parts : callable
        The precision of products, to an iterator of parts and their queries.
    distances : callable
        Queries, and the exact distances of parts, to distances in double that can be compared
        between queries.
    """

    parts: Callable[[Any], Iterator[tuple[slice, GalleryPart]]]
    distances: Callable[[Any, Any], Doubles]


class Ranked(Value):
    """What is ranked, as far as results need it; subclasses have what else commands need.

    `noun` is what it is called, `if_reversed` what to check if far images come first,
    `remark` what crosschecks add.
    """

    noun = if_reversed = remark = ""
    #: The images that may be found for each query, if a file has them.
    candidates: Candidates | None = None

    def ranks(self, query: Labels, gallery: Labels, how: How) -> Ranking:
        """Rank the gallery for every query."""
        raise NotImplementedError

    def rankings(self) -> Mapping[str, dict[str, Any]]:
        """Return the ways to rank that differ: by name, what changes in `How`; here one."""
        return {self.noun: {}}

    def between(self, asks: str, rows: Integers, answers: str, images: Integers) -> Ranked:
        """Return what ranks some images for some queries; each side is "query" or "gallery"."""
        raise NotImplementedError

    def among(self, how: How) -> How:
        """Return how, with the candidates of each query where there are some."""
        if self.candidates is None or how.lists is self.candidates:
            return how
        if how.lists is not None:
            raise InputError("lists", "none, since the input has candidates for each query",
                             type(how.lists).__name__, "leave out one of the two")
        return replace(how, lists=self.candidates)

    def without_candidates(self, purpose: str) -> None:
        """Refuse candidates, which `purpose` has no place for."""
        if self.candidates is not None:
            raise InputError("data", f"every gallery image for each query, for {purpose}",
                             "candidates of each query", "leave them out of the file")

    def _chosen_candidates(self, asks: str, rows: Integers, answers: str,
                           images: Integers) -> Candidates | None:
        """Return the candidates of these rows, as `between` takes them."""
        if self.candidates is None:
            return None
        if (asks, answers) != ("query", "gallery"):
            self.without_candidates("queries that are found for others")
        return self.candidates.of_queries(rows).within(images)

    def passes(self, how: How) -> list[How]:
        """Return `how` once for each ranking that its conventions need."""
        return [how]

    def pairs(self, query: Labels, gallery: Labels, how: How) -> PairParts:
        """Return all pairs."""
        raise NotImplementedError

    def measured(self, query: Labels, gallery: Labels, how: How) -> Ranked:
        """Return what ranks parts of it often without measuring distances anew."""
        return self

    def features(self, refusal: InputError) -> tuple[Any, Any]:
        """Return the features of both sides; without features, raise `refusal`."""
        raise refusal

    def provenance_of(self, how: How) -> dict[str, str]:
        """Return the signature's fields of the distances."""
        return {}


@dataclass(frozen=True, eq=False)
class Blocks(Ranked):
    """Blocks of distances, queries in order; `provenance` is for the signature."""

    blocks: Iterable[Array]
    provenance: dict[str, str]

    def ranks(self, query: Labels, gallery: Labels, how: How) -> Ranking:
        """Rank them, block by block."""
        query, gallery = how.checked(query, gallery)
        return rank_blocks(self.blocks, query, gallery, how, self.provenance)


@dataclass(frozen=True, eq=False)
class Features(Ranked):
    """Features of both sides, one row per image."""

    query: Any
    gallery: Any
    candidates: Candidates | None = None
    noun = "features"
    if_reversed = "Check that features and labels are in the same order."
    remark = "; the distances of the features are double, in their exact order"

    def __post_init__(self) -> None:
        for side in ("query", "gallery"):  # a tensor on a device is copied once
            array = stored_or_array(getattr(self, side), f"{side}_features")
            object.__setattr__(self, side, array)

    def words(self, n_gallery: int) -> str:
        """Dimension and dtype."""
        return f"features {self.query.shape[1]}-d {self.query.dtype}"

    @property
    def is_stored(self) -> bool:
        """Whether reading a part reads from a file, or computes."""
        return is_stored(self.query) or is_stored(self.gallery)

    def features(self, refusal: InputError) -> tuple[Any, Any]:
        """Return the arrays of both sides; without features, raise `refusal`."""
        return self.query, self.gallery

    def provenance_of(self, how: How) -> dict[str, str]:
        """Return metric, normalisation and dtype."""
        return features_provenance(self.query, self.gallery, how)

    def in_file(self) -> dict[str, Any]:
        """Return the fields of a `ResultFile` that hold it."""
        return {"query_features": self.query, "gallery_features": self.gallery}

    def between(self, asks: str, rows: Integers, answers: str, images: Integers) -> Features:
        """Return the features of these rows, in this order."""
        return Features(_chosen(getattr(self, asks), rows),
                        _chosen(getattr(self, answers), images),
                        self._chosen_candidates(asks, rows, answers, images))

    def passes(self, how: How) -> list[How]:
        """Return `how` once; for whole rows, once for each scaling."""
        return how.passes() if how.needs_rows else [how]

    def measured(self, query: Labels, gallery: Labels, how: How) -> Ranked:
        """Return all exact distances, if they fit in the memory; else itself.

        They are in the order of the features' distances, with their ties.
        """
        if 8 * len(query) * len(gallery) > bytes_of(how.max_memory):
            return self
        matrix = np.empty((len(query), len(gallery)))
        for rows, block in with_rows(self.exact_blocks(query, gallery, how)):
            matrix[rows] = block
        return Distances(matrix, self.provenance_of(how), self.candidates)

    def rankings(self) -> Mapping[str, dict[str, Any]]:
        """Return the ways to rank that differ: by name, what changes in `How`.

        On normalised features cosine, Euclidean and dot rank alike; cosine on raw features is
        the first again.
        """
        return {"normalised": {"metric": "euclidean", "normalize": True},
                "Euclidean": {"metric": "euclidean", "normalize": False},
                "dot": {"metric": "dot", "normalize": False}}

    def check_sizes(self, query: Labels, gallery: Labels) -> None:
        """Refuse features that do not fit the labels."""
        check_feature_shapes(self.query, self.gallery, query, gallery)

    def ranks(self, query: Labels, gallery: Labels, how: How) -> Ranking:
        """Rank them."""
        features = check_feature_shapes(self.query, self.gallery, query, gallery)
        query, gallery = how.checked(query, gallery)
        if not how.needs_rows:
            return measured(rank_features(*features, query, gallery, how), how)
        return measured(rank_blocks(self.rows(query, gallery, how), query, gallery, how,
                                    features_provenance(*features, how), of_features=True), how)

    def rows(self, query: Labels, gallery: Labels, how: How) -> Arrays:
        """Return blocks of what ranks the images of a query, with the ties of exact distances."""
        features = check_feature_shapes(self.query, self.gallery, query, gallery)
        return feature_rows(*features, how.scaling(), bytes_for(how.max_memory, features[1]))

    def pairs(self, query: Labels, gallery: Labels, how: How) -> PairParts:
        """Return all pairs; what is counted of them takes half of the memory."""
        of_query, of_gallery = check_feature_shapes(self.query, self.gallery, query, gallery)
        square = squares(read_rows(of_query))
        opened = feature_parts(of_query, of_gallery, [how.scaling()],
                               bytes_for(how.max_memory, of_gallery) // 2)
        return PairParts(
            lambda precision: ((slice(0, len(query)), part(precision)) for part in opened),
            lambda rows, ranked: _distances(ranked, square[rows], *how.distance()))

    def exact_blocks(self, query: Labels, gallery: Labels, how: How) -> Arrays:
        """Return blocks of consecutive queries; one is in memory."""
        features = check_feature_shapes(self.query, self.gallery, query, gallery)
        return _exact_blocks(*features, how, bytes_for(how.max_memory, features[1]))

    def exact_rows(self, queries: Integers, how: How) -> Arrays:
        """Yield the row of each query."""
        if len(queries):
            chosen = np.concatenate([read_rows(self.query, k, k + 1, "query_features")
                                     for k in queries.tolist()])
            for block in _exact_blocks(chosen, self.gallery, how,
                                       bytes_for(how.max_memory, self.gallery)):
                yield from block

    def by_product(self, how: How) -> Any:
        """Return the distances as other evaluators make them, by a matrix product."""
        return blas.distance_matrix(read_rows(self.query), read_rows(self.gallery),
                                    *how.distance())

    def sample(self, queries: Integers, images: Integers) -> SampleValues:
        """Return the values of some queries and images."""
        query, gallery = _take(self.query, queries), _take(self.gallery, images)
        # In doubles block by block, whose memory is used again.
        values = np.concatenate([-(query.astype(np.float64) @ gallery[block].astype(np.float64).T)
                                 for block in blocks_of(len(gallery), 512)], axis=1)
        for features, axis in ((query, 1), (gallery, 0)):
            norm = lengths(features)
            values /= np.expand_dims(np.where(norm == 0, 1, norm), axis)
        return SampleValues(values, features=[(query, gallery)])

    def sample_bytes(self, n_query: int, n_image: int) -> int:
        """Return about how much memory checks of a sample take: copies, and doubles."""
        return _sample_bytes(self.gallery, n_query + n_image)


@dataclass(frozen=True, eq=False)
class Distances(Ranked):
    """A distance matrix, queries in rows; smaller is nearer. `provenance`: if it is of features.
    """

    matrix: Any
    provenance: dict[str, str] = field(default_factory=dict)
    candidates: Candidates | None = None
    noun = "distances"
    if_reversed = ("Distances must be smaller for nearer images, and an array named similarity "
                   "greater: negate them, or name them as what they are.")

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", stored_or_array(self.matrix, "distances"))

    def words(self, n_gallery: int) -> str:
        """The dtype."""
        return f"distances {self.matrix.dtype}"

    @property
    def is_stored(self) -> bool:
        """Whether reading a part reads from a file, or computes."""
        return is_stored(self.matrix)

    def provenance_of(self, how: How) -> dict[str, str]:
        """Return the dtype, or the provenance of the features."""
        return self.provenance or {"distances": str(self.matrix.dtype)}

    def in_file(self) -> dict[str, Any]:
        """Return the fields of a `ResultFile` that hold it."""
        return {"distances": self.matrix}

    def between(self, asks: str, rows: Integers, answers: str, images: Integers) -> Distances:
        """Return the distances of these rows, in this order."""
        candidates = self._chosen_candidates(asks, rows, answers, images)
        if asks == "gallery":
            return replace(self, matrix=self.matrix.T[rows][:, images])
        chosen = _chosen(self.matrix, rows)
        return replace(self, matrix=chosen if _is_all(images, chosen.shape[1]) else
                       chosen[:, images], candidates=candidates)

    def check_sizes(self, query: Labels, gallery: Labels) -> None:
        """Refuse a matrix that does not fit the labels."""
        check_distances(self.matrix, query, gallery)

    def ranks(self, query: Labels, gallery: Labels, how: How) -> Ranking:
        """Rank them, block by block."""
        memory = bytes_of(how.max_memory)
        distances = check_distances(self.matrix, query, gallery)
        check_real_distances(distances)
        query, gallery = how.checked(query, gallery)
        return rank_blocks(row_blocks(distances, memory), query, gallery, how,
                           self.provenance or {"distances": str(distances.dtype)})

    def pairs(self, query: Labels, gallery: Labels, how: How) -> PairParts:
        """Return all pairs."""
        distances = check_distances(self.matrix, query, gallery)
        check_real_distances(distances)
        return PairParts(lambda _: (
            (rows, matrix_part(block)) for rows, block in with_rows(
                row_blocks(distances, bytes_of(how.max_memory) // 2))),
            lambda _, values: values.astype(np.float64))

    def exact_blocks(self, query: Labels, gallery: Labels, how: How) -> Arrays:
        """Return blocks of consecutive queries; one is in memory."""
        return row_blocks(check_distances(self.matrix, query, gallery), bytes_of(how.max_memory))

    rows = exact_blocks

    def exact_rows(self, queries: Integers, how: How) -> Arrays:
        """Yield the row of each query."""
        for k in queries.tolist():
            yield read_rows(self.matrix, k, k + 1, "distances")[0]

    def by_product(self, how: How) -> Any:
        """Return the matrix."""
        return read_rows(self.matrix)

    def sample(self, queries: Integers, images: Integers) -> SampleValues:
        """Return the values of some queries and images."""
        distances = _take(self.matrix, queries)[:, images]
        return SampleValues(distances, given=[distances])

    def sample_bytes(self, n_query: int, n_image: int) -> int:
        """Return about how much memory checks of a sample take: copies, and doubles."""
        return _sample_bytes(self.matrix, n_query)


@dataclass(frozen=True, eq=False)
class Lists(Ranked):
    """Ranked lists of gallery images."""

    lists: RankedLists
    candidates: Candidates | None = None
    noun = "ranked lists"
    is_stored = True  # each list is read once

    def words(self, n_gallery: int) -> str:
        """How long the lists are."""
        longest = self.lists.longest
        return "ranked lists" + f" of up to {longest:,} images" * (longest < n_gallery)

    def check_sizes(self, query: Labels, gallery: Labels) -> None:
        """Refuse lists that do not fit the labels."""
        _check(self.lists, query, gallery)

    def in_file(self) -> dict[str, Any]:
        """Return the fields of a `ResultFile` that hold it."""
        return {"ranked": self.lists}

    def between(self, asks: str, rows: Integers, answers: str, images: Integers) -> Lists:
        """Return the lists of these queries, if these are all images."""
        if asks == "query" and _is_all(images, len(images)):
            if _is_all(rows, len(self.lists)):
                return self
            lists, n_good = self.lists, self.lists.n_good
            chosen = [row[row >= 0] for row in map(np.asarray, map(lists.lists.__getitem__, rows))]
            return Lists(replace(lists, lists=chosen, where=lambda k: lists.where(int(rows[k])),
                                 n_good=None if n_good is None else n_good[rows]),
                         self._chosen_candidates(asks, rows, answers, images))
        raise InputError("data", "features or distances, of which a part can be taken",
                         "ranked lists")

    def exact_rows(self, *_: Any, **__: Any) -> Any:
        """Ranked lists have no distances."""
        raise InputError("data", "features or distances", "ranked lists",
                         "give the features or the distances that were ranked")

    pairs = rows = exact_blocks = by_product = sample = sample_bytes = exact_rows

    def ranks(self, query: Labels, gallery: Labels, how: How) -> Ranking:
        """Return the ranks in the lists; each list is read once."""
        ranked, conventions = self.lists, how.conventions
        _check(ranked, query, gallery)
        query, gallery = how.checked(query, gallery)
        need_all = [record for record in conventions if record.curve.of_rows]
        curves = Curves(need_all, query, gallery)
        parts: dict[Ignored, list[tuple[GoodRanks, Integers]]] = {
            rule: [] for rule in how.not_ranked}
        lengths = []
        for block in list_blocks(ranked, len(gallery), bytes_of(how.max_memory)):
            block_query, block_lists = query[block.queries], how.lists_of(block.queries)
            for rule, roles in find_all_roles(block_query, gallery, parts, block_lists).items():
                parts[rule].append(ranks_of_block(block, roles))
            if need_all:
                _check_complete(block, need_all[0], ranked)
                curves.add(places_in_block(block), block_query, block_lists)
            lengths.append(block.length)
            if how.progress is not None:
                how.progress(len(block_query))
        length = np.concatenate(lengths)
        joined = {rule: _joined(blocks, ranked, np.any(
            [convention.loaded(query.identity) for convention in conventions
             if convention.not_ranked == rule], axis=0)) for rule, blocks in parts.items()}
        return Ranking(lambda convention: convention.answered(
            joined[convention.not_ranked][0], length), curves,
                       _provenance(length, len(gallery), ranked.n_good),
                       can_rank=lambda rule: joined[rule][1], longest=max(int(length.max()), 1))


def _exact_blocks(query: Any, gallery: Any, how: How, memory: int) -> Arrays:
    """Yield the exact distances of blocks of queries."""
    for rows, block in with_rows(feature_rows(query, gallery, how.scaling(), memory)):
        _make_distances(block, read_rows(query, rows.start, rows.stop), *how.distance())
        yield block


def _make_distances(block: Doubles, features: Array, metric: str, normalized: bool) -> None:
    """Replace ranking keys by distances, in the same order and with the same ties."""
    for row, square in zip(block, squares(features).tolist()):
        ranked = np.sort(row)
        values = _distances(ranked, square, metric, normalized)
        if ((values[1:] == values[:-1]) & (ranked[1:] != ranked[:-1])).any():
            ranked, image = np.unique(row, return_inverse=True, equal_nan=False)
            row[:] = _rising(_distances(ranked, square, metric, normalized))[image.reshape(-1)]
        else:  # nearly always, and in a quarter of the time
            row[:] = _distances(row, square, metric, normalized) + 0.0  # no negative zero


def _distances(ranked: Any, square: Any, metric: str, normalized: bool) -> Doubles:
    """Return the distances of pairs, of what ranks them and the squared norms of the queries."""
    distances: Doubles
    if normalized:
        with np.errstate(invalid="ignore", divide="ignore"):
            cosine = -ranked / np.sqrt(square)
        distances = (-cosine if metric == "dot" else
                     1 - cosine if metric == "cosine" else 2 - 2 * cosine)
    else:
        distances = ranked + square if metric == "euclidean" else ranked
    return distances


def _rising(values: Doubles) -> Doubles:
    """Return ascending doubles with each repeated value replaced by the next free double."""
    is_number = ~np.isnan(values)
    bits = (values[is_number] + 0.0).view(np.int64)  # + 0.0: no negative zero
    # Whole numbers in the order of the doubles.
    whole = np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)
    place = np.arange(len(whole))
    whole = np.maximum.accumulate(whole - place) + place
    risen: Doubles = values.copy()
    risen[is_number] = np.where(whole < 0, np.iinfo(np.int64).min - whole, whole).view(np.float64)
    return risen


def _is_all(rows: Integers, n: int) -> bool:
    return len(rows) == n and np.array_equal(rows, np.arange(n))


def _chosen(array: Any, rows: Integers) -> Any:
    """Return rows of an array in any order; all of them as they are."""
    if _is_all(rows, array.shape[0]):
        return array
    return (read_rows(array) if is_stored(array) else array)[rows]


def _take(array: Any, rows: Integers) -> Array:
    """Return rows of an array; of one that is read on demand, block by block."""
    if not is_stored(array):
        return np.asarray(array)[rows]
    return np.concatenate([
        read_rows(array, block.start, block.stop)[
            rows[slice(*np.searchsorted(rows, [block.start, block.stop]))] - block.start]
        for block in blocks_of(array.shape[0], _BLOCK // (array.shape[1] * array.dtype.itemsize))])


def lengths(features: Array) -> Doubles:
    """Return the 2-norm of each row, double."""
    return np.sqrt(squares(features))


def _sample_bytes(array: Any, rows: int) -> int:
    return int(rows * array.shape[1] * (3 * array.dtype.itemsize + 16))


def _check(ranked: RankedLists, query: Labels, gallery: Labels) -> None:
    check_labels(query, gallery)
    for name, what, values in (("ranked", "one list", ranked),
                               ("n_good", "one number", ranked.n_good)):
        if values is not None and len(values) != len(query):
            raise InputError(name, f"{len(query):,}, {what} for each query", f"{len(values):,}",
                             "are they of this benchmark?")


def _check_complete(block: ListBlock, convention: Convention, ranked: RankedLists) -> None:
    for k in np.flatnonzero(block.length < block.n_gallery)[:1].tolist():
        raise InputError(
            ranked.where(block.queries.start + k), f"all {block.n_gallery:,} gallery images",
            f"{block.length[k]:,}", f"the CMC curve of {convention.name!r} needs every image in "
            "its place; take complete lists, or another convention")


def _joined(parts: list[tuple[GoodRanks, Integers]], ranked: RankedLists,
            loaded: Mask) -> tuple[GoodRanks, Integers]:
    """Join blocks; good images from outside the gallery are put in here.

    `n_good` of a query that is not loaded is not used.
    """
    ranks = concatenate([ranks for ranks, _ in parts])
    ranked_good = np.concatenate([n_good for _, n_good in parts])
    if ranked.n_good is None:
        return ranks, ranked_good
    n_good = np.where(loaded, ranked.n_good, ranks.n_good)
    for k in np.flatnonzero(n_good < ranks.n_good)[:1]:
        raise InputError("n_good", f"at least {ranks.n_good[k]} for query {k}, the good images "
                         "that its gallery holds under this convention", ranked.n_good[k])
    return replace(ranks, n_good=n_good), ranked_good + n_good - ranks.n_good


def _provenance(length: Integers, n_gallery: int, n_good: Integers | None) -> dict[str, str]:
    """Return the signature's fields of the lists: their length, and the given good images."""
    shortest, longest = int(length.min()), int(length.max())
    fields = {"ranked": "complete" if shortest == n_gallery else
              str(longest) if shortest == longest else f"{shortest}-{longest}"}
    return fields if n_good is None else {**fields, **_n_good_field(n_good)}


def _n_good_field(n_good: Integers) -> dict[str, str]:
    return {"n_good": f"{zlib.crc32(n_good.astype('<i8').tobytes()):08x}"}


def with_n_good(ranking: Ranking, n_good: Integers, longest: int) -> Ranking:
    """Return a ranking with given numbers of good images, of which some may have no rank.

    Parameters
    ----------
    ranking : Ranking
    n_good : int64, shape (n_query,)
        Good images that exist for each query, at least those that are ranked.
    longest : int
        Images that a query keeps at most, where its CMC curve ends.
    """
    return replace(
        ranking, of=lambda convention: replace(ranking.of(convention), n_good=n_good),
        provenance={**ranking.provenance, **_n_good_field(n_good)}, can_rank=lambda _: n_good,
        longest=max(longest, 1))
