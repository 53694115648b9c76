"""What ran it: the machine in general words, and the versions."""
from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from pathlib import Path

import numpy as np

from own_kernel import kernel
from peers import octave_version
from reid_ref import __version__


def machine() -> dict[str, str]:
    return {"processor": field("/proc/cpuinfo", "model name") or platform.machine(),
            "model": f"family {field('/proc/cpuinfo', 'cpu family')}, "
                     f"model {field('/proc/cpuinfo', 'model')}",
            "vectors": vectors(),
            "kernel": kernel(),
            "cores": str(len(os.sched_getaffinity(0))),
            "memory": f"{int(field('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.0f} GiB",
            "system": f"{platform.system()} {platform.machine()}"}


def file_name(described: dict[str, str]) -> str:
    """Return a file name for a kind of processor.

    >>> file_name({"processor": "AMD EPYC", "model": "family 26, model 2"})
    'amd-epyc-family-26-model-2'
    """
    words = f"{described['processor']} {described['model']}".lower()
    return "-".join(re.findall("[a-z0-9]+", words))


def vectors() -> str:
    flags = set(field("/proc/cpuinfo", "flags").split())
    return next((name for name, flag in (("AVX-512", "avx512f"), ("AVX2", "avx2"))
                 if flag in flags), "no AVX2")


def field(path: str, name: str) -> str:
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def versions() -> dict[str, str]:
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {"reid-ref": __version__, "Python": platform.python_version(),
            "numpy": np.__version__, "BLAS": f"{blas['name']} {blas['version']}",
            **{name: installed(name) for name in ("scipy", "Cython", "fastreid")},
            "Octave": octave_version()}


def installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not here"
