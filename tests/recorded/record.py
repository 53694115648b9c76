"""What reid-ref answers to `commands` and `calls`: python -m tests.recorded.record OUT.json.xz"""
import argparse
import gzip
import hashlib
import json
import lzma
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.recorded import commands

ROOT = Path(__file__).resolve().parents[2]
#: Text up to so many bytes is kept; of more, its hash.
INLINE = 120_000
PACKAGES = ("numpy|scipy|torch|torchreid|torchmetrics|scikit-learn|matplotlib|dask|jinja2|pillow|"
            "pytorch-metric-learning|open-metric-learning|pytrec-eval-terrier|fastreid|h5py")
#: What changes from one run or machine to the next, and what stands in its place. The folders
#: come first, in `normalised`.
VOLATILE = [(re.compile(pattern, re.I | re.M), put) for pattern, put in (
    (rf"\b({PACKAGES})([ =/:-]v?)\d+\.\d+\.\d+[\w.+]*", r"\1\2<version>"),
    (r"(?<=^Traceback \(most recent call last\):\n)( .*\n)*", ""),
    (r"<scratch>/\d+", "<folder>"), (r"/tmp/[\w./-]+", "<temporary>"),
    (r"0x[0-9a-f]{6,}", "<address>"),
    (r"(?<=, line )\d+", "<line>"))]


def opened(path, mode):
    """Open a JSON file; .xz and .gz are packed."""
    by_suffix = {".xz": lzma.open, ".gz": gzip.open}
    return by_suffix.get(Path(path).suffix, open)(path, mode, encoding="utf-8")


def normalised(text, folders):
    for path, name in folders.items():
        text = text.replace(str(path), name)
    for pattern, put in VOLATILE:
        text = pattern.sub(put, text)
    return text


def kept(data, folders):
    """Return bytes as text, or as size and hash where they are long or no text."""
    try:
        text = normalised(data.decode(), folders)
    except UnicodeDecodeError:
        text = None
    if text is not None and len(text) <= INLINE:
        return text
    data = data if text is None else text.encode()
    return f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}"


def environment(scratch):
    """Return the variables that every process gets, whatever the caller's are."""
    for name in ("home", "temporary"):
        (scratch / name).mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": f"{scratch}/home", "LANG": "C.UTF-8",
            "TMPDIR": f"{scratch}/temporary", "MPLCONFIGDIR": f"{scratch}/home", "TZ": "UTC",
            "COLUMNS": "100", "LINES": "40", "NO_COLOR": "1", "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def run(line, python, folder, env, folders):
    """Run one command line in a folder; return its exit code, what it printed and wrote."""
    words = shlex.split(line.replace("(no arguments)", ""))
    given = dict(word.split("=", 1) for word in words if re.match("[A-Z_]+=", word))
    words = words[len(given):]
    start = words if words[:1] == ["-m"] else ["-m", "reid_ref", *words]
    before = set(os.listdir(folder))
    done = subprocess.run([python, *start], cwd=folder, env={**env, **given}, timeout=300,
                          stdin=subprocess.DEVNULL, capture_output=True)
    names = [Path(top, name) for entry in set(os.listdir(folder)) - before
             for top, _, found in [(folder, 0, [entry]), *os.walk(folder / entry)]
             for name in found]
    files = {str(path.relative_to(folder)): kept(path.read_bytes(), folders)
             for path in sorted(names) if path.is_file()}
    return {"exit": done.returncode, "out": kept(done.stdout, folders),
            "err": kept(done.stderr, folders), "files": files}


def fresh(folder, links):
    """Make a folder in which the inputs lie by their short names."""
    folder.mkdir()
    for name, target in links.items():
        (folder / name).symlink_to(target)
    return folder


def record_commands(python, scratch, env, folders, only):
    links = {**{name: ROOT / "fixtures" / target for name, target in commands.FIXTURES.items()},
             "fixtures": ROOT / "fixtures", "real": ROOT.parent / "shared/real",
             "goldens": ROOT.parent / "shared/goldens", "made": scratch / "made"}
    (scratch / "made").mkdir()
    commands.make(scratch / "made", ROOT / "fixtures")
    (before, asked), first = commands.lines(), fresh(scratch / "first", links)
    answers = {line: run(line, python, first, env, folders) for line in before}
    for path in first.iterdir():
        if not path.is_symlink():
            path.rename(scratch / "made" / path.name)
    commands.tamper(scratch / "made")

    def one(number_and_line):
        number, line = number_and_line
        folder = fresh(scratch / f"{number}", links)
        return run(line, python, folder, env, folders)

    asked = [line for line in asked if only in line]
    with ThreadPoolExecutor(2) as pool:
        answers.update(zip(asked, pool.map(one, enumerate(asked))))
    return answers


def record_calls(python, scratch, env, folders):
    """Run `calls` by its file, so that no other package of this checkout is on the path."""
    folder = fresh(scratch / "calls", {"fixtures": ROOT / "fixtures", "made": scratch / "made",
                                       "real": ROOT.parent / "shared/real"})
    done = subprocess.run([python, str(Path(__file__).with_name("calls.py"))], cwd=folder, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    if done.returncode:
        sys.exit(f"calls.py failed:\n{done.stderr.decode()}")
    return {call: kept(text.encode(), folders) for call, text in json.loads(done.stdout).items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", help="name of the file to write: .json, .json.xz or .json.gz")
    parser.add_argument("--python", default=sys.executable, help="the Python to ask")
    parser.add_argument("--checkout", type=Path, help="where its reid_ref must be (default: here)",
                        default=ROOT)
    parser.add_argument("--only", default="", help="only command lines with this text, no calls")
    parser.add_argument("--keep", type=Path, help="a new folder, in which the files are left")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = (args.keep or Path(temporary)).resolve()
        scratch.mkdir(parents=True, exist_ok=bool(args.keep is None))
        env, checkout = environment(scratch), args.checkout.resolve()
        where = subprocess.run([args.python, "-c", "import reid_ref; print(reid_ref.__file__)"],
                               cwd=scratch, env=env, capture_output=True, text=True, check=True)
        if not where.stdout.startswith(f"{checkout}/"):
            sys.exit(f"{args.python} imports {where.stdout.strip()}, which is not in {checkout}")
        folders = {scratch: "<scratch>", checkout: "<checkout>", ROOT: "<checkout>"}
        answers = {"commands": record_commands(args.python, scratch, env, folders, args.only)}
        if not args.only:
            answers["calls"] = record_calls(args.python, scratch, env, folders)
    with opened(args.out, "wt") as file:
        json.dump(answers, file, indent=0, ensure_ascii=False)
    print(", ".join(f"{len(found)} {name}" for name, found in answers.items()), "recorded")


if __name__ == "__main__":
    main()
