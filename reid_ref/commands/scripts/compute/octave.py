"""The MATLAB scripts, run live in GNU Octave on a user's own distances.

Octave starts in a private, empty folder, without start-up files and without the search path of
the environment. It is given the very numbers that were handed in, and says which files it would
call before it calls them.
"""
from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.conventions import Convention
from reid_ref.labels import Labels

#: The script that each convention follows, then the functions that it calls.
SCRIPTS = {
    "matlab": ("evaluation", "compute_AP"),
    "mars": ("evaluation_mars", "compute_AP", "compute_AP_multiCam", "compute_r1_multiCam"),
}

#: Environment variable that names the folder of the user's own scripts.
MATLAB_DIR = "REID_REF_MATLAB_DIR"

#: Environment variable that names Octave, as for oct2py.
EXECUTABLE = "OCTAVE_EXECUTABLE"

OPTIONS = ("--norc", "--no-history", "--no-gui", "--no-window-system", "--no-line-editing",
           "--silent")

#: Octave's variables that say where it is installed; its others change what it runs.
INSTALLED = ("OCTAVE_HOME", "OCTAVE_EXEC_HOME")

# Runs in the private folder, which holds `given` and the link `scripts`; leaves `answer` or
# `problem` there. A script may change the folder. Without a terminal, Octave's own `keyboard`
# asks for ever.
DRIVER = """
function keyboard(varargin)
  error('keyboard: expected a terminal, there is none');
end
here = pwd();
try
  file = fopen('given', 'r');
  label_gallery = fread(file, [n_gallery, 1], label_type);
  label_query = fread(file, [n_query, 1], label_type);
  cam_gallery = fread(file, [n_gallery, 1], label_type);
  cam_query = fread(file, [n_query, 1], label_type);
  dist = fread(file, [parts * n_gallery, n_query], dist_type);
  fclose(file);
  if parts == 2
    dist = complex(dist(1:2:end, :), dist(2:2:end, :));
  end

  scripts = canonicalize_file_name(fullfile(here, 'scripts'));
  addpath(scripts);
  for k = 1:numel(functions)
    expected = fullfile(scripts, [functions{k}, '.m']);
    found = which(functions{k});
    if ~strcmp(found, expected)
      error('it would call "%s", not %s', found, expected);
    end
  end

  [CMC, map] = feval(functions{1}, dist, label_gallery, label_query, cam_gallery, cam_query);
  numbers = isnumeric(CMC) && isreal(CMC) && isnumeric(map) && isreal(map);
  if ~numbers || numel(CMC) ~= n_gallery || numel(map) ~= 1
    error('expected %d real numbers as CMC and one as map, got %s %s and %s %s', n_gallery, ...
          mat2str(size(CMC)), class(CMC), mat2str(size(map)), class(map));
  end
  file = fopen(fullfile(here, 'answer'), 'w');
  fwrite(file, [double(full(CMC(:))); double(full(map))], 'double');
  fclose(file);
catch problem
  file = fopen(fullfile(here, 'problem'), 'w');
  fputs(file, problem.message);
  fclose(file);
end
"""


@dataclass(frozen=True)
class ScriptAnswer:
    """What `evaluation.m` answers: mAP and the CMC curve, shape (n_gallery,)."""

    mAP: float
    cmc: Doubles


def run_octave(distances: npt.NDArray[Any], query: Labels, gallery: Labels,
               convention: Convention, matlab_dir: str | None = None) -> ScriptAnswer:
    """Run the scripts in GNU Octave on `distances`, shape (n_query, n_gallery).

    Octave gets the distances in their own type (half precision as single, bool as uint8) and the
    labels as doubles, or as 64-bit integers where a double would round one of them. An interrupt
    ends Octave and removes its folder before it takes effect.

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
        No Octave, no script in the folder, another file in the place of a script, or a script
        that fails or answers anything but a curve and a number.
    """
    functions = functions_of(convention)
    folder = script_folder(matlab_dir, functions)
    executable = _executable()
    values = np.zeros(0)
    with _interrupts_deferred() as interrupts, _private_folder() as private:
        os.symlink(folder, private / "scripts")
        sizes = _write(private / "given", distances, query, gallery)
        names = ", ".join(f"'{name}'" for name in functions)
        code = f"functions = {{{names}}};\n{sizes}\n{DRIVER}"
        status = _run([executable, *OPTIONS, "--eval", code], private, interrupts)
        if (private / "answer").is_file():
            values = np.fromfile(private / "answer")
        if len(values) != len(gallery) + 1 and not interrupts:
            ended = f"{executable} ended with exit code {status}"
            raise InputError(f"{folder / functions[0]}.m", got=_reason(private, ended))
    return ScriptAnswer(float(values[-1]), values[:-1])


def script_folder(matlab_dir: str | None, functions: Iterable[str]) -> Path:
    """Return the folder of the scripts.

    The argument comes first, then `REID_REF_MATLAB_DIR`, then the project's own `matlab_ref`.

    Raises
    ------
    InputError
        A function is missing in the folder, or Octave would call another file in its place.
    """
    package = Path(__file__).resolve().parents[3]
    packaged = package / "matlab_ref"  # in a wheel; in a checkout it is next to the package
    named = matlab_dir or os.environ.get(MATLAB_DIR)
    folder = (Path(named).resolve() if named else packaged if packaged.is_dir()
              else package.parent / packaged.name)
    argument = "matlab_dir" if matlab_dir else MATLAB_DIR
    missing = [f"{name}.m" for name in functions if not (folder / f"{name}.m").is_file()]
    if missing:
        raise InputError(argument, "the folder of the MATLAB scripts", f"{folder}, where "
                         f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing",
                         "name the folder that holds them, e.g. "
                         "person-re-ranking/evaluation/utils")
    _check_name(folder, argument)
    # `which` in Octave does not look into the first two, and loads a compiled file to see it.
    for name in functions:
        for pattern in (f"private/{name}.*", f"@*/{name}.*", f"{name}.oct", f"{name}.mex"):
            for other in folder.glob(pattern):
                raise InputError(argument, got=f"Octave would call {other}, not {folder / name}.m",
                                 remedy="remove one of the two")
    return folder


