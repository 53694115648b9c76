"""`Protocol`: what a benchmark's number is made of, as a frozen record."""
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from reid_ref.arrays import InputError, Integers, check_choice, check_count, check_name
from reid_ref.conventions import Convention, choice_text, loaded_images
from reid_ref.files.layouts import Reading
from reid_ref.labels import JUNK, Labels, cameras_of, cells
from reid_ref.protocols.box_ranks import BoxRule

#: The most trials, over all parts, and the most parts that a file may ask for.
MOST_TRIALS, MOST_PARTS = 1000, 100
#: The labels of both sides by "query" and "gallery".
Sides = Mapping[str, Labels]


def sampled(generator: random.Random, labels: Labels, rows: Integers, unit: tuple[str, ...],
            shots: int) -> Integers:
    """Return `shots` rows of each cell, drawn cell after cell by `random.sample`."""
    drawn = []
    for key, images in cells(labels[rows], *unit).items():
        if len(images) < shots:
            raise InputError(
                "shots", f"at most {len(images)}, the images of "
                + ", ".join(f"{column} {value}" for column, value in zip(unit, key)), shots)
        drawn += generator.sample(rows[images].tolist(), shots)
    return np.array(drawn, dtype=np.int64)


def first_shuffled(generator: random.Random, labels: Labels, rows: Integers,
                   unit: tuple[str, ...], shots: int) -> Integers:
    """Return the first rows of each cell after a shuffle of all rows, in shuffled order."""
    order = rows.tolist()
    generator.shuffle(order)
    shuffled = np.array(order, dtype=np.int64)
    first = [images[:shots] for images in cells(labels[shuffled], *unit).values()]
    return shuffled[np.sort(np.concatenate(first))]


#: Name to how a generator draws rows: (generator, labels, rows, unit, shots) to rows.
DRAWS: Mapping[str, Callable[..., Integers]] = {
    "sampled": sampled, "first-shuffled": first_shuffled}


class Given(NamedTuple):
    """Trials that come with the data set: so many, from this file; without one, a single trial.

    Parameters
    ----------
    n : int
    file : str
        Without which nothing can be evaluated.
    """

    n: int = 1
    file: str = ""


class Seeded(NamedTuple):
    """Galleries that a seed draws.

    Parameters
    ----------
    unit : tuple of str
        The columns of the cells of which images are drawn.
    n, seed : int
        Trials, and the seed of the first; trial t has seed + t.
    draw : str
        How, a key of `DRAWS`.
    """

    unit: tuple[str, ...]
    n: int = 10
    seed: int = 0
    draw: str = "sampled"

    def rows(self, generator: random.Random, labels: Labels, rows: Integers,
             shots: int) -> Integers:
        """Return the rows that one trial draws of `rows`."""
        return DRAWS[self.draw](generator, labels, rows, self.unit, shots)


class Exact(NamedTuple):
    """The expectation over all galleries of one image of each identity, in closed form."""


Trials = Given | Seeded | Exact


class Rows(NamedTuple):
    """A selection of images: of a side, those with these values of columns.

    `drawn`: in each trial, only the drawn images (True) or only the others (False).
    """

    side: str
    where: Mapping[str, tuple[int, ...]] = {}
    drawn: bool | None = None

    def of(self, sides: Sides) -> Integers:
        """Return the rows of the side."""
        labels = sides[self.side]
        chosen = np.ones(len(labels), dtype=bool)
        for column, values in self.where.items():
            of_images = column_of(labels, self.side, column)
            for value in values if column == "identity" else ():
                if value not in of_images:
                    raise InputError(self.side, f"an image of identity {value}", "none")
            chosen &= np.isin(of_images, values)
        return np.flatnonzero(chosen)


def column_of(labels: Labels, side: str, column: str) -> Integers:
    """Return a column of labels, which must be there."""
    if column == "camera":
        return cameras_of(labels, "parts or trials of a protocol by it")
    values: Integers | None = getattr(labels, column)
    if values is None:
        raise InputError(side, f"labels with {column}", "none", f"give Labels(identity, camera, "
                         f"{column}=...), or {side}_{column} in the file")
    return values


class Part(NamedTuple):
    """A sub-result: who asks, who answers, and what is ignored if not as by the convention.

    `unmatched`: whether queries without a good image are no sign of wrong labels.
    """

    name: str = "all"
    query: Rows = Rows("query")
    gallery: Rows = Rows("gallery")
    ignored: tuple[str, ...] | None = None
    unmatched: bool = False


def _cargo_view(labels: Labels) -> Labels:
    """Return the labels with the view, 0 aerial and 1 ground, made of the camera if need be."""
    if labels.view is not None:
        return labels
    camera = cameras_of(labels, "the view is made of it")
    return replace(labels, view=(camera > 5).astype(int))


#: Name to what makes a column of others.
COLUMNS: Mapping[str, Callable[[Labels], Labels]] = {"cargo view": _cargo_view}


class Held(NamedTuple):
    """What holds a protocol: recordings of the code's answers, and the largest differences.

    Parameters
    ----------
    recordings : int
    double, float32 : str
        The largest difference in double, and in float32 if the code answers in it.
    """

    recordings: int = 0
    double: str = ""
    float32: str = ""


class Later(NamedTuple):
    """The protocol that other papers print on the same files, and a sentence about them."""

    protocol: str
    words: str


