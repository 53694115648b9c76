"""Ctrl-C at random moments of commands that write files: whole files or none, exit code 130."""
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.disk.test_inputs_kept import CALLS, contents, whole  # noqa: F401  a fixture
from tests.nightly import cases

WORDS = [f"{command} {call}" for command, calls in CALLS.items() for call in calls]
WORDS += ["evaluate in.npz --confidence --json", "ties in.npz --json", "doctor in.npz --json"]


def run(words, folder, moment=None):
    """Run a command, interrupt it `moment` seconds after its first line (before it, Python ends as
    it likes); return how it ended and how long it took from there.
    """
    reader, writer = os.pipe()
    code = (f"import os, sys; from reid_ref.__main__ import main; os.close({writer}); "
            "sys.exit(main())")
    process = subprocess.Popen([sys.executable, "-c", code, *words.split()], cwd=folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[writer])
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    start = time.monotonic()
    if moment is not None:
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err, time.monotonic() - start


@pytest.mark.skipif(os.name != "posix", reason="SIGINT is sent to another process")
@pytest.mark.parametrize("words", cases(WORDS[::5], WORDS))
def test_ctrl_c(whole, tmp_path, words):  # noqa: F811
    """At random moments between the start of the command and its end."""
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in whole.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / "out").mkdir()
    status, expected, _, seconds = run(words, folder)
    assert status in (0, 1)
    files, dice = contents(folder / "out"), random.Random(words)
    for path in files:
        path.unlink()
    for _ in range(cases(2, 20)):
        moment = dice.uniform(0, seconds)
        ended, out, err, _ = run(words, folder, moment)
        if ended == -signal.SIGINT and "reid_ref" not in err:
            continue  # before `main`, where much else runs
        where = f"{words} after {moment:.3f} of {seconds:.3f} s: {ended} {err}"
        assert ended in (130, status) and "Traceback" not in err, where
        assert out in ("", expected), where
        left = contents(folder / "out")
        assert left.items() <= files.items(), where
        if ended == 130:
            assert err.splitlines()[-1] == "reid-ref: interrupted", where
        else:
            assert (out, left) == (expected, files), where
        for path in left:
            path.unlink()
