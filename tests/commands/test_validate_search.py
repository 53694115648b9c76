"""The search of `validate`: each variation is found by its figure, accidents are as announced."""
import functools
import json
import re
import shlex
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, Labels
from reid_ref.analysis.validate import search
from reid_ref.analysis.validate.search import Trials, run_search, searched
from reid_ref.cli import main
from reid_ref.commands.validate.show import as_search
from reid_ref.commands.validate.show.headline import headline
from reid_ref.datasets.published import parse_figure
from reid_ref.ranking.ranked_lists import RankedLists
from reid_ref.variations import VARIATIONS, Variation, chains_of, find_variation, outcomes_of
from reid_ref.variations.features import nearest_of_track, needs_copies
from tests.cases import save_features
from tests.commands.common import command
from tests.nightly import cases
from tests.refusals import refused
from tests.variations import (
    KINDS, digits, evaluated, figure_of, made, plain, quiet, tried)

#: The made file on which only it prints some figure, if not the first one.
KIND = {"float32-cosine": "doubles", "without-junk": "junk query",
        "trapezoids": "clothes", "unmatched-zero": "clothes", "integer-division": "few images",
        "cameras-renumbered": "a camera less",
        "own-copy": "copies", "without-copies": "copies",
        **{name: "many queries" for name in VARIATIONS if name.startswith("batches-of-")},
        **{name: "large classes" for name in VARIATIONS if name.startswith("map-at-1")}}
KIND |= dict.fromkeys(["map-at-20", "map-at-50"], "large classes")


@functools.cache
def alone(kind):
    """What a search tries, without what conventions give by themselves."""
    numbers = {(way.features, way.convention): candidate.numbers()
               for candidate in plain(kind).candidates for way in candidate.ways}
    return tried(kind).other_than(numbers)


def found_of(text, kind="made"):
    """What a search on a made file finds of a figure."""
    return searched(alone(kind), parse_figure(text),
                    [hits.n_query for hits in plain(kind).hit_counts])


def names_of(found):
    return list(dict.fromkeys("+".join(way.variations) for way in found.ways))


def by_figure(kind="made"):
    """The variations that print each figure with two decimals; () is a convention alone."""
    printed = defaultdict(set)
    for each in tried(kind).tried:
        printed[digits(each.numbers["Rank-1"], each.numbers["mAP"])].add(each.way.variations)
    for candidate in plain(kind).candidates:
        printed[digits(candidate.Rank_1, candidate.mAP)].add(())
    return printed


@pytest.mark.parametrize("name", cases(list(VARIATIONS)[::6], VARIATIONS))
def test_a_figure_that_only_this_variation_prints_names_it(name):
    kind = KIND.get(name, "made")
    own = sorted(figure for figure, by in by_figure(kind).items()
                 if by == {(name,)} and all(float(part) > 1 for part in figure.split("/")))
    assert own, f"every figure of {name} is printed by another way, too"
    found = found_of(own[0], kind)
    assert names_of(found) == [name]
    assert all(f"|variation:{name}|" in way.signature for way in found.ways)


def test_variations_are_tried_in_the_order_of_their_threads():
    counts = [record.threads for record in VARIATIONS.values()]
    assert counts == sorted(counts, reverse=True)
    assert counts == [len(re.findall(r"#\d+", record.source)) for record in VARIATIONS.values()]
    ways = [way.way.variations for way in tried().tried]
    assert {name for way in ways for name in way} == {
        name for name, record in VARIATIONS.items() if not record.lacks(made())}


def test_what_ignores_no_camera_has_no_way_without_cameras():
    chains = [(VARIATIONS["other-cameras"],)]
    ways = [way for ways in quiet(lambda: list(outcomes_of(made(), chains, [
        CONVENTIONS["simpleir"], CONVENTIONS["matlab"]], reid_ref.evaluation.how.How())))
        for way in ways]
    assert {way.convention.name for way in ways} == {"matlab"}


def test_a_part_of_the_queries_is_what_an_evaluation_of_them_gives():
    data, rows = made(), np.arange(32)
    assert len(data.query) > 32
    part = replace(data, query=data.query[rows], query_features=data.query_features[rows])
    walk = quiet(reid_ref.explain, data, "torchreid", "batches-of-32", metric="cosine")
    own = evaluated(part, metric="cosine")
    assert np.array_equal(walk.end.cmc, own.cmc) and walk.end.mAP == own.mAP
    assert walk.end.mINP == own.mINP and walk.end.fingerprints.query == own.fingerprints.query
    assert walk.most_moved() == [] and walk.end.counts == own.counts
    assert walk.end.signature["queries"] == "32"


