"""What the toolboxes share: labels, the evaluation, its numbers in their types, `patch`."""
import inspect
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from reid_ref.arrays import (
    Array, InputError, PackageError, RankedListWarning, as_labels, check_choice, check_count,
    optional_module, warn)
from reid_ref.conventions import Convention, find_convention
from reid_ref.disk import tables_of
from reid_ref.evaluation.functions import evaluate_distances
from reid_ref.labels import IndexLists, Labels
from reid_ref.result import Result

#: What a caller may hand as `convention=`; None is the toolbox's own.
Choice = str | Convention | None


class Refused(InputError, AssertionError):
    """Input that the toolbox refuses by `assert`: code that catches its error catches this."""


class NoMatch(Refused, RuntimeError, ZeroDivisionError, IndexError):
    """No query has a good image; the toolboxes raise an error of one of these four kinds."""


_LAST = threading.local()


def last_result() -> Result:
    """Return the whole `Result` of this thread's last call of a function or class of this room.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        This thread evaluated nothing yet.

    Examples
    --------
    >>> import numpy as np
    >>> from reid_ref.compat import last_result, torchreid
    >>> cmc, mAP = torchreid.evaluate_rank(
    ...     np.array([[.2, .1, .3]]), np.array([7]), np.array([7, 8, 7]), np.array([1]),
    ...     np.array([2, 2, 3]), max_rank=3)
    >>> cmc, round(float(mAP), 4), last_result().per_query.status.tolist()
    (array([0., 1., 1.], dtype=float32), 0.5833, ['ok'])
    """
    result: Result | None = getattr(_LAST, "result", None)
    if result is None:
        raise InputError("last_result", "a call of an evaluator of reid_ref.compat before it, in "
                         "the same thread", "none")
    return result


def keep(result: Result) -> Result:
    """Let `last_result` return this result."""
    _LAST.result = result
    return result


def labels(identity: Any, camera: Any, names: tuple[str, str]) -> Labels:
    """Return the labels of one side; `names` are those of the toolbox's arguments."""
    return Labels(as_labels(identity, names[0]), as_labels(camera, names[1]))


def both_sides(q_pids: Any, g_pids: Any, q_camids: Any, g_camids: Any) -> tuple[Labels, Labels]:
    """Return the labels of query and gallery from four arrays, as most toolboxes name them."""
    return (labels(q_pids, q_camids, ("q_pids", "q_camids")),
            labels(g_pids, g_camids, ("g_pids", "g_camids")))


def evaluated(distmat: Any, sides: tuple[Labels, Labels], convention: str | Convention,
              max_rank: int | None = None, lists: IndexLists | None = None) -> Result:
    """Evaluate and remember; a curve that the convention ends at a rank ends at `max_rank`."""
    record = find_convention(convention)
    if max_rank is not None:
        check_count(max_rank, "max_rank")
        if not isinstance(record.cmc_length, str):
            record = record.replace(name=record.name, cmc_length=int(max_rank))
    result = keep(evaluate_distances(distmat, *sides, convention=record, lists=lists))
    n_gallery = len(sides[1])
    if max_rank is not None and max_rank > n_gallery:
        warn(f"max_rank: expected at most {n_gallery}, the number of gallery images, got "
             f"{max_rank}; the CMC curve ends with the gallery", RankedListWarning)
    return result


def matched(result: Result) -> Result:
    """Return the result, or refuse it as the toolboxes do if no query has a good image."""
    if not result.counts.status["ok"]:
        statuses = ", ".join(f"{count} {name}" for name, count in result.counts.status.items()
                             if count)
        raise NoMatch("q_pids, g_pids", "a query with a good gallery image",
                      f"{len(result.per_query.status)} queries, all without ({statuses})", "check "
                      "that identities and cameras are numbered alike on both sides")
    return result


def answered(distmat: Any, sides: tuple[Labels, Labels], convention: str | Convention,
             max_rank: int, *means: str) -> tuple[Any, ...]:
    """Evaluate; return the CMC curve in float32 and these means, as most toolboxes do."""
    result = matched(evaluated(distmat, sides, convention, max_rank))
    return (result.cmc[:max_rank].astype(np.float32),
            *(np.float64(getattr(result, name)) for name in means))


def class_of_module(module: str, name: str, classes: Mapping[str, type], library: str, base: str,
                    otherwise: type | None = None) -> Any:
    """Return a class as a subclass of another library's, for a module's ``__getattr__``.

    `otherwise` is the base if the library is not installed; without it that is a PackageError.
    """
    if name not in classes:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    try:
        parent = getattr(optional_module(f"{module}.{name}", library), base)
    except PackageError:
        if otherwise is None:
            raise
        parent = otherwise
    made = type(name, (classes[name], parent), {"__module__": module})
    made.__doc__ = inspect.getdoc(classes[name])
    return vars(sys.modules[module]).setdefault(name, made)


