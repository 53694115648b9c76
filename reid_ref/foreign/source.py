"""Functions of a file that cannot be imported, run from their own source.

Only what they use is run: other functions and constants of the file, and what these import. What
cannot be imported is taken from its file if the repository has it; otherwise something that does
nothing stands in for it.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np


class StandIn:
    """What stands in for a module that cannot be imported: it does nothing and is no number."""

    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *values: Any, **_: Any) -> Any:
        # As a decorator it changes nothing.
        return values[0] if len(values) == 1 and callable(values[0]) else self

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return ()

    #: Or it would be a sequence without an end.
    __iter__ = None

    def __getitem__(self, *_: Any) -> StandIn:
        return self

    def __setitem__(self, *_: Any) -> None:
        return None

    __enter__, __exit__ = __getitem__, __setitem__

    def __str__(self) -> str:
        return ""


def from_source(file: Path, names: list[str]) -> tuple[Any, str]:
    """Return an object that has the functions, and how they came to run, in words.

    Raises
    ------
    LookupError
        The file defines no such name.
    """
    missing: list[str] = []
    found = _run(file.absolute(), {name.partition(".")[0] for name in names}, missing, ())
    for name in names:
        if name.partition(".")[0] not in found:
            raise LookupError(f"{file.name} defines no {name}")
    told = "; run from its own source, without the rest of its file"
    if missing:
        told += (f"; nothing stands in for {', '.join(dict.fromkeys(missing))}, which cannot be "
                 "imported")
    return SimpleNamespace(**{name: value for name, value in found.items()
                              if not name.startswith("__")}), told


def _run(file: Path, names: set[str], missing: list[str],
         among: tuple[Path, ...]) -> dict[str, Any]:
    """Return the namespace after the statements that these names need."""
    statements = [each for node in ast.parse(file.read_text(encoding="utf-8")).body
                  if not (isinstance(node, ast.If) and "__main__" in ast.dump(node.test))
                  for each in _name_by_name(node)]
    needed, wanted = _closure(statements, names)
    found: dict[str, Any] = {"__name__": "reid_ref_evaluator", "__package__": "",
                             "__file__": str(file), "np": np}
    for node in needed:
        try:
            exec(compile(ast.Module([node], []), str(file), "exec"), found)
        except (Exception, SystemExit):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                found.update(_instead(node, wanted, file, missing, (*among, file)))
            elif set(_bound(node)) & names:
                raise
    return found


def _name_by_name(node: ast.stmt) -> list[ast.stmt]:
    """Return an import as one of each name."""
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        return [node]
    return [type(node)(**{**vars(node), "names": [alias]}) for alias in node.names]


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds."""
    definitions = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
    for each in [node] if isinstance(node, definitions) else ast.walk(node):
        if isinstance(each, definitions):
            yield each.name
        elif isinstance(each, ast.alias):
            yield each.asname or each.name.partition(".")[0]
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id


def _closure(statements: list[ast.stmt], names: set[str]) -> tuple[list[ast.stmt], set[str]]:
    """Return the statements that bind these names and what they need, in order; and the names."""
    wanted, new, needed = set(names), set(names), list[ast.stmt]()
    while new:
        needed += [node for node in statements
                   if node not in needed and {*new, "*"} & {*_bound(node)}]
        new = {each.id for node in needed for each in ast.walk(node)
               if isinstance(each, ast.Name)} - wanted
        wanted |= new
    return [node for node in statements if node in needed], wanted


# ------------------------------------------------------------------ imports
def _instead(node: ast.Import | ast.ImportFrom, wanted: set[str], file: Path,
             missing: list[str], among: tuple[Path, ...]) -> dict[str, Any]:
    """Return what an import that fails would bind: from its file in the repository, or a stand-in.
    """
    alias, = node.names
    names = wanted - {*vars(builtins)} if alias.name == "*" else {alias.name}
    module = f"{'.' * node.level}{node.module or ''}" if isinstance(node, ast.ImportFrom) else ""
    files = [*_files(node, file)] if isinstance(node, ast.ImportFrom) else []
    for source in (each for each in files if each not in among):
        with suppress(Exception):
            found = _run(source, names, missing, among)
            if names & {*found}:
                return {alias.asname or name: found[name] for name in names & {*found}}
    if alias.name == "*":
        return {}
    missing.append(module or alias.name)
    return {alias.asname or alias.name.partition(".")[0]: StandIn()}


def _files(node: ast.ImportFrom, file: Path) -> Iterator[Path]:
    """Yield the files of the repository that a module may be."""
    parts = node.module.split(".") if node.module else []
    folders = file.parents[node.level - 1:node.level] if node.level else file.parents
    for folder in folders:
        path = folder.joinpath(*parts)
        yield from (each for each in (path.with_suffix(".py") if parts else path,
                                      path / "__init__.py") if each.is_file())
