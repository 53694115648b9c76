"""Small faults, put into the port one at a time, must be caught by the hand-worked cases.

A mutant is the source of one file of the port with one snippet replaced. The same check
passes on the source as it is.
"""
from pathlib import Path

import numpy as np
import pytest

import reid_ref.matlab
from tests.proof.hand_cases import (
    AP, CONFUSION, EVALUATION, LAST_BITS, MULTI_CAM, ROUNDING, SORT, confusion_matrices, doubles)
from tests.proof.rerank_cases import CASES, SINGLE, defined, near_one

PORT = Path(reid_ref.matlab.__file__).parent


def near(actual, expected):
    """Equal but for rounding, NaN where NaN."""
    return np.allclose(actual, expected, rtol=0, atol=ROUNDING, equal_nan=True)


def check_compute_AP(module):
    for good_image, junk_image, index, expected_ap, expected_cmc in AP.values():
        ap, cmc = module["compute_AP"](good_image, junk_image, index)
        yield near(ap, float(expected_ap)) and np.array_equal(cmc, doubles(expected_cmc))
    for good_image, expected in LAST_BITS.values():
        yield module["compute_AP"](good_image, [], np.arange(30))[0] == expected


def check_evaluation(module):
    for *given, expected_CMC, expected_map, _ in EVALUATION.values():
        CMC, map, r1_pairwise, ap_pairwise = module["evaluation"](*given)
        yield (np.array_equal(CMC, expected_CMC) and near(map, float(expected_map))
               and not r1_pairwise.any() and not ap_pairwise.any())


def check_evaluation_mars(module):
    for *given, expected_CMC, _, expected_map in EVALUATION.values():
        CMC, map, _, _ = module["evaluation_mars"](*given)
        yield np.array_equal(CMC, expected_CMC) and near(map, float(expected_map))
    dist, labels, cams = [[0], [1], [2], [3]], [7, 8, -1, 7], [1, 2, 2, 2]
    _, _, r1_pairwise, ap_pairwise = module["evaluation_mars"](dist, labels, [7], cams, [1])
    yield near(r1_pairwise, [[-1, 0, -2, -2, -2, -2]])
    yield near(ap_pairwise, [[0, 1 / 6, 0, 0, 0, 0]])


def check_compute_AP_multiCam(module):
    for *given, expected_ap, _ in MULTI_CAM.values():
        yield near(module["compute_AP_multiCam"](*given), doubles(expected_ap))


def check_compute_r1_multiCam(module):
    for *given, _, expected_r1 in MULTI_CAM.values():
        yield np.array_equal(module["compute_r1_multiCam"](*given), doubles(expected_r1))


def check_draw_confusion_matrix(module):
    for actual, expected in zip(
            module["draw_confusion_matrix"](*CONFUSION[:3]), confusion_matrices()):
        yield near(actual, expected)


def check__values(module):
    for column, order in SORT:
        yield np.array_equal(module["sort_ascending"](np.array(column)), order)
    yield near([module["divide"](0, 0), module["divide"](1, 4)], [np.nan, 0.25])
    yield module["add_up"](np.array([1.0] + [2.0**-53] * 1000)) == 1


def check_MahDist(module):
    Xg, Xp, M = np.array([[0, 1], [2, 5]]), np.array([[1, 1], [4, 0], [0, 7]]), [[2, 1], [-1, 3]]
    one_by_one = [[(x - y) @ M @ (x - y) for y in Xp] for x in Xg]
    yield np.array_equal(module["MahDist"](1, Xg, Xp), [[1, 17, 36], [17, 29, 8]])
    yield np.array_equal(module["MahDist"](np.diag([2, 3]), Xg, Xp), np.array(
        [[(x - y)**2 @ [2, 3] for y in Xp] for x in Xg]))
    yield near(module["MahDist"](np.add(M, np.transpose(M)) / 2, Xg, Xp), one_by_one)


def check_my_pdist2(module):
    yield np.array_equal(module["my_pdist2"]([[0, 0], [3, 4]], [[6, 8]]), [[10], [5]])
    A, B = near_one(10), near_one(8)
    square = (A * A + (B * B).T) - 2 * (A * B.T)
    yield np.array_equal(module["my_pdist2"](A, B), np.sqrt(square.astype(complex)))


