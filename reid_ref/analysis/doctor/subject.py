"""What the checks look at: labels, rules, and a sample of the values, each made once."""
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from reid_ref.analysis.doctor.finding import Finding
from reid_ref.analysis.doctor.numbers_of_names import numbers_of
from reid_ref.analysis.doctor.sample import (
    SAMPLE, Matches, Sample, draw_sample, find_matches, place_within, shares_nearer)
from reid_ref.arrays import Array, Doubles, Integers
from reid_ref.datasets.fingerprints import Recognised, recognise
from reid_ref.evaluation.how import NORMALISED, How
from reid_ref.evaluation.ranked import SampleValues, lengths
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import JUNK, Labels, cameras_of

#: The ranking is wrong, so that what it shows of features and cameras means nothing.
WRONG = ("numbered-apart", "identity-offset", "sides-apart", "sides-misfit", "part-at-chance",
         "chance-level", "below-chance", "reversed")
#: Gallery images of an identity, where both sides are looked at together; and rows below which
#: their mean share is not known.
OF_IMAGES, MIN_SHARES = 8, 10
#: Features are codes, which are equal by right, where a column has fewer different values than
#: `CODE` of their different rows, and than `VALUES`; from `WIDE` columns on, where `WORD` of them
#: together have, if they are floating-point numbers.
VALUES, WIDE, WORD, CODE = 16, 64, 4, 0.25


class Joined(NamedTuple):
    """Some queries, and some gallery images of their identities, side by side.

    Parameters
    ----------
    rows : float64, shape (n, d)
        Their features.
    distances : float64, shape (n, n)
        Minus the cosine.
    identity, camera : int64, shape (n,)
        Without cameras, each image has one of its own.
    images : int64
        The gallery images.
    """

    rows: Doubles
    distances: Doubles
    identity: Integers
    camera: Integers
    images: Integers

    @property
    def n_query(self) -> int:
        """How many are queries."""
        return len(self.rows) - len(self.images)

    @property
    def sides(self) -> tuple[slice, slice]:
        """The places of queries and of gallery images."""
        return slice(self.n_query), slice(self.n_query, None)

    def pairs(self, first: slice, second: slice) -> tuple[Array, Array]:
        """Return which pairs have one identity on two cameras, and which have two identities."""
        same = self.identity[first, np.newaxis] == self.identity[second]
        apart = self.camera[first, np.newaxis] != self.camera[second]
        return same & apart, ~same

    def shares(self, first: slice, second: slice) -> Doubles:
        """Return `share_nearer` of the rows that have such pairs."""
        return shares_nearer(self.distances[first, second], *self.pairs(first, second))


