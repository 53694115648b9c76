"""A benchmark's numbers by its protocol: the same evaluation, on the rows of each trial."""
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from reid_ref.arrays import (
    BenchmarkWarning, InputError, Integers, UnmatchedWarning, each_warning_once, warn)
from reid_ref.evaluation.engine import summaries, warn_unmatched
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Distances, Features, Ranked
from reid_ref.evaluation.result_file import Input
from reid_ref.labels import Labels, cells, check_labels
from reid_ref.protocols.expectation import drawn_galleries, expectation
from reid_ref.protocols.record import Exact, Given, Part, Protocol, Seeded, Sides, column_of
from reid_ref.protocols.records import check_counts, find_protocol
from reid_ref.protocols.result import Also, ProtocolResult, of_expectation, of_trials
from reid_ref.protocols.trials import ONE_OF_SEVERAL, check_averaged, checksum_of, rows_of_trials
from reid_ref.result import Result
from reid_ref.result.means import joined
from reid_ref.signature import fields_of, signature

Trial = tuple[Integers, Integers]
#: Fields of a signature in which the trials of a protocol may differ.
_OF_TRIALS = ("trials", "rows", "queries", "gallery")


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
        As for `evaluate`; `reid-ref protocols NAME` lists which images.
    query, gallery : Labels
        With the further columns that the protocol needs.
    part : str, optional
        One part of the protocol. Default: all of them.
    trials : sequence of (query rows or None, gallery rows or None), optional
        The rows of each trial, in the place of the protocol's own. They keep their order, which
        decides between equal distances. `reid_ref.protocols.read_trials` reads a file.
    shots : int, optional
        Images of each identity and camera in the gallery, if a protocol draws them.
    seed : int, optional
        Of the first trial, in the place of the protocol's own.
    distances : array_like, shape (n_query, n_gallery), optional
        In the place of both features.

    Other parameters: see `reid_ref.evaluate`.

    Returns
    -------
    ProtocolResult
        A mapping of part name to its `Result`; with one part it has that one's attributes.

    Raises
    ------
    InputError
        An unknown name, a column that is missing, trials that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> query = Labels([7, 8], [1, 1], frame=[0, 2])
    >>> gallery = Labels([7, 7, 8, 8], [2, 2, 2, 2], frame=[0, 1, 2, 3])
    >>> distances = np.array([[.1, .4, .2, .3], [.3, .4, .2, .1]])
    >>> result = evaluate_protocol("icfg-pedes-trapezoid", None, None, query, gallery,
    ...                            distances=distances)
    >>> {part: round(numbers.mAP, 4) for part, numbers in result.items()}
    {'text-to-image': 0.8542, 'without-own-image': 0.5833}
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


def average_trials(protocol: str | Protocol,
                   results: Sequence[ProtocolResult]) -> ProtocolResult:
    """Average results that are each a trial of a protocol, such as RegDB's ten trained models.

    Parameters
    ----------
    protocol : str or Protocol
        With several trials, which come with the data set or are drawn by seeds.
    results : sequence of ProtocolResult
        What `evaluate_protocol` returns for the features of each trial.

    Returns
    -------
    ProtocolResult
        With the trials of all results.

    Raises
    ------
    InputError
        No result, results of another protocol or part, or of other distances; a protocol of one
        trial.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from reid_ref import BenchmarkWarning
    >>> labels = Labels([7, 8], [1, 1])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", BenchmarkWarning)  # not 10 trials of 2,060 images
    ...     results = [evaluate_protocol("regdb", None, None, labels, labels, distances=distances)
    ...                for distances in (1 - np.eye(2), np.eye(2))]
    ...     average_trials("regdb", results)["visible-to-thermal"].rank(1)
    0.5
    """
    record, results = find_protocol(protocol), list(results)
    if not results:
        raise InputError("results", "at least one", "none")
    n_expected = check_averaged(record, "results", len(results))
    parts = list(results[0])
    expected = {**results[0][parts[0]].signature, "protocol": record.name}
    for k, result in enumerate(results):
        if list(result) != parts:
            raise InputError(f"results[{k}]", ", ".join(parts), ", ".join(result))
        got = result[parts[0]].signature
        for field in {**expected, **got}:
            if field not in _OF_TRIALS and got.get(field) != expected.get(field):
                raise InputError(f"results[{k}]", f"{field} {expected.get(field, 'none')}",
                                 got.get(field, "none"), "evaluate all trials in the same way")
    n_trials = sum(len(result[parts[0]].trials) for result in results)
    if n_trials != n_expected:
        warn(f"{record.name} is the mean of {n_expected} trials, and these are {n_trials}",
             BenchmarkWarning)
    return ProtocolResult({part: of_trials(
        record, part, [trial for result in results for trial in result[part].trials],
        trials=n_trials, rows=joined([result[part].signature.get("rows", "")
                                      for result in results])) for part in parts})


