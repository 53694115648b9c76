"""ATRW's two tracks: who is counted where queries are unanswered, and which frames are near."""
import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.evaluation.lists import as_ranked_lists
from reid_ref.evaluation.ranked import Lists
from reid_ref.protocols import evaluate_ranked

pytestmark = pytest.mark.filterwarnings("ignore::reid_ref.BenchmarkWarning")

#: Tiger 7 three times in a video, and in another; tiger 8 in two videos; a box of nobody.
GALLERY = Labels([7, 7, 7, 7, 8, 8, -1], [0] * 7, view=[0] * 7,
                 video=[1, 1, 1, 2, 3, 4, -1], frame=[10, 13, 14, 10, 5, 5, -1])
QUERY = Labels([7, 8, 8], [0, 0, 0], view=[1, 1, 1], video=[1, 3, 4], frame=[10, 5, 5])


def of_lists(name, *lists):
    return evaluate_ranked(name, Lists(as_ranked_lists(list(lists), None, None)), QUERY, GALLERY,
                           part="single")["single"]


def test_images_up_to_three_frames_away_are_ignored():
    """Images 0 and 1 are near the first query, and 6 is labelled -1: 4 is wrong, 2 and 3 right."""
    result = of_lists("atrw-wild", [0, 1, 6, 4, 2, 3], [5], [4])
    assert result.mAP == pytest.approx(((1 / 2 + 2 / 3) / 2 + 1 + 1) / 3, abs=1e-15)
    assert result.per_query.n_good.tolist() == [2, 1, 1]
    assert result.rank(1) == 2 / 3


@pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning")
@pytest.mark.parametrize("name, mAP", [("atrw", 1 / 2), ("atrw-wild", 1 / 3)])
def test_the_queries_that_a_mean_divides_by(name, mAP, tmp_path):
    """The first is right, the second has no good image in its list, the third is unanswered."""
    result = of_lists(name, [2, 3], [0, 1], [])
    assert result.mAP == mAP
    assert result.rank(1) == result.rank(2) == 1 / 3
    result.save(tmp_path / "atrw.json")
    assert reid_ref.load(tmp_path / "atrw.json") == result


def test_an_unanswered_query_is_warned_of():
    with pytest.warns(reid_ref.UnmatchedWarning, match=(
            r"1 of 3 queries .* \(1 nothing kept; first: 2\): they are left out of mAP and mINP, "
            "and are misses in CMC; .* ranked lists are empty")):
        result = of_lists("atrw", [2, 3], [0, 1], [])
    assert result.per_query.status.tolist() == ["ok", "ok", "nothing kept"]
