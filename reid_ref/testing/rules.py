"""Which rule an evaluator follows, by its answers to several problems.

First the conventions as they are, then one or two of their choices changed, then plain mistakes:
what no convention has.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.conventions import CHOICES, CONVENTIONS, Convention
from reid_ref.labels import JUNK
from reid_ref.ranking.roles import columns_of
from reid_ref.result import Result
from reid_ref.testing.answers import Answer
from reid_ref.testing.arrays import Arrays
from reid_ref.testing.candidates import place, rules_of_protocols
from reid_ref.testing.judging import LEVELS, differences, is_drawn, result_of
from reid_ref.testing.mistakes import MISTAKES, OTHER_CURVE, Mistake, mistaken_numbers

Pairs = list[tuple[Arrays, Answer]]
#: With what an evaluator raised.
Asked = list[tuple[Arrays, Answer | str]]

#: Conventions from which other rules are one or two choices away.
_BASES = ("torchreid-function", "matlab")
#: How far the mean of a drawn curve may be from its expectation.
_DRAWN = 0.1
#: Where lists are cut: those of every problem, and long ones.
_CUTS, _LONG_CUTS = (5, 10, 20, 50), (100, 200, 500, 1000)


class Rule(NamedTuple):
    """The rule that was found: its name, what it does that is not the named rule's, how near."""

    name: str
    words: str
    level: int
    convention: Convention | None = None
    mistakes: tuple[Mistake, ...] = ()

    @property
    def title(self) -> str:
        """The name, with the mistakes."""
        return f"{self.name}: {self.words}" if self.mistakes else self.name

    def gives(self, arrays: Arrays, answer: Answer, tolerance: float) -> bool:
        """Return whether an answer to a problem is this rule's."""
        if self.convention is None:
            return False
        numbers = mistaken_numbers(arrays, self.convention, self.mistakes) if self.mistakes else (
            result_of(arrays, self.convention)[0])
        return not differences(answer, numbers, tolerance)[0]

    def __str__(self) -> str:
        words = f" ({self.words})" if self.words and not self.mistakes else ""
        return f"{self.title}{words}, {LEVELS[self.level]}"


def answered(asked: Asked) -> Pairs:
    """Return the problems that an evaluator answered."""
    return [(arrays, answer) for arrays, answer in asked if isinstance(answer, Answer)]


def rule_of(asked: Asked, convention: Convention | None, tolerance: float,
            located: Callable[[], Pairs] = list) -> Rule | None:
    """Return the rule that gives all of the answers, or None.

    `convention`: the rule that it claims, from which mistakes are sought. `located`: the same
    problems on the cameras of SYSU-MM01, for evaluators that are written for these.
    """
    if not (pairs := _in_one_unit(answered(asked))):
        return None
    raised = [arrays for arrays, answer in asked if isinstance(answer, str)]
    claimed = [convention] if convention is not None else []
    named = sorted([*CONVENTIONS.values(), *(rule for rule, _ in rules_of_protocols().values())],
                   key=place)
    named = [way for way in named if not is_drawn(way)]
    bases = [*claimed, *(CONVENTIONS[name] for name in _BASES if CONVENTIONS[name] not in claimed)]
    found = _agreeing(claimed, pairs, tolerance) or (
        _changed(_by_means(claimed, 1, pairs, tolerance), 1, pairs, tolerance)
        or _agreeing(named, pairs, tolerance, raised))
    if found is not None:
        return _named(found)
    near = _by_means(bases, 2, pairs, tolerance)
    return (_named(_changed(near, 2, pairs, tolerance) or _of_locations(located(), tolerance))
            or _but_for_the_curve(near, pairs, tolerance)
            or _mistake(pairs, convention or CONVENTIONS["torchreid-function"], tolerance))


def _in_one_unit(pairs: Pairs) -> Pairs:
    """Return answers with mAP as a share, where it is percent beside shares."""
    means = [answer.mAP for _, answer in pairs if answer.mAP is not None]
    if not means or not np.nanmax([0.0, *means]) > 1.5:
        return pairs
    return [(arrays, replace(answer, mAP=None if answer.mAP is None else answer.mAP / 100))
            for arrays, answer in pairs]


def _named(found: tuple[Convention, int] | None) -> Rule | None:
    if found is None:
        return None
    way = _in_one_step(found[0])
    return Rule(way.name, _words(way), found[1], way)


def _of_locations(pairs: Pairs, tolerance: float) -> tuple[Convention, int] | None:
    bases = [CONVENTIONS["sysu-mm01"]]
    return _agreeing(bases, pairs, tolerance) or _changed(
        _by_means(bases, 1, pairs, tolerance), 1, pairs, tolerance)


def _but_for_the_curve(near: list[Convention], pairs: Pairs, tolerance: float) -> Rule | None:
    """Return the first of the rules that give every mAP, with what makes up the CMC."""
    if not near:
        return None
    way = _in_one_step(near[0])
    rule = _mistake(pairs, way, tolerance, [each for each in MISTAKES if each.of == "CMC"])
    return rule or _drawn(way, pairs, tolerance) or Rule(
        f"{way.name}, but for its CMC", "which follows no rule that was tried", 0, way,
        (OTHER_CURVE,))


