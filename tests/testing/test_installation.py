"""`python -m reid_ref.testing`: the recorded answers, and what is printed if one differs."""
import json
import subprocess
import sys

import numpy as np
import pytest

from reid_ref.conventions import CONVENTIONS
from reid_ref import installed as installation
from reid_ref.installed.answers import GROUPS, NEED_SCIPY
from reid_ref.installed.problems import made_problem
from tests.documents import ROOT

WORDS = json.loads(installation.RECORDED.read_text(encoding="utf-8"))
#: Quick groups.
SOME = ("measures", "camera pairs", "analytic intervals")


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """Put some groups in the place of the recorded ones, with a change."""
    def put(**changes):
        path = tmp_path / "recorded.json"
        path.write_text(json.dumps({name: {**WORDS[name], **changes.get(name, {})}
                                    for name in SOME}))
        monkeypatch.setattr(installation, "RECORDED", path)
    return put


def test_this_installation_gives_the_recorded_answers(capsys):
    assert installation.check_installation() == 0, capsys.readouterr().out
    out = capsys.readouterr().out.splitlines()
    assert [line[:20].strip() for line in out[1:-1]] == list(WORDS)
    assert all("as recorded" in line for line in out[1:-1])


def test_every_group_and_convention_is_recorded():
    assert list(WORDS) == list(GROUPS)
    groups = [name for name in WORDS if name.startswith(("distances", "features", "ranked"))]
    assert len(groups) == 13
    for name in groups:
        assert list(WORDS[name]) == list(CONVENTIONS), "python fixtures/installation.py"


def test_one_that_differs_is_named(recorded, capsys):
    recorded(measures={"MRR": "0" * 16})
    assert installation.check_installation() == 1
    out = capsys.readouterr().out
    assert "\nmeasures              DIFFERS: MRR\n" in out
    assert out.splitlines()[-1].endswith("not as recorded: measures")


def test_an_answer_that_is_missing_differs(recorded):
    recorded(measures={"another": "0" * 16})
    assert ("measures", "DIFFERS: another", False) in installation.check()


def test_an_error_is_a_line(recorded, monkeypatch, capsys):
    def broken(given):
        raise TypeError("no such dtype")

    monkeypatch.setattr(installation, "GROUPS", {**GROUPS, "measures": broken})
    recorded()
    assert installation.check_installation() == 1
    assert [words for _, words, _ in installation.check()] == [
        "ERROR: TypeError: no such dtype", "4 answers, as recorded", "1 answers, as recorded"]


def test_without_scipy_its_groups_are_skipped(recorded, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    recorded()
    assert [(group, passed) for group, words, passed in installation.check()
            if words == "skipped: scipy is not installed"] == [("analytic intervals", True)]
    assert set(NEED_SCIPY) < set(GROUPS)


def test_from_a_shell():
    code = ("import runpy, sys, reid_ref.installed as i; "
            "i.check_installation = lambda: 1; sys.argv = ['reid_ref.testing']; "
            "runpy.run_module('reid_ref.testing', None, '__main__')")
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 1


def test_a_digest_is_of_every_bit():
    values = np.array([.5, .1, 0.0, np.nan])
    digest = installation.digest(values)
    assert digest == installation.digest(values.tolist())
    assert digest == installation.digest(np.copysign(values, [1, 1, 1, -1]))
    for k, other in ((0, np.nextafter(.5, 1)), (2, -0.0), (3, np.inf)):
        changed = values.copy()
        changed[k] = other
        assert installation.digest(changed) != digest


def test_problems_tell_precisions_and_orders_of_ties_apart():
    given = made_problem(installation.SEED)
    assert len({WORDS[f"features {dtype}"]["matlab"] for dtype in (
        "float32", "float16", "uint8")}) == 3
    assert len(set(WORDS["distances float64"].values())) > len(CONVENTIONS) // 3
    assert given.query.identity.min() == given.gallery.identity.min() == -1
    assert np.isnan(given.distances("float16", "special")).any()
