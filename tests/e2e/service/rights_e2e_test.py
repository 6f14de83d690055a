"""A profd that is an ordinary user with the six capabilities of profd.service, and with each one taken away."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import OTHER, PROFD, RunningProfd, as_user  # noqa: E402

RIGHTS = ("CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_SYSLOG", "CAP_DAC_READ_SEARCH", "CAP_CHECKPOINT_RESTORE")
AGENT = 4_200_400  # no user of the host has it, nor OTHER

PUPPET = r"""
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void known_to_wait(void) { usleep(5000); }
int main(void) {
  puts("ready");
  fflush(stdout);
  for (;;) known_to_wait();
}
"""
SNAKE = """
import time
def snake_that_waits(): time.sleep(0.005)
print("ready", flush=True)
while True: snake_that_waits()
"""


@unittest.skipIf(shutil.which("setpriv") is None, "setpriv is not installed")
@unittest.skipIf(shutil.which("cc") is None, "no C compiler is installed")
class Rights(RunningProfd):
    @classmethod
    def setUpClass(cls):
        # Where every user may go.
        cls.public = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.public)
        os.chmod(cls.public, 0o755)
        cls.profd = shutil.copy(PROFD, cls.public)
        cls.puppet = os.path.join(cls.public, "puppet")
        subprocess.run(["cc", "-g", "-O1", "-x", "c", "-o", cls.puppet, "-"], input=PUPPET, text=True, check=True)

    def setUp(self):
        super().setUp()
        os.chown(self.folder, AGENT, AGENT)
        os.chmod(self.folder, 0o755)
        os.chmod(self.path("notify"), 0o777)

    def command(self, lacking):
        return [*as_user(AGENT, [right for right in RIGHTS if right != lacking]), self.profd,
                "--listen", self.address, "--config", "/dev/null"]

    def serve(self, lacking=None):
        with open(self.path("log"), "wb") as log:
            daemon = subprocess.Popen(self.command(lacking), stderr=log, stdin=subprocess.DEVNULL,
                                      env=dict(os.environ, NOTIFY_SOCKET=self.path("notify")))
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        self.await_state("READY=1")

    def run_as_other(self, *command):
        """A process of another user, once it has begun its loop."""
        process = subprocess.Popen([*as_user(OTHER), *command], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process.pid

    def copy_of_puppet(self, mode):
        path = os.path.join(self.public, "copy")
        shutil.copy(self.puppet, path)
        os.chown(path, OTHER, OTHER)
        os.chmod(path, mode)
        return path

    def status(self):
        said = self.profctl("status", "--json")
        self.assertEqual(said.returncode, 0, said.stderr)
        return json.loads(said.stdout)

    def profile(self, pid):
        """Function names, and the reasons why others have none."""
        out = self.path("out.json")
        said = self.profctl("collect", "-q", "-p", str(pid), "-d", "1", "-o", out)
        self.assertEqual(said.returncode, 0, said.stderr)
        with open(out, encoding="utf-8") as file:
            frames = json.load(file)["profile"]["frames"]
        return {frame.get("name") for frame in frames}, " ".join(frame.get("reason", "") for frame in frames)

    def expect_missing(self, *rights):
        self.assertEqual([one["name"] for one in self.status()["missing_capabilities"]], list(rights))

    def expect_refusal(self, right):
        said = subprocess.run(self.command(right), capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, 5)
        self.assertIn(f"no right to load BPF programs: {right} is missing", said.stderr)

    def test_all_six_are_enough(self):
        self.serve()
        self.expect_missing()
        path = self.copy_of_puppet(0o500)
        pid = self.run_as_other(path)
        os.unlink(path)
        names, _ = self.profile(pid)
        self.assertIn("known_to_wait", names)
        self.assertTrue({"do_nanosleep", "hrtimer_nanosleep"} & names)
        names, _ = self.profile(self.run_as_other("/usr/bin/python3", "-c", SNAKE))
        self.assertIn("snake_that_waits", names)

    def test_without_bpf_it_says_so_and_ends(self):
        self.expect_refusal("CAP_BPF")

    def test_without_perfmon_it_says_so_and_ends(self):
        self.expect_refusal("CAP_PERFMON")

    def test_without_ptrace_there_are_no_interpreters_of_others(self):
        self.serve("CAP_SYS_PTRACE")
        self.expect_missing("CAP_SYS_PTRACE")
        names, _ = self.profile(self.run_as_other("/usr/bin/python3", "-c", SNAKE))
        self.assertNotIn("snake_that_waits", names)
        self.assertIn("its memory cannot be read: CAP_SYS_PTRACE is missing",
                      [reason["text"] for reason in self.status()["python"]["waiting"]])
        names, _ = self.profile(self.run_as_other(self.puppet))
        self.assertIn("known_to_wait", names)
        path = self.copy_of_puppet(0o500)
        pid = self.run_as_other(path)
        os.unlink(path)
        names, reasons = self.profile(pid)
        self.assertNotIn("known_to_wait", names)
        self.assertIn("no right to open the mapped file: CAP_SYS_PTRACE is missing", reasons)

    def test_without_syslog_the_kernel_has_no_names(self):
        self.serve("CAP_SYSLOG")
        self.expect_missing("CAP_SYSLOG")
        names, reasons = self.profile(self.run_as_other(self.puppet))
        self.assertIn("known_to_wait", names)
        with open("/proc/sys/kernel/kptr_restrict", encoding="utf-8") as file:
            restrict = int(file.read())
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as file:
            paranoid = int(file.read())
        if restrict == 0 and paranoid <= 1:
            self.skipTest("this host shows the kernel's addresses to everybody")
        self.assertNotIn("do_nanosleep", names)
        self.assertIn("needs CAP_SYSLOG", reasons)

    def test_without_dac_files_of_others_have_no_names(self):
        self.serve("CAP_DAC_READ_SEARCH")
        self.expect_missing("CAP_DAC_READ_SEARCH")
        names, reasons = self.profile(self.run_as_other(self.copy_of_puppet(0o500)))
        self.assertNotIn("known_to_wait", names)
        self.assertIn("no right to open the mapped file: CAP_DAC_READ_SEARCH is missing", reasons)
        names, _ = self.profile(self.run_as_other(self.puppet))
        self.assertIn("known_to_wait", names)

    def test_without_checkpoint_deleted_files_have_no_names(self):
        self.serve("CAP_CHECKPOINT_RESTORE")
        self.expect_missing("CAP_CHECKPOINT_RESTORE")
        path = self.copy_of_puppet(0o500)
        pid = self.run_as_other(path)
        names, _ = self.profile(pid)
        self.assertIn("known_to_wait", names)
        # Another one: what has been read is remembered.
        shutil.copy(self.puppet, path + ".new")
        os.rename(path + ".new", path)
        pid = self.run_as_other(path)
        os.unlink(path)
        names, reasons = self.profile(pid)
        self.assertNotIn("known_to_wait", names)
        self.assertIn("no right to open the mapped file: CAP_CHECKPOINT_RESTORE is missing", reasons)


if __name__ == "__main__":
    unittest.main()
