"""Names, label files, tracklets and counts of the field's data sets.

The real label files are read where they are: see `tests.shared`.
"""
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

from reid_ref import Labels, evaluate_distances
from reid_ref.datasets import (
    FINGERPRINTS, FORMS, good_and_wrong, parse_names, pool_tracklets, read_cuhk03,
    read_indices, read_labels, read_list, read_tracks, recognise)
from reid_ref.datasets.fingerprints import SetCounts, count
from reid_ref.files.lists import read_index_lists
from reid_ref.ranking.roles import query_roles
from tests.cases import save_features
from tests.commands.common import command, table
from tests.refusals import refused
from tests.shared import shared


# Names ------------------------------------------------------------------------------------------

def digits(n):
    return st.integers(0, 10**n - 1)


#: How each set's names are written, and what their numbers may be; written down here again, from
#: the examples, so that the patterns are not their own proof.
WRITTEN = {
    "market1501": ("{identity:04d}_c{camera}s{sequence}_{frame:06d}_{box:02d}.jpg",
                   dict(identity=digits(4), camera=digits(1), sequence=digits(1),
                        frame=digits(6), box=digits(2))),
    "dukemtmc": ("{identity:04d}_c{camera}_f{frame:07d}.jpg",
                 dict(identity=digits(4), camera=digits(1), frame=digits(7))),
    "msmt17": ("{identity:04d}_{image:03d}_{camera:02d}_{date:04d}noon_0015_10_ex.jpg",
               dict(identity=digits(4), image=digits(3), camera=digits(2), date=digits(4))),
    "cuhk03-np": ("{identity:04d}_c{camera}_{image}.png",
                  dict(identity=digits(4), camera=digits(1), image=digits(2))),
    "mars": ("{identity:04d}C{camera}T{tracklet:04d}F{frame:03d}.jpg",
             dict(identity=digits(4), camera=digits(1), tracklet=digits(4), frame=digits(4))),
    "veri776": ("{identity:04d}_c{camera:03d}_{frame:08d}_{box}.jpg",
                dict(identity=digits(4), camera=digits(3), frame=digits(8), box=digits(1))),
    "ltcc": ("{identity:03d}_{outfit}_c{camera}_{frame:06d}.png",
             dict(identity=digits(3), outfit=digits(2), camera=digits(2), frame=digits(6))),
}


def test_labels_alone_have_no_names_to_say(tmp_path):
    np.savez(tmp_path / "odd.npz", foo=[1, 2], bar=[1, 2])
    remedy = refused("odd.npz", "query_identity", read_labels, tmp_path / "odd.npz").remedy
    assert "names=" not in remedy and "--map" not in remedy


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_a_name_says_what_was_written_into_it(form, data):
    template, fields = WRITTEN[form]
    numbers = data.draw(st.lists(st.fixed_dictionaries(fields), min_size=1, max_size=5))
    folder = data.draw(st.sampled_from(["", "query/", "/data/0002_c1s1_000451_03/", "C:\\x\\"]))
    names = [folder + template.format(**one) for one in numbers]
    for parsed in (parse_names(names), parse_names(names, form)):
        assert parsed.keys() == fields.keys()
        for name, values in parsed.items():
            assert values.dtype == np.int64
            assert values.tolist() == [one[name] for one in numbers]


@pytest.mark.parametrize("form", FORMS)
def test_an_example_is_a_name_of_its_own_form_only(form):
    example = FORMS[form].example
    assert [key for key, one in FORMS.items() if one.pattern.fullmatch(example)] == [form]
    stem = example.rpartition(".")[0]
    np.testing.assert_array_equal(parse_names([stem, Path(example)])["identity"],
                                  parse_names([example, example], form)["identity"])


@pytest.mark.parametrize(("name", "identity"), [
    ("-1_c3s2_000451_03.jpg.jpg", -1), ("00-1C1T0001F001.jpg", -1), ("0000_c3s2_000451_03", 0)])
def test_junk_keeps_its_minus(name, identity):
    assert parse_names([name])["identity"] == [identity]


