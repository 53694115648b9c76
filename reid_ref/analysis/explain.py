"""Why two conventions give two numbers: from one to the other, one choice at a time.

Every step is an evaluation of its own, so the effects add up exactly: each is the difference
of two results in a row.
"""
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from reid_ref.arrays import CameraWarning, InputError, warn
from reid_ref.arrays.value import Value
from reid_ref.conventions import (
    CHOICES, IGNORED, LOADS, NAMES, Convention, find_convention, known_as)
from reid_ref.evaluation.engine import results_of
from reid_ref.evaluation.how import How, Progress
from reid_ref.evaluation.result_file import ResultFile, check_result_file
from reid_ref.extensions import canonical, declared_names
from reid_ref.labels import QueryLists
from reid_ref.protocols import Protocol, evaluate_ranked
from reid_ref.protocols.record import Part
from reid_ref.protocols.records import part_named
from reid_ref.protocols.words import trials_of, words_of
from reid_ref.result import Result
from reid_ref.variations import VARIATIONS, Variation, find_variation, varied

#: The choices in the order in which they are changed.
ORDER = ("ties", "ap", "recall", "top_k", "arithmetic", "unmatched", "junk_match", "cut",
         "unlisted", "cmc", "cmc_length")


#: AP is printed with so many digits. What changes less is the order of additions, in the last bits
#: of a double, and no rule: such a query has not moved.
AP_DIGITS = 10
LEAST_CHANGE = 0.5 * 10.0**-AP_DIGITS


#: A part of a protocol, as `part_named` finds it.
Selection: TypeAlias = tuple[Protocol, Part]
#: A choice, its value, its meaning, and the convention after the change.
Change = tuple[str, str, str, Convention]


@dataclass(frozen=True, eq=False)
class Step(Value):
    """One choice changed.

    Parameters
    ----------
    choice, value : str
        The field of `Convention` and what it becomes.
    meaning : str
        In words.
    result : Result
        The numbers after this step.
    affected : int
        Queries whose AP or first match this step changed, or that it dropped or took in; a change
        of AP that ten digits do not show is none.
    """

    choice: str
    value: str
    meaning: str
    result: Result
    affected: int


@dataclass(frozen=True, eq=False)
class Explanation(Value):
    """The way from one convention to another.

    Parameters
    ----------
    origin : Convention
    target : Convention or Variation
    start : Result
        The numbers under `origin`.
    steps : tuple of Step
        The last one's result is that of `target`.
    """

    origin: Convention
    target: Convention | Variation
    start: Result
    steps: tuple[Step, ...]

    @property
    def end(self) -> Result:
        """The numbers under `target`."""
        return self.steps[-1].result if self.steps else self.start

    def most_moved(self, count: int = 5) -> list[int]:
        """Return the queries whose AP changed most from `start` to `end`, largest first.

        A query that one side gives no AP counts as 0 there; a change that ten digits do not
        show is none. None of a variation that changes the queries.
        """
        if _other_queries(self.start, self.end):
            return []
        before, after = (np.nan_to_num(result.of_query("mAP"))
                         for result in (self.start, self.end))
        change = np.abs(after - before)
        order = np.argsort(-change, kind="stable")[:count]
        return [int(k) for k in order if change[k] >= LEAST_CHANGE]


def _measured(origin: Convention, target: Convention, how: How,
              chain: Iterable[Change]) -> Iterator[Change]:
    """Yield a first step to the target's distances, and the chain with these."""
    fields: Any = {name: getattr(target, name) for name in ("metric", "normalize", "measure")}
    metric, normalized = how.distance(target)
    given = how.distance(target) != How().distance(target)
    source = f" ({target.measure})" if target.measure else ""
    yield ("distances", f"normalised, {metric}" if normalized else f"{metric}, not normalised",
           f"default of {target.name}" + (", but for what is given" if given else source),
           origin.replace(**fields))
    for choice, value, meaning, convention in chain:
        yield choice, value, meaning, convention.replace(**fields)


