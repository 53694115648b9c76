"""A published figure against a result file: which convention gives it, and can it be at all?

Aim: given the ranking and the printed digits, name every convention and metric that
reproduces them, show which come closest, and report if no ranking of these labels could.

Conventions: a printed figure is percent and means every number that rounds to it; a tie
counts for both neighbours, because which of them a program prints depends on its rounding rule
and on binary noise. Of features the ranking is judged in three ways: normalised (cosine,
Euclidean and dot then rank alike), Euclidean on raw features, dot on raw features. Cosine on raw
features is the first again.
"""
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from reid_ref.analysis.validate.candidates import (
    TRIAL, WORDS, Effect, Way, best_known, effects_of, faulty_labels, names_by_default,
    quick_conventions, results_of_parts, rules_that_apply)
from reid_ref.analysis.validate.exchanged import COLUMNS, Exchanged, exchanged_numbers
from reid_ref.analysis.validate.search import (
    ACCIDENTS, MANY, MOVED, Search, Trials, run_search, search_pairs, searched, share_near,
    share_of_accidents, value_of)
from reid_ref.arrays import (
    BenchmarkWarning, InputError, UnmatchedWarning, check_count, each_warning_once, warn)
from reid_ref.arrays.value import Value
from reid_ref.conventions import CONVENTIONS, Convention, find_conventions, left_out
from reid_ref.datasets import FINGERPRINTS, good_and_wrong
from reid_ref.datasets.benchmarks import BENCHMARKS, benchmark_named, known_benchmark
from reid_ref.datasets.published import (
    Figure, HitCounts, MapBounds, Published, agreement, counts_of, parse_figure, possible,
    possible_on, unit_of, verdict_of)
from reid_ref.evaluation.engine import by_name, results_of, warn_unmatched
from reid_ref.evaluation.how import How, Progress
from reid_ref.evaluation.result_file import ResultFile, check_result_file
from reid_ref.labels import JUNK, Labels
from reid_ref.protocols import Protocol, evaluate_ranked, find_protocol
from reid_ref.result import Result
from reid_ref.text.plain import Share


#: By the numbers of the figures as texts, because NaN is not equal to itself: what gives them.
Ways = dict[tuple[str, ...], list[Way]]


@dataclass(frozen=True, eq=False)
class Candidate(Value):
    """Numbers that one or several ways to evaluate agree on, to the last bit.

    Parameters
    ----------
    match : {"rounded", "truncated", "another protocol", "no"}
        How the printed digits follow from the numbers, the worse of the two. Of a figure whose
        protocol is known, the same digits by another protocol are no match.
    difference : float
        The larger of the differences to the printed figures, in points of percent.
    Rank_1, mAP : float
        In [0, 1]; mAP may be NaN.
    ways : tuple of Way
        Each has the ranking (a key of `Features.rankings`, or "distances"), the convention and
        the signature.
    others : dict of str to float
        What the figure has besides, by measure.
    """

    match: str
    difference: float
    Rank_1: Share
    mAP: Share
    ways: tuple[Way, ...]
    others: dict[str, float]

    @property
    def is_trial(self) -> bool:
        """Whether it is of single trials of protocols alone, which are near by accident."""
        return all(TRIAL in way.convention for way in self.ways)

    def numbers(self) -> dict[str, float]:
        """Return its numbers by the names of measures."""
        return {"Rank-1": self.Rank_1, "mAP": self.mAP, **self.others}


class Closest(NamedTuple):
    """The convention near a figure that none reproduces, and far nearer than all others.

    Parameters
    ----------
    conventions : tuple of str
        Several where they print the same digits.
    features : tuple of str
        What they rank: keys of `Features.rankings`, or "distances".
    difference, next : float
        Of these and of the nearest other numbers, as `Candidate.difference`.
    accidents : float
        The share of random figures that have some convention as near: drawn evenly from all
        that are within `AROUND` points of the printed one, in Rank-1 and in mAP.
    """

    conventions: tuple[str, ...]
    features: tuple[str, ...]
    difference: float
    next: float
    accidents: float


