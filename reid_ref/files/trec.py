"""A ranking as the two files of trec_eval: judgements (qrels) and a run.

Aim: check the numbers by an evaluator from outside this field. On these files
``trec_eval -J -c`` gives the step rule's AP of every query, mAP, and CMC as success_k,
to the last bit.

Conventions: distance, smaller is nearer; NaN is last; ties keep gallery order. In the qrels 1
is good (the query's identity on another camera), 0 a wrong answer, -1 junk (label -1, and the
query's identity on its own camera), which -J leaves out. Query k is called qk, gallery image k
is gk, both counted from 0.

* A score is a whole number that falls by 1 from place to place. No two are equal, so the order
  that trec_eval gives to ties (by document number) has no effect, and single precision, in which
  some builds keep scores, is exact.
* A query's list ends at its last good image. What follows cannot change map, success, P, recall,
  Rprec, recip_rank or ndcg, and on a good ranking it is nearly the whole gallery. Measures that
  count wrong images (bpref, num_nonrel_judged) do differ.
* A query without a good image keeps its nearest image, so that it counts, with AP 0.
* In trec_eval an image has one role. The good images of a query labelled -1 are junk too: here
  they are junk, AP 0 and no success; in compute_AP.m they raise CMC.

Source: usnistgov/trec_eval, form_res_rels.c, m_map.c, m_success.c; Zheng et al., ICCV 2015.
"""
import os
from collections.abc import Callable, Iterable
from typing import TextIO

import numpy as np

from reid_ref._version import __version__
from reid_ref.arrays import (
    Array, InputError, Integers, JunkWarning, Mask, check_real_distances, warn, with_rows)
from reid_ref.disk import PathLike, whole_files
from reid_ref.evaluation.how import How, Progress
from reid_ref.evaluation.result_file import ResultFile, check_result_file
from reid_ref.labels import JUNK, Labels, cameras_of, check_distances, check_labels

#: Whole numbers beyond this are not all exact in single precision.
LONGEST_LIST = 2**24


def write_trec(blocks: Iterable[Array], query: Labels, gallery: Labels, qrels: TextIO,
               run: TextIO, progress: Callable[[int], object] | None = None) -> int:
    """Write qrels and run, query after query.

    Parameters
    ----------
    blocks : iterable of real arrays, each of shape (n_block, n_gallery)
        Distances of all queries, in their order; smaller is nearer.
    query, gallery : Labels
    qrels, run : text files open for writing
    progress : callable, optional
        Called with the number of queries done after each block.

    Returns
    -------
    int
        Lines in each of the two files.

    Raises
    ------
    InputError
        Labels without cameras; distances that do not fit them, are complex, or a list over 2**24
        images.

    Warns
    -----
    JunkWarning
        Queries labelled -1.

    Examples
    --------
    The nearest image is junk; what follows the last good one is left out:

    >>> import io, numpy as np
    >>> qrels, run = io.StringIO(), io.StringIO()
    >>> gallery = Labels([-1, 8, 7, 8], [1, 1, 2, 2])
    >>> write_trec([np.array([[.1, .2, .3, .4]])], Labels([7], [1]), gallery, qrels, run)
    3
    >>> print(qrels.getvalue().strip())
    q0 0 g0 -1
    q0 0 g1 0
    q0 0 g2 1
    >>> [line.split()[2:5] for line in run.getvalue().splitlines()]
    [['g0', '1', '3'], ['g1', '2', '2'], ['g2', '3', '1']]
    """
    query, gallery = check_labels(query, gallery)
    cameras = [cameras_of(labels, "the roles of images in a written ranking")
               for labels in (query, gallery)]
    lines = 0
    for rows, block in with_rows(blocks):
        block = check_distances(block, query[rows], gallery)
        check_real_distances(block)
        for k, distances in enumerate(block, rows.start):
            roles = _roles(query.identity[k], cameras[0][k], gallery.identity, cameras[1])
            images = _until_last_good(distances, roles == 1)
            if len(images) > LONGEST_LIST:
                raise InputError(
                    "", got=f"query {k}: its last good image is in place {len(images)}",
                    remedy=f"in trec_eval's single precision only {LONGEST_LIST} places differ")
            _write_query(f"q{k}", images.tolist(), roles[images].tolist(), qrels, run)
            lines += len(images)
        if progress is not None:
            progress(len(block))
    if n_junk := int(np.count_nonzero(query.identity == JUNK)):
        warn(f"query: {n_junk} of {len(query)} are labelled -1; in trec_eval they match nothing, "
             "in compute_AP.m they can raise CMC", JunkWarning)
    return lines


def _roles(identity: np.int64, camera: np.int64, identities: Integers,
           cameras: Integers) -> Integers:
    """1 good, 0 wrong, -1 junk: for every gallery image."""
    same = identities == identity
    same_camera = cameras == camera
    roles: Integers = (same & ~same_camera).astype(np.int64)
    roles[(same & same_camera) | (identities == JUNK)] = JUNK
    return roles


def _until_last_good(distances: Array, good: Mask) -> Integers:
    """Gallery images, nearest first, up to the last good one; without any, the nearest."""
    if not good.any():
        return np.argsort(distances, kind="stable")[:1]
    # No number is greater than NaN: a good image at NaN keeps the whole gallery.
    near = np.flatnonzero(~(distances > distances[good].max()))
    order: Integers = near[np.argsort(distances[near], kind="stable")]
    return order[:np.flatnonzero(good[order])[-1] + 1]


def _write_query(name: str, images: list[int], roles: list[int], qrels: TextIO,
                 run: TextIO) -> None:
    n = len(images)
    qrels.writelines(f"{name} 0 g{image} {role}\n" for image, role in zip(images, roles))
    run.writelines(f"{name} Q0 g{image} {place} {n + 1 - place} reid-ref-{__version__}\n"
                   for place, image in enumerate(images, 1))


def export(data: ResultFile, prefix: PathLike, *, metric: str | None = None,
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
    ...     export(data, os.path.join(folder, "result"))
    3
    """
    check_result_file(data)
    if (name := os.fspath(prefix)) == "-" or not os.path.basename(name) or os.path.isdir(name):
        raise InputError("prefix", "the beginning of two file names", repr(name), "e.g. result")
    return write_ranking(data, f"{name}.qrels", f"{name}.run", How(
        metric=metric, normalize=normalize, max_memory=max_memory, progress=progress))


def write_ranking(data: ResultFile, qrels: str, run: str, how: How) -> int:
    """As `export`, to files of these names, with the distance of the first convention."""
    data.input.without_candidates("files of trec_eval")
    blocks = data.input.exact_blocks(data.query, data.gallery, how)
    with whole_files(qrels, run) as (of_qrels, of_run):
        return write_trec(blocks, data.query, data.gallery, of_qrels, of_run, how.progress)
