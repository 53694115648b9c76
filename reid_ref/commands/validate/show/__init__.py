"""A published figure against a result file: what reproduces it, what comes closest."""
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import NamedTuple

from reid_ref.analysis.validate import HOPELESS, Candidate, Closest, Validation
from reid_ref.analysis.validate.candidates import WORDS
from reid_ref.analysis.validate.exchanged import Exchanged
from reid_ref.analysis.validate.search import ACCIDENTS, AROUND, Search
from reid_ref.commands.validate.show.headline import (
    by_variations, check_of, found_words, headline)
from reid_ref.commands.validate.show.figures import protocol_of
from reid_ref.console.answers import OfFiles
from reid_ref.conventions import NAMES
from reid_ref.datasets import FINGERPRINTS
from reid_ref.datasets.benchmarks import BENCHMARKS
from reid_ref.datasets.published import (
    IMPOSSIBLE, Figure, HitCounts, MapBounds, Published, nearest, unit_of)
from reid_ref.text import by_reason, named_rows, row, with_reasons, wrap

#: How many of those that do not reproduce the figure the table shows.
CLOSEST = 3
#: Columns of the names of rows.
INDENT = 11
#: How many variations the screen lists; JSON has all.
MOST = 4


class Printed(NamedTuple):
    """The figure as JSON has it: digits as printed; the rest is null without a paper."""

    Rank_1: Decimal | None
    mAP: Decimal | None
    key: str | None
    protocol: str | None
    part: str | None
    evaluator: str | None
    label_minus_1: str | None
    note: str | None
    others: dict[str, Decimal]


class Possible(NamedTuple):
    """The hits that print as the Rank-1, and the bounds of mAP."""

    Rank_1: tuple[HitCounts, ...]
    mAP: tuple[MapBounds, ...]


@dataclass(frozen=True)
class Validated(OfFiles):
    """Everything found as JSON has it."""

    published: Printed
    reproduced: bool
    candidates: tuple[Candidate, ...]
    left_out: dict[str, str]
    possible: Possible
    swapped: bool
    closest: Closest | None
    exchanged: Exchanged | None
    search: Search | None


class FigureVerdict(NamedTuple):
    """One of several figures, as JSON has it; `dataset` is null if a file was named."""

    name: str
    dataset: str | None
    Rank_1: Decimal | None
    mAP: Decimal | None
    possible: bool
    reproduced: bool
    verdict: str
    search: Search | None


class FigureVerdicts(NamedTuple):
    """Several figures as JSON has them."""

    results: list[FigureVerdict]


def figure_verdict(answer: Validation, name: str, dataset: str | None) -> FigureVerdict:
    """Return what is known of one of several figures."""
    figure = answer.figure
    return FigureVerdict(name, dataset, figure.rank1, figure.mAP, answer.possible,
                         answer.reproduced, verdict_text(answer), answer.search)


def as_lines(pairs: Sequence[FigureVerdict]) -> str:
    """Return one line per figure: its name and benchmark if it has one, and the verdict."""
    rows = [[each.name, each.dataset or "", "/".join(
        "" if value is None else str(value) for value in (each.Rank_1, each.mAP)), each.verdict]
        for each in pairs]
    widths = [max(map(len, column)) for column in zip(*rows)][:-1]
    return "\n".join("  ".join([f"{cell:{width}}" for cell, width in zip(row, widths) if width]
                               + row[-1:]) for row in rows)


def verdict_text(answer: Validation) -> str:
    """Return in a few words what reproduces a figure, or whether it is possible."""
    if answer.candidates:
        how = dict(headline(answer, ()))["answer"]
    elif answer.possible:
        how = WORDS["possible"][answer.verdict].format(
            *(counts.possible_as for counts in answer.hit_counts if counts.possible_as))
        if any(is_coarse(counts, answer.figure) for counts in answer.hit_counts):
            how += "; so few decimals cannot be tested as a count"
    elif answer.figure.over:
        how = f"impossible: {answer.figure.over}, over 100 percent"
    elif {counts.rounding for counts in answer.hit_counts} == {"no"}:
        counted = " or ".join(f"k/{counts.n_query}" for counts in answer.hit_counts)
        how = f"impossible: no {counted} gives this Rank-1"
    else:
        names = " and ".join(name for name in answer.figure.numbers() if name != "mAP")
        how = answer.no_bounds or f"impossible: mAP is out of reach with this {names}"
    return how + "; probably swapped" * (answer.swapped and not answer.candidates)


