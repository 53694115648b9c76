"""Whole commands on files of features, beside reading the file and the matrix product."""
from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import made
import peers
from sizes import Size
from stopwatch import SAMPLE_EVERY, anonymous_bytes, clock, take_turns
from table import Row, memory_row, second

Numbers = dict[str, Any]
#: Of the features that the doctor looks at.
DOCTOR_DIMS = 256


def commands(size: Size, folder: Path) -> Numbers:
    """(n) `evaluate` of a .npz and of a .mat file, `compare` of two .npz files; at fewer
    dimensions, `doctor` and `evaluate --strict`.
    """
    loadmat = peers.package("scipy.io").loadmat
    market, dims = made.market(size.share), size.dims[-1]
    arrays = write_files(market, dims, folder)
    query, gallery = arrays["query_f"], arrays["gallery_f"]
    np.savez(folder / "b.npz", **{**arrays, "query_f": query + np.float32(1e-3)})
    kept = made.kept(market, gallery)
    product = np.zeros((len(query), len(kept)), np.float32)
    narrow = made.both_features(market, "middle", DOCTOR_DIMS)
    np.savez(folder / "narrow.npz", **{**arrays, "query_f": narrow[0], "gallery_f": narrow[1]})
    works = {"evaluate npz": ["evaluate", "a.npz"], "evaluate mat": ["evaluate", "a.mat"],
             "compare npz": ["compare", "a.npz", "b.npz"],
             "evaluate": ["evaluate", "narrow.npz"],
             "strict": ["evaluate", "narrow.npz", "--strict"], "doctor": ["doctor", "narrow.npz"]}
    times = take_turns({
        **{name: (size.repetitions, clock(lambda words=words: run(words, folder)))
           for name, words in works.items()},
        "read npz": (size.repetitions, clock(lambda: dict(np.load(folder / "a.npz")))),
        "read mat": (size.repetitions, clock(lambda: loadmat(folder / "a.mat"))),
        "product": (size.repetitions, clock(lambda: np.matmul(query, kept.T, out=product)))})
    held = query.nbytes + gallery.nbytes
    return {"dims": dims, "seconds": times, "bytes_beyond_input": {
        name: run(works[name], folder) - held
        for name in ("evaluate npz", "evaluate mat", "compare npz")}}


def write_files(market: made.Market, dims: int, folder: Path) -> dict[str, Any]:
    """Write made features to `a.npz` and `a.mat`; return the arrays."""
    query, gallery = made.both_features(market, "middle", dims)
    arrays = {"query_f": query, "gallery_f": gallery,
              **{f"{side}_{name}": getattr(getattr(market, side), field)
                 for side in ("query", "gallery")
                 for name, field in (("label", "identity"), ("cam", "camera"))}}
    np.savez(folder / "a.npz", **arrays)
    peers.package("scipy.io").savemat(folder / "a.mat", arrays)
    return arrays


def run(words: list[str], folder: Path) -> int:
    """Run a command, and return its peak memory."""
    peak = 0
    with subprocess.Popen([sys.executable, "-m", "reid_ref", *words, "--quiet"], cwd=folder,
                          stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, anonymous_bytes(process.pid))
            time.sleep(SAMPLE_EVERY)
    finds = words[0] == "doctor" or "--strict" in words  # made data is not Market-1501
    if process.returncode > finds:
        raise RuntimeError(f"{' '.join(words)}: exit code {process.returncode}")
    return peak


def rows(measured: Numbers) -> list[Row]:
    """Make the rows of the table."""
    times, found = measured["seconds"], []
    for name in ("evaluate npz", "evaluate mat"):
        kind = name.split()[1]
        least = times[f"read {kind}"] + 1.25 * times["product"]
        found.append(Row(
            f"(n) evaluate FILE.{kind}, {measured['dims']}-d", second(times[name]),
            f"reading {second(times[f'read {kind}'])}, 1.25 x the product "
            f"{second(times['product'])}", times[name] - least, " s more", "command"))
    found.append(Row("(n) compare A.npz B.npz", second(times["compare npz"]),
                     f"evaluate: {second(times['evaluate npz'])}",
                     times["compare npz"] / times["evaluate npz"], "x as long", "compare"))
    for name, words in (("doctor", "doctor FILE.npz"), ("strict", "evaluate FILE.npz --strict")):
        found.append(Row(f"(n) {words}, {DOCTOR_DIMS}-d", second(times[name]),
                         f"evaluate: {second(times['evaluate'])}",
                         times[name] / times["evaluate"], "x as long", name))
    return found + [memory_row(f"(n) {name}", beyond, "the arrays of a file", "command memory")
                    for name, beyond in measured["bytes_beyond_input"].items()]
