"""The port against the scripts in live Octave: equal to the last bit, NaN where NaN."""
import numpy as np
import pytest

from reid_ref.matlab import (
    compute_AP, compute_AP_multiCam, compute_r1_multiCam, draw_confusion_matrix, evaluation,
    evaluation_mars)
from tests.proof.hand_cases import AP, CONFUSION, EVALUATION, LAST_BITS, MULTI_CAM, SORT
from tests.nightly import cases as sample
from tests.octave import col

pytestmark = pytest.mark.octave


def same(port, octave):
    """Each pair of answers is equal; MATLAB's rows and columns are the port's 1-D arrays."""
    for ours, theirs in zip(port, octave, strict=True):
        ours = np.asarray(ours)
        assert ours.dtype == theirs.dtype == np.float64
        np.testing.assert_array_equal(ours, theirs.reshape(ours.shape))


# ---------------------------------------------------------------- distances

def near_ties(rng, shape, dtype):
    """Complex numbers whose moduli or angles differ in the last bits, or not at all."""
    part = np.finfo(dtype).dtype
    points = np.array([0.6 + 0.8j, -0.8 + 0.6j, 1 - 1e-3j, -3 + 1e-5j])
    points = points[rng.integers(0, 4, shape)].astype(dtype)
    jitter = (1 + np.finfo(part).eps * rng.integers(-2, 3, (2, *shape))).astype(part)
    return (points.real * jitter[0] + 1j * (points.imag * jitter[1])).astype(dtype)


def one_real_column(rng, shape):
    """A complex matrix; its first column has zeros, some of them -0, as imaginary parts."""
    dist = rng.integers(-3, 4, shape) + 1j * rng.integers(-3, 4, shape)
    dist[:, 0] = dist[:, 0].real
    dist.imag[::2, 0] = -0.0
    dist[:, -1] += 1j
    return dist


def among(*values, dtype=None):
    values = np.array(values, dtype)
    return lambda rng, shape: values[rng.integers(0, len(values), shape)]


PARTS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324]
DISTANCES = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "some ties": lambda rng, shape: rng.standard_normal(shape).round(1),
    "heavy ties": lambda rng, shape: rng.integers(0, 3, shape).astype(float),
    "all equal": lambda rng, shape: np.full(shape, 0.5),
    "special": among(*PARTS),
    "all NaN": among(np.nan),
    "zeros": among(0.0, -0.0),
    "complex": lambda rng, shape: rng.standard_normal(shape) + 1j * rng.standard_normal(shape),
    "complex, whole": lambda rng, shape: rng.integers(-2, 3, shape) + 1j * rng.integers(
        -2, 3, shape),
    "complex, special": among(*(complex(a, b) for a in PARTS for b in PARTS)),
    "complex, a column real": one_real_column,
    "complex, near ties": lambda rng, shape: near_ties(rng, shape, np.complex128),
    "complex single, near ties": lambda rng, shape: near_ties(rng, shape, np.complex64),
    "roots of negative squares": lambda rng, shape: np.sqrt(
        rng.integers(-3, 4, shape).astype(complex)),
    "single": lambda rng, shape: rng.standard_normal(shape).astype(np.float32),
    "single, special": among(np.nan, np.inf, -np.inf, 0, -0.0, 1, dtype=np.float32),
    "half": among(np.nan, *np.arange(-2, 2, 0.1), dtype=np.float16),
    "bool": among(False, True),
    **{dtype: among(*range(0 if dtype[0] == "u" else -5, 6), dtype=dtype) for dtype in (
        "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")},
    # Neighbours at both ends of the range, where a detour over doubles would tie them.
    "int64, extremes": among(-2**63, 1 - 2**63, 2**63 - 2, 2**63 - 1, dtype=np.int64),
    "uint64, extremes": among(0, 1, 2**64 - 2, 2**64 - 1, dtype=np.uint64),
}

SHAPES = [(1, 1), (1, 4), (2, 3), (5, 1), (9, 4), (9, 4), (17, 5), (30, 6), (30, 6), (70, 8)]


# ---------------------------------------------------------------- labels

def labels_for(rng, shape, people=5, cameras=6):
    """Gallery and query labels with junk, distractors, queries -1 and unknown queries."""
    n_gallery, n_query = shape
    return (
        col(rng.integers(-1, people, n_gallery)), col(rng.integers(-1, people + 1, n_query)),
        col(rng.integers(1, cameras + 1, n_gallery)), col(rng.integers(1, cameras + 1, n_query)))


