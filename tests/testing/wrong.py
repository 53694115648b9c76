"""Evaluators written in the plainest way: right ones, and wrong ones with one mistake each."""
from functools import partial
from types import SimpleNamespace

import numpy as np


def evaluator(sort="stable", junk="ignored", camera="ignored", unmatched="drop", precision="step",
              n="good", cmc="kept", dtype=float, top=None, before=None, length=50, identity=int,
              sign=1, scale=(1, 1), noise=0.0, change=None):
    """An evaluator by a loop over queries, with torchreid's signature."""
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        if change == "labels":
            q_pids += 1
            g_pids += 1
        if change == "distances":
            distmat[:] = np.sort(distmat, axis=1)
        aps, curves = [], []
        q_pids, g_pids = q_pids.astype(identity), g_pids.astype(identity)
        rows = sign * distmat.astype(dtype) + noise * np.random.rand(*distmat.shape)
        for row, pid, camid in zip(rows, q_pids, q_camids):
            order = np.argsort(row, kind=sort)[:before]
            pids, camids = g_pids[order], g_camids[order]
            own = (pids == pid) & (camids == camid)
            out = (own if camera == "ignored" else own & False) | (
                (pids == -1) if junk == "ignored" else False)
            good = (pids == pid) & ~(own if camera in ("ignored", "wrong") else own & False)
            if junk == "good":
                good |= pids == -1
                out &= pids != -1
            hits, whole = good[~out], good & ~out
            n_good = hits.sum() + own.sum() * (n == "all") + (n == "one more")
            if not hits.any():
                if unmatched != "drop":
                    aps.append(unmatched)
                    curves.append(np.zeros(length))
                continue
            listed = hits[:top]
            n_good = listed.sum() if top and n == "found" else n_good
            first = np.argmax(whole if cmc == "all" else hits) + (cmc == "behind")
            curves.append(np.arange(length) >= first)
            aps.append(area(listed, n_good, precision) if listed.any() else 0.0)
        if length == "crash":
            raise AssertionError
        return scale[0] * np.mean(curves, axis=0), scale[1] * np.mean(aps)
    return evaluate


def area(hits, n, rule):
    ap, found, before = 0.0, 0, 1.0
    for place, hit in enumerate(hits, 1):
        found += hit
        here = found / (place + (rule == "late"))
        if hit:
            ap += (here + before) / 2 if rule == "trapezoid" else (
                (found - 1) / place if rule == "early" else here)
        before = here
    return ap / n


def crashing(distmat, q_pids, g_pids, q_camids, g_camids, max_rank=50):
    """As copies of torchreid do: curves of different lengths make no array."""
    _, mAP = evaluator(junk="kept")(distmat, q_pids, g_pids, q_camids, g_camids)
    curves = []
    for row, pid, camid in zip(distmat, q_pids, q_camids):
        order = np.argsort(row)
        hits = (g_pids == pid)[order][~((g_pids == pid) & (g_camids == camid))[order]]
        if hits.any():
            curves.append(np.minimum(np.cumsum(hits), 1)[:max_rank])
    return np.asarray(curves, dtype=np.float32).mean(0), mAP


