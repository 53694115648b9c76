"""Damaged files, odd terminals, full disks, signals: the command line, a process a case.

``python -m tests.campaign 5000`` runs so many cases, two at a time, and prints each that breaks a
promise: a traceback, more than 20 s, more than 2 GB, death by a signal, an unknown exit code, an
input that changed, a file that was not asked for, an error of several lines or beside numbers.
``--seed N`` makes others; ``--only K`` runs case K alone and shows what it printed.

Every case follows from its number and the seed alone; `tests/commands/test_campaign.py` runs
a few.
"""
from __future__ import annotations

import argparse
import hashlib
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.io

ROOT = Path(__file__).resolve().parents[1]
SECONDS, MEGABYTES = 20.0, 2000
KEYS = ("query_f", "query_label", "query_cam", "gallery_f", "gallery_label", "gallery_cam")


# The inputs: one small problem in every layout.

def problem(rng):
    n_query, n_gallery, d = 6, 40, 5
    arrays = {"query_f": rng.standard_normal((n_query, d)).astype(np.float32),
              "gallery_f": rng.standard_normal((n_gallery, d)).astype(np.float32)}
    for side, n in (("query", n_query), ("gallery", n_gallery)):
        arrays[f"{side}_label"] = rng.integers(-1, 5, n)
        arrays[f"{side}_cam"] = rng.integers(1, 4, n)
    return arrays


def write_mat(folder, arrays):
    scipy.io.savemat(folder / "in.mat", arrays)
    return ["in.mat"]


def write_npz(folder, arrays):
    np.savez_compressed(folder / "in.npz", **arrays)
    return ["in.npz"]


def write_hdf5(folder, arrays):
    import h5py
    with h5py.File(folder / "in.mat", "w") as file:
        for key, value in arrays.items():
            file.create_dataset(key, data=np.atleast_2d(value).T)
    return ["in.mat"]


def write_npy(folder, arrays):
    (folder / "arrays").mkdir()
    for key, value in arrays.items():
        np.save(folder / "arrays" / f"{key}.npy", value)
    return ["arrays"]


def write_text(folder, arrays):
    distances = np.linalg.norm(arrays["query_f"][:, None] - arrays["gallery_f"][None], axis=2)
    names = {"query_gallery_distance.txt": distances, "query_id.txt": arrays["query_label"],
             "gallery_id.txt": arrays["gallery_label"], "query_cam.txt": arrays["query_cam"],
             "gallery_cam.txt": arrays["gallery_cam"]}
    for name, value in names.items():
        np.savetxt(folder / name, value, fmt="%g")
    return list(names)


def write_driver(folder, arrays):
    names = {"query.mat": ("f", arrays["query_f"].T), "test.mat": ("f", arrays["gallery_f"].T)}
    for side, mat in (("query", "query"), ("gallery", "test")):
        for what, suffix in (("label", "ID"), ("cam", "Cam")):
            names[f"{mat}{suffix}.mat"] = (f"{mat}{suffix}", arrays[f"{side}_{what}"][:, None])
    for name, (key, value) in names.items():
        scipy.io.savemat(folder / name, {key: value})
    return list(names)


WRITERS = (write_mat, write_npz, write_hdf5, write_npy, write_text, write_driver)


# The damage, done to one file.

def flip(data, rng):
    data = bytearray(data)
    for place in rng.integers(0, len(data), int(rng.integers(1, 30))):
        data[place] ^= 1 << int(rng.integers(8))
    return bytes(data)


def huge(data, rng):
    """Let a run of four or eight bytes claim a large number."""
    data, place = bytearray(data), int(rng.integers(0, max(1, len(data) - 8)))
    value = int(rng.choice([2**31 - 1, 2**40, 2**62, 2**63 - 1, 10**6]))
    width = int(rng.choice([4, 8]))
    data[place:place + width] = (value % 256**width).to_bytes(width, "little")
    return bytes(data)


def spliced(data, rng):
    first, second = sorted(int(k) for k in rng.integers(0, len(data) + 1, 2))
    return data[:first] + data[second:] + data[first:second]


