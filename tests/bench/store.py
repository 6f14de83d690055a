"""A day of history: some minutes of a busy host are recorded, put again and again as a day, and requested."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time

from unwind_loads import Missing, all_loads

GOALS = [
    ("24 h, all files", "mib_per_day", "MiB", 500),
    ("a sample with all that belongs to it", "bytes_per_sample", "bytes", None),
    ("a sample in its window", "payload_bytes_per_sample", "bytes", 8),
    ("1 h of the busiest process", "hour_of_process_ms", "ms", 200),
    ("1 h of the host", "hour_of_host_ms", "ms", 1000),
    ("24 h of the host", "all_of_host_ms", "ms", None),
    ("a window put, median", "put_median_ms", "ms", None),
    ("a window put, longest", "put_most_ms", "ms", None),
]


@contextlib.contextmanager
def new_processes(rate):
    """So many a second, half of them with arguments that no other has."""
    if not rate:
        yield
        return
    loop = f"for ((i = 0; ; i++)); do /bin/true $i; sleep {2 / rate:.3f}; done"
    with subprocess.Popen(["bash", "-c", loop]) as shell:
        yield
        shell.kill()


def record(profd, testprogs, folder, minutes, new):
    """The history of a host with servers, interpreters and compilers at work, its windows as they were put."""
    daemon = subprocess.Popen([profd, "--listen", f"unix:{folder}/profd.sock", "--history-directory", folder,
                               "--history-compact", "0s"], stderr=subprocess.DEVNULL)
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(new_processes(new))
            loads = []
            for load in all_loads(testprogs):
                try:
                    loads.append(stack.enter_context(load))
                except Missing as missing:
                    print(f"{load.name}: SKIPPED, there is no {missing}")
            end = time.monotonic() + minutes * 60
            while time.monotonic() < end:
                for load in loads:
                    load.work()
                    time.sleep(0.5)
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()


def main(profd, program, testprogs, minutes, hours, new):
    for needed in (profd, program):
        if not os.path.exists(needed):
            sys.exit(f"bench: {needed} is missing; scripts/build all makes it")
    with tempfile.TemporaryDirectory(prefix="bench-store-") as folder:
        record(profd, testprogs, folder, minutes, new)
        done = subprocess.run([program, f"{folder}/history.db", f"{folder}/day.db", str(hours)], check=True,
                              stdout=subprocess.PIPE, text=True)
    found = {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}
    found["mib_per_day"] = found["bytes"] / (1 << 20) * 24 / hours
    print(f"{found['source_windows']:.0f} windows of {found['processes']:.0f} processes with {found['threads']:.0f} "
          f"threads, as {hours} h: {found['samples']:,.0f} samples put, {found['stored_samples']:,.0f} kept")
    print("\n| | | goal |\n| --- | ---: | ---: |")
    for words, name, unit, goal in GOALS:
        print(f"| {words} | {found[name]:,.1f} {unit} | {f'{goal:,} {unit}' if goal else ''} |")
    print("\n| after | file | resident |\n| --- | ---: | ---: |")
    for hour in sorted({1, max(1, hours // 4), max(1, hours // 2), hours}):
        print(f"| {hour} h | {found[f'hour_{hour}_mib']:.1f} MiB | {found[f'hour_{hour}_resident_mib']:.1f} MiB |")
    return 0
