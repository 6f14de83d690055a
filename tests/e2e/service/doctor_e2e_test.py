"""profctl doctor: as root, of a process, and of users whom the kernel or profd keeps out."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import OTHER, PROFCTL, PROFD, RunningProfd, as_user  # noqa: E402

HOST = ["kernel", "BTF", "lockdown", "BPF JIT", "sample rate", "perf events", "kernel names", "debug info"]
DAEMON = ["profd", "hook", "clocks", "counters", "rights", "losses", "Python", "history"]
SNAKE = """
import time
print("ready", flush=True)
while True: time.sleep(0.005)
"""


class Doctor(RunningProfd):
    def checks(self, said):
        """Name to the first finding of it; every one has a verdict and something that was found."""
        checks = json.loads(said.stdout)["checks"]
        for check in checks:
            self.assertEqual(set(check), {"check", "verdict", "found", "fix"})
            self.assertIn(check["verdict"], ("ok", "warn", "fail", "unknown"))
            self.assertTrue(check["check"] and check["found"], check)
        return {check["check"]: check for check in reversed(checks)}, [check["check"] for check in checks]

    def as_other(self, *arguments, profctl=PROFCTL, environment=None):
        return subprocess.run([*as_user(OTHER), profctl, "doctor", *arguments], capture_output=True, text=True,
                              check=False, env=dict(os.environ, **(environment or {})))

    def test_root_sees_host_and_daemon(self):
        self.start()
        said = self.profctl("doctor", "--json")
        checks, names = self.checks(said)
        self.assertEqual(said.returncode, 0, said.stdout)
        self.assertEqual([name for index, name in enumerate(names) if name not in names[:index]], HOST + DAEMON)
        self.assertEqual(checks["kernel"]["found"], os.uname().release)
        self.assertEqual(checks["rights"], {"check": "rights", "verdict": "ok", "found": "none is missing", "fix": ""})
        # Threads that are older than profd have no clock before it makes one; nothing is lost by that.
        self.assertNotIn("no clock", checks["losses"]["found"])
        plain = self.profctl("doctor")
        self.assertEqual((plain.returncode, plain.stderr), (0, ""))
        for name in HOST + DAEMON:
            self.assertRegex(plain.stdout, rf"(?m)^{name} +(ok|warn|unknown)  +\S")

    def test_a_process_is_looked_at(self):
        self.start()
        with subprocess.Popen(["/usr/bin/python3", "-c", SNAKE], stdout=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            self.assertEqual(process.stdout.readline(), "ready\n")
            said = self.profctl("doctor", "--json", "-p", str(process.pid))
            checks, names = self.checks(said)
            process.kill()
        self.assertEqual(said.returncode, 0, said.stdout)
        self.assertLess({"code made at run time", "process", "stacks", "symbols"}, set(names))
        self.assertIn(f"({process.pid}), 1 thread", checks["process"]["found"])
        last = json.loads(said.stdout)["checks"][-1]
        self.assertEqual(last["check"], "Python")
        self.assertRegex(last["found"], r"^CPython 3\.\d+\.\d+ is understood$")
        # It has been waited for: there is no such process.
        gone = self.profctl("doctor", "--json", "-p", str(process.pid))
        self.assertEqual(gone.returncode, 1)
        self.assertEqual(self.checks(gone)[0]["process"]["verdict"], "fail")

    @unittest.skipIf(shutil.which("setpriv") is None, "setpriv is not installed")
    def test_missing_rights_are_named(self):
        if os.path.exists("/run/profd"):
            self.skipTest("a profd of the host answers in the place of a private one")
        # Where every user may go.
        public = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, public)
        os.chmod(public, 0o755)
        profctl = shutil.copy(PROFCTL, public)
        shutil.copy(PROFD, public)
        said = self.as_other("--json", profctl=profctl, environment={"PROFD_HOST": ""})
        checks, names = self.checks(said)
        self.assertEqual(said.returncode, 1)
        self.assertEqual(names, [*HOST, "profd", "the rest"])
        self.assertEqual((checks["profd"]["verdict"], checks["the rest"]["verdict"]), ("fail", "unknown"))
        self.assertIn("CAP_BPF, CAP_PERFMON", checks["profd"]["found"])
        self.assertIn("sudo", checks["profd"]["fix"])

        # And by a profd that lets in root alone.
        self.start()
        os.chmod(self.folder, 0o755)
        said = self.as_other("--json", "--host", self.address, profctl=profctl)
        self.assertEqual(said.returncode, 1)
        refused = self.checks(said)[0]["profd"]
        self.assertEqual(refused["verdict"], "fail")
        self.assertIn("permission denied", refused["found"].lower())

    def test_a_missing_process_is_reported(self):
        said = self.profctl("doctor", "--json")
        self.assertEqual(said.returncode, 1)
        self.assertIn("cannot reach profd at " + self.address, self.checks(said)[0]["profd"]["found"])


if __name__ == "__main__":
    unittest.main()
