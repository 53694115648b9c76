"""Packages and programs that some tests need: here is decided what happens without them."""
import importlib.metadata
import os
import shutil

import pytest

from reid_ref.arrays import PackageError


#: Modules that the package works without.
OPTIONAL = ("torch", "h5py", "scipy", "matplotlib", "jinja2", "PIL", "dask", "distributed",
            "pandas", "sklearn", "fastreid", "torchreid")


def check_doctest(failure):
    """Treat a doctest that ended for want of one of these as a test that needs it."""
    error = failure.exc_info[1]
    if isinstance(error, ModuleNotFoundError):
        missing = str(error.name).partition(".")[0] in OPTIONAL
    else:
        missing = isinstance(error, PackageError) and "not installed" in error.got
    if missing:
        absent(str(error))


def version_of(package):
    """The version of an installed package; without it a skip, or a failure where required."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        absent(f"{package} is not installed; REID_REF_PEERS=required sh tests/run installs it")


def program(*names):
    """The path of the first of these programs that is installed; else as `version_of`."""
    path = next(filter(None, map(shutil.which, names)), None)
    return path or absent(f"none of {', '.join(names)} is installed")


def absent(reason, variable="REID_REF_PEERS"):
    """Skip a test, or fail where this variable of the environment says `required`."""
    if os.environ.get(variable) == "required":
        pytest.fail(f"{variable}=required, but {reason}")
    pytest.skip(reason)
