"""The pages of the protocols, one for each record, and their list; computed as Sphinx builds them.

A page has what `reid-ref protocols NAME` prints, the recipe, the calls, the counts of the
benchmark, the published figures that are of this protocol, and what holds it.
"""
import json
from pathlib import Path

from generated import command, table, write_pages
from recipes import POOLED, SPLITS, TRACKLETS, command_line, has_splits, saved_by, trials_file

from reid_ref.datasets.benchmarks import BENCHMARKS
from reid_ref.datasets.fingerprints import FINGERPRINTS
from reid_ref.datasets.published import load
from reid_ref.protocols import PROTOCOLS
from reid_ref.protocols.words import what_to_save

ROOT = Path(__file__).resolve().parents[1]


def write(folder):
    """Write docs/protocols/."""
    write_pages(folder / "protocols", {
        "index.md": index(), **{f"{name}.md": page(name) for name in PROTOCOLS}})


def page(name):
    """Return the page of a protocol."""
    protocol = PROTOCOLS[name]
    benchmark = BENCHMARKS[protocol.benchmark]
    siblings = [other.name for other in PROTOCOLS.values()
                if other.benchmark == benchmark.key and other.name != name]
    also = ", ".join(f"[{other}]({other}.md)" for other in siblings)
    rows = [row for row in screen(name) if row[0] not in ("name", "benchmark", "command", "note")]
    return "\n".join([
        f"# {name}\n", f"The benchmark {called(benchmark)}.\n",
        *([protocol.note + "\n"] if protocol.note else []),
        *([f"Other protocols of {benchmark.name}: {also}.\n"] if also else []),
        *table(["", f"`reid-ref protocols {name}`"], rows), "", *calls(protocol),
        *images(benchmark.key), *figures(name), "## Held to\n", held(name)])


def screen(name):
    """Return the rows that `reid-ref protocols NAME` prints, before the lines to save."""
    rows = []
    printed, _, _ = command("protocols", name).partition("\ncommand ")
    for line in filter(None, printed.splitlines()):
        if line[:12].strip():
            rows.append([line[:12].strip(), line[12:]])
        else:
            rows[-1][1] += " " + line.strip()
    return rows


def called(benchmark):
    """Return the name of a benchmark, and how else it is written."""
    names = [name for name in dict.fromkeys((benchmark.key, *benchmark.spellings))
             if name != benchmark.name.casefold()]
    return benchmark.name + (f", also written {', '.join(names)}" if names else "")


def calls(protocol):
    """Return the recipe, the command and the call in Python."""
    return ["## From the arrays to the number\n", what_to_save(protocol),
            *([POOLED] if protocol.name in TRACKLETS else []),
            *([SPLITS] if has_splits(protocol) else []), "Then:\n",
            "```", command_line(protocol), "```\n",
            "or in Python:\n", "```py", *python(protocol), "```\n"]


def python(protocol):
    """Return the lines of Python that do what the command does."""
    shown = ["print({part: (numbers.mAP, numbers.rank(1)) for part, numbers in result.items()})"]
    name, given = protocol.name, trials_file(protocol)
    if protocol.boxes:
        return ["import reid_ref\n", 'boxes = reid_ref.read_boxes("boxes.npz")',
                f'result = reid_ref.evaluate_person_search("{name}", boxes)', *shown]
    call = ["reid_ref.evaluate_protocol(",
            f'    "{name}", data.query_features, data.gallery_features, data.query,',
            "    data.gallery, distances=data.distances"]
    if has_splits(protocol):
        return ["from pathlib import Path\n", "import reid_ref\n", "results = []",
                'for file in sorted(Path().glob("trial*.npz")):', "    data = reid_ref.read(file)",
                f"    results.append({call[0]}", f"    {call[1]}", f"    {call[2]}))",
                f'result = reid_ref.average_trials("{name}", results)', *shown]
    if given:
        call[2] += (",\n    trials=reid_ref.protocols.read_trials("
                    f'"{given}", data.gallery)')
    read = [f'data = reid_ref.read("{saved_by(protocol)}")']
    if protocol.reading.same_images:
        read = [f'record = reid_ref.protocols.find_protocol("{name}")',
                f'data = reid_ref.read("{saved_by(protocol)}", reading=record.reading)']
    return ["import reid_ref\n", *read, f"result = {call[0]}", call[1], f"{call[2]})", *shown]


