"""Ratios of paired measurements, with 95 % confidence intervals by Student's t on their logarithms."""

import math
import statistics
from typing import NamedTuple

# Two-sided 95 % quantiles of Student's t by degrees of freedom, from 1; beyond, those of the last.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
       2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)


class Interval(NamedTuple):
    middle: float
    low: float
    high: float


def mean_of(values):
    """Their mean; of a single one nothing more is known."""
    middle = statistics.fmean(values)
    if len(values) < 2:
        return Interval(middle, -math.inf, math.inf)
    reach = T95[min(len(values) - 1, len(T95)) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(middle, middle - reach, middle + reach)


def ratio_of(before, after):
    """after / before, round by round: what both have in common, such as a slow minute, cancels out."""
    return Interval(*map(math.exp, mean_of([math.log(b / a) for a, b in zip(before, after)])))
