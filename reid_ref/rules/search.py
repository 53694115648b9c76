"""Which rule an evaluator follows, by its answers to several problems.

First the conventions as they are, then one or two of their choices changed, then plain mistakes:
what no convention has.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.foreign.answers import Answer
from reid_ref.foreign.arrays import Arrays
from reid_ref.labels import JUNK
from reid_ref.ranking.roles import columns_of
from reid_ref.rules.candidates import place, rules_of_protocols
from reid_ref.rules.changed import (
    BASES, LONG_CUTS, OTHER_TIES, Axis, axes, axes_of_ap, axis_of_cut, axis_of_junk, combined,
    fewest_changes, in_one_step, words_of_choices)
from reid_ref.rules.mistakes import (
    MISTAKES, OTHERS, Mistake, Walked, mistaken_numbers, mistakes_of_mean, walked)
from reid_ref.rules.numbers import (
    NEARNESS, SINGLE, Mismatch, compared, is_drawn, mismatches, result_of)

#: What is told of one number that no rule gives.
NO_RULE = "which follows no rule that was tried"
Pairs = list[tuple[Arrays, Answer]]
#: With what an evaluator raised.
Asked = list[tuple[Arrays, Answer | str]]


class FoundRule(NamedTuple):
    """The rule that was found: its name, what it does that is not the named rule's, how near, and
    how far its numbers may be off."""

    name: str
    words: str
    level: int
    convention: Convention
    mistakes: tuple[Mistake, ...] = ()
    tolerance: float = 0

    def gives(self, arrays: Arrays, answer: Answer | str) -> bool:
        """Return whether an answer to a problem is this rule's."""
        if isinstance(answer, str):
            return False
        for other in {*self.mistakes} & {*OTHERS}:
            answer = without(answer, other.of)
        return not self._mismatches(arrays, answer)[0]

    def _mismatches(self, arrays: Arrays, answer: Answer) -> tuple[list[Mismatch], int]:
        numbers = mistaken_numbers(arrays, self.convention, self.mistakes) if self.mistakes else (
            result_of(arrays, self.convention)[0])
        return mismatches(answer, numbers, self.tolerance)

    def of(self, pairs: Pairs) -> FoundRule:
        """Return it with how near all of its numbers are to these answers."""
        return self._replace(level=max(self._mismatches(*pair)[1] for pair in pairs))

    def __str__(self) -> str:
        words = f": {self.words}" if self.mistakes else f" ({self.words})" * bool(self.words)
        near = f", {NEARNESS[self.level]}" * (not self.mistakes or self.level > 1)
        return f"{self.name}{words}{near}"


def without(answer: Answer, *numbers: str) -> Answer:
    """Return an answer without CMC, mINP or mAP."""
    fields = {"CMC": ("cmc", "ranks"), "mINP": ("mINP",), "mAP": ("mAP", "ap")}
    gone: dict[str, Any] = {field: None for number in numbers for field in fields[number]}
    return replace(answer, **gone)


def answered(asked: Asked) -> Pairs:
    """Return the problems that an evaluator answered with a number."""
    return [(arrays, answer) for arrays, answer in asked if isinstance(answer, Answer)
            and any(part is not None for part in (answer.mAP, answer.cmc, answer.mINP, answer.ap))]


def rule_of(asked: Asked, claimed: Sequence[Convention], tolerance: float,
            located: Callable[[], Pairs] = list) -> FoundRule | None:
    """Return the rule that gives all of the answers, or None.

    If none does within the tolerance, numbers of single precision are looked for.

    Parameters
    ----------
    asked : list of pairs
    claimed : sequence of Convention
        The rules that it claims, from the first of which mistakes are sought.
    tolerance : float
    located : callable
        Returns the same problems on the cameras of SYSU-MM01, for evaluators that are written for
        these.
    """
    if not (pairs := _in_one_unit(answered(asked))):
        return None
    raised = [arrays for arrays, answer in asked if isinstance(answer, str)]
    for allowed in dict.fromkeys((tolerance, max(tolerance, SINGLE))):
        if found := _but_for_one_choice(claimed, pairs, allowed) or _agreeing(
                named_rules(pairs), pairs, allowed, raised):
            return found
    bases = [*claimed, *(CONVENTIONS[name] for name in BASES if CONVENTIONS[name] not in claimed)]
    if all(arrays.query is arrays.gallery for arrays, _ in pairs):
        bases += [base.replace(ignored=("itself",)) for base in bases]
    near = _by_means(bases, 2, pairs, tolerance)
    return (_changed(near, 2, pairs, tolerance)
            or _but_for_one_choice(
                [CONVENTIONS["sysu-mm01"]], _in_one_unit(located()), tolerance)
            or _mistaken([*(way if way in claimed else in_one_step(way) for way in near[:1]),
                          *claimed, nearest_rule(pairs, tolerance), *([] if near else bases)],
                         pairs, tolerance))


