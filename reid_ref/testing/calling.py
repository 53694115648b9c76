"""An evaluator as one function from arrays to an answer: called, read and put together."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from reid_ref.arrays import InputError
from reid_ref.testing.answers import Answer, merged, read_answer
from reid_ref.testing.arguments import Fed, fed, wants_tensors
from reid_ref.testing.arrays import Arrays
from reid_ref.testing.foreign import text_of

#: What asks an evaluator. It may raise anything: what it calls is not ours.
Ask = Callable[[Arrays], Answer]


def ask_functions(functions: Iterable[Any], name: str, rank: int | None = None,
                  **settings: Any) -> tuple[Ask, str]:
    """Return what asks an evaluator of one or more functions, and how it is called, in words.

    Parameters
    ----------
    functions : iterable of callable
        Functions that share the work, such as ``mean_ap`` and ``cmc``.
    name : str
        Of the evaluator, for messages.
    rank : int, optional
        The longest rank that is asked for; None: the functions' own default.
    settings
        Arguments that every function gets.
    """
    plans = [fed(function, name, settings) for function in functions]
    words = " and ".join(f"({plan.words(rank)})" for plan in plans)
    form = "our signature" if "gallery" in plans[0].names.values() else "torchreid's signature"
    tensors = {k: wants_tensors(plan.function) for k, plan in enumerate(plans)}

    def ask(arrays: Arrays) -> Answer:
        if any(plan.is_square for plan in plans) and len(set(arrays.distances.shape)) > 1:
            raise InputError("", got="it takes one set, which is evaluated against itself, and "
                             f"these are {len(arrays.query)} queries of another gallery")
        return merged([_ask_one(plan, k, arrays) for k, plan in enumerate(plans)])

    def _ask_one(plan: Fed, k: int, arrays: Arrays) -> Answer:
        function = text_of(getattr(plan.function, "__name__", ""))
        if tensors[k] is None:
            try:
                return read_answer(plan.call(arrays, rank, **settings), function)
            except Exception:  # as tensors, then; if that fails, too, the first error counts
                try:
                    answer = read_answer(plan.call(arrays, rank, True, **settings), function)
                except Exception:
                    answer = None
                if answer is None:
                    raise
            tensors[k] = True
        else:
            answer = read_answer(plan.call(arrays, rank, bool(tensors[k]), **settings), function)
        as_tensors = ("it is handed tensors",) if tensors[k] else ()
        return replace(answer, told=(*as_tensors, *answer.told))
    return ask, f"called as {words}, {form}"
