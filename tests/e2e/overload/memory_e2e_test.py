"""The memory cap: many executables and ever different stacks, with a low cap."""

import os
import shutil
import subprocess
import unittest

from daemon import OverloadTest, program

EXECUTABLES = 2_000
MS_EACH = 3
MIB = 1 << 20
REFUSED = 5
CAP = 128 * MIB
# bpf/shared/limits.h; profd has them mapped twice, so that resident memory counts them once more than there is.
RINGS = (4 + 8) * MIB
# What is taken up before a keeper that waits for a CPU looks again; 9 MiB were seen beside a build.
BETWEEN_LOOKS = 24 * MIB


def peak_resident(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


class Memory(OverloadTest):
    def make_executables(self, count):
        folder = self.path("programs")
        os.mkdir(folder)
        subprocess.run(["strip", "-o", self.path("small"), program("overload")], check=True)
        for i in range(count):
            shutil.copy(self.path("small"), os.path.join(folder, f"program-{i}"))
        return folder

    def test_many_executables_and_stacks_stay_below_a_low_cap(self):
        daemon = self.start_daemon("--memory-cap", "128MiB", "--history-budget", "0", "--history-frequency", "999")
        folder = self.make_executables(EXECUTABLES)
        stacks = self.path("stacks.json")
        with subprocess.Popen(self.profctl("collect", "-q", "-a", "-F", "999", "--budget", "off", "-d", "5s", "-o", stacks)) as collecting:
            load = self.start_load("each", folder, MS_EACH)
            self.assertEqual(load.wait(), 0)
        # Near the cap new sessions are refused.
        self.assertIn(collecting.returncode, (0, REFUSED))
        if collecting.returncode == 0:
            self.expect_whole(self.read(stacks))
        memory = self.status()["memory"]
        self.assertEqual(memory["cap_bytes"], CAP)
        self.assertLessEqual(peak_resident(daemon.pid), CAP + RINGS + BETWEEN_LOOKS, memory)
        self.assertLessEqual(memory["peak_bytes"], CAP + BETWEEN_LOOKS, memory)
        # The load was enough for something to be given up.
        self.assertGreater(memory["reclaim_requested_bytes"], 0, memory)
        self.expect_alive(daemon)
        # Of the windows, too, exact clocks close, and say what was dropped.
        out = self.path("past.json")
        done = subprocess.run(self.profctl("query", "--since", "1h", "-o", out), stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        profile = self.read(out)
        self.expect_whole(profile)
        dropped = {count["name"]: int(count["count"]) for count in profile.get("dropped", [])}
        counted = {count["name"]: int(count["count"]) for count in self.status()["lost"]}
        if "memory_cap" in counted:
            self.assertIn("memory_cap", dropped)


if __name__ == "__main__":
    unittest.main()
