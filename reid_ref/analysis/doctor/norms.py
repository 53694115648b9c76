"""What dividing features by their 2-norms changes: the shares of wrong pairs, raw and normalised.

A pair of a good and a wrong image is wrong where the wrong one is nearer; a tie is half. The ratio
of the two shares is as good for strong models as for weak ones (docs/baselines.md).
"""
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.arrays import Array, Doubles
from reid_ref.evaluation.how import NORMALISED
from reid_ref.evaluation.norms import is_unit, some_names
from reid_ref.evaluation.ranked import lengths

#: Norms are not 1 from this difference on.
NOT_UNIT = 0.05
#: How many times the norms of one side are those of the other.
TIMES = 1.5
#: Images of a side, below which its norms show nothing.
MIN_IMAGES = 20
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


def norms(subject: Subject) -> Iterator[Finding]:
    """Report norms of two kinds, or raw features that rank otherwise: of a file alone by Euclidean
    distance, or under conventions that rank raw features.
    """
    subject.check_unequal()
    subject.check_no_codes()
    (query, gallery), named = subject.features_of(subject.values), subject.named
    ranked: dict[str, list[str]] = {} if named else {"euclidean": []}
    for convention in subject.how.conventions if named else ():
        ranked.setdefault(subject.how.scaling(convention), []).append(convention.name)
    ranked.pop(NORMALISED, None)
    of_sides = list(norms_of_sides(query, gallery, named)) if ranked else []
    yield from of_sides
    for metric, names in {} if of_sides else ranked.items():
        shares = wrong_shares(subject.scores_of(metric), subject.scores)
        if shares is not None and (shares.falls or shares.rises and not named):
            norm = lengths(gallery)
            yield tell("norms-vary" if named else "norms-vary-by-file", _percent(shares.raw),
                       _percent(shares.normalised), some_names(names) if named else "",
                       **{} if named else {"spread": norm.std() / norm.mean()},
                       wrong_raw=shares.raw, wrong_normalised=shares.normalised)


def _percent(share: float) -> str:
    """Return a share in percent, to two significant digits."""
    return np.format_float_positional(
        100 * share, 2, unique=False, fractional=False, trim="k").rstrip(".")


def norms_of_sides(query: Array, gallery: Array, ranked_raw: bool) -> Iterator[Finding]:
    """Norms of 1 on one side alone, or in a part of it, or of another size on each side; a note
    unless raw features are ranked.
    """
    norms = {"query": lengths(query), "gallery": lengths(gallery)}
    unit = {side: is_unit(of_side, query.dtype) for side, of_side in norms.items()}
    low, high = sorted(norms.values(), key=np.median)
    apart = (min(map(len, norms.values())) >= MIN_IMAGES
             and bool(np.median(high) >= TIMES * np.median(low))
             and bool(np.quantile(high, 0.1) > np.quantile(low, 0.9)))
    others = np.concatenate([norms[side][~unit[side]] for side in norms])
    n = len(query) + len(gallery)
    n_unit = n - len(others)
    mixed = (min(n_unit, n - n_unit) >= MIN_IMAGES / 2
             and float(np.median(abs(others - 1))) > NOT_UNIT)
    if not mixed and not apart:
        return
    of_unit = (f" Of norm 1 are {unit['query'].sum():,} of {len(query):,} queries and "
               f"{unit['gallery'].sum():,} of {len(gallery):,} gallery images.") * mixed
    yield tell("norms-of-sides", of_unit, severity="" if ranked_raw else "note", images=n,
               unit=n_unit, query_norm=float(np.median(norms["query"])),
               gallery_norm=float(np.median(norms["gallery"])))
