"""Takes from a Python on Linux what only one system has, and watches how text files are opened.

For processes alone: PYTHONPATH=tests/elsewhere python ..., and so in every Python they start.
SIGKILL and `getuid` stay: here `subprocess` and pytest themselves need them.
"""
import builtins
import os
import select
import shutil
import signal
import subprocess  # noqa: F401 - it keeps what it needs of what goes
import sys
import tempfile  # noqa: F401
import warnings

for module in ("resource", "fcntl", "termios", "tty", "pty", "pwd", "grp", "syslog"):
    sys.modules[module] = None
for owner, names in (
        (os, "fork forkpty killpg setsid waitid wait3 wait4 getgid getpgid nice "
             "mkfifo sysconf sched_getaffinity WNOHANG O_NONBLOCK O_NOCTTY O_NOFOLLOW "
             "P_PID WEXITED WNOWAIT"),
        (select, "poll epoll"),
        (signal, "SIGHUP SIGSTOP SIGQUIT SIGALRM SIGCHLD SIGPIPE SIGUSR1 pause alarm "
                 "setitimer pthread_sigmask")):
    for name in filter(vars(owner).__contains__, names.split()):
        delattr(owner, name)

shutil._use_fd_functions = False  # as on Windows; on Linux it needs O_NONBLOCK
_open = builtins.open


def _watched(file, mode="r", *rest, **options):
    if isinstance(file, (str, os.PathLike)) and os.fspath(file).startswith("/proc"):
        raise FileNotFoundError(2, "No such file or directory", file)
    if sys._getframe(1).f_globals.get("__name__", "").startswith("reid_ref") and "b" not in mode:
        assert options["encoding"] and ("w" not in mode or options["newline"] == "\n"), file
    return _open(file, mode, *rest, **options)


builtins.open = _watched
if sys.flags.warn_default_encoding:  # said of pathlib's ways to read and write, too
    warnings.filterwarnings("error", category=EncodingWarning, module=r"reid_ref\b")
