"""Person search: boxes to ranks, by hand, by brute force, and on the flags that papers printed."""
import json
import re
import warnings
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from reid_ref import LabelWarning, UnmatchedWarning
from reid_ref.protocols import PROTOCOLS, Boxes, evaluate_person_search, read_boxes
from reid_ref.protocols.box_ranks import identities_of_detections, overlaps
from tests.commands.common import assert_one_line_error, refusal
from tests.documents import ROOT, command
from tests.refusals import refused
from tests.shared import shared

SEARCH = [name for name, protocol in PROTOCOLS.items() if protocol.boxes]


def boxes_of(**changes):
    """Two queries, four images, six detections; person 7 is missed in image 3."""
    given = dict(
        image=["a.jpg", "b.jpg", "c.jpg", "d.jpg"], image_camera=[1, 1, 2, 2],
        truth_image=[0, 1, 2, 3, 0, 2], truth_identity=[7, 7, 7, 7, 8, 8],
        truth_box=[[0, 0, 40, 100]] * 4 + [[60, 0, 100, 100]] * 2,
        detection_image=[1, 1, 2, 2, 0, 3],
        detection_box=[[0, 0, 40, 90], [0, 0, 40, 80], [0, 0, 40, 95], [60, 0, 100, 90],
                       [0, 0, 40, 100], [60, 0, 100, 100]],
        detection_score=[.9, .8, .7, .6, .9, .9], query_image=[0, 0], query_identity=[7, 8],
        similarity=[[.5, .7, .6, .8, 1., .1], [.1, .2, .3, .9, .8, .4]],
        galleries={"50": [[1, 2, 3], [2, 3, -1]]})
    return Boxes(**{**given, **changes})


def arrays_of(boxes, **changes):
    """The arrays of a file."""
    return {**{name: value for name, value in vars(boxes).items()
               if value is not None and name != "galleries"},
            "gallery_50": boxes.galleries["50"], **changes}


def by_brute_force(boxes, images, query, least=.5):
    """AP and the flags of one query's detections in order, as a person would work them out."""
    flags, count, seen = [], 0, []
    for image in images:
        truth = [box for identity, shown, box in zip(
            boxes.truth_identity, boxes.truth_image, boxes.truth_box)
            if identity == boxes.query_identity[query] and shown == image][:1]
        count += len(truth)
        if image in seen:
            continue
        seen.append(image)
        rows = [(-boxes.similarity[query, k], k) for k in range(len(boxes.detection_image))
                if boxes.detection_image[k] == image and boxes.detection_score[k] >= least]
        right = None
        for _, k in sorted(rows):
            if truth and right is None:
                width, height = truth[0][2:] - truth[0][:2]
                if iou(truth[0], boxes.detection_box[k]) >= min(
                        Fraction(1, 2), Fraction(int(width * height),
                                                 int((width + 10) * (height + 10)))):
                    right = k
        flags += [(distance, k == right) for distance, k in rows]
    flags = [flag for _, flag in sorted(flags)]
    hits = np.flatnonzero(flags) + 1
    ap = sum(Fraction(k, int(rank)) for k, rank in enumerate(hits, 1)) / count
    return float(ap), flags


def iou(first, second):
    sides = [max(0, min(first[k + 2], second[k + 2]) - max(first[k], second[k])) for k in (0, 1)]
    common = Fraction(int(sides[0]) * int(sides[1]))
    areas = [int((box[2] - box[0]) * (box[3] - box[1])) for box in (first, second)]
    return common / (sum(areas) - common)


def random_boxes(seed):
    rng = np.random.default_rng(seed)
    n_image, n_query, n = 12, 5, 60
    truth_image = np.concatenate([rng.permutation(n_image)[:6] for _ in range(n_query)])
    corner = rng.integers(0, 60, (len(truth_image), 2))
    truth = np.hstack([corner, corner + rng.integers(6, 40, corner.shape)])
    near = rng.integers(0, len(truth), n)
    detected = truth[near] + rng.integers(-4, 5, (n, 4))
    detected[:, 2:] = np.maximum(detected[:, 2:], detected[:, :2] + 1)
    identity = np.repeat(np.arange(1, n_query + 1), 6)
    return Boxes(
        [f"{k}.jpg" for k in range(n_image)], truth_image, identity, truth,
        truth_image[near], detected, rng.random(n), truth_image[::6], np.arange(1, n_query + 1),
        similarity=rng.permutation(n_query * n).reshape(n_query, n),
        image_camera=np.arange(n_image) % 3,
        galleries={"50": rng.integers(0, n_image, (n_query, 9))})


