"""The pages of the API: one for each public function and class, and their tables by theme."""
import inspect
import re

from generated import write_pages

import reid_ref

#: The public names by theme. A test says which one is missing.
THEMES = {
    "Evaluate": "evaluate evaluate_distances evaluate_ranked_list evaluate_ranked_lists Evaluator "
                "Labels IndexLists Candidates Result PerQuery Counts Interval Convention "
                "InputError",
    "A benchmark by its name": "evaluate_protocol average_trials evaluate_person_search Boxes "
                               "read_boxes",
    "Files": "read ResultFile load export to_dict to_frame",
    "Is it better?": "compare Comparison Comparisons runs splits Runs",
    "Why is it different?": "explain validate crosscheck doctor Finding",
    "Parts of a number": "by_group Groups camera_pairs camera_pairs_features CameraPairs "
                         "precision_recall",
    "Thresholds": "evaluate_thresholds evaluate_thresholds_distances Thresholds",
    "Re-ranking, several queries": "evaluate_reranked rerank rerank_blocks pool_queries",
    "Pictures": "visualize_ranked_results",
    "Warnings": "InputWarning UnmatchedWarning CameraWarning LabelWarning JunkWarning "
                "NaNWarning NormWarning IntervalWarning ConventionWarning BenchmarkWarning "
                "UnreadWarning RankedListWarning SavedWarning ComparisonWarning PackageWarning "
                "FindingWarning"}


def write(folder):
    """Write docs/api/."""
    names = public()
    write_pages(folder / "api", {"index.md": index(names), **{
        f"{name}.md": page(name, names[name]) for name in names}, **{
        f"{name}.md": page(name) for name in toolboxes()}})


def public():
    """Return the functions and classes by full name: the package's, then its rooms'."""
    named = {f"reid_ref.{name}": getattr(reid_ref, name) for name in reid_ref.__all__}
    for room in reid_ref._ROOMS:
        for name, value in names_of(getattr(reid_ref, room)).items():
            if getattr(reid_ref, name, None) is not value:  # it has its page above
                named[f"reid_ref.{room}.{name}"] = value
    return {name: value for name, value in named.items()
            if inspect.isroutine(value) or inspect.isclass(value)}


def names_of(module):
    """Return what a module says is public, or all that it defines itself."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [name for name, value in vars(module).items() if not name.startswith("_")
                 and getattr(value, "__module__", None) == module.__name__]
    return {name: getattr(module, name) for name in names}


def toolboxes():
    """Return the modules of other toolboxes' evaluators."""
    return sorted(f"reid_ref.compat.{name}" for name in reid_ref.compat._TOOLBOXES)


def page(name, value=None):
    """Return the page of a function, a class, or a module with its members."""
    kind = "class" if inspect.isclass(value) else "function" if value else "module"
    members = "" if kind == "function" else "   :members:"
    return f"# {name}\n\n```{{eval-rst}}\n.. auto{kind}:: {name}\n{members}\n```\n"


#: The line of a docstring that stands for the entries of the function that it names.
SHARED = "Other parameters: see `reid_ref.evaluate`."


def describe_shared(_app, _kind, _name, value, _options, lines):
    """Replace `SHARED` in a docstring by the entries of the parameters that it does not have."""
    if SHARED in lines:
        place, own = lines.index(SHARED), described(lines)
        entries = {match[1]: match[0] for match in re.finditer(
            r"^(\w+) : .*(?:\n .*)*", inspect.getdoc(reid_ref.evaluate), re.MULTILINE)}
        lines[place:place + 1] = [
            line for name in inspect.signature(value).parameters
            if name in entries and name not in own for line in entries[name].splitlines()]


def described(lines):
    """Return the names of the parameters that a docstring describes."""
    start = lines.index("Parameters")
    end = next((k for k in range(start + 2, len(lines)) if re.match("-+$", lines[k])), len(lines))
    return {name for line in lines[start:end] if not line.startswith(" ")
            for name in re.findall(r"\w+", line.partition(" :")[0])}


def index(names):
    """Return the tables: name and first sentence, by theme, then by module."""
    lines = ["# API reference\n", (inspect.getdoc(reid_ref) or "").partition("\n\n")[0] + "\n",
             "`reid_ref.CONVENTIONS` holds the named [conventions](../conventions/index.md), and "
             "`reid_ref.protocols.PROTOCOLS` the [protocols](../protocols/index.md), by name. The "
             "evaluators of [other toolboxes](../drop_in.md) by their own signatures: "
             + ", ".join(f"[{name.rpartition('.')[2]}]({name}.md)" for name in toolboxes())
             + ".\n"]
    for theme, members in THEMES.items():
        lines += [f"## {theme}\n", *summary(f"reid_ref.{name}" for name in members.split())]
    for room in reid_ref._ROOMS:
        title = (inspect.getdoc(getattr(reid_ref, room)) or "").split("\n")[0]
        lines += [f"## reid_ref.{room}\n", f"{title}\n",
                  *summary(name for name in names if name.startswith(f"reid_ref.{room}."))]
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *names, *toolboxes(), "```\n"])


def summary(names):
    """Return autosummary's table of some names."""
    return ["```{eval-rst}", ".. autosummary::", "   :nosignatures:\n",
            *(f"   {name}" for name in names), "```\n"]
