"""The variations by name, in the order of how often threads report them."""
import copyreg
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from reid_ref import extensions
from reid_ref.arrays import InputError, check_choice
from reid_ref.conventions import Convention
from reid_ref.conventions.choices import SAME_CAMERA
from reid_ref.labels import DISTRACTOR, JUNK
from reid_ref.variations import features, labels, results
from reid_ref.variations.reranked import reranked
from reid_ref.variations.variation import Choices, Variation

#: Lengths at which somebody cut ranked lists.
CUTS = (10, 20, 50, 100)


def _set(**choices: Any) -> Choices:
    """Return what changes these choices of every convention."""
    return lambda convention: choices


def _without_junk(convention: Convention) -> Mapping[str, Any]:
    return {"loads": "without label -1", "ignored": tuple(
        rule for rule in convention.ignored if rule != "label -1")}


def _other_cameras(convention: Convention) -> Mapping[str, Any] | None:
    if SAME_CAMERA[0] not in convention.ignored:
        return None
    return {"ignored": tuple("same camera" if rule == SAME_CAMERA[0] else rule
                             for rule in convention.ignored)}


def _one_image(cameras: bool) -> Choices:
    # A pass over whole rows takes long, and toolboxes that draw a gallery count alike.
    return lambda convention: None if convention.base != "torchreid" else {
        "cmc": "single-gallery-shot", "cmc_length": 1,
        "ignored": (convention if cameras else convention.without_cameras()).ignored}


_JUNK, _ZERO = labels.needs_label(JUNK, "-1"), labels.needs_label(DISTRACTOR, "0")
_OPEN_REID = "open-reid #16, #35; huanghoujing triplet-loss-baseline #27"

