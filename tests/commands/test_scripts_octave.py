"""`run_octave`, which runs scripts in Octave on a user's data: what it sends, and what it runs.

All data are made here; the expected numbers are worked by hand.
"""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from reid_ref import CONVENTIONS, InputError, Labels
from reid_ref.commands.scripts.compute.programs import run_octave, run_port
from tests.cases import market_like, special
from tests.nightly import cases
from tests.refusals import refused

pytestmark = pytest.mark.usefixtures("octave")

ROOT = Path(__file__).resolve().parents[2]
MARKET = ROOT / "fixtures" / "market_like.mat"
OWN = ROOT / "matlab_ref"
MATLAB, MARS = CONVENTIONS["matlab"], CONVENTIONS["mars"]

#: One query, a wrong answer before the good one: the AP is (0 + 1/2) / 2.
DISTANCES = np.array([[1.0, 2.0]])
QUERY, GALLERY = Labels([1], [1]), Labels([2, 1], [2, 2])
AP, CMC = 0.25, [0, 1]


def check(answer, mAP=AP, cmc=CMC):
    np.testing.assert_equal(answer.mAP, mAP)
    np.testing.assert_array_equal(answer.cmc, cmc)


def scripts(folder, **files):
    """Fill a folder with our scripts, some of them replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in OWN.glob("*.m"):
        (folder / path.name).write_text(files.get(path.stem, path.read_text()))
    return folder


def evaluation(body):
    return ("function [CMC, map] = evaluation(dist, label_gallery, label_query, cam_gallery, "
            f"cam_query)\n{body}\nend\n")


#: A compute_AP that leaves a trace and answers something else.
WRONG = ("function [ap, cmc] = compute_AP(good_image, junk_image, index)\n"
         "ap = 7; cmc = 7 * ones(numel(index), 1);\nfclose(fopen('{trace}', 'w'));\nend\n")


@pytest.fixture
def private(tmp_path, monkeypatch):
    """A folder for temporary files, empty again at the end."""
    folder = tmp_path / "private"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


# ---------------------------------------------------------------- what is sent

@pytest.mark.parametrize("dtype", [
    "bool", "uint64", "float16", "float32", ">i4", "complex64", *cases([], [
        "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float64", ">f8",
        "complex128"])])
def test_every_type(dtype):
    distances = np.array([[0, 1]]).astype(dtype)
    check(run_octave(distances, QUERY, GALLERY, MATLAB))
    check(run_octave(distances[:, ::-1], QUERY, GALLERY, MATLAB), 1, [1, 1])


@pytest.mark.parametrize(("dtype", "low"), [
    ("int64", 2**53), ("int64", -2**53 - 1), ("int64", -2**63), ("int64", 2**63 - 2),
    ("uint64", 2**53), ("uint64", 2**64 - 2)])
def test_integers_that_doubles_would_tie(dtype, low):
    # As doubles the two are equal, and gallery order would put the wrong answer first.
    distances = np.array([[low + 1, low]], dtype)
    assert float(low) == float(low + 1)
    check(run_octave(distances, QUERY, GALLERY, MATLAB), 1, [1, 1])
    check(run_octave(distances[:, ::-1], QUERY, GALLERY, MATLAB))


def test_labels_that_doubles_would_merge():
    query, gallery = Labels([2**53], [1]), Labels([2**53 + 1, 2**53], [2, 2])
    check(run_octave(DISTANCES, query, gallery, MATLAB))
    query, gallery = Labels([1], [2**53]), Labels([1, 1], [2**53, 2**53 + 1])
    check(run_octave(DISTANCES, query, gallery, MATLAB), 1, [1, 1])


def test_a_type_that_octave_lacks_is_refused():
    for dtype in (np.longdouble, np.clongdouble):
        refused("distances", "at most double precision", run_octave, DISTANCES.astype(dtype),
                QUERY, GALLERY, MATLAB)


@pytest.mark.parametrize("convention", [MATLAB, MARS], ids=["matlab", "mars"])
def test_port_and_octave_agree(convention):
    problems = [
        special(1), market_like(2, levels=4), market_like(5, n_query=1),
        market_like(6, n_gallery=1)]
    distances, query, gallery = problems[1]
    problems += [(np.asfortranarray(distances), query, gallery),
                 (distances[:, ::2], query, Labels(gallery.identity[::2], gallery.camera[::2])),
                 (distances * (1 + 1j * (distances > 1)), query, gallery),
                 (np.full(distances.shape, np.nan), query, gallery)]
    for problem in problems:
        port = run_port(*problem, convention)
        check(run_octave(*problem, convention), port.mAP, port.cmc)


# ---------------------------------------------------------------- what is run


@pytest.mark.parametrize("own_folder", [False, True])
def test_nothing_else_is_run(tmp_path, monkeypatch, own_folder):
    here, trace = tmp_path / "here", tmp_path / "trace"
    here.mkdir()
    for name in (".octaverc", "startup.m", "PKG_ADD", "pathdef.m", "which.m", "octaverc"):
        (here / name).write_text(f"fclose(fopen('{trace}', 'w'));\n")
    for name in ("compute_AP.m", "evaluation.m"):
        (here / name).write_text(WRONG.format(trace=trace))
    monkeypatch.chdir(here)
    for name in ("HOME", "OCTAVE_PATH", "XDG_CONFIG_HOME", "MATLABPATH"):
        monkeypatch.setenv(name, str(here))
    for name in ("OCTAVE_INITFILE", "OCTAVE_SITE_INITFILE", "OCTAVE_VERSION_INITFILE"):
        monkeypatch.setenv(name, str(here / ".octaverc"))
    matlab_dir = str(scripts(tmp_path / "own")) if own_folder else None
    check(run_octave(DISTANCES, QUERY, GALLERY, MATLAB, matlab_dir))
    assert not trace.exists()


@pytest.mark.parametrize("name", ["with spaces ", "it's \"quoted\"", "-begin", "über/日本", "~"])
def test_names_of_folders(tmp_path, monkeypatch, name):
    scripts(tmp_path / name, evaluation=evaluation("CMC = dist'; map = 0.5;"))
    monkeypatch.chdir(tmp_path)
    check(run_octave(DISTANCES, QUERY, GALLERY, MATLAB, name), 0.5, [1, 2])


def test_a_name_that_octave_cannot_use(tmp_path):
    folder = scripts(tmp_path / "a:b")
    refused("evaluation.m", "'evaluation' ", run_octave, DISTANCES, QUERY, GALLERY, MATLAB,
            str(folder))


@pytest.mark.parametrize(("missing", "convention", "noun"), [
    (["compute_AP"], MATLAB, "compute_AP.m is missing"),
    (["compute_AP", "evaluation"], MATLAB, "evaluation.m and compute_AP.m are missing"),
    (["compute_r1_multiCam"], MARS, "compute_r1_multiCam.m is missing")])
def test_a_script_that_is_missing(tmp_path, monkeypatch, missing, convention, noun):
    folder = scripts(tmp_path / "own")
    for name in missing:
        (folder / f"{name}.m").unlink()
    for argument, name in ((str(folder), "matlab_dir"), (None, "REID_REF_MATLAB_DIR")):
        monkeypatch.setenv("REID_REF_MATLAB_DIR", str(folder))
        refused(name, noun, run_octave, DISTANCES, QUERY, GALLERY, convention, argument)


# ---------------------------------------------------------------- what scripts do

@pytest.mark.parametrize("first", [
    "disp('hello'); fprintf(stderr, 'hello'); printf('%s', ones(1, 1e6)); system('echo hi');",
    "cd('/');", "cd(tempname()(1:4));", "clear all", "clear -all", "clc; close all; more on;",
    "warning('careful');", "page_screen_output(true);", "fclose('all');"])
def test_habits_that_change_nothing(tmp_path, private, capfd, first):
    folder = scripts(tmp_path / "own", evaluation=evaluation(
        f"{first}\n[map, cmc] = compute_AP(2, [], [1; 2]); CMC = cmc';"))
    check(run_octave(DISTANCES, QUERY, GALLERY, MATLAB, str(folder)))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("body", "message"), [
    ("error('no such luck');", "Octave printed: no such luck$"),
    ('error("two\\nlines\\tand\\n\\nmore");', "Octave printed: two lines and more$"),
    ("CMC = 'abc'; map = 'x';", r"2 real numbers as CMC.* \[1 3\] char and \[1 1\] char"),
    ("CMC = [0 1 1]; map = 1;", r"\[1 3\] double and \[1 1\] double"),
    ("no_such_function(dist);", "Octave printed: 'no_such_function' undefined"),
    ("x = (1", "Octave printed: parse error .*own/evaluation.m"),
    ("x = zeros(1e9, 1e9);", "Octave printed: out of memory"),
    ("exit(3);", "octave[^ ]* ended with exit code 3 and no answer"),
    ("kill(getpid(), 9);", "octave[^ ]* ended with exit code -9 and no answer")])
def test_scripts_that_fail(tmp_path, private, capfd, body, message):
    folder = scripts(tmp_path / "own", evaluation=evaluation(body))
    with pytest.raises(InputError, match=f"^{folder}/evaluation.m: .*{message}") as caught:
        run_octave(DISTANCES, QUERY, GALLERY, MATLAB, str(folder))
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("number", [1, 15])
def test_a_signal_leaves_no_file(tmp_path, private, number):
    folder = scripts(tmp_path / "own", evaluation=evaluation(
        f"cd('{tmp_path}'); kill(getpid(), {number}); pause(9);"))
    refused("evaluation.m", "exit code 1 and no answer", run_octave, DISTANCES, QUERY, GALLERY,
            MATLAB, str(folder))
    assert not (tmp_path / "octave-workspace").exists()


# ---------------------------------------------------------------- which Octave

@pytest.mark.parametrize(("content", "argument", "noun"), [
    (None, "OCTAVE_EXECUTABLE", "which is none"),
    ("#!/bin/sh\n", "evaluation.m", "exit code 0 and no answer"),
    ("#!/no/such/shell\n", "octave", "No such file"), ("nonsense", "octave", "Exec format error")])
def test_an_executable_that_is_no_octave(tmp_path, monkeypatch, private, content, argument, noun):
    if content is not None:
        (tmp_path / "octave").write_text(content)
        (tmp_path / "octave").chmod(0o755)
    monkeypatch.setenv("OCTAVE_EXECUTABLE", str(tmp_path / "octave"))
    refused(argument, noun, run_octave, DISTANCES, QUERY, GALLERY, MATLAB)


def test_the_executable_that_is_named_is_run(tmp_path, monkeypatch, octave):
    wrapper = tmp_path / "mine"
    wrapper.write_text(f'#!/bin/sh\ntouch "{tmp_path}/ran"\nexec octave-cli "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("OCTAVE_EXECUTABLE", "./mine")
    monkeypatch.chdir(tmp_path)
    check(run_octave(DISTANCES, QUERY, GALLERY, MATLAB))
    assert (tmp_path / "ran").exists()


# ---------------------------------------------------------------- full disks, interrupts

def command(*arguments, private, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "reid_ref", "scripts", MARKET, "--only", "octave", "--quiet",
         *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env={**os.environ, "TMPDIR": str(private)}, **options)


def wait_for(found, seconds=60):
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end
        time.sleep(0.002)


def check_that_all_is_gone(process):
    with pytest.raises(ProcessLookupError):  # no process of its group is left
        os.killpg(process.pid, 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("group", cases([False], [True, False]))
def test_a_script_without_end_is_interrupted(tmp_path, private, number, group):
    folder = scripts(tmp_path / "own", evaluation=evaluation(
        f"fclose(fopen('{tmp_path}/started', 'w'));\n"
        "while true, try, pause(1); catch, end, disp('still here'); end"))
    process = command("--matlab-dir", folder, private=private)
    wait_for((tmp_path / "started").exists)
    (os.killpg if group else os.kill)(process.pid, number)
    out, err = process.communicate(timeout=20)
    if number == signal.SIGINT:
        assert (process.returncode, out, err) == (130, "", "reid-ref: interrupted\n")
    else:  # a shell sees the same in both
        assert process.returncode in (-number, 128 + number)
        assert out == "" and "Traceback" not in err
    check_that_all_is_gone(process)
