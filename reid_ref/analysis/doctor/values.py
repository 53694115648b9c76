"""What a sample of features or distances shows: no separation, reversed order, NaN."""
from collections.abc import Iterator

import numpy as np

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.order import MIN_QUERIES
from reid_ref.analysis.doctor.sample import means_of, standard_error
from reid_ref.analysis.doctor.subject import NotChecked, Subject
from reid_ref.evaluation.how import NORMALISED

#: A ranking by chance puts a good image before a wrong one half of the time.
CHANCE, HARDLY = 0.5, 0.58
#: Fewer queries show it if one side by itself puts good images first so often.
ONE_SIDE, FEW_QUERIES = 0.8, 20
#: Standard errors from which first matches are later than by chance; identities that are asked.
ERRORS, MIN_IDENTITIES = 4, 10


def separation(subject: Subject) -> Iterator[Finding]:
    """How often a good image is nearer than a wrong one: 0.5 is chance, less is reversed."""
    subject.check_not_found("sides-misfit", "numbered-apart", "unfilled-distances")
    scalings = subject.how.scalings if subject.named and subject.values.features else [NORMALISED]
    for scaling in scalings:
        scores = subject.scores_of(scaling)
        if len(scores) < 2:
            raise NotChecked("fewer than 2 queries with good and wrong images")
        auc, error = float(np.mean(scores)), standard_error(scores)
        evidence = {"auc": auc, "standard_error": error, "queries": len(scores)}
        if len(scores) >= FEW_QUERIES and auc < 0.4 and auc + 4 * error < CHANCE:
            yield tell("reversed", subject.given().input.if_reversed, **evidence)
        elif auc < HARDLY and (len(scores) >= MIN_QUERIES or len(scores) >= FEW_QUERIES
                               and subject.values.features and max(subject.within) > ONE_SIDE):
            yield tell("chance-level", subject.given().input.noun, **evidence)


def below_chance(subject: Subject) -> Iterator[Finding]:
    """Report first matches that come later than by chance, given each query's kept images."""
    subject.check_not_found("sides-misfit", "numbered-apart", "chance-level", "reversed",
                            "unfilled-distances")
    sample, distances = subject.sample, subject.values.distances.real
    wrong = sample.wrong
    if subject.has_cameras:  # a network leaves a trace of the camera
        cameras = subject.cameras[0][sample.query], subject.cameras[1][sample.image]
        wrong = wrong & (cameras[0][:, np.newaxis] != cameras[1])
    first = np.where(sample.good, distances, np.inf).min(axis=1, keepdims=True)
    good = sample.good.sum(axis=1)
    earlier = (wrong & (distances < first)).sum(axis=1) / (good + wrong.sum(axis=1))
    places = means_of(subject.query.identity[sample.query], 1 - (1 - earlier) ** good)
    if len(places) < MIN_IDENTITIES:
        raise NotChecked(f"fewer than {MIN_IDENTITIES} identities")
    if places.mean() - ERRORS * standard_error(places) > CHANCE:
        yield tell("below-chance", queries=len(good), place=places.mean())


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
