"""Folders of data sets: labels, images left out and orders, on made folders of real names."""
import random
import warnings

import numpy as np
import pytest
from scipy.io import savemat

from reid_ref import BenchmarkWarning
from reid_ref.datasets import read_folder
from reid_ref.datasets.records import tables
from reid_ref.protocols.tables import checked_table
from tests.refusals import refused

MARKET = {"query": ["0002_c1s1_000451_03.jpg", "0001_c2s1_000301_00.jpg.jpg"],
          "bounding_box_test": ["0002_c3s1_000151_01.jpg", "-1_c3s2_000451_03.jpg",
                                "0000_c1s1_000151_01.jpg", "0001_c6s1_000151_01.jpg"]}
DUKE = {"query": ["0005_c2_f0046985.jpg", "0019_c1_f0051470.jpg"],
        "bounding_box_test": ["0019_c5_f0061106.jpg", "0005_c5_f0051781.jpg"]}
VERI = {"image_query": ["0009_c017_00068800_0.jpg", "0002_c002_00030600_0.jpg"],
        "image_test": ["0009_c017_00068800_0.jpg", "0002_c012_00030600_0.jpg",
                       "0002_c003_00084280_0.jpg"]}
LTCC = {"query": ["094_2_c9_015833.png", "094_10_c1_000003.png"],
        "test": ["010_1_c11_000004.png", "094_2_c4_000007.png"]}
PRCC = {f"rgb/test/{camera}/{person}": [f"cropped_rgb{k:03d}.jpg" for k in range(1, n + 1)]
        for camera, n in zip("ABC", (2, 1, 3)) for person in ("032", "074")}


def make(root, folders):
    """Make empty images in an order that is not that of their names."""
    paths = [root / folder / name for folder, names in folders.items() for name in names]
    random.Random(1).shuffle(paths)
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def read(root):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_folder(root)


def in_order(given, order, column):
    """Return a column of both sides as a loader takes it."""
    return [getattr(getattr(given, side)[getattr(order, side)], column).tolist()
            for side in ("query", "gallery")]


@pytest.mark.parametrize("below", ["", "Market-1501-v15.09.15"])
def test_market_with_and_without_junk(tmp_path, below):
    make(tmp_path / below, MARKET)
    (tmp_path / below / "bounding_box_test" / "Thumbs.db").touch()
    (tmp_path / below / "query" / "._0001_c2s1_000301_00.jpg").touch()  # as macOS leaves
    given, = read(tmp_path)
    without, every, listed = given.orders
    assert given.title == "Market-1501" and not given.same
    assert in_order(given, every, "identity") == [[1, 2], [-1, 0, 1, 2]]
    assert in_order(given, every, "camera") == [[2, 1], [3, 1, 6, 3]]
    assert in_order(given, without, "identity") == [[1, 2], [0, 1, 2]]
    assert (without.known, every.known, listed.known) == (True, True, False)
    assert "without label -1, as in TransReID" in without.words and "layumi" in every.words


def test_the_order_of_the_file_system_is_that_of_glob(tmp_path):
    make(tmp_path, {**DUKE, "bounding_box_test": [f"{k:04d}_c1_f0000001.jpg" for k in range(99)]})
    given, = read(tmp_path)
    order = given.orders[-1]
    assert not order.known and "torchreid, fast-reid and TransReID" in order.words
    assert in_order(given, order, "name")[1] == [
        f"bounding_box_test/{path.name}"
        for path in (tmp_path / "bounding_box_test").glob("*.jpg")]


@pytest.mark.parametrize(("n_query", "title"), [(2228, "DukeMTMC-reID"),
                                                (2210, "Occluded-DukeMTMC")])
def test_counts_tell_occluded_duke_from_duke(tmp_path, n_query, title):
    make(tmp_path, {"query": [f"0005_c2_f{k:07d}.jpg" for k in range(n_query)],
                    "bounding_box_test": [f"0005_c3_f{k:07d}.jpg" for k in range(17661)]})
    assert read_folder(tmp_path)[0].title == title  # whole: no warning


def test_other_counts_are_told(tmp_path):
    make(tmp_path, LTCC)
    with pytest.warns(BenchmarkWarning, match="2 query and 2 gallery .* LTCC has 493 and 7,0"):
        read_folder(tmp_path)


def test_clothes_of_ltcc_are_numbered_over_both_sides(tmp_path):
    make(tmp_path, LTCC)
    given, = read(tmp_path)
    order = given.orders[0]
    assert in_order(given, order, "identity") == [[94, 94], [10, 94]]
    assert in_order(given, order, "camera") == [[1, 9], [11, 4]]
    assert in_order(given, order, "clothes") == [[1, 2], [0, 2]]  # 010_1, 094_10, 094_2


def test_prcc_is_both_query_sets_or_one(tmp_path):
    make(tmp_path, PRCC)
    given, = read(tmp_path)
    both, same, other = given.orders[:3]
    assert [order.sizes for order in given.orders] == 2 * [(8, 4), (2, 4), (6, 4)]
    assert in_order(given, both, "camera") == [[1] * 2 + [2] * 6, [0] * 4]
    assert in_order(given, both, "identity") == [[32, 74] + [32] * 3 + [74] * 3, [32, 32, 74, 74]]
    assert in_order(given, both, "clothes") == [[0, 2] + [1] * 3 + [3] * 3, [0, 0, 2, 2]]
    assert in_order(given, same, "camera")[0] == [1, 1]
    assert in_order(given, other, "camera")[0] == [2] * 6