def evaluate_ranked(protocol: str | Protocol, ranked: Input, query: Labels, gallery: Labels,
                    how: How = How(), *, part: str | None = None, trials: Any = None,
                    shots: int | None = None, seed: int | None = None,
                    later: bool = False) -> ProtocolResult:
    """As `evaluate_protocol`, of features, distances or ranked lists.

    `later`: also give the number of the protocol that the record names as `later`.
    """
    record = find_protocol(protocol)
    if record.boxes is not None:
        raise InputError("protocol", "a protocol of images", f"{record.name}, which is of boxes",
                         "evaluate_person_search takes it")
    query, gallery = check_labels(query, gallery)
    ranked.without_candidates(f"protocol {record.name}, which has a gallery of its own")
    parts = record.parts if part is None else (record.part(part),)
    record.check_cameras(parts, query)
    if seed is not None and isinstance(record.trials, Seeded):
        record = replace(record, trials=record.trials._replace(seed=seed))
    ranked, sides = _of_tracks(record, ranked, query, gallery, how)
    shots = record.shots[0] if shots is None else shots
    if shots not in record.shots:
        raise InputError("shots", " or ".join(map(str, record.shots)), shots)
    with each_warning_once():
        if trials is None or trials is ONE_OF_SEVERAL and isinstance(record.trials, Given):
            check_counts(record, parts, sides)
        return ProtocolResult({each.name: _part_result(
            record, each, ranked, sides, how, trials, shots) for each in parts},
            _also(record, ranked, sides, how) if later and trials is None else None,
            record.means)


def first_trial(record: Protocol, part: Part, ranked: Input, query: Labels, gallery: Labels,
                trials: Any, shots: int) -> tuple[Input, Labels, Labels]:
    """Return what a part ranks in its first trial, or in all of them, and its labels."""
    ranked, sides = _of_tracks(record, ranked, query, gallery, How())
    rows = (part.query.of(sides), part.gallery.of(sides))
    if trials is not None or not isinstance(record.trials, Exact):
        rows = next(rows_of_trials(record, part, sides, trials, shots))
    return (ranked.between(part.query.side, rows[0], part.gallery.side, rows[1]),
            *_labels(record, part, sides, rows))


def _also(record: Protocol, ranked: Input, sides: Sides, how: How) -> Also | None:
    """Return the number of the later protocol, which has one part of all images."""
    if record.later is None:
        return None
    other = find_protocol(record.later.protocol)
    how = replace(how, conventions=(other.convention,))
    result, = summaries(ranked.ranks(**sides, how=how), **sides, how=how)
    return Also(record.later, of_trials(other, other.parts[0].name, [result], trials=1))


def _of_tracks(record: Protocol, ranked: Input, query: Labels, gallery: Labels,
               how: How) -> tuple[Input, dict[str, Labels]]:
    """Return what a protocol ranks and its labels: of tracks, if it has a list of them."""
    sides = {"query": record.labelled(query, "query"),
             "gallery": record.labelled(gallery, "gallery")}
    ranked.check_sizes(query, gallery)
    if record.tracks:
        ranked, sides["gallery"] = _nearest_of_tracks(
            ranked, **sides, how=replace(how, conventions=(record.convention,)))
    return ranked, sides


