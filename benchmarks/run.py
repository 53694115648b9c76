"""Measure reid-ref beside the evaluators people use, in one run; print a table of ratios.

Usage: python benchmarks/run.py [--quick] [--only WORK ...] [--output FILE.json]

A full run takes about an hour, 14 GiB of memory and 6 GiB of disk. It writes results/KIND.json,
the newest run of this kind of processor, a picture if matplotlib is installed, and the table of
README.md; --quick and --only write only where --output says.
"""
from __future__ import annotations

import own_kernel  # noqa: F401  (before numpy)

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
from machine import file_name, machine, versions
from plot import growth_plot
from sizes import FULL, QUICK

RESULTS = Path(__file__).with_name("results")
#: Between these in README.md is the table.
MARKS = "<!-- results -->", "<!-- end of results -->"
#: What makes the rows of each work.
ROWS = {"distances": table.distance_rows, "features": table.feature_rows,
        "growth": table.growth_rows, "start": table.start_rows,
        "conventions": table.convention_rows, "rerank": rerank.rows, "intervals": intervals.rows,
        "compat": compat.rows, "larger": larger.rows, "thresholds": thresholds.rows,
        "person_search": person_search.rows, "protocols": protocols.rows,
        "cores": cores.rows, "commands": commands.rows, "search": search.rows}


def main() -> None:
    options = arguments()
    size = replace(QUICK if options.quick else FULL, beside=options.beside)
    names = options.only or list(works.WORKS)
    with tempfile.TemporaryDirectory() as folder:
        numbers, failed = works.run(names, size, Path(folder))
    today = datetime.date.today().isoformat()
    report = {"date": today, "quick": options.quick, "machine": machine(),
              "versions": versions(), "works": rounded(numbers)}
    for kind in ("machine", "versions"):
        print("; ".join(f"{key} {value}" for key, value in report[kind].items()))
    print(f"\n{table.markdown(rows(numbers, wanted=not options.quick))}")
    whole, name = not (options.quick or options.only), file_name(report["machine"])
    output = options.output or (RESULTS / f"{name}.json" if whole else None)
    if output is not None:
        write(report, output)
    if failed:
        raise SystemExit(f"failed, and left out: {', '.join(failed)}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the size, to try it")
    parser.add_argument("--only", choices=works.WORKS, nargs="+", metavar="WORK",
                        help=f"these works alone, of {', '.join(works.WORKS)}")
    parser.add_argument("--beside", default=FULL.beside, metavar="COMMIT",
                        help="search: the commit, or the folder of a checkout, beside ours; "
                        "default: %(default)s")
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
    if output.resolve().parent == RESULTS.resolve():
        write_tables()
    if "growth" in report["works"]:
        picture = output.with_suffix(".png")
        print(f"written: {picture}" if growth_plot(report["works"]["growth"], picture) else
              "no plot: pip install matplotlib")


def tables() -> str:
    """Return one table of the works, with a column for each kind of processor that ran them."""
    reports = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    if not reports:
        return "No run of this version is recorded yet.\n"
    cells: dict[tuple[str, str], dict[int, str]] = {}
    for k, report in enumerate(reports):
        for row in rows(report["works"], wanted=False):
            cells.setdefault((row.work, row.against.partition(":")[0]), {})[k] = row.short()
    heads = ["; ".join([f"reid-ref {report['versions']['reid-ref']}", report["date"],
                        *(report["machine"][name] for name in ("processor", "model", "kernel")),
                        f"{report['machine']['cores']} cores"]) for report in reports]
    lines = [["work", "next to", *heads], *(
        [*names, *(found.get(k, "") for k in range(len(reports)))]
        for names, found in cells.items())]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_tables() -> None:
    """Put the table into README.md, between its marks."""
    readme = Path(__file__).with_name("README.md")
    before, rest = readme.read_text().split(MARKS[0])
    readme.write_text(f"{before}{MARKS[0]}\n{tables()}{MARKS[1]}{rest.split(MARKS[1])[1]}")


if __name__ == "__main__":
    main()