@pytest.mark.parametrize("name", [
    "", "0002", "0002_c1s1_000451_03.jpg.bak", "0002_c1s1_000451_03_fake.jpg", "2_c1s1_000451_03",
    "0002_c1s1_000451_03.jpg\n", "-2_c1s1_000451_03.jpg", "0002_c1_c2_f0046985.jpg",
    "0000_000_01_0303night_0015_0.jpg", "0001C1T001F001.jpg", "٠٠٠٢_c1_f0046985.jpgx",
    # What 64 bits cannot hold, and what Python refuses to read as a number.
    *(name.format(digits) for digits in ("2" * 22, "9" * 19, "3" * 5000) for name in (
        "0003_c1_{}.png", "0002_c002_00030600_{}.jpg", "0002_c{}_00030600_0.jpg"))],
    ids=lambda name: name[:25])
def test_a_bad_name_is_quoted(name):
    refused("names[0]", "a file name such as 0002_c1s1", parse_names, [name])
    for form in FORMS:
        refused("names[1]", "a file name of", parse_names, [FORMS[form].example, name], form)


@pytest.mark.parametrize(("arguments", "argument", "noun"), [
    (["0002_c1s1_000451_03.jpg"], "names", "a list of file names"),
    ([[]], "names", "at least one file name"),
    ([["0002_c1s1_000451_03.jpg", "0005_c2_f0046985.jpg"]], "names[1]", "Market-1501")])
def test_other_mistakes_with_names(arguments, argument, noun):
    refused(argument, noun, parse_names, *arguments)


# Lists and label files --------------------------------------------------------------------------

def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def test_lists_in_their_three_ways(tmp_path):
    texts = {"list_query.txt": "0007/0007_000_01_0303morning_0015_0.jpg 7\n"
                               "0008/0008_000_14_0303noon_0015_10_ex.jpg 8\n",
             "query.csv": "-1,q/-1_c1s1_000401_03.jpg\n0002, q/0002_c6s1_000401_03.jpg\n\n",
             "name_query.txt": "0002_c002_00030600_0.jpg\r\n0402_c019_00030600_12.jpg\r\n"}
    expected = {"list_query.txt": ([7, 8], [1, 14]), "query.csv": ([-1, 2], [1, 6]),
                "name_query.txt": ([2, 402], [2, 19])}
    for name, text in texts.items():
        labels = read_list(write(tmp_path, name, text))
        assert (labels.identity.tolist(), labels.camera.tolist()) == expected[name]


@pytest.mark.parametrize("text, argument, noun", [
    ("", "query.txt", "image names, one per line"),
    ("0002_c1_f0046985.jpg\nnothing", "query.txt: line 2", "an image name of DukeMTMC-reID"),
    ("0002_c1_f0046985.jpg\n\n0003_c1_21.png", "query.txt: line 3", "DukeMTMC-reID"),
    ("0002_c1_f0046985.jpg 2 3", "query.txt: line 1", "alone or with its identity"),
    ("0002_c1_f0046985.jpg 0003_c1_f0046985.jpg", "query.txt: line 1", "0003_c1"),
    ("0002_c1_f0046985.jpg 2\n0002_c1_f0046985.jpg 5", "query.txt: line 2", "2, the identity"),
    ("-x,0002_c1_f0046985.jpg", "query.txt: line 1", "2, the identity"),
])
def test_a_bad_list(tmp_path, text, argument, noun):
    refused(argument, noun, read_list, write(tmp_path, "query.txt", text))


def test_two_lists_are_told_apart_by_their_file_names(tmp_path):
    for names in (("list_query.txt", "list_gallery.txt"), ("name_query.txt", "name_test.txt"),
                  ("query.list", "bounding_box_test.list")):
        query = write(tmp_path, names[0], "0002_c1_f0046985.jpg\n")
        gallery = write(tmp_path, names[1], "0003_c1_f0046985.jpg\n0002_c2_f0046985.jpg\n")
        for paths in ((query, gallery), (gallery, query)):
            assert [side.identity.tolist() for side in read_labels(*paths)] == [[2], [3, 2]]
    refused("query.list", "two lists of names", read_labels, query)
    second = write(tmp_path, "query2.list", "0002_c1_f0046985.jpg\n")
    refused("query2.list", "two lists of names", read_labels, query, second)


def save(folder, name, version="5", **arrays):
    path = folder / f"{name}.mat"
    scipy.io.savemat(path, arrays, format=version)
    return path


