"""Time and memory: interleaved repetitions, and runs in a process of their own.

Noise of the machine hits all contestants alike only if they take turns; so `take_turns` goes
round them, and the best time of each counts.

Memory is that of a process of its own: its resident *anonymous* pages (RssAnon), read every two
milliseconds while it works, minus what it held when its input was loaded. Pages of a
memory-mapped file are not anonymous: they belong to the system's cache and can be dropped.
"""
from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

CHILD = Path(__file__).with_name("child.py")
SAMPLE_EVERY = 0.002

#: Repetitions, and what does the work once and returns its seconds.
Contestant = tuple[int, Callable[[], float]]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def clock(work: Callable[[], object]) -> Callable[[], float]:
    """Return the function that does the work and answers with its seconds."""
    return lambda: seconds(work)


def take_turns(contestants: Mapping[str, Contestant]) -> dict[str, float]:
    """Return the best time of each contestant."""
    best = {name: float("inf") for name in contestants}
    for turn in range(max(times for times, _ in contestants.values())):
        for name, (times, measure) in contestants.items():
            if turn < times:
                best[name] = min(best[name], measure())
    return best


def own_process(task: Mapping[str, Any], repetitions: int = 1,
                child: Path = CHILD) -> dict[str, Any]:
    """Run `child.py`, or a script like it, on a task: its best time, answer, and peak memory.

    Memory is counted beyond its input, and read in the first repetition only; the others are
    left alone.
    """
    with subprocess.Popen([sys.executable, str(child), json.dumps(task)], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{task}: the process that measures it failed; see above")
        held = peak = anonymous_bytes(process.pid)
        answers = []
        for turn in range(repetitions):
            process.stdin.write("go\n")
            process.stdin.flush()
            while turn == 0 and not select.select([process.stdout], [], [], SAMPLE_EVERY)[0]:
                peak = max(peak, anonymous_bytes(process.pid))
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"{task}: the process that measures it failed; see above")
            answers.append(json.loads(line))
        process.stdin.close()
    best = min(answers, key=lambda answer: answer["seconds"])
    return {**best, "bytes_beyond_input": peak - held}


def anonymous_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return 1024 * int(line.split()[1])
    return 0  # the process is gone
