"""Every reader of the package, what it may raise, and small valid files to begin with.

A reader is a function of a folder that holds one damaged file beside sound ones. It must return
or raise `InputError`; anything else is a finding. trec_eval's files are written, never read.
"""
from __future__ import annotations

import contextlib
import io
import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import reid_ref
from reid_ref import InputError, Labels
from reid_ref.arrays.memory import bytes_of
from reid_ref.arrays.stored import is_lazy, read_rows
from reid_ref.cli import main
from reid_ref.commands.check_table import check_page
from reid_ref.commands.gate import parse_wanted
from reid_ref.conventions import choices_of_text
from reid_ref.datasets import oxford, published
from reid_ref.datasets.driver_files import DRIVERS, read_inputs
from reid_ref.datasets.labels import (
    read_cuhk03, read_indices, read_labels, read_list, read_side, read_tracks)
from reid_ref.datasets.pooling import read_multi_query
from reid_ref.datasets.printed import results_on
from reid_ref.disk import read_lines
from reid_ref.files import LAYOUTS, lists, read_result
from reid_ref.files.image_names import parse_names
from reid_ref.protocols import evaluate_person_search, evaluate_protocol, read_boxes
from reid_ref.protocols.files import read_protocol
from reid_ref.protocols.trials import read_trials
from reid_ref.result.saved import load
from reid_ref.signature import parse_signature
from tests.files.test_files import FIELDS, WRITERS, stored

QUERY = Labels([3, 5, 9], [1, 2, 1], view=[0, 1, 0])
GALLERY = Labels([3, 5, 9, 0, -1], [2, 1, 2, 3, 1], view=[1, 0, 1, 0, 1])
DISTANCES = FIELDS["distances"]
#: Commands that read a file and answer at once; no word of theirs may name another folder.
COMMANDS = ("evaluate", "compare", "thresholds", "explain", "protocols", "conventions",
            "ties", "doctor", "validate", "check-table", "rerank")


@dataclass(frozen=True)
class Reader:
    """One damaged file: its name, what reads its folder, and valid contents."""

    name: str
    read: Callable[[Path], Any]
    seeds: Callable[[Path], list[bytes]]

    def accepts(self, folder: Path, content: bytes) -> bool:
        """Return whether the reader took the content; raise what is no `InputError`."""
        path = folder / self.name
        path.unlink(missing_ok=True)  # HDF5 takes a file that is still open for the same one
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)
            try:
                self.read(folder)
            except InputError as error:
                assert len(str(error)) < 20_000
                return False
        return True


# ---------------------------------------------------------------- what reads

def _evaluated(data: Any) -> None:
    for matrix in (data.query_features, data.gallery_features, data.distances):
        if matrix is not None and is_lazy(matrix):
            assert read_rows(matrix).shape == matrix.shape
    if data.distances is not None:
        result = reid_ref.evaluate_distances(data.distances, data.query, data.gallery)
    elif data.ranked is None:
        result = reid_ref.evaluate(data.query_features, data.gallery_features, data.query,
                                   data.gallery)
    else:
        return
    assert len(result.per_query.ap) == len(data.query)


def _result(name: str) -> Callable[[Path], None]:
    return lambda folder: _evaluated(read_result(folder / name))


def _separate(folder: Path) -> None:
    _evaluated(read_result(*sorted(folder.iterdir())))


def _lists(folder: Path) -> None:
    path, = folder.iterdir()
    every = lists.read_ranked_lists(path, 3, ["a.jpg", "b.jpg", "c.jpg"], list("vwxyz"))
    reid_ref.evaluate_ranked_lists(every, QUERY, GALLERY)


def _columns(folder: Path) -> None:
    path, = folder.iterdir()
    for read in (read_list, read_side, read_labels, lists.read_groups, lists.read_n_good,
                 read_tracks, read_indices, read_cuhk03, read_multi_query,
                 lambda path: lists.read_index_lists(path, path),
                 lambda path: parse_names(read_lines(path, "names"))):
        with contextlib.suppress(InputError):
            read(path)


def _drivers(folder: Path) -> None:
    path, = folder.iterdir()
    for driver in DRIVERS:
        with contextlib.suppress(InputError):
            read_inputs(driver, path)


def _saved(folder: Path) -> None:
    path, = folder.iterdir()
    result = load(path)
    result.save(path)
    assert load(path).mAP == result.mAP or np.isnan(result.mAP)


def _protocol(folder: Path) -> None:
    path, = folder.iterdir()
    evaluate_protocol(read_protocol(path), None, None, QUERY, GALLERY, distances=DISTANCES)


