"""Each convention against its evaluator's own code: recorded answers, and live where PyPI has it.

Recorded: fixtures/peers, see the README there. Live: scikit-learn (extra `peers`); trec_eval in
tests/files/test_trec.py, and the rank.py of fastreid in tests/compat/test_live.py; see
`tests.installed` for what happens without them. One case is a real distance matrix, read where it
is: see `tests.shared`.
"""
import functools
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reid_ref import Labels
from reid_ref.conventions import CONVENTIONS, FUNCTIONS
from reid_ref.evaluation.functions import evaluate_distances
from reid_ref.files import read_result
from reid_ref.labels import IndexLists
from tests.installed import version_of
from tests.shared import shared

PEERS = Path(__file__).parents[2] / "fixtures" / "peers"

EXACT = 0.0
#: The same doubles added in another order (numpy's pairwise sum over a dense vector, or 0.1 some
#: hundred times, where ours adds one term after another): each addition of numbers up to 1
#: rounds by at most 1.1e-16, and there are tens to hundreds.
ORDER_OF_SUMMATION = 4e-15
#: Rounded to float32 where ours is not, or added in float32 in another order: some units in the
#: last place of a float32 between 0.5 and 1.
SINGLE_PRECISION = 4 * 2.0 ** -24

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def rules(convention, ap=ORDER_OF_SUMMATION, mAP=None, cmc=EXACT, **more):
    """What of a peer's answers the convention gives, and how exactly."""
    return convention, {"ap": ap, "mAP": ap if mAP is None else mAP, "cmc": cmc, **more}


def with_inp(convention):
    return rules(convention, inp=EXACT, mINP=ORDER_OF_SUMMATION)


#: Recorded evaluator: its convention, and how exactly each of its answers is met.
RULES = {
    "matlab": rules("matlab", ap=EXACT),
    "mars": rules("mars", ap=EXACT),
    "veri": rules("veri", ap=EXACT),
    "layumi": rules("layumi", ap=EXACT),
    "layumi-gpu": rules("layumi", ap=EXACT),
    "layumi-rerank": rules("layumi", ap=EXACT),
    "torchreid": rules("torchreid-function"),
    "torchreid-cython": rules("torchreid-cython-function", ap=EXACT),
    "torchreid-cuhk03": rules("cuhk03-single-shot-draws-function", cmc=SINGLE_PRECISION),
    "torchreid-cuhk03-cython": rules(
        "cuhk03-single-shot-draws-function", ap=SINGLE_PRECISION, cmc=SINGLE_PRECISION),
    "fast-reid": with_inp("fast-reid-function"),
    "fast-reid-cython": rules("torchreid-cython-function", ap=EXACT, mAP=SINGLE_PRECISION,
                              inp=EXACT, mINP=SINGLE_PRECISION),
    "reid-strong-baseline": rules("reid-strong-baseline-function"),
    "reid-survey": with_inp("reid-survey-function"),
    "open-reid": rules("open-reid-function", cmc_market1501=EXACT, cmc_allshots=EXACT,
                       cmc_cuhk03=ORDER_OF_SUMMATION),
    "open-reid-sklearn-0.18": rules("open-reid-sklearn-0.18-function"),
    "open-reid-sklearn-0.19": rules("open-reid-function"),
    "triplet-reid": rules("triplet-reid"),
    "triplet-reid-sklearn-0.18": rules("triplet-reid-sklearn-0.18"),
    "triplet-reid-market-ap": rules("triplet-reid-market-ap"),
    "light-reid": rules("light-reid"),
    "sysu-mm01": rules("sysu-mm01", ap=EXACT),
    "trec-eval": rules("trec-eval", ap=EXACT, mAP=ORDER_OF_SUMMATION),
    "simpleir": rules("simpleir", cmc=ORDER_OF_SUMMATION),
}
#: CMC settings of open-reid other than its Market-1501 one. Its CUHK03 one draws 10 times; so
#: does this record, which leaves out the query's camera by its rule for ignored images.
OTHER_CMC = {
    "cmc_allshots": "open-reid-allshots-function",
    "cmc_cuhk03": CONVENTIONS["open-reid-cuhk03-function"].replace(
        cmc="single-gallery-shot-draws",
        ignored=("same identity, same camera", "same camera")),
}
#: Answers whose curve has another length than ours, which has so many places or ends with the
#: gallery: torchreid's draws end with the identities, open-reid's have always 100 places.
OTHER_LENGTH = {
    ("torchreid-cuhk03", "cmc"): 50, ("torchreid-cuhk03-cython", "cmc"): 50,
    ("open-reid", "cmc_market1501"): 100, ("open-reid", "cmc_allshots"): 100,
    ("open-reid", "cmc_cuhk03"): 100}
