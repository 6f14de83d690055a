"""scripts/test in a small tree: real CTest and summary; what is tried has no need to be built."""

import os
import subprocess

from small_commands import SmallCommands
from small_tree import SmallTreeTest

# Waits for what another entry does, up to 20 s.
AWAIT = "for i in $(seq 200); do test -e {root}/{name} && exit 0; sleep 0.1; done; exit 1"
# Fails at its first run only.
AT_SECOND_RUN = "mkdir {root}/{name} && exit 1 || exit 0"


class TestScript(SmallTreeTest):
    def setUp(self):
        super().setUp()
        for path in ("scripts/test", "scripts/build", "scripts/lib/test_summary.py"):
            self.copy(path)
            os.chmod(os.path.join(self.root, path), 0o755)
        for path in ("scripts/setup", "scripts/checks/tidy"):
            self.write(path, "#!/bin/bash\n", executable=True)
        self.commands = SmallCommands(os.path.join(self.root, "bin"))
        self.commands.add("cmake", f'echo "$@" >>{self.root}/cmake.log')
        self.commands.add("ninja", "")
        self.entries("build/asan", {"bytes": ("core", "exit 0")})

    def entries(self, folder, tests):
        """tests: name -> (label, shell script)."""
        lines = [f'add_test({name} "/bin/bash" "-c" [[{script}]])\nset_tests_properties({name} PROPERTIES LABELS {label})\n'
                 for name, (label, script) in tests.items()]
        self.write(f"{folder}/CTestTestfile.cmake", "".join(lines))

    def run_script(self, *arguments):
        return subprocess.run([f"{self.root}/scripts/test", *arguments], capture_output=True, text=True, check=False,
                              env=self.commands.environment())

    def run_test(self):
        """Exit status and the lines of the summary."""
        done = self.run_script()
        lines = done.stdout.rstrip("\n").split("\n")
        summary = next(i for i, line in enumerate(lines) if line.startswith("== summary"))
        return done.returncode, lines[summary + 1:]

    def test_good(self):
        self.entries("build", {"one": ("unit", "exit 0")})
        self.assertEqual(self.run_test(), (0, ["2 passed, 0 failed, 0 skipped"]))

    def test_warnings_are_errors(self):
        self.entries("build", {"one": ("unit", "exit 0")})
        self.run_test()
        with open(f"{self.root}/cmake.log", encoding="utf-8") as log:
            self.assertIn("--preset release -DPROFD_WERROR=ON\n", log.readlines())

    def test_what_cannot_be_built_has_failed(self):
        self.commands.add("ninja", "exit 1")
        self.assertEqual(self.run_test(), (1, ["FAILED: build release: see above", "0 passed, 1 failed, 0 skipped"]))

    def test_what_fails_may_run_once_more(self):
        self.entries("build", {"timed_6.1": ("e2e", AT_SECOND_RUN.format(root=self.root, name="timed")),
                               "share": ("accuracy", "exit 1")})
        status, lines = self.run_test()
        self.assertEqual(status, 1)
        self.assertRegex(lines[0], "^PASSED ONLY AGAIN: release: timed_6.1: ")
        self.assertRegex(lines[1], "^FAILED: release: share: ")
        self.assertEqual(lines[2:], ["2 passed, 1 failed, 0 skipped"])

    def test_only_the_cases_that_failed_run_once_more(self):
        results = f"{self.root}/build/tests/results/one.xml"
        case = '<testcase name="{}" classname="S" status="run">{}</testcase>'
        write = "echo '<testsuites>{}</testsuites>' >" + results
        first = write.format(case.format("A", "") + case.format("B", '<failure message="1 is not 2"/>'))
        self.write("one", f'[[ $GTEST_FILTER == S.B ]] || {{ {first}; exit 1; }}; {write.format(case.format("B", ""))}\n')
        self.write("build/CTestTestfile.cmake", f'add_test(one "/bin/bash" "{self.root}/one")\n'
                   f'set_tests_properties(one PROPERTIES LABELS unit ENVIRONMENT "GTEST_OUTPUT=xml:{results}")\n')
        status, lines = self.run_test()
        self.assertRegex(lines[0], "^PASSED ONLY AGAIN: release: one: ")
        self.assertEqual((status, lines[1]), (0, "3 passed, 0 failed, 0 skipped"))

    def test_a_failure_in_any_lane_is_seen_and_repeated(self):
        self.entries("build", {name: (label, AT_SECOND_RUN.format(root=self.root, name=name))
                               for name, label in {"soak": "quiet", "truth": "alone", "guest": "vm", "other": "unit"}.items()})
        status, lines = self.run_test()
        self.assertEqual(status, 0)
        self.assertEqual(sorted(line.split(": ")[2] for line in lines[:-1]), ["guest", "other", "soak", "truth"])
        self.assertEqual(lines[-1], "5 passed, 0 failed, 0 skipped")

    def test_guests_run_beside_all_tests_and_nothing_beside_what_needs_a_quiet_host(self):
        begin = f"test -e {self.root}/calm || exit 1; touch {self.root}/"
        self.entries("build", {"soak": ("quiet", f"test ! -e {self.root}/other && touch {self.root}/calm"),
                               "truth": ("alone", begin + "truth; " + AWAIT.format(root=self.root, name="guest")),
                               "guest": ("vm", begin + "guest; " + AWAIT.format(root=self.root, name="other")),
                               "other": ("unit", begin + "other; " + AWAIT.format(root=self.root, name="guest")), "long": ("vm_long", "exit 1")})
        self.assertEqual(self.run_test(), (0, ["5 passed, 0 failed, 0 skipped"]))

    def test_one_entry_is_built_and_run(self):
        self.commands.add("ninja", f'echo "$@" >{self.root}/ninja.log')
        self.entries("build", {"vm_6.1": ("vm", "echo ran"), "vm_6x1": ("vm", "exit 1")})
        done = self.run_script("--only", "vm_6.1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("1: ran", done.stdout)
        with open(f"{self.root}/ninja.log", encoding="utf-8") as log:
            self.assertEqual(log.read().split()[-1], "vm_6.1")
        self.assertNotEqual(self.run_script("--only", "vm").returncode, 0)
