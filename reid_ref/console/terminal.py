"""What reaches the terminal: text without control characters, in the words of the command line.

A terminal shows headings in bold and verdicts in colour; a file or a pipe gets the text alone.
"""
import contextlib
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from reid_ref.text import visible, wrap

#: The warnings of this command, in order: JSON repeats them.
WARNINGS: list[str] = []

#: Arguments of the library, and the option of a command that sets each; not read by reid_ref.disk,
#: which loads numpy.
OPTIONS: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("arguments.toml").read_text("utf-8"))


def names_of_arguments(files: Sequence[str]) -> dict[str, str]:
    """Return what a user knows the library's arguments by: options, and the files of a result.

    A result has the name of its file, which may be that of an argument: seed.npz.
    """
    results = {Path(file).stem for file in files}
    return {**{name: option for name, option in OPTIONS.items() if name not in results},
            "data": ", ".join(files) or "data"}


BOLD, GREEN, RED, PLAIN = "\x1b[1m", "\x1b[1;32m", "\x1b[1;31m", "\x1b[0m"
_VERDICT = re.compile(r"(^verdict +|: )(EQUAL|DIFFERENT|FAILED)\b")
#: The first line of a paragraph that has three columns, begins with an empty one, or is a few
#: plain words; without a colon or a number (but that of "95 %"). Not of Markdown or of LaTeX.
_HEADING = re.compile(r"(?m)(?:\A|(?<=\n\n))(?![|`\\])(?!.*(?::|(?<![\w-])\d(?![\d.]* %)))"
                      r"(?: {6,}\S| *\S(?:.*\S)? {2,}\S(?:.*\S)? {2,}\S|[A-Z][a-z ]+$).*$")

#: Whether standard error gets errors alone; each run of the command sets it.
_quiet = False
#: The line of progress that standard error shows, and the result that it is about.
_phase, _about = "", ""


def set_quiet(quiet: bool) -> None:
    """Let standard error have errors alone, or progress and warnings, too."""
    global _quiet, _phase
    _quiet, _phase = quiet, ""


@contextlib.contextmanager
def progress_prefix(name: str) -> Iterator[None]:
    """Begin the line of progress with the name of one of several results."""
    global _about
    before, _about = _about, f"{name}: "
    try:
        yield
    finally:
        _about = before


def phase(text: str = "") -> None:
    """Print the current step in a line that the next one, or any output, replaces."""
    global _phase
    if _phase:
        sys.stderr.write(f"\r{' ' * len(_phase)}\r")
    _phase = ""
    if text and shows_progress():
        width = shutil.get_terminal_size().columns - 1
        _phase = visible(f"reid-ref: {_about}{text} ...")[:width]
        sys.stderr.write(_phase)
        sys.stderr.flush()


def shows_progress() -> bool:
    """Return whether to draw a bar: standard error is a terminal, and --quiet is not given."""
    return not _quiet and sys.stderr is not None and sys.stderr.isatty()


def show(text: str) -> None:
    """Print the lines of a report; a line is wrapped on a terminal alone, whatever is in it."""
    shown = _visible_lines(text)
    if sys.stdout is not None and sys.stdout.isatty():
        shown = "\n".join(part for line in shown.split("\n")
                          for part in wrap(line, "", 8 * " ", _width()) or [""])
    _print(_painted(shown) if _takes_colours() else shown)


def show_plain(text: str) -> None:
    """Print what is no report, such as JSON, a script or a help: no terminal colours it."""
    _print(_visible_lines(text))


def _width() -> int:
    return max(40, shutil.get_terminal_size().columns)


def _visible_lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


def _print(text: str) -> None:
    phase()
    with _stdout_named():
        print(text, flush=True)


def _takes_colours() -> bool:
    """Return whether to use colours: a terminal without NO_COLOR."""
    return (sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") != "dumb"
            and (sys.platform != "win32" or "WT_SESSION" in os.environ))  # not its old console


def _painted(text: str) -> str:
    """Return a report with bold headings, and its verdicts in green or red.

    Examples
    --------
    >>> _painted("verdict  EQUAL to matlab")
    'verdict  \\x1b[1;32mEQUAL\\x1b[0m to matlab'
    """
    text = _HEADING.sub(rf"{BOLD}\g<0>{PLAIN}", text)
    return "\n".join(_VERDICT.sub(
        lambda found: f"{found[1]}{GREEN if found[2] == 'EQUAL' else RED}{found[2]}{PLAIN}", line)
        for line in text.split("\n"))


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


def print_stderr(text: str, program: str = "reid-ref") -> None:
    """Print one line on stderr, which is wrapped at spaces on a terminal."""
    phase()
    if sys.stderr is not None:  # or print would take standard output
        line = visible(f"{program}: {text}")
        print(*(wrap(line, width=_width()) if sys.stderr.isatty() else [line]), sep="\n",
              file=sys.stderr)


def print_warning(message: str, category: object = None) -> None:
    """Print one warning on stderr, whatever its class."""
    WARNINGS.append(message)
    if not _quiet:
        print_stderr(f"warning: {WARNINGS[-1]}")
