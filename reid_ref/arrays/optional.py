"""Packages that reid-ref works without: here is decided what is said where one is missing."""
from importlib import import_module
from typing import Any

from reid_ref.arrays.errors import InputError

#: Packages that are called otherwise than their modules.
_PACKAGES = {"PIL": "pillow", "sklearn": "scikit-learn"}


class PackageError(InputError, ImportError):
    """A part that needs a package which is missing or broken; all else can be answered."""


def optional_module(purpose: object, *names: str, otherwise: str = "") -> Any:
    """Return the first of these modules; refuse what they are needed for if one is missing.

    Parameters
    ----------
    purpose : object
        What they are needed for.
    *names : str
    otherwise : str, optional
        What helps besides installing them.

    Raises
    ------
    PackageError
        Packages are missing (the message names all), or one of them is broken.

    Examples
    --------
    >>> optional_module("JSON", "json").dumps([1])
    '[1]'
    >>> optional_module("the weather", "clouds.rain", "sun", otherwise="or look out of the window")
    Traceback (most recent call last):
        ...
    reid_ref.arrays.optional.PackageError: the weather: needs clouds, sun, which are not ...
    """
    modules, missing = [], {}
    packages = {top: _PACKAGES.get(top, top) for top in (name.partition(".")[0] for name in names)}
    for name, (top, package) in zip(names, packages.items()):
        try:
            import_module(top)  # where None stands for it, a module in it would be missing
            modules.append(import_module(name))
        except Exception as error:  # whatever a broken package raises
            if isinstance(error, ModuleNotFoundError) and error.name in packages:
                missing[packages[error.name]] = True
                continue
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise PackageError(
                purpose, got=f"needs {package}, which is installed but cannot be imported "
                f"({reason})", remedy=f"pip install --force-reinstall {package}") from None
    if missing:
        which = "which are" if len(missing) > 1 else "which is"
        remedy = f"pip install {' '.join(missing)}"
        raise PackageError(
            purpose, got=f"needs {', '.join(missing)}, {which} not installed",
            remedy=f"{remedy}, {otherwise}" if otherwise else remedy) from None
    return modules[0]
