"""Files as users of public evaluators save them: each is read by one command, with the numbers of
the same arrays in Python.
"""
from __future__ import annotations

import json
import os
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

import reid_ref
from reid_ref import InputError, Labels, cli
from reid_ref.arrays.stored import is_lazy
from reid_ref.files.layouts import NAMES, ROLES, plain_name
from tests.documents import ROOT
from tests.files.test_files import (
    FIELDS, N_QUERY, assert_is_made, damaged, refuse, write_hdf5, write_npz)
from tests.installed import version_of
from tests.nightly import cases
from tests.refusals import refused

QF, GF, DISTANCES = (FIELDS[name] for name in ("query_features", "gallery_features", "distances"))
Q_PIDS, Q_CAMIDS, G_PIDS, G_CAMIDS = (FIELDS[f"{side}_{column}"] for side in ("query", "gallery")
                                      for column in ("identity", "camera"))
LABELS = {"q_pids": Q_PIDS, "g_pids": G_PIDS, "q_camids": Q_CAMIDS, "g_camids": G_CAMIDS}
LONG = {f"{side}_{column}s": FIELDS[f"{side}_{role}"] for side in ("query", "gallery")
        for column, role in (("pid", "identity"), ("camid", "camera"))}
FEATS, PIDS, CAMIDS = (np.concatenate(arrays) for arrays in (
    (QF, GF), (Q_PIDS, G_PIDS), (Q_CAMIDS, G_CAMIDS)))
ORDER = np.argsort(DISTANCES, axis=1, kind="stable")


def paths(identity, camera, folder):
    return [f"{folder}/{pid:04}_c{camid}s1_{k:06}_00.jpg" if pid >= 0 else
            f"{folder}/-1_c{camid}s1_{k:06}_00.jpg" for k, (pid, camid) in enumerate(
                zip(identity.tolist(), camera.tolist()))]


Q_PATHS, G_PATHS = paths(Q_PIDS, Q_CAMIDS, "query"), paths(G_PIDS, G_CAMIDS, "bounding_box_test")


def write(files):
    """Write files by name, each in its format; in those of torch, matrices are tensors."""
    for name, content in files.items():
        path = Path(name)
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif path.suffix in (".pt", ".pth"):
            version_of("torch")
            import torch
            torch.save(as_tensors(torch.from_numpy, content), path)
        elif path.suffix == ".txt":
            path.write_text("\n".join(content))
        else:
            WRITERS[path.suffix](path, content)


WRITERS = {".npz": write_npz, ".npy": np.save, ".mat": savemat, ".h5": write_hdf5}


def as_tensors(tensor, content):
    if isinstance(content, (dict, tuple)):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        changed = {key: as_tensors(tensor, value) for key, value in items}
        return changed if isinstance(content, dict) else tuple(changed.values())
    return tensor(content) if np.ndim(content) == 2 else content


def each(suffix, arrays, folder="."):
    """Return one file for each array."""
    return {f"{folder}/{name}{suffix}": {name: array} if suffix == ".mat" else array
            for name, array in arrays.items()}