def test_tracklets_and_queries_of_mars(tmp_path):
    table = np.array([[1, 3, -1, 1], [4, 4, 7, 2], [5, 9, 7, 3]], np.int32)
    tracks = save(tmp_path, "tracks_test_info", track_test_info=table)
    queries = save(tmp_path, "query_IDX", query_IDX=np.array([[2, 3]], np.uint16))
    read = read_tracks(tracks)
    assert (read.first.tolist(), read.last.tolist()) == ([0, 3, 4], [2, 3, 8])
    assert (read.labels.identity.tolist(), read.labels.camera.tolist()) == ([-1, 7, 7], [1, 2, 3])
    assert read_indices(queries).tolist() == [1, 2]
    for paths in ((tracks, queries), (queries, tracks)):
        query, gallery = read_labels(*paths)
        assert query.camera.tolist() == [2, 3] and len(gallery) == 3
    refused("tracks_test_info.mat: track_test_info", "a vector", read_indices, tracks)
    refused("query_IDX.mat", "one array of four columns", read_tracks, queries)
    beyond = save(tmp_path, "query_beyond", query_IDX=np.array([[2, 4]]))
    refused("query_beyond.mat: query_IDX", "from 1 to 3", read_labels, tracks, beyond)
    zero = save(tmp_path, "zero", query_IDX=np.array([[0, 1]]))
    refused("zero.mat: query_IDX", "places from 1", read_indices, zero)


def cuhk03(**changed):
    arrays = {"labels": np.array([[4], [4], [9], [9]], np.uint16),
              "camId": np.array([[1], [2], [1], [2]], np.uint8), "train_idx": [[1]],
              "query_idx": np.array([[2]], np.uint16), "gallery_idx": [[4], [3]], **changed}
    return {key: value for key, value in arrays.items() if value is not None}


def test_the_configuration_of_cuhk03(tmp_path):
    path = save(tmp_path, "config", filelist=np.array([["1_001_1_01.png"]], object), **cuhk03())
    whole = read_cuhk03(path)
    assert [side.tolist() for side in (whole.train, whole.query, whole.gallery)] == [
        [0], [1], [3, 2]]
    query, gallery = read_labels(path)
    assert (query.identity.tolist(), query.camera.tolist()) == ([4], [2])
    assert (gallery.identity.tolist(), gallery.camera.tolist()) == ([9, 9], [2, 1])
    for name, changed, place, noun in (
            ("lacks", {"camId": None}, "", "it lacks camId"),
            ("beyond", {"gallery_idx": [[5], [3]]}, ": gallery_idx", "from 1 to 4")):
        path = save(tmp_path, name, **cuhk03(**changed))
        refused(f"{name}.mat{place}", noun, read_cuhk03, path)


def test_label_vectors_and_result_files(tmp_path):
    names = {"queryID": "queryID", "queryCam": "queryCAM", "testID": "testID",
             "testCam": "testCAM"}
    values = [np.array([[3], [5]], np.uint16), np.array([[1], [2]], np.uint8),
              np.array([[3], [-1], [5]], np.int16), np.array([[2], [2], [6]], np.uint8)]
    paths = [save(tmp_path, name, **{key: value})
             for (name, key), value in zip(names.items(), values)]
    whole = save(tmp_path, "pytorch_result", query_f=np.eye(2), gallery_f=np.ones((3, 2)),
                 query_label=[[3, 5]], query_cam=[[1, 2]], gallery_label=[[3, -1, 5]],
                 gallery_cam=[[2, 2, 6]])
    for given_paths in (paths, paths[::-1], [whole]):
        query, gallery = read_labels(*given_paths)
        assert (query.identity.tolist(), query.camera.tolist()) == ([3, 5], [1, 2])
        assert (gallery.identity.tolist(), gallery.camera.tolist()) == ([3, -1, 5], [2, 2, 6])
    refused("queryID.mat and 1 more file", "it lacks gallery_identity", read_labels, *paths[:2])
    again = save(tmp_path, "again", queryID=[[1]])
    refused("again.mat: queryID", "one array for query_identity", read_labels, *paths, again)
    refused("paths", "at least one label file", read_labels)
    refused("absent.mat", "No such file", read_labels, tmp_path / "absent.mat")


# Tracklets --------------------------------------------------------------------------------------

#: What the driver of MARS does, in our own words, for where its own file is not at hand.
PROCESS_BOX_FEAT = """
function pooled = process_box_feat(frames, tracks)
  pooled = zeros(size(frames, 1), size(tracks, 1));
  for k = 1:size(tracks, 1)
    pooled(:, k) = max(frames(:, tracks(k, 1):tracks(k, 2)), [], 2);
  end
  pooled = pooled ./ repmat(sqrt(sum(pooled .^ 2)), size(frames, 1), 1);
end
"""