def check_re_ranking(module):
    for name, given in CASES.items():
        actual = module["re_ranking"](*given)
        yield actual.shape == defined(name).shape and np.all(
            np.abs(actual - defined(name)) < SINGLE)


def check__arithmetic(module):
    tiny = np.array([[1, 2**-24, 2**-24]], np.float32)  # one by one, they do not reach 1
    yield np.array_equal(module["product"](tiny, np.ones((3, 1), np.float32)), [[1]])
    yield np.array_equal(module["product"](np.eye(2), np.array([[1.0, 2], [3, 4]])),
                         [[1, 2], [3, 4]])
    yield np.array_equal(module["product"](np.ones((1, 2)), np.array(3.0)), [[3, 3]])
    yield np.array_equal(module["add_up_rows"](tiny), [1])
    yield np.array_equal(module["add_up_rows"](np.zeros((2, 0))), [0, 0])
    yield np.array_equal(module["mean_of_columns"](np.array([[1.0, 2], [3, 5]])), [2, 3.5])
    yield np.array_equal(module["divide_rows"](np.array([[1.0, 4], [6, 3]]), np.array([4, 3])),
                         [[0.25, 1], [2, 1]])
    # near 1/3, where the nearest single of the product of doubles is another one
    thirds = np.float32(1) / np.arange(3, 99, dtype=np.float32)
    yield np.array_equal(module["weigh"](thirds, 0.7), thirds * np.float32(0.7))
    yield np.array_equal(module["weigh"](thirds.astype(float), 0.7),
                         (thirds.astype(float) * 0.7).astype(np.float32))
    yield near(module["exponential"](np.array([0, -1, -np.inf, np.nan])),
               [1, np.exp(-1), 0, np.nan])
    yield np.array_equal(module["root"](np.array([4.0, -9, 0])), [2, 3j, 0])
    yield module["root"](np.array([4.0, 9])).dtype == np.float64
    yield [module["round_half_away"](half) for half in (0.5, 1.5, 2.5, 2.4, -2.5)] == [
        1, 2, 3, 2, -3]


