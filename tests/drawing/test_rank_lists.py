"""Ranked lists as figures: which image is where, and the frame that it has."""
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
from matplotlib.colors import to_hex
from PIL import Image

import reid_ref
from reid_ref import Labels
from reid_ref.cli import main
from reid_ref.commands.plot import style
from reid_ref.drawing import rank_lists
from reid_ref.drawing.rank_lists import FRAMES
from tests.cases import save
from tests.commands.report.seen import COLOURS, names_of, write_images
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
#: Query 3 on camera 1, and a gallery in order of distance.
QUERY = Labels([3], [1])
GALLERY = Labels([3, 5, 3, -1, 0, 4, 3], [1, 2, 2, 3, 1, 1, 3])
ROLES = ["ignored", "wrong", "good", "ignored", "distractor", "wrong", "good"]
REASONS = {0: "same\ncamera", 3: "label\n-1"}


@pytest.fixture
def made(tmp_path):
    """The folder of two result files, and names of the images of both sides."""
    names = [names_of(QUERY, "query"), names_of(GALLERY, "gallery")]
    for side, labels in zip(names, (QUERY, GALLERY)):
        write_images(tmp_path, side, labels)
    for file, distances in (("r.npz", np.arange(7.)), ("s.npz", np.arange(7.)[::-1])):
        save(tmp_path / file, [distances], QUERY, GALLERY, query_names=names[0],
             gallery_names=names[1])
    return tmp_path, *names


@pytest.fixture
def drawn(made, monkeypatch):
    """A function that returns the axes of the figure of the command, and its exit code."""
    figures = []
    monkeypatch.setattr(style, "save", lambda figure, path: figures.append(figure))

    def call(*words):
        words = [str(made[0] / word) if word.endswith(".npz") else word for word in words]
        assert main(["plot", "rank-lists", *words, "-o", str(made[0] / "x.png")]) == 0
        return figures[-1].axes[0]
    return call


def frames(ax):
    """The role of each frame by its colour and line style, from left to right, row by row."""
    roles = {value: role for role, value in FRAMES.items()}
    return [roles[to_hex(patch.get_edgecolor()).upper(), patch.get_linestyle()]
            for patch in ax.patches]


