"""A CPU goes down and comes up during a collection: what runs on it afterwards is still sampled."""

import json
import os
import subprocess
import unittest

from live_profd import Profd, program, read_profile

ONLINE = "/sys/devices/system/cpu/cpu1/online"


def set_online(value):
    with open(ONLINE, "w", encoding="utf-8") as file:
        file.write(value)


@unittest.skipUnless(os.path.exists(ONLINE), "this kernel cannot take CPU 1 down")
class Hotplug(unittest.TestCase):
    def setUp(self):
        self.addCleanup(set_online, "1")

    def test_cpu_that_comes_back_is_sampled(self):
        with Profd() as profd:
            collect = profd.profctl("-v", "collect", "-a", "-d", "300", "-o", "/tmp/x.json")
            self.await_session(collect)
            set_online("0")
            set_online("1")
            # All of it runs on the CPU that was away, for ten times as long as it takes to see that an event is dead.
            spin = subprocess.run(["taskset", "-c", "1", program("truth"), "spin", "--ms", "20000"],
                                  capture_output=True, check=True, text=True)
            collect.send_signal(2)
            _, errors = collect.communicate()
            self.assertEqual(collect.returncode, 0, errors)
        # How many there are is up to the emulator's timers; a CPU that is not picked up again gives none.
        self.assertGreater(self.samples_of(read_profile("/tmp/x.json"), json.loads(spin.stdout)["pid"]), 0)

    def await_session(self, collect):
        """Until profctl says, on stderr, that it collects."""
        said = ""
        while "collecting" not in said:
            line = collect.stderr.readline()
            self.assertTrue(line, f"profctl ended: {said}")
            said += line

    @staticmethod
    def samples_of(profile, pid):
        threads = {i for i, thread in enumerate(profile["threads"])
                   if profile["processes"][thread.get("process", 0)].get("pid") == pid}
        samples = profile["samples"]
        return sum(count for thread, state, count in zip(samples["thread"], samples["state"], samples["count"])
                   if thread in threads and state == "STATE_ON_CPU")


if __name__ == "__main__":
    unittest.main()