def test_copies_have_equal_numbers_and_zeros_are_no_copies():
    copies, data = KINDS["copies"](made()), KINDS["few images"](made())
    assert needs_copies(replace(
        copies, gallery_features=copies.gallery_features.astype(np.float64))) == ""
    query, gallery = data.query_features.copy(), data.gallery_features.copy()
    query[0] = gallery[0] = 0
    assert needs_copies(replace(data, query_features=query, gallery_features=gallery))


def test_an_image_of_zeros_is_not_the_nearest_of_its_track():
    data = KINDS["few images"](made())
    rows = np.flatnonzero(data.gallery.identity > 0).repeat(2)
    twice = replace(data, gallery=data.gallery[rows], gallery_features=data.gallery_features[rows])
    zeros = twice.gallery_features.copy()
    zeros[::2] = 0
    expected = nearest_of_track(twice).distances
    assert np.array_equal(
        nearest_of_track(replace(twice, gallery_features=zeros)).distances, expected)
    assert not np.isnan(expected).any()


# ---------------------------------------------------------------- what it is worth

@pytest.mark.parametrize("places", [1, 2])
def test_accidents_are_as_often_as_announced(places):
    """Random figures: k/N, and any mAP near the truth."""
    rng, truth = np.random.default_rng(places), evaluated(made())
    counts = [hits.n_query for hits in plain().hit_counts]
    shares = sorted({k / n for n in counts for k in range(n + 1)
                     if abs(k / n - truth.rank(1)) < .03})
    announced, met = [], 0
    while len(announced) < cases(50, 300):
        found = found_of(digits(rng.choice(shares), truth.mAP + rng.uniform(-.03, .03), places))
        announced.append(found.by_accident)
        met += bool(found.ways)
    expected = sum(announced)
    deviation = np.sqrt(sum(share * (1 - share) for share in announced))
    assert abs(met - expected) <= 4 * deviation + 1, (met, expected)


def test_above_a_share_of_accidents_no_sentence_is_written():
    reranked = reid_ref.evaluate_reranked
    data = made()
    result = quiet(reranked, data.query_features, data.gallery_features, data.query, data.gallery,
                   convention="layumi")
    coarse, fine = (found_of(figure_of(result, places)) for places in (0, 3))
    assert not coarse.tells and fine.tells and coarse.by_accident > .01 > fine.by_accident
    answers = [replace(plain(), figure=parse_figure(figure_of(result, places)), search=found)
               for places, found in ((0, coarse), (3, fine))]
    texts = [dict(headline(answer, ["a"]))["answer"] for answer in answers]
    assert texts[0].startswith("no cause can be named: ")
    assert texts[1].startswith("printed after re-ranking as layumi does, with ")
    listed = " ".join(as_search(coarse, ["a"]))
    assert "nothing is called the cause" in listed


def test_more_numbers_narrow_it():
    result = evaluated(made(), CONVENTIONS["torchreid"].replace(top_k=50))
    two = found_of(figure_of(result, 0))
    names = ("Rank-1", "mAP", "mINP", "Rank-5")
    trials = Trials(names)
    quiet(run_search, made(), [CONVENTIONS["torchreid"]], trials)
    text = ",".join(f"{name}={100 * result.value(name):.1f}" for name in names)
    found = searched(trials, parse_figure(text), [len(made().query)])
    assert names_of(found) == ["cut-50"] and found.by_accident < two.by_accident


# ---------------------------------------------------------------- threads

def _with(data, **changes):
    return replace(data, **changes)


def _no_cameras(data):
    return _with(data, gallery=Labels(data.gallery.identity, data.gallery.camera + 10))


def _everything(data, queries):
    """The queries at the end of the gallery; `queries`: what asks."""
    identity = np.r_[data.gallery.identity, data.query.identity]
    camera = np.r_[data.gallery.camera, data.query.camera]
    features = np.r_[data.gallery_features, data.query_features]
    if queries == "queries":
        return _with(data, gallery=Labels(identity, camera), gallery_features=features)
    kept, asks = identity != -1, np.isin(identity, np.unique(data.query.identity))
    return _with(data, query=Labels(identity[asks], camera[asks]),
                 gallery=Labels(identity[kept], camera[kept]), query_features=features[asks],
                 gallery_features=features[kept])


