"""VeRi-776 from images to tracks: a row is a track, at the least distance of its images."""
import itertools
import json

import numpy as np
import pytest

from reid_ref import Labels, evaluate_protocol
from reid_ref.evaluation.ranked import Lists
from reid_ref.protocols import evaluate_ranked, read_protocol
from reid_ref.ranking.ranked_lists import RankedLists
from tests.documents import command as run
from tests.refusals import refused

TRACKS = "veri-776-tracks"
#: Query 7 on camera 1. Tracks: 7 and 8 on camera 2, 7 on camera 1 (junk), 7 and 8 on camera 3.
QUERY = Labels([7], [1])
GALLERY = Labels([7, 8, 7, 7, 8, 7, 8, 7], [2, 2, 1, 3, 2, 2, 3, 3],
                 video=[1, 2, 3, 4, 2, 1, 5, 4])
DISTANCES = np.array([[.4, .9, .05, .8, .1, .2, .3, .5]])


@pytest.mark.filterwarnings("ignore::reid_ref.BenchmarkWarning")
def test_by_hand():
    """Least distances: .2, .1, junk, .5, .3. The good tracks have ranks 2 and 4."""
    result = evaluate_protocol(TRACKS, None, None, QUERY, GALLERY, distances=DISTANCES)
    assert result.mAP == (1 / 2 + 2 / 4) / 2 and result.cmc.tolist() == [0, 1, 1, 1, 1]
    assert result.mINP == 2 / 4 and result.ranks.image.tolist() == [0, 3]
    assert result.counts.gallery == 5 and result.per_query.n_junk.tolist() == [1]
    assert result.signature["follows"] == "the text of VeRi-776's paper"
    by_image = evaluate_protocol("veri-776", None, None, QUERY, GALLERY, distances=DISTANCES)
    assert by_image.mAP == (1 / 2 + 2 / 4 + 3 / 5 + 4 / 6) / 4  # images rank at 2, 4, 5, 6


def test_an_image_without_distance_leaves_its_track_the_others():
    distances = DISTANCES.copy()
    distances[0, 0] = np.nan
    assert evaluate_protocol(TRACKS, None, None, QUERY, GALLERY,
                             distances=distances).mAP == 1 / 2


def test_tracks_are_of_one_camera_and_identity():
    """One number on two cameras is two tracks; equal ones are in the order of first images."""
    gallery = Labels([8, 7, 7], [2, 3, 2], video=[1, 1, 1])
    result = evaluate_protocol(TRACKS, None, None, QUERY, gallery, distances=np.zeros((1, 3)))
    assert result.ranks.rank.tolist() == [2, 3] and result.counts.gallery == 3


def naive(distances, query, gallery):
    """Return AP of every query, from loops over tracks."""
    every = []
    for row, identity, camera in zip(distances, query.identity, query.camera):
        nearest = {}
        for distance, *track in zip(row, gallery.identity, gallery.camera, gallery.video):
            nearest[tuple(track)] = min(distance, nearest.get(tuple(track), np.inf))
        kept = [int(track[0] == identity) for track in sorted(nearest, key=nearest.get)
                if track[:2] != (identity, camera)]
        hits = list(itertools.accumulate(kept))
        every.append(sum(hits[k] / (k + 1) for k in np.flatnonzero(kept)) / max(hits[-1], 1))
    return every


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("max_memory", [None, "2K"])
def test_as_loops_do_it(seed, max_memory):
    rng = np.random.default_rng(seed)
    query = Labels(np.arange(20) % 5, rng.integers(1, 4, 20))
    gallery = Labels(rng.permutation(np.arange(120) % 6), rng.integers(1, 4, 120),
                     video=rng.integers(0, 3, 120))
    features = rng.standard_normal((20, 8)), rng.standard_normal((120, 8))
    distances = ((features[0][:, np.newaxis] - features[1])**2).sum(axis=2)
    options = {"metric": "euclidean", "normalize": False, "max_memory": max_memory}
    for result in (evaluate_protocol(TRACKS, None, None, query, gallery, distances=distances),
                   evaluate_protocol(TRACKS, *features, query, gallery, **options)):
        np.testing.assert_allclose(result.per_query.ap, naive(distances, query, gallery),
                                   rtol=0, atol=1e-15)


def test_what_is_refused():
    refused("gallery", "labels with video", evaluate_protocol, TRACKS, None, None, QUERY,
            Labels([7], [2]), distances=[[.1]])
    lists = Lists(RankedLists([np.arange(8)], lambda k: "list"))
    refused("data", "features or distances", evaluate_ranked, TRACKS, lists, QUERY, GALLERY)


def test_a_protocol_of_ones_own(tmp_path):
    (tmp_path / "mine.json").write_text(
        '{"name": "mine", "convention": "torchreid-function", "tracks": true}')
    result = evaluate_protocol(read_protocol(tmp_path / "mine.json"), None, None, QUERY, GALLERY,
                               distances=DISTANCES)
    assert result.mAP == .5 and "follows" not in result.signature


def test_the_column_of_a_file(tmp_path):
    np.savez(tmp_path / "result.npz", distances=DISTANCES, query_pid=[7], query_cam=[1],
             gallery_pid=GALLERY.identity, gallery_cam=GALLERY.camera,
             gallery_track=GALLERY.video)
    part, = json.loads(run("evaluate", tmp_path / "result.npz", "--protocol", TRACKS,
                           "--json").stdout)["parts"]
    assert part["mAP"] == .5 and part["gallery"] == 5
