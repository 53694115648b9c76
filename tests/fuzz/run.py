"""Fuzz every reader by coverage, with atheris: `python tests/fuzz/run.py SECONDS [READER ...]`.

Each reader runs in turn in a process of its own, so that a crash in a library is seen. A finding
(an exception that is no `InputError`, a crash, more than 10 seconds, more than 1 GiB) is kept as a
file; the exit code is then 1. `--corpus` keeps what reached new code, to begin from next time.
"""
from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: What reached new code in a campaign of hours: for each reader at most 150 files of 2,500 bytes.
CORPUS = Path(__file__).with_name("corpus.tar.xz")
SLICE, SECONDS, MEGABYTES, LONGEST = 30, 10, 1024, 16_384
_ADDRESS_SPACE = 12 * 2**30


def fuzz_reader(name: str, folder: Path, corpus: Path, seconds: int, seed: int) -> None:
    """Fuzz one reader in this process until the time is over; libFuzzer ends the process."""
    import resource

    import atheris

    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.path.insert(0, str(ROOT))
    with atheris.instrument_imports(include=["reid_ref", "zipfile", "html.parser", "tomllib"]):
        from tests.fuzz.mutate import mutated
        from tests.fuzz.readers import READERS
    reader, known = READERS[name], set()
    with tempfile.TemporaryDirectory() as made:
        seeds = reader.seeds(Path(made))
        for content in seeds:
            (corpus / hashlib.sha1(content).hexdigest()).write_bytes(content)
        (Path(made) / reader.name).unlink(missing_ok=True)

        def test_one(content: bytes) -> None:
            try:
                reader.accepts(Path(made), content)
            except Exception as error:
                frames = [frame for frame in traceback.extract_tb(error.__traceback__)]
                where = f"{type(error).__name__}-{Path(frames[-1].filename).stem}-" \
                        f"{frames[-1].lineno}"
                if where not in known:
                    known.add(where)
                    (folder / f"{name}-{where}").write_bytes(content)
                    (folder / f"{name}-{where}.txt").write_text(
                        "".join(traceback.format_exception(error)))

        def mutator(content: bytes, size: int, seed: int) -> bytes:
            return mutated(content, seed, lambda part: atheris.Mutate(part, max(
                16, len(part) + 16)))[:size]

        atheris.Setup(
            [sys.argv[0], str(corpus), f"-max_total_time={seconds}", f"-seed={seed}",
             f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}", f"-max_len={LONGEST}",
             f"-artifact_prefix={folder / name}-", "-print_final_stats=1", "-reload=0"],
            test_one, custom_mutator=mutator)
        atheris.Fuzz()


def campaign(names: list[str], folder: Path, corpus: Path, seconds: int, seed: int) -> int:
    """Give each reader a slice in turn until the time is over; return the number of findings."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(CORPUS) as known:
        known.extractall(corpus, filter="data")
    end, dice, cases = time.monotonic() + seconds, random.Random(seed), dict.fromkeys(names, 0)
    part = max(2, min(SLICE, seconds // len(names)))
    while time.monotonic() < end:
        for name in names:
            (corpus / name).mkdir(parents=True, exist_ok=True)
            child = subprocess.Popen(
                [sys.executable, __file__, str(part), name, "--child", "--findings", folder,
                 "--corpus", corpus, "--seed", str(dice.randrange(1, 2**31))],
                start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                said = child.communicate(timeout=part + 120)[1].decode(errors="replace")
            except subprocess.TimeoutExpired:  # a library that takes no signal
                os.killpg(child.pid, 9)
                said = child.communicate()[1].decode(errors="replace")
            counts = re.findall(r"^#(\d+)\s|executed_units: (\d+)", said, re.MULTILINE)
            cases[name] += max((int(a or b) for a, b in counts), default=0)
            if child.returncode != 0:
                (folder / f"{name}-exit-{child.returncode}-{time.time():.0f}.txt").write_text(
                    said[-8000:])
            if time.monotonic() >= end:
                break
    found = [path for path in folder.iterdir() if path.suffix != ".txt" or "-exit-" in path.name]
    print(f"{sum(cases.values()):,} cases of {len(names)} readers in {seconds:,} s; "
          f"{len(found)} findings in {folder}")
    print(", ".join(f"{name} {count:,}" for name, count in cases.items()))
    return len(found)


def main() -> int:
    """Read the arguments and run the campaign, or one reader of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=int)
    parser.add_argument("readers", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--findings", type=Path, default=Path("build/fuzz/findings"))
    parser.add_argument("--corpus", type=Path, default=Path("build/fuzz/corpus"))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        name, = args.readers
        fuzz_reader(name, args.findings, args.corpus / name, args.seconds, args.seed)
        return 0
    sys.path.insert(0, str(ROOT))
    from tests.fuzz.readers import READERS
    names = [name for name in READERS if name != "torch" or find_spec("torch")]
    return int(campaign(args.readers or names, args.findings.absolute(),
                        args.corpus.absolute(), args.seconds, args.seed) > 0)


if __name__ == "__main__":
    sys.exit(main())
