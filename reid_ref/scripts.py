"""The slow answers on the user's own data: the port, and the scripts run live in Octave.

Aim: let a user see, on their file, that the fast path gives the scripts' numbers. Both
take the same distance matrix as the fast path and share no code with it.
"""
from __future__ import annotations

import contextlib
import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.conventions import Convention
from reid_ref.result import Doubles, Labels
from reid_ref.validation import InputError

#: The script that each convention follows.
SCRIPTS = {"matlab": "evaluation", "mars": "evaluation_mars"}

#: Environment variable that names the folder of the user's own scripts.
MATLAB_DIR = "REID_REF_MATLAB_DIR"


@dataclass(frozen=True)
class ScriptAnswer:
    """What `evaluation.m` answers: mAP and the CMC curve, shape (n_gallery,)."""

    mean_ap: float
    cmc: Doubles


def run_port(distances: npt.NDArray[Any], query: Labels, gallery: Labels,
             convention: Convention) -> ScriptAnswer:
    """Run the line-faithful port on `distances`, shape (n_query, n_gallery)."""
    from reid_ref import matlab

    script = getattr(matlab, _script(convention))
    cmc, mean_ap, _, _ = script(distances.T, gallery.identity, query.identity,
                                gallery.camera, query.camera)
    return ScriptAnswer(float(mean_ap), cmc)


def run_octave(distances: npt.NDArray[Any], query: Labels, gallery: Labels,
               convention: Convention, matlab_dir: str | None = None) -> ScriptAnswer:
    """Run the scripts in GNU Octave on `distances`, shape (n_query, n_gallery).

    Parameters
    ----------
    distances : array, shape (n_query, n_gallery)
    query, gallery : Labels
    convention : Convention
        One that follows a script: `matlab` or `mars`.
    matlab_dir : str, optional
        Folder of the scripts; see `script_folder`.

    Raises
    ------
    InputError
        No Octave, no oct2py, no script in the folder, or a script that fails.
    """
    script = _script(convention)
    folder = script_folder(matlab_dir, script)
    if shutil.which("octave") is None and shutil.which("octave-cli") is None:
        raise InputError("--implementation octave: expected GNU Octave on the PATH, found none; "
                         "install it, e.g. apt-get install octave")
    os.environ.setdefault("OCTAVE_EXECUTABLE", shutil.which("octave-cli") or "octave")
    try:
        with warnings.catch_warnings(), _octave_chatter_dropped():
            warnings.simplefilter("ignore")
            from oct2py import Oct2Py, Oct2PyError
    except ImportError:
        raise InputError("--implementation octave: expected the package oct2py, found none; "
                         'install it: pip install "reid-ref[octave]"') from None
    # Octave has no half precision and sorts logical arrays as numbers: neither changes order.
    matrix = distances.T
    if matrix.dtype.kind == "b" or matrix.dtype == np.float16:
        matrix = matrix.astype(np.float32)
    columns = [np.asarray(labels, dtype=np.float64)[:, np.newaxis] for labels in (
        gallery.identity, query.identity, gallery.camera, query.camera)]
    with _octave_chatter_dropped(), Oct2Py() as octave:
        try:
            octave.addpath(str(folder))
            cmc, mean_ap = octave.feval(script, matrix, *columns, nout=2)
        except Oct2PyError as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{folder / (script + '.m')}: Octave says: {reason}") from None
    return ScriptAnswer(float(mean_ap), np.atleast_1d(np.squeeze(cmc)).astype(np.float64))


def script_folder(matlab_dir: str | None, script: str) -> Path:
    """Return the folder of the scripts.

    The argument comes first, then `REID_REF_MATLAB_DIR`, then the project's own `matlab_ref`.

    Raises
    ------
    InputError
        The folder does not hold `script` and `compute_AP.m`.
    """
    package = Path(__file__).resolve().parent
    own = package / "matlab_ref"  # where a wheel puts it; in a checkout it stands beside
    named = matlab_dir or os.environ.get(MATLAB_DIR)
    folder = Path(named) if named else own if own.is_dir() else package.parent / "matlab_ref"
    missing = [name for name in (f"{script}.m", "compute_AP.m") if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"{folder}: expected the MATLAB scripts there, {' and '.join(missing)} missing; "
            f"--matlab-dir (or {MATLAB_DIR}) names the folder that holds them, e.g. "
            "person-re-ranking/evaluation/utils")
    return folder


@contextlib.contextmanager
def _octave_chatter_dropped() -> Iterator[None]:
    # Octave's own start and end write lines to stderr (no display, an error at exit in Octave 7)
    # past oct2py, which reports real errors as exceptions.
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _script(convention: Convention) -> str:
    if convention.name not in SCRIPTS:
        raise InputError(
            f"--implementation: convention {convention.name!r} follows no MATLAB script, only "
            f"{', '.join(SCRIPTS)} do; use --implementation fast")
    return SCRIPTS[convention.name]