SIX = {"qf": QF, "gf": GF, **LABELS}
SPLIT = {"feats": FEATS, "pids": PIDS, "camids": CAMIDS}
#: Form to the files, and the words of the command where they are not these files.
OF_FEATURES = {
    "dict of tensors": {"r.pt": SIX},
    "dict of tensors, .pth, labels in numpy and lists": {"r.pth": {
        "query_features": QF, "gallery_features": GF, "query_ids": Q_PIDS, "epoch": 60,
        "gallery_ids": G_PIDS.tolist(), "query_cams": Q_CAMIDS, "gallery_cams": G_CAMIDS,
        "query_paths": Q_PATHS, "gallery_paths": G_PATHS, "cfg": None}},
    "torchreid's six": {"r.npz": SIX},
    "TransReID's four": {"r.npz": {**SPLIT, "num_query": N_QUERY}},
    "folder of short names": (each(".npy", SIX, "feat"), "feat"),
    "folder of long names": (each(".npy", {"query_features": QF, "gallery_features": GF, **LONG},
                                  "feat"), "feat"),
    "image paths": {"r.npz": {"query_features": QF, "gallery_features": GF,
                              "query_paths": Q_PATHS, "gallery_paths": G_PATHS}},
    # more, from public repositories
    "what R1_mAP_eval returns, without its distances": {"r.npz": {
        "qf": QF, "gf": GF, "pids": PIDS, "camids": CAMIDS, "cmc": [.5], "mAP": .5}},
    "two files of a video evaluator": {
        "query.pth": {"qf": QF, "q_pids": Q_PIDS, "q_camids": Q_CAMIDS},
        "gallery.pth": {"gf": GF, "g_pids": G_PIDS, "g_camids": G_CAMIDS}},
    "features in torch, labels in numpy": {
        "query_avg_feature.pt": QF, "gallery_avg_feature.pt": GF, **each(".npy", LONG)},
    "camel case": (each(".npy", {
        "queryFeat": QF, "queryPID": Q_PIDS, "queryCamID": Q_CAMIDS, "galleryFeat": GF,
        "galleryPID": G_PIDS, "galleryCamID": G_CAMIDS, "distmat": DISTANCES}), "."),
    "two letters": each(".npy", {"qf": QF, "gf": GF, "qi": Q_PIDS, "gi": G_PIDS, "qc": Q_CAMIDS,
                                 "gc": G_CAMIDS}),
    "embeddings": (each(".npy", {"query_embeddings": QF, "gallery_embeddings": GF, **LONG}), "."),
    "clothes in HDF5": {"r.h5": {**SIX, "q_clothes_ids": Q_PIDS, "g_clothes_ids": G_PIDS}},
    "names in one list": {"r.npz": {"features": FEATS, "img_paths": Q_PATHS + G_PATHS,
                                    "num_query": N_QUERY}},
    "a flag for each image": {"r.npz": {
        "features": np.r_[GF, QF], "label": np.r_[G_PIDS, Q_PIDS],
        "camera": np.r_[G_CAMIDS, Q_CAMIDS], "is_query": [0] * 5 + [1] * 3}},
    "a flag in another order": {"r.npz": {
        "features": np.r_[GF[:2], QF, GF[2:]], "pids": np.r_[G_PIDS[:2], Q_PIDS, G_PIDS[2:]],
        "camids": np.r_[G_CAMIDS[:2], Q_CAMIDS, G_CAMIDS[2:]],
        "is_query": np.array([0, 0, 1, 1, 1, 0, 0, 0], bool)}},
    "words for each image": {"r.npz": {
        "features": np.r_[GF, QF], "label": np.r_[G_PIDS, Q_PIDS],
        "camera": np.r_[G_CAMIDS, Q_CAMIDS], "is_query": ["Gallery"] * 5 + ["probe"] * 3}},
    "words under another name": (
        {"r.h5": {**SPLIT, "split": ["query"] * N_QUERY + ["gallery"] * 5}}, "r.h5",
        "--map", "is_query=split"),
    "dicts in a dict": {"r.pt": {
        "query": {"features": QF, "pids": Q_PIDS, "camids": Q_CAMIDS},
        "gallery": {"features": GF, "pids": G_PIDS, "camids": G_CAMIDS}}},
    "a tuple and a map": ({"r.pt": (FEATS, PIDS, CAMIDS, N_QUERY)}, "r.pt", "--map",
                          "features=0,identity=1", "--map", "camera=2,num_query=3"),
    "a number of queries": ({"r.npz": SPLIT}, "r.npz", "--map", f"num_query={N_QUERY}"),
    "another naming and a map": ({"r.npz": {"A": QF, "B": GF, **LABELS}}, "r.npz", "--map",
                                 "query_features=A,gallery_features=B"),
    "text with names and a map": (
        {"r.npz": {"qf": QF, "gf": GF}, "q.txt": Q_PATHS, "g.txt": G_PATHS}, "r.npz", "--map",
        "query_paths=q.txt,gallery_paths=g.txt"),
    "features of MATLAB in columns": {"r.mat": {
        "probFea": QF.T, "galFea": GF.T, "probLabels": Q_PIDS, "galLabels": G_PIDS,
        "probCam": Q_CAMIDS, "galCam": G_CAMIDS}}}
