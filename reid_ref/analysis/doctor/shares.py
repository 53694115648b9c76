"""The shares of wrong pairs, raw and normalised.

A pair of a good and a wrong image is wrong where the wrong one is nearer; a tie is half. The ratio
of the two shares is as good for strong models as for weak ones (docs/baselines.md).
"""
import math
from typing import NamedTuple

from reid_ref.arrays import Doubles

#: Reported from this ratio of the shares on, either way, ...
RATIO = 1.2
#: ... if more queries gain than lose by so many standard errors of a fair coin. The mean of a
#: strong model hangs on a few queries; their signs do not.
ERRORS = 2


class WrongShares(NamedTuple):
    """The shares of wrong pairs, means over queries, and of how many queries normalising makes the
    share smaller or greater.
    """

    raw: float
    normalised: float
    smaller: int
    greater: int

    @property
    def falls(self) -> bool:
        """Whether normalising makes the share smaller by `RATIO` or more."""
        return self._clearer > ERRORS and self.raw >= RATIO * self.normalised

    @property
    def rises(self) -> bool:
        """Whether normalising makes the share greater by `RATIO` or more."""
        return self._clearer < -ERRORS and self.normalised >= RATIO * self.raw

    @property
    def _clearer(self) -> float:
        """Queries that gain less those that lose, in standard errors."""
        changed = self.smaller + self.greater
        return (self.smaller - self.greater) / math.sqrt(max(changed, 1))


def wrong_shares(raw: Doubles, normalised: Doubles) -> WrongShares | None:
    """Return both shares from the scores of each query; None without wrong images."""
    return None if not len(raw) else WrongShares(
        1 - float(raw.mean()), 1 - float(normalised.mean()), int((raw < normalised).sum()),
        int((raw > normalised).sum()))