@dataclass(frozen=True, eq=False)
class Validation(Value):
    """All that is known about a printed figure and a result file, or a benchmark.

    Parameters
    ----------
    figure : Figure
    candidates : tuple of Candidate
        Those that reproduce it first, then by difference; empty if there is no file.
    left_out : dict of str to str
        Conventions that were not tried, with the reason.
    hit_counts : tuple of HitCounts
        Over all queries, and over those with a good image if they are fewer.
    bounds : tuple of MapBounds
        Empty if Rank-1 is impossible, or if bounds are not known.
    no_bounds : str
        Why `bounds` is empty.
    swapped : bool
        mAP is printed above Rank-1, and the two fit the other way round.
    has_cameras : bool
        Without cameras, bounds count every image of the query's identity as good.
    search : Search, optional
        What variations of the file and of the evaluation give; None if none was made.
    labels : str
        What is wrong with the labels, which no evaluation can mend.
    counted : int
        Queries that count in what reproduces the figure; 0 if nothing does.
    effects : tuple of Effect
        Of a figure that is reproduced, the steps from matlab's number to it.
    exchanged : Exchanged, optional
        Of a figure that is not, what prints its numbers under other names.
    """

    figure: Figure
    candidates: tuple[Candidate, ...]
    left_out: dict[str, str]
    hit_counts: tuple[HitCounts, ...]
    bounds: tuple[MapBounds, ...]
    no_bounds: str
    swapped: bool = False
    has_cameras: bool = True
    search: Search | None = None
    effects: tuple[Effect, ...] = ()
    labels: str = ""
    counted: int = 0
    exchanged: Exchanged | None = None

    @property
    def reproduced(self) -> bool:
        """Some convention gives the printed digits, rounded."""
        return any(candidate.match == "rounded" for candidate in self.candidates)

    @property
    def by_accident(self) -> float:
        """The share of random figures that some convention prints, as `Search.by_accident`."""
        return self.accidents_of(self.figure.numbers())

    def accidents_of(self, printed: Mapping[str, Decimal]) -> float:
        """Return the share of some of the figure's numbers."""
        points = [[one.numbers()[name] for name in printed] for one in self.candidates]
        return share_of_accidents(np.array(points).reshape(-1, len(printed)), printed,
                                  self.query_counts)

    @property
    def query_counts(self) -> list[int]:
        """The numbers of queries that Rank-k may be over."""
        return [counts.n_query for counts in self.hit_counts] or [1]

    @property
    def settled(self) -> bool:
        """Nothing is left to search: reproduced, and not by accident; or nearly; or under other
        names; or over 100.
        """
        return (self.reproduced and self.by_accident <= ACCIDENTS or self.closest is not None
                or self.exchanged is not None or bool(self.figure.over))

    @property
    def best(self) -> Way | None:
        """Of the ways that print the figure, or else are nearest, the one to name."""
        closest, first = self.closest, self.candidates[:1]
        ways = [way for one in self.candidates for way in one.ways
                if one in first or one.match == first[0].match != "no" or closest is not None
                and way.convention in closest.conventions and way.features in closest.features]
        return best_known(ways) if ways else None

    @property
    def alone(self) -> dict[str, Candidate]:
        """Of several numbers, each that a toolbox prints without the others: the nearest.

        None where one is `MOVED` away in all of them. It is told where the others are within a
        point, or accidents are not many.
        """
        printed, off = self.figure.numbers(), [one.difference for one in self.candidates]
        if self.reproduced or len(printed) < 2 or min(off, default=0) <= MOVED:
            return {}
        return {name: one for name, digits in printed.items() for one in self.candidates[::-1]
                if (one.difference < 1 or self.accidents_of({name: digits}) <= MANY)
                and agreement(one.numbers()[name], digits) == "rounded"
                and any(names_by_default(way.convention, way.features) for way in one.ways)}

    @property
    def closest(self) -> Closest | None:
        """The convention that is by far the closest, if none gives the printed digits."""
        return by_far_the_closest(self.figure, self.candidates)

    @property
    def possible(self) -> bool:
        """Some ranking of these labels prints the figure: rounded, cut off or with zeros added."""
        return self.verdict != "no"

    @property
    def verdict(self) -> str:
        """How it does: one of `reid_ref.datasets.published.ROUNDINGS`."""
        return verdict_of(self.figure, self.hit_counts, self.bounds, self.no_bounds)


def warn_other_queries(row: Published, n_query: int) -> None:
    """Warn where a row of the built-in table is over another number of queries than a file."""
    if row.n_query and int(row.n_query) != n_query:
        warn(f"{row.key} is over {int(row.n_query):,} queries of {row.dataset}, this file "
             f"has {n_query:,}: it is not the same test set", BenchmarkWarning)


