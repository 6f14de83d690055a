"""The table of cProfile and the times of pyinstrument beside those of profctl report, for the same run of a program of others."""

import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SERVICE = os.path.join(os.path.dirname(HERE), "service")
FRAMEWORKS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench", "frameworks")
sys.path[:0] = [HERE, SERVICE, FRAMEWORKS]

import environments  # noqa: E402
from chance import independent_samples, share_bound  # noqa: E402
from running_profd import RunningProfd  # noqa: E402

PROGRAM = os.path.join(HERE, "refactoring.py")
HZ = 499
COMPARED = 0.02  # functions with a smaller share are not compared
FEW = 8          # so many must be


def lib2to3_of(python):
    """Whether this interpreter still has lib2to3."""
    return subprocess.run([python, "-W", "ignore", "-c", "import lib2to3"], stderr=subprocess.DEVNULL, check=False).returncode == 0


class PythonStudy(RunningProfd):
    def setUp(self):
        super().setUp()
        self.start("--history-directory", "off")

    def collect(self, python, profiler):
        """What the other profiler says, and the rows of profctl report by (file, name)."""
        if not lib2to3_of(python):
            self.skipTest(f"{python} has no lib2to3")
        done = self.profctl("collect", "-q", "--budget", "off", "-F", str(HZ), "-o", self.path("x.json"), "--", python, PROGRAM, profiler,
                            "1", self.path("other.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("other.json"), encoding="utf-8") as file:
            other = json.load(file)
        report = self.profctl("report", self.path("x.json"), "--by", "function", "-f", "json", "--filter", "function = work")
        self.assertEqual(report.returncode, 0, report.stderr)
        report = json.loads(report.stdout)
        rows = {}
        for row in report["rows"]:
            name, _, file = row["function"].removesuffix(")").rpartition(" (")
            rows.setdefault((file, name.rpartition(".")[2]), []).append(row)
        return other, report, rows

    def compare(self, other, report, rows, error_of):
        """Of each function that has one name in both; `error_of`: of what the other one says, by share and calls."""
        functions = {}
        for file, name, calls, total in other["functions"]:
            functions.setdefault((file, name), []).append((calls, int(total)))
        whole = functions["refactoring.py", "work"][0][1]
        with open(self.path("x.json"), encoding="utf-8") as file:
            profile = json.load(file)["profile"]
        samples, all_ns = independent_samples(profile, profile["threads"][0]["tid"])
        samples *= report["total_ns"] / all_ns
        compared = 0
        for key, found in sorted(functions.items(), key=lambda entry: -entry[1][0][1]):
            calls, total = found[0]
            share = total / whole
            if len(found) != 1 or len(rows.get(key, [])) > 1 or key[0] in ("~", "<built-in>", "<thread>"):
                continue
            seen = sum(row["total_ns"] for row in rows.get(key, [])) / report["total_ns"]
            if max(share, seen) < COMPARED:
                continue
            bound = share_bound(share, samples) + error_of(share, calls)
            print(f"{key[1]} ({key[0]}): {seen:.4f}, {share:.4f} by the other one, bound {bound:.4f}")
            self.assertLessEqual(abs(seen - share), bound, key)
            compared += 1
        self.assertGreaterEqual(compared, FEW)

    def test_cprofile(self):
        other, report, rows = self.collect("/usr/bin/python3", "cprofile")
        # Its clock of a function begins after the call, and ends before the return.
        self.compare(other, report, rows, lambda _, calls: calls * other["call"] / other["elapsed"])

    def test_pyinstrument(self):
        try:
            python = environments.python_of("pyinstrument")
        except environments.Missing as missing:
            self.skipTest(str(missing))
        other, report, rows = self.collect(python, "pyinstrument")
        # It takes a sample each ms.
        samples = other["elapsed"] / 1e6
        self.compare(other, report, rows, lambda share, _: share_bound(share, samples))
        # Its tree begins with the program's own functions, and so does that of report.
        tree = self.profctl("report", self.path("x.json"), "--tree", "-f", "json", "--filter", "function = work")
        self.assertEqual(tree.returncode, 0, tree.stderr)
        own = [row for row in json.loads(tree.stdout)["rows"] if row["name"].endswith("(refactoring.py)")]
        names = ["<module>", "main", "with_pyinstrument", "work"]
        self.assertEqual([row["name"].partition(" ")[0] for row in own[:4]], names)
        for name in names:  # a stack that is cut has a root of its own
            self.assertEqual(sum(row["total_ns"] for row in own if row["name"].startswith(name + " ")), report["total_ns"], name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
