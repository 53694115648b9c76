"""The saved results of real networks, and the program that makes them.

With REID_REF_MARKET1501=FOLDER, the data set's, all are made again; REID_REF_WEIGHTS is the folder
of their weights, which are fetched without it.
"""
import gzip
import hashlib
import json
import os
import re

import numpy as np
import pytest

import reid_ref
from fixtures.baselines import convert, make
from reid_ref.datasets.labels import read_list
from reid_ref.datasets.published import by_key
from tests.commands.common import assert_one_line_error, command, table
from tests.documents import ROOT, hold, run_page
from tests.installed import absent, version_of
from tests.refusals import refused
from tests.shared import shared

FOLDER = ROOT / "fixtures/baselines"
KEPT = [(name, convention) for name, network in make.NETWORKS.items()
        for convention in network.conventions]
#: By how many points another decoder or another processor moves mAP and Rank-1.
MOVED = .08, .18


def kept(name, convention):
    return FOLDER / make.NETWORKS[name].file(convention)


# ---------------------------------------------------------------- what is kept

def test_every_file_is_of_a_network():
    assert {path.name for path in FOLDER.glob("*.gz")} == {
        kept(*each).name for each in KEPT}


@pytest.mark.parametrize("each", KEPT, ids="-".join)
def test_a_kept_result(each):
    """Under its convention, of all images, small, without a name of an image or a feature."""
    result = reid_ref.load(kept(*each))
    assert result.convention.name == each[1]
    assert (result.counts.query, result.counts.gallery) == (3368, 19732)
    content = kept(*each).read_bytes()
    assert len(content) < 250_000 and content[4:8] == bytes(4)
    text = gzip.decompress(content).decode()
    assert re.search(r"_c\ds\d|\.jpg", text) is None
    # Lists of numbers alone, none of them broken.
    assert all(type(value) is int for column in json.loads(text)["ranks"].values()
               for value in column)


def test_the_labels_are_those_of_a_public_list():
    public = read_list(shared("real/market1501") / "market1501_query.csv")
    for each in KEPT:
        rows = reid_ref.load(kept(*each)).per_query
        assert rows.identity.tolist() == public.identity.tolist()
        assert rows.camera.tolist() == public.camera.tolist()


@pytest.mark.parametrize("name", make.NETWORKS)
def test_the_printed_figures(name):
    """The first convention meets the figure as near as two machines meet; matlab 0288's later.

    Where the network that was measured has one layer more, it does not.
    """
    network = make.NETWORKS[name]
    near = (.1, .185) if network.complete else (.46, .81)
    for key, convention in zip(network.printed, network.conventions):
        row, result = by_key(key), reid_ref.load(kept(name, convention))
        assert abs(100 * result.mAP - float(row.mAP)) < near[0], key
        assert abs(100 * result.value("Rank-1") - float(row.rank1)) < near[1], key


@pytest.mark.parametrize("path", sorted((FOLDER / "reranked").iterdir()),
                         ids=lambda path: path.stem)
def test_reranked_results(path):
    """Of every network that has others, with a higher mAP, on the same queries."""
    before = reid_ref.load(kept(path.name.removesuffix(".json.gz"), "matlab"))
    after = reid_ref.load(path)
    assert after.signature["rerank"] == "matlab" and after.mAP > before.mAP + .05
    assert (after.per_query.identity == before.per_query.identity).all()
    assert len([*path.parent.iterdir()]) == sum(
        (FOLDER / network.file(network.conventions[0])).exists() and not network.copy_of
        for network in make.NETWORKS.values())


def test_the_page(tmp_path):
    page = (FOLDER / "README.md").read_text()
    hold("fixtures/baselines/README.md", page, run_page(
        page, tmp_path, {}, without=lambda words: "reid-ref scripts" in words))


def test_a_form_of_before_is_written_anew(tmp_path):
    """A file that lacks a column, or has one more, has its numbers again."""
    path = tmp_path / "x.json.gz"
    before = kept("osnet_x0_25", "matlab").read_bytes()
    values = json.loads(gzip.decompress(before))
    del values["ranks"]["n_junk"]
    values["ranks"]["more"] = values["counts"]["more"] = 0
    path.write_bytes(gzip.compress(json.dumps(values).encode()))
    with pytest.raises(reid_ref.InputError, match="n_junk"):
        reid_ref.load(path)
    values["ranks"]["n_junk"] = json.loads(gzip.decompress(before))["ranks"]["n_junk"]
    path.write_bytes(gzip.compress(json.dumps(values).encode()))
    convert.convert(path)
    assert gzip.decompress(path.read_bytes()) == gzip.decompress(before).replace(
        b'"schema": 3', b'"schema": 4', 1)
    values["mAP"] += 1e-6
    path.write_bytes(gzip.compress(json.dumps(values).encode()))
    with pytest.raises(AssertionError, match="mAP"):
        convert.convert(path)


