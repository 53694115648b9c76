"""What a sample of features or distances shows: no separation, reversed order, copies."""
from collections.abc import Iterator

import numpy as np

from reid_ref.analysis.doctor.copies import EQUAL, copied_rows, copies, identical_distances
from reid_ref.analysis.doctor.finding import Finding
from reid_ref.analysis.doctor.norms import OfNorms, SampleFeatures, norms_of_a_file
from reid_ref.analysis.doctor.order import MIN_QUERIES, part_at_chance, two_modes
from reid_ref.analysis.doctor.sample import SAMPLE, draw_sample, shares_nearer
from reid_ref.analysis.doctor.shifts import camera_shift, identity_shift
from reid_ref.analysis.doctor.sides import sides_apart, softmax_outputs
from reid_ref.arrays import Array, Doubles
from reid_ref.evaluation.how import NORMALISED
from reid_ref.evaluation.result_file import ResultFile

#: A ranking by chance puts a good image before a wrong one half of the time.
CHANCE, HARDLY = 0.5, 0.55


def check_values(data: ResultFile, seed: int, size: tuple[int, int] = SAMPLE,
                 max_memory: int | None = None, of_norms: OfNorms = norms_of_a_file,
                 ) -> Iterator[Finding]:
    """Yield what a sample of the features or distances shows; nothing if it does not fit.

    `of_norms`: how features are ranked, and what their norms change.
    """
    sample = draw_sample(data.query, data.gallery, seed, size)
    given = data.input
    if sample is None or max_memory is not None and given.sample_bytes(
            len(sample.query), len(sample.image)) > max_memory:
        return
    values = given.sample(sample.query, sample.image)
    for distances in values.given:
        yield from _not_a_number(distances)
        yield from identical_distances(distances, sample)
    scores = shares_nearer(values.distances, sample)
    ranked = {NORMALISED: scores}
    for query, gallery in values.features:
        features = SampleFeatures(query, gallery, values.distances, sample, scores)
        yield from _constant_columns(query, gallery)
        found = list(copies(query, gallery, data, sample))
        yield from found
        if not any(finding.key in EQUAL for finding in found):
            yield from copied_rows(data)
            yield from softmax_outputs(query, gallery)
            yield from of_norms.check(features)
            yield from sides_apart(query, gallery, sample, data.query, data.gallery)
        ranked = {scaling: features.scores_of(scaling) for scaling in of_norms.ranked}
    yield from identity_shift(values.distances, sample, data.query, data.gallery)
    yield from camera_shift(values.distances, sample, data.query, data.gallery)
    for of_scaling in ranked.values():
        yield from _separation(of_scaling, given.noun, given.if_reversed)
    yield from (list(part_at_chance(
        values.distances, scores, sample, data.query.identity[sample.query], len(data.gallery)))
        or two_modes(values.distances, sample))


def _separation(scores: Doubles, noun: str, if_reversed: str) -> Iterator[Finding]:
    """How often a good image is nearer than a wrong one: 0.5 is chance, less is reversed."""
    if len(scores) < 2:
        return
    auc = float(np.mean(scores))
    error = float(np.std(scores, ddof=1) / np.sqrt(len(scores)))
    evidence: dict[str, int | float] = {
        "auc": round(auc, 4), "standard_error": round(error, 4), "queries": len(scores)}
    if len(scores) >= 20 and auc < 0.4 and auc + 4 * error < CHANCE:
        yield Finding(
            "doctor:reversed", "error",
            f"The ranking is worse than chance: a good image is nearer than a wrong one in "
            f"{100 * auc:.0f} % of the pairs.", evidence, if_reversed)
    elif len(scores) >= MIN_QUERIES and auc < HARDLY and auc - 4 * error < CHANCE:
        yield Finding(
            "doctor:chance-level", "warning",
            "The ranking hardly separates identities: a good image is nearer than a wrong one in "
            f"{100 * auc:.0f} % of the pairs; 50 % is chance.", evidence,
            f"An untrained or wrongly loaded model, or labels in another order than the {noun}?")


def _constant_columns(query: Array, gallery: Array) -> Iterator[Finding]:
    n_columns = query.shape[1]
    n_dead = int(((query == query[0]).all(axis=0) & (gallery == query[0]).all(axis=0)).sum())
    if len(query) + len(gallery) >= MIN_QUERIES and n_dead > 0.9 * n_columns:
        yield Finding(
            "doctor:constant-columns", "warning",
            f"{n_dead:,} of {n_columns:,} columns of the features are the same number on all "
            "images of the sample.", {"columns": n_columns, "constant": n_dead},
            "Check the layer that features are taken from, and that each image was read.")


def _not_a_number(distances: Array) -> Iterator[Finding]:
    n = int(np.count_nonzero(np.isnan(distances)))
    if n:
        yield Finding(
            "doctor:nan", "warning",
            f"{n:,} of {distances.size:,} distances of the sample are NaN; these images rank "
            "last.", {"distances": distances.size, "nan": n},
            "Look for features that are zero or NaN where the distances are made.")
