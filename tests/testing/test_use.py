"""How the kit is used: by pytest, from a shell, by `crosscheck`; and evaluators that misbehave."""
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from reid_ref import testing
from reid_ref.conventions import CONVENTIONS
from reid_ref.testing.checks import CHECKS
from reid_ref.testing.kit import crosscheck_made
from reid_ref.testing.report import summary
from tests.commands.common import refusal
from tests.documents import ROOT
from tests.refusals import refused
from tests.testing.wrong import crashing, evaluator

sound = evaluator(junk="kept")
WRONG = "tests.testing.wrong"
#: Checks of an evaluator that is not given images of label -1.
N_CHECKS = sum("-1" not in name for name in CHECKS)
FIVE_LINES = """
from reid_ref import testing
from tests.testing.wrong import {0}

@testing.parametrize("torchreid", except_={1})
def test_evaluator(check):
    check({0})
"""


def run_pytest(folder, name, except_=None):
    (folder / "test_it.py").write_text(FIVE_LINES.format(name, except_ or {}))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null",
         "--rootdir", str(folder), str(folder / "test_it.py")], cwd=ROOT, capture_output=True,
        text=True).stdout


def test_five_lines_in_a_repository(tmp_path):
    text = run_pytest(tmp_path, "vectorised")
    assert f"{N_CHECKS} passed" in text, text


def test_a_check_that_fails_shows_the_problem_and_a_known_one_does_not(tmp_path):
    text = run_pytest(tmp_path, "crashing")
    assert "FAILED" in text and "test_evaluator[small-gallery]" in text
    for words in ("A gallery shorter than the longest rank is evaluated", "it ends in ValueError",
                  "q_pids, g_pids = np.array("):
        assert words in text
    assert f"{N_CHECKS} passed" in run_pytest(tmp_path, "crashing", {
        "small gallery": "as torchreid's"})


def test_a_known_deviation_that_is_gone_fails():
    report = testing.check_evaluator(sound, "torchreid", except_={"ties": "unstable"})
    failed, = (check for check in report.checks if check.status != "passed")
    assert failed.name == "ties" and "does not deviate any more" in failed.message
    known = testing.check_evaluator(crashing, "torchreid",
                                    except_={"small gallery": "as torchreid's"})
    assert known.passed


def test_names_that_are_not_known():
    refused("convention", "Did you mean 'torchreid'", testing.check_evaluator, sound, "torchried")
    refused("except_", "Did you mean 'ties'", testing.check_evaluator, sound, "torchreid",
            except_={"tie": ""})
    refused("convention", "no lists are handed", testing.check_evaluator, sound, "veri")
    with pytest.raises(AttributeError, match="has no attribute 'chek'"):
        testing.chek


def test_junk_is_handed_over_if_the_rule_decides_or_if_asked():
    names = {junk: [check.name for check in testing.check_evaluator(
        evaluator(), "torchreid", junk=junk).checks] for junk in (None, True)}
    assert "label -1" in names[True] and "label -1" not in names[None]
    assert testing.check_evaluator(evaluator(), "torchreid", junk=True).passed
    kept = testing.check_evaluator(sound, "torchreid", junk=True)
    assert [check.name for check in kept.checks if check.status == "failed"] == [
        "label -1", "queries labelled -1"]


def test_settings_ranks_and_tolerance():
    def rounded(distmat, q_pids, g_pids, q_camids, g_camids, max_rank=50, *, decimals):
        cmc, mAP = sound(distmat, q_pids, g_pids, q_camids, g_camids)
        return cmc[:max_rank], round(mAP, decimals)
    strict = testing.check_evaluator(rounded, "torchreid", decimals=3)
    assert not strict.passed and "but for its mAP" in strict.rule
    assert testing.check_evaluator(rounded, "torchreid", decimals=3, tolerance=5e-4).passed
    assert testing.check_evaluator(rounded, "torchreid", decimals=15, max_rank=7).passed


def test_a_convention_with_another_choice():
    report = testing.check_evaluator(evaluator(junk="kept", unmatched=0.0),
                                     CONVENTIONS["torchreid"].replace(unmatched="zero"))
    assert report.passed, str(report)


def test_the_rule_is_found_where_none_is_claimed():
    report = testing.check_evaluator(sound)
    assert report.passed and report.rule == report.convention == "torchreid-function"


# ------------------------------------------------------------------ misbehaviour
def raises(distmat, q_pids, g_pids, q_camids, g_camids):
    raise RuntimeError("no")


def prints(distmat, q_pids, g_pids, q_camids, g_camids):
    print("Note: small gallery")
    return sound(distmat, q_pids, g_pids, q_camids, g_camids)


def nothing(distmat, q_pids, g_pids, q_camids, g_camids):
    return None


def nan(distmat, q_pids, g_pids, q_camids, g_camids):
    return np.full(5, np.nan), np.nan


