"""Programs that live for milliseconds, in a history whose minutes are compacted: one row, and all of their time."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import RunningProfd  # noqa: E402

PROGRAMS = 150
PROGRAM_MS = 20
COMPACTED_SECONDS = 4
# Of a program that ends soon, profd may or may not read in time where its file is and who may trace it.
DESCRIPTIONS = 4


@unittest.skipIf(shutil.which("cc") is None, "no C compiler is installed")
class ShortLived(RunningProfd):
    def rows(self):
        """Of the programs, by process; and the seconds on a CPU of all of them."""
        found = [row for row in self.profctl_json("list")["rows"] if row["name"] == "short-lived"]
        return found, sum(row["on_cpu_ns"] for row in found) / 1e9

    def profctl_json(self, command, *flags):
        done = self.profctl(command, "--json", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def await_a_window(self):
        until = time.monotonic() + 60
        while self.profctl("list").returncode != 0:
            self.assertLess(time.monotonic(), until, self.log())
            time.sleep(0.1)

    def test_programs(self):
        program = self.compile_file("short_lived.c", "short-lived", "-pthread")
        self.start("--history-directory", self.path("history"), "--history-window", "1s", "--history-compact", f"{COMPACTED_SECONDS}s")
        self.await_a_window()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        for _ in range(PROGRAMS):
            subprocess.run([program, "work", str(PROGRAM_MS * 1000)], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        # They run one after the other: no more than one is alive where an interval of compaction ends.
        borders = (time.monotonic() - begin) / COMPACTED_SECONDS + 1

        def most_alone(rows):
            """A description that only one program has makes no group."""
            return borders + DESCRIPTIONS - sum(row.get("pid", 0) == 0 for row in rows)

        until = time.monotonic() + 120
        rows, on_cpu = self.rows()
        # The window in which the last ones end is stored when it is over.
        while ((sum(row["processes"] for row in rows) < PROGRAMS
                or sum(row.get("pid", 0) != 0 for row in rows) > most_alone(rows))
               and time.monotonic() < until):
            time.sleep(0.5)
            rows, on_cpu = self.rows()
        self.assertEqual(sum(row["processes"] for row in rows), PROGRAMS)
        groups = [row for row in rows if row.get("pid", 0) == 0]
        self.assertLessEqual(len(groups), DESCRIPTIONS, rows)
        self.assertLessEqual(len(rows) - len(groups), most_alone(rows), rows)
        # The kernel's own accounts of the same time, which begin before the program's name and end after its exit.
        self.assertGreater(on_cpu, PROGRAMS * PROGRAM_MS / 1e3)
        self.assertLessEqual(on_cpu, spent + PROGRAMS * 0.01)
        folded = self.profctl("query", "--comm", "short-lived", "-f", "folded").stdout
        largest = max(row["processes"] for row in groups)
        stacks = [line for line in folded.splitlines() if f"short-lived x {largest};" in line]
        self.assertTrue(any("emit_code" in line for line in stacks), folded)


if __name__ == "__main__":
    unittest.main(verbosity=2)