def check_same_images(row: Published, dataset: str) -> None:
    """Refuse a row of the built-in table that is not over the queries of a benchmark."""
    benchmark, n_query = FINGERPRINTS[dataset], FINGERPRINTS[dataset].counts.query
    if (not dataset.startswith(benchmark_named(row.dataset) or row.dataset)
            or row.n_query not in ("", str(n_query))):
        raise InputError("--dataset, --paper", f"a figure over the {n_query:,} queries of "
                         f"{benchmark.name}", f"{row.key}, over "
                         + (f"{int(row.n_query):,} of " if row.n_query else "") + row.dataset)


def validate_dataset(dataset: str, figure: Figure, n_query: int | None = None) -> Validation:
    """Return whether any ranking of a benchmark's images has the printed figure.

    `dataset` is the name of a benchmark, in any spelling. Without its good images on record, its
    number of queries answers, or `n_query` where that is not known.
    """
    key, other = known_benchmark(dataset), _other_way_round(figure)
    queries = queries_of(key, n_query)
    answer = Validation(figure, (), {}, *possible_on(figure, key, queries))
    # With one good image per query mAP is never below Rank-1.
    return replace(answer, swapped=other is not None and key in FINGERPRINTS
                   and good_and_wrong(key)[0].mean() >= 2
                   and Validation(other, (), {}, *possible_on(other, key, queries)).possible)


def queries_of(key: str, n_query: int | None = None) -> tuple[int, ...]:
    """Return over how many queries Rank-k is counted on a benchmark: `n_query` if unknown."""
    queries, name = counts_of(key), BENCHMARKS[key].name
    if queries and n_query is not None:
        raise InputError("--queries", f"none for {name}, whose number of queries is on record",
                         f"{n_query:,}")
    if not queries and n_query is None:
        raise InputError("dataset", "a benchmark whose number of queries is on record, the same "
                         "in every protocol", name, "--queries N says it")
    return queries if n_query is None else (n_query,)


def _other_way_round(figure: Figure) -> Figure | None:
    """Return Rank-1 and mAP exchanged, where the mAP printed is above the Rank-1."""
    if figure.rank1 is None or figure.mAP is None or figure.mAP <= figure.rank1:
        return None
    return Figure(figure.mAP, figure.rank1, figure.others)


def validate_file(data: ResultFile, figures: Sequence[Figure],
                  conventions: Iterable[str | Convention] | None = None, *,
                  label_minus_1: str = "", protocol: str = "", max_memory: int | str | None = None,
                  progress: Progress | None = None) -> list[Validation]:
    """Compare printed figures with every convention and metric, and with what is possible.

    The file is evaluated once. Without `conventions`, all are tried but those in
    `reid_ref.conventions.NOT_IN_ALL`, and the bare functions where an image is labelled -1.
    `label_minus_1`, a column of the built-in table: whether the code that made the figure loaded
    such images; with "not loaded", what ranks them is left out. Bounds count them where a
    convention ranks them. `protocol`, another one, is the convention that the figure is by: the
    same digits by others are no match.

    Examples
    --------
    >>> from reid_ref.datasets.published import parse_figure
    >>> from reid_ref.files import ResultFile
    >>> from reid_ref.labels import Labels
    >>> data = ResultFile("made", Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3]), None, None,
    ...                   np.array([[.1, .2, .3]]), {})
    >>> found, = validate_file(data, [parse_figure("100/83.3")], ["matlab", "torchreid"])
    >>> found.reproduced, [way[1] for way in found.candidates[0].ways]
    (True, ['torchreid'])
    """
    query, gallery = data.query, data.gallery
    parts: Callable[..., Any] = results_of_parts if conventions is None else lambda data, how: ()
    not_tried = _left_out(query, gallery, label_minus_1) if conventions is None else {}
    if conventions is None:
        conventions = [*(name for name in CONVENTIONS if name not in not_tried),
                       *rules_that_apply(query)]
    how = How(tuple(find_conventions(conventions)), max_memory=max_memory, progress=progress)
    if label_minus_1 == "not loaded":
        query = query[query.identity != JUNK]
    if label_minus_1 == "not loaded" or all("label -1" in rule for rule in how.not_ranked):
        gallery = gallery[gallery.identity != JUNK]
    names, plain, counted = _names(figures), {}, {}
    columns: dict[Way, dict[str, float]] = {}

    def results() -> Iterator[tuple[str, dict[str, Result]]]:
        for ranking, change in data.input.rankings().items():
            part = replace(how, **change)
            plain.update(by_name(results_of(data.input, data.query, data.gallery, part)))
            every = {**plain, **dict(parts(data, part))}
            counted.update({name: result.counted for name, result in every.items()})
            columns.update({Way(ranking, name, ""): {
                measure: value_of(result, measure) for measure in dict.fromkeys(COLUMNS + names)}
                for name, result in every.items() if name in CONVENTIONS})
            yield ranking, every
    numbers = _ways(results(), names)
    answers = []
    for figure in figures:
        candidates = _candidates(numbers, figure, protocol, names)
        other = _other_way_round(figure)
        answer = Validation(figure, candidates, not_tried, *possible(figure, query, gallery),
                            has_cameras=query.camera is not None,
                            labels=faulty_labels(data.query, data.gallery))
        best = answer.best if answer.reproduced else None
        is_far = candidates[0].match == "no" and candidates[0].difference > 2 * MOVED
        swapped = other is not None and not answer.reproduced and (
            _candidates(numbers, other, protocol, names)[0].match == "rounded")
        answers.append(replace(
            answer, swapped=swapped, exchanged=exchanged_numbers(
                figure, columns, answer.query_counts) if is_far and not swapped else None,
            counted=counted[best.convention] if best else 0,
            effects=tuple(effects_of(data, best.convention, best.features)) if best else ()))
    best = answers[0].best if answers else None
    if best is not None and best.convention in plain:
        warn_unmatched(plain[best.convention], data.query, data.gallery)
    return answers


