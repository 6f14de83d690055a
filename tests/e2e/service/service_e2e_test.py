"""A running profd under a service manager: its notifications, reloads, and an end within 5 seconds."""

import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import BINARIES, RunningProfd  # noqa: E402



class Service(RunningProfd):
    def test_notifies_its_manager(self):
        self.configure("")
        daemon = self.start(watchdog_us=200_000)
        for _ in range(3):
            self.await_state("WATCHDOG=1")
        self.end(daemon)
        self.await_state("STOPPING=1")

    def test_without_a_watchdog_it_sends_none(self):
        self.configure("")
        daemon = self.start()
        self.end(daemon)
        self.await_state("STOPPING=1")
        self.assertNotIn("WATCHDOG=1", self.states)

    def test_reloads_what_can_change_and_names_what_cannot(self):
        self.configure('log_level = "info"\n')
        daemon = self.start()
        self.configure('log_level = "warn"\nhook = "none"\n')
        daemon.send_signal(signal.SIGHUP)
        self.await_state("RELOADING=1")
        self.await_state("READY=1")
        self.assertIn("log_level is now 'warn', was 'info'", self.log())
        self.assertIn("hook is now 'none' in the configuration: from the next start on", self.log())
        # It is effective: SIGTERM's "stopping" is of level info.
        self.end(daemon)
        self.assertNotIn("stopping", self.log())

    def test_a_wrong_file_changes_nothing_and_is_said(self):
        self.configure('log_level = "info"\n')
        daemon = self.start()
        self.configure('log_level = "warn"\nlog_levle = "warn"\n')
        daemon.send_signal(signal.SIGHUP)
        self.await_state("RELOADING=1")
        status = self.await_state("READY=1")
        self.assertIn("the configuration on disk is wrong", status[1])
        self.assertIn("profd.toml:2: unknown key 'log_levle'; did you mean 'log_level'?", self.log())
        self.end(daemon)
        self.assertIn("stopping", self.log())

    def test_ends_within_five_seconds_and_sessions_keep_what_they_have(self):
        self.configure("")
        daemon = self.start()
        with subprocess.Popen(
                [os.path.join(BINARIES, "profctl"), "collect", "--host", self.address, "-v", "-p", str(os.getpid()),
                 "-d", "1h", "-o", self.path("out.json")],
                stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as profctl:
            for line in profctl.stderr:
                if "collecting" in line:
                    break
            self.end_in_time(daemon)
            profctl.stderr.read()
        self.assertTrue(os.path.getsize(self.path("out.json")))


if __name__ == "__main__":
    unittest.main()
