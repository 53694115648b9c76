"""The other evaluators: found, built and fed as their users feed them.

Contents
--------
fastreid
    rank_cy.pyx (compiled in a temporary folder) and rank.py of the wheel fastreid 1.4.0, which
    are those of torchreid but for mINP. Users give them a gallery without the -1 images.
layumi_loop
    What evaluation scripts in the manner of layumi's do, in our own words: for each query
    argsort, np.isin for junk and good, a loop over the good images, a CMC vector as long as the
    gallery. On distances instead of features.
Octave
    matlab_ref/evaluation.m in GNU Octave, timed by its own tic and toc, without its start.
"""
from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import Labels

Array = npt.NDArray[Any]
#: Takes distances and the labels of both sides, returns mAP.
Evaluator = Callable[[Array, Labels, Labels], float]

MATLAB_REF = Path(__file__).parents[1] / "matlab_ref"
FASTREID = "1.4.0"
MAX_RANK = 50
SETUP = """
import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
setup(name="rank_cy", ext_modules=cythonize(
    [Extension("rank_cy", ["rank_cy.pyx"], include_dirs=[numpy.get_include()])]))
"""
OCTAVE = """
load in.mat; addpath(scripts); tic;
[CMC, map] = evaluation(dist, label_gallery, label_query, cam_gallery, cam_query);
seconds = toc; save -v7 out.mat CMC map seconds
"""


class Missing(Exception):
    """A peer that is not here, and how to get it."""


def package(name: str) -> ModuleType:
    """Return a module of a package that not everybody has."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise Missing(f"pip install {name.partition('.')[0]}") from None


def fastreid(folder: Path) -> dict[str, Evaluator]:
    """Return the Cython and the Python form; what is missing is said and left out."""
    found: dict[str, Evaluator] = {}
    for name, get in (("cython", lambda: build(folder).evaluate_cy), ("python", load_python)):
        try:
            found[name] = as_evaluator(get())
        except Missing as missing:
            print(f"left out: fastreid's {name} form: {missing}", flush=True)
    return found


def as_evaluator(function: Callable[..., Any]) -> Evaluator:
    def run(distances: Array, query: Labels, gallery: Labels) -> float:
        labels = query.identity, gallery.identity, query.camera, gallery.camera
        # Copies: those of Labels cannot be written to, which the Cython form asks for.
        _, ap, _ = function(distances, *(one.copy() for one in labels), MAX_RANK)
        return float(np.mean(ap))
    return run


def source(path: str) -> Path:
    """Where a file of the installed wheel is; the package itself is not imported."""
    way_out = f"pip install --no-deps fastreid=={FASTREID}"
    try:
        wheel = importlib.metadata.distribution("fastreid")
    except importlib.metadata.PackageNotFoundError:
        raise Missing(way_out) from None
    if wheel.version != FASTREID:
        raise Missing(f"version {wheel.version} is here; {way_out}")
    return Path(str(wheel.locate_file(f"fastreid/evaluation/{path}")))


def build(folder: Path) -> ModuleType:
    """Compile rank_cy.pyx in `folder` and import it."""
    if not all(map(importlib.util.find_spec, ("Cython", "setuptools"))):
        raise Missing("pip install Cython setuptools (and a C compiler)")
    shutil.copy(source("rank_cylib/rank_cy.pyx"), folder)
    (folder / "setup.py").write_text(SETUP)
    done = subprocess.run([sys.executable, "setup.py", "build_ext", "--inplace"], cwd=folder,
                          capture_output=True, text=True)
    libraries = sorted(folder.glob("rank_cy*.so"))
    if done.returncode or not libraries:
        raise Missing(f"it did not compile: {done.stderr.strip()[-500:]}")
    return load("rank_cy", libraries[0])


def load_python() -> Callable[..., Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that its Cython form is not beside it
        function: Callable[..., Any] = load("fastreid_rank", source("rank.py")).eval_market1501
    return function


def load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_junk(distances: Array, gallery: Labels) -> tuple[Array, Labels]:
    """Leave the -1 images out, as the loaders of torchreid and fast-reid do."""
    kept = gallery.identity != -1
    return (np.ascontiguousarray(distances[:, kept]),
            Labels(gallery.identity[kept], gallery.camera[kept]))


def layumi_loop(distances: Array, query: Labels, gallery: Labels) -> float:
    cmc, total = np.zeros(len(gallery)), 0.0
    for k in range(len(query)):
        same_identity = np.flatnonzero(gallery.identity == query.identity[k])
        same_camera = np.flatnonzero(gallery.camera == query.camera[k])
        good = np.setdiff1d(same_identity, same_camera, assume_unique=True)
        junk = np.append(np.intersect1d(same_identity, same_camera),
                         np.flatnonzero(gallery.identity == -1))
        if len(good):
            ap, hits = layumi_ap(np.argsort(distances[k]), good, junk)
            total += ap
            cmc += hits
    return total / len(query)


def layumi_ap(index: Array, good: Array, junk: Array) -> tuple[float, Array]:
    index = index[np.isin(index, junk, invert=True)]
    places = np.flatnonzero(np.isin(index, good))
    hits = np.zeros(len(index) + len(junk))
    hits[places[0]:] = 1
    ap = 0.0
    for i, place in enumerate(places):
        before = i / place if place else 1.0
        ap += (1.0 / len(good)) * (before + (i + 1) / (place + 1)) / 2
    return ap, hits


class Octave:
    """Runs evaluation.m on a subset of the queries, once for each call."""

    def __init__(self, folder: Path, distances: Array, query: Labels, gallery: Labels) -> None:
        self.folder = folder
        self.executable = shutil.which("octave-cli")
        if self.executable is None:
            raise Missing("GNU Octave is not on the PATH")
        self.files = package("scipy.io")
        column = {"label_gallery": gallery.identity, "label_query": query.identity,
                  "cam_gallery": gallery.camera, "cam_query": query.camera}
        self.files.savemat(folder / "in.mat", {
            "dist": distances.T, "scripts": str(MATLAB_REF),
            **{name: values[:, np.newaxis].astype(float) for name, values in column.items()}})

    def run(self) -> dict[str, Any]:
        """Return mAP, CMC and the seconds it took."""
        done = subprocess.run([str(self.executable), "--no-init-file", "--quiet", "--eval",
                               OCTAVE], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"Octave failed: {done.stderr.strip()}")
        out = self.files.loadmat(self.folder / "out.mat")
        return {"mAP": float(out["map"].item()), "cmc": out["CMC"][0],
                "seconds": float(out["seconds"].item())}


def octave_version() -> str:
    executable = shutil.which("octave-cli")
    if executable is None:
        return "not here"
    done = subprocess.run([executable, "--eval", "disp(version)"], capture_output=True, text=True)
    return done.stdout.strip()
