"""How long Python's lock is held, and what more cores would do.

Usage: python benchmarks/lock.py [SHARE]   (Linux, CPython 3.11; of Market-1501, default 1)

While one thread counts, another process samples the lock and its holder in the memory of the
first. The expected time is what no core can share (the processor time of the calling thread, and
the time in which others hold the lock), and the rest divided by the number of cores. That is no
promise: products and reads gain less than twice from the second core already.
"""
from __future__ import annotations

import own_kernel  # noqa: F401  (before numpy)

import ctypes
import multiprocessing
import os
import struct
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import made
from reid_ref import evaluate, evaluate_distances

#: Microseconds by which the lock is found; next in memory are its holder and whether it is held.
INTERVAL = 7123
CORES = (2, 8, 16, 32)


def work(share: float, dims: int, difficulty: str) -> Callable[[int], object]:
    """Return an evaluation by so many threads; 0 dimensions are a matrix."""
    market = made.market(share)
    labels = market.query, market.gallery
    if not dims:
        matrix = made.distances(market, difficulty)
        return lambda threads: evaluate_distances(matrix, *labels, threads=threads)
    features = made.both_features(market, difficulty, dims)
    return lambda threads: evaluate(*features, *labels, threads=threads)


def subject(pipe: Connection, share: float, dims: int, difficulty: str) -> None:
    """Say where the lock is, then evaluate by as many threads as is asked for."""
    evaluated = work(share, dims, difficulty)
    evaluated(2)
    sys.setswitchinterval(INTERVAL / 1e6)
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    memory = ctypes.string_at(runtime, 16_000)
    (place,) = (k for k in range(0, 16_000, 8) if memory[k:k + 8] == struct.pack("<Q", INTERVAL))
    pipe.send(runtime + place + 8)
    while threads := pipe.recv():
        start, processor = time.perf_counter(), time.thread_time()
        evaluated(threads)
        pipe.send((time.perf_counter() - start, time.thread_time() - processor))


def measure(*arguments: float | str) -> tuple[float, float, float, float]:
    """Return times by one and two threads, of the caller, and in which others hold the lock."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=subject, args=(theirs, *arguments))
    process.start()
    theirs.close()  # so that waiting ends where the process does
    place = ours.recv()
    memory = os.open(f"/proc/{process.pid}/mem", os.O_RDONLY)
    caller = struct.unpack("<Q", os.pread(memory, 8, place))[0]  # it waits for us
    one, two = [], []
    for _ in range(7):
        ours.send(1)
        looks = held = 0
        while not ours.poll():
            for _ in range(50):
                holder, locked = struct.unpack("<QI", os.pread(memory, 12, place))
                held += bool(locked) and holder != caller
            looks += 50
        seconds, _ = ours.recv()
        one.append((seconds, seconds * held / looks))
        ours.send(2)
        two.append(ours.recv())
    ours.send(0)
    process.join()
    return *min(one), *min(two)


def main() -> None:
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print("| work | one thread | two threads | calling thread | others hold the lock "
          f"| expected with {' | '.join(map(str, CORES))} cores |")
    print("|" + " --- |" * (5 + len(CORES)))
    for dims, difficulty in ((0, "easy"), (0, "middle"), (0, "hard"), (512, "middle"),
                             (512, "hard"), (2048, "middle"), (2048, "blurred")):
        one, held, two, caller = measure(share, dims, difficulty)
        alone = caller + held
        times = [one, two, caller, held, *(alone + (one - alone) / cores for cores in CORES)]
        print(f"| {f'{dims}-d' if dims else 'matrix'}, {difficulty} | "
              + " | ".join(f"{1e3 * seconds:.0f} ms" for seconds in times) + " |", flush=True)


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main()
