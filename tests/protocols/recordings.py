"""The recordings of the benchmarks' own code, each evaluated by its protocol.

`python -m tests.protocols.recordings` prints the table of docs/protocols.md.

A function below takes the arrays of a file and yields, number by number, what the protocol gives
and what the code answered. `largest` puts the differences of a file together.

Files named `_ties` were recorded with a stable sort, so equal distances are in gallery order. The
other codes leave them as numpy or torch does on some processor: where a good image ties with a
wrong one, `held` takes every answer between those of the worst and the best order.
"""
import itertools
import json
import random
import warnings
from dataclasses import replace
from functools import partial

import numpy as np

import reid_ref
from reid_ref import CONVENTIONS, Labels, evaluate
from reid_ref.evaluation.lists import as_ranked_lists
from reid_ref.evaluation.ranked import Lists
from reid_ref.measures import measure
from reid_ref.metrics import tie_groups, tied_queries
from reid_ref.protocols import (
    Boxes, Part, evaluate_person_search, evaluate_ranked, find_protocol)
from reid_ref.protocols.box_ranks import identities_of_detections
from reid_ref.ranking.good_ranks import first_ranks, of_queries
from reid_ref.result.means import over_trials
from tests.shared import SHARED

FOLDER = SHARED / "goldens" / "protocols"
#: The codes were given squared Euclidean distances of the recorded features.
evaluate_protocol = partial(reid_ref.evaluate_protocol, metric="euclidean", normalize=False)


def in_extreme_order(trial, last):
    """A result with each good image first, or last, among the images at its distance."""
    ranks, convention, n_tied = trial.ranks, trial.convention, len(tied_queries(trial.ranks))
    if not n_tied:
        return trial
    _, before, hits = tie_groups(ranks)
    within = ranks.nth - np.repeat(before, hits)
    moved = replace(ranks, rank=ranks.nearer + within + last * (
        ranks.tied - np.repeat(hits, hits)))
    moved = replace(moved, first_match=np.where(
        ranks.first_match == first_ranks(ranks), first_ranks(moved), ranks.first_match))
    cut, loaded = convention.cut_off(moved), trial.per_query.status != "not loaded"
    per_query = replace(trial.per_query, values={
        name: np.where(np.isnan(before), np.nan, measure(name).of_ranks(moved, convention, 0))
        for name, before in trial.per_query.values.items()})
    if convention.curve.of_rows:  # each tied query can move any point
        cmc = trial.cmc + (1 - 2 * last) * n_tied / convention.n_in_cmc(ranks.n_good[loaded])
    else:
        cmc = convention.curve_of_ranks(of_queries(cut, loaded), len(trial.cmc))
    return replace(trial, per_query=per_query, ranks=moved, cmc=cmc)


def held(result, recorded, of, theirs):
    """`of` a result, next to what the code answered and to the ends of what ties can give."""
    results = [result]
    if result.trials and not recorded["stable"]:
        results += [over_trials([in_extreme_order(trial, last) for trial in result.trials],
                                getattr(result, "average", "trials"), result.signature)
                    for last in (False, True)]
    ours = [np.asarray(of(each)) for each in results]
    return ours[0], theirs, np.minimum.reduce(ours), np.maximum.reduce(ours)


def numbers(result, recorded, key):
    """Each trial's curve, mAP and mINP next to those recorded under a key."""
    for end, name in (("map", "mAP"), ("minp", "mINP")):
        if f"{key}{end}" in recorded:
            yield held(result, recorded, lambda each: [
                getattr(trial, name) for trial in each.trials], recorded[f"{key}{end}"])
    if f"{key}cmc" in recorded:
        theirs = np.atleast_2d(recorded[f"{key}cmc"])
        length = min(theirs.shape[1], *(len(trial.cmc) for trial in result.trials))
        assert length >= min(theirs.shape[1], 10)
        yield held(result, recorded, lambda each: [
            trial.cmc[:length] for trial in each.trials], theirs[:, :length])


