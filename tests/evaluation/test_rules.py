"""Which images are ranked for a query, and where its list is cut, against plain loops.

The loops know no ranks and no roles: they walk each query's list as the evaluators do.
"""
import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, Candidates, IndexLists, Labels
from reid_ref.cli import main
from reid_ref.evaluation.camera_pairs import camera_pairs_of
from reid_ref.evaluation.how import How
from tests.documents import ROOT
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
STEP = CONVENTIONS["torchreid-function"]
IDENTITY = "same identity, same camera"


def problem(seed=0, n_query=14, n_gallery=60):
    """Distances that tie, and labels with videos and names; some queries are in the gallery."""
    rng = np.random.default_rng(seed)
    distances = rng.integers(0, 25, (n_query, n_gallery)) / 8

    def labels(n, names):
        return Labels(rng.integers(0, 5, n), rng.integers(1, 4, n), video=rng.integers(0, 3, n),
                      name=names)
    gallery = labels(n_gallery, [f"{j}.jpg" for j in range(n_gallery)])
    query = labels(n_query, [f"{j * 5}.jpg" for j in range(n_query)])
    # The first half of the queries is in the gallery; the others have a name of another identity.
    identity = query.identity.copy()
    identity[:7] = gallery.identity[0:35:5]
    identity[7:12] = gallery.identity[35:60:5] + 5 * rng.integers(0, 2, 5)
    return distances, Labels(identity, query.camera, video=query.video, name=query.name), gallery


def by_loops(distances, query, gallery, is_out, top_k=None, found=False, before=False):
    """Return AP (None without a good image) and the first match of each query."""
    answers = []
    for k, row in enumerate(distances.tolist()):
        order = sorted(range(len(row)), key=lambda j: (row[j], j))
        good = [j for j in order if gallery.identity[j] == query.identity[k]
                and not is_out(k, j)]
        if not good:
            answers.append((None, 0))
            continue
        walked = order[:top_k] if before else order
        kept = [j for j in walked if not is_out(k, j)]
        kept = kept if before else kept[:top_k]
        hits, total, first = 0, 0.0, 0
        for place, j in enumerate(kept, 1):
            if j in good:
                hits, first = hits + 1, first or place
                total += hits / place
        answers.append((total / ((hits or 1) if found else len(good)), first))
    return answers


def assert_answers(result, answers):
    assert result.per_query.first_match.tolist() == [first for _, first in answers]
    counted = [ap for ap, _ in answers if ap is not None]
    has_good = result.per_query.n_good > 0
    assert has_good.tolist() == [ap is not None for ap, _ in answers]
    assert result.of_query("mAP")[has_good].tolist() == counted
    assert result.mAP == sum(counted) / len(counted)
    assert result.rank(1) == sum(first == 1 for _, first in answers) / len(counted)


def is_same(query, gallery, k, j):
    return gallery.identity[j] == query.identity[k]


RULES = {
    ("other camera",): lambda q, g, k, j: g.camera[j] != q.camera[k],
    ("other video",): lambda q, g, k, j: g.video[j] != q.video[k],
    ("other video", IDENTITY): lambda q, g, k, j: (
        g.video[j] != q.video[k] or is_same(q, g, k, j) and g.camera[j] == q.camera[k]),
    ("itself",): lambda q, g, k, j: is_same(q, g, k, j) and g.name[j] == q.name[k],
    ("same camera", "itself"): lambda q, g, k, j: (
        g.camera[j] == q.camera[k] or is_same(q, g, k, j) and g.name[j] == q.name[k]),
}


@pytest.mark.parametrize("ignored", RULES)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_ignored_by_loops(ignored, seed):
    distances, query, gallery = problem(seed)
    result = reid_ref.evaluate_distances(
        distances, query, gallery, convention=STEP.replace(ignored=ignored))
    answers = by_loops(distances, query, gallery,
                       lambda k, j: RULES[ignored](query, gallery, k, j))
    assert_answers(result, answers)


def test_rules_together_give_what_each_gives_alone():
    distances, query, gallery = problem()
    conventions = [STEP.replace(ignored=ignored) for ignored in RULES]
    together = reid_ref.evaluate_distances(distances, query, gallery, convention=conventions)
    for convention in conventions:
        alone = reid_ref.evaluate_distances(distances, query, gallery, convention=convention)
        assert alone == together[convention.name]


