"""What evaluators accumulate: each form is read with the numbers of the same arrays, each broken
one is refused in a sentence with its key, and the remedy of a refusal makes a file that is read.
"""
from __future__ import annotations

import collections
import pickle
import re
from types import SimpleNamespace

import numpy as np
import pytest

import reid_ref
from reid_ref import InputError, Labels, cli
from tests.files.test_files import N_QUERY, assert_is_made
from tests.files.test_names import (
    CAMIDS, DISTANCES, FEATS, G_CAMIDS, G_PATHS, G_PIDS, GF, LABELS, PIDS, Q_CAMIDS, Q_PATHS,
    Q_PIDS, QF, answer)
from tests.installed import version_of

ROWS = (slice(0, 3), slice(3, 6), slice(6, None))     # the last batch is a smaller one


@pytest.fixture(autouse=True)
def torch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    version_of("torch")
    return pytest.importorskip("torch")


def tensors(array):
    import torch
    return [torch.from_numpy(array[rows]) for rows in ROWS]


def batches(**changed):
    import torch
    return [{"feats": torch.from_numpy(FEATS[rows]), "pids": torch.from_numpy(PIDS[rows]),
             "camids": torch.from_numpy(CAMIDS[rows]), **changed} for rows in ROWS]


def sides(make):
    """Return features and labels of both sides, each as `make` stores an array."""
    return {"qf": make(QF), "gf": make(GF), **{key: make(array) for key, array in LABELS.items()}}


def computed(**changed):
    """Return what R1_mAP_eval.compute returns: cmc, mAP, distances, labels in lists, features."""
    import torch
    parts = {"cmc": np.ones(5, np.float32), "mAP": np.float64(.5), "distmat": DISTANCES,
             "pids": list(PIDS), "camids": list(CAMIDS), "qf": torch.from_numpy(QF),
             "gf": torch.from_numpy(GF)}
    return tuple({**parts, **changed}.values())


SPLIT = {"num_query": N_QUERY}
#: Form to what torch.save stores; then words of the command after the file.
FORMS = {
    "lists of numpy.int64": lambda: {"feats": tensors(FEATS), "pids": list(PIDS),
                                     "camids": list(CAMIDS), **SPLIT},
    "numpy's numbers beside tensors": lambda: {
        **sides(list), "qf": tensors(QF)[:1], "gf": tensors(GF), "mAP": np.float64(.5),
        "name": np.str_("a"), "rank1": np.float32(.5), "yes": np.bool_(True)},
    "lists of tensors": lambda: {"feats": tensors(FEATS), "pids": tensors(PIDS),
                                 "camids": tensors(CAMIDS), **SPLIT},
    "lists of arrays": lambda: {name: [array[rows] for rows in ROWS] for name, array in (
        ("feats", FEATS), ("pids", PIDS), ("camids", CAMIDS))} | SPLIT,
    "tuples of tensors": lambda: {"feats": tuple(tensors(FEATS)), "pids": tuple(tensors(PIDS)),
                                  "camids": tuple(tensors(CAMIDS)), **SPLIT},
    "batches without images": lambda: {
        "feats": [*tensors(FEATS), FEATS[:0]], "pids": [PIDS[:0], *tensors(PIDS)],
        "camids": [[], *CAMIDS.reshape(-1, 1).tolist(), []], **SPLIT},
    "one image after another": lambda: {
        "feats": list(FEATS), "pids": [np.array(pid) for pid in PIDS],
        "camids": list(tensors(CAMIDS.reshape(1, -1))[0][0]), **SPLIT},
    "numbers in lists of lists": lambda: {
        "feats": FEATS.tolist(), "pids": [PIDS[rows].tolist() for rows in ROWS],
        "camids": [CAMIDS[rows].tolist() for rows in ROWS], **SPLIT},
    "names of a batch in a tuple": lambda: {
        "feats": tensors(FEATS), **SPLIT,
        "img_paths": [tuple((Q_PATHS + G_PATHS)[rows]) for rows in ROWS]},
    "a list of dicts and a map": (batches, "--map", f"num_query={N_QUERY}"),
    "a list of dicts under a key": lambda: {"_predictions": batches(), **SPLIT},
    "lists of dicts of each side": lambda: {
        "query": [{"features": QF, "pids": Q_PIDS, "camids": Q_CAMIDS}],
        "gallery": [{"features": GF[rows], "pids": G_PIDS[rows], "camids": G_CAMIDS[rows]}
                    for rows in (slice(0, 4), slice(4, None))]},
    "a list of tuples and a map": (
        lambda: [tuple(batch.values()) for batch in batches()], "--map",
        f"features=0,identity=1,camera=2,num_query={N_QUERY}"),
    "the tuple of compute": computed}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore::reid_ref.UnreadWarning", "ignore::reid_ref.UnmatchedWarning")