#: The Cython evaluators do not clear their CMC buffer between queries: the curve is right only
#: up to where queries stop keeping images. Single gallery shot: 0 beyond the identities.
NOT_CLEARED = {
    ("torchreid-cython", "short"): 40, ("fast-reid-cython", "short"): 40,
    ("torchreid-cython", "tiny"): 11, ("fast-reid-cython", "tiny"): 11,
    ("torchreid-cuhk03-cython", "market64"): 23, ("torchreid-cuhk03-cython", "market32"): 33,
    ("torchreid-cuhk03-cython", "clean"): 15, ("torchreid-cuhk03-cython", "short"): 7,
    ("torchreid-cuhk03-cython", "tiny"): 5}
#: Evaluators that answer AP 0 for a query without a good image; ours is NaN, and 0 in the mean.
ZERO_AP = {"light-reid", "trec-eval", "simpleir"}
#: Recorded before fixtures/peers/record.py, whose header has what proves a recording. No more.
BEFORE_RECORD = {
    "matlab", "mars", "veri", "layumi", "layumi-gpu", "layumi-rerank", "torchreid-cython",
    "torchreid-cuhk03", "torchreid-cuhk03-cython", "fast-reid-cython", "reid-strong-baseline",
    "reid-survey", "open-reid", "open-reid-sklearn-0.18", "open-reid-sklearn-0.19",
    "triplet-reid", "triplet-reid-sklearn-0.18", "triplet-reid-market-ap", "light-reid",
    "sysu-mm01", "trec-eval", "simpleir"}
#: Recorded beside the numbers.
NOT_NUMBERS = {"cmc_ranks", "cmc_length", "cmc_market1501_length", "cmc_allshots_length",
               "cmc_cuhk03_length", "error"}


@functools.cache
def read(case):
    """The five arrays of a case."""
    if case == "cuhk03_np_100q":
        data = read_result(*(shared("real/cuhk03_np_100q") / f"{name}.txt" for name in (
            "query_gallery_distance", "query_id", "gallery_id", "query_cam", "gallery_cam")))
        return (data.distances, data.query.identity, data.gallery.identity,
                data.query.camera, data.gallery.camera)
    with np.load(PEERS / f"{case}.npz") as stored:
        return tuple(stored[name] for name in (
            "distmat", "q_pids", "g_pids", "q_camids", "g_camids"))


@functools.cache
def ours(case, convention):
    """Our result for a case; `convention` is a name or a record."""
    distances, q_pids, g_pids, q_camids, g_camids = read(case)
    same, own = q_pids[:, np.newaxis] == g_pids, q_camids[:, np.newaxis] == g_camids
    lists = IndexLists(good=[np.flatnonzero(row) for row in same & ~own],
                       junk=[np.flatnonzero(row) for row in same & own])
    results = evaluate_distances(
        distances, Labels(q_pids, q_camids), Labels(g_pids, g_camids), convention=[convention],
        lists=lists)
    return next(iter(results.values()))


@functools.cache
def recorded(peer):
    return json.loads((PEERS / f"{peer}.json").read_text())


def value_of(result, answer):
    """Our number or numbers for one of the answers a peer gives."""
    if answer.startswith("cmc"):
        return result.cmc
    return {"ap": result.per_query.ap, "inp": result.per_query.inp,
            "mAP": result.mAP, "mINP": result.mINP}[answer]


def answers():
    """Every recorded answer that is compared: peer, case, answer."""
    for peer, (_, compared) in RULES.items():
        for key in recorded(peer):
            case, _, answer = key.partition(" ")
            if answer in compared:
                yield pytest.param(peer, case, answer, id=f"{peer}-{case}-{answer}")


