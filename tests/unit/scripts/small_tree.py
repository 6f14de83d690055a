"""A small tree of files, and a check run on it."""

import os
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.environ.get("PROFD_SOURCE_DIR") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")


class SmallTreeTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, path, text="", executable=False):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        if executable:
            os.chmod(full, 0o755)

    def copy(self, *paths):
        for path in paths:
            with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
                self.write(path, file.read())

    def check(self, name, *arguments, **environment):
        """Exit status and the lines of its findings."""
        run = subprocess.run([os.path.join(SOURCE, "scripts/checks", name), self.root, *arguments],
                             capture_output=True, text=True, check=False, env={**os.environ, **environment})
        self.assertNotIn("Traceback", run.stderr)
        return run.returncode, run.stdout.splitlines()

    def assert_passes(self, name, *arguments):
        self.assertEqual(self.check(name, *arguments), (0, []))

    def assert_finds(self, name, place, text, *arguments):
        """The check fails and says `text` of `place`, "file:line"."""
        status, lines = self.check(name, *arguments)
        self.assertEqual(status, 1, lines)
        self.assertTrue(any(line.startswith(place + ":") and text in line for line in lines), lines)
