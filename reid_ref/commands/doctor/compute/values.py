"""What a sample of features or distances shows: no separation, reversed order, copies."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles
from reid_ref.commands.doctor.compute.finding import Finding
from reid_ref.commands.doctor.compute.norms import SampleFeatures, norms_vary
from reid_ref.commands.doctor.compute.sample import SAMPLE, Sample, draw_sample, shares_nearer
from reid_ref.evaluation.result_file import ResultFile

Array = npt.NDArray[Any]
#: A ranking by chance puts a good image before a wrong one half of the time.
CHANCE, HARDLY = 0.5, 0.55
#: Good pairs from which on their distances are looked at, and the share of them that may be wrong:
#: benchmarks have some wrong labels, too.
MIN_PAIRS, MISLABELLED = 300, 0.05
#: Fewer queries than these are no evidence about a model.
MIN_QUERIES = 100


def check_values(data: ResultFile, seed: int, size: tuple[int, int] = SAMPLE,
                 max_memory: int | None = None,
                 of_norms: Callable[[SampleFeatures], Iterator[Finding]] = norms_vary,
                 ) -> Iterator[Finding]:
    """Yield what a sample of the features or distances shows; nothing if it does not fit.

    `of_norms` yields what normalising the features changes.
    """
    sample = draw_sample(data.query, data.gallery, seed, size)
    given = data.input
    if sample is None or max_memory is not None and given.sample_bytes(
            len(sample.query), len(sample.image)) > max_memory:
        return
    values = given.sample(sample.query, sample.image)
    for distances in values.given:
        yield from _not_a_number(distances)
        yield from _identical_distances(distances, sample)
    scores = shares_nearer(values.distances, sample)
    for query, gallery in values.features:
        yield from _constant_columns(query, gallery)
        yield from of_norms(SampleFeatures(query, gallery, values.distances, sample, scores))
        yield from _copies(query, gallery, data, sample)
    yield from _separation(scores, given.noun, given.if_reversed)
    yield from _two_modes(values.distances, sample)


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


def _two_modes(distances: Array, sample: Sample) -> Iterator[Finding]:
    """Good pairs that lie among the wrong ones as wrong ones do, beside many that do not.

    Of each good image, the share of wrong images that are nearer: of a pair of one identity it is
    near 0, and of a pair by mistake anything from 0 to 1. A weak model has few pairs near 0, and
    fewer and fewer towards 1; images of two kinds have a peak between.
    """
    places = [np.searchsorted(np.sort(row[wrong]), row[good]) / np.count_nonzero(wrong)
              for row, good, wrong in zip(distances.real, sample.good, sample.wrong)
              if wrong.any()]
    place = np.concatenate(places) if places else np.zeros(0)
    if len(places) < MIN_QUERIES or len(place) < MIN_PAIRS:
        return
    near = float((place <= 0.02).mean())
    far, _ = np.histogram(place, 4, (0.5, 1))
    share = 4 * float((place > 0.75).mean())
    if near > 0.3 and share > MISLABELLED and far.max() <= 2.5 * far.min():
        yield Finding(
            "doctor:two-modes", "warning",
            f"About {100 * share:.0f} % of the good pairs are as far apart as images of different "
            f"identities, and {100 * near:.0f} % are nearer than nearly all of those, as if "
            "labels or images were mixed up.",
            {"pairs": len(place), "share": round(share, 4), "near": round(near, 4)},
            "Check that labels and images are in the same order in every part of the gallery, and "
            "that every image was read.")


def _constant_columns(query: Array, gallery: Array) -> Iterator[Finding]:
    n_columns = query.shape[1]
    n_dead = int(((query == query[0]).all(axis=0) & (gallery == query[0]).all(axis=0)).sum())
    if len(query) + len(gallery) >= MIN_QUERIES and n_dead > 0.9 * n_columns:
        yield Finding(
            "doctor:constant-columns", "warning",
            f"{n_dead:,} of {n_columns:,} columns of the features are the same number on all "
            "images of the sample.", {"columns": n_columns, "constant": n_dead},
            "Check the layer that features are taken from, and that each image was read.")


def _copies(query: Array, gallery: Array, data: ResultFile, sample: Sample) -> Iterator[Finding]:
    """Features that are bit for bit the same: one image twice, or a mean made with labels."""
    codes = _row_codes(np.concatenate([query, gallery.astype(query.dtype)]))
    query_code, code = codes[:len(query)], codes[len(query):]
    identity = data.gallery.identity[sample.image]
    names, group, size = np.unique(identity, return_inverse=True, return_counts=True)
    different = np.unique(np.stack([group, code], axis=1), axis=0)
    n_different = np.bincount(different[:, 0], minlength=len(names))
    wide = (size >= 3) & (names > 0)
    alone = wide & (n_different == 1)
    equal = int(alone.sum())
    # Where identities share features as well, labels do not explain it.
    apart = len(np.unique(different[alone[different[:, 0]], 1]))
    if wide.sum() >= 5 and equal > wide.sum() / 2 and apart > equal / 2:
        yield Finding(
            "doctor:equal-within-identity", "error",
            f"All gallery features of one identity are equal, for {equal:,} of "
            f"{int(wide.sum()):,} identities of the sample: labels were used to make them.",
            {"identities": int(wide.sum()), "equal": equal},
            "Evaluate the feature of each image, not a mean over the test identity.")
        return
    if len(code) >= MIN_QUERIES and len(np.unique(code)) < len(code) / 2:
        yield Finding(
            "doctor:duplicate-features", "warning",
            f"{len(code):,} gallery images of the sample have {len(np.unique(code)):,} different "
            "features.", {"images": len(code), "different": len(np.unique(code))},
            "Check that each image was read, and that the last batch is not repeated.")
    same = (query_code[:, np.newaxis] == code) & sample.good
    yield from _query_in_gallery(same.any(axis=1))


def _row_codes(rows: Array) -> npt.NDArray[np.intp]:
    """Return one number a row, equal for equal rows."""
    codes: dict[bytes, int] = {}
    return np.array([codes.setdefault((row + 0).tobytes(), len(codes))  # -0 and 0 are one number
                     for row in rows], dtype=np.intp)


def _not_a_number(distances: Array) -> Iterator[Finding]:
    n = int(np.count_nonzero(np.isnan(distances)))
    if n:
        yield Finding(
            "doctor:nan", "warning",
            f"{n:,} of {distances.size:,} distances of the sample are NaN; these images rank "
            "last.", {"distances": distances.size, "nan": n},
            "Look for features that are zero or NaN where the distances are made.")


def _identical_distances(distances: Array, sample: Sample) -> Iterator[Finding]:
    """Good images at distance 0, but for rounding."""
    values = abs(distances)
    if not (distances.real >= 0).all():
        return  # similarities, or squares less a constant: 0 means nothing
    near = values <= 1e-6 * np.median(values)
    # Where more wrong images are at 0, distances are so coarse that 0 means nothing.
    if near[sample.wrong].sum() < 1e-3 * sample.wrong.sum():
        yield from _query_in_gallery((near & sample.good).any(axis=1))


def _query_in_gallery(has_copy: npt.NDArray[np.bool_]) -> Iterator[Finding]:
    n, queries = int(has_copy.sum()), len(has_copy)
    if n >= 3 and n > 0.05 * queries:
        yield Finding(
            "doctor:query-in-gallery", "warning",
            f"{n:,} of {queries:,} queries of the sample have an identical image in the gallery "
            "under another camera.", {"queries": queries, "with_copy": n},
            "Take the query images out of the gallery, or give them their own camera there; of "
            "videos, leave out neighbouring frames.")
