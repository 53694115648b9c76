"""Write a ranking for trec_eval, in one call on what `read` returns."""
from __future__ import annotations

import os

from reid_ref.analysis.blocks import distance_blocks
from reid_ref.arrays import InputError
from reid_ref.evaluation.engine import Progress
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.evaluation.result_file import check_result_file
from reid_ref.files.trec import write_trec
from reid_ref.files.writing import whole_files


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
