"""What is tried on a file before any variation: conventions, and the rules of protocols."""
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from reid_ref.analysis.explain import explain, target_named
from reid_ref.arrays import InputError, ignored, warnings_to
from reid_ref.conventions import CONVENTIONS, NAMES, TOOLBOXES, Convention, left_out
from reid_ref.conventions.records import COPIES
from reid_ref.disk import tables_of
from reid_ref.evaluation.how import NORMALISED, How
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import Labels
from reid_ref.protocols import PROTOCOLS, Protocol, evaluate_ranked
from reid_ref.protocols.record import Part
from reid_ref.ranking.roles import columns_of
from reid_ref.result import Result
from reid_ref.rules.candidates import place, rules_of_protocols

#: What `How.scaling` calls a ranking of features.
_SCALINGS = {"normalised": NORMALISED, "Euclidean": "euclidean", "dot": "dot"}
#: What is ranked, the options for it, and steps of `explain`, in words.
WORDS = tables_of("analysis/validate/words.toml")
#: In the name of a single trial, after that of the part.
TRIAL = ", trial "
#: Points of mAP below which a step from matlab is not named.
LEAST_STEP = .005


def rules_that_apply(query: Labels) -> list[Convention]:
    """Return the rules of protocols that no convention has, and whose columns the labels have.

    Those that look at nothing but identities are for labels without cameras. Rules that are slow
    on a large gallery, because they need whole rows, are left out.

    Examples
    --------
    >>> [rule.name for rule in rules_that_apply(Labels([7], [1], clothes=[2]))][:3]
    ['ccvid-sc', 'ccvid-cc', 'msmt17']
    """
    columns = query.columns().keys() - {"identity"}
    rules = [rule for rule, _ in rules_of_protocols().values() if not rule.needs_rows]
    used = [columns_of(rule.not_ranked) for rule in rules]
    return [rule for rule, of_rule in zip(rules, used)
            if of_rule <= columns and (of_rule or "camera" not in columns)]


def faulty_labels(query: Labels, gallery: Labels) -> str:
    """Return what is wrong with labels by which no evaluator can print much; empty if nothing.

    Examples
    --------
    >>> faulty_labels(Labels([2, 2]), Labels([2]))
    'every image has the identity 2: the labels are dummies'
    """
    if (query.identity == query.identity[0]).all() and (
            gallery.identity == query.identity[0]).all():
        return f"every image has the identity {query.identity_of(0)}: the labels are dummies"
    absent = int(np.count_nonzero(~np.isin(query.identity, gallery.identity)))
    return "" if 2 * absent < len(query) else (
        f"no gallery image has the identity of {absent:,} of {len(query):,} queries: the sides "
        "are numbered or split otherwise")


def quick_conventions(data: ResultFile) -> list[Convention]:
    """Return the conventions of a search: those of toolboxes that are tried by default, and rules
    by further columns.

    A bare function is its toolbox with images labelled -1 as wrong answers, which is a variation.
    """
    reasons = left_out(data.query, data.gallery)
    return [convention for name, convention in CONVENTIONS.items()
            if name not in reasons and not name.endswith("-function")] + [
        rule for rule in rules_that_apply(data.query)
        if columns_of(rule.not_ranked) - {"camera"} or data.query.camera is None]


def parts_that_apply(query: Labels, gallery: Labels) -> Iterator[tuple[Protocol, Part]]:
    """Yield the parts of protocols that select, draw or join images, where the labels have what
    these are made of: columns, the benchmark's cameras, or the same images on both sides.
    """
    columns = query.columns().keys() & gallery.columns().keys()
    for protocol in PROTOCOLS.values():
        of_file = {*protocol.needs, *["video"] * protocol.tracks}
        if protocol.boxes or protocol.file_of_trials or not of_file <= columns or (
                protocol.cameras and not _has_cameras(protocol, query, gallery)):
            continue
        for part in protocol.parts:
            is_pool = part.query.drawn is False and np.array_equal(
                query.identity, gallery.identity)
            if protocol.selects(part) and (of_file or protocol.cameras or is_pool):
                yield protocol, part


