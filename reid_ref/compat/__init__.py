"""Other toolboxes' evaluators, by their own names and signatures, computed here.

One module per toolbox: `torchreid`, `fastreid`, `openreid`, `transreid` (`clip_reid`, `solider`),
`strong_baseline`, `reid_survey`, `cross_modal`, `ccreid` (`ap3d`), `irra`, `seqnet`, `layumi`,
`mmengine`, `torchmetrics`.
Each function returns what its toolbox's returns, in its types: same AP rule, same queries left
out. `convention=` changes the rule. `last_result()` is the whole `Result` of the last call;
`patch("torchreid")` replaces a toolbox's evaluators in the running process, `patched` while a
block runs.
Images at equal distance are in gallery order; the toolboxes use numpy's unstable sort.
"""
from importlib import import_module
from typing import TYPE_CHECKING, Any

from reid_ref.compat.common import PATCHES, NoMatch, Refused, last_result, patch, patched

__all__ = ["NoMatch", "Refused", "last_result", "patch", "patched"]

if TYPE_CHECKING:
    from reid_ref.compat import (
        ap3d, ccreid, clip_reid, cross_modal, fastreid, irra, layumi, mmengine, openreid,
        reid_survey, seqnet, solider, strong_baseline, torchmetrics, torchreid, transreid)

    __all__ += [  # pyright takes what is imported and not listed as private
        "ap3d", "ccreid", "clip_reid", "cross_modal", "fastreid", "irra", "layumi", "mmengine",
        "openreid", "reid_survey", "seqnet", "solider", "strong_baseline", "torchmetrics",
        "torchreid", "transreid"]

_TOOLBOXES = {*PATCHES, "layumi", "mmengine", "torchmetrics"}


def __getattr__(name: str) -> Any:
    if name not in _TOOLBOXES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_TOOLBOXES})