def _chain(origin: Convention, target: Convention) -> Iterator[Change]:
    """Yield the choice, its value, its meaning and the convention after each change."""
    now = origin
    if origin.loads != target.loads:
        # What is not loaded cannot be ignored as well: one step says what becomes of label -1.
        label = tuple(rule for rule in target.ignored if rule == "label -1")
        kept = tuple(rule for rule in now.ignored if rule != "label -1")
        now = now.replace(loads=target.loads, loader=target.loader, ignored=label + kept)
        both = bool(label) and "label -1" not in origin.ignored
        yield ("loads", target.loads + ", -1 ignored" * both,
               f"loads {LOADS[target.loads].words}"
               + f", and ignores {IGNORED['label -1'].words}" * both, now)
    for rule in [rule for rule in now.ignored if rule not in target.ignored]:
        now = now.replace(ignored=tuple(kept for kept in now.ignored if kept != rule))
        yield "ignored", f"without {rule}", f"no longer ignored: {IGNORED[rule].words}", now
    for rule in [rule for rule in target.ignored if rule not in now.ignored]:
        now = now.replace(ignored=(*now.ignored, rule))
        yield "ignored", f"with {rule}", f"now ignored: {IGNORED[rule].words}", now
    waiting = [choice for choice in ORDER if getattr(now, choice) != getattr(target, choice)]
    while waiting:
        choice = _first_that_fits(now, target, waiting)
        value = getattr(target, choice)
        now = now.replace(**{choice: value})
        waiting.remove(choice)
        # A number and an AP rule have and need no words.
        words = getattr(CHOICES.get(choice, {}).get(value), "words", "")
        yield choice, str(value), {
            "recall": f"recall divides by {words}",
            "unmatched": f"{words} (a query without a good image)"}.get(choice, words), now


def _first_that_fits(now: Convention, target: Convention, waiting: list[str]) -> str:
    """Not every rule exists in float32 or for grouped ties: such a change has to wait."""
    for choice in waiting:
        with suppress(InputError):
            now.replace(**{choice: getattr(target, choice)})
            return choice
    raise InputError(f"{now.name} to {target.name}", got="no order of single changes leads there")


def _other_queries(before: Result, after: Result) -> bool:
    """Return whether two results are not of the same queries."""
    return before.fingerprints.query != after.fingerprints.query


def _affected(before: Result, after: Result) -> int:
    if _other_queries(before, after):
        return len(before.per_query.status)
    old, new = before.per_query, after.per_query
    ap, other = before.of_query("mAP"), after.of_query("mAP")
    same_ap = (abs(ap - other) < LEAST_CHANGE) | (np.isnan(ap) & np.isnan(other))
    changed = ~same_ap | (old.first_match != new.first_match)
    changed |= (old.n_good == 0) & (before.counted != after.counted)
    return int(np.count_nonzero(changed))


def _that_apply(data: ResultFile, *conventions: Convention) -> Iterable[Convention]:
    """Return conventions; if the labels have no cameras, without the rules that look at them."""
    if data.query.camera is not None:
        return conventions
    kept = [convention.without_cameras() for convention in conventions]
    rules = dict.fromkeys(rule for convention, rest in zip(conventions, kept)
                          for rule in convention.ignored if rule not in rest.ignored)
    if rules:
        warn(f"the labels have no cameras, so what needs them is left out of both conventions: "
             f"{'; '.join(rules)}", CameraWarning)
    return kept


def target_named(target: str) -> str | Convention | Variation | Selection:
    """Return the variation, or the part of a protocol, that a name is; of others the name."""
    if canonical(target) in map(canonical, [*VARIATIONS, *declared_names("variation")]):
        return find_variation(target)
    return known_as(target) not in NAMES and part_named(target) or target


def _of_variation(data: ResultFile, origin: Convention, variation: Variation,
                  how: How) -> Explanation:
    """Return one step: the convention, and the same under the variation; before it another, to
    the features that re-ranking takes, where the convention ranks others."""
    origin, = _that_apply(data, origin)
    how = replace(how, conventions=(origin,))
    start, = results_of(data.input, data.query, data.gallery, how)
    end, before, steps = varied(data, variation, origin, how), start, []
    rankings = data.input.rankings()
    for ranking in variation.rankings if variation.rank and not variation.rankings[1:] else ():
        before, = results_of(data.input, data.query, data.gallery, replace(
            how, **rankings[ranking]))
        steps.append(Step("distances", f"features {ranking}", f"as {variation.name} takes them",
                          before, _affected(start, before)))
    steps.append(Step("variation", variation.name, f"{variation.words} ({variation.source})", end,
                      _affected(before, end)))
    return Explanation(origin, variation, start, tuple(
        step for step in steps if step.affected or step.choice == "variation"))


