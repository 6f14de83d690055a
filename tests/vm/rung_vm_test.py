"""The lower rungs of the hook ladder: chosen where there is nothing better, and true."""

import subprocess
import unittest

from live_profd import Profd, functions_of, program


class Rungs(unittest.TestCase):
    def setUp(self):
        self.phases = subprocess.Popen([program("phases"), "--seconds", "300", "--file", "/tmp/synced"],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(self.phases.wait)
        self.addCleanup(self.phases.kill)

    def collect(self, *options):
        with Profd(*options) as profd:
            return profd.collect("-p", str(self.phases.pid), "-d", "4")

    def check(self, profile):
        """What holds on every rung: the sums, and the stack of every wait."""
        for thread in profile["threads"]:
            self.assertLessEqual(abs(thread.get("closure_error", 0)), 0.001, thread)
        blocked = functions_of(profile, "STATE_BLOCKED")
        for name in ("Sleep", "WaitForLock", "ReadPipe"):
            self.assertGreater(blocked.get(f"phases::{name}", 0), 0, sorted(blocked))
        self.assertGreater(functions_of(profile, "STATE_ON_CPU").get("phases::Compute", 0), 0)

    def test_kprobe_is_the_one_in_use(self):
        profile = self.collect()
        self.assertIn("finish_task_switch", profile["hook"])
        self.check(profile)

    def test_switch_out(self):
        profile = self.collect("--hook", "switch-out")
        self.assertIn("switch-out", profile["hook"])
        self.check(profile)


if __name__ == "__main__":
    unittest.main()
