"""tests/support/run_unittest.py: its results, and the choice of cases."""

import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

SOURCE = os.environ.get("PROFD_SOURCE_DIR", os.getcwd())
CASES = """import unittest
class Some(unittest.TestCase):
    def test_good(self): pass
    def test_bad(self): self.fail("no")
    def test_left_out(self): self.skipTest("why not")
    def test_half(self):
        with self.subTest("other half"): self.skipTest("not here")
"""


class RunUnittest(unittest.TestCase):
    def results(self, **environment):
        """Exit status, and what became of each case."""
        with tempfile.TemporaryDirectory() as folder:
            path, output = os.path.join(folder, "cases.py"), os.path.join(folder, "out/cases.xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(CASES)
            done = subprocess.run([sys.executable, os.path.join(SOURCE, "tests/support/run_unittest.py"), path],
                                  env={**os.environ, "GTEST_OUTPUT": f"xml:{output}", **environment},
                                  stderr=subprocess.DEVNULL, check=False)
            cases = ElementTree.parse(output).getroot().iter("testcase")
            return done.returncode, {f'{case.get("classname")}.{case.get("name")}': [part.tag for part in case] for case in cases}

    def test_all(self):
        for filtered in ({}, {"GTEST_FILTER": "*"}):
            self.assertEqual(self.results(**filtered), (1, {
                "cases.Some.test_good": [], "cases.Some.test_bad": ["failure"], "cases.Some.test_left_out": ["skipped"],
                "cases.Some.test_half": [], "cases.Some.test_half [other half]": ["skipped"]}))

    def test_chosen_cases(self):
        self.assertEqual(self.results(GTEST_FILTER="cases.Some.test_good:cases.Some.test_left_out"), (0, {
            "cases.Some.test_good": [], "cases.Some.test_left_out": ["skipped"]}))


if __name__ == "__main__":
    unittest.main()
