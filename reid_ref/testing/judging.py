"""Whether an answer to a problem is the rule's: number by number, or by what is asked of it."""
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from reid_ref.conventions import Convention
from reid_ref.foreign.answers import Answer
from reid_ref.foreign.arguments import FORMS, Form, part_of
from reid_ref.foreign.arrays import Arrays
from reid_ref.foreign.calling import needs, seeded
from reid_ref.foreign.words import text_of
from reid_ref.ranking.roles import query_roles
from reid_ref.result import Result
from reid_ref.rules.numbers import Mismatch, compared, is_drawn, mismatches, result_of
from reid_ref.rules.search import without
from reid_ref.testing.checks import Check
from reid_ref.testing.subject import Subject


#: How the remark begins of a check that an evaluator cannot be asked.
NOT_ASKED = "not asked, since"


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
    form: Form = Form()

    @property
    def passed(self) -> bool:
        return not (self.text or self.error or self.difference)


def judge(tested: Subject, check: Check) -> Verdict:
    """Return what comes of a check."""
    if tested.loaded.is_square and check.takes_sides:
        return Verdict(remark=f"{NOT_ASKED} it takes one set")
    problems = check.problems(tested.convention, tested.loaded.is_square)
    takes_features = any("features" in part for part in tested.loaded.takes)
    if takes_features and not (problems := [
            arrays for arrays in problems if arrays.features is not None]):
        return Verdict(remark=f"{NOT_ASKED} it takes features")
    return JUDGES[check.judge](tested, problems)


# ------------------------------------------------------------------ numbers
def judge_numbers(tested: Subject, problems: list[Arrays], form: Form = Form()) -> Verdict:
    """Judge answers by the rule's numbers."""
    level, answers = 0, []
    for arrays in problems:
        answer = tested.answer(arrays, form)
        result, = result_of(arrays, tested.convention)
        if isinstance(answer, str):
            if np.isnan(result.mAP):
                continue
            return Verdict(error=answer, arrays=arrays, form=form)
        answers.append((arrays, answer))
        found, near = mismatches(answer, result, tested.tolerance)
        if found:
            return Verdict(difference=found[0], arrays=arrays, answers=tuple(answers), form=form)
        level = max(level, near)
    return Verdict(level=level, answers=tuple(answers))


# ------------------------------------------------------------------ what else is asked
def judge_ties(tested: Subject, problems: list[Arrays]) -> Verdict:
    """Judge answers where distances are equal: by the rule's order, or else by their bounds.

    Neither are they wrong in any order, nor those of the best one or the worst one.
    """
    way = tested.convention
    is_defined = way.ties == "gallery-order" and not any(
        "numpy's default" in oddity for oddity in way.oddities)
    for arrays in problems:
        answer = tested.answer(arrays)
        if isinstance(answer, str):
            return Verdict(error=answer, arrays=arrays)
        if not (found := tested.wrong(answer, result_of(arrays, way)[0])):
            continue
        if is_defined and not tested.wrong(answer, result_of(arrays, way.replace(
                ties="numpy"))[0]):
            return Verdict("equal distances are not in gallery order (they are in numpy's default "
                           "order, which is not stable)", difference=found[0], arrays=arrays)
        bounds = _bounds(arrays, way)
        if is_defined or not all(tested.wrong(answer, bound) for bound in bounds):
            return Verdict(difference=found[0], arrays=arrays, answers=((arrays, answer),))
        for low, high in zip(*(compared(answer, each, tested.tolerance) for each in bounds)):
            theirs = low.theirs
            outside = ~((theirs >= low.ours - low.allowed) & (theirs <= high.ours + high.allowed))
            if outside.any():
                k = int(np.argmax(outside))
                return Verdict(f"{low.names[k]} is {float(theirs[k])!r}; the orders of equal "
                               f"distances allow {float(low.ours[k])!r} to "
                               f"{float(high.ours[k])!r}", arrays=arrays,
                               answers=((arrays, answer),))
    return Verdict()