def test_itself_by_the_row_of_one_set():
    """Without names the query is its own row, also where blocks and loaders take a part."""
    rng = np.random.default_rng(2)
    features = rng.integers(-3, 4, (40, 6)).astype(np.float64)
    features[20:] = features[:20]  # exact duplicates of the image are other images
    labels = Labels(rng.integers(-1, 6, 40))
    convention = STEP.replace(ignored=("itself",), metric="dot", normalize=False)
    result = reid_ref.evaluate(features, features, labels, labels, convention=convention)
    assert_answers(result, by_loops(-features @ features.T, labels, labels, lambda k, j: k == j))
    small = reid_ref.evaluate(features, features, labels, labels, convention=convention,
                              max_memory="3K")
    assert small == result
    loaded = convention.replace(loads="without label -1")
    kept = np.flatnonzero(labels.identity != -1)
    of_part = reid_ref.evaluate(features[kept], features[kept], labels[kept], labels[kept],
                                convention=loaded)
    whole = reid_ref.evaluate(features, features, labels, labels, convention=loaded)
    assert whole.mAP == of_part.mAP and whole.cmc[:len(kept)].tolist() == of_part.cmc.tolist()
    assert "only itself" in result.counts.status


def test_itself_of_two_sets_without_names_is_refused():
    distances, query, gallery = problem()
    nameless = [Labels(side.identity, side.camera) for side in (query, gallery)]
    convention = STEP.replace(ignored=("itself",))
    refused("query, gallery", "the name of each image", reid_ref.evaluate_distances, distances,
            *nameless, convention=convention)
    refused("gallery", "labels with video", reid_ref.evaluate_distances, distances, *nameless,
            convention=STEP.replace(ignored=("other video",)))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("recall", ["existing", "found"])
@pytest.mark.parametrize("ignored", [(IDENTITY,), ("same camera",), ("other camera",)])
def test_a_cut_before_ignored_images_leave_by_loops(seed, recall, ignored):
    distances, query, gallery = problem(seed)

    def is_out(k, j):
        same = query.camera[k] == gallery.camera[j]
        return not same if ignored == ("other camera",) else same and (
            ignored == ("same camera",) or is_same(query, gallery, k, j))
    for top_k in (1, 7, 30, 60, 99):
        for cut in ("before-ignoring", "after-ignoring"):
            convention = STEP.replace(ignored=ignored, top_k=top_k, cut=cut, recall=recall)
            result = reid_ref.evaluate_distances(distances, query, gallery, convention=convention)
            assert_answers(result, by_loops(distances, query, gallery, is_out, top_k,
                                            recall == "found", cut == "before-ignoring"))


def test_a_cut_before_is_a_ranked_list_that_was_cut():
    distances, query, gallery = problem()
    features = np.eye(60)
    cut = STEP.replace(top_k=20, cut="before-ignoring", ties="reversed", recall="found")
    whole = STEP.replace(ties="reversed", recall="found", unlisted="wrong")
    result = reid_ref.evaluate_distances(distances, query, gallery, convention=cut)
    order = [sorted(range(60), key=lambda j: (row[j], -j))[:20] for row in distances.tolist()]
    listed = reid_ref.evaluate_ranked_lists(order, query, gallery, convention=whole)
    for name in ("mAP", "Rank-1", "Rank-5", "P@5", "R@10", "MRR", "R-Prec", "nDCG@9", "AP@30"):
        np.testing.assert_array_equal(result.value(name), listed.value(name), name)
    assert result.per_query.status.tolist() == listed.per_query.status.tolist()
    order = [sorted(range(60), key=lambda j: (row[j], j)) for row in distances.tolist()]
    in_lists = reid_ref.evaluate_ranked_lists(order, query, gallery, convention=cut.replace(
        ties="gallery-order"))
    assert in_lists.mAP == reid_ref.evaluate_distances(
        distances, query, gallery, convention=cut.replace(ties="gallery-order")).mAP
    of_features = reid_ref.evaluate(-distances, features, query, gallery, convention=cut.replace(
        metric="dot", normalize=False, ties="gallery-order"))
    assert of_features.mAP == in_lists.mAP


