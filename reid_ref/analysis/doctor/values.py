"""What a sample of features or distances shows: no separation, reversed order, NaN."""
from collections.abc import Iterator

import numpy as np

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.order import MIN_QUERIES
from reid_ref.analysis.doctor.sample import means_of, standard_error
from reid_ref.analysis.doctor.subject import NotChecked, Subject
from reid_ref.arrays import Doubles
from reid_ref.evaluation.how import NORMALISED

#: A ranking by chance puts a good image before a wrong one half of the time.
CHANCE, HARDLY = 0.5, 0.55
#: The place of the first match among all that chance gives, and its standard errors, from which it
#: is later than by chance; identities below which that is not asked.
LATE, ERRORS, MIN_IDENTITIES = 0.55, 4, 10


def separation(subject: Subject) -> Iterator[Finding]:
    """How often a good image is nearer than a wrong one: 0.5 is chance, less is reversed."""
    if subject.has_found("sides-misfit", "numbered-apart"):
        raise NotChecked("a finding says already that the sides do not fit")
    scalings = subject.how.scalings if subject.named and subject.values.features else [NORMALISED]
    for scaling in scalings:
        yield from _separation(subject, subject.scores if scaling == NORMALISED else
                               subject.sample_features.scores_of(scaling))


def _separation(subject: Subject, scores: Doubles) -> Iterator[Finding]:
    assert subject.data is not None
    given = subject.data.input
    if len(scores) < 2:
        raise NotChecked("fewer than 2 queries with good and wrong images")
    auc = float(np.mean(scores))
    error = standard_error(scores)
    evidence: dict[str, int | float] = {
        "auc": round(auc, 4), "standard_error": round(error, 4), "queries": len(scores)}
    if len(scores) >= 20 and auc < 0.4 and auc + 4 * error < CHANCE:
        yield tell("reversed", evidence, 100 * auc, given.if_reversed)
    elif len(scores) >= MIN_QUERIES and auc < HARDLY and auc - 4 * error < CHANCE:
        yield tell("chance-level", evidence, 100 * auc, given.noun)


def below_chance(subject: Subject) -> Iterator[Finding]:
    """Report first matches that come later than chance would put them.

    Of a query, the place of its first match is the chance that one as early or earlier comes by
    chance, given its kept images on other cameras: half on average if the ranking knows nothing.
    """
    if subject.has_found("sides-misfit", "numbered-apart", "chance-level", "reversed"):
        raise NotChecked("a finding says already that the ranking is worse than its sides")
    sample, distances = subject.sample, subject.values.distances.real
    wrong = sample.wrong
    if subject.has_cameras:  # a network leaves a trace of the camera
        wrong = wrong & (subject.cameras[0][sample.query, np.newaxis]
                         != subject.cameras[1][sample.image])
    first = np.where(sample.good, distances, np.inf).min(axis=1, keepdims=True)
    n_good = sample.good.sum(axis=1)
    earlier = (wrong & (distances < first)).sum(axis=1) / (n_good + wrong.sum(axis=1))
    of_identity = means_of(subject.query.identity[sample.query], 1 - (1 - earlier) ** n_good)
    if len(of_identity) < MIN_IDENTITIES:
        raise NotChecked(f"fewer than {MIN_IDENTITIES} identities")
    mean, error = float(of_identity.mean()), standard_error(of_identity)
    if mean >= LATE and mean - ERRORS * error >= CHANCE:
        yield tell("below-chance",
                   {"queries": len(n_good), "place": round(mean, 4), "standard_error": round(error, 4)},
                   100 * mean)


def constant_columns(subject: Subject) -> Iterator[Finding]:
    """Report columns that are one number on all images."""
    query, gallery = subject.features_of(subject.values)
    n_columns = query.shape[1]
    n_dead = int(((query == query[0]).all(axis=0) & (gallery == query[0]).all(axis=0)).sum())
    if len(query) + len(gallery) >= MIN_QUERIES and n_dead > 0.9 * n_columns:
        yield tell("constant-columns", {"columns": n_columns, "constant": n_dead}, n_dead,
                   n_columns)


def not_a_number(subject: Subject) -> Iterator[Finding]:
    """Report distances that are NaN."""
    for distances in subject.values.given:
        if n := int(np.count_nonzero(np.isnan(distances))):
            yield tell("nan", {"distances": distances.size, "nan": n}, n, distances.size)
