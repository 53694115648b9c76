"""Person search by its protocol: detections to ranks, then the same evaluation as all others."""
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from reid_ref.arrays import InputError, Mask, UnmatchedWarning, each_warning_once, warn
from reid_ref.evaluation.engine import summaries
from reid_ref.evaluation.how import How
from reid_ref.protocols.box_ranks import BoxRule
from reid_ref.protocols.boxes import Boxes
from reid_ref.protocols.record import Part, Protocol
from reid_ref.protocols.records import PROTOCOLS, find_protocol
from reid_ref.protocols.result import ProtocolResult, of_trials
from reid_ref.result import Result

Scores = float | Sequence[float] | None


def evaluate_person_search(protocol: str | Protocol, boxes: Boxes, *, part: str | None = None,
                           min_score: Scores = None,
                           boxes_per_image: Scores = None,
                           metric: str | None = None, normalize: bool | None = None,
                           max_memory: int | str | None = None) -> ProtocolResult:
    """Evaluate person search: Rank-k (top-k), mAP and mINP of ranked detections.

    People whom no detection shows count as missed: AP divides by all annotated ones, so mINP is
    NaN if a query's person is missed once.

    Parameters
    ----------
    protocol : str or Protocol
        "cuhk-sysu", "prw", "prw-multi-view" or "prw-matlab".
    boxes : Boxes
    part : str, optional
        Of "cuhk-sysu": "50" to "4000", or "whole". Default: the galleries that `boxes` has, or
        the whole if it has none.
    min_score : float or sequence of float, optional
        Detections of at least this score are kept; a result for each. Default: that of SeqNet,
        0.5, or all of them for "prw-matlab".
    boxes_per_image : float or sequence of float, optional
        In its place: so many detections are kept, those of the highest scores of all images.

    Other parameters: see `reid_ref.evaluate`.

    Returns
    -------
    ProtocolResult
        A mapping of part name to its `Result`, with the score or the number of boxes in the
        name if several were requested.

    Raises
    ------
    InputError
        An unknown name, a gallery or cameras that `boxes` lacks, a score that no detection has.

    Warns
    -----
    UnmatchedWarning
        Queries whose person no image of their gallery shows.

    Notes
    -----
    docs/person-search.md lists how the codes of these benchmarks differ, and which is followed.

    Examples
    --------
    One person, in two images besides the query's; the detector missed one of them.

    >>> import warnings
    >>> boxes = Boxes(["a", "b", "c"], [0, 1, 2], [7, 7, 7], [[0, 0, 40, 90]] * 3,
    ...               [1, 1], [[0, 0, 40, 85], [50, 0, 90, 90]], [.9, .8], [0], [7],
    ...               query_features=[[1., 0.]], detection_features=[[.8, .6], [.6, .8]])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     result = evaluate_person_search("cuhk-sysu", boxes)
    >>> result.mAP, result.rank(1), result.mINP
    (0.5, 1.0, nan)
    """
    record = find_protocol(protocol)
    if record.boxes is None:
        raise InputError("protocol", "one of person search: " + ", ".join(
            name for name, other in PROTOCOLS.items() if other.boxes), record.name,
            "evaluate_protocol takes it")
    if boxes.similarity is not None and (metric is not None or normalize is not None):
        raise InputError("metric, normalize", "features", "a similarity", "leave them out")
    how = How((record.convention,), metric, normalize, max_memory=max_memory)
    parts = ([record.part(part)] if part is not None else
             [each for each in record.parts if each.name in boxes.galleries] or record.parts[-1:])
    kept = dict(_kept(boxes, min_score, boxes_per_image, record.boxes.score))
    results = {}
    with each_warning_once():
        for each in parts:
            for words, mask in kept.items():
                name = ", ".join([each.name] * (len(parts) > 1 or len(kept) == 1)
                                 + [words] * (len(kept) > 1))
                results[name] = _part_result(record, record.boxes, each, boxes, mask, how, words)
    return ProtocolResult(results)


def _part_result(record: Protocol, rule: BoxRule, part: Part, boxes: Boxes, kept: Mask, how: How,
                 words: str) -> Result:
    searched = rule.rank(boxes, kept, part.name, how)
    result, = summaries(searched.ranking, searched.query, searched.gallery, how)
    # Boxes have no identity, so none is known for a distractor.
    result = replace(result, counts=replace(result.counts, gallery_distractors=0))
    unmatched = np.flatnonzero(result.per_query.n_good == 0)
    if len(unmatched):
        warn(f"{record.name}, part {part.name}: {len(unmatched):,} of {len(searched.query):,} "
             f"queries show a person whom no image of their gallery shows (first: {unmatched[0]}):"
             " they " + ("count as NaN" if result.counted and np.isnan(result.mAP) else
                         "are left out"), UnmatchedWarning)
    return of_trials(record, part.name, [result], boxes=boxes.fingerprint(part.name),
                     detections=words)


def _kept(boxes: Boxes, min_score: Scores, boxes_per_image: Scores,
          default: float | None) -> Iterator[tuple[str, Mask]]:
    """Yield masks of the detections that are kept, with their words."""
    score = boxes.detection_score
    if min_score is not None and boxes_per_image is not None:
        raise InputError("boxes_per_image", "this or the least score", "both")
    if boxes_per_image is not None:
        by_score = np.argsort(score, kind="stable")
        for each in np.ravel(boxes_per_image).tolist():
            n = round(each * len(boxes.image))
            if not 1 <= n <= len(score):
                raise InputError("boxes_per_image", f"more than 0 and at most "
                                 f"{len(score) / len(boxes.image):.4g}, all detections", each)
            mask = np.zeros(len(score), dtype=np.bool_)
            mask[by_score[len(score) - n:]] = True
            yield f"{each:.4g} boxes", mask
        return
    if min_score is None and default is None:
        yield "all", np.ones(len(score), dtype=np.bool_)
        return
    for each in np.ravel(cast(Any, default if min_score is None else min_score)).tolist():
        if not (score >= each).any():
            raise InputError("min_score", f"at most {score.max():g}, the highest score", each)
        yield f"score {each:g}", score >= each
