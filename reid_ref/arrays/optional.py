"""What few numbers need of scipy, which is as large as all else together."""
from importlib import import_module
from typing import Any

from reid_ref.arrays.errors import InputError


def scipy_module(name: str, purpose: object) -> Any:
    """Return a module of scipy; without scipy, refuse what it is needed for."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError as error:
        raise InputError(purpose, got=f"needs scipy ({error})",
                         remedy='pip install "reid-ref[scipy]"') from None