def each_query(case):
    """The queries of a case, each as a case of its own."""
    dist, label_gallery, label_query, cam_gallery, cam_query = case
    for k in range(dist.shape[1]):
        yield dist[:, [k]], label_gallery, label_query[[k]], cam_gallery, cam_query[[k]]


def agree(octave, function, cases, nout):
    """The port and the script of its name give the same; the script's answers."""
    # MATLAB has no half precision: the port orders it as the doubles of the same value.
    sent = [tuple(values.astype(float) if values.dtype == np.float16 else values
                  for values in case) for case in cases]
    answers = octave.run(function.__name__, sent, nout)
    for case, answer in zip(cases, answers, strict=True):
        same(function(*case), answer)
    return answers


def check(octave, function, cases):
    """Whole cases and single queries, whose map is the ap of the query."""
    cases = [*cases, *(query for case in cases for query in each_query(case))]
    agree(octave, function, cases, nout=4)


@pytest.mark.parametrize("function, kind", [(evaluation, kind) for kind in DISTANCES] + [
    (evaluation_mars, kind) for kind in ("special", "complex, special", "heavy ties", "uint8")])
def test_distances(octave, function, kind):
    rng = np.random.default_rng(sum(map(ord, kind)))
    check(octave, function, [
        (DISTANCES[kind](rng, shape), *labels_for(rng, shape)) for shape in SHAPES])


@pytest.mark.parametrize("function", [evaluation, evaluation_mars])
@pytest.mark.parametrize("people, cameras", [(1, 1), (1, 6), (3, 2), (12, 6), (40, 3)])
def test_labels(octave, function, people, cameras):
    rng = np.random.default_rng(100 * people + cameras)
    check(octave, function, [
        (rng.integers(0, 20, shape).astype(float), *labels_for(rng, shape, people, cameras))
        for shape in SHAPES])


def test_all_junk(octave):
    rng = np.random.default_rng(4)
    dist = rng.standard_normal((9, 3))
    minus_one = col(-np.ones(9))
    check(octave, evaluation_mars, [
        (dist, minus_one, col([1, 2, -1]), col(rng.integers(1, 7, 9)), col([1, 2, 3])),
        (dist, minus_one, col([-1, -1, -1]), col(np.ones(9)), col([1, 2, 1])),
        (dist, col(np.full(9, 7)), col([7, 7, 7]), col(np.ones(9)), col([1, 1, 2]))])


@pytest.mark.parametrize("dtypes", [
    ("int16", "uint16", "uint8", "uint8"), ("uint16", "uint16", "uint8", "uint8"),
    ("int8", "int64", "int32", "uint64"), ("single", "double", "int8", "single")])
def test_labels_of_other_dtypes(octave, dtypes):
    rng = np.random.default_rng(len(dtypes[0]))
    cases = []
    for _ in range(5):
        labels = [col(np.where((values < 0) & (dtype[0] == "u"), 7, values), dtype)
                  for values, dtype in zip(labels_for(rng, (30, 6)), dtypes)]
        cases.append((rng.integers(0, 9, (30, 6)).astype(float), *labels))
    check(octave, evaluation, cases)


def test_labels_that_wrap_into_each_other(octave):
    dist = np.array([[1.0], [2.0], [3.0]])
    check(octave, evaluation, [
        (dist, col([65535, 7, 1], "uint16"), col([7], "int16"), col([2, 2, 2]), col([1])),
        (dist, col([44, 300, -1], "int16"), col([300], "uint16"), col([1, 257, 1], "uint16"),
         col([1], "uint8"))])


def test_cameras_may_be_a_row(octave):
    rng = np.random.default_rng(6)
    cases = []
    for shape in SHAPES:
        label_gallery, *rest = labels_for(rng, shape)
        cases.append((rng.standard_normal(shape), label_gallery, *(row.T for row in rest)))
    agree(octave, evaluation, cases, nout=4)


def test_gallery_labels_may_not_be_a_row(octave):
    from oct2py import Oct2PyError
    case = (np.ones((4, 1)), col([-1, 7, 7, 7]).T, col([7]), col([1, 1, 1, 2]), col([1]))
    with pytest.raises(Oct2PyError, match="vertical dimensions mismatch"):
        octave.run("evaluation", [case], nout=4)
    with pytest.raises(ValueError, match="junk0; junk"):
        evaluation(*case)


