"""`reid-ref scripts --driver` against what the unmodified drivers print of the same files."""
import dataclasses
import functools
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from reid_ref import Labels, cli, matlab
from reid_ref.commands.scripts.compute.drivers import as_roots, random_choices, run_driver
from reid_ref.commands.scripts.show import published_lines
from reid_ref.datasets import FINGERPRINTS, Recognised
from reid_ref.datasets.driver_files import DRIVERS, ImageSet, Inputs, read_inputs
from reid_ref.metric_learning import xqda_pairs
from tests import cases
from tests.octave import col
from tests.refusals import refused

D = 208


# ---------------------------------------------------------------- a made world, in files

@functools.cache
def made(n_cameras):
    """Features (D, n) and labels of training images, queries and gallery.

    RandomState's stream is one that numpy does not change.
    """
    random = np.random.RandomState(22)
    centres, shifts = random.randn(70, D), 0.4 * random.randn(7, D)
    poses = 0.55 * random.randn(12, D)

    def side(persons, each):
        identity = np.repeat(persons, n_cameras * each)
        camera = np.tile(np.repeat(np.arange(1, n_cameras + 1), each), len(persons))
        return identity, camera

    def images(identity, camera):
        shown = np.where(identity < 1, random.randint(61, 70, len(identity)), identity)
        rows = (centres[shown] + shifts[camera] + random.randn(len(shown), 12) @ poses
                + random.randn(len(shown), D))
        return identity, camera, np.maximum(rows, 0).astype(np.float32).T

    train = side(np.arange(1, 37), 18 // n_cameras)
    query = side(np.arange(41, 61), 1)
    gallery = side(np.arange(41, 61), 12 // n_cameras)
    others = np.repeat([-1, 0], 20), random.randint(1, n_cameras + 1, 40)
    gallery = tuple(np.concatenate(pair) for pair in zip(others, gallery))
    return {"train": images(*train), "query": images(*query), "gallery": images(*gallery)}


def save(folder, name, value):
    path = folder / f"{name}.mat"
    savemat(path, {"value": value})
    return path


def market_files(folder, features="ResNet_50_IDE_{}"):
    """The files of Market_1501_evaluation.m, with the types of the real ones."""
    world = made(6)
    paths = []
    for side, name, identity, camera, dtype in (
            ("train", "train", "train_label", "train_cam", np.uint16),
            ("query", "query", "queryID", "queryCam", np.uint16),
            ("gallery", "test", "testID", "testCam", np.int16)):
        paths += [save(folder, features.format(name), world[side][2]),
                  save(folder, identity, col(world[side][0], dtype)),
                  save(folder, camera, col(world[side][1], np.uint8))]
    return paths


def ide_files(folder):
    return market_files(folder, "IDE_ResNet_50_{}")


def cuhk03_files(folder):
    world = made(2)
    kept = world["gallery"][0] > 0
    parts = [tuple(one[..., kept] for one in world["gallery"]), world["train"], world["query"]]
    ends = np.cumsum([len(part[0]) for part in parts])
    places = [col(np.arange(end - len(part[0]), end) + 1) for part, end in zip(parts, ends)]
    path = folder / "cuhk03_new_protocol_config_detected.mat"
    savemat(path, {
        "labels": col(np.concatenate([part[0] for part in parts])),
        "camId": col(np.concatenate([part[1] for part in parts])),
        "gallery_idx": places[0], "train_idx": places[1], "query_idx": places[2]})
    features = np.concatenate([part[2] for part in parts], axis=1)
    return [save(folder, "ResNet_50_IDE_detected", features), path]


def mars_files(folder):
    world, random = made(6), np.random.RandomState(5)
    paths = [save(folder, "query_IDX", np.arange(40, 280, 5)[np.newaxis] + 1.0)]
    for name, side in (("train", "train"), ("test", "gallery")):
        identity, camera, features = world[side]
        n_frames = np.tile([1, 2, 3], len(identity))[:len(identity)]
        last = np.cumsum(n_frames)
        frames = np.repeat(features, n_frames, axis=1)
        frames = (frames * (1 + 0.1 * random.rand(*frames.shape))).astype(np.float32)
        tracks = np.stack([last - n_frames + 1, last, identity, camera], axis=1)
        paths += [save(folder, f"ide_feat_{name}", frames),
                  save(folder, f"tracks_{name}_info", tracks.astype(float))]
    return paths


FILES = {"market1501": market_files, "cuhk03": cuhk03_files, "mars": mars_files, "ide": ide_files}

# ---------------------------------------------------------------- the drivers' own prints

# GNU Octave 7.3.0 ran the unmodified Market_1501_evaluation.m and CUHK03_evaluation.m of
# zhunzhong07/person-re-ranking (278f2c7), baseline_evaluation_IDE.m of zhunzhong07/
# IDE-baseline-Market-1501 (8be027b) and test_mars.m of liangzheng06/MARS-evaluation (3a91bbc),
# with the scripts beside them, on the files above. rand and randperm were replaced by functions
# that return the choices of `random_choices(648)`; SOPD (a compiled file), cholcov (of a toolbox),
# importdata and nchoosek (where Octave is not MATLAB) by functions that do what their
# documentation says; drawing by nothing. PRINTED are their digits: percent; of MARS mAP in the
# legend, then mAP and Rank-1 of the "confusion matrix". FULL are CMC(1) and map behind them.
PRINTED, FULL = json.loads(Path(__file__).with_name("printed.json").read_text()).values()
# Exact ranks give exact numbers. In single, products of another BLAS may exchange two neighbours
# of a list, which moves mAP here by less than 1e-5; in double none are that near.
TOLERANCE = {"float32": 1e-5, "float64": 1e-13}


def run(capsys, *arguments):
    """Return exit code, stdout and stderr of the command."""
    status = cli.main(["scripts", *map(str, arguments)])
    return status, *capsys.readouterr()


def rows(text):
    """The table's cells by method."""
    found = re.findall(r"^(\w+(?: \+ [\w-]+)?) +([-\d. ]+)$", text, re.MULTILINE)
    return {method: cells.split() for method, cells in found}


@pytest.mark.parametrize("driver", DRIVERS)
def test_gives_what_the_driver_prints(driver, tmp_path, capsys):
    status, out, err = run(capsys, "--json", *FILES[driver](tmp_path), "--driver", driver)
    answer = json.loads(out)
    assert (status, err) == (0, "")
    assert list(answer)[2:] == ["files", "driver", "script", "dataset", "seed", "lines",
                                "left_out", "complex_distances", "signature"]
    lines = {line["method"]: line for line in answer["lines"]}
    assert list(lines) == list(PRINTED[driver]) == list(DRIVERS[driver].methods)
    for method, line in lines.items():
        pairs = line["camera_pairs"]
        assert PRINTED[driver][method] == (
            f"{line['mAP']:.4f} {pairs['mAP']:f} {pairs['Rank-1']:f}" if driver == "mars"
            else f"{100 * line['Rank-1']:.2f}% {100 * line['mAP']:.2f}%")
        np.testing.assert_allclose([line["Rank-1"], line["mAP"]], FULL[driver][method],
                                   rtol=0, atol=TOLERANCE[DRIVERS[driver].dtype])
    assert (answer["seed"], answer["left_out"], answer["dataset"]) == (0, {}, None)
    assert f"driver:{driver}|" in answer["signature"] and "seed:0" in answer["signature"]


def test_nan_of_mars_is_said(tmp_path, capsys):
    """One query without a good image: evaluation_mars.m gives NaN."""
    files = changed(mars_files(tmp_path), "tracks_test_info", at((40, 2), 99))
    status, out, err = run(capsys, *files, "--driver", "mars")
    assert status == 0
    assert err.count("\n") == 1 and "1 of 48 queries" in err
    assert {cells[1] for cells in rows(out.replace("nan", "-")).values()} == {"-"}
    assert "one query without a match makes mAP NaN" in " ".join(out.split())


# ---------------------------------------------------------------- live Octave

@pytest.mark.octave
def test_scripts_of_matlab_ref_give_the_same_lines(octave, tmp_path):
    """The scripts in Octave, called in the order of Market_1501_evaluation.m, in single."""
    if not (octave.folder / "XQDA.m").is_file():
        pytest.skip(f"{octave.folder} has no XQDA.m")
    world = made(6)
    order, _ = random_choices(len(world["train"][0]))
    octave.session.push("w", {
        f"{side}_{name}": value if name == "x" else col(value)
        for side, values in world.items() for name, value in zip(("id", "cam", "x"), values)})
    octave.session.push("order", col(order + 1))
    octave.eval("""
        for side = {'train', 'query', 'gallery'}
          x = w.([side{1} '_x']);
          w.([side{1} '_x']) = x ./ repmat(sqrt(sum(x .^ 2)), size(x, 1), 1);
        end
        labels = {w.gallery_id, w.query_id, w.gallery_cam, w.query_cam};
        both = [w.query_x, w.gallery_x];
        n = size(w.query_x, 2);
        [a, b] = xqda_pairs(w.train_id, w.train_cam, order);
        [W, M] = XQDA(w.train_x(:, a)', w.train_x(:, b)', w.train_id(a), w.train_id(b));
        dist = {my_pdist2(w.gallery_x', w.query_x'), re_ranking(both, 1, 1, n, 20, 6, 0.3), ...
                MahDist(M, w.gallery_x' * W, w.query_x' * W), ...
                re_ranking(both, M, W, n, 20, 6, 0.3)};
        theirs = zeros(4, 2);
        for k = 1:4
          [CMC, theirs(k, 2)] = evaluation(dist{k}, labels{:});
          theirs(k, 1) = CMC(1);
        end
        assert(isa(dist{1}, 'single') && isa(dist{3}, 'single'));""")
    ours = run_driver("market1501", read_inputs("market1501", *market_files(tmp_path)))
    np.testing.assert_allclose([(line.Rank_1, line.mAP) for line in ours.lines.values()],
                               octave.session.pull("theirs"), rtol=0, atol=TOLERANCE["float32"])


# ---------------------------------------------------------------- random choices

def test_seed(tmp_path, capsys):
    files = ide_files(tmp_path)
    out = run(capsys, *files, "--driver", "ide", "--seed", 7)[1]
    assert "7, of the training pairs" in out
    assert " ".join(rows(out)["Euclidean"]) == PRINTED["ide"]["Euclidean"].replace("%", "")
    assert " ".join(rows(out)["XQDA"]) != PRINTED["ide"]["XQDA"].replace("%", "")


def test_choices_are_frozen():
    order, draws = random_choices(8, 3)
    assert order.tolist() == [5, 7, 4, 6, 3, 1, 0, 2]
    assert draws[:3].tolist() == [[5, 5], [3, 2], [3, 1]]
    identity, camera, _ = made(6)["train"]
    first, second = xqda_pairs(identity, camera, random_choices(648)[0])
    assert len(first) == len(second) > 200


# ---------------------------------------------------------------- without training images

def test_result_file(tmp_path, capsys):
    """A layumi-type file: lines that learn are left out, and the file that gives them is named."""
    world, driver, learnt = made(6), "market1501", ["XQDA", "XQDA + re-ranking"]
    path = tmp_path / "pytorch_result.mat"
    savemat(path, {f"{side}_{key}": value for side in ("query", "gallery") for key, value in zip(
        ("label", "cam", "f"), (*world[side][:2], world[side][2].T))})
    status, out, err = run(capsys, path, "--driver", driver)
    assert (status, err) == (0, "")
    for method, cells in rows(out).items():
        assert cells == (["-", "-"] if method in learnt else
                         PRINTED["market1501"][method].replace("%", "").split())

    status, out, err = run(capsys, path, *(p for p in market_files(tmp_path) if "train" in p.stem),
                           "--driver", driver)
    assert status == 0
    assert rows(out)["XQDA"] == PRINTED["market1501"]["XQDA"].replace("%", "").split()


# ---------------------------------------------------------------- imaginary distances

@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_roots_rank_as_complex_numbers_do_in_matlab(dtype):
    """`as_roots` against the port, which sorts complex numbers as Octave does."""
    random = np.random.RandomState(1)
    squares = random.randint(-2, 5, (40, 30)).astype(dtype)        # many ties, many signs
    squares[::3] = abs(squares[::3])
    complex_dtype = np.result_type(dtype, np.complex64)
    roots = np.sqrt(squares.astype(complex_dtype))
    labels = (random.randint(0, 6, 30), random.randint(0, 6, 40), random.randint(1, 3, 30),
              random.randint(1, 3, 40))
    theirs = matlab.evaluation(roots.T, *labels)
    n_negative = int((squares < 0).sum())
    assert as_roots(squares) == n_negative > 100
    ours = matlab.evaluation(squares.T, *labels)
    assert ours[1] == theirs[1]
    np.testing.assert_array_equal(ours[0], theirs[0])


def test_imaginary_distances_are_counted_and_explained(tmp_path, capsys):
    """Queries that are in the gallery: some squares come out below 0, whatever the BLAS."""
    world = made(6)
    identity, camera, features = world["gallery"]
    path = tmp_path / "result.npz"
    cases.save_features(path, (features.T[40:], features.T),
                        Labels(identity[40:], camera[40:] % 6 + 1), Labels(identity, camera))
    out = run(capsys, path, "--driver", "market1501")[1]
    n, = re.findall(r"^Euclidean +float32 rounding produced ([\d,]+) complex distances of 67,200, "
                    r"roots", out, re.MULTILINE)
    assert 0 < int(n) <= 240
    answer = json.loads(run(capsys, "--json", path, "--driver", "market1501")[1])
    assert answer["complex_distances"] == int(n)


# ---------------------------------------------------------------- published lines

@pytest.mark.parametrize("driver, dataset, files, method, expected", [
    ("market1501", "market1501", ["ResNet_50_IDE_test.mat"], "Euclidean", ("78.92", "55.03")),
    ("market1501", "market1501", ["x.mat"], "XQDA + re-ranking", ("80.70", "69.98")),
    ("ide", "market1501", ["IDE_CaffeNet_test.mat"], "KISSME", ("61.02", "36.72")),
    ("cuhk03", "cuhk03-np-labeled", ["x.mat"], "XQDA + re-ranking", ("38.1", "40.3")),
    ("cuhk03", "cuhk03-np-detected", ["CaffeNet.mat"], "Euclidean", ("15.1", "14.2"))])
def test_published_line(driver, dataset, files, method, expected):
    found = Recognised(FINGERPRINTS[dataset], ())
    beside = published_lines(DRIVERS[driver], files, found)
    assert (beside[method].rank1, beside[method].mAP) == expected


def test_published_line_in_table_and_json(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("reid_ref.commands.scripts.show.recognise",
                        lambda *labels: Recognised(FINGERPRINTS["market1501"], ()))
    files = ide_files(tmp_path)
    out = run(capsys, *files, "--driver", "ide")[1]
    assert rows(out)["KISSME"] == ["60.00", "36.18", "77.52", "53.88"]
    assert "only its features give these digits" in " ".join(out.split())
    answer = json.loads(run(capsys, "--json", *files, "--driver", "ide")[1])
    assert answer["lines"][2]["published"] == {
        "key": "market1501/ide-resnet50-kissme", "Rank-1": "77.52", "mAP": "53.88"}
    assert answer["dataset"] == {"name": "Market-1501", "off": []}


# ---------------------------------------------------------------- lines that cannot be computed

def inputs_of(random, n_query, n_gallery, n_train, d, dtype=np.float64):
    def side(n):
        x = random.randn(n, d)
        return ImageSet((x / np.linalg.norm(x, axis=1)[:, np.newaxis]).astype(dtype),
                        Labels(np.arange(n) // 2 % 40, np.arange(n) % 2 + 1))
    return Inputs(side(n_query), side(n_gallery), side(n_train))


def test_small_set_is_not_re_ranked():
    inputs, told = inputs_of(np.random.RandomState(0), 4, 12, 40, 8), []
    answer = run_driver("cuhk03", inputs, progress=lambda *what: told.append(what))
    assert sum(n for name, n in told if name == "Euclidean") == 4
    assert list(answer.lines) == ["Euclidean", "XQDA"]
    reason = answer.left_out["XQDA + re-ranking"]
    assert answer.left_out["Euclidean + re-ranking"] == reason
    assert reason.startswith("k1: ") and "from 1 to 15" in reason


def trained_on(inputs, **changes):
    """The inputs, with other labels of the training images."""
    labels = dataclasses.replace(inputs.train.labels, **changes)
    return dataclasses.replace(inputs, train=dataclasses.replace(inputs.train, labels=labels))


@pytest.mark.parametrize("n_train, d, why", [
    (260, 32, "at most 31, the rank of the features"),
    (260, 240, "the covariance of 13 similar pairs is singular in 200 dimensions")])
def test_kissme_that_cannot_be_learnt(n_train, d, why):
    inputs = inputs_of(np.random.RandomState(0), 20, 60, n_train, d)
    inputs = trained_on(inputs, identity=np.arange(n_train) // 2)
    answer = run_driver("ide", inputs)
    assert list(answer.lines) == ["Euclidean", "XQDA"]
    assert why in answer.left_out["KISSME"]
    one_camera = trained_on(inputs, camera=np.ones(n_train, int))
    assert "a person with images of two cameras" in run_driver("ide", one_camera).left_out["XQDA"]


# ---------------------------------------------------------------- bad input

def without(files, *stems):
    return [path for path in files if path.stem not in stems]


def copied(files, stem, name):
    """Copy one file beside it; return the copy."""
    path, = (path for path in files if path.stem == stem)
    return shutil.copy(path, path.with_stem(name))


def changed(files, stem, change):
    """Rewrite the array of one file."""
    path, = (path for path in files if path.stem == stem)
    savemat(path, {"value": change(loadmat(path)["value"])})
    return files


def at(place, value):
    def change(array):
        array[place] = value
        return array
    return change


@pytest.mark.parametrize("driver, change, argument, noun", [
    ("market1501", lambda files: without(files, "train_cam"), "train_label.mat",
     "1 of features, 1 of identity"),
    ("market1501", lambda files: changed(files, "ResNet_50_IDE_train", lambda x: x[:, :-1]),
     "ResNet_50_IDE_train.mat: value", "(208, 647)"),
    ("market1501", lambda files: changed(files, "ResNet_50_IDE_train", lambda x: x[:-1]),
     "features", "207 (train)"),
    ("market1501", lambda files: changed(files, "ResNet_50_IDE_query", at((slice(None), 7), 0)),
     "query features", "zeros in row 7"),
    ("mars", lambda files: without(files, "ide_feat_train"),
     "tracks_test_info.mat", "no ide_feat_train.mat"),
    ("mars", lambda files: changed(files, "tracks_test_info", at((9, 1), 1)),
     "ide_feat_test.mat: first, last", "one frame per tracklet"),
    ("market1501", lambda files: [*files, copied(files, "train_label", "train_id")],
     "train_id.mat", "2 of identity"),
    ("mars", lambda files: [*files, copied(files, "tracks_test_info", "tracks_test")],
     "tracks_test.mat", "two for one of them"),
    ("mars", lambda files: changed(files, "ide_feat_test", at((slice(None), 0), 0)),
     "ide_feat_test.mat", "zeros in row 0")])
def test_bad_input(driver, change, argument, noun, tmp_path):
    files = change(FILES[driver](tmp_path))
    refused(argument, noun, read_inputs, driver, *files)