def _trials(folder: Path) -> None:
    path, = folder.iterdir()
    evaluate_protocol("msmt17", None, None, QUERY, GALLERY, distances=DISTANCES,
                      trials=read_trials(path, GALLERY))


def _boxes(folder: Path) -> None:
    path, = folder.iterdir()
    evaluate_person_search("cuhk-sysu", read_boxes(path), part="50")


def _page(folder: Path) -> None:
    path, = folder.iterdir()
    check_page(read_lines(path, "a page"), "market1501")


def _figures(folder: Path) -> None:
    path, = folder.iterdir()
    list(results_on(read_lines(path, "a table of figures")))


def _state(folder: Path) -> None:
    path, = folder.iterdir()
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            state = dict(arrays)
    except Exception:  # numpy's own refusal: users load this file
        return
    reid_ref.Evaluator.from_states([state]).compute()


def _oxford(folder: Path) -> None:
    oxford.evaluate_folder(folder, folder)


def _texts(folder: Path) -> None:
    for line in (folder / "texts.txt").read_bytes().decode("utf-8", "replace").split("\n")[:20]:
        for read in (published.parse_figure, published.parse_percent, parse_signature, bytes_of,
                     lambda text: parse_wanted([text], "--expect"),
                     lambda text: choices_of_text([text], "--set")):
            with contextlib.suppress(InputError):
                read(line)


def _words(folder: Path) -> None:
    """Take each line for the words of a command; the file `in.npz` and a saved result are near."""
    text = (folder / "words.txt").read_bytes().decode("utf-8", "replace")
    words = [word for word in text.split("\n")[:12] if word]
    if not words or words[0] not in COMMANDS or any(
            "/" in word or "\0" in word or word.startswith(("--resamples", "--timeout"))
            for word in words):
        return
    out, err, before = io.StringIO(), io.StringIO(), os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status: Any = main(words)
    except SystemExit as stop:
        status = stop.code
    finally:
        os.chdir(before)
    assert status in (0, 1, 2, 3, 4, 5), status
    assert "Traceback" not in err.getvalue()
    if status == 2:
        assert [line for line in err.getvalue().splitlines() if " error: " in line][1:] == []


# ---------------------------------------------------------------- valid files

def _written(write: Callable[[Path], Any], name: str) -> Callable[[Path], list[bytes]]:
    def seeds(folder: Path) -> list[bytes]:
        path = folder / name
        write(path)
        return [path.read_bytes()]
    return seeds


def _layouts(writer: str) -> Callable[[Path], list[bytes]]:
    def seeds(folder: Path) -> list[bytes]:
        write, name = WRITERS[writer]
        contents = []
        for layout in LAYOUTS:
            write(folder / name, stored(layout))
            contents.append((folder / name).read_bytes())
            (folder / name).unlink()
        return contents
    return seeds


def _tensors(folder: Path) -> list[bytes]:
    import torch

    contents = []
    arrays = {key: torch.from_numpy(value) for key, value in stored("layumi").items()}
    for zipped in (True, False):
        torch.save({**arrays, "query_label": FIELDS["query_identity"]}, folder / "r.pt",
                   _use_new_zipfile_serialization=zipped)
        contents.append((folder / "r.pt").read_bytes())
    labels = {key: list(value) for key, value in stored("layumi").items() if value.ndim == 1}
    torch.save({**labels, "query_f": list(arrays["query_f"].split(2)), "mAP": np.float64(.5),
                "gallery_f": np.array_split(stored("layumi")["gallery_f"], 3)}, folder / "r.pt")
    contents.append((folder / "r.pt").read_bytes())
    return contents


def _beside(folder: Path) -> None:
    """Write the labels and one matrix in files of their own."""
    for field, value in FIELDS.items():
        if field.startswith(("query_", "gallery_")):
            np.save(folder / f"{field}.npy", value)


def _npy(field: str) -> Callable[[Path], list[bytes]]:
    def seeds(folder: Path) -> list[bytes]:
        _beside(folder)
        return [(folder / f"{field}.npy").read_bytes()]
    return seeds


def _text_beside(folder: Path) -> list[bytes]:
    _beside(folder)
    (folder / "query_identity.npy").unlink()
    return [b"3\n5\n9\n", b"3,5,9\n", b"# x\n3.0 5e0 9\n"]


def _of(*texts: str) -> Callable[[Path], list[bytes]]:
    return lambda folder: [text.encode() for text in texts]


