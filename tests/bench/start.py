"""What the start of profd costs on a busy host: CPU seconds until it serves, and until its first window is kept."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PROCESSES = 500
PROGRAMS = 5
GOAL_SECONDS = 2
POLL_SECONDS = 0.5  # each question costs profd CPU time, too


def cpu_seconds(pid):
    """Of the process and its children that have ended (they read its snapshots)."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def crowd(folder, testprogs):
    """Processes of a few programs of their own, and a way to end them."""
    loads = []
    for i in range(PROGRAMS):
        program = os.path.join(folder, f"program-{i}")
        shutil.copy(os.path.join(testprogs, "overload"), program)
        load = subprocess.Popen([program, "processes", str(PROCESSES // PROGRAMS)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        load.stdout.readline()
        loads.append(load)
    return loads


def windows(profctl, host):
    done = subprocess.run([profctl, "status", "--json", "--host", host], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return json.loads(done.stdout)["history"]["windows"] if done.returncode == 0 else 0


def measure(profctl, folder):
    host = f"unix:{folder}/profd.sock"
    begin = time.monotonic()
    daemon = subprocess.Popen([os.path.join(os.path.dirname(profctl), "profd"), "--listen", host, "--history-directory",
                               os.path.join(folder, "history")], stderr=subprocess.PIPE, text=True)
    try:
        for line in daemon.stderr:
            if "serving" in line:
                break
        wall = time.monotonic() - begin
        serving = cpu_seconds(daemon.pid)
        while windows(profctl, host) == 0:
            if daemon.poll() is not None:
                sys.exit("bench: profd has ended")
            time.sleep(POLL_SECONDS)
        return wall, serving, cpu_seconds(daemon.pid)
    finally:
        daemon.terminate()
        daemon.wait()


def main(profctl, testprogs, rounds):
    with tempfile.TemporaryDirectory(prefix="bench-start-") as folder:
        loads = crowd(folder, testprogs)
        try:
            processes = sum(name.isdigit() for name in os.listdir("/proc"))
            results = []
            for i in range(rounds):
                own = os.path.join(folder, str(i))
                os.mkdir(own)
                results.append(measure(profctl, own))
        finally:
            for load in loads:
                load.stdin.close()
                load.wait()
    print(f"| {processes} processes, {rounds} rounds | median | min..max |")
    print("| --- | ---: | ---: |")
    names = ("s until it serves", "CPU s until it serves", "CPU s until its first window of 10 s is kept")
    for name, values in zip(names, zip(*results)):
        print(f"| {name} | {statistics.median(values):.2f} | {min(values):.2f}..{max(values):.2f} |")
    print(f"\nGoal: at most {GOAL_SECONDS} CPU seconds.")
