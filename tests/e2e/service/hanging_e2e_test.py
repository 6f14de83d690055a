"""A program on a file system that stops answering costs its own names, and others nothing."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import PROFCTL, RunningProfd, get  # noqa: E402

FILES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hostile", "hanging_files.py")

# All of its memory is there before its file system hangs.
PUPPET = r"""
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) void NAME(void) { usleep(5000); }
int main(void) {
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 1;
  puts("ready");
  fflush(stdout);
  for (;;) NAME();
}
"""


@unittest.skipIf(not os.access("/dev/fuse", os.R_OK | os.W_OK), "this kernel has no /dev/fuse")
@unittest.skipIf(shutil.which("cc") is None, "no C compiler is installed")
class Hanging(RunningProfd):
    def setUp(self):
        super().setUp()
        # Made before profd starts, and removed after it has ended.
        self.mount = tempfile.mkdtemp()
        self.addCleanup(os.rmdir, self.mount)

    def puppet(self, name):
        return self.compile(PUPPET, name, "-fno-omit-frame-pointer", f"-DNAME={name}")

    def run_puppet(self, path):
        process = subprocess.Popen([path], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def serve_files(self, *paths):
        server = subprocess.Popen([sys.executable, FILES, self.mount, *paths], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdout.close)
        self.assertEqual(server.stdout.readline(), "ready\n")
        return server

    def hang(self, server):
        server.stdin.write("hang\n")
        server.stdin.flush()
        self.assertEqual(server.stdout.readline(), "hangs\n")

    def collect(self):
        """A collection of all, which has begun."""
        profctl = subprocess.Popen([PROFCTL, "collect", "--host", self.address, "-v", "-a", "-d", "1h", "-o",
                                    self.path("out.json")], stderr=subprocess.PIPE, text=True)
        self.addCleanup(profctl.stderr.close)
        self.addCleanup(profctl.wait)
        self.addCleanup(profctl.kill)
        said = []
        for line in profctl.stderr:
            said.append(line)
            if "collecting" in line:
                return profctl
        return self.fail(said)

    def profile(self):
        """Function names of all processes, and the reasons why others have none."""
        out = self.path("out.json")
        said = self.profctl("collect", "-q", "-a", "-d", "1", "-o", out)
        self.assertEqual(said.returncode, 0, said.stderr)
        with open(out, encoding="utf-8") as file:
            frames = json.load(file)["profile"]["frames"]
        return {frame.get("name") for frame in frames}, " ".join(frame.get("reason", "") for frame in frames)

    def unreadable(self):
        said = self.profctl("status", "--json")
        self.assertEqual(said.returncode, 0, said.stderr)
        return " ".join(json.loads(said.stdout)["unreadable"])

    def windows(self):
        """That the history has put; none is lost."""
        history = json.loads(self.profctl("status", "--json").stdout)["history"]
        self.assertEqual(history["windows_lost"] + history["failed_puts"], 0, history)
        return history["windows"]

    def test_others_keep_their_names_and_windows(self):
        hanging = self.puppet("waits_on_a_file_system_that_hangs")
        plain = self.puppet("waits_somewhere_else")
        server = self.serve_files(hanging)
        its_path = os.path.join(self.mount, os.path.basename(hanging))
        self.run_puppet(its_path)
        self.run_puppet(plain)
        self.hang(server)

        self.configure('[metrics]\nlisten = "127.0.0.1:0"\n[history]\nwindow = "1s"\n'
                       f'directory = "{self.path("history")}"\n')
        # Whatever else this host runs: all of it is profiled.
        daemon = self.start("--memory-cap", "1GiB")
        health = re.search(r"http://127\.0\.0\.1:\d+", self.log()).group(0) + "/healthz"
        self.addCleanup(server.stdin.close)  # all waits end with it, before profd is waited for
        names, reasons = self.profile()
        self.assertIn("waits_somewhere_else", names)
        self.assertNotIn("waits_on_a_file_system_that_hangs", names)
        self.assertIn(f"{its_path}: is being read", reasons)

        until = time.monotonic() + 120
        while f"{its_path}: does not answer, tried" not in self.unreadable():
            self.assertLess(time.monotonic(), until, self.unreadable())
            time.sleep(0.1)
        names, reasons = self.profile()
        self.assertIn("waits_somewhere_else", names)
        self.assertIn(f"{its_path}: does not answer, tried", reasons)

        # The windows of the history come as before, and a restart would change nothing.
        before = self.windows()
        until = time.monotonic() + 60
        while self.windows() <= before + 2:
            self.assertLess(time.monotonic(), until, self.log())
            time.sleep(0.1)
        self.assertEqual(get(health), (200, "ok\n"))
        # One of what cannot be read, and how many more there are.
        checks = {check["check"]: check for check in json.loads(self.profctl("doctor", "--json").stdout)["checks"]}
        self.assertEqual(checks["readers"]["verdict"], "warn")
        self.assertIn("does not answer, tried", checks["readers"]["found"])
        self.end(daemon)
        self.assertEqual(daemon.returncode, 0)

    def test_profd_ends_in_time_all_the_same(self):
        hanging = [self.puppet(f"waits_on_a_file_system_that_hangs_{number}") for number in range(6)]
        server = self.serve_files(*hanging)
        for path in hanging:
            self.run_puppet(os.path.join(self.mount, os.path.basename(path)))
        self.hang(server)
        self.configure(f'[history]\nwindow = "1h"\ndirectory = "{self.path("history")}"\n')
        daemon = self.start("--record", self.path("recording"))
        self.addCleanup(server.stdin.close)
        # A collection that is read, and one whose client reads no more. The window of the history
        # has begun before both.
        self.collect()
        self.collect().send_signal(signal.SIGSTOP)
        self.end_in_time(daemon)
        self.assertRegex(self.log(), r"info: stopped in [\d.]+ s: ")
        self.assertGreater(os.path.getsize(self.path("recording")), 0)


if __name__ == "__main__":
    unittest.main()