def _nearest_of_tracks(ranked: Input, query: Labels, gallery: Labels,
                       how: How) -> tuple[Distances, Labels]:
    """Return what ranks tracks, each as its nearest image, and the labels of the tracks.

    Tracks are in the order of their first images.
    """
    column_of(gallery, "gallery", "video")
    tracks = sorted(cells(gallery, "identity", "camera", "video").values(),
                    key=lambda images: images[0])
    images, first = np.concatenate(tracks), np.cumsum([0, *map(len, tracks[:-1])])
    least = [np.fmin.reduceat(block[:, images], first, axis=1)
             for block in ranked.rows(query, gallery, how)]
    return (Distances(np.concatenate(least), ranked.provenance_of(how)), gallery[images[first]])


def _part_result(record: Protocol, part: Part, ranked: Input, sides: Sides, how: How,
                 trials: Any, shots: int) -> Result:
    how = replace(how, conventions=(record.convention_of(part),))
    if part.query.drawn is False and trials is not ONE_OF_SEVERAL and not np.array_equal(
            sides["query"].identity, sides["gallery"].identity):
        raise InputError("query, gallery", "the same images on both sides, of which the gallery "
                         "is drawn", f"{len(sides['query'])} and {len(sides['gallery'])} images",
                         "a file may have the features and labels of all images once")
    if trials is None and isinstance(record.trials, Exact):
        return _expected(record, part, ranked, sides, how)
    rows = list(rows_of_trials(record, part, sides, trials, shots))
    seed = record.trials.seed if trials is None and isinstance(record.trials, Seeded) else ""
    return of_trials(record, part.name, _trial_results(record, part, ranked, sides, how, rows),
                     shots="" if record.shots == (1,) else shots, trials=len(rows), seed=seed,
                     rows="" if trials is None or trials is ONE_OF_SEVERAL else checksum_of(rows))


def _trial_results(record: Protocol, part: Part, ranked: Input, sides: Sides, how: How,
                   trials: list[Trial]) -> list[Result]:
    """Evaluate each trial; distances are measured once if trials have many in common."""
    asks, answers = part.query.side, part.gallery.side
    labels = [_labels(record, part, sides, rows) for rows in trials]
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
            with each_warning_once(f"part {part.name}: "):
                warn_unmatched(results[-1], query, gallery)
    return results


def _labels(record: Protocol, part: Part, sides: Sides, rows: Trial) -> tuple[Labels, Labels]:
    """Return the labels of those who ask and of those who answer."""
    for rows_of, images in zip((part.query, part.gallery), rows):
        if not len(images):
            raise InputError(rows_of.side, f"images of part {part.name!r}" + "".join(
                f" ({column} {', '.join(map(str, values))})"
                for column, values in rows_of.where.items()), "none", _other_parts(record, sides))
    return sides[part.query.side][rows[0]], sides[part.gallery.side][rows[1]]


def _other_parts(record: Protocol, sides: Sides) -> str:
    """Return the remedy where a part has no images: the first part that has."""
    for part in record.parts:
        with suppress(InputError):
            if all(len(rows.of(sides)) for rows in (part.query, part.gallery)):
                return f"part {part.name} has images: part={part.name!r} (--part {part.name})"
    return ""


def _expected(record: Protocol, part: Part, ranked: Input, sides: Sides, how: How) -> Result:
    """Return the expectation over all galleries."""
    rows = part.query.of(sides), part.gallery.of(sides)
    query, gallery = _labels(record, part, sides, rows)
    convention, is_pool = how.conventions[0], part.query.drawn is False
    chosen = ranked.between(part.query.side, rows[0], part.gallery.side, rows[1])
    length = min(convention.curve_length(gallery.identity), len(np.unique(gallery.identity)))
    expected = expectation(chosen.rows(query, gallery, how), query, gallery, length, is_pool,
                           drawn_galleries(gallery))
    n_unmatched = np.count_nonzero(np.isnan(expected.ap))
    if n_unmatched == len(query):
        raise InputError("gallery", "an identity that query and gallery share", "none")
    if n_unmatched and not is_pool:
        warn(f"part {part.name}: {n_unmatched} of {len(query)} queries have no good image: they "
             "are left out; check that identities are numbered alike on both sides",
             UnmatchedWarning)
    return of_expectation(expected, query, gallery, convention, signature(
        {**fields_of(convention), **chosen.provenance_of(how),
         **record.signed(part.name, trials="expectation")}, query, gallery))