def of_matched(name):
    """A function of a result: the values of the queries with a good image, of one trial."""
    return lambda result: getattr(result.per_query, name)[result.per_query.n_good > 0]


def cmc_to(length):
    return lambda result: result.cmc[:length]


def mAP(result):
    return result.mAP


def sides(recorded, *columns):
    """Features and labels under query and gallery, with these columns."""
    for side in ("query", "gallery"):
        yield recorded[f"{side}_features"]
    for side in ("query", "gallery"):
        every = dict(zip(columns, recorded[side].T))
        yield Labels(every.pop("identity"), every.pop("camera"), **every)


def sysu(recorded):
    camera, identity, _ = recorded["image"].T
    images, probe = Labels(identity, camera), recorded["probe"]
    part = "all" if (camera == 5).any() else "indoor"
    shots = 10 if recorded["matlab_gallery"].shape[1] > 1000 else 1
    for protocol, galleries, key in (
            ("sysu-mm01", "matlab", "matlab_"), ("sysu-mm01-python", "python", "python_"),
            ("sysu-mm01-python", "matlab", "python_on_matlab_")):
        result = evaluate_protocol(
            protocol, recorded["features"][probe], recorded["features"], images[probe], images,
            part=part, shots=shots,
            trials=[(None, rows) for rows in recorded[f"{galleries}_gallery"]])
        yield from numbers(result, recorded, key)
        if key == "matlab_":
            yield held(result, recorded, cmc_to(None), recorded["matlab_cmc_mean"])
            yield held(result, recorded, mAP, recorded["matlab_map_mean"])


def regdb(recorded):
    labels, features = recorded["labels"], recorded["features"]
    images = Labels(labels, np.ones_like(labels))
    rows = [np.flatnonzero(np.isin(labels, split)) for split in recorded["splits"]]
    result = evaluate_protocol("regdb", features[:len(labels)], features[len(labels):], images,
                               images, trials=[(split, split) for split in rows])
    for part in ("visible_to_thermal", "thermal_to_visible"):
        yield from numbers(result[part.replace("_", "-")], recorded, f"{part}_")


def llcm(recorded):
    _, camera, identity, _ = recorded["image"].T
    images, features = Labels(identity, camera), recorded["features"]
    query, gallery = recorded["query_nir"], recorded["query_vis"]
    result = evaluate_protocol("llcm", features[query], features[gallery], images[query],
                               images[gallery])
    for part, key in (("infrared-to-visible", "ir_to_vis_"), ("visible-to-infrared", "vis_to_ir_"),
                      ("visible-to-infrared-as-test-py", "vis_to_ir_as_test_py_")):
        yield from numbers(result[part], recorded, key)


def trapezoid(protocol):
    """The authors' trapezoid by a protocol, and the step rule."""
    def of_file(recorded):
        given = list(sides(recorded, "identity", "camera"))
        result = evaluate_protocol(protocol, *given)
        answered = (result.per_query.n_good > 0) | np.isnan(recorded["ap"])
        yield held(result, recorded, lambda each: each.per_query.ap[answered],
                   recorded["ap"][answered])
        yield held(result, recorded, cmc_to(100), recorded["cmc"])
        yield held(result, recorded, mAP,
                   recorded["map"] if "map" in recorded else recorded["ap"].mean())
        step = evaluate(*given, convention="torchreid-function")
        yield from numbers(step, recorded, "step_")
        if "step_ap" in recorded:
            yield held(step, recorded, of_matched("ap"), recorded["step_ap"])
    return of_file


def whole(protocol, *columns):
    """Every part of a protocol on both sides of a file."""
    def of_file(recorded):
        result = evaluate_protocol(protocol, *sides(recorded, "identity", "camera", *columns))
        for part in result:
            yield from numbers(result[part], recorded, f"{part}_" if len(result) > 1 else "")
    return of_file


