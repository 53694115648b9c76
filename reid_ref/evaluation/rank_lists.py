"""A query's ranked list, each image with its role; the queries worth a look."""
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from reid_ref import metrics
from reid_ref.arrays import Array, Integers, Mask, without_warnings
from reid_ref.conventions import CHOICES, Convention
from reid_ref.disk import tables_of
from reid_ref.evaluation.how import How, labels_to_rank
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import DISTRACTOR, Labels, QueryLists, count_distractors
from reid_ref.ranking.good_ranks import in_order, stable_order
from reid_ref.ranking.roles import query_roles
from reid_ref.result import Result, counted_values, in_mean

#: Roles of images.
GOOD, WRONG, DISTRACTING, IGNORED = "good", "wrong", "distractor", "ignored"


def rows_with_roles(data: ResultFile, queries: Integers, how: How) -> Iterator[tuple[Any, ...]]:
    """Yield each query's distances, its good images, and which images are kept."""
    how = data.input.among(how)
    convention, = how.conventions
    query, gallery = how.checked(data.query, data.gallery)
    roles = query_roles(query[queries], gallery, convention.not_ranked, how.lists_of(queries))
    # The evaluation has warned of the features already.
    for k, row in enumerate(without_warnings(data.input.exact_rows(queries, how))):
        yield (row, *roles(k))


def nearest_wrong(data: ResultFile, queries: Integers, how: How) -> list[int | None]:
    """Return each query's nearest image among the kept ones that are not good; None without one.

    `how` has one convention. Of several at the same distance it is the first in the gallery,
    whatever the convention's order of ties.
    """
    nearest: list[int | None] = []
    for row, good, kept in rows_with_roles(data, queries, how):
        kept[good] = False
        wrong = np.flatnonzero(kept)
        nearest.append(int(wrong[stable_order(row[wrong])[0]]) if len(wrong) else None)
    return nearest


class ListedImage(NamedTuple):
    """One image of a ranked list.

    Parameters
    ----------
    place : int
        1-based place in the whole gallery by distance.
    ranks : tuple of int or None
        Rank among the kept images under each convention; None if it is ignored.
    image, identity, camera : int
        Gallery index from 0, and its labels; the camera is None if unknown.
    distance : float
    role : str
        good, junk with its reason, such as junk (same camera), not loaded, distractor, wrong, as
        the first convention has it; an image it does not ignore is never junk.
    """

    place: int
    ranks: tuple[int | None, ...]
    image: int
    identity: int | str
    camera: int | str | None
    distance: float
    role: str


def ranked_list(row: Array, query: Labels, gallery: Labels,
                conventions: list[Convention], around: int = 1,
                lists: QueryLists | None = None, distractors: bool = True) -> list[ListedImage]:
    """Return one query's ranked list around its good images, with every image's role.

    Parameters
    ----------
    row : array, shape (n_gallery,)
        The query's distances.
    query : Labels
        Of this one query.
    gallery : Labels
    conventions : list of Convention
        Whose ranks are wanted; the first one's roles are shown.
    around : int
        Images shown before and after each good image; the nearest are always shown.
    lists : IndexLists or Candidates, optional
        Of this one query.
    distractors : bool
        Whether label 0 is a distractor; False if it is a person, as in MSMT17.

    Examples
    --------
    >>> from reid_ref import CONVENTIONS
    >>> for image in ranked_list(np.array([.3, .1, .2]), Labels([7], [1]),
    ...         Labels([7, -1, 7], [2, 2, 1]), [CONVENTIONS["matlab"], CONVENTIONS["torchreid"]]):
    ...     print(image.place, image.ranks, image.role)
    1 (None, None) junk (label -1)
    2 (None, None) junk (same camera)
    3 (1, 1) good
    """
    order = np.argsort(row, kind="stable")
    place_of = np.argsort(order)
    roles = [query_roles(query, gallery, convention.not_ranked, lists)(0)
             for convention in conventions]
    ranks = [np.cumsum(kept[order])[place_of] for _, kept in roles]
    loaded = conventions[0].loaded(gallery.identity)
    is_good = np.zeros(len(row), dtype=bool)
    is_good[roles[0][0]] = True
    reasons = _reasons(query, gallery, conventions[0])

    def role(image: int, identity: int | str) -> str:
        if not loaded[image]:
            return "not loaded"
        if not roles[0][1][image]:
            return f"{'good+' * bool(is_good[image])}junk ({reasons[image]})"
        return _kept_role(bool(is_good[image]), identity, distractors)

    shown = {place + step for place in np.flatnonzero(is_good[order]).tolist()
             for step in range(-around, around + 1)}
    shown |= set(range(2 * around + 1))
    listed = []
    for place in sorted(shown & set(range(len(order)))):
        image = int(order[place])
        identity = gallery.identity_of(image)
        listed.append(ListedImage(
            place + 1, tuple(int(rank[image]) if kept[image] else None
                             for rank, (_, kept) in zip(ranks, roles)),
            image, identity, gallery.camera_of(image), float(row[image]),
            role(image, identity)))
    return listed