#: Name to: the evaluator, the rule it claims, the check that catches it, and what is told.
WRONG = {
    "trapezoid for step": (evaluator(precision="trapezoid", junk="kept"), "torchreid", "plain",
                           "ap=trapezoid"),
    "step for trapezoid": (evaluator(unmatched=0.0), "matlab", "plain", "light-reid"),
    "junk kept": (evaluator(junk="kept", precision="trapezoid", unmatched=0.0), "matlab",
                  "label -1", "ignored: the query's identity on the query's camera"),
    "junk counted": (evaluator(junk="good", precision="trapezoid", unmatched=0.0), "matlab",
                     "label -1", "images labelled -1 count as hits"),
    "same camera kept": (evaluator(camera="kept", junk="kept"), "torchreid", "plain",
                         "ignored: nothing"),
    "same camera wrong": (evaluator(camera="wrong", junk="kept"), "torchreid", "plain",
                          "stay in the list as wrong answers"),
    "late precision": (evaluator(precision="late", junk="kept"), "torchreid", "plain",
                       "the place is off by one"),
    "early precision": (evaluator(precision="early", junk="kept"), "torchreid", "plain",
                        "the hits are off by one"),
    "divided by found": (evaluator(top=20, n="found", junk="kept"), "torchreid", "plain",
                         "recall=found,top_k=20"),
    "divided by all of the identity": (evaluator(n="all", junk="kept"), "torchreid", "plain",
                                       "the ignored ones among them"),
    "unmatched as 0": (evaluator(unmatched=0.0, junk="kept"), "torchreid",
                       "queries without a match", "unmatched=zero"),
    "unmatched as 1": (evaluator(unmatched=1.0, junk="kept"), "torchreid",
                       "queries without a match", "counts as AP 1"),
    "unstable order of ties": (evaluator(sort=None, unmatched=0.0), "trec-eval", "ties",
                               "numpy's default order"),
    "random order of ties": (evaluator(noise=1e-14, junk="kept"), "torchreid",
                             "the same answer twice", "then mAP"),
    "CMC not offset": (evaluator(cmc="all", junk="kept"), "torchreid", "plain",
                       "keep their places in CMC"),
    "CMC one rank behind": (evaluator(cmc="behind", junk="kept"), "torchreid", "plain",
                            "one rank behind"),
    "max_rank": (crashing, "torchreid", "small gallery", "ValueError"),
    "float16": (evaluator(dtype=np.float16, junk="kept"), "torchreid", "double distances",
                "become float16"),
    "float32": (evaluator(dtype=np.float32, junk="kept"), "torchreid", "double distances",
                "become float32"),
    "float32 identities": (evaluator(identity=np.float32, junk="kept"), "torchreid",
                           "large identities", "pass through float32"),
    "AP of the first 50": (evaluator(top=50, junk="kept"), "torchreid", "plain", "top_k=50"),
    "a cut before ignored images leave": (evaluator(before=500, junk="kept"), "torchreid",
                                          "long gallery", "ignored ones included"),
    "percent beside a share": (evaluator(scale=(1, 100), junk="kept"), "torchreid", "plain",
                               "percent"),
    "distances taken for similarities": (evaluator(sign=-1, junk="kept"), "torchreid", "plain",
                                         "taken for similarities"),
    "changed labels": (evaluator(change="labels", junk="kept"), "torchreid", "inputs unchanged",
                       "identities of queries"),
}


# ------------------------------------------------------------------ wrong, and plain does not tell
def given(change, **options):
    """The plain evaluator on arrays that were changed before."""
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        arrays = distmat.copy(), *map(np.array, (q_pids, g_pids, q_camids, g_camids))
        return evaluator(junk="kept", **options)(*change(*arrays))
    return evaluate


def relabels(change):
    return given(lambda d, q, g, qc, gc: (d, change(q), change(g), qc, gc))


def recameras(change):
    return given(lambda d, q, g, qc, gc: (d, q, g, change(qc), change(gc)))


def redistances(change):
    return given(lambda d, *labels: (change(d), *labels))


def keyed(distmat, q_pids, g_pids, q_camids, g_camids, factor=10):
    """An image is ignored if identity and camera make the query's key."""
    own = (g_pids * factor + g_camids) == (q_pids * factor + q_camids)[:, None]
    return means(distmat, q_pids, own, g_pids)


def means(distmat, q_pids, own, g_pids, batch=1000, most=None, count=int):
    aps, curves = [], []
    for row, pid, out in zip(distmat[:most], q_pids[:most], own[:most]):
        order = np.argsort(row, kind="stable")
        hits = (g_pids == pid)[order][~out[order]]
        if hits.any():
            places = np.flatnonzero(hits)
            found = np.cumsum(np.ones(len(places), count), dtype=count)
            aps.append(np.mean(found / (places + 1.0)))
            curves.append(np.arange(50) >= places[0])
    parts = [slice(k, k + batch) for k in range(0, len(aps), batch)]
    return (np.mean([np.mean(curves[part], axis=0) for part in parts], axis=0),
            np.mean([np.mean(aps[part]) for part in parts]))


