"""scripts/bench unwind: how many user stacks reach their root, and what that costs, beside other profilers."""

import collections
import ctypes
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import time

import switch
import unwind_ready
from unwind_loads import Missing, all_loads
from unwind_tools import HERTZ, Nothing, OffCpuTime, Perf, Profd, RunningProfd, Stacks

BPF_STATS = "/proc/sys/kernel/bpf_stats_enabled"
EVENTS_BLOCK = 2
SAMPLE_EVENTS = (1, 2, 9)  # on the CPU, off it, of a thread that stays blocked
OFTEN = 3_999  # Hz: the caches hold what the programs need


class RecordedProfd(RunningProfd):
    """A daemon that writes down all events, with the run time of its programs counted: not for slow-down."""
    options = ("--record", "{folder}/recording")
    seen_before = False

    def command(self, output="x.json"):
        with open(BPF_STATS, encoding="utf-8") as file:
            self.before = file.read()
        with open(BPF_STATS, "w", encoding="utf-8") as file:
            file.write("1")
        command = super().command(output)
        time.sleep(1)
        self.ns = self.spent()
        return command

    @staticmethod
    def spent():
        return sum(program.get("run_time_ns", 0) for program in switch.programs_of("profd")
                   if program["type"] == "perf_event")

    def __exit__(self, *exception):
        self.ns = self.spent() - self.ns
        with open(BPF_STATS, "w", encoding="utf-8") as file:
            file.write(self.before)
        super().__exit__(*exception)

    def stacks(self):
        found = super().stacks()
        with open(self.file("x.json"), encoding="utf-8") as file:
            samples = json.load(file)["profile"]["samples"]
        taken = [state for state, count in zip(samples["state"], samples["count"]) if count]
        found.samples, found.size = sample_bytes(self.file("recording"))
        self.bpf_us = self.ns / 1e3 / max(1, sum(state == "STATE_ON_CPU" for state in taken))
        return found


def blocks_of_events(path):
    """Contents of each block of events of a recording (daemon/recording/FORMAT.md)."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    with open(path, "rb") as file:
        file.seek(16)
        while len(header := file.read(32)) == 32:
            _, kind, _, _, _, size, stored = struct.unpack_from("<IHHIIII", header)
            content = file.read(stored)
            if kind != EVENTS_BLOCK:
                continue
            block = ctypes.create_string_buffer(size)
            if zstd.ZSTD_decompress(block, size, content, stored) != size:
                sys.exit(f"bench: {path}: a block of events cannot be unpacked")
            yield block.raw


def sample_bytes(path):
    """Samples of a recording, and their bytes: bpf/shared/events.h. What is reported once a program is not in them."""
    samples = total = 0
    for block in blocks_of_events(path):
        at = 0
        while at < len(block):
            size, kind = struct.unpack_from("<I4xH", block, at)
            if kind in SAMPLE_EVENTS:
                samples += 1
                total += size
            at += 8 + (size + 7) // 8 * 8
    return samples, total


class Result:
    """Of one load."""

    def __init__(self):
        self.seconds = collections.defaultdict(list)  # profiler -> of each round
        self.stacks = collections.defaultdict(Stacks)
        self.recorded = Stacks()
        self.bpf_us = {}  # rate -> us a stack taken on a CPU, and its mean frames


def measure(load, profilers, recorded, rounds):
    result = Result()
    with load:
        load.work()
        for number in range(rounds):
            turned = profilers[number % len(profilers):] + profilers[:number % len(profilers)]
            for profiler in turned:
                with profiler(load):
                    result.seconds[profiler.name].append(load.work())
                result.stacks[profiler.name].merge(profiler.result)
        for profiler in recorded:
            with profiler(load):
                load.work()
            seen = profiler.result
            result.bpf_us[profiler.hertz] = (profiler.bpf_us, seen.on_cpu_depth / max(1, seen.on_cpu))
            if profiler.hertz == HERTZ:
                result.recorded = seen
    return result


def share(stacks):
    return f"{100 * stacks.complete / stacks.total:.2f} %" if stacks.total else "none seen"


def per_sample(stacks):
    return stacks.size / stacks.samples if stacks.samples else 0.0


def table(results, profilers):
    names = [profiler.name for profiler in profilers[1:]]
    print("| complete user stacks | " + " | ".join(names) + " |\n| --- |" + " ---: |" * len(names))
    for name, result in results.items():
        cells = [f"{share(result.stacks[one])} of {result.stacks[one].total:,}" for one in names]
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("\n| time against bare | " + " | ".join(names) + " |\n| --- |" + " ---: |" * len(names))
    for name, result in results.items():
        bare = statistics.median(result.seconds["bare"])
        cells = [f"{statistics.median(result.seconds[one]) / bare:.3f}" for one in names]
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("\n| cost | bytes/sample: profd | perf dwarf | ratio | "
          f"BPF us/stack at {HERTZ} Hz | frames | at {OFTEN:,} Hz | frames |\n| --- |" + " ---: |" * 7)
    for name, result in results.items():
        ours, perf = per_sample(result.recorded), per_sample(result.stacks["perf dwarf"])
        cells = [f"{ours:,.0f}", f"{perf:,.0f}", f"1/{perf / ours:.0f}" if ours and perf else ""]
        for hertz in (HERTZ, OFTEN):
            cells += ["{:.1f}".format(value) for value in result.bpf_us[hertz]]
        print(f"| {name} | " + " | ".join(cells) + " |")


def reasons(results):
    for name, result in results.items():
        for profiler, stacks in result.stacks.items():
            rest = ", ".join(f"{reason}: {count:,}" for reason, count in stacks.reasons.most_common(8))
            if rest:
                print(f"{name}, {profiler}: {rest}")


def main(profctl, testprogs, rounds, only):
    tools = [("perf", Perf), ("offcputime", OffCpuTime)]
    for tool, _ in tools:
        if not shutil.which(tool):
            print(f"SKIPPED: {tool} is not installed")
    profilers = [Nothing(), RunningProfd(profctl), Profd(profctl)] + [make() for tool, make in tools if shutil.which(tool)]
    results = {}
    for load in all_loads(testprogs):
        if only and load.name not in only:
            continue
        try:
            results[load.name] = measure(load, profilers, [RecordedProfd(profctl), RecordedProfd(profctl, OFTEN)], rounds)
        except Missing as missing:
            print(f"SKIPPED: {load.name}: {missing}")
            continue
        print(f"{load.name}: " + ", ".join(
            f"{name} {share(stacks)}" for name, stacks in results[load.name].stacks.items()), file=sys.stderr)
    print(f"Kernel {os.uname().release}, {len(os.sched_getaffinity(0))} CPUs, {rounds} rounds, interleaved.\n")
    if results:
        table(results, profilers)
        print()
        reasons(results)
    if not only or "ready" in only:
        unwind_ready.main(profctl)
    return 0