class TestByHand:
    def test_first_overlap(self):
        """Person 7: image 1 at rank 2, its other detection is wrong, 2 at rank 3, 3 missed."""
        result = evaluate_person_search("cuhk-sysu", boxes_of())["50"]
        ranks = result.trials[0].ranks
        assert ranks.rank.tolist() == [2, 3, 1] and ranks.n_good.tolist() == [3, 1]
        assert ranks.image.tolist() == [1, 2, 3] and ranks.n_kept.tolist() == [5, 3]
        np.testing.assert_allclose(result.trials[0].per_query.ap, [(1 / 2 + 2 / 3) / 3, 1])
        assert (result.rank(1), result.rank(2)) == (.5, 1) and np.isnan(result.mINP)
        assert len(result.cmc) == 5

    def test_other_cameras(self):
        result = evaluate_person_search("prw-multi-view", boxes_of())["all"]
        ranks = result.trials[0].ranks
        assert ranks.rank.tolist() == [2, 1] and ranks.n_good.tolist() == [2, 1]
        np.testing.assert_allclose(result.trials[0].per_query.ap, [1 / 4, 1])

    def test_labels_of_matlab(self):
        """Of two detections of one person the one that overlaps less is junk; so is 0.3 to 0.5."""
        boxes = boxes_of(detection_box=[
            [0, 0, 40, 90], [0, 0, 40, 80], [0, 0, 40, 41], [60, 0, 100, 20], [0, 0, 40, 100],
            [60, 0, 100, 100]])
        identity, missed = identities_of_detections(boxes)
        assert identity.tolist() == [7, -1, -1, 0, 7, 0] and missed.tolist() == [2, 3, 4, 5]
        result = evaluate_person_search("prw-matlab", boxes)["all"]
        assert result.trials[0].per_query.n_good.tolist() == [2, 1]
        assert result.mAP == 0

    def test_images_without_a_detection_are_skipped_in_matlab(self):
        boxes = boxes_of(detection_image=[1, 1, 2, 2, 0, 2])
        assert identities_of_detections(boxes)[1].tolist() == [4]
        python = evaluate_person_search("prw", boxes)["all"].trials[0]
        assert python.per_query.n_good.tolist() == [3, 1]

    def test_a_repeated_image_is_ranked_once_and_counted_twice(self):
        once, twice = (evaluate_person_search("cuhk-sysu", boxes_of(
            galleries={"50": [row, [2, 3, -1, -1]]}))["50"].trials[0]
            for row in ([1, 2, 3, -1], [1, 2, 3, 1]))
        assert once.ranks.rank.tolist() == twice.ranks.rank.tolist()
        assert (once.ranks.n_good[0], twice.ranks.n_good[0]) == (3, 4)

    def test_equal_similarities_are_in_reversed_order_of_the_first_listing(self):
        """Images 1 and 2, each sorted from its end: detections 1, 0 and 3, 2; and all reversed."""
        boxes = boxes_of(similarity=np.ones((2, 6)), galleries={"50": [[1, 2, 1], [2, 2, 2]]})
        ranks = evaluate_person_search("cuhk-sysu", boxes)["50"].trials[0].ranks
        assert ranks.image[:2].tolist() == [2, 1] and ranks.rank[:2].tolist() == [1, 4]

    def test_of_a_person_twice_in_one_image_the_first_box_counts(self):
        more = {"truth_image": [0, 1, 2, 3, 0, 2, 2], "truth_identity": [7, 7, 7, 7, 8, 8, 7],
                "truth_box": [[0, 0, 40, 100]] * 4 + [[60, 0, 100, 100]] * 3}
        once, twice = (evaluate_person_search("prw", boxes_of(**changes)).trials[0].ranks
                       for changes in ({}, more))
        assert once == twice and once.image.tolist() == [1, 2, 3]

    def test_a_detection_has_the_identity_of_the_first_box_of_equal_overlap(self):
        boxes = boxes_of(truth_box=[[0, 0, 40, 100]] * 6)
        identity, missed = identities_of_detections(boxes)
        assert identity[[2, 4]].tolist() == [7, 7] and missed.tolist() == [3, 4, 5]

    def test_detections_below_the_score_count_as_missed(self):
        result = evaluate_person_search("cuhk-sysu", boxes_of(), min_score=[.65, .85])
        assert list(result) == ["score 0.65", "score 0.85"]
        assert [part.trials[0].ranks.found.tolist() for part in result.values()] == [[2, 0],
                                                                                     [1, 0]]
        assert [part.trials[0].ranks.n_good.tolist() for part in result.values()] == [[3, 1]] * 2

    def test_boxes_per_image_keep_the_highest_scores(self):
        kept = evaluate_person_search("prw", boxes_of(), boxes_per_image=.75)["all"]
        assert kept.trials[0].counts.gallery == 3
        assert kept.mAP == evaluate_person_search("prw", boxes_of(), min_score=.85).mAP

    def test_overlap_with_and_without_the_last_pixel(self):
        boxes = boxes_of(truth_box=[[0, 0, 9, 9]] * 6, detection_box=[[0, 0, 9, 4]] * 6)
        assert overlaps(boxes)[2][0] == 36 / 81 and overlaps(boxes, 1)[2][0] == 50 / 100