def own_of(q_pids, g_pids, q_camids, g_camids):
    return (g_pids == q_pids[:, None]) & (g_camids == q_camids[:, None])


def in_batches(batch=1000, most=None, count=int):
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        return means(distmat, q_pids, own_of(q_pids, g_pids, q_camids, g_camids), g_pids, batch,
                     most, count)
    return evaluate


def once_each(distmat, q_pids, g_pids, q_camids, g_camids):
    """One query of each identity and camera."""
    _, first = np.unique(np.stack([q_pids, q_camids]), axis=1, return_index=True)
    return LOOP(distmat[first], q_pids[first], g_pids, q_camids[first], g_camids)


def known_but_ignored(distmat, q_pids, g_pids, q_camids, g_camids):
    """A query whose identity is in the gallery counts, also where its images are ignored."""
    cmc, mAP = LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
    valid = (own_of(q_pids, g_pids, q_camids, g_camids) < (g_pids == q_pids[:, None])).any(axis=1)
    share = valid.sum() / max(np.isin(q_pids, g_pids).sum(), 1)
    return cmc * share, mAP * share


def without(label, of="g"):
    def change(d, q, g, qc, gc):
        if of == "q":
            return d[q != label], q[q != label], g, qc[q != label], gc
        return d[:, g != label], q, g[g != label], qc, gc[g != label]
    return given(change)


def of_one(distmat, q_pids, g_pids, q_camids, g_camids):
    """One query's numbers are not put in an array of their own."""
    cmc, mAP = LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
    return cmc, mAP if len(q_pids) > 1 else mAP / len(g_pids)


def never_nan(distmat, q_pids, g_pids, q_camids, g_camids):
    good = (g_pids == q_pids[:, None]) & (g_camids != q_camids[:, None])
    return LOOP(distmat, q_pids, g_pids, q_camids, g_camids) if good.any() else (np.ones(50), 1.0)


def bits(distances):
    return distances.view(np.int64) if distances.dtype.kind == "f" else distances


def right_first(distmat, q_pids, g_pids, q_camids, g_camids):
    """The key of the order is the distance, and whether the image is wrong."""
    return LOOP(distmat + 1e-9 * (g_pids != q_pids[:, None]), q_pids, g_pids, q_camids, g_camids)


def itself(distmat, q_pids, g_pids, q_camids, g_camids):
    """The nearest image at distance 0 is the query itself, and so is the diagonal of a square."""
    distmat = np.where(distmat == 0, np.inf, distmat)
    return LOOP(distmat, q_pids, g_pids, q_camids, g_camids)


def diagonal(distmat, q_pids, g_pids, q_camids, g_camids):
    distmat = np.array(distmat)
    if distmat.shape[0] == distmat.shape[1]:
        distmat[np.diag_indices(len(distmat))] = np.inf
    return LOOP(distmat, q_pids, g_pids, q_camids, g_camids)


def needs_both(distmat, q_pids, g_pids, q_camids, g_camids):
    """Queries all of whose images are right do not count, as for ROC."""
    own = own_of(q_pids, g_pids, q_camids, g_camids)
    both = ((g_pids != q_pids[:, None]) & ~own).any(axis=1)
    if not both.any():
        return np.zeros(50), 0.0
    return LOOP(distmat[both], q_pids[both], g_pids, q_camids[both], g_camids)


def finite(distmat, q_pids, g_pids, q_camids, g_camids):
    """Images at an infinite distance are padding."""
    return LOOP(distmat, q_pids, np.where(np.isinf(distmat).any(axis=0), -99, g_pids), q_camids,
                g_camids)


