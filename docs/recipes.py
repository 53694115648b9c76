"""What to save, by repository: the lines of the protocols' records, each written once.

`written.py` writes them into recipes.md; the pages of the protocols have the same lines and
command.
"""
import re
import textwrap

from reid_ref.datasets.benchmarks import BENCHMARKS
from reid_ref.protocols import PROTOCOLS, Given
from reid_ref.protocols.words import what_to_save

#: Said of protocols whose rows are tracklets.
POOLED = """\
Where your rows are frames, save `query_tracklet` and `gallery_tracklet` with them, and add
`--pool mean`.
"""
#: Protocols of which a row is a tracklet.
TRACKLETS = "mars mars-torchreid duke-video ilids-vid ccvid".split()
#: Said of splits, for each of which a model is trained.
SPLITS = """\
Save a file for each split, `trial1.npz`, `trial2.npz` and so on; the command averages them.
"""


def trials_file(protocol):
    """Return the file of trials that the benchmark comes with, or ""."""
    return protocol.trials.file if isinstance(protocol.trials, Given) else ""


def has_splits(protocol):
    """Return whether there is a file for each split or trial."""
    trials = protocol.trials
    return 'f"trial' in protocol.save or (
        isinstance(trials, Given) and trials.n > 1 and not trials.file)


def saved_by(protocol):
    """Return the name of the file that a recipe saves."""
    named = re.search(r"\b\w*results?\.\w+", protocol.save)
    return named[0] if named else "result.npz"


def command_line(protocol, name=""):
    """Return the command that evaluates what was saved; `name` stands for the protocol's."""
    file = ("boxes.npz" if protocol.boxes else "trial*.npz" if has_splits(protocol) else
            saved_by(protocol))
    trials = trials_file(protocol)
    return (f"reid-ref evaluate {file} --protocol {name or protocol.name}"
            + (f" --trials {trials}" if trials else ""))


def repository(protocol):
    """Return the repositories that a recipe names first, or "" if it names none."""
    named = re.match(r"\*\*([^*]+)\*\*", protocol.save.strip())
    return named[1] if named else ""


def sections():
    """Return the protocols of each section: by repository, or by the recipe if it names none."""
    groups = {}
    for protocol in PROTOCOLS.values():
        groups.setdefault(repository(protocol) or protocol.save, []).append(protocol)
    titled = {repository(group[0]) or _benchmarks(group): group
              for save, group in groups.items() if save}
    return {**dict(sorted(titled.items(), key=lambda each: each[0].casefold())),
            "Any other repository": groups.get("", [])}


def _benchmarks(protocols):
    return ", ".join(dict.fromkeys(BENCHMARKS[each.benchmark].name for each in protocols))


def listed():
    """Return the table of benchmarks, and a section for each repository."""
    titles = {protocol.name: title for title, protocols in sections().items()
              for protocol in protocols}
    lines = ["| benchmark | `--protocol` | the lines for |", "|---|---|---|"]
    for benchmark in sorted(BENCHMARKS.values(), key=lambda each: each.name.casefold()):
        name, rows = benchmark.name, {}
        for protocol in benchmark.protocols:
            rows.setdefault(titles[protocol["name"]], []).append(f"`{protocol['name']}`")
        for title, names in rows.items():
            lines.append(f"| {name} | {', '.join(names)} | [{title}](#{anchor(title)}) |")
            name = ""
    return "\n".join([*lines, *(line for title, protocols in sections().items()
                                for line in section(title, protocols))])


def anchor(title):
    """Return the anchor that GitHub and the site give to a title."""
    return re.sub(r"[^\w\- ]", "", title.casefold()).replace(" ", "-")


def section(title, protocols):
    """Return the lines of a section: each recipe, and the commands that evaluate the file."""
    recipes = {}
    for protocol in protocols:
        recipes.setdefault(what_to_save(protocol), []).append(protocol)
    lines = ["", f"## {title}"]
    for save, group in recipes.items():
        text = save.strip().removeprefix(f"**{title}**: ")
        lines += ["", (text[:1].upper() + text[1:]).replace("](../", "]("), "", *calls(group)]
    return lines


def calls(protocols):
    """Return a list of the commands for one file, with the protocols of each."""
    groups = {}
    for protocol in protocols:
        remarks = POOLED * (protocol.name in TRACKLETS) + SPLITS * has_splits(protocol)
        groups.setdefault((command_line(protocol, "NAME"), remarks), []).append(protocol.name)
    for (call, remarks), names in groups.items():
        text = f"`{call}` for " + ", ".join(f"`{name}`" for name in names) if len(names) > 1 else (
            f"`{call.replace('NAME', names[0])}`")
        yield textwrap.fill(f"{text}. {remarks}", 105, initial_indent="* ",
                            subsequent_indent="  ", break_on_hyphens=False)
