"""The conventions by their names, and the names that people know them by."""
from __future__ import annotations

from collections.abc import Iterable

from reid_ref.arrays import InputError, check_choice
from reid_ref.conventions.convention import Convention
from reid_ref.conventions.records import LEFT_OUT, TOOLBOX_RECORDS, conventions_of, functions_of

CONVENTIONS: dict[str, Convention] = {
    one.name: one for toolbox in TOOLBOX_RECORDS for one in conventions_of(toolbox)}

#: The bare functions, by the name of their toolbox: what they make of arrays that hold images
#: labelled -1, which its loader never passes on.
FUNCTIONS = {name: function for toolbox in TOOLBOX_RECORDS
             for name, function in functions_of(toolbox).items()}

#: The other way round: the toolbox of each bare function.
TOOLBOXES = {function: name for name, function in FUNCTIONS.items()}

#: Conventions that `--convention all` leaves out, with the reason.
NOT_IN_ALL = {**LEFT_OUT, **{function: LEFT_OUT.get(
    name, "the evaluator without its toolbox's loader; ask for it by name")
    for name, function in FUNCTIONS.items()}}

#: Further names, and the record that each stands for.
ALIASES = {alias: one.name for toolbox in TOOLBOX_RECORDS for one in toolbox.evaluators
           for also in one.also for alias in also.names}


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


_BY_PLAIN_NAME = {_plain(name): record for name, record in (
    *ALIASES.items(), *((name, name) for name in CONVENTIONS))}


def known_as(name: str) -> str:
    """Return the record's name where this is one of its names, in any case, with - or _.

    Any other name comes back as it is, so that what refuses it can say so.

    Examples
    --------
    >>> known_as("transreid"), known_as("Bag_of_Tricks"), known_as("nothing")
    ('reid-strong-baseline', 'reid-strong-baseline', 'nothing')
    """
    return _BY_PLAIN_NAME.get(_plain(name), name)


def find_convention(convention: str | Convention) -> Convention:
    """Return the record of that name, or the record itself.

    Raises
    ------
    InputError
        An unknown name; the known ones and the nearest are listed.

    Examples
    --------
    >>> find_convention("AGW").name
    'reid-survey'
    """
    if isinstance(convention, Convention):
        return convention
    if isinstance(convention, str):
        convention = known_as(convention)
    check_choice(convention, "convention", CONVENTIONS)
    return CONVENTIONS[convention]


def find_conventions(conventions: str | Convention | Iterable[str | Convention],
                     ) -> list[Convention]:
    """Return the records of one or several names.

    Raises
    ------
    InputError
        An unknown name, none, or two records of one name.

    Examples
    --------
    >>> [one.name for one in find_conventions("matlab")]
    ['matlab']
    """
    if isinstance(conventions, (str, Convention)) or not isinstance(conventions, Iterable):
        conventions = [conventions]
    found = [find_convention(one) for one in conventions]
    names = [one.name for one in found]
    if not names:
        raise InputError("convention: expected at least one, got none")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"convention: expected different names, got {twice[0]!r} twice; "
                         "replace(name=...) gives one of them another")
    return found