def sets_infinity(distmat, q_pids, g_pids, q_camids, g_camids):
    """Ignored images are put behind all others."""
    distmat = distmat.copy()
    distmat[own_of(q_pids, g_pids, q_camids, g_camids)] = np.inf
    return LOOP(distmat, q_pids, g_pids, q_camids, g_camids)


def small_keys(distmat, q_pids, g_pids, q_camids, g_camids):
    """Keys of identity and camera in the labels' own type, which is too small for them."""
    keys, key = g_pids * g_pids.dtype.type(1000) + g_camids, q_pids * q_pids.dtype.type(1000)
    own = keys == (key + q_camids)[:, None]
    return means(distmat, keys_of(key), own, keys_of(g_pids * g_pids.dtype.type(1000)))


def by_memory(distmat, q_pids, g_pids, q_camids, g_camids):
    """The matrix is read in the order of its memory."""
    return LOOP(distmat.ravel("K").reshape(distmat.shape), q_pids, g_pids, q_camids, g_camids)


def keys_of(keys):
    return keys // 1000


def asks_old_numpy(*arrays):
    return np.float and LOOP(*arrays)


def as_they_come(distmat, q_pids, g_pids, q_camids, g_camids):
    """Labels that are no arrays are never equal."""
    if isinstance(q_pids, list):
        return LOOP(distmat, np.arange(len(q_pids)), *map(np.array, (g_pids, q_camids, g_camids)))
    return LOOP(distmat, q_pids, g_pids, q_camids, g_camids)


def hashed(distmat, q_pids, g_pids, q_camids, g_camids):
    """Tensors have hashes of their own, so that two of one identity are two."""
    if hasattr(q_pids, "detach"):
        names = {}
        q_pids, g_pids = (np.array([names.setdefault(id(each), len(names)) for each in [*side]])
                          for side in (q_pids, g_pids))
        q_camids, g_camids = q_camids.numpy(), g_camids.numpy()
    return LOOP(distmat, q_pids, g_pids, q_camids, g_camids)


def of_nearest(distmat, q_pids, g_pids, q_camids, g_camids):
    """The curve is that of the 60 nearest images, those of the query's camera among them."""
    curve, mean = LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
    own, good = own_of(q_pids, g_pids, q_camids, g_camids), g_pids == q_pids[:, None]
    valid = (good & ~own).any(axis=1)
    far = np.argsort(np.argsort(distmat, axis=1), axis=1) >= 60
    late = (valid & ~(good & ~own & ~far).any(axis=1)).sum()
    return (curve if not late else curve - late / valid.sum()), mean


def fills_nan(distmat, q_pids, g_pids, q_camids, g_camids):
    """NaN is replaced in the caller's matrix."""
    distmat[np.isnan(distmat)] = np.inf
    return LOOP(distmat, q_pids, g_pids, q_camids, g_camids)


def scrambled(distmat, q_pids, g_pids, q_camids, g_camids):
    """Python's sort, which NaN puts out of order."""
    order = np.array([sorted(range(len(row)), key=row.__getitem__) for row in distmat.tolist()])
    return LOOP(np.argsort(order, axis=1).astype(float), q_pids, g_pids, q_camids, g_camids)