def test_a_cut_by_hand():
    """Eight places: the same camera at 1 and 3, matches at 4 and 7. Five are cut off before or
    after the two leave: ranks 2 and 5, of which the first alone is within the five places."""
    query = Labels([7], [1])
    gallery = Labels([7, 8, 7, 7, 8, 8, 7, 8], [1, 2, 1, 2, 2, 2, 3, 3])
    distances = np.arange(8.0)[np.newaxis]

    def ap(**changes):
        return reid_ref.evaluate_distances(distances, query, gallery, convention=STEP.replace(
            top_k=5, **changes)).mAP
    assert ap() == (1 / 2 + 2 / 5) / 2
    assert ap(cut="before-ignoring") == (1 / 2) / 2
    assert ap(cut="before-ignoring", recall="found") == 1 / 2


@pytest.mark.parametrize("ignored", [(), ("same camera",), ("itself",),
                                     ("label -1", "same identity, same camera")])
@pytest.mark.parametrize("top_k", [1, 5, 20, 60])
@pytest.mark.parametrize("ties", ["gallery-order", "reversed", "numpy"])
def test_mINP_is_of_the_whole_list_whatever_the_cut_counts(ignored, top_k, ties):
    """docs/glossary.md: of the whole list, even if a convention looks at the first K alone."""
    distances, query, gallery = problem(5)
    cut = STEP.replace(ignored=ignored, top_k=top_k, cut="before-ignoring", ties=ties)
    whole = STEP.replace(ignored=ignored, ties=ties)
    result = reid_ref.evaluate_distances(distances, query, gallery, convention=cut)
    expected = reid_ref.evaluate_distances(distances, query, gallery, convention=whole)
    assert result.mINP == expected.mINP > 0
    np.testing.assert_array_equal(result.of_query("mINP"), expected.of_query("mINP"))
    np.testing.assert_array_equal(result.ranks.rank, expected.ranks.rank)
    if ties == "gallery-order" and ignored == ():
        for k, row in enumerate(distances):  # written from the glossary
            order = sorted(range(len(row)), key=lambda j: (row[j], j))
            places = [place for place, j in enumerate(order, 1)
                      if gallery.identity[j] == query.identity[k]]
            if places:
                assert result.of_query("mINP")[k] == len(places) / places[-1]


def test_mINP_of_the_fixture_under_a_cut_before_ignoring():
    data = reid_ref.read(ROOT / "fixtures/market_like.mat")
    rule = CONVENTIONS["matlab"].replace(top_k=100, cut="before-ignoring")
    with pytest.warns(reid_ref.UnmatchedWarning):
        result = reid_ref.evaluate(data.query_features, data.gallery_features, data.query,
                                   data.gallery, convention=rule)
    assert round(100 * result.mINP, 2) == 21.63 and round(100 * result.mAP, 2) == 39.54


def test_a_query_labelled_junk_has_no_match_in_a_cut_list():
    """Its images are ignored by their label; matlab lets the first of them raise the curve."""
    query, gallery = Labels([-1], [1]), Labels([8, -1, 7], [2, 2, 2])
    options = {"convention": [CONVENTIONS["matlab"].replace(name=cut, top_k=3, cut=cut)
                              for cut in ("after-ignoring", "before-ignoring")]}
    results = reid_ref.evaluate_distances([[1, 2, 3]], query, gallery, **options)
    assert [result.rank(2) for result in results.values()] == [1, 0]


def test_cuts_are_explained_in_both_directions():
    distances, query, gallery = problem(3)
    data = reid_ref.ResultFile("arrays", query, gallery, distances=distances)
    cut = CONVENTIONS["torchreid"].replace(top_k=20, cut="before-ignoring", recall="found",
                                           ignored=("itself", "other video"))
    for ends in (("matlab", cut), (cut, "matlab")):
        walk = reid_ref.explain(data, *ends)
        assert {"top_k", "cut", "ignored"} <= {step.choice for step in walk.steps}
        for end, result in zip(ends, (walk.start, walk.end)):
            assert result == reid_ref.evaluate_distances(distances, query, gallery, convention=end)


def test_a_saved_result_is_read_again(tmp_path):
    distances, query, gallery = problem(3)
    for options in ({"convention": STEP.replace(top_k=20, cut="before-ignoring", recall="found")},
                    {"convention": STEP.replace(ignored=("itself", "other camera"))},
                    {"lists": Candidates(distances < 2)}):
        result = reid_ref.evaluate_distances(distances, query, gallery, **options)
        result.save(tmp_path / "result.json")
        assert reid_ref.load(tmp_path / "result.json") == result


