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
from tests.nightly import cases
from tests.protocols.recordings import ELSEWHERE, FOLDER, KINDS, kind_of, largest
from tests.shared import shared

FILES = [path.stem for path in sorted(FOLDER.glob("*.npz")) if kind_of(path.stem)]


#: A unit in the last place of a float32 from 1 on: of percents, and of their means in float32.
SINGLE = 2**-23


def agrees(differences):
    return differences["double"] <= 1e-12 and differences["float32"] <= SINGLE


@pytest.mark.parametrize("name", cases(FILES[::3], FILES) or [""])
def test_recording(name):
    """Double numbers to 1e-12, those that the code answers in float32 to its last place."""
    assert agrees(largest(shared("goldens/protocols") / f"{name}.npz"))


# ---------------------------------------------------------------- recordings of other seeds

def altered(folder, name, new_name, change):
    """The differences of a recording with some arrays changed, under another name."""
    with np.load(shared("goldens/protocols") / f"{name}.npz") as stored:
        recorded = dict(stored)
    change(recorded)
    np.savez(folder / f"{new_name}.npz", **recorded)
    return largest(folder / f"{new_name}.npz")


@pytest.mark.parametrize("name", ["ltcc_3_ties", "msmt17_3_ties", "ccvid_2_ties", "celeb_2_ties"])
def test_another_order_of_ties_is_taken_where_the_sort_is_not_stable(name, tmp_path):
    """The same answers of the gallery backwards are those of a sort that turns ties around."""
    def turned(recorded):
        for key in ("gallery", "gallery_features"):
            recorded[key] = recorded[key][::-1]
    assert not agrees(altered(tmp_path, name, name, turned))
    assert agrees(altered(tmp_path, name, name.removesuffix("_ties"), turned))

    def too_high(recorded):
        turned(recorded)
        for key in recorded:
            if key.endswith("ap"):
                recorded[key] = np.ones_like(recorded[key])
    assert not agrees(altered(tmp_path, name, name.removesuffix("_ties"), too_high))


@pytest.mark.parametrize(("name", "key"), [
    ("ltcc_0", "general_map"), ("text_1_icfg_pedes", "i2t_cmc"),
    ("text_1_icfg_pedes", "step_minp"), ("veriwild_0", "readme_ap"), ("cargo_0", "ag_inp"),
    ("splits_ilids", "map_mean"), ("vehicleid_expectation_0", "map_mean"),
    ("cuhk03_classic_1", "map")])
def test_a_wrong_number_is_seen(name, key, tmp_path):
    """By a hundred-thousandth, where few or no good images tie."""
    def wrong(recorded):
        recorded[key] = recorded[key] * (1 + recorded[key].dtype.type(1e-5))
    assert not agrees(altered(tmp_path, name, name, wrong))


def test_queries_without_a_match(tmp_path):
    """The vehicle of the first query is not in the gallery: fast-reid answers of the others."""
    def absent(recorded):
        label, of_query = recorded["label"], recorded["label"][recorded["query"]]
        gone = of_query == of_query[0]
        rows = recorded["gallery"][label[recorded["gallery"]] == of_query[0]]
        recorded["label"][rows] = label.max() + 1
        recorded["readme_ap"] = recorded["readme_ap"][~gone]
        recorded["readme_map"] = recorded["readme_ap"].mean()
        for key in ("readme_cmc", "readme_minp", "code2019_map", "code2019_cmc", "challenge_map"):
            del recorded[key]

    def wrong(recorded):
        absent(recorded)
        recorded["readme_ap"][3] += 1e-9
    assert agrees(altered(tmp_path, "veriwild_0", "veriwild_9", absent))
    assert not agrees(altered(tmp_path, "veriwild_0", "veriwild_9", wrong))


@pytest.mark.parametrize(("name", "queries", "fits"), [
    ("cuhk03_classic_0", 6, True), ("cuhk03_classic_0", 9, False), ("cuhk03_classic_1", 1, False)])
def test_draws_of_queries_whose_wrong_images_tie(name, queries, fits, tmp_path):
    """Eight queries of file 0 have images of two identities at one distance, none of file 1."""
    def moved(recorded):
        recorded["cmc"] = recorded["cmc"] - np.float32(queries / len(recorded["identity"]))
    assert agrees(altered(tmp_path, name, name, moved)) == fits


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
        assert {len(query) for query, _ in rows} == {counts[0]}
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
    assert {name: int(n) for names, n, _, _ in rows for name in names.split(", ")} == {
        name: n for names, n in files.items() for name in names.split(", ")}
    assert [row for row in rows if float(row[-2]) > 1e-12 or float(row[-1]) > 1e-7] == []