def _check_name(folder: Path, argument: str) -> None:
    """Octave separates folders by colons, and fails on names that are not UTF-8."""
    name = str(folder)
    if os.pathsep in name or name.encode(errors="replace").decode() != name:
        raise InputError(argument, f"a folder whose name is UTF-8 without {os.pathsep!r}",
                         f"{name!r}, which Octave cannot use", "rename it")


def functions_of(convention: Convention) -> tuple[str, ...]:
    """Return the script that a convention follows, and the functions that it calls."""
    if convention.name not in SCRIPTS:
        raise InputError("", got=f"convention {convention.name!r} follows no MATLAB script, only "
                         f"{', '.join(SCRIPTS)} do", remedy="use the fast implementation")
    return SCRIPTS[convention.name]


def _executable() -> str:
    named = os.environ.get(EXECUTABLE)
    # octave-cli where there is one: it asks for no display.
    program = (shutil.which(named) if named
               else shutil.which("octave-cli") or shutil.which("octave"))
    if program is None and named:
        raise InputError(EXECUTABLE, "the program of GNU Octave", f"{named!r}, which is none",
                         "name one, or unset the variable")
    if program is None:
        raise InputError("", "GNU Octave on the PATH, found none", remedy="install it, e.g. "
                         "apt-get install octave")
    return os.path.abspath(program)


def _types(distances: npt.NDArray[Any], labels: Iterable[Integers]) -> tuple[Any, Any]:
    """Return the types in which Octave reads the distances and the labels without rounding."""
    kind = distances.dtype
    # Octave has no half precision; neither of the two changes the order.
    wider = {np.dtype(np.float16): np.float32, np.dtype(bool): np.uint8}
    dist_type = np.dtype(wider.get(kind, kind)).newbyteorder("=")
    if dist_type.kind in "fc" and dist_type.char not in "fdFD":
        raise InputError("distances", "at most double precision", kind, "Octave has no wider "
                         "numbers, convert them with .astype(float)")
    exact = all(np.array_equal(np.clip(vector, -2**53, 2**53), vector) for vector in labels)
    return dist_type, np.dtype(np.float64 if exact else np.int64)


def _write(path: Path, distances: npt.NDArray[Any], query: Labels, gallery: Labels) -> str:
    """Write what Octave reads, and return the code that says its sizes and types.

    A matrix of queries in rows is, byte by byte, MATLAB's matrix with queries in columns.
    """
    labels = gallery.identity, query.identity, gallery.camera, query.camera
    dist_type, label_type = _types(distances, labels)
    try:
        with open(path, "wb") as file:
            for column in labels:
                file.write(column.astype(label_type).tobytes())
            for row in distances:
                file.write(row.astype(dist_type).tobytes())
    except OSError as error:
        size = distances.size * dist_type.itemsize
        raise InputError(path.parent, f"room for {size:,} bytes of distances, got: "
                         f"{error.strerror}", remedy="TMPDIR names another folder") from None
    real_type = np.zeros(0, dist_type).real.dtype
    return (f"n_gallery = {len(gallery)}; n_query = {len(query)}; "
            f"parts = {1 + (dist_type.kind == 'c')}; "
            f"label_type = '{_kept(label_type)}'; dist_type = '{_kept(real_type)}';")


def _kept(dtype: np.dtype[Any]) -> str:
    """Return how `fread` keeps a type; its name alone would mean doubles."""
    name = {"float32": "single", "float64": "double"}.get(dtype.name, dtype.name)
    return f"{name}=>{name}"


def _run(command: list[str], private: Path, interrupts: list[int]) -> int:
    """Run Octave in the private folder until it ends or an interrupt comes; return its status."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("OCTAVE_") or name in INSTALLED}
    try:
        process = subprocess.Popen(command, cwd=private, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError as error:
        raise InputError(command[0], f"the program of GNU Octave, got: {error.strerror}",
                         remedy=f"{EXECUTABLE} names another") from None
    try:
        while not interrupts:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(timeout=0.1)
    finally:
        process.kill()
        process.wait()
    return process.returncode


def _reason(private: Path, ended: str) -> str:
    """Return why there is no answer."""
    try:
        problem = (private / "problem").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return f"{ended} and no answer"
    return "Octave says: " + " ".join(problem.split())[:1000]


@contextlib.contextmanager
def _private_folder() -> Iterator[Path]:
    _check_name(Path(tempfile.gettempdir()), "TMPDIR")
    folder = tempfile.mkdtemp(prefix="reid-ref-")
    try:
        yield Path(folder).resolve()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _interrupts_deferred() -> Iterator[list[int]]:
    """Collect the signals that end a program; let them take effect at the end.

    Python may raise KeyboardInterrupt between any two steps, also while cleaning up. Only the
    main thread can be interrupted so.
    """
    received: list[int] = []
    handlers: dict[int, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in {signal.SIGINT, signal.SIGTERM,
                           getattr(signal, "SIGHUP", signal.SIGTERM)}:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    handlers[number] = signal.signal(number, lambda got, _: received.append(got))
        yield received
    finally:
        for caught, handler in handlers.items():
            signal.signal(caught, handler)
        for caught in received:
            signal.raise_signal(caught)
