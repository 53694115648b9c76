"""A pseudo-terminal: what a command shows on it, and when."""
import io
import os
import re
import struct
import sys
import threading
import time

import pytest

from reid_ref import cli

fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")


class Shown:
    """The exit code, what was sent by second, the seconds in all, and the lines that stay."""

    def __init__(self, columns):
        self.code, self.seconds, self.sent = None, 0.0, []
        self.columns = columns

    def lines(self):
        """Return every line that was ever shown, without colours."""
        text = re.sub(r"\x1b\[[0-9;]*[mAK]", "", "".join(part for _, part in self.sent))
        return [line.rstrip() for line in re.split("[\r\n]+", text)]

    def too_long(self):
        """Return the lines that do not fit, but for names that cannot be broken."""
        return [line for line in self.lines()
                if len(line) > self.columns and " " in line.strip()]

    def bars(self):
        """Return each bar with a share and a time, and the second at which it was shown."""
        return [(second, *bar) for second, text in self.sent
                for bar in re.findall(r"(\d+)%\|.*?\| ([0-9:]+), ", text)]


def on_terminal(*words, columns):
    """Run a command line in this process on a terminal of so many columns."""
    shown = Shown(columns)
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    start = time.monotonic()

    def read():
        while True:
            try:
                part = os.read(master, 2**16)
            except OSError:  # as Linux ends a terminal
                return
            if not part:
                return
            shown.sent.append((time.monotonic() - start, part.decode()))

    reader = threading.Thread(target=read)
    reader.start()
    with (io.TextIOWrapper(os.fdopen(slave, "wb", 0), "utf-8", write_through=True) as stream,
          pytest.MonkeyPatch.context() as patch):
        patch.setenv("COLUMNS", str(columns))
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "stderr", stream)
        try:
            shown.code = cli.main([str(word) for word in words])
        except SystemExit as stop:
            shown.code = stop.code
        shown.seconds = time.monotonic() - start
    reader.join()
    os.close(master)
    return shown
