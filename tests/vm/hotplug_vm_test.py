"""A CPU goes down and comes up during a collection: what runs on it afterwards is still sampled."""

import json
import os
import subprocess
import unittest

BINARIES = os.environ["PROFD_BINARY_DIR"]
ONLINE = "/sys/devices/system/cpu/cpu1/online"


def set_online(value):
    with open(ONLINE, "w", encoding="utf-8") as file:
        file.write(value)


@unittest.skipUnless(os.path.exists(ONLINE), "this kernel cannot take CPU 1 down")
class Hotplug(unittest.TestCase):
    def setUp(self):
        self.addCleanup(set_online, "1")

    def test_cpu_that_comes_back_is_sampled(self):
        collect = subprocess.Popen(
            [f"{BINARIES}/bin/profctl", "collect", "-a", "-d", "60", "-o", "/tmp/x.json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(collect.kill)
        self.wait_for_session(collect)
        set_online("0")
        set_online("1")
        # All of it runs on the CPU that was away.
        spin = subprocess.run(["taskset", "-c", "1", f"{BINARIES}/testprogs/truth", "spin", "--ms", "3000"],
                              capture_output=True, check=True, text=True)
        pid = json.loads(spin.stdout)["pid"]
        collect.send_signal(2)
        self.assertEqual(collect.wait(), 0, collect.stderr.read())
        with open("/tmp/x.json", encoding="utf-8") as file:
            profile = json.load(file)["profile"]
        self.assertGreater(self.samples_of(profile, pid), 50)

    def wait_for_session(self, collect):
        """Until profctl says that it collects, on stderr."""
        said = ""
        while "collecting" not in said:
            text = os.read(collect.stderr.fileno(), 4096).decode()
            self.assertTrue(text, f"profctl ended: {said}")
            said += text

    @staticmethod
    def samples_of(profile, pid):
        threads = {i for i, thread in enumerate(profile["threads"])
                   if profile["processes"][thread.get("process", 0)]["pid"] == pid}
        samples = profile["samples"]
        return sum(count for thread, state, count in zip(samples["thread"], samples["state"], samples["count"])
                   if thread in threads and state == "STATE_ON_CPU")


if __name__ == "__main__":
    unittest.main()
