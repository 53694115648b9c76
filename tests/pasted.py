"""The command lines of the pages as a reader pastes them, and the files that they name."""
import re
import shlex
import subprocess
import sys
from typing import NamedTuple

import numpy as np
from scipy.io import savemat

import reid_ref
from tests.documents import ROOT, command

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^ {4}.*\n)+", re.MULTILINE)
_FIRST = re.compile(r"(?:\$ )?(?:(?:pip|pytest|python3?|sh|reid-ref) \S|\.(?:venv|ci)\b)")
#: What holds code or a file, not lines for a shell.
_NO_SHELL = {"python", "py", "diff", "toml", "yaml", "matlab"}


class Block(NamedTuple):
    """Lines of a page that stand together, as a reader copies them."""

    page: str
    lines: tuple[str, ...]

    def __str__(self):
        return f"{self.page}: {self.lines[0]}"


def blocks(page):
    """Return the blocks of command lines of a page; a screen has one for each of its commands."""
    text = page.read_text()
    found = [block for kind, block in _FENCE.findall(text) if kind not in _NO_SHELL]
    found += [re.sub("(?m)^    ", "", block) for block in _INDENTED.findall(_FENCE.sub("", text))]
    for block in found:
        lines = [re.sub(" +#.*", "", line).strip()
                 for line in re.sub(r" \\\n *", " ", block).splitlines() if _FIRST.match(line)]
        screens = [line for line in lines if line.startswith("$ ")]
        for these in [[line] for line in screens] or [lines] * bool(lines):
            yield Block(str(page.relative_to(ROOT)), tuple(these))


#: Words of a command in a sentence that stand for something of the reader's.
_STANDS_FOR = {"FILE": "ours.mat", "FILE...": "ours.mat", "BASELINE": "ours.mat",
               "OTHER": "other.mat", "NAME": "prcc", "SPEC": "mine.py:evaluate",
               "module:function": "mine.py:evaluate"}


def in_sentences(page):
    """Return the commands in the sentences of a page, as a reader completes them."""
    found = re.findall(r"`(reid-ref [^`]* [^`]*|reid-ref --[^`]*|python -m [^`]*)`",
                       _FENCE.sub("", page.read_text()))
    return [shlex.join(_STANDS_FOR.get(word, word) for word in shlex.split(line))
            for line in found]


BLOCKS = [block for page in PAGES for block in blocks(page)]

# ------------------------------------------------------------------ files that lines name

MARKET = ROOT / "fixtures/market_like.mat"
#: Cameras of queries and of gallery images, where a protocol knows them by number.
CAMERAS = {"sysu-mm01": ([3, 6], [1, 2, 4, 5]), "prcc": ([1, 2], [0])}
BOXES = {
    "image": ["a.jpg", "b.jpg", "c.jpg", "d.jpg"], "image_camera": [1, 1, 2, 2],
    "truth_image": [0, 1, 2, 3], "truth_identity": [7] * 4, "truth_box": [[0, 0, 40, 100]] * 4,
    "detection_image": np.repeat([1, 2, 3], 15), "detection_box": [[0, 0, 40, 95]] * 45,
    "detection_score": np.linspace(.99, .6, 45), "detection_features": np.eye(45),
    "query_image": [0], "query_identity": [7], "query_features": [np.linspace(.9, .1, 45)],
    "gallery_100": [[1, 2, 3]]}
EVALUATOR = '''
import numpy as np

def evaluate(distmat, q_pids, g_pids, q_camids, g_camids, metric="euclidean"):
    aps, first = [], []
    for row, pid, camera in zip(distmat, q_pids, q_camids):
        order = np.argsort(row, kind="stable")
        order = order[(g_pids[order] != pid) | (g_camids[order] != camera)]
        good = g_pids[order] == pid
        if good.any():
            precision = np.cumsum(good) / np.arange(1, len(good) + 1)
            aps.append(precision[good].mean())
            first.append(good[0])
    return np.mean(first), np.mean(aps)
'''


