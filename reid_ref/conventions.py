"""Conventions: what an evaluator counts, and how, as frozen records.

A number of this field means nothing without its convention. A record says everything that
could change the number, where it comes from, and in which direction it differs from `matlab`. A
toolbox's name stands for its loader and its evaluator; `NAME-function` is the evaluator alone.

Contents: the choices, each a table of its values; `Convention`; `CONVENTIONS`, `FUNCTIONS`,
`NOT_IN_ALL`; `find_convention`, `find_conventions`.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, Integers, check_choice
from reid_ref.labels import JUNK
from reid_ref.metrics import AP_RULES, FLOAT32_RULES, GROUPED_RULES

#: Which images a toolbox's loader passes on to its evaluator.
LOADS = {
    "all images": "all images",
    "without label -1": "all images but those labelled -1, which are neither query nor gallery",
}

#: Which gallery images are ignored. The rest of the query's identity is good.
IGNORED = {
    "label -1": "images labelled -1",
    "same identity, same camera": "the query's identity on the query's camera",
    "same camera": "every image of the query's camera",
    "same location": "every image of the query's location (SYSU-MM01: cameras 2 and 3 are one)",
    "listed as junk": "the query's junk list; good are those of its good list",
}

#: What most Python evaluators ignore.
OWN_CAMERA = ("same identity, same camera",)

#: What recall, and so AP, divides by.
RECALL = {
    "existing": "the good images that exist",
    "found": "the good images found in the list, or in its first K",
}

#: What a query without a good image counts as in the means.
UNMATCHED = {
    "zero": "AP 0, INP 0 and no match; counted",
    "nan": "AP NaN, which makes mAP and mINP NaN; no match in CMC",
    "drop": "left out of mAP, mINP and CMC",
    "drop-from-map": "left out of mAP and mINP; no match in CMC, which divides by all queries",
}

#: In which order images at equal distance stand.
TIES = {
    "gallery-order": "in gallery order, as MATLAB's stable sort leaves them",
    "reversed": "in reversed gallery order (but for what a query labelled -1 meets)",
    "grouped": "AP: as one group, one point of the curve; the rest in gallery order",
    "numpy": "as this machine's numpy.argsort(distances) leaves them: not defined elsewhere",
    "numpy-reversed": "as this machine's numpy.argsort(-distances)[::-1] leaves them",
}

#: What a good image that is ignored as well does: the images of a query labelled -1, where
#: that label is ignored.
JUNK_MATCH = {
    "raises-cmc": "it raises the query's CMC curve, as compute_AP.m lets it",
    "never": "nothing: the query has no match",
}

#: What the CMC curve counts.
CMC = {
    "first-match": "queries whose first good image stands at rank k or before",
    "all-shots": "every good image, by the wrong images before it, with weight 1/good",
    "identities": "queries whose identity is among the k nearest identities",
    "single-gallery-shot": "expectation over galleries of one image drawn from each identity",
    "single-gallery-shot-other-cameras": "the same, without any image of the query's camera",
    "single-gallery-shot-draws": "mean of 10 such draws, by numpy.random.RandomState(0)",
}

#: Where a CMC curve ends, if not at a number of ranks.
CMC_LENGTH = {
    "gallery": "at the number of gallery images",
    "identities": "at the number of gallery identities",
    "shortest": "at the fewest images that any query keeps",
}

#: In which precision sums run.
ARITHMETIC = {
    "double": "double",
    "float32": "distances, sums of AP, CMC and their means in single precision",
}

_CHOICES: dict[str, Any] = {
    "loads": LOADS, "ap": AP_RULES, "recall": RECALL, "unmatched": UNMATCHED, "ties": TIES,
    "junk_match": JUNK_MATCH, "cmc": CMC, "arithmetic": ARITHMETIC,
}


@dataclass(frozen=True)
class Convention:
    """How one toolbox turns distances and labels into numbers: its loader and its evaluator.

    Parameters
    ----------
    name : str
    source : str
        Repository, commit and file of the evaluator.
    differences : tuple of str
        What it does otherwise than `matlab`, numbered, with the direction of the effect.
    loads : str
        A key of `LOADS`: the images that the toolbox's loader passes on.
    loader : str
        File and line of the loader, where it leaves images out.
    ignored : tuple of str
        Keys of `IGNORED`.
    ap : str
        A key of `metrics.AP_RULES`.
    recall : str
        A key of `RECALL`.
    top_k : int, optional
        Only the first so many kept images are looked at.
    unmatched, ties, junk_match, cmc, arithmetic : str
        Keys of `UNMATCHED`, `TIES`, `JUNK_MATCH`, `CMC`, `ARITHMETIC`.
    cmc_length : str or int
        A key of `CMC_LENGTH`, or a number of ranks (fewer if the gallery is smaller).

    Raises
    ------
    InputError
        An unknown choice (the known ones are listed), or choices that do not go together.

    Examples
    --------
    >>> CONVENTIONS["torchreid"].ap, CONVENTIONS["torchreid"].loads
    ('step', 'without label -1')
    >>> CONVENTIONS["torchreid-function"].loads
    'all images'
    >>> CONVENTIONS["torchreid"].replace(name="mine", ties="reversed").ties
    'reversed'
    """

    name: str
    source: str = field(repr=False)
    differences: tuple[str, ...] = field(default=(), repr=False)
    loads: str = "all images"
    loader: str = field(default="", repr=False)
    ignored: tuple[str, ...] = ("label -1", "same identity, same camera")
    ap: str = "trapezoid"
    recall: str = "existing"
    top_k: int | None = None
    unmatched: str = "zero"
    ties: str = "gallery-order"
    junk_match: str = "raises-cmc"
    cmc: str = "first-match"
    cmc_length: str | int = "gallery"
    arithmetic: str = "double"

    def __post_init__(self) -> None:
        for choice, known in _CHOICES.items():
            check_choice(getattr(self, choice), choice, known)
        object.__setattr__(self, "ignored", tuple(self.ignored))
        for rule in self.ignored:
            check_choice(rule, "ignored", IGNORED)
        if "listed as junk" in self.ignored and len(self.ignored) > 1:
            raise InputError("ignored: 'listed as junk' stands alone, since lists name every "
                             f"ignored image; got {', '.join(self.ignored)}")
        if self.needs_lists and self.cmc == "single-gallery-shot-other-cameras":
            raise InputError("cmc: 'single-gallery-shot-other-cameras' leaves out images by their "
                             "camera, 'listed as junk' by lists alone; choose another of the two")
        if self.needs_lists and self.loads != "all images":
            raise InputError(f"loads: lists name every ignored image, got {self.loads!r}; leave "
                             "it at 'all images'")
        if isinstance(self.cmc_length, str):
            check_choice(self.cmc_length, "cmc_length", CMC_LENGTH)
        else:
            _check_count(self.cmc_length, "cmc_length")
        if self.top_k is not None:
            _check_count(self.top_k, "top_k")
            if self.cmc not in ("first-match", "all-shots"):
                raise InputError(f"top_k: cuts ranked lists of images, got CMC {self.cmc!r}, "
                                 "which counts identities")
        if self.arithmetic == "float32":
            check_choice(self.ap, "ap in float32", FLOAT32_RULES)
        if self.ties == "grouped":
            check_choice(self.ap, "ap of grouped ties", GROUPED_RULES)
            if self.top_k is not None:
                raise InputError("top_k: a list that is cut off needs an order of ties, "
                                 "got ties 'grouped'")

    @property
    def needs_lists(self) -> bool:
        """Whether good and junk images come from lists."""
        return "listed as junk" in self.ignored

    @property
    def not_ranked(self) -> tuple[str, ...]:
        """Keys of `IGNORED`: what no ranked list holds, ignored or never loaded."""
        if self.loads == "all images" or "label -1" in self.ignored:
            return self.ignored
        return ("label -1", *self.ignored)

    def loaded(self, identity: Integers) -> npt.NDArray[np.bool_]:
        """Return which images the loader passes on: bool, shape of `identity`."""
        return loaded_images(identity, self.loads)

    def replace(self, **changes: Any) -> Convention:
        """Return a convention of your own: this one with some choices changed.

        Without a `name` of its own it is named after this one and the changes.
        """
        unknown = [key for key in changes if key not in self.__dataclass_fields__]
        if unknown:
            check_choice(unknown[0], "replace", self.__dataclass_fields__)
        words = ",".join(f"{key}={as_text(value)}" for key, value in changes.items()
                         if key not in ("name", "source", "differences", "loader"))
        name = f"{self.name}[{words}]" if words else self.name
        return replace(self, **{"name": name, **changes})


def loaded_images(identity: Integers, loads: str) -> npt.NDArray[np.bool_]:
    """Return which images a loader of that kind passes on: bool, shape of `identity`."""
    if loads == "all images":
        return np.ones(len(identity), dtype=np.bool_)
    known: npt.NDArray[np.bool_] = identity != JUNK
    return known


def _check_count(value: Any, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name}: expected a whole number from 1, got {value!r}")


def as_text(value: Any) -> str:
    """Return a choice in words; several are joined by +."""
    return "+".join(value) or "nothing" if isinstance(value, (tuple, list)) else str(value)


_STEP = "AP by the step rule: higher, never lower"
_JUNK_WRONG = "Label -1 is not ignored but an ordinary wrong answer: lower, unless the gallery " \
    "has none"
_OPEN_REID_SETS = "Its loader takes every image of the test identities as query and as gallery " \
    "(Market-1501: 16,483 and 19,281; DukeMTMC-reID: 16,426 and 19,889); here the file's own " \
    "queries and gallery are ranked: either way"
_NOT_LOADED = "Images labelled -1 are not loaded, where matlab ignores them: the same, but a " \
    "query labelled -1 is left out"
_DROP = "A query without a good image is dropped: higher"
_ARGSORT = "The evaluator sorts with numpy's default, whose order of ties depends on the " \
    "processor; here ties keep gallery order (ties='numpy' meets it exactly): either way"
_JUNK_NEVER = "A query labelled -1 never matches, where matlab's rule lets its images, good " \
    "and junk at once, raise its CMC curve: CMC lower"
_CMC50 = "CMC over the first 50 ranks: the same numbers, cut off"


def _numbered(*differences: str) -> tuple[str, ...]:
    return tuple(f"{k}. {text}." for k, text in enumerate(differences, 1))


_TORCHREID = Convention(
    name="torchreid", source="KaiyangZhou/deep-person-reid f8cd150, torchreid/metrics/rank.py, "
    "eval_market1501",
    differences=_numbered(_STEP, _JUNK_WRONG, _DROP, _ARGSORT, _CMC50),
    ignored=OWN_CAMERA, ap="step", unmatched="drop", cmc_length=50)
_OPEN_REID = Convention(
    name="open-reid", source="Cysu/open-reid 3293ca7, reid/evaluation_metrics/ranking.py, "
    "mean_ap and cmc with first_match_break (its Market-1501 setting); scikit-learn >= 0.19",
    differences=_numbered(
        "AP by scikit-learn since 0.19: step, equal distances as one group: higher without ties",
        _JUNK_WRONG, _DROP, "CMC over the first 100 ranks: the same numbers, cut off", _ARGSORT),
    ignored=OWN_CAMERA, ap="sklearn-0.19", unmatched="drop", cmc_length=100)
_OPEN_REID_018 = "AP by scikit-learn 0.18: trapezoid, equal distances as one group: the same " \
    "without ties"
_TRIPLET = Convention(
    name="triplet-reid", source="VisualComputingInstitute/triplet-reid a538696, evaluate.py; "
    "scikit-learn >= 0.19",
    differences=_numbered(
        "AP by scikit-learn since 0.19: step, equal distances as one group: higher without ties",
        "A query without a good image is left out of mAP but a miss in CMC: mAP higher",
        "It ranks 1/(1+d), which in float32 can make ties that d does not have; here d itself: "
        "either way"),
    ap="sklearn-0.19", unmatched="drop-from-map")

_EVALUATORS = (
    Convention(
        name="matlab",
        source="zhunzhong07/person-re-ranking 278f2c7, evaluation/utils/evaluation.m; "
               "the Market-1501 protocol (Zheng et al., ICCV 2015)"),
    Convention(
        name="mars",
        source="liangzheng06/MARS-evaluation 3a91bbc, utils/evaluation_mars.m",
        differences=_numbered(
            "A query without a good image makes mAP NaN, where matlab counts it as 0; CMC is "
            "the same"),
        unmatched="nan"),
    Convention(
        name="veri",
        source="JDAI-CV/VeRidataset 09ccfce, compute_AP.m with gt_index and jk_index",
        differences=_numbered(
            "Good and junk images come from lists; label -1 matters only if listed: the same "
            "where the lists follow matlab's rule",
            "A query without a good image makes mAP NaN; CMC is the same"),
        ignored=("listed as junk",), unmatched="nan"),
    Convention(
        name="layumi",
        source="layumi/Person_reID_baseline_pytorch 82ff40f, evaluate.py and evaluate_gpu.py",
        differences=_numbered(
            "The recall step is 1/n instead of k/n - (k-1)/n: the last bits of AP",
            "It sorts -distances with numpy's default and reverses; here ties keep gallery order "
            "(ties='numpy-reversed' meets it exactly): either way",
            "CMC is stored in float32: its digits after the seventh"),
        ap="trapezoid-layumi"),
    _TORCHREID,
    _TORCHREID.replace(
        name="torchreid-cython", arithmetic="float32",
        source="KaiyangZhou/deep-person-reid f8cd150, torchreid/metrics/rank_cylib/rank_cy.pyx; "
               "the same in JDAI-CV/fast-reid c9bc3ce",
        differences=_numbered(
            _STEP, _JUNK_WRONG, _DROP, _ARGSORT, _CMC50,
            "Distances are cast to float32, AP and its mean are float32 sums: either way, about "
            "1e-7 without new ties",
            "Its CMC buffer is not cleared: a query that keeps fewer than 50 images inherits the "
            "tail of the one before; not reproduced here")),
    _TORCHREID.replace(
        name="fast-reid",
        source="JDAI-CV/fast-reid c9bc3ce, fastreid/evaluation/rank.py, eval_market1501; mINP",
        differences=_numbered(_STEP, _JUNK_WRONG, _DROP, _ARGSORT, _CMC50)),
    _TORCHREID.replace(
        name="reid-strong-baseline",
        source="michuanhaohao/reid-strong-baseline 3da7e6f, data/datasets/eval_reid.py",
        differences=_numbered(_STEP, _JUNK_WRONG, _DROP, _ARGSORT, _CMC50)),
    _TORCHREID.replace(
        name="reid-survey",
        source="mangye16/ReID-Survey 38f5912, data/datasets/eval_reid.py; mINP",
        differences=_numbered(_STEP, _JUNK_WRONG, _DROP, _ARGSORT, _CMC50)),
    _OPEN_REID,
    _OPEN_REID.replace(
        name="open-reid-sklearn-0.18", ap="sklearn-0.18",
        source=_OPEN_REID.source.replace(">= 0.19", "0.18"),
        differences=_numbered(
            _OPEN_REID_018, _JUNK_WRONG, _DROP, _CMC50.replace("50", "100"), _ARGSORT)),
    _OPEN_REID.replace(
        name="open-reid-allshots", cmc="all-shots",
        source=_OPEN_REID.source.replace(" with first_match_break (its Market-1501 setting)",
                                         " without first_match_break (its default)"),
        differences=_OPEN_REID.differences + (
            "6. CMC counts every good image, by the wrong ones before it: lower.",)),
    _OPEN_REID.replace(
        name="open-reid-allshots-sklearn-0.18", cmc="all-shots", ap="sklearn-0.18",
        source="Cysu/open-reid 3293ca7, reid/evaluation_metrics/ranking.py; scikit-learn 0.18",
        differences=_numbered(
            _OPEN_REID_018, _JUNK_WRONG, _DROP,
            "CMC counts every good image, by the wrong ones before it, over the first 100 ranks: "
            "lower", _ARGSORT)),
    _OPEN_REID.replace(
        name="open-reid-cuhk03", cmc="single-gallery-shot-other-cameras",
        source="Cysu/open-reid 3293ca7, reid/evaluation_metrics/ranking.py, cmc with "
               "separate_camera_set and single_gallery_shot (its CUHK03 setting); "
               "scikit-learn >= 0.19",
        differences=_OPEN_REID.differences + (
            "6. CMC of one image drawn from each identity of the other cameras: higher; it draws "
            "10 times, here is the expectation.",)),
    _OPEN_REID.replace(
        name="open-reid-cuhk03-sklearn-0.18", cmc="single-gallery-shot-other-cameras",
        ap="sklearn-0.18",
        source="Cysu/open-reid 3293ca7, reid/evaluation_metrics/ranking.py, cmc with "
               "separate_camera_set and single_gallery_shot; scikit-learn 0.18",
        differences=_numbered(
            _OPEN_REID_018, _JUNK_WRONG, _DROP,
            "CMC of one image drawn from each identity of the other cameras, over the first 100 "
            "ranks: higher; it draws 10 times, here is the expectation", _ARGSORT)),
    _TRIPLET,
    _TRIPLET.replace(
        name="triplet-reid-sklearn-0.18", ap="sklearn-0.18",
        source=_TRIPLET.source.replace(">= 0.19", "0.18"),
        differences=_numbered(
            _OPEN_REID_018,
            "A query without a good image is left out of mAP but a miss in CMC: mAP higher",
            _TRIPLET.differences[2][3:-1])),
    _TRIPLET.replace(
        name="triplet-reid-market-ap", ap="trapezoid",
        source="VisualComputingInstitute/triplet-reid a538696, evaluate.py --use_market_ap",
        differences=_numbered(
            "A query without a good image is left out of mAP but a miss in CMC: mAP higher",
            _TRIPLET.differences[2][3:-1])),
    Convention(
        name="light-reid",
        source="wangguanan/light-reid 97c6b2d, lightreid/evaluations/rank/rank.py, inter-camera",
        differences=_numbered(
            _STEP, _ARGSORT,
            "CMC is cut to the fewest images that any query keeps: the same numbers", _JUNK_NEVER),
        ap="step", junk_match="never", cmc_length="shortest"),
    _TORCHREID.replace(
        name="cuhk03-single-shot", cmc="single-gallery-shot",
        source="KaiyangZhou/deep-person-reid f8cd150, torchreid/metrics/rank.py, eval_cuhk03; "
               "the CUHK03 protocol (Li et al., CVPR 2014)",
        differences=_numbered(
            _STEP, _JUNK_WRONG, _DROP, _ARGSORT,
            "CMC of one gallery image drawn from each identity: higher; the evaluator draws 10 "
            "times, here is the expectation, which no seed moves; over the first 50 ranks")),
    _TORCHREID.replace(
        name="cuhk03-single-shot-draws", cmc="single-gallery-shot-draws",
        source="KaiyangZhou/deep-person-reid f8cd150, torchreid/metrics/rank.py, eval_cuhk03 "
               "after numpy.random.seed(0)",
        differences=_numbered(
            _STEP, _JUNK_WRONG, _DROP, _ARGSORT,
            "CMC of one gallery image drawn from each identity, 10 draws by seed 0: higher, and "
            "off the expectation by up to some points; over the first 50 ranks")),
    Convention(
        name="sysu-mm01",
        source="wuancong/SYSU-MM01 0499112, evaluation/get_map_multi_cam.m and "
               "get_cmc_multi_cam.m",
        differences=_numbered(
            _STEP, "Every image of the query's location is ignored, and label -1 is not: either "
            "way", _DROP, "CMC counts identities, not images: higher"),
        ignored=("same location",), ap="step", unmatched="drop", cmc="identities",
        cmc_length="identities"),
    Convention(
        name="oxford",
        source="James Philbin's compute_ap.cpp (Oxford Buildings), oddconcepts/oxford-benchmark "
               "f73b8cb",
        differences=_numbered(
            "Good (good and ok lists together) and junk images come from lists: the rule is "
            "matlab's", "A query without a good image makes mAP NaN",
            "Single precision: AP differs after the seventh digit"),
        ignored=("listed as junk",), unmatched="nan", arithmetic="float32"),
    Convention(
        name="trec-eval",
        source="usnistgov/trec_eval f425365, -J -c map and success_k; the files are those of "
               "`reid-ref export --to trec`",
        differences=_numbered(
            _STEP, _JUNK_NEVER),
        ap="step", junk_match="never"),
    Convention(
        name="simpleir",
        source="zjykzj/SimpleIR 9bc420d, simpleir/metric/impl; the rule it documents (seed 004)",
        differences=_numbered(
            _STEP, "Nothing is ignored: label -1 is an identity like another, and images on the "
            "query's own camera are good: mostly higher",
            "Recall is over the good images found in the list: higher where the list is cut"),
        ignored=(), ap="step", recall="found"),
)

_TORCHREID_LOADER = "KaiyangZhou/deep-person-reid f8cd150, torchreid/data/datasets/image/" \
    "market1501.py:71,79"
_OPEN_REID_LOADER = "Cysu/open-reid 3293ca7, reid/datasets/market1501.py:68"
#: Evaluators that rank label -1 as a wrong answer, and never meet it: the line of their toolbox's
#: loader that leaves these images out.
_LOADERS = {
    "torchreid": _TORCHREID_LOADER,
    "torchreid-cython": _TORCHREID_LOADER,
    "fast-reid": "JDAI-CV/fast-reid c9bc3ce, fastreid/data/datasets/market1501.py:79",
    "reid-strong-baseline": "michuanhaohao/reid-strong-baseline 3da7e6f, "
                            "data/datasets/market1501.py:71,78",
    "reid-survey": "mangye16/ReID-Survey 38f5912, data/datasets/market1501.py:67,74",
    "open-reid": _OPEN_REID_LOADER,
    "open-reid-sklearn-0.18": _OPEN_REID_LOADER,
    "open-reid-allshots": _OPEN_REID_LOADER,
    "open-reid-allshots-sklearn-0.18": _OPEN_REID_LOADER,
    "open-reid-cuhk03": _OPEN_REID_LOADER,
    "open-reid-cuhk03-sklearn-0.18": _OPEN_REID_LOADER,
    "cuhk03-single-shot": _TORCHREID_LOADER,
    "cuhk03-single-shot-draws": _TORCHREID_LOADER,
}


def _records(evaluator: Convention) -> list[Convention]:
    """Return what users of the toolbox see (loader, then evaluator), and the evaluator alone."""
    if evaluator.name not in _LOADERS:
        return [evaluator]
    differences = [text.partition(". ")[2].removesuffix(".").replace(_JUNK_WRONG, _NOT_LOADED)
                   for text in evaluator.differences]
    if evaluator.name.startswith("open-reid"):
        differences.append(_OPEN_REID_SETS)
    toolbox = evaluator.replace(
        name=evaluator.name, loads="without label -1", loader=_LOADERS[evaluator.name],
        differences=_numbered(*differences))
    return [toolbox, evaluator.replace(name=FUNCTIONS[evaluator.name])]


#: The bare functions, by the name of their toolbox: what they make of arrays that hold images
#: labelled -1, which its loader never passes on.
FUNCTIONS = {name: f"{name}-function" for name in _LOADERS}

#: The other way round: the toolbox of each bare function.
TOOLBOXES = {function: name for name, function in FUNCTIONS.items()}

CONVENTIONS: dict[str, Convention] = {
    one.name: one for evaluator in _EVALUATORS for one in _records(evaluator)}

#: Conventions that `--convention all` leaves out, with the reason.
NOT_IN_ALL = {
    "sysu-mm01": "its cameras are those of SYSU-MM01; ask for it by name",
    "veri": "needs index lists",
    "oxford": "needs index lists",
    "cuhk03-single-shot": "takes long on a large gallery; ask for it by name",
    "cuhk03-single-shot-draws": "random draws; ask for it by name",
    "open-reid-cuhk03": "takes long on a large gallery; ask for it by name",
    "open-reid-cuhk03-sklearn-0.18": "takes long on a large gallery; ask for it by name",
}
NOT_IN_ALL.update({function: NOT_IN_ALL.get(
    name, "the evaluator without its toolbox's loader; ask for it by name")
    for name, function in FUNCTIONS.items()})


def find_convention(convention: str | Convention) -> Convention:
    """Return the record of that name, or the record itself.

    Raises
    ------
    InputError
        An unknown name; the known ones and the nearest are listed.
    """
    if isinstance(convention, Convention):
        return convention
    check_choice(convention, "convention", CONVENTIONS)
    return CONVENTIONS[convention]


def find_conventions(conventions: str | Convention | Iterable[str | Convention],
                     ) -> list[Convention]:
    """Return the records of one or several names.

    Raises
    ------
    InputError
        An unknown name, none, or two records of one name.

    Examples
    --------
    >>> [one.name for one in find_conventions("matlab")]
    ['matlab']
    """
    if isinstance(conventions, (str, Convention)) or not isinstance(conventions, Iterable):
        conventions = [conventions]
    found = [find_convention(one) for one in conventions]
    names = [one.name for one in found]
    if not names:
        raise InputError("convention: expected at least one, got none")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"convention: expected different names, got {twice[0]!r} twice; "
                         "replace(name=...) gives one of them another")
    return found
