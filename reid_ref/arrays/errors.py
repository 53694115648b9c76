"""The error of wrong input, and warnings."""
from __future__ import annotations

import contextlib
import difflib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping


class InputError(ValueError):
    """Input that cannot be evaluated: the argument, what was expected, what came, the remedy.

    Attributes
    ----------
    argument : str
        The argument, or the file and the place in it, such as ``"result.mat: queryID"``.
    expected, got, remedy : str
        Where nothing single is expected, ``got`` says what is wrong, and ``expected`` is empty.

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
        expected = f"expected {self.expected}" if self.expected else ""
        problem = ", got ".join(filter(None, (expected, self.got))) if expected else self.got
        sentence = "; ".join(filter(None, (problem, self.remedy)))
        return ": ".join(filter(None, (self.argument, sentence)))

    def renamed(self, names: Mapping[str, str]) -> InputError:
        """Return the error with the name of its argument replaced; what follows it stays."""
        argument, colon, place = self.argument.partition(": ")
        return type(self)(names.get(argument, argument) + colon + place, *self.args[1:])

    def at(self, place: object) -> InputError:
        """Return the error with a file, a system or a side before the argument."""
        argument = f"{place}: {self.argument}" if self.argument else place
        return type(self)(argument, *self.args[1:])


def warn(message: str) -> None:
    """Warn of valid but suspect input, at the line of the first caller outside this package."""
    package = os.path.dirname(os.path.dirname(__file__)) + os.sep
    level, frame = 1, sys._getframe(0)
    while frame.f_back and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


@contextlib.contextmanager
def each_warning_once() -> Iterator[None]:
    """Show each different warning once, where several evaluations of one file repeat it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        warn(text)


def check_choice(value: str, name: str, known: Iterable[str]) -> None:
    """Refuse an unknown name; the message lists the known ones and the most similar."""
    names = list(known)
    if not isinstance(value, (str, int, float, type(None))):
        raise InputError(name, f"one of {', '.join(names)}", type(value).__name__)
    if value not in names:
        near = difflib.get_close_matches(str(value), names, n=1)
        question = f". Did you mean {near[0]!r}?" if near else ""
        raise InputError(name, got=f"unknown {value!r}",
                         remedy=f"known: {', '.join(names)}{question}")
