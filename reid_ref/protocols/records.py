"""The protocols by name. A new benchmark is one entry of `PROTOCOLS`.

Rules, counts and sources are read in the code that each record names. Metric and normalisation
differ by repository and are the caller's; the default is that of the code, or the cosine where it
is handed distances.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from reid_ref import extensions
from reid_ref.arrays import InputError, warn
from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.datasets.benchmarks import BENCHMARKS, benchmark_named, folded
from reid_ref.labels import Labels
from reid_ref.protocols.record import (
    Exact, Given, Part, Protocol, Rows, Seeded, Sides, first_shuffled)
from reid_ref.protocols.search_records import PERSON_SEARCH

_CAMERA = "same identity, same camera"
_LISTS = "Query and gallery are the lists of the data set."
_TRACKLETS = "One row per tracklet: the mean of its frames."
_UNHELD = "By the code's text: no recording holds it."
_SIMPLE_CCREID = "guxinqian/Simple-CCReID f773d01"
_AGW = "mangye16/Cross-Modal-Re-ID-baseline e817a26"
_TORCHREID = "KaiyangZhou/deep-person-reid f8cd150, torchreid"


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


def _record(name: str, source: str, convention: Convention, prepare: str = _LISTS,
            *parts: Part, benchmark: str = "", **fields: Any) -> Protocol:
    """Return a protocol whose convention has its name, and so has the benchmark, if not given."""
    return Protocol(name, benchmark or name, source, convention.replace(name=name), prepare,
                    parts or (Part(),), **fields)


def _turned(name: str) -> Part:
    """Return the part in which the gallery asks and the queries answer."""
    return Part(name, Rows("gallery"), Rows("query"))


def _of(column: str, query: Iterable[int], gallery: Iterable[int] = ()) -> tuple[Rows, Rows]:
    """Return queries, and gallery images, of these values of a column; without any, all."""
    return (Rows("query", {column: tuple(query)}),
            Rows("gallery", {column: tuple(gallery)} if gallery else {}))


def _atrw_parts(unmatched: bool = False) -> list[Part]:
    """Return the parts of ATRW: who asks is told by the view."""
    return [Part(name, *_of("view", (view,)), unmatched=unmatched)
            for name, view in (("single", 1), ("cross", 2))]


def _views_of_cargo(labels: Labels) -> Labels:
    """Return the labels with the view, 0 aerial and 1 ground, made of the camera."""
    if labels.view is not None:
        return labels
    return Labels(**{**labels.columns(), "view": (labels.camera > 5).astype(int)})


_SYSU = _record(
    "sysu-mm01",
    "wuancong/SYSU-MM01 0499112, evaluation/evaluation_SYSU_MM01.m:36-78, get_testing_set.m:40-48",
    CONVENTIONS["sysu-mm01"],
    "Query: all infrared images of the 96 test identities (cameras 3 and 6). Gallery: all their "
    "visible images (cameras 1, 2, 4, 5); those of an identity and camera in the order of their "
    "file names, as the trials number them. --trials: the authors' rand_perm_cam.mat.",
    Part("all", *_of("camera", (3, 6), (1, 2, 4, 5))),
    Part("indoor", *_of("camera", (3, 6), (1, 2)), unmatched=True),
    trials=Given(10, "rand_perm_cam.mat"), shots=(1, 10), cameras=(1, 2, 3, 4, 5, 6),
    counts={"all": (3803, 6775), "indoor": (3803, 2939)},
    note="Papers of the authors' line (JSIA, AlignGAN) have these galleries. Those of AGW and its "
    "copies have others, drawn by seeds: sysu-mm01-python.")
_WITH_CLOTHES = "The column clothes is a number per outfit."
_LTCC = _record(  # images of the query's identity in other clothes, or the same, are left out
    "ltcc", f"{_SIMPLE_CCREID}, tools/eval_metrics.py:30-138", _OF_CCREID,
    f"{_LISTS} {_WITH_CLOTHES}", Part("general"),
    Part("sc", ignored=(_CAMERA, "same identity, other clothes"), unmatched=True),
    Part("cc", ignored=(_CAMERA, "same identity, same clothes"), unmatched=True),
    needs=("clothes",), counts={"general": (493, 7050)},
    note="Papers print general (standard) and cc (cloth-changing). Codes that keep only the "
    "identities of cloth-change_id_test.txt give another number.")
_PRCC = _record(
    "prcc", f"{_SIMPLE_CCREID}, data/datasets/prcc.py:145-181", _OF_CCREID,
    "Query: the images of cameras B (1) and C (2). Gallery: those of A (0).",
    Part("sc", *_of("camera", (1,))), Part("cc", *_of("camera", (2,))), cameras=(0, 1, 2),
    counts={"sc": (3873, 3384), "cc": (3543, 3384)},
    note="All gallery images (multi-shot). About half of the papers print the single-shot number: "
    "prcc-single-shot.")
_VERI = _record(
    "veri-776", f"{_TORCHREID}/metrics/rank.py", _step(), benchmark="veri776",
    counts={"all": (1678, 11579)},
    note="Image to image, by the step rule that papers print. Held by no recording of its own: "
    "the rule is that of torchreid. Image to track: veri-776-tracks.")
_CAPTIONS = "the captions. Gallery: the images; cameras are not looked at."
_IRRA = "anosorae/IRRA cfc2378, utils/metrics.py:9-39; also TBPS-CLIP, APTM"
_TIGERS = "identity, camera, video and frame of the ground truth, and as the view what asks: 1 " \
    "single-camera queries, 2 cross-camera ones, 0 neither."

_EVERY = (
    _SYSU,
    replace(
        _SYSU, name="sysu-mm01-python",
        source=f"{_AGW}, data_manager.py:37-67, eval_metrics.py:6-82; ten shots: JDAI-CV/CM-NAS "
        "bbc77f4, datasets/sysu_dataset.py:67-100",
        convention=CONVENTIONS["sysu-mm01"].replace(
            name="sysu-mm01-python", cmc_length=20, metric="cosine",
            measure="model.py:245, test.py:194"),
        prepare=_SYSU.prepare.partition(" --trials")[0], trials=Seeded(("identity", "camera")),
        note="AGW, DDAG, MMN, DEEN and their copies have these galleries: Python's random, seeds "
        "0 to 9. mINP is of this line only."),
    _record(
        "regdb", f"{_AGW}, data_manager.py:69-81, eval_metrics.py:86-149, test.py:222-285",
        _step((), "model.py:245, test.py:260", cmc_length=20),
        "Query: the 2,060 visible test images of a split. Gallery: its 2,060 thermal ones. Or all "
        "images, and the rows of each split in --trials.",
        Part("visible-to-thermal"), _turned("thermal-to-visible"), trials=Given(10),
        counts={"visible-to-thermal": (2060, 2060)},
        note="Each of the ten splits has its own training; papers print the mean over splits, "
        "both directions apart."),
    _record(
        "llcm", "ZYK100/LLCM 886e27c, DEEN/data_manager.py:70-132, DEEN/eval_metrics.py:6-85, "
        "DEEN/test.py:181-234",
        _step(measure="DEEN/model.py:272, DEEN/test.py:209", cmc="identities", cmc_length=20),
        "Query: all infrared test images. Gallery: all visible test images; those of an identity "
        "and camera in the order of their file names.",
        Part("infrared-to-visible"), _turned("visible-to-infrared"),
        Part("visible-to-infrared-as-test-py", Rows("query", drawn=True)),
        trials=Seeded(("identity", "camera")),
        note="visible-to-infrared is that of DEEN/train.py:399. DEEN/test.py:222-234 prints "
        "another number under that name: the drawn infrared images are the queries, and all "
        "visible ones the gallery."),
    _record(
        "msmt17", "December-boy/MSMT17_Evaluation 8b130c6, evaluation_PKU.m:45-64, compute_AP.m",
        CONVENTIONS["matlab"].replace(ignored=(_CAMERA,), unmatched="nan"),
        counts={"all": (11659, 82161)},
        note="The authors' trapezoid. Most later papers print the step mAP: --convention "
        "torchreid. Identity 0 is a person."),
    _record(
        "occluded-duke", "lightas/ICCV19_Pose_Guided_Occluded_Person_ReID f3aaf4c, "
        "shared_region_evaluate.py:47-90, test.py:222-239",
        CONVENTIONS["matlab"].replace(unmatched="drop"), counts={"all": (2210, 17661)},
        note="The authors' trapezoid, as PGFA's figures have it. TransReID and most later papers "
        "print the step mAP: --convention torchreid."),
    _LTCC,
    replace(
        _LTCC, name="ccvid", benchmark="ccvid", convention=_OF_CCREID.replace(name="ccvid"),
        source=f"{_LTCC.source}, data/datasets/ccvid.py:151-156",
        counts={"general": (834, 1074)}, note="",
        prepare="One row per tracklet, the mean of its clips; cameras of session 3 are 12 higher. "
        f"{_WITH_CLOTHES}"),
    _PRCC,
    replace(
        _PRCC, name="prcc-single-shot", source=f"{_SIMPLE_CCREID}, data/datasets/prcc.py:169-175",
        convention=_OF_CCREID.replace(name="prcc-single-shot", ignored=()), trials=Exact(),
        note="The expectation over all galleries of one image per identity. The code's ten draws "
        "depend on the order of a folder; --trials takes such draws."),
    _record(
        "vc-clothes", f"{_SIMPLE_CCREID}, data/datasets/vcclothes.py:122-168", _OF_CCREID,
        f"{_LISTS} Cameras from 0, as the loader gives them.", Part("all"),
        Part("sc", *_of("camera", (1, 2), (1, 2))), Part("cc", *_of("camera", (2, 3), (2, 3))),
        cameras=(0, 1, 2, 3), counts={"all": (1020, 8591)}),
    _record(
        "deepchange", f"{_SIMPLE_CCREID}, data/datasets/deepchange.py:161-164",
        _OF_CCREID.replace(ignored=("same identity, same video",)),
        f"{_LISTS} The column video is the tracklet, which stands in for the camera.",
        needs=("video",)),
    _record(
        "last", f"{_SIMPLE_CCREID}, data/datasets/last.py:131", _OF_CCREID.replace(ignored=()),
        counts={"all": (10176, 125353)}, note=f"Nothing is ignored. {_UNHELD}"),
    _record(
        "celeb-reid", "Huang-3/Celeb-reID aafe1af, reid/evaluation_metrics/ranking.py:21-30,"
        "95-130, data_loader_1stream.py:20-45", CONVENTIONS["open-reid-sklearn-0.18-function"],
        f"{_LISTS} The camera is the first digit of the running number in the file name, as the "
        "authors' loader reads it.", counts={"all": (2972, 11006)},
        note="Figures that count every image, by the step rule, are of another task."),
    *(_record(name, _IRRA, _step((), "utils/metrics.py:79-82"), f"Query: {_CAPTIONS}",
              Part("text-to-image"), _turned("image-to-text"), counts=counts,
              note=f"The step family. {note}")
      for name, counts, note in (
          ("cuhk-pedes", {"text-to-image": (6156, 3074)}, "1,000 identities."),
          ("icfg-pedes", {}, "The authors' own first figures are trapezoid: "
           "icfg-pedes-trapezoid."),
          ("rstpreid", {}, "200 identities, 1,000 images, 2,000 captions."))),
    *(_record(
        f"{name}-trapezoid", "zifyloo/SSAN 5678369, src/test_during_train.py:27-121",
        CONVENTIONS["matlab"].replace(ignored=(), unmatched="drop"),
        f"Query: {_CAPTIONS} For the part without-own-image the column frame is the number of the "
        "image that a caption describes, and of each image.",
        Part("text-to-image"),
        Part("without-own-image", ignored=("same identity, same frame",), unmatched=True),
        benchmark=name, needs=("frame",),
        note="The trapezoid family: ICFG-PEDES's authors. without-own-image leaves out the image "
        "that a caption describes, and captions without another good image.")
      for name in ("cuhk-pedes", "icfg-pedes", "rstpreid")),
    *(_record(
        name, source, _step((), cmc_length=50),
        "All test images of one list (800, 1600 or 2400 vehicles), the same on both sides.",
        Part("all", Rows("query", drawn=False), Rows("gallery", drawn=True)),
        benchmark="vehicleid", trials=trials, note=note)
      for name, source, trials, note in (
          ("vehicleid", "Jakel21/vehicle-ReID-baseline 5c5b798, vehiclereid/eval_metrics.py:8-65",
           Exact(), "The expectation over all galleries of one image per vehicle, which ten draws "
           "estimate. 6,493, 13,377 or 19,777 images."),
          ("vehicleid-draws", "JDAI-CV/fast-reid c9bc3ce, fastreid/data/datasets/"
           "vehicleid.py:69-81", Seeded(("identity",), draw=first_shuffled),
           "Ten draws, Python's random with seeds 0 to 9. fast-reid itself draws once, without a "
           "seed."))),
    *(_record(name, f"PKU-IMRE/VERI-Wild {source}", convention, prepare, benchmark="veri-wild",
              note=note)
      for name, source, convention, prepare, note in (
          ("veri-wild", "93783aa, README", _step(), _LISTS, "The rule of the README since August "
           "2019: images of the query's camera are ignored."),
          ("veri-wild-2019", "4bde28e, test-code/mAP.py:65-86, cmc_wild.py:129-150",
           _step((), unmatched="nan"), _LISTS,
           "The code of the paper (July 2019): nothing is ignored."),
          ("veri-wild-challenge", "447736f, test-code/GC_test_map.py:32-58",
           CONVENTIONS["simpleir"], "Ranked lists; an unanswered query has an empty one.",
           "AP over the hits in the submitted list, nothing ignored."))),
    _VERI,
    replace(
        _VERI, name="veri-776-tracks", source="the text of VeRi-776's paper", counts={},
        convention=_step().replace(name="veri-776-tracks"), tracks=True,
        prepare=f"{_LISTS} gallery_track: for each gallery image, the number of the line of "
        "test_track.txt that names it.",
        note="Image to track: a row is a track, at the least distance of its images; tracks of "
        "the query's camera are ignored. By the paper's text, not held to code: the authors' "
        "MATLAB ranks images."),
    _record(
        "cityflow", "Paulamde/VPULab-CityFlow-ReID-Evaluation-Framework 1941f9b, "
        "Evaluation_CityFlow.py:32-71", CONVENTIONS["cityflow"],
        "Lists of 100 images per query, or features.",
        note="By a follower's script: the challenge's server code is not public."),
    Protocol(
        "mars", "mars", "guxinqian/AP3D 84bd12a, tools/eval_metrics.py",
        _step(measure="test-all.py:45,178", loads="without label -1").replace(name="mars-ap3d"),
        f"{_TRACKLETS} The query tracklets stay in the gallery.", counts={"all": (1980, 11310)},
        note="Step mAP. The authors' own trapezoid: --convention mars."),
    _record(
        "mars-torchreid", f"{_TORCHREID}/data/datasets/video/mars.py:57-62", _RAW_TRACKLETS,
        f"{_TRACKLETS} The gallery has no tracklet of the queries.", Part(unmatched=True),
        benchmark="mars", counts={"all": (1980, 9330)},
        note="140 queries have no good image and are left out: another task than mars."),
    _record(
        "cargo", "LinlyAC/VDT-AGPReID ad01007, fastreid/data/datasets/cargo.py:34-170",
        _OF_FASTREID, f"{_LISTS} Cameras 1 to 13 as in the file names, of which 1 to 5 are "
        "aerial; or with a column view, 0 aerial and 1 ground.",
        Part("all", unmatched=True), Part("gg", *_of("view", (1,), (1,)), unmatched=True),
        Part("aa", *_of("view", (0,), (0,)), unmatched=True),
        Part("ag", ignored=("same identity, same view",), unmatched=True),
        cameras=tuple(range(1, 14)), relabel=_views_of_cargo,
        counts={"gg": (134, 18444), "aa": (178, 32268), "ag": (312, 50712)}),
    *(_record(name, f"huynguyen792/{source}:70-93", _OF_FASTREID, f"{_LISTS} One view asks and "
              "another answers. The identity is the digits of P, T and A put together.",
              benchmark="ag-reid", note=note)
      for name, source, note in (
          ("ag-reid", "AG-ReID 0d72a45, agreidtools/datasets/agreid.py",
           "The authors give loaders only; the evaluator is fast-reid's."),
          ("ag-reid-v2", "AG-ReID.v2 30f558e, agreidtools/datasets/agreidv2.py", "As ag-reid."))),
    _record(
        "atrw", "cvwc2019/ATRWEvalScript 8996b83, atrwtool/plain.py:8-93",
        _step(("label -1", "same identity, near frame"), recall="found",
              unmatched="drop-unanswered"),
        "All images on both sides, or ranked lists, an empty one for an unanswered query: "
        f"{_TIGERS}", *_atrw_parts(), needs=("view", "video", "frame"),
        counts={"single": (701, 1764), "cross": (1063, 1764)},
        note="AP divides by the good images in the list, mAP by the queries answered, top-k by "
        "all queries of the file, which are to be all those annotated. The code's public split: "
        "its queries as --trials."),
    _record(
        "atrw-wild", "cvwc2019/ATRWEvalScript 8996b83, atrwtool/wild.py:8-104, bboxmatch.py:7-59",
        _step(("label -1", "same identity, near frame"), recall="found", unmatched="zero"),
        "Query: all annotated boxes. Gallery: the detected boxes, each labelled as the annotated "
        "box that it overlaps most, by half or more, and -1 without such a box; of several with "
        "one label in an image, the first. Ranked lists, an empty one for a query that is not "
        f"detected: {_TIGERS}", *_atrw_parts(unmatched=True), benchmark="atrw",
        needs=("view", "video", "frame"),
        note="701 single-camera queries, 1,063 cross-camera ones: mAP and top-k divide by all of "
        f"them. mmAP is the mean of both mAP. {_UNHELD}"),
    *(_record(name, f"{_TORCHREID}/data/datasets/image/{file}.py", _step((), **_RAW),
              "Query and gallery of one split, or all images, and the rows of each split in "
              "--trials.", trials=Given(n))
      for name, file, n in (("viper", "viper", 20), ("cuhk01", "cuhk01", 20), ("grid", "grid", 10),
                            ("prid2011", "prid", 10), ("ilids", "ilids", 10))),
    *(_record(name, f"{_TORCHREID}/data/datasets/video/{file}.py", _RAW_TRACKLETS, _TRACKLETS,
              trials=Given(n), note=_UNHELD)
      for name, file, n in (("duke-video", "dukemtmcvidreid", 1), ("ilids-vid", "ilidsvid", 10))),
    *(_record(name, "JDAI-CV/fast-reid c9bc3ce, fastreid/evaluation/rank.py", _OF_FASTREID,
              note=f"{_UNHELD} {note}")
      for name, note in (
          ("p-dukemtmc", ""),
          *((name, "Two readings of the camera: light-reid gives queries camera 0 and the gallery "
             "camera 1, so that nothing is ignored; fast-reid takes the second number of the file "
             "name.") for name in ("occluded-reid", "partial-reid", "partial-ilids")))),
    _record(
        "cuhk03-classic", f"{_TORCHREID}/metrics/rank.py:17-91, "
        "torchreid/data/datasets/image/cuhk03.py:167-228",
        CONVENTIONS["cuhk03-single-shot-function"],
        "All test images of one split on both sides, cameras 0 and 1; or all images, and the rows "
        "of each split in --trials.", trials=Given(20),
        note="CMC is the expectation of one gallery image per identity, which the code estimates "
        "by ten draws per query."),
)


def folded_name(name: str) -> str:
    """Return a name as lookups compare it: any case, with - or _."""
    return folded(name).replace(" ", "-")


#: Name to protocol.
PROTOCOLS: Mapping[str, Protocol] = MappingProxyType({
    protocol.name: protocol for protocol in (*_EVERY, *PERSON_SEARCH)})


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
    for protocol in PROTOCOLS.values():
        parts = [part for part in protocol.parts
                 if part.may_have(protocol.counts.get(part.name), sides)]
        with contextlib.suppress(InputError):  # cameras or columns that are not the benchmark's
            named = {side: protocol.labelled(labels, side) for side, labels in sides.items()
                     if parts}
            if any(part.counts(named) == protocol.counts[part.name] for part in parts):
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
    name, key = folded_name(protocol), benchmark_named(protocol)
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
