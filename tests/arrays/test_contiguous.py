"""Matrices whose rows are contiguous."""
import numpy as np
import pytest

from reid_ref.arrays.stored import in_rows


@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (127, 513), (129, 511), (300, 1030)])
def test_a_transposed_matrix_is_copied(shape):
    matrix = np.random.default_rng(0).random(shape[::-1]).T
    copy = in_rows(matrix)
    assert copy.flags.c_contiguous and copy.dtype == matrix.dtype
    np.testing.assert_array_equal(copy, matrix)


def test_strides_of_every_kind():
    matrix = np.random.default_rng(0).integers(0, 9, (400, 700))
    for view in (matrix[::-1], matrix[:, ::3], matrix[::2, ::-2].T, np.broadcast_to(7, (3, 4))):
        np.testing.assert_array_equal(in_rows(view), view)
    assert in_rows(matrix) is matrix
