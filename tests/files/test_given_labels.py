"""Labels from the data set's folder laid over features, distances and ranked lists."""
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

import reid_ref
from reid_ref.datasets import read_folder
from reid_ref.files.formats import Contents
from reid_ref.files.given_labels import lay_labels
from reid_ref.files.image_places import GivenLabels, Order
from reid_ref.files.stored_arrays import StoredArray
from reid_ref.labels import Labels
from tests.commands.common import assert_one_line_error
from tests.datasets.test_folders import MARKET, make
from tests.documents import command

pytestmark = pytest.mark.filterwarnings("ignore::reid_ref.BenchmarkWarning")
QUERY, GALLERY = np.eye(4)[:2], np.eye(4)[[2, 3, 0, 1]]
#: Sorted names: queries 1 and 2; gallery -1, 0, 1, 2.
IDENTITY = [1, 2], [-1, 0, 1, 2]


@pytest.fixture
def market(tmp_path):
    make(tmp_path / "market", MARKET)
    return tmp_path / "market"


def read(market, names=None, **arrays):
    path = market.parent / "result.npz"
    np.savez(path, **arrays)
    return reid_ref.read(path, names=names, labels=read_folder(market))


def identities(data):
    return data.query.identity.tolist(), data.gallery.identity.tolist()


ALIKE = {
    "two matrices": {"qf": QUERY, "gf": GALLERY},
    "one matrix": {"feats": np.concatenate([QUERY, GALLERY])},
    "one matrix and the number": {"feats": np.concatenate([QUERY, GALLERY]), "num_query": 2},
    "distances": {"distmat": 1 - QUERY @ GALLERY.T},
}


@pytest.mark.parametrize("arrays", ALIKE.values(), ids=ALIKE)
def test_rows_in_sorted_order(market, arrays):
    data = read(market, **arrays)
    assert identities(data) == IDENTITY and data.gallery.camera.tolist() == [3, 1, 6, 3]
    assert data.query.names()[0] == "query/0001_c2s1_000301_00.jpg.jpg"
    assert data.layout.endswith("labels of Market-1501's folder: sorted names, as in layumi's "
                                "ImageFolder")


def test_the_number_of_rows_tells_that_junk_is_left_out(market):
    data = read(market, qf=QUERY, gf=GALLERY[1:])
    assert identities(data) == ([1, 2], [0, 1, 2])
    assert "without label -1, as in TransReID" in data.layout


def test_names_give_any_order_and_number(market):
    data = read(market, qf=QUERY[:1], gf=GALLERY[:2], q_names=["/a/0002_c1s1_000451_03.jpg"],
                g_names=["0001_c6s1_000151_01", r"C:\m\0000_c1s1_000151_01.jpg"])
    assert identities(data) == ([2], [1, 0]) and "by the names of the images" in data.layout


def test_names_of_both_sides_tell_the_queries(market):
    names = [*MARKET["query"], *MARKET["bounding_box_test"]]
    data = read(market, feats=np.eye(6), img_paths=names)
    assert identities(data) == ([2, 1], [2, -1, 0, 1])
    with pytest.raises(reid_ref.InputError, match="row 2: .*an image of Market-1501 in"):
        read(market, qf=QUERY, gf=GALLERY, q_names=[names[0], names[3]], g_names=names[2:])


def test_identities_in_the_file_choose_the_order(market):
    """That of the file system, too: identities may be numbered otherwise."""
    order = read_folder(market)[0].orders[2]
    given, = read_folder(market)
    pids = [getattr(given, side).identity[getattr(order, side)] + 7
            for side in ("query", "gallery")]
    data = read(market, qf=QUERY, gf=GALLERY[:3], q_pids=pids[0], g_pids=pids[1])
    assert identities(data) == tuple((each - 7).tolist() for each in pids)
    assert "the identities in the file confirm it" in data.layout
    with pytest.raises(reid_ref.InputError, match="q_pids: expected the identities of Market"):
        read(market, qf=QUERY, gf=GALLERY, q_pids=[1, 2], g_pids=[0, 1, 0, 1])


def test_an_order_of_the_file_system_is_not_guessed():
    images = Labels([1, 2], [1, 1])
    order = Order("as the disk has it", np.array([1, 0]), np.array([0, 1]), False)
    given = GivenLabels("Mine", "folder", images, images, (order,))
    with pytest.raises(reid_ref.InputError, match="f.npz: qf: expected rows of Mine"):
        lay_labels(files_of(qf=QUERY, gf=QUERY), {}, [given])
    laid = lay_labels(files_of(qf=QUERY, gf=QUERY, q_pids=np.array([2, 1]),
                               g_pids=np.array([1, 2])), {}, [given])
    assert laid.used == {"q_pids", "g_pids"} and "as the disk has it" in laid.words


def files_of(**arrays):
    return {Path("f.npz"): Contents({key: StoredArray.of(f"f.npz: {key}", value)
                                     for key, value in arrays.items()}, "a .npz file")}


def test_made_up_cameras_are_replaced_aloud(market):
    with pytest.warns(reid_ref.LabelWarning, match="q_camids: these are not the camera labels"):
        data = read(market, qf=QUERY, gf=GALLERY, q_pids=[1, 2], g_pids=[-1, 0, 1, 2],
                    q_camids=[0, 0], g_camids=[1, 1, 1, 1])
    assert data.query.camera.tolist() == [2, 1] and data.extra == ()


