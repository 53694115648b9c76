"""`reid-ref export`: the ranking of a result file, in the files of another evaluator."""
from __future__ import annotations

import argparse
import os
from dataclasses import dataclass

from reid_ref.arrays import InputError
from reid_ref.console import options as common
from reid_ref.console.request import Request
from reid_ref.console.terminal import show
from reid_ref.disk import check_targets, whole_files
from reid_ref.evaluation.how import How, Progress
from reid_ref.evaluation.result_file import ResultFile, check_result_file
from reid_ref.files.trec import write_trec
from reid_ref.text import visible


def export(data: ResultFile, prefix: str | os.PathLike[str], *, metric: str | None = None,
           normalize: bool | None = None, max_memory: int | str | None = None,
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
    how = How(metric=metric, normalize=normalize, max_memory=max_memory)
    blocks = data.input.exact_blocks(data.query, data.gallery, how)
    with whole_files(*_paths(os.fspath(prefix), "prefix")) as (qrels, run):
        return write_trec(blocks, data.query, data.gallery, qrels, run, progress)


def written(paths: tuple[str, str], n_query: int, lines: int) -> str:
    """Return both file names, what is in them, and how trec_eval reads them."""
    qrels, ranking = map(visible, paths)
    return (f"wrote {qrels} and {ranking}: {n_query:,} queries, {lines:,} lines each\n"
            f"next  trec_eval -J -c -m map -m success.1,5,10,20 {qrels} {ranking}")


@dataclass(frozen=True, kw_only=True)
class ExportRequest(Request):
    """What the command line requests."""

    output: str


def add(command: argparse.ArgumentParser) -> None:
    """Write PREFIX.qrels and PREFIX.run, on which trec_eval -J -c gives the step rule's mAP and,
    as success_k, CMC.

    qrels: 1 good, 0 wrong, -1 junk. A query's list ends at its last good image: nothing after it
    can change map, success, P, recall or ndcg (bpref it can). FILE is any that reid-ref evaluate
    reads.
    """
    common.add_files(command)
    Request.add(command, "--metric", "--normalize", "--max-memory")
    command.add_argument("--to", choices=("trec",), required=True, help="trec: trec_eval")
    command.add_argument("--output", required=True, metavar="PREFIX",
                         help="write PREFIX.qrels and PREFIX.run")


def run(request: ExportRequest) -> None:
    paths = _paths(request.output, "--output")
    check_targets(*paths)
    data = common.read_files(request)
    with common.progress_bar(len(data.query)) as bar:
        how = common.how(request, (), bar=bar)
        lines = export(data, request.output, metric=how.metric, normalize=how.normalize,
                       max_memory=how.max_memory, progress=how.progress)
    show(written(paths, len(data.query), lines))


def _paths(prefix: str, name: str) -> tuple[str, str]:
    if prefix == "-" or not os.path.basename(prefix) or os.path.isdir(prefix):
        raise InputError(name, "the beginning of two file names", repr(prefix), "e.g. result")
    return f"{prefix}.qrels", f"{prefix}.run"
