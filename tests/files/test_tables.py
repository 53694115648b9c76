"""Tables with a header: labels with a split, distances between names, lists of each query."""
from __future__ import annotations

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels, cli
from reid_ref.datasets.labels import read_side
from reid_ref.files.layouts import Reading
from reid_ref.files.lists import lists_of_identities, read_ranked_lists
from reid_ref.files.tables import LISTS, lists_of
from tests.refusals import refused
from tests.shared import shared

pytestmark = pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning")
STEP = reid_ref.CONVENTIONS["matlab"].replace(ignored=(), ap="step")
N, QUERIES = 30, 10
NAMES = [f"animal {k % 6}" for k in range(N)]
FEATURES = np.eye(6)[[k % 6 for k in range(N)]] + np.random.default_rng(0).random((N, 6))


def table(path, split, head=",image_id,identity,path,date,split", end="\n"):
    rows = [f'{k},{k + 7},{name},"im/{k}, a.jpg",,{word}'
            for k, (name, word) in enumerate(zip(NAMES, split))]
    path.write_text(end.join([head, *rows]) + end)
    return path


def expected(asks, answers):
    rows = [np.flatnonzero(side) for side in (asks, answers)]
    labels = [Labels(np.array(NAMES)[side]) for side in rows]
    return reid_ref.evaluate(*(FEATURES[side] for side in rows), *labels, convention=STEP)


def evaluated(data, convention=STEP):
    """Return the result of what a file holds."""
    if data.ranked is not None:
        return reid_ref.evaluate_ranked_lists(data.ranked, data.query, data.gallery,
                                              convention=convention)
    if data.distances is not None:
        return reid_ref.evaluate_distances(data.distances, data.query, data.gallery,
                                           convention=convention)
    return reid_ref.evaluate(data.query_features, data.gallery_features, data.query, data.gallery,
                             convention=convention)


@pytest.mark.parametrize(("words", "asking"), [
    (("test", "train"), {"test"}), (("query", "database"), {"query"}),
    (("probe", "gallery"), {"probe"}), (("query", "test"), {"query"}),
    (("test", "train", ""), {"test"}),
    (("query", "test", "train"), {"query"}), (("Query", "query", "gallery"), {"Query", "query"}),
    (("val", "test", "reference"), {"val", "test"}), (("Query", "Gallery", "train"), {"Query"}),
    (("1", "0"), {"1"}), (("True", "False"), {"True"})])
def test_words_of_a_split(tmp_path, words, asking):
    """Who asks, who answers, and what is left out and said."""
    split = np.array([words[k % len(words)] for k in range(N)])
    np.save(tmp_path / "features.npy", FEATURES)
    files = tmp_path / "features.npy", table(tmp_path / "metadata.csv", split)
    left = np.isin(split, [word for word in words[2:] if word in ("train", "")])
    asks = np.isin(split, list(asking))
    want, data = expected(asks, ~asks & ~left), reid_ref.read(*files)
    got = evaluated(data)
    assert (got.mAP, got.rank(1)) == (want.mAP, want.rank(1))
    assert got.fingerprints == want.fingerprints
    assert data.query.names()[0] == f"im/{np.flatnonzero(asks)[0]}, a.jpg"
    assert ("10 images of neither side left out" in data.layout) == bool(left.any())


@pytest.mark.parametrize("words", [("a", "b"), ("query", "a", "b"), ("train", "train"),
                                   ("query", "gallery", "val")])