def _drawn(near: Convention, pairs: Pairs, tolerance: float) -> Rule | None:
    """Return a rule that draws for CMC, if theirs is about what it expects."""
    ways = sorted(filter(is_drawn, CONVENTIONS.values()), key=place)
    for way in _filtered([each for each in ways if each.ap == near.ap], pairs, tolerance)[0]:
        away = [_curve_away(answer, result_of(arrays, way)[0]) for arrays, answer in pairs]
        if max(away) < _DRAWN:
            return Rule(way.name, "its CMC is drawn, and near what is expected", 0, way)
    return None


def _curve_away(answer: Answer, result: Result) -> float:
    """Return how far a curve is from ours, on average."""
    at = answer.at[answer.at <= len(result.cmc)]
    return float(np.abs(np.mean(answer.curve[:len(at)] - result.cmc[at - 1]))) if len(at) else 0.0


def _agreeing(ways: Iterable[Convention], pairs: Pairs, tolerance: float,
              raised: Sequence[Arrays] = ()) -> tuple[Convention, int] | None:
    """Return the first of the conventions that agree with all answers, and how near it is.

    Those first that have no number where the evaluator raised an exception.
    """
    left, level = _filtered(ways, pairs, tolerance)
    if len(left) > 1:
        numbers = [[not np.isnan(result.mAP) for result in result_of(arrays, *left)]
                   for arrays in raised]
        left = [left[k] for k in np.argsort(np.sum(numbers, axis=0), kind="stable")] \
            if numbers else left
    return (left[0], level[left[0].name]) if left else None


def _filtered(ways: Iterable[Convention], pairs: Pairs,
              tolerance: float) -> tuple[list[Convention], dict[str, int]]:
    """Return the conventions that agree with all answers, and how near each is."""
    left = [way for way in ways if pairs and _applies(way, pairs[0][0])]
    level: dict[str, int] = {}
    for arrays, answer in sorted(pairs, key=lambda pair: pair[0].distances.size):
        kept = []
        distinct = {_choices(way): way for way in left}
        results = dict(zip(distinct, result_of(arrays, *distinct.values()) if left else []))
        for way in left:
            found, near = differences(answer, results[_choices(way)], tolerance)
            if not found:
                kept.append(way)
                level[way.name] = max(level.get(way.name, 0), near)
        left = kept
    return left, level


def _choices(way: Convention) -> tuple[Any, ...]:
    """Return what decides the numbers of a convention."""
    return tuple(getattr(way, name) for name in (*CHOICES, "top_k"))


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
    means = [(arrays, replace(answer, cmc=None, ranks=None, mINP=None))
             for arrays, answer in pairs if answer.mAP is not None]
    plain = [pair for pair in means if not np.isnan(pair[1].mAP or 0)][:1]
    long = [pair for pair in means if len(pair[0].gallery) > _LONG_CUTS[-1]]
    steps: list[tuple[Callable[[Convention], Iterable[Convention]], Pairs]] = [
        (lambda base: _combined(base, most, *_of_ap(base)), plain),
        (lambda way: [way, *_combined(way, 1, _of_cut(way, _LONG_CUTS) if not way.top_k else [])],
         long or plain),
        (lambda way: [each for ignored in _of_label(way) for each in (
            ignored, *_each(ignored, "unmatched"))], means)]
    left = bases
    for more, by in steps:
        left = _fewest([each for way in left for each in more(way)], most)
        left = _filtered(left, by, tolerance)[0]
    return left


def _changed(left: list[Convention], most: int, pairs: Pairs,
             tolerance: float) -> tuple[Convention, int] | None:
    """Return one of these that agrees with all answers, with another CMC or precision if need be.
    """
    left = _fewest([each for way in left for each in (
        way, *_each(way, "cmc"), *_each(way, "arithmetic"))], most)
    return _agreeing(left, pairs, tolerance)


def _of_ap(base: Convention) -> Iterator[list[dict[str, Any]]]:
    """Yield the changes of each choice that AP depends on."""
    yield [{"ap": value} for value in CHOICES["ap"]
           if value != base.ap and not value.startswith("sklearn")]
    label = tuple(rule for rule in base.ignored if rule == f"label {JUNK}")
    others = [rule for rule in CHOICES["ignored"] if rule not in (
        "listed as junk", "not a candidate", f"label {JUNK}")]
    # The image itself before its frame, which is the same where each image has its own.
    others.sort(key=lambda rule: rule != "itself")
    yield [{"ignored": rules} for rules in (label, *((*label, rule) for rule in others))
           if rules != base.ignored]
    yield _of_cut(base, _CUTS)


