"""`Convention`: how a toolbox turns distances and labels into numbers, as a frozen record.

Its fields are names of choices; only its methods look up what a choice does.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from reid_ref.arrays import (
    Doubles, InputError, Integers, Mask, Value, check_choice, check_count, check_name)
from reid_ref.conventions.choices import (
    AP, ARITHMETIC, CHOICES, CMC, CMC_LENGTH, CUT, Curve, IGNORED, JUNK_MATCH, LOADS, METRICS,
    RECALL, TIES, UNMATCHED, choice_text, known_values)
from reid_ref.labels import JUNK, Labels
from reid_ref.ranking.good_ranks import GoodRanks, truncate
from reid_ref.ranking.roles import columns_of

#: Rules that ignore images of the query's own camera.
_OF_CAMERA = ("same identity, same camera", "same camera", "same location")


def _differences(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield what each choice changes, empty if nothing."""
    differs = {choice: CHOICES[choice][fields[choice]].differs for choice in CHOICES
               if choice not in ("ignored", "cmc_length")}
    ignored, length = fields["ignored"], fields["cmc_length"]
    yield from (differs["ap"], differs["recall"])
    if fields["top_k"] is not None:
        direction = "lower" if fields["recall"] == "existing" else "either way"
        yield f"Only the first {fields['top_k']} {CUT[fields['cut']].short} are looked at: " \
            f"{direction}"
        yield differs["cut"]
    yield differs["unlisted"]
    if fields["metric"] != "cosine" and not fields["normalize"]:
        yield "Features are ranked as they are, not divided by their 2-norms: either way, if " \
            "norms differ"
    yield differs["loads"]
    if fields["loads"] == "all images" and not {"label -1", "listed as junk"} & set(ignored):
        yield "Label -1 is not ignored but an ordinary wrong answer: lower, unless the gallery " \
            "has none"
    yield from (IGNORED[rule].differs for rule in ignored)
    if not {*_OF_CAMERA, "listed as junk"} & set(ignored):
        yield "Images of the query's identity on its own camera are good: either way, mostly " \
            "higher"
    yield from (differs[choice] for choice in ("unmatched", "ties", "junk_match", "cmc"))
    if not isinstance(length, str):
        yield f"CMC over the first {length} ranks: the same numbers, cut off"
    elif fields["cmc"] != "identities":  # the length of a curve over identities is their number
        yield CMC_LENGTH[length].differs
    yield differs["arithmetic"]


@dataclass(frozen=True, eq=False)
class Reranking(Value):
    """How a toolbox's own test code re-ranks by default.

    Features are normalised if the toolbox's distances are of normalised features.

    Parameters
    ----------
    variant : str
        A key of `reid_ref.reranking.k_reciprocal.VARIANTS`.
    k1, k2 : int
        Sizes of neighbourhoods, as for `reid_ref.rerank`.
    lambda_ : float
        Weight of the original distance, 0 to 1.
    source : str
        File and line.
    """

    variant: str
    k1: int = 20
    k2: int = 6
    lambda_: float = 0.3
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("variant", "source"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"reranking: {name}", "text", repr(getattr(self, name)))
        for name in ("k1", "k2"):
            check_count(getattr(self, name), f"reranking: {name}")
        if not (isinstance(self.lambda_, (int, float)) and 0 <= self.lambda_ <= 1):
            raise InputError("reranking: lambda", "a number from 0 to 1", repr(self.lambda_))

    def __str__(self) -> str:
        return f"{self.variant}, k1 {self.k1}, k2 {self.k2}, lambda {self.lambda_}"


