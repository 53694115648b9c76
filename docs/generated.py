"""The pages of the conventions, one for each, and what all computed pages are made with.

A convention's page is what the commands themselves say of it (`reid-ref conventions NAME` and
`reid-ref explain --query`), so that a page and a screen cannot disagree.
"""
import contextlib
import inspect
import io
import json
import math
import tempfile
import warnings
from pathlib import Path

import numpy as np

import reid_ref
from reid_ref.cli import main
from reid_ref.conventions import AP

#: One query, identity 1 on camera 1, and six gallery images; a second query, identity 9, is
#: nowhere in the gallery.
SIX = {
    "distmat": np.array([[.1, .2, .3, .4, .4, .6]] * 2),
    "q_pids": np.array([1, 9]), "q_camids": np.array([1, 1]),
    "g_pids": np.array([1, -1, 2, 1, 0, 1]), "g_camids": np.array([1, 3, 2, 2, 2, 3]),
}
QUERY = reid_ref.Labels(SIX["q_pids"], SIX["q_camids"])
GALLERY = reid_ref.Labels(SIX["g_pids"], SIX["g_camids"])
#: The same good and junk images as lists, counted from 0, for the conventions that need lists.
GOOD, JUNK = ([3, 5], []), ([0, 1], [1])

EXAMPLE = """\
## Six images

A query of identity 1 on camera 1, and six gallery images in order of distance. The fourth and the
fifth are equally far. A second query, of identity 9, has no image in the gallery.
"""


def write(folder):
    """Write docs/conventions/, where it is not as it should be."""
    write_pages(folder / "conventions", {
        "index.md": conventions_index(),
        **{f"{name}.md": convention_page(name) for name in reid_ref.CONVENTIONS}})


def write_pages(folder, texts):
    """Write the pages of a folder by their names, and remove all others."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        write_changed(folder / name, text)


def write_changed(path, text):
    """Leave a page that is up to date alone: Sphinx then need not build it again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def command(*arguments):
    """Return what a command prints, without its warnings."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(list(arguments))
    if code != 0:
        raise RuntimeError(f"reid-ref {' '.join(arguments)} ended with exit code {code}")
    return out.getvalue()


def convention_page(name):
    """Return the page of one convention: what it is, then the worked example."""
    return "\n".join([f"# {name}\n", *description(name), EXAMPLE, *worked_example(name)]) + "\n"


def description(name):
    """Return the choices as a table; the other names and the differences as lists."""
    rows, differences = [], []
    for line in command("conventions", name).splitlines():
        key, text = line[:12].strip(), line[12:].strip()
        if key:
            rows.append([key, text])
        elif text and rows[-1][0] == "differs" and text[:1].isdigit() and "." in text[:3]:
            differences.append(text)
        elif text and differences:
            differences[-1] += " " + text
        elif text:
            rows[-1][1] += " " + text
    rule = (inspect.getdoc(AP[reid_ref.CONVENTIONS[name].ap].exact) or "").partition("\n\n")[0]
    for row in rows:
        if row[0] == "AP":
            row[1] += ": " + " ".join(rule.split())
    choices = [row for row in rows if row[0] not in ("name", "differs")]
    differs = ["", "Numbered differences from `matlab`:", "", *differences] if differences else []
    others = rows[0][1].split(" also: ")[1:]
    names = ["Other names, and toolboxes with the same code:", "",
             *(f"* {each}" for each in others), ""] if others else []
    return [*names, *table(["choice", "here"], choices), *differs, ""]


def worked_example(name):
    """Return the tables of places, roles and ranks, and of AP, Rank-k and mAP."""
    with tempfile.TemporaryDirectory() as folder:
        images = explained(name, Path(folder))
    rows = [(image["place"], image["identity"], image["camera"], image["distance"], image["role"],
             shown(image["ranks"][0]), role(image), shown(image["ranks"][1])) for image in images]
    here, matlab = result(name), result("matlab")
    numbers = [("AP of the query", here.per_query.ap[0], matlab.per_query.ap[0])]
    numbers += [(f"Rank-{k}", here.cmc[k - 1], matlab.cmc[k - 1])
                for k in range(1, min(4, len(here.cmc)) + 1)]
    numbers.append(("mAP of both queries", here.mAP, matlab.mAP))
    head = ["place", "identity", "camera", "distance", "role in matlab", "rank"]
    if name == "matlab":
        return [*table(head, [row[:6] for row in rows]), "",
                *table(["", "matlab"], [(what, digits(one)) for what, one, _ in numbers])]
    return [*table([*head, f"role in {name}", "rank"], rows), "",
            *table(["", name, "matlab"], [(what, *map(digits, both)) for what, *both in numbers])]


def explained(name, folder):
    """Return the six images as `reid-ref explain` lists them, ranked by matlab and by `name`."""
    np.savez(folder / "six.npz", **SIX)
    lists = []
    if reid_ref.CONVENTIONS[name].needs_lists:
        lists = ["--index-lists"]
        for side, images in (("good", GOOD), ("junk", JUNK)):
            lines = [" ".join(str(image + 1) for image in one) for one in images]
            (folder / side).write_text("\n".join(lines) + "\n")
            lists.append(str(folder / side))
    text = command("explain", str(folder / "six.npz"), "--from", "matlab", "--to", name,
                   "--query", "0", "--json", *lists)
    return json.loads(text)["list"]


def result(name):
    """Return the numbers of the example under a convention."""
    convention = reid_ref.CONVENTIONS[name]
    lists = reid_ref.IndexLists(GOOD, JUNK) if convention.needs_lists else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the second query has no match, on purpose
        return reid_ref.evaluate_distances(SIX["distmat"], QUERY, GALLERY, convention=convention,
                                           lists=lists)


def role(image):
    """Return what an image is to the query where it has its second rank, or none."""
    if image["ranks"][1] is None:
        return "not ranked"
    return ("good" if image["identity"] == SIX["q_pids"][0] else
            "distractor" if image["identity"] == 0 else "wrong")


def shown(rank):
    return "-" if rank is None else rank


def digits(value):
    return "NaN" if math.isnan(value) else f"{value:.4f}"


def conventions_index():
    """Return the list of the conventions."""
    rows = [(f"[{name}]({name}.md)", ", ".join([
                convention.source.partition(",")[0],
                *(each.partition(" (")[0] for each in convention.also)]),
             convention.ap, convention.unmatched, convention.cmc)
            for name, convention in reid_ref.CONVENTIONS.items()]
    return "\n".join([
        "# Conventions\n",
        "A convention says everything that turns one ranking into a number. A toolbox's name "
        "stands for its loader and its evaluator; `NAME-function` is the evaluator alone.\n",
        *table(["convention", "code, and other names", "AP", "no match", "CMC"], rows), "",
        "```{toctree}", ":hidden:", "", *reid_ref.CONVENTIONS, "```\n"])


def table(head, rows):
    """Return the lines of a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |"
            for line in lines]