def _of_cut(base: Convention, cuts: Sequence[int]) -> list[dict[str, Any]]:
    """Return the changes by which a list is cut."""
    return [{"top_k": cut, "recall": recall} if recall != base.recall else {"top_k": cut}
            for cut in cuts for recall in CHOICES["recall"]] + [
        {"top_k": cut, "recall": "found", "cut": "before-ignoring"} for cut in cuts]


def _of_label(way: Convention) -> Iterator[Convention]:
    """Yield a convention, and then with or without label -1 among what is ignored."""
    yield way
    label = f"label {JUNK}"
    rest = tuple(rule for rule in way.ignored if rule != label)
    with suppress(InputError):
        yield way.replace(ignored=rest if label in way.ignored else (label, *rest))


def _combined(base: Convention, most: int,
              *axes: list[dict[str, Any]]) -> Iterator[Convention]:
    """Yield the convention with none or one of the changes, or two of them."""
    yield base
    singles = [change for axis in axes for change in axis]
    doubles = [{**first, **second} for one, other in itertools.combinations(axes, 2)
               for first in one for second in other]
    for change in [*singles, *(doubles if most > 1 else [])]:
        with suppress(InputError):  # choices that do not go together
            yield base.replace(**change)


def _each(base: Convention, choice: str) -> Iterator[Convention]:
    for value in CHOICES[choice]:
        if value != getattr(base, choice):
            with suppress(InputError):
                yield base.replace(**{choice: value})


def _fewest(ways: list[Convention], most: int) -> list[Convention]:
    """Return those with so many changes at most, those with the fewest first."""
    ways = [way for way in ways if _n_changed(way) <= most and not is_drawn(way)]
    return sorted(ways, key=_n_changed)


def _n_changed(way: Convention) -> int:
    base = CONVENTIONS.get(way.base, way)
    return sum(getattr(way, name) != getattr(base, name)
               for name in ("ap", "ignored", "top_k", "cut", "unmatched", "cmc", "arithmetic"))


def _in_one_step(way: Convention) -> Convention:
    """Return a convention as one change of its base, which its name lists."""
    base = CONVENTIONS.get(way.base)
    if base is None or way.name == way.base:
        return way
    return base.replace(**{name: getattr(way, name) for name in (*CHOICES, "top_k")
                           if getattr(way, name) != getattr(base, name)})


def in_choices(rule: Convention) -> Iterator[str]:
    """Yield what a rule of protocols is in terms of a convention; nothing for others."""
    base = CONVENTIONS[_BASES[0]]
    if rule.base not in CONVENTIONS:
        way = base.replace(**{name: getattr(rule, name) for name in (*CHOICES, "top_k")
                              if getattr(rule, name) != getattr(base, name)
                              and name != "cmc_length"})
        yield f"{rule.name} is {way.name}"


def _words(convention: Convention) -> str:
    """Return what its changed choices do; "" of a convention as it is."""
    if convention.name == convention.base or convention.base not in CONVENTIONS:
        return ""
    base = CONVENTIONS[convention.base]
    texts = []
    for name in (*CHOICES, "top_k"):
        value = getattr(convention, name)
        if value != getattr(base, name):
            texts.append(_choice_words(name, value))
    return "; ".join(texts)


def _choice_words(name: str, value: Any) -> str:
    if name == "top_k":
        return f"only the first {value} kept images count"
    if name == "ignored":
        rules = " and ".join(CHOICES[name][rule].words for rule in value)
        return f"ignored: {rules or 'nothing'}"
    record = CHOICES[name][value]
    words = getattr(record, "words", "") or record.differs or str(value)
    lead = {"unmatched": "a query without a good image: ", "recall": "recall over ",
            "cmc": "CMC: "}.get(name, "")
    return f"{lead}{words}"


# ------------------------------------------------------------------ mistakes
def mistake_of(pairs: Pairs, rule: Rule, tolerance: float) -> Rule | None:
    """Return a rule with the one mistake that turns its numbers into theirs."""
    return None if rule.convention is None else _mistake(pairs, rule.convention, tolerance,
                                                         most=1)


def _mistake(pairs: Pairs, convention: Convention, tolerance: float,
             among: Sequence[Mistake] = MISTAKES, most: int = 2) -> Rule | None:
    """Return one mistake, or two, that turn the rule's numbers into theirs."""
    for count in range(1, most + 1):
        for chosen in itertools.combinations(among, count):
            if len({mistake.of for mistake in chosen}) < count:
                continue
            level = _level_of(pairs, convention, chosen, tolerance)
            if level is not None:
                words = ", and ".join(mistake.words for mistake in chosen)
                return Rule(f"{convention.name}, but for a mistake", words, level, convention,
                            chosen)
    return None


def _level_of(pairs: Pairs, convention: Convention, chosen: tuple[Mistake, ...],
              tolerance: float) -> int | None:
    level = 0
    for arrays, answer in pairs:
        result = mistaken_numbers(arrays, convention, chosen)
        found, near = differences(answer, result, tolerance)
        if found:
            return None
        level = max(level, near)
    return level
