"""scripts/soak for a minute and a half, with a history that is at its limit for most of it."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

BENCH = os.path.join(os.environ["PROFD_SOURCE_DIR"], "tests/bench")
sys.path[:0] = [BENCH, os.path.join(BENCH, "soak")]

import soak  # noqa: E402
from soak_loads import all_loads  # noqa: E402
from unwind_loads import Missing  # noqa: E402

PROFD = os.path.join(os.environ["PROFD_BINARY_DIR"], "bin/profd")
MINUTES, LOOK_SECONDS = 1.5, 2
LIMIT = 16 << 20  # the least there may be
FLAGS = ("--history-window", "5s", "--history-max-size", "16MiB")


@unittest.skipIf(os.geteuid() != 0, "needs root: real BPF programs are loaded")
class Soak(unittest.TestCase):
    def test_a_short_one_finds_nothing_bad(self):
        for load in all_loads():
            try:
                load.check()
            except Missing as missing:
                self.skipTest(f"{load.name} needs {missing}, which is not installed")
        with tempfile.TemporaryDirectory() as folder:
            plot = os.path.join(folder, "plot.svg")
            said, complained = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
                good = soak.main(PROFD, MINUTES, LOOK_SECONDS, plot, FLAGS, full=LIMIT) == 0
            print(said.getvalue())
            self.assertTrue(good, complained.getvalue())
            self.assertIn("at its limit after", said.getvalue())
            with open(plot, encoding="utf-8") as file:
                self.assertIn("history.max_size", file.read())


if __name__ == "__main__":
    unittest.main()
