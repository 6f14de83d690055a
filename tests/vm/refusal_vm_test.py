"""A kernel that is too old is refused in one line that says so."""

import os
import subprocess
import unittest

BINARIES = os.environ["PROFD_BINARY_DIR"]


class Refusal(unittest.TestCase):
    def run_and_check(self, *command):
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
        self.assertNotEqual(run.returncode, 0)
        # What and why, and at most one more line: what to do.
        lines = run.stderr.strip().split("\n")
        self.assertLessEqual(len(lines), 2, run.stderr)
        self.assertIn("5.18", run.stderr)
        self.assertIn(".".join(os.uname().release.split(".")[:2]), run.stderr)

    def test_profd(self):
        self.run_and_check(f"{BINARIES}/bin/profd", "--listen", "unix:///tmp/profd.sock")

    def test_profctl(self):
        self.run_and_check(f"{BINARIES}/bin/profctl", "-q", "collect", "-a", "-d", "1")


if __name__ == "__main__":
    unittest.main()