def nearest_rule(pairs: Pairs, tolerance: float,
                 among: Sequence[Convention] | None = None) -> Convention:
    """Return the rule that gives the most numbers of the answers, or else the nearest mAP."""
    ways = among or [way for way in named_rules(pairs) if way.loads == "all images"
                     and way.name == way.base and not is_drawn(way)]
    equal, near = np.zeros(len(ways)), np.zeros(len(ways))
    for arrays, answer in pairs:
        for k, result in enumerate(result_of(arrays, *ways)):
            parts = [*compared(answer, result, tolerance)]
            equal[k] += sum(part.share for part in parts)
            near[k] -= sum(min(1, part.away.max(initial=0)) for part in parts[:1])
    return ways[int(np.argmax(equal if equal.any() else near))] if ways else (
        CONVENTIONS["torchreid-function"])


def named_rules(pairs: Pairs) -> list[Convention]:
    """Return the conventions and rules of protocols that apply to labels, the first to name first.

    Those whose curve is drawn come last.
    """
    ways = sorted([*CONVENTIONS.values(), *(rule for rule, _ in rules_of_protocols().values())],
                  key=place)
    ties = [way.replace(ties=ties) for way in ways for ties in OTHER_TIES
            if way.ties == "gallery-order"] if any(has_ties(arrays) for arrays, _ in pairs) else []
    junk = any(JUNK in labels.identity for arrays, _ in pairs
               for labels in (arrays.query, arrays.gallery))
    # Without label -1 a toolbox and its bare function are the same.
    return sorted((way for way in [*ways, *ties] if pairs and _applies(way, pairs[0][0]) and (
        junk or way.loads == "all images")), key=is_drawn)


def has_ties(arrays: Arrays) -> bool:
    """Whether some images are equally far from a query."""
    rows = np.sort(arrays.distances, axis=1)
    return bool((rows[:, 1:] == rows[:, :-1]).any())


def _in_one_unit(pairs: Pairs) -> Pairs:
    """Return answers with mAP as a share, where it is percent beside shares."""
    if not np.nanmax([0.0, *(answer.mAP or 0.0 for _, answer in pairs)]) > 1.5:
        return pairs
    return [(arrays, replace(answer, mAP=answer.mAP and answer.mAP / 100))
            for arrays, answer in pairs]


def _but_for_one_choice(ways: Sequence[Convention], pairs: Pairs,
                        tolerance: float) -> FoundRule | None:
    return _agreeing(ways, pairs, tolerance) or _changed(
        _by_means([*ways], 1, pairs, tolerance), 1, pairs, tolerance)


def _mistaken(ways: list[Convention], pairs: Pairs, tolerance: float) -> FoundRule | None:
    """Return the first of the rules with a mistake, or the first that gives all numbers but one.
    """
    found = (mistake_of(pairs, FoundRule(way.name, "", 0, way, (), tolerance))
             for way in sorted(dict.fromkeys(ways), key=lambda way: way.cmc != "first-match"))
    others = (_but_for(other, ways[0], tolerance, pairs) for other in OTHERS)
    return next(filter(None, itertools.chain(found, others)), None)