def _has_cameras(protocol: Protocol, query: Labels, gallery: Labels) -> bool:
    """Return whether cameras are those of a benchmark, on the sides where its parts have them."""
    if query.camera is None or gallery.camera is None:
        return False
    return {*query.camera, *gallery.camera} == {*protocol.cameras} and all(
        np.isin(camera, [one for part in protocol.parts for one in getattr(part, side).where.get(
            "camera", protocol.cameras)]).all()
        for side, camera in (("query", query.camera), ("gallery", gallery.camera)))


def results_of_parts(data: ResultFile, how: How) -> Iterator[tuple[str, Result]]:
    """Yield the results of `parts_that_apply`, by name, and those of each trial; of those that can
    be evaluated.
    """
    for protocol, part in parts_that_apply(data.query, data.gallery):
        with suppress(InputError), warnings_to(ignored):
            name, result = f"{protocol.name}-{part.name}", evaluate_ranked(
                protocol, data.input, data.query, data.gallery, how, part=part.name)[part.name]
            yield name, result
            best = max((trial.rank(1) for trial in result.trials), default=0)
            yield from [(f"{name}{TRIAL}{k}" + ", the best" * (trial.rank(1) == best), trial)
                        for k, trial in enumerate(result.trials, 1) if result.trials[1:]]


class Way(NamedTuple):
    """One way to evaluate a file."""

    features: str
    convention: str
    signature: str


class Effect(NamedTuple):
    """What a step from matlab does, and by how many points of mAP."""

    words: str
    points: float


def effects_of(data: ResultFile, name: str, ranking: str) -> list[Effect]:
    """Return the steps from matlab to a convention, or a part of a protocol, that move mAP, the
    largest first.

    `ranking`: a key of what `rankings` returns.
    """
    with suppress(InputError), warnings_to(ignored):
        own = name in names_by_default(name, ranking)  # whose distances are a step, too
        walk = explain(data, "matlab", target_named(name),
                       **{} if own else data.input.rankings()[ranking])
        points = [100 * (after.mAP - before.mAP) for before, after in pairwise(
            [walk.start, *(step.result for step in walk.steps)])]
        effects = [Effect(WORDS["steps"].get(f"{step.choice} {step.value}")
                          or step.meaning.replace("now ignored:", "ignoring")
                          or f"{step.choice} {step.value}", change)
                   for step, change in zip(walk.steps, points) if abs(change) >= LEAST_STEP]
        cause, left_out = ([each for each in effects if each.words.startswith(words)]
                           for words in ("ignoring ", WORDS["steps"]["unmatched drop"]))
        if left_out and cause and cause[0].points < 0:  # by which they have none
            effects = [each for each in effects if each not in (cause[0], *left_out)] + [Effect(
                f"{cause[0].words}, and {left_out[0].words}",
                cause[0].points + left_out[0].points)]
        return sorted(effects, key=lambda effect: -abs(effect.points))
    return []


def best_known(ways: Iterable[Way]) -> Way:
    """Return the way to name: one of a toolbox's own distances, and of these the best known."""
    def rank(way: Way) -> tuple[bool, bool, tuple[int, bool]]:
        known = way.convention in NAMES
        return (not known, not names_by_default(way.convention, way.features),
                place(CONVENTIONS[way.convention]) if known else (0, False))
    return min(ways, key=rank)


def names_by_default(convention: str, ranking: str) -> list[str]:
    """Return the toolboxes with a convention's rule whose own distances rank so; a toolbox with
    several names by the shortest.

    Examples
    --------
    >>> names_by_default("torchreid", "normalised")[:3], names_by_default("torchreid", "Euclidean")
    (['fast-reid', 'BoT', 'AGW'], ['torchreid'])
    """
    every = [[convention], *([f"{name}{'-function' * (convention in TOOLBOXES)}"
                              for name in copy["names"]] for copy in COPIES
                             if copy["evaluator"] == TOOLBOXES.get(convention, convention))]
    return [min(names, key=len) for names in every if names[0] in NAMES and (
        ranking not in _SCALINGS or How().scaling(CONVENTIONS[names[0]]) == _SCALINGS[ranking])]
