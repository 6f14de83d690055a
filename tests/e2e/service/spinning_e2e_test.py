"""Programs that spin for a share of their running time that their own clocks know: profiles show that share."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import RunningProfd  # noqa: E402

HZ = 499
SECONDS = "3"
CLANG = "clang-16"
# One run of all tests fails by chance in 1 of 1,000 cases; they compare so many shares.
CHANCE = 0.001 / 10
# A clock is read by a system call before and after each wait, and each piece of work lasts 1 ms at least.
READING_SHARE = 0.002
WAITING = ("CLASS_SPIN", "CLASS_GPU_WAIT")
OWN_RULE = """[[rule]]
class = "{}"
function = 'own_spin_lock'
module = 'spinning'
"""


def share_bound(share, samples):
    """How far a share of so many independent samples may lie from the truth by chance: Bernstein's inequality."""
    scale = math.log(2 / CHANCE) / samples
    return scale / 3 + math.sqrt(scale * scale / 9 + 2 * scale * share * (1 - share))


class Running:
    """Time on a CPU of a profile in json, in all and by rule."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            profile = json.load(file)["profile"]
        samples = profile["samples"]
        rules = [None, *profile.get("rules", [])]
        self.clock_ns = sum(int(thread["clock"].get("on_cpu_ns", 0)) for thread in profile["threads"])
        self.samples = self.spinning_ns = self.running_ns = 0
        self.places = set()  # of the rules that say what spins
        names = [frame.get("name", "") for frame in profile["frames"]]
        stolen = {node + 1 for node, at in enumerate(profile["nodes"]) if names[at.get("frame", 0)] == "[stolen]"}
        columns = zip(samples["state"], samples["node"], samples["weight_ns"], samples["count"],
                      samples.get("rule") or [0] * len(samples["state"]))
        for state, node, weight, count, rule in columns:
            if state != "STATE_ON_CPU" or node in stolen:
                continue
            self.running_ns += int(weight)
            self.samples += count
            if rule and rules[rule]["frame_class"] in WAITING:
                self.spinning_ns += int(weight)
                self.places.add(rules[rule]["place"])


@unittest.skipIf(shutil.which("cc") is None, "no C compiler is installed")
class Spinning(RunningProfd):
    def setUp(self):
        super().setUp()
        # A wait never goes to sleep, whatever the number of CPUs is.
        for name, value in (("OMP_WAIT_POLICY", "active"), ("GOMP_SPINCOUNT", "infinite"), ("KMP_BLOCKTIME", "infinite")):
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)

    def collect(self, program, kind):
        done = self.profctl("collect", "-q", "--budget", "off", "-F", str(HZ), "-o", self.path("profile.json"),
                            "-o", self.path("profile.folded"), "--", program, kind, SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return Running(self.path("profile.json")), [int(ns) for ns in done.stdout.split()]

    def folded_spinning_us(self):
        with open(self.path("profile.folded"), encoding="utf-8") as file:
            lines = [line.rsplit(" ", 1) for line in file]
        return sum(int(us) for stack, us in lines if stack.endswith(";[spinning]"))

    def judge(self, program, kind):
        """The share of the program's own clocks. It depends on how many CPUs the program gets."""
        running, (spinning_ns, working_ns, process_ns, serial_ns) = self.collect(program, kind)
        # Running is working and spinning, and the clock of the kernel.
        self.assertEqual(running.running_ns, running.clock_ns)
        self.assertAlmostEqual(self.folded_spinning_us(), running.spinning_ns / 1000, delta=len(running.places) + 100)
        share = spinning_ns / process_ns
        self.assertTrue(0.005 < share < 0.95, f"the program spins {share}")
        # The start and the end of the program are neither.
        unsure = abs(running.clock_ns - spinning_ns - working_ns) / running.clock_ns
        self.assertLess(unsure, 0.05)
        measured = running.spinning_ns / running.running_ns
        bound = share_bound(share, running.samples) + unsure + READING_SHARE
        print(f"{self.id()}: spins {share:.4f}, measured {measured:.4f}, bound {bound:.4f}, {running.samples} samples")
        self.assertLessEqual(abs(measured - share), bound, f"{measured} of {share}, {running.samples} samples")
        if serial_ns:
            self.judge_causes(running, serial_ns / spinning_ns)
        return running

    def judge_causes(self, running, share):
        """Why the threads spin, as `threads` says: others do something alone, or have more to do in a region."""
        done = self.profctl("threads", self.path("profile.json"), "-f", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        process, = [one for one in json.loads(done.stdout)["processes"] if one["process"] == "spinning"]
        spinning_ns = process["spinning_ns"]
        serial, imbalance = (process[f"spinning_{cause}_ns"] / spinning_ns for cause in ("serial", "imbalance"))
        print(f"{self.id()}: serial {share:.4f}, measured {serial:.4f}, imbalance {imbalance:.4f}")
        # A round of 80 ms has two borders. On each side of one, samples may be judged by what lies on the other for two periods.
        borders = 2 * 2 * 2 / HZ / 0.08
        bound = borders + share_bound(share, running.samples * spinning_ns / running.running_ns)
        self.assertLessEqual(abs(serial - share), bound)
        self.assertLessEqual(abs(imbalance - (1 - share)), bound)

    def gnu(self):
        return self.compile_file("spinning.c", "spinning", "-fopenmp", "-pthread")

    def llvm(self):
        if shutil.which(CLANG) is None:
            self.skipTest(f"{CLANG} is not installed")
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "spinning.c"), encoding="utf-8") as file:
            made = subprocess.run([CLANG, "-g", "-O1", "-fopenmp", "-pthread", "-x", "c", "-o", self.path("spinning"), "-"],
                                  input=file.read(), text=True, capture_output=True, check=False)
        if "omp.h' file not found" in made.stderr or "-lomp" in made.stderr:
            self.skipTest("libomp-16-dev is not installed")
        self.assertEqual(made.returncode, 0, made.stderr)
        return self.path("spinning")

    def test_barriers_of_gnu_openmp(self):
        self.start("--history-directory", "off")
        self.judge(self.gnu(), "barrier")

    def test_tasks_in_a_barrier_of_gnu_openmp_are_work(self):
        self.start("--history-directory", "off")
        self.judge(self.gnu(), "tasks")

    def test_barriers_of_llvm_openmp(self):
        program = self.llvm()
        self.start("--history-directory", "off")
        self.judge(program, "barrier")

    def test_tasks_in_a_barrier_of_llvm_openmp_are_work(self):
        program = self.llvm()
        self.start("--history-directory", "off")
        self.judge(program, "tasks")

    def test_causes_of_spinning_in_gnu_openmp(self):
        self.start("--history-directory", "off")
        self.judge(self.gnu(), "serial")

    def test_causes_of_spinning_in_llvm_openmp(self):
        program = self.llvm()
        self.start("--history-directory", "off")
        self.judge(program, "serial")

    def test_openblas(self):
        # Its worker goes to sleep after so many ticks, as a power of 2: not between two products.
        os.environ.update({"OPENBLAS_THREAD_TIMEOUT": "30", "OPENBLAS_NUM_THREADS": "2"})
        self.addCleanup(os.environ.pop, "OPENBLAS_THREAD_TIMEOUT")
        self.addCleanup(os.environ.pop, "OPENBLAS_NUM_THREADS")
        program = self.compile_file("spinning.c", "spinning", "-pthread")
        if subprocess.run([program, "blas", "0.1"], stdout=subprocess.DEVNULL, check=False).returncode == 3:
            self.skipTest("OpenBLAS is not installed (libopenblas0-pthread)")
        self.start("--history-directory", "off")
        self.judge(program, "blas")

    def test_a_dump_says_which_thread_spins(self):
        program = self.compile("void own_spin_lock(void) { for (;;) __asm__ volatile(\"\"); }\n"
                               "int main(void) { own_spin_lock(); }\n", "spinning")
        self.write_rule("spin")
        self.start("--history-directory", "off", "--rules-file", self.path("own.toml"))
        spins = subprocess.Popen([program])
        self.addCleanup(spins.wait)
        self.addCleanup(spins.kill)
        # It is without a CPU, or its stack has no names yet, in some dumps of a host that is busy.
        for _ in range(400):
            done = self.profctl("dump", "-p", str(spins.pid), "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            thread, = json.loads(done.stdout)["processes"][0]["threads"]
            self.assertIn(thread["state"], ("on_cpu", "runnable"))
            if thread["state"] == "on_cpu" and "own_spin_lock" in json.dumps(thread["stack"]):
                break
        self.assertEqual(thread.get("rule"), self.path("own.toml") + ":1", thread)
        self.assertTrue(thread["spinning"])

    def write_rule(self, frame_class):
        with open(self.path("own.toml"), "w", encoding="utf-8") as file:
            file.write(OWN_RULE.format(frame_class))

    def test_a_spin_lock_with_a_rule_of_the_user(self):
        program = self.compile_file("spinning.c", "spinning", "-pthread")
        self.write_rule("spin")
        daemon = self.start("--history-directory", "off", "--rules-file", self.path("own.toml"))
        running = self.judge(program, "lock")
        own = self.path("own.toml") + ":1"
        self.assertIn(own, running.places)

        # A reload takes the file as it is now, and none that is wrong.
        self.write_rule("spun")
        daemon.send_signal(signal.SIGHUP)
        self.await_state("READY=1")
        self.assertIn(f"{self.path('own.toml')}:2: class is 'spun'; it must be one of spin,", self.log())
        self.assertIn(own, self.collect(program, "lock")[0].places)
        self.write_rule("runtime")
        daemon.send_signal(signal.SIGHUP)
        self.await_log("rules are effective now")
        self.assertNotIn(own, self.collect(program, "lock")[0].places)


if __name__ == "__main__":
    unittest.main(verbosity=2)