def _swapped(data):
    asks = data.gallery.identity > 0
    return _with(data, query=data.gallery[asks], query_features=data.gallery_features[asks],
                 gallery=data.query, gallery_features=data.query_features)


def _without(data, least):
    kept = data.gallery.identity >= least
    return _with(data, gallery=data.gallery[kept], gallery_features=data.gallery_features[kept])


def _junk_as_people(data):
    identity = np.where(data.gallery.identity == -1, 9999, data.gallery.identity)
    return _with(data, gallery=Labels(identity, data.gallery.camera))


def _half(data, columns):
    return _with(data, query_features=data.query_features[:, columns],
                 gallery_features=data.gallery_features[:, columns])


def _pooled(data, pooling="mean"):
    return _with(data, query_features=reid_ref.pool_queries(
        data.query, *data.multi_query, pooling))


def _asked(data):
    """The queries with a good image alone."""
    good = [((data.gallery.identity == one) & (data.gallery.camera != camera)).any()
            for one, camera in zip(data.query.identity, data.query.camera)]
    return _with(data, query=data.query[np.array(good)],
                 query_features=data.query_features[np.array(good)])


def _centred(data):
    return _with(data, query_features=data.query_features - data.query_features.mean(axis=0),
                 gallery_features=data.gallery_features - data.gallery_features.mean(axis=0))


def reranked(convention, change=lambda data: data):
    def result():
        data = change(made())
        return quiet(reid_ref.evaluate_reranked, data.query_features, data.gallery_features,
                     data.query, data.gallery, convention=convention)
    return result


def given(change, convention, **choices):
    def result():
        record = CONVENTIONS[convention]
        return evaluated(change(made()), record.replace(**choices) if choices else record)
    return result


def same(data):
    return data


#: The thread, or the row of published.csv; what was done; and the numbers, computed without the
#: records of variations.
CASES = [
    ("layumi #233: with re-ranking or without", "reranked-layumi", reranked("layumi")),
    ("fast-reid #3: with re-ranking or without", "reranked-fast-reid", reranked("fast-reid")),
    ("RPTM_reid #6: mAP is after re-ranking", "reranked-strong-baseline-20", reranked("BoT")),
    ("IDKL #4: the test code re-ranks", "reranked-torchreid-raw", reranked("torchreid")),
    ("Ranked_Person_ReID #13: re-ranked", "reranked-strong-baseline-20", reranked("AGW")),
    ("person-re-ranking #15: junk takes part", "reranked-matlab", reranked("matlab")),
    ("TransReID: k1 50, k2 15", "reranked-strong-baseline-50", reranked("TransReID")),
    ("LA-Transformer #3: no camera is looked at", "same-camera-kept",
     given(_no_cameras, "torchreid")),
    ("VERI-Wild #7: no camera is looked at", "same-camera-kept", given(_no_cameras, "layumi")),
    ("TKP #6: queries stay in the gallery", "queries-in-gallery",
     given(lambda data: _everything(data, "queries"), "torchreid")),
    ("fast-reid #58: VehicleID's sides reversed", "exchanged", given(_swapped, "fast-reid")),
    ("fast-reid #334: one gallery image", "one-gallery-image",
     given(same, "torchreid", cmc="single-gallery-shot", normalize=True)),
    ("triplet-loss-baseline #5: -1 in the gallery", "junk-wrong",
     given(_junk_as_people, "open-reid")),
    ("open-reid #16: 16,483 queries", "all-as-both",
     given(lambda data: _everything(data, "all"), "open-reid")),
    ("Market-1501_Attribute #6: 13,115 images", "without-both",
     given(lambda data: _without(data, 1), "layumi")),
    ("MARS-evaluation #3: other cameras only", "other-cameras",
     given(same, "matlab", ignored=("label -1", "same camera"))),
    ("MARS-evaluation #4: queries without a match", "matched-queries", given(_asked, "simpleir")),
    ("batch-dropblock-network #14: max_rank 50", "cut-50", given(same, "torchreid", top_k=50)),
    ("VisDA2020 #3: mAP@100", "cut-100", given(same, "layumi", top_k=100)),
    ("layumi #29: parts without the global feature", "first-half",
     given(lambda data: _half(data, slice(0, 1152)), "layumi")),
    ("layumi #48: multi-query", "multi-query-mean", given(_pooled, "layumi")),
    ("Pose2ID #30: centred features", "centred", given(_centred, "TransReID")),
    ("market1501/ide-resnet50-euclidean-rerank", "reranked-matlab", reranked("matlab")),
    ("market1501/baseline-rerank", "reranked-layumi", reranked("layumi")),
    ("market1501/alignedreid-triplet-resnet50-rerank", "reranked-ranklist",
     reranked(CONVENTIONS["AlignedReID-Re-Production-Pytorch"])),
    ("market1501/baseline-multiquery", "multi-query-mean", given(_pooled, "layumi")),
    ("market1501/2-stream-mq-avg-resnet50", "multi-query-mean", given(_pooled, "matlab")),
    ("market1501/2-stream-mq-max-resnet50", "multi-query-max",
     given(lambda data: _pooled(data, "max"), "matlab")),
    ("market1501/softmax-resnet50-firstmatch", "all-as-both",
     given(lambda data: _everything(data, "all"), "open-reid")),
    ("market1501/softmax-resnet50-allshots", "all-as-both",
     given(lambda data: _everything(data, "all"), "open-reid-allshots")),
]


