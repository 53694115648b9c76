"""What the command line answers, and the lists that others submitted for CityFlow-ReID."""
import json
import re

from tests.documents import ROOT, command
from tests.refusals import assert_short
from tests.shared import shared

FIXTURES = ROOT / "fixtures"
MARKET, MARS, TIES = (
    str(FIXTURES / f"{name}.mat") for name in ("market_like", "mars_like", "ties"))


def table(*words, **options):
    done = command(*words, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def answer(*words, **options):
    return json.loads(table(*words, "--json", **options))


def results(*words, key="name", **options):
    """Return each of several results of a command, by its name or by its convention."""
    return {result[key]: result for result in answer(*words, **options)["results"]}


def assert_one_line_error(done, message):
    """A message is a pattern, as in `pytest.raises`."""
    assert (done.returncode, done.stdout) == (2, "")
    line, = [line for line in done.stderr.splitlines() if "warning: " not in line]
    assert_short(line.partition("error: ")[2])
    assert re.search(message, line) and re.match("reid-ref[a-z -]*: error: ", line), line


def refusal(*words):
    """Return the only line of the error, without who says it."""
    done = command(*words)
    assert_one_line_error(done, "")
    return done.stderr.splitlines()[-1].partition("error: ")[2]


def lists(*names):
    """Return the words for lists of CityFlow-ReID, their labels and their rules."""
    folder = shared("real/cityflow")
    return [*(folder / f"{name}.txt" for name in names), "--labels",
            folder / "query_annotation.npy", folder / "gallery_annotation.npy",
            "--convention", "cityflow"]
