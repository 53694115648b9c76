"""Conventions with a choice or two changed: which there are, how many changes, in words."""
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from reid_ref.arrays import InputError
from reid_ref.conventions import CHOICES, CONVENTIONS, Convention
from reid_ref.labels import JUNK
from reid_ref.rules.numbers import is_drawn

#: Conventions from which other rules are one or two choices away.
BASES = ("torchreid-function", "matlab")
#: Where lists are cut: those of every problem, and long ones.
_CUTS, LONG_CUTS = (1, 5, 10, 20, 50), (100, 200, 500, 1000)

#: Other orders of equal distances; two depend on the machine.
OTHER_TIES = ("reversed", "numpy", "numpy-reversed")


def changes_of_ap(base: Convention) -> Iterator[list[dict[str, Any]]]:
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
    yield changes_of_cut(base, _CUTS)


def changes_of_cut(base: Convention, cuts: Sequence[int]) -> list[dict[str, Any]]:
    """Return the changes by which a list is cut."""
    return [{"top_k": cut, "recall": recall} if recall != base.recall else {"top_k": cut}
            for cut in cuts for recall in CHOICES["recall"]] + [
        {"top_k": cut, "recall": "found", "cut": "before-ignoring"} for cut in cuts]


def with_or_without_junk(way: Convention) -> Iterator[Convention]:
    """Yield a convention, and then with or without label -1 among what is ignored."""
    yield way
    label = f"label {JUNK}"
    rest = tuple(rule for rule in way.ignored if rule != label)
    with suppress(InputError):
        yield way.replace(ignored=rest if label in way.ignored else (label, *rest))


def combined(base: Convention, most: int,
             *axes: list[dict[str, Any]]) -> Iterator[Convention]:
    """Yield the convention with none or one of the changes, or two of them."""
    yield base
    singles = [change for axis in axes for change in axis]
    doubles = [{**first, **second} for one, other in itertools.combinations(axes, 2)
               for first in one for second in other]
    for change in [*singles, *(doubles if most > 1 else [])]:
        with suppress(InputError):  # choices that do not go together
            yield base.replace(**change)


def each_value(base: Convention, choice: str) -> Iterator[Convention]:
    for value in CHOICES[choice]:
        if value != getattr(base, choice):
            with suppress(InputError):
                yield base.replace(**{choice: value})


def fewest_changes(ways: list[Convention], most: int) -> list[Convention]:
    """Return those with so many changes at most, those with the fewest first."""
    ways = [way for way in ways if _n_changed(way) <= most and not is_drawn(way)]
    return sorted(ways, key=_n_changed)


def _n_changed(way: Convention) -> int:
    base = CONVENTIONS.get(way.base, way)
    return sum(getattr(way, name) != getattr(base, name) for name in (
        "ap", "ignored", "top_k", "cut", "unmatched", "ties", "cmc", "arithmetic"))


def in_one_step(way: Convention) -> Convention:
    """Return a convention as one change of its base, which its name lists."""
    base = CONVENTIONS.get(way.base)
    if base is None or way.name == way.base:
        return way
    return base.replace(**{name: getattr(way, name) for name in (*CHOICES, "top_k")
                           if getattr(way, name) != getattr(base, name)})


def words_of_choices(convention: Convention) -> str:
    """Return what its changed choices do; "" of a convention as it is."""
    return "; ".join(_changes(convention, CONVENTIONS.get(convention.base, convention)))


def unlike(convention: Convention, cost: Callable[[Convention], str] = lambda _: "") -> str:
    """Return how a rule differs from Market-1501's and from torchreid's, in words.

    `cost`: from one of these two to words on the difference in numbers.
    """
    texts = []
    for name, whose in (("matlab", "Market-1501's"), ("torchreid-function", "torchreid's")):
        changes = list(_changes(convention, CONVENTIONS[name]))
        if changes:
            texts.append(f"not {whose} ({'; '.join(changes)}{cost(CONVENTIONS[name])})")
    return ", ".join(texts)


def _changes(way: Convention, base: Convention) -> Iterator[str]:
    for name in (*CHOICES, "top_k"):
        value = getattr(way, name)
        if value != getattr(base, name) and name != "cmc_length":
            yield _choice_words(name, value)


def _choice_words(name: str, value: Any) -> str:
    if name == "top_k":
        return f"only the first {value} kept images count"
    if name == "ignored":
        rules = " and ".join(CHOICES[name][rule].words for rule in value)
        return f"ignored: {rules or 'nothing'}"
    record = CHOICES[name][value]
    words = getattr(record, "words", "") or record.differs.partition(":")[0] or str(value)
    lead = {"unmatched": "a query without a good image: ", "recall": "recall over ",
            "cmc": "CMC: "}.get(name, "")
    return f"{lead}{words}"