def deepchange(recorded):
    query, gallery = (Labels(side[:, 0], np.ones(len(side)), video=side[:, 1])
                      for side in (recorded["query"], recorded["gallery"]))
    yield from numbers(evaluate_protocol(
        "deepchange", recorded["query_features"], recorded["gallery_features"], query, gallery),
        recorded, "")


def prcc(recorded):
    query = np.concatenate([recorded["query_same"], recorded["query_diff"]])
    features = np.concatenate([recorded["query_same_features"], recorded["query_diff_features"]])
    labels = [Labels(side[:, 0], side[:, 1]) for side in (query, recorded["gallery"])]
    given = features, recorded["gallery_features"], *labels
    draws = [(None, rows) for rows in recorded["single_gallery"]]
    for protocol, trials, end in (("prcc", None, "_"), ("prcc-single-shot", draws, "_single_")):
        result = evaluate_protocol(protocol, *given, trials=trials)
        for part in ("sc", "cc"):
            yield from numbers(result[part], recorded, f"{part}{end}")


def text(recorded):
    query, gallery = (Labels(recorded[side], np.ones(len(recorded[side])), frame=frame)
                      for side, frame in (("text", recorded["text_image"]),
                                          ("image", np.arange(len(recorded["image"])))))
    given = recorded["text_features"], recorded["image_features"], query, gallery
    how = {"metric": "dot", "normalize": False}
    result = evaluate_protocol("cuhk-pedes", *given, **how)
    for part, key in (("text-to-image", "step"), ("image-to-text", "i2t")):
        if f"{key}_cmc" in recorded:
            theirs = {f"{key}_{end}": recorded[f"{key}_{end}"] / np.float32(100)
                      for end in ("cmc", "map", "minp")}
            yield from numbers(result[part], {**recorded, **theirs}, f"{key}_")
    for key in ("tbps", "aptm"):
        theirs = (recorded[key] / 100).astype(np.float32)
        yield held(result["text-to-image"], recorded, lambda step: [
            *step.cmc[[0, 4, 9]], step.mAP, step.mINP][:len(theirs)], theirs)
    result = evaluate_protocol("icfg-pedes-trapezoid", *given, **how)
    for part, key in (("text-to-image", "trapezoid"), ("without-own-image", "without_own")):
        yield from numbers(result[part], recorded, f"{key}_")


def pool(recorded):
    labels = Labels(recorded["label"], np.zeros(len(recorded["label"])))
    return recorded["features"], recorded["features"], labels, labels


def vehicleid_draws(recorded):
    protocol = find_protocol("vehicleid-draws")
    n = len(recorded["gallery"])
    protocol = replace(protocol, trials=protocol.trials._replace(n=n))
    result = evaluate_protocol(protocol, *pool(recorded))
    yield from numbers(result, recorded, "")
    if "query" in recorded:
        trials = list(zip(recorded["query"], recorded["gallery"]))
        yield from numbers(evaluate_protocol(protocol, *pool(recorded), trials=trials), recorded,
                           "")
    every = [np.setdiff1d(np.arange(len(recorded["label"])), rows) for rows in recorded["gallery"]]
    asks = list(zip(recorded["gallery"], recorded.get("query", every)))
    turned = replace(protocol, parts=(Part(),))
    yield from numbers(evaluate_protocol(turned, *pool(recorded), trials=asks), recorded,
                       "reversed_")


def vehicleid(recorded):
    label = recorded["label"]
    galleries = itertools.product(*(np.flatnonzero(label == each) for each in np.unique(label)))
    every = evaluate_protocol("vehicleid", *pool(recorded), trials=[
        (np.setdiff1d(np.arange(len(label)), rows), rows) for rows in galleries])
    yield held(every, recorded, lambda each: [trial.mAP for trial in each.trials],
               recorded["map_all"])
    yield held(every, recorded, lambda each: [trial.rank(1) for trial in each.trials],
               recorded["rank1_all"].astype(np.float32))
    # An expectation has no ranks, of which ties could be moved: it is the mean of these.
    result = evaluate_protocol("vehicleid", *pool(recorded))
    yield result.mAP, np.mean([trial.mAP for trial in every.trials])
    yield held(every, recorded, mAP, recorded["map_mean"])
    length = min(len(result.cmc), len(recorded["cmc_mean"]))
    yield result.cmc[:length], np.mean([trial.cmc[:length] for trial in every.trials], axis=0)
    yield held(every, recorded, cmc_to(length),  # made of float32
               recorded["cmc_mean"][:length].astype(np.float32))


