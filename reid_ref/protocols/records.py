"""The protocols by name. A new one is an entry of `_EVERY` and a row of protocols.csv.

The entry is the rule; the row has benchmark, counts by part (queries and gallery images), source,
what a user puts into the file, and a note. All is read in the code that the source names. Metric
and normalisation differ by repository and are the caller's; the default is that of the code, or
the cosine where it is handed distances.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import Any

from reid_ref import extensions
from reid_ref.arrays import InputError, warn
from reid_ref.conventions import CONVENTIONS, SYSU_CAMERAS, Convention
from reid_ref.datasets.benchmarks import BENCHMARKS, benchmark_named, folded
from reid_ref.labels import Labels
from reid_ref.protocols import box_ranks
from reid_ref.protocols.box_ranks import BoxRule, by_first_overlap, by_labels
from reid_ref.protocols.boxes import SIZES
from reid_ref.protocols.record import (
    Exact, Given, Part, Protocol, Rows, Seeded, Sides, first_shuffled, record_of_row)

_CAMERA = "same identity, same camera"


def _step(ignored: tuple[str, ...] = (_CAMERA,), measure: str = "", **choices: Any) -> Convention:
    """Return torchreid's rule, step AP over matched queries, with other choices.

    `measure`: where the code takes the cosine, which is the default where it says nothing.
    """
    return CONVENTIONS["torchreid-function"].replace(ignored=ignored, **{
        "cmc_length": "gallery", "metric": "cosine", "measure": measure, **choices})


_OF_CCREID = _step(measure="test.py:38,119")
_OF_FASTREID = _step(measure="fastreid/config/defaults.py:299")
#: torchreid ranks raw features; of tracklets it does not load label -1.
_RAW: dict[str, Any] = {"metric": "euclidean", "measure": "torchreid/engine/engine.py:124-125"}
_RAW_TRACKLETS = _step(loads="without label -1", **_RAW)


def _turned(name: str) -> Part:
    """Return the part in which the gallery asks and the queries answer."""
    return Part(name, Rows("gallery"), Rows("query"))


def _of(column: str, query: tuple[int, ...],
        gallery: tuple[int, ...] = ()) -> tuple[Rows, Rows]:
    """Return queries, and gallery images, of these values of a column; without any, all."""
    return Rows("query", {column: query}), Rows("gallery", {column: gallery} if gallery else {})


def _of_tigers(unmatched: str) -> Convention:
    """Return the rule of ATRW, in which frames near the query's are ignored."""
    return _step(("label -1", "same identity, near frame"), recall="found", unmatched=unmatched)


def _atrw_parts(unmatched: bool = False) -> list[Part]:
    """Return the parts of ATRW: who asks is told by the view."""
    return [Part(name, *_of("view", (view,)), unmatched=unmatched)
            for name, view in (("single", 1), ("cross", 2))]


def _views_of_cargo(labels: Labels) -> Labels:
    """Return the labels with the view, 0 aerial and 1 ground, made of the camera."""
    if labels.view is not None:
        return labels
    return Labels(**{**labels.columns(), "view": (labels.camera > 5).astype(int)})


_IN_MATLAB = CONVENTIONS["matlab"]
_SYSU: tuple[Part, ...] = (Part("all", *_of("camera", *SYSU_CAMERAS)),
                           Part("indoor", *_of("camera", (3, 6), (1, 2)), unmatched=True))
_SYSU_CAMERAS = tuple(range(1, 7))
#: Images of the query's identity in other clothes, or in the same, are left out.
_CLOTHES = (
    Part("general"),
    Part("sc", ignored=(_CAMERA, "same identity, other clothes"), unmatched=True),
    Part("cc", ignored=(_CAMERA, "same identity, same clothes"), unmatched=True))
_PRCC = (Part("sc", *_of("camera", (1,))), Part("cc", *_of("camera", (2,))))
_POOL = Part("all", Rows("query", drawn=False), Rows("gallery", drawn=True))
_RIGHT = "the most similar detection that overlaps the annotated box enough is right"
_FIRST_OVERLAP = CONVENTIONS["matlab"].replace(
    source="serend1p1ty/SeqNet edec285, eval_func.py", also=(), ignored=(), ap="sklearn-0.19",
    ties="reversed", unmatched="drop", metric="dot", normalize=False, measure="eval_func.py:170")

