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
from importlib.util import spec_from_loader
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


class Mutant:
    """Finds and loads one module from a changed source."""

    def __init__(self, name, source):
        self.name, self.source = f"reid_ref.{name}", source

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        path = path_of(name.removeprefix("reid_ref."))
        spec = spec_from_loader(name, self, is_package=path.stem == "__init__")
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(str(path.parent))
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(self.source, f"mutant of {self.name}", "exec", dont_inherit=True),
             vars(module))


@contextmanager
def world(rooms, *mutants):
    """These rooms loaded afresh, around a mutant where there is one, and without warnings."""
    def ours():
        return {key: module for key, module in sys.modules.items()
                if key.startswith("reid_ref.") and key.split(".")[1] in rooms}

    kept = ours()
    attributes = {room: vars(reid_ref).pop(room) for room in rooms if room in vars(reid_ref)}
    for key in kept:
        del sys.modules[key]
    sys.meta_path[:0] = mutants
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        del sys.meta_path[:len(mutants)]
        for key in ours():
            del sys.modules[key]
        sys.modules.update(kept)
        for room in rooms:
            vars(reid_ref).pop(room, None)
        vars(reid_ref).update(attributes)


def path_of(name):
    """The file of a module, or of a package's own code."""
    path = PACKAGE / name.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def source_of(name):
    return path_of(name).read_text()


def is_caught(rooms, checks, name, snippet, replacement, *arguments, also=()):
    """Does one of the checks notice the fault? `also`: further errors that it may end in."""
    source = source_of(name)
    assert source.count(snippet) == 1
    with world(rooms, Mutant(name, source.replace(snippet, replacement))):
        for check in checks:
            try:
                check(*arguments)
            except (*NOTICED, *also):
                return True
    return False


def each(mutants, step=1):
    """A parameter for each mutant of a table: its file, the snippet and what replaces it.

    `step`: take every so many of a file, the first included.
    """
    pairs = {name: [pair for snippet in snippets for pair in replacements(snippet)]
             for name, (_, snippets) in mutants.items()}
    return [pytest.param(name, *of_file[k], id=f"{name}-{k}")
            for name, of_file in pairs.items() for k in range(0, len(of_file), step)]


def replacements(snippet):
    """The snippet and what replaces it, for each of its mutants; a pair is one mutant."""
    if isinstance(snippet, tuple):
        return [snippet]
    before, changed, after = re.fullmatch(r"(.*?){{(.*)}}(.*?)", snippet, re.DOTALL).groups()
    old, *news = changed.split(" => ")
    return [(before + old + after, before + new + after) for new in news]


def all_checks(mutants):
    """Each check of a table once."""
    return list(dict.fromkeys(check for checks, _ in mutants.values() for check in checks))
