"""An evaluator as one function from arrays to an answer: called, read and put together."""
import builtins
import random
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.foreign.answers import Answer, merged, read_answer
from reid_ref.foreign.arguments import BY_PLACE, NAMES, Fed, Form, fed
from reid_ref.foreign.arrays import Arrays
from reid_ref.foreign.words import describe, name_of, their_frames

#: What asks an evaluator. It may raise anything: what it calls is not ours.
Ask = Callable[..., Answer]
#: How often a drawn curve is asked for.
N_DRAWS = 8


def ask_functions(functions: Iterable[Any], name: str, rank: int | None = None,
                  settings: Mapping[str, Any] = MappingProxyType({}),
                  ) -> tuple[Ask, str, frozenset[str], bool]:
    """Return what asks an evaluator of one or more functions, how, in words, what it takes, and
    whether that is one set.

    Parameters
    ----------
    functions : iterable of callable
        Functions that share the work, such as ``mean_ap`` and ``cmc``.
    name : str
        Of the evaluator, for messages.
    rank : int, optional
        The longest rank that is asked for; None: the functions' own default.
    settings : mapping
        Arguments of the functions, for each one that takes them.
    """
    plans = [fed(function, name, settings) for function in functions]
    for key in settings:
        if not any(key in plan.settings or key in dict(plan.given) for plan in plans):
            raise InputError("settings", f"arguments of {name}", key)
    is_square = any(plan.is_square for plan in plans)
    words = " and ".join(f"({plan.words(rank)})" for plan in plans)
    kind = ", our signature" * ("gallery" in plans[0].parts) + (
        ", by torchreid's order" * any(plan.ordered for plan in plans))
    known: dict[int, tuple[Fed, bool, Any, bool]] = {}

    def ask(arrays: Arrays, form: Form = Form()) -> Answer:
        if is_square and len(set(arrays.distances.shape)) > 1:
            raise InputError("", got="it takes one set, which is evaluated against itself, and "
                             f"these are {len(arrays.query)} queries of another gallery")
        return merged([ask_one(plan, k, arrays, form) for k, plan in enumerate(plans)])

    def ask_one(plan: Fed, k: int, arrays: Arrays, form: Form) -> Answer:
        """Call a function: with arrays, then tensors; the error is that which came furthest."""
        errors = list[BaseException]()
        plans = [plan, plan._replace(given=BY_PLACE)][:1 + (plan.given == BY_PLACE[:5])]
        attempts = ((given, as_tensors, None, False)
                    for as_tensors in (False, True) for given in plans)
        for attempt in [known[k]] if k in known else attempts:
            given, as_tensors, order, percent = attempt
            try:
                returned, gone = with_old_names(lambda: given.call(
                    arrays, rank, form._replace(tensors=as_tensors)))
                answer = read_answer(returned, name_of(plan.function), order)
            except Exception as error:
                errors.append(error)
                continue
            if answer.ranks is None and len(answer.curve) == len(given.ranks) > 0:
                answer = replace(answer, ranks=np.array(given.ranks))
            answer = answer.of_percent() if percent else answer
            known.setdefault(k, (given, as_tensors, answer.order, answer.percent))
            told = ("it is handed tensors",) * as_tensors
            return replace(answer, told=(*told, *answer.told, *map(needs, gone)), gone=gone)
        furthest = max(errors, key=_how_far)
        made_up = [key for key, part in plan.given if part == "nothing"]
        if made_up and not isinstance(furthest, InputError):
            raise InputError("", got=f"it ends in {describe(furthest)}; it is given None for "
                             f"{', '.join(made_up)}, whose name tells nothing",
                             remedy=f"say --setting {made_up[0]}=VALUE") from furthest
        raise furthest
    return ask, f"called as {words}{kind}", frozenset().union(
        *(plan.parts for plan in plans)), is_square


def _how_far(error: BaseException) -> tuple[bool, int, int]:
    """Return how far a call came before an error: past the call itself, its line, its depth."""
    lines = [frame.lineno or 0 for frame in their_frames(error)]
    return isinstance(error, InputError), lines[0] if lines else 0, len(lines)


#: How the message of a call begins that takes too long.
NO_ANSWER = "it gave no answer"


class TimeIsUp(BaseException):
    """No `Exception`, which foreign code may catch."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUp` in what runs longer; only in the main thread, and not on Windows."""
    if not hasattr(signal, "setitimer") or (
            threading.current_thread() is not threading.main_thread()):
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeIsUp(f"{NO_ANSWER} within {seconds:g} seconds")
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let code that draws begin with a seed; the generators are as before afterwards."""
    states = np.random.get_state(), random.getstate()
    np.random.seed(seed)
    random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(states[0])
        random.setstate(states[1])


def with_draws(ask: Ask) -> Ask:
    """Return what asks an evaluator several times, by other seeds, if two of them give two CMC."""
    draws: list[bool] = []  # of the first problem

    def asking(arrays: Arrays, form: Form = Form()) -> Answer:
        answer = ask(arrays, form)
        if len(answer.curve) < 2 or draws[:1] == [False]:
            return answer
        curves = [seeded(seed)(ask)(arrays, form._replace(handed=None)).curve
                  for seed in range(N_DRAWS)]
        is_one_shape = len({curve.shape for curve in curves}) == 1
        draws.append(is_one_shape and not all(
            np.array_equal(curve, curves[0], equal_nan=True) for curve in curves))
        return replace(answer, drawn=np.array(curves)) if draws[0] and is_one_shape else answer
    return asking


# ------------------------------------------------------------------ names that numpy had
#: What numpy tells of names that it had.
_TOLD = r"module 'numpy' has no attribute '(\w+)'|`np\.(\w+)` was removed"


def needs(name: str) -> str:
    """Return what is told of a name that was put back."""
    return f"it needs np.{name}, which numpy {np.__version__} no longer has: put back here"


def with_old_names(work: Callable[[], Any]) -> tuple[Any, tuple[str, ...]]:
    """Return what some work gives, and the names that it needs; they leave numpy afterwards."""
    names: list[str] = []
    try:
        while True:
            try:
                return work(), tuple(names)
            except AttributeError as error:
                told = re.match(_TOLD, str(error))
                name = told[1] or told[2] if told else ""
                if name not in NAMES["gone"]:
                    raise
                module, _, today = NAMES["gone"][name].rpartition(".")
                setattr(np, name, getattr(np if module else builtins, today))
                names.append(name)
    finally:
        for name in names:
            delattr(np, name)
