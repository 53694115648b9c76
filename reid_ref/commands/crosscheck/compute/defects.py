"""Known defects and traps of evaluators in use, each with a small recogniser.

Each was reproduced by running the evaluator named. A recogniser looks at what an evaluator
answered, not at which evaluator it is, because such code is copied from one repository to the
next. It returns what it saw, or nothing.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reid_ref.arrays import Doubles, Integers
from reid_ref.commands.crosscheck.compute.child import Outcome
from reid_ref.commands.crosscheck.compute.foreign import MAX_RANK, Arrays
from reid_ref.commands.crosscheck.compute.matching import Match
from reid_ref.commands.crosscheck.compute.reasons import Reason
from reid_ref.conventions import TIES

#: The orders of ties that are tried; None is numpy's default.
STABLE: Literal["stable"] = "stable"


@dataclass(frozen=True)
class Evidence:
    """All that is known of one run.

    Parameters
    ----------
    again : Outcome or None
        A second run on the same arrays with another random seed.
    """

    arrays: Arrays
    outcome: Outcome
    ap: Doubles | None
    match: Match | None
    reason: Reason | None
    again: Outcome | None

    @property
    def cmc(self) -> Doubles:
        """Their CMC, empty where there is none."""
        answer = self.outcome.answer
        return np.zeros(0) if answer is None or answer.cmc is None else answer.cmc

    @property
    def kept(self) -> Integers:
        """Images each query keeps where only its identity on its own camera is ignored."""
        query, gallery = self.arrays.query, self.arrays.gallery
        return np.array([np.count_nonzero(~((gallery.identity == i) & (gallery.camera == c)))
                         for i, c in zip(query.identity, query.camera)])

    @property
    def unmatched(self) -> int:
        """Queries whose identity is on no other camera."""
        query, gallery = self.arrays.query, self.arrays.gallery
        return sum(not ((gallery.identity == i) & (gallery.camera != c)).any()
                   for i, c in zip(query.identity, query.camera))

    def has_reason(self, name: str, *values: str) -> bool:
        """Whether this choice is among those that explain the difference, all of it."""
        return self.reason is not None and self.reason.full and any(
            choice == name and value in values for choice, value in self.reason.choices)


@dataclass(frozen=True)
class Defect:
    """A known defect: where it is, what it is, and how to see that it struck."""

    where: str
    what: str
    seen: Callable[[Evidence], str | None]


def recognise(evidence: Evidence) -> dict[str, str]:
    """Return the known defects that show in the evidence: name to sentence."""
    found = {}
    for name, defect in DEFECTS.items():
        seen = defect.seen(evidence)
        if seen:
            found[name] = f"{defect.what} ({defect.where}): {seen}"
    return found


def _buffer_not_cleared(e: Evidence) -> str | None:
    short = np.flatnonzero(e.kept < len(e.cmc))
    if not short.size or not len(e.cmc):
        return None
    query, gallery = e.arrays.query, e.arrays.gallery
    for dtype in (np.float32, e.arrays.distances.dtype):
        for kind in (None, STABLE):
            buffer, total, valid = np.zeros(len(e.cmc)), np.zeros(len(e.cmc)), 0
            clean = np.zeros(len(e.cmc))
            for k, row in enumerate(e.arrays.distances.astype(dtype)):
                order = np.argsort(row, kind=kind)
                same = gallery.identity[order] == query.identity[k]
                hit = same[~(same & (gallery.camera[order] == query.camera[k]))]
                if not hit.any():
                    continue
                curve = np.minimum(np.cumsum(hit), 1)[:len(buffer)]
                buffer[:len(curve)] = curve
                total, valid = total + buffer, valid + 1
                clean[:len(curve)] += curve
                clean[len(curve):] += 1
            if valid and (total != clean).any() and np.allclose(
                    total / valid, e.cmc, rtol=0, atol=2.0**-22):
                return (f"query {short[0]} keeps {e.kept[short[0]]} images, fewer than "
                        f"{len(e.cmc)}, and inherits the tail of the query before it")
    return None


def _ragged(e: Evidence) -> str | None:
    kept = np.unique(np.minimum(e.kept, MAX_RANK))
    if "ValueError" in e.outcome.failure and "inhomogeneous" in e.outcome.failure and (
            len(kept) > 1):
        return (f"queries keep from {kept[0]} to {e.kept.max()} images, some fewer than "
                f"max_rank; query by query it answers")
    return None


def _nothing_valid(e: Evidence) -> str | None:
    if e.outcome.failure.startswith(("AssertionError", "RuntimeError")) and (
            e.unmatched == len(e.arrays.query)):
        return ("no query has its identity on another camera; check that identities and cameras "
                "are numbered alike on both sides")
    return None


def _draws(e: Evidence) -> str | None:
    first = e.outcome.answer
    second = e.again.answer if e.again is not None else None
    if first is None or second is None or first.cmc is None or second.cmc is None:
        return None
    if first.mAP == second.mAP and np.array_equal(first.cmc, second.cmc, equal_nan=True):
        return None
    return (f"with two seeds it gave Rank-1 {first.cmc[0]:.4f} and {second.cmc[0]:.4f}, mAP "
            f"{first.mAP!r} and {second.mAP!r}; convention cuhk03-single-shot gives the "
            f"expectation")


def _above_one(e: Evidence) -> str | None:
    if len(e.cmc) and 1 < e.cmc.max() < 1 + 1e-4:
        return f"its CMC reaches {float(e.cmc.max())!r}"
    return None


def _zero_tail(e: Evidence) -> str | None:
    identities = len(np.unique(e.arrays.gallery.identity))
    above_0 = np.flatnonzero(e.cmc)
    if above_0.size and above_0[-1] + 1 < len(e.cmc) and above_0[-1] < identities:
        return (f"its CMC is 0 from Rank-{above_0[-1] + 2} on; the gallery has {identities} "
                "identities")
    return None


def _positive_scores(e: Evidence) -> str | None:
    if e.ap is None or e.match is None:
        return None
    fine = e.match.compared & (np.nan_to_num(e.match.result.per_query.ap) > 0)
    if fine.any() and (e.ap[fine] == 0).all():
        return ("every AP is 0; give it scores above 0, such as the number of images minus the "
                "rank")
    return None


def _float32_identities(e: Evidence) -> str | None:
    if e.has_reason("identity", "float32"):
        largest = max(np.abs(e.arrays.query.identity).max(),
                      np.abs(e.arrays.gallery.identity).max())
        return (f"identities go up to {largest}; renumber them, e.g. with "
                "numpy.unique(..., return_inverse=True)[1]")
    return None


def _machine_ties(e: Evidence) -> str | None:
    if (e.match is not None and e.match.agrees and TIES[e.match.convention.ties].sorts) or (
            e.has_reason("ties", "numpy")):
        return "good images tie with wrong ones here; another machine gives another number"
    return None


def _narrow_distances(e: Evidence) -> str | None:
    if e.has_reason("arithmetic", "float32", "float16"):
        return "distances that differ become equal; give it whole numbers from ranks"
    return None


def _not_finite(e: Evidence) -> str | None:
    values = e.arrays.distances
    if "ValueError: Input contains" in e.outcome.failure and not np.isfinite(values).all():
        return (f"{np.count_nonzero(~np.isfinite(values))} distances are NaN or infinite; "
                "evaluate ranks them, NaN last")
    return None


def _cut_to_shortest(e: Evidence) -> str | None:
    junk = np.count_nonzero(e.arrays.gallery.identity == -1)
    answer = e.outcome.answer
    if answer is None or answer.cmc is None or answer.ranks is not None:
        return None
    shortest = int(e.kept.min())
    if len(e.cmc) in {shortest, max(0, shortest - junk)} and (
            len(e.cmc) < min(MAX_RANK, len(e.arrays.gallery))):
        return f"its CMC has {len(e.cmc)} entries, for every query"
    return None


def _found_in_top(e: Evidence) -> str | None:
    values = [v for v in (f"found in {k}" for k in (1, 5, 10, 20, 50, 100))]
    if e.has_reason("cutoff", *values):
        return "its mAP at a small K may be higher than over the whole list"
    return None


def _unmatched_index(e: Evidence) -> str | None:
    junk_query = int(np.count_nonzero(e.arrays.query.identity == -1))
    small = len(e.arrays.gallery) < 10
    if e.outcome.failure.startswith("IndexError") and (e.unmatched or junk_query or small):
        return (f"{e.unmatched} queries have no good image, {junk_query} are labelled -1, and the "
                f"gallery has {len(e.arrays.gallery)} images")
    return None


def _percent(e: Evidence) -> str | None:
    answer = e.outcome.answer
    if answer is None or answer.mAP is None or not 1 < answer.mAP <= 100:
        return None
    near = e.match is not None and abs(answer.mAP / 100 - e.match.result.mAP) < 0.02
    if not near and not (len(e.cmc) and 1 < e.cmc.max() <= 100):
        return None
    return f"its mAP is {answer.mAP!r}; divide its numbers by 100 and check again"


def _old_numpy(e: Evidence) -> str | None:
    text = e.outcome.failure
    gone = ("in1d", "trapz", "float", "int", "bool", "object")
    if "AttributeError" in text and any(f"'numpy' has no attribute '{n}'" in text for n in gone):
        return f"this is numpy {np.__version__}; run it with the numpy it was written for"
    return None


def _similarities(e: Evidence) -> str | None:
    if e.has_reason("order", "descending"):
        return "give it the negative of these distances"
    return None


def _label_counted(e: Evidence) -> str | None:
    n = int(np.count_nonzero(e.arrays.gallery.identity == -1))
    follows = e.match is not None and "ap" in e.match.agreement and e.match.level("ap") < 3 and (
        "label -1" not in e.match.convention.not_ranked)
    if n and (follows or e.has_reason("label", "-1 wrong")):
        return f"{n} gallery images are labelled -1; remove them first to have them ignored"
    return None


DEFECTS: dict[str, Defect] = {
    "buffer-not-cleared": Defect(
        "torchreid's and fast-reid's Cython evaluators",
        "the CMC buffer is not cleared between queries", _buffer_not_cleared),
    "ragged-cmc": Defect(
        "torchreid's, fast-reid's and reid-strong-baseline's Python evaluators",
        "it fails where queries keep different numbers of images below max_rank", _ragged),
    "no-valid-query": Defect(
        "torchreid, fast-reid, open-reid", "it fails where no query has a good image",
        _nothing_valid),
    "random-draws": Defect(
        "eval_cuhk03 of torchreid and fast-reid, open-reid's single_gallery_shot",
        "it draws at random, so its CMC depends on the seed", _draws),
    "cmc-above-1": Defect(
        "eval_cuhk03 of the Cython evaluators",
        "a float32 tenth added ten times exceeds 1", _above_one),
    "zero-tail": Defect(
        "eval_cuhk03 of the Cython evaluators", "CMC is 0 beyond the number of identities",
        _zero_tail),
    "positive-scores-only": Defect(
        "torchmetrics 1.9", "scores that are not above 0, such as -distance, are never hits",
        _positive_scores),
    "float32-identities": Defect(
        "pytorch-metric-learning", "labels pass through float32, so identities above 2^24 merge",
        _float32_identities),
    "machine-ties": Defect(
        "torchreid, fast-reid, light-reid and most others",
        "numpy's default argsort is not stable: the order of ties depends on the processor",
        _machine_ties),
    "narrow-distances": Defect(
        "the Cython evaluators, pytrec_eval", "scores or distances are kept in fewer bits",
        _narrow_distances),
    "not-finite": Defect(
        "scikit-learn, and open-reid and triplet-reid with it",
        "it refuses NaN and infinite scores", _not_finite),
    "cut-to-shortest": Defect(
        "light-reid", "CMC is cut to the fewest images that any query keeps", _cut_to_shortest),
    "found-in-top-k": Defect(
        "open-metric-learning, torchmetrics with top_k",
        "recall is over the good images found in the first K, not over those that exist",
        _found_in_top),
    "unmatched-index-error": Defect(
        "layumi; triplet-reid with scikit-learn 1.1 or later",
        "it fails on queries without a good image, on queries labelled -1 or on small galleries",
        _unmatched_index),
    "percent": Defect("SimpleIR", "it answers in percent", _percent),
    "old-numpy": Defect(
        "layumi, light-reid, open-reid on recent numpy", "it needs an older numpy", _old_numpy),
    "similarities": Defect(
        "a common slip", "it takes what it gets for similarities, larger is nearer",
        _similarities),
    "label-counted": Defect(
        "every evaluator that does not know Market-1501's labels",
        "label -1 images are counted as wrong answers", _label_counted),
}