def veriwild(recorded):
    images = Labels(recorded["label"], recorded["camera"])
    query, gallery = recorded["query"], recorded["gallery"]

    def of(protocol, gallery):
        return evaluate_protocol(protocol, recorded["features"][query],
                                 recorded["features"][gallery], images[query], images[gallery])

    first = {}
    grouped = np.argsort([first.setdefault(k, len(first)) for k in images.identity[gallery]],
                         kind="stable")
    yield from numbers(of("veri-wild-2019", gallery[grouped]), recorded, "code2019_")
    readme = of("veri-wild", gallery)
    yield from numbers(readme, recorded, "readme_")
    yield held(readme, recorded, of_matched("ap"), recorded["readme_ap"])
    lists = [row if k in recorded["challenge_answered"] else []
             for k, row in enumerate(recorded["challenge_lists"])]
    result = evaluate_ranked("veri-wild-challenge", Lists(as_ranked_lists(lists, None, None)),
                             images[query], images[gallery])
    yield from numbers(result, recorded, "challenge_")


def cityflow(recorded):
    query, gallery = (np.load(SHARED / "real" / "cityflow" / f"{side}_annotation.npy")
                      for side in ("query", "gallery"))
    query = query[recorded["query"]]
    labels = [Labels(side.reshape(len(side), -1)[:, 1], np.zeros(len(side)))
              for side in (query, gallery)]
    result = evaluate_ranked("cityflow", Lists(as_ranked_lists(
        recorded["lists"].astype(np.int64) - 1, None, None)), *labels)
    yield from numbers(result, recorded, "")


def mars(recorded):
    tracks = Labels(recorded["label"], recorded["camera"])
    query, features = recorded["query"], recorded["features"]
    for protocol, key in (("mars", "kept"), ("mars-torchreid", "removed")):
        gallery = recorded[f"{key}_gallery"]
        yield from numbers(evaluate_protocol(
            protocol, features[query], features[gallery], tracks[query], tracks[gallery]),
            recorded, f"{key}_")


def cargo(recorded):
    features_and_labels, protocol = list(sides(recorded, "identity", "camera")), find_protocol(
        "cargo")
    labelled = {side: protocol.labelled(labels, side)
                for side, labels in zip(("query", "gallery"), features_and_labels[2:])}
    result = evaluate_protocol("cargo", *features_and_labels)
    for part in ("all", "gg", "aa", "ag"):
        for side, labels in labelled.items():
            rows = getattr(protocol.part(part), side).of(labelled)
            yield rows, recorded[f"{part}_{side}"]
            if part == "ag":
                yield labels.view[rows], recorded[f"{part}_{side}_camera"]
        yield from numbers(result[part], recorded, f"{part}_")
        for name in ("ap", "inp"):
            yield held(result[part], recorded, of_matched(name), recorded[f"{part}_{name}"])


def agreid(recorded):
    images, features = Labels(recorded["identity"], recorded["camera"]), recorded["features"]
    for key in (name.removesuffix("query") for name in recorded if name.endswith("_query")):
        query, gallery = recorded[f"{key}query"], recorded[f"{key}gallery"]
        yield from numbers(evaluate_protocol(
            "ag-reid", features[query], features[gallery], images[query], images[gallery]),
            recorded, key)


