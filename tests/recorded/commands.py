"""The command lines of `commands.txt`, and the files that they are about.

Each runs in a fresh folder, in which lie `FIXTURES`, `fixtures`, `made`, and `real` and `goldens`
of the folder beside the checkout. Words such as COLUMNS=60 in front are variables; a line that
begins with -m names another module than reid_ref.
"""
import json
import zipfile
from pathlib import Path

import numpy as np
from scipy.io import loadmat, savemat

FIXTURES = {"market.mat": "market_like.mat", "mars.mat": "mars_like.mat", "ties.mat": "ties.mat",
            "special.mat": "special_values.mat", "lists": "ranked_lists", "gold": "goldens",
            "pytorch_result.mat": "market_like.mat", "matlab_ref": "../matlab_ref"}

MINE = """
import numpy as np

def sound(distmat, q_pids, g_pids, q_camids, g_camids, max_rank=50):
    aps, curves = [], []
    for row, pid, cam in zip(distmat, q_pids, q_camids):
        order = np.argsort(row, kind="stable")
        same = g_pids[order] == pid
        hits = same[~(same & (g_camids[order] == cam))]
        if hits.any():
            precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
            aps.append(precision[hits].mean())
            curves.append(np.maximum.accumulate(hits)[:max_rank])
    return np.mean(curves, axis=0), np.mean(aps)

def wrong(distmat, q_pids, g_pids, q_camids, g_camids, max_rank=50):
    return sound(distmat, q_pids, g_pids, q_camids - 100, g_camids)

def percent(*arguments):
    cmc, mAP = sound(*arguments)
    return 100 * cmc, 100 * mAP

def fails(*arguments):
    raise ValueError("not today")
"""
SCRIPT = """
import sys
import numpy as np
from utils.metrics import eval_func
i = np.arange(40)
cmc, mAP = eval_func((i * i[:5, None] % 17) / 17., i[:5], i % 5, i[:5] * 0, i % 3)
print(sys.argv, cmc[:5].tolist(), float(mAP), eval_func.__module__.partition(".")[0])
"""
TABLE = """
| Method | Rank-1 | Rank-5 | mAP |
|:--|--:|--:|--:|
| DenseNet-121 | 89.91 | 96.1 | 73.58 |
| ours | 90.11 | 89.52 | 75.02 |
| third | 90.11 | 95.52 | 75.02 |
"""
SIDES = ("query_f", "query_label", "query_cam", "gallery_f", "gallery_label", "gallery_cam")


def lines():
    """Return the command lines whose files others read, and all others."""
    first, _, others = Path(__file__).with_suffix(".txt").read_text().partition("\n\n")
    found = [[line for line in part.splitlines() if line and line[0] != "#"]
             for part in (first, others)]
    assert len(set(sum(found, []))) == len(sum(found, []))
    return found


def make(folder, fixtures):
    """Write the files of `made`, from the fixtures and whole random numbers."""
    market = {key: value.reshape(-1) if "_f" not in key else value
              for key, value in loadmat(fixtures / "market_like.mat").items() if key in SIDES}
    _result_files(folder, market)
    _lists(folder, market)
    _driver_files(folder / "drv")
    _damaged_files(folder, market, fixtures)
    _images(folder, market)
    for name, text in (("mine.py", MINE), ("script.py", SCRIPT), ("table.md", TABLE)):
        (folder / name).write_text(text)
    for name in ("ox", "utils"):
        (folder / name).mkdir()
    (folder / "utils/__init__.py").write_text("")
    (folder / "utils/metrics.py").write_text(
        "import numpy\n\ndef eval_func(*_):\n    return numpy.zeros(9), 0.\n")
    for name, text in (("one_good", "a b"), ("one_ok", "c"), ("one_junk", "d e"),
                       ("ranked", "d a x c e y b")):
        (folder / f"ox/{name}.txt").write_text(text.replace(" ", "\n") + "\n")


