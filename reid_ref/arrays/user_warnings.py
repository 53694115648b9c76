"""Warnings of this package: at the user's line, or collected, for one thread.

`warnings.catch_warnings` changes what the whole process shows, and threads that leave it in
another order than they entered it leave the process without warnings.
"""
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import local
from typing import TypeVar

_Item = TypeVar("_Item")


class InputWarning(UserWarning):
    """Input that is evaluated, but suspect. All warnings of this package are of its classes.

    A filter takes a class, and need not know the words.

    Examples
    --------
    >>> import warnings
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 9], [1, 1]), reid_ref.Labels([7, 8], [2, 2])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error")
    ...     warnings.simplefilter("ignore", reid_ref.UnmatchedWarning)  # no image shows 9
    ...     reid_ref.evaluate_distances([[.1, .2], [.2, .1]], query, gallery).rank(1)
    0.5
    """


class UnmatchedWarning(InputWarning):
    """Queries have no good image: no gallery image matches them, or all that do are ignored."""


class CameraWarning(InputWarning):
    """All images are on one camera, or there are no cameras where a rule needs them."""


class LabelWarning(InputWarning):
    """Labels contradict other labels or image names, cannot be checked, or look mixed up."""


class JunkWarning(InputWarning):
    """Images labelled -1 are treated otherwise than where the number would be compared."""


class NaNWarning(InputWarning):
    """Distances are NaN, as given or because a feature of norm 0 cannot be normalised."""


class NormWarning(InputWarning):
    """Features were normalised before a convention that ranks them as they come."""


class IntervalWarning(InputWarning):
    """A confidence interval cannot be given, or has few units and may be too narrow."""


class ConventionWarning(InputWarning):
    """The number depends on a convention's choice that was not named, or that it does not have."""


class BenchmarkWarning(InputWarning):
    """The input has other images, queries or trials than the benchmark, or another protocol."""


class UnreadWarning(InputWarning):
    """An array or a column is given but not used, or a part of the answer has nothing to read."""


class RankedListWarning(InputWarning):
    """A ranked list is empty or shorter than asked for, or its names repeat or fit no image."""


class SavedWarning(InputWarning):
    """A saved result has fields of a newer version, or other choices than its convention."""


class ComparisonWarning(InputWarning):
    """Results that are compared are copies, lack a benchmark, or differ in more than the model."""


class PackageWarning(InputWarning):
    """An optional package is missing, or what an installed one declares cannot be used."""


class FindingWarning(InputWarning):
    """The doctor found what puts the numbers in doubt; the text ends with the finding's name."""


#: What runs between the user's line and ours: `with`, cached properties, classes we extend.
_BETWEEN = {__name__.partition(".")[0], "contextlib", "functools", "torchmetrics", "mmengine"}
_thread = local()


#: What takes the text of a warning and its class.
Receiver = Callable[[str, type[InputWarning]], object]


def warn(message: str, category: type[InputWarning]) -> None:
    """Warn of valid but suspect input, at the line of the first caller outside this package."""
    if receive := getattr(_thread, "receive", None):
        receive(message, category)
        return
    level, frame = 1, sys._getframe(0)
    # By the module: the file of what `dataclass` writes is "<string>".
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def warnings_to(receive: Receiver | None) -> Iterator[None]:
    """Hand this thread's warnings to a function; with None, show them as Python does."""
    before = getattr(_thread, "receive", None)
    _thread.receive = receive
    try:
        yield
    finally:
        _thread.receive = before


@contextmanager
def each_warning_once(place: str = "", *untold: type[InputWarning]) -> Iterator[None]:
    """Show each different warning once, after its place, if several evaluations repeat it; those
    of the classes `untold` not at all.
    """
    categories: dict[str, type[InputWarning]] = {}
    with warnings_to(categories.setdefault):
        yield
    for text, category in categories.items():
        if category not in untold:
            warn(place + text, category)


def ignored(message: str, category: type[InputWarning]) -> None:
    """Show no warning: an earlier evaluation has shown it."""


def without_warnings(items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield items; what warns while one is made is ignored."""
    iterator, end = iter(items), object()
    while True:
        with warnings_to(ignored):
            item = next(iterator, end)
        if item is end:
            return
        yield item  # type: ignore[misc]