def test_a_split_that_is_not_clear_is_asked_about(tmp_path, words):
    np.save(tmp_path / "features.npy", FEATURES)
    split = [words[k % len(words)] for k in range(N)]
    files = tmp_path / "features.npy", table(tmp_path / "metadata.csv", split)
    error = refused("metadata.csv: split", "query and gallery, or test", reid_ref.read, *files)
    assert all(repr(word) in error.got for word in words)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_table_beside_similarities_and_as_labels(tmp_path, capsys, end):
    split = ["test"] * QUERIES + ["train"] * (N - QUERIES)
    want = expected(np.arange(N) < QUERIES, np.arange(N) >= QUERIES)
    labels = str(table(tmp_path / "metadata.csv", split, end=end))
    unit = FEATURES / np.linalg.norm(FEATURES, axis=1, keepdims=True)
    np.save(tmp_path / "similarity.npy", unit[:QUERIES] @ unit[QUERIES:].T)
    np.save(tmp_path / "features.npy", FEATURES)
    for name in ("similarity.npy", "features.npy"):
        for words in ([labels], ["--labels", labels]):
            assert cli.main(["evaluate", str(tmp_path / name), *words, "--set", "ap=step"]) == 0
            assert repr(want.mAP)[:12] in capsys.readouterr().out


def test_tables_that_are_wrong(tmp_path):
    def refuse(text, place, noun):
        (tmp_path / "t.csv").write_text(text)
        refused(place, noun, read_side, tmp_path / "t.csv")

    refuse("name,identity\na,1\nb\n", "t.csv: line 3", "2 columns")
    refuse("name,identity\n", "t.csv", "a row for each image below the header")
    refuse("name,identity\na,\nb,2\n", "t.csv: identity", "an empty one at index 0")
    refuse("identity,identity\na,1\n", "t.csv: line 1", "'identity' twice")
    refuse("identity,pid\na,1\n", "t.csv: line 1", "'pid' and 'identity'")
    (tmp_path / "t.csv").write_bytes("name,identity\na,bär\n".encode("latin1"))
    refused("t.csv", "not text in UTF-8; expected numbers or a table", reid_ref.read,
            tmp_path / "t.csv")


def test_the_doctor_reads_a_table_of_names(tmp_path, capsys):
    """It ended in a traceback."""
    labels = table(tmp_path / "metadata.csv", ["test"] * QUERIES + ["train"] * (N - QUERIES))
    assert cli.main(["doctor", str(labels)]) == 0
    assert "6 identities of queries" in capsys.readouterr().out


def test_a_table_without_identity_says_how_to_name_it(tmp_path, capsys):
    np.save(tmp_path / "features.npy", FEATURES)
    labels = table(tmp_path / "metadata.csv", ["test"] * QUERIES + ["train"] * (N - QUERIES),
                   ",image_id,species,path,date,split")
    words = ["evaluate", str(tmp_path / "features.npy"), str(labels)]
    assert cli.main(words) == 2 and "is the identity, with names= (--map)" in (
        capsys.readouterr().err)
    assert cli.main([*words, "--map", "identity=species"]) == 0


def test_many_rows(tmp_path):
    n = 200_000
    (tmp_path / "t.csv").write_text("identity,camera,path\n" + "".join(
        f"name {k % 999},c{k % 7},folder/{k}.jpg\n" for k in range(n)))
    side = read_side(tmp_path / "t.csv")
    assert len(side) == n and side.identity_of(999) == "name 0" and side.camera_of(8) == "c1"


def test_one_set_against_itself(tmp_path, capsys):
    np.savez(tmp_path / "one.npz", feats=FEATURES, labels=NAMES)
    distances = np.linalg.norm(FEATURES[:, None] - FEATURES, axis=2)
    np.savez(tmp_path / "matrix.npz", distmat=distances, labels=NAMES)
    labels = Labels(NAMES)
    want = reid_ref.evaluate(FEATURES, FEATURES, labels, labels, normalize=False,
                             convention=STEP.replace(ignored=("itself",)))
    for name in ("one.npz", "matrix.npz"):
        path = str(tmp_path / name)
        error = refused(name if name == "one.npz" else "matrix.npz: distmat", "ignored=itself",
                        reid_ref.read, path)
        assert "num_query" in str(error)
        assert evaluated(reid_ref.read(path, reading=Reading(same_images=True)),
                         STEP.replace(ignored=("itself",), normalize=False)).mAP == want.mAP
        scale = ["--no-normalize"] * (name == "one.npz")
        assert cli.main(["evaluate", path, "--set", "ignored=itself,ap=step", *scale]) == 0
        printed = capsys.readouterr()
        assert repr(want.mAP)[:12] in printed.out and "query-in-gallery" not in printed.err


