"""How sure a mean over queries is: standard errors, intervals, paired tests.

Queries of one identity share their good images, so they are not independent: the unit is the
identity. Everything here takes values per query, which of them count, and the unit of each; what a
metric or a convention is, is not known here. Intervals hold for this gallery and this model:
other galleries are not in them, nor, but for `between_methods`, other training runs.

Sums run over units in the order of their labels, one after another, and random numbers are the
raw words of PCG64, so bootstrap intervals and p-values have the same digits with every numpy, on
every processor. (The analytic and exact intervals use the logarithm and powers of the machine's
library, which may differ in the last digit.)
"""
from reid_ref.statistics.interval import Interval, interval, mean_intervals, standard_error
from reid_ref.statistics.methods import MethodsDifference, Spread, between_methods, spread
from reid_ref.statistics.paired import Difference, difference, differences, holm
from reid_ref.statistics.units import UnitSums, unit_sums

__all__ = ["Difference", "Interval", "MethodsDifference", "Spread", "UnitSums", "between_methods",
           "difference", "differences", "holm", "interval", "mean_intervals", "spread",
           "standard_error", "unit_sums"]
