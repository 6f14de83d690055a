"""The levels of hooks: the best that the kernel has is chosen, and the profiles of each are true; stacks with and without
frame pointers."""

import os
import subprocess
import unittest

from live_profd import STACK_COMPLETE, STACK_TABLES_NOT_READY, Profd, functions_of, program, stacks_of

SCHED_EXIT = "sched_exit_tp"
KPROBE = "finish_task_switch"
NO_HOOK = "none (snapshots)"

DEPTHS = [f"truth::Depth{depth}" for depth in range(1, 7)]


def kernel():
    return [int(number) for number in os.uname().release.split(".")[:2]]


def has_sched_exit_tp():
    return kernel() >= [6, 15]


class HookLevels(unittest.TestCase):
    def setUp(self):
        self.pids = [self.start("phases", "--seconds", "3000", "--file", "/tmp/synced"),
                     self.start("truth_no_fp", "depth", "--ms", "3000000")]

    def start(self, name, *arguments):
        process = subprocess.Popen([program(name), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return str(process.pid)

    def check(self, level, *options):
        """What holds on every level: the sums, and the stack of every wait."""
        with Profd(*options) as profd:
            # An emulated machine may need longer for the tables, and for samples; the programs do not end meanwhile.
            wanted = [self.check_waits, self.check_without_frame_pointers]
            for _ in range(60):
                if not wanted:
                    break
                profile = self.collect(profd, level)
                wanted = [seen for seen in wanted if not seen(profile)]
            self.assertFalse(wanted)

    def collect(self, profd, level):
        profile = profd.collect("-p", ",".join(self.pids), "-d", "4", "--budget", "off")
        self.assertIn(level, profile["hook"])
        for thread in profile["threads"]:
            self.assertLessEqual(abs(thread.get("closure_error", 0)), 0.001, thread)
        return profile

    def check_waits(self, profile):
        """Whether each wait, and computing, was seen with its stack."""
        blocked = functions_of(profile, "STATE_BLOCKED")
        waits = all(blocked.get(f"phases::{name}") for name in ("Sleep", "WaitForLock", "ReadPipe"))
        return waits and functions_of(profile, "STATE_ON_CPU").get("phases::Compute")

    def check_without_frame_pointers(self, profile):
        """Whether whole stacks were seen, which must be by the known calls."""
        deepest = {"STATE_ON_CPU": 0, "STATE_BLOCKED": 0}
        for state, flags, names in stacks_of(profile, "deep"):
            if flags & STACK_TABLES_NOT_READY:
                continue
            self.assertTrue(flags & STACK_COMPLETE, (state, flags, names))
            calls = [name for name in names if name in DEPTHS]
            self.assertEqual(calls, DEPTHS[:len(calls)], names)
            if calls == DEPTHS and state in deepest:
                deepest[state] += 1
        return all(deepest.values())

    def test_best_level_is_in_use(self):
        self.check(SCHED_EXIT if has_sched_exit_tp() else KPROBE)

    @unittest.skipUnless(has_sched_exit_tp(), "the kprobe is the best level of this kernel")
    def test_kprobe(self):
        self.check(KPROBE, "--hook", "kprobe")

    def test_no_hook(self):
        self.check(NO_HOOK, "--hook", "none")


if __name__ == "__main__":
    unittest.main()
