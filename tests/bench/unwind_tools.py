"""The profilers of scripts/bench unwind, and what each says of user stacks: how many, how they end, their bytes."""

import collections
import json
import os
import re
import signal
import struct
import subprocess
import tempfile
import time

HERTZ = 99
SETTLE_S = 1.0
# Where a thread or a process begins; after them comes nothing.
ROOTS = {"_start", "_dl_start_user", "clone3", "__clone3", "clone", "__clone", "start_thread", "thread_start",
         "_dl_start", "__vfork", "vfork"}
# Words of bpf/shared/events.h for why a stack ends before its root.
COMPLETE, KERNEL_ONLY = 32, 16
FLAGS = ((2, "deeper than what is kept"), (64, "tables not ready"), (4, "memory not readable"),
         (256, "caller not in any code"), (512, "needs a lost register"), (1024, "caller not above"),
         (2048, "no rule, no frame pointer"), (4096, "32-bit code"))
EARLY_NS = 100_000_000


class Stacks:
    """What one profiler has seen of one load."""

    def __init__(self):
        self.total = self.complete = self.samples = self.size = self.depth = self.on_cpu = self.on_cpu_depth = 0
        self.reasons = collections.Counter()

    def add(self, reason, count=1):
        self.total += count
        if reason:
            self.reasons[reason] += count
        else:
            self.complete += count

    def merge(self, other):
        self.total += other.total
        self.complete += other.complete
        self.samples += other.samples
        self.size += other.size
        self.depth += other.depth
        self.on_cpu += other.on_cpu
        self.on_cpu_depth += other.on_cpu_depth
        self.reasons.update(other.reasons)


class Profiler:
    """A context: on entry it looks at a load; `stacks` says afterwards what it saw."""
    name = ""

    def __init__(self):
        self.words = None

    def __call__(self, load):
        self.load = load
        time.sleep(SETTLE_S / 2)  # what the last piece of work started has ended
        return self

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bench-unwind-")
        self.process = None
        command = self.command()
        if command:
            self.output = open(os.path.join(self.folder.name, "output"), "w", encoding="utf-8")
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.output,
                                            stderr=subprocess.PIPE, text=True)
            time.sleep(SETTLE_S)
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.words = self.process.communicate()[1]
            self.output.close()
        self.result = self.stacks()
        self.folder.cleanup()

    def file(self, name):
        return os.path.join(self.folder.name, name)

    def command(self):
        return []

    def stacks(self):
        return Stacks()


class Nothing(Profiler):
    name = "bare"


def counts(load, comm):
    return comm in load.comms


class Profd(Profiler):
    """profctl collect with a daemon of its own, which knows no program yet."""
    name = "profd, unknown program"

    def __init__(self, profctl, hertz=HERTZ):
        super().__init__()
        self.profctl = profctl
        self.hertz = hertz
        self.extra = []

    def command(self, output="x.json"):
        return [self.profctl, "collect", *self.extra, "-q", "-p", ",".join(map(str, self.load.pids)), "-s", "-F",
                str(self.hertz), "-d", "600", "-o", self.file(output)]

    def stacks(self):
        with open(self.file("x.json"), encoding="utf-8") as file:
            return profile_stacks(json.load(file)["profile"], self.load)