def test_forms_of_evaluators(torch, capsys, form):
    make, *words = FORMS[form] if isinstance(FORMS[form], tuple) else (FORMS[form],)
    torch.save(make(), "r.pt")
    got = answer(capsys, "r.pt", *words)
    result = reid_ref.evaluate(QF, GF, Labels(Q_PIDS, Q_CAMIDS), Labels(G_PIDS, G_CAMIDS))
    assert (got["mAP"], got["cmc"]) == (result.mAP, result.cmc.tolist())
    names = dict(word.split("=") for text in words[1:] for word in text.split(","))
    assert_is_made(reid_ref.read("r.pt", names=names))


def test_one_list_in_a_file(torch):
    """Features of batches under the file's name, with labels in other files."""
    torch.save(list(torch.from_numpy(QF).split(2)), "query_features.pt")
    torch.save([GF[:1], GF[1:]], "gallery_features.pt")
    for name, array in LABELS.items():
        torch.save(list(array), f"{name}.pt")
    assert_is_made(reid_ref.read("query_features.pt", "gallery_features.pt",
                                 *(f"{name}.pt" for name in LABELS)))


def test_batches_are_read_when_they_are_needed(torch, monkeypatch):
    from reid_ref.arrays import memory
    torch.save({"feats": [np.zeros((2, 10**6), np.float32)] * 4, "pids": list(PIDS),
                "camids": list(CAMIDS), **SPLIT}, "r.pt")
    monkeypatch.setattr(memory, "free_bytes", lambda: 10**7)
    with pytest.raises(InputError, match="r.pt: feats.*shape"):
        reid_ref.read("r.pt")


# ---- bad input: one sentence with the key ------------------------------------------------


def other(key, value, place=1):
    """Return what is stored with one entry of a list changed; a row of it, if that is `...`."""
    def make():
        stored = FORMS["lists of tensors"]()
        stored[key][place] = value
        return stored
    return make


def without(key):
    def make():
        stored = batches()
        del stored[1][key]
        return {"_predictions": stored, **SPLIT}
    return make


