"""Small faults, put into one file of the package at a time, and the checks that must notice.

A mutant is the source of one file with one snippet replaced. The rooms that import the file are
loaded afresh around it, so that the fault reaches them all. A table holds for each file its
checks and snippets that are in the source once: "k {{< => <= => >}} n" is k < n with two mutants.
"""
import importlib
import re
import sys
import warnings
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path

import numpy as np
import pytest

import reid_ref
from reid_ref import InputError

PACKAGE = Path(reid_ref.__file__).parent

#: A fault may also end in a wrong index or shape; a misspelt mutant would raise others.
NOTICED = (AssertionError, LookupError, ValueError, ArithmeticError, InputError,
           pytest.fail.Exception)


def same(actual, expected):
    np.testing.assert_array_equal(actual, expected)


def holds(value, **expected):
    """Compare fields of a record."""
    for name, wanted in expected.items():
        np.testing.assert_array_equal(getattr(value, name), wanted, err_msg=name)


def near(actual, expected, off=1e-15):
    """Equal but for a few roundings of numbers below 1, NaN where NaN."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=off)


def afresh(name):
    """Import a module of the rooms as they are loaded now."""
    return importlib.import_module(f"reid_ref.{name}")


@contextmanager
def world(rooms, name="", source=""):
    """These rooms loaded afresh, without warnings, and one module of them from another source."""
    def ours():
        return {key: module for key, module in sys.modules.items()
                if key.startswith("reid_ref.") and key.split(".")[1] in rooms}

    def code_of(loader, module):
        return (compile(source, f"mutant of {name}", "exec", dont_inherit=True)
                if module == f"reid_ref.{name}" else get_code(loader, module))

    kept, get_code = ours(), SourceFileLoader.get_code
    attributes = {room: vars(reid_ref).pop(room) for room in rooms if room in vars(reid_ref)}
    for key in kept:
        del sys.modules[key]
    SourceFileLoader.get_code = code_of
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        SourceFileLoader.get_code = get_code
        for key in ours():
            del sys.modules[key]
        sys.modules.update(kept)
        for room in rooms:
            vars(reid_ref).pop(room, None)
        vars(reid_ref).update(attributes)


def is_caught(rooms, checks, name, snippet, replacement):
    """Does one of the checks notice the fault?"""
    path = PACKAGE / name.replace(".", "/")
    source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
    assert source.count(snippet) == 1
    with world(rooms, name, source.replace(snippet, replacement)):
        for check in checks:
            try:
                check()
            except NOTICED:
                return True
    return False


def each(mutants):
    """A parameter for each mutant of a table: its file, the snippet and what replaces it."""
    return [pytest.param(name, *pair, id=f"{name}-{k}") for name, (_, snippets) in mutants.items()
            for k, pair in enumerate(pair for one in snippets for pair in replacements(one))]


def replacements(snippet):
    """The snippet and what replaces it, for each of its mutants."""
    before, changed, after = re.fullmatch(r"(.*?){{(.*)}}(.*?)", snippet, re.DOTALL).groups()
    old, *news = changed.split(" => ")
    return [(before + old + after, before + new + after) for new in news]


def all_checks(mutants):
    """Each check of a table once."""
    return list(dict.fromkeys(check for checks, _ in mutants.values() for check in checks))