def made_tracks(rng, n_tracks):
    lengths = rng.integers(1, 9, n_tracks)
    last = np.cumsum(lengths)
    return last - lengths + 1, last


@pytest.mark.octave
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pooling_gives_the_doubles_of_octave(octave, dtype):
    if not (octave.folder / "process_box_feat.m").is_file():
        octave.eval(PROCESS_BOX_FEAT)
    rng = np.random.default_rng(5)
    cases, ours = [], []
    for n_tracks, dimension in ((1, 1), (1, 7), (12, 3), (30, 257)):
        first, last = made_tracks(rng, n_tracks)
        frames = rng.normal(size=(last[-1], dimension)).astype(dtype)
        cases.append((np.asfortranarray(frames.T), np.column_stack([first, last]).astype(float)))
        ours.append(pool_tracklets(frames, first - 1, last - 1))
    for (theirs,), pooled in zip(octave.run("process_box_feat", cases), ours):
        np.testing.assert_array_equal(pooled, theirs.reshape(pooled.T.shape).T)


def test_tracklets_may_leave_frames_out_overlap_and_come_in_any_order():
    frames = np.array([[3., 1.], [0., 4.], [9., 9.], [0., 2.]])
    pooled = pool_tracklets(frames, first=[3, 0, 0], last=[3, 1, 3])
    np.testing.assert_array_equal(pooled[:2], [[0, 1], [.6, .8]])
    np.testing.assert_array_equal(pooled[2], np.array([9, 9]) / np.sqrt(162))
    assert np.isnan(pool_tracklets(np.zeros((1, 3)), [0], [0])).all()  # as in the driver


@pytest.mark.parametrize("frames, first, last, argument, noun", [
    (np.eye(3), [0, 2], [1, 1], "first, last", "2 to 1 in tracklet 1"),
    (np.eye(3), [0], [3], "first, last", "0 to 3 in tracklet 0"),
    (np.eye(3), [1, 3], [2, 3], "first, last", "3 to 3 in tracklet 1"),
    (np.eye(3), [0, 1], [1], "last", "2 frames"),
    ([[1., 2.], [np.nan, 2.]], [0, 0], [0, 1], "frame_features", "NaN or Inf in tracklet 1"),
])
def test_bad_tracklets(frames, first, last, argument, noun):
    refused(argument, noun, pool_tracklets, frames, first, last)


# Fingerprints -----------------------------------------------------------------------------------

def made(counts):
    """Labels with these very counts.

    Identity 1 has all the queries that the others leave; so each image of it on another camera
    makes many good pairs at once, and images of the others make one each. The rest of the
    gallery is on the queries' own camera.
    """
    others = np.arange(2, counts.query_identities + 1)
    n_first = counts.query - len(others)
    query = Labels(np.concatenate([np.ones(n_first, int), others]), np.ones(counts.query, int))
    many = (counts.good - len(others)) // n_first
    single = counts.good - many * n_first
    strange = (counts.gallery_identities - counts.query_identities
               - bool(counts.junk) - bool(counts.distractors))
    identity = np.concatenate([
        np.ones(many, int), np.resize(others, single), 10**5 + np.arange(strange),
        np.full(counts.junk, -1), np.zeros(counts.distractors, int)])
    identity = np.append(identity, np.resize(np.arange(1, counts.query_identities + 1),
                                             counts.gallery - len(identity)))
    camera = np.ones(counts.gallery, int)
    camera[:many + single] = np.resize(np.arange(2, counts.cameras + 1), many + single)
    return query, Labels(identity, camera)


def seldom(labels, chosen):
    return Labels(labels.identity[chosen], labels.camera[chosen])


def renamed(labels, old, new):
    return Labels(np.where(labels.identity == old, new, labels.identity), labels.camera)


