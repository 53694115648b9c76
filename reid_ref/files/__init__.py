"""Reading result files: features or distances with their labels.

Aim: every result file that the field's tools write is read as it is, and a file that
cannot be evaluated gets one `InputError` that names the file, the key, what was expected,
what came and the way out; never the traceback of a library.

Conventions: a feature array has one row an image, distances have one row a query; files that
keep them the other way, as MATLAB's do, are turned while reading. Dtypes are kept as stored.
Matrices in .npy files and in HDF5 stay in the file until their rows are asked for. Nothing is
unpickled.

Contents: `read_result` and its answer `ResultFile` (read.py), the known layouts as a table
(layouts.py), the file formats (formats.py), arrays that stay in the file: `is_lazy`, `read_rows`
(lazy.py), ranked lists (ranked_lists.py), index lists (lists.py), a check without which a damaged
MAT file ends the process (mat5.py).
"""
from reid_ref.arrays.stored import is_lazy, read_rows
from reid_ref.files.layouts import LAYOUTS, SEPARATE, Layout
from reid_ref.files.ranked_lists import read_ranked_lists
from reid_ref.files.read import ResultFile, read_result
from reid_ref.ranking.ranked_lists import RankedLists

__all__ = ["LAYOUTS", "SEPARATE", "Layout", "RankedLists", "ResultFile", "is_lazy",
           "read_ranked_lists", "read_result", "read_rows"]
