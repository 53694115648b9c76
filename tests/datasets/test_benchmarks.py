"""Names of benchmarks, and the convention that papers print on them."""
import re
import warnings

import numpy as np
import pytest

from reid_ref import CONVENTIONS, Labels
from reid_ref.cli import main
from reid_ref.datasets import FINGERPRINTS
from reid_ref.datasets.benchmarks import (
    BENCHMARKS, IMAGES, benchmark_named, benchmarks_in, expected_convention)
from reid_ref.protocols import PROTOCOLS
from tests.cases import save_features
from tests.commands.common import MARKET, assert_one_line_error, command
from tests.documents import ROOT


def test_the_table():
    assert FINGERPRINTS.keys() <= BENCHMARKS.keys()
    for key, benchmark in BENCHMARKS.items():
        assert benchmark.convention in ("", *CONVENTIONS)
        assert benchmark.convention or benchmark.note
        for spelling in (key, benchmark.name, *benchmark.spellings):
            assert benchmark_named(spelling) == key
            assert benchmarks_in(f"on {spelling}, too") == [key]


def test_every_count_has_a_source_and_is_that_of_the_protocols():
    counts = {(images.key, images.query, images.gallery) for images in IMAGES}
    assert len(counts) >= 45
    for images in IMAGES:
        assert images.key in BENCHMARKS and 0 < images.query and 0 < images.gallery
        assert re.match(r"([\w-]+/[\w.-]+ [0-9a-f]{7}|arXiv:\d{4}\.\d{5}), ",
                        images.source), images
    keys = {images.key for images in IMAGES}
    #: No source was found for the queries of PRCC, and SYSU-MM01's indoor pool has no one gallery.
    for protocol in PROTOCOLS.values():
        for part, (query, gallery) in protocol.counts.items():
            if protocol.benchmark in keys and (protocol.name[:9], part) != ("sysu-mm01", "indoor"):
                assert (protocol.benchmark, query, gallery) in counts, (protocol.name, part)
    for key in keys:
        for size in filter(None, BENCHMARKS[key].sizes):
            query, gallery = map(int, size.split("x"))
            assert (key, query, gallery) in counts or query == gallery, size


def test_the_page_says_what_the_table_says():
    rows = re.findall(r"^\| (.*?) \| `--convention (\S+)` \|",
                      (ROOT / "docs/benchmarks.md").read_text(), re.MULTILINE)
    assert len(rows) == 20
    for name, convention in rows:
        conventions = {BENCHMARKS[key].convention for key in benchmarks_in(name)}
        assert conventions == {convention}, name


@pytest.mark.parametrize(("name", "said"), [
    ("sysu", "papers print --convention sysu-mm01 there (mean of ten galleries"),
    ("regdb", "papers print --convention simpleir"), ("VehicleID", "--convention simpleir"),
    ("veri-wild", "--convention torchreid"), ("prcc", "--convention torchreid"),
    ("LTCC", "--protocol ltcc"), ("msmt17", "--convention torchreid"),
    ("prw", "'prw' is a benchmark, not a convention; detections are needed: --protocol prw"),
    ("sysu-mn01", "Did you mean 'sysu-mm01'?")])
def test_a_benchmark_is_no_convention(name, said):
    assert_one_line_error(command("evaluate", MARKET, "--convention", name), re.escape(said))


def sides(n_query, n_gallery, query_cameras=(1, 2), gallery_cameras=(1, 2), identities=50):
    return [Labels(np.arange(n) % identities + 1, np.resize(np.repeat(cameras, identities), n))
            for n, cameras in ((n_query, query_cameras), (n_gallery, gallery_cameras))]


@pytest.mark.parametrize(("labels", "expected"), [
    (sides(100, 400), None),
    (sides(100, 400, (3,), (4, 5)), ("query and gallery share no camera", "torchreid")),
    (sides(100, 400, (0,), (0,)), None),  # the warning of queries without a match says it
    (sides(100, 50), ("every identity has one gallery image", "torchreid")),
    (sides(3803, 301), ("the counts are those of SYSU-MM01", "sysu-mm01")),
    (sides(2060, 2060), ("the counts are those of RegDB", "simpleir")),
    (sides(5693, 800, identities=800), ("the counts are those of VehicleID", "simpleir")),
    (sides(493, 7050), ("the counts are those of LTCC", "torchreid")),
    (sides(834, 1074), ("the counts are those of CCVID", "torchreid")),
    (sides(7166, 8680), ("the counts are those of LLCM", "torchreid")),
    (sides(17527, 62956), ("the counts are those of DeepChange", "torchreid")),
    (sides(1020, 8591), ("the counts are those of VC-Clothes", "torchreid")),
    (sides(6156, 3074), ("the counts are those of CUHK-PEDES", "simpleir")),
    (sides(2356, 6347), ("the counts are those of AG-ReID", "torchreid")),
    (sides(3543, 3384), ("the counts are those of PRCC", "torchreid")),
    (sides(3000, 38861), ("the counts are those of VERI-Wild", "torchreid"))])
def test_the_convention_that_papers_print(labels, expected):
    found = expected_convention(*labels)
    assert (found and found[:2]) == expected


def test_evaluate_says_it_in_one_line_under_its_default_alone(tmp_path, capsys):
    query, gallery = sides(100, 400, (3,), (4, 5))
    path, rng = str(tmp_path / "result.npz"), np.random.default_rng(0)
    centres = rng.standard_normal((51, 16))
    save_features(path, [centres[side.identity] + .3 * rng.standard_normal((len(side), 16))
                         for side in (query, gallery)], query, gallery)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["evaluate", path]) == 0
    assert capsys.readouterr().err == (
        "reid-ref: warning: query and gallery share no camera: papers print --convention "
        "torchreid there, not these numbers of matlab\n")
    for words in (["--convention", "matlab"], ["--set", "ap=step"]):
        assert main(["evaluate", path, *words]) == 0
        assert capsys.readouterr().err == ""
