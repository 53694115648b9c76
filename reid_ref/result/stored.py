"""What a file of a result holds, and whether its summaries follow from its values per query."""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.conventions import ARITHMETIC, UNMATCHED, Convention
from reid_ref.labels import DISTRACTOR, JUNK
from reid_ref.measures import COLUMNS, measure
from reid_ref.ranking.good_ranks import of_queries
from reid_ref.result import (
    Counts, Fingerprints, PerQuery, QueryValues, Result, in_mean, in_mean_of, spread)
from reid_ref.result.means import Expectation, weighted_curve, weighted_mean
from reid_ref.signature import Signature
from reid_ref.text.plain import plain

#: The name of a Rank-k.
RANK = re.compile("Rank-([1-9][0-9]{0,6})")
#: layumi's sum of 1/n can be above 1 by its last bits.
MOST = 1 + 1e-9


@dataclass(frozen=True)
class Stored:
    """A saved result, or a file of values per query.

    Parameters
    ----------
    path : str
    numbers : dict
        The whole object.
    per_query : PerQuery
    counted : bool, shape (n_query,)
        As written: which queries are in the mean of mAP.
    signature : Signature
        Empty where the file is CSV.
    convention : Convention
        What was evaluated: as it was saved, or as the signature says; matlab of CSV.
    counts : Counts or None
        None where the file is CSV.
    fingerprints : Fingerprints
        Of the labels; empty where the file is CSV.
    result : Result or None
        Of a saved result, all of it.
    trials : tuple of Stored
        Of a saved mean over trials, each trial.
    """

    path: str
    numbers: Mapping[str, Any]
    per_query: PerQuery
    counted: npt.NDArray[np.bool_]
    signature: Signature
    convention: Convention
    counts: Counts | None = None
    fingerprints: Fingerprints = Fingerprints()
    result: Result | None = None
    trials: tuple[Stored, ...] = ()

    def query_values(self, metric: str) -> QueryValues:
        """Return the values whose mean a metric is, as `Result.query_values` does."""
        if self.result is not None:
            return self.result.query_values(metric)
        rows, name = self.per_query, Path(self.path).name
        which = measure(metric)
        if which.of_curve:
            k = which.k or 0
            counted = self._in_cmc(k, name)
            hits = (rows.first_match > 0) & (rows.first_match <= k) & counted
            values = hits.astype(np.float64)
        elif not which.column:
            raise InputError("measure", got=f"{name} holds the values of mAP, mINP and Rank-k, "
                             f"got {metric!r}", remedy="other measures need the result file")
        else:
            counted, values = self.counted, getattr(rows, which.column)
            values = UNMATCHED["zero"].counted(values, rows.n_good, rows.matched)
            if np.isnan(values[counted]).any() or self.numbers.get(metric, 0) is None:
                raise InputError("measure", got=f"{metric} of {name} is NaN, since a query that "
                                 "counts has no value", remedy="compare another metric")
            values = spread(values[counted], counted, 0.0)
        return QueryValues(self.convention.mean(values[counted]), values, counted)

    def _in_cmc(self, k: int, name: str) -> npt.NDArray[np.bool_]:
        if self.convention.cmc != "first-match":
            raise InputError("measure", got=f"the CMC curve of {name} is {self.convention.cmc!r}, "
                             "which leaves no value for each query", remedy="compare mAP")
        loaded = self.per_query.status != "not loaded"
        if not self.signature and not np.array_equal(loaded, self.counted):
            raise InputError(
                "measure", got=f"{name} does not say whether its queries without a match are in "
                f"Rank-{k}", remedy="compare mAP, or take a file of values in JSON")
        in_cmc = UNMATCHED[self.convention.unmatched].in_cmc | (self.per_query.n_good > 0)
        return np.asarray(loaded & in_cmc)


@dataclass(frozen=True)
class Check:
    """One number of the file, and the same computed again.

    Parameters
    ----------
    name : str
    written, computed : Any
        Plain JSON values; None is NaN.
    source : str
        What it was computed from.
    """

    name: str
    written: Any
    computed: Any
    source: str = "queries"

    @property
    def agrees(self) -> bool:
        """Whether both are the same, to the last bit."""
        return bool(self.written == self.computed)


def checks(stored: Stored) -> Iterator[Check]:
    """Compute every summary again from the values of each query, and these from saved ranks.

    CSV has no summaries.
    """
    for k, trial in enumerate(stored.trials, 1):
        yield from (replace(check, name=f"trial {k}: {check.name}") for check in checks(trial))
    if stored.trials and stored.result is not None:
        yield from (Check(name, stored.numbers.get(name), value, "trials")
                    for name, value in stored.result.to_dict(None).items())
    if stored.trials or stored.counts is None:
        return
    yield from _images(stored, stored.counts)
    if isinstance(stored.result, Expectation):
        yield from _of_expectation(stored, stored.result)
        return
    yield from _of_gallery(stored, stored.counts)
    yield from _means(stored)
    yield from _curve(stored)
    if stored.result is not None:
        yield from _of_ranks(stored.result)


