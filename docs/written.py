"""Write what the pages show: lists, screens, the output of their Python, and docs/schema.json.

    python docs/written.py             # write them
    python docs/written.py --check     # show what differs, and write nothing

A list stands between two comments, which name it, and is made from the records. What is below a
command or a block of Python is what it prints; a screen that ends in ... is cut to as many lines
as the page has. The tests are the same check. A page whose packages are not installed is left as
it is.
"""
# flake8: noqa: E402
import ast
import importlib.util
import json
import re
import sys
import tempfile
from itertools import groupby
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import baseline_tables  # lies beside this file, as those below
import json_schema
import layout_pages
import recipes
from protocol_pages import recordings

from reid_ref.conventions import CONVENTIONS, NAMES
from reid_ref.datasets.benchmarks import BENCHMARKS
from reid_ref.evaluation.how import How
from reid_ref.protocols import PROTOCOLS
from reid_ref.protocols.words import trials_of
from reid_ref.testing.checks import CHECKS
from reid_ref.variations import VARIATIONS
from tests import documents, test_house
from tests.octave import executable

ROOT = Path(__file__).resolve().parents[1]
#: Packages that the Python of some pages needs.
_PACKAGES = re.compile(r"^(?:import|from) (?:reid_ref\.compat\.)?"
                       r"(torch|distributed|torchmetrics|pytorch_metric_learning)\b", re.MULTILINE)
_LIST = re.compile(r"(<!-- list: ([a-z-]+), by docs/written.py -->\n).*?(<!-- end -->)", re.DOTALL)


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


def from_features():
    """Return the table of test scripts that were run from features on."""
    rows = ["| `reid-ref evaluate FILE` with | test script | mAP of it |", "|---|---|--:|"]
    for given, these in recordings().items():
        for each in these:
            numbers = ", ".join(f"{100 * answers['mAP']:.2f}"
                                for answers in each["answers"].values() if "mAP" in answers)
            rows.append(f"| `{given}` | {each['repository']} {each['commit'][:7]} | {numbers} |")
    return "\n".join(rows)


def not_held():
    """Return the names of the protocols that no recording holds."""
    recorded = {each["given"].get("protocol") for these in recordings().values()
                for each in these}
    return ", ".join(f"`{name}`" for name, record in PROTOCOLS.items()
                     if not record.held.recordings and name not in recorded)


def reranking():
    """Return the table of the toolboxes' re-ranking."""
    rows = ["| `--convention` | variant | k1 | k2 | lambda | features | where |",
            "|---|---|--:|--:|--:|---|---|"]
    groups = {}
    for name in NAMES:
        record = CONVENTIONS[name]
        if record.reranking is not None and not name.endswith("-function"):
            normalized = record.normalize or record.metric == "cosine"
            groups.setdefault((record.reranking, normalized), []).append(name)
    for (own, normalized), names in groups.items():
        rows.append(f"| {', '.join(f'`{name}`' for name in sorted(names, key=str.casefold))} | "
                    f"{own.variant} | {own.k1} | {own.k2} | {own.lambda_} | "
                    f"{'normalised' if normalized else 'raw'} | {own.source} |")
    return "\n".join(rows)


def layouts():
    """Return the table of the layouts that are read as their scripts mean them."""
    return "\n".join(layout_pages.table(["layout", "arrays, or files for example"], [
        *layout_pages.one_file(), *layout_pages.several_files()]))


def checks():
    """Return the table of the kit's checks, from their sentences."""
    return "\n".join(["| check | an evaluator that passes |", "|---|---|", *(
        f"| {check.name} | {check.sentence} |" for check in CHECKS.values())])


def variations():
    """Return the table of the variations that `validate` tries."""
    rows = ["| variation | the figure is printed of these features ... | seen in | threads |",
            "|---|---|---|--:|"]
    for record in VARIATIONS.values():
        source = record.source.partition("; no thread")[0]
        rows.append(f"| `{record.name}` | {record.words} | {source} | {record.threads or ''} |")
    return "\n".join(rows)


def rooms():
    """Return the list of rooms, by wing, from tests/test_house.py and the rooms' docstrings."""
    lines = []
    for wing, names in test_house.WINGS.items():
        lines += [f"* **{wing}**"] if not lines else ["", f"* **{wing}**"]
        for name in names:
            text = ast.get_docstring(test_house.TREES[name]) or "The version."
            lines.append(f"  * `{name}`: " + " ".join(text.partition("\n\n")[0].split()))
    return "\n".join(lines)


LISTS = {"benchmarks": benchmarks, "held": held, "from-features": from_features,
         "variations": variations,
         "not-held": not_held, "reranking": reranking, "layouts": layouts,
         "recipes": recipes.listed, "checks": checks, "rooms": rooms,
         **baseline_tables.LISTS}


def with_lists(text):
    """Return the text of a page with its lists, and the number of protocols, as they are now."""
    text = _LIST.sub(lambda match: f"{match[1]}\n{LISTS[match[2]]()}\n\n{match[3]}", text)
    return re.sub(r"\[\d+ such(\s)protocols\]", rf"[{len(PROTOCOLS)} such\1protocols]", text)


def missing(text):
    """Return the packages that the Python of a page needs and that are not installed."""
    return [name for name in sorted(set(_PACKAGES.findall(text)))
            if importlib.util.find_spec(name) is None]


def written(path, folder, without=documents.is_octave):
    """Return the text of a page as it is now; its blocks are run in an empty folder."""
    if path.suffix == ".json":
        return json_schema.text()
    text = with_lists(path.read_text(encoding="utf-8"))
    return documents.run_page(text, folder, documents.names_for(path.stem), without)


#: Whatever is written.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "docs/schema.json"]


def main():
    """Write the pages; with --check, print what differs and return 1 if anything does."""
    without = (lambda words: False) if executable() else documents.is_octave
    status = 0
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        if absent := missing(text):
            print(f"{path.name}: left as it is, without {', '.join(absent)}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            now = written(path, Path(folder), without)
        if now != text and "--check" in sys.argv[1:]:
            print(documents.difference(path.name, text, now))
            status = 1
        elif now != text:
            path.write_text(now, encoding="utf-8")
            print(f"wrote {path.name}")
    return status


if __name__ == "__main__":
    sys.exit(main())
