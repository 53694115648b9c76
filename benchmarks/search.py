"""`validate` searching for a figure that no way prints, at Market-1501's size.

The same ways by this checkout and by another commit: processor seconds of each, in processes of
their own. What both have of variations and conventions is tried, and gives the same numbers.
"""
from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import checks
import made
import peers
from reid_ref import evaluate, read
from reid_ref.analysis.validate.candidates import quick_conventions
from sizes import Size
from stopwatch import SAMPLE_EVERY, anonymous_bytes, own_process
from table import MIB, Row, second

Numbers = dict[str, Any]
OURS = Path(__file__).parents[1]


def search(size: Size, folder: Path) -> Numbers:
    """(o) All single variations, re-ranking included."""
    peers.package("scipy")
    other = checkout(size.beside, folder)
    market, dims = made.market(size.share), size.dims[0]
    query, gallery = made.both_features(market, "middle", dims)
    file = folder / "searched.npz"
    np.savez(file, query_f=query, gallery_f=gallery, **{
        f"{side}_{name}": getattr(getattr(market, side), field)
        for side in ("query", "gallery")
        for name, field in (("label", "identity"), ("cam", "camera"))})
    plain = evaluate(query, gallery, market.query, market.gallery)
    figure = f"{100 * float(plain.cmc[0]):.2f}/{100 * plain.mAP + 2:.2f}"
    return {"dims": dims, **whole_command(file, figure), "beside": size.beside,
            "same ways": same_ways(file, other)}


def checkout(beside: str, folder: Path) -> Path:
    """Return a folder with the reid_ref of a commit of this repository, or of another checkout."""
    if Path(beside, "reid_ref").is_dir():
        return Path(beside).resolve()
    archive = subprocess.run(["git", "-C", str(OURS), "archive", beside, "reid_ref"],
                             capture_output=True)
    if archive.returncode:
        raise peers.Missing(f"git fetch origin {beside}, or --beside CHECKOUT")
    tarfile.open(fileobj=io.BytesIO(archive.stdout)).extractall(folder / "beside", filter="data")
    return folder / "beside"


def whole_command(file: Path, figure: str) -> Numbers:
    """Return wall clock and memory of the command, with its start."""
    words = [sys.executable, "-m", "reid_ref", "validate", file.name, "--published", figure,
             "--search", "--json", "--quiet"]
    peak, start = 0, time.perf_counter()
    with (open(file.with_suffix(".json"), "w") as output, subprocess.Popen(
            words, cwd=file.parent, stdout=output) as process):
        while process.poll() is None:
            peak = max(peak, anonymous_bytes(process.pid))
            time.sleep(SAMPLE_EVERY)
    seconds = time.perf_counter() - start
    if process.returncode != 1:  # no convention reproduces it
        raise RuntimeError(f"validate: exit code {process.returncode}")
    found = json.loads(file.with_suffix(".json").read_text())["search"]
    return {"seconds": seconds, "bytes": peak, "tried": found["tried"],
            "different": found["different"]}


def same_ways(file: Path, other: Path) -> Numbers:
    """Return the processor seconds of the ways that both checkouts have."""
    def run(checkout: Path, **task: Any) -> Numbers:
        return own_process({"checkout": str(checkout), "file": str(file), **task},
                           child=Path(__file__).with_name("ways.py"))
    names = run(OURS), run(other)
    quick = [convention.name for convention in quick_conventions(read(file))]
    chosen = {"variations": [name for name in names[0]["variations"]
                             if name in names[1]["variations"]],
              "conventions": [name for name in quick if name in names[1]["conventions"]]}
    ours, theirs = (run(each, **chosen) for each in (OURS, other))
    for way in ours["ways"].keys() | theirs["ways"].keys():
        checks.same(ours["ways"].get(way), theirs["ways"].get(way), way)
    return {"ways": len(ours["ways"]), "ours": ours["seconds"], "theirs": theirs["seconds"],
            "without re-ranking": ours["without re-ranking"], **{
                f"{whose} bytes": numbers["bytes_beyond_input"]
                for whose, numbers in (("our", ours), ("their", theirs))}}


def rows(measured: Numbers) -> list[Row]:
    """Make the rows of the table."""
    tried = f"{measured['tried']:,} ways, {measured['different']:,} different results"
    found = [Row(f"(o) validate, a search, {measured['dims']}-d", second(measured["seconds"]),
                 tried, measured["seconds"], " s", "search"),
             Row("(o) validate, a search", "", "memory, the file's arrays included",
                 measured["bytes"] / MIB, " MiB", "search memory")]
    if "same ways" not in measured:  # of a run without another commit beside
        return found
    same = measured["same ways"]
    against = f"commit {measured['beside']}: {second(same['theirs'])} of processor time"
    return found + [
        Row(f"(o) the same {same['ways']:,} ways{words}", second(same[whose]), against,
            same[whose] / same["theirs"], "x as long", wanted)
        for whose, words, wanted in (("ours", "", "ways"), (
            "without re-ranking", " but re-ranking, for a figure below mAP", "ways below"))]
