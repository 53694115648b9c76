"""GNU Octave for the tests that take the fixture `octave`.

Without Octave they are skipped, with the reason in pytest's summary; with
``REID_REF_OCTAVE=required`` in the environment they are errors.
"""
import importlib.util
import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

OWN_SCRIPTS = Path(__file__).resolve().parents[1] / "matlab_ref"
#: Which other scripts a script calls.
NEEDS = {"evaluation": ["compute_AP"], "re_ranking": ["MahDist"],
         "evaluation_mars": ["compute_AP", "compute_AP_multiCam", "compute_r1_multiCam"]}


def executable():
    """Path of Octave, or None. octave-cli where there is one: it asks for no display."""
    return shutil.which("octave-cli") or shutil.which("octave")


def missing():
    """Say what is missing, or return None.

    Importing oct2py is no test: it succeeds without Octave.
    """
    if executable() is None:
        return "GNU Octave is not on the PATH; install it, e.g. apt-get install octave"
    if importlib.util.find_spec("oct2py") is None:
        return "oct2py is not installed; install it with pip install oct2py"
    return None


class Octave:
    """An Octave session that sees one folder of scripts; it starts in an empty one."""

    def __init__(self, folder, empty):
        self.folder = folder
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # oct2py's own, while it is imported
            if "OCTAVE_EXECUTABLE" not in os.environ:
                patch.setenv("OCTAVE_EXECUTABLE", executable())
            # Scripts in the working folder would hide those of the folder asked for. The import
            # starts a session, too, which may leave octave-workspace where it was started.
            patch.chdir(empty)
            patch.delenv("OCTAVE_PATH", raising=False)
            from oct2py import Oct2Py
            self.session = Oct2Py(convert_to_float=False)
        self.session.addpath(str(folder))
        for path in folder.glob("*.m"):
            assert self.session.feval("which", path.stem) == str(path)
        # The original draw_confusion_matrix also draws, by a function of another project.
        self.session.eval("function draw_cm(varargin), end", nout=0)

    def close(self):
        self.session.exit()

    def eval(self, code):
        """Run `code`, which prints nothing."""
        self.session.eval(code, nout=0)

    def run(self, script, cases, nout=1):
        """Call `script` once for each tuple of arguments: a list of `nout` arrays a case.

        All cases travel in one file each way. Arrays go as they are: 1-D ones as rows,
        so send columns. Skips the test where the folder lacks the script.
        """
        for name in (f"{name}.m" for name in (script, *NEEDS.get(script, ()))):
            if (OWN_SCRIPTS / name).is_file() and not (self.folder / name).is_file():
                pytest.skip(f"{self.folder} has no {name}")
        self.session.push("cases", {f"c{k}": tuple(case) for k, case in enumerate(cases)})
        self.eval(
            "answers = struct();\n"
            f"for k = 0:{len(cases) - 1}\n"
            "  given = cases.(sprintf('c%d', k));\n"
            f"  answer = cell(1, {nout});\n"
            f"  [answer{{:}}] = {script}(given{{:}});\n"
            f"  for i = 1:{nout}\n"
            "    answers.(sprintf('c%d_%d', k, i)) = answer{i};\n"
            "  end\n"
            "end")
        answers = self.session.pull("answers")
        return [[np.asarray(answers[f"c{k}_{i + 1}"]) for i in range(nout)]
                for k in range(len(cases))]


def col(values, dtype=np.float64):
    """A column of doubles, which is how MATLAB code wants its vectors."""
    return np.asarray(values, dtype=dtype).reshape(-1, 1)
