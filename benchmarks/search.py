"""`validate` searching for a figure that no way prints, at Market-1501's size."""
from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import made
import peers
from sizes import Size
from stopwatch import SAMPLE_EVERY, anonymous_bytes
from table import MIB, Row, second

Numbers = dict[str, Any]


def search(size: Size, folder: Path) -> Numbers:
    """(o) All single variations, re-ranking included; the whole command, with its start."""
    peers.package("scipy")
    market, dims = made.market(size.share), size.dims[0]
    query, gallery = made.both_features(market, "middle", dims)
    np.savez(folder / "searched.npz", query_f=query, gallery_f=gallery, **{
        f"{side}_{name}": getattr(getattr(market, side), field)
        for side in ("query", "gallery")
        for name, field in (("label", "identity"), ("cam", "camera"))})
    words = [sys.executable, "-m", "reid_ref", "validate", "searched.npz", "--published",
             "1.23/98.76", "--json", "--quiet"]
    peak, start = 0, time.perf_counter()
    with (open(folder / "searched.json", "w") as output, subprocess.Popen(
            words, cwd=folder, stdout=output) as process):
        while process.poll() is None:
            peak = max(peak, anonymous_bytes(process.pid))
            time.sleep(SAMPLE_EVERY)
    seconds = time.perf_counter() - start
    if process.returncode != 1:  # no convention reproduces it
        raise RuntimeError(f"validate: exit code {process.returncode}")
    found = json.loads((folder / "searched.json").read_text())["search"]
    return {"dims": dims, "seconds": seconds, "bytes": peak, "tried": found["tried"],
            "different": found["different"]}


def rows(measured: Numbers) -> list[Row]:
    """Make the rows of the table."""
    ways = f"{measured['tried']:,} ways, {measured['different']:,} different results"
    return [Row(f"(o) validate, a search, {measured['dims']}-d", second(measured["seconds"]),
                ways, measured["seconds"], " s", "search"),
            Row("(o) validate, a search", "", "memory, the file's arrays included",
                measured["bytes"] / MIB, " MiB", "search memory")]