SOME = cases(CASES[::3], CASES)


@pytest.mark.parametrize("name,make", [case[1:] for case in SOME],
                         ids=[case[0].replace(" ", "-") for case in SOME])
def test_the_cause_of_a_thread_is_named(name, make):
    """In the first three lines, and no false cause stands in a sentence."""
    found = found_of(figure_of(make()).replace("/", "%/") + "%")
    assert name in names_of(found)[:3] and len(names_of(found)) <= 3


def test_a_misprint_is_no_way():
    """As market1501/densenet121-news: digits that no count of queries gives."""
    result = evaluated(made(), "layumi")
    rank1 = Decimal(f"{100 * result.rank(1):.2f}") + Decimal("0.9")
    found = quiet(reid_ref.validate, made(), f"{rank1}/{100 * result.mAP:.2f}", search=False)
    assert not found.possible and found.hit_counts[0].rounding == "no"
    assert found_of(f"{rank1}/{100 * result.mAP:.2f}").ways == ()


def test_many_images_are_not_reranked(monkeypatch):
    monkeypatch.setattr(search, "_MOST_RERANKED", 3)
    trials = Trials(("Rank-1", "mAP"))
    quiet(run_search, made(), [CONVENTIONS["torchreid"]], trials)
    reranked = {name for name, each in VARIATIONS.items() if each.kind == "re-ranking"}
    assert reranked and all("with each" in trials.left_out[name] for name in reranked)
    assert trials.tried and not reranked & {name for each in trials.tried
                                            for name in each.way.variations}


def test_pairs_of_the_declared_list():
    """market1501/2-stream-mq-max-rerank-resnet50: multi-query, then re-ranking."""
    pairs = [chain for chain in chains_of(VARIATIONS.values(), 2) if len(chain) == 2]
    assert all(one.kind != other.kind and (one.pairs or other.pairs) for one, other in pairs)
    trials = Trials(("Rank-1", "mAP"))
    chosen = [find_variation(name) for name in ("reranked-matlab", "multi-query-max")]
    for outcomes in quiet(lambda: list(outcomes_of(
            made(), [tuple(chosen)], [CONVENTIONS["matlab"]], reid_ref.evaluation.how.How()))):
        trials.add(outcomes)
    text = figure_of(reranked("matlab", lambda data: _pooled(data, "max"))())
    found = searched(trials, parse_figure(text), [len(made().query)])
    assert names_of(found) == ["reranked-matlab+multi-query-max"]


# ---------------------------------------------------------------- the command

