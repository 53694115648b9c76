"""Evaluators that are not ours: how each is imported.

All of this but `TOOLBOXES` runs in the evaluator's process (`child`), since importing such code
runs it.
"""
import importlib
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.machinery import SourceFileLoader
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

from reid_ref.arrays import InputError, check_choice
from reid_ref.foreign.arrays import MAX_RANK
from reid_ref.foreign.calling import Ask, ask_functions, needs, with_old_names
from reid_ref.foreign.source import from_source
from reid_ref.foreign.words import describe, name_of


#: Short names of evaluators of PyPI, whose packages may lack what they import.
TOOLBOXES: Mapping[str, str] = MappingProxyType({
    "fastreid": "fastreid.evaluation.rank:evaluate_rank",
    "torchreid": "torchreid.reid.metrics.rank:evaluate_rank"})


# ------------------------------------------------------------------ importing
class ImportedEvaluator(NamedTuple):
    """An evaluator that was imported: its name, how it is called, in words, what asks it, what it
    takes, and whether that is one set; `again` imports it anew."""

    name: str
    words: str
    ask: Ask
    takes: frozenset[str]
    is_square: bool
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
        name, (functions, told) = evaluator, load_functions(TOOLBOXES.get(evaluator, evaluator))
    else:
        functions = [*evaluator] if isinstance(evaluator, (tuple, list)) else [evaluator]
        name, told = ", ".join(map(name_of, functions)), ""
    ask, words, takes, is_square = ask_functions(functions, name, rank, settings)

    def again() -> ImportedEvaluator:
        if isinstance(evaluator, str):
            sys.modules.pop(evaluator.partition(":")[0], None)
        return load_evaluator(evaluator, rank, settings)
    return ImportedEvaluator(name, words + told, ask, takes, is_square, again)


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
        file = next(filter(Path.is_file, (Path(folder, file) for folder in sys.path)), file)
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
    module = sys.modules[name] = ModuleType(name)  # dataclasses look for it there
    module.__file__ = str(file)
    SourceFileLoader(name, str(file)).exec_module(module)
    return module