_EVERY = (
    record_of_row("sysu-mm01", CONVENTIONS["sysu-mm01"], *_SYSU, cameras=_SYSU_CAMERAS,
                  trials=Given(10, "rand_perm_cam.mat"), shots=(1, 10)),
    record_of_row("sysu-mm01-python", CONVENTIONS["sysu-mm01"].replace(
        cmc_length=20, metric="cosine", measure="model.py:245, test.py:194"), *_SYSU,
        cameras=_SYSU_CAMERAS, trials=Seeded(("identity", "camera")), shots=(1, 10)),
    record_of_row("regdb", _step((), "model.py:245, test.py:260", cmc_length=20),
                  Part("visible-to-thermal"), _turned("thermal-to-visible"), trials=Given(10)),
    record_of_row("llcm", _step(measure="DEEN/model.py:272, DEEN/test.py:209", cmc="identities",
                                cmc_length=20),
                  Part("infrared-to-visible"), _turned("visible-to-infrared"),
                  Part("visible-to-infrared-as-test-py", Rows("query", drawn=True)),
                  trials=Seeded(("identity", "camera"))),
    record_of_row("msmt17", _IN_MATLAB.replace(ignored=(_CAMERA,), unmatched="nan")),
    record_of_row("occluded-duke", _IN_MATLAB.replace(unmatched="drop")),
    record_of_row("ltcc", _OF_CCREID, *_CLOTHES, needs=("clothes",)),
    record_of_row("ccvid", _OF_CCREID, *_CLOTHES, needs=("clothes",)),
    record_of_row("prcc", _OF_CCREID, *_PRCC, cameras=(0, 1, 2)),
    record_of_row("prcc-single-shot", _OF_CCREID.replace(ignored=()), *_PRCC, cameras=(0, 1, 2),
                  trials=Exact()),
    record_of_row("vc-clothes", _OF_CCREID, Part("all"),
                  Part("sc", *_of("camera", (1, 2), (1, 2))),
                  Part("cc", *_of("camera", (2, 3), (2, 3))), cameras=(0, 1, 2, 3)),
    record_of_row("deepchange", _OF_CCREID.replace(ignored=("same identity, same video",)),
                  needs=("video",)),
    record_of_row("last", _OF_CCREID.replace(ignored=())),
    record_of_row("celeb-reid", CONVENTIONS["open-reid-sklearn-0.18-function"]),
    *(record_of_row(name, _step((), "utils/metrics.py:79-82"), Part("text-to-image"),
                    _turned("image-to-text"))
      for name in ("cuhk-pedes", "icfg-pedes", "rstpreid")),
    *(record_of_row(f"{name}-trapezoid", _IN_MATLAB.replace(ignored=(), unmatched="drop"),
                    Part("text-to-image"),
                    Part("without-own-image", ignored=("same identity, same frame",),
                         unmatched=True), needs=("frame",))
      for name in ("cuhk-pedes", "icfg-pedes", "rstpreid")),
    record_of_row("vehicleid", _step((), cmc_length=50), _POOL, trials=Exact()),
    record_of_row("vehicleid-draws", _step((), cmc_length=50), _POOL,
                  trials=Seeded(("identity",), draw=first_shuffled)),
    record_of_row("veri-wild", _step()),
    record_of_row("veri-wild-2019", _step((), unmatched="nan")),
    record_of_row("veri-wild-challenge", CONVENTIONS["simpleir"]),
    record_of_row("veri-776", _step()),
    record_of_row("veri-776-tracks", _step(), tracks=True),
    record_of_row("cityflow", CONVENTIONS["cityflow"]),
    replace(record_of_row("mars", _step()), convention=_step(  # mars is the authors' convention
        measure="test-all.py:45,178", loads="without label -1").replace(name="mars-ap3d")),
    record_of_row("mars-torchreid", _RAW_TRACKLETS, Part(unmatched=True)),
    record_of_row("cargo", _OF_FASTREID, Part("all", unmatched=True),
                  Part("gg", *_of("view", (1,), (1,)), unmatched=True),
                  Part("aa", *_of("view", (0,), (0,)), unmatched=True),
                  Part("ag", ignored=("same identity, same view",), unmatched=True),
                  cameras=tuple(range(1, 14)), relabel=_views_of_cargo),
    record_of_row("ag-reid", _OF_FASTREID),
    record_of_row("ag-reid-v2", _OF_FASTREID),
    record_of_row("atrw", _of_tigers("drop-unanswered"), *_atrw_parts(),
                  needs=("view", "video", "frame")),
    record_of_row("atrw-wild", _of_tigers("zero"), *_atrw_parts(unmatched=True),
                  needs=("view", "video", "frame")),
    *(record_of_row(name, _step((), **_RAW), trials=Given(n))
      for name, n in (("viper", 20), ("cuhk01", 20), ("grid", 10), ("prid2011", 10),
                      ("ilids", 10))),
    record_of_row("duke-video", _RAW_TRACKLETS),
    record_of_row("ilids-vid", _RAW_TRACKLETS, trials=Given(10)),
    *(record_of_row(name, _OF_FASTREID)
      for name in ("p-dukemtmc", "occluded-reid", "partial-reid", "partial-ilids")),
    record_of_row("cuhk03-classic", CONVENTIONS["cuhk03-single-shot-function"],
                  trials=Given(20)),
    record_of_row(
        "cuhk-sysu", _FIRST_OVERLAP, *(Part(size) for size in (*SIZES, "whole")),
        boxes=BoxRule(
            partial(by_first_overlap, box_ranks.listed_images),
            {**{size: f"the {int(size):,} images that the file lists for each query are searched; "
                f"{_RIGHT}" for size in SIZES},
             "whole": f"all images but the query's own are searched; {_RIGHT}"}, 0.5)),
    record_of_row(
        "prw", _FIRST_OVERLAP,
        boxes=BoxRule(
            partial(by_first_overlap, box_ranks.other_images),
            {"all": f"all test frames but the query's own are searched; {_RIGHT}"}, 0.5)),
    record_of_row(
        "prw-multi-view", _FIRST_OVERLAP.replace(ignored=("same camera",)),
        boxes=BoxRule(
            partial(by_first_overlap, box_ranks.images_of_other_cameras),
            {"all": f"the test frames of other cameras are searched; {_RIGHT}"}, 0.5)),
    record_of_row(
        "prw-matlab", CONVENTIONS["matlab"].replace(
            top_k=1000, cmc_length=1000, unmatched="nan", normalize=False),
        boxes=BoxRule(by_labels, {
            "all": "frames of other cameras are searched; a detection from an overlap of 0.5 on "
            "has the identity of the box that it overlaps most, and is junk from 0.3 on or where "
            "another one overlaps that person more"})),
)