@dataclass(frozen=True)
class Convention:
    """How a toolbox turns distances and labels into numbers: its loader and its evaluator.

    Parameters
    ----------
    name : str
        One line without ``|``, for it is in signatures.
    source : str
        Repository, commit and file of the evaluator.
    also : tuple of str
        Its other names, with the source of each toolbox that has the same code.
    oddities : tuple of str
        Differences from `matlab` that no choice describes, with the direction of the effect.
    loads : str
        A key of `LOADS`: the images that the toolbox's loader passes on.
    loader : str
        File and line of the loader, if it leaves images out.
    ignored : tuple of str
        Keys of `IGNORED`.
    ap : str
        A key of `AP`.
    recall : str
        A key of `RECALL`.
    top_k : int, optional
        Only the first `top_k` images count: kept ones, or as `cut` has it.
    cut : str
        A key of `CUT`: what `top_k` counts.
    unlisted : str
        A key of `UNLISTED`: what a good image beyond the end of a ranked list is.
    unmatched, ties, junk_match, cmc, arithmetic : str
        Keys of `UNMATCHED`, `TIES`, `JUNK_MATCH`, `CMC`, `ARITHMETIC`.
    cmc_length : str or int
        A key of `CMC_LENGTH`, or a number of ranks (fewer if the gallery is smaller).
    base : str
        The name of the record that `replace` started from; its own name otherwise.
    metric : str
        The toolbox's default distance between features, a key of `reid_ref.distances.METRICS`;
        for features alone, and if no other is given.
    normalize : bool
        Whether the toolbox divides features by their 2-norm by default.
    measure : str
        File and line of these defaults.
    reranking : Reranking, optional
        The toolbox's own re-ranking, or its fields by name. None: it has none.
    queries_first : bool
        Whether the toolbox ranks the queries before its gallery images; a gallery that does not
        begin with them is refused.

    Raises
    ------
    InputError
        An unknown choice (the known ones are listed), or choices that do not go together.

    Examples
    --------
    >>> from reid_ref.conventions import CONVENTIONS
    >>> CONVENTIONS["torchreid"].ap, CONVENTIONS["torchreid"].loads
    ('step', 'without label -1')
    >>> CONVENTIONS["torchreid-function"].loads
    'all images'
    >>> mine = CONVENTIONS["torchreid"].replace(name="mine", ties="reversed")
    >>> mine.ties, mine.base
    ('reversed', 'torchreid')
    """

    name: str
    source: str = field(repr=False)
    also: tuple[str, ...] = field(default=(), repr=False)
    oddities: tuple[str, ...] = field(default=(), repr=False)
    loads: str = "all images"
    loader: str = field(default="", repr=False)
    ignored: tuple[str, ...] = ("label -1", "same identity, same camera")
    ap: str = "trapezoid"
    recall: str = "existing"
    top_k: int | None = None
    cut: str = "after-ignoring"
    unlisted: str = "unknown"
    unmatched: str = "zero"
    ties: str = "gallery-order"
    junk_match: str = "raises-cmc"
    cmc: str = "first-match"
    cmc_length: str | int = "gallery"
    arithmetic: str = "double"
    base: str = field(default="", repr=False, compare=False)
    # How features become distances is no part of what happens to given distances.
    metric: str = field(default="euclidean", compare=False)
    normalize: bool = field(default=True, compare=False)
    measure: str = field(default="", repr=False, compare=False)
    reranking: Reranking | None = field(default=None, repr=False, compare=False)
    queries_first: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        for name in ("also", "oddities", "ignored"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "base", self.base or self.name)
        for choice in CHOICES:
            if choice not in ("ignored", "cmc_length"):
                value = getattr(self, choice)
                check_choice(value, choice, known_values(choice, value))
        check_choice(self.metric, "metric", METRICS)
        if isinstance(self.reranking, Mapping):
            object.__setattr__(self, "reranking", Reranking(**{
                "lambda_" if key == "lambda" else key: value
                for key, value in self.reranking.items()}))
        for name in ("normalize", "queries_first"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(name, "true or false", repr(getattr(self, name)))
        for rule in self.ignored:
            check_choice(rule, "ignored", IGNORED)
        if isinstance(self.cmc_length, str):
            check_choice(self.cmc_length, "cmc_length", CMC_LENGTH)
        else:
            check_count(self.cmc_length, "cmc_length")
        _check_together(self)

    @property
    def differences(self) -> tuple[str, ...]:
        """The differences from `matlab`, numbered, with the direction of the effect."""
        texts = [*filter(None, _differences(vars(self))), *self.oddities]
        return tuple(f"{k}. {text}." for k, text in enumerate(texts, 1))

    @property
    def needs_lists(self) -> bool:
        """Whether good and junk images come from lists."""
        return "listed as junk" in self.ignored

    @property
    def needs_cameras(self) -> bool:
        """Whether images are ignored by their camera, or by their location."""
        return "camera" in columns_of((*self.ignored, *self.curve.also_ignored))

    @property
    def needs_candidates(self) -> bool:
        """Whether only the candidates of each query are ranked."""
        return "not a candidate" in self.ignored

    def without_cameras(self) -> Convention:
        """Return it without the rules that look at cameras."""
        kept = tuple(rule for rule in self.ignored if "camera" not in columns_of([rule]))
        return self if kept == self.ignored else self.replace(ignored=kept)

    def check_cameras(self, query: Labels, gallery: Labels) -> None:
        """Refuse labels without the cameras that it looks at; the message says how to do without.
        """
        if self.needs_cameras and (query.camera is None or gallery.camera is None):
            choices = ",".join(f"{name}={choice_text(value)}" for name, value in
                               self.choices_without_cameras(gallery).items())
            option = f'"{choices}"' if " " in choices else choices
            raise InputError(
                "camera", got=f"none given: evaluate with {choices} (--set {option}); "
                f"{self.base} ignores images by camera", remedy="or give Labels(identity, "
                "camera), or query_camera and gallery_camera")

    def check_gallery(self, query: Labels, gallery: Labels) -> None:
        """Refuse a gallery that does not begin with the queries if the toolbox ranks them too."""
        if not self.queries_first:
            return
        first = gallery[:len(query)].columns()
        if any(not np.array_equal(first.get(name, ()), values)
               for name, values in query.columns().items() if name in ("identity", "camera")):
            raise InputError(
                "gallery", f"the queries first: {self.name} ranks its queries too",
                "one that does not begin with the queries", "put the queries, features and "
                "labels, before it; --convention TransReID ranks it as it is")

    def choices_without_cameras(self, gallery: Labels) -> dict[str, Any]:
        """Return the choices by which it looks at no camera, and otherwise counts as before.

        Examples
        --------
        >>> from reid_ref.conventions import CONVENTIONS
        >>> CONVENTIONS["matlab"].choices_without_cameras(Labels([7, -1]))
        {'ignored': ('label -1',)}
        """
        has_junk = bool((gallery.identity == JUNK).any())
        rules = tuple(rule for rule in self.without_cameras().ignored
                      if rule != "label -1" or has_junk)
        return {"ignored": rules} | ({"cmc": "first-match"} if self.curve.also_ignored else {})

    @property
    def needs_rows(self) -> bool:
        """Whether whole rows of distances are needed, not only the ranks of good images."""
        return self.curve.of_rows is not None or TIES[self.ties].sorts

    @property
    def not_ranked(self) -> tuple[str, ...]:
        """Keys of `IGNORED`: the images of no ranked list, ignored or not loaded."""
        if self.loads == "all images" or "label -1" in self.ignored:
            return self.ignored
        return ("label -1", *self.ignored)

    @property
    def curve(self) -> Curve:
        """What the CMC curve counts."""
        return CMC[self.cmc]

    @property
    def average_precision(self) -> Callable[[GoodRanks], Doubles]:
        """AP of each query, in this arithmetic and with these ties."""
        rule = AP[self.ap]
        special = (rule.float32 if self.arithmetic == "float32" else
                   rule.grouped if TIES[self.ties].grouped else None)
        return special or rule.exact

    def loaded(self, identity: Integers) -> Mask:
        """Return which images the loader passes on: bool, shape of `identity`."""
        return loaded_images(identity, self.loads)

    def in_order(self, ranks: GoodRanks) -> GoodRanks:
        """Return the ranks in this order of ties, with these matches of junk images."""
        matches: GoodRanks = JUNK_MATCH[self.junk_match].apply(TIES[self.ties].order(ranks))
        return matches

    @property
    def of_whole_list(self) -> Convention:
        """The same with every image that is loaded, and may be found, in the list."""
        ignored = tuple(rule for rule in self.ignored if rule == "not a candidate")
        return self.replace(ignored=ignored, top_k=None, cut="after-ignoring")

    @property
    def ranked(self) -> tuple[Convention, ...]:
        """The conventions by which images are ranked for this one: itself, and any further one."""
        return (self,) if self.cut == "after-ignoring" else (self, self.of_whole_list)

    def in_cut_list(self, ranks: GoodRanks, whole: Callable[[], GoodRanks]) -> GoodRanks:
        """Return the ranks, in this order of ties, with those that a cut of the list loses.

        `whole`: returns the ranks under `of_whole_list`. The cut itself is made by `cut_off`.
        """
        marked: GoodRanks = CUT[self.cut].apply(ranks, whole, self.top_k)
        return marked

    def cut_list(self, ranks: GoodRanks) -> GoodRanks:
        """Return the ranks up to `top_k`."""
        return ranks if self.top_k is None else truncate(ranks, self.top_k)

    def cut_off(self, ranks: GoodRanks) -> GoodRanks:
        """Return the ranks up to `top_k`, with the good images that recall divides by."""
        cut = self.cut_list(ranks)
        n_good = RECALL[self.recall].apply(ranks.n_good, cut.found, self.top_k)
        return cut if n_good is ranks.n_good else replace(cut, n_good=n_good)

    def answered(self, ranks: GoodRanks, length: Integers) -> GoodRanks:
        """Return the ranks that count, of ranked lists of these lengths."""
        return UNMATCHED[self.unmatched].answered(ranks, length)

    def counted(self, values: Doubles, n_good: Integers, matched: Mask | None = None) -> Doubles:
        """Return the values of AP or INP in the mean, given each query's number of good images.

        `matched`: which queries have a match, if not all that have a good image.
        """
        return UNMATCHED[self.unmatched].counted(
            values, n_good, n_good > 0 if matched is None else matched)

    def mean(self, counted: Doubles) -> float:
        """Return the mean of AP or INP, in this arithmetic."""
        return ARITHMETIC[self.arithmetic].mean(counted)

    def n_in_cmc(self, n_good: Integers) -> int:
        """Return how many queries CMC divides by."""
        return len(n_good) if UNMATCHED[self.unmatched].in_cmc else int(np.count_nonzero(n_good))

    def curve_of_ranks(self, ranks: GoodRanks, length: int) -> Doubles:
        """Return the CMC curve of these ranks, if the curve needs no whole rows."""
        n_query = self.n_in_cmc(ranks.n_good)
        curve = self.curve.curve(ranks, length, n_query)
        return (ARITHMETIC[self.arithmetic].curve(curve, n_query) if self.curve.counts else curve)

    def curve_length(self, identity: Integers, n_kept: Integers | None = None) -> int:
        """Return where the CMC curve ends, of a loaded gallery with these identities."""
        if not isinstance(self.cmc_length, str):
            return min(int(self.cmc_length), len(identity))
        length = "identities" if self.cmc == "identities" else self.cmc_length
        return int(CMC_LENGTH[length].apply(identity, n_kept))

    def replace(self, **changes: Any) -> Convention:
        """Return this convention with other choices; its name, if not given, lists them."""
        if unknown := [key for key in changes if key not in self.__dataclass_fields__]:
            check_choice(unknown[0], "replace", self.__dataclass_fields__)
        words = ",".join(f"{key}={choice_text(value)}" for key, value in changes.items()
                         if key not in NO_CHOICES)
        name = f"{self.name}[{words}]" if words else self.name
        return replace(self, **{"name": name, **changes})


#: Fields that do not change the numbers.
NO_CHOICES = ("name", "source", "also", "oddities", "loader", "base", "metric", "normalize",
              "measure", "reranking", "queries_first")


def loaded_images(identity: Integers, loads: str) -> Mask:
    """Return which images a loader of that kind passes on: bool, shape of `identity`."""
    mask: Mask = LOADS[loads].apply(identity)
    return mask


def _check_together(convention: Convention) -> None:
    """Refuse choices that cannot be combined with lists, a cut list, float32 or grouped ties."""
    curve, lists, cut = convention.curve, convention.needs_lists, convention.top_k is not None
    before = convention.cut != "after-ignoring"
    grouped, in_float32 = TIES[convention.ties].grouped, convention.arithmetic == "float32"
    if cut:
        check_count(convention.top_k, "top_k")
    for argument, is_wrong, got, remedy in (
            ("ignored", lists and len(convention.ignored) > 1, "'listed as junk' cannot be "
             "combined, since lists name every ignored image",
             f"got {', '.join(convention.ignored)}"),
            ("cmc", lists and curve.also_ignored, f"{convention.cmc!r} leaves out images by their "
             "camera, 'listed as junk' by lists alone", "choose another of the two"),
            ("loads", lists and convention.loads != "all images", "lists name every ignored "
             f"image, got {convention.loads!r}", "leave it at 'all images'"),
            ("top_k", cut and curve.of_rows, "cuts ranked lists of images, got CMC "
             f"{convention.cmc!r}, which counts identities", ""),
            ("cut", before and not cut, f"{convention.cut!r} is of lists that top_k cuts, got no "
             "top_k", "set it as well"),
            ("cut", before and lists, "lists name good and junk images, not who they show, got "
             f"{convention.cut!r}", "leave it at 'after-ignoring'"),
            ("top_k", cut and grouped, "a list that is cut off needs an order of ties, got ties "
             f"{convention.ties!r}", ""),
            ("ties", grouped and in_float32, "no evaluator in float32 takes equal distances as "
             f"one group, got {convention.ties!r}", "leave arithmetic at 'double'")):
        if is_wrong:
            raise InputError(argument, got=got, remedy=remedy)
    for limit, applies in (("float32", in_float32), ("grouped", grouped)):
        if applies:
            check_choice(convention.ap, "ap in float32" if in_float32 else "ap of grouped ties",
                         [ap for ap, rule in AP.items() if getattr(rule, limit)])