_RECORDS = [
    *reranked(),
    *(Variation(
        f"multi-query-{pooling}", f"with multiple queries, pooled by their {pooling}",
        "layumi #21, #48; 2016_person_re-ID #6; MGN-pytorch #19; fast-reid #3; "
        "hehefan Unsupervised-Person-Re-identification #13", 6, lacks=labels.needs_multi_query,
        data=labels.multi_query(pooling)) for pooling in ("mean", "max")),
    Variation(
        "same-camera-kept", "with images of the query's identity on its own camera as good ones",
        "LA-Transformer #3; VERI-Wild #7; fast-reid #257; reid-strong-baseline #159; "
        "jiyanggao Video-Person-ReID #4", 5, "cameras", labels.needs_cameras,
        choices=lambda convention: {"ignored": convention.without_cameras().ignored}, pairs=True),
    Variation(
        "queries-in-gallery", "with the queries in the gallery as well",
        "TKP #6; AP3D #2; MARS-evaluation #4; torchreid #59, #77; TF-CLIP's class: "
        "AsuradaYuci/TF-CLIP 497a4f2, utils/metrics.py:117-119", 5, "images",
        labels.needs_features, data=labels.with_queries),
    Variation(
        "matched-queries", "over the queries with a good image alone",
        "MARS-evaluation #4; Video-Person-ReID #6; torchreid #59, #77", 4, "queries",
        choices=_set(unmatched="drop")),
    Variation(
        "one-gallery-image", "with one gallery image of each identity, as an expectation",
        "fast-reid #334; torchreid #114; open-reid #58; layumi #13", 4, "images",
        choices=_one_image(True), rankings=("normalised", "distances")),
    Variation(
        "one-gallery-image-any-camera", "with one gallery image of each identity, as an "
        "expectation, whatever its camera", "person-re-ranking #5", 1, "images",
        labels.needs_cameras, choices=_one_image(False), rankings=("normalised", "distances")),
    Variation(
        "exchanged", "with query and gallery exchanged",
        "fast-reid #58; TransReID #59; VehicleID's loaders: JDAI-CV/fast-reid c9bc3ce, "
        "fastreid/data/datasets/vehicleid.py", 2, "images", labels.needs_askers,
        data=labels.exchanged),
    Variation(
        "all-as-both", "with every image of the queries' identities as query and in the gallery",
        _OPEN_REID, 3, "images", labels.needs_features, data=labels.all_as_both,
        rankings=("Euclidean",)),
    Variation(
        "without-junk", "without the images labelled -1",
        "huanghoujing triplet-loss-baseline #5; fast-reid #8; layumi #58", 3, "labels", _JUNK,
        choices=_without_junk, pairs=True),
    Variation(
        "junk-wrong", "with images labelled -1 as wrong answers",
        "huanghoujing triplet-loss-baseline #5, #13", 2, "labels", _JUNK,
        choices=lambda convention: {**_without_junk(convention), "loads": "all images"},
        pairs=True),
    Variation(
        "without-distractors", "without the distractors (label 0)",
        "Market-1501_Attribute #6; fast-reid #8", 2, "labels", _ZERO,
        data=labels.without_distractors, pairs=True),
    Variation(
        "without-both", "without the images labelled 0 or -1",
        "Market-1501_Attribute #6; layumi #58", 2, "labels", labels.needs_both_labels,
        data=labels.without_distractors, choices=_without_junk, pairs=True),
    *(Variation(
        f"{name}-half", f"of the {name} half of the features alone",
        "layumi #29; AlignedReID #25; SPReID #12", 3, lacks=features.needs_parts(2),
        data=features.part(k, 2)) for k, name in enumerate(("first", "second"))),
    *(Variation(
        f"third-{k + 1}-of-3", f"of part {k + 1} of 3 of the features alone",
        "layumi #29; AlignedReID #25; SPReID #12", 3, lacks=features.needs_parts(3),
        data=features.part(k, 3)) for k in range(3)),
    *(Variation(
        f"quarter-{k + 1}-of-4", f"of part {k + 1} of 4 of the features alone",
        "layumi #29; AlignedReID #25; SPReID #12", 3, lacks=features.needs_parts(4, 2048),
        data=features.part(k, 4)) for k in range(4)),
    *(Variation(
        f"cut-{length}", f"of lists cut after {length} images",
        "batch-dropblock-network #14; VisDA2020 #3; METU-TRADEMARK-DATASET #1", 3, "length",
        choices=_set(top_k=length)) for length in CUTS),
    *(Variation(
        f"cut-{length}-found",
        f"of lists cut after {length} images, with recall over the good images in them",
        "batch-dropblock-network #14; VisDA2020 #3", 2, "length",
        choices=_set(top_k=length, recall="found")) for length in CUTS),
    Variation(
        "largest-class-found", "of lists cut after as many images as the largest identity has, "
        "with recall over the good images in them", "pytorch-metric-learning #525", 1, "AP",
        result=results.with_ap(results.at_largest)),
    Variation(
        "map-at-r", "with MAP@R: AP of the first R places, over R, the number of good images",
        "no thread known; pytorch-metric-learning, mean_average_precision_at_r", kind="AP",
        result=results.with_ap(results.at_size)),
    Variation(
        "reciprocal-rank", "with 1 over the rank of the first good image as AP (mean reciprocal "
        "rank)", "no thread known; reciprocal rank of information retrieval", kind="AP",
        result=results.with_ap(results.reciprocal)),
    Variation(
        "integer-division", "with integer division in AP: 0 but for queries with one good image",
        "layumi #4", 1, "AP", result=results.with_ap(results.in_whole_numbers)),
    Variation(
        "one-rank-late", "with a CMC curve that begins with Rank-2", "no thread known; an index "
        "that counts from 0", kind="CMC", result=results.one_rank_late),
    Variation(
        "query-expansion", f"after query expansion (the {features.EXPANDED} nearest, weighted by "
        "the cubes of their cosines)", "fast-reid #357, #596", 2, "expansion",
        lacks=labels.needs_features, data=features.expanded),
    *(Variation(
        f"{parts}-parts-normalised", f"after each of {parts} parts of the features was normalised "
        "by itself", "layumi #50", 1, lacks=features.needs_parts(parts, 8 * parts),
        data=features.parts_normalised(parts), rankings=("normalised",))
      for parts in (2, 3, 4, 6, 8)),
    Variation(
        "shifted-cameras", "with the cameras of the wrong rows in the gallery: those of query and "
        "gallery together, from the first", "centroids-reid #41", 1, "cameras",
        labels.needs_cameras, data=labels.shifted_cameras),
    Variation(
        "known-identities", "without the gallery images whose identity no query has",
        "no thread known; a gallery without distractors", kind="images", lacks=labels.needs_part,
        data=labels.known_identities),
    Variation(
        "other-cameras", "without any image of the query's camera",
        "MARS-evaluation #3; reid-strong-baseline #159", 2, "cameras", labels.needs_cameras,
        choices=_other_cameras),
    Variation(
        "interpolated", "with AP interpolated (PASCAL VOC since 2010)",
        "deep-image-retrieval #8; scikit-learn #4577", 2, "AP",
        result=results.with_ap(results.interpolated)),
    Variation(
        "eleven-points", "with AP at eleven points (PASCAL VOC 2007)",
        "scikit-learn #4577; ActivityNet #1", 2, "AP",
        result=results.with_ap(results.eleven_points)),
    Variation(
        "centred", "after the mean of each side was subtracted", "Pose2ID #30", 1,
        lacks=labels.needs_features, data=features.centred),
    Variation(
        "centred-together", "after the mean of all images was subtracted", "Pose2ID #30", 1,
        lacks=labels.needs_features, data=features.centred_together),
    Variation(
        "float32-cosine", "with cosine distances computed in single precision",
        "reid-strong-baseline #33; KaiyangZhou/deep-person-reid f8cd150, "
        "torchreid/metrics/distance.py, cosine_distance", 1,
        lacks=labels.needs_features, data=features.in_float32, rankings=("distances",)),
    Variation(
        "standardised", "after each dimension was standardised",
        "no thread known; sklearn.preprocessing.StandardScaler", lacks=labels.needs_features,
        data=features.standardised),
    Variation(
        "square-rooted", "after the square root of each number, with its sign",
        "no thread known; Arandjelovic and Zisserman, CVPR 2012, RootSIFT",
        lacks=labels.needs_features, data=features.square_rooted),
    Variation(
        "identity-mean", "as a mean over identities, not queries",
        "no thread known; macro averages of classification", kind="mean",
        result=results.over_identities),
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