def _noisy(market, seed, most):
    rng = np.random.default_rng(seed)
    return {key: value + rng.integers(-most, most + 1, value.shape).astype("f") / np.float32(64)
            if "_f" in key else value for key, value in market.items()}


def _squares(one):
    """Return distances of whole numbers, query x gallery, which tie."""
    query, gallery = (np.rint(4 * one[f"{side}_f"]).astype(int) for side in ("query", "gallery"))
    return ((query[:, None] - gallery) ** 2).sum(2)


def _result_files(folder, market):
    import h5py

    names = dict(zip(SIDES, ("query_features", "query_identity", "query_camera",
                             "gallery_features", "gallery_identity", "gallery_camera")))
    savemat(folder / "other.mat", _noisy(market, 1, 8))
    savemat(folder / "worse.mat", _noisy(market, 2, 40))
    for seed in (1, 2, 3):
        np.savez(folder / f"run{seed}.npz", **_noisy(market, 10 + seed, 16))
    np.savez(folder / "own.npz", **{names[key]: value for key, value in market.items()})
    with h5py.File(folder / "keys.h5", "w") as file:
        for key, value in market.items():
            file[key] = value
    (folder / "feats").mkdir()
    for key, value in market.items():
        np.save(folder / f"feats/{key}.npy", value)
    labels = {"q_pids": market["query_label"], "q_camids": market["query_cam"],
              "g_pids": market["gallery_label"], "g_camids": market["gallery_cam"]}
    squares = _squares(market)
    np.savez(folder / "distmat.npz", distmat=squares, **labels)
    np.savez(folder / "similar.npz", distmat=(10000 - squares) / 10000, **labels)
    for number in (1, 2):
        np.savez(folder / f"split{number}.npz", **{
            key: value[number - 1::2] if "query" in key else value
            for key, value in market.items()})
    rng = np.random.default_rng(4)
    savemat(folder / "mq.mat", {
        "mquery_f": np.repeat(market["query_f"], 2, 0) + rng.integers(-2, 3, (96, 32)) / 64,
        "mquery_label": np.repeat(market["query_label"], 2),
        "mquery_cam": np.repeat(market["query_cam"], 2)})


def _lists(folder, market):
    same = market["query_label"][:, None] == market["gallery_label"]
    own = market["query_cam"][:, None] == market["gallery_cam"]
    for name, mask in (("good", same & ~own), ("junk", same & own)):
        (folder / f"{name}.txt").write_text("".join(
            " ".join(map(str, 1 + np.flatnonzero(row))) + "\n" for row in mask))
    (folder / "units.txt").write_text("".join(f"{k // 3}\n" for k in range(48)))
    (folder / "n_good.txt").write_text("2\n3\n1\n")
    (folder / "top4b.txt").write_text("3 1 2 6\n4 3 5 1\n5 2 3 4\n")
    (folder / "twice.txt").write_text("1 3 2 6\n5 3 5 1\n1 2 3 4\n")
    (folder / "far.txt").write_text("1 3 2 6\n5 3 9999 1\n1 2 3 4\n")
    top, other = (np.argsort(_squares(one), 1, kind="stable")[:, :60]
                  for one in (market, _noisy(market, 1, 8)))
    np.save(folder / "ranked.npy", top)
    (folder / "ranked.json").write_text(json.dumps(top.tolist()))
    for name, found in (("ranked", top + 1), ("ranked0", top), ("ranked2", other + 1)):
        np.savetxt(folder / f"{name}.txt", found, fmt="%d")


