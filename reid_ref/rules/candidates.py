"""Which conventions an answer is compared with, and which is named where several agree."""
from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from reid_ref.conventions import CHOICES, CONVENTIONS, TOOLBOXES, Convention, left_out
from reid_ref.labels import JUNK, Labels
from reid_ref.protocols import PROTOCOLS
from reid_ref.ranking.roles import OF_IDENTITY

#: Of conventions that give the same numbers, the first of these is named: those of the data sets'
#: authors; then toolboxes, those with the most copies first; then settings and other forms of
#: them. Rules of protocols come after all of these, by their names.
PREFERENCE = (
    "sysu-mm01", "matlab", "mars", "veri", "oxford", "cuhk03-single-shot",
    "torchreid", "layumi", "open-reid", "light-reid", "simpleir", "trec-eval", "triplet-reid",
    "cityflow", "open-reid-allshots", "open-reid-cuhk03", "triplet-reid-market-ap",
    "torchreid-cython", "cuhk03-single-shot-draws", "open-reid-sklearn-0.18",
    "open-reid-allshots-sklearn-0.18", "open-reid-cuhk03-sklearn-0.18",
    "triplet-reid-sklearn-0.18")


def _rule(convention: Convention) -> tuple[Any, ...]:
    """Return what decides its numbers, but for where the curve ends."""
    return tuple(getattr(convention, name) for name in (*CHOICES, "top_k") if name != "cmc_length")


@cache
def rules_of_protocols() -> dict[str, tuple[Convention, list[str]]]:
    """Return rules that no convention has, by name, with the protocols whose rules they are."""
    known = set(map(_rule, CONVENTIONS.values()))
    rules: dict[tuple[Any, ...], tuple[Convention, list[str]]] = {}
    for protocol in PROTOCOLS.values():
        for part in () if protocol.boxes else protocol.parts:
            rule = protocol.convention_of(part)
            if _rule(rule) not in known:
                words = f"{protocol.name} ({part.name})" if part.ignored else protocol.name
                first = rule.replace(name=rule.name, base=rule.name)
                names = rules.setdefault(_rule(rule), (first, []))[1]
                names += [words] * (words not in names)
    return {rule.name: (rule, names) for rule, names in rules.values()}


@cache
def _places() -> dict[str, int]:
    return {name: place for place, name in enumerate((*PREFERENCE, *rules_of_protocols()))}


def place(convention: Convention) -> tuple[int, bool]:
    """Return its place among those that give the same numbers: the first one is named."""
    name = convention.base
    return _places().get(TOOLBOXES.get(name, name), len(_places())), name in TOOLBOXES


class ApplyingConventions(NamedTuple):
    """Conventions to compare with at once, those to try where the curve alone differs, and why
    neither is every convention."""

    quick: list[Convention]
    slow: list[Convention]
    left_out: dict[str, str]


def applying(query: Labels, gallery: Labels,
             requested: list[Convention] | None) -> ApplyingConventions:
    """Return the conventions that apply to these labels, or those requested."""
    if requested is not None:
        return ApplyingConventions(requested, [], {})
    # Without label -1 a toolbox and its bare function are the same.
    junk = bool((query.identity == JUNK).any() or (gallery.identity == JUNK).any())
    every = [c for c in CONVENTIONS.values() if c.loads == "all images" or junk]
    # A list of 100 is as quick as any, if the evaluator alone decides how it cuts.
    reasons = {name: why for name, why in left_out(query, gallery).items() if name != "cityflow"}
    why_not = {c.name: reasons.get(TOOLBOXES.get(c.name, c.name), "") for c in every}
    has_clothes = query.clothes is not None and gallery.clothes is not None
    columns = {"camera", "clothes"} if has_clothes else {"camera"}
    return ApplyingConventions(
        [*(c for c in every if not why_not[c.name]),
         *(rule for rule, _ in rules_of_protocols().values() if _columns(rule) <= columns)],
        [c for c in every if why_not[c.name] and not c.needs_lists],
        {TOOLBOXES.get(name, name): why for name, why in why_not.items() if why})


def _columns(rule: Convention) -> set[str]:
    return {column for ignored in rule.ignored for column in OF_IDENTITY.get(ignored, ())}
