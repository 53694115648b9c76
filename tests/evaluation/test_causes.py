"""Causes of loss by hand: the kinds of a list, what each returns, and which is the cause."""
import numpy as np
import pytest

from reid_ref import Labels, evaluate_distances, metrics
from reid_ref.evaluation.causes import CAUSES, FEW, GOOD, KINDS, kinds_of_list, losses

LOOK, SAME_CAMERA, DISTRACTOR = 1, 2, 3
STEP = metrics.average_precision_step


def test_kinds_of_a_list():
    """The query is person 7 on camera 1; 9 is as far as the last good image, and before it."""
    identity = [7, 8, 8, 0, 0, -1, 7, 9, 7, 9]
    camera = [1, 1, 2, 1, 2, 2, 2, 3, 3, 3]
    gallery = Labels(identity, camera)
    row = np.array([.0, .1, .2, .3, .4, .5, .6, .7, .7, .8])
    kept = np.array(identity) != -1
    kept[0] = False
    expected = [SAME_CAMERA, LOOK, DISTRACTOR, DISTRACTOR, GOOD, LOOK, GOOD]
    assert kinds_of_list(row, np.array([6, 8]), kept, 1, gallery).tolist() == expected
    # Where label 0 is a person, it is one; where label -1 is kept, it is like junk.
    kept[5] = True
    assert kinds_of_list(row, np.array([6, 8]), kept, 1, gallery, distractors=False).tolist() == [
        SAME_CAMERA, LOOK, SAME_CAMERA, LOOK, SAME_CAMERA, GOOD, LOOK, GOOD]
    # A good image that is ignored is none; without any the list is empty.
    kept[[6, 8]] = False
    assert kinds_of_list(row, np.array([6, 8]), kept, 1, gallery).tolist() == []


def test_nan_is_farthest():
    gallery = Labels([8, 7, 9], [2, 2, 2])
    assert kinds_of_list(np.array([np.nan, np.nan, .1]), np.array([1]), np.ones(3, bool), 1,
                         gallery).tolist() == [LOOK, LOOK, GOOD]


@pytest.mark.parametrize(("kinds", "cause", "returned"), [
    # AP 1/2 with one good image at rank 2: all of it comes back.
    ([LOOK, GOOD], FEW, (1 / 2, 0, 0)),
    ([LOOK, LOOK, GOOD], "same look in another camera", (2 / 3, 0, 0)),
    # AP 1/3; without the two it is 1.
    ([SAME_CAMERA, SAME_CAMERA, GOOD], "same-camera look-alike", (0, 2 / 3, 0)),
    # Good at 2, 4, 5: AP (1/2 + 2/4 + 3/5) / 3. Without the distractor at 1: 1, 2/3, 3/4;
    # without the look at 3: 1/2, 2/3, 3/4.
    ([DISTRACTOR, GOOD, LOOK, GOOD, GOOD], "distractor",
     ((1 / 2 + 2 / 3 + 3 / 4 - 1.6) / 3, 0, (1 + 2 / 3 + 3 / 4 - 1.6) / 3)),
    # Two good images and two wrong ones before the last: few; three wrong ones: not.
    ([GOOD, LOOK, DISTRACTOR, GOOD], FEW, ((1 + 2 / 3 - 1.5) / 2, 0, (1 + 2 / 3 - 1.5) / 2)),
    ([GOOD, LOOK, DISTRACTOR, DISTRACTOR, GOOD], "distractor",
     ((1 + 2 / 4 - 1.4) / 2, 0, (1 + 2 / 3 - 1.4) / 2)),
    # Of equal kinds the first.
    ([GOOD, DISTRACTOR, SAME_CAMERA, GOOD, GOOD], "same-camera look-alike",
     (0, (2 / 3 + 3 / 4 - 1.1) / 3, (2 / 3 + 3 / 4 - 1.1) / 3)),
    ([GOOD, GOOD], "nothing lost", (0, 0, 0))])
def test_losses_by_hand(kinds, cause, returned):
    loss, = losses([np.array(kinds)], STEP)
    assert loss.cause == cause
    assert list(loss.returned) == list(KINDS)
    assert list(loss.returned.values()) == pytest.approx(returned, abs=1e-15)


def test_no_good_image():
    (loss, other) = losses([np.array([], int), np.array([LOOK, GOOD])], STEP)
    assert (loss.cause, loss.returned) == ("no match", {}) and other.cause == FEW
    assert set(CAUSES) >= {loss.cause, other.cause} | set(KINDS)
    assert losses([], STEP) == []


def test_without_a_kind_is_the_evaluation_without_its_images():
    """Taking the distractors out of the gallery gives the AP that `returned` says."""
    rng = np.random.default_rng(5)
    query = Labels(rng.integers(1, 9, 40), rng.integers(1, 4, 40))
    gallery = Labels(np.append(rng.integers(0, 9, 150), range(1, 9)),
                     np.append(rng.integers(1, 4, 150), [4] * 8))
    distances = rng.permutation(40 * 158).reshape(40, 158).astype(float)
    before = evaluate_distances(distances, query, gallery)
    rest = gallery.identity != 0
    after = evaluate_distances(distances[:, rest], query, gallery[rest])
    lists = []
    for row, identity, camera in zip(distances, query.identity, query.camera):
        kept = ~((gallery.identity == identity) & (gallery.camera == camera))
        good = np.flatnonzero((gallery.identity == identity) & kept)
        lists.append(kinds_of_list(row, good, kept, camera, gallery))
    for loss, low, high in zip(losses(lists, before.convention.average_precision),
                               before.per_query.ap, after.per_query.ap):
        assert loss.returned["distractor"] == pytest.approx(high - low, abs=1e-15)
