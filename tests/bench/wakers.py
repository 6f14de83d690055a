"""What it costs to see who ends a wait: the program at every wake-up, without and with a capture, beside an empty one and one
that only finds its storage of the thread and reads the time."""

import ctypes
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

from switch import await_programs, bpf_stats, perf_bench

HERE = os.path.dirname(os.path.abspath(__file__))
HOOK = "on_waking"
EMPTY, LEAST = "nothing", "least"
SOURCE = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
char terms[] SEC("license") = "GPL";
struct { __uint(type, BPF_MAP_TYPE_TASK_STORAGE); __uint(map_flags, BPF_F_NO_PREALLOC);
         __type(key, int); __type(value, __u64); } times SEC(".maps");
SEC("tp_btf/sched_waking") int nothing(void* context) { return 0; }
SEC("tp_btf/sched_waking") int least(__u64* context) {
  __u64* time = bpf_task_storage_get(&times, (void*)context[0], 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (time) *time = bpf_ktime_get_ns();
  return 0;
}
"""
FEW, MANY = 1, 997  # sampling points a second


class Beside:
    """A context: programs at the same hook. One does nothing: its time is what the kernel's own measurement adds."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        source, made = (os.path.join(self.folder.name, name) for name in ("nothing.bpf.c", "nothing.o"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        subprocess.run(["clang-16", "-target", "bpf", "-O2", "-g", f"-I/usr/include/{os.uname().machine}-linux-gnu", "-c", source,
                        "-o", made], check=True)
        libbpf = ctypes.CDLL("libbpf.so.1")
        for function in ("bpf_object__open_file", "bpf_object__find_program_by_name", "bpf_program__attach"):
            getattr(libbpf, function).restype = ctypes.c_void_p
        self.object = ctypes.c_void_p(libbpf.bpf_object__open_file(made.encode(), None))
        loaded = self.object and libbpf.bpf_object__load(self.object) == 0
        self.links = []
        for name in (EMPTY, LEAST):
            program = ctypes.c_void_p(libbpf.bpf_object__find_program_by_name(self.object, name.encode())) if loaded else None
            link = ctypes.c_void_p(libbpf.bpf_program__attach(program)) if program else None
            if not link:
                sys.exit(f"bench: the program {name} cannot be attached")
            self.links.append(link)
        self.libbpf = libbpf
        return self

    def __exit__(self, *_):
        for link in self.links:
            self.libbpf.bpf_link__destroy(link)
        self.libbpf.bpf_object__close(self.object)
        self.folder.cleanup()


class Session:
    """A context: profctl collects the whole host, so many sampling points a second, without a limit of cost."""
    name = "profd"

    def __init__(self, profctl, frequency):
        self.command = [profctl, "collect", "-q", "-a", "-d", "600", "-F", str(frequency), "--budget", "off"]

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "x.json")
        self.process = subprocess.Popen([*self.command, "-o", self.file], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        await_programs(self, "try it by hand: " + " ".join(self.command))
        return self

    def captured(self):
        """Ends it: how many wake-ups were captured."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        with open(self.file, encoding="utf-8") as file:
            return sum(int(one["count"]) for one in json.load(file)["profile"]["counters"] if one["name"] == "wakers")

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


def runs_of(name):
    """Runs of a program by now, and the ns that they took."""
    listing = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=True)
    found = [program for program in json.loads(listing.stdout) if program.get("name") == name]
    return sum(program.get("run_cnt", 0) for program in found), sum(program.get("run_time_ns", 0) for program in found)


def pipe():
    perf_bench(400_000, "one CPU")


def python_threads():
    with subprocess.Popen([sys.executable, os.path.join(HERE, "python_loads.py"), "threads"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as program:
        program.communicate("\n\n")


LOADS = {"a pipe on one CPU": pipe, "50 threads of Python": python_threads}


def measure(load, profctl, frequency):
    """ns a run of the hook, of an empty program and of one that does the least, and which part of the runs captures."""
    with bpf_stats(), Session(profctl, frequency) as session:
        load()  # its tables are made
        runs, ns = runs_of(HOOK)
        empty_runs, empty_ns = runs_of(EMPTY)
        least_runs, least_ns = runs_of(LEAST)
        captured = session.captured()
    return ns / runs, empty_ns / empty_runs, least_ns / least_runs, captured / runs


def main(profctl, rounds):
    print(f"Kernel {os.uname().release}, {len(os.sched_getaffinity(0))} CPUs, {rounds} rounds. Less what an empty program at the same "
          "hook takes. Least: only the storage of the thread and the time.\n")
    print("| load | ns a wake-up | min..max | least | us a capture | min..max | captures |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with Beside():
        for name, load in LOADS.items():
            plain, least, capture, share = [], [], [], []
            for _ in range(rounds):
                few_ns, few_empty_ns, least_ns, few = measure(load, profctl, FEW)
                many_ns, many_empty_ns, _, many = measure(load, profctl, MANY)
                least.append(least_ns - few_empty_ns)
                few_ns, many_ns = few_ns - few_empty_ns, many_ns - many_empty_ns
                # Of runs without a capture and those with one: two means, two unknowns.
                capture_ns = (many_ns * (1 - few) - few_ns * (1 - many)) / (many - few)
                plain.append((few_ns - few * capture_ns) / (1 - few))
                capture.append(capture_ns / 1000)
                share.append(many)
            print(f"| {name} | {statistics.median(plain):.0f} | {min(plain):.0f}..{max(plain):.0f} | {statistics.median(least):.0f} | "
                  f"{statistics.median(capture):.1f} "
                  f"| {min(capture):.1f}..{max(capture):.1f} | {statistics.median(share) * 100:.2f} % |")
    return 0
