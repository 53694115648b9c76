"""What a report of a fault needs: versions, BLAS, processors, extras."""
import os
import platform
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from reid_ref._version import __version__
from reid_ref.arrays.cores import LIMITS, cores

#: What setup.cfg requires, besides numpy.
REQUIRED = "tqdm", "threadpoolctl"
#: Extra to what it installs, as setup.cfg has them.
EXTRAS = {"scipy": ("scipy",), "hdf5": ("h5py",), "torch": ("torch",),
          "distributed": ("dask", "distributed"),
          "plot": ("scipy", "matplotlib"), "report": ("scipy", "matplotlib", "jinja2", "pillow")}


def environment() -> str:
    """Return a line for each; nothing is imported but numpy."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    limits = [f"{name}={os.environ[name]}" for name in LIMITS if name in os.environ]
    rows = {"reid-ref": __version__, "numpy": np.__version__,
            "BLAS": f"{blas.get('name')} {blas.get('version')}",
            **{package: _version(package) for package in REQUIRED},
            "Python": f"{platform.python_version()} ({platform.python_implementation()})",
            "platform": platform.platform(),
            "processors": ", ".join([f"{cores()} usable of {os.cpu_count()}", *limits]),
            **{f"[{extra}]": ", ".join(f"{package} {_version(package)}" for package in packages)
               for extra, packages in EXTRAS.items()}}
    return "\n".join(f"{name:18}{text}" for name, text in rows.items())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
