"""Reports have a room of their own: one home for each word they share, none in the commands."""
import ast
import math
from pathlib import Path

import numpy as np

from reid_ref.report import words

PACKAGE = Path(words.__file__).resolve().parents[1]
SOURCES = {path.relative_to(PACKAGE).as_posix(): path.read_text()
           for path in PACKAGE.rglob("*.py")}


def holding(text):
    return {name for name, source in SOURCES.items() if text in source}


def test_each_shared_word_has_one_home():
    # A Result prints itself, and may not import a room behind it.
    assert holding("import textwrap") == {"report/words.py", "result.py"}
    assert holding("from textwrap") == set()
    assert holding('replace("|", " | ")') == {"report/words.py", "result.py"}
    assert holding("WIDTH = 80") == {"report/words.py"}


def test_commands_neither_compute_nor_format():
    for name, source in SOURCES.items():
        if not name.startswith("commands/"):
            continue
        tree = ast.parse(source)
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
                    for alias in node.names}
        assert not imported & {"numpy", "math", "textwrap", "csv"}, name
        for node in ast.walk(tree):
            # A number that is given a width or decimals is a cell of a table.
            assert not (isinstance(node, ast.FormattedValue) and node.format_spec), (
                name, node.lineno)


def test_long_words_stay_whole():
    long = "x" * 100
    assert words.row("input", f"a {long} b") == ["input     a", " " * 10 + long, " " * 10 + "b"]
    assert words.wrap("one-two three", width=9) == ["one-two", "three"]
    assert words.row("", "text", 12) == [" " * 12 + "text"]


def test_signature_is_wrapped_between_its_fields():
    lines = words.signature_rows("|".join(f"field{k}:value" for k in range(8)))
    assert lines[0].startswith("signature field0:value | field1:value")
    assert len(lines) == 2 and max(map(len, lines)) <= 80


def test_percent():
    assert words.percent(0.12345) == "12.35" and words.percent(1.0) == "100.00"
    assert words.percent(math.nan) == "-" and words.percent(math.nan, "--") == "--"
    assert words.signed_percent(-0.00001) == "+0.00"
    assert words.signed_percent(math.nan) == "-"
    assert words.signed_percent(-0.5) == "-50.00"


def test_numbers_that_json_lacks():
    values = np.array([0.1, np.nan, np.inf, -np.inf, 0.0])
    assert words.numbers(values) == [0.1, None, None, None, 0.0]
    assert words.number(None) is None
