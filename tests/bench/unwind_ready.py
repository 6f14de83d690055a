"""How soon stacks of programs that profd has never seen are complete."""

import json
import os
import random
import re
import shutil
import statistics
import subprocess
import tempfile

SMALL = "/usr/bin/python3.11"
WORK = "n = 0\nfor i in range(10_000_000): n += i"
LARGE = "clang-16"
HERTZ = 999
COMPLETE, NOT_READY, NO_USER = 32, 64, 16


def copy_with_other_build_id(source, target):
    """The same program, but none that anybody has seen."""
    shutil.copyfile(source, target)
    os.chmod(target, 0o755)
    counters = subprocess.run(["readelf", "-n", source], capture_output=True, text=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", counters)
    if not build_id:
        return
    with open(target, "r+b") as file:
        old = bytes.fromhex(build_id.group(1))
        at = file.read().find(old)
        file.seek(at)
        file.write(random.randbytes(len(old)))


def ready_after_ms(profile, comm):
    """From the first sample of the process's new program to its first complete stack; None: never."""
    samples = profile["samples"]
    processes = [number for number, process in enumerate(profile["processes"]) if process["comm"] == comm]
    first = None
    for time_ns, thread, node, flags in zip(*(samples[column] for column in (
            "time_ns", "thread", "node", "stack_flags"))):
        if profile["threads"][thread].get("process", 0) not in processes or not node or flags & NO_USER:
            continue
        if first is None and flags & NOT_READY:
            first = int(time_ns)
        if flags & COMPLETE and first is not None:
            return (int(time_ns) - first) / 1e6
    return 0.0 if first is None else None


def measure(profctl, folder, command, comm):
    output = os.path.join(folder, "ready.json")
    subprocess.run([profctl, "collect", "-q", "-m", "on", "-F", str(HERTZ), "-o", output, "--", *command], check=True,
                   stdout=subprocess.DEVNULL)
    with open(output, encoding="utf-8") as file:
        return ready_after_ms(json.load(file)["profile"], comm)


def row(name, times):
    seen = [value for value in times if value is not None]
    print(f"| {name} | {statistics.median(seen):.1f} | {max(seen):.1f} | {len(times) - len(seen)} |"
          if seen else f"| {name} | never | never | {len(times)} |")


def main(profctl, rounds=5):
    print(f"\n| ms from the first stack without tables to the first complete one, {HERTZ} Hz | median | longest | never |")
    print("| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(prefix="bench-unwind-") as folder:
        small, times = os.path.join(folder, "unseen"), []
        for _ in range(rounds if os.path.exists(SMALL) else 0):
            copy_with_other_build_id(SMALL, small)
            times.append(measure(profctl, folder, ["sh", "-c", f"{small} -c '{WORK}'; true"], "unseen"))
        if times:
            row("python3.11, 65,000 rows, under another build id", times)
        else:
            print(f"SKIPPED: {SMALL} is not installed")
        if not shutil.which(LARGE):
            print(f"SKIPPED: {LARGE} is not installed")
            return
        source = os.path.join(folder, "big.cc")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <map>\n#include <regex>\n#include <string>\n")
        command = ["sh", "-c", f"{LARGE} -c {source} -o {folder}/big.o; true"]
        row("clang-16 with libLLVM, 1,000,000 rows", [measure(profctl, folder, command, LARGE) for _ in range(rounds)])
