"""What commands show on a terminal: lines that fit, and a bar from the third second on."""
import shlex

import numpy as np
import pytest

from tests.commands.common import MARKET
from tests.commands.test_help import COMMANDS, examples_of
from tests.documents import ROOT
from tests.nightly import cases
from tests.terminals import on_terminal

#: Wide answers, besides the examples of the help.
WIDE = ["evaluate MARKET --confidence --by camera --by camera-pair --worst 3 --at 1,5,10",
        "evaluate MARKET fixtures/ties.mat", "evaluate MARKET --convention all",
        "explain MARKET --query 3", "doctor MARKET", "--help", "evaluate --help-all",
        "thresholds MARKET --confidence", "validate MARKET --published 39.58/38.5",
        "evaluate MARKET --save x.run"]
WRONG = ["evaluat", "evaluate", "evaluate none.mat", "evaluate MARKET --format x",
         "evaluate MARKET --bogus", "evaluate MARKET --convention nobody",
         "plot cmc MARKET -o x.gif"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("fixtures", "docs", "README.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("columns", cases([60], [60, 72, 80]))
@pytest.mark.parametrize("line", [
    *(examples_of(name)[0].removeprefix("reid-ref ") for name in COMMANDS), *WIDE, *WRONG])
def test_every_line_fits(folder, line, columns):
    shown = on_terminal(*shlex.split(line.replace("MARKET", "fixtures/market_like.mat")),
                        columns=columns)
    assert shown.code in ((2,) if line in WRONG else (0, 1, None))
    assert shown.too_long() == [] and len(shown.lines()) > 1


def features(path, n_query, n_gallery, dims):
    rng = np.random.default_rng(0)
    arrays = {}
    for side, n in (("query", n_query), ("gallery", n_gallery)):
        identity = rng.integers(1, 751, n)
        noise = rng.standard_normal((n, dims), np.float32)
        arrays |= {f"{side}_features": noise + identity[:, np.newaxis] % np.arange(2, dims + 2),
                   f"{side}_identity": identity, f"{side}_camera": rng.integers(1, 7, n)}
    np.savez(path, **{name: array.astype(np.float32) if array.dtype == float else array
                      for name, array in arrays.items()})
    return path


#: Work of about five seconds, or more.
LONG = {"evaluate": ((1500, 220_000, 256), ["--threads", "1"]),
        "thresholds": ((1500, 100_000, 256), []),
        "rerank": ((600, 22_000, 128), []),
        "report": ((600, 30_000, 128), ["-o", "page.html"])}


@pytest.mark.parametrize("name", cases(["thresholds", "rerank"], LONG))
def test_a_bar_has_a_share_and_a_time_from_the_third_second_on(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    size, options = LONG[name]
    shown = on_terminal(name, features(tmp_path / "long.npz", *size), *options, columns=60)
    assert shown.code == 0 and shown.too_long() == []
    assert shown.bars() or shown.seconds < 4
    for second in range(4, int(shown.seconds)):  # the first may still read the file
        assert any(second - 3 < at <= second + 1 for at, _, _ in shown.bars()), shown.sent
    shares = [int(share) for _, share, _ in shown.bars()]
    assert shown.seconds < 8 or max(shares) > 20 and len(set(shares)) > 2


def test_a_short_work_has_no_bar():
    assert on_terminal("evaluate", MARKET, columns=60).bars() == []
