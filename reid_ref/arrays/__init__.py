"""Input as arrays: one error, conversions, checks, arrays in files, memory limits.

A message names the argument and says what was expected, what came, and the way out. Checks run
once, where a public function is entered; inner functions do not check again.
"""
from reid_ref.arrays.checks import (
    check_distinct, check_finite_rows, check_known_shape, check_length, check_numeric_matrix,
    check_real_distances, check_same_length, check_whole, is_stored, stored_or_array)
from reid_ref.arrays.convert import (
    Doubles, Integers, as_array, as_integers, as_names, as_vector, read_only)
from reid_ref.arrays.errors import InputError, check_choice, each_warning_once, warn

__all__ = [
    "Doubles", "InputError", "Integers", "as_array", "as_integers", "as_names", "as_vector",
    "check_choice", "check_distinct", "check_finite_rows", "check_known_shape", "check_length",
    "check_numeric_matrix", "check_real_distances", "check_same_length", "check_whole",
    "each_warning_once", "is_stored", "read_only", "stored_or_array", "warn",
]
