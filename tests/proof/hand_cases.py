"""Cases worked by hand, for the port, for Octave, and for the mutants of the port.

Numbers are fractions where no short decimal exists. The doubles that Octave gives for
them stand in `LAST_BITS`.
"""
from fractions import Fraction as F

import numpy as np

NAN = float("nan")

# name: good, junk, index, ap, cmc
AP = {
    # Five fruits exist, five are returned, three of them right: the list is cut short.
    "fruit at 1, 4, 5": (
        [1, 2, 3, 4, 5], [], [1, 11, 12, 2, 3], F(59, 150), [1, 1, 1, 1, 1]),
    "fruit at 2, 3, 4": (
        [1, 2, 3, 4, 5], [], [11, 1, 2, 3, 12], F(37, 120), [0, 1, 1, 1, 1]),
    "fruit at 1, 3, 4": (
        [1, 2, 3, 4, 5], [], [1, 11, 2, 3, 12], F(11, 24), [1, 1, 1, 1, 1]),
    "perfect": ([1, 2], [], [2, 1, 3], 1, [1, 1, 1]),
    "last": ([3], [], [1, 2, 3], F(1, 6), [0, 0, 1]),
    "junk before the hit is taken off its rank": ([3], [1, 2], [1, 2, 3], 1, [1, 1, 1]),
    "junk after a wrong image": ([3], [2], [1, 2, 4, 3], F(1, 6), [0, 0, 1, 1]),
    "junk between two hits": ([1, 4], [2], [1, 2, 3, 4], F(19, 24), [1, 1, 1, 1]),
    "precision is that of the position before": (
        [1, 5], [], [1, 2, 3, 4, 5], F(1, 2) + F(13, 80), [1, 1, 1, 1, 1]),
    "no good image": ([], [2], [2, 1, 3], NAN, [0, 0, 0]),
    "all junk": ([], [1, 2, 3], [3, 1, 2], 0, [0, 0, 0]),
    "good and junk at once": ([2], [2], [1, 2, 3], 0, [0, 1, 1]),
    "one of two is junk at once": ([1, 2], [1], [1, 3, 2, 4], F(1, 8), [1, 1, 1, 1]),
    "all good is junk, nothing is kept": ([1, 2], [1, 2], [2, 1], 0, [1, 1]),
    "the walk ends when as many are seen as exist": (
        [2], [1], [1, 2, 2, 3], 1, [1, 1, 1, 1]),
    "empty list": ([1], [], [], 0, []),
    "single image": ([5], [], [5], 1, [1]),
}

# name: good images of a gallery of 30 that ranks 0, 1, 2, ...; the double from Octave
LAST_BITS = {
    "six good": ([0, 4, 9, 13, 21, 28], 0.37432688639585188),
    "ten good": ([1, 3, 4, 8, 9, 15, 20, 22, 27, 29], 0.37331499113358185),
}

# column: the order that MATLAB's sort gives, from 0
SORT = [
    ([2.0, 1.0, 2.0, 1.0, 1.0], [1, 3, 4, 0, 2]),
    ([1.0, 0.0] * 20, [*range(1, 40, 2), *range(0, 40, 2)]),
    ([NAN, 1.0, NAN, -np.inf, np.inf, 0.0], [3, 5, 1, 4, 0, 2]),
    ([0.0, -0.0, -1.0, -0.0, 0.0], [2, 0, 1, 3, 4]),
    ([2.0 + 0j, -3.0 + 0j, complex(1, -0.0)], [1, 2, 0]),  # no imaginary part: real
    ([2.0 + 0j, -3.0 + 0j, 1j], [2, 0, 1]),  # by modulus
    ([-1.0, 1j, 1.0, -1j, 0.0], [4, 3, 2, 1, 0]),  # then by angle
    ([complex(-1, -0.0), 1j, complex(-1, 0.0), complex(-1, -0.0)], [1, 0, 2, 3]),
    ([complex(0.0, -0.0), complex(-0.0, 0.0), 0.0, complex(-0.0, -0.0), 1j], [0, 2, 1, 3, 4]),
    ([complex(np.inf, NAN), complex(NAN, 0), 1j, complex(0, np.inf)], [2, 3, 0, 1]),
    ([complex(NAN, 0), complex(np.inf, NAN), 1j, complex(0, np.inf)], [2, 3, 0, 1]),
    ([0.6 + 0.8j, 0.8 + 0.6j, 1.0, 0.0], [3, 2, 1, 0]),
]

