"""One error for wrong input, whose parts are fields; matrices whose rows are contiguous."""
import copy
import pickle

import numpy as np
import pytest

from reid_ref import InputError, Labels
from reid_ref.arrays import check_count
from reid_ref.arrays.stored import in_rows
from reid_ref.compat import NoMatch
from tests.refusals import refused


@pytest.mark.parametrize(("fields", "text"), [
    (("k1", "a whole number", 2.5, "pass 2"), "k1: expected a whole number, got 2.5; pass 2"),
    (("k1", "a whole number"), "k1: expected a whole number"),
    (("k1", "", "too many", "pass 2"), "k1: too many; pass 2"),
    (("", "one", 0), "expected one, got 0"), (("text",), "text")])
@pytest.mark.parametrize("kind", [InputError, NoMatch])
def test_the_text_is_made_of_the_fields(kind, fields, text):
    error = kind(*fields)
    for same in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(same) is kind and str(same) == text
        assert (same.argument, same.expected, same.got, same.remedy) == (
            *map(str, fields), *[""] * (4 - len(fields)))
    assert str(error.at("r.mat")) == f"r.mat: {text}" and type(error.at("r.mat")) is kind


def test_names_of_arguments():
    error = InputError("lists: good[3]", "indices below 2", 5).renamed({"lists": "--index-lists"})
    assert str(error) == "--index-lists: good[3]: expected indices below 2, got 5"
    assert str(error.renamed({"good[3]": "x"})) == str(error)


@pytest.mark.parametrize("value", [0, 10, True, 2.0, "2", [2], None])
def test_whole_numbers(value):
    error = refused("k", "from 1 to 9, the images", check_count, value, "k", 1, 9, "the images")
    assert error.got == ("list" if value == [2] else repr(value))
    assert check_count(9, "k", most=9) == 9 and check_count(0, "k", 0) == 0


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


class Foreign:
    """What a library of others may hand in."""

    def __init__(self, error):
        self.error = error

    def __array__(self, *_, **__):
        raise self.error


@pytest.mark.parametrize("error", [ZeroDivisionError("zero"), KeyError("key"), OSError("gone"),
                                   AttributeError("none"), RecursionError("deep")])
def test_whatever_an_array_raises_is_one_error(error):
    refused("identity", "Foreign", Labels, Foreign(error), [1])
    refused("identity[0]", "Foreign", Labels, [Foreign(error)], [1])
    with pytest.raises(MemoryError):
        Labels(Foreign(MemoryError()), [1])


@pytest.mark.parametrize("value", [[True, False], np.array([True, False]), [True, 2], (3, False)])
def test_truth_is_no_label(value):
    refused("identity", "true", Labels, value, [1, 2])
