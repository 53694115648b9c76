"""Choices of a convention as a user writes them, ``ap=step,top_k=100``, and what they make."""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from reid_ref.arrays import InputError, check_choice
from reid_ref.conventions.choices import CHOICES, CMC_LENGTH, IGNORED
from reid_ref.conventions.convention import Convention


def choices_of_text(texts: Iterable[str], name: str) -> dict[str, Any]:
    """Return the value of each field of a convention that is named, e.g. ``ap=step,top_k=100``.

    Several values of `ignored` are joined by +, as in a signature; "nothing" is none of them.

    Parameters
    ----------
    texts : iterable of str
    name : str
        What messages begin with.

    Raises
    ------
    InputError
        An unknown field or value (the known ones are listed), or a field that is named twice.

    Examples
    --------
    >>> choices_of_text(["ap=step,top_k=100", "ignored=label -1+same camera"], "--set")
    {'ap': 'step', 'top_k': 100, 'ignored': ('label -1', 'same camera')}
    """
    changes: dict[str, Any] = {}
    # A value may have a comma of its own: "same identity, same camera".
    for text in (part for given in texts for part in re.split(r",(?=[^,=]*=)", given)):
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise InputError(f"{name}: expected KEY=VALUE, e.g. ap=step, got {text!r}")
        check_choice(key, name, [*CHOICES, "top_k"])
        if key in changes:
            raise InputError(f"{name}: expected {key} once, got it twice; leave one out")
        changes[key] = _value(key, value, f"{name} {key}")
    return changes


def _value(key: str, text: str, name: str) -> Any:
    if key == "ignored":
        rules = () if text == "nothing" else tuple(rule.strip() for rule in text.split("+"))
        for rule in rules:
            check_choice(rule, name, IGNORED)
        return rules
    if key in ("top_k", "cmc_length") and re.fullmatch("[0-9]{1,18}", text):
        return int(text)
    if key == "top_k":
        if text != "None":
            raise InputError(f"{name}: expected a whole number from 1, or None, got {text!r}")
        return None
    check_choice(text, name, [*CMC_LENGTH, "a number"] if key == "cmc_length" else CHOICES[key])
    return text


def changed(convention: Convention, changes: Mapping[str, Any], name: str) -> Convention:
    """Return the convention with these choices; itself where it has them already.

    Raises
    ------
    InputError
        Choices that do not go together; the message begins with `name`.

    Examples
    --------
    >>> from reid_ref.conventions import CONVENTIONS
    >>> [changed(CONVENTIONS[one], {"ap": "step"}, "--set").name for one in ("matlab", "mars",
    ...                                                                      "torchreid")]
    ['matlab[ap=step]', 'mars[ap=step]', 'torchreid']
    """
    new = {key: value for key, value in changes.items() if getattr(convention, key) != value}
    try:
        return convention.replace(**new) if new else convention
    except InputError as error:
        raise InputError(f"{name}, convention {convention.name}: {error}") from None
