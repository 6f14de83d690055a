"""Operators and steps of real frameworks beside what they say of themselves. Those that are not installed are skipped by name."""

import json
import os
import re
import subprocess
import sys
import unittest
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
SERVICE = os.path.join(os.path.dirname(HERE), "service")
FRAMEWORKS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench", "frameworks")
sys.path[:0] = [HERE, SERVICE, FRAMEWORKS]

import environments  # noqa: E402
import measurement  # noqa: E402
from chance import independent_samples, share_bound  # noqa: E402
from running_profd import RunningProfd  # noqa: E402

HZ = 499
WARM_SECONDS = 3  # of the program, and of profd, which gets ready for it
SECONDS = 8
OPERATOR = re.compile(r"aten::\w+|\w+Backward\d*")
COMPARED = 0.03  # operators with a smaller share of the time in operators are not compared
FEW = 4          # so many must be
STARVED_NS = 400_000_000


class FrameworkStudies(RunningProfd):
    def setUp(self):
        super().setUp()
        self.start("--history-directory", "off")

    def python_of(self, environment):
        try:
            return environments.installed_python_of(environment)
        except environments.Missing as missing:
            self.skipTest(str(missing))

    def start_loop(self, environment, name):
        loop = measurement.Loop(self.python_of(environment), name, WARM_SECONDS)
        loop.__enter__()
        self.addCleanup(loop.__exit__)
        self.collect(loop.process.pid, WARM_SECONDS)
        return loop

    def collect(self, pid, seconds, *options):
        done = self.profctl("collect", "-q", "--budget", "off", "-F", str(HZ), "-p", str(pid), "-d", str(seconds), *options,
                            "-o", self.path("x.json"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def profile(self):
        with open(self.path("x.json"), encoding="utf-8") as file:
            return json.load(file)["profile"]

    def report(self, *options):
        done = self.profctl("report", self.path("x.json"), *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def compare_with_torch(self, name):
        """Time without that of operators inside, of the thread that calls them, while torch.profiler watches."""
        loop = self.start_loop("torch", name)
        loop.request(f"profile {SECONDS}")
        # It also says when it began, so that it may end before or after the session.
        self.collect(loop.process.pid, SECONDS)
        said = loop.answer()
        profile = self.profile()
        start, end = int(profile["start_ns"]), int(profile["end_ns"])
        begin, finish = (min(max(at, start), end) for at in said["times"])
        report = json.loads(self.report(
            "--by", "operator", "-f", "json", "--filter",
            f"thread = {loop.process.pid} and time = {(begin - start) / 1e9:.6f}..{(finish - start) / 1e9:.6f}"))
        seen = {row["operator"]: row["ns"] for row in report["rows"] if OPERATOR.fullmatch(row["operator"])}
        events = Counter()
        calls = Counter()
        for event, _, _, own in said["events"]:
            if OPERATOR.fullmatch(event):
                events[event] += own
                calls[event] += 1
        whole, own_whole = sum(seen.values()), sum(events.values())
        samples, all_ns = independent_samples(profile, loop.process.pid)
        samples *= whole / all_ns
        print(self.report("--by", "operator", "--limit", "12"))
        compared = 0
        for operator in sorted(set(seen) | set(events), key=lambda one: -events[one]):
            share, other = seen.get(operator, 0) / whole, events[operator] / own_whole
            if max(share, other) < COMPARED:
                continue
            # An event costs more than its clock says.
            bound = share_bound(other, samples) + calls[operator] * said["event_us"] / own_whole
            print(f"{operator}: {share:.4f}, {other:.4f} by torch.profiler, bound {bound:.4f}, {calls[operator]} calls")
            with self.subTest(operator):
                self.assertLessEqual(abs(share - other), bound)
            compared += 1
        self.assertGreaterEqual(compared, FEW)

    def test_pytorch_mlp(self):
        self.compare_with_torch("pytorch-mlp")

    def test_pytorch_transformer(self):
        self.compare_with_torch("pytorch-transformer")

    def test_paddle(self):
        """Its operators have most of the work of the thread that trains."""
        loop = self.start_loop("paddlepaddle", "paddlepaddle")
        self.collect(loop.process.pid, SECONDS)
        print(self.report("--by", "operator", "--limit", "12"))
        print(self.report("--by", "phase"))
        report = json.loads(self.report("--by", "operator", "-f", "json", "--filter", f"thread = {loop.process.pid}"))
        work = {row["operator"]: row["working_ns"] for row in report["rows"]}
        named = sum(ns for name, ns in work.items() if not name.startswith(("[", "(")))
        self.assertGreater(named, 0.6 * sum(work.values()))

    def test_mindspore_with_a_queue_that_starves(self):
        python = self.python_of("mindspore")
        with subprocess.Popen([python, os.path.join(HERE, "starving_queue.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as program:
            self.addCleanup(program.kill)
            while (line := program.stdout.readline()) != "ready\n":
                self.assertTrue(line, "the program ended early")
            self.collect(program.pid, SECONDS)
            program.stdin.write("end\n")
            program.stdin.flush()
            steps = json.loads(program.stdout.readline())
        print(self.report("--steps"))
        start, end = (int(self.profile()[one]) for one in ("start_ns", "end_ns"))
        rows = json.loads(self.report("--steps", "-f", "json"))["rows"]
        starved = {row["begin_ns"] + start: row for row in rows if row["data ns"] > STARVED_NS}
        late = [(begin, there) for begin, there in steps if there - begin > STARVED_NS and start < begin and there < end]
        self.assertGreaterEqual(len(late), 2)
        with open(os.path.join(HERE, "starving_queue.py"), encoding="utf-8") as source:
            line, = [number for number, text in enumerate(source, 1) if "in queue.create_tuple_iterator" in text]
        # The steps that wait for data are those that do, from where they begin on and for so long.
        self.assertEqual(len(starved), len(late))
        for (seen, row), (begin, there) in zip(sorted(starved.items()), late):
            waited = row[f"line {line} ns"]
            print(f"begins {(seen - begin) / 1e6:+.2f} ms beside, data {waited / 1e6:.1f} ms, {(there - begin) / 1e6:.1f} are true")
            self.assertLessEqual(abs(seen - begin), row["reach_ns"])
            # Its first and last sample lie within two periods of the borders.
            self.assertLessEqual(abs(waited - (there - begin)), row["reach_ns"] + 4e9 / HZ)


if __name__ == "__main__":
    unittest.main(verbosity=2)
