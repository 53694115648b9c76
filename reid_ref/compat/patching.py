"""A toolbox's evaluators replaced in the running process."""
from __future__ import annotations

import sys
from importlib import import_module

from reid_ref.arrays import InputError, check_choice

_Functions = dict[str, tuple[str, ...]]
_UTILS: _Functions = {"utils.metrics": ("eval_func",)}
_EVAL_REID: _Functions = {"data.datasets.eval_reid": ("eval_func",)}

#: Toolbox to the modules that define its evaluators, and the functions that are replaced.
PATCHES: dict[str, _Functions] = {
    "torchreid": {"torchreid.metrics.rank": ("evaluate_rank",),
                  "torchreid.reid.metrics.rank": ("evaluate_rank",)},
    "fastreid": {"fastreid.evaluation.rank": ("evaluate_rank",),
                 "fastreid.evaluation.roc": ("evaluate_roc",)},
    "openreid": {f"{package}.evaluation_metrics.ranking": ("cmc", "mean_ap")
                 for package in ("reid", "mmt", "spcl", "clustercontrast")},
    "transreid": _UTILS, "clip_reid": _UTILS, "solider": _UTILS,
    "strong_baseline": _EVAL_REID, "reid_survey": _EVAL_REID,
    "cross_modal": {"eval_metrics": ("eval_sysu", "eval_regdb")},
    "ccreid": {"tools.eval_metrics": ("evaluate", "evaluate_with_clothes")},
}


def patch(toolbox: str) -> list[str]:
    """Replace a toolbox's evaluators by ours, wherever a module of this process has them.

    Parameters
    ----------
    toolbox : str
        torchreid, fastreid, openreid, transreid, clip_reid, solider, strong_baseline,
        reid_survey, cross_modal or ccreid. It is imported.

    Returns
    -------
    list of str
        The functions that were replaced, with their modules.

    Raises
    ------
    InputError
        Another name, or a toolbox that cannot be imported from here.

    Examples
    --------
    >>> patch("torchried")
    Traceback (most recent call last):
        ...
    reid_ref.arrays.errors.InputError: toolbox: unknown 'torchried'; known: torchreid, ...
    """
    check_choice(toolbox, "toolbox", PATCHES)
    ours = import_module(f"reid_ref.compat.{toolbox}")
    replaced = []
    for module, names in PATCHES[toolbox].items():
        try:
            theirs = import_module(module)
        except ModuleNotFoundError as error:
            if not f"{module}.".startswith(f"{error.name}."):
                raise  # something that the toolbox itself needs
            continue
        for name in names:
            _replace(getattr(theirs, name), getattr(ours, name))
            replaced.append(f"{module}.{name}")
    if not replaced:
        raise InputError("toolbox", f"a module {' or '.join(PATCHES[toolbox])}", "none",
                         "install the toolbox, or add its folder to sys.path")
    return replaced


def _replace(theirs: object, ours: object) -> None:
    """Replace a function in the module that defines it and in all that imported it by name."""
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            if value is theirs:
                setattr(module, name, ours)
