"""How long it takes to see what 50 threads do: profctl dump beside eu-stack and py-spy dump."""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from python import find_py_spy

THREADS = 50
PYTHON = "/usr/bin/python3.11"
PROGRAM = f"""
import threading, time
lock = threading.Lock()
def sleeps(): time.sleep(3600)
def waits(): lock.acquire()
lock.acquire()
for number in range({THREADS - 1}):
    threading.Thread(target=sleeps if number % 2 else waits, daemon=True).start()
print("ready", flush=True)
time.sleep(3600)
"""


def milliseconds_of(command):
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    # eu-stack ends with 1 when a single frame has no name.
    if done.returncode > 1:
        sys.exit(f"bench: {' '.join(command)}: {done.stderr}")
    return (time.monotonic() - begin) * 1e3, done.stderr


def request_ms(words):
    """What `profctl dump -v` says of the request alone."""
    found = re.search(r"the dump took ([\d.]+) (us|ms|s)", words)
    return float(found.group(1)) * {"us": 1e-3, "ms": 1, "s": 1e3}[found.group(2)]


def row(program, tool, times, note=""):
    print(f"| {program} | {tool} | {times[0]:.1f} | {statistics.median(times[1:]):.1f} | {max(times[1:]):.1f} | {note} |")


def measure(program, pid, profctl, host, rounds):
    py_spy = find_py_spy() or "py-spy"
    tools = {"eu-stack -p": ["eu-stack", "-p", pid], "py-spy dump": [py_spy, "dump", "--pid", pid],
             "py-spy dump --native": [py_spy, "dump", "--native", "--pid", pid]}
    pairs = [milliseconds_of([profctl, "dump", "-v", "--host", host, "-p", pid]) for _ in range(rounds + 1)]
    row(program, "profctl dump, the request", [request_ms(words) for _, words in pairs], "nothing")
    row(program, "profctl dump, the command", [took for took, _ in pairs], "nothing")
    for name, command in tools.items():
        if "py-spy" in name and "Python" not in program:
            continue
        if not shutil.which(command[0]):
            print(f"| {program} | {name} | SKIPPED: not installed | | | |")
            continue
        row(program, name, [milliseconds_of(command)[0] for _ in range(rounds + 1)], "the process")


def main(profctl, testprogs, rounds):
    profd = os.path.join(os.path.dirname(profctl), "profd")
    # `parked` has eight threads of its own.
    programs = {"C++": [os.path.join(testprogs, "parked"), str(THREADS - 8)], "Python": [PYTHON, "-c", PROGRAM]}
    with tempfile.TemporaryDirectory(prefix="bench-dump-") as folder:
        host = f"unix:{folder}/profd.sock"
        daemon = subprocess.Popen([profd, "--listen", host], stderr=subprocess.PIPE, text=True)
        try:
            for line in daemon.stderr:
                if "serving" in line:
                    break
            print(f"| {THREADS} threads | tool | first, ms | median | longest | is stopped |")
            print("| --- | --- | ---: | ---: | ---: | --- |")
            for name, command in programs.items():
                if not os.path.exists(command[0]):
                    print(f"SKIPPED: {command[0]} is not there")
                    continue
                with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
                    program.stdout.readline()
                    measure(name, str(program.pid), profctl, host, rounds)
                    program.kill()
        finally:
            daemon.terminate()
            daemon.wait()
