"""`reid-ref ties`: how much the order of equal distances can change the numbers.

Exact and without sampling: images at one distance form a group, a good image of a group can
have any place in it, and groups do not overlap. The expectation is over all orders of each group,
all of them equally likely.

A query labelled -1, whose good images are junk as well, keeps its gallery-order place.

The AP rules that it knows are the trapezoid and the step; `sklearn-*` and grouped ties have
no order, so nothing can move them.
"""
import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reid_ref import metrics
from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.console import options as common
from reid_ref.console.answers import (
    NamedCurve, OfFiles, curves_of, input_of, show_answer, table_of_curves)
from reid_ref.console.request import Request
from reid_ref.conventions import TIES, Convention
from reid_ref.evaluation.engine import summaries, warn_unmatched
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Ranked
from reid_ref.labels import Labels
from reid_ref.measures import RANKS
from reid_ref.ranking.good_ranks import GoodRanks, of_queries
from reid_ref.signature import Signature
from reid_ref.text import named_rows, row, signature_rows, tied_queries_text

#: Rules of which the expectation is known.
RULES = ("trapezoid", "step")


@dataclass(frozen=True)
class TieBounds:
    """mAP and CMC over all orders of equal distances.

    Parameters
    ----------
    best, worst, expected : tuple of float and float64 array, shape (length,)
        mAP and the CMC curve with the good images first in their groups, last, and on average.
    tied : int
        Queries with a good and a wrong image at equal distance.
    signature : Signature
        Everything that could change the numbers, the version last; empty for bare ranks.
    """

    best: tuple[float, Doubles]
    worst: tuple[float, Doubles]
    expected: tuple[float, Doubles]
    tied: int
    signature: Signature = Signature({})


def tie_bounds_of(ranked: Ranked, query: Labels, gallery: Labels, how: How) -> TieBounds:
    """Return the bounds of what is ranked, under the single convention of `how`.

    Examples
    --------
    >>> from reid_ref.evaluation.ranked import Distances
    >>> bounds = tie_bounds_of(Distances(np.zeros((1, 2))), Labels([7], [1]),
    ...                        Labels([7, 8], [2, 2]), How())
    >>> bounds.worst[0], bounds.best[0], bounds.signature["ties"]
    (0.25, 1.0, 'bounds')
    """
    how = ranked.among(how)
    convention, = how.conventions
    check_rule(convention)
    # Any order of ties has the same groups.
    plain = convention.replace(ties="gallery-order")
    ranks = ranked.ranks(query, gallery, replace(how, conventions=(plain,)))
    result, = summaries(replace(ranks, of=lambda _: ranks.of(plain)), query, gallery, how)
    warn_unmatched(result, query, gallery)
    bounds = tie_bounds(of_queries(ranks.of(plain), convention.loaded(query.identity)), convention,
                        len(gallery))
    return replace(bounds, signature=result.signature.changed({"ties": "bounds"}))


def tie_bounds(ranks: GoodRanks, convention: Convention, length: int) -> TieBounds:
    """Return the bounds of mAP and CMC over tie orders, and their expectation.

    Parameters
    ----------
    ranks : GoodRanks
        Of the queries that this convention loads, in any order of ties.
    convention : Convention
        With AP by trapezoid or step, in double, and the CMC of first matches.
    length : int
        Of the CMC curve, in ranks.

    Raises
    ------
    InputError
        A convention whose expectation is not known here.

    Examples
    --------
    One good image tied with one wrong one at the nearest place: AP 1 or 1/4.

    >>> from reid_ref.conventions import CONVENTIONS
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> ranks = replace(from_lists([[1]], n_kept=3), tied=np.array([2]))
    >>> bounds = tie_bounds(ranks, CONVENTIONS["matlab"], length=2)
    >>> bounds.best[0], bounds.worst[0], bounds.expected[0], bounds.expected[1]
    (1.0, 0.25, 0.625, array([0.5, 1. ]))
    """
    check_rule(convention)
    ranks = convention.cut_off(convention.in_order(ranks))
    groups, before, hits = metrics.tie_groups(ranks)
    place = ranks.nth - np.repeat(before, hits)  # among the good images of its group
    best = _summary(ranks, ranks.nearer + place, convention, length)
    worst = _summary(ranks, ranks.nearer + ranks.tied - np.repeat(hits, hits) + place, convention,
                     length)
    # How many good images come before a group is known: only places within groups are random.
    nearer, tied = groups.nearer, groups.tied
    ap = metrics.mean_over_good(groups, np.array([
        _expected_sum(*group, rule=convention.ap) for group in zip(nearer, tied, before, hits)]))
    first = before == 0
    curve = np.zeros(length)
    for group in zip(nearer[first], tied[first], hits[first]):
        curve += _expected_match(*group, length=length)
    junk_matches = ranks.first_match[ranks.found == 0]
    curve += metrics.cumulative_matching(junk_matches, length, 1)
    expected = (_mean(ap, ranks, convention),
                metrics.per_query_share(curve, convention.n_in_cmc(ranks.n_good)))
    return TieBounds(best, worst, expected, len(metrics.tied_queries(ranks)))


