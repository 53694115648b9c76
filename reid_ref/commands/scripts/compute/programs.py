"""The fast path, the line-faithful port, and the scripts in Octave.

All take the same distance matrix; the port and Octave share no code with the fast path. Octave
starts in a private, empty folder, without start-up files and without the search path of the
environment. It is given the very numbers that were handed in. The folder of the scripts is
trusted: Octave runs what is in it (`PKG_ADD`, files that replace its own functions, a folder
`private`).
"""
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref import matlab
from reid_ref.arrays import Doubles, InputError, Integers, optional_module
from reid_ref.conventions import Convention
from reid_ref.evaluation.functions import evaluate_distances
from reid_ref.labels import Labels, cameras_of

#: The script that each convention follows, then the functions that it calls.
SCRIPTS = {
    "matlab": ("evaluation", "compute_AP"),
    "mars": ("evaluation_mars", "compute_AP", "compute_AP_multiCam", "compute_r1_multiCam")}

#: Environment variable that names the folder of the user's own scripts.
MATLAB_DIR = "REID_REF_MATLAB_DIR"

#: Environment variable that names Octave, as for oct2py.
EXECUTABLE = "OCTAVE_EXECUTABLE"

OPTIONS = ("--norc", "--no-history", "--no-gui", "--no-window-system", "--no-line-editing",
           "--silent", "--eval")

#: Octave's variables that hold its folders; its others change what it runs.
INSTALLED = ("OCTAVE_HOME", "OCTAVE_EXEC_HOME")

#: Octave's side of a call.
CALL = Path(__file__).with_name("call.m")


class ScriptAnswer(NamedTuple):
    """What `evaluation.m` answers: mAP and the CMC curve, shape (n_gallery,)."""

    mAP: float
    cmc: Doubles


def run_fast(distances: npt.NDArray[Any], query: Labels, gallery: Labels,
             convention: Convention) -> ScriptAnswer:
    """Run the fast path."""
    result = evaluate_distances(distances, query, gallery, convention=convention)
    return ScriptAnswer(result.mAP, result.cmc)


def largest_difference(answers: Mapping[str, ScriptAnswer]) -> float:
    """Return the largest difference between any two answers, over mAP and all of CMC.

    NaN differs by 0 from NaN, and by infinity from a number.

    Examples
    --------
    >>> nothing = ScriptAnswer(np.nan, np.array([np.nan]))
    >>> largest_difference({"fast": nothing, "port": ScriptAnswer(np.nan, np.array([1.]))})
    inf
    """
    rows = np.array([[answer.mAP, *answer.cmc] for answer in answers.values()])
    nan = np.isnan(rows)
    span = np.ptp(np.where(nan, 0.0, rows), axis=0)
    span[nan.any(axis=0)] = np.inf
    span[nan.all(axis=0)] = 0.0
    return float(span.max())


def run_port(distances: npt.NDArray[Any], query: Labels, gallery: Labels,
             convention: Convention) -> ScriptAnswer:
    """Run the line-faithful port on `distances`, shape (n_query, n_gallery)."""
    script, cameras = getattr(matlab, functions_of(convention)[0]), _cameras(gallery, query)
    try:
        cmc, mAP, _, _ = script(distances.T, gallery.identity, query.identity, *cameras)
    except ValueError as error:  # the port shares no code with the rest, its errors neither
        raise InputError(str(error)) from None
    return ScriptAnswer(float(mAP), cmc)