def _kept_role(is_good: bool, identity: int | str, distractors: bool) -> str:
    if is_good:
        return GOOD
    return DISTRACTING if distractors and identity == DISTRACTOR else WRONG


def worst_queries(result: Result, n: int) -> Integers:
    """Return the n queries of lowest AP, the lowest first; equal AP in order of their number.

    Only queries in the mean of mAP, with the AP that they have there: a query without a good
    image comes first if it counts as AP 0, and last if its AP is NaN.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8], [2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2], [.1, .2]], query, gallery)
    >>> worst_queries(result, 1)
    array([1])
    """
    queries = np.flatnonzero(in_mean(result))
    ap = counted_values(result, result.of_query("mAP"), queries)
    return queries[np.argsort(ap, kind="stable")[:n]]


#: Why a query is shown, with its meaning.
REASONS: Mapping[str, str] = tables_of("evaluation/words.toml")["reasons"]


class Entry(NamedTuple):
    """One image of a ranked list.

    Parameters
    ----------
    image, identity, camera : int
        Gallery index from 0, and its labels; the camera is None if unknown.
    rank : int or None
        From 1 among the kept images; None if it is ignored.
    distance : float
    role : str
        "good", "wrong", "distractor" or "ignored".
    reason : str
        Why it is ignored; else empty.
    """

    image: int
    identity: int | str
    camera: int | str | None
    rank: int | None
    distance: float
    role: str
    reason: str = ""


@dataclass(frozen=True)
class RankList:
    """The beginning of one query's ranked list.

    Parameters
    ----------
    query, identity, camera : int
        Which query, from 0, and its labels; the camera is None if unknown.
    entries : tuple of Entry
        The first kept images and the ignored ones before the last of them, in order.
    more_ignored : int
        Ignored images among them that are left out, since there are many.
    next_good : Entry or None
        The first good image after the entries.
    good : tuple of Entry
        The first good images by rank, at most as many as are shown.
    """

    query: int
    identity: int | str
    camera: int | str | None
    entries: tuple[Entry, ...]
    more_ignored: int
    next_good: Entry | None
    good: tuple[Entry, ...]


def choose(result: Result, n: int, seed: int = 12345,
           first: Iterable[int] = ()) -> dict[str, list[int]]:
    """Return about n queries by reason; a query can have several reasons.

    Parameters
    ----------
    result : Result
    n : int
        Different queries at most.
    seed : int
        Of those drawn at random.
    first : iterable of int
        Queries that are shown anyway, and count.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8], [2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2], [.1, .2]], query, gallery)
    >>> {reason: queries for reason, queries in choose(result, 1).items() if queries}
    {'worst': [1], 'median': [1], 'rank-1 wrong': [1]}
    """
    ordered = {reason: queries.tolist() for reason, queries in _candidates(result, seed).items()}
    taken = dict.fromkeys(list(first)[:n])
    by_reason: dict[str, list[int]] = {reason: [] for reason in ordered}
    for place in range(max(map(len, ordered.values()))):
        if len(taken) >= n:
            break
        for reason, queries in ordered.items():
            if place < len(queries) and (len(taken) < n or queries[place] in taken):
                taken[queries[place]] = None
                by_reason[reason].append(queries[place])
    for reason in ("rank-1 wrong", "no match", "tied"):
        by_reason[reason] = [query for query in ordered[reason] if query in taken]
    return by_reason


