"""What profd costs a Python program, beside py-spy: a CPU-bound one, and one with 50 threads."""

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from switch import await_calm, await_programs

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3.11"
PEERS = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "profd", "peers")
PY_SPY = "py-spy==0.4.2"
NOT_KNOWN = ("<stale>", "<unknown>", "<truncated>", "[merge=failed]")


def find_py_spy():
    """In PATH, or fetched from PyPI into the cache; None where it cannot be had."""
    fetched = os.path.join(PEERS, "bin", "py-spy")
    if shutil.which("py-spy") or os.path.exists(fetched):
        return shutil.which("py-spy") or fetched
    subprocess.run(["pip", "install", "--quiet", "--no-deps", "--target", PEERS, PY_SPY],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return fetched if os.path.exists(fetched) else None


class Bare:
    """No profiler."""
    label = "bare"

    def start(self, pid):
        pass

    def stop(self):
        """What share of its Python stacks is not whole; None: it takes none."""
        return None


class Profd(Bare):
    """profctl with a daemon of its own."""
    name = "profd"

    def __init__(self, profctl, hertz):
        self.profctl, self.hertz = profctl, hertz
        self.label = f"profd, {hertz} Hz"

    def start(self, pid):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "x.json")
        self.process = subprocess.Popen(
            [self.profctl, "collect", "-q", "-p", str(pid), "-F", str(self.hertz), "-d", "600", "-o", self.file],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_programs(self, "try it by hand: profctl collect -p PID")
        await_calm("profd")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        with open(self.file, encoding="utf-8") as file:
            profile = json.load(file)["profile"]
        self.folder.cleanup()
        return share_not_whole(profile)


def share_not_whole(profile):
    """Of all samples with a stack: those with a Python frame without name or place, or that are cut."""
    bad_nodes = [False]
    for node in profile["nodes"]:
        frame = profile["frames"][node.get("frame", 0)]
        bad_nodes.append(bad_nodes[node.get("parent", 0)] or frame.get("name") in NOT_KNOWN)
    counts = list(zip(profile["samples"]["node"], profile["samples"]["count"]))
    total = sum(count for node, count in counts if node)
    return sum(count for node, count in counts if bad_nodes[node]) / total if total else None


class PySpy(Bare):
    """py-spy record."""

    def __init__(self, program, hertz, *options):
        self.program, self.hertz, self.options = program, hertz, options
        self.label = " ".join(["py-spy,", f"{hertz} Hz", *options])

    def start(self, pid):
        self.folder = tempfile.TemporaryDirectory()
        self.words = os.path.join(self.folder.name, "words")
        with open(self.words, "w", encoding="utf-8") as words:
            self.process = subprocess.Popen(
                [self.program, "record", "--pid", str(pid), "--rate", str(self.hertz), "--duration", "600", "--idle",
                 "--threads", "--format", "raw", "--output", os.path.join(self.folder.name, "x"), *self.options],
                stdin=subprocess.DEVNULL, stdout=words, stderr=subprocess.STDOUT)
        time.sleep(2)  # it says nothing when it has begun
        if self.process.poll() is not None:
            sys.exit("bench: py-spy ended: " + self.said())

    def said(self):
        with open(self.words, encoding="utf-8") as file:
            return file.read()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        found = re.findall(r"Samples: (\d+) Errors: (\d+)", self.said())
        self.folder.cleanup()
        return int(found[-1][1]) / max(int(found[-1][0]), 1) if found else None


def seconds_of(load, profiler):
    """Elapsed seconds of the load under the profiler, and what share of the stacks is not whole."""
    with subprocess.Popen([PYTHON, os.path.join(HERE, "python_loads.py"), load], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        profiler.start(program.pid)
        program.stdin.write("\n")
        program.stdin.flush()
        elapsed = float(program.stdout.readline())
        bad = profiler.stop()
        program.stdin.write("\n")
        program.stdin.flush()
    return elapsed, bad


def main(profctl, rounds):
    profilers = [Bare(), Profd(profctl, 100), Profd(profctl, 1000)]
    py_spy = find_py_spy()
    if py_spy:
        for hertz in (100, 1000):
            profilers += [PySpy(py_spy, hertz), PySpy(py_spy, hertz, "--nonblocking"), PySpy(py_spy, hertz, "--native")]
    else:
        print("bench: SKIPPED py-spy: it is not installed and cannot be fetched", file=sys.stderr)
    loads = ("cpu", "threads")
    results = {(load, one.label): [] for load in loads for one in profilers}
    for number in range(rounds):
        turned = profilers[number % len(profilers):] + profilers[:number % len(profilers)]
        for load in loads:
            for one in turned:
                results[load, one.label].append(seconds_of(load, one))
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
    for load in loads:
        base = statistics.median(elapsed for elapsed, _ in results[load, "bare"])
        print(f"\n| {load} | median s | min..max | ratio to bare | stacks not whole |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for one in profilers:
            times = [elapsed for elapsed, _ in results[load, one.label]]
            bad = [share for _, share in results[load, one.label] if share is not None]
            print(f"| {one.label} | {statistics.median(times):.2f} | {min(times):.2f}..{max(times):.2f} "
                  f"| {statistics.median(times) / base:.3f} | {f'{statistics.median(bad) * 100:.2f} %' if bad else ''} |")