MUTANTS = {
    "compute_AP": [
        # precision off by one
        ("intersect_size / (j + 1)", "intersect_size / (j + 2)"),
        ("intersect_size / (j + 1)", "intersect_size / max(j, 1)"),
        # rank counted with the junk
        ("intersect_size / (j + 1)", "intersect_size / (n + 1)"),
        # step for trapezoid
        ("height = (old_precision + precision) / 2", "height = precision"),
        ("height = (old_precision + precision) / 2", "height = old_precision"),
        # precision of the previous hit, not of the previous image
        ("            old_precision = precision\n",
         "            old_precision = precision if is_good[n] else old_precision\n"),
        ("    old_precision = 1.0\n", "    old_precision = 0.0\n"),
        # recall step 1/n: other last bits
        ("ap + (recall - old_recall) * height",
         "ap + (is_good[n] / ngood if ngood else recall) * height"),
        # recall over what is in the list
        ("ngood = len(good_image)", "ngood = int(ismember(good_image, index).sum())"),
        # junk not skipped, junk known to the curve only, or to the walk only
        ("        if is_junk[n]:\n", "        if False:\n"),
        ("            njunk = njunk + 1\n", "            j = j + 1\n"),
        # match curve without the offset, or off by one
        ("cmc[n - njunk:] = 1", "cmc[n:] = 1"),
        ("cmc[n - njunk:] = 1", "cmc[n - njunk + 1:] = 1"),
        ("cmc[n - njunk:] = 1", "cmc[n - njunk] = 1"),
        # good and junk at once: not seen by the curve, not counted, or counted as a hit
        ("        if is_good[n]:\n", "        if is_good[n] and not is_junk[n]:\n"),
        ("            good_now = good_now + 1\n",
         "            good_now = good_now + 1\n            is_junk[n] = False\n"),
        # 0/0 as 0, or all junk as NaN
        ("divide(intersect_size, ngood)", "(divide(intersect_size, ngood) if ngood else 0)"),
        ("    ap = 0.0\n", "    ap = 0.0 if ngood else np.nan\n"),
        # the walk does not end when all good images are seen
        ("                break\n", "                pass\n"),
    ],
    "evaluation": [
        # label -1 counts as a wrong image, or is junk of the query's camera only
        ("np.concatenate((junk0, junk))", "junk"),
        ("junk0 = find(label_gallery == -1)\n",
         "junk0 = find((label_gallery == -1) & (cam_gallery > 1))\n"),
        # distractors are junk
        ("junk0 = find(label_gallery == -1)\n", "junk0 = find(label_gallery < 7)\n"),
        # the query's own camera counts
        ("np.concatenate((junk0, junk))", "junk0"),
        ("good_image = pos[~same_cam]", "good_image = pos"),
        # a query without a good image: NaN, or left out
        ("    ap[np.isnan(ap)] = 0\n", ""),
        ("    ap[np.isnan(ap)] = 0\n", "    ap = ap[~np.isnan(ap)]\n    n_query = len(ap) or 1\n"),
        # far first; the last of equals first
        ("sort_ascending(dist[:, k])", "sort_ascending(dist[:, k])[::-1]"),
        ("sort_ascending(dist[:, k])", "len(dist) - 1 - sort_ascending(dist[::-1, k])"),
        ("CMC = CMC / n_query\n", "CMC = CMC / max(n_query - 1, 1)\n"),
        ("CMC = CMC + cmc", "CMC = cmc"),
        ("cam_query[k]", "cam_query[0] + 1"),
    ],
    "evaluation_mars": [
        ("    map = add_up(ap)", "    ap[np.isnan(ap)] = 0\n    map = add_up(ap)"),
        ("np.concatenate((junk0, junk))", "junk"),
        # label -1 is ignored by the scores of each camera as well
        ("        ap_pairwise[k, :] = compute_AP_multiCam(\n            good_image, junk, ",
         "        ap_pairwise[k, :] = compute_AP_multiCam(\n"
         "            good_image, np.concatenate((junk0, junk)), "),
        ("        r1_pairwise[k, :] = compute_r1_multiCam(\n            good_image, junk, ",
         "        r1_pairwise[k, :] = compute_r1_multiCam(\n"
         "            good_image, np.concatenate((junk0, junk)), "),
    ],
    "compute_AP_multiCam": [
        ("ngood = len(junk_image) - 1", "ngood = len(junk_image)"),
        ("ngood = len(junk_image) - 1", "ngood = len(good_here)"),
        ("setdiff(junk_image, index[:1])", "junk_image"),
        ("np.concatenate((good_image, index[:1]))", "index[:1]"),
        ("np.concatenate((good_image, index[:1]))", "good_image"),
        ("np.concatenate((junk_image, good_image[~on_cam]))", "junk_image"),
        ("np.concatenate((junk_image, good_image[~on_cam]))", "good_image[~on_cam]"),
        ("    if complete:\n        ap_multi[queryCam - 1] = ap",
         "    if True:\n        ap_multi[queryCam - 1] = ap"),
        ("        if complete:\n            ap_multi[cams[k] - 1] = ap",
         "        if True:\n            ap_multi[cams[k] - 1] = ap"),
        ("intersect_size / (j + 1)", "intersect_size / (j + 2)"),
        ("height = (old_precision + precision) / 2", "height = precision"),
        ("        if good_now == ngood:\n", "        if False:\n"),
    ],
    "compute_r1_multiCam": [
        ("    if ngood == 0:\n        r1[queryCam - 1] = -1", "    if False:\n        pass"),
        ("    if ngood == 0:\n", "    if ngood <= 0:\n"),
        ("r1 = -2 * np.ones(6)", "r1 = np.zeros(6)"),
        ("np.concatenate((good_image, index[:1]))", "index[:1]"),
        ("np.concatenate((good_image, index[:1]))", "good_image"),
        ("np.concatenate((junk_image, good_image[~on_cam]))", "junk_image"),
        ("np.concatenate((junk_image, good_image[~on_cam]))", "good_image[~on_cam]"),
        ("ismember(kept[:1], good_here)", "ismember(index[:1], good_here)"),
    ],
    "draw_confusion_matrix": [
        # true zeros are counted, NaN is left out
        ("            if ap[n, col] != 0:\n", "            if True:\n"),
        ("            if ap[n, col] != 0:\n", "            if ap[n, col] > 0:\n"),
        ("            if r1[n, col] >= 0:\n", "            if r1[n, col] > 0:\n"),
        ("            if r1[n, col] >= 0:\n", "            if r1[n, col] >= -1:\n"),
        # divided by all queries
        ("divide_elements(ap_mat, ap_count)", "divide_elements(ap_mat, 0 * ap_count + len(ap))"),
        ("divide_elements(r1_mat, r1_count)", "divide_elements(r1_mat, 0 * r1_count + len(ap))"),
        # empty cells are 0
        ("divide_elements(ap_mat, ap_count)", "divide_elements(ap_mat, np.maximum(ap_count, 1))"),
        ("ap_mat[row, col] = ap_mat[row, col]", "ap_mat[col, row] = ap_mat[col, row]"),
    ],
    "MahDist": [
        ("product(Xg, M) * Xg", "Xg * Xg"),
        ("product(Xp, M) * Xp", "product(Xg[:1], M) * Xp"),
        ("product(2 * Xg, M)", "product(Xg, M)"),
        ("product(2 * Xg, M)", "2 * Xg"),
    ],
    "my_pdist2": [
        # held at 0
        ("root(square)", "root(np.maximum(square, 0))"),
        ("root(square)", "np.abs(root(square))"),
        ("root(square)", "square"),
        ("2 * product(A, B.T)", "product(A, B.T)"),
    ],
    "re_ranking": [
        # the published Python's window; halves to the even number, or down
        ("round_half_away((k1 + 1) / 2)", "int(np.around(k1 / 2)) + 1"),
        ("round_half_away((k1 + 1) / 2)", "round((k1 + 1) / 2)"),
        ("round_half_away((k1 + 1) / 2)", "(k1 + 1) // 2"),
        # an image is its own first neighbour, and k1 others follow
        ("        reciprocal = k_reciprocal(initial_rank, i, k1 + 1)",
         "        reciprocal = k_reciprocal(initial_rank, i, k1)"),
        ("(backward == i).any(axis=1)", "(backward >= 0).any(axis=1)"),
        ("initial_rank[forward, :k]", "initial_rank[forward, 1:k]"),
        # the rule of two thirds
        ("> 2 / 3 * len(brought)", ">= 2 / 3 * len(brought)"),
        ("> 2 / 3 * len(brought)", "> 1 / 2 * len(brought)"),
        ("> 2 / 3 * len(brought)", "> 2 / 3 * len(reciprocal)"),
        ("ismember(brought, reciprocal)", "ismember(brought, expansion)"),
        ("expansion = np.concatenate((expansion, brought))", "expansion = brought"),
        ("        expansion = unique(expansion)\n", "        expansion = unique(reciprocal)\n"),
        # weights: the distance as it is, each image its own share
        ("exponential(-original_dist[i, expansion])",
         "exponential(original_dist[i, expansion])"),
        ("divide_rows(weight, add_up_rows(weight))", "weight"),
        ("divide_rows(original_dist, farthest)", "original_dist"),
        ("divide_rows(original_dist, farthest)", "original_dist / original_dist.max()"),
        # the last of equals first
        ("sort_ascending(row)", "n - 1 - sort_ascending(row[::-1])"),
        # the mean without the image itself, or of one image where it is not the image itself
        ("initial_rank[i, :k2]", "initial_rank[i, 1:k2 + 1]"),
        ("    if k2 != 1:\n", "    if True:\n"),
        ("    if k2 != 1:\n", "    if k2 > 2:\n"),
        ("        V = V_qe\n", ""),
        ("        V = V_qe\n", "            V[i] = V_qe[i]\n"),
        # Jaccard
        ("1 - shared / (2 - shared)", "1 - shared / 2"),
        ("np.fmin(V[i, used], V[:, used])", "V[i, used] * V[:, used]"),
        ("weigh(jaccard_dist, 1 - lambda_) + weigh(original_dist, lambda_)",
         "weigh(jaccard_dist, lambda_) + weigh(original_dist, 1 - lambda_)"),
    ],
    "_arithmetic": [
        ("        for k in range(A.shape[1]):\n",
         "        for k in reversed(range(A.shape[1])):\n"),
        ("            total += term\n", "            total = term\n"),
        ("return A * B\n", "return A + B\n"),
        ("np.cumsum(rows, axis=-1)[..., -1]", "np.sum(rows, -1, dtype=float)"),
        ("    if rows.shape[-1] == 0:\n        return np.zeros(rows.shape[:-1], rows.dtype)\n",
         "    if rows.shape[-1] == 0:\n        return np.ones(rows.shape[:-1], rows.dtype)\n"),
        ("add_up_rows(matrix.T) / len(matrix)", "add_up_rows(matrix.T)"),
        ("divisor[..., np.newaxis]", "divisor"),
        ("matrix * matrix.dtype.type(share)", "matrix * np.full(1, share)"),
        ("matrix * matrix.dtype.type(share)", "matrix.astype(np.float32) * np.float32(share)"),
        ("        value[is_number] = np.exp(as_complex).real\n", "        value = value + 1\n"),
        ("    if not np.any(numbers < 0):\n", "    if True:\n"),
        ("np.sqrt(-numbers[negative])", "-np.sqrt(-numbers[negative])"),
        ("math.floor(abs(number) + 0.5)", "round(abs(number))"),
        ("math.copysign(math.floor(abs(number) + 0.5), number)", "math.floor(number + 0.5)"),
    ],
    "_values": [
        # the last of equals first
        ('np.argsort(column, kind="stable")',
         'len(column) - 1 - np.argsort(column[::-1], kind="stable")'),
        # equals in any order
        ('np.argsort(column, kind="stable")', 'np.argsort(column, kind="heapsort")'),
        # NaN first
        ('np.argsort(column, kind="stable")',
         'np.argsort(np.nan_to_num(column, nan=-np.inf, neginf=-9), kind="stable")'),
        # complex: by real part, as numpy does; always by modulus
        ("return sort_complex(column)", 'return np.argsort(column, kind="stable")'),
        ("        if np.any(column.imag != 0):\n", "        if True:\n"),
        ("np.lexsort((angle, modulus))", "np.lexsort((modulus,))"),
        ("    angle[angle == -angle.dtype.type(np.pi)] = np.pi\n", ""),
        ("np.isnan(column.real) | np.isnan(column.imag)", "np.isnan(column.imag)"),
        ("np.isnan(column.real) | np.isnan(column.imag)", "np.isnan(column.real)"),
        ("        return math.nan\n", "        return 0.0\n"),
        ("float(np.cumsum(column)[-1])", "float(np.sum(column))"),
    ],
}


def passes(name, source):
    """Does this source of the port's file `name` give the answers worked by hand?"""
    module = {"__name__": f"mutant of {name}"}
    exec(compile(source, f"mutant of {name}.py", "exec", dont_inherit=True), module)
    with np.errstate(all="ignore"):
        results = list(globals()[f"check_{name}"](module))
    assert len(results) > 1
    return all(results)


def test_every_file_has_mutants():
    assert sorted(MUTANTS) == sorted([*reid_ref.matlab.__all__, "_arithmetic", "_values"])


@pytest.mark.parametrize("name", MUTANTS)
def test_the_port_itself_passes(name):
    assert passes(name, (PORT / f"{name}.py").read_text())


@pytest.mark.parametrize("name, number", [
    (name, number) for name, mutants in MUTANTS.items() for number in range(len(mutants))])
def test_mutant_is_caught(name, number):
    source = (PORT / f"{name}.py").read_text()
    snippet, replacement = MUTANTS[name][number]
    assert source.count(snippet) == 1
    assert not passes(name, source.replace(snippet, replacement))