@pytest.mark.parametrize("changes, noun", [
    ({}, "got no top_k"),
    ({"top_k": 5, "ignored": ("listed as junk",)}, "lists name good and junk images"),
])
def test_cuts_that_are_refused(changes, noun):
    refused("cut", noun, STEP.replace, cut="before-ignoring", **changes)


@pytest.mark.parametrize("ignored", [(), (IDENTITY,), ("same camera",)])
def test_candidates_by_loops(ignored):
    distances, query, gallery = problem(3)
    mask = np.random.default_rng(3).random(distances.shape) < .5
    mask[4], mask[5] = False, True

    def is_out(k, j):
        return not mask[k, j] or bool(ignored) and query.camera[k] == gallery.camera[j] and (
            ignored == ("same camera",) or is_same(query, gallery, k, j))
    convention = STEP.replace(ignored=ignored)
    of_lists = Candidates([np.flatnonzero(row).tolist() for row in mask], n_gallery=60)
    assert of_lists == Candidates(mask)
    result = reid_ref.evaluate_distances(distances, query, gallery, convention=convention,
                                         lists=of_lists)
    assert_answers(result, by_loops(distances, query, gallery, is_out))
    assert result.signature["lists"] == Candidates(mask).fingerprint()
    assert result.convention.ignored == (*ignored, "not a candidate")
    assert result.per_query.status[4] == "nothing kept"
    order = [sorted(range(60), key=lambda j: (row[j], j)) for row in distances.tolist()]
    options = {"convention": convention, "lists": Candidates(mask)}
    features = reid_ref.evaluate(-distances, np.eye(60), query, gallery, metric="dot",
                                 normalize=False, max_memory="9K", **options)
    lists = reid_ref.evaluate_ranked_lists(order, query, gallery, **options)
    for other in (features, lists):
        assert other.mAP == result.mAP and other.cmc.tolist() == result.cmc.tolist()


def test_candidates_under_rules_that_need_whole_rows():
    """numpy's order of ties, identities and drawn galleries see the candidates of each query."""
    distances, query, gallery = problem(4)
    distances += np.arange(60) / 1e4  # no ties
    gallery = Labels(np.where(np.arange(60) % 9, gallery.identity, -1), gallery.camera)
    mask = np.random.default_rng(4).random(distances.shape) < .6
    far = np.where(mask, distances, np.inf)
    for changes in ({"ties": "numpy"}, {"cmc": "identities"}, {"loads": "without label -1"},
                    {"cmc": "single-gallery-shot"}, {"cmc": "identities", "loads":
                                                     "without label -1"}):
        convention = STEP.replace(ignored=("label -1", IDENTITY), **changes)
        result = reid_ref.evaluate_distances(distances, query, gallery, convention=convention,
                                             lists=Candidates(mask))
        for k in range(len(query)):  # each query with the gallery of its candidates alone
            alone = reid_ref.evaluate_distances(
                far[k:k + 1, mask[k]], query[k:k + 1], gallery[np.flatnonzero(mask[k])],
                convention=convention.replace(unmatched="zero"))
            ours = result.of_query("mAP")[k]
            assert (ours if ours == ours else 0) == alone.mAP
        if "identities" in changes.get("cmc", ""):
            alone = [reid_ref.evaluate_distances(
                far[k:k + 1, mask[k]], query[k:k + 1], gallery[np.flatnonzero(mask[k])],
                convention=convention.replace(unmatched="zero")) for k in range(len(query))]
            counted = (result.per_query.n_good > 0).sum()
            assert round(result.rank(2) * counted, 9) == sum(one.rank(2) for one in alone)


def test_thresholds_among_candidates():
    distances, query, gallery = problem(5)
    mask = np.random.default_rng(5).random(distances.shape) < .5
    found = reid_ref.evaluate_thresholds_distances(
        distances, query, gallery, convention=STEP, lists=Candidates(mask), far=[.1],
        confidence=90)
    pairs = [(distances[k, j], is_same(query, gallery, k, j)) for k in range(14)
             for j in range(60) if mask[k, j] and not (
                 is_same(query, gallery, k, j) and query.camera[k] == gallery.camera[j])]
    impostors = sorted(value for value, same in pairs if not same)
    assert (found.genuine, found.impostor) == (len(pairs) - len(impostors), len(impostors))
    at = found.at[.1]
    assert at.impostor == sum(value <= at.threshold for value in impostors)
    assert at.genuine == sum(value <= at.threshold for value, same in pairs if same)
    assert "lists:" in str(found.signature)