def as_answer(answer: Validation, paper: Published | None, files: list[str],
              layout: str) -> Validated:
    """Return everything found for JSON."""
    figure, of_paper = answer.figure, {
        name: None if paper is None else getattr(paper, name)
        for name in ("key", "protocol", "part", "evaluator", "label_minus_1", "note")}
    return Validated(
        files, layout, Printed(figure.rank1, figure.mAP, **of_paper, others=dict(figure.others)),
        answer.reproduced, answer.candidates, answer.left_out,
        Possible(answer.hit_counts, answer.bounds), answer.swapped, answer.closest,
        answer.exchanged, answer.search)


def as_table(answer: Validation, given: Iterable[tuple[str, str]], paper: Published | None,
             files: Sequence[str] = (), verbose: bool = False) -> str:
    """Return the report for a terminal of 80 columns: the answer, the input, tables.

    `verbose`: also counts and bounds in full, what was not tried and why, and signatures.
    """
    first = [line for name, text in headline(answer, files) for line in (
        _row(name, text) if name != "check" else [f"{name:{INDENT}}{text}"])]  # to be copied
    lines = [*first, ""] if answer.candidates else []
    lines += named_rows([*given, ("published", f"{answer.figure} percent")], INDENT)
    if paper is not None:
        further = {"protocol": protocol_of(paper), "evaluator": paper.evaluator,
                   "label -1": paper.label_minus_1, "note": paper.note}
        lines += _row("", f"{paper.key}: {paper.source_repo} {paper.source_path}, commit "
                          f"{paper.source_commit[:7]}" + "".join(
                              f"; {name}: {text}" for name, text in further.items() if text))
    lines += _possible(answer) if verbose or not answer.candidates else []
    for match, candidates in groupby(answer.candidates, lambda candidate: candidate.match):
        title = WORDS["matches"][match] + " of the others" * (match == "no" and answer.reproduced)
        lines += ["", title, *_candidates([*candidates], answer.figure, match, verbose)]
    of_features = any(way.features == "normalised" for one in answer.candidates
                      for way in one.ways)
    lines += wrap(WORDS["diff"][of_features]) if answer.candidates else []
    lines += as_search(answer.search, files, verbose) if answer.search is not None else []
    if answer.candidates and not (answer.reproduced or answer.search and answer.search.ways):
        lines += ["", *wrap("It may also be what no file shows: "
                            f"{'; '.join(WORDS['no file shows'])}.")]
    left = answer.left_out | (answer.search.left_out if answer.search else {})
    if left:
        lines += ["", *wrap(f"Not tried: {with_reasons(left)}" if verbose else
                            f"Not tried: {len(left)} ways; --verbose names them.")]
    return "\n".join(lines)


def known_counts(key: str, queries: Sequence[int]) -> str:
    """Return what is known of a benchmark, in the place of a file."""
    of_gallery = "queries" if key not in FINGERPRINTS else (
        f"queries and {FINGERPRINTS[key].counts.gallery:,} gallery images")
    n_query = " or ".join(f"{n:,}" for n in queries)
    return f"no file; {n_query} {of_gallery} of {BENCHMARKS[key].name}, by their known counts"


def _row(name: str, text: str) -> list[str]:
    return row(name, text, INDENT)


def _possible(answer: Validation) -> list[str]:
    figure, over = answer.figure, answer.figure.over
    lines = _row("", f"impossible: {over}, over 100 percent") if over else []
    lines += [line for counts in answer.hit_counts if "Rank-1" not in over
              for line in _row("Rank-1", _hits(counts, figure))]
    if not answer.bounds:
        known = "no bounds: " if not answer.no_bounds.startswith(IMPOSSIBLE) else (
            "not judged: Rank-1 is " * ({each.rounding for each in answer.hit_counts} == {"no"}))
        return [*lines, *_row("mAP", known + answer.no_bounds)]
    given = " and ".join(name for name in figure.numbers() if name != "mAP")
    given = f"with that {given}, " if given else ""
    lines += _row("mAP", f"{given}the mAP that a ranking of these labels can have:")
    for bounds in answer.bounds:
        verdict = {None: "", True: ": possible", False: ": impossible"}[bounds.holds]
        rank1 = f", Rank-1 over {bounds.rank1_queries:,}" * (
            bounds.map_queries != bounds.rank1_queries)
        lines += _row("", f"{bounds.ap} {100 * bounds.low:.2f} to {100 * bounds.high:.2f} over "
                      f"{bounds.map_queries:,} queries{rank1}{verdict}")
    where = ", other camera" if answer.has_cameras else ""
    return [*lines, *_row("", f"(without ties; good images: the query's identity{where})")]