def is_searched(answers: Iterable[Validation], search: bool | None) -> bool:
    """Return whether variations are tried: by default, where some figure is not settled."""
    return search or search is None and not all(answer.settled for answer in answers)


def search_file(data: ResultFile, answers: Sequence[Validation],
                conventions: Sequence[Convention] | None = None, *, depth: int = 1,
                always: bool = False, max_memory: int | str | None = None,
                progress: Progress | None = None, partial: bool = False) -> list[Validation]:
    """Return the answers, with what a search found of those that no convention reproduces.

    `always`: of all of them. What a convention gives by itself is no way. `partial`: Ctrl-C ends
    the search, and what was tried until then is the answer.
    """
    trials = Trials(_names(answer.figure for answer in answers))
    records = quick_conventions(data) if conventions is None else conventions
    with suppress(KeyboardInterrupt) if partial else nullcontext():
        run_search(data, records, trials, depth=depth,
                   hopeless={} if always else hopeless(answers), max_memory=max_memory,
                   progress=progress)
        for answer in answers:
            if always or not answer.settled:
                search_pairs(data, records, trials, answer.figure,
                             answer.candidates[0].difference, max_memory)
    plain = {way: candidate.numbers() for answer in answers for candidate in answer.candidates
             for way in ((way.features, way.convention) for way in candidate.ways)}
    new = trials.other_than(plain)
    return [replace(answer, search=searched(new, answer.figure, answer.query_counts, [
        one.numbers() for one in answer.candidates]))
            if always or not answer.settled else answer for answer in answers]


#: Why kinds of variations are left out of a search.
HOPELESS = WORDS["hopeless"]


def hopeless(answers: Iterable[Validation]) -> dict[str, str]:
    """Return kinds of variations that cannot print any of the figures, with the reason."""
    left = [answer for answer in answers if not answer.settled]
    points_to = {"draws": any(_other_way_round(answer.figure) for answer in left), "batches": any(
        answer.hit_counts and all(hits.rounding == "no" or hits.possible_as
                                  for hits in answer.hit_counts) for answer in left),
                 "shots": any((printed := answer.figure.mAP) is None or any(
                     agreement(one.mAP, printed) == "rounded" for one in answer.candidates)
                              for answer in left)}
    kinds = {kind: why for kind, why in WORDS["pointless"].items() if not points_to[kind]}
    if left and not any(answer.possible for answer in left):
        return kinds | dict.fromkeys(("features", "expansion", "re-ranking"), HOPELESS[0])
    is_below = left and all(answer.figure.mAP is not None and answer.figure.mAP < min(
        (100 * one.mAP for one in answer.candidates if not np.isnan(one.mAP)
         and any(way.features != "dot" for way in one.ways)), default=0) for answer in left)
    return kinds | dict.fromkeys(("expansion", "re-ranking") if is_below else (), HOPELESS[1])