def check_rule(convention: Convention) -> None:
    """Refuse a convention whose expectation is not known here."""
    if (convention.ap not in RULES or TIES[convention.ties].grouped
            or convention.top_k is not None or not convention.curve.counts
            or convention.arithmetic != "double"):
        raise InputError(
            "convention", got=f"bounds over tie orders are for AP by {' or '.join(RULES)} in "
            f"double, first-match CMC, no cut-off and ordered ties, got {convention.name!r}",
            remedy="use matlab or torchreid")


def _summary(ranks: GoodRanks, rank: Integers, convention: Convention,
             length: int) -> tuple[float, Doubles]:
    """Return mAP and the CMC curve with these ranks of the good images."""
    start = np.cumsum(ranks.found) - ranks.found
    matched = ranks.found > 0
    first = ranks.first_match.copy()
    first[matched] = rank[start[matched]]
    ranks = replace(ranks, rank=rank, first_match=first)
    curve = metrics.cumulative_matching(first, length, convention.n_in_cmc(ranks.n_good))
    return _mean(convention.average_precision(ranks), ranks, convention), curve


def _mean(ap: Doubles, ranks: GoodRanks, convention: Convention) -> float:
    return convention.mean(convention.counted(ap, ranks.n_good))


def _expected_sum(nearer: int, tied: int, before: int, hits: int, rule: str) -> float:
    """Expected n times AP that a group adds: `hits` good among `tied` images after `nearer`.

    At each place of the group the image is good with chance hits/tied; given that, each place
    before it in the group is good with chance (hits-1)/(tied-1).
    """
    place = np.arange(1, tied + 1)
    good_before = before + (place - 1) * ((hits - 1) / (tied - 1) if tied > 1 else 0.0)
    precision = (good_before + 1) / (nearer + place)
    if rule == "trapezoid":
        position = nearer + place - 1
        old = np.ones(tied)
        np.divide(good_before, position, out=old, where=position > 0)
        precision = (old + precision) / 2
    return float(np.sum(precision) * (hits / tied))


def _expected_match(nearer: int, tied: int, hits: int, length: int) -> Doubles:
    """Chance that the first good image has rank k or less, for k = 1 .. length."""
    wrong = tied - hits
    step = np.arange(wrong + 1)
    # All of the first `step` places of the group are wrong.
    missed = np.cumprod(np.concatenate([[1.0], (wrong - step[:-1]) / (tied - step[:-1])]))
    chance = np.zeros(length)
    inside = 1 - np.append(missed[1:], 0.0)
    end = min(length, nearer + len(inside))
    chance[nearer:end] = inside[:max(end - nearer, 0)]
    chance[end:] = 1.0
    return chance if nearer < length else np.zeros(length)


@dataclass(frozen=True)
class TieAnswer(OfFiles):
    """The bounds as JSON has them."""

    convention: str
    tied: int
    results: list[NamedCurve]
    signature: str


def curves_of_bounds(bounds: TieBounds) -> dict[str, tuple[float, Doubles]]:
    return {"worst": bounds.worst, "expected": bounds.expected, "best": bounds.best}


def as_table(bounds: TieBounds, given: Iterable[tuple[str, str]], n_query: int,
             ranks: Sequence[int] = RANKS) -> str:
    """Return worst, expected and best numbers over the orders of ties, in percent."""
    text = [*named_rows(given), ""]
    text += table_of_curves("percent", curves_of_bounds(bounds), ranks,
                            lambda value: f"{100 * value:.4f}")
    text += ["", *row("ties", tied_queries_text(bounds.tied, n_query)),
             *row("expected", "mean over all orders of ties, computed exactly")]
    return "\n".join([*text, "", *signature_rows(str(bounds.signature))])


def add(command: argparse.ArgumentParser) -> None:
    """Print the best, the worst and the expected numbers over all orders of images at equal
    distance, computed exactly.

    Examples:
        reid-ref ties fixtures/ties.mat
        reid-ref ties fixtures/ties.mat --convention torchreid --json

    FILE is any that reid-ref evaluate reads; reid-ref evaluate --set ties=ORDER evaluates one
    order.
    """
    common.add_files(command)
    Request.add(command, "--convention", "--set", "--metric", "--normalize", "--index-lists",
                "--ranks", "--cmc", formats=("table", "json"))


def run(request: Request) -> None:
    length, ranks = common.cmc_length(request), request.ranks or RANKS
    convention = common.one_convention(request)
    how = common.how(request, [convention])
    data = common.read_files(request)
    with common.progress_bar(len(data.query)) as bar:
        bounds = tie_bounds_of(data.input, data.query, data.gallery, common.with_bar(how, bar))
    show_answer(request.format, table=lambda: as_table(
                    bounds, input_of(request.files, data), len(data.query), ranks),
                json=lambda: TieAnswer(
                    request.files, data.layout, convention.name, bounds.tied,
                    curves_of(curves_of_bounds(bounds), length), str(bounds.signature)))
