"""Which conventions an answer is compared with, and which is named where several agree."""
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from reid_ref.arrays import InputError
from reid_ref.conventions import (
    CHOICES, CONVENTIONS, TOOLBOXES, Convention, changed, choices_of_text, find_conventions)
from reid_ref.disk import tables_of
from reid_ref.protocols import PROTOCOLS
from reid_ref.rules.changed import changes_of

#: Which of several conventions with the same numbers is named: the first of these.
PREFERENCE = tuple[str, ...](tables_of("rules/preference.toml")["names"])


def _rule(convention: Convention) -> tuple[Any, ...]:
    """Return what decides its numbers, but for where the curve ends."""
    return tuple(getattr(convention, name) for name in (*CHOICES, "top_k") if name != "cmc_length")


@cache
def rules_of_protocols() -> dict[str, tuple[Convention, list[str]]]:
    """Return rules that no convention has, by name, with the protocols whose rules they are."""
    known = set(map(_rule, CONVENTIONS.values()))
    rules: dict[tuple[Any, ...], tuple[Convention, list[str]]] = {}
    for protocol in PROTOCOLS.values():
        for part in () if protocol.boxes else protocol.parts:
            rule = protocol.convention_of(part)
            if _rule(rule) not in known:
                words = f"{protocol.name} ({part.name})" if part.ignored else protocol.name
                first = rule.replace(name=rule.name, base=rule.name)
                names = rules.setdefault(_rule(rule), (first, []))[1]
                names += [words] * (words not in names)
    return {rule.name: (rule, names) for rule, names in rules.values()}


@cache
def _places() -> dict[str, int]:
    return {name: place for place, name in enumerate((*PREFERENCE, *rules_of_protocols()))}


def place(convention: Convention) -> tuple[int, bool]:
    """Return its place among those that give the same numbers: the first one is named."""
    name = convention.base
    return _places().get(TOOLBOXES.get(name, name), len(_places())), name in TOOLBOXES


def find_rules(names: str | Convention | Iterable[str | Convention]) -> list[Convention]:
    """Return conventions, or rules of protocols, by their names.

    Raises
    ------
    InputError
        One is not known, or takes lists, which no evaluator is handed.
    """
    rules = [_find(name) for name in ([names] if isinstance(names, (str, Convention)) else names)]
    if lists := [way.name for way in rules if way.needs_lists]:
        raise InputError("convention", "one that takes no lists", lists[0],
                         "no lists are handed to an evaluator")
    return rules


def _find(name: str | Convention) -> Convention:
    if isinstance(name, str) and (parts := re.fullmatch(r"(.+?)\[(.+)\]", name)):
        return changed(_find(parts[1]), choices_of_text([parts[2]], "convention"), "convention")
    if isinstance(name, str) and name in rules_of_protocols():
        return rules_of_protocols()[name][0]
    return find_conventions(name)[0]


def in_choices(rule: Convention) -> str:
    """Return the rule of a protocol in terms of a convention, and which protocols have it."""
    base = CONVENTIONS["torchreid-function"]
    way = base.replace(**changes_of(rule, base))
    return f"{way.name}, the rule of {', '.join(rules_of_protocols()[rule.base][1])}"