def splits(protocol, identity=None):
    def of_file(recorded):
        features = recorded["features"]
        who = recorded["identity"] if identity is None else identity
        labels = Labels(who, recorded.get("camera", np.zeros(len(who))))
        result = evaluate_protocol(protocol, features, features, labels, labels,
                                   trials=list(zip(recorded["query"], recorded["gallery"])))
        yield from numbers(result, recorded, "")
        # Their mean of float32 curves is float32; the mean in double is as near as they are.
        yield held(result, recorded, cmc_to(50),
                   recorded["cmc"].mean(axis=0, dtype=np.float64).astype(np.float32))
        yield held(result, recorded, mAP, recorded["map_mean"])
    return of_file


def viper_evalcmc(recorded):
    of_halves = np.load(FOLDER / "splits_viper.npz")
    labels, features = Labels(np.tile(np.arange(632), 2), np.zeros(1264)), of_halves["features"]
    result = evaluate_protocol(
        "viper", features, features, labels, labels,
        trials=list(zip(of_halves["gallery"][::2], of_halves["query"][::2])))
    yield from numbers(result, recorded, "")
    yield held(result, recorded, cmc_to(100), recorded["cmc_mean"])


def with_tied_identities(features, labels):
    """How many images have kept images of two identities at one distance, all being the gallery.

    torchreid draws identity by identity, in order of their nearest images: another order of a tie
    takes other random numbers.
    """
    number, whole = 0, features.astype(np.int64)
    for k, row in enumerate(whole):
        kept = (labels.identity != labels.identity[k]) | (labels.camera != labels.camera[k])
        pairs = np.unique([((whole[kept] - row)**2).sum(axis=1), labels.identity[kept]], axis=1)
        number += bool((np.diff(pairs[0]) == 0).any())
    return number


def cuhk03_classic(recorded):
    labels = Labels(recorded["identity"], recorded["camera"])
    given = recorded["features"], recorded["features"], labels, labels
    protocol = find_protocol("cuhk03-classic")
    draws = replace(protocol, convention=CONVENTIONS["cuhk03-single-shot-draws-function"])
    yield held(evaluate_protocol(protocol, *given), recorded, mAP, recorded["map"])
    drawn, n_drawn = evaluate_protocol(draws, *given).cmc[:20], 10 * len(labels)
    theirs = recorded["cmc"][0] * np.float64(n_drawn)  # whole numbers but for a sum in float32
    assert np.abs(theirs - theirs.round()).max() < 0.01
    tied = with_tied_identities(recorded["features"], labels) / len(labels)
    yield drawn, theirs.round() / n_drawn, drawn - tied, drawn + tied


