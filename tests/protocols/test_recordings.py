"""Every protocol against the recorded answers of the benchmark's own code."""
import re
from collections import Counter

import numpy as np
import pytest
from scipy.io import loadmat

from reid_ref import Labels
from reid_ref.protocols import find_protocol, read_trials
from reid_ref.protocols.trials import rows_of_trials
from tests.documents import ROOT
from tests.protocols.recordings import ELSEWHERE, FOLDER, KINDS, kind_of, largest
from tests.shared import shared

FILES = [path.stem for path in sorted(FOLDER.glob("*.npz")) if kind_of(path.stem)]


@pytest.mark.parametrize("name", FILES or [""])
def test_recording(name):
    """Double numbers to 1e-12, those that the code answers in float32 to 1e-7."""
    differences = largest(shared("goldens/protocols") / f"{name}.npz")
    assert differences["double"] <= 1e-12
    assert differences["float32"] <= 1e-7


def test_every_recording_is_held():
    """Each file here, by a test of galleries, or by those of other rooms."""
    folder = shared("goldens/protocols")
    assert not [path.stem for path in folder.glob("*.npz")
                if kind_of(path.stem) is None and not path.stem.startswith(ELSEWHERE)]


@pytest.mark.parametrize("part", ["all", "indoor"])
@pytest.mark.parametrize("shots", [1, 10])
def test_galleries_of_sysu_mm01(part, shots):
    """From the authors' permutations and from seeds, the rows that their codes take."""
    folder, real = shared("goldens/protocols"), shared("real/sysu_mm01")
    order = loadmat(real / "rand_perm_cam.mat")["rand_perm_cam"]
    images = np.array([
        (camera, identity, number + 1)
        for identity in loadmat(real / "test_id.mat")["id"][0] for camera in (1, 2, 4, 5)
        for number in range(order[camera - 1, 0][identity - 1, 0].shape[1])])
    gallery = Labels(images[:, 1], images[:, 0])
    seeds = np.load(folder / "sysu_python_galleries.npz")
    camera, identity, _ = seeds["query"].T
    sides = {"query": Labels(identity, camera), "gallery": gallery}
    counts = find_protocol("sysu-mm01").counts[part]

    def drawn(name, trials):
        protocol = find_protocol(name)
        rows = list(rows_of_trials(protocol, protocol.part(part), sides, trials, shots))
        assert all(len(query) == counts[0] for query, _ in rows)
        return np.array([images[chosen] for _, chosen in rows])

    np.testing.assert_array_equal(drawn("sysu-mm01-python", None), seeds[f"{part}_{shots}"])
    recorded = np.load(folder / f"sysu_{part}_{shots}shot.npz")
    np.testing.assert_array_equal(
        drawn("sysu-mm01", read_trials(real / "rand_perm_cam.mat", gallery, shots)),
        recorded["image"][recorded["matlab_gallery"]])
    assert np.isin(gallery.camera, (1, 2, 4, 5) if part == "all" else (1, 2)).sum() == counts[1]


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("llcm")] or [""])
def test_galleries_of_llcm(name):
    """Seeds 0 to 9 draw the recorded galleries of both modalities."""
    recorded = np.load(shared("goldens/protocols") / f"{name}.npz")
    _, camera, identity, _ = recorded["image"].T
    images, protocol = Labels(identity, camera), find_protocol("llcm")
    rows = {"query": recorded["query_nir"], "gallery": recorded["query_vis"]}
    sides = {side: images[chosen] for side, chosen in rows.items()}
    for part, side, key in ((0, "gallery", "gallery_vis"), (1, "query", "gallery_nir")):
        drawn = [rows[side][chosen] for _, chosen in rows_of_trials(
            protocol, protocol.parts[part], sides, None, 1)]
        np.testing.assert_array_equal(drawn, recorded[key])


def test_the_page_says_what_is_held():
    """The rows of docs/protocols.md: protocols, number of files, differences within the bounds."""
    rows = re.findall(r"^\| (.+) \| (\d+) \| (\S+) \| (\S+) \|$",
                      (ROOT / "docs/protocols.md").read_text(), re.MULTILINE)
    shared("goldens/protocols")
    files = Counter(KINDS[kind_of(name)][1] for name in FILES)
    assert {names: int(n) for names, n, _, _ in rows} == files
    assert all(float(double) <= 1e-12 and float(single) <= 1e-7 for *_, double, single in rows)