def _hits(counts: HitCounts, figure: Figure) -> str:
    kind = counts.rounding
    if kind != "no":
        kind = "coarse" if is_coarse(counts, figure) else (
            kind if counts.possible_as is None else "padded")
    hits = f"{counts.fewest:,}" + f" to {counts.most:,}" * (counts.fewest != counts.most)
    text: str = WORDS["hits"][kind].format(
        hits=f"{hits} of {counts.n_query:,} queries", n=counts.n_query, nearest=nearest(counts),
        figure=figure.rank1, possible_as=counts.possible_as)
    return text


def is_coarse(counts: HitCounts, figure: Figure) -> bool:
    """Return whether every Rank-1 with so few decimals is a count of so many queries."""
    return figure.rank1 is not None and 100 / counts.n_query <= unit_of(figure.rank1)


def _candidates(candidates: list[Candidate], figure: Figure, match: str,
                verbose: bool) -> Iterator[str]:
    places = 2 + max(-int(printed.as_tuple().exponent) for printed in figure.numbers().values())
    # What shows the same digits shares a row.
    ways: dict[str, dict[str, list[str]]] = {}
    for candidate in candidates:
        shown = "".join(f"{value:9.{min(max(places, 3), 4)}f}" for value in (
            100 * candidate.Rank_1, 100 * candidate.mAP, candidate.difference))
        for ranking, name, _ in candidate.ways:
            ways.setdefault(shown, {}).setdefault(ranking, []).append(name)
    yield f"  {'features':12}{'Rank-1':>9}{'mAP':>9}{'diff':>9}  conventions"
    for shown, names in list(ways.items())[:CLOSEST if match == "no" else None]:
        for ranking, conventions in names.items():
            text = listed(conventions, len(NAMES) if verbose else 3)
            yield from wrap(text, f"  {ranking:12}{shown}  ", " " * 43)


# ---------------------------------------------------------------- what a search found

def as_search(search: Search, files: Sequence[str], verbose: bool = False) -> Iterator[str]:
    """Yield the lines of what was tried, what it is worth, and what prints the figure."""
    share = 1000 * search.by_accident
    often = f"{share:.0f}" if share >= 1 or not share else "less than 1"
    lines = [f"Tried {search.tried:,} ways, {search.different:,} different results. A random "
             f"figure within {AROUND} points is matched by some way in {often} of 1,000 cases."]
    reasons = {*HOPELESS, *WORDS["pointless"].values()}
    lines += [f"Left out: {listed(names, 2)}: {reason}"
              + "; --search tries them." * (reason in reasons)
              for reason, names in by_reason(search.left_out).items()
              if reason in reasons or "not installed" in reason]
    lines += [f"Interrupted; not tried: {listed(search.not_tried)}"] * bool(search.not_tried)
    groups = by_variations(search.ways)
    lines += [WORDS["answers"]["narrow"].format(ACCIDENTS)] * (bool(groups) and not search.tells)
    yield from ["", *(line for text in lines for line in wrap(text))]
    for ways in groups[:len(NAMES) if verbose else MOST] if len(groups) > 1 or verbose or (
            not search.tells and not search.is_alone) else ():
        yield from wrap(f"{'+'.join(ways[0].variations)}: printed {found_words([ways])}",
                        rest="  ")
        yield from [f"  signature: {ways[0].signature}"] * verbose
        yield f"  {check_of(ways[0], files)}"  # not folded, so that it can be copied
    if groups:
        more = f"{len(groups) - MOST} more variations in --json; " * (len(groups) > MOST)
        seen = dict.fromkeys(source for ways in groups[:MOST]
                             for source in ways[0].source.split("; "))
        yield from wrap(f"{more}seen in: {'; '.join(seen)}", rest="  ")


def listed(names: Iterable[str], most: int = 6) -> str:
    """Return the first names, and how many more there are."""
    every = list(names)
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")
