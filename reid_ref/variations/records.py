"""The variations by name, in the order of how often threads report them."""
import copyreg
import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from reid_ref import extensions
from reid_ref.arrays import InputError, check_choice
from reid_ref.conventions import Convention
from reid_ref.conventions.choices import SAME_CAMERA
from reid_ref.disk import tables_of
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import DISTRACTOR, JUNK
from reid_ref.metrics import average_precision_at_r
from reid_ref.variations import features, labels, results
from reid_ref.variations.reranked import reranked
from reid_ref.variations.variation import Choices, Variation

#: Lengths at which somebody cut ranked lists.
CUTS = (10, 20, 50, 100)
#: Usual sizes of batches, and places to which the curve of one drawn image is followed.
BATCHES, DRAWN = (32, 64, 100, 128, 256), 100


def _without_junk(convention: Convention) -> Mapping[str, Any]:
    return {"loads": "without label -1", "ignored": tuple(
        rule for rule in convention.ignored if rule != "label -1")}


def _cut(length: int, further: Mapping[str, str]) -> Choices:
    return lambda convention: {"top_k": length, **further}


def _one_image(cameras: bool, length: int = 1) -> Choices:
    # A pass over whole rows takes long, and toolboxes that draw a gallery count alike.
    return lambda convention: None if convention.base != "torchreid" else {
        "cmc": "single-gallery-shot", "cmc_length": length,
        "ignored": (convention if cameras else convention.without_cameras()).ignored}


_JUNK, _ZERO = labels.needs_label(JUNK), labels.needs_label(DISTRACTOR)
_TABLES = tables_of("variations/records.toml")


def _record(name: str, *parts: object, **functions: Any) -> Variation:
    """Return a variation: its words from the table, what it does from here."""
    table: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value
                             for key, value in _TABLES[name].items()}
    words, source = table.pop("words").format(*parts), table.pop("source")
    threads = len(re.findall(r"#\d", source))
    return Variation(name.format(*parts), words, source, threads, **table, **functions)


def _of_features(name: str, change: Callable[[ResultFile], ResultFile]) -> Variation:
    return _record(name, lacks=labels.needs_features, data=change)


def _part(name: str, which: int, of: int, word: object, least: int = 2) -> Variation:
    return _record(name, word, lacks=partial(features.needs_parts, of, least),
                   data=features.part(which, of))


_RECORDS = [
    *reranked(),
    *(_record("multi-query-{0}", pooling, lacks=labels.needs_multi_query,
              data=partial(labels.multi_query, pooling)) for pooling in ("mean", "max")),
    _record("same-camera-kept", lacks=labels.needs_cameras,
            choices=lambda convention: {"ignored": convention.without_cameras().ignored}),
    _of_features("queries-in-gallery", change=labels.with_queries),
    _record("matched-queries", choices=lambda convention: {"unmatched": "drop"}),
    _record("one-gallery-image", choices=_one_image(True)),
    _record("one-gallery-image-any-camera", lacks=labels.needs_cameras,
            choices=_one_image(False)),
    _record("one-gallery-image-drawn", choices=_one_image(True, DRAWN),
            result=results.over_drawn),
    _record("junk-places", result=results.with_ap(None), choices=lambda convention: (
        {"top_k": 1, "cut": "before-ignoring"} if convention.top_k is None else None)),
    *(_record("batches-of-{0}", size, lacks=labels.needs_rest(size), result=results.of_queries(
        partial(results.whole_batches, size))) for size in BATCHES),
    _record("exchanged", lacks=labels.needs_askers, data=labels.exchanged),
    _of_features("all-as-both", change=labels.all_as_both),
    _record("without-junk", lacks=_JUNK, choices=_without_junk),
    _record("junk-wrong", lacks=_JUNK, choices=lambda convention: {
        **_without_junk(convention), "loads": "all images"}),
    _record("without-distractors", lacks=_ZERO, data=labels.without_distractors),
    _record("without-both", lacks=labels.needs_both_labels, data=labels.without_distractors,
            choices=_without_junk),
    *(_part("{0}-half", k, 2, word) for k, word in enumerate(("first", "second"))),
    *(_part("third-{0}-of-3", k, 3, k + 1) for k in range(3)),
    *(_part("quarter-{0}-of-4", k, 4, k + 1, 2048) for k in range(4)),
    *(_record(f"cut-{{0}}{name}", length, choices=_cut(length, further))
      for name, further in (("", {}), ("-found", {"recall": "found"})) for length in CUTS),
    _of_features("query-expansion", change=features.expanded),
    *(_record("{0}-parts-normalised", parts, data=features.parts_normalised(parts), lacks=partial(
        features.needs_parts, parts, 8 * parts)) for parts in (2, 3, 4, 6, 8)),
    _record("shifted-cameras", lacks=labels.needs_cameras, data=labels.shifted_cameras),
    *(_record("query-cameras-one-{0}", word, lacks=labels.needs_cameras, data=partial(
        labels.query_cameras_by, shift)) for word, shift in (("less", -1), ("more", 1))),
    _record("known-identities", lacks=labels.needs_part, data=labels.known_identities),
    _record("other-cameras", lacks=labels.needs_cameras, choices=lambda convention: {
        "ignored": tuple(
            each.replace(SAME_CAMERA[0], "same camera") for each in convention.ignored)}),
    *(_record("map-at-{0}", length, lacks=labels.needs_more(length),
              result=results.with_ap(partial(results.at_most, length))) for length in CUTS),
    _record("first-queries", result=results.of_queries(results.first_of_identity)),
    _record("renumbered", data=labels.renumbered),
    *(_record(name, result=results.with_ap(rule)) for name, rule in (
        ("interpolated", results.interpolated), ("eleven-points", results.eleven_points),
        ("largest-class-found", results.at_largest), ("map-at-r", average_precision_at_r),
        ("integer-division", results.in_whole_numbers))),
    *(_of_features(name, change=change) for name, change in (
        ("centred", features.centred), ("centred-together", features.centred_together),
        ("float32-cosine", features.in_float32), ("standardised", features.standardised),
        ("square-rooted", features.square_rooted), ("signs", features.signs))),
    _record("gallery-means", lacks=lambda data: labels.needs_features(data)
            or labels.needs_cameras(data), data=features.gallery_means),
    _record("identity-mean", result=results.over_identities),
]

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
