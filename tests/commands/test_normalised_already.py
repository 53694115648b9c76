"""A file of features that were divided by their norms, under a toolbox that ranks raw ones."""
import json

import numpy as np
import pytest

import reid_ref
from reid_ref import ResultFile
from reid_ref.conventions import CONVENTIONS, find_conventions
from reid_ref.evaluation.how import How
from reid_ref.evaluation.norms import normalised_already
from tests.cases import save_features
from tests.commands.common import MARKET, command

SAID = "The file holds normalised features (all norms are 1), and "


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same network's features as they come, and after a script that divides them."""
    data, folder = reid_ref.read(MARKET), tmp_path_factory.mktemp("norms")
    sides = data.query_features, data.gallery_features
    save_features(folder / "raw.npz", sides, data.query, data.gallery)
    save_features(folder / "unit.npz", [
        side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides],
        data.query, data.gallery)
    return {name: folder / f"{name}.npz" for name in ("raw", "unit")}


def said(*words):
    """The lines of stderr that say so, without who says it."""
    done = command(*words)
    assert done.returncode in (0, 1), done.stderr  # 1: validate reproduces nothing
    return [line.partition("warning: ")[2] for line in done.stderr.splitlines() if SAID in line]


@pytest.mark.parametrize(("words", "names"), [
    (["evaluate", "--convention", "torchreid"], "torchreid ranks"),
    (["evaluate", "--convention", "all"], "torchreid, torchreid-cython, open-reid and "),
    (["explain", "--from", "layumi", "--to", "torchreid"], "torchreid ranks"),
    (["explain", "--from", "torchreid", "--to", "open-reid"], "torchreid, open-reid rank "),
    (["validate", "--published", "55.6/39.7", "--convention", "torchreid"], "torchreid ranks"),
    (["validate", "--published", "55.6/39.7"], "torchreid"),
    (["evaluate", "--protocol", "msmt17"], "msmt17 ranks")])
def test_the_three_screens_say_it_in_one_line(words, names, files):
    line, = said(words[0], files["unit"], *words[1:])
    assert line.startswith(SAID + names)
    assert line.endswith("own number comes from the features before that; save those")
    assert said(words[0], files["raw"], *words[1:]) == []


@pytest.mark.parametrize("words", [
    ["evaluate"], ["evaluate", "--convention", "layumi"], ["evaluate", "--convention", "BoT"],
    ["evaluate", "--convention", "fast-reid"],
    ["evaluate", "--convention", "torchreid", "--normalize"],
    ["evaluate", "--convention", "matlab", "--no-normalize"],
    ["evaluate", "--convention", "torchreid", "--metric", "cosine"],
    ["explain", "--from", "layumi", "--to", "BoT"],
    ["validate", "--published", "55.6/39.7", "--convention", "BoT"]])
def test_it_is_of_no_convention_that_normalises(words, files):
    """Nor of what the command line chooses: no toolbox's own number is named then."""
    assert said(words[0], files["unit"], *words[1:]) == []


def test_it_is_no_finding_for_strict(files):
    words = ["evaluate", files["unit"], "--convention", "torchreid"]
    assert command(*words, "--strict").returncode == 0
    warnings = json.loads(command(*words, "--json").stdout)["warnings"]
    assert sum(SAID in warning for warning in warnings) == 1


@pytest.mark.parametrize(("change", "heard"), [
    (lambda side: side, True),
    (lambda side: side * 1.00001, False),
    (lambda side: side * (1 + 9e-6), True),
    (lambda side: side.astype(np.float16), True),
    (lambda side: np.concatenate([side[:-1], 2 * side[-1:]]), False),
    (lambda side: np.concatenate([side[:-1], 0 * side[-1:]]), False),
    (lambda side: 1e200 * side, False),
    (lambda side: np.eye(side.shape[1], dtype=int)[np.arange(len(side)) % side.shape[1]], True)])
def test_every_norm_is_looked_at(change, heard):
    """The last of the gallery, too. Codes of one bit have norm 1: all that is said is seen."""
    data = reid_ref.read(MARKET)
    sides = [side / np.linalg.norm(side.astype(float), axis=1, keepdims=True)
             for side in (data.query_features, data.gallery_features)]
    how = How((CONVENTIONS["torchreid"],))
    made = ResultFile("arrays", data.query, data.gallery, sides[0], change(sides[1]))
    assert bool(normalised_already(made, how)) == heard


def test_blocks_of_a_stored_file_are_read_to_the_first_other_norm(tmp_path):
    h5py, data = pytest.importorskip("h5py"), reid_ref.read(MARKET)
    unit = np.eye(8)[np.arange(len(data.gallery)) % 8]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        stored = file.create_dataset("g", data=unit)
        made = ResultFile("arrays", data.query, data.gallery, unit[:len(data.query)], stored)
        assert SAID + "torchreid ranks" in normalised_already(
            made, How((CONVENTIONS["torchreid"],)))
        stored[-1] *= 3
        assert normalised_already(made, How((CONVENTIONS["torchreid"],))) == ""


def test_distances_have_no_norms():
    data = reid_ref.read(MARKET)
    distances = np.zeros((len(data.query), len(data.gallery)))
    made = ResultFile("arrays", data.query, data.gallery, distances=distances)
    assert normalised_already(made, How(tuple(find_conventions(["torchreid"])))) == ""
