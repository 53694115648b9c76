"""Imported before numpy: BLAS then takes the kernel of this processor, as it does for users.

A kernel that the environment pins can take twice as long for a product. Processes that are
started from here inherit the environment.
"""
from __future__ import annotations

import os
import sys

#: What pins a kernel of OpenBLAS, or what it takes for the size of the cache.
PINS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")

if "numpy" in sys.modules and any(name in os.environ for name in PINS):
    raise ImportError("own_kernel must be imported before numpy, which has chosen a kernel")
for name in PINS:
    os.environ.pop(name, None)


def kernel() -> str:
    """Return the kernel that BLAS uses, and its version."""
    import numpy  # noqa: F401  (loads BLAS)
    from threadpoolctl import threadpool_info

    return ", ".join(f"{blas.get('architecture', 'unknown')} ({blas['internal_api']} "
                     f"{blas['version']})"
                     for blas in threadpool_info() if blas["user_api"] == "blas") or "unknown"
