"""The error of wrong input, and checks of single arguments."""
from __future__ import annotations

import contextlib
import difflib
import numbers
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

_LONGEST = 240      # characters of each part of a message
_GOT = 140          # of what the user gave
_LINE = 80          # of a list of names in it


class InputError(ValueError):
    """Input that cannot be evaluated: the argument, what was expected, what came, the remedy.

    Attributes
    ----------
    argument : str
        The argument, or the file and the place in it, such as ``"result.mat: queryID"``.
    expected, got, remedy : str
        If nothing single is expected, ``got`` is what is wrong, and ``expected`` is empty.

    Examples
    --------
    >>> print(InputError("k1", "a whole number from 1", 0, "pass k1=20"))
    k1: expected a whole number from 1, got 0; pass k1=20
    >>> print(InputError("k1", got="more neighbours than images").at("ours"))
    ours: k1: more neighbours than images
    """

    def __init__(self, argument: object, expected: object = "", got: object = "",
                 remedy: object = "") -> None:
        super().__init__(*map(str, (argument, expected, got, remedy)))
        self.argument, self.expected, self.got, self.remedy = self.args

    def __str__(self) -> str:
        most = _LONGEST, _LONGEST, _GOT if self.expected else _LONGEST, _LONGEST
        argument, expected, got, remedy = (  # a damaged file may have names of any length
            text if len(text) <= n else f"{text[:n]}..." for n, text in zip(most, self.args))
        expected = f"expected {expected}" if expected else ""
        problem = ", got ".join(filter(None, (expected, got))) if expected else got
        sentence = "; ".join(filter(None, (problem, remedy)))
        return ": ".join(filter(None, (argument, sentence)))

    def renamed(self, names: Mapping[str, str]) -> InputError:
        """Return the error with the name of its argument replaced; what follows it stays."""
        argument, colon, place = self.argument.partition(": ")
        return type(self)(names.get(argument, argument) + colon + place, *self.args[1:])

    def at(self, place: object) -> InputError:
        """Return the error with a file, a system or a side before the argument."""
        argument = f"{place}: {self.argument}" if self.argument else place
        return type(self)(argument, *self.args[1:])


@contextlib.contextmanager
def errors_at(place: object) -> Iterator[None]:
    """Let errors name a file, a system or a side before the argument."""
    try:
        yield
    except InputError as error:
        raise error.at(place) from None


def in_a_line(names: Sequence[str], wanted: str = "") -> str:
    """Return names, and how many more there are than fit in a line, which has the most similar.

    Examples
    --------
    >>> in_a_line(["b", "a"]), in_a_line(["name"] * 99)[-22:]
    ('b, a', 'name, name and 86 more')
    """
    between = "; " if any("," in name for name in names) else ", "
    line = between.join(names)
    if len(line) <= _LINE:
        return line
    nearest = difflib.get_close_matches(wanted, names, len(names), 0) if wanted else names
    fit = max(1, between.join(nearest)[:_LINE].count(between))
    return f"{between.join(nearest[:fit])} and {len(names) - fit} more"


def check_choice(value: str, name: str, choices: Iterable[str], meant: str | None = None) -> None:
    """Refuse an unknown name; the message asks for `meant` or the most similar, and lists names.
    """
    names = list(choices)
    if not isinstance(value, (str, int, float, type(None))):
        raise InputError(name, f"one of {in_a_line(names)}", type(value).__name__)
    if value not in names:
        near = [meant] if meant else difflib.get_close_matches(str(value), names, n=1)
        if near:
            raise InputError(name, got=f"unknown {value!r}. Did you mean {near[0]!r}? Known: "
                             f"{in_a_line(names, str(value))}")
        raise InputError(name, got=f"unknown {value!r}", remedy=f"known: {in_a_line(names)}")


def check_name(value: Any) -> None:
    """Refuse what is no text of one line without ``|``: such names are in signatures."""
    if not (isinstance(value, str) and value.isprintable() and value.strip() == value != ""
            and "|" not in value):
        raise InputError("name", "a text of one line without |", repr(value))


def check_count(value: Any, name: str, least: int = 1, most: int | None = None,
                what: str = "") -> int:
    """Return a whole number from `least` to `most`, described by `what`."""
    if (isinstance(value, bool) or not isinstance(value, numbers.Integral)
            or not least <= int(value) <= (int(value) if most is None else most)):
        to = "" if most is None else f" to {most}{what and ', '}{what}"
        plain = isinstance(value, (numbers.Number, str, type(None)))
        raise InputError(name, f"a whole number from {least}{to}",
                         repr(value) if plain else type(value).__name__)
    return int(value)


def check_length(n: int, n_images: int, name: str) -> None:
    """Check that a column has one entry for each image."""
    if n != n_images:
        raise InputError(name, f"{n_images:,} entries, one for each image", f"{n:,}")


def check_same_length(n_identity: int, n_camera: int,
                      names: tuple[str, str] = ("identity", "camera"),
                      n_images: Collection[int] = ()) -> None:
    """Check that every image has one identity and one camera.

    `names` are the two arguments'. The message names the wrong one if `n_images`, the numbers
    of images in features or distances, decide which it is; else both.
    """
    if n_identity == n_camera:
        return
    for name, length, other in ((names[0], n_identity, n_camera),
                                (names[1], n_camera, n_identity)):
        if length not in n_images and other in n_images:
            raise InputError(name, f"{other} entries, one for each image", length)
    raise InputError(
        ", ".join(names), "one of each for every image", f"{n_identity} and {n_camera}")
