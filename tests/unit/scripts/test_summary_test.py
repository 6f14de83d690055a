"""scripts/lib/test_summary.py against real CTest runs of small projects."""

import glob
import os
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.environ.get("PROFD_SOURCE_DIR", os.getcwd())
SUMMARY = os.path.join(SOURCE, "scripts/lib/test_summary.py")

PASSES_TWO_SKIPS_ONE = """<testsuites><testsuite name="S">
<testcase name="A" status="run" result="completed" classname="S"/>
<testcase name="B" status="run" result="completed" classname="S"/>
<testcase name="C" status="run" result="skipped" classname="S">
<skipped message="x_test.cc:12&#x0A;needs root"/></testcase>
<testcase name="DISABLED_D" status="notrun" result="suppressed" classname="S"/>
</testsuite></testsuites>"""
FAILS_ONE = """<testsuites><testsuite name="S">
<testcase name="A" status="run" result="completed" classname="S"/>
<testcase name="B" status="run" result="completed" classname="S">
<failure message="1 is not 2"/><failure message="nor 3"/></testcase></testsuite></testsuites>"""


class TestSummary(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def run_ctest(self, entries):
        """entries: name -> (shell script, its results or None for an entry that is not GoogleTest)."""
        results = os.path.join(self.folder, "tests/results")
        os.makedirs(f"{results}/ctest")
        lines = []
        for name, (script, xml) in entries.items():
            lines.append(f'add_test({name} "/bin/sh" "-c" "{script}")')
            properties = "TIMEOUT 2 SKIP_RETURN_CODE 77"
            if xml is not None:
                properties += f' ENVIRONMENT "GTEST_OUTPUT=xml:{results}/{name}.xml"'
                if xml:
                    with open(f"{results}/{name}.xml", "w", encoding="utf-8") as file:
                        file.write(xml)
            lines.append(f"set_tests_properties({name} PROPERTIES {properties})")
        with open(os.path.join(self.folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        subprocess.run(["ctest", "--test-dir", self.folder, "--output-junit", "tests/results/ctest/all.xml"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def summary(self, *arguments):
        done = subprocess.run([SUMMARY, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.rstrip("\n").split("\n")

    def test_lists_what_is_slow(self):
        self.run_ctest({"quick": ("exit 0", None), "slow": ("sleep 1", None)})
        _, lines = self.summary(f"{self.folder}=release")
        self.assertEqual(lines, ["SLOW: release: slow: 1 s", "2 passed, 0 failed, 0 skipped"])

    def test_counts_cases_and_not_programs(self):
        self.run_ctest({"one": ("exit 0", PASSES_TWO_SKIPS_ONE), "plain": ("exit 0", None)})
        status, lines = self.summary(f"{self.folder}=release")
        self.assertEqual(lines, ["SKIPPED: release: one: S.C: needs root",
                                 "3 passed, 0 failed, 1 skipped"])
        self.assertEqual(status, 0)

    def test_failed_case(self):
        self.run_ctest({"one": ("exit 1", FAILS_ONE)})
        status, lines = self.summary(f"{self.folder}=asan")
        self.assertEqual(lines, ["FAILED: asan: one: S.B: 1 is not 2", "1 passed, 1 failed, 0 skipped"])
        self.assertEqual(status, 1)

    def test_crash_before_the_results_are_written(self):
        self.run_ctest({"one": ("kill -SEGV $$", "")})
        status, lines = self.summary(self.folder)
        self.assertEqual(lines[-1], "0 passed, 1 failed, 0 skipped")
        self.assertEqual(status, 1)

    def test_timeout(self):
        self.run_ctest({"one": ("sleep 60", "")})
        self.assertEqual(self.summary(self.folder)[1][-1], "0 passed, 1 failed, 0 skipped")

    def test_failure_after_every_case_has_passed(self):
        self.run_ctest({"one": ("exit 23", PASSES_TWO_SKIPS_ONE)})
        self.assertEqual(self.summary(self.folder)[1][-1], "2 passed, 1 failed, 1 skipped")

    def test_program_that_ends_well_without_results_has_failed(self):
        self.run_ctest({"one": ("exit 0", "")})
        self.assertEqual(self.summary(self.folder)[1][-1], "0 passed, 1 failed, 0 skipped")

    def test_results_cut_short(self):
        self.run_ctest({"one": ("exit 0", FAILS_ONE[:150])})
        self.assertEqual(self.summary(self.folder)[1][-1], "0 passed, 1 failed, 0 skipped")

    def test_skip_of_a_plain_entry_has_its_reason(self):
        self.run_ctest({"one": ("echo SKIPPED: no qemu here; exit 77", None)})
        _, lines = self.summary(f"{self.folder}=release")
        self.assertEqual(lines, ["SKIPPED: release: one: no qemu here", "0 passed, 0 failed, 1 skipped"])

    def test_program_that_was_not_built_has_failed(self):
        self.run_ctest({})
        with open(os.path.join(self.folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
            file.write('add_test(gone "/nonexistent/program")\n')
        subprocess.run(["ctest", "--test-dir", self.folder, "--output-junit", "tests/results/ctest/all.xml"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        status, lines = self.summary(self.folder)
        self.assertEqual(lines[-1], "0 passed, 1 failed, 0 skipped")
        self.assertEqual(status, 1)

    def test_what_passes_only_at_the_second_run_is_named(self):
        self.run_ctest({"one": (f"mkdir {self.folder}/was-here", None), "two": ("exit 1", None),
                        "three": (f"mkdir {self.folder}/was-here", None)})
        os.rmdir(f"{self.folder}/was-here")
        self.assertEqual(self.failed(), ["^three$", "^two$"])
        self.run_again("^three$|^two$")
        status, lines = self.summary(f"{self.folder}=release")
        self.assertRegex(lines[0], "^PASSED ONLY AGAIN: release: (one|three): failed at first")
        self.assertRegex(lines[1], "^FAILED: release: two: ")
        self.assertEqual(lines[2], "2 passed, 1 failed, 0 skipped")
        self.assertEqual(status, 1)

    def test_only_cases_that_failed_run_once_more_and_the_others_keep_their_results(self):
        results = os.path.join(self.folder, "tests/results")
        again = FAILS_ONE.replace('<testcase name="A" status="run" result="completed" classname="S"/>', "")
        for failure in ('<failure message="1 is not 2"/>', '<failure message="nor 3"/>'):
            again = again.replace(failure, "")
        with open(f"{self.folder}/again", "w", encoding="utf-8") as file:
            file.write(again)
        self.run_ctest({"one": (f"mkdir {self.folder}/was-here && exit 1; cp {self.folder}/again {results}/one.xml", FAILS_ONE)})
        self.assertEqual(self.failed(), ["^one$ S.B"])
        self.run_again("^one$")
        status, lines = self.summary(f"{self.folder}=release")
        self.assertRegex(lines[0], "^PASSED ONLY AGAIN: release: one: failed at first")
        self.assertEqual((status, lines[1]), (0, "2 passed, 0 failed, 0 skipped"))

    def test_an_entry_that_died_runs_as_a_whole_once_more(self):
        self.run_ctest({"one": ("exit 3", PASSES_TWO_SKIPS_ONE)})
        self.assertEqual(self.failed(), ["^one$"])

    def failed(self):
        return subprocess.run([SUMMARY, "--print-failed", self.folder], capture_output=True, text=True,
                              check=True).stdout.splitlines()

    def run_again(self, pattern):
        results = os.path.join(self.folder, "tests/results")
        for name in ("first", "again"):
            os.makedirs(f"{results}/{name}")
        for file in glob.glob(f"{results}/*.xml"):
            shutil.copy(file, f"{results}/first")
        subprocess.run(["ctest", "--test-dir", self.folder, "-R", pattern, "--output-junit", "tests/results/again/0.xml"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def test_failed_step_and_missing_results(self):
        status, lines = self.summary("--failed-step", "build asan", self.folder)
        self.assertEqual(lines[0], "FAILED: build asan: see above")
        self.assertEqual(lines[-1], "0 passed, 2 failed, 0 skipped")
        self.assertEqual(status, 1)


if __name__ == "__main__":
    unittest.main()