DAMAGE = {
    "none": lambda data, rng: data,
    "truncated": lambda data, rng: data[:int(rng.integers(0, len(data)))],
    "flipped": flip,
    "huge": huge,
    "zeroed": lambda data, rng: data[:len(data) // 3] + bytes(len(data) // 3)
    + data[2 * (len(data) // 3):],
    "spliced": spliced,
    "doubled": lambda data, rng: data + data,
    "empty": lambda data, rng: b"",
    "noise": lambda data, rng: rng.bytes(int(rng.integers(1, 5000))),
    "words": lambda data, rng: "nan inf -1e400 \u00e9 9999999999999999999999 , ;\n".encode() * 9,
    "escapes": lambda data, rng: b"\x1b[2J\x1b]0;x\x07 1 2\n\r\x00 3",
}
#: What stands in the place of a file.
REPLACED = ("fifo", "device", "loop", "folder", "missing", "socket", "zero")


def replace_file(path, kind):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/null")
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        import socket
        with socket.socket(socket.AF_UNIX) as server:
            here = os.open(path.parent, os.O_RDONLY)
            try:
                server.bind(f"/proc/self/fd/{here}/{path.name}")
            finally:
                os.close(here)


# What is asked for.

def command_line(files, folder, rng):
    """Return the arguments, and the files that the command may write."""
    pick = lambda *values: values[int(rng.integers(len(values)))]  # noqa: E731
    name = pick("evaluate", "evaluate", "evaluate", "explain", "validate", "camera-pairs",
                "export", "dataset", "baseline", "conventions", "published", "oxford")
    target = pick("out.csv", "out.json", "out/x.csv", "out", "/dev/full", "/dev/null", "-",
                  files[0], "in.xlsx", "\x1b[31m.csv", "a" * 300 + ".csv")
    if name == "evaluate":
        extra = [pick([], ["--convention", pick("mars", "torchreid", "all", "nonsense", "oxford")],
                      ["--ties", pick("bounds", "numpy", "reversed", "x")],
                      ["--rerank"], ["--per-query", target], ["--per-query", target],
                      ["--implementation", "port"], ["--index-lists", files[0], files[0]]),
                 pick([], [], ["--json"], ["--format", pick("csv", "latex", "markdown", "x")]),
                 pick([], [], ["--max-memory", pick("1K", "9" * 400, "-1", "1e9", "12M")]),
                 pick([], [], ["--metric", pick("cosine", "dot", "manhattan")],
                      ["--no-normalize"])]
        arguments = [word for some in extra for word in some]
    elif name == "explain":
        arguments = pick([], ["--query", pick("0", "3", "99", "-1", "9" * 5000)], ["--to", "mars"],
                         ["--json"])
    elif name == "validate":
        arguments = ["--published", pick("81.1/67.6", "1/2", "x", "81,1/", "/67.6", "1e9/1")]
    elif name == "camera-pairs":
        arguments = pick([], ["--rule", "script"], ["--json"])
    elif name == "export":
        arguments = ["--to", pick("trec", "x"), "--output", pick("out/q", "o", "missing/o", "/")]
    elif name == "baseline":
        arguments = ["--driver", pick("market1501", "cuhk03", "mars", "ide", "x")]
    elif name == "oxford":
        return [name, *files[:2]], set()
    elif name in ("conventions", "published"):
        return [name, *pick([], [pick("matlab", "x", "\x1b[2J\n", files[0])], ["--json"])], set()
    else:
        arguments = []
    written = {"out.csv", "out.json", "out/x.csv", "out/q.qrels", "out/q.run", "o.qrels", "o.run",
               "\x1b[31m.csv"}
    return [name, *files, *arguments], written


STREAMS = ("pipe", "pipe", "pipe", "closed", "full", "early")
ENVIRONMENTS = (
    {}, {}, {"COLUMNS": "20"}, {"COLUMNS": "abc"}, {"COLUMNS": "999999"}, {"TERM": "dumb"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "utf-16"}, {"TMPDIR": "/nowhere"},
    {"HOME": "/nowhere"}, {"PYTHONWARNINGS": "error"}, {"REID_REF_MATLAB_DIR": "/nowhere"})


@dataclass
class Case:
    """One run of the command, and what is known of it."""

    number: int
    arguments: list = field(default_factory=list)
    written: set = field(default_factory=set)
    words: list = field(default_factory=list)
    stdout: str = "pipe"
    stderr: str = "pipe"
    environment: dict = field(default_factory=dict)
    limit: int | None = None
    signal: tuple | None = None


def make(number, seed, folder):
    """Write the files of a case into an empty folder."""
    rng = np.random.default_rng([seed, number])
    case = Case(number)
    files = WRITERS[int(rng.integers(len(WRITERS)))](folder, problem(rng))
    (folder / "out").mkdir()
    victims = sorted(path for path in folder.rglob("*") if path.is_file())
    victim = victims[int(rng.integers(len(victims)))]
    luck = rng.random()
    if luck < 0.3:
        kind = "none"
    elif luck < 0.45:
        kind = REPLACED[int(rng.integers(len(REPLACED)))]
        replace_file(victim, kind)
    else:
        kind = list(DAMAGE)[int(rng.integers(len(DAMAGE)))]
        victim.write_bytes(DAMAGE[kind](victim.read_bytes(), rng))
    if rng.random() < 0.05:
        os.chmod(folder / "out", stat.S_IRUSR | stat.S_IXUSR)
    case.words = [kind, victim.name]
    case.arguments, case.written = command_line(files, folder, rng)
    if rng.random() < 0.3:
        case.stdout = STREAMS[int(rng.integers(len(STREAMS)))]
        case.stderr = STREAMS[int(rng.integers(len(STREAMS)))]
    case.environment = ENVIRONMENTS[int(rng.integers(len(ENVIRONMENTS)))]
    if rng.random() < 0.08:
        case.limit = int(rng.choice([0, 100, 4096]))  # a disk that is full
    if rng.random() < 0.08:
        case.signal = (signal.SIGINT if rng.random() < 0.6 else signal.SIGTERM,
                       float(rng.random() * 0.7))
    return case


def state(folder):
    """What lies in a folder: name to kind and contents."""
    found = {}
    for path in sorted(folder.rglob("*")):
        kind = path.lstat().st_mode
        found[str(path.relative_to(folder))] = (
            stat.S_IFMT(kind), hashlib.sha1(path.read_bytes()).hexdigest()
            if stat.S_ISREG(kind) else "")
    return found


def run(case, folder):
    """Run a case in its folder; return exit code, stdout, stderr, seconds and megabytes."""
    def before():
        if case.limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (case.limit, case.limit))
        for number, how in ((1, case.stdout), (2, case.stderr)):
            if how == "closed":
                os.close(number)

    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1",
                   **case.environment}
    start = time.monotonic()
    with open("/dev/full", "wb") as full:
        out, err = (full if how == "full" else subprocess.PIPE
                    for how in (case.stdout, case.stderr))
        process = subprocess.Popen(
            [sys.executable, "-m", "reid_ref", *case.arguments], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=before)
    if case.signal is not None:
        timer = threading.Timer(case.signal[1], process.send_signal, (case.signal[0],))
        timer.start()
    if case.stdout == "early":
        process.stdout.close()
        process.stdout = None
    if case.stderr == "early":
        process.stderr.close()
        process.stderr = None
    killer = threading.Timer(SECONDS + 5, process.kill)
    killer.start()
    texts = {}

    def read(name, pipe):
        with pipe:
            texts[name] = pipe.read()

    readers = [threading.Thread(target=read, args=one) for one in (
        ("out", process.stdout), ("err", process.stderr)) if one[1] is not None]
    for reader in readers:
        reader.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    for reader in readers:
        reader.join()
    killer.cancel()
    return (process.returncode, texts.get("out", b""), texts.get("err", b""),
            time.monotonic() - start, usage.ru_maxrss / 1024)


def broken(case, folder, before, code, out, err, seconds, megabytes):
    """Return the promises that a run broke."""
    faults = []
    text = out + err
    # A signal before our first line is read is answered by Python's own start.
    ours = case.signal is None or b"reid_ref/" in text
    if ours and (b"Traceback" in text or b"Exception ignored" in text or b"Fatal Python" in text):
        faults.append("traceback")
    if seconds > SECONDS:
        faults.append(f"{seconds:.0f} s")
    if megabytes > MEGABYTES:
        faults.append(f"{megabytes:.0f} MB")
    allowed = {0, 1, 2}
    if case.signal is not None:
        # Before Python has set up its own handler, the system ends the process.
        allowed |= {130, 143, -case.signal[0]}
    if not ours:
        allowed |= {1, 120}
    if code not in allowed:
        faults.append(f"exit code {code}")
    after = state(folder)
    for name in before:
        if after.get(name) != before[name] and name not in case.written:
            faults.append(f"changed {name}")
    for name in set(after) - set(before) - case.written:
        faults.append(f"left {name}")
    raw = b"\x1b" in text or b"\x07" in text
    if raw and case.environment.get("PYTHONIOENCODING") != "utf-16":
        faults.append("escape codes")
    if code == 2 and case.signal is None and case.environment.get(
            "PYTHONIOENCODING") != "utf-16":
        lines = [line for line in err.splitlines() if b"warning: " not in line]
        if case.stderr == "pipe" and (len(lines) != 1 or not lines[0].startswith(b"reid-ref")):
            faults.append("not one line")
        if out.strip() and case.stdout == "pipe":
            faults.append("error beside numbers")
    return faults


def try_case(number, seed):
    """Run one case in a folder of its own; return it, its run and the promises that it broke."""
    with tempfile.TemporaryDirectory(prefix="campaign-") as name:
        folder = Path(name)
        case = make(number, seed, folder)
        before = state(folder)
        done = run(case, folder)
        os.chmod(folder / "out", stat.S_IRWXU) if (folder / "out").is_dir() else None
        return case, done, broken(case, folder, before, *done)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    args = parser.parse_args()
    numbers = range(args.cases) if args.only is None else [args.only]
    failed, codes = 0, {}
    with ThreadPoolExecutor(2) as pool:
        for case, done, faults in pool.map(lambda k: try_case(k, args.seed), numbers):
            codes[done[0]] = codes.get(done[0], 0) + 1
            if faults or args.only is not None:
                failed += bool(faults)
                print(case.number, faults, case.words, case.arguments, case.stdout, case.stderr,
                      case.environment, case.limit, case.signal, done[0], f"{done[3]:.1f} s",
                      done[2][-600:].decode(errors="replace"), sep=" | ", flush=True)
    print(f"{len(numbers)} cases, {failed} broke a promise; exit codes "
          + ", ".join(f"{code}: {count}" for code, count in sorted(codes.items())))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