def ranks_written(stored: Stored) -> dict[str, int]:
    """Return the name of each Rank-k in the file, and its k."""
    return {name: int(match[1]) for name in stored.numbers if (match := RANK.fullmatch(name))}


def impossible(stored: Stored) -> Iterator[str]:
    """Yield values that no evaluation gives, the first of each kind."""
    for k, trial in enumerate(stored.trials, 1):
        yield from (f"trial {k}: {text}" for text in impossible(trial))
    if stored.trials:
        return
    per_query = stored.per_query
    loaded = per_query.status != "not loaded"
    cmc = np.zeros(0) if stored.result is None else stored.result.cmc
    if ((cmc < 0) | (cmc > MOST)).any():
        yield "cmc: expected numbers from 0 to 1"
    faults = {
        "ap: expected a number from 0 to 1": (per_query.ap < 0) | (per_query.ap > MOST),
        "inp: expected a number above 0, to 1": (per_query.inp <= 0) | (per_query.inp > 1),
        "ap: expected a number, for it has good images":
            np.isnan(per_query.ap) & loaded & (per_query.n_good > 0),
        "first_match: expected none, for it has no good image":
            (per_query.first_match > 0) & (per_query.n_good == 0),
        "status: expected a reason, not ok, for it has no good image":
            (per_query.status == "ok") & (per_query.n_good == 0)}
    for text, bad in faults.items():
        if bad.any():
            yield f"query {int(np.flatnonzero(bad)[0])}: {text}"
    if isinstance(stored.result, Expectation):
        yield from _of_drawn(stored, stored.result)
    elif stored.result is not None:
        yield from _sizes(stored.result)


def _sizes(result: Result) -> Iterator[str]:
    """Yield sizes of a saved result that do not go together."""
    counts, n_kept, image = result.counts, result.ranks.n_kept, result.ranks.image
    n_loaded = counts.gallery - counts.gallery_not_loaded
    of_query = np.where(result.per_query.status == "not loaded", 0, n_loaded)
    images = n_kept + result.ranks.n_junk
    # A query that is not answered keeps none, and a list keeps only the images that it holds.
    is_whole = result.signature.get("ranked", "complete") == "complete"
    fewer = (images < of_query) & (n_kept > 0) & is_whole
    for k in np.flatnonzero((images > of_query) | fewer)[:1]:
        yield f"query {k}: n_kept + n_junk: expected {of_query[k]}, got {images[k]}"
    named, query = image >= 0, result.ranks.query
    if _n_pairs(query[named], image[named]) < np.count_nonzero(named):
        yield "ranks: image: expected each image once for a query"
    identity, n_good = result.per_query.identity, 0
    if not result.convention.needs_lists:  # which may name any image
        shown, image = identity[query[named]], image[named]
        if _n_pairs(shown, image) > len(np.unique(image)):
            yield "ranks: image: expected images of one identity each"
        n_good = len(np.unique(image[shown != JUNK]))
    most = 0 if (identity == DISTRACTOR).any() else counts.gallery - counts.gallery_junk - n_good
    if counts.gallery_distractors > most:
        yield f"counts: gallery_distractors: expected at most {most}"


def _n_pairs(first: Integers, second: Integers) -> int:
    """Count the pairs of entries that differ."""
    order = np.lexsort((first, second))
    differs = (np.diff(first[order]) != 0) | (np.diff(second[order]) != 0)
    return min(len(order), 1) + int(np.count_nonzero(differs))


def _of_drawn(stored: Stored, result: Expectation) -> Iterator[str]:
    """Yield what no expectation has: its galleries have an image of each identity, and no junk."""
    counts = result.counts
    none = ("gallery_junk", "gallery_not_loaded", "gallery_distractors", "junk_same_camera",
            "tied")
    most = int(stored.signature["gallery"])
    yield from (f"counts: {name}: expected 0" for name in none if getattr(counts, name))
    yield from (f"{name}: expected none" for name in ("n_junk", "first_match")
                if getattr(result.per_query, name).any())
    if not len(result.cmc) <= counts.gallery <= most:
        yield f"counts: gallery: expected {len(result.cmc)} to {most} identities"
    if counts.gallery_kept != counts.gallery:
        yield f"counts: gallery_kept: expected {counts.gallery}"
    for name, sd in result.sd.items():
        if sd < 0 or sd > 1 or plain(sd) != plain(result.sd[{"mINP": "mAP"}.get(name, name)]):
            yield f"expected: sd: {name}: expected a number from 0 to 1"


def _images(stored: Stored, counts: Counts) -> Iterator[Check]:
    """Yield the counts of queries, of images and of good pairs."""
    per_query = stored.per_query
    loaded = np.count_nonzero(per_query.status != "not loaded")
    yield Check("queries of the signature", int(stored.signature["queries"]), int(loaded))
    yield Check("counts: query", counts.query, len(per_query.status))
    yield Check("counts: good", counts.good, int(per_query.n_good.sum()))
    yield Check("counts: status", counts.status, {
        name: int(np.count_nonzero(per_query.status == name)) for name in dict.fromkeys(
            (*counts.status, *np.unique(per_query.status).tolist()))})
    if len(per_query.camera):
        yield Check("labels: query", stored.fingerprints.query, per_query.labels().fingerprint())