def explain(data: ResultFile, origin: str | Convention = "matlab",
            target: str | Convention | Variation | Selection = "torchreid", *,
            metric: str | None = None, normalize: bool | None = None,
            lists: QueryLists | None = None, max_memory: int | str | None = None,
            progress: Progress | None = None) -> Explanation:
    """Explain why two conventions give two numbers: from one to the other, a choice at a time.

    Or what a variation changes, such as re-ranking: one step. Or to a part of a protocol, whose
    own images, tracks or draws are the last step.

    If the labels have no cameras, rules that look at them are left out of both conventions.

    Parameters
    ----------
    data : ResultFile
        What `reid_ref.read` returns, or arrays:
        ``ResultFile("arrays", query, gallery, distances=distances)``.
    origin : str or Convention
        As the option `convention` of `reid_ref.evaluate`.
    target : str or Convention or Variation or (Protocol, Part)
        The same, or a variation or its name (`reid_ref.variations.VARIATIONS`), or a part of a
        protocol or its name: "ltcc-cc".
    metric, normalize, lists, max_memory, progress
        As for `reid_ref.evaluate`. The first two are for features, which are ranked by exact
        distances; if they are given, they hold for every step.

    Returns
    -------
    Explanation
        `start` and `end` (each a `Result`), `steps` in between, and `most_moved()`.

    Raises
    ------
    InputError
        As `reid_ref.evaluate` and `reid_ref.evaluate_distances`.

    Warns
    -----
    CameraWarning
        Rules that are left out.

    Examples
    --------
    >>> import reid_ref
    >>> data = reid_ref.ResultFile(
    ...     "arrays", reid_ref.Labels([7], [1]), reid_ref.Labels([7, -1, 8, 7], [2, 2, 2, 3]),
    ...     distances=[[.2, .1, .3, .4]])
    >>> why = reid_ref.explain(data)
    >>> [(step.choice, step.value, round(step.result.mAP, 4)) for step in why.steps[:2]]
    [('loads', 'without label -1', 0.7917), ('ap', 'step', 0.8333)]
    """
    check_result_file(data)
    how = How((), metric, normalize, lists, max_memory, progress)
    if isinstance(target, str):
        target = target_named(target)
    if isinstance(target, Variation):
        return _of_variation(data, find_convention(origin), target, how)
    selection = target if isinstance(target, tuple) else None
    origin, target = _that_apply(data, find_convention(origin), (
        target[0].convention_of(target[1]).replace(name=f"{target[0].name}-{target[1].name}")
        if isinstance(target, tuple) else find_convention(target)))
    target.check_gallery(data.query, data.gallery)  # without a step it is not evaluated
    chain = _chain(origin, target)
    if len(data.input.rankings()) > 1 and how.scaling(origin) != how.scaling(target):
        chain = _measured(origin, target, how, chain)
    changes = list(chain)
    conventions = [origin, *(convention for *_, convention in changes)]
    if changes:
        conventions[-1] = target  # the last step has all of its choices, and now its name
    results = results_of(data.input, data.query, data.gallery,
                         replace(how, conventions=tuple(conventions)))
    steps = [Step(*change[:3], after, _affected(before, after))
             for change, (before, after) in zip(changes, pairwise(results))]
    if selection is not None and selection[0].selects(selection[1]):
        steps.append(_selected(data, *selection, how, results[-1]))
    return Explanation(origin, target, results[0], tuple(steps))


def _selected(data: ResultFile, protocol: Protocol, part: Part, how: How, before: Result) -> Step:
    """Return the step from the rule of a protocol to its own images, draws or tracks."""
    result = evaluate_ranked(protocol, data.input, data.query, data.gallery, replace(
        how, conventions=()), part=part.name)[part.name]
    short, trials = trials_of(protocol)
    meaning = (words_of(protocol, part).partition("; ignored")[0]
               + ", each as near as its nearest image" * protocol.tracks
               + f"; {trials}" * (short != "one"))
    return Step("protocol", f"{protocol.name} {part.name}", meaning, result,
                _affected(before, result))
