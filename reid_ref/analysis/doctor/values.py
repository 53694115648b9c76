"""What a sample of features or distances shows: no separation, reversed order, NaN."""
from collections.abc import Iterator

import numpy as np

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.order import MIN_QUERIES
from reid_ref.analysis.doctor.sample import standard_error
from reid_ref.analysis.doctor.subject import NotChecked, Subject
from reid_ref.evaluation.how import NORMALISED

#: A ranking by chance puts a good image before a wrong one half of the time.
CHANCE, HARDLY = 0.5, 0.55


def separation(subject: Subject) -> Iterator[Finding]:
    """How often a good image is nearer than a wrong one: 0.5 is chance, less is reversed."""
    if subject.has_found("sides-misfit", "numbered-apart"):
        raise NotChecked("a finding says already that the sides do not fit")
    scalings = subject.how.scalings if subject.named and subject.values.features else [NORMALISED]
    for scaling in scalings:
        scores = subject.scores if scaling == NORMALISED else (
            subject.sample_features.scores_of(scaling))
        if len(scores) < 2:
            raise NotChecked("fewer than 2 queries with good and wrong images")
        auc, error = float(np.mean(scores)), standard_error(scores)
        evidence = {"auc": auc, "standard_error": error, "queries": len(scores)}
        if len(scores) >= 20 and auc < 0.4 and auc + 4 * error < CHANCE:
            yield tell("reversed", subject.given().input.if_reversed, **evidence)
        elif len(scores) >= MIN_QUERIES and auc < HARDLY and auc - 4 * error < CHANCE:
            yield tell("chance-level", subject.given().input.noun, **evidence)


def constant_columns(subject: Subject) -> Iterator[Finding]:
    """Report columns that are one number on all images."""
    query, gallery = subject.features_of(subject.values)
    n_columns = query.shape[1]
    n_dead = int(((query == query[0]).all(axis=0) & (gallery == query[0]).all(axis=0)).sum())
    if len(query) + len(gallery) >= MIN_QUERIES and n_dead > 0.9 * n_columns:
        yield tell("constant-columns", columns=n_columns, constant=n_dead)


def not_a_number(subject: Subject) -> Iterator[Finding]:
    """Report distances that are NaN."""
    for distances in subject.values.given:
        if n := int(np.count_nonzero(np.isnan(distances))):
            yield tell("nan", distances=distances.size, nan=n)
