"""The toolboxes and the conventions by name, also made from choices (``ap=step,top_k=100``).

A toolbox is one record of its evaluators, their files, and the lines of its loader. A new one is
one entry of `TOOLBOX_RECORDS`: names, bare functions and differences are derived. A toolbox with
the code of another is a row of copies.csv.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from reid_ref import extensions
from reid_ref.arrays import InputError, check_choice, errors_at
from reid_ref.conventions.choices import CHOICES, CMC_LENGTH, IGNORED, SAME_CAMERA, known_values
from reid_ref.conventions.convention import Convention, Reranking
from reid_ref.disk import rows_of_table
from reid_ref.labels import JUNK, Labels


#: What toolboxes make of features by default, query `q` and gallery `g`, one row per image: the
#: metric, and whether they are normalised.
FORMULAS = MappingProxyType({
    "squared(q, g)": ("euclidean", False), "squared(unit(q), unit(g))": ("euclidean", True),
    "1 - unit(q) @ unit(g).T": ("cosine", False), "-unit(q) @ unit(g).T": ("dot", True)})


class DefaultMetric(NamedTuple):
    """How a toolbox measures distances between features by default: a formula; file and line."""

    formula: str
    source: str


_RAW, _UNIT, _COSINE, _DOT = FORMULAS
#: What is given lists of images has no features.
NO_FEATURES = DefaultMetric(_UNIT, "it is given no features; here they are normalised")


class Copy(NamedTuple):
    """Another toolbox with the code of an evaluator: repository, commit, evaluator and loader.

    Its names are known in any case, with - or _. `queries_first`: it ranks the queries, too.
    """

    evaluator: str
    names: tuple[str, ...]
    source: str
    measure: DefaultMetric
    reranking: Reranking | None = None
    queries_first: bool = False


def _reranking_of(row: Mapping[str, str]) -> Reranking | None:
    """Return the re-ranking in a row of copies.csv; None if its columns are empty."""
    return Reranking(row["variant"], int(row["k1"]), int(row["k2"]), float(row["lambda"]),
                     row["reranking"]) if row["variant"] else None


#: The rows of copies.csv.
COPIES = [Copy(row["evaluator"], tuple(row["names"].split(";")), row["source"],
               DefaultMetric(row["formula"], row["measure"]), _reranking_of(row),
               row["gallery"] == "queries first")
          for row in rows_of_table("conventions/copies.csv")]


@dataclass(frozen=True)
class Procedure:
    """An evaluator, or a setting of it.

    Parameters
    ----------
    name : str
    file : str
        File and function, after the toolbox's repository.
    choices : mapping
        Fields of `Convention` that are not `matlab`'s.
    oddities : tuple of str
        Its differences that no choice describes, with the direction.
    """

    name: str
    file: str
    choices: Mapping[str, Any] = field(default_factory=dict)
    oddities: tuple[str, ...] = ()


@dataclass(frozen=True)
class Toolbox:
    """A toolbox.

    Parameters
    ----------
    repository : str
        Owner, name and commit.
    evaluators : tuple of Procedure
    loader : str
        File and line that leave out images labelled -1, which its evaluators alone would rank as
        wrong answers. Empty: every image is loaded.
    loader_oddities : tuple of str
        Differences of the loader that are not reproduced here, with the direction.
    measure : Measure
        Its distances between features.
    reranking : Reranking, optional
        Its own re-ranking, if it has one.
    """

    repository: str
    evaluators: tuple[Procedure, ...]
    loader: str = ""
    loader_oddities: tuple[str, ...] = ()
    measure: DefaultMetric = field(kw_only=True)
    reranking: Reranking | None = None


_ARGSORT = "The evaluator sorts with numpy's default, whose order of ties depends on the " \
    "processor; here ties keep gallery order (ties='numpy' gives that order): either way"
_DRAWS = "The evaluator draws 10 times, here is the expectation: either way"
_INVERSE = "It ranks 1/(1+d), which in float32 can make ties that d does not have; here d " \
    "itself: either way"

#: torchreid's rank.py, and its many copies.
_EVAL_MARKET1501 = {"ignored": SAME_CAMERA, "ap": "step", "unmatched": "drop", "cmc_length": 50}
_OPEN_REID = {"ignored": SAME_CAMERA, "unmatched": "drop", "cmc_length": 100}
_TRIPLET = {"unmatched": "drop-from-map"}
_RANKING = "reid/evaluation_metrics/ranking.py"


def _by_scikit_learn(name: str, file: str, choices: Mapping[str, Any], oddities: tuple[str, ...],
                     ) -> tuple[Procedure, Procedure]:
    """Return an evaluator with the AP of scikit-learn since 0.19, and with that of 0.18."""
    return (Procedure(name, f"{file}; scikit-learn >= 0.19", {**choices, "ap": "sklearn-0.19"},
                      oddities),
            Procedure(f"{name}-sklearn-0.18", f"{file}; scikit-learn 0.18",
                      {**choices, "ap": "sklearn-0.18"}, oddities))


_OF_TORCHREID = DefaultMetric(_RAW, "torchreid/engine/engine.py:124-125")
_RERANKING_OF_TORCHREID = Reranking(
    "torchreid", source="torchreid/engine/engine.py:400-404, torchreid/utils/rerank.py:31,43")

TOOLBOX_RECORDS = (
    Toolbox("zhunzhong07/person-re-ranking 278f2c7", (
        Procedure("matlab", "evaluation/utils/evaluation.m; the Market-1501 protocol (Zheng et "
                            "al., ICCV 2015)"),),
            measure=DefaultMetric(_UNIT, "evaluation/Market_1501_evaluation.m:41-59"),
            reranking=Reranking(
                "matlab", source="evaluation/Market_1501_evaluation.m:18-20,68, "
                "evaluation/utils/re_ranking.m")),
    Toolbox("liangzheng06/MARS-evaluation 3a91bbc", (
        Procedure("mars", "utils/evaluation_mars.m", {"unmatched": "nan"}),),
            measure=DefaultMetric(_UNIT, "utils/process_box_feat.m:12, test_mars.m:70")),
    Toolbox("JDAI-CV/VeRidataset 09ccfce", (
        Procedure("veri", "compute_AP.m with gt_index and jk_index",
                  {"ignored": ("listed as junk",), "unmatched": "nan"}),),
            measure=NO_FEATURES),
    Toolbox("layumi/Person_reID_baseline_pytorch 82ff40f", (
        Procedure("layumi", "evaluate.py and evaluate_gpu.py", {"ap": "trapezoid-layumi"}, (
            "It sorts -distances with numpy's default and reverses; here ties keep gallery order "
            "(ties='numpy-reversed' gives that order): either way",
            "That order puts NaN first; here NaN is the farthest: either way",
            "CMC is stored in float32, seven digits: last bits")),),
            measure=DefaultMetric(_DOT, "test.py:237-238, evaluate_gpu.py:12"),
            reranking=Reranking("layumi", source="evaluate_rerank.py:66-70, re_ranking.py:40")),
    Toolbox(
        "KaiyangZhou/deep-person-reid f8cd150", (
            Procedure(
                "torchreid", "torchreid/metrics/rank.py, eval_market1501",
                _EVAL_MARKET1501, (_ARGSORT,)),
            Procedure(
                "torchreid-cython", "torchreid/metrics/rank_cylib/rank_cy.pyx",
                {**_EVAL_MARKET1501, "arithmetic": "float32"}, (
                    _ARGSORT,
                    "Its CMC buffer is not cleared, which is not reproduced here: a query that "
                    "keeps fewer than 50 images gets the end of the curve of the query before: "
                    "CMC either way"))),
        loader="torchreid/data/datasets/image/market1501.py:71,79", measure=_OF_TORCHREID,
        reranking=_RERANKING_OF_TORCHREID),
    Toolbox(
        "Cysu/open-reid 3293ca7", (
            *_by_scikit_learn(
                "open-reid", f"{_RANKING}, mean_ap and cmc with first_match_break (its "
                "Market-1501 setting)", _OPEN_REID, (_ARGSORT,)),
            *_by_scikit_learn(
                "open-reid-allshots", f"{_RANKING}, mean_ap and cmc without first_match_break "
                "(its default)", {**_OPEN_REID, "cmc": "all-shots"}, (_ARGSORT,)),
            *_by_scikit_learn(
                "open-reid-cuhk03", f"{_RANKING}, cmc with separate_camera_set and "
                "single_gallery_shot (its CUHK03 setting)",
                {**_OPEN_REID, "cmc": "single-gallery-shot-other-cameras"}, (_DRAWS, _ARGSORT))),
        loader="reid/datasets/market1501.py:68",
        loader_oddities=(
            "open-reid's own loader takes every image of the test identities as query and as "
            "gallery (Market-1501: 16,483 and 19,281; DukeMTMC-reID: 16,426 and 19,889); here "
            "the file's own queries and gallery are ranked: either way",),
        measure=DefaultMetric(_RAW, "reid/evaluators.py:62-64")),
    Toolbox("VisualComputingInstitute/triplet-reid a538696", (
        *_by_scikit_learn("triplet-reid", "evaluate.py", _TRIPLET, (_INVERSE,)),
        Procedure("triplet-reid-market-ap", "evaluate.py --use_market_ap", _TRIPLET,
                  (_INVERSE,))), measure=DefaultMetric(_RAW, "evaluate.py:43, README.md:252")),
    Toolbox("wangguanan/light-reid 97c6b2d", (
        Procedure("light-reid", "lightreid/evaluations/rank/rank.py, inter-camera",
                  {"ap": "step", "junk_match": "never", "cmc_length": "shortest"}, (_ARGSORT,)),),
            measure=DefaultMetric(_COSINE, "lightreid/build.py:38")),
    Toolbox(
        "KaiyangZhou/deep-person-reid f8cd150", (
            Procedure(
                "cuhk03-single-shot", "torchreid/metrics/rank.py, eval_cuhk03; the CUHK03 "
                "protocol (Li et al., CVPR 2014)",
                {**_EVAL_MARKET1501, "cmc": "single-gallery-shot"}, (_DRAWS, _ARGSORT)),
            Procedure(
                "cuhk03-single-shot-draws", "torchreid/metrics/rank.py, eval_cuhk03 after "
                "numpy.random.seed(0)",
                {**_EVAL_MARKET1501, "cmc": "single-gallery-shot-draws"}, (_ARGSORT,))),
        loader="torchreid/data/datasets/image/market1501.py:71,79", measure=_OF_TORCHREID,
        reranking=_RERANKING_OF_TORCHREID),
    Toolbox("wuancong/SYSU-MM01 0499112", (
        Procedure("sysu-mm01", "evaluation/get_map_multi_cam.m, evaluation/get_cmc_multi_cam.m",
                  {"ignored": ("same location",), "ap": "step", "unmatched": "drop",
                   "cmc": "identities", "cmc_length": "identities"}),),
            measure=DefaultMetric(_RAW, "evaluation/euclidean_dist.m:2")),
    Toolbox("oddconcepts/oxford-benchmark f73b8cb", (
        Procedure("oxford", "compute_ap.cpp by James Philbin (Oxford Buildings)",
                  {"ignored": ("listed as junk",), "unmatched": "nan", "arithmetic": "float32"},
                  ("Its good and its ok list are good together: the same where one list holds "
                   "both",)),), measure=NO_FEATURES),
    Toolbox("usnistgov/trec_eval f425365", (
        Procedure("trec-eval", "-J -c map and success_k; the files are those of `reid-ref "
                  "evaluate --save NAME.run`",
                  {"ap": "step", "junk_match": "never", "unlisted": "wrong"}),),
            measure=NO_FEATURES),
    Toolbox("zjykzj/SimpleIR 9bc420d", (
        Procedure("simpleir", "simpleir/metric/impl; the rule it documents",
                  {"ignored": (), "ap": "step", "recall": "found"}),),
            measure=DefaultMetric(_RAW, "simpleir/retrieval/helper.py:38")),
    Toolbox("Paulamde/VPULab-CityFlow-ReID-Evaluation-Framework 1941f9b", (
        Procedure(
            "cityflow", "Evaluation_CityFlow.py:32-69, for the lists of 100 images that the AI "
            "City Challenge takes",
            {"ignored": (), "ap": "step", "top_k": 100, "cmc_length": 100},
            ("It adds precision times 1/n image by image, where here the sum of precisions is "
             "divided by n: last bits",)),), measure=NO_FEATURES),
)

#: The cameras of SYSU-MM01's queries, infrared, and of its gallery.
SYSU_CAMERAS = (3, 6), (1, 2, 4, 5)

_SLOW = "slow on a large gallery; ask for it by name"
_LISTS = "only with index lists"
#: What `--convention all` leaves out, with the reason; and the bare functions.
LEFT_OUT = {
    "sysu-mm01": "its cameras are those of SYSU-MM01; ask for it by name",
    "veri": _LISTS, "oxford": _LISTS,
    "cityflow": "looks at the first 100 images alone; ask for it by name",
    "cuhk03-single-shot": _SLOW,
    "cuhk03-single-shot-draws": "random draws; ask for it by name",
    "open-reid-cuhk03": _SLOW, "open-reid-cuhk03-sklearn-0.18": _SLOW,
}


def toolbox_conventions(toolbox: Toolbox) -> list[Convention]:
    """Return the conventions of a toolbox: evaluators after its loader, and the bare functions.

    Where every image is loaded the two are the same, and there is one.

    Examples
    --------
    >>> mine = Toolbox("me/toolbox 1234567", (Procedure("mine", "rank.py", {"ap": "step"}),),
    ...                loader="data.py:7", measure=DefaultMetric(_RAW, "rank.py:5"))
    >>> [(record.name, record.loads) for record in toolbox_conventions(mine)]
    [('mine', 'without label -1'), ('mine-function', 'all images')]
    """
    conventions = []
    for evaluator in toolbox.evaluators:
        fields: dict[str, Any] = dict(
            evaluator.choices, source=f"{toolbox.repository}, {evaluator.file}",
            also=tuple(f"{', '.join(copy.names)} ({copy.source})" for copy in COPIES
                       if copy.evaluator == evaluator.name), **_fields_of(toolbox))
        if toolbox.loader:
            conventions.append(Convention(
                evaluator.name, **fields, loads="without label -1",
                loader=f"{toolbox.repository}, {toolbox.loader}",
                oddities=(*evaluator.oddities, *toolbox.loader_oddities)))
            del fields["also"]
        name = f"{evaluator.name}-function" if toolbox.loader else evaluator.name
        conventions.append(Convention(name, **fields, oddities=evaluator.oddities))
    return conventions


def _fields_of(toolbox: Toolbox | Copy) -> dict[str, Any]:
    metric, normalize = FORMULAS[toolbox.measure.formula]
    return dict(metric=metric, normalize=normalize, measure=toolbox.measure.source,
                reranking=toolbox.reranking)


class _Conventions(dict[str, Convention]):
    """The records by name; under a further name a record has that name, its distances, its
    re-ranking and its gallery.

    Under another name it is that of an installed package, which is no part of lists and `all`.
    """

    def __missing__(self, name: str) -> Convention:
        if name not in NAMES and (
                record := extensions.declared_record("convention", name, Convention)):
            return record
        copy = _COPY_NAMED[name.removesuffix("-function")]
        return replace(self[NAMES[name]], name=name, queries_first=copy.queries_first,
                       **_fields_of(copy))


CONVENTIONS: Mapping[str, Convention] = MappingProxyType(_Conventions(
    (record.name, record) for toolbox in TOOLBOX_RECORDS
    for record in toolbox_conventions(toolbox)))

#: Convention to its bare function: the evaluator without the loader, which ranks images labelled
#: -1 as well.
FUNCTIONS = MappingProxyType({
    evaluator.name: f"{evaluator.name}-function" for toolbox in TOOLBOX_RECORDS
    for evaluator in toolbox.evaluators if toolbox.loader})

#: Bare function to its convention.
TOOLBOXES = MappingProxyType({function: name for name, function in FUNCTIONS.items()})

#: Conventions that `--convention all` leaves out, with the reason.
NOT_IN_ALL = MappingProxyType({**LEFT_OUT, **{function: LEFT_OUT.get(
    name, "the evaluator without its toolbox's loader; ask for it by name")
    for name, function in FUNCTIONS.items()}})


def left_out(query: Labels, gallery: Labels) -> dict[str, str]:
    """Return the conventions that are not tried on these labels unless by name, with the reason.

    `sysu-mm01` is tried if the cameras are those of its queries and its gallery; bare functions
    if an image is labelled -1, without which they are their toolboxes. Without cameras, what looks
    at them is not.

    Examples
    --------
    >>> query, gallery = Labels([7], [3]), Labels([7, 8], [2, 5])
    >>> sorted(NOT_IN_ALL.keys() - left_out(query, gallery).keys())
    ['sysu-mm01']
    """
    reasons = dict(NOT_IN_ALL)
    if all(labels.camera is not None and np.isin(labels.camera, cameras).all()
           for labels, cameras in zip((query, gallery), SYSU_CAMERAS)):
        del reasons["sysu-mm01"]
    if (gallery.identity == JUNK).any() or (query.identity == JUNK).any():
        for function in FUNCTIONS.keys() - NOT_IN_ALL.keys():
            del reasons[FUNCTIONS[function]]
    return {**lacking_cameras(CONVENTIONS.values(), query), **reasons}


def lacking_cameras(conventions: Iterable[Convention], query: Labels) -> dict[str, str]:
    """Return the conventions that look at cameras, if the labels have none, with the reason.

    Examples
    --------
    >>> lacking_cameras(find_conventions(["matlab", "simpleir"]), Labels([7]))
    {'matlab': 'needs cameras, which the labels lack'}
    """
    if query.camera is not None:
        return {}
    return {convention.name: "needs cameras, which the labels lack"
            for convention in conventions if convention.needs_cameras}


#: Further names, and the record that each means.
ALIASES = MappingProxyType({alias: copy.evaluator for copy in COPIES for alias in copy.names})

_COPY_NAMED = {alias: copy for copy in COPIES for alias in copy.names}

#: Every name, those of bare functions too, and the record that it means.
NAMES = MappingProxyType({
    **{f"{alias}-function": FUNCTIONS[name] for alias, name in ALIASES.items()
       if name in FUNCTIONS},
    **ALIASES, **{name: name for name in CONVENTIONS}})


_BY_CANONICAL_NAME = {extensions.canonical(name): name for name in NAMES}


def every_convention() -> dict[str, Convention]:
    """Return the records by name, then those of installed packages."""
    return {**CONVENTIONS, **extensions.installed("convention", Convention, NAMES)}


def check_known(name: Any, argument: str, more: Iterable[str] = ()) -> None:
    """Refuse a name that is neither here nor that of an installed package; nothing is imported."""
    if isinstance(name, str) and (known_as(name) in NAMES or name in more):
        return
    further = extensions.declared_names("convention")
    if extensions.canonical(str(name)) not in map(extensions.canonical, further):
        check_choice(name, argument, dict.fromkeys([*CONVENTIONS, *ALIASES, *further, *more]))


def known_as(name: str) -> str:
    """Return a name of a convention as it is written here, given in any case, without - and _.

    Any other name comes back as it is, so that the error can name it.

    Examples
    --------
    >>> known_as("transreid"), known_as("fastreid"), known_as("nothing")
    ('TransReID', 'fast-reid', 'nothing')
    """
    return _BY_CANONICAL_NAME.get(extensions.canonical(name), name)


def find_convention(convention: str | Convention, argument: str = "convention") -> Convention:
    """Return the record of that name, or the record itself.

    The record has the name that was given, also if it is a further name of it.
    `argument` names the argument in messages.

    Raises
    ------
    InputError
        An unknown name; the known ones and the nearest are listed.

    Examples
    --------
    >>> find_convention("agw").name, find_convention("agw").base
    ('AGW', 'torchreid')
    """
    if isinstance(convention, Convention):
        return convention
    check_known(convention, argument)
    return CONVENTIONS[known_as(convention)]


def find_conventions(conventions: str | Convention | Iterable[str | Convention],
                     ) -> list[Convention]:
    """Return the records of one or several names.

    Raises
    ------
    InputError
        An unknown name, none, or two records of one name.

    Examples
    --------
    >>> [convention.name for convention in find_conventions("matlab")]
    ['matlab']
    """
    if isinstance(conventions, (str, Convention)) or not isinstance(conventions, Iterable):
        conventions = [conventions]
    records = [find_convention(convention) for convention in conventions]
    names = [convention.name for convention in records]
    if not names:
        raise InputError("convention", "at least one", "none")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError("convention", "different names", f"{twice[0]!r} twice",
                         "replace(name=...) gives one of them another")
    return records


def choices_of_text(texts: Iterable[str], name: str) -> dict[str, Any]:
    """Return the value of each field of a convention that is named, e.g. ``ap=step,top_k=100``.

    Several values of `ignored` are joined by +, as in a signature; "nothing" is none of them.

    Parameters
    ----------
    texts : iterable of str
    name : str
        What messages begin with.

    Raises
    ------
    InputError
        An unknown field or value (the known ones are listed), or a field that is named twice.

    Examples
    --------
    >>> choices_of_text(["ap=step,top_k=100", "ignored=label -1+same camera"], "--set")
    {'ap': 'step', 'top_k': 100, 'ignored': ('label -1', 'same camera')}
    """
    changes: dict[str, Any] = {}
    # A value may have a comma of its own: "same identity, same camera".
    for text in (part for given in texts for part in re.split(r",(?=[^,=]*=)", given)):
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise InputError(name, "KEY=VALUE, e.g. ap=step", repr(text))
        check_choice(key, name, [*CHOICES, "top_k"])
        if key in changes:
            raise InputError(name, f"{key} once", "it twice", "leave one out")
        changes[key] = _value(key, value, f"{name} {key}")
    return changes


def _value(key: str, text: str, name: str) -> Any:
    if key == "ignored":
        rules = () if text == "nothing" else tuple(rule.strip() for rule in text.split("+"))
        for rule in rules:
            check_choice(rule, name, IGNORED)
        return rules
    if key in ("top_k", "cmc_length") and re.fullmatch("[0-9]{1,18}", text):
        return int(text)
    if key == "top_k":
        if text != "None":
            raise InputError(name, "a whole number from 1, or None", repr(text))
        return None
    check_choice(text, name, [*CMC_LENGTH, "a number"] if key == "cmc_length"
                 else known_values(key, text))
    return text


def changed(convention: Convention, changes: Mapping[str, Any], name: str) -> Convention:
    """Return the convention with these choices; itself if it has them already.

    Raises
    ------
    InputError
        Choices that do not go together; the message begins with `name`.

    Examples
    --------
    >>> from reid_ref.conventions import CONVENTIONS
    >>> [changed(CONVENTIONS[one], {"ap": "step"}, "--set").name for one in ("matlab", "mars",
    ...                                                                      "torchreid")]
    ['matlab[ap=step]', 'mars[ap=step]', 'torchreid']
    """
    new = {key: value for key, value in changes.items() if getattr(convention, key) != value}
    with errors_at(f"{name}, convention {convention.name}"):
        return convention.replace(**new) if new else convention