@dataclass(frozen=True)
class Protocol:
    """A benchmark's rule, from its own code.

    Parameters
    ----------
    name : str
    benchmark : str
        Its key in `datasets.benchmarks`.
    source : str
        Repository, commit, file and line.
    convention : Convention
    prepare : str
        What a user puts into the file, in one or two sentences.
    parts : tuple of Part
    trials : Given, Seeded or Exact
    shots : tuple of int
        Images that a trial can have of each cell; the first is the default.
    needs : tuple of str
        Columns of the labels besides identity and camera.
    cameras : tuple of int
        The numbers that cameras can have, if parts or columns are made of them.
    columns : str
        A key of `COLUMNS`: what the benchmark makes of other columns.
    sides : dict of str to str
        Side to further words for it in the names of a file's arrays: text for queries.
    tracks : bool
        Whether the gallery's rows are tracks: images of one identity, camera and `video` are one,
        at the least of their distances.
    average : str
        "trials": the mean of the trials' means; "pooled": the mean over the queries of all.
    counts : dict of str to (int, int)
        Queries and gallery images of the whole benchmark, by part; without images labelled -1
        if these are not ranked.
    note : str
        What papers do under this name, and what no recording holds.
    boxes : BoxRule, optional
        Of person search: how detections become ranks.
    means : dict of str to tuple of str
        Means over parts that the benchmark prints, each with its parts.
    later : Later, optional
        The protocol whose number is printed below this one's.
    save : str
        Markdown: the lines that save the file in the benchmark's usual repository.
    held : Held
        The recorded answers that hold it.
    """

    name: str
    benchmark: str
    source: str
    convention: Convention
    prepare: str
    parts: tuple[Part, ...] = (Part(),)
    trials: Trials = Given()
    shots: tuple[int, ...] = (1,)
    needs: tuple[str, ...] = ()
    cameras: tuple[int, ...] = ()
    columns: str = ""
    sides: Mapping[str, str] = field(default_factory=dict)
    tracks: bool = False
    average: str = "trials"
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    note: str = ""
    boxes: BoxRule | None = None
    means: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    later: Later | None = None
    save: str = field(default="", repr=False)
    held: Held = Held()

    def __post_init__(self) -> None:
        for name in (self.name, *(part.name for part in self.parts)):
            check_name(name)
        for shots in self.shots:
            check_count(shots, "shots")
        check_choice(self.average, "average", ("trials", "pooled"))
        for part in self.parts if isinstance(self.trials, Exact) else ():
            convention = self.convention_of(part)
            choices = {"ignored": (), "ap": "step", "unmatched": "drop", "cmc": "first-match"}
            for choice, value in choices.items():
                if getattr(convention, choice) != value:
                    raise InputError("convention", f"{choice} {choice_text(value)} for an "
                                     "expectation", choice_text(getattr(convention, choice)))

    @property
    def file_of_trials(self) -> str:
        """The name of the data set's file without which nothing can be evaluated, if any."""
        return self.trials.file if isinstance(self.trials, Given) else ""

    @property
    def reading(self) -> Reading:
        """What `reid_ref.read` needs to know of the protocol."""
        return Reading(self.sides, any(part.query.drawn is False for part in self.parts))

    @property
    def follows(self) -> str:
        """The repository and commit of the code, for signatures."""
        return self.source.partition(",")[0].replace("|", "/")

    def signed(self, part: str, **more: object) -> dict[str, str]:
        """Return the signature's fields of a part; user-defined protocols may follow no code."""
        signed = {"protocol": self.name, "part": part, **more, "follows": self.follows}
        return {name: str(value) for name, value in signed.items() if value != ""}

    def part(self, name: str) -> Part:
        """Return the part of that name."""
        parts = {part.name: part for part in self.parts}
        check_choice(name, "part", parts)
        return parts[name]

    def labelled(self, labels: Labels, side: str) -> Labels:
        """Return the labels of a side with the columns that the protocol makes, checked."""
        if self.cameras:
            camera = cameras_of(labels, f"{self.name} takes images by it")
            if not (fits := np.isin(camera, self.cameras)).all():
                raise InputError(side, f"cameras {min(self.cameras)} to {max(self.cameras)}, as "
                                 f"{self.name} numbers them", camera[~fits].min())
        if self.columns in COLUMNS:
            labels = COLUMNS[self.columns](labels)
        unit = self.trials.unit if isinstance(self.trials, Seeded) else ()
        for column in (*self.needs, *unit):
            column_of(labels, side, column)
        return labels

    def check_cameras(self, parts: Iterable[Part], query: Labels) -> None:
        """Refuse labels without the cameras by which parts ignore images."""
        if any(self.convention_of(part).needs_cameras for part in parts):
            cameras_of(query, f"{self.name} ignores images by it")

    def ranked(self, part: Part, sides: Sides) -> tuple[int, int]:
        """Return how many images ask in a part, and how many are ranked: -1 may be left out."""
        convention = self.convention_of(part)
        query, gallery = (sides[rows.side].identity[rows.of(sides)]
                          for rows in (part.query, part.gallery))
        n_junk = np.count_nonzero(gallery == JUNK) if "label -1" in convention.not_ranked else 0
        return (int(np.count_nonzero(loaded_images(query, convention.loads))),
                len(gallery) - int(n_junk))

    def selects(self, part: Part) -> bool:
        """Return whether a part takes, draws or joins images: whether it is more than a rule."""
        return bool(part.query.where or part.gallery.where or self.tracks
                    or part.query.side != "query" or not isinstance(self.trials, Given))

    def convention_of(self, part: Part) -> Convention:
        """Return the convention of a part."""
        if part.ignored is None:
            return self.convention
        return self.convention.replace(name=f"{self.name}-{part.name}", ignored=part.ignored)