def off(query, gallery):
    found = recognise(query, gallery)
    assert found is not None
    return found.sentence


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_every_set_is_recognised_by_its_counts(name):
    known = FINGERPRINTS[name]
    query, gallery = made(known.counts)
    found = recognise(query, gallery)
    assert (found.fingerprint, found.off) == (known, ())
    assert found.sentence == f"{known.name}: every count agrees"
    order = np.random.default_rng(3).permutation(len(gallery))
    assert recognise(query, seldom(gallery, order)).off == ()


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_a_set_that_lacks_something_is_named(name):
    known = FINGERPRINTS[name]
    query, gallery = made(known.counts)
    n, g = known.counts.query, known.counts.gallery
    start = f"looks like {known.name}, but "
    assert off(seldom(query, slice(1, None)), gallery) == (
        f"{start}there are {n - 1:,} queries instead of {n:,}")
    assert off(query, seldom(gallery, slice(None, -1))).startswith(
        f"{start}the gallery has {g - 1:,} images instead of {g:,}")
    assert off(*(Labels(side.identity, np.ones(len(side))) for side in (query, gallery))) == (
        f"{start}the number of cameras is 1 instead of {known.counts.cameras}")
    if not known.queries_in_gallery:
        both = Labels(np.append(gallery.identity, query.identity),
                      np.append(gallery.camera, query.camera))
        assert off(query, both) == f"{start}the gallery holds the {n:,} queries, too"


MARKET = made(FINGERPRINTS["market1501"].counts)


def test_market1501_as_loaders_leave_it():
    query, gallery = MARKET
    start = "looks like Market-1501, but "
    no_junk = ("the gallery lacks the 3,819 labelled -1: your loader drops them (Rank-k and mAP "
               "of matlab do not change, re-ranking does)")
    no_distractors = ("the gallery lacks the 2,798 distractors (label 0): the numbers are "
                      "too high")
    assert len(seldom(gallery, gallery.identity != -1)) == 15913
    assert off(query, seldom(gallery, gallery.identity != -1)) == start + no_junk
    assert off(query, seldom(gallery, gallery.identity != 0)) == start + no_distractors
    assert off(query, seldom(gallery, gallery.identity > 0)) == (
        f"{start}{no_junk}; {no_distractors}")
    unsigned = renamed(gallery, -1, 65535)
    assert off(query, unsigned) == (
        f"{start}nothing in the gallery is labelled -1 instead of 3,819; label 65535 has 3,819, "
        "which count as wrong answers")
    assert "; label 0 has 6,617, which" in off(query, renamed(gallery, -1, 0))
    assert "; label 0 has 3,819, which" in off(
        query, renamed(renamed(gallery, 0, 10**6), -1, 0))
    assert off(query, renamed(gallery, 0, -1)) == (
        f"{start}6,617 of the gallery are labelled -1 instead of 3,819")
    assert "cameras is 7 instead of 6" in off(
        query, Labels(gallery.identity, np.where(gallery.camera == 1, 0, gallery.camera)))


def test_counts_that_nothing_else_explains():
    query, gallery = MARKET
    camera = gallery.camera.copy()
    camera[0] = 1       # an image of identity 1, good for its 2,619 queries
    assert off(query, Labels(gallery.identity, camera)) == (
        "looks like Market-1501, but there are 47,030 good pairs instead of 49,649: some "
        "identities or cameras are not the set's")
    identity = gallery.identity.copy()
    identity[np.flatnonzero(identity == 0)[:9]] = 10**6
    found = recognise(query, Labels(identity, gallery.camera))
    assert [one.partition(":")[0] for one in found.off] == [
        "there are 753 identities in the gallery instead of 752",
        "there are 2,789 distractors (label 0) instead of 2,798"]


def test_of_other_sets_nothing_is_said():
    assert recognise(Labels([1, 2], [1, 1]), Labels([1, 2, 2], [2, 2, 1])) is None
    refused("gallery", "at least one image", recognise, Labels([1], [1]), Labels([], []))
    for counts in (
            # One number alone is chance: 200 identities as in VeRi-776, 1,400 queries as CUHK03.
            SetCounts(900, 4000, 200, 200, 6, 0, 0, 9000),
            SetCounts(1400, 5000, 350, 350, 6, 0, 0, 20000),
            # A gallery of another size is another set.
            SetCounts(1400, 2000, 700, 700, 2, 0, 0, 1500)):
        labels = made(counts)
        assert count(*labels) == counts
        assert recognise(*labels) is None


# The command ------------------------------------------------------------------------------------

@pytest.fixture
def file_of(tmp_path):
    """Write a result file of these labels."""
    def saved(query, gallery):
        path = tmp_path / "result.npz"
        save_features(path, [np.eye(len(side), 3) for side in (query, gallery)], query, gallery)
        return str(path)
    return saved


def test_the_command_shows_every_count(file_of):
    path = file_of(*MARKET)
    out = table("doctor", path)
    assert "dataset   Market-1501: every count agrees\n" in out
    assert "  good pairs                      49,649    49,649\n" in out and "*" not in out
    assert max(map(len, out.replace(path, "").splitlines())) <= 80