@pytest.mark.parametrize("lists, noun", [
    (Candidates(np.ones((3, 60), bool)), "shape"),
    (np.ones((14, 60), bool), "Candidates(mask)"),
    (None, "candidates of each query"),
])
def test_candidates_that_are_refused(lists, noun):
    distances, query, gallery = problem()
    refused("lists", noun, reid_ref.evaluate_distances, distances, query, gallery, lists=lists,
            convention=STEP.replace(ignored=("not a candidate",)))


@pytest.mark.parametrize("argument, noun, arguments", [
    ("mask", "true or false", ([[0, 1]],)),
    ("mask[0]", "indices from 0 to 4", ([[0, 7]], 5)),
    ("mask", "shape", ([True],)),
    ("n_gallery", "whole number", ([[0]], 0)),
])
def test_masks_that_are_refused(argument, noun, arguments):
    refused(argument, noun, Candidates, *arguments)


def in_file(tmp_path, name="result.npz", **arrays):
    distances, query, gallery = problem(3)
    path = tmp_path / name
    np.savez(path, distmat=distances, q_pids=query.identity, g_pids=gallery.identity,
             q_camids=query.camera, g_camids=gallery.camera, **arrays)
    return path


def test_candidates_in_a_file(tmp_path):
    """A mask, true or false or 1 and 0, and rows of indices are the same candidates."""
    distances, query, gallery = problem(3)
    mask = np.random.default_rng(3).random(distances.shape) < .5
    rows = np.full((14, 60), -1)
    for k, row in enumerate(mask):
        rows[k, :row.sum()] = np.flatnonzero(row)
    conventions = ["matlab", "torchreid"]
    expected = reid_ref.evaluate_distances(distances, query, gallery, convention=conventions,
                                           lists=Candidates(mask))
    assert list(expected) == conventions
    for values in (mask, mask.astype(np.uint8), rows, rows.astype(float)):
        data = reid_ref.read(in_file(tmp_path, candidates=values))
        assert data.candidates == Candidates(mask)
        walk = reid_ref.explain(data, "matlab", "torchreid")
        assert (walk.start, walk.end) == tuple(expected.values())
    data = reid_ref.read(in_file(tmp_path, mine=mask), names={"candidates": "mine"})
    assert data.candidates == Candidates(mask)
    assert reid_ref.read(in_file(tmp_path)).candidates is None


@pytest.mark.parametrize("values", [np.ones((3, 60), bool), np.ones((14, 60, 1)),
                                    np.full((14, 2), 60)])
def test_candidates_in_a_file_that_are_refused(tmp_path, values):
    with pytest.raises(reid_ref.InputError, match="result.npz: candidates"):
        reid_ref.read(in_file(tmp_path, candidates=values))


def test_what_has_no_place_for_candidates(tmp_path):
    path = in_file(tmp_path, candidates=np.ones((14, 60), bool))
    data = reid_ref.read(path)
    refused("data", "crosschecks", reid_ref.crosscheck, data, "torchreid")
    refused("data", "trec_eval", reid_ref.export, data, tmp_path / "out")
    refused("data", "pairs of cameras", camera_pairs_of, data.input, data.query, data.gallery,
            "plain", How())
    refused("lists", "candidates", data.input.among, How(lists=IndexLists([[]], [[]])))
    part = data.input.between("query", np.array([3, 1]), "gallery", np.arange(4, 9))
    assert part.candidates == Candidates(data.candidates.mask[[3, 1], 4:9])
    refused("data", "found for others", data.input.between, "gallery", np.arange(2), "gallery",
            np.arange(60))


