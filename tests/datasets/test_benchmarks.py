"""Names of benchmarks, and the convention that papers print on them."""
import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.cli import main
from reid_ref.datasets import FINGERPRINTS
from reid_ref.datasets.benchmarks import (
    BENCHMARKS, FIELDS, ImageCounts, benchmark_named, benchmarks_in, folded, unlike_market)
from reid_ref.datasets.records import tables
from reid_ref.protocols import PROTOCOLS, Given, Part, find_protocol
from reid_ref.protocols.records import protocols_of
from reid_ref.protocols.tables import checked_table
from tests.cases import save_features
from tests.documents import ROOT

#: Recipes of a toolbox of the guide that differ from its own.
OF_THEIR_OWN = ("vehicleid", "vehicleid-draws", "prcc", "prcc-single-shot", "deepchange")


def test_names():
    assert FINGERPRINTS.keys() <= BENCHMARKS.keys()
    for key, benchmark in BENCHMARKS.items():
        for spelling in (key, benchmark.name, *benchmark.spellings):
            assert benchmark_named(spelling) == key
            assert benchmarks_in(f"on {spelling}, too") == [key]


def test_the_name_of_a_benchmark_is_a_protocol_in_any_spelling():
    for key, benchmark in BENCHMARKS.items():
        first = PROTOCOLS[benchmark.protocols[0]["name"]]
        for spelling in (key, benchmark.name, *benchmark.spellings):
            found = find_protocol(spelling)
            assert found is (PROTOCOLS.get(folded(spelling, "-")) or first)
            assert found.benchmark == key
        for record in PROTOCOLS.values():
            if record.benchmark == key and record.later:
                later = PROTOCOLS[record.later.protocol]
                assert later.benchmark == key and record.later.words
                assert later.parts == record.parts == (Part(),) and later.trials == Given()


def test_files_are_read_as_those_of_users_are():
    """Each has known fields only, and no name twice."""
    for key, table in tables().items():
        checked_table(table, key, FIELDS)
        for row in table.get("images", ()):
            assert row.keys() <= set(ImageCounts._fields)
            assert row.get("protocol", next(iter(PROTOCOLS))) in PROTOCOLS
    names = [table["name"] for each in BENCHMARKS.values() for table in each.protocols]
    assert len(names) == len(set(names)) == len(PROTOCOLS)


def test_every_count_has_a_source_and_is_that_of_the_protocols():
    rows = [images for benchmark in BENCHMARKS.values() for images in benchmark.images]
    counts = {(images.key, images.query, images.gallery) for images in rows}
    counts |= {(key, known.counts.query, known.counts.gallery - known.counts.junk)
               for key, known in FINGERPRINTS.items()}
    assert len(counts) >= 55
    for images in rows:
        assert images.key in BENCHMARKS and 0 < images.query and 0 < images.gallery
        assert re.match(r"([\w-]+/[\w.-]+ [0-9a-f]{7}|arXiv:\d{4}\.\d{5}), ",
                        images.source), images
    #: SYSU-MM01's indoor pool has no one gallery; MARS has two, without label -1.
    for protocol in PROTOCOLS.values():
        for part, (query, gallery) in protocol.counts.items():
            if (protocol.name[:9], part) != ("sysu-mm01", "indoor"):
                assert (protocol.benchmark, query, gallery) in counts, (protocol.name, part)


def test_recipes_of_toolboxes_are_those_of_the_guide():
    """A recipe is written once more in each file of a benchmark that it is for."""
    guide = (ROOT / "docs/files.md").read_text()
    heads = set(re.findall(r"^\*\*([^*]+)\*\*", guide, re.MULTILINE))
    n = 0
    for record in PROTOCOLS.values():
        head = re.match(r"\*\*([^*]+)\*\*", record.save.strip())
        if head and head[1] in heads and record.name not in OF_THEIR_OWN:
            assert record.save.strip() in guide, record.name
            n += 1
    assert n >= 30


def sides(n_query, n_gallery, query_cameras=(1, 2), gallery_cameras=(1, 2), identities=50):
    return [Labels(np.arange(n) % identities + 1, np.resize(np.repeat(cameras, identities), n))
            for n, cameras in ((n_query, query_cameras), (n_gallery, gallery_cameras))]


