"""The conventions by name, and conventions made from choices such as ``ap=step,top_k=100``."""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from reid_ref.arrays import InputError, check_choice
from reid_ref.conventions.choices import CHOICES, CMC_LENGTH, IGNORED
from reid_ref.conventions.convention import Convention
from reid_ref.conventions.records import LEFT_OUT, TOOLBOX_RECORDS, conventions_of, functions_of


class _Conventions(dict[str, Convention]):
    """The records by name; under a further name a record has that name."""

    def __missing__(self, name: str) -> Convention:
        return self[NAMES[name]].replace(name=name)


CONVENTIONS: dict[str, Convention] = _Conventions(
    (record.name, record) for toolbox in TOOLBOX_RECORDS for record in conventions_of(toolbox))

#: Convention to its bare function: the evaluator without the loader, which ranks images labelled
#: -1 as well.
FUNCTIONS = {name: function for toolbox in TOOLBOX_RECORDS
             for name, function in functions_of(toolbox).items()}

#: Bare function to its convention.
TOOLBOXES = {function: name for name, function in FUNCTIONS.items()}

#: Conventions that `--convention all` leaves out, with the reason.
NOT_IN_ALL = {**LEFT_OUT, **{function: LEFT_OUT.get(
    name, "the evaluator without its toolbox's loader; ask for it by name")
    for name, function in FUNCTIONS.items()}}

#: Further names, and the record that each means.
ALIASES = {alias: evaluator.name for toolbox in TOOLBOX_RECORDS
           for evaluator in toolbox.evaluators for also in evaluator.also for alias in also.names}

#: Every name, those of bare functions too, and the record that it means.
NAMES = {
    **{f"{alias}-function": FUNCTIONS[name] for alias, name in ALIASES.items()
       if name in FUNCTIONS},
    **ALIASES, **{name: name for name in CONVENTIONS}}


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


_BY_PLAIN_NAME = {_plain(name): name for name in NAMES}


def known_as(name: str) -> str:
    """Return a name of a convention as it is written here, given in any case, with - or _.

    Any other name comes back as it is, so that what refuses it can say so.

    Examples
    --------
    >>> known_as("transreid"), known_as("Fast_ReID"), known_as("nothing")
    ('TransReID', 'fast-reid', 'nothing')
    """
    return _BY_PLAIN_NAME.get(_plain(name), name)


def find_convention(convention: str | Convention, argument: str = "convention") -> Convention:
    """Return the record of that name, or the record itself.

    The record has the name that was given, also where this is a further name of it.
    `argument` names the argument in messages.

    Raises
    ------
    InputError
        An unknown name; the known ones and the nearest are listed.

    Examples
    --------
    >>> find_convention("agw").name, find_convention("agw").base
    ('AGW', 'torchreid')
    """
    if isinstance(convention, Convention):
        return convention
    if not isinstance(convention, str) or known_as(convention) not in NAMES:
        check_choice(convention, argument, CONVENTIONS)
    return CONVENTIONS[known_as(convention)]


def find_conventions(conventions: str | Convention | Iterable[str | Convention],
                     ) -> list[Convention]:
    """Return the records of one or several names.

    Raises
    ------
    InputError
        An unknown name, none, or two records of one name.

    Examples
    --------
    >>> [convention.name for convention in find_conventions("matlab")]
    ['matlab']
    """
    if isinstance(conventions, (str, Convention)) or not isinstance(conventions, Iterable):
        conventions = [conventions]
    records = [find_convention(convention) for convention in conventions]
    names = [convention.name for convention in records]
    if not names:
        raise InputError("convention", "at least one", "none")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError("convention", "different names", f"{twice[0]!r} twice",
                         "replace(name=...) gives one of them another")
    return records


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
            raise InputError(name, "KEY=VALUE, e.g. ap=step", repr(text))
        check_choice(key, name, [*CHOICES, "top_k"])
        if key in changes:
            raise InputError(name, f"{key} once", "it twice", "leave one out")
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
            raise InputError(name, "a whole number from 1, or None", repr(text))
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
        raise error.at(f"{name}, convention {convention.name}") from None
