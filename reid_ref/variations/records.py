"""The variations by name, in the order of how often threads report them."""
import copyreg
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any

from reid_ref import extensions, metrics
from reid_ref.arrays import InputError, check_choice
from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.conventions.choices import SAME_CAMERA
from reid_ref.disk import tables_of
from reid_ref.variations import features, labels, ranked, results
from reid_ref.variations.reranked import reranked
from reid_ref.variations.variation import Variation

#: Places to which the curve of one drawn image is followed.
DRAWN = 100
#: The conventions of what takes long.
_WELL_KNOWN = ("matlab", "torchreid", "open-reid")
#: The files whose functions the table names.
_ROOMS = {"features": features, "labels": labels, "metrics": metrics, "ranked": ranked,
          "results": results}


def _without_junk(convention: Convention) -> Mapping[str, Any]:
    return {"loads": "without label -1", "ignored": tuple(
        rule for rule in convention.ignored if rule != "label -1")}


def _one_image(cameras: bool, length: int, convention: Convention) -> Mapping[str, Any] | None:
    # A pass over whole rows takes long, and toolboxes that draw a gallery count alike.
    return None if convention.base != "torchreid" else {
        "cmc": "single-gallery-shot", "cmc_length": length,
        "ignored": (convention if cameras else convention.without_cameras()).ignored}


#: By the name in the table, what changes of a convention, after what stands for {0}.
_CHOICES: dict[str, Callable[..., Mapping[str, Any] | None]] = {
    "same-camera-kept": lambda convention: {"ignored": convention.without_cameras().ignored},
    "own-copy": lambda convention: {
        "ignored": (*convention.without_cameras().ignored, "itself")},
    "matched-queries": lambda convention: {"unmatched": "drop"},
    # Of the rules of protocols; of toolboxes it is another's rule.
    **{name: lambda convention, change=change: (
        None if convention.base in CONVENTIONS else change) for name, change in (
        ("trapezoids", {"ap": "trapezoid"}), ("unmatched-zero", {"unmatched": "zero"}))},
    "matched-in-cmc": lambda convention: {"unmatched": "drop-from-cmc"},
    "one-gallery-image": partial(_one_image, True, 1),
    "one-gallery-image-any-camera": partial(_one_image, False, 1),
    "one-gallery-image-drawn": partial(_one_image, True, DRAWN),
    "all-as-both": lambda convention: {} if convention.base in _WELL_KNOWN else None,
    "junk-places": lambda convention: (
        {"top_k": 1, "cut": "before-ignoring"} if convention.top_k is None else None),
    "without-junk": _without_junk,
    "without-both": _without_junk,
    "junk-wrong": lambda convention: {**_without_junk(convention), "loads": "all images"},
    "cut-{0}": lambda length, convention: {"top_k": length},
    "cut-{0}-found": lambda length, convention: {"top_k": length, "recall": "found"},
    "cut-{0}-before-ignoring": lambda length, convention: (
        {"top_k": length, "recall": "found", "cut": "before-ignoring"} if convention.ignored
        else None),
    **dict.fromkeys(("pairs-of-cameras", "pairs-of-all-cameras"), lambda convention: (
        _CHOICES["same-camera-kept"](convention) if convention.base in _WELL_KNOWN else None)),
    "other-cameras": lambda convention: {"ignored": tuple(
        each.replace(SAME_CAMERA[0], "same camera") for each in convention.ignored)},
}


@cache  # equal functions are one, so that their passes are
def _named(text: str) -> Any:
    place, *options = text.split()
    room, _, function = place.partition(".")
    known = getattr(_ROOMS[room], function)
    return partial(known, *(each if each.isalpha() else int(each) for each in options)
                   ) if options else known


def _record(name: str, given: list[Any], words: str, source: str, lacks: Iterable[str] = (),
            data: str = "", rank: str = "", result: str = "", ap: str = "",
            rankings: Iterable[str] = (), **fields: Any) -> Variation:
    """Return a variation from its row of the table."""
    def named(text: str) -> Any:
        return _named(text.format(*given)) if text else None
    reasons, choices = [named(each) for each in lacks], _CHOICES.get(name)
    changed = results.with_ap(named(ap)) if ap else named(result)
    return Variation(
        name.format(*given), words.format(*given), source, len(re.findall(r"#\d", source)),
        lacks=lambda data: next(filter(None, (reason(data) for reason in reasons)), ""),
        data=named(data), rank=named(rank), result=changed, rankings=tuple(rankings),
        choices=partial(choices, *given) if choices else None, **fields)


_RECORDS = [*reranked(), *(
    _record(name, each if isinstance(each, list) else [each], **{
        key: value for key, value in table.items() if key != "of"})
    for name, table in tables_of("variations/records.toml").items()
    for each in table.get("of", [[]]))]

#: Those that threads report most come first; of the same number, in the order above.
VARIATIONS: Mapping[str, Variation] = MappingProxyType({
    record.name: record for record in sorted(_RECORDS, key=lambda record: -record.threads)})


def every_variation() -> dict[str, Variation]:
    """Return the records by name, then those of installed packages."""
    return {**VARIATIONS, **extensions.installed("variation", Variation, VARIATIONS)}


def find_variation(name: str) -> Variation:
    """Return the record of a name, in any case, with - or _.

    Raises
    ------
    InputError
        An unknown name; the known ones are listed.

    Examples
    --------
    >>> find_variation("Same_Camera_Kept").name
    'same-camera-kept'
    """
    known = {extensions.canonical(each): each for each in VARIATIONS}
    if (called := extensions.canonical(name)) in known:
        return VARIATIONS[known[called]]
    record = extensions.declared_record("variation", name, Variation)
    if record is None:
        check_choice(name, "variation", [*VARIATIONS, *extensions.declared_names("variation")])
        raise InputError("variation", got=repr(name))
    return record


def _by_name(record: Variation) -> tuple[Any, tuple[str]]:
    return find_variation, (record.name,)


copyreg.pickle(Variation, _by_name)  # its functions cannot be pickled; a record is found again
