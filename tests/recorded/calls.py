"""Answer the calls of `calls.txt`, Python by public names: run by its file, prints JSON.

Text is the answer, warnings included: numbers in full precision, arrays by type, shape and hash.
"""
import contextlib
import dataclasses
import decimal
import hashlib
import inspect
import io
import json
import pathlib
import warnings
from collections.abc import Mapping

import numpy as np

import reid_ref as r
from reid_ref import compat, files, oxford

ROOMS = ("compat", "crosschecking", "datasets", "distributed", "figures", "files", "formats",
         "matlab", "metric_learning", "oxford", "published", "statistics", "trec")


def problem(name):
    data = r.read(f"fixtures/{name}.mat")
    sides_ = data.query, data.gallery
    if data.distances is not None:
        return np.asarray(files.read_rows(data.distances)), *sides_
    return (*(np.asarray(files.read_rows(one))
              for one in (data.query_features, data.gallery_features)), *sides_)


def signatures(room):
    """Return the parameters and their defaults of a room's public functions and classes."""
    return {name: [str(one.replace(annotation=one.empty))
                   for one in inspect.signature(getattr(room, name)).parameters.values()]
            for name in getattr(room, "__all__", ()) if callable(getattr(room, name))
            and not hasattr(getattr(room, name), "add_note")}


def torch():
    import torch
    return torch


def sides(labels_):
    return labels_.identity, labels_.camera


def labels(one):
    """Return the labels of distances as MATLAB's functions take them."""
    return one[2].identity, one[1].identity, one[2].camera, one[1].camera


def filled(evaluator, size, start=0, step=1, tensors=False):
    """Give an evaluator every image, or every `step`th batch of them."""
    for features, side, is_query in ((M[0], M[2], True), (M[1], M[3], False)):
        for k in range(size * start, len(features), size * step):
            part = slice(k, k + size)
            rows = torch().tensor(features[part]) if tensors else features[part]
            evaluator.update(rows, side.identity[part], side.camera[part], is_query=is_query,
                             index=np.arange(len(features))[part])
    return evaluator


def evaluator(size, merge=False, tensors=False, **options):
    if not merge:
        return filled(r.Evaluator(**options), size, tensors=tensors).compute()
    states = [filled(r.Evaluator(**options), size, k, 2).state() for k in (0, 1)]
    return r.Evaluator.from_states(states, **options).compute()


def dask_evaluate(chunk, **options):
    import dask.array as da
    arrays = [da.from_array(one, chunks=(chunk, -1)) for one in M[:2]]
    return r.distributed.evaluate(*arrays, *M[2:], **options)


def content(path):
    data = pathlib.Path(path).read_bytes()
    return data.decode() if path[-3:] != "png" else hashlib.sha256(data).hexdigest()


def pictures(number):
    """Draw torchreid's pictures of few queries; return what was written."""
    names = [pathlib.Path("made", f"{side}_names.txt").read_text().split()
             for side in ("query", "gallery")]
    data = r.read("made/tiny.npz")
    records = [[(f"made/images/{name}", int(i), int(c)) for name, i, c in zip(side, *sides(of))]
               for side, of in zip(names, (data.query, data.gallery))]
    distances = np.arange(240).reshape(6, 40) * 7 % 41
    with contextlib.redirect_stdout(io.StringIO()) as said:
        r.visualize_ranked_results(distances, records, "image", save_dir="seen", topk=number)
    return said.getvalue(), {str(one): hashlib.sha256(one.read_bytes()).hexdigest()
                             for one in sorted(pathlib.Path("seen").rglob("*")) if one.is_file()}


def trec_text():
    qrels, run = io.StringIO(), io.StringIO()
    number = r.trec.write_trec([T[0][:9], T[0][9:]], *T[1:], qrels, run)
    return number, qrels.getvalue(), run.getvalue()


def printed(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        answer = function(*arguments)
    return answer, said.getvalue()


def collected(kind, **options):
    metric = kind(48, **options)
    metric.reset()
    rows, both = np.concatenate(M[:2]), [np.concatenate(one) for one in zip(*map(sides, M[2:]))]
    for k in range(0, len(rows), 100):
        metric.update((torch().tensor(rows[k:k + 100]), *(one[k:k + 100] for one in both)))
    return metric.compute()


def torchmetrics_numbers():
    return {name: value.item() for name, value in filled_metric().compute().items()}


def filled_metric():
    metric = compat.torchmetrics.ReIDMetric(convention="torchreid", ranks=(1, 5))
    for features, side, is_query in ((M[0], M[2], True), (M[1], M[3], False)):
        metric.update(torch().tensor(features), *map(torch().tensor, sides(side)), is_query)
    return metric


M, T, MARS = problem("market_like"), problem("ties"), problem("mars_like")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    R, R2 = r.evaluate(*M), r.evaluate(*M, normalize=False)
    OXFORD = oxford.evaluate_folder("real/oxford5k/ground_truth",
                                    "real/oxford5k/ranked/result_orb_top50")
FIVE = (T[0], T[1].identity, T[2].identity, T[1].camera, T[2].camera)
SAME = T[1].identity[:, None] == T[2].identity
LISTS = r.IndexLists([np.flatnonzero(row) for row in SAME], [[k] for k in range(len(SAME))])
TWICE = np.repeat(M[0], 2, 0) + np.arange(96, dtype="f")[:, None] / 512
V = np.arange(9) ** 2 % 10 / 10
I, C = np.arange(60) % 10, np.arange(60) // 10  # noqa: E741
X = (np.arange(480).reshape(60, 8) ** 2 % 101 + 9. * I[:, None] * np.arange(8) % 23) / 8
PAIRS = np.arange(60), (np.arange(60) + 10 * (np.arange(60) % 2) + 7) % 60, np.arange(60) % 3 > 0


#: What `calls.txt` calls by a short name, beside what is in this file.
NAMES = {**{room: getattr(r, room) for room in ROOMS}, "Labels": r.Labels,
         "ml": r.metric_learning, "st": r.statistics}


def text(value):
    """Return what can be compared, for any answer."""
    if isinstance(value, np.ndarray):
        small = value.tolist() if value.size <= 60 else "..."
        data = np.ascontiguousarray(value)
        data = str(value.tolist()).encode() if value.dtype == object else data.tobytes()
        return [f"{value.dtype} {value.shape} {hashlib.sha256(data).hexdigest()[:16]}", str(small)]
    if isinstance(value, np.generic):
        return f"{value.dtype} {value.item()!r}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {one.name: text(getattr(value, one.name)) for one in dataclasses.fields(value)
                  if one.name != "ranks" and not one.name.startswith("_")}
        return {"": type(value).__name__, **fields}
    if isinstance(value, Mapping):
        return {str(key): text(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [text(one) for one in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value if isinstance(value, (str, bool)) else repr(value)
    if isinstance(value, (pathlib.PurePath, decimal.Decimal)):
        return str(value)
    if hasattr(value, "detach"):
        return [str(value.dtype), *text(value.detach().numpy())]
    return type(value).__name__


def answer(call):
    """Return the answer to a call, or what it raises, with what it warns of."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = text(eval(call, {**globals(), **NAMES}))
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    said = [f"{one.category.__name__}: {one.message}" for one in warned]
    return json.dumps([found, *said], indent=1, ensure_ascii=False)


if __name__ == "__main__":
    calls = pathlib.Path(__file__).with_suffix(".txt").read_text().splitlines()
    assert len(set(calls)) == len(calls)
    print(json.dumps({call: answer(call) for call in calls}))