def test_candidates_on_the_command_line(tmp_path, capsys):
    mask = np.random.default_rng(3).random((14, 60)) < .5
    path = str(in_file(tmp_path, candidates=mask))
    plain = str(in_file(tmp_path, "plain.npz"))
    for command, code in ((["evaluate", path], 0), (["ties", path], 0), (["thresholds", path], 0),
                          (["explain", path, "--query", "3"], 0), (["compare", path, path], 0),
                          (["evaluate", path, "--protocol", "market1501"], 2),
                          (["report", path, "-o", str(tmp_path / "r.html")], 2),
                          (["evaluate", plain, "--set", "ignored=not a candidate"], 2),
                          (["evaluate", plain, "--set", "ignored=itself"], 2)):
        assert main(command) == code, command
        out, err = capsys.readouterr()
        errors = [line for line in err.splitlines() if "error:" in line]
        assert len(errors) == (code > 0), err
        assert ("lists:" + Candidates(mask).fingerprint()[:2] in out) == (code == 0), out


def test_the_mean_over_identities():
    """Of each identity the mean over its queries that count, then the mean of these."""
    distances, query, gallery = problem(6)
    result = reid_ref.evaluate_distances(distances, query, gallery, convention=STEP)
    answers = by_loops(distances, query, gallery, lambda k, j: (
        is_same(query, gallery, k, j) and query.camera[k] == gallery.camera[j]))
    of_identity = {}
    for identity, (ap, _) in zip(query.identity.tolist(), answers):
        of_identity.setdefault(identity, []).extend([] if ap is None else [ap])
    means = [sum(aps) / len(aps) for _, aps in sorted(of_identity.items()) if aps]
    assert len(means) < len(of_identity), "an identity without a query that counts"
    groups = reid_ref.by_group(result)
    assert groups.mean() == sum(means) / len(means) != result.mAP
    assert groups.mean("Rank-1") == np.cumsum(groups.rank1[groups.counted > 0])[-1] / len(means)
    refused("measure", "mAP", groups.mean, "P@3")


def test_shards_give_the_same_numbers():
    array = pytest.importorskip("dask.array")
    pytest.importorskip("distributed")
    distributed = reid_ref.distributed
    rng = np.random.default_rng(7)
    features, labels = rng.standard_normal((80, 6)), Labels(
        rng.integers(0, 9, 80), rng.integers(0, 4, 80))
    shards = array.from_array(features, chunks=(17, 6))
    for options in ({"lists": Candidates(rng.random((80, 80)) < .5)},
                    {"convention": STEP.replace(ignored=("itself", "other camera"))},
                    {"convention": STEP.replace(top_k=20, cut="before-ignoring")}):
        assert distributed.evaluate(features, shards, labels, labels, **options) == (
            reid_ref.evaluate(features, features, labels, labels, **options))


def test_one_name_under_two_identities_is_named():
    """The image of the query's name is no image of its identity, and stays a wrong answer."""
    rule = CONVENTIONS["torchreid-function"].replace(ignored=("itself",))
    query = Labels([1, 2], name=["a.jpg", "b.jpg"])
    gallery = Labels([1, 3, 2, 1], name=["a.jpg", "b.jpg", "c.jpg", "d.jpg"])
    distances = [[0, 3, 2, 1], [3, 0, 1, 2]]
    with pytest.warns(reid_ref.LabelWarning, match=(
            "contradict the names of 1 of 2 queries: query 1, 'b.jpg', has identity 2, and "
            "gallery image 1 of that name 3")):
        result = reid_ref.evaluate_distances(distances, query, gallery, convention=rule)
    assert result.per_query.ap.tolist() == [1, .5]
    same = Labels([1, 2, 2, 1], name=gallery.name)  # no word where names and labels agree
    reid_ref.evaluate_distances(distances, query, same, convention=rule)
    reid_ref.evaluate_distances(  # or where names play no part
        distances, query, gallery,
        convention=CONVENTIONS["torchreid-function"].replace(ignored=()))


@pytest.mark.parametrize(("camera", "candidates", "mAP"), [
    (2, [1, 2], 1),      # no candidate: the good image is the first
    (1, [0, 1, 2], 0)])  # ignored by its camera: it has the only place
def test_images_that_are_no_candidates_take_no_place(camera, candidates, mAP):
    """As docs/files.md has it of `cut=before-ignoring`."""
    rule = CONVENTIONS["torchreid-function"].replace(
        top_k=1, cut="before-ignoring", recall="found", unmatched="zero")
    result = reid_ref.evaluate_distances(
        [[0, 1, 2]], Labels([7], [1]), Labels([7, 7, 9], [camera, 3, 2]), convention=rule,
        lists=Candidates([candidates], n_gallery=3))
    assert result.mAP == mAP
