"""What the MATLAB drivers print of features, line by line.

Aim: from features, each line (method, Rank-1, mAP) that `Market_1501_evaluation.m`,
`CUHK03_evaluation.m`, `baseline_evaluation_IDE.m` or `test_mars.m` prints, or the reason why it is
missing.

Conventions: one row an image, divided by its 2-norm, in the precision that the driver chooses.
All random choices are made by `random_choices`.

Differences from the drivers:

1. Training pairs are drawn by numpy's generator, not by MATLAB's: lines of XQDA and KISSME change
   in their last digits with the seed, as MATLAB's do from run to run.
2. Matrix products are those of numpy's BLAS. Distances differ from MATLAB's in the last bits, so,
   rarely, two neighbours in a ranked list are exchanged.
3. A line that cannot be computed (a singular covariance, fewer images than re-ranking takes) is
   left out with the reason, and the others are computed. The drivers stop with an error.

Source: zhunzhong07/person-re-ranking (278f2c7), zhunzhong07/IDE-baseline-Market-1501 (8be027b),
liangzheng06/MARS-evaluation (3a91bbc).
"""
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from reid_ref import metric_learning
from reid_ref.arrays import Array, InputError, Integers, blocks_of
from reid_ref.conventions import CONVENTIONS, find_conventions
from reid_ref.datasets.driver_files import DRIVERS, Driver, ImageSet, Inputs, DriverLine
from reid_ref.distances import BLOCK_BYTES
from reid_ref.evaluation.camera_pairs import camera_pairs_of
from reid_ref.evaluation.engine import results_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Blocks
from reid_ref.labels import cameras_of
from reid_ref.reranking.k_reciprocal import rerank_blocks
from reid_ref.reranking.settings import settings_of, signed_reranking
from reid_ref.signature import signature
from reid_ref.text.plain import Share

#: Called with a method, and the number of queries done since the last call.
Progress = Callable[[str, int], object]


class PairMeans(NamedTuple):
    """Means over pairs of different cameras."""

    Rank_1: Share
    mAP: Share


@dataclass(frozen=True, kw_only=True)
class LineNumbers:
    """The numbers of one line; `camera_pairs` where the driver prints them."""

    Rank_1: Share
    mAP: Share
    camera_pairs: PairMeans | None


@dataclass(frozen=True)
class DriverAnswer:
    """What a driver prints of images.

    Parameters
    ----------
    name : str
        Of the driver.
    inputs : Inputs
    seed : int
    lines : dict of str to LineNumbers
        By method, in the driver's order.
    left_out : dict of str to str
        The other methods, and why.
    imaginary : int or None
        Number of distances in the line Euclidean that are imaginary, because rounding made their
        square negative. None without that line, or where the driver takes no root (MARS).
    """

    name: str
    inputs: Inputs
    seed: int
    lines: dict[str, LineNumbers]
    left_out: dict[str, str]
    imaginary: int | None = None

    @property
    def signature(self) -> str:
        """All that could change a line: driver, features, random choices, version."""
        driver, train = DRIVERS[self.name], self.inputs.train
        reranked = any(method.reranked for method in driver.methods.values())
        return str(signature(
            {"driver": self.name, "convention": driver.convention, "features": driver.dtype,
             **(signed_reranking(settings_of(CONVENTIONS["matlab"])) if reranked else {}),
             **({"seed": str(self.seed), "train": str(len(train))} if train else {})},
            self.inputs.query.labels, self.inputs.gallery.labels))


class Space(NamedTuple):
    """Features as a method compares them, and its metric M; None is the Euclidean distance."""

    query: Array
    gallery: Array
    M: Array | None = None


def random_choices(n: int, seed: int = 0) -> tuple[Integers, Integers]:
    """Return the random choices of a driver: an order of the training images, and pairs of them.

    Parameters
    ----------
    n : int
        Training images.
    seed : int
        0 to 2^32 - 1.

    Returns
    -------
    order : int64, shape (n,)
        For `metric_learning.xqda_pairs`.
    draws : int64, shape (150000, 2)
        For `metric_learning.kissme_pairs`.

    Examples
    --------
    >>> order, draws = random_choices(5)
    >>> order, draws.shape
    (array([2, 0, 1, 3, 4]), (150000, 2))
    """
    # numpy does not change the stream of RandomState (NEP 19).
    random = np.random.RandomState(seed)
    order = random.permutation(n).astype(np.int64)
    return order, random.randint(n, size=(metric_learning.N_DRAWS, 2)).astype(np.int64)


def run_driver(name: str, inputs: Inputs, seed: int = 0,
               progress: Progress | None = None) -> DriverAnswer:
    """Compute every line of a driver.

    Parameters
    ----------
    name : str
        A key of `DRIVERS`.
    inputs : Inputs
    seed : int
        Of `random_choices`.
    progress : callable, optional
        Called with a method and the number of queries done since the last call.

    Returns
    -------
    DriverAnswer
        What cannot be computed is in `left_out`.

    Warns
    -----
    UnmatchedWarning
        Queries without a good image.

    Examples
    --------
    >>> from reid_ref import Labels
    >>> query = ImageSet(np.eye(3, dtype=np.float32)[:1], Labels([7], [1]))
    >>> gallery = ImageSet(np.eye(3, dtype=np.float32), Labels([7, 8, 9], [2, 2, 2]))
    >>> answer = run_driver("ide", Inputs(query, gallery, train=None))
    >>> answer.lines
    {'Euclidean': LineNumbers(Rank_1=1.0, mAP=1.0, camera_pairs=None)}
    >>> list(answer.left_out)
    ['XQDA', 'KISSME']
    """
    cameras_of(inputs.query.labels, "the MATLAB drivers")
    driver, answer = DRIVERS[name], DriverAnswer(name, inputs, seed, {}, {})
    learnt = cache(partial(_learnt, driver, inputs, seed))
    for title, method in driver.methods.items():
        report = partial(progress, title) if progress else lambda queries: None
        report(0)
        count = [0]
        try:
            space = learnt(method.space)
            answer.lines[title] = _line(driver, inputs, partial(_blocks, space, method, count),
                                        report)
        except InputError as error:
            answer.left_out[title] = str(error)
            continue
        if space.M is None and not method.reranked:
            answer = replace(answer, imaginary=count[0])
    return answer