def check_images(ax, identities):
    """Each image has the colour of its identity in the middle, and the place of its frame."""
    for image, patch, identity in zip(ax.images, ax.patches, identities, strict=True):
        pixels = np.asarray(image.get_array()).astype(int)
        middle = pixels[pixels.shape[0] // 2, pixels.shape[1] // 2]
        assert abs(middle - COLOURS[identity]).max() < 24, identity
        left, right, bottom, top = image.get_extent()
        assert 0 < left - patch.get_x() < 0.1 and 0 < top - patch.get_y() < 0.1
        assert 0 < patch.get_x() + patch.get_width() - right < 0.1
        assert 0 < patch.get_y() + patch.get_height() - bottom < 0.1


def captions(ax):
    return [text.get_text() for text in ax.texts if "\n" in text.get_text()]


def test_two_systems(drawn, made):
    # Three kept images, the ignored ones before them, and the next good one at rank 5 or 4.
    ax = drawn("r.npz", "s.npz", "--query", "0", "--images", str(made[0]), "--top", "3")
    backwards = [6, 5, 4, 2]
    order = [0, 1, 2, 3, 4, 6, *backwards]
    assert frames(ax) == ["query", *(ROLES[k] for k in order[:6]), "query",
                          *(ROLES[k] for k in backwards)]
    check_images(ax, [3, *GALLERY.identity[order[:6]], 3, *GALLERY.identity[backwards]])
    ranks = ["-", 1, 2, "-", 3, 5, 1, 2, 3, 4]
    marks = {"good": "\u25cf", "wrong": "\u2715", "distractor": "\u25b2", "ignored": "\u25a8"}
    lines = [f"{marks[ROLES[k]]} {rank}\nd {k if place < 6 else 6 - k}\nid {GALLERY.identity[k]}\n"
             f"cam {GALLERY.camera[k]}" + (f"\n{REASONS[k]}" if k in REASONS else "")
             for place, (k, rank) in enumerate(zip(order, ranks))]
    query = "query\nid 3\ncam 1"
    assert captions(ax) == [query, *lines[:6], query, *lines[6:]]
    assert [text.get_text() for text in ax.texts if "\n" not in text.get_text()] == [
        "r: query 0", "s: query 0"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"{mark} {role}" for role, mark in marks.items()]
    assert ax.figure.get_size_inches()[0] == 7


def test_roles_differ_without_colours_and_for_the_colour_blind():
    kinds = {role: frame for role, frame in FRAMES.items() if role != "query"}
    assert len({style for _, style in kinds.values()}) == len(kinds) == 4
    # Okabe and Ito's, and grey.
    assert {colour for colour, _ in kinds.values()} - {*style.COLOURS} == {"#555555"}


def test_the_worst_queries_without_images(drawn):
    file = "fixtures/market_like.mat"
    data = reid_ref.read(file)
    ap = np.nan_to_num(reid_ref.evaluate(data.query_features, data.gallery_features, data.query,
                                         data.gallery).per_query.ap)
    lowest = np.argsort(ap, kind="stable").tolist()
    for words, n, shown in (([], 3, 10), (["--worst", "4", "--top", "1"], 4, 1)):
        ax = drawn(file, *words)
        titles = [text.get_text() for text in ax.texts if "\n" not in text.get_text()]
        assert titles.pop() == "no images given: --images ROOT shows them"
        assert titles == [f"query {k}, " + (f"AP {100 * ap[k]:.2f}" if ap[k] else "no match")
                          for k in lowest[:n]]
        assert not ax.images and sum(role != "ignored" for role in frames(ax)) >= n * (1 + shown)


def test_names_in_the_labels_and_only_what_is_shown(made):
    """HDF5, whose labels have the names; of the gallery only the images shown exist."""
    root, *names = made
    (root / "query").rename(root / "pictures")
    arrays = dict(np.load(root / "r.npz"))
    with h5py.File(root / "r.h5", "w") as file:
        file.update({key: value for key, value in arrays.items() if value.dtype.kind != "U"})
        file["query_name"] = [name.replace("query", "pictures") for name in names[0]]
        file["gallery_name"] = names[1]
    for k in (3, 4, 5, 6):
        (root / names[1][k]).unlink()
    words = ["plot", "rank-lists", str(root / "r.h5"), "--query", "0", "--images", str(root),
             "-o", str(root / "q.png")]
    assert main([*words, "--top", "2"]) == 2 and not (root / "q.png").exists()
    write_images(root, [names[1][6]], GALLERY[[6]])
    assert main([*words, "--top", "2"]) == 0


@pytest.mark.parametrize(("kind", "message"), [
    ("EPS", "UnidentifiedImageError"), ("GIF", "UnidentifiedImageError"),
    ("JPEG2000", "UnidentifiedImageError"), ("large", "1 x 25,000,001 pixels"),
    ("samples", "cannot be decoded")])
def test_images_that_are_not_opened(tmp_path, kind, message):
    """Whatever the name says; nothing but our line reaches stderr, and no program is started."""
    path = tmp_path / "x.jpg"
    if kind == "large":
        Image.new("1", (1, 25_000_001)).save(path, "PNG")
    else:
        Image.new("RGB", (9, 9)).save(path, "TIFF" if kind == "samples" else kind)
    samples = b"\x15\x01\x03\0\x01\0\0\0"
    path.write_bytes(path.read_bytes().replace(samples + b"\x03", samples + b"\x09"))
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (tmp_path / "gs").chmod(0o755)
    code = ("import sys\nfrom reid_ref import InputError\n"
            "from reid_ref.drawing.rank_lists import read_image\n"
            "try:\n    read_image(sys.argv[1])\nexcept InputError as error:\n    print(error)\n")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert message in done.stdout and done.stderr == ""
    assert not (tmp_path / "started").exists()


def torchreid_lists(root, names):
    """What torchreid's data manager holds: (path, pid, camid, dsetid)."""
    return tuple([(str(root / name), int(i), int(c), 0)
                  for name, i, c in zip(side, labels.identity, labels.camera)]
                 for side, labels in zip(names, (QUERY, GALLERY)))


def test_torchreids_function(made, monkeypatch):
    root, *names = made
    figures = []
    as_bytes = rank_lists.as_bytes
    monkeypatch.setattr(rank_lists, "as_bytes", lambda figure, kind: figures.append(
        figure) or as_bytes(figure, kind))
    query, gallery = torchreid_lists(root, names)
    tracklets = [([row[0], "no such file"], *row[1:]) for row in gallery]
    for images, kind in ((gallery, "image"), (tracklets, "video")):
        reid_ref.visualize_ranked_results(
            np.arange(7.)[None], (query, images), kind, width=40, height=80,
            save_dir=str(root / kind / "here"), topk=4)
        path, = (root / kind / "here").iterdir()
        assert path.name == "0003_c1s1_000000_00.jpg"    # torchreid's: the name of the query
        ax = figures[-1].axes[0]
        assert frames(ax) == ["query", *ROLES[:6]]
        check_images(ax, [3, *GALLERY.identity[:6]])
        sides = {(round(300 * patch.get_width()), round(300 * patch.get_height()))
                 for patch in ax.patches}
        assert sides == {(40, 80)}
        assert Image.open(path).format == "JPEG"


@pytest.mark.parametrize(("change", "argument", "noun"), [
    ({"data_type": "text"}, "data_type", "unknown 'text'"),
    ({"distmat": np.zeros((2, 7))}, "distances", "shape"),
    ({"topk": 0}, "topk", "a whole number from 1"),
    ({"width": 1.5}, "width", "a whole number"),
    ({"dataset": ([("a", 1)], [])}, "dataset", "query: row 0:")])
def test_wrong_arguments(made, change, argument, noun):
    root, *names = made
    arguments = {"distmat": np.zeros((1, 7)), "dataset": torchreid_lists(root, names),
                 "data_type": "image", "save_dir": root / "seen", **change}
    refused(argument, noun, reid_ref.visualize_ranked_results, **arguments)
    assert not (root / "seen").exists()