def _result_file(folder: Path) -> list[bytes]:
    reid_ref.evaluate_distances(DISTANCES, QUERY, GALLERY).save(folder / "saved.json")
    content = (folder / "saved.json").read_bytes()
    return [content, json.dumps(json.loads(content)).encode()]


def _trials_npz(path: Path) -> None:
    np.savez(path, gallery=[[3, 0], [1, 4]], query=[[0, 1], [2, 1]])


def _trials_mat(path: Path) -> None:
    from scipy.io import savemat

    order = np.empty((3, 1), object)
    for camera in range(3):
        order[camera, 0] = np.empty((9, 1), object)
        for identity in range(9):
            order[camera, 0][identity, 0] = np.ones((2, 1))
    savemat(path, {"rand_perm_cam": order})


_BOXES: dict[str, Any] = dict(
    image=["a.jpg", "b.jpg", "c.jpg", "d.jpg"], image_camera=[1, 1, 2, 2],
    truth_image=[0, 1, 2, 3], truth_identity=[7, 7, 7, 7], truth_box=[[0, 0, 40, 100]] * 4,
    detection_image=[1, 2, 3], detection_box=[[0, 0, 40, 90], [0, 0, 40, 80], [0, 0, 40, 95]],
    detection_score=[.9, .8, .7], query_image=[0], query_identity=[7],
    similarity=[[.5, .7, .6]], gallery_50=[[1, 2, 3]])
_SIGNATURE = ("convention:matlab|ap:trapezoid|unmatched:zero|ties:gallery-order|distances:float64|"
              "queries:3368|gallery:19732|reid-ref:0.2.0")
_MARKDOWN = f"""# Market-1501

| Method | Rank-1 | mAP |
|:--|:--|--:|
| [a](b) **ours** | 89.91% | 70 |
| b | 89.9 ± 0.1 | `{_SIGNATURE}` |
"""
_HTML = """<h2>DukeMTMC</h2><table><caption>Results</caption><thead><tr><th rowspan=2>Method</th>
<th colspan="2">Market-1501</th></tr><tr><th>R-1</th><th>mAP</th></tr></thead>
<tr><td>ours</td><td>89.91</td><td><b>70.1</b></td></tr></table>"""
_LATEX = r"""\begin{table}\caption{Market-1501}\begin{tabular}{l|cc}\toprule
\multirow{2}{*}{Method} & \multicolumn{2}{c}{Market} \\ \cmidrule{2-3}
& R-1 & mAP \\ \midrule % comment
PCB~\cite{x} & \textbf{92.3} & 77.4 \\ $+$ours & 89.91\% & 70 \\ \bottomrule
\end{tabular}\end{table}"""
_TOML = """name = "night"
convention = {base = "torchreid", ap = "trapezoid"}
needs = ["view"]
shots = [1, 2]
trials = {kind = "seeded", n = 5, seed = 3, unit = ["identity"]}
[[parts]]
name = "a"
ignored = ["same identity, same camera"]
query = {side = "query", where = {view = [0]}}
gallery = {side = "gallery", where = {camera = [1, 2]}, drawn = true}
"""
_JSON = json.dumps({"name": "mine", "convention": {"base": "matlab", "ap": "step", "top_k": 100},
                    "parts": [{"name": "a", "query": {"side": "query", "where": {"camera": [1]}}}],
                    "cameras": [1, 2, 3], "average": "trials"})
_CALLS = (
    "evaluate in.npz --ranks 1,5,10 --format markdown", "evaluate in.npz --set ap=step,top_k=100",
    "evaluate in.npz --convention torchreid,veri --json --cmc 20",
    "evaluate in.npz --expect mAP=40.16,Rank-1=45.8 --tolerance 0.01 --at 1,2 --worst 3",
    "evaluate in.npz --protocol market1501 --json", "thresholds in.npz --far 0.01,0.1 --json",
    "evaluate in.npz --map query_features=A,gallery_features=B --max-memory 1.5G",
    "validate in.npz --published 48.89/44.91", "validate --dataset market1501 --json",
    "check-table page.md --dataset market1501", "rerank in.npz --k1 2 --k2 1 --lambda 0.3",
    "compare in.npz saved.json --seed 3 --level 90", "explain in.npz --query 1",
    "compare a=saved.json,saved.json in.npz --format latex", "ties in.npz --json",
    "evaluate in.npz --by camera-pair", "doctor in.npz --seed 1", "protocols msmt17 --json",
    "conventions torchreid --json", "evaluate saved.json --confidence --unit query",
    "evaluate in.npz saved.json --mean runs", "evaluate in.npz saved.json --mean splits")