def test_cameras_from_0_are_the_same(market, recwarn):
    data = read(market, qf=QUERY, gf=GALLERY, q_camids=[1, 0], g_camids=[2, 0, 5, 2])
    assert data.gallery.camera.tolist() == [3, 1, 6, 3]
    assert [str(each.message) for each in recwarn if each.category is reid_ref.LabelWarning] == []


def test_other_numbers_of_rows_tell_both_and_what_is_left_out(market):
    with pytest.raises(reid_ref.InputError) as caught:
        read(market, qf=QUERY, gf=GALLERY[:2])
    text = str(caught.value)
    assert "2 query and 3 gallery images (sorted names, without label -1, as in TransReID)" in text
    assert "2 query and 4 gallery images" in text and "gf (2, 4)" in text


def test_no_features(market):
    with pytest.raises(reid_ref.InputError, match="features or distances.* got text"):
        read(market, text=["a"])


def test_features_in_matlab_and_in_separate_files(market):
    folder = market.parent
    savemat(folder / "m.mat", {"query_f": QUERY, "gallery_f": GALLERY})
    assert identities(reid_ref.read(folder / "m.mat", labels=read_folder(market))) == IDENTITY
    for name, array in (("qf", QUERY), ("gf", GALLERY), ("q_pids", [1, 2]),
                        ("g_pids", [-1, 0, 1, 2])):
        np.save(folder / f"{name}.npy", array)
    paths = [folder / f"{name}.npy" for name in ("q_pids", "g_pids", "qf", "gf")]
    assert identities(reid_ref.read(*paths, labels=read_folder(market))) == IDENTITY


def test_ranked_lists_in_an_array(market):
    data = read(market, I=np.array([[2, 3, 1, 0], [3, 2, 1, 0]]))
    assert identities(data) == IDENTITY
    with pytest.raises(reid_ref.InputError, match="2 query and 3 gallery images.*I \\(2, 2\\)"):
        read(market, I=np.array([[2, 3], [3, 2]]))


def test_vehicleid_is_one_matrix(tmp_path):
    (tmp_path / "v" / "train_test_split").mkdir(parents=True)
    (tmp_path / "v" / "train_test_split" / "test_list_800.txt").write_text("03 7\n01 7\n02 9\n")
    data = read(tmp_path / "v", feats=np.eye(3))
    assert identities(data) == ([7, 7, 9], [7, 7, 9])
    assert np.array_equal(data.query_features, data.gallery_features)
    data = read(tmp_path / "v", feats=np.eye(3)[:2], paths=["a/02.jpg", "03"])
    assert identities(data) == ([9, 7], [9, 7])
    with pytest.raises(reid_ref.InputError, match="draw a gallery of one image per vehicle"):
        read(tmp_path / "v", qf=np.eye(3)[:1], gf=np.eye(3)[:2])


def evaluated(folder, *words):
    done = command("evaluate", *words, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_command_line(market):
    folder = market.parent
    np.savez(folder / "a.npz", qf=QUERY, gf=GALLERY)
    np.savez(folder / "b.npz", A=QUERY, B=GALLERY[1:])
    found = evaluated(folder, "a.npz", "--labels", "market", "--metric", "cosine")
    assert found["mAP"] == 1.0 and "sorted names" in found["layout"]
    found = evaluated(folder, "b.npz", "--labels", "market", "--map",
                      "query_features=A,gallery_features=B")
    assert found["mAP"] == 1.0 and "without label -1" in found["layout"]
    done = command("evaluate", "a.npz", "--labels", "market", "--protocol", "market1501",
                   cwd=folder)
    assert "labels of Market-1501's folder" in " ".join(done.stdout.split())
    np.savez(folder / "c.npz", qf=QUERY, gf=GALLERY)
    done = command("compare", "a.npz", "c.npz", "--labels", "market", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = command("evaluate", "a.npz", cwd=folder)
    assert_one_line_error(done, "a.npz: .*--labels FOLDER.* from the data set's folder")
    assert len(evaluated(folder, "a.npz", "c.npz", "--labels", "market")["results"]) == 2
    assert_one_line_error(command("evaluate", "a.npz", "--labels", "market", "--numbers-from",
                                  "1", cwd=folder), "--numbers-from: .*ranked lists")
    (folder / "odd").mkdir()
    assert_one_line_error(command("evaluate", "a.npz", "--labels", "odd", cwd=folder),
                          "odd: .*the folder of a data set")


def test_ranked_lists(market):
    folder = market.parent
    names = MARKET["bounding_box_test"]
    (folder / "names.txt").write_text(f"{names[3]} {names[0]}\n{names[0]}\n")
    found = evaluated(folder, "names.txt", "--labels", "market")
    assert found["mAP"] == 1.0 and "as in layumi's" in found["layout"]
    np.save(folder / "lists.npy", [[2, 3, 1, 0], [3, 2, 1, 0]])
    assert evaluated(folder, "lists.npy", "--labels", "market")["mAP"] == 1.0
    np.save(folder / "short.npy", [[1, 2, 0], [2, 1, 0]])
    assert evaluated(folder, "short.npy", "--labels", "market")["mAP"] == 1.0
    np.save(folder / "cut.npy", [[1, 2], [2, 1]])
    assert_one_line_error(command("evaluate", "cut.npy", "--labels", "market", cwd=folder),
                          "cut.npy: .*complete lists, of 3 or 4 images")
    assert_one_line_error(command("evaluate", "lists.npy", "--labels", "market", "--metric",
                                  "cosine", cwd=folder), "--metric: .*--labels")