# ---------------------------------------------------------------- lists and distances by names

ORDER = {"q1": ["b", "a", "c"], "q2": ["c", "b", "a"]}
FORMS = {
    "long.csv": "query_id,database_image_id,score\n" + "".join(
        f"{query},{image},{-k}\n" for k in range(3) for query, images in ORDER.items()
        for image in [images[k]]),
    "ranks.tsv": "image\trank\tquery\n" + "".join(
        f"{images[k]}\t{k + 1}\t{query}\n" for query, images in ORDER.items() for k in (2, 0, 1)),
    "run.txt": "".join(f"{query} Q0 {image} {k + 1} {9 - k} tag\n"
                       for query, images in ORDER.items() for k, image in enumerate(images)),
    "wide.csv": "name,rank1,rank2,rank3\n" + "".join(
        f"{query},{','.join(images)}\n" for query, images in ORDER.items()),
    "kaggle.csv": "Image,Id\n" + "".join(
        f"{query},{' '.join(images)}\n" for query, images in ORDER.items())}


@pytest.mark.parametrize("name", FORMS)
def test_lists_that_name_their_query(tmp_path, name):
    """Whatever the order of the rows."""
    (tmp_path / name).write_text(FORMS[name])
    lists = read_ranked_lists(tmp_path / name, 2, ["q2", "q1"], ["a", "b", "c"])
    assert [images.tolist() for images in lists.lists] == [[2, 1, 0], [1, 0, 2]]


def test_every_form_of_lists_has_an_example(tmp_path):
    titles = [lists_of(tmp_path / name, text)[0] for name, text in FORMS.items()]
    assert {*titles} == {form.title for form in LISTS}


def test_lists_that_are_wrong(tmp_path):
    def refuse(text, noun, name="l.csv"):
        (tmp_path / name).write_text(text)
        error = refused_at(tmp_path / name)
        assert noun in str(error) and "another benchmark" not in str(error)

    def refused_at(path):
        with pytest.raises(reid_ref.InputError) as caught:
            read_ranked_lists(path, 2, ["q1", "q2"], ["a", "b"])
        return caught.value

    refuse("nonsense words\na b\nb a\n", "a header of no known form")
    refuse("query,image,score\nq1,a,x\nq2,b,1\n", "'x'")
    refuse("a b\nb a\na b\nb a\n", "2 lines")


def test_lists_of_identities(tmp_path):
    """A repeated identity takes a place, and is no second match."""
    (tmp_path / "lists.csv").write_text("Image,Id\na,w_1 w_1 w_2 w_9\nb,w_2 w_1\nc,w_5 w_6\n")
    query = Labels(["w_2", "w_2", "w_4"], name=["a", "b", "c"])
    data = lists_of_identities(tmp_path / "lists.csv", query)
    result = evaluated(data)
    assert (result.rank(1), result.rank(3), result.mAP) == (1 / 3, 2 / 3, (1 / 3 + 1) / 3)
    other = Labels(["x", "y", "z"], name=["a", "b", "c"])  # of images, they gave 0.00
    refused("lists.csv", "name the gallery's labels", lists_of_identities,
            tmp_path / "lists.csv", other)


@pytest.mark.parametrize(("files", "labels", "words"), [
    ("long_list.csv", "long_list_query.csv long_list_gallery.csv",
     ["0.779372447731802", "Rank-1       100.00"]),
    ("identity_lists.csv", "identity_lists_truth.csv",
     ["0.5891666666666666", "Rank-1        50.00", "Rank-5        75.00"]),
    ("labelled_distances.csv", "", ["0.6043667839976717", "Rank-1        66.67"])])