def images(key):
    """Return how many queries and gallery images there are, and who says so."""
    known = FINGERPRINTS.get(key)
    rows = [(known.name, f"{known.counts.query:,}", f"{known.counts.gallery:,}", "", known.source)
            ] if known else []
    rows += [(each.part, f"{each.query:,}", f"{each.gallery:,}", each.note, each.source)
             for each in BENCHMARKS[key].images]
    return ["## Images\n", *table(["part", "query", "gallery", "remark", "source"], rows), ""
            ] if rows else []


def figures(name):
    """Return the published figures of a protocol, the newest first."""
    rows = [(each.method + (", re-ranked" if each.rerank not in ("", "no") else ""),
             ", ".join(filter(None, (each.part, each.split,
                                     each.min_score and f"score {each.min_score}"))),
             each.rank1, each.mAP, each.mINP, each.year,
             f"{each.source_repo} {each.source_commit[:7]}, {each.source_path}")
            for each in sorted(load(), key=lambda each: each.year, reverse=True)
            if each.protocol == name]
    return ["## Published\n",
            "Percent, as printed. `reid-ref validate --dataset "
            f"{PROTOCOLS[name].benchmark}` lists them.\n",
            *table(["method", "part", "Rank-1", "mAP", "mINP", "year", "source"], rows), ""
            ] if rows else []


def held(name):
    """Return what holds a protocol."""
    held, rows = PROTOCOLS[name].held, []
    if held.recordings:
        rows = [f"Recorded answers of the code, number by number; files: {held.recordings}. The "
                f"largest difference is {held.double} in double, and {held.float32} where the "
                "code answers in float32."]
    rows += [f"From features on: {each['repository']} {each['commit'][:7]}, {each['script']}."
             for these in recordings().values() for each in these
             if each["given"].get("protocol") == name]
    return "\n\n".join(rows or ["No recording: the protocol follows the text of the code that "
                                "it names."]) + "\n\n[What is not held](" \
        "../protocols.md#what-is-not-held).\n"


def index():
    """Return the list of the protocols, and the benchmarks that need none."""
    rows = [(f"[{name}]({name}.md)", BENCHMARKS[protocol.benchmark].name,
             *(protocol.held if protocol.held.recordings else ("none", "", "")),
             protocol.source.partition(",")[0])
            for name, protocol in PROTOCOLS.items()]
    return "\n".join([
        "# Protocols, one by one\n",
        "Each page has what goes into the file, the lines that save it from the benchmark's usual "
        "repository, the command, counts and published figures. What a protocol is: "
        "[benchmarks by their names](../protocols.md), which also says what is not held. "
        "Recordings are answers of the code itself; the largest differences from them are in "
        "double, and where the code answers in float32.\n",
        *table(["protocol", "benchmark", "recordings", "largest difference",
                "in float32", "code"], rows), "",
        "```{toctree}", ":hidden:", "", *PROTOCOLS, "```\n"])


def recordings():
    """Return what was recorded of test scripts: what is given, and the recordings."""
    found = {}
    for path in sorted((ROOT / "fixtures/test_scripts").glob("*.json")):
        if not path.stem.endswith(".trials"):
            recording = json.loads(path.read_text())
            given = " ".join(f"--{key.replace('_', '-')} {value}" if value is not False else
                             f"--no-{key}" for key, value in recording["given"].items()
                             if value is not True)
            given += " --normalize" * (recording["given"].get("normalize") is True)
            found.setdefault(given, []).append(recording)
    return found