@pytest.mark.filterwarnings("ignore::reid_ref.LabelWarning")
class TestBruteForce:
    @pytest.mark.parametrize("seed", range(12))
    def test_galleries_with_repeated_images(self, seed):
        boxes = random_boxes(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            result = evaluate_person_search("cuhk-sysu", boxes)["50"].trials[0]
        for query, listed in enumerate(boxes.galleries["50"]):
            if not result.per_query.n_good[query]:
                continue
            ap, flags = by_brute_force(boxes, listed, query)
            np.testing.assert_allclose(result.per_query.ap[query], ap, rtol=0, atol=1e-15)
            ranks = result.ranks.rank[result.ranks.query == query]
            assert (np.flatnonzero(flags) + 1).tolist() == ranks.tolist()

    @pytest.mark.parametrize("name", ["prw", "prw-multi-view"])
    @pytest.mark.parametrize("seed", range(6))
    def test_all_images(self, seed, name):
        boxes = random_boxes(seed)
        result = evaluate_person_search(name, boxes)["all"].trials[0]
        camera = boxes.image_camera
        for query, asks in enumerate(boxes.query_image):
            images = [image for image in range(len(boxes.image)) if image != asks and (
                name == "prw" or camera[image] != camera[asks])]
            ap, _ = by_brute_force(boxes, images, query)
            np.testing.assert_allclose(result.per_query.ap[query], ap, rtol=0, atol=1e-15)

    def test_features_and_their_similarity_give_the_same(self):
        rng = np.random.default_rng(0)
        query, detected = rng.integers(-3, 4, (5, 3)), rng.integers(-3, 4, (60, 3))  # many ties
        boxes = replace(random_boxes(0), similarity=query @ detected.T)
        features = replace(boxes, similarity=None, query_features=query,
                           detection_features=detected)
        for name in SEARCH[1:3]:
            ours, theirs = (evaluate_person_search(name, each).trials[0].ranks
                            for each in (features, boxes))
            assert ours == theirs


@pytest.mark.filterwarnings("ignore::reid_ref.NaNWarning")
def test_features_that_are_all_zero_rank_last():
    boxes = boxes_of(similarity=None, query_features=[[1., 0.], [0., 1.]], detection_features=[
        [0., 0.], [0., 0.], [0., 0.], [1., 2.], [2., 1.], [-1., 0.]])
    ranks = evaluate_person_search("prw", boxes, normalize=True).trials[0].ranks
    assert ranks.image.tolist() == [2, 1, 3] and ranks.rank.tolist() == [3, 5, 1]


@pytest.mark.parametrize("paper, wrong, published", [
    ("ampn", 119, 95.9), ("solider_swin_base", 130, 95.52)])
def test_flags_that_papers_printed(paper, wrong, published):
    """The ten best boxes of each query whose first is wrong, of 2,900, with the authors' flags."""
    with open(shared("real/person_search") / f"{paper}.json", encoding="utf-8") as file:
        queries = json.load(file)["results"]
    image = [f"{k}/{name}" for k, query in enumerate(queries) for name in dict.fromkeys(
        ["query", "missed", *(entry["img"] for entry in query["query_gt"] + query["gallery"])])]
    place = {name: number for number, name in enumerate(image)}
    # The authors list only images with a detection; an image without one flags no box.
    missed = {"img": "missed", "roi": [0, 0, 1, 1]}
    truth, detected = (
        [(k, entry) for k, query in enumerate(queries) for entry in query[key] + more]
        for key, more in (("query_gt", [missed]), ("gallery", [])))
    similarity = np.zeros((len(queries), len(detected)))
    for number, (k, entry) in enumerate(detected):
        similarity[k, number] = entry["score"]
    listed = [sorted(number for name, number in place.items() if name.startswith(f"{k}/")
                     and not name.endswith("/query")) for k in range(len(queries))]
    longest = max(map(len, listed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = evaluate_person_search("cuhk-sysu", Boxes(
            image, [place[f"{k}/{entry['img']}"] for k, entry in truth],
            [k + 1 for k, _ in truth], [entry["roi"] for _, entry in truth],
            [place[f"{k}/{entry['img']}"] for k, entry in detected],
            [entry["roi"][:4] for _, entry in detected],
            [entry["roi"][4] for _, entry in detected],
            [place[f"{k}/query"] for k in range(len(queries))], np.arange(len(queries)) + 1,
            similarity=similarity,
            galleries={"100": [row + [-1] * (longest - len(row)) for row in listed]}))["100"]
    ranks = result.trials[0].ranks
    flags = np.zeros((len(queries), 10), dtype=int)
    flags[ranks.query, ranks.rank - 1] = 1
    assert flags.tolist() == [[entry["correct"] for entry in query["gallery"]]
                              for query in queries]
    assert len(queries) == wrong and result.rank(1) == 0
    assert round(100 * (1 - wrong / 2900), len(str(published).partition(".")[2])) == published


class TestWrongInput:
    @pytest.mark.parametrize("changes, argument, noun", [
        ({"truth_box": [[0, 0, 40, 0]] * 6}, "truth_box", "0, 0, 40, 0 in row 0"),
        ({"detection_box": [[0, 0, 40]] * 6}, "detection_box", "of shape (6, 4)"),
        ({"truth_box": None}, "truth_box", "numbers of shape (6, 4)"),
        ({"query_identity": None}, "query_identity", "a vector"),
        ({"detection_box": [[0, 0, 40, np.nan]] * 6}, "detection_box", "finite numbers"),
        ({"detection_image": [1, 1, 2, 2, 0, 4]}, "detection_image", "images 0 to 3"),
        ({"truth_image": [-1] * 6}, "truth_image", "images 0 to 3"),
        ({"detection_score": [.9, .8, .7, .6, .9, np.inf]}, "detection_score", "inf at index 5"),
        ({"detection_score": [.9]}, "detection_score", "numbers of shape (6,)"),
        ({"similarity": [[1.] * 6]}, "similarity", "numbers of shape (2, 6)"),
        ({"similarity": [[np.nan] * 6] * 2}, "similarity", "finite numbers"),
        ({"similarity": None}, "similarity", "query_features and"),
        ({"query_features": [[1.]] * 2}, "similarity", "query_features, simil"),
        ({"similarity": None, "query_features": [[1.]] * 2, "detection_features": [[1., 2.]] * 6},
         "query_features, detection_features", "the same dimension"),
        ({"query_identity": [7, 9]}, "query_identity", "identities that are annotated"),
        ({"galleries": {"60": [[1], [2]]}}, "galleries", "unknown '60'"),
        ({"galleries": {"50": [[1]]}}, "gallery_50", "one row for each of 2"),
        ({"galleries": {"50": [[1], [9]]}}, "gallery_50", "images 0 to 3"),
        ({"image": ["a", "a", "b", "c"]}, "image", "each name once"),
        ({"image_camera": [1]}, "image_camera", "4 entries"),
        ({"truth_identity": [7]}, "truth_identity", "6 entries"),
        ({"query_image": [], "query_identity": []}, "query_image", "at least one"),
    ])
    def test_boxes(self, changes, argument, noun):
        refused(argument, noun, boxes_of, **changes)

    @pytest.mark.parametrize("name, changes, options, argument, noun", [
        ("ltcc", {}, {}, "protocol", "one of person search:"),
        ("cuhk-sysu", {}, {"part": "100"}, "galleries", "the gallery of 100 images"),
        ("cuhk-sysu", {}, {"part": "60"}, "part", "unknown '60'"),
        ("prw-matlab", {"image_camera": None}, {}, "image_camera", "the camera of each"),
        ("prw", {}, {"min_score": .95}, "min_score", "at most 0.9, the highest"),
        ("prw", {}, {"boxes_per_image": [9]}, "boxes_per_image", "more than 0 and at most 1.5"),
        ("prw", {}, {"min_score": .5, "boxes_per_image": 1}, "boxes_per_image", "this or"),
        ("prw", {}, {"metric": "cosine"}, "metric, normalize", "features"),
    ])
    def test_options(self, name, changes, options, argument, noun):
        refused(argument, noun, evaluate_person_search, name, boxes_of(**changes), **options)

    def test_images_without_boxes_are_warned_of(self):
        with pytest.warns(LabelWarning, match=r"1 of 5 images .* \(first: e.jpg\)"):
            boxes_of(image=[*"abcd", "e.jpg"], image_camera=[1, 1, 2, 2, 2])

    def test_queries_whose_person_no_image_of_the_gallery_shows_are_left_out(self):
        boxes = boxes_of(galleries={"50": [[1, 2], [1, 3]]})
        with pytest.warns(UnmatchedWarning, match="1 of 2 queries .* gallery .*: 1.*left out"):
            result = evaluate_person_search("cuhk-sysu", boxes)["50"]
        assert result.mAP == result.trials[0].per_query.ap[0] and result.counted == 1


class Annotations:
    """The annotations of SeqNet's data sets, and its file of galleries, made of `Boxes`."""

    def __init__(self, boxes):
        self.annotations = [
            {"img_name": name, "boxes": boxes.truth_box[boxes.truth_image == image],
             "pids": boxes.truth_identity[boxes.truth_image == image],
             "cam_id": boxes.image_camera[image]} for image, name in enumerate(boxes.image)]
        self.queries = [{"img_name": boxes.image[image], "pids": np.array([identity])}
                        for image, identity in zip(boxes.query_image, boxes.query_identity)]
        self.galleries = []
        for row in boxes.galleries["50"]:
            entries = np.empty((1, len(row)), dtype=object)
            for k, image in enumerate(row):
                entries[0, k] = np.array([boxes.image[image]]), np.zeros((1, 0))
            self.galleries.append(entries)


class TestCommand:
    @pytest.fixture
    def file(self, tmp_path):
        np.savez(tmp_path / "boxes.npz", **arrays_of(boxes_of()))
        return tmp_path / "boxes.npz"

    def test_without_a_protocol(self, file):
        """Nothing is guessed: gallery_50 is no name of features that is nearly right."""
        line = refusal("evaluate", file)
        assert "boxes.npz: " in line and "--protocol cuhk-sysu; " in line
        assert "did you mean" not in line

    @pytest.mark.parametrize("name", SEARCH)
    def test_numbers(self, file, name):
        answer = json.loads(command("evaluate", file, "--protocol", name, "--json").stdout)
        wanted = evaluate_person_search(name, read_boxes(file))
        assert [part["mAP"] for part in answer["parts"]] == [
            part.mAP for part in wanted.values()]
        assert answer["parts"][0]["signature"] == str(next(iter(wanted.values())).signature)
        text = command("evaluate", file, "--protocol", name).stdout
        assert f"protocol  {name}: " in text and f"{100 * wanted.mAP:.2f}" in text

    def test_a_saved_result_has_no_distractors_and_no_ties_to_look_at(self, file):
        """Boxes have no identity, and `ties` follows no protocol."""
        saved = file.with_name("saved.json")
        part = evaluate_person_search("cuhk-sysu", read_boxes(file))
        first = next(iter(part))
        command("evaluate", file, "--protocol", "cuhk-sysu", "--part", first, "--save", saved)
        text = command("evaluate", saved).stdout
        assert "queries   " in text and "distractor" not in text and "reid-ref ties" not in text

    def test_scores_and_numbers_of_boxes(self, file):
        for option, words in (("--min-score", "score 0.7"), ("--boxes-per-image", "0.7 boxes")):
            text = command("evaluate", file, "--protocol", "prw", option, "0.7,0.75").stdout
            assert f"\n{words} " in text and f"detections:{words}" in " ".join(text.split())

    @pytest.mark.parametrize("options, message", [
        ("--protocol prw --min-score 2", "--min-score: .*at most 0.9"),
        ("--protocol prw --boxes-per-image 7", "--boxes-per-image: .*at most"),
        ("--protocol prw --trials x", "--trials: .*another protocol"),
        ("--protocol prw --part 50", "--part: unknown '50'; known: all"),
        ("--protocol mars --min-score .5", "--min-score: .*person search"),
        ("--min-score .5", "--min-score: .*--protocol"),
        ("absent.json --protocol prw", "FILE: .*one file of boxes"),
        *((f"--protocol prw --min-score={text}", "--min-score: .*different numbers from 0")
          for text in ("x", "-1", "0.5,0.5", "nan"))])
    def test_wrong_options(self, file, options, message):
        assert_one_line_error(command("evaluate", file, *options.split()), message)

    def test_a_json_file_is_no_saved_result(self, file):
        with np.load(file) as stored:
            file.with_suffix(".json").write_text(json.dumps(
                {name: stored[name].tolist() for name in stored.files}))
        answers = [json.loads(command("evaluate", path, "--protocol", "prw", "--json").stdout)
                   for path in (file, file.with_suffix(".json"))]
        assert answers[0]["parts"] == answers[1]["parts"]


@pytest.mark.filterwarnings("ignore::reid_ref.LabelWarning")
class TestFiles:
    def test_the_recipe_for_seqnet(self, tmp_path, monkeypatch):
        """The lines of docs/person-search.md, on what SeqNet's evaluation loop holds."""
        monkeypatch.chdir(tmp_path)
        made = random_boxes(0)
        rng = np.random.default_rng(0)
        detected = np.argsort(made.detection_image, kind="stable")
        features = rng.random((60, 4)), rng.random((5, 4))
        seqnet, of_image = Annotations(made), [
            made.detection_image[detected] == image for image in range(len(made.image))]
        detections = np.column_stack([made.detection_box, made.detection_score])[detected]
        lists, arrays = re.findall(r"^```\n(annos.*?)^```", (
            ROOT / "docs/person-search.md").read_text(), re.MULTILINE | re.DOTALL)
        queries = SimpleNamespace(annotations=seqnet.queries)
        names = {
            "np": np, "gallery_dataset": seqnet, "protoc": {"Gallery": seqnet.galleries},
            "query_dataset": queries, "gallery_loader": SimpleNamespace(dataset=seqnet),
            "query_loader": SimpleNamespace(dataset=queries),
            "gallery_dets": [detections[mask] if mask.any() else [] for mask in of_image],
            "gallery_feats": [features[0][mask, :, np.newaxis] for mask in of_image],
            "query_box_feats": list(features[1])}
        exec(arrays.replace("gallery_100", "gallery_50"), names)
        boxes = read_boxes("boxes.npz")
        wanted = replace(
            made, detection_image=made.detection_image[detected], similarity=None,
            detection_box=made.detection_box[detected], query_features=features[1],
            detection_score=made.detection_score[detected], detection_features=features[0])
        for name in SEARCH[:3]:
            assert evaluate_person_search(name, boxes).mAP == evaluate_person_search(
                name, wanted).mAP
        exec(lists, {"torch": pytest.importorskip("torch"), **names})
        assert read_boxes("boxes.pth") == replace(boxes, galleries={})
        line = refusal("evaluate", tmp_path / "boxes.pth")
        assert "boxes.pth: " in line and "--protocol cuhk-sysu; " in line

    @pytest.mark.parametrize("changes, message", [
        ({"query_image": ["a.jpg", "z.jpg"]}, "boxes.pth: query_image: .*'z.jpg'"),
        ({"gallery_dets": [np.zeros((1, 5)), np.zeros((1, 4))]}, "boxes.pth: gallery_dets: "),
        ({"gallery_dets": [np.zeros((1, 5)), None]}, "boxes.pth: gallery_dets: .*nothing as ent"),
        ({"gallery_feats": [np.zeros((1, 3))]}, "boxes.pth: detection_features: "),
        ({"truth_box": [np.array([[0, 0, 9, 9]] * 3)]}, "boxes.pth: truth_identity: "),
        ({}, "no image")])
    def test_lists_that_are_wrong(self, tmp_path, changes, message):
        torch = pytest.importorskip("torch")
        stored = {
            "gallery_dets": [np.array([[0, 0, 9, 9, .9]]), np.array([[0, 0, 9, 9, .8]])],
            "gallery_feats": [np.ones((1, 3))] * 2, "query_box_feats": [np.ones((1, 3))] * 2,
            "image": ["a.jpg", "b.jpg"], "truth_box": [np.array([[0, 0, 9, 9]])] * 2,
            "truth_identity": [np.array([7])] * 2, "query_image": ["a.jpg", "b.jpg"],
            "query_identity": [7, 7]}
        torch.save(stored, tmp_path / "boxes.pth")
        assert read_boxes(tmp_path / "boxes.pth").detection_score.tolist() == [.9, .8]
        changed = {**stored, **changes}
        torch.save(changed if changes else {
            key: changed[key] for key in list(changed)[:3]}, tmp_path / "boxes.pth")
        assert_one_line_error(command("evaluate", tmp_path / "boxes.pth", "--protocol", "prw"),
                              message)

    def test_npz_and_json_give_the_same(self, tmp_path):
        boxes = boxes_of()
        np.savez(tmp_path / "boxes.npz", other=[1], **arrays_of(boxes))
        (tmp_path / "boxes.json").write_text(json.dumps(
            {name: value.tolist() for name, value in arrays_of(boxes).items()}))
        assert read_boxes(tmp_path / "boxes.npz") == boxes
        assert read_boxes(tmp_path / "boxes.json") == boxes

    @pytest.mark.parametrize("name, text, noun", [
        ("boxes.json", "[1]", "a JSON object of lists"), ("boxes.json", "{", "JSONDecodeError"),
        ("boxes.json", "{}", "no image"),
        ("boxes.json", '{"gallery_50": 1, "image": ["a"]}', "no truth_image"),
        ("boxes.npz", "text", "a .npz file"), ("boxes.xyz", "text", "one of .mat")])
    def test_other_files(self, tmp_path, name, text, noun):
        (tmp_path / name).write_text(text)
        refused(name, noun, read_boxes, tmp_path / name)

    @pytest.mark.parametrize("changes, argument, noun", [
        ({"query_identity": [7, 9]}, "boxes.npz: query_identity", "in another image"),
        ({"truth_box": np.array([print, 1], dtype=object)}, "boxes.npz: truth_box", "pickled")])
    def test_what_is_wrong_in_a_file_is_named_with_the_file(
            self, tmp_path, changes, argument, noun):
        np.savez(tmp_path / "boxes.npz", **arrays_of(boxes_of(), **changes))
        refused(argument, noun, read_boxes, tmp_path / "boxes.npz")