def _but_for(other: Mistake, way: Convention, tolerance: float, pairs: Pairs) -> FoundRule | None:
    """Return the rule without one number, with the rule of this number if it has one; None if it
    has none and the number is seldom wrong, or if another number is wrong."""
    curves = [(arrays, without(answer, "mAP", "mINP")) for arrays, answer in pairs]
    rest = answered([(arrays, without(answer, other.of)) for arrays, answer in pairs])
    found = FoundRule(f"{way.name}, but for its {other.of}", NO_RULE, 0, way, (other,), tolerance)
    if len(rest) < len(pairs) or not all(found.gives(*pair) for pair in pairs):
        return None
    ways = [*combined(way, 1, *axes("unmatched", "junk_match")), *named_rules(pairs)]
    if other.of == "CMC" and (of := _agreeing(ways, curves, tolerance)):
        choices = f" ({of.words})" * bool(of.words)
        return found._replace(words=f"which is that of {of.name}{choices}")
    asked = [pair for pair in pairs if without(pair[1], other.of) != pair[1]]
    right = sum(found._replace(mistakes=()).gives(*pair) for pair in asked)
    return found if 2 * right < len(asked) else None


def _agreeing(ways: Iterable[Convention], pairs: Pairs, tolerance: float,
              raised: Sequence[Arrays] = ()) -> FoundRule | None:
    """Return the first of the conventions that agree with all answers, as one change of its base.

    Those first that have no number where the evaluator raised an exception.
    """
    left = sorted(all_agreeing(ways, pairs, tolerance), key=lambda way: sum(
        not np.isnan(result_of(arrays, way)[0].mAP) for arrays in raised))
    if not left:
        return None
    way = in_one_step(left[0])
    return FoundRule(way.name, words_of_choices(way), 0, way, (), tolerance).of(pairs)


def all_agreeing(ways: Iterable[Convention], pairs: Pairs, tolerance: float) -> list[Convention]:
    """Return the conventions that agree with all answers.

    One under which no query counts has no number that could agree with one.
    """
    left = [way for way in ways if pairs and _applies(way, pairs[0][0])]
    counting = set[str]()
    for arrays, answer in sorted(pairs, key=lambda pair: pair[0].distances.size):
        results = list(zip(left, result_of(arrays, *left) if left else []))
        counting |= {way.name for way, result in results
                     if not np.isnan(result.of_query("mAP")).all()}
        left = [way for way, result in results if not mismatches(answer, result, tolerance)[0]]
    has_ap = any(answer.ap is not None and not np.isnan(answer.ap).all() for _, answer in pairs)
    return [way for way in left if way.name in counting or not has_ap]


def _applies(way: Convention, arrays: Arrays) -> bool:
    """Whether the labels suffice for a convention."""
    one_set = arrays.query is arrays.gallery
    return not (way.needs_lists or way.needs_candidates) and (
        columns_of(way.not_ranked) <= {*arrays.query.columns(), "name"}) and (
        one_set or "itself" not in way.ignored)


# ------------------------------------------------------------------ other choices
def _by_means(bases: list[Convention], most: int, pairs: Pairs,
              tolerance: float) -> list[Convention]:
    """Return conventions with some choices changed that give every mAP, the fewest changes first.

    First what changes AP, by one problem; then where a long list is cut; then what becomes of
    label -1 and of queries without a match.
    """
    means = [(arrays, without(answer, "CMC", "mINP"))
             for arrays, answer in pairs if answer.mAP is not None or answer.ap is not None]
    plain = [pair for pair in means if not np.isnan(pair[1].mAP or 0)][:1]
    long = [pair for pair in means if len(pair[0].gallery) > LONG_CUTS[-1]]
    steps: list[tuple[int, Pairs, Callable[[Convention], list[Axis]]]] = [
        (most, plain, axes_of_ap),
        (1, long or plain, lambda way: [] if way.top_k else [axis_of_cut(LONG_CUTS)]),
        (2, means, lambda way: [*axes("unmatched"), axis_of_junk(way)])]
    left = [*bases, *(base.replace(ties=each) for base in bases for each in OTHER_TIES
                      if any(has_ties(arrays) for arrays, _ in means))]
    for at_once, by, changes in steps:
        left = all_agreeing(fewest_changes((
            each for way in left for each in combined(way, at_once, *changes(way))), most),
            by, tolerance)
    return left