def other_number(distmat, q_pids, g_pids, q_camids, g_camids):
    cmc, mAP = sound(distmat, q_pids, g_pids, q_camids, g_camids)
    return cmc, np.full(len(q_pids) + 3, mAP)


def sleeps(distmat, q_pids, g_pids, q_camids, g_camids):
    time.sleep(9)


def old_numpy(distmat, q_pids, g_pids, q_camids, g_camids):
    np.bool_(True), np.in1d
    return sound(distmat, q_pids, g_pids, q_camids, g_camids)


def aborts(distmat, q_pids, g_pids, q_camids, g_camids):
    if len(g_pids) == 15:
        os.abort()
    return sound(distmat, q_pids, g_pids, q_camids, g_camids)


@pytest.mark.parametrize(("function", "status", "words"), [
    (raises, "error", "it ends in RuntimeError: no"), (nothing, "error", "it returned None"),
    (nan, "failed", "mAP is nan, by the rule 0.54"), (prints, "passed", ""),
    (other_number, "failed", "the number of APs is 12.0, by the rule 9.0")])
def test_misbehaviour_is_one_sentence(function, status, words, capfd):
    report = testing.check_evaluator(function, "torchreid")
    plain = report.checks[0]
    assert plain.status == status and words in plain.message
    assert len(report.checks) == N_CHECKS and capfd.readouterr().out == ""


def test_a_call_that_takes_too_long_ends():
    report = testing.check_evaluator(sleeps, "torchreid", timeout=.02)
    assert report.checks[0].message.startswith("it gave no answer within 0.02 seconds")


# ------------------------------------------------------------------ from a shell
def test_a_crash_is_the_error_of_one_check(monkeypatch):
    monkeypatch.chdir(ROOT)
    report = crosscheck_made("tests.testing.test_use:aborts", convention="torchreid", timeout=20)
    failed, = (check for check in report.checks if check.status != "passed")
    assert (failed.name, failed.status) == ("small gallery", "error")
    assert failed.message.startswith("its process was ended by SIGABRT")


def test_what_numpy_had_before_is_put_back_in_a_process_of_its_own(monkeypatch):
    monkeypatch.chdir(ROOT)
    report = crosscheck_made("tests.testing.test_use:old_numpy", convention="torchreid")
    assert report.rule == "torchreid", str(report)
    if not hasattr(np, "in1d"):
        failed, = (check for check in report.checks if check.status != "passed")
        assert failed.name == "numpy" and "it needs np.in1d, which numpy" in failed.message


def test_the_module_and_crosscheck_print_the_same(tmp_path):
    (tmp_path / "mine.py").write_text("def fails(d, q, g):\n return None\n")
    given = f"{WRONG}:mean_ap,cmc", "--convention", "torchreid"
    done, same = (subprocess.run([sys.executable, "-m", *program, *given], cwd=ROOT,
                                 capture_output=True, text=True) for program in (
        ("reid_ref.testing",), ("reid_ref", "crosscheck", "--evaluator")))
    assert "mean_ap,cmc: its numbers are those of torchreid\n" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert (done.returncode, done.stdout) == (same.returncode, same.stdout) and not done.returncode
    reader, writer = os.pipe()
    os.close(reader)
    for name, code, told in ((f"{tmp_path}/mine.py:fails", 141, ""),
                             ("no.such:thing", 2, "cannot be imported")):
        done = subprocess.run([sys.executable, "-m", "reid_ref.testing", name], cwd=ROOT,
                              stdout=writer, stderr=subprocess.PIPE, text=True)
        assert done.returncode == code and told in done.stderr and "Trace" not in done.stderr
    os.close(writer)


def test_the_summary_beside_a_file_names_another_rule(monkeypatch):
    monkeypatch.chdir(ROOT)
    report = testing.check_evaluator(sound, "light-reid")
    bad = [check.name for check in report.checks if check.status != "passed"]
    assert len(bad) > 3 and len(summary(report)) < 160
    assert summary(report) == (
        f"{len(report.checks) - len(bad)} of {len(report.checks)} checks on made problems pass; "
        f"not {', '.join(bad[:3])} and {len(bad) - 3} more; there it follows torchreid-function")


@pytest.mark.parametrize("option", [["--queries", "5"], ["--metric", "dot"],
                                    ["--convention", "matlab,torchreid"]])
def test_options_that_need_a_file(option):
    assert option[0] in refusal("crosscheck", "--evaluator", f"{WRONG}:cmc", *option)


def test_importing_the_kit_loads_nothing_but_numpy():
    code = ("import sys, numpy; before = set(sys.modules); import reid_ref.testing; "
            "print(len([name for name in set(sys.modules) - before if 'reid_ref' not in name]))")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert int(done.stdout) <= 3, done