OF_DISTANCES = {
    "distmat.npy beside its labels": (each(".npy", {"distmat": DISTANCES, **LABELS}),
                                      "distmat.npy"),
    "folder with dist_mat": (each(".npy", {"dist_mat": DISTANCES, **LABELS}), "."),
    "distances and clothes": {"r.npz": {"distmat": DISTANCES, **LABELS, "q_oids": Q_PIDS}},
    "a .mat file each": each(".mat", {"dismat": DISTANCES, **LABELS}),
    "query x gallery in re-ranking": {"r.npz": {"q_g_dist": DISTANCES, **LABELS, "q_q_dist": QF}},
    "distances and a map": ({"r.npz": {**SIX, "final": DISTANCES}}, "r.npz", "--map",
                            "distances=final"),
    "labels in another file": {"distmat.npy": DISTANCES, "labels.npz": LABELS}}
OF_LISTS = {
    "faiss": {"r.npz": {"I": ORDER, "D": np.sort(DISTANCES, axis=1), **LABELS}},
    "indices of argsort": {"r.npz": {"indices": ORDER, "ranked_matches": ORDER == 0, **LABELS}}}


def words_of(form):
    """Write the files of a form; return the words of the command."""
    files, *words = form if isinstance(form, tuple) else (form,)
    write(files)
    return words or list(files)