def squared_distances(query: Any, gallery: Any) -> Array:
    """Squared Euclidean distances of two tensors: q.q + g.g - 2 q.g, added in this order."""
    torch = optional_module("tensors", "torch")
    shape = len(query), len(gallery)
    with torch.no_grad():
        distances = (torch.pow(query, 2).sum(dim=1, keepdim=True).expand(shape)
                     + torch.pow(gallery, 2).sum(dim=1, keepdim=True).expand(shape[::-1]).t())
        distances.addmm_(query, gallery.t(), beta=1, alpha=-2)
        return np.asarray(distances.cpu())


def cosine_distances(query: Any, gallery: Any) -> Array:
    """1 - cosine of two tensors."""
    torch = optional_module("tensors", "torch")
    with torch.no_grad():
        unit_query, unit_gallery = (torch.nn.functional.normalize(features, p=2, dim=1)
                                    for features in (query, gallery))
        return np.asarray((1 - torch.mm(unit_query, unit_gallery.t())).cpu())


#: Toolbox to the modules that define its evaluators, and the functions that are replaced.
PATCHES: dict[str, dict[str, list[str]]] = tables_of("compat/patches.toml")


#: A name of a module, the function that it had, and ours.
_Rebound = tuple[ModuleType, str, object, object]


def patch(toolbox: str) -> list[str]:
    """Replace a toolbox's evaluators by ours, wherever a module of this process has them.

    That includes modules that imported an evaluator by name, the caller's among them: what was
    ``old`` after ``from torchreid.metrics.rank import evaluate_rank as old`` is then ours. To
    compare the two, call theirs before, or use `patched`.

    Parameters
    ----------
    toolbox : str
        torchreid, fastreid, openreid, transreid, clip_reid, solider, strong_baseline,
        reid_survey, cross_modal, ccreid, ap3d, irra or seqnet. It is imported.

    Returns
    -------
    list of str
        The functions that were replaced, with their modules.

    Raises
    ------
    InputError
        Another name, or a toolbox that cannot be imported from here.

    Examples
    --------
    >>> patch("torchried")
    Traceback (most recent call last):
        ...
    reid_ref.arrays.errors.InputError: toolbox: unknown 'torchried'. Did you mean ...
    """
    return _replace_all(toolbox, [])


@contextmanager
def patched(toolbox: str) -> Iterator[list[str]]:
    """Replace a toolbox's evaluators by ours while a block runs; see `patch`.

    After the block, even if it raised, every name that was rebound has the toolbox's function
    again. A module that is first imported in the block keeps what it imported there.

    Parameters
    ----------
    toolbox : str
        As for `patch`.

    Yields
    ------
    list of str
        The functions that are replaced, with their modules.

    Raises
    ------
    InputError
        As `patch`.

    Examples
    --------
    >>> with patched("torchried"):
    ...     pass
    Traceback (most recent call last):
        ...
    reid_ref.arrays.errors.InputError: toolbox: unknown 'torchried'. Did you mean ...
    """
    rebound: list[_Rebound] = []
    try:
        yield _replace_all(toolbox, rebound)
    finally:
        for module, name, theirs, ours in reversed(rebound):
            if getattr(module, name, None) is ours:
                setattr(module, name, theirs)


def _replace_all(toolbox: str, rebound: list[_Rebound]) -> list[str]:
    """Replace a toolbox's evaluators; return their names, and add what was rebound."""
    check_choice(toolbox, "toolbox", PATCHES)
    ours = import_module(f"reid_ref.compat.{toolbox}")
    replaced = []
    for module, names in PATCHES[toolbox].items():
        try:
            theirs = import_module(module)
        except ModuleNotFoundError as error:
            if not f"{module}.".startswith(f"{error.name}."):
                raise  # something that the toolbox itself needs
            continue
        for name in names:
            rebound += _replace(getattr(theirs, name), getattr(ours, name))
            replaced.append(f"{module}.{name}")
    if not replaced:
        raise InputError("toolbox", f"a module {' or '.join(PATCHES[toolbox])}", "none",
                         "install the toolbox, or add its folder to sys.path")
    return replaced


def _replace(theirs: object, ours: object) -> list[_Rebound]:
    """Replace a function in the module that defines it and in all that imported it by name."""
    rebound = [(module, name, theirs, ours) for module in list(sys.modules.values())
               for name, value in list(vars(module).items()) if value is theirs]
    for module, name, *_ in rebound:
        setattr(module, name, ours)
    return rebound
