"""A process whose list of mappings and whose arguments cannot be read: it costs its own names, and nothing else."""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "service"))

from running_profd import BINARIES, OTHER, RunningProfd, as_user  # noqa: E402

HANGING = os.path.join(os.path.dirname(BINARIES), "testprogs", "hanging_maps")
OTHERS = """
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void waits_somewhere_else(void) { usleep(5000); }
int main(void) {
  puts("ready");
  fflush(stdout);
  for (;;) waits_somewhere_else();
}
"""


@unittest.skipUnless(os.access("/dev/fuse", os.R_OK | os.W_OK), "this kernel has no /dev/fuse")
class HangingMaps(RunningProfd):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.mount = tempfile.mkdtemp()
        os.chmod(self.mount, 0o755)
        self.addCleanup(os.rmdir, self.mount)
        with open(self.path("pages"), "wb") as file:
            file.write(b"\1" * (1 << 20))
        self.files = self.run_program("ready", sys.executable, os.path.join(HERE, "hanging_files.py"), self.mount,
                                      self.path("pages"))
        self.others = self.compile(OTHERS, "others")

    def run_program(self, word, *command):
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.wait)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.stdin.close)
        self.assertEqual(program.stdout.readline(), word + "\n")
        return program

    def send(self, program, line, answer, answering=None):
        program.stdin.write(line + "\n")
        program.stdin.flush()
        self.assertEqual((answering or program).stdout.readline(), answer + "\n")

    def start_hanging(self, *before):
        """The process, once its mappings are locked."""
        program = self.run_program("reading", *before, HANGING, os.path.join(self.mount, "pages"))
        self.addCleanup(program.kill)
        self.addCleanup(self.files.stdin.close)  # all waits end with it
        self.assertEqual(self.files.stdout.readline(), "holds\n")
        self.send(program, "", "mapping")
        # The thread that reads could be interrupted; the one that maps waits for its page.
        until = time.monotonic() + 60
        while "D" not in self.states_of(program.pid):
            self.assertLess(time.monotonic(), until, self.states_of(program.pid))
            time.sleep(0.01)
        return program

    @staticmethod
    def states_of(pid):
        states = []
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8") as file:
                states.append(file.read().rsplit(") ", 1)[1][0])
        return states

    def names(self, *target):
        said = self.profctl("collect", "-q", *target, "-d", "1", "-o", self.path("out.json"))
        self.assertEqual(said.returncode, 0, said.stderr)
        with open(self.path("out.json"), encoding="utf-8") as file:
            return {frame.get("name") for frame in json.load(file)["profile"]["frames"]}

    def unreadable(self):
        return "\n".join(json.loads(self.profctl("status", "--json").stdout)["unreadable"])

    def expect_others_go_on(self, *before):
        self.send(self.files, "hang reads", "hangs")
        hanging = self.start_hanging(*before)
        reading = subprocess.Popen(["cat", f"/proc/{hanging.pid}/maps"], stdout=subprocess.DEVNULL)
        self.addCleanup(reading.wait)
        self.addCleanup(reading.kill)
        # Whatever else this host runs: all of it is profiled.
        daemon = self.start("--memory-cap", "1GiB")
        self.addCleanup(self.files.stdin.close)  # before profd is waited for: all waits end with it
        for _ in range(3):
            others = self.run_program("ready", self.others)
            self.addCleanup(others.kill)
            self.assertIn("waits_somewhere_else", self.names("-a"))
            self.assertIn("waits_somewhere_else", self.names("-p", str(others.pid)))
        self.assertIsNone(reading.poll(), "the mappings can be read")
        # Others of the same user may have to wait.
        own = self.run_program("ready", *before, self.others)
        self.addCleanup(own.kill)
        until = time.monotonic() + 60
        while "waits_somewhere_else" not in self.names("-p", str(own.pid)):
            self.assertLess(time.monotonic(), until, self.unreadable())
        until = time.monotonic() + 60
        while f"mappings of process {hanging.pid}: does not answer, tried" not in self.unreadable():
            self.assertLess(time.monotonic(), until, self.unreadable())
            self.names("-p", str(hanging.pid))
        self.end_in_time(daemon)

    def test_of_root(self):
        self.expect_others_go_on()

    def test_of_a_user(self):
        self.expect_others_go_on(*as_user(OTHER))


if __name__ == "__main__":
    unittest.main()
