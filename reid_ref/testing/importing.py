"""Evaluators that are not ours: how each is imported.

All of this but `TOOLBOXES` runs in the evaluator's process (`child`), since importing such code
runs it.
"""
from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import metadata
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.testing.answers import Answer
from reid_ref.testing.arrays import MAX_RANK
from reid_ref.testing.calling import Ask, ask_functions
from reid_ref.testing.foreign import describe, text_of

#: What numpy had before, and what it is today.
_GONE: Mapping[str, Any] = MappingProxyType({
    "in1d": np.isin, "str": str, "int": int, "float": float, "bool": bool, "object": object,
    "product": np.prod, "alltrue": np.all, "sometrue": np.any, "row_stack": np.vstack,
    "Inf": np.inf, "NaN": np.nan, "float_": np.float64, "int0": np.intp})


class About(NamedTuple):
    """The description of an evaluator before it has run; see `CrossCheck` for the words."""

    evaluator: str
    fed: str
    version: str = ""
    expected: str | None = None
    computes: str = ""


# ------------------------------------------------------------------ importing
class Loaded(NamedTuple):
    """An evaluator that was imported: what is known of it, what asks it, and its functions."""

    about: About
    ask: Ask
    functions: tuple[Any, ...]


def load_evaluator(evaluator: Any) -> Loaded:
    """Return a key of `TOOLBOXES`, "module:function", "file.py:function" or a function to ask.

    Two functions that share the work are "module:mean_ap,cmc", or a tuple.

    Raises
    ------
    InputError
        It cannot be imported (with the import's own message), or cannot be called.
    """
    if not isinstance(evaluator, str):
        functions = evaluator if isinstance(evaluator, (tuple, list)) else (evaluator,)
        return _about(functions, ", ".join(text_of(getattr(function, "__name__", "the evaluator"))
                                           for function in functions))
    if ":" not in evaluator:
        return _load_toolbox(evaluator)
    functions, told = load_functions(evaluator)
    return _about(functions, evaluator, told)


def load_functions(spec: str) -> tuple[list[Any], str]:
    """Return the functions of "module:function" or "file.py:function", and how, if oddly."""
    target, told = _imported(spec)
    return [attrgetter(name.strip())(target) for name in _names(spec)], told


def _names(spec: str) -> list[str]:
    return spec.rpartition(":")[2].split(",")


def _about(functions: Any, name: str, told: str = "") -> Loaded:
    ask, words = ask_functions(functions, name, rank=MAX_RANK)
    about = About(name, f"{words}; the arrays as they are, label -1 included{told}")
    return Loaded(about, with_old_names(ask), tuple(functions))


def check_spec(spec: str) -> None:
    """Refuse what is neither module:function nor file.py:function, or a file that is missing."""
    module, _, name = spec.rpartition(":")
    if not (module and name):
        raise InputError("evaluator", "module:function or file.py:function", repr(spec))
    if module.endswith(".py") and not Path(module).is_file():
        raise InputError(module, "a Python file", "none", f"the current folder is {os.getcwd()}")


def _imported(spec: str) -> tuple[Any, str]:
    """Return what has the functions of a name, and how it was imported if not as it stands."""
    module, names = spec.rpartition(":")[0], _names(spec)
    is_file, failures = module.endswith(".py"), list[BaseException]()
    file, ways = Path(module), [lambda: _run_in_repository(Path(module))]
    if is_file:
        ways += [lambda: _import_in_package(file), lambda: _own_source(file, names)]
    else:
        sys.path.insert(0, os.getcwd())
        ways = [lambda: importlib.import_module(module)]
    for way, told in zip(ways, ("", "; imported as part of its package",
                                "; run from its own source, without what it imports")):
        try:
            target = _with_old_names(way)
            for name in names:
                attrgetter(name.strip())(target)
            return target, told
        except BaseException as error:
            failures.append(error)
            if isinstance(error, (SyntaxError, SystemExit, KeyboardInterrupt)):
                break
    raise InputError("evaluator", got=f"{spec} cannot be imported: "
                     f"{describe(failures[0])}") from None