def atrw(recorded):
    _, identity, video, camera, frame, kind = recorded["gt"].T
    images = Labels(identity, camera, view=kind, video=video, frame=frame)
    answered, features = recorded["answered"], recorded["features"].astype(np.int64)
    lists = [np.argsort(((features - row)**2).sum(axis=1), kind="stable")
             [:recorded["list_length"] * (k in answered)] for k, row in enumerate(features)]
    lists = Lists(as_ranked_lists(lists, None, None))
    drawn = random.Random(114514)
    rows = [np.flatnonzero(kind == view) for view in (1, 2)]
    for of_part in rows:
        drawn.shuffle(of_part)
    half = len(rows[0]) // 2  # the cross half is cut by half the length of this half
    halves = rows[0][:half], rows[1][:half // 2]
    for part, shuffled, three in (("single", halves[0], slice(3)), ("cross", halves[1],
                                                                    slice(3, 6))):
        for key, trials in (("numbers", None), ("partial", [(shuffled, None)])):
            if key in recorded:
                result = evaluate_ranked("atrw", lists, images, images, part=part, trials=trials)
                yield [result.mAP, result.rank(1), result.rank(5)], recorded[key][three]


def boxes_of(recorded, **given):
    """The truth, detections and queries of a recording of person search."""
    truth, detections = recorded["truth"], recorded["detections"]
    return Boxes(**{**dict(
        image=recorded["names"], truth_image=truth[:, 0], truth_identity=truth[:, 1],
        truth_box=truth[:, 2:], detection_image=detections[:, 0].astype(int),
        detection_box=detections[:, 1:5], detection_score=detections[:, 5],
        detection_features=recorded["detection_features"],
        query_features=recorded["query_features"],
        image_camera=[int(name[1]) for name in recorded["names"].tolist()]), **given})


def queries_of(recorded):
    return {name: recorded[name] for name in ("query_image", "query_identity")}


def searched(part, recorded, key):
    """Each query's AP, and the means, next to those recorded under a key."""
    yield held(part, recorded, lambda each: each.per_query.ap, recorded[f"ap_{key}"])
    yield held(part, recorded, mAP, recorded[f"map_{key}"])
    yield held(part, recorded, lambda each: each.cmc[[0, 4, 9]], recorded[f"topk_{key}"])


def first_ten(part):
    """Which of each query's first ten detections are right."""
    ranks, right = part.trials[0].ranks, np.zeros((len(part.trials[0].per_query.ap), 10))
    inside = ranks.rank <= 10
    right[ranks.query[inside], ranks.rank[inside] - 1] = 1
    return right


def cuhk_sysu(recorded):
    sizes = [size for size in ("50", "100") if f"gallery_{size}" in recorded]
    galleries = {}
    for size in sizes:
        query, image = recorded[f"gallery_{size}"][:, :2].T
        galleries[size] = image.reshape(query.max() + 1, -1)
    boxes = boxes_of(recorded, galleries=galleries, **queries_of(recorded))
    result = evaluate_person_search("cuhk-sysu", boxes)
    assert list(result) == sizes
    for size in sizes:
        yield from searched(result[size], recorded, size)
        yield first_ten(result[size])[:, 0], recorded[f"first_hit_{size}"].astype(float)
        yield result[size].trials[0].per_query.ap, recorded[f"oim_ap_{size}"]
        yield first_ten(result[size]), recorded[f"oim_correct10_{size}"].astype(float)
    whole = evaluate_person_search("cuhk-sysu", boxes, part="whole")
    yield whole.trials[0].per_query.ap, recorded["oim_ap_full"]
    defined = np.ones(len(whole.trials[0].per_query.ap), dtype=bool)
    if not recorded["stable"]:
        defined[tied_queries(whole.trials[0].ranks)] = False
    yield first_ten(whole)[defined], recorded["oim_correct10_full"][defined].astype(float)


def prw(recorded):
    boxes = boxes_of(recorded, **queries_of(recorded))
    for name, key in (("prw", "all_cameras"), ("prw-multi-view", "other_cameras")):
        result = evaluate_person_search(name, boxes)["all"]
        yield from searched(result, recorded, key)
        yield first_ten(result), recorded[f"correct10_{key}"].astype(float)


def prw_matlab(recorded):
    identity, camera = recorded["query"].T
    cameras = np.array([int(name[1]) for name in recorded["names"].tolist()])
    boxes = boxes_of(recorded, query_identity=identity, query_image=[
        np.flatnonzero(cameras == number)[0] for number in camera])
    labels, missed = identities_of_detections(boxes)
    theirs = recorded["id_camera_gallery"][:, 0]
    yield labels, np.where(theirs == -2, -1, theirs)
    yield np.sort(boxes.truth_identity[missed]), np.sort(recorded["missed"][:, 0])
    result = evaluate_person_search("prw-matlab", boxes, boxes_per_image=recorded["windows"])
    parts = list(result.values())
    assert len(parts) == 30
    yield [part.trials[0].per_query.ap for part in parts], recorded["ap"]
    yield [part.mAP for part in parts], recorded["map"]
    for k in (1, 20):
        yield [part.rank(min(k, len(part.cmc))) for part in parts], recorded[f"r{k}"]


#: Beginning of a file's name to its function and to the protocols that it holds.
KINDS = {
    "sysu_all": (sysu, "sysu-mm01, sysu-mm01-python"),
    "sysu_indoor": (sysu, "sysu-mm01, sysu-mm01-python"),
    "regdb": (regdb, "regdb"),
    "llcm": (llcm, "llcm"),
    "msmt17": (trapezoid("msmt17"), "msmt17"),
    "occluded_duke": (trapezoid("occluded-duke"), "occluded-duke"),
    "ltcc": (whole("ltcc", "clothes"), "ltcc"),
    "ccvid": (whole("ccvid", "clothes"), "ccvid"),
    "prcc": (prcc, "prcc, prcc-single-shot"),
    "vcclothes": (whole("vc-clothes", "clothes"), "vc-clothes"),
    "deepchange": (deepchange, "deepchange"),
    "celeb": (whole("celeb-reid"), "celeb-reid"),
    "text": (text, "cuhk-pedes, icfg-pedes, rstpreid, cuhk-pedes-trapezoid, icfg-pedes-trapezoid, "
             "rstpreid-trapezoid"),
    "vehicleid_draws": (vehicleid_draws, "vehicleid-draws"),
    "vehicleid_expectation": (vehicleid, "vehicleid"),
    "veriwild": (veriwild, "veri-wild, veri-wild-2019, veri-wild-challenge"),
    "cityflow": (cityflow, "cityflow"),
    "mars": (mars, "mars, mars-torchreid"),
    "cargo": (cargo, "cargo"),
    "agreid": (agreid, "ag-reid, ag-reid-v2"),
    "atrw": (atrw, "atrw"),
    "splits_viper": (splits("viper", np.tile(np.arange(632), 2)), "viper"),
    "splits_viper_evalcmc": (viper_evalcmc, "viper"),
    "splits_cuhk01": (splits("cuhk01", np.arange(800) // 4), "cuhk01"),
    "splits_prid": (splits("prid2011", np.r_[:200, :749]), "prid2011"),
    "splits_grid": (splits("grid"), "grid"),
    "splits_ilids": (splits("ilids", np.arange(476) // 4), "ilids"),
    "cuhk03_classic": (cuhk03_classic, "cuhk03-classic"),
    "person_search_cuhk": (cuhk_sysu, "cuhk-sysu"),
    "person_search_prw": (prw, "prw, prw-multi-view"),
    "person_search_prw_matlab": (prw_matlab, "prw-matlab"),
}


def kind_of(name):
    """The longest beginning of a file's name in `KINDS`, or None."""
    return max((kind for kind in KINDS if name.startswith(kind)), key=len, default=None)


def largest(path):
    """The largest difference from double and from float32 numbers in a file."""
    with np.load(path, allow_pickle=False) as stored:
        recorded = {name: stored[name] for name in stored.files}
    json.loads(str(recorded["about"]))
    recorded["stable"] = "_ties" in path.stem
    worst = {"double": 0.0, "float32": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for ours, theirs, *ends in KINDS[kind_of(path.stem)][0](recorded):
            theirs, low, high = map(np.squeeze, (theirs, *(ends or (ours, ours))))
            precision = "float32" if theirs.dtype == np.float32 else "double"
            assert np.array_equal(np.isnan(low), np.isnan(theirs))
            worst[precision] = max(worst[precision], float(np.nanmax(np.abs(
                np.clip(theirs, low, high) - theirs))))
    return worst


#: Beginnings of the names of files that are no evaluation by a protocol, and are tested elsewhere.
ELSEWHERE = ("thresholds_", "sysu_python_galleries")


def table(files):
    """The rows of docs/protocols.md: protocols, number of files, largest differences."""
    rows = {}
    for path in files:
        protocols, differences = KINDS[kind_of(path.stem)][1], largest(path)
        n, *worst = rows.get(protocols, (0, 0, 0))
        rows[protocols] = n + 1, *map(max, worst, differences.values())
    return "\n".join(f"| {protocols} | {n} | " + " | ".join(
        f"{difference:.0e}" if difference else "0" for difference in worst) + " |"
        for protocols, (n, *worst) in rows.items())


if __name__ == "__main__":
    print(table(path for path in sorted(FOLDER.glob("*.npz")) if kind_of(path.stem)))
