"""What dividing features by their 2-norms changes."""
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.shares import SampleFeatures, WrongShares
from reid_ref.analysis.doctor.sides import norms_of_sides
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.evaluation.how import NORMALISED
from reid_ref.evaluation.norms import some_names
from reid_ref.evaluation.ranked import lengths

Findings = Iterator[Finding]


def _of_a_file(features: SampleFeatures) -> Findings:
    """Report norms of two kinds, or raw features that rank otherwise, by Euclidean distance."""
    if of_sides := list(norms_of_sides(features.query, features.gallery)):
        yield from of_sides
        return
    shares = features.wrong_shares()
    if shares is None or not (shares.falls or shares.rises):
        return
    norms = lengths(features.gallery)
    spread = float(norms.std() / norms.mean())
    yield tell("norms-vary-by-file", _percent(shares.raw), _percent(shares.normalised),
               spread=spread, **_evidence(shares))


def norms(subject: Subject) -> Findings:
    """Report what norms change: of a file alone, or under conventions that rank raw features."""
    subject.check_unequal()
    subject.check_no_codes()
    features = subject.sample_features
    if not subject.named:
        yield from _of_a_file(features)
        return
    ranked: dict[str, list[str]] = {}
    for convention in subject.how.conventions:
        ranked.setdefault(subject.how.scaling(convention), []).append(convention.name)
    ranked.pop(NORMALISED, None)
    yield from _better_normalised(features, ranked)


def _better_normalised(features: SampleFeatures, ranked: Mapping[str, Sequence[str]]) -> Findings:
    of_sides = list(norms_of_sides(features.query, features.gallery)) if ranked else []
    yield from of_sides
    for metric, names in {} if of_sides else ranked.items():
        shares = features.wrong_shares(metric)
        if shares is not None and shares.falls:
            yield tell("norms-vary", some_names(names), _percent(shares.raw),
                       _percent(shares.normalised), **_evidence(shares))


def _evidence(shares: WrongShares) -> dict[str, int | float]:
    return {"wrong_raw": round(shares.raw, 6), "wrong_normalised": round(shares.normalised, 6)}


def _percent(share: float) -> str:
    """Return a share in percent, to two significant digits."""
    return np.format_float_positional(
        100 * share, 2, unique=False, fractional=False, trim="k").rstrip(".")
