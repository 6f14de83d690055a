"""Python processes whose memory or files never answer: they cost their own Python frames, and nothing else."""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "service"))

from running_profd import BINARIES, RunningProfd  # noqa: E402

HANGING = os.path.join(os.path.dirname(BINARIES), "testprogs", "hanging_python")
PYTHON = "/usr/bin/python3"
SNAKE = """
import time
def snake_that_waits(): time.sleep(0.005)
print("ready", flush=True)
while True: snake_that_waits()
"""
MAPS_A_FILE = """
import mmap, sys, time
file = open(sys.argv[1], "rb")
mapped = mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
print("ready", flush=True)
sys.stdin.readline()
"""


@unittest.skipUnless(os.access("/dev/fuse", os.R_OK | os.W_OK), "this kernel has no /dev/fuse")
class HangingPython(RunningProfd):
    def setUp(self):
        super().setUp()
        self.mount = tempfile.mkdtemp()
        self.addCleanup(os.rmdir, self.mount)
        with open(self.path("pages"), "wb") as file:
            file.write(b"\1" * 8192)
        self.files = self.run_program(PYTHON, os.path.join(HERE, "hanging_files.py"), self.mount, self.path("pages"))

    def run_program(self, *command):
        """A program that says when it is ready, and ends with its input."""
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.wait)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.stdin.close)
        self.assertEqual(program.stdout.readline(), "ready\n")
        return program

    def names(self, pid):
        said = self.profctl("collect", "-q", "-p", str(pid), "-d", "1", "-o", self.path("out.json"))
        self.assertEqual(said.returncode, 0, said.stderr)
        with open(self.path("out.json"), encoding="utf-8") as file:
            return {frame.get("name") for frame in json.load(file)["profile"]["frames"]}

    def unreadable(self):
        return "\n".join(json.loads(self.profctl("status", "--json").stdout)["unreadable"])

    def expect_others_go_on(self, what, *command):
        hanging = self.run_program(*command, os.path.join(self.mount, "pages"))
        self.files.stdin.write("hang\n")
        self.files.stdin.flush()
        self.assertEqual(self.files.stdout.readline(), "hangs\n")
        daemon = self.start()
        self.addCleanup(self.files.stdin.close)  # before profd is waited for: all waits end with it
        self.names(hanging.pid)
        self.assertEqual(self.files.stdout.readline(), "holds\n")
        for _ in range(2):
            snake = self.run_program(PYTHON, "-c", SNAKE)
            self.addCleanup(snake.kill)
            self.assertIn("snake_that_waits", self.names(snake.pid))
        until = time.monotonic() + 60
        while f"{what} {hanging.pid}: does not answer, tried" not in self.unreadable():
            self.assertLess(time.monotonic(), until, self.unreadable())
            time.sleep(0.1)
        self.assertLess(self.end(daemon), 5)

    def test_memory_that_hangs_costs_no_other_process(self):
        self.expect_others_go_on("Python code of process", HANGING)

    def test_a_file_that_hangs_costs_no_other_process(self):
        self.expect_others_go_on("files that are mapped by process", PYTHON, "-c", MAPS_A_FILE)


if __name__ == "__main__":
    unittest.main()