def _line(driver: Driver, inputs: Inputs, blocks: Callable[[], Iterator[Array]],
          report: Callable[[int], object]) -> LineNumbers:
    labels = inputs.query.labels, inputs.gallery.labels
    how = How(tuple(find_conventions(driver.convention)), progress=report)
    result, = results_of(Blocks(blocks(), {}), *labels, how)
    means = None
    if driver.camera_pairs:
        pairs = camera_pairs_of(Blocks(blocks(), {}), *labels, "script", How())
        means = PairMeans(pairs.mean_rank1, pairs.mAP)
    return LineNumbers(Rank_1=result.rank(1), mAP=result.mAP, camera_pairs=means)


# ---------------------------------------------------------------- learning

def _learnt(driver: Driver, inputs: Inputs, seed: int, name: str) -> Space:
    if name == "features":
        return Space(inputs.query.features, inputs.gallery.features)
    if inputs.train is None:
        raise InputError(driver.without_training)
    return SPACES[name](inputs, inputs.train, *random_choices(len(inputs.train), seed))


def _xqda(inputs: Inputs, train: ImageSet, order: Integers, draws: Integers) -> Space:
    x, identity = train.features, train.labels.identity
    first, second = metric_learning.xqda_pairs(identity, train.labels.camera, order)
    W, M = metric_learning.xqda(x[first], x[second], identity[first], identity[second])
    return Space(inputs.query.features @ W, inputs.gallery.features @ W, M)


def _components(inputs: Inputs, train: ImageSet, order: Integers, draws: Integers, *, pca: str,
                learn: Callable[..., Array] | None) -> Space:
    """Return 200 components, with the metric that `learn` makes of pairs; None: M = I."""
    mean, components = metric_learning.pca(train.features, driver=pca)
    x, query, gallery = ((side.features - mean) @ components
                         for side in (train, inputs.query, inputs.gallery))
    if learn is None:
        return Space(query, gallery, np.eye(x.shape[1]))
    pairs = metric_learning.kissme_pairs(train.labels.identity, train.labels.camera, draws)
    return Space(query, gallery, learn(x, *pairs))


#: Name of a space to the function that learns it; "features" are those given.
SPACES: Mapping[str, Callable[[Inputs, ImageSet, Integers, Integers], Space]] = {
    "xqda": _xqda,
    "kissme ide": partial(_components, pca="ide", learn=metric_learning.kissme),
    "kissme mars": partial(_components, pca="mars", learn=metric_learning.kissme),
    "similar pairs": partial(_components, pca="mars", learn=metric_learning.similar_pairs_metric),
    "components": partial(_components, pca="mars", learn=None)}


# ---------------------------------------------------------------- distances

def _blocks(space: Space, method: DriverLine, imaginary: list[int]) -> Iterator[Array]:
    """Yield the distances of consecutive queries; add the number of imaginary to `imaginary`."""
    if method.reranked:
        yield from rerank_blocks(space.query, space.gallery, normalize=False, mahalanobis=space.M)
        return
    query_M, gallery_M = ((side if space.M is None else side @ space.M)
                          for side in (space.query, space.gallery))
    gallery_square = np.einsum("ij,ij->i", gallery_M, space.gallery)
    for rows in blocks_of(len(space.query), BLOCK_BYTES // gallery_square.nbytes):
        block = query_M[rows] @ space.gallery.T
        block *= -2
        block += np.einsum("ij,ij->i", query_M[rows], space.query[rows])[:, np.newaxis]
        block += gallery_square
        if space.M is None:
            imaginary[0] += as_roots(block)
        yield block
        del block  # frees it before the next block is made


def as_roots(squares: Array) -> int:
    """Turn squares, in place, into distances in MATLAB's order of their roots.

    One negative square makes all of MATLAB's roots complex, which sort by their absolute value,
    then by their angle: imaginary after real.

    Parameters
    ----------
    squares : float array, shape (n_query, n_gallery)
        No NaN. Rows with a negative square become ranks, all others roots.

    Returns
    -------
    int
        Negative squares.

    Examples
    --------
    >>> squares = np.array([[4., -1., 1.], [4., 1., 9.]])
    >>> as_roots(squares), squares
    (1, array([[2., 1., 0.],
           [2., 1., 3.]]))
    """
    negative = squares < 0
    np.sqrt(np.abs(squares, out=squares), out=squares)
    for row in np.flatnonzero(negative.any(axis=1)):
        order = np.lexsort((negative[row], squares[row]))
        squares[row, order] = np.arange(len(order))
    return int(np.count_nonzero(negative))
