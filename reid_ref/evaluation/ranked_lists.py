"""Ranked lists to results: what the engine does for distances, done for lists, cut or complete."""
from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, Integers, as_integers
from reid_ref.arrays.memory import bytes_of
from reid_ref.conventions import Convention, find_conventions
from reid_ref.evaluation.engine import as_requested, results_of
from reid_ref.evaluation.how import How, by_convention
from reid_ref.evaluation.ranked import Ranked
from reid_ref.evaluation.ranks import Ranking
from reid_ref.evaluation.summary import Curves
from reid_ref.labels import IndexLists, Labels, check_labels
from reid_ref.ranking.good_ranks import GoodRanks, concatenate
from reid_ref.ranking.rank import Ignored
from reid_ref.ranking.ranked_lists import (
    Block, RankedLists, as_ranked_lists, blocks as list_blocks, places_in_block, ranks_of_block)
from reid_ref.ranking.roles import find_all_roles
from reid_ref.result import Result


@by_convention
def evaluate_ranked_lists(ranked: Any, query: Labels, gallery: Labels, *,
                          convention: str | Convention = "matlab",
                          lists: IndexLists | None = None, n_good: Any = None,
                          query_names: Sequence[str] | None = None,
                          gallery_names: Sequence[str] | None = None,
                          max_memory: int | str | None = None) -> Result:
    """Evaluate the ranked lists of all queries, complete or cut: Rank-k, mAP, mINP.

    Complete lists give the numbers of `evaluate_distances` on distances that rank the same way,
    the same doubles. A good image that a list lacks counts as missed. For one list with its good
    images there is `evaluate_ranked_list`.

    Parameters
    ----------
    ranked : array_like of int, shape (n_query, length); sequence; or mapping
        The gallery images of each query, the nearest first: an array of gallery indices from 0,
        shorter lists filled up with -1 (in memory, a memory map, a dataset of an open HDF5
        file); a sequence of lists of indices or of names; a mapping of query name to list; or
        what `reid_ref.files.read_ranked_lists` reads of a file.
    query, gallery : Labels
        The gallery's labels are those of all its images, in the order that the indices count.
    %(convention)s
        Lists have no equal distances: an order of ties changes nothing.
    %(lists)s
    n_good : array_like of int, shape (n_query,), optional
        How many good images exist for each query, where more exist than the gallery holds. They
        count as missed. Default: those of the gallery.
    query_names, gallery_names : sequence of str, optional
        Names of the images, in the order of the labels. Default: those in the labels. Lists may
        spell them with or without folders and suffix (.jpg, .jpeg, .png, .bmp).
    %(max_memory)s

    Returns
    -------
    Result, or dict of str to Result
        For a list or a tuple of conventions a dict by their names, in the given order.
        Where a list lacks a good image, the query's INP is NaN, and so is mINP. The CMC curve
        ends where the longest list does.

    Raises
    ------
    InputError
        Not one list for each query; an image that the gallery does not have, or that is
        twice in a list; an unknown name; fewer good images in `n_good` than in the gallery; cut
        lists under a convention whose CMC curve needs every image in its place.

    Warns
    -----
    UserWarning
        Queries without a good image, one camera.

    Examples
    --------
    Three good images exist, at ranks 1 and 4 of a list of four; the third is not in it.

    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 8, 7, 7], [2] * 5)
    >>> result = reid_ref.evaluate_ranked_lists([[0, 1, 2, 3]], query, gallery,
    ...                                         convention="trec-eval")
    >>> result.mAP, result.rank(1), result.mINP
    (0.5, 1.0, nan)
    >>> names = ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"]
    >>> reid_ref.evaluate_ranked_lists([["e", "d", "a", "b", "c"]], query, gallery,
    ...                                gallery_names=names).mAP
    1.0
    """
    check_labels(query, gallery)
    names = [side.names() if given is None else given
             for side, given in ((query, query_names), (gallery, gallery_names))]
    ranked_lists = as_ranked_lists(ranked, *names)
    if n_good is not None:
        ranked_lists = replace(ranked_lists, n_good=as_integers(n_good, "n_good"))
    how = How(tuple(find_conventions(convention)), lists=lists, max_memory=max_memory)
    return as_requested(results_of(Lists(ranked_lists), query, gallery, how), convention)


