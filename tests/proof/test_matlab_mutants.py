"""Small faults, put into the port one at a time, must be caught by the hand-worked cases.

The same checks pass on the port as it is.
"""
import math

import numpy as np
import pytest

import reid_ref.matlab
from tests.proof.hand_cases import (
    AP, CONFUSION, EVALUATION, LAST_BITS, MULTI_CAM, SORT, confusion_matrices, doubles)
from tests.proof.mutants import afresh, all_checks, each, is_caught, near, same, world
from tests.proof.rerank_cases import CASES, SINGLE, defined, near_one

ROOMS = ("matlab",)


def of_port(name):
    """The function of the port's file of its name, as it is loaded now."""
    return getattr(afresh(f"matlab.{name}"), name)


def check_compute_AP():
    compute_AP = of_port("compute_AP")
    for good_image, junk_image, index, expected_ap, expected_cmc in AP.values():
        ap, cmc = compute_AP(good_image, junk_image, index)
        assert type(ap) is float
        near(ap, float(expected_ap))
        same(cmc, doubles(expected_cmc))
    for good_image, expected in LAST_BITS.values():
        assert compute_AP(good_image, [], np.arange(30))[0] == expected


def check_evaluation():
    for *given, expected_CMC, expected_map, _ in EVALUATION.values():
        CMC, map, r1_pairwise, ap_pairwise = of_port("evaluation")(*given)
        same(CMC, expected_CMC)
        near(map, float(expected_map))
        same((r1_pairwise, ap_pairwise), np.zeros((2, len(given[2]), 6)))


def check_evaluation_mars():
    evaluation_mars = of_port("evaluation_mars")
    for *given, expected_CMC, _, expected_map in EVALUATION.values():
        CMC, map, r1_pairwise, ap_pairwise = evaluation_mars(*given)
        assert type(map) is float
        same(CMC, expected_CMC)
        near(map, float(expected_map))
        assert r1_pairwise.shape == ap_pairwise.shape == (len(given[2]), 6)
    dist, labels, cams = [[0], [1], [2], [3]], [7, 8, -1, 7], [1, 2, 2, 2]
    _, _, r1_pairwise, ap_pairwise = evaluation_mars(dist, labels, [7], cams, [1])
    same(r1_pairwise, [[-1, 0, -2, -2, -2, -2]])
    near(ap_pairwise, [[0, 1 / 6, 0, 0, 0, 0]])


def check_compute_AP_multiCam():
    for *given, expected_ap, _ in MULTI_CAM.values():
        near(of_port("compute_AP_multiCam")(*given), doubles(expected_ap))


def check_compute_r1_multiCam():
    for *given, _, expected_r1 in MULTI_CAM.values():
        same(of_port("compute_r1_multiCam")(*given), doubles(expected_r1))


def check_draw_confusion_matrix():
    draw_confusion_matrix = of_port("draw_confusion_matrix")
    same(draw_confusion_matrix(*CONFUSION[:3]), confusion_matrices())
    same(draw_confusion_matrix(np.zeros((0, 6)), np.zeros((0, 6)), []),
         np.full((2, 6, 6), np.nan))


def check__values():
    module = afresh("matlab._values")
    for column, order in SORT:
        same(module.sort_ascending(np.array(column)), order)
    for numerator, denominator, expected in (
            (0, 0, math.nan), (1, 4, .25), (1, 0, math.inf), (-1, 0, -math.inf),
            (1, -0.0, -math.inf), (math.nan, 0, math.nan), (math.nan, 2, math.nan)):
        same(module.divide(numerator, denominator), expected)
    column = np.array([1.0] + [2.0**-53] * 1000)  # added one after another
    assert module.add_up(column) == 1 != np.sum(column)
    assert module.add_up(np.zeros(0)) == 0


def check_MahDist():
    MahDist = of_port("MahDist")
    Xg, Xp, M = np.array([[0, 1], [2, 5]]), np.array([[1, 1], [4, 0], [0, 7]]), [[2, 1], [-1, 3]]
    one_by_one = [[(x - y) @ M @ (x - y) for y in Xp] for x in Xg]
    same(MahDist(1, Xg, Xp), [[1, 17, 36], [17, 29, 8]])
    same(MahDist(np.diag([2, 3]), Xg, Xp), [[(x - y)**2 @ [2, 3] for y in Xp] for x in Xg])
    near(MahDist(np.add(M, np.transpose(M)) / 2, Xg, Xp), one_by_one)


