"""The cores that this process may use."""
from __future__ import annotations

import os
from functools import lru_cache

#: The variables by which users limit the threads of numerical libraries.
LIMITS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"


@lru_cache(maxsize=1)
def cores() -> int:
    """Return the threads that may run at once: by affinity, quota of the group, and `LIMITS`."""
    try:
        available = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows pin no process
        available = os.cpu_count() or 1
    limits = [available, _quota(available)]
    limits += [int(value) for value in map(os.environ.get, LIMITS) if value and value.isdecimal()]
    return max(1, min(limits))


def _quota(available: int) -> int:
    """Return the cores that the control group of the process grants, at least one."""
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
        return max(1, round(int(quota) / int(period)))
    except (OSError, ValueError):  # no such file, or "max"
        return available
