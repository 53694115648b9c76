"""Measure reid-ref beside the evaluators people use, in one run; print a table of ratios.

Usage: python benchmarks/run.py [--quick] [--only WORK] [--output FILE.json]

A full run takes about 25 minutes, 14 GiB of memory and 6 GiB of disk. It writes
results/DATE.json, and DATE.png where matplotlib is installed; --quick and --only write only where
--output says.
"""
from __future__ import annotations

import argparse
import datetime
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import commands
import compat
import cores
import intervals
import larger
import person_search
import protocols
import rerank
import search
import table
import thresholds
import works
from machine import machine, versions
from plot import growth_plot
from sizes import FULL, QUICK

RESULTS = Path(__file__).with_name("results")
#: What makes the rows of each work.
ROWS = {"distances": table.distance_rows, "features": table.feature_rows,
        "growth": table.growth_rows, "start": table.start_rows,
        "conventions": table.convention_rows, "rerank": rerank.rows, "intervals": intervals.rows,
        "compat": compat.rows, "larger": larger.rows, "thresholds": thresholds.rows,
        "person_search": person_search.rows, "protocols": protocols.rows,
        "cores": cores.rows, "commands": commands.rows, "search": search.rows}


def main() -> None:
    options = arguments()
    size = QUICK if options.quick else FULL
    names = [options.only] if options.only else list(works.WORKS)
    with tempfile.TemporaryDirectory() as folder:
        numbers = works.run(names, size, Path(folder))
    today = datetime.date.today().isoformat()
    report = {"date": today, "quick": options.quick, "machine": machine(),
              "versions": versions(), "works": rounded(numbers)}
    for kind in ("machine", "versions"):
        print("; ".join(f"{key} {value}" for key, value in report[kind].items()))
    print(f"\n{table.markdown(rows(numbers, wanted=not options.quick))}")
    whole = not (options.quick or options.only)
    output = options.output or (RESULTS / f"{today}.json" if whole else None)
    if output is not None:
        write(report, output)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the size, to try it")
    parser.add_argument("--only", choices=works.WORKS, help="this work alone")
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="write the numbers here")
    return parser.parse_args()


def rows(numbers: dict[str, Any], wanted: bool) -> list[table.Row]:
    """Make the rows; `wanted`: say what is wanted, which is meant for the full size."""
    found = [row for name, measured in numbers.items() for row in ROWS[name](measured)]
    return found if wanted else [replace(row, wanted="") for row in found]


def rounded(value: Any) -> Any:
    """Five digits are more than a clock can tell."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def write(report: dict[str, Any], output: Path) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nwritten: {output}")
    if "growth" in report["works"]:
        picture = output.with_suffix(".png")
        print(f"written: {picture}" if growth_plot(report["works"]["growth"], picture) else
              "no plot: pip install matplotlib")


if __name__ == "__main__":
    main()