def test_forms_of_others(files, labels, words, capsys):
    """All were refused before; the values are those of a computation of its own, in numpy."""
    path = [str(shared(f"cases/{name}")) for name in (files, *labels.split())]
    options = ["--labels", *path[1:]] if labels else []
    assert cli.main(["evaluate", path[0], *options, "--set", "ap=step"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in words), out
    assert out.count("identity:") <= 1


def test_one_set_of_others(capsys):
    path = str(shared("cases/one_set.npz"))
    assert cli.main(["evaluate", path, "--set", "ignored=itself,ap=step"]) == 0
    out = capsys.readouterr().out
    assert "94.15" in out and "97.78" in out


def test_a_frame_of_labels(tmp_path):
    pandas = pytest.importorskip("pandas")
    np.save(tmp_path / "features.npy", FEATURES)
    split = ["query"] * QUERIES + ["gallery"] * (N - QUERIES)
    frame = pandas.read_csv(table(tmp_path / "metadata.csv", split))
    data = reid_ref.read(tmp_path / "features.npy", labels=frame)
    want = expected(np.arange(N) < QUERIES, np.arange(N) >= QUERIES)
    assert evaluated(data).fingerprints == want.fingerprints and evaluated(data).mAP == want.mAP
    frame.loc[3, "identity"] = None
    refused("labels: identity", "an empty one at index 3", reid_ref.read,
            tmp_path / "features.npy", labels=frame)


def test_distances_between_names_find_their_labels(tmp_path, capsys):
    """A table of labels in another order, with images of neither side, is matched by names."""
    random = np.random.default_rng(0)
    names = [f"img{k}.jpg" for k in range(30)]
    identity = {name: f"dog {k % 5}" for k, name in enumerate(names)}
    distances = random.random((8, 20))
    (tmp_path / "d.csv").write_text("\n".join([",".join(["query", *names[8:28]]), *(
        ",".join([name, *map(repr, row.tolist())]) for name, row in zip(names, distances))]))
    mixed = [names[k] for k in random.permutation(30)]
    rows = [f"{k},{identity[name]},{name}" for k, name in enumerate(mixed)]
    (tmp_path / "metadata.csv").write_text("\n".join([",identity,path", *rows]))
    sides = [Labels([identity[name] for name in side]) for side in (names[:8], names[8:28])]
    found = evaluated(reid_ref.read(tmp_path / "d.csv", tmp_path / "metadata.csv"))
    expected = reid_ref.evaluate_distances(distances, *sides, convention=STEP)
    assert found.cmc.tolist() == expected.cmc.tolist() and found.mAP == expected.mAP
    assert cli.main(["evaluate", str(tmp_path / "d.csv"), "--labels",
                     str(tmp_path / "metadata.csv")]) == 0
    capsys.readouterr()
    for text, message in ((rows[:20], r"metadata.csv: path: expected 'img\d+.jpg', of .*d.csv: "),
                          (rows + [rows[3]], "each image once, got 'img.* twice")):
        (tmp_path / "metadata.csv").write_text("\n".join([",identity,path", *text]))
        with pytest.raises(reid_ref.InputError, match=message):
            reid_ref.read(tmp_path / "d.csv", tmp_path / "metadata.csv")


def test_a_table_tells_the_identity_that_names_have_otherwise(tmp_path):
    (tmp_path / "d.csv").write_text("q,a_1,a_2,b_1\na_0,.1,.2,.3\nb_0,.1,.2,.3\n")
    (tmp_path / "metadata.csv").write_text(
        "name,identity\nb_1,y\na_2,y\na_1,x\nb_0,y\na_0,x\n")
    data = reid_ref.read(tmp_path / "d.csv", tmp_path / "metadata.csv")
    assert data.query.texts("identity").tolist() == ["x", "y"]
    assert data.gallery.texts("identity").tolist() == ["x", "y", "y"]
