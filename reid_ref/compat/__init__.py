"""Other toolboxes' evaluators, by their own names and signatures, computed here.

One module a toolbox: `torchreid`, `fastreid`, `openreid`, `transreid` (`clip_reid`, `solider`),
`strong_baseline`, `reid_survey`, `cross_modal`, `ccreid`, `layumi`, `mmengine`, `torchmetrics`.
Each function returns what its toolbox's returns, in its types: same AP rule, same queries left
out. `convention=` changes the rule. `last_result()` is the whole `Result` of the last call.
Equal distances stand in gallery order, where the toolboxes leave them to numpy's unstable sort.

`python -m reid_ref.compat --patch torchreid SCRIPT ...` runs a script with the evaluator
replaced.
"""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reid_ref.compat.common import NoMatch, Refused, last_result

if TYPE_CHECKING:
    from reid_ref.compat import (
        ccreid, clip_reid, cross_modal, fastreid, layumi, mmengine, openreid, reid_survey, solider,
        strong_baseline, torchmetrics, torchreid, transreid)

__all__ = ["NoMatch", "Refused", "last_result"]

_TOOLBOXES = ("ccreid", "clip_reid", "cross_modal", "fastreid", "layumi", "mmengine", "openreid",
              "reid_survey", "solider", "strong_baseline", "torchmetrics", "torchreid",
              "transreid")


def __getattr__(name: str) -> Any:
    if name not in _TOOLBOXES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_TOOLBOXES})
