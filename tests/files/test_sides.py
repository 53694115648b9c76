"""Names of sides, and what a protocol adds to them: texts, two sets of queries, images once."""
from __future__ import annotations

import json

import numpy as np
import pytest

import reid_ref
from reid_ref import InputError, Labels, cli
from reid_ref.files.layouts import NAMES, Reading, plain_name, role_of, side_in
from reid_ref.protocols import PROTOCOLS, evaluate_protocol, find_protocol
from tests.files.test_names import (
    DISTANCES, FEATS, G_CAMIDS, G_PIDS, GF, LABELS, PIDS, Q_CAMIDS, Q_PIDS, QF, write)

pytestmark = [pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning"),
              pytest.mark.filterwarnings("ignore::reid_ref.BenchmarkWarning")]
TEXT = [name for name, protocol in PROTOCOLS.items() if protocol.sides]
CAMERAS = {"query_cams": Q_CAMIDS, "gallery_cams": G_CAMIDS}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def answer(capsys, *words):
    assert cli.main(["evaluate", *words, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def error_of(capsys, *words):
    """Return the one line of a refusal."""
    assert cli.main(["evaluate", *words]) == 2
    printed = capsys.readouterr()
    line, = printed.err.splitlines()
    assert printed.out == "" and len(line) < 600
    return line


class TestVisibleInfrared:
    names = {"query_feat": QF, "gall_feat": GF, "query_label": Q_PIDS, "gall_label": G_PIDS,
             "query_cam": Q_CAMIDS, "gall_cam": G_CAMIDS}

    @pytest.mark.parametrize("suffix", [".npz", ".pt", ".mat"])
    def test_names_of_the_repositories(self, suffix):
        write({f"r{suffix}": self.names})
        result = reid_ref.read(f"r{suffix}")
        np.testing.assert_array_equal(result.gallery_features, GF)
        assert (result.query, result.gallery) == (Labels(Q_PIDS, Q_CAMIDS),
                                                  Labels(G_PIDS, G_CAMIDS))

    def test_words_in_file_names(self):
        assert role_of("gall_feat_fc") == "gallery_features"
        assert role_of("trial1_gall_label") == "gallery_identity"
        assert role_of("wallgall") is None


class TestNoSideIsGuessed:
    @pytest.mark.parametrize("key", ["text_feats", "txt_feats", "caption_feats", "text_ids"])
    def test_texts_are_no_test_images(self, key, capsys):
        others = {"image_feats": GF, "image_ids": G_PIDS, **CAMERAS}
        np.savez("r.npz", **{key: QF if key.endswith("feats") else Q_PIDS}, **others)
        line = error_of(capsys, "r.npz")
        assert "did you mean" not in line and "--protocol cuhk-pedes" in line

    @pytest.mark.parametrize(("key", "role"), [
        ("query_camra", "query_camera"), ("camra_gallery", "gallery_camera"),
        ("q_fets", "query_features"), ("gen_feats", None), ("teat_feats", None),
        ("probe_camra", "query_camera")])
    def test_the_side_of_a_guess_is_in_the_name(self, key, role, capsys):
        np.savez("r.npz", **{key: QF, "epoch": 1})
        line = error_of(capsys, "r.npz")
        assert (f"did you mean {role}={key}?" if role else "it lacks") in line
        assert role or "did you mean" not in line

    def test_every_name_has_its_side(self):
        """So that a name of the tables with a slip in the column is still corrected."""
        for side in ("query", "gallery"):
            for word in ("features", "identity", "camera"):
                assert side_in(f"{side}_{word}") == side
        assert side_in("context") is None


class TestProtocolsOfText:
    def test_which(self):
        assert TEXT == [f"{name}{rule}" for name in ("cuhk-pedes", "icfg-pedes", "rstpreid")
                        for rule in ("", "-trapezoid")]

    @pytest.mark.parametrize(("query", "gallery"), [
        ("text", "image"), ("caption", "img"), ("txt", "gallery"), ("query", "images")])
    def test_captions_ask(self, query, gallery, capsys):
        np.savez("r.npz", **{f"{query}_feats": QF, f"{gallery}_embeds": GF, f"{query}_ids": Q_PIDS,
                             f"{gallery}_pids": G_PIDS, f"{query}_cams": Q_CAMIDS,
                             f"{gallery}_cams": G_CAMIDS})
        np.savez("plain.npz", qf=QF, gf=GF, **LABELS)
        got, known = (answer(capsys, file, "--protocol", "icfg-pedes")["parts"]
                      for file in ("r.npz", "plain.npz"))
        assert [part["mAP"] for part in got] == [part["mAP"] for part in known]
        assert got[0]["part"] == "text-to-image"

    def test_in_python(self):
        np.savez("r.npz", text_feats=QF, image_feats=GF, text_ids=Q_PIDS, image_ids=G_PIDS,
                 text_cams=Q_CAMIDS, image_cams=G_CAMIDS)
        result = reid_ref.read("r.npz", reading=find_protocol("cuhk-pedes").reading)
        np.testing.assert_array_equal(result.query_features, QF)
        with pytest.raises(InputError, match="--protocol cuhk-pedes"):
            reid_ref.read("r.npz", reading=find_protocol("prcc").reading)

    def test_files_of_an_array_each(self, capsys):
        write({"text_feats.npy": QF, "image_feats.npy": GF, "text_ids.npy": Q_PIDS,
               "image_ids.npy": G_PIDS, "text_cams.npy": Q_CAMIDS, "image_cams.npy": G_CAMIDS})
        names = [f"{side}_{what}.npy" for side in ("text", "image")
                 for what in ("feats", "ids", "cams")]
        got = answer(capsys, *names, "--protocol", "rstpreid")["parts"][0]
        assert got["mAP"] == evaluate_protocol(
            "rstpreid", QF, GF, Labels(Q_PIDS, Q_CAMIDS), Labels(G_PIDS, G_CAMIDS),
            part="text-to-image").mAP

    def test_no_name_is_taken_away(self):
        further = Reading({"query": "text txt caption", "gallery": "image img"}).names()
        assert further.keys().isdisjoint(NAMES) and NAMES["imgpath"] == "paths"
        assert not any(role.endswith("paths") for role in further.values())

    def test_of_another_length(self, capsys):
        np.savez("r.npz", text_feats=QF, image_feats=GF, text_ids=Q_PIDS[:2], image_ids=G_PIDS,
                 text_cams=Q_CAMIDS[:2], image_cams=G_CAMIDS)
        line = error_of(capsys, "r.npz", "--protocol", "cuhk-pedes")
        assert "text_feats" in line or "text_ids" in line


class TestSimilarity:
    similarity = np.round(5 - 4 * DISTANCES).astype(np.float32)

    @pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint8", "int64"])
    @pytest.mark.parametrize("name", ["similarity", "sim_matrix", "sim"])
    @pytest.mark.parametrize("suffix", [".npz", ".npy", ".h5", ".pt", ".mat"])
    def test_larger_is_nearer(self, dtype, name, suffix, capsys):
        values = (self.similarity - self.similarity.min()).astype(dtype)
        write({f"{name}.npy": values, **{f"{key}.npy": array for key, array in LABELS.items()}}
              if suffix == ".npy" else {f"r{suffix}": {name: values, **LABELS}})
        words = [f"{key}.npy" for key in (name, *LABELS)] if suffix == ".npy" else [f"r{suffix}"]
        got = answer(capsys, *words)
        expected = reid_ref.evaluate_distances(
            -values.astype(float), Labels(Q_PIDS, Q_CAMIDS), Labels(G_PIDS, G_CAMIDS))
        assert (got["mAP"], got["cmc"]) == (expected.mAP, expected.cmc.tolist())
        assert cli.main(["evaluate", *words]) == 0
        screen = " ".join(capsys.readouterr().out.split())
        assert f"similarity, query x gallery, larger is nearer ({name}" in screen

    def test_a_file_beside_its_labels(self, capsys):
        write({f"folder/{name}.npy": array for name, array in (
            ("similarity", -DISTANCES), *LABELS.items())})
        for words in ("folder", "folder/similarity.npy"):
            result = reid_ref.read(words)
            np.testing.assert_array_equal(result.distances, DISTANCES)

    def test_an_extreme_of_the_type(self):
        """The negative of -128 does not fit into an int8."""
        np.savez("r.npz", similarity=np.array([[-128, 127]], np.int8), q_pids=[1], q_camids=[1],
                 g_pids=[2, 1], g_camids=[2, 2])
        assert reid_ref.read("r.npz").distances.tolist() == [[128, -127]]

    def test_next_to_features(self, capsys):
        """Features are ranked; a similarity that ranks otherwise is warned of."""
        order = -QF.astype(float) @ GF.astype(float).T
        np.savez("r.npz", qf=QF, gf=GF, similarity=-order, **LABELS)
        plain = answer(capsys, "r.npz")
        np.savez("r.npz", qf=QF, gf=GF, similarity=np.roll(order, 1, axis=1) ** 3, **LABELS)
        with pytest.warns(reid_ref.UnreadWarning, match="not read.*--map similarity=similari"):
            result = reid_ref.read("r.npz")
        assert result.distances is None
        assert plain["mAP"] == reid_ref.evaluate(
            QF, GF, Labels(Q_PIDS, Q_CAMIDS), Labels(G_PIDS, G_CAMIDS)).mAP
        mapped = reid_ref.read("r.npz", names={"similarity": "similarity"})
        np.testing.assert_array_equal(mapped.distances, -np.roll(order, 1, axis=1) ** 3)

    def test_splits_the_arrays_of_both(self):
        np.savez("r.npz", similarity=-DISTANCES, pids=PIDS, camids=np.r_[Q_CAMIDS, G_CAMIDS])
        assert reid_ref.read("r.npz").query.identity.tolist() == Q_PIDS.tolist()

    @pytest.mark.parametrize(("values", "words"), [
        (-DISTANCES[:, :2], "similarity"), (-DISTANCES[0], "similarity"),
        (np.array([["a"] * 5] * 3), "similarity: .*numbers")])
    def test_what_does_not_fit(self, values, words, capsys):
        np.savez("r.npz", similarity=values, **LABELS)
        with pytest.raises(InputError, match=f"r.npz: {words}"):
            reid_ref.read("r.npz")
        assert "r.npz: similarity" in error_of(capsys, "r.npz")


class TestTwoSetsOfQueries:
    """PRCC: camera B (1) asks in the same clothes, C (2) in others."""

    @staticmethod
    def arrays(**changes):
        rng = np.random.default_rng(0)
        named = {"qsf": rng.random((6, 3)), "qdf": rng.random((4, 3)), "gf": rng.random((5, 3)),
                 "qs_pids": [1, 2, 3, 4, 5, 1], "qd_pids": [1, 2, 3, 4], "g_pids": [1, 2, 3, 4, 5],
                 "qs_camids": [1] * 6, "qd_camids": [2] * 4, "g_camids": [0] * 5}
        return {name: np.asarray(value) for name, value in {**named, **changes}.items()
                if value is not None}

    def joined(self):
        given = self.arrays()
        return ([np.concatenate([given["qsf"], given["qdf"]]), given["gf"]], [
            Labels(np.concatenate([given["qs_pids"], given["qd_pids"]]), [1] * 6 + [2] * 4),
            Labels(given["g_pids"], given["g_camids"])])

    @pytest.mark.parametrize("suffix", [".npz", ".pt", ".h5"])
    @pytest.mark.parametrize("turned", [False, True])
    @pytest.mark.parametrize("protocol", ["prcc", "prcc-single-shot"])
    def test_in_one_file(self, suffix, turned, protocol, capsys):
        given = self.arrays()
        write({f"r{suffix}": dict(reversed(given.items())) if turned else given})
        (query, gallery), labels = self.joined()
        known = evaluate_protocol(protocol, query, gallery, *labels)
        got = answer(capsys, f"r{suffix}", "--protocol", protocol)["parts"]
        assert {part["part"]: part["mAP"] for part in got} == {
            name: part.mAP for name, part in known.items()}
        result = reid_ref.read(f"r{suffix}")
        assert result.query == labels[0] and result.extra == ()
        assert "(qsf, qdf, gf)" in result.layout

    def test_a_name_of_a_file_with_a_plus(self):
        np.savez("a + b.npz", **self.arrays(), note=1)
        result = reid_ref.read("a + b.npz")
        assert "(qsf, qdf, gf)" in result.layout and result.extra == ("note",)

    def test_in_files_of_their_own(self, capsys):
        given = self.arrays()
        write({f"{name}.npy": array for name, array in given.items()})
        got = answer(capsys, *(f"{name}.npy" for name in given), "--protocol", "prcc")["parts"]
        (query, gallery), labels = self.joined()
        assert got[0]["mAP"] == evaluate_protocol("prcc", query, gallery, *labels)["sc"].mAP

    @pytest.mark.parametrize(("left_out", "part", "other"), [("qd", "sc", "cc"),
                                                             ("qs", "cc", "sc")])
    def test_one_of_them(self, left_out, part, other, capsys):
        given = self.arrays()
        np.savez("r.npz", **{name: array for name, array in given.items()
                             if not name.startswith(left_out)})
        line = error_of(capsys, "r.npz", "--protocol", "prcc")
        assert f"images of part '{other}'" in line and f"--part {part}" in line
        got, = answer(capsys, "r.npz", "--protocol", "prcc", "--part", part)["parts"]
        (query, gallery), labels = self.joined()
        assert got["mAP"] == evaluate_protocol("prcc", query, gallery, *labels)[part].mAP

    @pytest.mark.parametrize(("changes", "words"), [
        ({"qd_pids": [1, 2]}, "r.npz: qs_pids"), ({"qdf": np.ones((4, 2))}, "r.npz: qdf"),
        ({"qd_camids": None}, "r.npz: q"), ({"qf": np.ones((10, 3))}, "one array for query_feat"),
        ({"qd_pids": list("abcd")}, "qd_pids"), ({"qdf": np.ones(4)}, "r.npz: qdf")])
    def test_what_does_not_fit(self, changes, words, capsys):
        np.savez("r.npz", **self.arrays(**changes))
        assert words in error_of(capsys, "r.npz", "--protocol", "prcc")

    def test_a_map_of_one(self):
        np.savez("r.npz", **self.arrays())
        names = {"query_features": "qdf", "query_identity": "qd_pids", "query_camera": "qd_camids"}
        assert len(reid_ref.read("r.npz", names=names).query) == 4


class TestImagesOfBothSidesOnce:
    pids = np.array([1, 1, 1, 2, 2, 3, 3, 3, 3])
    feats = np.random.default_rng(1).random((9, 4))
    once = {"feats": feats, "pids": pids, "camids": np.arange(9) % 3}

    @pytest.mark.parametrize("protocol", ["vehicleid", "vehicleid-draws"])
    @pytest.mark.parametrize("split", [{}, {"num_query": 6}, {"is_query": [1] * 6 + [0] * 3}])
    @pytest.mark.parametrize("suffix", [".npz", ".pt"])
    def test_are_on_both(self, protocol, split, suffix, capsys):
        """Whatever one draw has as queries: all images are there."""
        write({f"r{suffix}": {**self.once, **split}})
        labels = Labels(self.pids, self.once["camids"])
        known = evaluate_protocol(protocol, self.feats, self.feats, labels, labels)
        got, = answer(capsys, f"r{suffix}", "--protocol", protocol)["parts"]
        assert (got["mAP"], got["cmc"]) == (known.mAP, known.cmc.tolist())

    def test_said(self, capsys):
        np.savez("r.npz", **self.once)
        assert reid_ref.read("r.npz", reading=find_protocol("vehicleid").reading).layout == (
            "features, one row per image (feats), the same images on both sides, in a .npz file")

    def test_twice_in_one_array(self):
        """Two halves are the two sides."""
        twice = {name: np.concatenate([array] * 2) for name, array in self.once.items()}
        np.savez("r.npz", **twice, num_query=9)
        result = reid_ref.read("r.npz", reading=find_protocol("vehicleid").reading)
        assert len(result.query) == len(result.gallery) == 9
        assert result.query == result.gallery

    def test_other_protocols_want_a_split(self, capsys):
        np.savez("r.npz", **self.once)
        for words in ([], ["--protocol", "veri-wild"]):
            assert "it lacks num_query" in error_of(capsys, "r.npz", *words)

    @pytest.mark.parametrize(("changes", "words"), [
        ({"pids": pids[:4]}, "r.npz: pids"), ({"feats": feats[:4]}, "r.npz: ")])
    def test_what_does_not_fit(self, changes, words, capsys):
        np.savez("r.npz", **{**self.once, **changes})
        assert words in error_of(capsys, "r.npz", "--protocol", "vehicleid")

    def test_one_draw_is_refused_with_the_way(self, capsys):
        np.savez("r.npz", qf=self.feats[:6], gf=self.feats[6:], q_pids=self.pids[:6],
                 g_pids=self.pids[6:], q_camids=np.ones(6), g_camids=np.ones(3))
        assert "of all images once" in error_of(capsys, "r.npz", "--protocol", "vehicleid")


@pytest.mark.parametrize("command", ["evaluate", "compare", "explain", "doctor"])
def test_boxes_without_their_protocol(command, capsys):
    """Names of frames, such as c2s1_000000.jpg, are not read as names of images first."""
    np.savez("boxes.npz", image=["c2s1_000000.jpg"], truth_image=[0], truth_identity=[7],
             truth_box=[[0, 0, 1, 1]], detection_image=[0], detection_box=[[0, 0, 1, 1]],
             detection_score=[1.], query_image=[0], query_identity=[7],
             query_features=FEATS[:1], detection_features=FEATS[:1])
    words = {"explain": ["--query", "0"], "compare": ["boxes.npz"]}.get(command, [])
    assert cli.main([command, "boxes.npz", *words]) == 2
    line, = capsys.readouterr().err.splitlines()
    assert command == "compare" or "--protocol cuhk-sysu" in line


def test_plain_names_of_sets():
    assert [NAMES[plain_name(name)] for name in ("qsf", "qd_pids", "qs_camids", "qdfeat")] == [
        "query_features", "query_identity", "query_camera", "query_features"]