class RunningProfd(Profd):
    """The same with a daemon that runs already, as it does on a host, and has seen this load before."""
    name = "profd"
    options = ()
    seen_before = True

    def command(self, output="x.json"):
        self.daemon = subprocess.Popen(
            [os.path.join(os.path.dirname(self.profctl), "profd"), "--listen", f"unix:{self.file('socket')}",
             *(option.format(folder=self.folder.name) for option in self.options)],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists(self.file("socket")) and self.daemon.poll() is None:
            time.sleep(0.1)
        self.extra = ["--host", f"unix:{self.file('socket')}"]
        if self.seen_before:
            first = subprocess.Popen(super().command("first.json"), stdin=subprocess.DEVNULL)
            time.sleep(SETTLE_S)
            self.load.work()
            first.send_signal(signal.SIGINT)
            first.wait()
        return super().command(output)

    def stacks(self):
        self.daemon.terminate()
        self.daemon.wait()
        return super().stacks()


def entry_points():
    """A function: is this offset of this file at its entry point?"""
    known = {}

    def is_entry(path, offset):
        if path not in known:
            try:
                with open(path, "rb") as file:
                    head = file.read(64)
                    entry, table, size, number = *struct.unpack_from("<QQ", head, 24), *struct.unpack_from("<HH", head, 54)
                    file.seek(table)
                    headers = [struct.unpack_from("<IIQQQQ", file.read(size)) for _ in range(number)]
                known[path] = next((entry - header[3] + header[2] for header in headers
                                    if header[0] == 1 and header[3] <= entry < header[3] + header[5]), 0)
            except (OSError, struct.error):
                known[path] = 0
        return 0 <= offset - known[path] < 64
    return is_entry


def profile_stacks(profile, load):
    """Of a profile of profctl: each sample is a stack. A stack without a mark of its end is checked for its root."""
    frames, samples, found = profile["frames"], profile["samples"], Stacks()
    nodes = [None] + profile["nodes"]
    processes = profile["processes"]
    threads = profile["threads"]
    is_entry = entry_points()
    roots = {}

    def root_of(node):
        """The frame next to the process, and how many there are."""
        path = []
        while node:
            path.append(frames[nodes[node].get("frame", 0)])
            node = nodes[node].get("parent", 0)
        user = [frame for frame in reversed(path) if frame.get("kind", "FRAME_NATIVE") in (
            "FRAME_NATIVE", "FRAME_JIT", "FRAME_PYTHON")]
        return (user[0] if user else None), len([frame for frame in user if not frame.get("inlined")])

    for column, node in enumerate(samples["node"]):
        if samples["count"][column] == 0:
            continue
        thread = threads[samples["thread"][column]]
        process = processes[thread.get("process", 0)]
        flags = samples["stack_flags"][column]
        if not counts(load, process["comm"]) or flags & KERNEL_ONLY or not node:
            continue
        if node not in roots:
            roots[node] = root_of(node)
        root, depth = roots[node]
        if root is None:
            continue
        found.samples += 1
        found.depth += depth
        if samples["state"][column] == "STATE_ON_CPU":
            found.on_cpu += 1
            found.on_cpu_depth += depth
        if flags & COMPLETE:
            name = root.get("name", "")
            good = name in ROOTS or is_entry(root.get("module", ""), int(root.get("offset", 0)))
            found.add("" if good else f"ends in {name or root.get('module', '?')}, said to be complete")
            continue
        reason = next((text for bit, text in FLAGS if flags & bit), "ended by nothing known")
        if reason == "tables not ready":
            since = int(samples["time_ns"][column]) - max(int(profile["start_ns"]), int(process["start_ns"]))
            reason += ", first 100 ms" if since < EARLY_NS else ", later"
            reason += f" ({os.path.basename(root.get('module', '?'))})"
        found.add(reason)
    return found


class Perf(Profiler):
    """perf record with copies of the stack, unwound when it is over."""
    name = "perf dwarf"

    def command(self):
        return ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HERTZ), "--call-graph", "dwarf", "-p",
                ",".join(map(str, self.load.pids)), "-o", self.file("perf.data")]

    def stacks(self):
        found = Stacks()
        data = self.file("perf.data")
        found.size = os.path.getsize(data)
        text = subprocess.run(["perf", "script", "-i", data, "--no-inline", "-F", "comm,pid,ip,sym,dso"],
                              capture_output=True, text=True, errors="replace").stdout
        for stack in text.split("\n\n"):
            lines = stack.strip("\n").splitlines()
            if not lines:
                continue
            found.samples += 1
            comm = re.match(r"\s*(.*?)\s+\d+\s*$", lines[0])
            user = [line.split(None, 1) for line in lines[1:] if "[kernel.kallsyms]" not in line]
            user = [line for line in user if len(line) == 2 and not line[0].startswith("ffffffff")]
            if not comm or not counts_thread(self.load, comm.group(1)) or not user:
                continue
            found.depth += len(user)
            found.add(end_of(user[-1][1], user[-2][1] if len(user) > 1 else ""))
        return found


def counts_thread(load, comm):
    """Threads have names of their own; a new process has its parent's until its exec."""
    return comm not in ("sh", "profctl", "perf")


def end_of(last, before):
    """Why perf's stack with these outermost frames is not complete; '' if it is."""
    name = last.split(" (")[0]
    module = re.search(r"\((\S+)\)?", last[len(name):])
    if name.split("@")[0] in ROOTS:
        return ""
    if name == "[unknown]" and before.startswith("__libc_start_main"):
        return ""  # _start of a stripped program
    return f"ends in {os.path.basename(module.group(1).rstrip(')')) if module else name}"


class OffCpuTime(Profiler):
    """libbpf-tools' offcputime: frame pointers, off-CPU stacks of the whole machine."""
    name = "offcputime"

    def command(self):
        return ["offcputime", "-u", "--stack-storage-size", "16384"]

    def stacks(self):
        """Each different stack once: it keeps sums of time, not stacks."""
        found = Stacks()
        with open(self.file("output"), encoding="utf-8", errors="replace") as file:
            text = file.read()
        for stack in text.split("\n\n"):
            lines = [line.strip() for line in stack.strip("\n").splitlines()]
            owner = next((re.match(r"-\s+(.*) \(\d+\)$", line) for line in lines if line.startswith("- ")), None)
            if not owner or not counts_thread(self.load, owner.group(1)) or not in_load(self.load, owner.group(1)):
                continue
            frames = lines[:next(i for i, line in enumerate(lines) if line.startswith("- "))]
            entry = max((i for i, line in enumerate(frames) if line.startswith(("entry_SYSCALL", "asm_"))), default=-1)
            user = frames[entry + 1:]
            if not user:
                found.add("no user frame at all")
                continue
            found.depth += len(user)
            found.add("" if user[-1] in ROOTS else
                      f"ends in {'[unknown]' if user[-1] == '[unknown]' else 'a function that is no root'}")
        found.samples = found.total
        return found


def in_load(load, comm):
    return any(comm.startswith(one[:15]) for one in load.comms + load.threads)