def arrays(protocol="", frames=False, seed=0):
    """Return made features with every column: 20 queries, 400 gallery images, 10 identities."""
    sides = CAMERAS.get(protocol.removesuffix("-python"), ([1, 2], [3, 4]))
    values = {}
    for side, count, cameras in zip(("query", "gallery"), (20, 400), sides):
        number = np.arange(count)
        noise = np.random.default_rng(seed + count).standard_normal((count, 10))
        values |= {f"{side}_features": np.eye(10)[number % 10] + noise,
                   f"{side}_identity": number % 10 + 1,
                   f"{side}_camera": np.resize(np.repeat(cameras, 10), count),
                   f"{side}_clothes": number // 10 % 2}
        if frames:
            values[f"{side}_tracklet"] = number % (10 * len(cameras))
    return values


def write(name, words, folder):
    """Write what a line expects below this name."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    protocol = words[words.index("--protocol") + 1] if "--protocol" in words else ""
    if name == "rand_perm_cam.mat":
        savemat(path, {name[:-4]: permutations()})
    elif name == "boxes.npz":
        np.savez(path, **BOXES)
    elif name == "multi_query.mat":
        data = reid_ref.read(MARKET)
        savemat(path, {"mquery_f": data.query_features, "mquery_label": data.query.identity,
                       "mquery_cam": data.query.camera})
    elif name in ("features.npy", "similarity.npy"):
        made = arrays()
        rows = np.concatenate([made["query_features"], made["gallery_features"]])
        np.save(path, rows if name == "features.npy" else rows[:20] @ rows[20:].T)
    elif name == "metadata.csv":
        made = arrays()
        path.write_text("identity,split,camera\n" + "".join(
            f"dog {identity},{side},{camera}\n" for side in ("query", "gallery")
            for identity, camera in zip(made[f"{side}_identity"], made[f"{side}_camera"])))
    elif name == "one_set.npz":
        made = arrays()
        np.savez(path, features=made["gallery_features"], identity=made["gallery_identity"])
    elif name == "paper.md":
        path.write_text("| Market-1501 | Rank-1 | mAP |\n|--|--|--|\n| ours | 90.11 | 75.02 |\n")
    elif name == "mine.py":
        path.write_text(EVALUATOR)
    elif path.suffix == ".mat":
        path.write_bytes(MARKET.read_bytes())
    elif path.suffix == ".json":
        part = path.stem if path.stem in ("sc", "cc") else "cc"
        run(f"reid-ref evaluate {path.stem}.npz --protocol prcc --part {part} --save {name}",
            folder)
    elif path.suffix == ".pt":
        import torch

        torch.save({"feats": torch.rand(4000, 4), "pids": torch.arange(4000) % 20,
                    "camids": torch.arange(4000) // 20 % 3}, path)
    elif "--labels" in words or "--map" in words:
        data = reid_ref.read(MARKET)
        keys = ("A", "B") if "--map" in words else ("query_features", "gallery_features")
        np.savez(path, **dict(zip(keys, (data.query_features, data.gallery_features))))
        unpack(data, folder / words[-1] if "--labels" in words else folder)
    else:
        np.savez(path, **arrays(protocol, "--pool" in words, len(name) + ord(name[-5])))


def permutations():
    """The cells of SYSU-MM01's file: of 6 cameras, 10 identities, 2 trials of 10 images."""
    cells = np.empty((6, 1), object)
    for camera in range(6):
        cells[camera, 0] = np.empty((10, 1), object)
        for identity in range(10):
            cells[camera, 0][identity, 0] = np.array([np.arange(10), np.arange(10)[::-1]]) + 1
    return cells


def unpack(data, folder):
    """Write empty images, named as Market-1501's, in the order of the rows of a file."""
    for side, labels in (("query", data.query), ("bounding_box_test", data.gallery)):
        (folder / side).mkdir(parents=True)
        for k, (identity, camera) in enumerate(zip(labels.identity, labels.camera)):
            number = f"{identity:04}" if identity >= 0 else identity
            (folder / side / f"{number}_c{camera}s1_{k:06}_00.jpg").touch()


def run(line, folder):
    """Run a line in a folder with the fixtures; make the files that it names and are not there."""
    words = [path for word in shlex.split(line) for path in (  # as a shell does
        sorted(str(path.relative_to(folder)) for path in folder.glob(word)) or [word]
        if "*" in word else [word])]
    written = {words[k + 1] for k, word in enumerate(words)
               if word in ("-o", "--save", "--per-query")}
    for name in re.findall(r"[\w/.-]+\.(?:npz|mat|pt|json|py|md|npy|csv)\b", line):
        if name not in written and not (folder / name).exists():
            write(name, words, folder)
    if words[0] == "reid-ref":
        return command(*words[1:], cwd=folder)
    return subprocess.run([sys.executable, *words[1:]], cwd=folder, text=True,
                          capture_output=True)
