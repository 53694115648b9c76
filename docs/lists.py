"""The lists of benchmarks in the guides, from the records: `python docs/lists.py` writes them.

A list stands between two comments, which name it.
"""
import re
from itertools import groupby
from pathlib import Path

from reid_ref.datasets.benchmarks import BENCHMARKS
from reid_ref.evaluation.how import How
from reid_ref.protocols import PROTOCOLS
from reid_ref.protocols.words import trials_of

ROOT = Path(__file__).parents[1]
_LIST = re.compile(r"(<!-- list: ([a-z-]+), by docs/lists.py -->\n).*?(<!-- end -->)", re.DOTALL)


def benchmarks():
    """Return the table of benchmarks, one row per protocol."""
    rows = ["| benchmark | `--protocol` | AP | features ranked by | trials |",
            "|---|---|---|---|---|"]
    for benchmark in sorted(BENCHMARKS.values(), key=lambda each: each.name.casefold()):
        name = benchmark.name
        for record in (PROTOCOLS[table["name"]] for table in benchmark.protocols):
            metric, normalized = How((record.convention,)).distance()
            distance = metric if metric != "euclidean" else (
                f"euclidean, {'normalised' if normalized else 'raw'}")
            rows.append(f"| {name} | `{record.name}` | {record.convention.ap} | {distance} | "
                        f"{trials_of(record)[0]} |")
            name = ""
    return "\n".join(rows)


def held():
    """Return the table of recordings and of their largest differences."""
    rows = ["| protocols | recordings | largest difference in double | in float32 |",
            "|---|--:|--:|--:|"]
    records = (record for record in PROTOCOLS.values() if record.held.recordings)
    for (_, numbers), group in groupby(records, lambda each: (each.benchmark, each.held)):
        names = ", ".join(record.name for record in group)
        rows.append(f"| {names} | {numbers.recordings} | {numbers.double} | {numbers.float32} |")
    return "\n".join(rows)


def not_held():
    """Return the names of the protocols that no recording holds."""
    return ", ".join(f"`{name}`" for name, record in PROTOCOLS.items()
                     if not record.held.recordings)


LISTS = {"benchmarks": benchmarks, "held": held, "not-held": not_held}


def written(text):
    """Return the text of a page with its lists, and the number of protocols, as they are now."""
    text = _LIST.sub(lambda match: f"{match[1]}\n{LISTS[match[2]]()}\n\n{match[3]}", text)
    return re.sub(r"\[\d+ such protocols\]", f"[{len(PROTOCOLS)} such protocols]", text)


def pages():
    """Return the pages that have lists."""
    return [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").glob("*.md"))
                                  if _LIST.search(page.read_text()))]


if __name__ == "__main__":
    for path in pages():
        path.write_text(written(path.read_text()))
