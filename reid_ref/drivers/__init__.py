"""What the MATLAB drivers print of features: every line of a baseline.

Aim: from features, each line (method, Rank-1, mAP) that `Market_1501_evaluation.m`,
`CUHK03_evaluation.m`, `baseline_evaluation_IDE.m` or `test_mars.m` prints, or the reason why it is
missing.

Conventions: one row an image, divided by its 2-norm, in the precision that the driver chooses.
All random choices are made by `random_choices`, or handed in.

Contents: `DRIVERS`, what each driver does (drivers.py); `read_inputs`, its files (inputs.py);
`baseline`, its lines, `baseline_signature` and `random_choices` (lines.py).

Differences from the drivers:

1. Training pairs are drawn by numpy's generator, not by MATLAB's: lines of XQDA and KISSME change
   in their last digits with the seed, as MATLAB's do from run to run.
2. Matrix products are those of numpy's BLAS. Distances differ from MATLAB's in the last bits, so,
   rarely, two neighbours in a ranked list are exchanged.
3. A line that cannot be computed (a singular covariance, fewer images than re-ranking takes) is
   left out with the reason, and the others are computed. The drivers stop with an error.

Source: zhunzhong07/person-re-ranking (278f2c7), zhunzhong07/IDE-baseline-Market-1501 (8be027b),
liangzheng06/MARS-evaluation (3a91bbc).
"""
from reid_ref.drivers.inputs import Images, Inputs, read_inputs
from reid_ref.drivers.lines import (
    Baseline, Line, baseline, baseline_signature, random_choices)
from reid_ref.drivers.records import DRIVERS, Driver, Method

__all__ = ["DRIVERS", "Baseline", "Driver", "Images", "Inputs", "Line", "Method", "baseline",
           "baseline_signature", "random_choices", "read_inputs"]
