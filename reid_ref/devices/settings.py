"""Products in full precision: a library's settings that would reduce it are off for a while.

The bound of the error of a product holds for float32. TensorFloat-32 and bfloat16 products, which
torch allows by a setting of the process or by autocast, exceed it.

Contents: `full_precision`.
"""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from reid_ref.arrays.device import DeviceArray

#: What torch calls a precision that leaves float32 as it is; "none": nothing is set anywhere.
_FULL = ("ieee", "none")

#: Of two threads, the first to finish would restore what the other still needs.
_ALONE = threading.RLock()


@contextmanager
def full_precision(array: DeviceArray) -> Iterator[None]:
    """Multiply float32 in float32 within this context; restore the settings behind it.

    torch's settings are those of the whole process: float32 products of other threads are in full
    precision meanwhile, too, and one thread at a time is in this context. Numbers that divide by
    zero or overflow give no warning, as on an accelerator.
    """
    with ExitStack() as stack:
        stack.enter_context(_ALONE)
        stack.enter_context(np.errstate(all="ignore"))
        if type(array.array).__module__.split(".")[0] == "torch":
            import torch

            stack.enter_context(torch.no_grad())
            stack.enter_context(torch.autocast(array.device.type, enabled=False))
            stack.enter_context(_torch_in_float32(torch))
        yield


@contextmanager
def _torch_in_float32(torch: Any) -> Iterator[None]:
    """Set both of torch's settings, which it refuses to read if they contradict each other."""
    older = _older_setting(torch)
    newer = [(one, one.fp32_precision) for one in (
        torch.backends.cuda.matmul, torch.backends.mkldnn.matmul) if hasattr(one, "fp32_precision")
        and one.fp32_precision not in _FULL]
    try:
        if older != "highest":
            torch.set_float32_matmul_precision("highest")
        for one, _ in newer:
            one.fp32_precision = "ieee"
        yield
    finally:
        if older != "highest":
            torch.set_float32_matmul_precision(older)
        for one, precision in newer:
            one.fp32_precision = precision


def _older_setting(torch: Any) -> str:
    """Return the setting of all products, the only one before torch 2.9."""
    try:
        precision: str = torch.get_float32_matmul_precision()
    except RuntimeError:  # it was never changed, and the newer one contradicts it
        return "highest"
    return precision
