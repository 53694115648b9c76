"""What dividing features by their 2-norms changes."""
from collections.abc import Iterator

import numpy as np

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.shares import wrong_shares
from reid_ref.analysis.doctor.sides import norms_of_sides
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.evaluation.how import NORMALISED
from reid_ref.evaluation.norms import some_names
from reid_ref.evaluation.ranked import lengths


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