# name: dist, label_gallery, label_query, cam_gallery, cam_query; CMC, map, map of MARS
EVALUATION = {
    "junk of both kinds": (
        [[1], [2], [3], [4], [5]], [-1, 7, 8, 7, 7], [7], [1, 1, 1, 2, 3], [1],
        [0, 1, 1, 1, 1], F(5, 12), F(5, 12)),
    "a query without a good image": (
        [[1, 3], [2, 2], [3, 1]], [7, 7, 8], [7, 8], [2, 1, 1], [1, 1],
        [0.5, 0.5, 0.5], F(1, 2), NAN),
    "a query labelled -1 finds junk": (
        [[2], [1], [3]], [-1, -1, 7], [-1], [2, 1, 1], [1], [1, 1, 1], 0, 0),
    "a query that the gallery lacks": (
        [[2], [1]], [3, 4], [5], [2, 2], [1], [0, 0], 0, NAN),
    "a distractor is a wrong image": (
        [[1], [2], [3]], [0, 7, 0], [7], [1, 2, 2], [1], [0, 1, 1], F(1, 4), F(1, 4)),
    "ties stay in gallery order": (
        [[1], [1], [1], [1]], [8, 9, 7, 6], [7], [2, 2, 2, 2], [1],
        [0, 0, 1, 1], F(1, 6), F(1, 6)),
    "NaN comes last": (
        [[NAN], [2], [1]], [7, 8, 9], [7], [2, 2, 2], [1], [0, 0, 1], F(1, 6), F(1, 6)),
    "complex distances: by modulus": (
        [[-2 + 0j], [1j]], [7, 8], [7], [2, 2], [1], [0, 1], F(1, 4), F(1, 4)),
    "all junk": (
        [[1], [2]], [-1, 7], [7], [1, 1], [1], [0, 0], 0, 0),
    "one image, one query": ([[3]], [7], [7], [2], [1], [1], 1, 1),
}

# name: good_image, junk_image, index (from 0), queryCam, testCam; ap_multi, r1
MULTI_CAM = {
    "three cameras": (
        [1, 3], [0, 4], [0, 4, 2, 1, 3], 1, [1, 2, 2, 3, 1],
        [1, F(1, 4), F(1, 4), 0, 0, 0], [1, 0, 0, -2, -2, -2]),
    "an own image behind a wrong one": (
        [], [0, 3], [0, 1, 2, 3], 6, [6, 1, 2, 6],
        [0, 0, 0, 0, 0, F(1, 6)], [-2, -2, -2, -2, -2, 0]),
    "an own image behind a good one of another camera": (
        [1], [0, 3], [0, 1, 3, 2], 6, [6, 1, 2, 6], [1, 0, 0, 0, 0, 1], [1, -2, -2, -2, -2, 1]),
    "good images of other cameras are passed over": (
        [1, 2], [0], [0, 1, 2], 4, [4, 5, 6],
        [0, 0, 0, 0, 1, 1], [-2, -2, -2, -1, 1, 1]),
    "the query alone on its camera": (
        [1], [0], [0, 1, 2], 1, [1, 2, 2], [0, 1, 0, 0, 0, 0], [-1, 1, -2, -2, -2, -2]),
    "no image on the own camera: -1 to find": (
        [1], [], [2, 1, 0], 1, [1, 2, 2],
        [0, F(1, 4), 0, 0, 0, 0], [0, 0, -2, -2, -2, -2]),
    "query not in the gallery: one more than counted": (
        [], [1, 3], [0, 1, 2, 3], 1, [2, 1, 2, 1], [1, 0, 0, 0, 0, 0], [1] + [-2] * 5),
    "list cut short: not all found": (
        [], [0, 3, 4], [0, 3, 1], 1, [1, 1, 1, 1, 1], [0] * 6, [1] + [-2] * 5),
    "a good image is nearest": (
        [1, 2], [0], [1, 0, 2], 1, [1, 2, 3], [0, 1, 1, 0, 0, 0], [-1, 1, 1, -2, -2, -2]),
    "everything is ignored": ([], [0, 1], [0], 1, [1, 1], [0] * 6, [-2] * 6),
    "good on the own camera, not all found: the first answer stays": (
        [2, 3], [0, 1], [0, 1, 2], 1, [1, 1, 1, 1], [1, 0, 0, 0, 0, 0], [1] + [-2] * 5),
}

# ap, r1, queryCam; the first columns of ap_mat and r1_mat, rows of cameras 1 and 2
CONFUSION = (
    [[0, 0.5, NAN, 0, 0, 0], [0, 0, 0.75, 0, 0, 0], [1, 0, 0.25, 0, 0, 0], [0, 0, 0.5, 0, 0, 0]],
    [[-1, 1, NAN, -2, -2, -2], [-1, 0, 1, -2, -2, -2], [1, -1, -2, -2, -2, -2], [0] * 6],
    [1, 1, 2, 2],
    [[NAN, 0.5, NAN], [1, NAN, 0.375]],
    [[NAN, 0.5, 1, NAN, NAN, NAN], [0.5, 0, 0, 0, 0, 0]],
)


def confusion_matrices():
    """The 6 x 6 answers of `CONFUSION`."""
    matrices = np.full((2, 6, 6), NAN)
    matrices[0, :2, :3], matrices[1, :2, :] = CONFUSION[3:]
    return matrices


def doubles(values):
    """The doubles next to numbers that may be fractions."""
    return np.array([float(value) for value in values])
