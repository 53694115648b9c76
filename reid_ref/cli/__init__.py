"""The command `reid-ref` as a process: its streams, its signals, its exit code.

Wrong input ends in one line on stderr and exit code 2, Ctrl-C in one line and 130. Nothing is
imported before `main` can handle Ctrl-C, and no large module before the arguments are known.
"""
from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False  # `typing` itself would be loaded; mypy takes this name as it takes that one
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


#: Exit code if the reader of the output was gone before the answer was known, as a shell has it
#: for SIGPIPE.
CLOSED_PIPE = 141
#: Signals that asked the process to end.
_SIGNALS: list[int] = []


class Terminated(KeyboardInterrupt):
    """A signal that asks the process to end is handled as Ctrl-C is."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code.

    Without `argv` the arguments are the process's, and its signals are handled; with it nothing of
    the process is changed.
    """
    if argv is not None:
        return _run(argv)
    try:
        _handle_signals(_raise)
        sys.unraisablehook = _print_others
        _print_warnings()
        status = _run(None)
    except BaseException:  # of a signal a class body makes RuntimeError, numpy ImportError
        if not _SIGNALS:
            raise
    finally:  # all is written; while Python ends, it would die of a signal that it still takes
        _handle_signals(None)
    if _SIGNALS:  # Python's own end may crash if an import in C was interrupted
        os._exit(_stopped(_SIGNALS[0]))
    return status


def _run(argv: list[str] | None) -> int:
    try:
        return _parse_and_run(argv)
    except KeyboardInterrupt:
        if _SIGNALS:
            raise
        return _stopped(2)
    except BrokenPipeError:
        # The reader, such as head, has closed the pipe: without this Python fails at exit.
        _drop_output()
        return CLOSED_PIPE
    except (OSError, MemoryError) as error:
        # What no check foresees: a full disk under stdout, a name that is too long.
        _drop_output()
        return _reported(2, f"error: {_reason(error)}")


def _parse_and_run(argv: list[str] | None) -> int:
    from reid_ref.cli.parser import make_parser
    from reid_ref.console.terminal import (
        WARNINGS, flush, names_of_arguments, print_warning, set_quiet)

    WARNINGS.clear()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name in another encoding is no error
            stream.reconfigure(errors="backslashreplace")
    words = sys.argv[1:] if argv is None else argv
    try:
        args = make_parser(words).parse_args(words)
    except SystemExit:
        flush()
        raise
    except BrokenPipeError:  # of a help, which is all that was requested
        _drop_output()
        return 0
    set_quiet(args.quiet)
    from reid_ref.arrays import InputError, warnings_to
    from reid_ref.disk import inputs_kept

    try:
        with warnings_to(print_warning), inputs_kept():
            if argv is None:
                # A notebook's kernel exports a backend that need not be installed here.
                os.environ["MPLBACKEND"] = "agg"
            status = int(args.run(args.request.of(args) if args.request else args) or 0)
        try:
            flush()
        except BrokenPipeError:
            _drop_output()
        return status
    except InputError as error:
        names = names_of_arguments(getattr(args, "files", ()))
        return _reported(2, f"error: {error.renamed(names)}")


def _reason(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return f"not enough memory{f': {error}' if str(error) else ''}"
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def _print_warnings() -> None:
    """Let warnings of other threads and of other packages be lines on standard error, too."""
    import warnings

    def show(message: Warning | str, *_: Any) -> None:
        from reid_ref.console.terminal import print_warning

        print_warning(str(message))

    warnings.simplefilter("always", UserWarning)
    warnings.showwarning = show  # type: ignore[assignment]


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


# ---------------------------------------------------------------- signals

def _handle_signals(stop: Callable[[int, object], object] | None) -> None:
    """Let Ctrl-C and requests to end come to `stop`, or ignore them; ignored ones stay so."""
    import signal

    for number in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_IGN if stop is None else stop)


def _raise(number: int, _: object) -> None:
    _SIGNALS.append(number)
    raise Terminated(number)


def _print_others(exception: Any) -> None:
    """Print what is raised where nobody can catch it, as in callbacks of C, but for signals."""
    if not issubclass(exception.exc_type, Terminated):
        sys.__unraisablehook__(exception)


def _stopped(number: int) -> int:
    """Print which signal ended the command; return the exit code."""
    import signal

    return _reported(128 + number, "interrupted" if number == signal.SIGINT else
                     f"ended by {signal.Signals(number).name}")


def _reported(code: int, text: str) -> int:
    """Print a line on standard error; return the exit code."""
    from reid_ref.console.terminal import print_stderr

    print_stderr(text)
    return code
