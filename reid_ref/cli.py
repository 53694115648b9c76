"""The command `reid-ref` as a process: its streams, its signals, its exit code.

Wrong input ends in one line on stderr and exit code 2, Ctrl-C in one line and 130. Nothing is
imported before `main` can answer Ctrl-C, and nothing heavy before the arguments are known.
"""
from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False  # `typing` itself would be loaded; mypy takes this name as it takes that one
if TYPE_CHECKING:
    from typing import Any, TextIO


class Terminated(KeyboardInterrupt):
    """A signal asked the process to end: what cleans up after Ctrl-C cleans up after it."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code.

    Without `argv` the arguments are the process's, whose signals and closed streams are then
    seen to; with it nothing of the process is changed.
    """
    if argv is not None:
        return _run(argv)
    try:
        if not _prepare_streams():
            return 2
        _take_signals()
        return _run(None)
    except KeyboardInterrupt as stop:
        return _stopped(stop)
    finally:
        _release_signals()


def _run(argv: list[str] | None) -> int:
    try:
        return _parse_and_run(argv)
    except KeyboardInterrupt as stop:
        return _stopped(stop)
    except BrokenPipeError:
        # The reader (head, say) has what it wanted; keep Python from complaining at exit.
        _drop_output()
        return 0
    except (OSError, MemoryError) as error:
        # A full disk behind stdout, a name that is too long: whatever no check foresaw.
        from reid_ref.commands.terminal import tell

        _drop_output()
        tell(f"error: {_reason(error)}")
        return 2


def _parse_and_run(argv: list[str] | None) -> int:
    import warnings

    from reid_ref.commands.parser import make_parser
    from reid_ref.commands.terminal import flush, in_options, tell

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name in another encoding is no error
            stream.reconfigure(errors="backslashreplace")
    try:
        args = make_parser().parse_args(argv)
    except SystemExit:
        flush()
        raise
    from reid_ref.validation import InputError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning
            status = int(args.run(args))
        flush()
        return status
    except InputError as error:
        tell(f"error: {in_options(str(error))}")
        return 2


def _reason(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return f"not enough memory{f': {error}' if str(error) else ''}"
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def _show_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int,
                  file: TextIO | None = None, line: str | None = None) -> None:
    from reid_ref.commands.terminal import in_options, tell

    tell(f"warning: {in_options(str(message))}")


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


# ---------------------------------------------------------------- signals

def _take_signals() -> None:
    """Let SIGTERM and SIGHUP end in an exception, as SIGINT does; what is ignored stays so."""
    import signal

    def stop(number: int, _: object) -> None:
        raise Terminated(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, stop)


def _release_signals() -> None:
    """Let signals end the process without a word: nothing is left to clean up."""
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _stopped(stop: KeyboardInterrupt) -> int:
    import signal

    from reid_ref.commands.terminal import tell

    if not isinstance(stop, Terminated):
        tell("interrupted")
        return 128 + signal.SIGINT
    number = signal.Signals(stop.args[0])
    tell(f"ended by {number.name}")
    return 128 + number


# ---------------------------------------------------------------- streams

class _Unfailing(io.FileIO):
    """What cannot be said on stderr changes neither the result nor the exit code."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _prepare_streams() -> bool:
    """Make all three standard streams safe to use; return whether there is one to print to.

    A file opened while one of them is closed would get its number, and what is printed or said
    would land in that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    encoding = sys.stderr.encoding if sys.stderr is not None else "utf-8"
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Unfailing(2, "w", closefd=False)), encoding, "backslashreplace",
        line_buffering=True)
    if sys.stdout is None:
        sys.stderr.write("reid-ref: error: standard output is closed; expected somewhere to "
                         "print to, a file or /dev/null\n")
    return sys.stdout is not None


if __name__ == "__main__":
    sys.exit(main())
