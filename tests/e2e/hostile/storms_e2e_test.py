"""What an unprivileged user does without end: it costs that user's own processes, and no other user anything.

Beside each storm runs a program that knows how it divides its own CPU time between two functions. Its profile has them in this
proportion; the memory stays within the cap and comes back; no window of the history is lost; who is to blame is named.
"""

import json
import math
import os
import resource
import shutil
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "service"))

from running_profd import BINARIES, OTHER, RunningProfd, as_user  # noqa: E402

STORMS = os.path.join(os.path.dirname(BINARIES), "testprogs", "storms")
RATE = 199
SECONDS = 4
SIGMAS = 5  # a true share is farther off in fewer than one of a million profiles
OVER_THE_CAP = 1.05
BACK_WITHIN_SECONDS = 10
FREE = 0.75  # of the cap: above it samples are dropped

# Computes in two functions, and says how much CPU time each has had when its input ends.
INNOCENT = r"""
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}
static long spin(long ns) {
  long begin = now_ns(), now = begin;
  while ((now = now_ns()) < begin + ns) continue;
  return now - begin;
}
__attribute__((noinline)) long third_of_the_work(void) { long spent = spin(3000000); __asm__ volatile("" ::: "memory"); return spent; }
__attribute__((noinline)) long rest_of_the_work(void) { long spent = spin(6000000); __asm__ volatile("" ::: "memory"); return spent; }
int main(void) {
  long third = 0, rest = 0;
  struct pollfd input = {.fd = 0, .events = POLLIN};
  puts("ready");
  fflush(stdout);
  while (poll(&input, 1, 0) == 0) {
    third += third_of_the_work();
    rest += rest_of_the_work();
    usleep(1000);
  }
  printf("%ld %ld\n", third, rest);
  return 0;
}
"""
# A Python program of many functions, each of which runs for some ms.
MANY_FUNCTIONS = """
import time
text = "def own_function_{}():\\n end = time.thread_time_ns() + 8_000_000\\n while time.thread_time_ns() < end: pass\\n"
functions = []
for i in range(1000):
    made = {"time": time}
    exec(text.format(i), made)
    functions.append(made[f"own_function_{i}"])
print("ready", flush=True)
while True:
    for function in functions: function()
"""
LIBRARY = "int answer(void) { return 42; }\n"