def check_my_pdist2():
    my_pdist2 = of_port("my_pdist2")
    same(my_pdist2([[0, 0], [3, 4]], [[6, 8]]), [[10], [5]])
    # With one dimension no order of terms matters: each square is rounded in one way only.
    A, B = near_one(10), near_one(8)
    square = (A * A + (B * B).T) - 2 * (A * B.T)
    assert (square < 0).any() and (square > 0).any() and (square == 0).any()
    dist = my_pdist2(A, B)
    assert dist.dtype == np.complex128
    same((dist.real, dist.imag), np.sqrt(np.maximum((square, -square), 0)))
    assert my_pdist2(A.astype(np.float32), A.astype(np.float32)).dtype == np.float32


def check_re_ranking():
    for name, given in CASES.items():
        final_dist = of_port("re_ranking")(*given)
        assert final_dist.dtype == np.float32 and final_dist.shape == defined(name).shape
        near(final_dist, defined(name), SINGLE)


def check__arithmetic():
    module = afresh("matlab._values")
    tiny = np.array([[1, 2**-24, 2**-24]], np.float32)  # one by one, they do not reach 1
    same(module.product(tiny, np.ones((3, 1), np.float32)), [[1]])
    same(module.product(np.eye(2), np.array([[1.0, 2], [3, 4]])), [[1, 2], [3, 4]])
    same(module.product(np.ones((1, 2)), np.array(3.0)), [[3, 3]])
    same(module.add_up_rows(tiny), [1])
    same(module.add_up_rows(np.zeros((2, 0))), [0, 0])
    same(module.mean_of_columns(np.array([[1.0, 2], [3, 5]])), [2, 3.5])
    same(module.divide_rows(np.array([[1.0, 4], [6, 3]]), np.array([4, 3])), [[0.25, 1], [2, 1]])
    # near 1/3, where the nearest single of the product of doubles is another one
    thirds = np.float32(1) / np.arange(3, 99, dtype=np.float32)
    same(module.weigh(thirds, 0.7), thirds * np.float32(0.7))
    same(module.weigh(thirds.astype(float), 0.7), (thirds.astype(float) * 0.7).astype(np.float32))
    near(module.exponential(np.array([0, -1, -np.inf, np.nan])), [1, np.exp(-1), 0, np.nan])
    same(module.root(np.array([4.0, -9, 0])), [2, 3j, 0])
    assert module.root(np.array([4.0, 9])).dtype == np.float64
    assert [module.round_half_away(half) for half in (0.5, 1.5, 2.5, 2.4, -2.5)] == [
        1, 2, 3, 2, -3]


