"""Requested sessions of processes and threads that live for milliseconds: one row, whose shares are those of their own clocks."""

import json
import math
import os
import shutil
import sys
import unittest
from collections import Counter, defaultdict

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import RunningProfd  # noqa: E402

HZ = 249  # a life has less than a period on the CPU
LIVES = 1000
LIFE_US = 3000
READING_NS = 2 * 1000  # a phase begins and ends within a system call that reads its clock
# One run of all tests fails by chance in 1 of 1,000 cases; they compare so many shares.
CHANCE = 0.001 / 16
STATES = {"STATE_ON_CPU": ("on_cpu_ns", "stolen_exact_ns", "stolen_spread_ns"),
          "STATE_RUNNABLE": ("runnable_after_wakeup_ns", "runnable_after_preemption_ns", "runnable_after_yield_ns"),
          "STATE_BLOCKED": ("blocked_interruptible_ns", "blocked_uninterruptible_ns", "blocked_iowait_ns")}
NOT_SAMPLED = "[not sampled]"
RUNS = 4  # until none has lost an event: a busy host may keep profd from reading them in time


def share_bound(share, samples):
    """How far a share may lie from the truth by chance: Bernstein's inequality, as in tests/accuracy/statistics.h."""
    scale = math.log(2 / CHANCE) / samples
    return scale / 3 + math.sqrt(scale * scale / 9 + 2 * scale * share * (1 - share))


