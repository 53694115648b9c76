"""Whether an answer to a problem is the rule's: number by number, or by what is asked of it."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from reid_ref.arrays import Doubles, InputError, ignored, warnings_to
from reid_ref.conventions import Convention
from reid_ref.evaluation.engine import results_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Distances
from reid_ref.ranking.roles import query_roles
from reid_ref.result import Result
from reid_ref.testing.answers import Answer
from reid_ref.testing.arguments import Form, part_of
from reid_ref.testing.arrays import Arrays
from reid_ref.testing.calling import Ask
from reid_ref.testing.foreign import describe, text_of
from reid_ref.testing.matching import differences, same_ranks
from reid_ref.testing.mistakes import Walked
from reid_ref.testing.timeout import TimeIsUp, time_limit

#: How far sums of the same terms in another order may lie apart.
ADDITIONS = 1e-12
#: How far numbers of single precision may: a few roundings, of numbers up to 1.
SINGLE = 2.0**-20
#: The words for how near numbers are, by the largest difference.
NEARNESS = ("to the last bit", "but for the order of additions", "to single precision",
            "within the tolerance given")


#: What an answer is compared with: a result, or a walk with mistakes in it.
Numbers: TypeAlias = Result | Walked


class Mismatch(NamedTuple):
    """One number that is not the rule's."""

    name: str
    theirs: float
    ours: float

    def __str__(self) -> str:
        percent = " (percent beside numbers that are shares)" * self.is_percent
        return f"{self.name} is {self.theirs!r}, by the rule {self.ours!r}{percent}"

    @property
    def is_percent(self) -> bool:
        """Whether it is a hundred times the rule's number."""
        return self.ours > 0.02 and abs(self.theirs / 100 - self.ours) < SINGLE


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


def result_of(arrays: Arrays, *conventions: Convention) -> list[Result]:
    """Return our results on a problem."""
    with warnings_to(ignored):
        return results_of(Distances(arrays.distances), arrays.query, arrays.gallery,
                          How(conventions))


# ------------------------------------------------------------------ numbers
def mismatches(answer: Answer, result: Numbers, tolerance: float) -> tuple[list[Mismatch], int]:
    """Return which numbers are not ours, and how near the others are: a place in `NEARNESS`."""
    found, level = [], 0
    for name, field, theirs, ours in _pairs(answer, result):
        away = differences(theirs, ours)
        allowed = max(tolerance, SINGLE if field in answer.single else 0)
        largest = float(away.max(initial=0))
        if largest > allowed:
            k = int(np.argmax(away > allowed))
            found.append(Mismatch(name[k], float(theirs[k]), float(ours[k])))
        elif largest and field != "cmc":  # whose single precision is the rule of most copies
            level = max(level, 1 if largest <= ADDITIONS else 2 if field in answer.single else 3)
    return found, level


def _pairs(answer: Answer, result: Numbers) -> Iterator[tuple[list[str], str, Doubles, Doubles]]:
    """Yield what both have: the names of the numbers, the field, theirs, ours."""
    ap = result.of_query("mAP")
    for name in ("mAP", "mINP"):
        theirs = getattr(answer, name)
        if theirs is not None:
            yield [name], name, np.array([theirs]), np.array([getattr(result, name)])
    if answer.ap is not None:
        counted = np.flatnonzero(~np.isnan(ap))
        if len(answer.ap) == len(ap):
            yield [f"AP of query {k}" for k in counted], "ap", answer.ap[counted], ap[counted]
        elif len(answer.ap) == len(counted):
            yield [f"AP of query {k}" for k in counted], "ap", answer.ap, ap[counted]
        else:
            yield (["the number of APs"], "mAP", np.array([float(len(answer.ap))]),
                   np.array([float(len(counted))]))
    if len(answer.curve) and not is_drawn(result.convention):
        theirs, ours = same_ranks(answer, result)
        yield [f"Rank-{k}" for k in answer.at[:len(ours)]], "cmc", theirs, ours


def is_drawn(convention: Convention) -> bool:
    """Whether others draw for the CMC curve, which an expectation then stands for."""
    return convention.curve.short == "drawn"


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
        for name, field, theirs, low in _pairs(answer, least):
            high = next(values for names, _, _, values in _pairs(answer, most) if names == name)
            allowed = max(tolerance, SINGLE if field in answer.single else 0)
            outside = (theirs < low - allowed) | (theirs > high + allowed) | np.isnan(theirs)
            if outside.any():
                k = int(np.argmax(outside))
                return Verdict(f"{name[k]} is {float(theirs[k])!r}; the orders of equal distances "
                               f"allow {float(low[k])!r} to {float(high[k])!r}", arrays=arrays)
        ours, sorts = result_of(arrays, convention, convention.replace(ties="numpy"))
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
        first, second = (_seeded(ask, arrays, timeout, seed) for seed in (0, 1))
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


def _seeded(ask: Ask, arrays: Arrays, timeout: float, seed: int) -> Answer | str:
    with _numpy_seed(seed):
        return try_asking(ask, arrays, timeout)


@contextmanager
def _numpy_seed(seed: int) -> Iterator[None]:
    state = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(state)


def judge_form(form: str) -> Callable[..., Verdict]:
    """Return what judges labels in another form: the same numbers, or an exception."""
    def judge(ask: Ask, problems: Iterable[Arrays], convention: Convention, tolerance: float,
              timeout: float) -> Verdict:
        verdict = judge_numbers(ask, list(problems)[:1], convention, tolerance, timeout,
                                Form(labels=form))
        return Verdict(remark=f"it takes no {form}") if verdict.error else verdict
    return judge


JUDGES: dict[str, Callable[..., Verdict]] = {
    "numbers": judge_numbers, "ties": judge_ties, "unchanged": judge_unchanged,
    "twice": judge_twice, "lists": judge_form("lists"), "tensors": judge_form("tensors")}