def assert_agrees(theirs, mine, tolerance):
    """Equal to the bit where `tolerance` is 0; NaN only where the other is NaN."""
    mine, theirs = (np.asarray(values, dtype=np.float64) for values in (mine, theirs))
    if tolerance:
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance)
    else:
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("peer, case, answer", list(answers()))
def test_recorded(peer, case, answer):
    convention, compared = RULES[peer]
    known = recorded(peer)
    mine = value_of(ours(case, OTHER_CMC.get(answer, convention)), answer)
    theirs = np.array(known[f"{case} {answer}"], dtype=np.float64)  # None becomes NaN
    if answer == "ap" and peer in ZERO_AP:
        mine = np.nan_to_num(mine, nan=0.0)
    if f"{case} cmc_ranks" in known and answer == "cmc":
        mine = mine[np.array(known[f"{case} cmc_ranks"]) - 1]
    elif answer.startswith("cmc"):
        length = known[f"{case} {answer}_length"]
        if (peer, answer) in OTHER_LENGTH:
            length = min(OTHER_LENGTH[peer, answer], len(read(case)[2]))
        assert len(mine) == length
        places = min(len(mine), len(theirs), NOT_CLEARED.get((peer, case), len(mine)))
        assert places >= 5  # something is left to compare
        mine, theirs = mine[:places], theirs[:places]
    if answer in known["float32"]:
        mine, theirs = np.float32(mine), np.float32(theirs)
    assert_agrees(theirs, mine, compared[answer])


def test_every_recording_is_compared():
    assert sorted(path.stem for path in PEERS.glob("*.json")) == sorted(RULES)
    cases = {path.stem for path in PEERS.glob("*.npz")}
    for peer, (_, compared) in RULES.items():
        keys = [key.split(" ") for key in recorded(peer) if " " in key]
        assert {case for case, _ in keys} - {"cuhk03_np_100q"} <= cases
        seen = {answer for _, answer in keys}
        assert seen - NOT_NUMBERS == set(compared) & seen
        # Where numpy's argsort decides, cases with ties have no defined answer.
        if recorded(peer)["ties"].startswith("numpy's"):
            assert not any(case.startswith("ties") for case, _ in keys)
        for case in cases - {case for case, _ in keys}:
            assert case.startswith("ties")