class Collected:
    """A profile in json: what its rows say."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            profile = json.load(file)["profile"]
        self.lost = profile.get("lost", []) + profile.get("dropped", [])
        self.threads = profile["threads"]
        self.processes = profile["processes"]
        self.frames = self.frames_of(profile)
        samples = profile["samples"]
        self.weights = defaultdict(Counter)  # by thread and state: {function: ns}
        self.points = Counter()              # by thread and state
        self.squares = Counter()             # of the weights, by thread and state
        for thread, state, node, weight, count in zip(samples["thread"], samples["state"], samples["node"],
                                                      samples["weight_ns"], samples["count"]):
            row = thread, state
            for function in self.frames[node]:
                self.weights[row][function] += int(weight)
            self.weights[row]["all"] += int(weight)
            self.points[row] += count
            if count:
                self.squares[row] += int(weight) ** 2 / count

    @staticmethod
    def frames_of(profile):
        """The set of functions of each node; node 0 has none."""
        names = [frame.get("name", "") for frame in profile["frames"]]
        frames = [frozenset()]
        for node in profile["nodes"]:
            frames.append(frames[node.get("parent", 0)] | {names[node.get("frame", 0)]})
        return frames

    def rows(self, name):
        return [index for index, thread in enumerate(self.threads) if thread["comm"] == name]

    def process(self, row):
        return self.processes[self.threads[row].get("process", 0)]

    def clock(self, row, state):
        return sum(int(self.threads[row]["clock"].get(part, 0)) for part in STATES[state])

    def running(self, row):
        """Run time of the kernel: without what was stolen, which is among the samples on a CPU."""
        return int(self.threads[row]["clock"].get("on_cpu_ns", 0))


@unittest.skipIf(shutil.which("cc") is None, "no C compiler is installed")
class ShortLivedShares(RunningProfd):
    def setUp(self):
        super().setUp()
        self.program = self.compile_file("short_lived.c", "short-lived", "-pthread")
        self.start("--history-directory", "off")

    def collect(self, *command, hz=HZ, options=()):
        """Returns the profile and what the command wrote."""
        for _ in range(RUNS):
            done = self.profctl("collect", "-q", "--budget", "off", "-F", str(hz), *options, "-o", self.path("profile.json"),
                                "-o", self.path("profile.folded"), "--", *command)
            self.assertEqual(done.returncode, 0, done.stderr)
            profile = Collected(self.path("profile.json"))
            if not profile.lost:
                break
        self.assertFalse(profile.lost)
        return profile, done.stdout

    def folded(self):
        with open(self.path("profile.folded"), encoding="utf-8") as file:
            return file.read()

    def expect_sums(self, profile):
        """The samples of each row add up to its clock, and to no more than its life."""
        for row, thread in enumerate(profile.threads):
            self.assertNotIn("clock_missing", thread)
            for state in STATES:
                self.assertEqual(profile.weights[row, state]["all"], profile.clock(row, state), thread)
                # What has a sample has no time without one: scaling has shared it.
                if profile.points[row, state]:
                    self.assertNotIn(NOT_SAMPLED, profile.weights[row, state], thread)
            if "group_size" not in thread:
                life = int(thread["end_ns"]) - int(thread["begin_ns"])
                self.assertLessEqual(sum(profile.clock(row, state) for state in STATES), life * 1.001, thread)
                self.assertNotIn("group_size", profile.process(row))

    def expect_shares(self, name, *command):
        """In both modes, of lives that write their own account."""
        for options in ((), ("--no-hooks",)):
            with self.subTest(options=options):
                profile, written = self.collect(*command, options=options)
                self.judge(profile, name, [[int(ns) for ns in line.split()] for line in written.splitlines()])

    def judge(self, profile, name, lives):
        self.assertEqual(len(lives), LIVES)
        self.expect_sums(profile)
        rows = profile.rows(name)
        lone = [row for row in rows if "group_size" not in profile.threads[row]]
        self.assertEqual(len(lone) + sum(profile.threads[row].get("group_size", 0) for row in rows), LIVES)
        for row in lone:
            # So long that it keeps its row: the host has had no CPU for it.
            thread = profile.threads[row]
            life = int(thread["end_ns"]) - int(thread["begin_ns"])
            running = profile.running(row)
            self.assertTrue(life * HZ >= 10e9 and (running * HZ >= 2e9 or life * HZ >= 100e9), (thread, profile.process(row)))
        for row in rows:
            if "group_size" in profile.process(row):
                self.assertIn(f"{name} x {profile.process(row)['group_size']};", self.folded())
        total = sum(profile.running(row) for row in rows)
        # The last reading of a life comes before its end.
        self.assertGreater(total, sum(life[2] for life in lives))
        # Of the time of these, chance alone says what the profile shows.
        unsure = sum(profile.running(row) for row in rows if row in lone or not profile.points[row, "STATE_ON_CPU"])
        samples = total ** 2 / sum(profile.squares[row, "STATE_ON_CPU"] for row in rows)
        for column, function in enumerate(("parse_source", "emit_code")):
            share = sum(life[column] for life in lives) / total
            measured = sum(profile.weights[row, "STATE_ON_CPU"][function] for row in rows) / total
            bound = share_bound(share, samples) + (unsure + LIVES * READING_NS) / total
            self.assertLessEqual(abs(measured - share), bound, f"{function}: {measured} of {share}, {samples} samples")

    def test_a_thread_for_each_request(self):
        self.expect_shares("request", self.program, "threads", str(LIVES), str(LIFE_US))
        self.assertIn(";emit_code;", self.folded())

    def test_a_fork_server(self):
        self.expect_shares("request", self.program, "fork", str(LIVES), str(LIFE_US))

    def test_a_shell_in_a_loop(self):
        loop = f"i=0; while [ $i -lt {LIVES} ]; do {self.program} work {LIFE_US}; i=$((i + 1)); done"
        self.expect_shares("short-lived", "sh", "-c", loop)

    @unittest.skipIf(shutil.which("make") is None, "make is not installed")
    def test_jobs_of_make(self):
        with open(self.path("Makefile"), "w", encoding="utf-8") as file:
            file.write("all: " + " ".join(f"part{i}" for i in range(LIVES)) + "\npart%:\n"
                       f"\t@{self.program} work {LIFE_US}\n")
        self.expect_shares("short-lived", "make", "-s", "-j2", "-f", self.path("Makefile"))

    @unittest.skipIf(shutil.which("make") is None, "make is not installed")
    def test_compilers(self):
        files = 40
        for i in range(files):
            with open(self.path(f"part{i}.c"), "w", encoding="utf-8") as file:
                file.write(f"#include <stdio.h>\nint part{i}(int a) {{ return printf(\"%d\", a); }}\n")
        with open(self.path("Makefile"), "w", encoding="utf-8") as file:
            file.write(f"all: {' '.join(f'part{i}.o' for i in range(files))}\n%.o: %.c\n\t@cc -c -o $@ $<\n")
        profile, _ = self.collect("make", "-s", "-j2", "-C", self.folder, hz=99)
        self.expect_sums(profile)
        rows = profile.rows("cc1")
        self.assertEqual(sum(profile.threads[row].get("group_size", 1) for row in rows), files)
        # One that takes ten periods has a row of its own.
        grouped = [row for row in rows if "group_size" in profile.threads[row]]
        self.assertTrue(grouped)
        for row in grouped:
            self.assertIn(f"cc1 x {profile.process(row)['group_size']}", self.folded())


if __name__ == "__main__":
    unittest.main(verbosity=2)
