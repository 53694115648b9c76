"""Damaged files and unusual environments: a command answers or ends in one line, changing no file.

Every case follows from its number alone; the nightly job runs hundreds of them.
"""
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from tests.documents import ROOT
from tests.files.test_files import WRITERS, stored, write_texts
from tests.files.test_files_large import write_folder
from tests.nightly import cases

#: Commands as they are asked: the first word, and what may stand behind the files.
ASKED = [line.split() for line in (
    "evaluate", "evaluate --json --convention all", "evaluate --convention nonsense --format csv",
    "ties --metric dot", "rerank", "evaluate --per-query out.csv",
    "evaluate --per-query out/x.json --max-memory 12M", "evaluate --per-query /dev/full",
    "scripts --only port", "explain --query 99 --json", "explain --to mars",
    "validate --published 81.1/67.6", "camera-pairs --rule script", "dataset", "doctor",
    "export --to trec --output out/q", "baseline --driver market1501")]
WRITTEN = {"out.csv", "out/x.json", "out/q.qrels", "out/q.run"}
SURROUNDINGS = [{}, {}, {"COLUMNS": "20"}, {"TERM": "dumb", "PYTHONIOENCODING": "ascii"},
                {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
                {"TMPDIR": "/nowhere", "HOME": "/nowhere"}, {"PYTHONWARNINGS": "error"}]
#: Done to the bytes of one file.
DAMAGE = {
    "nothing": lambda data, rng: data,
    "truncated": lambda data, rng: data[:rng.integers(len(data))],
    "flipped": lambda data, rng: bytes(
        byte ^ (rng.random() < .003) << int(rng.integers(8)) for byte in data),
    "huge": lambda data, rng: data[:(k := int(rng.integers(len(data))))]
    + int(rng.choice([2**31 - 1, 2**40, 2**62])).to_bytes(8, "little") + data[k + 8:],
    "zeroed": lambda data, rng: data[:len(data) // 3] + bytes(len(data) // 3)
    + data[2 * (len(data) // 3):],
    "doubled": lambda data, rng: data + data,
    "empty": lambda data, rng: b"",
    "noise": lambda data, rng: rng.bytes(int(rng.integers(1, 5000))),
    "words": lambda data, rng: "nan inf -1e400 \u00e9 9999999999999999999999 , ;\n".encode() * 9,
    "escapes": lambda data, rng: b"\x1b[2J\x1b]0;x\x07 1 2\n\r\x00 3"}
#: Put in the place of one file.
REPLACED = {"fifo": os.mkfifo, "folder": os.mkdir, "missing": lambda path: None,
            "device": lambda path: path.symlink_to("/dev/zero"),
            "loop": lambda path: path.symlink_to(path.name)}


def write(folder, layout):
    """Write a result in one of the layouts; return the words that name it."""
    if layout == "npy":
        (folder / "arrays").mkdir()
        write_folder(folder / "arrays")
    elif layout == "text":
        write_texts(folder)
    else:
        writer, name = WRITERS[layout]
        writer(folder / name, stored("layumi"))
    return [path.name for path in folder.iterdir()]


def state(folder):
    """What lies in a folder: name to kind and contents."""
    return {str(path.relative_to(folder)): (
        stat.S_IFMT(path.lstat().st_mode), path.is_file() and path.read_bytes())
        for path in folder.rglob("*")}


@pytest.mark.parametrize("number", range(cases(10, 600)))
def test_any_damage_ends_in_an_answer_or_one_line(number, tmp_path):
    rng = np.random.default_rng(number)
    files = write(tmp_path, rng.choice([*WRITERS, "npy", "text"]))
    victim = rng.choice(sorted(path for path in tmp_path.rglob("*") if path.is_file()))
    kind = str(rng.choice([*DAMAGE, *REPLACED]))
    if kind in DAMAGE:
        victim.write_bytes(DAMAGE[kind](victim.read_bytes(), rng))
    else:
        victim.unlink()
        REPLACED[kind](victim)
    (tmp_path / "out").mkdir()
    before, words = state(tmp_path), ASKED[rng.integers(len(ASKED))]
    done = subprocess.run(
        [sys.executable, "-m", "reid_ref", words[0], *files, *words[1:]], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), **rng.choice(SURROUNDINGS)},
        stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    shown = kind, victim.name, words, done
    assert done.returncode in (0, 1, 2), shown
    for never in (b"Traceback", b"Exception ignored", b"\x1b", b"\x07"):
        assert never not in done.stdout + done.stderr, shown
    if done.returncode == 2:
        errors = [line for line in done.stderr.splitlines() if b"warning: " not in line]
        assert len(errors) == 1 and errors[0].startswith(b"reid-ref") and not done.stdout, shown
    after = state(tmp_path)
    assert {name: after.get(name) for name in before} == before, shown
    assert after.keys() - before.keys() <= WRITTEN, shown
