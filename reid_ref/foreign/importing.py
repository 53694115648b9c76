"""Evaluators that are not ours: how each is imported.

All of this but `TOOLBOXES` runs in the evaluator's process (`child`), since importing such code
runs it.
"""
import importlib
import importlib.util
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import metadata
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from reid_ref.arrays import InputError, check_choice
from reid_ref.foreign.arguments import Fed
from reid_ref.foreign.arrays import MAX_RANK
from reid_ref.foreign.calling import Ask, ask_functions, needs, with_old_names
from reid_ref.foreign.source import from_source
from reid_ref.foreign.words import describe, name_of


class About(NamedTuple):
    """The description of an evaluator before it has run; see `CrossCheck` for the words."""

    evaluator: str
    version: str = ""
    expected: str | None = None
    computes: str = ""
    fed: str = ""


# ------------------------------------------------------------------ importing
class ImportedEvaluator(NamedTuple):
    """An evaluator that was imported: what is known of it, what asks it, and how, in words and
    plans; `again` imports it anew."""

    about: About
    ask: Ask
    words: str
    plans: list[Fed]
    again: Callable[[], Any]


def load_evaluator(evaluator: Any, rank: int | None = MAX_RANK,
                   settings: Mapping[str, Any] = MappingProxyType({})) -> ImportedEvaluator:
    """Return a key of `TOOLBOXES`, "module:function", "file.py:function" or a function to ask.

    Two functions that share the work are "module:mean_ap,cmc", or a tuple. `rank`, `settings`:
    the longest rank that is asked for, and further arguments.

    Raises
    ------
    InputError
        It cannot be imported (with the import's own message), or cannot be called.
    """
    if isinstance(evaluator, str):
        check_spec(evaluator)
        about, functions, told = _load_toolbox(evaluator) if ":" not in evaluator else (
            About(evaluator), *load_functions(evaluator))
    else:
        functions = [*evaluator] if isinstance(evaluator, (tuple, list)) else [evaluator]
        about, told = About(", ".join(map(name_of, functions))), ""
    ask, words, plans = ask_functions(functions, about.evaluator, rank, settings)
    fed = f"{words}; the arrays as they are, label -1 included{told}"

    def again() -> ImportedEvaluator:
        if isinstance(evaluator, str):
            sys.modules.pop(evaluator.partition(":")[0], None)
        return load_evaluator(evaluator, rank, settings)
    return ImportedEvaluator(about._replace(fed=fed), ask, words + told, plans, again)


def check_spec(spec: str) -> None:
    """Refuse what is no toolbox, no module:function, and no file.py:function of a file."""
    module, _, name = spec.rpartition(":")
    if ":" not in spec:
        check_choice(spec, "evaluator", (*TOOLBOXES, "module:function", "file.py:function"))
    elif not (module and name):
        raise InputError("evaluator", "module:function or file.py:function", repr(spec))
    if module.endswith(".py") and not Path(module).is_file():
        raise InputError(module, "a Python file", "none", f"the current folder is {os.getcwd()}")


def load_functions(spec: str) -> tuple[list[Any], str]:
    """Return the functions of "module:function" or "file.py:function", and how, if oddly."""
    module, _, functions = spec.rpartition(":")
    names = [name.strip() for name in functions.split(",")]
    failures = list[BaseException]()
    before, sys.argv = sys.argv, [spec]  # scripts may read theirs when they are imported
    try:
        for way in _ways(module, names):
            try:
                (target, told), gone = with_old_names(way)
                return ([attrgetter(name)(target) for name in names],
                        "".join([told, *(f"; {needs(name)}" for name in gone)]))
            except BaseException as error:
                failures.append(error)
                if isinstance(error, (SyntaxError, KeyboardInterrupt)):
                    break
    finally:
        sys.argv = before
    causes = [failures[0], *(each for each in failures[-1:] if type(each) is LookupError)]
    raise InputError("evaluator", got=f"{spec} cannot be imported: "
                     f"{'; '.join(map(describe, causes))}") from None


def _ways(module: str, names: list[str]) -> Iterator[Callable[[], tuple[Any, str]]]:
    """Yield the ways to import a module or a file, each with what is told of it."""
    file = Path(module)
    if module.endswith(".py"):
        yield lambda: (_run_in_repository(file), "")
    else:
        sys.path.insert(0, os.getcwd())
        yield lambda: (importlib.import_module(module), "")
        file = Path(*module.split(".")).with_suffix(".py")
    if file.is_file():
        yield lambda: from_source(file, names)


_IMPORTS = itertools.count()


def _run_in_repository(file: Path) -> Any:
    """Run a file; a module that it lacks is looked for in the folders above it."""
    sys.path.insert(0, str(file.absolute().parent))
    while True:
        try:  # by a name of its own each time, since what is pickled for forks is looked for by it
            return _run_file(f"reid_ref_evaluator_{next(_IMPORTS)}", file)
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


# ------------------------------------------------------------------ toolboxes of PyPI
#: Package to the places of its rank.py, which is loaded by itself, because importing the package
#: pulls in torch and more.
TOOLBOXES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "fastreid": ("evaluation/rank.py",),
    "torchreid": ("metrics/rank.py", "reid/metrics/rank.py")})


def _load_toolbox(name: str) -> tuple[About, list[Any], str]:
    """Load rank.py by itself: its package counts as absent."""
    version = ""
    try:
        version = metadata.version(name)
        spec = importlib.util.find_spec(name)
        folder = list(spec and spec.submodule_search_locations or ())[0]
        places = [Path(folder, place) for place in TOOLBOXES[name]]
        file = next(filter(Path.is_file, places), places[0])
        sys.modules[name] = None  # type: ignore[assignment]  # and so is its Cython
        rank = _run_file(f"reid_ref_{name}_rank", file)
    except BaseException as error:
        raise InputError(f"evaluator {name}", got=f"{name} {version} cannot be imported: "
                         f"{describe(error)}" if version else f"{name} is not installed",
                         remedy=f"pip install --no-deps {name}") from None
    about = About(name, version, "torchreid-function", f"evaluate_rank of {TOOLBOXES[name][0]}, "
                  "loaded by itself; use_cython off")
    function = partial(rank.evaluate_rank, use_cython=False)
    return about, [function], " (its loader drops such images)"
