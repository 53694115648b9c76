"""The lines that records cite were looked up in the code that they name."""
import hashlib
import shutil
import subprocess

import pytest

import fixtures.cited as program
from fixtures.cited import citations, every_citation, read_table
from reid_ref.conventions import CONVENTIONS, NAMES
from reid_ref.protocols import PROTOCOLS
from tests.documents import ROOT


def test_every_cited_line_has_been_looked_up():
    """A new one has not: python fixtures/cited.py CLONES does it, and prints it for reading."""
    rows = read_table()
    assert rows.keys() == every_citation().keys()
    for cited, row in rows.items():
        assert cited[0] != ",", f"{cited}: of which repository?"
        assert bool(row["sha256"]) != bool(row["not looked up"]), cited
        assert row["date"], cited


def test_few_are_not_looked_up_and_all_for_want_of_a_clone():
    assert {row["not looked up"] for row in read_table().values()} == {"", "no clone"}
    assert sum(bool(row["not looked up"]) for row in read_table().values()) <= 5


def test_the_fast_reid_default_is_that_of_the_repository_named():
    """Issue 57, D7: the line of one repository stood beside another."""
    cited = every_citation()
    assert "LinlyAC/VDT-AGPReID ad01007, fastreid/config/defaults.py:311" in cited
    assert "LinlyAC/VDT-AGPReID ad01007, fastreid/config/defaults.py:299" not in cited
    assert not [key for key in cited if "defaults.py:299" in key and "JDAI-CV" not in key]
    text = b'_C.TEST.METRIC = "cosine"'
    for line in ("JDAI-CV/fast-reid c9bc3ce, fastreid/config/defaults.py:299",
                 "LinlyAC/VDT-AGPReID ad01007, fastreid/config/defaults.py:311"):
        assert read_table()[line]["sha256"] == hashlib.sha256(text).hexdigest()[:16]


def test_a_text_says_of_which_repository_a_file_is():
    text = "a/b 1234567, x.py:7, 9-11, y/z.m; c/d (7654321), README.md, of issue 7"
    assert list(map(str, citations(text))) == [
        "a/b 1234567, x.py:7", "a/b 1234567, x.py:9-11", "a/b 1234567, y/z.m",
        "c/d 7654321, README.md"]
    assert list(map(str, citations("x.py:7", "a/b 1234567"))) == ["a/b 1234567, x.py:7"]


@pytest.fixture
def clone(tmp_path):
    """A repository of one file, and what makes another commit of it."""
    def git(*words):
        return subprocess.run(
            ["git", "-C", tmp_path / "a+b", "-c", "user.name=a", "-c", "user.email=a@b.example",
             *words], check=True, capture_output=True, text=True).stdout.strip()

    def commit(text):
        (tmp_path / "a+b" / "x.py").write_text(text)
        git("add", "x.py")
        git("commit", "-qm", "x")
        return git("rev-parse", "--short=7", "HEAD")

    (tmp_path / "a+b").mkdir()
    git("init", "-q")
    return commit


@pytest.mark.parametrize(("second", "problem"), [
    ("first\nsecond\n", 0), ("first\n    second\n", 0), ("first\nother\n", "another text than on"),
    ("first\n", "no such file or line")])
def test_it_fails_where_the_text_is_another(second, problem, clone, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(program, "TABLE", tmp_path / "cited.csv")
    (tmp_path / "cited.csv").write_text(",".join(program.HEADER) + "\n")
    commit = clone("first\n  second\n")

    def looked_up():
        cited = {str(each): each for each in citations(f"a/b {commit}, x.py:2; c/d 7654321, y.c")}
        monkeypatch.setattr(program, "every_citation", lambda: cited)
        with pytest.raises(SystemExit) as end:
            program.main(tmp_path)
        return end.value.code, list(read_table().values())

    code, (row, other) = looked_up()
    assert code == 0 and "second" in capsys.readouterr().out
    assert row["sha256"] == hashlib.sha256(b"second").hexdigest()[:16]
    assert other["not looked up"] == "no clone" and other["sha256"] == ""
    # The same citation, of a repository in which it is another text.
    before, commit = commit, clone(second) if second != "first\n  second\n" else commit
    table = (tmp_path / "cited.csv").read_text().replace(before, commit)
    (tmp_path / "cited.csv").write_text(table)
    code, _ = looked_up()
    assert code == 0 if not problem else problem in code
    assert (tmp_path / "cited.csv").read_text() == table


@pytest.mark.parametrize("name", [*NAMES, *PROTOCOLS])
def test_every_record_says_where_its_distances_are_from(name):
    """D8: "default of trec-eval ()". And no line of the base beside another repository."""
    record = CONVENTIONS[name] if name in NAMES else PROTOCOLS[name].convention
    assert record.measure.strip()
    if name not in NAMES and record.base in CONVENTIONS:
        base, source = CONVENTIONS[record.base], PROTOCOLS[name].source
        assert record.measure != base.measure or (
            source.partition(",")[0] == base.source.partition(",")[0])


def test_what_was_looked_up_stays_without_clones(tmp_path, monkeypatch, capsys):
    before = read_table()
    monkeypatch.setattr(program, "TABLE", tmp_path / "cited.csv")
    shutil.copy(ROOT / "fixtures" / "cited.csv", program.TABLE)
    with pytest.raises(SystemExit) as end:
        program.main(tmp_path)
    assert end.value.code == 0 and before.items() <= read_table().items()
    assert capsys.readouterr().out.count("not looked up: no clone") == len(every_citation())