class NotChecked(Exception):
    """A check lacks what it needs; the message is the reason, in words."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What is examined; of labels alone, `data` is None.

    `how`: by which conventions images are ranked; the first says which images are good. `stored`:
    whether a sample may be read from a file. `named`: whether somebody chose the conventions.
    `found`, `ran`: the findings and the checks so far.
    """

    query: Labels
    gallery: Labels
    data: ResultFile | None = None
    how: How = How()
    seed: int = 12345
    size: tuple[int, int] = SAMPLE
    max_memory: int | None = None
    stored: bool = True
    named: bool = False
    found: list[Finding] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)

    def has_found(self, *names: str) -> bool:
        """Return whether one of these findings was made."""
        return any(finding.key.removeprefix("doctor:") in names for finding in self.found)

    @property
    def has_cameras(self) -> bool:
        """Whether both sides have cameras."""
        return self.query.camera is not None and self.gallery.camera is not None

    @cached_property
    def _judged(self) -> How:
        """How it is ranked, among the candidates of each query where there are some."""
        return self.how if self.data is None else self.data.input.among(self.how)

    @cached_property
    def ignored(self) -> tuple[str, ...]:
        """What the first convention ignores, or if nothing, what most do; without cameras, what
        it can.
        """
        convention, most = self._judged.conventions[0], ("label -1", "same identity, same camera")
        return (convention if self.has_cameras else convention.without_cameras()).not_ranked or (
            most if self.has_cameras else most[:1])

    @property
    def by_camera(self) -> bool:
        """Whether a convention ignores images by their camera."""
        return any(convention.needs_cameras for convention in self.how.conventions)

    @cached_property
    def benchmark(self) -> Recognised | None:
        """The benchmark that the labels resemble."""
        return recognise(self.query, self.gallery)

    @cached_property
    def numbers_of_names(self) -> dict[str, tuple[Integers, Integers] | None]:
        """Identity and camera in the images' names, by side; None of names of no known form."""
        return {"query": numbers_of(self.query), "gallery": numbers_of(self.gallery)}

    @cached_property
    def cameras(self) -> tuple[Integers, Integers]:
        """The cameras of both sides."""
        if not self.has_cameras:
            raise NotChecked("the labels have no cameras")
        return cameras_of(self.query, "checks"), cameras_of(self.gallery, "checks")

    @cached_property
    def matches(self) -> Matches:
        """Which queries have a good image, and a wrong one."""
        if "listed as junk" in self.ignored:
            raise NotChecked("index lists say which images are good")
        return find_matches(self.query, self.gallery, self.ignored, self._judged.lists)

    def _drawn(self, whole: bool) -> Sample:
        has_match, data = self.matches.good > 0, self.given()
        if data.input.is_stored and not self.stored:
            raise NotChecked("values are read block by block")
        if not has_match.any():
            raise NotChecked("no query has a match")
        size = (self.size[0], 2 * self.size[1]) if whole else self.size
        rows = (self.query.identity != JUNK) & (whole | has_match)
        sample = draw_sample(self.query, self.gallery, self.seed, size, self.ignored,
                             self._judged.lists, rows, whole)
        if self.max_memory is not None and data.input.sample_bytes(
                len(sample.query), len(sample.image)) > self.max_memory:
            raise NotChecked("a sample does not fit the memory")
        return sample

    def given(self) -> ResultFile:
        """Return the file, of which there is one where values are looked at."""
        if self.data is None:
            raise NotChecked("labels alone")
        return self.data

    @cached_property
    def sample(self) -> Sample:
        """Queries that have a match, at random."""
        return self._drawn(whole=False)

    @cached_property
    def values(self) -> SampleValues:
        """The values of `sample`."""
        return self.given().input.sample(*self.sample[:2])

    @cached_property
    def of_identities(self) -> Sample:
        """Queries of whole identities, at random, and more images."""
        return self._drawn(whole=True)

    @cached_property
    def values_of_identities(self) -> SampleValues:
        """The values of `of_identities`."""
        return self.given().input.sample(*self.of_identities[:2])

    @cached_property
    def joined(self) -> Joined:
        """The queries of `of_identities`, and up to `OF_IMAGES` images of each identity."""
        self.check_unequal()
        sample, (query, gallery) = self.of_identities, self.features_of(self.values_of_identities)
        identity = self.gallery.identity[sample.image]
        own = np.flatnonzero(np.isin(identity, self.query.identity[sample.query]))
        own = own[place_within(identity[own]) < OF_IMAGES]
        images = sample.image[own]
        rows = np.concatenate([query, gallery[own]]).astype(np.float64)
        norms = lengths(rows)[:, np.newaxis]
        unit = rows / np.where(norms, norms, 1)
        cameras = [np.arange(len(rows))] if not self.has_cameras else [
            self.cameras[0][sample.query], self.cameras[1][images]]
        return Joined(rows, -(unit @ unit.T), np.r_[self.query.identity[sample.query],
                      identity[own]], np.concatenate(cameras), images)

    @property
    def across(self) -> Joined:
        """The same of sides that share two cameras or have none."""
        query, gallery = (self.joined.camera[side] for side in self.joined.sides)
        if self.has_cameras and len(np.intersect1d(query, gallery)) < 2:
            raise NotChecked("the sides share fewer than 2 cameras")
        return self.joined

    @cached_property
    def within(self) -> list[float]:
        """How often, within each side, a good image is nearer than a wrong one; 0 if unknown."""
        shares = [self.joined.shares(side, side) for side in self.joined.sides]
        return [float(each.mean()) if len(each) >= MIN_SHARES else 0.0 for each in shares]

    @cached_property
    def scores(self) -> Doubles:
        """`shares_nearer` of the sample."""
        return shares_nearer(self.values.distances, self.sample.good, self.sample.wrong)

    def scores_of(self, scaling: str) -> Doubles:
        """Return `scores` of normalised features, or of raw ones by "euclidean" or "dot"."""
        if scaling == NORMALISED:
            return self.scores
        query, norms = map(lengths, self.features_of(self.values))
        raw = norms * self.values.distances
        if scaling == "euclidean":
            raw = norms * norms + 2 * query[:, np.newaxis] * raw
        return shares_nearer(raw, self.sample.good, self.sample.wrong)

    def check_no_codes(self) -> None:
        """Leave out what codes of a few different numbers, or words, show by right."""
        rows = np.concatenate(self.features_of(self.values))
        some = np.linspace(0, rows.shape[1] - 1, OF_IMAGES).astype(int)
        rows = rows[np.unique(rows[:, some], axis=0, return_index=True)[1]]
        is_wide = rows.shape[1] >= WIDE
        parts = [rows[:, place:place + (WORD if is_wide else 1)] for place in some]
        counts = [len(np.unique(part, axis=0)) for part in parts]
        varied = [n / max(part.any(axis=1).sum(), 1) for n, part in zip(counts, parts)]
        if np.median(varied) < CODE and (
                rows.dtype.kind == "f" if is_wide else np.median(counts) < VALUES):
            raise NotChecked("the features are codes of few different numbers")

    def check_not_found(self, *names: str) -> None:
        """Leave out what one of these findings explains."""
        for name in names:
            if self.has_found(name):
                raise NotChecked(f"doctor:{name} was found")

    def check_unequal(self) -> None:
        """Leave out what features that are mostly equal would show again."""
        self.check_not_found("equal-within-identity", "duplicate-features")

    def features_of(self, values: SampleValues) -> tuple[Array, Array]:
        """Return the features of a sample."""
        if not values.features:
            raise NotChecked("the file has distances, not features")
        return values.features[0]

    def file(self, field: str) -> ResultFile:
        """Return the file, whose features or distances are in memory."""
        data, what = self.given(), field.removeprefix("query_")
        if getattr(data, field) is None:
            raise NotChecked(f"the file has no {what}")
        if data.input.is_stored:
            raise NotChecked(f"{what} are read block by block")
        return data
