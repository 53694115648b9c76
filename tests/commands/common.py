"""The command line in this process, and the lists that others submitted for CityFlow-ReID."""
import json

from reid_ref import cli
from tests.shared import shared

MARKET, MARS, TIES = (f"fixtures/{name}.mat" for name in ("market_like", "mars_like", "ties"))


def run(capsys, *words):
    """Return exit code, standard output and the lines of stderr."""
    code = cli.main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err.splitlines()


def table(capsys, *words):
    code, out, _ = run(capsys, *words)
    assert code == 0
    return out


def answer(capsys, *words):
    return json.loads(table(capsys, *words, "--json"))


def refusal(capsys, *words):
    """Return the only line of the error, without who says it."""
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    line, = [line for line in err if "error: " in line]
    return line.partition("error: ")[2]


def lists(*names):
    """Return the words for lists of CityFlow-ReID, their labels and their rules."""
    folder = shared("real/cityflow")
    return [*(folder / f"{name}.txt" for name in names), "--labels",
            folder / "query_annotation.npy", folder / "gallery_annotation.npy",
            "--convention", "cityflow"]