@dataclass(frozen=True, eq=False)
class Lists(Ranked):
    """Ranked lists of gallery images."""

    lists: RankedLists
    noun = "ranked lists"
    is_stored = True  # each list is read once

    def words(self, n_gallery: int) -> str:
        """How long the lists are."""
        longest = self.lists.longest
        if longest >= n_gallery:
            return "ranked lists"
        return (f"ranked lists of up to {longest:,} images; a good image that a list lacks counts "
                "as missed, and leaves mINP unknown")

    def check(self, query: Labels, gallery: Labels) -> None:
        """Refuse lists that do not fit the labels."""
        _check(self.lists, query, gallery)

    def rows(self, *_: Any) -> Any:
        """Ranked lists have no distances."""
        raise InputError(
            "data", "features or distances", "ranked lists", "read the result file itself")

    exact_rows = blocks = exact_blocks = by_product = whole = rows
    rankings = sample = sample_bytes = rows

    def ranks(self, query: Labels, gallery: Labels, how: How) -> Ranking:
        """Return the ranks in the lists; each list is read once."""
        ranked, conventions = self.lists, how.conventions
        _check(ranked, query, gallery)
        how.check_lists(query, gallery)
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
        joined = {rule: _joined(blocks, ranked) for rule, blocks in parts.items()}
        return Ranking(lambda convention: joined[convention.not_ranked][0], curves,
                       _provenance(length, len(gallery), ranked.n_good),
                       lambda result: _cut(result, joined[result.convention.not_ranked][1],
                                           int(length.max())))


def _check(ranked: RankedLists, query: Labels, gallery: Labels) -> None:
    check_labels(query, gallery)
    for name, n in (("lists", len(ranked)), ("n_good", len(query) if ranked.n_good is None
                                             else len(ranked.n_good))):
        if n != len(query):
            what = "one list" if name == "lists" else "one number"
            raise InputError(
                "ranked" if name == "lists" else name, f"{len(query):,}, {what} for each query",
                f"{n:,}", "are they of this benchmark?")


def _check_complete(block: Block, convention: Convention, ranked: RankedLists) -> None:
    short = np.flatnonzero(block.length < block.n_gallery)
    if len(short):
        k = int(short[0])
        raise InputError(
            ranked.where(block.queries.start + k), f"all {block.n_gallery:,} gallery images",
            f"{block.length[k]:,}", f"the CMC curve of {convention.name!r} needs every image in "
            "its place; take complete lists, or another convention")


def _joined(parts: list[tuple[GoodRanks, Integers]],
            ranked: RankedLists) -> tuple[GoodRanks, Integers]:
    """Join blocks; good images from outside the gallery are put in here."""
    ranks = concatenate([ranks for ranks, _ in parts])
    ranked_good = np.concatenate([n_good for _, n_good in parts])
    if ranked.n_good is None:
        return ranks, ranked_good
    few = np.flatnonzero(ranked.n_good < ranks.n_good)
    if len(few):
        k = int(few[0])
        raise InputError("n_good", f"at least {ranks.n_good[k]} for query {k}, the good images "
                         "that its gallery holds under this convention", ranked.n_good[k])
    return (replace(ranks, n_good=ranked.n_good),
            ranked_good + ranked.n_good - ranks.n_good)


def _provenance(length: Integers, n_gallery: int, n_good: Integers | None) -> dict[str, str]:
    """Return what the signature says of the lists: how long they are, and whose good images."""
    shortest, longest = int(length.min()), int(length.max())
    said = ("complete" if shortest == n_gallery else
            str(longest) if shortest == longest else f"{shortest}-{longest}")
    if n_good is None:
        return {"ranked": said}
    return {"ranked": said, "n_good": f"{zlib.crc32(n_good.astype('<i8').tobytes()):08x}"}


def _cut(result: Result, ranked_good: Integers, longest: int) -> Result:
    """Adjust a result for truncated lists.

    INP of a query with missing good images is NaN, and CMC ends at the longest list.
    """
    per_query, counts = result.per_query, result.counts
    status = per_query.status.copy()
    status[(status == "only junk") & (ranked_good > 0)] = "ok"
    is_open = ((result.ranks.found < ranked_good) & (status != "not loaded")
               & (per_query.n_good > 0))
    return replace(
        result, cmc=result.cmc[:max(longest, 1)],
        mINP=float("nan") if is_open.any() else result.mINP,
        per_query=replace(per_query, status=status,
                          inp=np.where(is_open, np.nan, per_query.inp)),
        counts=replace(counts, status={
            name: int(np.count_nonzero(status == name)) for name in counts.status}))
