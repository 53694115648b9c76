"""What holds while a device computes: full precision, and main memory where its memory is full.

The bound of the error of a product holds for float32. TensorFloat-32 and bfloat16 products, which
torch allows by a setting of the process or by autocast, exceed it.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import numpy as np

from reid_ref.arrays.device import DeviceArray, to_numpy
from reid_ref.ranking.device_counting import is_out_of_memory

#: What torch calls a precision that leaves float32 as it is; "none": nothing is set anywhere.
_FULL = ("ieee", "none")

#: Of two threads, the first to finish would restore what the other still needs.
_ALONE = threading.RLock()

_Answer = TypeVar("_Answer")


@contextmanager
def full_precision(array: Any) -> Iterator[None]:
    """Multiply float32 in float32 within this context; restore the settings after it.

    torch's settings are those of the whole process: float32 products of other threads are in full
    precision meanwhile, too, and one thread at a time is in this context. Numbers that divide by
    zero or overflow give no warning, as on an accelerator. An array in main memory needs nothing.
    """
    with ExitStack() as stack:
        if isinstance(array, DeviceArray):
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
    try:
        older: str = torch.get_float32_matmul_precision()  # the only one before torch 2.9
    except RuntimeError:  # it was never changed, and the newer one contradicts it
        older = "highest"
    newer = [(library.matmul, library.matmul.fp32_precision)
             for library in (torch.backends.cuda, torch.backends.mkldnn)
             if getattr(library.matmul, "fp32_precision", "ieee") not in _FULL]
    try:
        if older != "highest":
            torch.set_float32_matmul_precision("highest")
        for matmul, _ in newer:
            matmul.fp32_precision = "ieee"
        yield
    finally:
        if older != "highest":
            torch.set_float32_matmul_precision(older)
        for matmul, precision in newer:
            matmul.fp32_precision = precision


def or_in_main_memory(work: Callable[..., _Answer], *arrays: Any) -> _Answer:
    """Return the work on these arrays; where a device's memory is full, on copies elsewhere."""
    try:
        with full_precision(arrays[0]):
            return work(*arrays)
    except Exception as error:
        if not (isinstance(arrays[0], DeviceArray) and is_out_of_memory(error)):
            raise
    return work(*map(to_numpy, arrays))
