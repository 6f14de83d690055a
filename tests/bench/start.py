"""What the start of profd costs on a busy host: CPU seconds until it serves, and in its first seconds."""

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAMS = 5
PYTHONS = 10  # of the processes one in so many is an interpreter
SECONDS = (4, 10)
GOAL_SECONDS = {130: 0.5, 500: 1}


def cpu_seconds(root):
    """Of a process, its children that live, and those that have ended."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
            children.setdefault(int(fields[1]), []).append((int(name), int(fields[13]) + int(fields[14])))
    seconds = 0
    left = [(root, 0)]
    while left:
        pid, ended = left.pop()
        with contextlib.suppress(OSError):
            seconds += time.clock_gettime(~pid << 3 | 2)  # CPUCLOCK_SCHED of the process
        seconds += ended / os.sysconf("SC_CLK_TCK")
        left += children.get(pid, [])
    return seconds


def crowd(folder, testprogs, processes):
    """Sleeping processes of a few programs of their own, a tenth of them interpreters; closing their input ends them."""
    loads = []
    for i in range(PROGRAMS):
        program = os.path.join(folder, f"program-{i}")
        shutil.copy(os.path.join(testprogs, "overload"), program)
        loads.append([program, "processes", str((processes - processes // PYTHONS) // PROGRAMS)])
    loads += [[sys.executable, "-c", "import json, sys; print(flush=True); sys.stdin.read()"]] * (processes // PYTHONS)
    started = [subprocess.Popen(load, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for load in loads]
    for load in started:
        load.stdout.readline()
    return started


def measure(profctl, folder):
    host = f"unix:{folder}/profd.sock"
    begin = time.monotonic()
    daemon = subprocess.Popen([os.path.join(os.path.dirname(profctl), "profd"), "--listen", host, "--history-directory",
                               os.path.join(folder, "history")], stderr=subprocess.PIPE, text=True)
    try:
        for line in daemon.stderr:
            if "serving" in line:
                break
        results = [time.monotonic() - begin, cpu_seconds(daemon.pid)]
        for seconds in SECONDS:
            time.sleep(max(0, begin + seconds - time.monotonic()))
            results.append(cpu_seconds(daemon.pid))
        if daemon.poll() is not None:
            sys.exit("bench: profd has ended")
        return results
    finally:
        daemon.terminate()
        daemon.wait()


def measure_beside(profctl, testprogs, rounds, processes):
    with tempfile.TemporaryDirectory(prefix="bench-start-") as folder:
        there = sum(name.isdigit() for name in os.listdir("/proc"))
        loads = crowd(folder, testprogs, max(PYTHONS, processes - there))
        try:
            present = sum(name.isdigit() for name in os.listdir("/proc"))
            results = []
            for i in range(rounds):
                own = os.path.join(folder, str(i))
                os.mkdir(own)
                results.append(measure(profctl, own))
        finally:
            for load in loads:
                load.stdin.close()
                load.wait()
    print(f"| {present} processes, {rounds} rounds | median | min..max |")
    print("| --- | ---: | ---: |")
    names = ["s until it serves", "CPU s until it serves"] + [f"CPU s in the first {seconds} s" for seconds in SECONDS]
    for name, values in zip(names, zip(*results)):
        print(f"| {name} | {statistics.median(values):.2f} | {min(values):.2f}..{max(values):.2f} |")
    print(f"\nGoal: at most {GOAL_SECONDS[processes]} CPU seconds in the first {SECONDS[-1]} s.\n")


def main(profctl, testprogs, rounds):
    for processes in GOAL_SECONDS:
        measure_beside(profctl, testprogs, rounds, processes)