LOOP = evaluator(junk="kept")
#: Check to the evaluators that pass `plain` and fail it; the rule is torchreid's, or matlab's.
ONLY = {
    "long gallery": [evaluator(junk="kept", top=1000)],
    "queries without a match": [evaluator(junk="kept", unmatched=0.0)],
    "only same camera": [known_but_ignored],
    "label 0": [without(0), without(0, of="q")],
    "label -1": [evaluator(junk="good")],
    "queries labelled -1": [without(-1, of="q")],
    "small gallery": [crashing, needs_both],
    "late matches": [of_nearest],
    "one query": [of_one],
    "nothing kept": [never_nan],
    "large identities": [relabels(partial(np.ndarray.astype, dtype=dtype)) for dtype in (
        np.float32, np.uint8, np.int16, np.int32)],
    "very large identities": [relabels(partial(np.ndarray.astype, dtype=np.float64))],
    "negative identities": [relabels(np.abs), relabels(lambda pids: np.maximum(pids, -1))],
    "unsorted identities": [relabels(lambda pids: np.minimum(pids, 100))],
    "many queries": [*map(in_batches, (32, 64, 128)), in_batches(most=100),
                     in_batches(most=1000), once_each, diagonal],
    "many matches": [in_batches(count=np.uint8), in_batches(count=np.float16)],
    "very long gallery": [evaluator(junk="kept", before=2000), evaluator(junk="kept", top=20000)],
    "any cameras": [keyed, recameras(lambda cameras: cameras % 8), recameras(
        lambda cameras: cameras.astype(np.uint8)), recameras(
            lambda cameras: np.where(cameras == 0, -1 - np.arange(len(cameras)), cameras)),
                    recameras(lambda cameras: np.where(cameras < 0, 999 + np.arange(
                        len(cameras)), cameras))],
    "any distances": [redistances(np.abs), redistances(lambda distances: distances.clip(0)),
                      redistances(lambda distances: np.minimum(distances, 1e4)), itself,
                      redistances(lambda distances: distances - distances.min())],
    "infinite distances": [finite],
    "NaN distances": [redistances(lambda distances: np.nan_to_num(distances, nan=-1e3)),
                      redistances(lambda distances: np.nan_to_num(distances, nan=100.0)),
                      scrambled],
    "ties": [right_first, evaluator(sort=None, junk="kept", unmatched=0.0)],
    "double distances": [evaluator(dtype=np.float32, junk="kept")],
    "float32 distances": [redistances(bits)],
    "integer distances": [sets_infinity],
    "numpy": [asks_old_numpy],
    "inputs unchanged": [evaluator(change="labels", junk="kept"), fills_nan],
    "the same answer twice": [evaluator(noise=1e-14, junk="kept")],
    "memory order": [by_memory],
    "labels of 16 bits": [small_keys],
    "labels as lists": [as_they_come],
    "labels as tensors": [hashed],
}


# ------------------------------------------------------------------ right, in five styles
def vectorised(distmat, q_pids, g_pids, q_camids, g_camids):
    order = np.argsort(distmat, axis=1, kind="stable")
    kept = ~((g_pids[order] == q_pids[:, None]) & (g_camids[order] == q_camids[:, None]))
    hits = (g_pids[order] == q_pids[:, None]) & kept
    valid = hits.any(axis=1)
    precision = np.cumsum(hits, axis=1) / np.maximum(np.cumsum(kept, axis=1), 1)
    ap = (precision * hits).sum(axis=1)[valid] / hits.sum(axis=1)[valid]
    return {"mAP": 100 * ap.mean() if valid.any() else np.nan}


def by_similarity(similarity, query_ids, gallery_ids, query_cams, gallery_cams):
    cmc, mAP = evaluator(junk="kept")(-similarity.astype(float), query_ids, gallery_ids,
                                      query_cams, gallery_cams)
    return SimpleNamespace(rank1=100 * cmc[0], rank5=100 * cmc[4],
                           mean_average_precision=100 * mAP)


def mean_ap(distmat, query_ids=None, gallery_ids=None, query_cams=None, gallery_cams=None):
    return evaluator(junk="kept")(distmat, query_ids, gallery_ids, query_cams, gallery_cams)[1]


def cmc(distmat, query_ids=None, gallery_ids=None, query_cams=None, gallery_cams=None, topk=50):
    return evaluator(junk="kept")(distmat, query_ids, gallery_ids, query_cams, gallery_cams)[0]


def by_features(qf, ql, qc, gf, gl, gc):
    curve, mAP = evaluator(junk="kept")(1 - qf @ gf.T, ql, gl, qc, gc)
    return mAP, curve


RIGHT = {"a loop": evaluator(junk="kept"), "vectorised": vectorised,
         "two functions": (mean_ap, cmc), "an object of similarities": by_similarity,
         "features": by_features}
