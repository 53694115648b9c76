"""Each block of the port names the lines of the script that it follows: are they right?"""
import ast
import re
from pathlib import Path

import pytest

import reid_ref.matlab

SCRIPTS = Path(__file__).resolve().parents[2] / "matlab_ref"
PORT = Path(reid_ref.matlab.__file__).parent
NAMES = reid_ref.matlab.__all__

MARK = re.compile(r"^ *# (\w+)\.m:(\d+)(?:-(\d+))? \| (.*)$")
ASSIGNMENT = re.compile(r"^(?:\[(?P<many>[^\]=]*)\]|(?P<one>\w+)(?:\(.*?\))?) = ")
FUNCTION = re.compile(r"^function (?:\[(.*?)\]|(\w+)) = (\w+)\((.*?)\)", re.DOTALL)


def script_lines(name):
    return (SCRIPTS / f"{name}.m").read_text().splitlines()


def is_code(line):
    """Neither blank, nor a comment, nor a bare end."""
    return line.strip() not in ("", "end") and not line.strip().startswith("%")


def marks(name):
    """(place in the port, first line, last line, quoted text) of each mark."""
    found = []
    for place, text in enumerate((PORT / f"{name}.py").read_text().splitlines(), 1):
        match = MARK.match(text)
        if match:
            assert match[1] == name
            first = int(match[2])
            found.append((place, first, int(match[3] or first), match[4]))
    return found


def assigned_in_script(lines):
    names = set()
    for line in map(str.strip, lines):
        match = ASSIGNMENT.match(line.removeprefix("for "))
        if match:
            names |= set(re.findall(r"[A-Za-z]\w*", re.sub(
                r"\(.*?\)", "", match["many"] if match["one"] is None else match["one"])))
    return names


def assigned_in_port(name):
    """(line, identifier) of each assignment, also to an element of an array."""
    for node in ast.walk(ast.parse((PORT / f"{name}.py").read_text())):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.For)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                    while isinstance(part, ast.Subscript):
                        part = part.value
                    yield node.lineno, part.id


#: Written in Python with scipy's linear algebra instead: reid_ref.metric_learning.
WITHOUT_PORT = {"XQDA", "xqda_pairs", "kissme_metric", "kissme_pairs", "pca_ide", "pca_mars"}


def test_every_script_has_its_port():
    scripts = {path.stem for path in SCRIPTS.glob("*.m")}
    assert scripts - WITHOUT_PORT == set(NAMES)
    assert sorted(path.stem for path in PORT.glob("[!_]*.py")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_quotes(name):
    lines = script_lines(name)
    for place, first, _, quoted in marks(name):
        assert lines[first - 1].strip() == quoted, f"{name}.py:{place}"
        assert is_code(lines[first - 1]), f"{name}.py:{place}"


@pytest.mark.parametrize("name", NAMES)
def test_ranges_ascend_and_cover_the_script(name):
    lines, covered, end = script_lines(name), set(), 0
    for place, first, last, _ in marks(name):
        assert end < first <= last <= len(lines), f"{name}.py:{place}"
        covered.update(range(first, last + 1))
        end = last
    code = {number for number, line in enumerate(lines, 1) if is_code(line)}
    assert code - covered == set()
    assert len(code) > 3


@pytest.mark.parametrize("name", NAMES)
def test_each_block_assigns_what_its_lines_assign(name):
    lines, assigned, compared = script_lines(name), list(assigned_in_port(name)), 0
    places = marks(name)
    for (place, first, last, _), following in zip(places, [*places[1:], (10**9,)]):
        wanted = assigned_in_script(lines[first - 1:last])
        block = {identifier for line, identifier in assigned if place < line < following[0]}
        assert wanted - block == set(), f"{name}.py:{place}"
        compared += len(wanted)
    assert compared >= 3


@pytest.mark.parametrize("name", NAMES)
def test_functions_have_the_same_arguments(name):
    lines = script_lines(name)
    functions = {node.name: [argument.arg.rstrip("_") for argument in node.args.args]
                 for node in ast.parse((PORT / f"{name}.py").read_text()).body
                 if isinstance(node, ast.FunctionDef)}
    in_script = {}
    for number, line in enumerate(lines):
        if line.startswith("function "):
            match = FUNCTION.match("\n".join(lines[number:number + 2]))
            in_script[match[3]] = re.findall(r"\w+", match[4])
    assert functions == in_script
    assert list(functions)[0] == name


def test_the_test_sees_assignments():
    assert assigned_in_script([
        "[ap(k), cmc] = f(a, b == c);", "x(k, :) = 2;", "if a == b", "for n = 1:length(x)",
        "[~, index] = sort(dist(:, k));", "cmc(n - njunk:end) = 1;"]) == {
            "ap", "cmc", "x", "n", "index"}


def test_the_readme_of_the_scripts_names_each_one():
    folder = Path(__file__).parents[2] / "matlab_ref"
    table = [line for line in (folder / "README.md").read_text().splitlines()
             if line.startswith("| `")]
    named = {name for line in table for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert named == {path.stem for path in folder.glob("*.m")} and len(named) == 15