#: Name to protocol.
PROTOCOLS: Mapping[str, Protocol] = MappingProxyType({
    protocol.name: protocol for protocol in _EVERY})


def check_counts(protocol: Protocol, parts: Iterable[Part], sides: Sides) -> None:
    """Warn once of other counts than the benchmark's; refuse those of another benchmark."""
    differences = []
    for part in parts:
        expected, got = protocol.counts.get(part.name), part.counts(sides)
        if expected is None or expected == got:
            continue
        for other in PROTOCOLS.values():
            if other.name != protocol.name and got in other.counts.values():
                raise InputError(
                    "protocol", f"{protocol.name}, which has {expected[0]:,} queries and "
                    f"{expected[1]:,} gallery images", f"{got[0]:,} and {got[1]:,}, those of "
                    f"{other.name}", "name that one")
        differences.append(f"part {part.name}: {got[0]:,} queries and {got[1]:,} gallery images, "
                           f"where the benchmark has {expected[0]:,} and {expected[1]:,}")
    if differences:
        warn(f"{protocol.name}, {'; '.join(differences)}")


def protocols_of(query: Labels, gallery: Labels) -> list[str]:
    """Return the names of the protocols of which a part has as many queries and images.

    Examples
    --------
    >>> protocols_of(Labels([1] * 1980, [1] * 1980), Labels([1] * 9330, [2] * 9330))
    ['mars-torchreid']
    """
    sides, names = {"query": query, "gallery": gallery}, []
    for protocol in (each for each in PROTOCOLS.values() if each.counts):
        with contextlib.suppress(InputError):  # cameras or columns that are not the benchmark's
            named = {side: protocol.labelled(labels, side) for side, labels in sides.items()}
            if any(part.counts(named) == protocol.counts.get(part.name)
                   for part in protocol.parts):
                names.append(protocol.name)
    return names


def every_protocol() -> dict[str, Protocol]:
    """Return the protocols by name, then those of installed packages."""
    return {**PROTOCOLS, **extensions.installed("protocol", Protocol, PROTOCOLS)}


def find_protocol(protocol: str | Protocol, argument: str = "protocol") -> Protocol:
    """Return the record of that name, or of the benchmark that is called so; or the record itself.

    Raises
    ------
    InputError
        An unknown name, of which the nearest is named; a benchmark with several protocols, which
        are listed, or with none.

    Examples
    --------
    >>> find_protocol("SYSU_MM01").name, find_protocol("MSMT17_V2").name
    ('sysu-mm01', 'msmt17')
    """
    if isinstance(protocol, Protocol):
        return protocol
    if not isinstance(protocol, str):
        raise InputError(argument, "a name or a Protocol", type(protocol).__name__)
    name, key = folded(protocol, "-"), benchmark_named(protocol)
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    of_benchmark = [record for record in PROTOCOLS.values() if key and record.benchmark == key]
    if not of_benchmark and (record := extensions.find("protocol", protocol, Protocol)):
        return record
    if key is None:
        near = get_close_matches(name, [*PROTOCOLS, *extensions.names("protocol")], n=1)
        raise InputError(argument, got=f"unknown {protocol!r}", remedy=(
            f"did you mean {near[0]!r}? " if near else "") + "reid-ref protocols lists all")
    benchmark = BENCHMARKS[key]
    if not of_benchmark:
        raise InputError(argument, got=f"{benchmark.name} has no protocol", remedy=(
            f"evaluate it without one, by the convention {benchmark.convention}"
            if benchmark.convention else benchmark.note))
    if len(of_benchmark) > 1:
        raise InputError(argument, " or ".join(record.name for record in of_benchmark) +
                         f", which are protocols of {benchmark.name}", repr(protocol))
    return of_benchmark[0]