# ---------------------------------------------------------------- packed files and commands

ONE, OTHER = (kept(f"person-reidentification-retail-{n}", "matlab") for n in ("0288", "0286"))


def unpacked(folder, *paths):
    """Files of the same results that are not packed."""
    for path in paths:
        (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        yield folder / path.stem


@pytest.mark.parametrize("words", [
    "evaluate ONE --json", "evaluate ONE OTHER --format csv", "compare ONE OTHER --json",
    "evaluate ONE --baseline OTHER --json", "plot cmc ONE OTHER -o OUT.svg",
    "report ONE -o OUT.html"])
def test_a_packed_result_is_as_any_other(words, tmp_path):
    def answer(one, other, folder):
        folder.mkdir()
        done = command(*(word.replace("ONE", str(one)).replace("OTHER", str(other))
                         for word in words.split()), cwd=folder)
        files = [path.read_text().replace(".json.gz", ".json") for path in folder.iterdir()]
        texts = [done.stdout, done.stderr, *files]
        assert done.returncode in (0, 5) and texts != ["", ""]
        return done.returncode, [text.replace(str(one.parent), "").replace(
            ".json.gz", ".json") for text in texts]

    plain = answer(*unpacked(tmp_path, ONE, OTHER), tmp_path / "plain")
    assert answer(ONE, OTHER, tmp_path / "packed") == plain


def test_a_folder_of_packed_results(tmp_path):
    """Its files are the seeds of a system, as those are that a system names."""
    (tmp_path / "packed").mkdir()
    for k, path in enumerate((ONE, OTHER)):
        (tmp_path / f"packed/{k}.json.gz").write_bytes(path.read_bytes())
    of_folder, named = (table("compare", first, kept("osnet_x0_25", "matlab")) for first in (
        tmp_path / "packed", f"packed={ONE},{OTHER}"))
    assert of_folder == named


def test_saved_packed_twice(tmp_path):
    """The same bytes, whatever the time and the name; what is packed is what is not."""
    names = ["a.json.gz", "B.JSON.GZ", "c.json"]
    for name in names:
        table("evaluate", ROOT / "fixtures/market_like.mat", "--save", tmp_path / name)
    one, other, plain = ((tmp_path / name).read_bytes() for name in names)
    assert one == other and gzip.decompress(one) == plain and len(one) < len(plain) / 2
    assert one[4:8] == bytes(4) and b"json" not in one[:40]
    assert reid_ref.load(tmp_path / names[0]) == reid_ref.load(tmp_path / names[2])


@pytest.mark.parametrize("name", ["x.gz", "x.run.gz", "x.csv.gz"])
def test_what_is_not_packed(name, tmp_path):
    assert_one_line_error(command("evaluate", ROOT / "fixtures/market_like.mat", "--save",
                                  tmp_path / name), "--save: .*ends in .json, .json.gz or .run")


WHOLE = kept("person-reidentification-retail-0286", "matlab").read_bytes()
BOMB = gzip.compress(b" " * 2**24)


@pytest.mark.parametrize(("content", "noun"), [
    (b"", "cut, damaged"), (WHOLE[:-1], "cut, damaged"), (WHOLE[:1000], "cut, damaged"),
    (WHOLE[:5000] + b"x" + WHOLE[5001:], "cut, damaged"), (WHOLE + b"x", "cut, damaged"),
    (WHOLE + WHOLE, "cut, damaged"), (gzip.decompress(WHOLE), "not packed by gzip"),
    (WHOLE[:-4] + (1000).to_bytes(4, "little"), "cut, damaged"),
    (WHOLE[:-4] + b"\xff" * 4, "cut, damaged"), (BOMB[:-4] + bytes(4), "cut, damaged"),
    (BOMB, "JSON"), (gzip.compress(b"\xff\xfe"), "not text"), (gzip.compress(b"[]"), "JSON")],
    ids=range(13))
def test_a_spoilt_packed_file(content, noun, tmp_path):
    path = tmp_path / "x.json.gz"
    path.write_bytes(content)
    refused("x.json.gz", noun, reid_ref.load, path)
    assert_one_line_error(command("evaluate", path), noun)


def test_a_packed_file_that_does_not_fit(tmp_path, monkeypatch):
    """Its size is known, and refused, before it is unpacked."""
    path = tmp_path / "x.json.gz"
    path.write_bytes(BOMB)
    monkeypatch.setattr("reid_ref.arrays.memory.free_bytes", lambda: 2**24)
    monkeypatch.setattr("zlib.decompressobj", None)
    refused("x.json.gz", "fit in memory", reid_ref.load, path)


def test_no_more_is_unpacked_than_a_file_tells(tmp_path, monkeypatch):
    unpacked = []

    class Machine:
        eof, unused_data = True, b""

        def decompress(self, content, most):
            unpacked.append(most)
            return bytes(most)

    monkeypatch.setattr("zlib.decompressobj", lambda form: Machine())
    path = tmp_path / "x.json.gz"
    path.write_bytes(BOMB[:-4] + (500).to_bytes(4, "little"))
    refused("x.json.gz", "cut, damaged", reid_ref.load, path)
    assert unpacked == [501]


# ---------------------------------------------------------------- plot conventions

def test_one_network_under_several_conventions(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    drawn = []
    monkeypatch.setattr("reid_ref.drawing.conventions", lambda results, ax, **_: drawn.append(
        results))
    network = make.NETWORKS["osnet_x0_25"]
    table("plot", "conventions", *(kept(network.name, each) for each in network.conventions),
          "-o", tmp_path / "x.svg")
    results, = drawn
    assert [*results] == network.conventions
    for name, result in results.items():
        assert result.mAP == reid_ref.load(kept(network.name, name)).mAP


def test_what_is_not_one_result_under_several_conventions(tmp_path):
    pytest.importorskip("matplotlib")
    out = "-o", tmp_path / "x.svg"
    assert_one_line_error(command("plot", "conventions", ONE, OTHER, *out),
                          "0286-matlab: .*a convention of its own, got matlab, as .*0288-matlab")
    table("evaluate", ROOT / "fixtures/market_like.mat", "--save", tmp_path / "other.json")
    assert_one_line_error(command("plot", "conventions", kept("osnet_x0_25", "torchreid"),
                                  tmp_path / "other.json", *out), "other: .*3368 queries")
    assert_one_line_error(command("plot", "conventions", ONE, ROOT / "fixtures/market_like.mat",
                                  *out), "plot conventions: .*features or distances")
    assert_one_line_error(command("plot", "conventions", ONE, "--convention", "mars", *out),
                          "--convention: .*features or distances")


# ---------------------------------------------------------------- make.py on made images

#: Name below the folder of the set, and the colour of the image.
IMAGES = {"query/0002_c1s1_000451_03.jpg": (255, 0, 0),
          "query/0007_c2s1_000001_00.jpg": (0, 51, 0),
          "bounding_box_test/0002_c2s1_000301_00.jpg": (204, 0, 51),
          "bounding_box_test/-1_c1s1_000401_03.jpg": (1, 2, 3),
          "bounding_box_test/0007_c3s1_000551_00.jpg": (0, 102, 51),
          "bounding_box_test/0000_c1s1_000401_03.jpg": (255, 255, 255)}


def varint(number):
    return bytes([number]) if number < 128 else bytes([number % 128 + 128]) + varint(number // 128)


def message(*fields):
    """A message of protocol buffers: numbers of fields, and whole numbers, text or messages."""
    content = b""
    for number, value in zip(fields[::2], fields[1::2]):
        if isinstance(value, int):
            content += varint(8 * number) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            content += varint(8 * number + 2) + varint(len(value)) + value
    return content


def onnx(*inputs, kind=1):
    """A network of one layer, the mean over the image; inputs are their sizes."""
    def value(name, sizes):
        dimensions = (part for size in sizes for part in (
            1, message(2, size) if isinstance(size, str) else message(1, size)))
        return message(1, name, 2, message(1, message(1, kind, 2, message(*dimensions))))

    named = [(f"in{k}", sizes) for k, sizes in enumerate(inputs)]
    node = message(1, "in0", 2, "out", 4, "GlobalAveragePool")
    graph = message(1, node, 2, "tiny", *(part for each in named for part in (11, value(*each))),
                    12, value("out", ["n", 3, 1, 1]))
    return message(1, 8, 7, graph, 8, message(1, "", 2, 13))


IR = """<net name="tiny" version="11"><layers>
<layer id="0" name="in" type="Parameter" version="opset1">
<data shape="1,{sizes}" element_type="f32"/>
<output><port id="0" precision="FP32"/></output></layer>
<layer id="1" name="axes" type="Const" version="opset1">
<data element_type="i64" shape="2" offset="0" size="16"/>
<output><port id="0" precision="I64"><dim>2</dim></port></output></layer>
<layer id="2" name="mean" type="ReduceMean" version="opset1"><data keep_dims="false"/>
<input><port id="0"/><port id="1"/></input><output><port id="2" precision="FP32"/></output></layer>
<layer id="3" name="out" type="Result" version="opset1"><input><port id="0"/></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges></net>"""


def ir(sizes="3,256,128"):
    return {".xml": IR.format(sizes=sizes).encode(),
            ".bin": np.array([2, 3], "<i8").tobytes()}


@pytest.fixture
def images(tmp_path):
    """The folder of a few images; they are PNG inside, so that no decoder moves them."""
    version_of("pillow")
    from PIL import Image
    folder = tmp_path / "Market-1501-v15.09.15"
    for name, colour in IMAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (64, 128), colour).save(folder / name, format="PNG")
    return folder


@pytest.fixture
def network(tmp_path, monkeypatch):
    """A function that adds a network of these weights, which lie in a folder, to the known."""
    def add(weights, preprocessing="torchreid"):
        (tmp_path / "weights").mkdir(exist_ok=True)
        for suffix, content in weights.items():
            (tmp_path / f"weights/tiny{suffix}").write_bytes(content)
        tiny = make.NETWORKS["osnet_x0_25"]._replace(
            name="tiny", preprocessing=preprocessing, conventions=["torchreid", "matlab"],
            copy_of="osnet_x0_25",  # too few images to re-rank
            weights={suffix: hashlib.sha256(content).hexdigest()
                     for suffix, content in weights.items()})
        monkeypatch.setitem(make.NETWORKS, "tiny", tiny)
        return tiny
    return add


@pytest.mark.parametrize(("package", "weights", "preprocessing"), [
    ("onnxruntime", {".onnx": onnx(["n", 3, 256, 128])}, "torchreid"),
    ("onnxruntime", {".onnx": onnx(["n", 3, "h", "w"])}, "open-model-zoo"),
    ("openvino", ir(), "open-model-zoo")])
def test_images_to_results(package, weights, preprocessing, images, network, tmp_path, monkeypatch,
                           capsys):
    version_of(package)
    tiny = network(weights, preprocessing)
    monkeypatch.setattr(make, "check_whole", lambda *arguments: None)
    monkeypatch.setattr(make, "BATCH", 4)
    monkeypatch.setattr(make, "HERE", tmp_path)
    words = [str(images), "tiny", "--weights", str(tmp_path / "weights"), "--out", str(tmp_path)]
    make.main(words)
    data = reid_ref.read(tmp_path / "tiny.npz")
    assert data.query.identity.tolist() == [2, 7] and data.query.camera.tolist() == [1, 2]
    assert data.gallery.identity.tolist() == [-1, 0, 2, 7]
    assert data.gallery.camera.tolist() == [1, 1, 2, 3]
    colours = np.array([IMAGES[name] for name in sorted(
        IMAGES, key=lambda name: (name[0] != "q", name))])
    expected = colours[:, ::-1] if preprocessing == "open-model-zoo" else (
        colours / 255 - [.485, .456, .406]) / [.229, .224, .225]
    features = np.concatenate([data.query_features, data.gallery_features])
    np.testing.assert_allclose(features, expected, rtol=1e-4, atol=1e-4)
    for convention in tiny.conventions:
        result = reid_ref.load(tmp_path / tiny.file(convention))
        assert result == reid_ref.evaluate(data.query_features, data.gallery_features, data.query,
                                           data.gallery, convention=convention)
    assert capsys.readouterr().out.count("equal to the one kept") == 2


def made(capsys, *words):
    """The one sentence with which the program ends."""
    with pytest.raises(SystemExit) as stop:
        make.main([*map(str, words)])
    assert capsys.readouterr().out == "" and "\n" not in stop.value.code
    return stop.value.code


def test_a_folder_that_is_not_the_set(images, network, tmp_path, capsys):
    network({".onnx": onnx(["n", 3, 256, 128])})
    words = "tiny", "--weights", tmp_path / "weights", "--out", tmp_path
    assert re.search("3,368 queries and 19,732 gallery images, got 2 and 4",
                     made(capsys, images, *words))
    (tmp_path / "empty").mkdir()
    assert "expected the folder of a data set" in made(capsys, tmp_path / "empty", *words)
    assert not (tmp_path / "tiny.npz").exists()


def test_an_image_that_is_none(images):
    path = images / next(iter(IMAGES))
    path.write_bytes(b"no image")
    refused(path.name, "an image", make.pixels_of, path, make.NETWORKS["osnet_x0_25"])


@pytest.mark.parametrize(("inputs", "kind", "noun"), [
    ([["n", 3, 224, 224]], 1, "got n x 3 x 224 x 224"), ([[1, 3, 256, 128]], 1, "got 1 x 3 x"),
    ([["n", 3, 256, 128]] * 2, 1, "; n x 3"), ([["n", 3, 256]], 1, "n x 3 x 256, "),
    ([["n", 3, 256, 128]], 10, "float16")])
def test_an_onnx_of_other_inputs(inputs, kind, noun, network, tmp_path):
    version_of("onnxruntime")
    paths = make.weights_of(network({".onnx": onnx(*inputs, kind=kind)}), tmp_path / "weights")
    error = refused("tiny.onnx", noun.removeprefix("got "), make.network_of, paths)
    assert "one input, N x 3 x 256 x 128" in error.expected


def test_an_ir_of_other_inputs(network, tmp_path):
    version_of("openvino")
    paths = make.weights_of(network(ir("3,64,64")), tmp_path / "weights")
    refused("tiny.xml", "3 x 64 x 64", make.network_of, paths)


@pytest.mark.parametrize(("package", "weights"), [
    ("onnxruntime", {".onnx": b"no network"}), ("openvino", {".xml": b"<no/>", ".bin": b""})])
def test_no_network(package, weights, network, tmp_path):
    version_of(package)
    paths = make.weights_of(network(weights), tmp_path / "weights")
    refused(f"tiny{next(iter(weights))}", "a network", make.network_of, paths)


def test_other_weights(network, tmp_path):
    tiny, path = network({".onnx": b"right"}), tmp_path / "weights/tiny.onnx"
    path.write_bytes(b"wrong")
    error = refused("tiny.onnx", tiny.weights[".onnx"], make.weights_of, tiny, path.parent)
    assert error.got == hashlib.sha256(b"wrong").hexdigest() and tiny.commit in error.remedy


def test_weights_are_fetched(network, tmp_path, monkeypatch):
    """Into the folder, if they are right, and once."""
    tiny = network({".onnx": b"right"})
    monkeypatch.setattr(make, "HOST", (tmp_path / "host").as_uri())
    refused("tiny.onnx", "cannot be fetched", make.weights_of, tiny, tmp_path / "new")
    source = tmp_path / "host" / tiny.repository / tiny.commit / f"{tiny.path}.onnx"
    source.parent.mkdir(parents=True)
    source.write_bytes(b"wrong")
    refused("tiny.onnx", "sha256", make.weights_of, tiny, tmp_path / "new")
    assert not (tmp_path / "new/tiny.onnx").exists()
    source.write_bytes(b"right")
    make.weights_of(tiny, tmp_path / "new")
    source.unlink()
    paths = make.weights_of(tiny, tmp_path / "new")
    assert paths[".onnx"].read_bytes() == b"right"
    source.write_bytes(b"right")
    monkeypatch.setattr(make, "LARGEST", 4)
    refused("tiny.onnx", "at most 4 bytes", make.weights_of, tiny, tmp_path / "other")


@pytest.mark.parametrize("name", make.NETWORKS)
def test_made_again(name, tmp_path):
    folder = os.environ.get("REID_REF_MARKET1501")
    if folder is None:
        absent("REID_REF_MARKET1501 names no folder of Market-1501", "REID_REF_MARKET1501")
    network = make.NETWORKS[name]
    features = make.make_features(folder, network, os.environ.get(
        "REID_REF_WEIGHTS", tmp_path / "weights"), tmp_path)
    for convention, path in make.make_results(features, network, tmp_path):
        mAP, rank1, _ = make.difference(path, kept(name, convention))
        assert mAP <= MOVED[0] and rank1 <= MOVED[1], (convention, mAP, rank1)


# ---------------------------------------------------------------- OpenVINO's old form

def old_layer(number, kind, shape, data=(), **blobs):
    """A layer of IR 3; blobs are its places in the file of weights."""
    return (f'<layer id="{number}" name="{kind}{number}" type="{kind}"><data '
            + " ".join(f'{name}="{value}"' for name, value in dict(data).items()) + "/><output>"
            '<port id="9">' + "".join(f"<dim>{size}</dim>" for size in shape) + "</port></output>"
            "<blobs>" + "".join(f'<{name} offset="{4 * start}" size="{4 * size}"/>'
                                for name, (start, size) in blobs.items()) + "</blobs></layer>")


OLD = {"kernel": "1,1", "strides": "1,1", "pads_begin": "0,0", "pads_end": "0,0",
       "dilations": "1,1", "rounding_type": "ceil"}
OLD_LAYERS = [
    old_layer(0, "Input", (1, 2, 3, 3)),
    old_layer(1, "ScaleShift", (1, 2, 3, 3), weights=(0, 2), biases=(2, 2)),
    old_layer(2, "Convolution", (1, 2, 3, 3), {**OLD, "group": 2}, weights=(4, 2)),
    old_layer(3, "Activation", (1, 2, 3, 3), {"type": "elu", "alpha": "0.5"}),
    old_layer(4, "Eltwise", (1, 2, 3, 3), {"operation": "sum"}),
    old_layer(5, "Pooling", (1, 2, 2, 2), {**OLD, "kernel": "2,2", "strides": "2,2",
                                           "pool-method": "max"}),
    old_layer(6, "ReLU", (1, 2, 2, 2), {"negative_slope": "0.0"}),
    old_layer(7, "FullyConnected", (1, 3), {"out-size": 3}, weights=(6, 24), biases=(30, 3))]
OLD_EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (1, 4), (4, 5), (5, 6), (6, 7)]


def old_network(folder, layers):
    """The two files of a network of IR 3, and its weights."""
    edges = "".join(f'<edge from-layer="{a}" from-port="9" to-layer="{b}" to-port="{port}"/>'
                    for port, (a, b) in enumerate(OLD_EDGES))
    (folder / "old.xml").write_text(
        f'<net name="old" version="3"><layers>{"".join(layers)}</layers><edges>{edges}</edges>'
        "</net>")
    weights = np.random.default_rng(3).standard_normal(33).astype("<f4")
    (folder / "old.bin").write_bytes(weights.tobytes())
    return {".xml": folder / "old.xml", ".bin": folder / "old.bin"}, weights


def test_a_network_of_the_old_form(tmp_path):
    """Each kind of layer, against the same in numpy."""
    version_of("openvino")
    paths, w = old_network(tmp_path, OLD_LAYERS)
    images = np.random.default_rng(4).standard_normal((5, 2, 3, 3)).astype("f4")
    scaled = images * w[:2, None, None] + w[2:4, None, None]
    x = scaled * w[4:6, None, None]
    x = np.where(x > 0, x, .5 * np.expm1(x)) + scaled
    x = np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 1)], constant_values=-np.inf)
    x = np.maximum(x.reshape(5, 2, 2, 2, 2, 2).max(axis=(3, 5)), 0).reshape(5, 8)
    expected = x @ w[6:30].reshape(3, 8).T + w[30:]
    np.testing.assert_allclose(make.network_of(paths, (2, 3, 3))(images), expected, rtol=1e-5,
                               atol=1e-5)


def test_a_layer_that_is_not_known(tmp_path):
    version_of("openvino")
    paths, _ = old_network(tmp_path, [layer.replace("ScaleShift", "Crop") for layer in OLD_LAYERS])
    refused("old.xml", "a network", make.network_of, paths, (2, 3, 3))


def test_resizing_as_opencv_does(tmp_path):
    """Half the size: the mean of four pixels of sixteen, where Pillow smooths over all."""
    version_of("pillow")
    from PIL import Image
    image = np.zeros((4, 4, 3), np.uint8)
    image[1, 1] = 200
    small = np.asarray(make.opencv_bilinear(Image.fromarray(image), [1, 1]))
    assert small.tolist() == [[[50, 50, 50]]]
