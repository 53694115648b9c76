"""Ranked lists as pictures: which image stands where, and the frame that it has."""
import h5py
import numpy as np
import pytest
from PIL import Image

import reid_ref
from reid_ref import InputError, Labels
from reid_ref.cli import main
from reid_ref.drawing.rank_list import COLOURS as FRAMES, FRAME, GAP, QUERY_GAP
from tests.cases import save
from tests.commands.report.seen import COLOURS, names_of, write_images

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
#: Query 3 on camera 1, and a gallery in order of distance.
QUERY = Labels([3], [1])
GALLERY = Labels([3, 5, 3, -1, 0, 4, 3], [1, 2, 2, 3, 1, 1, 3])
ROLES = ["ignored", "wrong", "good", "ignored", "distractor", "wrong", "good"]


@pytest.fixture
def made(tmp_path):
    """The result file, and names of the images of both sides."""
    names = [names_of(QUERY, "query"), names_of(GALLERY, "gallery")]
    for side, labels in zip(names, (QUERY, GALLERY)):
        write_images(tmp_path, side, labels)
    save(tmp_path / "r.npz", [np.arange(7.)], QUERY, GALLERY, query_names=names[0],
         gallery_names=names[1])
    return tmp_path, *names


def cells(picture, width, height, n):
    """The colour in the middle of each image, and that of its frame's lower edge."""
    pixels = np.asarray(picture).astype(int)
    found = []
    for k in range(n):
        left = k * (width + GAP) + (QUERY_GAP if k else 0)
        middle = pixels[height // 2, left + width // 2]
        edge = pixels[height - 2, left + FRAME:left + width - FRAME]
        found.append((middle, edge))
    return found


def check(found, identities, roles, near=24):
    for (middle, edge), identity, role in zip(found, identities, roles, strict=True):
        assert abs(middle - COLOURS[identity]).max() < near, (identity, middle)
        if role == "ignored":       # hatched: grey and white
            assert np.ptp(edge, axis=0).min() > 60
        else:
            assert abs(edge - FRAMES[role]).max() < near, role


def test_names_in_the_labels(made):
    """HDF5, which only the labels bring; the folders have no names that are looked for."""
    root, *names = made
    (root / "query").rename(root / "pictures")
    arrays = dict(np.load(root / "r.npz"))
    with h5py.File(root / "r.h5", "w") as file:
        file.update({key: value for key, value in arrays.items() if value.dtype.kind != "U"})
        file["query_name"] = [name.replace("query", "pictures") for name in names[0]]
        file["gallery_name"] = names[1]
    assert main(["rank-list", str(root / "r.h5"), "--query", "0", "--images", str(root), "-o",
                 str(root / "q.png"), "--top", "1"]) == 0


def test_one_query(made):
    root = made[0]
    assert main(["rank-list", str(root / "r.npz"), "--query", "0", "--images", str(root), "-o",
                 str(root / "q.png"), "--top", "3"]) == 0
    picture = Image.open(root / "q.png")
    # Three kept images, the two ignored ones before them, and the next good one at rank 5.
    assert picture.width == 7 * 128 + 6 * GAP + QUERY_GAP
    check(cells(picture, 128, 256, 7), [3, 3, 5, 3, -1, 0, 3],
          ["query", *ROLES[:5], "good"])


def test_without_images(made):
    root = made[0]
    assert main(["rank-list", str(root / "r.npz"), "--query", "0", "-o", str(root / "q.jpg")]) == 0
    found = cells(Image.open(root / "q.jpg"), 128, 256, 8)
    for (_, edge), role in zip(found, ["query", *ROLES]):
        assert role == "ignored" or abs(edge - FRAMES[role]).max() < 40


@pytest.mark.parametrize(("options", "match"), [
    (["--query", "1"], "--query: expected a number from 0 to 0, got 1"),
    (["--query", "0", "--top", "0"], "--top: expected a whole number from 1"),
    (["--query", "0", "--convention", "veri"], "--convention: veri takes lists")])
def test_wrong_options(made, capsys, options, match):
    root = made[0]
    assert main(["rank-list", str(root / "r.npz"), "-o", str(root / "q.png"), *options]) == 2
    assert match in capsys.readouterr().err and not (root / "q.png").exists()
    assert main(["rank-list", str(root / "r.npz"), "-o", str(root / "q.gif"), "--query",
                 "0"]) == 2
    assert "expected a name that ends in .png, .jpg" in capsys.readouterr().err


def torchreid_lists(root, names):
    """What torchreid's data manager holds: (path, pid, camid, dsetid)."""
    return tuple([(str(root / name), int(i), int(c), 0)
                  for name, i, c in zip(side, labels.identity, labels.camera)]
                 for side, labels in zip(names, (QUERY, GALLERY)))


def test_torchreids_function(made):
    root, *names = made
    distances = np.arange(7.)[None]
    reid_ref.visualize_ranked_results(
        distances, torchreid_lists(root, names), "image", width=40, height=80,
        save_dir=str(root / "seen" / "here"), topk=4)
    path, = (root / "seen" / "here").iterdir()
    assert path.name == "0003_c1s1_000000_00.jpg"    # torchreid's: the name of the query
    check(cells(Image.open(path), 40, 80, 7), [3, 3, 5, 3, -1, 0, 4], ["query", *ROLES[:6]], 60)


def test_tracklets_show_their_first_image(made):
    root, *names = made
    query, gallery = torchreid_lists(root, names)
    tracklets = [([row[0], "no such file"], *row[1:]) for row in gallery]
    reid_ref.visualize_ranked_results(
        np.arange(7.)[None], (query, tracklets), "video", save_dir=root / "seen")
    assert len(list((root / "seen").iterdir())) == 1


@pytest.mark.parametrize(("change", "match"), [
    ({"data_type": "text"}, "data_type: expected 'image' or 'video'"),
    ({"distmat": np.zeros((2, 7))}, r"distances: expected shape .* = \(1, 7\)"),
    ({"topk": 0}, "topk: expected a whole number from 1, got 0"),
    ({"width": 1.5}, "width: expected a whole number"),
    ({"dataset": ([("a", 1)], [])}, r"dataset: query: row 0: expected \(path, pid, camid\)")])
def test_wrong_arguments(made, change, match):
    root, *names = made
    arguments = {"distmat": np.zeros((1, 7)), "dataset": torchreid_lists(root, names),
                 "data_type": "image", "save_dir": root / "seen", **change}
    with pytest.raises(InputError, match=match):
        reid_ref.visualize_ranked_results(**arguments)
    assert not (root / "seen").exists()