@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A part of the made file, quick to search."""
    path, data = tmp_path_factory.mktemp("search") / "small.npz", made()
    save_features(path, (data.query_features[:, :64], data.gallery_features[:, :64]), data.query,
                  data.gallery)
    return path


def run(capsys, *words):
    status = main(["validate", *map(str, words)])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_command_names_the_way_and_how_to_reproduce_it(small, capsys):
    result = reid_ref.read(small)
    result = evaluated(result, CONVENTIONS["layumi"].replace(top_k=20), metric="euclidean")
    figure = figure_of(result, 3)
    status, out, _ = run(capsys, small, "--published", figure, "--convention", "layumi")
    words = " ".join(out.split())
    assert status == 1
    assert words.startswith("answer printed of lists cut after 20 images, by layumi's rule on")
    assert words.index("Closest") < words.index("Tried ") < words.index("seen in:")
    assert "no file shows" not in words
    again = words.partition(" check ")[2].partition(" input ")[0]
    main([*shlex.split(again)[1:], "--json"])
    numbers = json.loads(capsys.readouterr().out)
    assert digits(numbers["Rank-1"], numbers["mAP"], 3) == figure


def test_json_has_all_of_it(small, capsys):
    status, out, _ = run(capsys, small, "--published", "45.83/40.17", "--convention", "matlab",
                         "--json")
    search = json.loads(out)["search"]
    assert status == 1 and search.keys() == {"tried", "different", "by_accident", "ways",
                                             "left_out", "not_tried", "nearest"}
    assert search["tried"] >= search["different"] > 50 and search["not_tried"] == []
    found = quiet(reid_ref.validate, reid_ref.read(small), "45.83/40.17",
                  convention="matlab").search
    assert (found.tried, found.different, found.by_accident) == (
        search["tried"], search["different"], search["by_accident"])


def test_none_is_made_where_a_convention_gives_the_digits(small, capsys):
    figure = figure_of(evaluated(reid_ref.read(small), "matlab"))
    words = small, "--published", figure, "--convention", "matlab", "--json"
    status, out, _ = run(capsys, *words)
    assert (status, json.loads(out)["search"]) == (0, None)
    status, out, _ = run(capsys, *words, "--search")
    ways = json.loads(out)["search"]["ways"]
    assert status == 0 and all(way["convention"] == "matlab" for way in ways)
    # What is the same ranking under the same rules is no way of its own.
    assert not any(way["variations"] == ["without-junk"] for way in ways)
    words = "--published", "10/20", "--convention", "matlab", "--json", "--no-search"
    assert json.loads(run(capsys, small, *words)[1])["search"] is None


def test_ctrl_c_gives_what_was_found_so_far(small, capsys, monkeypatch):
    real = outcomes_of
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return real(*arguments)
    monkeypatch.setattr("reid_ref.analysis.validate.search.outcomes_of", interrupted)
    words = small, "--published", "10/20", "--convention", "torchreid"
    status, out, _ = run(capsys, *words, "--json")
    search = json.loads(out)["search"]
    assert status == 1 and search["tried"] >= 3 and "centred" in search["not_tried"]
    calls.clear()
    assert "Interrupted; not tried: " in run(capsys, *words)[1]


def test_distances_and_no_cameras_try_what_applies():
    data = made()
    distances = -data.query_features.astype(float) @ data.gallery_features.T.astype(float)
    bare = reid_ref.ResultFile("d", Labels(data.query.identity), Labels(data.gallery.identity),
                               distances=distances)
    found = quiet(reid_ref.validate, bare, "10/20").search
    assert found.tried > 10 and "got distances" in found.left_out["reranked-matlab"]
    assert found.left_out["same-camera-kept"] == "needs cameras"
    assert {way.way.features for way in _trials_of(bare).tried} == {"distances"}


def _trials_of(data):
    trials = Trials(("Rank-1", "mAP"))
    quiet(run_search, data, [CONVENTIONS["simpleir"]], trials)
    return trials


def test_refusals(capsys):
    refused("search_depth", "1 to 2", reid_ref.validate, made(), "10/20", search_depth=3)
    refused("variation", "same-camera-kept", find_variation, "camera-kept")
    done = command("validate", "--dataset", "market1501", "--published", "81.1/67.6", "--search")
    assert done.returncode == 2 and "--search" in done.stderr
    refused("published", "mAP once", parse_figure, "mAP=1.5,mAP=2.5")
    with pytest.raises(reid_ref.InputError, match="published: measure: .*mAP, Rank-k, mINP"):
        parse_figure("map50=1.5")


def test_a_variation_of_a_package(monkeypatch):
    signs = Variation("signs", "after each feature was replaced by its sign", "ours",
                      data=lambda data: replace(
                          data, query_features=np.sign(data.query_features),
                          gallery_features=np.sign(data.gallery_features)))
    monkeypatch.setattr("reid_ref.extensions.installed",
                        lambda kind, *_: {"signs": signs} if kind == "variation" else {})
    data = made()
    figure = figure_of(evaluated(replace(data, query_features=np.sign(data.query_features),
                                         gallery_features=np.sign(data.gallery_features))))
    found = quiet(reid_ref.validate, data, figure, convention="torchreid").search
    assert ("signs",) in [way.variations for way in found.ways]


# ---------------------------------------------------------------- explain

@pytest.mark.parametrize(("origin", "name"), [
    ("layumi", "reranked-layumi"), ("torchreid", "same-camera-kept"), ("matlab", "exchanged"),
    ("simpleir", "matched-queries"), ("layumi", "cut-20"), ("torchreid", "pairs-of-cameras")])
def test_explain_shows_a_variation_as_one_step(origin, name):
    walk = quiet(reid_ref.explain, made(), origin, name.replace("-", "_"))
    step, = walk.steps
    assert (step.choice, step.value, walk.target) == ("variation", name, VARIATIONS[name])
    assert VARIATIONS[name].words in step.meaning
    assert step.affected > 0
    assert f"|variation:{name}|" in str(walk.end.signature)
    found = [each.numbers for each in tried().tried
             if (each.way.convention, each.way.variations) == (origin, (name,))]
    assert {"Rank-1": walk.end.rank(1), "mAP": walk.end.mAP} in found
    if name == "exchanged":
        assert walk.most_moved() == []


def test_the_command_explains_a_variation(small, capsys):
    words = ["explain", str(small), "--from", "layumi", "--to", "same-camera-kept"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert " variation same-camera-kept" in out and "seen" not in out and "\nmoved most" in out
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["to"]["convention"] == "same-camera-kept"
    assert [step["choice"] for step in answer["steps"]] == ["variation"]
    for origin, target, more, message in (
            ("layumi", "exchanged", ["--query", "0"], "--query: expected two conventions"),
            ("layumi", "multi-query-mean", [], "--to: .*no multi-query images"),
            ("layumi", "camera-kept", [], "--to: .*same-camera-kept"),
            ("simpleir", "same-camera-kept", [], "--to: .*under which it is the same")):
        assert main(["explain", str(small), "--from", origin, "--to", target, *more]) == 2
        assert re.search(message, capsys.readouterr().err)


# ---------------------------------------------------------------- a page

def test_the_rows_of_a_page_against_one_file(small, tmp_path, capsys):
    data = reid_ref.read(small)
    own, cut = (evaluated(data, record, metric="euclidean") for record in (
        CONVENTIONS["matlab"], CONVENTIONS["matlab"].replace(top_k=20)))
    page = tmp_path / "README.md"
    page.write_text("\n".join([
        "| Method | Rank-1 | mAP | mINP |", "|:--|--:|--:|--:|",
        *(f"| {name} | " + " | ".join(f"{100 * value:.3f}" for value in (
            result.rank(1), result.mAP, result.mINP)) + " |"
          for name, result in (("ours", own), ("theirs", cut)))]))
    words = small, "--table", page, "--convention", "matlab"
    status, out, _ = run(capsys, *words)
    first, second = out.splitlines()
    assert status == 1 and first.startswith("ours") and "  printed by matlab's rule on" in first
    assert second.startswith("theirs")
    assert "printed of lists cut after 20 images, by matlab's rule" in second
    rows = json.loads(run(capsys, *words, "--json")[1])["results"]
    assert [row["search"] is None for row in rows] == [True, False]
    page.write_text("nothing")
    for more, message in ((["--published", "10/20"], "no other figure"), ([], "a table with")):
        assert main(["validate", *map(str, words), *more]) == 2
        assert message in capsys.readouterr().err


def test_ranked_lists_try_what_applies():
    data = made()
    order = np.argsort(-data.query_features @ data.gallery_features.T, axis=1, kind="stable")
    lists = reid_ref.ResultFile("lists", data.query, data.gallery,
                                ranked=RankedLists(order, "list {}".format))
    found = quiet(reid_ref.validate, lists, "10/20", convention=["matlab", "torchreid"]).search
    assert {"reranked-matlab", "exchanged", "without-distractors"} <= found.left_out.keys()
    assert found.tried > 20
    kept = evaluated(data, CONVENTIONS["matlab"].replace(ignored=("label -1",)), metric="dot",
                     normalize=False)
    found = quiet(reid_ref.validate, lists, figure_of(kept), convention="matlab").search
    assert names_of(found) == ["same-camera-kept"]


def test_one_point_of_a_drawn_curve_is_that_of_the_whole():
    """To the last bit, though it is computed at once."""
    record = CONVENTIONS["torchreid"].replace(cmc="single-gallery-shot", cmc_length=20)
    whole, first = (evaluated(made(), each) for each in (record, record.replace(cmc_length=1)))
    assert whole.rank(1) == first.rank(1) and len(first.cmc) == 1