@pytest.mark.parametrize("seed", range(sample(2, 6)))
@pytest.mark.parametrize("near", [0.0, 10.0, np.nan])
def test_queries_that_are_rows_of_the_gallery(octave, seed, near):
    """As in MARS, at distance `near` from themselves."""
    rng, cases = np.random.default_rng(seed), []
    for n_gallery, n_query, people, cameras in (
            (1, 1, 1, 1), (6, 4, 2, 2), (12, 6, 3, 3), (40, 8, 4, 6), (80, 9, 6, 6)):
        label_gallery, _, cam_gallery, _ = labels_for(rng, (n_gallery, 1), people, cameras)
        rows = rng.integers(0, n_gallery, n_query)
        dist = rng.integers(1, 30, (n_gallery, n_query)).astype(float)
        dist[rows, np.arange(n_query)] = near
        cases.append((dist, label_gallery, label_gallery[rows], cam_gallery, cam_gallery[rows]))
    check(octave, evaluation_mars, cases)


# ---------------------------------------------------------------- direct calls, indices

def subset(rng, n, least=0):
    """At least so many of n images, in any order."""
    return rng.permutation(n)[:rng.integers(least, n + 1)]


def test_compute_AP(octave):
    """Lists that overlap, and lists cut short."""
    rng = np.random.default_rng(11)
    cases = [tuple(map(col, (subset(rng, n), subset(rng, n), subset(rng, n, 1))))
             for n in list(range(1, 21)) * 15]
    cases += [tuple(map(col, case[:3])) for case in AP.values()]
    cases += [(col(good), col([]), col(np.arange(30))) for good, _ in LAST_BITS.values()]
    for n_good in (1, 7, 100, 900):
        index = rng.permutation(2000)
        cases.append((col(index[:n_good]), col(index[n_good:n_good + 300]),
                      col(rng.permutation(2000))))
    assert sum(np.isnan(ap) for ap, _ in agree(octave, compute_AP, cases, nout=2)) > 5


@pytest.mark.parametrize("function", [compute_AP_multiCam, compute_r1_multiCam])
def test_multiCam(octave, function):
    """Lists that overlap, lists cut short, queries that are not the nearest image."""
    rng = np.random.default_rng(13)
    cases = [case[:5] for case in MULTI_CAM.values()]
    for n in list(range(1, 16)) * 20:
        test_cam = rng.integers(1, rng.integers(2, 8), n)
        good, junk = ((subset(rng, n), subset(rng, n)) if n % 2 else
                      np.split(subset(rng, n), [rng.integers(0, n)]))
        cases.append((good, junk, subset(rng, n, 1), int(rng.integers(1, 7)), test_cam))
    one_based = [
        (*(col(values) + 1 for values in map(np.array, case[:3])), float(case[3]), col(case[4]))
        for case in cases]
    for case, answer in zip(cases, octave.run(function.__name__, one_based), strict=True):
        same([function(*case)], answer)


def test_draw_confusion_matrix(octave):
    rng = np.random.default_rng(14)
    cases = [(np.array(CONFUSION[0]), np.array(CONFUSION[1]), col(CONFUSION[2]))]
    for n in (1, 2, 7, 30, 200):
        ap = rng.random((n, 6)) * (rng.random((n, 6)) < 0.6)
        r1 = rng.integers(-2, 2, (n, 6)).astype(float)
        cases.append((ap, r1, col(rng.integers(1, 7, n))))
        cases.append((np.where(rng.random(ap.shape) < 0.1, np.nan, ap),
                      np.where(rng.random(ap.shape) < 0.1, np.nan, r1), cases[-1][2]))
    agree(octave, draw_confusion_matrix, cases, nout=2)


# ---------------------------------------------------------------- the hand-worked cases

@pytest.mark.parametrize("function", [evaluation, evaluation_mars])
def test_hand_worked(octave, function):
    check(octave, function, [
        (np.array(case[0]), *map(col, case[1:5])) for case in EVALUATION.values()])


def test_sort(octave):
    """The table of orders, which the port and its mutants are tested with, is Octave's."""
    columns = [np.array(column).reshape(-1, 1) for column, _ in SORT]
    octave.eval("function index = order(column), [~, index] = sort(column); end")
    answers = octave.run("order", [(column,) for column in columns])
    for (_, order), (answer,) in zip(SORT, answers, strict=True):
        np.testing.assert_array_equal(answer.ravel() - 1, order)
