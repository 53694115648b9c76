"""Whether an answer to a problem is the rule's: number by number, or by what is asked of it."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.conventions import Convention
from reid_ref.ranking.roles import query_roles
from reid_ref.result import Result
from reid_ref.foreign.answers import Answer
from reid_ref.foreign.arguments import Form, part_of
from reid_ref.foreign.arrays import Arrays
from reid_ref.foreign.calling import Ask, seeded
from reid_ref.foreign.old_numpy import needs
from reid_ref.foreign.words import describe, text_of
from reid_ref.rules.numbers import Mismatch, compared, is_drawn, mismatches, result_of
from reid_ref.foreign.timeout import TimeIsUp, time_limit


class Verdict(NamedTuple):
    """What came of one check.

    `error`: it raised; `difference`: the first number that is not the rule's; `arrays`: the
    problem that shows it; `text`: what is told of it; `level`: how near the numbers are;
    `remark`: what is told of a check that it passes.
    """

    text: str = ""
    level: int = 0
    difference: Mismatch | None = None
    error: str = ""
    arrays: Arrays | None = None
    answers: tuple[tuple[Arrays, Answer], ...] = ()
    remark: str = ""

    @property
    def passed(self) -> bool:
        return not (self.text or self.error or self.difference)


# ------------------------------------------------------------------ asking
def try_asking(ask: Ask, arrays: Arrays, timeout: float, form: Form = Form()) -> Answer | str:
    """Return an answer, or what it raised: one line. What it prints goes nowhere."""
    printed = StringIO()
    try:
        with np.errstate(all="ignore"), redirect_stdout(printed), redirect_stderr(printed), \
                time_limit(timeout):
            answer: Answer = ask(arrays, form)
            return answer
    except KeyboardInterrupt:
        raise
    except (InputError, TimeIsUp) as error:
        return str(error)
    except BaseException as error:  # SystemExit is an answer, too
        return f"it ends in {describe(error)}"


# ------------------------------------------------------------------ numbers
def judge_numbers(ask: Ask, problems: Iterable[Arrays], convention: Convention, tolerance: float,
                  timeout: float, form: Form = Form()) -> Verdict:
    """Judge answers by the rule's numbers."""
    level, answers = 0, []
    for arrays in problems:
        answer = try_asking(ask, arrays, timeout, form)
        result, = result_of(arrays, convention)
        has_answer = not np.isnan(result.mAP)
        if isinstance(answer, str):
            if not has_answer:
                continue
            return Verdict(error=answer, arrays=arrays)
        answers.append((arrays, answer))
        found, near = mismatches(answer, result, tolerance)
        if found:
            return Verdict(difference=found[0], arrays=arrays, answers=tuple(answers))
        level = max(level, near)
    return Verdict(level=level, answers=tuple(answers))


# ------------------------------------------------------------------ what else is asked
def judge_ties(ask: Ask, problems: Iterable[Arrays], convention: Convention, tolerance: float,
               timeout: float) -> Verdict:
    """Judge answers where distances are equal: by their bounds, then by the order of the rule."""
    for arrays in problems:
        answer = try_asking(ask, arrays, timeout)
        if isinstance(answer, str):
            return Verdict(error=answer, arrays=arrays)
        least, most = _bounds(arrays, convention)
        for low, high in zip(*(compared(answer, each, tolerance) for each in (least, most))):
            theirs = low.theirs
            outside = ~((theirs >= low.ours - low.allowed) & (theirs <= high.ours + high.allowed))
            if outside.any():
                k = int(np.argmax(outside))
                return Verdict(f"{low.names[k]} is {float(theirs[k])!r}; the orders of equal "
                               f"distances allow {float(low.ours[k])!r} to "
                               f"{float(high.ours[k])!r}", arrays=arrays)
        ours, sorts = result_of(arrays, convention, convention.replace(ties="numpy"))
        for bound, words in ((most, "right"), (least, "wrong")):
            if not mismatches(answer, bound, tolerance)[0] and mismatches(
                    answer, ours, tolerance)[0]:
                return Verdict(f"of equally far images the {words} ones come first")
        if _defines_order(convention) and (
                found := mismatches(answer, ours, tolerance)[0]):
            order = " (they are in numpy's default order, which is not stable)" * (
                not mismatches(answer, sorts, tolerance)[0])
            return Verdict(f"equal distances are not in gallery order{order}", difference=found[0],
                           arrays=arrays)
    return Verdict()


def _defines_order(convention: Convention) -> bool:
    """Whether the rule has one order: its evaluator does not take numpy's default sort."""
    return convention.ties == "gallery-order" and not any(
        "numpy's default" in oddity for oddity in convention.oddities)


