"""deploy/systemd: systemd accepts the unit, and finds it well confined."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.environ.get("PROFD_SOURCE_DIR") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")


@unittest.skipIf(shutil.which("systemd-analyze") is None, "systemd-analyze is not installed")
class SystemdUnit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        with open(os.path.join(SOURCE, "deploy/systemd/profd.service"), encoding="utf-8") as file:
            text = file.read()
        self.unit = os.path.join(folder, "profd.service")
        with open(self.unit, "w", encoding="utf-8") as file:
            file.write(text.replace("=/usr/bin/profd", "=/bin/true"))

    def analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", *arguments, self.unit], capture_output=True, text=True, check=False)

    def test_unit_is_well_formed(self):
        run = self.analyze("verify", "--man=no")
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_unit_is_confined(self):
        run = self.analyze("security", "--offline=yes", "--no-pager")
        if "unrecognized option" in run.stderr or "Unknown option" in run.stderr:
            self.skipTest("this systemd-analyze cannot judge a unit offline")
        exposure = float(re.search(r"exposure level for \S+: ([0-9.]+)", run.stdout).group(1))
        self.assertLessEqual(exposure, 3.0)


if __name__ == "__main__":
    unittest.main()