def validate_protocol(data: ResultFile, figure: Figure, protocol: str | Protocol, part: str = "",
                      max_memory: int | str | None = None,
                      progress: Progress | None = None) -> Validation:
    """Compare a printed figure with what its own protocol gives on a file, and with nothing else.

    Without `part`, with each of its parts.

    Raises
    ------
    InputError
        As `evaluate_protocol`; or trials that come with the data set are needed.
    """
    record = find_protocol(protocol)
    if file := record.file_of_trials:
        raise InputError("protocol", f"one that needs no {file}", record.name,
                         f"reid-ref evaluate FILE --protocol "
                         f"{record.name} --trials {file} prints the numbers to compare with")
    how = How(max_memory=max_memory, progress=progress)
    names = _names([figure])
    numbers = _ways(((ranking, {
        f"{record.name}-{name}": result for name, result in evaluate_ranked(
            record, data.input, data.query, data.gallery, replace(how, **change),
            part=part or None).items()})
                    for ranking, change in data.input.rankings().items()), names)
    return Validation(figure, _candidates(numbers, figure, names=names), {
        "all conventions": f"the figure is of protocol {record.name}"}, (), (),
        f"not known for protocol {record.name}")


def _names(figures: Iterable[Figure]) -> tuple[str, ...]:
    """Return the measures of figures: Rank-1 and mAP, then all others."""
    return tuple(dict.fromkeys(["Rank-1", "mAP", *(
        name for figure in figures for name, _ in figure.others)]))


def _ways(results: Iterable[tuple[str, Mapping[str, Result]]], names: tuple[str, ...]) -> Ways:
    """Return which ways give the same numbers, of rankings and their results by convention."""
    numbers: Ways = {}
    # Of queries without a match, the convention that is shown first is told.
    with each_warning_once("", UnmatchedWarning):
        for ranking, by_convention in results:
            for name, result in by_convention.items():
                same = tuple(repr(value_of(result, measure)) for measure in names)
                numbers.setdefault(same, []).append(Way(ranking, name, str(result.signature)))
    return numbers


def _candidates(numbers: Ways, figure: Figure, protocol: str = "",
                names: tuple[str, ...] = ("Rank-1", "mAP")) -> tuple[Candidate, ...]:
    """Return what the ways to evaluate give, the nearest to a figure first."""
    every = [_candidate(dict(zip(names, map(float, values))), tuple(ways), figure)
             for values, ways in numbers.items()]
    every = [replace(one, match="no") if one.is_trial and one.match == "truncated" else one
             for one in every]
    if len(figure.numbers()) == 1:  # which some trial has by accident
        every = [one for one in every if not one.is_trial]
    if protocol:
        own = [(one.Rank_1, one.mAP) for one in every
               if any(way.convention == protocol for way in one.ways)]
        # Toolboxes with the protocol's rule may compute it in another order, or in float32.
        every = [one if one.match == "no" or any(np.allclose(
            (one.Rank_1, one.mAP), pair, rtol=0, atol=1e-6, equal_nan=True) for pair in own)
            else replace(one, match="another protocol") for one in every]
    order = ("rounded", "truncated", "another protocol", "no")

    def place(one: Candidate) -> tuple[int, bool, float, float]:
        """Where the larger difference is as large, the sum; numbers of single precision tie."""
        off = sum(abs(100 * one.numbers()[name] - float(digits))
                  for name, digits in figure.numbers().items())
        return order.index(one.match), one.is_trial, round(one.difference, 3), round(off, 3)
    return tuple(sorted(every, key=place))


def _left_out(query: Labels, gallery: Labels, label_minus_1: str) -> dict[str, str]:
    """Return what is not tried by default, with the reason."""
    reasons = left_out(query, gallery)
    junk = (gallery.identity == JUNK).any() or (query.identity == JUNK).any()
    ranks = {name: WORDS["ranks junk"] for name, convention in CONVENTIONS.items()
             if "label -1" not in convention.not_ranked}
    return {**ranks, **reasons} if junk and label_minus_1 == "not loaded" else reasons


def _candidate(numbers: dict[str, float], ways: tuple[Way, ...], figure: Figure) -> Candidate:
    pairs = [(numbers[name], printed) for name, printed in figure.numbers().items()]
    matches = {agreement(value, printed) for value, printed in pairs}
    match = next(name for name in ("no", "truncated", "rounded") if name in matches)
    differences = [abs(100 * value - float(printed)) for value, printed in pairs]
    return Candidate(match, np.inf if np.isnan(differences).any() else max(differences),
                     numbers["Rank-1"], numbers["mAP"], ways,
                     {name: numbers[name] for name, _ in figure.others})