def test_msmt17_is_in_the_order_of_its_lists(tmp_path):
    names = ["0001/0001_001_15_0303morning_0015_0.jpg", "0000/0000_004_02_0303noon_0015_0.jpg"]
    for side in ("query", "gallery"):
        (tmp_path / f"list_{side}.txt").write_text(
            "".join(f"{name} {int(name[:4])}\n" for name in names))
    given, = read(tmp_path)
    assert in_order(given, given.orders[0], "identity")[0] == [1, 0]
    assert in_order(given, given.orders[0], "camera")[0] == [15, 2]
    assert in_order(given, given.orders[1], "identity")[0] == [0, 1]  # layumi's


def test_veri_with_and_without_the_image_of_no_viewpoint(tmp_path):
    make(tmp_path, VERI)
    given, = read(tmp_path)
    assert [order.sizes for order in given.orders] == [(2, 3), (2, 3), (1, 2), (1, 2)]
    assert in_order(given, given.orders[0], "camera") == [[2, 17], [3, 12, 17]]
    assert in_order(given, given.orders[2], "identity") == [[2], [2, 2]]


def test_every_list_of_vehicleid_is_a_set(tmp_path):
    folder = tmp_path / "train_test_split"
    folder.mkdir()
    (folder / "test_list_800.txt").write_text("0279029 23781\n0217649 18515\n")
    (folder / "test_list_1600.txt").write_text("0279029 23781\n")
    small, medium = read(tmp_path)
    assert small.same and in_order(small, small.orders[0], "identity") == [[23781, 18515]] * 2
    assert small.query.camera.tolist() == [279029, 217649] and len(medium.query) == 1
    (folder / "test_list_800.txt").write_text("0279029 a\n")
    refused("test_list_800.txt: line 1", "image and vehicle", read, tmp_path)


def test_cuhk03_np_from_images_and_from_its_configuration(tmp_path):
    for boxes in ("detected", "labeled"):
        make(tmp_path / boxes, {"query": ["0003_c1_21.png"], "bounding_box_test": [
            "0003_c2_21.png", "0002_c1_1.png"]})
    detected, labeled = read(tmp_path)
    assert (detected.title, labeled.title) == ("CUHK03-NP (detected)", "CUHK03-NP (labeled)")
    assert in_order(detected, detected.orders[0], "identity") == [[3], [2, 3]]
    mat = tmp_path / "mat"
    mat.mkdir()
    savemat(mat / "cuhk03_new_protocol_config_labeled.mat", {
        "labels": [[7, 8, 7]], "camId": [[1, 1, 2]], "train_idx": [[2]], "query_idx": [[3]],
        "gallery_idx": [[2, 1]]})
    given, = read(mat)
    assert in_order(given, given.orders[0], "identity") == [[7], [8, 7]]
    assert in_order(given, given.orders[0], "camera") == [[2], [1, 1]]


@pytest.mark.parametrize(("folders", "argument", "noun"), [
    ({}, "set", "an empty folder"),
    ({"images": ["1.jpg"]}, "set", "Market-1501: query and bounding_box_test"),
    ({**MARKET, "bounding_box_test": ["0002_c3s1_000151_01.jpg", "mine.jpg"]}, "set: bounding_box",
     "a file name of Market-1501"),
    ({**PRCC, "rgb/test/B/x": ["1.jpg"]}, "set: rgb/test/B/x/1.jpg", "named by the person")])
def test_other_folders_are_refused(tmp_path, folders, argument, noun):
    (tmp_path / "set").mkdir()
    make(tmp_path / "set", folders)
    if argument.endswith("bounding_box"):
        with pytest.raises(ValueError, match=f"bounding_box_test: names.*{noun}"):
            read(tmp_path / "set")
    else:
        refused(argument.rpartition("/")[2] if "/" in argument else argument, noun, read,
                tmp_path / "set")


def test_no_folder(tmp_path):
    refused("none", "the folder of a data set", read_folder, tmp_path / "none")


FOLDERS = [pytest.param(folder, id=key) for key, table in tables().items()
           for folder in table.get("folders", ())]


@pytest.mark.parametrize("folder", FOLDERS)
def test_records_have_known_fields(folder):
    checked_table(folder, "folders", {
        "kind": str, "names": str, "below": [str], "places": [list], "orders": [dict],
        "remark": str, "source": str})
    for order in folder["orders"]:
        checked_table(order, "orders", {"order": str, "without": str, "loaders": str,
                                        "cameras": [int], "words": str})
    assert "source" in folder and any(order["order"] != "listed" for order in folder["orders"])


def test_a_copy_in_another_order_is_no_other_set(tmp_path):
    """layumi's scripts put copies below pytorch; the images beside them are read."""
    make(tmp_path, MARKET)
    make(tmp_path, {f"pytorch/{side}/{name.split('_')[0]}": [name] for side, folder in (
        ("query", "query"), ("gallery", "bounding_box_test")) for name in MARKET[folder]})
    whole, = read(tmp_path)
    copies, = read(tmp_path / "pytorch")
    assert np.array_equal(whole.gallery[whole.orders[1].gallery].identity,
                          copies.gallery[copies.orders[1].gallery].identity)
