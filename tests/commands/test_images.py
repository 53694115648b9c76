"""Names of images: where they are found, and that a wrong order is refused."""
import numpy as np
import pytest
import scipy.io

from reid_ref import InputError, LabelWarning, Labels
from reid_ref.files.image_names import check_names, names_of_side, path_below
from tests.refusals import refused


def touch(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_names_in_the_result_file(tmp_path):
    names = ["query/0002_c1_1.png", "query/0003_c1_22.png"]
    np.savez(tmp_path / "a.npz", q_paths=names, distmat=np.eye(2))
    np.savez(tmp_path / "b.npz", query_names=np.array(names, dtype=object))   # a pickle
    scipy.io.savemat(tmp_path / "c.mat", {"query_names": np.array(names, dtype=object)})
    np.savez(tmp_path / "d.npz", query_names=np.arange(2))
    np.savez(tmp_path / "e.npz", q_img_paths=names)  # as every name that files/ knows
    for file in ("a.npz", "e.npz"):
        assert names_of_side("query", 2, [tmp_path / file], tmp_path) == names
    for file, argument, noun in (("b.npz", "b.npz: query_names", "names with .astype(str)"),
                                 ("c.mat", "query_names", "holds no names"),
                                 ("d.npz", "query_names", "holds no names")):
        refused(argument, noun, names_of_side, "query", 2, [tmp_path / file], tmp_path)


def test_a_list_comes_first(tmp_path):
    np.savez(tmp_path / "a.npz", query_names=["one.jpg"])
    (tmp_path / "names.txt").write_text("two.jpg\n\n a b.jpg \n")
    assert names_of_side("query", 2, [tmp_path / "a.npz"], tmp_path, tmp_path / "names.txt") == [
        "two.jpg", "a b.jpg"]
    refused("names.txt", "3 query images", names_of_side, "query", 3, [], tmp_path,
            tmp_path / "names.txt")
    assert names_of_side("query", 1, [tmp_path / "a.npz"], tmp_path, known=["x"]) == ["one.jpg"]
    touch(tmp_path, "query/three.jpg")
    assert names_of_side("query", 1, [], tmp_path, known=["x"]) == ["x"]
    refused("the names of the query labels", "2 query images", names_of_side, "query", 2, [],
            tmp_path, known=["x"])


NAMES = ["0002_c1s1_000451_03.jpg", "0002_c2s1_000451_03.jpg", "-1_c3s1_000451_03.jpg"]


def test_names_that_fit():
    check_names(NAMES, Labels([2, 2, -1], [1, 2, 3]), "gallery")
    check_names(NAMES, Labels([2, 2, -1], [0, 1, 2]), "gallery")   # torchreid's cameras
    check_names(["g/0007/x.jpg", "g/-1/y.jpg"], Labels([7, -1], [4, 4]), "gallery")
    check_names([], Labels([], []), "query")
    with pytest.warns(LabelWarning, match="'x.jpg' .* neither identity nor camera"):
        check_names(["x.jpg"], Labels([8], [4]), "query")
    refused("gallery_names", "identity 7", check_names, ["g/7/x.jpg"], Labels([8], [4]), "gallery")


@pytest.mark.parametrize(("identity", "camera", "noun"), [
    ([2, 3, -1], [1, 2, 3], "of identity 3 and camera 2 by its label, and 1 of 3 differ"),
    ([2, 2, -1], [1, 1, 3], "of identity 2 and camera 1 by its label"),
    ([2, 2, -1], [0, 1, 3], "image 0 "), ([2, 2, 1], [1, 2, 3], "image 2 is '-1_c3")])
def test_the_first_mismatch_is_named(identity, camera, noun):
    refused("gallery_names", noun, check_names, NAMES, Labels(identity, camera), "gallery")


@pytest.mark.parametrize("name", ["../x.jpg", "/x.jpg", "a/../../x.jpg", "a\\..\\..\\x.jpg"])
def test_no_name_leads_out_of_the_root(tmp_path, name):
    touch(tmp_path, "x.jpg", "root/a/y.jpg")
    with pytest.raises(InputError) as caught:
        path_below(tmp_path / "root", name)
    assert "an image below" in str(caught.value.expected)


def test_no_link_leads_out_of_the_root(tmp_path):
    touch(tmp_path, "root/a/x.jpg", "secret/y.jpg")
    (tmp_path / "root" / "a" / "inside.jpg").symlink_to("x.jpg")
    (tmp_path / "root" / "a" / "y.jpg").symlink_to(tmp_path / "secret" / "y.jpg")
    (tmp_path / "root" / "b").symlink_to(tmp_path / "secret")
    (tmp_path / "linked").symlink_to("root")     # the root itself may be one
    assert path_below(tmp_path / "linked", "a/inside.jpg") == str(
        tmp_path / "linked" / "a" / "inside.jpg")
    for name in ("a/y.jpg", "b/y.jpg"):
        refused("y.jpg", "a link", path_below, tmp_path / "root", name)


def test_a_missing_folder(tmp_path):
    refused("gallery_names", "bounding_box_test", names_of_side, "gallery", 1, [], tmp_path)