def _means(stored: Stored) -> Iterator[Check]:
    """Yield mAP, mINP and the number of queries in them, in the convention's own arithmetic."""
    per_query, convention = stored.per_query, stored.convention
    loaded = per_query.status != "not loaded"
    for each in COLUMNS:
        mean = convention.mean(in_mean_of(per_query, each.column, convention, loaded))
        yield Check(each.name, stored.numbers.get(each.name), plain(mean))
    yield from _in_mean(stored)


def _in_mean(stored: Stored) -> Iterator[Check]:
    """Yield which queries are in the mean, and how many."""
    counted = np.flatnonzero(in_mean(stored)).tolist()
    yield Check("counted", stored.numbers.get("counted"), len(counted))
    yield Check("queries that are counted", np.flatnonzero(stored.counted).tolist(), counted)


def _curve(stored: Stored) -> Iterator[Check]:
    """Yield Rank-k and the curve; of a curve that no values per query give, Rank-k alone."""
    ranks = ranks_written(stored)
    if stored.convention.curve.counts:
        written = stored.numbers.get("cmc")
        length = len(written) if isinstance(written, list) else 0
        curve, source = _first_matches(stored, max([length, *ranks.values()])), "queries"
        yield Check("cmc", written, plain(curve[:length]))
    elif stored.result is not None:
        curve, source = stored.result.cmc, "entries of cmc"
    else:
        return
    yield from _points(stored, curve, source)


def _points(stored: Stored, curve: Doubles, source: str) -> Iterator[Check]:
    """Yield each Rank-k, which is a point of the curve."""
    for name, k in ranks_written(stored).items():
        value = plain(float(curve[k - 1])) if k <= len(curve) else None
        yield Check(name, stored.numbers[name], value, source)


def _of_expectation(stored: Stored, result: Expectation) -> Iterator[Check]:
    """Yield the means and the curve, of what each query has on average."""
    ap = result.per_query.ap[result.per_query.n_good > 0]
    mean, curve = weighted_mean(ap, result.weight), weighted_curve(result.weight, result.match)
    for each in COLUMNS:
        yield Check(each.name, stored.numbers.get(each.name), plain(mean), "expectations")
    yield Check("inp", plain(result.per_query.inp), plain(result.per_query.ap), "ap")
    yield from _in_mean(stored)
    yield Check("cmc", stored.numbers.get("cmc"), plain(curve), "expectations")
    yield from _points(stored, curve, "expectations")


def _first_matches(stored: Stored, length: int) -> Doubles:
    loaded = stored.per_query.status != "not loaded"
    n_query = stored.convention.n_in_cmc(stored.per_query.n_good[loaded])
    curve = metrics.cumulative_matching(stored.per_query.first_match[loaded], length, n_query)
    return ARITHMETIC[stored.convention.arithmetic].curve(curve, n_query)


def _of_gallery(stored: Stored, counts: Counts) -> Iterator[Check]:
    """Yield how many gallery images are left, by the convention's rules for label -1."""
    per_query, convention = stored.per_query, stored.convention
    absent = 0 if convention.loaded(np.array([JUNK])).all() else counts.gallery_junk
    ignored = counts.gallery_junk - absent if "label -1" in convention.ignored else 0
    other = (per_query.n_junk - ignored)[per_query.status != "not loaded"]
    yield Check("gallery of the signature", int(stored.signature["gallery"]),
                counts.gallery - counts.gallery_not_loaded)
    for name, computed in (("gallery_not_loaded", absent),
                           ("gallery_kept", counts.gallery - ignored - absent),
                           ("junk_same_camera", int(other.sum()))):
        yield Check(f"counts: {name}", getattr(counts, name), computed, "other counts")


def _of_ranks(result: Result) -> Iterator[Check]:
    """Yield what each query got, and a curve of all good images."""
    convention, per_query = result.convention, result.per_query
    loaded = per_query.status != "not loaded"
    whole = of_queries(result.ranks, loaded)
    ranks = convention.cut_off(whole)
    for each in COLUMNS:
        yield Check(each.column, plain(getattr(per_query, each.column)[loaded]),
                    plain(each.of_queries(whole, convention)), "ranks")
    yield Check("counts: tied", result.counts.tied, len(metrics.tied_queries(whole)), "ranks")
    yield Check("first_match", per_query.first_match[loaded].tolist(), ranks.first_match.tolist(),
                "ranks")
    curve = convention.curve
    if curve.of_rows is None and not curve.counts:
        yield Check("cmc", plain(result.cmc),
                    plain(convention.curve_of_ranks(ranks, len(result.cmc))), "ranks")
