"""Where `reid-ref evaluate FILE` spends its time, of a .npz and of a .mat file.

Usage: python benchmarks/command_stages.py [SHARE]     (of Market-1501, default 1)

Wall clock from the start of the process to its end, the best of several; each stage's time is
without that of the stages inside it. Next to it: reading the arrays alone, and the product.
"""
from __future__ import annotations

import own_kernel  # noqa: F401  (before numpy)

import compileall
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPETITIONS, DIMS = 7, 2048
NUMPY, MODULES, READING = "Python and numpy", "modules of reid-ref", "reading the file"
EVALUATING, DOCTOR, REST = "evaluating", "the doctor's sample", "all else, and the end"
STAGES = NUMPY, MODULES, READING, EVALUATING, DOCTOR


def evaluate(file: str, start: float) -> None:
    """Run the command in this process, which began at `start`; print the time of each stage."""
    spent, inside = dict.fromkeys(STAGES, 0.0), [0.0]

    def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            begun = time.perf_counter()
            inside.append(0.0)
            try:
                return function(*arguments, **options)
            finally:
                took = time.perf_counter() - begun
                spent[stage] += took - inside.pop()
                inside[-1] += took
        return call

    import numpy  # noqa: F401
    loaded = time.time()
    from reid_ref import cli
    from reid_ref.cli import parser  # noqa: F401
    from reid_ref.commands.evaluate import command  # noqa: F401
    from reid_ref.commands import gate
    from reid_ref.console import files
    spent[NUMPY], spent[MODULES] = loaded - start, time.time() - loaded
    for stage, owner, name in ((READING, files, "read_input"),
                               (EVALUATING, files, "evaluate_file"),
                               (DOCTOR, gate, "examine")):
        setattr(owner, name, timed(stage, getattr(owner, name)))
    status = cli.main(["evaluate", file, "--quiet"])
    print(json.dumps(spent), file=sys.stderr, flush=True)
    sys.exit(status)


def measured(file: Path) -> dict[str, float]:
    """Return the times of a process that evaluates the file."""
    start = time.time()
    done = subprocess.run([sys.executable, __file__, "--of", str(file), repr(start)], check=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    whole, spent = time.time() - start, json.loads(done.stderr.splitlines()[-1])
    return {**spent, REST: whole - sum(spent.values()), "whole": whole}


def main() -> None:
    import numpy as np
    import made
    import reid_ref
    from commands import write_files
    from machine import machine
    from peers import package
    from stopwatch import seconds

    compileall.compile_dir(Path(reid_ref.__file__).parent, quiet=1)  # as pip leaves it
    market = made.market(float(sys.argv[1]) if len(sys.argv) > 1 else 1)
    print("; ".join(f"{key} {value}" for key, value in machine().items()))
    with tempfile.TemporaryDirectory() as folder:
        arrays = write_files(market, DIMS, Path(folder))
        files = {kind: Path(folder, f"a.{kind}") for kind in ("npz", "mat")}
        kept = made.kept(market, arrays["gallery_f"])
        out = np.zeros((len(arrays["query_f"]), len(kept)), np.float32)
        readers = {"npz": lambda path: dict(np.load(path)), "mat": package("scipy.io").loadmat}
        runs: dict[str, list[dict[str, float]]] = {kind: [] for kind in files}
        reading, products = {kind: list[float]() for kind in files}, list[float]()
        for _ in range(REPETITIONS):
            for kind, path in files.items():
                runs[kind].append(measured(path))
                reading[kind].append(seconds(lambda: readers[kind](path)))
            products.append(seconds(lambda: np.matmul(arrays["query_f"], kept.T, out=out)))
    best = [min(of_kind, key=lambda run: run["whole"]) for of_kind in runs.values()]
    least = [min(reading[kind]) + 1.25 * min(products) for kind in files]
    print(f"\n| stage, {DIMS}-d | {' | '.join(files)} |\n| --- | --- | --- |")
    for stage in (*STAGES, REST, "whole"):
        print(f"| {stage} | " + " | ".join(f"{run[stage]:.2f} s" for run in best) + " |")
    print("| reading the arrays alone | " + " | ".join(
        f"{min(reading[kind]):.2f} s" for kind in files) + " |")
    print("| the product of kept images | " + " | ".join([f"{min(products):.2f} s"] * 2) + " |")
    print("| beyond reading and 1.25 products | " + " | ".join(
        f"{run['whole'] - of_kind:.2f} s" for run, of_kind in zip(best, least)) + " |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--of"]:
        evaluate(sys.argv[2], float(sys.argv[3]))
    else:
        main()