def _candidates(result: Result, seed: int) -> dict[str, Integers]:
    """Return all queries that each reason fits, the best first."""
    per_query, every_ap = result.per_query, result.of_query("mAP")
    worst = worst_queries(result, len(every_ap))
    worst = worst[~np.isnan(every_ap[worst])]
    ap = every_ap[worst]
    middle = np.argsort(np.abs(ap - np.median(ap)), kind="stable") if len(worst) else worst
    with_good = np.flatnonzero(per_query.status == "ok")
    later = with_good[per_query.first_match[with_good] != 1]
    absent = ~np.isin(per_query.status, ("ok", "not loaded"))
    return {
        "worst": worst, "median": worst[middle],
        "random": np.random.RandomState(seed).permutation(worst),
        "rank-1 wrong": later[np.argsort(-every_ap[later], kind="stable")],
        "no match": np.flatnonzero(absent), "tied": metrics.tied_queries(result.ranks)}


def rank_lists(data: ResultFile, queries: Sequence[int], how: How,
               top: int = 10) -> list[RankList]:
    """Return the ranked lists of the chosen queries, with the distances that `explain` shows.

    Parameters
    ----------
    data : ResultFile
    queries : sequence of int
        Which, from 0.
    how : How
        With one convention, as which it ranks.
    top : int
        Kept images shown; also good and ignored ones at most.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> data = reid_ref.ResultFile(
    ...     "arrays", reid_ref.Labels([7], [1]), reid_ref.Labels([7, -1, 8, 7], [1, 2, 2, 3]),
    ...     distances=np.array([[.1, .2, .3, .4]]))
    >>> first, = rank_lists(data, [0], How(), top=2)
    >>> [(entry.rank, entry.role, entry.reason) for entry in first.entries][:3]
    [(None, 'ignored', 'same camera'), (None, 'ignored', 'label -1'), (1, 'wrong', '')]
    """
    chosen = np.asarray(queries, dtype=np.int64)
    rows = rows_with_roles(data, chosen, how)
    return [rank_list(query, row, good, kept, data, how.conventions[0], top)
            for query, (row, good, kept) in zip(chosen.tolist(), rows)]


def rank_list(query: int, row: Array, good: Integers, kept: Mask,
              data: ResultFile, convention: Convention, top: int) -> RankList:
    """Return the ranked list of one query, of what `rows_with_roles` yields."""
    images = np.flatnonzero(convention.loaded(data.gallery.identity))
    order = images[in_order(row[images], convention.ties)]
    is_good, kept = np.isin(order, good) & kept[order], kept[order]
    rank = np.cumsum(kept)
    end = min(int(np.searchsorted(rank, top)) + 1, len(order))
    ignored, good_places = np.flatnonzero(~kept[:end]), np.flatnonzero(is_good)
    queries, gallery = labels_to_rank(data.query, data.gallery, [convention])
    reasons = _reasons(queries[query:query + 1], gallery, convention)
    distractors = count_distractors(data.query, data.gallery) > 0

    def entries(places: Integers) -> Iterator[Entry]:
        for place in places.tolist():
            image = int(order[place])
            identity, camera = data.gallery.identity_of(image), data.gallery.camera_of(image)
            is_kept = bool(kept[place])
            yield Entry(
                image, identity, camera, int(rank[place]) if is_kept else None, float(row[image]),
                _kept_role(bool(is_good[place]), identity, distractors) if is_kept else IGNORED,
                "" if is_kept else reasons[image])

    return RankList(
        query, data.query.identity_of(query), data.query.camera_of(query),
        tuple(entries(np.setdiff1d(np.arange(end), ignored[top:]))), len(ignored[top:]),
        next(entries(good_places[good_places >= end]), None), tuple(entries(good_places[:top])))


def _reasons(query: Labels, gallery: Labels, convention: Convention) -> Array:
    """Return why each image would be ignored: the convention's first rule that ignores it."""
    words = [CHOICES["ignored"][rule].short or rule for rule in convention.not_ranked]
    reasons = np.full(len(gallery), words[-1] if words else "", dtype=object)
    for rule, why in zip(reversed(convention.not_ranked), reversed(words)):
        _, kept = query_roles(query, gallery, [rule])(0)
        reasons[~kept] = why
    return reasons
