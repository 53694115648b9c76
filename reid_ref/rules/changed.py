"""Conventions with a choice or two changed: which there are, how many changes, in words."""
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from reid_ref.arrays import InputError
from reid_ref.conventions import CHOICES, CONVENTIONS, Convention
from reid_ref.labels import JUNK
from reid_ref.rules.numbers import is_drawn

#: Conventions from which other rules are one or two choices away.
BASES = ("torchreid-function", "matlab")
#: Where lists are cut: those of every problem, and long ones.
CUTS, LONG_CUTS = (1, 5, 10, 20, 50), (100, 200, 500, 1000)

#: Other orders of equal distances; two depend on the machine.
OTHER_TIES = ("reversed", "numpy", "numpy-reversed")
#: Changes of which one at most is made.
Axis = list[dict[str, Any]]


def axes(*choices: str) -> list[Axis]:
    """Return the changes of each choice to its values."""
    return [[{choice: value} for value in CHOICES[choice]] for choice in choices]


def axes_of_ap(base: Convention) -> list[Axis]:
    """Return the changes of each choice that AP depends on."""
    label = tuple(rule for rule in base.ignored if rule == f"label {JUNK}")
    others = [rule for rule in CHOICES["ignored"] if rule not in (
        "listed as junk", "not a candidate", f"label {JUNK}")]
    # The image itself before its frame, which is the same where each image has its own.
    others.sort(key=lambda rule: rule != "itself")
    return [[{"ap": value} for value in CHOICES["ap"] if not value.startswith("sklearn")],
            [{"ignored": rules} for rules in (label, *((*label, rule) for rule in others))],
            axis_of_cut(CUTS)]


def axis_of_cut(cuts: Sequence[int]) -> Axis:
    """Return the changes by which a list is cut."""
    return [{"top_k": cut, "recall": recall} for cut in cuts for recall in CHOICES["recall"]] + [
        {"top_k": cut, "recall": "found", "cut": "before-ignoring"} for cut in cuts]


def axis_of_junk(way: Convention) -> Axis:
    """Return the change by which label -1 is ignored, or is not."""
    label = f"label {JUNK}"
    rest = tuple(rule for rule in way.ignored if rule != label)
    return [{"ignored": rest if label in way.ignored else (label, *rest)}]


def combined(base: Convention, most: int, *of: Axis) -> Iterator[Convention]:
    """Yield the convention with none or one of the changes, or two of them."""
    doubles = [{**first, **second} for one, other in itertools.combinations(of, 2)
               for first in one for second in other if most > 1]
    for change in [{}, *itertools.chain(*of), *doubles]:
        with suppress(InputError):  # choices that do not go together
            yield base.replace(**change) if change else base


def fewest_changes(ways: Iterable[Convention], most: int) -> list[Convention]:
    """Return those with so many changes at most, those with the fewest first, each rule once."""
    distinct: dict[tuple[Any, ...], Convention] = {}
    for way in sorted(ways, key=_n_changed):
        if _n_changed(way) <= most and not is_drawn(way):
            distinct.setdefault(tuple(getattr(way, name) for name in (*CHOICES, "top_k")), way)
    return [*distinct.values()]


def changes_of(way: Convention, base: Convention) -> dict[str, Any]:
    """Return the choices of a rule that are not another's, but for where the curve ends."""
    return {name: value for name in (*CHOICES, "top_k") if name != "cmc_length" and (
        value := getattr(way, name)) != getattr(base, name)}


def _n_changed(way: Convention) -> int:
    base = CONVENTIONS.get(way.base, way)
    return len(changes_of(way, base).keys() - {"recall", "junk_match"})


def in_one_step(way: Convention) -> Convention:
    """Return a convention as one change of its base, which its name lists."""
    base = CONVENTIONS.get(way.base, way)
    return way if way.name == base.name else base.replace(**changes_of(way, base))


def words_of_choices(way: Convention, base: Convention | None = None) -> str:
    """Return what its choices do that are not those of a base, by default its own; "" if all are.
    """
    changes = changes_of(way, base or CONVENTIONS.get(way.base, way))
    return "; ".join(map(_choice_words, changes, changes.values()))


def unlike(convention: Convention, cost: Callable[[Convention], str] = lambda _: "") -> str:
    """Return how a rule differs from Market-1501's and from torchreid's, in words.

    `cost`: from one of these two to words on the difference in numbers.
    """
    texts = []
    for name, whose in (("matlab", "Market-1501's"), ("torchreid-function", "torchreid's")):
        if words := words_of_choices(convention, CONVENTIONS[name]):
            texts.append(f"not {whose} ({words}{cost(CONVENTIONS[name])})")
    return ", ".join(texts)


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
