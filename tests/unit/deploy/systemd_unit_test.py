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
        for name in ("profd.service", "profd.socket"):
            with open(os.path.join(SOURCE, "deploy/systemd", name), encoding="utf-8") as file:
                text = file.read()
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text.replace("=/usr/bin/profd", "=/bin/true"))
        self.unit = os.path.join(folder, "profd.service")
        self.socket = os.path.join(folder, "profd.socket")

    def analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)

    def test_unit_is_well_formed(self):
        run = self.analyze("verify", "--man=no", self.unit, self.socket)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_unit_is_confined(self):
        run = self.analyze("security", "--offline=yes", "--no-pager", self.unit)
        if "unrecognized option" in run.stderr or "Unknown option" in run.stderr:
            self.skipTest("this systemd-analyze cannot judge a unit offline")
        exposure = float(re.search(r"exposure level for \S+: ([0-9.]+)", run.stdout).group(1))
        self.assertLessEqual(exposure, 3.0)


if __name__ == "__main__":
    unittest.main()