def recorder():
    """The script that records."""
    spec = importlib.util.spec_from_file_location("peers_record", PEERS / "record.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lacking(recording):
    """What a recording lacks of what fixtures/peers/record.py writes."""
    record = recorder()
    yield from (key for key in record.HEADER if key not in recording)
    digests = recording.get("sha256", {})
    yield from (f"sha256 {file}" for file in recording["files"]
                if not re.fullmatch("[0-9a-f]{64}", digests.get(file, "")))
    yield from (f"versions {name}" for name in ("python", "numpy")
                if name not in recording["versions"])
    if not re.fullmatch("[0-9a-f]{7,40}", recording["commit"]):
        yield "commit"
    for case in record.case_names(recording["ties"]):
        answers = ("ap", "error") if f"{case} error" in recording else (
            "mAP", "ap", "cmc", "cmc_length")
        yield from (f"{case} {name}" for name in answers if f"{case} {name}" not in recording)


@pytest.mark.parametrize("peer", sorted({path.stem for path in PEERS.glob("*.json")}
                                        - BEFORE_RECORD))
def test_a_recording_was_made_by_record(peer):
    assert list(lacking(recorded(peer))) == []


def test_a_recording_made_by_hand_is_refused():
    """With every key that recordings had before; or with a digest that is none."""
    invented = {**recorded("light-reid"), "recorded_with": "made by hand"}
    assert set(lacking(invented)) == {"function", "sha256", "sha256 " + invented["files"][0]}
    whole = recorded("torchreid")
    assert set(lacking({**whole, "sha256": {whole["files"][0]: "unknown"}, "commit": "HEAD"})
               ) == {"sha256 " + whole["files"][0], "commit"}
    assert list(lacking({key: whole[key] for key in whole if key != "clean cmc"})) == [
        "clean cmc"]


PEER = """
import numpy as np

def eval_map(distmat, q_pids, g_pids, q_camids, g_camids, max_rank=50):
    {first}
    kept = (g_pids != q_pids[:, None]) | (g_camids != q_camids[:, None])
    ap, inp, cmc = [], [], []
    for row, keep, pid in zip(distmat, kept, q_pids):
        hit = (g_pids == pid)[keep][np.argsort(row[keep], kind="stable")]
        if hit.any():
            at = np.flatnonzero(hit) + 1
            ap.append((np.arange(1, len(at) + 1) / at).mean())
            inp.append(len(at) / at[-1])
            cmc.append(np.maximum.accumulate(hit)[:5])
    return np.mean(cmc, axis=0).astype(np.float32), np.mean(ap), np.mean(inp)
"""


def committed(folder, first="pass"):
    """A clone with an evaluator in metrics/rank.py; the path of that file."""
    file = folder / "metrics/rank.py"
    file.parent.mkdir()
    file.write_text(PEER.format(first=first))
    for words in ("init", "remote add origin https://example.org/my-lab/my-reid.git", "add .",
                  "-c user.name=a -c user.email=a@b commit -m one"):
        subprocess.run(["git", *words.split()], cwd=folder, check=True, capture_output=True)
    return file


def test_record(tmp_path):
    """As the evaluator answered: in its precision, NaN where it gave nothing, with its origin."""
    file = committed(tmp_path)
    record = recorder()
    recording = json.loads(record.text_of(record.record(
        "my-reid", f"{file}:eval_map", ties="stable sort: gallery order", cases=["tiny"])))
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, text=True,
                          capture_output=True).stdout
    assert (recording["repository"], recording["commit"], recording["files"]) == (
        "my-lab/my-reid", head[:7], ["metrics/rank.py"])
    assert recording["versions"]["numpy"] == np.__version__ and recording["recorded_with"]
    assert {text.partition(" ")[0] for text in lacking(recording)} == {
        path.stem for path in PEERS.glob("*.npz")} - {"tiny"}
    mine = ours("tiny", "reid-survey-function")
    for answer in ("ap", "inp", "mAP", "mINP"):
        assert_agrees(np.array(recording[f"tiny {answer}"], dtype=np.float64),
                      value_of(mine, answer), ORDER_OF_SUMMATION)
    assert recording["float32"] == ["cmc"]
    assert recording["tiny cmc"] == json.loads(json.dumps([
        float(str(value)) for value in np.float32(mine.cmc[:5])]))
    assert recording["tiny cmc_length"] == 5


def test_record_writes_what_the_evaluator_raised(tmp_path):
    """On the whole case; each query alone is answered."""
    file = committed(tmp_path, "assert len(distmat) == 1, 'one query'")
    record = recorder()
    recording = record.record("my-reid", f"{file}:eval_map", cases=["tiny"])
    assert recording["tiny error"] == "AssertionError: one query"
    assert "tiny mAP" not in recording
    assert_agrees(np.array(recording["tiny ap"], dtype=np.float64),
                  ours("tiny", "reid-survey-function").per_query.ap, ORDER_OF_SUMMATION)


def test_record_takes_unmodified_code_alone(tmp_path):
    file = committed(tmp_path)
    record = recorder()
    file.write_text(file.read_text() + "\n")
    with pytest.raises(SystemExit, match="unmodified"):
        record.source(file)
    with pytest.raises(SystemExit, match="--commit"):
        record.source(PEERS.parent / "absent.py")


def test_every_named_convention_is_compared():
    compared = {convention for convention, _ in RULES.values()} | {
        convention if isinstance(convention, str) else convention.name
        for convention in OTHER_CMC.values()}
    # A toolbox is its function on the images that it loads: test_loaders.
    left = set(CONVENTIONS) - compared - set(FUNCTIONS)
    assert left == {
        "oxford",  # test_oxford
        "cityflow",  # test_ranked_lists
        # Expectations: test_single_gallery_shot.
        "cuhk03-single-shot-function", "open-reid-cuhk03-function",
        # The CMC of the first, the AP of open-reid-sklearn-0.18.
        "open-reid-allshots-sklearn-0.18-function", "open-reid-cuhk03-sklearn-0.18-function"
    }, "RULES: each convention is compared with a recording of fixtures/peers/record.py"