def _driver_files(folder):
    """Six persons' features of 208 dimensions for each driver; train_ files are for learning."""
    rng = np.random.default_rng(22)
    centres = rng.integers(-9, 10, (70, 208))
    folder.mkdir()
    for side, label, camera, persons, each in (
            ("train", "train_label", "train_cam", range(1, 31), 3),
            ("query", "queryID", "queryCam", range(41, 56), 1),
            ("test", "testID", "testCam", [-1, 0, *range(41, 56)], 2)):
        identity = np.repeat(persons, 6 * each)
        rows = centres[identity] + rng.integers(-24, 25, (len(identity), 208))
        savemat(folder / f"ResNet_50_IDE_{side}.mat", {"f": rows.T.clip(0).astype("f")})
        savemat(folder / f"{label}.mat", {"x": identity[:, None].astype(np.int16)})
        savemat(folder / f"{camera}.mat", {
            "x": np.tile(np.repeat(np.arange(1, 7), each), len(persons))[:, None].astype("u1")})


def _damaged_files(folder, market, fixtures):
    whole = (fixtures / "market_like.mat").read_bytes()
    (folder / "truncated.mat").write_bytes(whole[:20_000])
    (folder / "garbage.mat").write_bytes(bytes(range(256)) * 9)
    (folder / "empty.npz").write_bytes(b"")
    (folder / "broken.json").write_text('{"schema": 1, "mAP": ')
    np.savez(folder / "damaged.npz", **market)
    data = bytearray((folder / "damaged.npz").read_bytes())
    data[5000] ^= 255
    (folder / "damaged.npz").write_bytes(data)
    nan, zero = market["query_f"].copy(), market["gallery_f"].copy()
    nan[3, 2], zero[7] = np.nan, 0
    for name, changes in {
            "nan": {"query_f": nan}, "zero_row": {"gallery_f": zero}, "none": {
                "query_f": nan[:0], "query_label": [], "query_cam": []},
            "shapes": {"query_label": market["query_label"][1:]},
            "words": {"gallery_label": np.array(["a"] * 345)},
            "pickled": {"gallery_label": np.array([1, None] * 172 + [2], object)},
            "fractions": {"gallery_cam": market["gallery_cam"] + 0.5}}.items():
        np.savez(folder / f"{name}.npz", **{**market, **changes})
    with zipfile.ZipFile(folder / "run1.npz") as whole, \
            zipfile.ZipFile(folder / "lacks.npz", "w") as lacking:
        for name in whole.namelist()[1:]:
            lacking.writestr(zipfile.ZipInfo(name), whole.read(name))


def _images(folder, market):
    """Draw a few images, with their names' labels, in the order of names."""
    from PIL import Image

    rng, arrays = np.random.default_rng(5), {}
    for side, place, number in (("query", "query", 6), ("gallery", "bounding_box_test", 40)):
        (folder / "images" / place).mkdir(parents=True)
        label, camera = (market[f"{side}_{of}"][:number] for of in ("label", "cam"))
        names = [f"{'-1' if one < 0 else f'{one:04d}'}_c{cam}s1_{k:06d}_01.jpg"
                 for k, (one, cam) in enumerate(zip(label, camera))]
        order = np.argsort(names)
        arrays.update({f"{side}_{of}": market[f"{side}_{of}"][:number][order]
                       for of in ("f", "label", "cam")})
        (folder / f"{side}_names.txt").write_text("".join(
            f"{place}/{names[k]}\n" for k in order))
        for name in names:
            Image.fromarray(rng.integers(0, 256, (16, 8, 3), np.uint8)).save(
                folder / "images" / place / name)
    np.savez(folder / "tiny.npz", **arrays)


def tamper(folder):
    """Write what needs the answers to FIRST."""
    stored = json.loads((folder / "stored.json").read_text())
    signature = stored["signature"]
    stored["mAP"], stored["queries"][3]["ap"] = 0.5, 0.25
    (folder / "tampered.json").write_text(json.dumps(stored))
    (folder / "signed.md").write_text(
        TABLE.replace("89.91", "45.83").replace("96.1", "77.08")
        + f"\n- DenseNet-121: `{signature}`\n"
        f"- ours: `{signature.replace('trapezoid', 'step')}`\n")
