"""A script, run unedited, whose toolbox evaluates by the functions of this room.

Each function is replaced right behind the import of the module that defines it, so that
whoever imports it afterwards, by name or by attribute, gets ours.

Contents: `PATCHES`, `replace_on_import`, `run_script`.
"""
from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Functions = tuple[str, ...]

_RANKING = ("cmc", "mean_ap")
_EVAL_REID: dict[str, Functions] = {"data.datasets.eval_reid": ("eval_func",)}
_UTILS: dict[str, Functions] = {"utils.metrics": ("eval_func",)}

#: Toolbox to the modules that define its evaluators, and the functions that are replaced there.
PATCHES: dict[str, dict[str, Functions]] = {
    "torchreid": {"torchreid.metrics.rank": ("evaluate_rank",),
                  "torchreid.reid.metrics.rank": ("evaluate_rank",)},
    "fastreid": {"fastreid.evaluation.rank": ("evaluate_rank",),
                 "fastreid.evaluation.roc": ("evaluate_roc",)},
    "openreid": {f"{package}.evaluation_metrics.ranking": _RANKING
                 for package in ("reid", "mmt", "spcl", "clustercontrast")},
    "transreid": _UTILS, "clip_reid": _UTILS, "solider": _UTILS,
    "strong_baseline": _EVAL_REID, "reid_survey": _EVAL_REID,
    "cross_modal": {"eval_metrics": ("eval_sysu", "eval_regdb")},
    "ccreid": {"tools.eval_metrics": ("evaluate", "evaluate_with_clothes")},
}


class _Replacing(MetaPathFinder):
    """Finds the modules of some toolboxes as others find them, and replaces what they define.

    It is a class because the import system asks an object.
    """

    def __init__(self, toolboxes: Sequence[str]) -> None:
        self.toolbox_of = {module: name for name in toolboxes for module in PATCHES[name]}
        self.done: list[str] = []

    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in self.toolbox_of:
            return None
        others = (finder.find_spec(fullname, path, target)
                  for finder in sys.meta_path if finder is not self)
        spec = next((one for one in others if one is not None), None)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def execute_and_replace(module: ModuleType) -> None:
                execute(module)
                self.replace(module, fullname)
            loader.exec_module = execute_and_replace
        return spec

    def replace(self, module: ModuleType, name: str) -> None:
        """Replace what this module defines of its toolbox's evaluators; say so the first time."""
        toolbox = self.toolbox_of[name]
        functions = [one for one in PATCHES[toolbox][name] if hasattr(module, one)]
        ours = import_module(f"reid_ref.compat.{toolbox}")
        for one in functions:
            setattr(module, one, getattr(ours, one))
        if functions and toolbox not in self.done:
            self.done.append(toolbox)
            _say(f"{name}: {', '.join(functions)} replaced by reid_ref.compat.{toolbox}")


def replace_on_import(toolboxes: Sequence[str]) -> _Replacing:
    """Let the evaluators of these toolboxes be replaced as soon as they are imported."""
    finder = _Replacing(toolboxes)
    sys.meta_path.insert(0, finder)
    return finder


def run_script(script: str, arguments: Sequence[str], toolboxes: Sequence[str]) -> None:
    """Run a script as Python does, with these evaluators replaced.

    Its exit code and its errors are its own. A toolbox that it never imported is said at the end.
    """
    finder = replace_on_import(toolboxes)
    sys.argv = [script, *arguments]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.abspath(script))
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        for name in toolboxes:
            if name not in finder.done:
                _say(f"warning: {name} was not imported by {script}: nothing was replaced")


def _say(text: str) -> None:
    print(f"reid-ref: {text}", file=sys.stderr, flush=True)
