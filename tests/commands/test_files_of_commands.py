"""What every command that reads result files takes: --map, and errors that name the file."""
import numpy as np
import pytest

from reid_ref.cli import main
from tests.cases import market_like
from tests.commands.common import assert_one_line_error, command

#: Words of each command after its files; it reads one, or two where it compares.
COMMANDS = {
    "evaluate": 1, "explain": 1, "doctor": 1, "validate --published 40/20": 1, "ties": 1,
    "evaluate --by camera-pair": 1, "crosscheck --evaluator numpy:linalg": 1, "rerank": 1,
    "compare": 2, "evaluate --mean runs": 2, "scripts --only port": 1}
LABELS = ("query_identity", "query_camera", "gallery_identity", "gallery_camera")


def labels():
    _, query, gallery = market_like(0)
    return query, gallery, dict(zip(LABELS, (
        query.identity, query.camera, gallery.identity, gallery.camera)))


@pytest.mark.parametrize("words", COMMANDS)
def test_map(words, tmp_path, capsys):
    query, gallery, columns = labels()
    rng = np.random.default_rng(0)
    files = [str(tmp_path / f"{k}.npz") for k in range(COMMANDS[words])]
    for file in files:
        np.savez(file, A=rng.random((len(query), 8)), B=rng.random((len(gallery), 8)), **columns)
    name, *options = words.split()
    for mapped in ("query_features=A,gallery_features=C", "query_features=A,gallery_features=B"):
        status = main([name, *files, *options, "--map", mapped, "--quiet"])
        err = capsys.readouterr().err
        assert ("C" in err and status == 2) == mapped.endswith("C")
        assert mapped.endswith("C") or status in (0, 1) or "evaluator" in err


@pytest.mark.parametrize("words", ["explain", "scripts --only port", "report -o page.html"])
def test_errors_name_the_file(words, tmp_path):
    query, gallery, columns = labels()
    order = np.argsort(np.random.default_rng(0).random((len(query), len(gallery))), axis=1)
    np.savez(tmp_path / "lists.npz", I=order, **columns)
    name, *options = words.split()
    done = command(name, "lists.npz", *options, cwd=tmp_path)
    assert_one_line_error(done, "lists.npz: .*ranked lists")