@pytest.mark.parametrize("case", ["market64", "ties64"])
@pytest.mark.parametrize("convention, like, what", [
    ("open-reid-allshots-function", "open-reid-function", "ap"),
    ("open-reid-cuhk03-function", "open-reid-function", "ap"),
    ("open-reid-sklearn-0.18-function", "open-reid-function", "cmc"),
    ("open-reid-allshots-sklearn-0.18-function", "open-reid-sklearn-0.18-function", "ap"),
    ("open-reid-allshots-sklearn-0.18-function", "open-reid-allshots-function", "cmc"),
    ("open-reid-cuhk03-sklearn-0.18-function", "open-reid-sklearn-0.18-function", "ap"),
    ("open-reid-cuhk03-sklearn-0.18-function", "open-reid-cuhk03-function", "cmc"),
    ("cuhk03-single-shot-function", "torchreid-function", "ap"),
    ("triplet-reid", "triplet-reid-sklearn-0.18", "cmc"),
])
def test_half_of_one_and_half_of_another(convention, like, what, case):
    """What is not recorded of a convention, because its evaluator shares that with another."""
    mine, other = ours(case, convention), ours(case, like)
    if what == "cmc":
        np.testing.assert_array_equal(mine.cmc, other.cmc)
    else:
        assert mine.mAP == other.mAP
        np.testing.assert_array_equal(mine.per_query.ap, other.per_query.ap)
    assert mine.counted == other.counted


@pytest.mark.parametrize("peer, case", list(NOT_CLEARED))
def test_cython_buffer_is_not_cleared(peer, case):
    """The defect that `NOT_CLEARED` stands for: its curve falls, ours does not."""
    places = NOT_CLEARED[peer, case]
    theirs, mine = np.array(recorded(peer)[f"{case} cmc"]), ours(case, RULES[peer][0]).cmc
    assert theirs[places] < theirs[places - 1]
    assert (np.diff(mine) >= 0).all()


def test_cases_are_those_of_the_generator():
    run = subprocess.run([sys.executable, PEERS / "generate.py", "--check"],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("case", [path.stem for path in sorted(PEERS.glob("*.npz"))])
def test_cases_have_ties_only_where_their_name_says_so(case):
    tied = [len(np.unique(row)) < len(row) for row in read(case)[0]]
    assert all(tied) if case.startswith("ties") else not any(tied)


# Live.

LIVE = sorted(path.stem for path in PEERS.glob("*.npz")) + ["tied pairs"]


def live(case):
    """A recorded case, or a new one in which ties decide nearly everything."""
    if case != "tied pairs":
        return read(case)
    rng = np.random.default_rng(31)
    g_pids, q_pids = rng.integers(-1, 12, 160), np.arange(1, 14)
    distances = rng.integers(0, 7, (13, 160)).astype(np.float64)
    return distances, q_pids, g_pids, rng.integers(1, 4, 13), rng.integers(1, 4, 160)


def evaluate_live(case, *conventions):
    distances, q_pids, g_pids, q_camids, g_camids = live(case)
    results = evaluate_distances(
        distances, Labels(q_pids, q_camids), Labels(g_pids, g_camids), convention=conventions)
    return list(results.values())


@pytest.mark.parametrize("case", LIVE)
def test_scikit_learn(case):
    version_of("scikit-learn")
    from sklearn.metrics import average_precision_score
    distances, q_pids, g_pids, q_camids, g_camids = live(case)
    result, = evaluate_live(case, "open-reid-function")
    checked = 0
    for k, mine in enumerate(result.per_query.ap):
        kept = (g_pids != q_pids[k]) | (g_camids != q_camids[k])
        good = g_pids[kept] == q_pids[k]
        if not good.any():
            assert np.isnan(mine)
            continue
        theirs = average_precision_score(good, -distances[k][kept])
        assert abs(mine - theirs) <= ORDER_OF_SUMMATION, k
        checked += 1
    assert checked == result.counted >= 5