def _calls(folder: Path) -> list[bytes]:
    write, _ = WRITERS["npz"]
    write(folder / "in.npz", stored("torchreid-distances"))
    (folder / "page.md").write_text(_MARKDOWN)
    _result_file(folder)
    return [call.replace(" ", "\n").encode() for call in _CALLS]


def _ground_truth(folder: Path) -> list[bytes]:
    for kind, names in (("good", "a\nb\n"), ("ok", "c\n"), ("junk", "d\n")):
        (folder / f"q_{kind}.txt").write_text(names)
    return [b"a\nd\nx\nc\nb\n"]


def _state_npz(path: Path) -> None:
    evaluator = reid_ref.Evaluator(convention="torchreid")
    for side, labels, is_query in (("query", QUERY, True), ("gallery", GALLERY, False)):
        evaluator.update(FIELDS[f"{side}_features"], labels.identity, labels.camera,
                         is_query=is_query, index=np.arange(len(labels)))
    np.savez(path, **evaluator.state())


_PERSON_SEARCH = json.dumps(_BOXES)
_NAMES = "0002_c1s1_000451_03.jpg\n-1_c3s2_000451_03.jpg\n", "0001C1T0001F001.jpg\n"

READERS = {
    "mat5": Reader("r.mat", _result("r.mat"), _layouts("mat")),
    "mat-compressed": Reader("r.mat", _result("r.mat"), _layouts("compressed")),
    "mat73": Reader("r.mat", _result("r.mat"), _layouts("v7.3")),
    "hdf5": Reader("r.h5", _result("r.h5"), _layouts("hdf5")),
    "npz": Reader("r.npz", _result("r.npz"), _layouts("npz")),
    "torch": Reader("r.pt", _result("r.pt"), _tensors),
    "npy": Reader("query_features.npy", _separate, _npy("query_features")),
    "npy-labels": Reader("gallery_camera.npy", _separate, _npy("gallery_camera")),
    "text": Reader("query_identity.txt", _separate, _text_beside),
    "lists-text": Reader("l.txt", _lists, _of("1 2 3\n2 4\n5\n", "v,w\nx.jpg y\nz\n")),
    "lists-json": Reader("l.json", _lists, _of(
        "[[0, 1], [2], [3, 4]]", '{"a": ["v"], "b": ["x", "y"], "c": []}',
        '[{"query_id": "a", "ans_ids": ["v"]}, {"query_id": "b", "ans_ids": ["w"]}, '
        '{"query_id": "c", "ans_ids": ["x", "y"]}]')),
    "lists-npy": Reader("l.npy", _lists, _written(
        lambda path: np.save(path, [[1, 2], [0, -1], [3, 4]]), "l.npy")),
    "columns-text": Reader("c.csv", _columns, _of(
        "identity,camera,name\n3,1,a\n5,2,b\n", "1 2\n3\n", *_NAMES,
        "train/0000/0000_000_01_0303morning_0015_0.jpg 7\n")),
    "columns-mat": Reader("c.mat", _columns, _layouts("mat")),
    "drivers": Reader("c.mat", _drivers, _layouts("mat")),
    "saved": Reader("saved.json", _saved, _result_file),
    "protocol-toml": Reader("p.toml", _protocol, _of(_TOML)),
    "protocol-json": Reader("p.json", _protocol, _of(_JSON)),
    "trials-json": Reader("t.json", _trials, _of("[[null, [0, 1, 2]], [[1, 0], null]]")),
    "trials-npz": Reader("t.npz", _trials, _written(_trials_npz, "t.npz")),
    "trials-mat": Reader("t.mat", _trials, _written(_trials_mat, "t.mat")),
    "boxes-json": Reader("b.json", _boxes, _of(_PERSON_SEARCH)),
    "boxes-npz": Reader("b.npz", _boxes, _written(
        lambda path: np.savez(path, **_BOXES), "b.npz")),
    "page": Reader("page.md", _page, _of(_MARKDOWN, _HTML, _LATEX)),
    "figures": Reader("f.csv", _figures, _of("name,dataset,Rank-1,mAP\na,market1501,89.9,70\n")),
    "state": Reader("s.npz", _state, _written(_state_npz, "s.npz")),
    "oxford": Reader("q_ranked.txt", _oxford, _ground_truth),
    "texts": Reader("texts.txt", _texts, _of(
        "48.89/44.91\n81.1/\nmAP=40.16,Rank-1=45.8\nap=step,top_k=100\n1.5 GiB", _SIGNATURE)),
    "words": Reader("words.txt", _words, _calls),
}
