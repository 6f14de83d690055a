"""What profd adds to a context switch: `perf bench sched pipe` bare, under profd, under bpftrace and offcputime."""

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PLACEMENTS = ("one CPU", "two CPUs")
OFFCPUTIME = "/usr/sbin/offcputime"


def perf_bench(operations, placement):
    """Microseconds an operation; both ends on one CPU, or each on a CPU of its own."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    bench = subprocess.Popen(["perf", "bench", "-f", "simple", "sched", "pipe", "-l", str(operations)],
                             stdout=subprocess.PIPE, text=True,
                             preexec_fn=lambda: os.sched_setaffinity(0, {cpus[0]}))
    if placement == "two CPUs":
        children = f"/proc/{bench.pid}/task/{bench.pid}/children"
        child = ""
        while not child and bench.poll() is None:
            with open(children, encoding="utf-8") as file:
                child = file.read().strip()
        if child:
            os.sched_setaffinity(int(child.split()[0]), {cpus[1]})
    seconds = float(bench.communicate()[0])
    if bench.returncode:
        sys.exit("bench: perf bench failed")
    return seconds / operations * 1e6


class Nothing:
    """No profiler."""
    name = "bare"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Profd(Nothing):
    """profctl collecting system-wide with a daemon of its own."""
    name = "profd"

    def __init__(self, profctl):
        self.profctl = profctl

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.words = os.path.join(self.folder.name, "words")
        self.process = subprocess.Popen(
            [self.profctl, "collect", "-a", "-d", "600", "-o", os.path.join(self.folder.name, "x.folded")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_programs(self, "try it by hand: profctl collect -a")
        await_calm("profd")
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.folder.cleanup()


class Bpftrace(Nothing):
    """The usual off-CPU script."""
    name = "bpftrace"

    def __enter__(self):
        command = ["bpftrace", os.path.join(HERE, "off_cpu.bt")]
        if not os.path.isdir("/sys/kernel/tracing/events"):  # it needs tracefs, in a mount namespace of its own
            command = ["unshare", "-m", "sh", "-c", 'mount -t tracefs none /sys/kernel/tracing && exec "$@"',
                       "sh", *command]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        words = ""
        for line in self.process.stdout:
            words += line
            if line.startswith("Attaching"):
                break
        await_programs(self, words)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()


class Offcputime(Nothing):
    """libbpf-tools' off-CPU tool."""
    name = "offcputime"

    def __enter__(self):
        self.process = subprocess.Popen([OFFCPUTIME, "600"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_programs(self, "try it by hand: offcputime 1")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def cpu_seconds(comm):
    """Of all processes of this name, in ticks of 10 ms."""
    ticks = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                before, _, after = file.read().rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if before.partition("(")[2] == comm:
            fields = after.split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def await_calm(comm):
    """Until a second passes in which it uses less than 5 % of a CPU: its tables and names are made."""
    for _ in range(30):
        before = cpu_seconds(comm)
        time.sleep(1)
        if cpu_seconds(comm) - before < 0.05:
            return
    print(f"bench: {comm} does not come to rest", file=sys.stderr)


def await_programs(profiler, words):
    """Until the profiler's programs are loaded, and a second more, in which they are attached."""
    for _ in range(200):
        if profiler.process.poll() is not None:
            sys.exit(f"bench: {profiler.name} ended: {words}")
        if programs_of(profiler.name):
            time.sleep(1)
            return
        time.sleep(0.1)
    profiler.process.kill()
    sys.exit(f"bench: {profiler.name} loaded no BPF program within 20 s: {words}")


def programs_of(comm):
    """What bpftool says of the BPF programs that processes of this name hold."""
    held = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if file.read().strip() != comm:
                    continue
            for fd in os.listdir(f"/proc/{pid}/fdinfo"):
                with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8") as file:
                    held.update(int(number) for number in re.findall(r"^prog_id:\s+(\d+)", file.read(), re.MULTILINE))
        except FileNotFoundError:
            continue
    listing = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=True)
    return [program for program in json.loads(listing.stdout) if program["id"] in held]


def context_switches():
    with open("/proc/stat", encoding="utf-8") as file:
        return int(re.search(r"^ctxt (\d+)", file.read(), re.MULTILINE).group(1))


@contextlib.contextmanager
def bpf_stats():
    """While the kernel times every run of a BPF program."""
    switch = "/proc/sys/kernel/bpf_stats_enabled"
    with open(switch, encoding="utf-8") as file:
        before = file.read()
    try:
        with open(switch, "w", encoding="utf-8") as file:
            file.write("1")
        yield
    finally:
        with open(switch, "w", encoding="utf-8") as file:
            file.write(before)


def bpf_ns_per_switch(profiler, operations, placement):
    """Time in the scheduler programs of a profiler that runs by bpf_stats, over all switches of the machine."""
    def spent():
        return sum(program.get("run_time_ns", 0) for program in programs_of(profiler.name)
                   if program["type"] != "perf_event")
    with bpf_stats():
        ns, switches = spent(), context_switches()
        perf_bench(operations, placement)
        return (spent() - ns) / (context_switches() - switches)


def bpf_ns_by_itself(profiler, operations, placement):
    with profiler:
        return bpf_ns_per_switch(profiler, operations, placement)


def measure(profilers, rounds, operations):
    """(placement, profiler) -> microseconds an operation, one a round; the order turns with the rounds."""
    results = {(placement, profiler.name): [] for placement in PLACEMENTS for profiler in profilers}
    for number in range(rounds):
        turned = profilers[number % len(profilers):] + profilers[:number % len(profilers)]
        for profiler in turned:
            with profiler:
                for placement in PLACEMENTS:
                    results[placement, profiler.name].append(perf_bench(operations, placement))
        print(f"round {number + 1} of {rounds}: " + ", ".join(
            f"{name} {placement} {values[-1]:.2f} us" for (placement, name), values in results.items()),
            file=sys.stderr)
    return results


def table(profilers, results, bpf_ns):
    lines = ["| `perf bench sched pipe` | median us/op | min..max | ratio to bare | BPF ns/switch |",
             "| --- | ---: | ---: | ---: | ---: |"]
    for placement in PLACEMENTS:
        bare = statistics.median(results[placement, "bare"])
        for profiler in profilers:
            values = results[placement, profiler.name]
            median = statistics.median(values)
            spent = bpf_ns.get((placement, profiler.name))
            lines.append(f"| {placement}, {profiler.name} | {median:.2f} | {min(values):.2f}..{max(values):.2f} "
                         f"| {median / bare:.2f} | {'' if spent is None else f'{spent:.0f}'} |")
    return "\n".join(lines)


def main(profctl, rounds, operations):
    profilers = [Nothing(), Profd(profctl), Bpftrace()]
    if os.path.exists(OFFCPUTIME):
        profilers.append(Offcputime())
    else:
        print("bench: SKIPPED offcputime: it is not installed (libbpf-tools)", file=sys.stderr)
    results = measure(profilers, rounds, operations)
    bpf_ns = {(placement, profiler.name): statistics.median(
        bpf_ns_by_itself(profiler, operations, placement) for _ in range(3))
        for placement in PLACEMENTS for profiler in profilers[1:]}
    release, cpus = os.uname().release, len(os.sched_getaffinity(0))
    print(f"Kernel {release}, {cpus} CPUs, {rounds} rounds of {operations:,} operations, interleaved.\n")
    print(table(profilers, results, bpf_ns))
    return 0
