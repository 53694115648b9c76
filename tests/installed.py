"""Packages that some tests need: here is decided what happens without them."""
import importlib.metadata
import os

import pytest


def version_of(package):
    """The version of an installed package; without it a skip, or a failure where required."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        reason = f"{package} is not installed; REID_REF_PEERS=required sh tests/run installs it"
    if os.environ.get("REID_REF_PEERS") == "required":
        pytest.fail(f"REID_REF_PEERS=required, but {reason}")
    pytest.skip(reason)