@unittest.skipIf(shutil.which("cc") is None, "no C compiler is installed")
class Storms(RunningProfd):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.theirs = self.path("theirs")
        os.mkdir(self.theirs)
        self.storms = os.path.join(self.theirs, "storms")
        shutil.copy(STORMS, self.storms)
        os.chown(self.theirs, OTHER, OTHER)

    def start_storm(self, *arguments, user=OTHER):
        storm = subprocess.Popen([*as_user(user), self.storms, *arguments], cwd=self.theirs, stdout=subprocess.PIPE, text=True,
                                 start_new_session=True)
        self.addCleanup(storm.stdout.close)
        self.addCleanup(self.end_storm, storm)
        self.assertEqual(storm.stdout.readline(), "ready\n")
        return storm

    def end_storm(self, storm):
        """With all that it has started, and what it has left in /tmp."""
        if storm.poll() is None:
            os.killpg(storm.pid, 9)
        storm.wait()
        if os.path.exists(path := f"/tmp/perf-{storm.pid}.map"):
            os.unlink(path)

    def status(self):
        said = self.profctl("status", "--json")
        self.assertEqual(said.returncode, 0, said.stderr)
        return json.loads(said.stdout)

    def profile_of_the_innocent(self):
        """Its profile, and what it says itself of its two functions, in ns of CPU time."""
        program = subprocess.Popen([self.compile(INNOCENT, "innocent")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "ready\n")
        out = self.path("innocent.json")
        said = self.profctl("collect", "-q", "-p", str(program.pid), "-F", str(RATE), "-d", str(SECONDS), "-o", out)
        self.assertEqual(said.returncode, 0, said.stderr)
        truth = [int(ns) for ns in program.communicate("")[0].split()]
        with open(out, encoding="utf-8") as file:
            return json.load(file)["profile"], truth

    def expect_its_share(self, profile, truth):
        """Of the samples on the CPU, as many as chance allows are in each function: a binomial distribution."""
        frames = [frame.get("name") for frame in profile["frames"]]
        nodes = profile["nodes"]
        samples = profile["samples"]
        counts = {"third_of_the_work": 0, "rest_of_the_work": 0}
        for node, state, count in zip(samples["node"], samples["state"], samples["count"]):
            if state != "STATE_ON_CPU":
                continue
            while node:
                if (name := frames[nodes[node - 1].get("frame", 0)]) in counts:
                    counts[name] += count
                    break
                node = nodes[node - 1].get("parent", 0)
        total = sum(counts.values())
        self.assertGreater(total, 0, counts)
        share = truth[0] / sum(truth)
        bound = SIGMAS * math.sqrt(share * (1 - share) / total)
        self.assertLessEqual(abs(counts["third_of_the_work"] / total - share), bound, (counts, truth))

    def make_room_for_threads(self, count):
        """Of two users, for a user may not have so many."""
        limit = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        if limit != resource.RLIM_INFINITY and limit < count // 2 + 1000:
            self.skipTest(f"a user may have {limit} threads here")
        with open("/proc/meminfo", encoding="ascii") as file:
            available = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
        if available < 60 * count:  # KiB: a thread takes about 30, with its stacks
            self.skipTest(f"{available} KiB of memory are too few for {count} threads")
        with open("/proc/sys/kernel/threads-max", encoding="ascii") as file:
            if int(file.read()) < count + 20000:
                self.skipTest("kernel.threads-max is too small")
        before = subprocess.run(["sysctl", "-n", "kernel.pid_max"], capture_output=True, text=True, check=True).stdout.strip()
        if int(before) < count + 20000:
            if subprocess.run(["sysctl", "-qw", f"kernel.pid_max={count + 20000}"], stderr=subprocess.DEVNULL).returncode != 0:
                self.skipTest("kernel.pid_max cannot be raised here")
            self.addCleanup(subprocess.run, ["sysctl", "-qw", f"kernel.pid_max={before}"], check=True)

    def expect_peace(self, *arguments, blames=None, users=(OTHER,), window="2s", options=()):
        """During a storm, and after it."""
        daemon = self.start("--history-directory", self.path("history"), "--history-window", window, *options)
        storms = [self.start_storm(*arguments, user=user) for user in users]
        profile, truth = self.profile_of_the_innocent()
        self.expect_its_share(profile, truth)
        status = self.status()
        if blames:
            self.assertRegex("\n".join(status["unreadable"]), blames.format(pid=storms[0].pid, uid=OTHER))
        for storm in storms:
            self.end_storm(storm)
        ended = time.monotonic()
        while self.status()["memory"]["used_bytes"] > FREE * status["memory"]["cap_bytes"]:
            self.assertLess(time.monotonic(), ended + BACK_WITHIN_SECONDS, self.status()["memory"])
            time.sleep(0.2)
        status = self.status()
        self.assertLessEqual(status["memory"]["peak_bytes"], OVER_THE_CAP * status["memory"]["cap_bytes"], status["memory"])
        history = status["history"]
        self.assertEqual(history["windows_lost"] + history["failed_puts"], 0, history)
        self.assertIsNone(daemon.poll())
        self.end(daemon)

    def test_mappings(self):
        path = os.path.join(self.theirs, "mapped")
        with open(path, "wb") as file:
            file.write(bytes(65536))
        self.expect_peace("mappings", path, blames=r"process {pid} \(storms\): maps files too often")

    def test_libraries(self):
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", os.path.join(self.theirs, "library.so"), "-"], input=LIBRARY,
                       text=True, check=True)
        self.expect_peace("dlopen", os.path.join(self.theirs, "library.so"))

    def test_programs(self):
        self.expect_peace("programs")

    def test_execs(self):
        self.expect_peace("execs")

    def test_forks(self):
        self.expect_peace("forks")

    def test_threads(self):
        self.expect_peace("threads", blames=r"process {pid} \(storms\): makes threads too often")

    def test_names(self):
        self.expect_peace("renames", blames=r"process {pid} \(.*\): renames threads too often")

    def test_a_crowd(self):
        self.expect_peace("crowd", "20000")

    def test_a_crowd_of_100000(self):
        """More than the default cap has room for: a thread takes some KiB."""
        threads = 100000
        self.make_room_for_threads(threads)
        self.expect_peace("crowd", str(threads // 2), users=(OTHER, OTHER + 1), window="10s", options=("--memory-cap", "1GiB"))

    def test_names_of_code_made_at_run_time(self):
        self.expect_peace("perf_map")

    def test_lists_that_change_all_the_time(self):
        self.expect_peace("perf_maps")

    def test_who_lists_too_much_is_named(self):
        self.start()
        storm = self.start_storm("perf_maps")
        out = self.path("all.json")
        said = self.profctl("collect", "-q", "-a", "-F", str(RATE), "-d", str(SECONDS), "-o", out)
        self.assertEqual(said.returncode, 0, said.stderr)
        what = "lists code made at run time too fast"
        self.assertRegex("\n".join(self.status()["unreadable"]), rf"process {storm.pid} \(storms\): {what}")
        with open(out, encoding="utf-8") as file:
            counters = json.load(file)["profile"]["counters"]
        self.assertRegex("\n".join(one["text"] for one in counters), rf"PID {storm.pid} \(storms\): {what}")

    def test_python_code(self):
        """What makes code without end is named, and another program has the names of all of its functions."""
        self.start()
        shutil.copy(os.path.join(HERE, "python_storm.py"), self.theirs)
        storm = subprocess.Popen([*as_user(OTHER), sys.executable, os.path.join(self.theirs, "python_storm.py")],
                                 stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(storm.stdout.close)
        self.addCleanup(self.end_storm, storm)
        self.assertEqual(storm.stdout.readline(), "ready\n")
        innocent = subprocess.Popen([sys.executable, "-c", MANY_FUNCTIONS], stdout=subprocess.PIPE, text=True)
        self.addCleanup(innocent.stdout.close)
        self.addCleanup(innocent.wait)
        self.addCleanup(innocent.kill)
        self.assertEqual(innocent.stdout.readline(), "ready\n")
        out = self.path("all.json")
        said = self.profctl("collect", "-q", "-a", "-F", str(RATE), "-d", str(SECONDS), "-o", out)
        self.assertEqual(said.returncode, 0, said.stderr)
        what = r"python\S*\): makes Python code too often"
        self.assertRegex("\n".join(self.status()["unreadable"]), rf"process {storm.pid} \({what}")
        with open(out, encoding="utf-8") as file:
            profile = json.load(file)["profile"]
        self.assertRegex("\n".join(one["text"] for one in profile["counters"]), rf"PID {storm.pid} \({what}")
        names = self.names_in(profile, innocent.pid)
        functions = [name for name in names if name.startswith("own_function_")]
        self.assertGreater(len(functions), 3, names)
        self.assertNotIn("<unknown>", names)

    def names_in(self, profile, pid):
        """Of all frames of a process."""
        frames = [frame.get("name") for frame in profile["frames"]]
        nodes = profile["nodes"]
        names = set()
        for node, thread in zip(profile["samples"]["node"], profile["samples"]["thread"]):
            process = profile["processes"][profile["threads"][thread].get("process", 0)]
            while process.get("pid") == pid and node:
                names.add(frames[nodes[node - 1].get("frame", 0)] or "")
                node = nodes[node - 1].get("parent", 0)
        return names

    def test_stacks(self):
        self.expect_peace("stacks")


if __name__ == "__main__":
    unittest.main()