def by_far_the_closest(figure: Figure, candidates: Sequence[Candidate]) -> Closest | None:
    """Return the one convention within `MOVED` of a figure, if no other is within twice that.

    None if some convention gives the digits.
    """
    ordered = sorted((one for one in candidates if np.isfinite(one.difference)
                      and not one.is_trial), key=lambda one: one.difference)
    matches = {one.match for one in ordered}
    if not ordered or ordered[0].difference > MOVED or matches & {"rounded", "another protocol"}:
        return None
    printed = list(figure.numbers().values())
    points = 100 * np.array([[one.numbers()[name] for name in figure.numbers()]
                             for one in ordered])
    is_same = np.abs(points - points[0]).max(axis=1) < float(max(map(unit_of, printed))) / 2
    nearest, other = ordered[0].difference, ordered[is_same.argmin()].difference
    if is_same.all() or other < 2 * MOVED:
        return None
    ways = [way for one, same in zip(ordered, is_same) if same for way in one.ways]
    names = {way.convention for way in ways}
    return Closest(tuple(sorted(names, key=[*CONVENTIONS, *sorted(names)].index)),
                   tuple(dict.fromkeys(way.features for way in ways)), nearest, other,
                   share_near(points, np.array(printed, dtype=float), nearest))


def validate(data: ResultFile | None = None, published: str = "", *, dataset: str | None = None,
             convention: str | Convention | Iterable[str | Convention] | None = None,
             search: bool | None = None, search_depth: int = 1,
             max_memory: int | str | None = None, progress: Progress | None = None) -> Validation:
    """Compare a printed figure with every convention and metric, and with what is possible.

    Parameters
    ----------
    data : ResultFile, optional
        As for `reid_ref.explain`.
    published : str
        Rank-1 and mAP in percent as printed: "81.1/67.6", "81.1/" or "/67.6"; or numbers by the
        names of measures: "Rank-1=81.1,Rank-5=92.4,mAP=67.6".
    dataset : str, optional
        In the place of `data`, a benchmark whose number of queries is on record, in any spelling:
        its counts give the possible figures, and no convention is tried.
    convention : str or Convention, or several of them, optional
        Default: all that need no more than the file has and are quick.
    search : bool, optional
        Try variations, such as re-ranking or lists without distractors. Default: if no convention
        gives the figure.
    search_depth : int
        1: each variation alone; 2: the pairs of the list as well.
    max_memory : int or str, optional
        As for `reid_ref.evaluate`.
    progress : callable, optional
        As for `reid_ref.evaluate`; for each way to rank features anew.

    Returns
    -------
    Validation
        `reproduced`, `candidates` (the nearest first), `closest` (where none reproduces the
        figure, but one is far nearer than the others), `left_out`, what is possible at all
        (`possible`, `hit_counts`, `bounds`), and `search` (None if none was made): how many ways
        were tried, how often accident meets such a figure, and which ways print it.

    Raises
    ------
    InputError
        A figure that cannot be read, and as `reid_ref.evaluate`.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> data = reid_ref.ResultFile(
    ...     "arrays", reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3]),
    ...     distances=np.array([[.1, .2, .3]]))
    >>> found = reid_ref.validate(data, "100/83.3", convention=["matlab", "torchreid"])
    >>> found.reproduced, [way[1] for way in found.candidates[0].ways]
    (True, ['torchreid'])

    Of 3,368 queries, none of the numbers of hits prints as 89.91:

    >>> reid_ref.validate(dataset="market1501", published="89.91/").possible
    False
    """
    if (data is None) == (dataset is None):
        raise InputError("data, dataset", "one of them", "none" if data is None else "both",
                         "pass what reid_ref.read returns, or dataset=\"market1501\"")
    if data is None and convention is None:
        return validate_dataset(str(dataset), parse_figure(published))
    if data is None:
        raise InputError("convention", "data to evaluate", "dataset alone", "leave it out, or "
                         "pass data")
    if not isinstance(data, ResultFile) or data.ranked is None:  # lists need no distances here
        check_result_file(data)
    chosen = [convention] if isinstance(convention, (str, Convention)) else convention
    figure, records = parse_figure(published), None if chosen is None else find_conventions(chosen)
    check_count(search_depth, "search_depth", 1, 2, "pairs")
    answers = validate_file(data, [figure], records, max_memory=max_memory, progress=progress)
    if is_searched(answers, search):
        answers = search_file(data, answers, records, depth=search_depth, always=bool(search),
                              max_memory=max_memory)
    return answers[0]
