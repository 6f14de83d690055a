"""A standing profd under a service manager: what it tells it, reloads, and an end within 5 seconds."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

BINARIES = os.path.join(os.environ["PROFD_BINARY_DIR"], "bin")
DRAIN_SECONDS = 5


@unittest.skipIf(os.geteuid() != 0, "needs root: real BPF programs are loaded")
class Service(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.address = "unix:" + self.path("profd.sock")
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.bind(self.path("notify"))
        self.manager.settimeout(60)
        self.states = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def configure(self, text):
        with open(self.path("profd.toml"), "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, watchdog_us=None):
        environment = dict(os.environ, NOTIFY_SOCKET=self.path("notify"))
        if watchdog_us:
            environment["WATCHDOG_USEC"] = str(watchdog_us)
        with open(self.path("log"), "wb") as log:
            daemon = subprocess.Popen(
                [os.path.join(BINARIES, "profd"), "--listen", self.address, "--config", self.path("profd.toml")],
                env=environment, stderr=log, stdin=subprocess.DEVNULL)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        self.await_state("READY=1")
        return daemon

    def await_state(self, word):
        """Returns the lines of the next message that has this one; fails after a minute."""
        while True:
            lines = self.manager.recv(4096).decode().split("\n")
            self.states.append(lines[0])
            if word in lines:
                return lines

    def log(self):
        with open(self.path("log"), encoding="utf-8") as file:
            return file.read()

    def end(self, daemon):
        begun = time.monotonic()
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(60), 0, self.log())
        return time.monotonic() - begun

    def test_tells_its_manager_what_it_does(self):
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
        self.configure('log_level = "warn"\nhook = "switch-out"\n')
        daemon.send_signal(signal.SIGHUP)
        self.await_state("RELOADING=1")
        self.await_state("READY=1")
        self.assertIn("log_level is now 'warn', was 'info'", self.log())
        self.assertIn("hook is now 'switch-out' in the configuration: from the next start on", self.log())
        # In force: SIGTERM's "stopping" is of level info.
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
            seconds = self.end(daemon)
            profctl.stderr.read()
        self.assertLess(seconds, DRAIN_SECONDS)
        self.assertTrue(os.path.getsize(self.path("out.json")))


if __name__ == "__main__":
    unittest.main()
