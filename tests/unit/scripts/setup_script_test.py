"""scripts/setup on a machine whose packages are lines of a file."""

import os
import shutil
import subprocess
import tempfile
import unittest

from small_commands import SmallCommands

SETUP = os.path.join(os.environ["PROFD_SOURCE_DIR"], "scripts/setup")
# The packages of `apt-get ... install ...` as dpkg-query would list them.
INSTALL = """
echo "$@" >>{root}/apt.log
[[ " $* " == *" install "* ]] || exit 0
for word in "${{@}}"; do [[ $word == -* || $word == *::* || $word == install ]] || echo "ii $word"; done >>{root}/installed
"""


class Setup(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.commands = SmallCommands(os.path.join(self.root, "bin"))
        self.commands.add("dpkg-query", f"cat {self.root}/installed 2>/dev/null || true")
        self.commands.add("apt-get", INSTALL.format(root=self.root))
        self.commands.add("sudo", 'exec "$@"')
        for command in ("tee", "chmod"):  # the policy that starts no services is the machine's
            self.commands.add(command, "cat >/dev/null")

    def run_setup(self, *arguments):
        done = subprocess.run([SETUP, *arguments], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, env=self.commands.environment())
        return done.returncode, done.stdout + done.stderr

    def calls_of_apt(self):
        path = f"{self.root}/apt.log"
        if not os.path.exists(path):
            return 0
        with open(path, encoding="utf-8") as log:
            return len(log.readlines())

    def test_the_second_time_there_is_nothing_to_do_and_nothing_is_said(self):
        for arguments in ((), ("--tests",)):
            with self.subTest(arguments):
                status, said = self.run_setup(*arguments)
                self.assertEqual(status, 0, said)
                self.assertIn("setup: installing ", said)
                calls = self.calls_of_apt()
                self.assertGreater(calls, 0)
                self.assertEqual(self.run_setup(*arguments), (0, ""))
                self.assertEqual(self.calls_of_apt(), calls)

    def test_what_cannot_be_installed(self):
        self.commands.add("apt-get", "[[ \" $* \" != *\" install \"* ]] || { echo E: no such package; exit 100; }")
        status, said = self.run_setup()
        self.assertEqual(status, 1)
        self.assertIn("E: no such package\n", said)
        self.assertIn("setup: apt-get could not install the packages", said)

    def test_usage(self):
        for arguments in (("--all",), ("--tests", "more")):
            self.assertEqual(self.run_setup(*arguments), (2, "usage: scripts/setup [--tests]\n"))


if __name__ == "__main__":
    unittest.main()
