"""The rooms of the package: who may import whom, read from the source as text."""
import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "reid_ref"
#: A room imports its own files and the rooms before it, never one behind it.
ROOMS = (
    "_version", "matlab", "arrays", "words", "labels", "statistics", "ranking", "devices",
    "metrics", "conventions", "result", "distances", "evaluation", "reranking",
    "metric_learning", "files", "datasets", "drivers", "analysis", "crosschecking", "protocols",
    "compat", "report", "commands", "cli", "__main__")
#: Only these look at the port: the rest shares no code with it.
USES_THE_PORT = {"analysis"}


def modules():
    """Every module but the package's own file: its name without the package, and its tree."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        if name != "__init__":
            yield name.removesuffix(".__init__"), ast.parse(path.read_text())


NAMES = {name for name, _ in modules()}


def imported(tree):
    """Modules of ours that a module names, also inside functions and for types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "reid_ref":
            module = node.module.removeprefix("reid_ref").removeprefix(".")
            for alias in node.names:
                inner = f"{module}.{alias.name}".removeprefix(".")
                yield inner if inner in NAMES else module
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("reid_ref."):
                    yield alias.name.removeprefix("reid_ref.")


ARROWS = {name: {other for other in imported(tree) if other and other != name}
          for name, tree in modules()}


def room(name):
    return name.split(".")[0]


def test_every_room_has_its_place():
    assert {room(name) for name in NAMES} == set(ROOMS)


def test_arrows_only_point_to_rooms_before():
    upward = [f"{name} > {other}" for name, others in ARROWS.items() for other in others
              if ROOMS.index(room(other)) > ROOMS.index(room(name))]
    assert upward == []


def test_no_cycle():
    done, open_ = set(), []

    def visit(name):
        assert name not in open_, " > ".join([*open_[open_.index(name):], name])
        if name in done:
            return
        open_.append(name)
        for other in sorted(ARROWS.get(name, ())):
            visit(other)
        open_.pop()
        done.add(name)

    for name in ARROWS:
        visit(name)
    assert len(done) > 80


def test_the_port_stands_alone():
    for name, others in ARROWS.items():
        if room(name) == "matlab":
            assert {room(other) for other in others} <= {"matlab"}, name
        elif any(room(other) == "matlab" for other in others):
            assert room(name) in USES_THE_PORT, name
