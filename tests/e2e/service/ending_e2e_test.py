"""SIGTERM ends profd in time, whatever of it hangs: its disks, its log, any of its threads. Targets that hang:
hanging_e2e_test.py."""

import fcntl
import json
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import RunningProfd  # noqa: E402


class Ending(RunningProfd):
    def await_window(self):
        until = time.monotonic() + 60
        while True:
            said = self.profctl("status", "--json")
            if said.returncode == 0 and json.loads(said.stdout)["history"]["windows"] > 0:
                return
            self.assertLess(time.monotonic(), until, said)
            time.sleep(0.05)

    def test_a_thread_that_only_holds_up_the_last_step_costs_nothing(self):
        daemon = self.start()
        self.freeze(daemon, "profd-unwind")
        self.end_in_time(daemon)
        self.assertRegex(self.log(), r"info: stopped in [\d.]+ s: ")
        self.assertRegex(self.log(), "stopped, and leaves without waiting for .*profd-unwind")

    def test_a_stage_that_does_not_end_is_left(self):
        daemon = self.start()
        self.freeze(daemon, "profd-symbolize")
        self.end_in_time(daemon, 1)
        self.assertIn("not stopped within 4.7 s, leaves: pipeline does not end; there are still", self.log())
        self.assertIn("profd-symbolize", self.log())

    def test_a_disk_that_does_not_take_the_history(self):
        self.configure(f'[history]\nwindow = "1s"\ndirectory = "{self.path("history")}"\n')
        daemon = self.start("--record", self.path("recording"))
        self.await_window()
        self.freeze(daemon, "profd-store")
        self.end_in_time(daemon)
        self.assertIn("history: the last window is lost: the store does not answer", self.log())
        # The recording has its end, and what was stored is there.
        self.start()
        self.await_window()

    def test_a_disk_that_does_not_take_the_recording(self):
        daemon = self.start("--record", self.path("recording"))
        self.freeze(daemon, "profd-record")
        self.end_in_time(daemon, 1)
        self.assertIn("recording: the disk does not answer", self.log())
        self.assertRegex(self.log(), r"info: stopped in [\d.]+ s: ")

    def test_a_log_that_is_not_read(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        daemon = self.start(stderr=writing)
        fcntl.fcntl(writing, fcntl.F_SETFL, os.O_NONBLOCK)
        try:
            while True:
                os.write(writing, b"x" * 4096)
        except BlockingIOError:
            fcntl.fcntl(writing, fcntl.F_SETFL, 0)
        os.close(writing)
        self.end_in_time(daemon, 1)


if __name__ == "__main__":
    unittest.main()
