"""Reading result files: features or distances with their labels.

Aim: read result files as the tools of the field write them. A file that cannot be evaluated raises
one `InputError` that names the file, the key, what was expected, what came and the way out.

Conventions: features have one row an image, distances one row a query; files with one column
instead, as MATLAB's, are transposed while reading. Dtypes are kept as stored. Matrices in .npy and
HDF5 files stay in the file until their rows are needed. Nothing is unpickled.

Contents: `read_result` and its answer `ResultFile`, `results_of_files` (read.py), the known
layouts as a table (layouts.py), the file formats (formats.py), arrays that stay in the file:
`is_lazy`, `read_rows` (lazy.py), ranked lists (ranked_lists.py), index lists (lists.py), a check
without which a damaged MAT file ends the process (mat5.py).
"""
from reid_ref.arrays.stored import is_lazy, read_rows
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files.layouts import LAYOUTS, SEPARATE, Layout
from reid_ref.files.ranked_lists import read_ranked_lists
from reid_ref.files.read import read_result, results_of_files
from reid_ref.ranking.ranked_lists import RankedLists

__all__ = ["LAYOUTS", "SEPARATE", "Layout", "RankedLists", "ResultFile", "is_lazy",
           "read_ranked_lists", "read_result", "read_rows", "results_of_files"]
