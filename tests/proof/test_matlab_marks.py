"""Each block of the port names the lines of the script that it follows: are they right?"""
import ast
import re
from pathlib import Path

import pytest

import reid_ref.matlab
from tests.documents import ROOT

SCRIPTS = ROOT / "matlab_ref"
PORT = Path(reid_ref.matlab.__file__).parent
NAMES = reid_ref.matlab.__all__
#: Written in Python with scipy's linear algebra instead: reid_ref.metric_learning.
WITHOUT_PORT = {"XQDA", "xqda_pairs", "kissme_metric", "kissme_pairs", "pca_ide", "pca_mars"}

MARK = re.compile(r"^ *# (\w+)\.m:(\d+)(?:-(\d+))? \| (.*)$")
ASSIGNMENT = re.compile(r"^(?:\[(?P<many>[^\]=]*)\]|(?P<name>\w+)(?:\(.*?\))?) = ")
FUNCTION = re.compile(r"^function (?:\[.*?\]|\w+) = (\w+)\((.*?)\)", re.DOTALL | re.MULTILINE)


def script(name):
    return (SCRIPTS / f"{name}.m").read_text()


def port(name):
    return (PORT / f"{name}.py").read_text()


def is_code(line):
    """Neither blank, nor a comment, nor a bare end."""
    return line.strip() not in ("", "end") and not line.strip().startswith("%")


def marks(name):
    """(place in the port, first line, last line, quoted text) of each mark."""
    for place, text in enumerate(port(name).splitlines(), 1):
        match = MARK.match(text)
        if match:
            assert match[1] == name
            yield place, int(match[2]), int(match[3] or match[2]), match[4]


def assigned_in_script(lines):
    names = set()
    for line in map(str.strip, lines):
        match = ASSIGNMENT.match(line.removeprefix("for "))
        if match:
            left = match["name"] or re.sub(r"\(.*?\)", "", match["many"])
            names |= set(re.findall(r"[A-Za-z]\w*", left))
    return names


def assigned_in_port(name):
    """(line, identifier) of each assignment, also to an element of an array."""
    for node in ast.walk(ast.parse(port(name))):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.For)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                    while isinstance(part, ast.Subscript):
                        part = part.value
                    yield node.lineno, part.id


def test_every_script_has_its_port():
    assert {path.stem for path in SCRIPTS.glob("*.m")} == {*WITHOUT_PORT, *NAMES}
    assert sorted(path.stem for path in PORT.glob("[!_]*.py")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_marks_quote_the_script_in_order_and_cover_it(name):
    lines, covered, end = script(name).splitlines(), set(), 0
    for place, first, last, quoted in marks(name):
        assert lines[first - 1].strip() == quoted and is_code(quoted), f"{name}.py:{place}"
        assert end < first <= last <= len(lines), f"{name}.py:{place}"
        covered.update(range(first, last + 1))
        end = last
    code = {number for number, line in enumerate(lines, 1) if is_code(line)}
    assert code - covered == set()
    assert len(code) > 3


@pytest.mark.parametrize("name", NAMES)
def test_each_block_assigns_what_its_lines_assign(name):
    lines, assigned, compared = script(name).splitlines(), list(assigned_in_port(name)), 0
    places = list(marks(name))
    for (place, first, last, _), following in zip(places, [*places[1:], (10**9,)]):
        wanted = assigned_in_script(lines[first - 1:last])
        block = {identifier for line, identifier in assigned if place < line < following[0]}
        assert wanted - block == set(), f"{name}.py:{place}"
        compared += len(wanted)
    assert compared >= 3


@pytest.mark.parametrize("name", NAMES)
def test_functions_have_the_same_arguments(name):
    functions = {node.name: [argument.arg.rstrip("_") for argument in node.args.args]
                 for node in ast.parse(port(name)).body if isinstance(node, ast.FunctionDef)}
    assert functions == {function: re.findall(r"\w+", arguments)
                         for function, arguments in FUNCTION.findall(script(name))}
    assert list(functions)[0] == name


def test_the_readme_of_the_scripts_names_each():
    table = re.findall(r"^\| (`.*?) \|", (SCRIPTS / "README.md").read_text(), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", "".join(table))) == {*WITHOUT_PORT, *NAMES}
    assert len({*WITHOUT_PORT, *NAMES}) == 15
