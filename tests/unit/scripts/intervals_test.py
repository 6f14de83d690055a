"""tests/bench/intervals.py against values worked out by hand."""

import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["PROFD_SOURCE_DIR"], "tests/bench"))

from intervals import mean_of, ratio_of  # noqa: E402


class Intervals(unittest.TestCase):
    def test_mean_of_three(self):
        # Standard deviation 1, so 4.303 / sqrt(3) to either side.
        found = mean_of([1, 2, 3])
        self.assertAlmostEqual(found.middle, 2)
        self.assertAlmostEqual(found.high - found.middle, 4.303 / math.sqrt(3))
        self.assertAlmostEqual(found.middle - found.low, 4.303 / math.sqrt(3))

    def test_of_one_nothing_is_certain(self):
        self.assertEqual(mean_of([5]), (5, -math.inf, math.inf))

    def test_ratios_are_paired(self):
        # Rounds differ tenfold, their ratio hardly at all.
        found = ratio_of([1, 10, 100], [1.01, 10.12, 101])
        self.assertTrue(1.0 < found.low < found.middle < found.high < 1.04, found)
        self.assertEqual(ratio_of([3, 4], [3, 4]), (1, 1, 1))


if __name__ == "__main__":
    unittest.main()