def _bounds(arrays: Arrays, convention: Convention) -> tuple[Result, Result]:
    """Return the results with good images last, and first, among equal distances.

    Each query's gallery is its own, which distances a little apart stand for.
    """
    good_of = query_roles(arrays.query, arrays.gallery, convention.not_ranked)
    good = np.zeros(arrays.distances.shape)
    for k in range(len(arrays.query)):
        good[k, good_of(k)[0]] = 1
    made = [Arrays(arrays.distances + sign * good * 2.0**-12, arrays.query, arrays.gallery)
            for sign in (1, -1)]
    least, most = (result_of(each, convention)[0] for each in made)
    return least, most


def judge_nan(ask: Ask, problems: Iterable[Arrays], convention: Convention, tolerance: float,
              timeout: float) -> Verdict:
    """Judge whether NaN comes first, where the rule has it last; other orders are undefined."""
    for arrays in problems:
        answer = try_asking(ask, arrays, timeout)
        nearest = replace(arrays, distances=np.nan_to_num(arrays.distances, nan=-1.0))
        (last,), (first,) = result_of(arrays, convention), result_of(nearest, convention)
        if isinstance(answer, Answer) and mismatches(answer, last, tolerance)[0]:
            if not mismatches(answer, first, tolerance)[0]:
                return Verdict("an image whose distance is NaN counts as the nearest")
            return Verdict(remark="its order of NaN is none that could be told")
    return Verdict()


def judge_numpy(ask: Ask, problems: Iterable[Arrays], convention: Convention, tolerance: float,
                timeout: float) -> Verdict:
    """Judge whether it asks numpy for what that no longer has, which is put back for the call."""
    answer = try_asking(ask, next(iter(problems)), timeout)
    return Verdict(error="; ".join(map(needs, answer.gone)) if isinstance(answer, Answer) else "")


def judge_unchanged(ask: Ask, problems: Iterable[Arrays], convention: Convention,
                    tolerance: float, timeout: float) -> Verdict:
    """Judge whether what was handed over is as it was."""
    for arrays in problems:
        handed: list[tuple[str, Any]] = []
        answer = try_asking(ask, arrays, timeout, Form(handed=handed))
        for part, value in handed:
            with suppress(Exception):
                if not np.array_equal(np.asarray(value), part_of(part, arrays)):
                    return Verdict(f"it changes the {_WORDS.get(part, part)} that it is handed")
        if isinstance(answer, str):
            return Verdict(error=answer, arrays=arrays)
    return Verdict()


_WORDS = {"q_identity": "identities of queries", "g_identity": "identities of the gallery",
          "q_camera": "cameras of queries", "g_camera": "cameras of the gallery"}


def judge_twice(ask: Ask, problems: Iterable[Arrays], convention: Convention, tolerance: float,
                timeout: float) -> Verdict:
    """Judge whether the same arrays give the same bits; drawn curves may differ."""
    for arrays in problems:
        with seeded(0):
            first = try_asking(ask, arrays, timeout)
        with seeded(1):
            second = try_asking(ask, arrays, timeout)
        if isinstance(first, str) or isinstance(second, str):
            return Verdict(error=text_of(first if isinstance(first, str) else second),
                           arrays=arrays)
        same = [first.mAP, first.mINP] == [second.mAP, second.mINP] or np.isnan(first.mAP or 0)
        if not is_drawn(convention):
            same = same and np.array_equal(first.curve, second.curve, equal_nan=True)
        if not same:
            return Verdict(f"the same arrays give mAP {first.mAP!r}, Rank-1 {_first(first)!r} and "
                           f"then mAP {second.mAP!r}, Rank-1 {_first(second)!r}", arrays=arrays)
    return Verdict()


def _first(answer: Answer) -> float | None:
    return float(answer.curve[0]) if len(answer.curve) else None


def judge_form(form: str) -> Callable[..., Verdict]:
    """Return what judges labels in another form: the same numbers, or an exception."""
    def judge(ask: Ask, problems: Iterable[Arrays], convention: Convention, tolerance: float,
              timeout: float) -> Verdict:
        verdict = judge_numbers(ask, list(problems)[:1], convention, tolerance, timeout,
                                Form(labels=form))
        return Verdict(remark=f"it takes no {form}") if verdict.error else verdict
    return judge


JUDGES: dict[str, Callable[..., Verdict]] = {
    "numbers": judge_numbers, "ties": judge_ties, "nan": judge_nan, "numpy": judge_numpy,
    "unchanged": judge_unchanged, "twice": judge_twice, "int16": judge_form("int16"),
    "infinite": judge_form("infinite distances"), "lists": judge_form("lists"),
    "tensors": judge_form("tensors")}