def run_octave(distances: npt.NDArray[Any], query: Labels, gallery: Labels,
               convention: Convention, matlab_dir: str | None = None) -> ScriptAnswer:
    """Run the scripts in GNU Octave on `distances`, shape (n_query, n_gallery).

    Octave gets the distances in their own type (half precision as single, bool as uint8) and the
    labels as doubles, or as 64-bit integers where a double would round one of them.

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
        No Octave, no script in the folder, or a script that fails or answers anything but a
        curve and a number.
    """
    functions = functions_of(convention)
    folder = script_folder(matlab_dir, functions)
    command = [_executable(), *OPTIONS, f"script = '{functions[0]}';\n{CALL.read_text('utf-8')}"]
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("OCTAVE_") or name in INSTALLED}
    with TemporaryDirectory(prefix="reid-ref-") as name:
        private = Path(name)
        _write(private / "given.mat", distances, query, gallery)
        try:
            done = subprocess.run(
                command, cwd=private, env={**environment, "REID_REF_SCRIPTS": str(folder)},
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError as error:
            raise InputError(command[0], f"the program of GNU Octave, got: {error.strerror}",
                             remedy=f"{EXECUTABLE} names another") from None
        if not (private / "answer").is_file():
            problem = private / "problem"
            reason = (f"{command[0]} ended with exit code {done.returncode} and no answer"
                      if not problem.is_file() else "Octave printed: " + " ".join(
                          problem.read_text(encoding="utf-8", errors="replace").split())[:1000])
            raise InputError(folder / f"{functions[0]}.m", got=reason)
        *cmc, mAP = np.fromfile(private / "answer")
    return ScriptAnswer(float(mAP), np.array(cmc))


def script_folder(matlab_dir: str | None, functions: Iterable[str]) -> Path:
    """Return the folder of the scripts.

    The argument comes first, then `REID_REF_MATLAB_DIR`, then the project's own `matlab_ref`.

    Raises
    ------
    InputError
        A function is missing in the folder.
    """
    package = Path(__file__).resolve().parents[3]
    packaged = package / "matlab_ref"  # in a wheel; in a checkout it is next to the package
    named = matlab_dir or os.environ.get(MATLAB_DIR)
    folder = (Path(named).resolve() if named else packaged if packaged.is_dir()
              else package.parent / packaged.name)
    if missing := [f"{name}.m" for name in functions if not (folder / f"{name}.m").is_file()]:
        raise InputError("matlab_dir" if matlab_dir else MATLAB_DIR,
                         "the folder of the MATLAB scripts", f"{folder}, where "
                         f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing",
                         "name the folder that holds them, e.g. "
                         "person-re-ranking/evaluation/utils")
    return folder


def functions_of(convention: Convention) -> tuple[str, ...]:
    """Return the script that a convention follows, and the functions that it calls."""
    if convention.name not in SCRIPTS:
        raise InputError("", got=f"convention {convention.name!r} follows no MATLAB script, only "
                         f"{', '.join(SCRIPTS)} do", remedy="use the fast implementation")
    return SCRIPTS[convention.name]


def _cameras(*sides: Labels) -> list[Integers]:
    return [cameras_of(labels, "the MATLAB scripts") for labels in sides]


def _executable() -> str:
    named = os.environ.get(EXECUTABLE)
    # octave-cli if there is one: it asks for no display.
    programs = filter(None, map(shutil.which, [named] if named else ["octave-cli", "octave"]))
    program = next(programs, None)
    if program is None:
        raise InputError(EXECUTABLE if named else "", "the program of GNU Octave",
                         f"{named!r}, which is none" if named else "none on the PATH",
                         "install it, e.g. apt-get install octave")
    return os.path.abspath(program)


def _write(path: Path, distances: npt.NDArray[Any], query: Labels, gallery: Labels) -> None:
    """Write what Octave loads, without rounding a number."""
    savemat = optional_module("scripts", "scipy.io").savemat
    if distances.dtype.kind in "fc" and distances.dtype.char not in "efdFD":
        raise InputError("distances", "at most double precision", distances.dtype, "Octave has no "
                         "wider numbers, convert them with .astype(float)")
    if distances.nbytes >= 2**32:
        raise InputError("distances", "less than 4 GiB, which a MAT file can hold",
                         f"{distances.nbytes:,} bytes", "pass fewer queries, or float32")
    # Octave has no half precision; neither of the two changes the order.
    wider = {"float16": np.float32, "bool": np.uint8}.get(distances.dtype.name)
    of_gallery, of_query = _cameras(gallery, query)
    columns = {"label_gallery": gallery.identity, "label_query": query.identity,
               "cam_gallery": of_gallery, "cam_query": of_query}
    exact = all(np.array_equal(np.clip(column, -2**53, 2**53), column)
                for column in columns.values())
    try:
        savemat(path, {
            **{name: column.astype(np.float64 if exact else np.int64)
               for name, column in columns.items()},
            "dist": distances.T if wider is None else distances.T.astype(wider),
            "is_complex": distances.dtype.kind == "c", "n_gallery": float(len(gallery))},
            oned_as="column")
    except OSError as error:
        raise InputError(path.parent, f"room for {distances.nbytes:,} bytes of distances, got: "
                         f"{error.strerror}", remedy="TMPDIR names another folder") from None
