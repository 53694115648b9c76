"""Reading result files: features or distances with their labels.

Result files are read as the tools of the field write them. A file that cannot be evaluated raises
one `InputError` that names the file, the key, what was expected, what came and the remedy.
Features have one row per image, distances one row per query; files with one column
instead, as MATLAB's, are transposed while reading. Dtypes are kept as stored. Matrices in .npy and
HDF5 files stay in the file until their rows are needed. Nothing is unpickled.
"""
from reid_ref.arrays.stored import is_lazy, read_rows
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files.layouts import LAYOUTS, SEPARATE, Layout
from reid_ref.files.lists import read_ranked_lists
from reid_ref.files.read import read_result, results_of_files
from reid_ref.ranking.ranked_lists import RankedLists

__all__ = ["LAYOUTS", "SEPARATE", "Layout", "RankedLists", "ResultFile", "is_lazy",
           "read_ranked_lists", "read_result", "read_rows", "results_of_files"]