def _changed(left: list[Convention], most: int, pairs: Pairs,
             tolerance: float) -> FoundRule | None:
    """Return one of these that agrees with all answers, with one other choice if need be."""
    return _agreeing(fewest_changes((each for way in left for each in combined(
        way, 1, *axes("cmc", "arithmetic", "junk_match"))), most), pairs, tolerance)


# ------------------------------------------------------------------ mistakes
#: Of what a mistake does nothing where there are fewer queries and images than its number.
_OF_SIZE = ("precision", "recall", "ignored", "CMC", "labels")
#: Of what a mistake is one query's, which need not be many to show it; how many are many.
_MANY = 60
_OF_QUERY = ("precision", "recall", "ignored", "distances", "ties", "identity", "camera")
#: What may be a mistake of mAP alone, or of CMC alone.
_ALONE = ("ignored", "mean", "precision", "recall", "distances", "ties", "labels", "identity",
          "camera")


def mistake_of(pairs: Pairs, rule: FoundRule) -> FoundRule | None:
    """Return a rule with the one mistake that turns its numbers into theirs."""
    walks: dict[tuple[int, frozenset[str]], Walked] = {}

    def walk(arrays: Arrays, way: Convention, keys: frozenset[str]) -> Walked:
        if (key := (id(arrays), keys)) not in walks:
            walks[key] = walked(arrays, way, keys)
        return walks[key]

    def fits(pair: tuple[Arrays, Answer], *mistakes: Mistake) -> bool:
        return not mismatches(pair[1], mistaken_numbers(
            pair[0], rule.convention, mistakes, walk) if mistakes else result_of(
                pair[0], rule.convention)[0], rule.tolerance)[0]
    # Where nothing is wrong, anything would explain it.
    wrong = sorted((pair for pair in pairs if not fits(pair)),
                   key=lambda pair: pair[0].distances.size)
    known = [result_of(arrays, rule.convention)[0] for arrays, _ in wrong]
    if all(np.isnan(each.theirs) for (_, answer), result in zip(wrong, known)
           for each in mismatches(answer, result, rule.tolerance)[0]):
        return None  # any mistake by which no query counts gives NaN
    # Those first that it does not give, but for large ones.
    pairs = sorted(pairs, key=lambda pair: (
        pair[0].distances.size > 20_000, fits(pair), pair[0].distances.size))
    arrays, answer = max(pairs, key=lambda pair: len(pair[0].query))
    tied = any(has_ties(arrays) for arrays, _ in pairs)
    size = min(max(arrays.distances.shape) for arrays, _ in wrong)
    among = [mistake for mistake in MISTAKES if (tied or mistake.of != "ties") and not (
        mistake.of in _OF_SIZE and isinstance(mistake.number, int) and mistake.number >= size)]
    if answer.mAP is not None:
        ap = result_of(arrays, rule.convention)[0].of_query("mAP")
        counted = ap[~np.isnan(ap)]
        among += mistakes_of_mean(counted, answer.mAP, rule.tolerance) if len(counted) else []
    means = wrong[0][0], without(wrong[0][1], "CMC", "mINP")
    right = fits(means)
    for mistake in among:
        if len(means[0].query) > _MANY and mistake.of in _OF_QUERY and not (
                mistake.key.startswith("query ")):
            continue
        may = mistake.of in ("CMC", "mINP") or fits(means, mistake)
        for each in (mistake, *(mistake._replace(alone=of) for of in ("mAP", "CMC")
                                if mistake.of in _ALONE)):
            if (right if each.alone == "CMC" else may) and all(fits(pair, each) for pair in pairs):
                likes = [like.number for like in among if isinstance(like.number, int)
                         and like.kind == each.kind and all(
                             fits(pair, like._replace(alone=each.alone)) for pair in pairs)]
                first, last = ", ".join(map(str, sorted(likes)[:-1])), max(likes, default="")
                span = f"{min(likes)} to {last}" if len(likes) > 3 else f"{first} or {last}"
                words = (each.template.format(span) if len(likes) > 1 else each.words) + (
                    f", in {each.alone} alone" * bool(each.alone))
                return rule._replace(
                    name=f"{rule.convention.name}, but for a mistake", words=words,
                    mistakes=(each._replace(words=words),)).of(pairs)
    return None
