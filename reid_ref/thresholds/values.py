"""What is found: thresholds, and what each accepts."""
from dataclasses import dataclass

import numpy as np

from reid_ref.arrays import Doubles, Value
from reid_ref.conventions import Convention
from reid_ref.signature import Signature
from reid_ref.statistics import Interval
from reid_ref.text.plain import Share


@dataclass(frozen=True, eq=False, kw_only=True)
class Point(Value):
    """What a threshold accepts.

    Parameters
    ----------
    threshold : float
        Pairs up to this distance are accepted.
    genuine, impostor : int
        Numbers of accepted pairs.
    tar, far : float
        Their shares of all genuine and of all impostor pairs.
    tar_interval, far_interval : Interval, optional
    """

    threshold: float
    genuine: int
    impostor: int
    tar: Share
    far: Share
    tar_interval: Interval | None = None
    far_interval: Interval | None = None


@dataclass(frozen=True, eq=False)
class OpenSetPoint(Value):
    """What a threshold accepts of queries.

    Parameters
    ----------
    threshold : float
    impostor : int
        Impostor queries with an image up to this distance.
    far : float
        Their share.
    dir : dict of int to float
        By rank, the share of genuine queries that are detected and identified.
    intervals : dict of int to Interval, optional
    """

    threshold: float
    impostor: int
    far: Share
    dir: dict[int, Share]
    intervals: dict[int, Interval] | None = None


@dataclass(frozen=True, eq=False)
class OpenSet(Value):
    """Queries with and without their identity in the gallery.

    Parameters
    ----------
    genuine, impostor : int
        Queries with a good image, and queries whose identity the gallery lacks.
    at : dict of float to OpenSetPoint
        By wanted false accept rate.
    """

    genuine: int
    impostor: int
    at: dict[float, OpenSetPoint]


@dataclass(frozen=True, eq=False)
class Thresholds(Value):
    """Thresholds of a distance, and what they accept.

    Parameters
    ----------
    genuine, impostor : int
        Numbers of pairs.
    at : dict of float to Point
        By wanted false accept rate.
    eer : float
        Equal error rate, in [0, 1].
    equal, crossing : Point
        At the threshold of the EER, and where the densities cross.
    fastreid_tpr_at_fpr : dict of float to float
        What fast-reid prints: the share of impostor pairs at or beyond the distance that a share
        of the genuine pairs reaches. No TAR at FAR.
    open_set : OpenSet or None
        None if the gallery has the identity of every query, or no query has a good image.
    convention : Convention
    signature : Signature
        All that could change the numbers; the version last.

    Examples
    --------
    >>> from reid_ref import Labels, evaluate_thresholds_distances
    >>> found = evaluate_thresholds_distances(
    ...     [[.1, .2, .3, .9]], Labels([7], [1]), Labels([7, 8, 7, 9], [2] * 4), far=[.5])
    >>> found.tar, found.far, found.threshold
    (array([0.5]), array([0.5]), array([0.2]))
    """

    genuine: int
    impostor: int
    at: dict[float, Point]
    eer: float
    equal: Point
    crossing: Point
    fastreid_tpr_at_fpr: dict[float, float]
    open_set: OpenSet | None
    convention: Convention
    signature: Signature

    @property
    def tar(self) -> Doubles:
        """True accept rates at the wanted false accept rates, float64, shape (rates,)."""
        return np.array([point.tar for point in self.at.values()])

    @property
    def far(self) -> Doubles:
        """Measured false accept rates there."""
        return np.array([point.far for point in self.at.values()])

    @property
    def threshold(self) -> Doubles:
        """Distances there."""
        return np.array([point.threshold for point in self.at.values()])
