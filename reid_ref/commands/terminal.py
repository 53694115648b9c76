"""What reaches the terminal: text without control characters, in the words of the command line."""
from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from reid_ref.report.names import visible

#: The warnings that this command has told, in order: JSON repeats them.
WARNINGS: list[str] = []

#: Arguments of the library that an option of a command sets; messages begin with their name.
OPTIONS = {
    "convention": "--convention", "lists": "--index-lists", "dataset": "--dataset",
    "method": "--method", "k1": "--k1", "k2": "--k2", "lambda_": "--lambda",
    "evaluator": "--evaluator", "timeout": "--timeout", "seed": "--seed"}

#: What a message tells a caller of the library to do, and what a user of the command does.
WAYS_OUT = {
    "pass lists=IndexLists(good, junk)": "name the two files: --index-lists GOOD JUNK",
    "Use reid_ref.matlab.evaluation": "Use `reid-ref evaluate --implementation port`",
    "reid_ref.published.load() lists all": "`reid-ref published` lists all"}


def show(text: str) -> None:
    """Print the lines of a report; whatever names in it hold, a line stays a line."""
    with _stdout_named():
        print("\n".join(map(visible, text.split("\n"))), flush=True)


def flush() -> None:
    """Let what was printed reach its reader, so that an error on the way is known."""
    with _stdout_named():
        if sys.stdout is not None:
            sys.stdout.flush()


@contextlib.contextmanager
def _stdout_named() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def tell(text: str) -> None:
    """Print one line on stderr."""
    if sys.stderr is not None:  # or print would take standard output
        print(visible(f"reid-ref: {text}"), file=sys.stderr)


def tell_warning(message: str) -> None:
    """Print one warning of the library on stderr, in the words of the command line."""
    WARNINGS.append(in_options(message))
    tell(f"warning: {WARNINGS[-1]}")


def in_options(message: str) -> str:
    """Return a message of the library with options in the place of arguments.

    Examples
    --------
    >>> in_options("convention: unknown 'x'")
    "--convention: unknown 'x'"
    """
    name, colon, rest = message.partition(": ")
    for said, here in WAYS_OUT.items():
        rest = rest.replace(said, here)
    return OPTIONS.get(name, name) + colon + rest
