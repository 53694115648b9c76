"""A benchmark's numbers by its protocol: the same evaluation, on the rows of each trial."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, Integers, each_warning_once
from reid_ref.evaluation.engine import summaries, warn_unmatched
from reid_ref.evaluation.how import How, documented
from reid_ref.evaluation.ranked import Distances, Features, Ranked
from reid_ref.evaluation.result_file import Input
from reid_ref.labels import Labels, check_labels
from reid_ref.metrics import mean_in_order
from reid_ref.protocols.expectation import expectation
from reid_ref.protocols.record import Part, Protocol, Seeded, Sides
from reid_ref.protocols.records import check_counts, find_protocol
from reid_ref.protocols.result import PartResult, ProtocolResult, of_trials
from reid_ref.protocols.trials import is_exact, rows_of_trials
from reid_ref.result import Result
from reid_ref.signature import fields_of, signature

Trial = tuple[Integers, Integers]


@documented
def evaluate_protocol(protocol: str | Protocol, query_features: Any, gallery_features: Any,
                      query: Labels, gallery: Labels, *, part: str | None = None,
                      trials: Any = None, shots: int | None = None, seed: int | None = None,
                      metric: str | None = None, normalize: bool | None = None,
                      distances: Any = None,
                      max_memory: int | str | None = None) -> ProtocolResult:
    """Evaluate a benchmark by its name: Rank-k, mAP and mINP as its protocol defines them.

    Parameters
    ----------
    protocol : str or Protocol
        A name that `reid-ref protocols` lists, or a record.
    query_features, gallery_features : array_like, shape (n, d), or None
        As for `evaluate`; `reid-ref protocols NAME` says which images.
    query, gallery : Labels
        With the further columns that the protocol needs.
    part : str, optional
        One part of the protocol. Default: all of them.
    trials : sequence of (query rows or None, gallery rows or None), optional
        The rows of each trial, in the place of the protocol's own. They keep their order, which
        decides between equal distances. `reid_ref.protocols.read_trials` reads a file.
    shots : int, optional
        Images of each identity and camera in the gallery, where a protocol draws them.
    seed : int, optional
        Of the first trial, in the place of the protocol's own.
    %(metric)s
    %(normalize)s
    distances : array_like, shape (n_query, n_gallery), optional
        In the place of both features.
    %(max_memory)s

    Returns
    -------
    ProtocolResult
        A mapping of part name to its `PartResult`; with one part it has that one's attributes.

    Raises
    ------
    InputError
        An unknown name, a column that is missing, trials that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> query = Labels([7, 8], [1, 1], clothes=[0, 0])
    >>> gallery = Labels([7, 7, 8, 8], [2, 2, 2, 2], clothes=[0, 1, 1, 0])
    >>> distances = np.array([[.1, .4, .2, .3], [.3, .4, .2, .1]])
    >>> result = evaluate_protocol("ccvid", None, None, query, gallery, distances=distances)
    >>> {part: round(numbers.mAP, 4) for part, numbers in result.items()}
    {'general': 0.875, 'sc': 1.0, 'cc': 0.6667}
    >>> evaluate_protocol("regdb", None, None, query, gallery, part="visible-to-thermal",
    ...                   trials=[([0, 1], [0, 2])], distances=distances).rank(1)
    1.0
    """
    if distances is None and (query_features is None or gallery_features is None):
        raise InputError("distances", "distances, or features of both sides", "neither")
    ranked = (Features(query_features, gallery_features) if distances is None
              else Distances(distances))
    return evaluate_ranked(protocol, ranked, query, gallery, How(
        metric=metric, normalize=normalize, max_memory=max_memory), part=part, trials=trials,
        shots=shots, seed=seed)


def evaluate_ranked(protocol: str | Protocol, ranked: Input, query: Labels, gallery: Labels,
                    how: How = How(), *, part: str | None = None, trials: Any = None,
                    shots: int | None = None, seed: int | None = None) -> ProtocolResult:
    """As `evaluate_protocol`, of features, distances or ranked lists."""
    record = find_protocol(protocol)
    if record.boxes is not None:
        raise InputError("protocol", "a protocol of images", f"{record.name}, which is of boxes",
                         "evaluate_person_search takes it")
    check_labels(query, gallery)
    how = replace(how, conventions=(record.convention,))
    sides = {"query": record.labelled(query, "query"),
             "gallery": record.labelled(gallery, "gallery")}
    ranked.check(query, gallery)
    shots = record.shots[0] if shots is None else shots
    if shots not in record.shots:
        raise InputError("shots", " or ".join(map(str, record.shots)), shots)
    parts = record.parts if part is None else (record.part(part),)
    with each_warning_once():
        return ProtocolResult({each.name: _of_part(
            record, each, ranked, sides, how, trials, shots, seed) for each in parts})


def _of_part(record: Protocol, part: Part, ranked: Input, sides: Sides, how: How,
             trials: Any, shots: int, seed: int | None) -> PartResult:
    convention = record.convention_of(part)
    how = replace(how, conventions=(convention,))
    if part.query.drawn is False and not np.array_equal(sides["query"].identity,
                                                        sides["gallery"].identity):
        raise InputError("query, gallery", "the same images on both sides, of which the gallery "
                         "is drawn", f"{len(sides['query'])} and {len(sides['gallery'])} images")
    if trials is None:
        check_counts(record, part, len(part.query.of(sides)), len(part.gallery.of(sides)))
    said: dict[str, str] = {"protocol": record.name, "part": part.name}
    if record.shots != (1,):
        said["shots"] = str(shots)
    if is_exact(record, trials):
        return _expected(record, part, ranked, sides, how, {**said, "trials": "expectation"})
    rows = list(rows_of_trials(record, part, sides, trials, shots, seed))
    said["trials"] = str(len(rows))
    if trials is None and isinstance(record.trials, Seeded):
        said["seed"] = str(record.trials.seed if seed is None else seed)
    results = _of_trials(part, ranked, sides, how, rows)
    return of_trials(part.name, results, record.average,
                     {**said, "follows": record.follows})


def _of_trials(part: Part, ranked: Input, sides: Sides, how: How,
               trials: list[Trial]) -> list[Result]:
    """Evaluate each trial; distances are measured once where trials have many in common."""
    asks, answers = part.query.side, part.gallery.side
    labels = [_labels(part, sides, rows) for rows in trials]
    all_asks, all_answers = (np.unique(np.concatenate(rows)) for rows in zip(*trials))
    pairs = sum(len(asking) * len(answering) for asking, answering in trials)
    source: Ranked = ranked
    if pairs > 1.5 * len(all_asks) * len(all_answers):
        source = ranked.between(asks, all_asks, answers, all_answers).measured(
            sides[asks][all_asks], sides[answers][all_answers], how)
        asks, answers = "query", "gallery"
        trials = [(np.searchsorted(all_asks, asking), np.searchsorted(all_answers, answering))
                  for asking, answering in trials]
    results = []
    for (asking, answering), (query, gallery) in zip(trials, labels):
        chosen = source.between(asks, asking, answers, answering)
        results += summaries(chosen.ranks(query, gallery, how), query, gallery, how)
        if not part.unmatched:
            warn_unmatched(results[-1], query, gallery)
    return results


def _labels(part: Part, sides: Sides, rows: Trial) -> tuple[Labels, Labels]:
    """Return the labels of those who ask and of those who answer."""
    for rows_of, images in zip((part.query, part.gallery), rows):
        if not len(images):
            raise InputError(rows_of.side, f"images of part {part.name!r}" + "".join(
                f" ({column} {', '.join(map(str, values))})"
                for column, values in rows_of.where.items()), "none")
    return sides[part.query.side][rows[0]], sides[part.gallery.side][rows[1]]


def _expected(record: Protocol, part: Part, ranked: Input, sides: Sides, how: How,
              said: dict[str, str]) -> PartResult:
    """Return the expectation over all galleries."""
    rows = part.query.of(sides), part.gallery.of(sides)
    query, gallery = _labels(part, sides, rows)
    convention, is_pool = how.conventions[0], part.query.drawn is False
    chosen = ranked.between(part.query.side, rows[0], part.gallery.side, rows[1])
    n_identity = len(np.unique(gallery.identity))
    expected = expectation(chosen.exact_blocks(query, gallery, how), query, gallery,
                           min(convention.curve_length(gallery.identity), n_identity), is_pool)
    total = expected.weight.sum()
    if not total:
        raise InputError("gallery", "an identity that query and gallery share", "none")
    mAP = mean_in_order(expected.ap * expected.weight) * len(expected.ap) / total
    cmc = np.cumsum(expected.match * expected.weight[:, np.newaxis], axis=0)[-1] / total
    return PartResult(
        part.name, mAP, mAP, cmc, {}, len(expected.ap), len(query), n_identity,
        signature({**fields_of(convention), **chosen.provenance_of(how), **said,
                   "follows": record.follows}, query, gallery), expected=expected)