def half(form, *keys):
    def make():
        stored = FORMS[form]()
        return {key: value[:len(value) // 2] if key in keys else value
                for key, value in stored.items()}
    return make


BROKEN = {
    "half of the features": (half("lists of tensors", "feats"), "r.pt: pids: expected 3 entries"),
    "half of the labels": (half("lists of numpy.int64", "pids"), "r.pt: pids: "),
    "half of the cameras": (half("lists of numpy.int64", "camids"), "r.pt: camids: "),
    "half of the batches": (half("a list of dicts under a key", "_predictions"),
                            "3 images|num_query"),
    "features of another length": (other("feats", np.zeros((3, 5), np.float32)),
                                   r"r.pt: feats: expected batches that agree .*\(3, 5\) as entry"
                                   r" 1 of 3, after float32 \(3, 4\)"),
    "a vector among features": (other("feats", np.zeros(4, np.float32)),
                                r"r.pt: feats: .*float32 \(4,\) as entry 1"),
    "labels in a matrix": (other("pids", np.zeros((3, 1), int)), r"r.pt: pids: .*\(3, 1\) as"),
    "labels of another type": (other("pids", np.zeros(3)), "r.pt: pids: .*float64 .*as entry 1"),
    "labels as text": (other("pids", np.array(["a", "b", "c"])), "r.pt: pids: .*<U1 .*as entry 1"),
    "a number among batches": (other("pids", 5), "r.pt: pids: .*a number as entry 1 of 3"),
    "text among batches": (other("feats", "a"), "r.pt: feats: .*text as entry 1 of 3"),
    "None among batches": (other("feats", None), "r.pt: feats: .*nothing as entry 1 of 3"),
    "a dict among batches": (other("pids", {"a": 1}), "r.pt: pids: .*a dict as entry 1 of 3"),
    "text among numbers": (lambda: {**FORMS["lists of numpy.int64"](), "pids": [*PIDS[:7], "a"]},
                           "r.pt: pids: .*text as entry 7 of 8"),
    "None among numbers": (lambda: {**FORMS["lists of numpy.int64"](), "pids": [*PIDS[:7], None]},
                           "r.pt: pids: .*nothing as entry 7 of 8"),
    "numbers beyond 64 bits": (lambda: {
        **FORMS["lists of numpy.int64"](), "pids": [*PIDS.tolist()[:7], 2**70]},
        "r.pt: pids: .*64 bits"),
    "a batch without labels": (without("pids"), "r.pt: pids: .*nothing as entry 1 of 3"),
    "batches of None": (lambda: {"_predictions": batches(pids=None), **SPLIT},
                        "r.pt: pids: .*nothing as entry 0 of 3"),
    "half of compute's labels": (
        lambda: computed(pids=list(PIDS[:4])), "r.pt: camids: expected 4 entries"),
    "None for compute's features": (lambda: computed(qf=None), r"r.pt: .*5 \(NoneType\)"),
    "half of compute's features": (lambda: computed(qf=QF[:1]), "r.pt: .*it lacks"),
    "text among compute's cameras": (lambda: computed(camids=[*CAMIDS[:7], "a"]),
                                     "r.pt: .*it lacks"),
}


@pytest.mark.parametrize("form", BROKEN)
@pytest.mark.filterwarnings("ignore::reid_ref.UnreadWarning")
def test_broken_forms_get_one_sentence(torch, capsys, form):
    make, message = BROKEN[form]
    torch.save(make(), "r.pt")
    assert cli.main(["evaluate", "r.pt"]) == 2
    printed = capsys.readouterr()
    line, = printed.err.splitlines()
    assert re.search(message, line) and printed.out == "" and len(line) < 600, line


@pytest.mark.parametrize("form", ["lists of numpy.int64", "a list of dicts under a key",
                                  "the tuple of compute"])
def test_each_cut_is_refused_or_damage(torch, capsys, form):
    torch.save(FORMS[form](), "r.pt")
    with open("r.pt", "rb") as file:
        content = file.read()
    for end in range(1, len(content), len(content) // 12):
        with open("cut.pt", "wb") as file:
            file.write(content[:end])
        assert cli.main(["evaluate", "cut.pt"]) == 2
        line, = capsys.readouterr().err.splitlines()
        assert "cut.pt: " in line


# ---- what stays refused, and the remedy ---------------------------------------------------


class Config:
    """A class that no reader of weights takes."""


class Evaluator:
    def __init__(self):
        self.__dict__.update(FORMS["lists of numpy.int64"](), cfg=Config())


def counted():
    columns = collections.defaultdict(list)
    for batch in batches():
        for key, value in batch.items():
            columns[key].append(value)
    columns["num_query"] = N_QUERY
    return columns


def objects():
    return {**FORMS["lists of tensors"](), "cfg": np.array([Config(), None]), "paths": np.array(
        ["a", "b"], object)}


REFUSED = {
    "an object beside": lambda: {**FORMS["lists of tensors"](), "cfg": Config()},
    "arrays of objects beside": objects, "an evaluator": Evaluator, "a defaultdict": counted,
    "a namespace": lambda: SimpleNamespace(**FORMS["lists of tensors"](), cfg=Config()),
    "a pickle of a dict": lambda: FORMS["lists of numpy.int64"](),
    "a pickle of a list": batches, "a pickle of a tuple": computed}


@pytest.mark.parametrize("form", REFUSED)
@pytest.mark.filterwarnings("ignore::reid_ref.UnreadWarning", "ignore:.*unclosed file")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_remedy_works_for_what_lies_in_the_file(torch, form):
    made = REFUSED[form]()
    if form.startswith("a pickle"):
        with open("r.pkl", "wb") as file:
            pickle.dump(made, file)
    else:
        torch.save(made, "r.pt")
    name = "r.pkl" if form.startswith("a pickle") else "r.pt"
    with pytest.raises(InputError) as caught:
        reid_ref.read(name)
    line = caught.value.remedy.removeprefix("if you trust it: ").partition(", or, if")[0]
    assert len(str(caught.value)) < 330
    exec(line, {"torch": torch, "numpy": np, "pickle": pickle})
    saved = "r.pt" if name == "r.pkl" else "r_arrays.pt"
    names = {"num_query": str(N_QUERY)} if isinstance(made, list) else None
    assert_is_made(reid_ref.read(saved, names=names))


@pytest.mark.parametrize("shape", ["a dict", "a list"])
def test_the_remedy_of_npy(torch, shape):
    made = {**FORMS["lists of tensors"]()} if shape == "a dict" else batches()
    array = np.empty((), object)
    array[()] = made
    np.save("r.npy", array)
    with pytest.raises(InputError) as caught:
        reid_ref.read("r.npy")
    line = caught.value.remedy.removeprefix("if you trust it: ").partition(", or, if")[0]
    exec(line, {"torch": torch, "numpy": np})
    assert_is_made(reid_ref.read("r.pt", names={"num_query": str(N_QUERY)}))
