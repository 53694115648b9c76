"""Input as arrays: the error of wrong input, conversions, checks, arrays in files, memory limits.

A message names the argument and gives what was expected, what came, and the remedy. Checks run
once, when a public function is entered; inner functions do not check again.
"""
from reid_ref.arrays.convert import (
    Array, Doubles, Integers, Mask, Texts, as_array, as_integers, as_labels, as_names, as_vector,
    blocks_of, check_distinct, check_finite_rows, check_numeric_matrix, check_real_distances,
    is_stored, read_only, refuse_where, stored_or_array, with_rows)
from reid_ref.arrays.errors import (
    InputError, check_choice, check_count, check_length, check_name, check_same_length, errors_at,
    in_a_line)
from reid_ref.arrays.memory import bytes_for, bytes_of
from reid_ref.arrays.optional import PackageError, optional_module
from reid_ref.arrays.stored import read_rows
from reid_ref.arrays.user_warnings import (
    BenchmarkWarning, CameraWarning, ComparisonWarning, ConventionWarning, FindingWarning,
    InputWarning, IntervalWarning, JunkWarning, LabelWarning, NaNWarning, NormWarning,
    PackageWarning, RankedListWarning, SavedWarning, UnmatchedWarning, UnreadWarning,
    each_warning_once, ignored, warn, warnings_to, without_warnings)
from reid_ref.arrays.value import Value

__all__ = ["Array", "BenchmarkWarning", "CameraWarning", "ComparisonWarning", "ConventionWarning",
           "Doubles", "FindingWarning", "InputError", "InputWarning", "Integers",
           "IntervalWarning", "JunkWarning", "LabelWarning", "Mask", "NaNWarning", "NormWarning",
           "PackageError", "PackageWarning", "RankedListWarning", "SavedWarning", "Texts",
           "UnmatchedWarning", "UnreadWarning", "Value", "as_array", "as_integers", "as_labels",
           "as_names", "as_vector", "blocks_of", "bytes_for", "bytes_of", "check_choice",
           "check_count", "check_distinct", "check_finite_rows", "check_length", "check_name",
           "check_numeric_matrix", "check_real_distances", "check_same_length",
           "each_warning_once", "errors_at", "ignored", "in_a_line", "is_stored",
           "optional_module", "read_only", "read_rows", "refuse_where", "stored_or_array", "warn",
           "warnings_to", "with_rows", "without_warnings"]
