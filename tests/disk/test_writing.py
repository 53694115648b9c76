"""Files are written whole or not at all."""
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reid_ref import Labels
from reid_ref.disk import check_targets, whole_files
from tests.cases import save
from tests.commands.common import assert_one_line_error, command
from tests.refusals import refused

MARKET = Path(__file__).parents[2] / "fixtures" / "market_like.mat"


def write(path, text="new\n", mode="w"):
    with whole_files(path, mode=mode) as (file,):
        file.write(text)


# ---------------------------------------------------------------- the function

def test_a_new_file_has_the_rights_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    for mask in (0o022, 0o077, 0o002):
        kept = os.umask(mask)
        try:
            write(tmp_path / "new")
        finally:
            os.umask(kept)
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~mask
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "plain"]


@pytest.mark.parametrize("wrong", [KeyboardInterrupt, ValueError, OSError(28, "disk full")])
def test_the_old_file_stays_when_something_goes_wrong(tmp_path, wrong):
    (tmp_path / "a").write_text("old")
    with pytest.raises((KeyboardInterrupt, ValueError)):
        with whole_files(tmp_path / "a", tmp_path / "b") as (one, _):
            one.write("half")
            one.flush()
            raise wrong
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_a_link_is_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "real").write_text("old")
    (tmp_path / "link").symlink_to("folder/real")
    (tmp_path / "dangling").symlink_to("folder/new")
    for name in ("link", "dangling"):
        check_targets(tmp_path / name)
        write(tmp_path / name)
        assert (tmp_path / name).is_symlink()
    assert {path.name: path.read_text() for path in (tmp_path / "folder").iterdir()} == {
        "real": "new\n", "new": "new\n"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFO")
def test_a_fifo_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    write(tmp_path / "fifo")
    assert os.read(reader, 100) == b"new\n"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)


@pytest.mark.parametrize(("name", "argument", "noun"), [
    ("folder", "folder", "in a folder that exists"), ("folder/", "folder/", "in a folder that"),
    ("nowhere/x.csv", "x.csv", "a folder that exists"), ("nowhere/", "nowhere/", "a folder"),
    ("in.mat/x.csv", "x.csv", "Not a directory"), ("", "", "a file name"),
    ("x" * 300, "x" * 300, "File name too long")])
def test_targets_that_are_refused(tmp_path, monkeypatch, name, argument, noun):
    monkeypatch.chdir(tmp_path)
    Path("in.mat").write_text("input")
    Path("folder").mkdir()
    before = sorted(Path().rglob("*"))
    refused(argument, noun, check_targets, name)
    assert sorted(Path().rglob("*")) == before


# ---------------------------------------------------------------- the commands

@pytest.fixture
def market(tmp_path, monkeypatch):
    (tmp_path / "in.mat").write_bytes(MARKET.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def many(tmp_path):
    """Enough queries for files beyond what a full disk takes."""
    rng = np.random.default_rng(0)
    query, gallery = (Labels(*rng.integers(1, 9, (2, n))) for n in (2000, 60))
    save(tmp_path / "many.npz", rng.random((2000, 60)), query, gallery)
    return tmp_path / "many.npz"


@pytest.fixture
def small_disk():
    """No file may become larger than 9,000 bytes."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("words", [
    "evaluate FILE --quiet --per-query x.csv", "plot cameras FILE --quiet --output x.png",
    "evaluate FILE --quiet --save x.run"])
def test_a_file_beyond_the_limit_leaves_the_old_one(tmp_path, many, words, monkeypatch,
                                                    small_disk):
    if "plot" in words:
        pytest.importorskip("matplotlib")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in ("x.csv", "x.png", "x.run"):
        Path(name).write_text("old")
    done = command(*(many if word == "FILE" else word for word in words.split()))
    assert_one_line_error(done, "File too large; nothing was written")
    assert {path.name: path.read_text() for path in Path().iterdir()} == {
        "x.csv": "old", "x.png": "old", "x.run": "old"}


def test_a_signal_while_writing_leaves_nothing(market):
    code = ("import os, sys\nfrom reid_ref import cli\nfrom reid_ref.files import trec\n"
            "def stop(*_):\n"
            "    assert len(os.listdir()) == 3\n"
            "    os.kill(os.getpid(), 15)\n"
            "trec._write_query = stop\nsys.exit(cli.main())")
    done = subprocess.run(
        [sys.executable, "-c", code, "evaluate", "in.mat", "--quiet", "--save",
         "x.run"],
        capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (
        128 + 15, "", "reid-ref: ended by SIGTERM\n")
    assert os.listdir(market) == ["in.mat"]