@pytest.mark.parametrize(("labels", "reason"), [
    (sides(100, 400), ""), (sides(100, 400, (3,), (4, 5)), "query and gallery share no camera"),
    (sides(100, 400, (0,), (0,)), ""),  # the warning of queries without a match says it
    (sides(100, 50), "every identity has one gallery image")])
def test_labels_unlike_those_of_market(labels, reason):
    assert unlike_market(*labels) == reason


@pytest.mark.parametrize(("labels", "names"), [
    (sides(100, 400), []), (sides(3803, 301, (3,), (1, 2)), ["sysu-mm01-python"]),
    (sides(2060, 2060), ["regdb", "regdb-deen"]),
    (sides(5693, 800, identities=800), ["vehicleid"]),
    (sides(493, 7050), []), (sides(1052, 18290), ["cityflow"]),
    (sides(3368, 15913), ["market1501", "market1501-fast-reid"]),
    (sides(7166, 8680), ["llcm"]), (sides(6156, 3074), ["cuhk-pedes"]),
    (sides(2356, 6347), ["ag-reid-v2"]),
    (sides(3543, 3384, (2,), (0,)), ["prcc", "prcc-single-shot"]),
    (sides(3000, 38861), ["veri-wild"])])
def test_the_protocols_of_a_file(labels, names):
    assert protocols_of(*labels) == names


def test_evaluate_says_it_in_one_line_under_its_default_alone(tmp_path, capsys):
    query, gallery = sides(100, 400, (3,), (4, 5))
    path, rng = str(tmp_path / "result.npz"), np.random.default_rng(0)
    centres = rng.standard_normal((51, 16))
    save_features(path, [centres[side.identity] + 2 * rng.standard_normal((len(side), 16))
                         for side in (query, gallery)], query, gallery)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["evaluate", path]) == 0
    data = reid_ref.read(path)
    trapezoid, step = (f"{100 * result.mAP:.2f}" for result in reid_ref.evaluate(
        data.query_features, data.gallery_features, data.query, data.gallery,
        convention=["matlab", "fast-reid"]).values())
    assert trapezoid != step
    assert capsys.readouterr().err == (
        f"reid-ref: warning: query and gallery share no camera: mAP is {trapezoid} by the "
        f"trapezoid of matlab and {step} by the step rule of fast-reid; name the one that you "
        "print\n")
    for words in (["--convention", "matlab"], ["--convention", "fast-reid"],
                  ["--set", "ap=step"]):
        assert main(["evaluate", path, *words]) == 0
        assert capsys.readouterr().err == ""


def test_no_benchmark_is_read_before_one_is_asked_for():
    """Neither by the help of commands, nor by importing the package and its rooms."""
    code = """
import contextlib, sys
import reid_ref.protocols, reid_ref.datasets, reid_ref.conventions
from reid_ref.cli import main
for command in ("evaluate", "protocols", "compare", "validate", "report"):
    with contextlib.suppress(SystemExit):
        main([command, "--help"])
from reid_ref.datasets.records import tables
print("read:", tables.cache_info().misses)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.endswith("read: 0\n"), done.stderr


def test_ten_galleries_in_files_of_their_own_are_ten_trials(tmp_path, capsys):
    """SYSU-MM01 as AGW and DEEN extract it; two files of a benchmark with one trial are none."""
    rng = np.random.default_rng(0)
    query = Labels(np.arange(40) % 8, np.repeat([3, 6], 20))
    centres, files = rng.standard_normal((8, 16)), []
    features = centres[query.identity] + rng.standard_normal((40, 16))
    means = []
    for trial in range(10):
        gallery = Labels(np.repeat(np.arange(8), 4), np.tile([1, 2, 4, 5], 8))
        of_gallery = centres[gallery.identity] + rng.standard_normal((32, 16))
        files.append(str(tmp_path / f"A_{trial}.npz"))
        save_features(files[-1], [features, of_gallery], query, gallery)
        means.append(reid_ref.evaluate(features, of_gallery, query, gallery,
                                       convention="sysu-mm01", metric="cosine").mAP)
    assert main(["evaluate", *files, "--protocol", "sysu-mm01-python", "--part", "all",
                 "--json"]) == 0
    part, = json.loads(capsys.readouterr().out)["parts"]
    assert part["mAP"] == pytest.approx(np.mean(means), abs=1e-15) and len(part["trials"]) == 10
    assert main(["evaluate", *files[:2], "--protocol", "ltcc"]) == 2
    assert "one result, for ltcc has one trial" in capsys.readouterr().err
