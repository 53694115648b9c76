"""What the commands explain, validate and export do, each in one call on what `read` returns."""
from __future__ import annotations

import os
from collections.abc import Iterable

from reid_ref.analysis import explain as steps, reproduce
from reid_ref.analysis.blocks import distance_blocks
from reid_ref.analysis.figure import parse_figure
from reid_ref.arrays import InputError, check_choice
from reid_ref.arrays.memory import bytes_of
from reid_ref.conventions import Convention
from reid_ref.distances import METRICS
from reid_ref.evaluation.engine import (
    Progress, evaluate_each, evaluate_each_of_features, row_blocks)
from reid_ref.files import ResultFile
from reid_ref.files.read import check_result_file
from reid_ref.files.trec import write_trec
from reid_ref.files.writing import whole_files
from reid_ref.labels import IndexLists, check_distances
from reid_ref.result import Result


def explain(data: ResultFile, origin: str | Convention = "matlab",
            target: str | Convention = "torchreid", *, metric: str = "euclidean",
            normalize: bool = True, lists: IndexLists | None = None,
            max_memory: int | str | None = None,
            progress: Progress | None = None) -> steps.Explanation:
    """Explain why two conventions give two numbers: from one to the other, a choice at a time.

    Parameters
    ----------
    data : ResultFile
        What `reid_ref.read` returns, or arrays:
        ``ResultFile("arrays", query, gallery, distances=distances)``.
    origin, target : str or Convention
        As the option `convention` of `reid_ref.evaluate`.
    metric, normalize, lists, max_memory, progress
        As for `reid_ref.evaluate`; the first two are for features, which are ranked by exact
        distances.

    Returns
    -------
    Explanation
        `start` and `end` (each a `Result`), `steps` in between, `map_effects()` and
        `most_moved()`.

    Raises
    ------
    InputError
        As `reid_ref.evaluate` and `reid_ref.evaluate_distances`.

    Examples
    --------
    >>> import reid_ref
    >>> data = reid_ref.ResultFile(
    ...     "arrays", reid_ref.Labels([7], [1]), reid_ref.Labels([7, -1, 8, 7], [2, 2, 2, 3]),
    ...     distances=[[.2, .1, .3, .4]])
    >>> why = reid_ref.explain(data)
    >>> [(step.choice, step.value, round(step.result.mAP, 4)) for step in why.steps[:2]]
    [('loads', 'without label -1', 0.7917), ('ap', 'step', 0.8333)]
    """
    check_result_file(data)
    check_choice(metric, "metric", METRICS)

    def evaluate(conventions: list[Convention]) -> list[Result]:
        labels = data.query, data.gallery
        if data.distances is None:
            return evaluate_each_of_features(
                data.query_features, data.gallery_features, *labels, conventions, metric,
                normalize, lists=lists, max_memory=max_memory, progress=progress)
        distances = check_distances(data.distances, *labels)
        return evaluate_each(
            row_blocks(distances, bytes_of(max_memory)), *labels, conventions,
            {"distances": str(distances.dtype)}, lists, progress)

    return steps.walk(evaluate, origin, target)


def validate(data: ResultFile | None = None, published: str = "", *,
             dataset: str | None = None,
             convention: str | Convention | Iterable[str | Convention] | None = None,
             max_memory: int | str | None = None,
             progress: Progress | None = None) -> reproduce.Validation:
    """Compare a printed figure with every convention and metric, and with what is possible.

    Parameters
    ----------
    data : ResultFile, optional
        As for `reid_ref.explain`.
    published : str
        Rank-1 and mAP in percent as printed: "81.1/67.6", "81.1/" or "/67.6".
    dataset : str, optional
        In the place of `data`, a key of `reid_ref.datasets.FINGERPRINTS`: the counts of that
        benchmark say what is possible, and no convention is tried.
    convention : str or Convention, or several of them, optional
        Default: all that need no more than the file has and are quick.
    max_memory : int or str, optional
        As for `reid_ref.evaluate`.
    progress : callable, optional
        As for `reid_ref.evaluate`; for each way to rank features anew.

    Returns
    -------
    Validation
        `reproduced`, `candidates` (the nearest first), `left_out`, and what is possible at all:
        `possible`, `hit_counts`, `bounds`.

    Raises
    ------
    InputError
        A figure that cannot be read, and as `reid_ref.evaluate`.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> data = reid_ref.ResultFile(
    ...     "arrays", reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3]),
    ...     distances=np.array([[.1, .2, .3]]))
    >>> found = reid_ref.validate(data, "100/83.3", convention=["matlab", "torchreid"])
    >>> found.reproduced, [way[1] for way in found.candidates[0].ways]
    (True, ['torchreid'])

    Of 3,368 queries, none of the numbers of hits prints as 89.91:

    >>> reid_ref.validate(dataset="market1501", published="89.91/").possible
    False
    """
    if (data is None) == (dataset is None):
        raise InputError("data, dataset: expected one of them, got "
                         + ("none" if data is None else "both")
                         + '; pass what reid_ref.read returns, or dataset="market1501"')
    if data is None:
        if convention is not None:
            raise InputError("convention: expected data to evaluate, got dataset alone; leave it "
                             "out, or pass data")
        return reproduce.validate_dataset(str(dataset), parse_figure(published))
    check_result_file(data)
    chosen = [convention] if isinstance(convention, (str, Convention)) else convention
    return reproduce.validate(data, parse_figure(published), chosen,
                              max_memory=max_memory, progress=progress)


def export(data: ResultFile, prefix: str | os.PathLike[str], *, metric: str = "euclidean",
           normalize: bool = True, max_memory: int | str | None = None,
           progress: Progress | None = None) -> int:
    """Write a ranking as PREFIX.qrels and PREFIX.run, the two files of trec_eval.

    Parameters
    ----------
    data : ResultFile
        As for `reid_ref.explain`.
    prefix : str or path
        The beginning of both names. Files of these names are replaced, when both are whole.
    metric, normalize, max_memory, progress
        As for `reid_ref.evaluate`; the first two are for features.

    Returns
    -------
    int
        Lines in each of the two files.

    Raises
    ------
    InputError
        As `reid_ref.evaluate`; files that cannot be written.

    Examples
    --------
    >>> import tempfile, numpy as np, reid_ref
    >>> data = reid_ref.ResultFile(
    ...     "arrays", reid_ref.Labels([7], [1]), reid_ref.Labels([-1, 8, 7, 8], [1, 1, 2, 2]),
    ...     distances=np.array([[.1, .2, .3, .4]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reid_ref.export(data, os.path.join(folder, "result"))
    3
    """
    check_result_file(data)
    start = os.fspath(prefix)
    if not os.path.basename(start):
        raise InputError(f"prefix: expected the beginning of two file names, got {start!r}; "
                         "e.g. result")
    blocks = distance_blocks(data, metric, normalize, max_memory)
    with whole_files(f"{start}.qrels", f"{start}.run") as (qrels, run):
        return write_trec(blocks, data.query, data.gallery, qrels, run, progress)