def answer(capsys, *words):
    """Return what `reid-ref evaluate` prints as JSON."""
    assert cli.main(["evaluate", *map(str, words), "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def expected(form):
    query, gallery = Labels(Q_PIDS, Q_CAMIDS), Labels(G_PIDS, G_CAMIDS)
    if form in OF_FEATURES:
        return reid_ref.evaluate(QF, GF, query, gallery)
    if form in OF_DISTANCES:
        return reid_ref.evaluate_distances(DISTANCES, query, gallery)
    return reid_ref.evaluate_ranked_lists(ORDER, query, gallery)


@pytest.mark.parametrize("form", [*OF_FEATURES, *OF_DISTANCES, *OF_LISTS])
@pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning")
def test_forms_as_users_save_them(tmp_path, monkeypatch, capsys, form):
    monkeypatch.chdir(tmp_path)
    words = words_of({**OF_FEATURES, **OF_DISTANCES, **OF_LISTS}[form])
    got, result = answer(capsys, *words), expected(form)
    assert (got["mAP"], got["mINP"]) == (result.mAP, result.mINP)
    assert got["cmc"] == result.cmc.tolist()


def test_images_of_folders_give_labels(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in (*Q_PATHS, *G_PATHS, "query/Thumbs.db"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    by_name = np.argsort(G_PATHS)     # features are in the order of the folder
    np.savez("r.npz", A=QF[np.argsort(Q_PATHS)], B=GF[by_name])
    got = answer(capsys, "r.npz", "--map", "query_features=A,gallery_features=B,query_paths=query,"
                 "gallery_paths=bounding_box_test")
    gallery = Labels(G_PIDS[by_name], G_CAMIDS[by_name])
    assert got["mAP"] == reid_ref.evaluate(QF, GF[by_name], Labels(Q_PIDS, Q_CAMIDS), gallery).mAP
    for words in (["."], ["bounding_box_test", "query"]):
        assert cli.main(["doctor", *words, "--json"]) == 0
        counts = json.loads(capsys.readouterr().out)["counts"]
        assert (counts["query"], counts["gallery"]) == (3, 5)


def test_what_a_file_says_of_its_arrays(tmp_path):
    np.savez(tmp_path / "r.npz", qf=QF, gf=GF, query_paths=Q_PATHS, gallery_paths=G_PATHS, ap=.5)
    result = reid_ref.read(tmp_path / "r.npz")
    assert_is_made(result)
    assert result.layout == ("features, one row per image (qf, gf), labels by image names, "
                             "in a .npz file")
    assert result.query.names() == Q_PATHS and result.extra == ("ap",)
    np.savez(tmp_path / "r.npz", **SPLIT, num_query=N_QUERY)
    split = reid_ref.read(tmp_path / "r.npz")     # it is read once
    assert split.query_features.base is split.gallery_features.base is not None
    # What is mapped by its own name is what its name says.
    np.savez(tmp_path / "r.npz", qf=QF, gf=GF, query_paths=Q_PATHS, gallery_paths=G_PATHS, ap=.5)
    assert reid_ref.read(tmp_path / "r.npz", names={"query_paths": "query_paths"}) == result


@pytest.mark.parametrize(("name", "role"), [
    ("qf", "query_features"), ("query_f", "query_features"), ("g_pids", "gallery_identity")])
def test_the_name_of_an_array_in_the_place_of_a_role(tmp_path, name, role):
    np.savez(tmp_path / "r.npz", A=QF)
    refused("names", f"you mean {role!r}", reid_ref.read, tmp_path / "r.npz", names={name: "A"})


@pytest.mark.filterwarnings("ignore::reid_ref.UnreadWarning")
def test_features_and_distances_in_one_file(tmp_path):
    """Features are ranked, but a layout of distances is read as its script means it."""
    np.savez(tmp_path / "r.npz", qf=QF, gf=GF, dist=np.ones((len(QF), len(GF))), **LABELS)
    assert_is_made(reid_ref.read(tmp_path / "r.npz"))
    np.savez(tmp_path / "r.npz", qf=QF, gf=GF, distmat=np.ones((len(QF), len(GF))), **LABELS)
    result = reid_ref.read(tmp_path / "r.npz")
    assert result.distances is not None and result.extra == ("qf", "gf")


def test_tensors_stay_in_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write({"r.pt": {**SPLIT, "camids": CAMIDS.tolist(), "num_query": N_QUERY}})
    result = reid_ref.read("r.pt")
    assert_is_made(result)
    for features in (result.query_features, result.gallery_features):
        assert is_lazy(features) and not features.flags.writeable
        if sys.platform == "linux":
            address = features.__array_interface__["data"][0]
            with open("/proc/self/maps") as maps:
                lines = [line.split() for line in maps if line.rstrip().endswith("r.pt")]
            assert any(int(start, 16) <= address < int(end, 16) for start, end in (
                line[0].split("-") for line in lines))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_dtypes_of_tensors(tmp_path, dtype):
    version_of("torch")
    import torch
    qf, gf = (torch.from_numpy(rows).to(getattr(torch, dtype)) for rows in (QF, GF))
    torch.save({"qf": qf, "gf": gf.requires_grad_(), **LABELS}, tmp_path / "r.pth")
    result = reid_ref.read(tmp_path / "r.pth")
    assert result.query_features.dtype == ("float32" if dtype == "bfloat16" else dtype)
    np.testing.assert_array_equal(result.gallery_features, gf.detach().double().numpy())


# ---- refusals: one line, exit code 2 ------------------------------------------------------------


class Payload:
    def __reduce__(self):
        return os.mkdir, ("ran",)


def mapped(words):
    return {"r.npz": SIX}, "r.npz", "--map", words


HALF = {"qf": QF, "gf": GF}
REFUSED = {
    "code in a .pt": ({"r.pt": {"qf": QF, "payload": Payload()}},
                      r"r.pt: .*code; .*torch.load\('r.pt', weights_only=False\); torch.save"),
    "a pickle": ({"r.pkl": pickle.dumps({"qf": QF, "payload": Payload()})},
                 r"r.pkl: .*data = pickle.load\(open\('r.pkl', 'rb'\)\); torch.save\(data, "),
    "np.save of a dict": ({"r.npy": {"qf": QF}},
                          r"r.npy: .*numpy.load\('r.npy', allow_pickle=True\).tolist\(\); "),
    "paths as objects": (
        {"r.npz": {**HALF, "q_paths": np.array(Q_PATHS, object),
                   "g_paths": np.array(G_PATHS, object)}}, r"r.npz: q_paths: .*\.astype\(str\)$"),
    "what it lacks": (
        {"r.npz": {**HALF, "q_pids": Q_PIDS, "g_pids": G_PIDS, "query_camra": Q_CAMIDS}},
        r"r.npz: it lacks query_camera, gallery_camera; did you mean query_camera=query_camra\? "
        r"names= \(--map\) .*; it has qf float32 \(3, 4\), "),
    "weights": ({"r.npz": {f"conv{n}.weight": np.ones((2, 3, 3)) for n in range(30)}},
                r"r.npz: it lacks feat.*conv0.weight float64 \(2, 3, 3\), .* and 28 more$"),
    "not split": ({"r.npz": SPLIT}, "r.npz: .*it lacks num_query"),
    "too many queries": ({"r.npz": {**SPLIT, "num_query": 8}}, "num_query: .*from 1 to 7"),
    "flags of half the images": ({"r.npz": {**SPLIT, "is_query": [1, 1, 0, 0]}},
                                 "is_query: .*8 entries"),
    "flags of three kinds": ({"r.npz": {**SPLIT, "is_query": [0, 1, 2, 0, 0, 0, 0, 0]}},
                             "is_query: .*1 for each query and 0 for each gallery image"),
    "words of three kinds": (
        {"r.npz": {**SPLIT, "is_query": ["query"] * 3 + ["gallery"] * 4 + ["val"]}},
        "is_query: .*query and gallery, or test and one other word, .*'val'"),
    "names for half the images": ({"r.npz": {**HALF, "q_paths": Q_PATHS, "g_paths": G_PATHS[:3]}},
                                  "r.npz: g_paths: .*3 names"),
    "names that say nothing": (
        {"r.npz": {**HALF, "q_paths": ["1.jpg"] * 3, "g_paths": G_PATHS}},
        r"r.npz: q_paths: names\[0\]: .*'1.jpg'; or say which array or column is the identity.*$"),
    "two names for one role": ({"r.npz": {**SIX, "query_features": QF}},
                               "r.npz: query_features: .*one array for query_features"),
    "lists of fewer queries": ({"r.npz": {"I": ORDER[:2], **LABELS}}, "r.npz: I: .*3 rows"),
    "a map of what is not there": (
        mapped("query_camera=q_cams"),
        "--map: query_camera: .*'q_cams'. Did you mean 'q_camids'[?] Known: .*$"),
    "a map without a name": (mapped("query_features"), "--map: .*each role once"),
    "a file too many": ({**each(".npy", SIX), "more.npz": {"x": QF}},
                        "more.npz: .*belongs to the features"),
}


@pytest.mark.parametrize("form", REFUSED)
def test_refusals(tmp_path, monkeypatch, capsys, form):
    files, message = REFUSED[form]
    monkeypatch.chdir(tmp_path)
    words = words_of(files)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert cli.main(["evaluate", *words]) == 2
    printed = capsys.readouterr()
    line, = printed.err.splitlines()
    assert re.search(message, line) and printed.out == "" and len(line) < 600, line
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("old", [False, True])
def test_damage_of_torch_files(tmp_path, monkeypatch, old):
    """Each cut is refused; a changed byte is refused, or in a number."""
    monkeypatch.chdir(tmp_path)
    write({"r.pt": SIX})
    if old:
        import torch
        torch.save(as_tensors(torch.from_numpy, SIX), "r.pt", _use_new_zipfile_serialization=False)
        assert_is_made(reid_ref.read("r.pt"))
    content = Path("r.pt").read_bytes()
    for k, content in enumerate(damaged(content, seed=old, count=cases(24, 300))):
        Path("r.pt").unlink()     # it is mapped
        Path("r.pt").write_bytes(content)
        try:
            features = reid_ref.read("r.pt").query_features
            assert np.asarray(features).shape == QF.shape and (k % 3 or old)
        except InputError as error:
            assert str(error).startswith("r.pt") and len(str(error)) < 600


@pytest.mark.parametrize("version", [None, "2.5.1"])
def test_torch_that_is_missing_or_too_old(tmp_path, monkeypatch, version):
    monkeypatch.chdir(tmp_path)
    write({"r.pt": {"qf": QF}})
    if version is None:
        monkeypatch.setitem(sys.modules, "torch", None)
    else:
        monkeypatch.setattr(sys.modules["torch"], "__version__", version)
    needed = ("needs torch, which is not installed; pip install torch" if version is None else
              "needs torch 2.6 or newer; pip install --upgrade torch")
    argument = "r.pt: a file of torch.save" if version is None else "r.pt"
    refuse(argument, f"{needed}, or, if it is a dict of arrays, on a machine with torch", "r.pt")


def test_every_role_has_a_name_of_its_own():
    assert set(NAMES.values()) == set(ROLES)
    assert [role for role in ROLES if NAMES[plain_name(role)] != role] == []


def test_the_names_of_the_documentation():
    table = (ROOT / "docs/files.md").read_text().partition("| role |")[2].partition("\n\n")[0]
    rows = [line.split("|")[2:5] for line in table.splitlines()[2:]]
    roles = [("features",), ("identity",), ("camera",), ("paths",),
             ("clothes", "view", "video", "frame")]
    for columns, cells in zip(roles, rows, strict=True):
        for start, cell in zip(("query_", "gallery_", ""), cells):
            names = re.findall("`(.*?)`", cell)
            assert names and {NAMES[plain_name(name)] for name in names} <= {
                start + column for column in columns}
