"""What a search found, as text: its worth first, what no file can show last."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import groupby

from reid_ref.analysis.validate.search import ACCIDENTS, AROUND, FoundWay, Search
from reid_ref.conventions import CONVENTIONS
from reid_ref.datasets.published import Figure
from reid_ref.text import with_reasons, wrap

#: How many variations the screen lists; JSON has all.
MOST = 8
#: What changes a number and is in no file of features, with sizes where a thread has one.
NOT_IN_A_FILE = (
    "MSMT17 V1 or V2, whose lists are the same but whose faces are blurred in V2 (1.7 points of "
    "mAP: PASS-reID #1; also MMT #24, torchreid #349)",
    "single or half precision and the GPU that the network was trained on (61 or 58 mAP: "
    "TransReID #30)",
    "features before or after the BN neck (reid-strong-baseline #165, fast-reid #231)",
    "mirror images added to the features", "the size of the images (CLIP-ReID #10)",
    "another checkpoint")


def as_search(search: Search, figure: Figure, files: Sequence[str]) -> Iterator[str]:
    """Yield the lines of what was tried, what it is worth, and what prints the figure."""
    yield ""
    yield from wrap(f"Searched: {worth(search)}")
    if search.not_tried:
        yield from wrap(f"Interrupted; not tried: {listed(search.not_tried)}")
    groups = [sorted(ways, key=_is_another_s) for _, ways in groupby(
        search.ways, lambda way: way.variations)]
    if not groups:
        yield from wrap("None of these ways prints the figure.")
    elif not search.tells:
        yield from wrap(
            f"So many would that no cause is named: above {ACCIDENTS:.0%} of accidents only a "
            "list stands here. More decimals, or more numbers (--published "
            "Rank-1=...,mAP=...,Rank-5=...), narrow it.")
    for ways in groups[:MOST]:
        yield from _of_variation(ways, figure, files, search.tells)
    if len(groups) > MOST:
        yield from wrap(f"and {len(groups) - MOST} more variations, which --json lists")
    if len(groups) > 1:
        yield ""
        yield from wrap("Each of them prints the figure; none is known to be the cause.")
    yield ""
    if search.left_out:
        yield from wrap(f"Not tried: {with_reasons(search.left_out)}")
    yield from wrap(f"No file shows: {'; '.join(NOT_IN_A_FILE)}.")


def _is_another_s(way: FoundWay) -> bool:
    """Whether a way re-ranks as another toolbox than the one whose convention it has."""
    record = CONVENTIONS.get(way.convention)
    own = record.reranking if record else None
    return own is None or f"reranked-{own.variant}" not in way.variations


def worth(search: Search) -> str:
    """Return how many ways were tried, and how often accident meets such a figure."""
    share = 100 * search.by_accident
    often = f"{share:.1f}" if share >= .1 or not share else "less than 0.1"
    return (f"{search.tried:,} ways, {search.different:,} different results. Of figures with "
            f"these decimals within {AROUND} points, {often} percent are printed by some way by "
            "accident.")


def in_words(way: FoundWay, figure: Figure) -> str:
    """Return the sentence that a reader wants."""
    return (f"{pair(figure)} is what {way.convention} prints of "
            f"{'these distances' if way.features == 'distances' else 'these features'} "
            f"{way.words}")


def figure_text(rank1: Decimal | None, mAP: Decimal | None) -> str:
    return "/".join("" if value is None else str(value) for value in (rank1, mAP))


def pair(figure: Figure) -> str:
    """Return a figure as it was printed."""
    two = figure_text(figure.rank1, figure.mAP)
    others = [f"{name} {value}" for name, value in figure.others]
    return ", ".join(([] if two == "/" else [two]) + others)


def listed(names: Iterable[str], most: int = 6) -> str:
    """Return the first names, and how many more there are."""
    every = list(names)
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")


def _of_variation(ways: list[FoundWay], figure: Figure, files: Sequence[str],
                  tells: bool) -> Iterator[str]:
    first = ways[0]
    title = in_words(first, figure) if tells else (
        f"{'+'.join(first.variations)}: {first.convention}, {first.words}")
    others = dict.fromkeys(way.convention for way in ways if way.convention != first.convention)
    yield ""
    yield from wrap(title + (f" (also: {listed(others)})" if others else "") + ".", rest="  ")
    if first.features not in ("distances", "ranked lists"):
        features = dict.fromkeys(way.features for way in ways)
        yield from wrap(f"  ranked by: {', '.join(features)}", rest="    ")
    yield from wrap(f"  seen in: {first.source}", rest="    ")
    yield f"  signature: {first.signature}"
    # Not folded, so that it can be copied.
    command = first.options.replace("FILE", " ".join(files), 1)
    yield f"  reid-ref {command}" if command else "  no option of reid-ref does this"