MUTANTS = {
    "matlab.compute_AP": ((check_compute_AP,), [
        # precision off by one
        "intersect_size / {{(j + 1) => (j + 2) => max(j, 1)}}",
        # rank counted with the junk
        "intersect_size / ({{j => n}} + 1)",
        # step for trapezoid
        "height = {{(old_precision + precision) / 2 => precision => old_precision}}",
        # precision of the previous hit, not of the previous image
        " = precision{{ =>  if is_good[n] else old_precision}}\n",
        "    old_precision = {{1.0 => 0.0}}\n",
        # recall step 1/n: other last bits
        " ({{recall - old_recall => is_good[n] / ngood if ngood else recall}}) * height",
        # recall over what is in the list
        "ngood = {{len(good_image) => int(ismember(good_image, index).sum())}}",
        # junk not skipped, junk known to the curve only, or to the walk only
        "        if {{is_junk[n] => False}}:\n", "            {{njunk = njunk => j = j}} + 1\n",
        # match curve without the offset, or off by one
        "cmc[n{{ - njunk: => : =>  - njunk + 1: =>  - njunk}}] = 1",
        # good and junk at once: not seen by the curve, not counted, or counted as a hit
        "        if is_good[n]{{ =>  and not is_junk[n]}}:\n",
        "good_now = good_now + 1\n{{ =>             is_junk[n] = False\n}}",
        # 0/0 as 0, or all junk as NaN
        "{{divide(intersect_size, ngood) => (divide(intersect_size, ngood) if ngood else 0)}}",
        "    ap = 0.0{{ =>  if ngood else np.nan}}\n",
        # the walk does not end when all good images are seen
        "                {{break => pass}}\n",
    ]),
    "matlab.evaluation": ((check_evaluation,), [
        # label -1 counts as a wrong image, or is junk of the query's camera only
        "{{np.concatenate((junk0, junk)) => junk}}",
        " = find({{label_gallery == -1 => (label_gallery == -1) & (cam_gallery > 1)}})\n",
        # distractors are junk
        "junk0 = find(label_gallery {{== -1 => < 7}})\n",
        # the query's own camera counts
        "{{np.concatenate((junk0, junk)) => junk0}}", "good_image = pos{{[~same_cam] => }}",
        # a query without a good image: NaN, or left out
        "{{    ap[np.isnan(ap)] = 0\n =>  =>     ap = ap[~np.isnan(ap)]\n    n_query = len(ap) "
        "or 1\n}}",
        # far first; the last of equals first
        "{{sort_ascending(dist[:, k]) => sort_ascending(dist[:, k])[::-1] => len(dist) - 1 - "
        "sort_ascending(dist[::-1, k])}}",
        "CMC = CMC / {{n_query => max(n_query - 1, 1)}}\n", "CMC = {{CMC +  => }}cmc",
        "cam_query{{[k] => [0] + 1}}",
    ]),
    "matlab.evaluation_mars": ((check_evaluation_mars,), [
        "    {{ => ap[np.isnan(ap)] = 0\n    }}map = add_up(ap)",
        "{{np.concatenate((junk0, junk)) => junk}}",
        # label -1 is ignored by the scores of each camera as well
        "        ap_pairwise[k, :] = compute_AP_multiCam(\n            good_image, {{junk => "
        "np.concatenate((junk0, junk))}}, ",
        "        r1_pairwise[k, :] = compute_r1_multiCam(\n            good_image, {{junk => "
        "np.concatenate((junk0, junk))}}, ",
    ]),
    "matlab.compute_AP_multiCam": ((check_compute_AP_multiCam,), [
        "ngood = len{{(junk_image) - 1 => (junk_image) => (good_here)}}",
        "{{setdiff(junk_image, index[:1]) => junk_image}}",
        "{{np.concatenate((good_image, index[:1])) => index[:1] => good_image}}",
        "{{np.concatenate((junk_image, good_image[~on_cam])) => junk_image => "
        "good_image[~on_cam]}}",
        "    if {{complete => True}}:\n        ap_multi[queryCam",
        "        if {{complete => True}}:\n            ap_multi[",
        "intersect_size / (j + {{1 => 2}})",
        "height = {{(old_precision + precision) / 2 => precision}}",
        "        if {{good_now == ngood => False}}:\n",
    ]),
    "matlab.compute_r1_multiCam": ((check_compute_r1_multiCam,), [
        "    if {{ngood == 0:\n        r1[queryCam - 1] = -1 => False:\n        pass}}",
        "    if ngood {{== => <=}} 0:\n", "r1 = {{-2 * np.ones => np.zeros}}(6)",
        "{{np.concatenate((good_image, index[:1])) => index[:1] => good_image}}",
        "{{np.concatenate((junk_image, good_image[~on_cam])) => junk_image => "
        "good_image[~on_cam]}}",
        "ismember({{kept => index}}[:1], good_here)",
    ]),
    "matlab.draw_confusion_matrix": ((check_draw_confusion_matrix,), [
        # true zeros are counted, NaN is left out
        "            if {{ap[n, col] != 0 => True => ap[n, col] > 0}}:\n",
        "            if r1[n, col] {{>= 0 => > 0 => >= -1}}:\n",
        # divided by all queries
        "divide_elements(ap_mat, {{ap_count => 0 * ap_count + len(ap)}})",
        "divide_elements(r1_mat, {{r1_count => 0 * r1_count + len(ap)}})",
        # empty cells are 0
        "divide_elements(ap_mat, {{ap_count => np.maximum(ap_count, 1)}})",
        "ap_mat{{[row, col] = ap_mat[row, col] => [col, row] = ap_mat[col, row]}}",
    ]),
    "matlab.MahDist": ((check_MahDist,), [
        "{{product(Xg, M) => Xg}} * Xg", "product({{Xp => Xg[:1]}}, M) * Xp",
        "{{product(2 * Xg, M) => product(Xg, M) => 2 * Xg}}",
    ]),
    "matlab.my_pdist2": ((check_my_pdist2,), [
        # held at 0
        "{{root(square) => root(np.maximum(square, 0)) => np.abs(root(square)) => square}}",
        "{{2 *  => }}product(A, B.T)",
    ]),
    "matlab.re_ranking": ((check_re_ranking,), [
        # the published Python's window; halves to the even number, or down
        "{{round_half_away((k1 + 1) / 2) => int(np.around(k1 / 2)) + 1 => round((k1 + 1) / 2) => "
        "(k1 + 1) // 2}}",
        # an image is its own first neighbour, and k1 others follow
        "        reciprocal = k_reciprocal(initial_rank, i, k1{{ + 1 => }})",
        "(backward {{== i => >= 0}}).any(axis=1)", "initial_rank[forward, {{ => 1}}:k]",
        # the rule of two thirds
        "{{> 2 / 3 * len(brought) => >= 2 / 3 * len(brought) => > 1 / 2 * len(brought) => > 2 / "
        "3 * len(reciprocal)}}",
        "ismember(brought, {{reciprocal => expansion}})",
        "expansion = {{np.concatenate((expansion, brought)) => brought}}",
        "        expansion = unique({{expansion => reciprocal}})\n",
        # weights: the distance as it is, each image its own share
        "exponential({{- => }}original_dist[i, expansion])",
        "{{divide_rows(weight, add_up_rows(weight)) => weight}}",
        "{{divide_rows(original_dist, farthest) => original_dist => original_dist / "
        "original_dist.max()}}",
        # the last of equals first
        "{{sort_ascending(row) => n - 1 - sort_ascending(row[::-1])}}",
        # the mean without the image itself, or of one image where it is not the image itself
        "initial_rank[i, {{:k2 => 1:k2 + 1}}]", "    if {{k2 != 1 => True => k2 > 2}}:\n",
        "{{        V = V_qe\n =>  =>             V[i] = V_qe[i]\n}}",
        # Jaccard
        "1 - shared / {{(2 - shared) => 2}}",
        "{{np.fmin(V[i, used], V[:, used]) => V[i, used] * V[:, used]}}",
        ", {{1 - lambda_) + weigh(original_dist, => lambda_) + weigh(original_dist, 1 -}} ",
    ]),
    "matlab._values": ([check__values, check__arithmetic], [
        # the last of equals first
        '{{np.argsort(column => len(column) - 1 - np.argsort(column[::-1]}}, kind="',
        # equals in any order
        'np.argsort(column, kind="{{stable => heapsort}}")',
        # NaN first
        ".argsort({{column => np.nan_to_num(column, nan=-np.inf, neginf=-9)}}, kind",
        # complex: by real part, as numpy does; always by modulus
        'return {{sort_complex(column) => np.argsort(column, kind="stable")}}',
        "        if {{np.any(column.imag != 0) => True}}:\n",
        "np.lexsort(({{angle, modulus => modulus,}}))",
        "{{    angle[angle == -angle.dtype.type(np.pi)] = np.pi\n => }}",
        "np.isnan{{(column.real) | np.isnan(column.imag) => (column.imag) => (column.real)}}",
        "        return {{math.nan => 0.0}}\n",
        "float({{np.cumsum(column)[-1] => np.sum(column)}})",
        "       for k in {{range(A.shape[1]) => reversed(range(A.shape[1]))}}:\n",
        "            total {{+ => }}= term\n", "return A {{* => +}} B\n",
        "{{np.cumsum(rows, axis=-1)[..., -1] => np.sum(rows, -1, dtype=float)}}",
        ".shape[-1] == 0:\n        return {{np.zeros => np.ones}}",
        "add_up_rows(matrix.T){{ / len(matrix) => }}", "divisor{{[..., np.newaxis] => }}",
        "{{matrix * matrix.dtype.type(share) => matrix * np.full(1, share) => "
        "matrix.astype(np.float32) * np.float32(share)}}",
        "        value{{[is_number] = np.exp(as_complex).real =>  = value + 1}}\n",
        "    if {{not np.any(numbers < 0) => True}}:\n", "{{ => -}}np.sqrt(-numbers[negative])",
        "{{math.floor(abs(number) + 0.5) => round(abs(number))}}",
        "{{math.copysign(math.floor(abs(number) + 0.5), number) => math.floor(number + 0.5)}}",
    ]),
}


def test_every_file_has_mutants():
    names = *reid_ref.matlab.__all__, "_values"
    assert set(MUTANTS) == {f"matlab.{name}" for name in names}


@pytest.mark.parametrize("check", all_checks(MUTANTS))
def test_the_port_itself_passes(check):
    with world(ROOMS):
        check()


@pytest.mark.nightly
@pytest.mark.parametrize("name, snippet, replacement", each(MUTANTS))
def test_mutant_is_caught(name, snippet, replacement):
    assert is_caught(ROOMS, MUTANTS[name][0], name, snippet, replacement)