def _bounds(arrays: Arrays, convention: Convention) -> tuple[Result, Result]:
    """Return the results with good images last, and first, among equal distances.

    Each query's gallery is its own, which distances a little apart stand for.
    """
    good_of = query_roles(arrays.query, arrays.gallery, convention.not_ranked)
    good = np.zeros(arrays.distances.shape)
    for k in range(len(arrays.query)):
        good[k, good_of(k)[0]] = 1
    farther, nearer = (replace(arrays, distances=arrays.distances + step * good)
                       for step in (2.0**-12, -2.0**-12))
    return result_of(farther, convention)[0], result_of(nearer, convention)[0]


def judge_nan(tested: Subject, problems: list[Arrays]) -> Verdict:
    """Judge whether NaN comes last, as by the rule; an exception or NaN is no wrong number."""
    for arrays in problems:
        farthest = replace(arrays, distances=np.nan_to_num(
            arrays.distances, nan=2 * float(np.nanmax(arrays.distances, initial=1))))
        if (verdict := judge_numbers(tested, [farthest])).difference:
            return verdict  # what is wrong without NaN is not wrong for it
        wrong = judge_numbers(tested, [arrays]).difference
        if wrong and not np.isnan(wrong.theirs):
            return Verdict("images at distance NaN are not the farthest", difference=wrong,
                           arrays=arrays)
    return Verdict()


def judge_numpy(tested: Subject, problems: list[Arrays]) -> Verdict:
    """Judge whether it asks numpy for what that no longer has, which is put back for the call."""
    answer = tested.answer(problems[0])
    return Verdict(error="; ".join(map(needs, answer.gone)) if isinstance(answer, Answer) else "")


def judge_unchanged(tested: Subject, problems: list[Arrays]) -> Verdict:
    """Judge whether what was handed over is as it was."""
    for arrays in problems:
        handed: list[tuple[str, Any]] = []
        answer = tested.answer(arrays, Form(handed=handed))
        for part, value in handed:
            with suppress(Exception):
                own = part_of(part, arrays)
                if not np.array_equal(np.asarray(value), own, equal_nan=own.dtype.kind == "f"):
                    return Verdict(f"it changes the {_WORDS.get(part, part)} that it is handed")
        if isinstance(answer, str) and arrays is problems[0]:  # of the others, other checks tell
            return Verdict(error=answer, arrays=arrays)
    return Verdict()


_WORDS = {"q_identity": "identities of queries", "g_identity": "identities of the gallery",
          "q_camera": "cameras of queries", "g_camera": "cameras of the gallery"}


def judge_twice(tested: Subject, problems: list[Arrays]) -> Verdict:
    """Judge whether the same arrays give the same bits; drawn curves may differ."""
    for arrays in problems:
        first, second = (seeded(seed)(tested.answer)(arrays) for seed in (0, 1))
        if isinstance(first, str) or isinstance(second, str):
            return Verdict(error=text_of(first if isinstance(first, str) else second),
                           arrays=arrays)
        drawn = ["CMC"] * is_drawn(tested.convention)
        if without(first, *drawn) != without(second, *drawn):
            numbers = (", ".join([f"mAP {answer.mAP!r}", *(
                f"Rank-1 {share!r}" for share in answer.curve[:1].tolist())])
                for answer in (first, second))
            return Verdict(f"the same arrays give {' and then '.join(numbers)}")
    return Verdict()


def judge_form(tested: Subject, problems: list[Arrays], form: str) -> Verdict:
    """Judge labels in another form: the same numbers, or an exception."""
    verdict = judge_numbers(tested, problems[:1], Form(name=form))
    return Verdict(remark=f"it does not take {form}") if verdict.error else verdict


JUDGES: dict[str, Callable[..., Verdict]] = {
    "numbers": judge_numbers, "ties": judge_ties, "nan": judge_nan, "numpy": judge_numpy,
    "unchanged": judge_unchanged, "twice": judge_twice, **{
        form: partial(judge_form, form=form)
        for form in (*FORMS, "infinite distances")}}
