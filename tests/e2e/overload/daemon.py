"""A background profd with a history, loads, and checks that every profile must pass."""

import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

BUILD = os.environ["PROFD_BINARY_DIR"]
CLOSURE = 1e-3
# Clocks are exact to a tick of CLOCK_MONOTONIC at either end. For shorter threads that error dominates.
LONG_NS = 100_000_000
# Losses that remove a thread or its clock from a profile. Each counts the threads or their events.
THREAD_LOSSES = {"event_ring_full", "storage_failed", "clocks_unread", "malformed", "threads_full", "threads_beyond_share"}


def threads_lost(profile):
    return sum(int(count["count"]) for count in profile.get("lost", []) + profile.get("dropped", [])
               if count["name"] in THREAD_LOSSES)


def binary(name):
    return os.path.join(BUILD, "bin", name)


def program(name):
    return os.path.join(BUILD, "testprogs", name)


@unittest.skipIf(os.geteuid() != 0, "needs root: real BPF programs are loaded")
class OverloadTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="profd-overload-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.host = "unix:" + self.path("profd.sock")

    def path(self, name):
        return os.path.join(self.folder, name)

    def start_daemon(self, *arguments):
        self.log = open(self.path("log"), "w+", encoding="utf-8")
        self.addCleanup(self.log.close)
        daemon = subprocess.Popen(
            [binary("profd"), "--listen", self.host, "--history-directory", self.path("history"),
             "--history-window", "2s", *arguments], stderr=subprocess.PIPE, text=True)
        self.addCleanup(daemon.stderr.close)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        for line in daemon.stderr:
            if "serving" in line:
                return daemon
        self.fail("profd exited before it served")

    def start_load(self, *arguments):
        """Starts tests/testprogs/overload and waits until it is ready."""
        load = subprocess.Popen([program("overload"), *map(str, arguments)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(load.stdout.close)
        self.addCleanup(load.wait)
        self.addCleanup(load.kill)
        self.addCleanup(load.stdin.close)
        self.assertEqual(load.stdout.readline(), "ready\n")
        return load

    def profctl(self, verb, *arguments):
        return [binary("profctl"), verb, "--host", self.host, *arguments]

    def collect(self, *arguments):
        out = self.path("out.json")
        done = subprocess.run(self.profctl("collect", "-q", "-o", out, *arguments), stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.read(out)

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)["profile"]

    def status(self):
        done = subprocess.run(self.profctl("status", "--json"), stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0)
        return json.loads(done.stdout)

    def await_status(self, what, holds, within=60):
        """The status once `holds` is true for it. Fails after `within` seconds, naming `what`."""
        until = time.monotonic() + within
        while not holds(status := self.status()):
            if time.monotonic() > until:
                self.fail(f"{what}: not as expected within {within} s, status: {json.dumps(status)[:2000]}")
            time.sleep(0.05)
        return status

    def expect_whole(self, profile):
        """Checks that clocks add up and that losses have a reason. Returns the threads."""
        threads = profile["threads"]
        missing = [thread for thread in threads if thread.get("clock_missing")]
        # Each lost clock is counted where it was lost.
        self.assertLessEqual(len(missing), threads_lost(profile),
                             f"threads without a clock and no counted loss: {missing[:3]}, {profile['end_ns']}")
        for thread in threads:
            elapsed = int(thread.get("elapsed_ns", 0)) or int(thread["end_ns"]) - int(thread["begin_ns"])
            if elapsed >= LONG_NS and not thread.get("clock_missing"):
                self.assertLessEqual(abs(thread.get("closure_error", 0)), CLOSURE, thread)
        for counts in (profile.get("lost", []), profile.get("dropped", [])):
            for count in counts:
                self.assertTrue(count["name"] and count["text"], count)
        return threads

    def expect_alive(self, daemon):
        self.assertIsNone(daemon.poll())
        self.assertTrue(self.status()["version"])
