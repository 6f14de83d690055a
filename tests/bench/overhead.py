"""What the agent costs a host at its defaults: pgbench, redis-server at a fixed rate, a context switch."""

import glob
import os
import re
import statistics
import subprocess
import sys
import time

from agent import Agent
from intervals import mean_of, ratio_of
from soak_loads import PACED, Clients, PacedRedis
from switch import Nothing, await_calm, await_programs, bpf_ns_per_switch, perf_bench, programs_of
from unwind_loads import POSTGRES, Missing, Postgres, seconds_of

SECONDS = 10       # of each measurement
WARM_SECONDS = 2   # before it: connections, and names of what is new
REDIS_HZ = 4_000
SCALE = 10         # of pgbench's tables, which then fit into its buffers
CLIENTS = 32       # of pgbench; with few of them it is at one of two speeds, by where its threads happen to be


class BackgroundAgent(Agent):
    """The agent once its tables and names are made."""

    def __enter__(self):
        super().__enter__()
        await_programs(self, "see its log")
        await_calm(self.name)
        return self


class SelectOnly(Postgres):
    """postgres with tables for pgbench."""

    def start(self):
        server = super().start()
        seconds_of([*self.user, f"{POSTGRES}/pgbench", "-h", self.folder, "-i", "-q", "-s", str(SCALE), "postgres"], cwd="/")
        self.transactions(WARM_SECONDS)
        return server

    def transactions(self, seconds):
        """A second."""
        said = subprocess.run([*self.user, f"{POSTGRES}/pgbench", "-h", self.folder, "-n", "-S", "-c", str(CLIENTS), "-j", "2",
                               "-T", str(seconds), "postgres"], cwd="/", check=True, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True).stdout
        return float(re.search(r"tps = ([\d.]+) \(without", said).group(1))


def cpu_ns(pid):
    """Of all threads of a process, to the ns."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="utf-8") as file:
            total += int(file.read().split()[0])
    return total


class PacedRedis(PacedRedis):
    """redis-server without clients, but where it is measured."""

    def __init__(self):
        super().__init__(rate=0)

    def commands_processed(self):
        said = subprocess.run(["redis-cli", "-p", str(self.port), "INFO", "stats"], check=True, capture_output=True,
                              text=True).stdout
        return int(re.search(r"total_commands_processed:(\d+)", said).group(1))

    def us_per_request(self, seconds):
        client = Clients.client([sys.executable, PACED, "redis", str(self.port), str(REDIS_HZ)])
        try:
            time.sleep(WARM_SECONDS)
            before = cpu_ns(self.process.pid), self.commands_processed(), time.monotonic()
            time.sleep(seconds)
            after = cpu_ns(self.process.pid), self.commands_processed(), time.monotonic()
        finally:
            client.terminate()
            client.wait()
        requests = after[1] - before[1]
        if requests < 0.99 * REDIS_HZ * (after[2] - before[2]):
            print(f"bench: redis got {requests / (after[2] - before[2]):.0f} requests a second, not {REDIS_HZ}",
                  file=sys.stderr)
        return (after[0] - before[0]) / requests / 1e3


MEASURED = {
    "pgbench -S, transactions/s": "at least 0.99",
    "redis-server, CPU us/request": "at most 1.01",
    "perf bench sched pipe, us/op": "",
}


def measure(profd, rounds, operations):
    """({what: {arm: one value a round}}, BPF ns a switch, one a round); the order turns with the rounds."""
    arms = [Nothing(), BackgroundAgent(profd)]
    values = {what: {arm.name: [] for arm in arms} for what in MEASURED}
    bpf_ns = []
    with SelectOnly() as postgres, PacedRedis() as redis:
        for number in range(rounds):
            for arm in arms if number % 2 == 0 else arms[::-1]:
                with arm:
                    postgres.transactions(WARM_SECONDS)
                    for what, value in zip(MEASURED, (postgres.transactions(SECONDS), redis.us_per_request(SECONDS),
                                                      perf_bench(operations, "one CPU"))):
                        values[what][arm.name].append(value)
                    if arm.name != Nothing.name:
                        bpf_ns.append(bpf_ns_per_switch(arm, operations, "one CPU"))
            print(f"round {number + 1} of {rounds}: " + ", ".join(
                f"{what} {of['bare'][-1]:,.2f} bare, {of['profd'][-1]:,.2f} profd" for what, of in values.items())
                + f", BPF {bpf_ns[-1]:.0f} ns/switch", file=sys.stderr)
    return values, bpf_ns


def table(values, bpf_ns):
    lines = ["| the agent at its defaults | bare | with profd | ratio, 95 % interval | goal |",
             "| --- | ---: | ---: | ---: | ---: |"]
    for what, goal in MEASURED.items():
        bare, profd = values[what]["bare"], values[what]["profd"]
        ratio = ratio_of(bare, profd)
        lines.append(f"| {what} | {statistics.median(bare):,.2f} | {statistics.median(profd):,.2f} "
                     f"| {ratio.middle:.3f} ({ratio.low:.3f}..{ratio.high:.3f}) | {goal} |")
    ns = mean_of(bpf_ns)
    lines.append(f"| BPF ns/switch of that pipe | | {statistics.median(bpf_ns):.0f} | mean {ns.middle:.0f} "
                 f"({ns.low:.0f}..{ns.high:.0f}) | at most 300 |")
    return "\n".join(lines)


def main(profd, rounds, operations):
    if programs_of(Agent.name):
        sys.exit("bench: another profd runs; its programs would be counted, too")
    try:
        values, bpf_ns = measure(profd, rounds, operations)
    except Missing as missing:
        sys.exit(f"bench: there is no {missing}")
    print(f"Kernel {os.uname().release}, {len(os.sched_getaffinity(0))} CPUs, {rounds} rounds, interleaved; "
          f"redis-server at {REDIS_HZ:,} requests/s; medians, and of the rounds' ratios the geometric mean with its 95 % "
          "interval by Student's t.\n")
    print(table(values, bpf_ns))
    return 0
