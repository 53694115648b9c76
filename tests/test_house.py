"""The rooms of the package: who may import whom, read from the source as text."""
import ast
import subprocess
import sys
from graphlib import TopologicalSorter

from reid_ref.result import Result
from tests.documents import ROOT

PACKAGE = ROOT / "reid_ref"
#: The rooms by wing. A room imports its own files and the rooms before it, never one after it.
WINGS = {
    "port": ("matlab",),
    "core": (
        "_version", "arrays", "extensions", "text", "disk", "labels", "statistics", "ranking",
        "metrics", "conventions", "measures", "signature", "result", "distances", "evaluation"),
    "knowledge": ("thresholds", "reranking", "metric_learning", "files", "datasets", "protocols",
                  "compat", "variations"),
    "proof": ("installed", "foreign", "rules", "testing"),
    "answers": ("analysis",),
    "program": ("drawing", "console", "commands", "cli", "__main__")}
ROOMS = tuple(room for rooms in WINGS.values() for room in rooms)
#: Evaluates; prints the rooms that were loaded, which are those of the core.
EVALUATES = """
import sys
import reid_ref
query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8], [2, 2])
reid_ref.evaluate([[1., 0.]], [[1., 0.], [0., 1.]], query, gallery)
reid_ref.evaluate_distances([[.1, .2]], query, gallery)
reid_ref.evaluate_ranked_list([0, 1], [0])
reid_ref.evaluate_ranked_lists([[0, 1]], query, gallery)
print(*{name.split(".")[1] for name in sys.modules if name.startswith("reid_ref.")})
"""
#: The formula, and the second opinions on it, which are apart so that any two can disagree.
FORMULA = ["result.formula", "metrics"]
APART = [["rules.mistakes"], ["tests.proof.brute"]]
#: Only this runs the port; the rest shares no code with it.
USES_THE_PORT = {"commands.scripts.compute.programs"}
#: The files of a command's room, each a module or a package, in the order of the data.
STAGES = ("compute", "show", "command")
#: Commands that take another one's room: gates take what they test by; `plot` and `report`
#: stand last and show what the others compute.
TAKES = {"evaluate": {"gate"}, "rerank": {"gate"}, "validate": {"gate"}, "explain": {"gate"},
         "thresholds": {"gate"}, "plot": {"evaluate"}, "report": {"evaluate"}}


def modules(folder):
    """Every module: its name below the folder, and its tree."""
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(folder).with_suffix("").parts)
        if name != "__init__":
            yield name.removesuffix(".__init__"), ast.parse(path.read_text())


def imported(tree, package=""):
    """Modules that a tree names, also inside functions and for types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}".removeprefix(package)
                yield inner if inner in TREES else node.module.removeprefix(package)
        elif isinstance(node, ast.Import):
            yield from (alias.name.removeprefix(package) for alias in node.names)


TREES = dict(modules(PACKAGE))
ARROWS = {name: TREES.keys() & set(imported(tree, "reid_ref.")) - {name}
          for name, tree in TREES.items()}
#: Command, its stage (None: the room itself, or a command of one file), what it imports.
COMMANDS = [(*[*name.split("."), None][1:3], others) for name, others in ARROWS.items()
            if name.startswith("commands.")]


def room(name):
    return name.split(".")[0]


def test_every_room_has_its_place():
    assert {room(name) for name in TREES} == set(ROOMS)


def test_arrows_only_point_to_rooms_before():
    assert [f"{name} > {other}" for name, others in ARROWS.items() for other in others
            if ROOMS.index(room(other)) > ROOMS.index(room(name))] == []


def test_no_cycle():
    scripts = dict(modules(ROOT / "benchmarks"))
    benchmarks = {name: scripts.keys() & set(imported(tree)) for name, tree in scripts.items()}
    for arrows in (ARROWS, benchmarks):
        assert any(arrows.values())
        TopologicalSorter(arrows).prepare()


def test_errors_of_the_library_have_fields():
    """Argument, expected, got and remedy apart: the command line puts an option for the first."""
    texts = [f"{name}: line {call.lineno}" for name, tree in TREES.items()
             if ROOMS.index(room(name)) < ROOMS.index("console") for call in ast.walk(tree)
             if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "InputError"
             and len(call.args) + len(call.keywords) < 2]
    assert texts == []


def test_the_port_stands_alone():
    for name, others in ARROWS.items():
        if room(name) == "matlab":
            assert {room(other) for other in others} <= {"matlab"}, name
        elif any(room(other) == "matlab" for other in others):
            assert name in USES_THE_PORT, name


def test_second_opinions_are_apart():
    brute = ast.parse((ROOT / "tests/proof/brute.py").read_text())
    trees = {**TREES, "tests.proof.brute": brute}
    port = [name for name in TREES if room(name) == "matlab"]
    sides = [FORMULA, port, *APART]
    for side in sides:
        taken = {other for name in side for other in imported(trees[name], "reid_ref.")}
        assert [other for others in sides if others is not side for other in others
                if other in taken] == [], side


def test_the_core_loads_nothing_else():
    printed = subprocess.run([sys.executable, "-c", EVALUATES], cwd=ROOT, check=True, text=True,
                             capture_output=True).stdout
    assert set(printed.split()) == set(WINGS["core"])


def test_the_stages_of_commands():
    assert {stage for _, stage, _ in COMMANDS} == {*STAGES, None}


def test_stages_only_import_those_before():
    for command, stage, others in COMMANDS:
        for other in others if stage else ():
            parts = other.split(".")
            if parts[:2] == ["commands", command] and len(parts) > 2:
                assert STAGES.index(parts[2]) <= STAGES.index(stage), (command, stage, other)


def test_commands_take_no_others_but_those_listed():
    taken = {}
    for command, _, others in COMMANDS:
        taken.setdefault(command, set()).update(
            other.split(".")[1] for other in others if other.startswith("commands."))
    taken = {command: found - {command} for command, found in taken.items()}
    assert {command: found for command, found in taken.items() if found} == TAKES


def test_what_takes_the_stages_of_others_takes_no_command():
    for command, _, others in COMMANDS:
        for other in others:
            parts = other.split(".")
            if command in TAKES and parts[0] == "commands" and parts[1] != command:
                assert parts[2:3] != ["command"], (command, other)


def test_a_result_shows_at_most_a_dozen_names_besides_its_fields():
    shown = {name for name in dir(Result) if not name.startswith("_")}
    assert len(shown - Result.__dataclass_fields__.keys()) <= 12, sorted(shown)