def test_the_command_marks_what_is_off(file_of):
    query, gallery = MARKET
    path = file_of(query, seldom(gallery, gallery.identity != -1))
    shown, done = command("doctor", path), command("doctor", path, "--json")
    assert shown.returncode == done.returncode == 1
    assert "  gallery                         15,913    19,732  *\n" in shown.stdout
    found = json.loads(done.stdout)
    assert found["dataset"]["name"] == "Market-1501" and len(found["dataset"]["off"]) == 1
    assert found["counts"]["gallery"] == 15913 and found["expected"]["gallery"] == 19732


# Where persons count from 0 ---------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning")
@pytest.mark.parametrize(("identity", "number"), [([0, 1], 0), ([1, 2], 2), ([0, 0], 0)])
def test_label_0_is_a_person_where_a_query_has_it(identity, number, file_of):
    query, gallery = Labels(identity, [1, 1]), Labels([0, 0, 1, 2], [2, 1, 2, 2])
    assert count(query, gallery).distractors == number
    distances = np.array([[.1, .2, .3, .4]] * 2)
    assert evaluate_distances(distances, query, gallery).counts.gallery_distractors == number
    path = file_of(query, gallery)
    for arguments in (["evaluate", path], ["evaluate", path, "--convention", "layumi"],
                      ["explain", path, "--from", "matlab", "--to", "torchreid", "--query", "1"]):
        assert ("distractor" in table(*arguments)) == (number > 0), arguments


# Real files -------------------------------------------------------------------------------------

def read_real(name):
    folder = shared(f"real/{name.replace('dukemtmc', 'duke').replace('-', '_')}"
                    .replace("veri_776", "veri776"))
    if name == "veri-776":
        names = [line.split()[0] for line in (folder / "ex.txt").read_text().splitlines()]
        sides = (parse_names([name for name in names if name.startswith(side)], "veri776")
                 for side in ("query-", "test-"))
        return tuple(Labels(side["identity"], side["camera"]) for side in sides)
    files = {"market1501": "market1501_*.csv", "dukemtmc": "dukeMTMC_*.csv", "mars": "*.mat",
             "msmt17": "*.mat", "occluded-duke": "*.list"}
    return read_labels(*sorted(folder.glob(files[name])))


@pytest.mark.parametrize("name", ["market1501", "dukemtmc", "mars", "veri-776", "msmt17",
                                  "occluded-duke"])
def test_real_files_have_the_known_counts(name):
    query, gallery = read_real(name)
    assert replace(count(query, gallery), distractors=None) == replace(
        FINGERPRINTS[name].counts, distractors=None)
    found = recognise(query, gallery)
    assert (found.fingerprint, found.off) == (FINGERPRINTS[name], ())


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_the_table_of_good_images_has_the_known_counts(name):
    good, wrong = good_and_wrong(name)
    counts = FINGERPRINTS[name].counts
    assert (len(good), good.sum()) == (counts.query, counts.good)
    assert (good == 0).sum() == counts.unmatched and (good + wrong <= counts.gallery).all()


@pytest.mark.parametrize("name", ["market1501", "dukemtmc", "mars", "veri-776", "msmt17",
                                  "occluded-duke"])
def test_the_table_of_good_images_is_that_of_the_real_files(name):
    query, gallery = read_real(name)
    expected = []
    for identity, camera in zip(query.identity, query.camera):
        same = gallery.identity == identity
        expected.append((np.count_nonzero(same & (gallery.camera != camera)),
                         np.count_nonzero(~same)))
    assert sorted(zip(*good_and_wrong(name))) == sorted(expected)


def test_lists_of_veri776_are_the_rule():
    query, gallery = read_real("veri-776")
    folder = shared("real/veri776")
    lists = read_index_lists(folder / "gt_index.txt", folder / "jk_index.txt")
    roles = query_roles(query, gallery, ("same identity, same camera",))
    assert len(lists.good) == len(query) == 1678
    for k in range(1678):
        good, kept = roles(k)
        np.testing.assert_array_equal(np.sort(lists.good[k]), np.sort(good))
        np.testing.assert_array_equal(np.sort(lists.junk[k]), np.flatnonzero(~kept))
    assert sum(map(len, lists.good)) == 107106 and sum(map(len, lists.junk)) == 11589