def _with_old_names(work: Callable[[], Any]) -> Any:
    """Import something; a name that numpy had before is put back when it is missed."""
    while True:
        try:
            return work()
        except AttributeError as error:
            if not put_back(error):
                raise


def with_old_names(ask: Ask) -> Ask:
    """Return what asks an evaluator, and puts back what numpy had before when it is missed.

    For the evaluator's own process alone.
    """
    told: list[str] = []

    def again(*given: Any) -> Answer:
        while True:
            try:
                answer = ask(*given)
                return replace(answer, told=(*told, *answer.told))
            except AttributeError as error:
                if not (name := put_back(error)):
                    raise
                told.append(f"it needs np.{name}, which numpy has no longer: put back here")
    return again


def put_back(error: BaseException) -> str:
    """Put back what numpy had before, if an error misses it; return its name, or ""."""
    name = getattr(error, "name", None) or ""
    if not isinstance(error, AttributeError) or getattr(error, "obj", None) is not np or (
            name not in _GONE):
        return ""
    setattr(np, name, _GONE[name])
    return name


def _run_in_repository(file: Path) -> Any:
    """Run a file; a module that it lacks is looked for in the folders above it."""
    sys.path.insert(0, str(file.absolute().parent))
    while True:
        try:
            return _run_file("reid_ref_evaluator", file)
        except ModuleNotFoundError as error:
            name = str(error.name).partition(".")[0]
            root = next((str(folder) for folder in file.absolute().parents
                         if (folder / name).is_dir() or (folder / f"{name}.py").is_file()), "")
            if not root or root in sys.path[:1]:
                raise
            sys.path.insert(0, root)
            sys.modules.pop(name, None)  # another package of this name, such as utils


def _run_file(name: str, file: Path) -> Any:
    """Run a file as a module of this name, so that no other module is taken for it."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def _import_in_package(file: Path) -> ModuleType:
    """Import a file as a module of the package that it belongs to, for its relative imports."""
    root = file.absolute().parent
    while (root / "__init__.py").is_file():
        root = root.parent
    sys.path.insert(0, str(root))
    parts = file.absolute().relative_to(root).with_suffix("").parts
    sys.modules.pop(parts[0], None)
    return importlib.import_module(".".join(parts))


def _own_source(file: Path, names: list[str]) -> Any:
    """Run the functions of a file alone: with what can be imported of what it imports."""
    found: dict[str, Any] = {"__name__": "reid_ref_evaluator", "np": np}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign)):
            with suppress(Exception):
                exec(compile(ast.Module([node], []), str(file), "exec"), found)
    return SimpleNamespace(**{name: found[name] for name in names})


# ------------------------------------------------------------------ toolboxes of PyPI
#: Package to the places of its rank.py, which is loaded by itself, because importing the package
#: pulls in torch and more.
TOOLBOXES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "fastreid": ("evaluation/rank.py",),
    "torchreid": ("metrics/rank.py", "reid/metrics/rank.py")})


def _load_toolbox(name: str) -> Loaded:
    version = ""
    try:
        version = metadata.version(name)
        rank = _rank_file(name)
    except BaseException as error:
        raise InputError(f"evaluator {name}", got=f"{name} {version} cannot be imported: "
                         f"{describe(error)}" if version else f"{name} is not installed",
                         remedy=f"pip install --no-deps {name}") from None
    about = About(
        name, "the arrays as they are, label -1 included (its loader drops such images)", version,
        "torchreid-function", f"evaluate_rank of {TOOLBOXES[name][0]}, loaded by itself; "
        "use_cython off")
    function = partial(rank.evaluate_rank, use_cython=False)
    return Loaded(about, ask_functions([function], name, rank=MAX_RANK)[0], (function,))


def _rank_file(package: str) -> Any:
    """Load rank.py by itself: its package counts as absent, and so does its Cython."""
    spec = importlib.util.find_spec(package)
    folder = list(spec and spec.submodule_search_locations or ())[0]
    file = next(filter(Path.is_file, (Path(folder, place) for place in TOOLBOXES[package])), None)
    if file is None:
        raise ImportError(f"no {' or '.join(TOOLBOXES[package])} in {package}")
    sys.modules[package] = None  # type: ignore[assignment]
    return _run_file(f"reid_ref_{package}_rank", file)
