"""`Result` itself: its names, its printed form, what it becomes elsewhere."""
import json
import sys

import numpy as np
import pytest

import reid_ref
from reid_ref import InputError, Labels

# Query 0 keeps images 1 (wrong), 0 and 2 (good): ranks 2 and 3. Query 1: identity absent.
DISTANCES = [[.2, .1, .3, .4]] * 2
QUERY, GALLERY = Labels([7, 9], [1, 1]), Labels([7, 8, 7, -1], [2, 2, 3, 2])
AP = 0.5 * ((0 + 1 / 2) / 2) + 0.5 * ((1 / 2 + 2 / 3) / 2)


def evaluate(convention="matlab"):
    with pytest.warns(UserWarning, match="1 of 2 queries have no good image"):
        return reid_ref.evaluate_distances(DISTANCES, QUERY, GALLERY, convention=convention)


@pytest.fixture
def result():
    return evaluate()


def test_both_names_of_the_means(result):
    assert (result.mAP, result.mINP) == (AP / 2, 2 / 3 / 2)
    assert (result.mean_ap, result.mean_inp) == (AP / 2, 2 / 3 / 2)


def test_rank(result):
    assert [result.rank(k) for k in (1, 2, np.int64(4))] == [0, .5, .5]
    assert type(result.rank(2)) is float


@pytest.mark.parametrize("k", [0, -1, 5, 1.0, "1", None])
def test_no_such_rank(result, k):
    with pytest.raises(InputError, match="k: expected a whole number from 1 to 4, the length"):
        result.rank(k)


def test_print(result):
    lines = str(result).splitlines()
    assert lines[:3] == ["percent:   Rank-1 0.00", "           mAP 20.83, mINP 33.33",
                         "queries:   2 of 2 counted"]
    assert lines[3].startswith("signature: convention:matlab | ap:trapezoid")
    assert max(map(len, lines)) < 80
    assert "".join(line[11:] for line in lines[3:]).replace(" ", "") == result.signature
    assert str(evaluate("mars")).splitlines()[1] == "           mAP -, mINP -"


def test_print_of_all_ranks_stays_under_80_columns():
    labels = Labels(np.arange(30), [1] * 30), Labels(np.arange(30), [2] * 30)
    lines = str(reid_ref.evaluate_distances(1 - np.eye(30), *labels)).splitlines()
    assert lines[0] == ("percent:   Rank-1 100.00, Rank-5 100.00, Rank-10 100.00, Rank-20 100.00")
    assert max(map(len, lines)) < 80


def test_a_dictionary_is_plain_json(result):
    there = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert list(there) == ["mAP", "mINP", "cmc", "counts", "counted", "signature"]
    assert (there["mAP"], there["mINP"], there["cmc"]) == (AP / 2, 2 / 3 / 2, [0, .5, .5, .5])
    assert (there["counts"]["gallery_junk"], there["counts"]["fate"]["identity absent"]) == (1, 1)
    assert evaluate("mars").to_dict()["mAP"] is None


def test_a_frame_has_a_row_a_query(result):
    pandas = pytest.importorskip("pandas")
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame) == ["ap", "inp", "first_match", "n_good", "n_junk", "fate"]
    assert frame.index.name == "query"
    assert frame.loc[0].tolist() == [AP, 2 / 3, 2, 2, 1, "fine"]
    assert np.isnan(frame.loc[1, "ap"]) and frame.loc[1, "fate"] == "identity absent"
    frame.loc[0, "ap"] = 0.0  # its own copy
    assert result.per_query.ap[0] == AP


def test_a_frame_without_pandas(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="to_frame: needs pandas .*; pip install pandas, or"):
        result.to_frame()
