"""scripts/bench gdb: profd's callers beside gdb's, and beside where threads return to, in training and inference programs."""

import collections
import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import comparison
import shares
from comparison import Ours, Stack
from environments import Missing, python_of
from measurement import PROGRAMS, Daemon, Failed, Loop
from target_code import BARE, MADE, RULES, Code

HERE = os.path.dirname(os.path.abspath(__file__))
WARM_SECONDS = 3
STOPS = 1000
RUNS_SECONDS = (0.005, 0.08)   # between two stops, at random
# What is done with a thread in user code before the stacks are read; the number of instructions after it is drawn up to this.
STEPS = ("", "", "entry", "exit")
MORE_STEPS = 12
ENDS_WITHIN_SECONDS = 2.0
# Of the stack: how far up return addresses are looked for, and how many.
STACK_BYTES, MAX_PLACES, MAX_RETURNS = 32768, 96, 4
# The same where the stack pointer was taken elsewhere: below and above the lowest place at which it was seen.
BELOW_BYTES, ALL_BYTES, ALL_PLACES = 1 << 17, 3 << 16, 400
SYSCALL = b"\x0f\x05"
EVERY = 100
WITHOUT_RULES = (BARE, MADE)
ELSEWHERE, NOT_SEEN = "profd saw it at another place", "profd did not see it"
WHY = {**shares.LOST, shares.TABLES_NOT_READY: "tables not ready"}


class Gdb:
    """A context: gdb, attached."""

    def __init__(self, pid):
        self.pid = pid
        self.libc = ctypes.CDLL(None)

    def __enter__(self):
        self.process = subprocess.Popen(
            ["gdb", "-nx", "-q", "-iex", "set debuginfod enabled off", "-iex", "set auto-load no", "-iex",
             f"set $profd_pid={self.pid}", "-x", os.path.join(HERE, "gdb_side.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        try:
            self.answers("ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def answers(self, *last):
        found, said = [], ""
        for line in self.process.stdout:
            if line.startswith("@"):
                found.append(line[1:].split())
                if found[-1][0] in last:
                    return found
            said = line.strip() or said
        raise Failed(f"gdb ended: {said}")

    def interrupt(self, tid):
        self.libc.tgkill(self.pid, tid, signal.SIGINT)

    def ask_within(self, tid, words, *last):
        """Interrupts the thread if the answer does not come."""
        timer = threading.Timer(ENDS_WITHIN_SECONDS, self.interrupt, (tid,))
        self.ask(*words)
        timer.start()
        try:
            return self.answers(*last)
        finally:
            timer.cancel()

    def stop_after(self, seconds):
        """Lets the program run, and stops it."""
        self.ask("go")
        time.sleep(seconds)
        self.interrupt(self.pid)
        self.answers("stopped")

    def step(self, tid, what, more):
        self.ask_within(tid, ("step", tid, what, more), "stepped")

    def stacks(self):
        """(tid, why gdb went no further, frames) of each thread."""
        self.ask("stacks")
        return [(int(words[1]), words[2], [int(word, 16) for word in words[3:]]) for words in self.answers("stacks")[:-1]]

    def run_to_return(self, tid, places):
        """(address, stack pointer) after the return; nothing if it does not come."""
        answer = self.ask_within(tid, ("return", tid, *(f"{place:x}:{word:x}" for place, word in places.items())), "returned", "lost")
        return tuple(int(word, 16) for word in answer[-1][1:]) or None

    def explain(self, address):
        self.ask("explain", f"{address:x}")
        return " ".join(self.answers("code")[-1][1:])


def place_of(pid, tid):
    """(stack pointer, program counter) of a thread that stands still."""
    with open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as file:
        return tuple(int(word, 16) for word in file.read().split()[-2:])


class Stops:
    """What gdb, and the program itself, said of its threads at each stop."""

    def __init__(self, pid):
        self.pid, self.files = pid, {}
        self.lowest = {}  # tid -> stack pointer: a function's frame may lie elsewhere, but not all of them
        self.stops = []   # (begin of the time in which profd looked, its end, stacks)

    def tids(self):
        return [int(tid) for tid in os.listdir(f"/proc/{self.pid}/task")]

    def stop(self, gdb):
        gdb.stop_after(random.uniform(*RUNS_SECONDS))
        code = Code(self.pid, self.files)
        places = {tid: place_of(self.pid, tid) for tid in self.tids()}
        running = [tid for tid, (_, pc) in places.items() if code.read(pc - 2, 2) != SYSCALL]
        what = random.choice(STEPS)
        if what and running:
            gdb.step(random.choice(running), what, random.randrange(MORE_STEPS))
        return code

    def add(self, gdb, dump):
        code = self.stop(gdb)
        threads = gdb.stacks()
        begin = time.monotonic_ns()
        dump()
        end = time.monotonic_ns()
        stacks = []
        for tid, reason, frames in threads:
            kind = code.kind_of(frames[0])
            if kind == RULES:
                rsp = place_of(self.pid, tid)[0]
                self.lowest[tid] = min(rsp, self.lowest.get(tid, rsp))
            stacks.append(Stack(tid, frames, kind, reason, code.read(frames[0] - 2, 2) == SYSCALL, comparison.gdb_is_right(code, reason, frames), []))
        for stack in stacks:
            stack.returned.extend(self.follow_returns(gdb, code, stack.tid, stack.frames[0]))
        code.close()
        self.stops.append((begin, end, stacks))

    def places(self, code, tid, rsp):
        """Where on its stack the thread's return addresses may stand: place -> address."""
        region = code.region_of(self.lowest.get(tid, rsp))
        if region == code.region_of(rsp):
            found, most = code.return_addresses(rsp, STACK_BYTES), MAX_PLACES
        else:
            begin = max(region[0], (self.lowest[tid] & ~7) - BELOW_BYTES)
            found, most = code.return_addresses(begin, min(region[1] - begin, ALL_BYTES)), ALL_PLACES
        return dict(list(found.items())[:most])

    def follow_returns(self, gdb, code, tid, address):
        """Where a thread returns to, as long as it is in code without .eh_frame."""
        returned, rsp = [], place_of(self.pid, tid)[0]
        while len(returned) < MAX_RETURNS and code.kind_of(address) in WITHOUT_RULES:
            places = self.places(code, tid, rsp)
            found = places and gdb.run_to_return(tid, places)
            if not found:
                break
            address, rsp = found
            returned.append(address)
        return returned


def read_recording(program, file):
    """By tid, in order of time."""
    done = subprocess.run([program, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    found = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        time_ns, tid, running, flags, uncertain_from, *frames = (int(word, 16) for word in line.split())
        found[tid].append(Ours(time_ns, bool(running), flags, uncertain_from, frames))
    return found


def same_function(explained):
    """Without the place in the function."""
    return explained.split(" + ")[0]


class Result:
    """Of one program: what came of its stacks."""

    def __init__(self):
        self.stops = self.in_user_code = 0
        self.gdb, self.returns = collections.Counter(), collections.Counter()  # beside which truth: verdicts
        self.neither = collections.Counter()  # why there is no truth
        self.different = set()
        self.reasons = collections.Counter()
        self.wrong = []  # (truth, index of the frame, our frames, the truth's)

    def take(self, truth, counter, ours, right, verdict):
        counter[verdict.what] += 1
        if verdict.what == comparison.WRONG:
            self.wrong.append((truth, verdict.at, ours.frames, right))
        elif verdict.what in (comparison.LOST, comparison.GUESSED):
            self.reasons.update(why for flag, why in WHY.items() if ours.flags & flag)

    def add(self, ours, stack):
        if ours.frames[:1] != stack.frames[:1]:
            self.neither[ELSEWHERE] += 1
            return
        by_returns = stack.frames[:1] + stack.returned
        is_right = stack.is_right and stack.frames[:len(by_returns)] == by_returns
        if is_right:
            self.take("gdb", self.gdb, ours, stack.frames, comparison.judge(ours, stack.frames, True))
        if stack.returned:
            self.take("where it returned to", self.returns, ours, by_returns, comparison.judge(ours, by_returns, False))
        if is_right or stack.returned:
            self.in_user_code += not stack.in_syscall
            self.different.add(tuple(stack.frames))
        else:
            self.neither[f"in code {stack.kind}: gdb is not right ({stack.reason}), and no return"] += 1

    def explain_wrong(self, gdb):
        """The kinds of wrong callers, the most frequent first."""
        kinds, of_kind = collections.Counter(), {}
        for truth, at, ours, right in self.wrong:
            said = [gdb.explain(frames[index]) if index < len(frames) else "the root"
                    for frames, index in ((right, at - 1), (ours, at), (right, at))]
            kind = truth, at, *map(same_function, said)
            kinds[kind] += 1
            of_kind.setdefault(kind, said)
        return [f"{count} x frame {kind[1]}, beside {kind[0]}: of {of_kind[kind][0]}\n    ours: {of_kind[kind][1]}\n    right: "
                f"{of_kind[kind][2]}" for kind, count in kinds.most_common()]


def compare(stops, recorded):
    result = Result()
    for begin, end, stacks in stops:
        result.stops += 1
        for stack in stacks:
            found = [one for one in recorded[stack.tid] if begin <= one.time_ns <= end and not one.running]
            if found:
                result.add(found[-1], stack)
            else:
                result.neither[NOT_SEEN] += 1
    return result


def measure(name, profctl, reader, stops_wanted):
    """The result, and its wrong callers as text."""
    with tempfile.TemporaryDirectory(prefix="bench-gdb-") as folder, Loop(python_of(PROGRAMS[name]), name, WARM_SECONDS) as loop:
        recording = os.path.join(folder, "recording")
        stops = Stops(loop.process.pid)
        with Gdb(loop.process.pid) as gdb:
            with Daemon(profctl, ("--record", recording)) as daemon:
                while len(stops.stops) < stops_wanted:
                    stops.add(gdb, lambda: daemon.dump(loop.process.pid))
                    if len(stops.stops) % EVERY == 0:
                        print(f"{name}: {len(stops.stops)} of {stops_wanted} stops", file=sys.stderr, flush=True)
            result = compare(stops.stops, read_recording(reader, recording))
            return result, result.explain_wrong(gdb)


def cells(result):
    gdb, returns = ({what: counter[what] for what in comparison.COUNTED} for counter in (result.gdb, result.returns))
    return [result.stops, sum(gdb.values()), *list(gdb.values())[1:], sum(returns.values()), *list(returns.values())[1:],
            sum(result.neither.values()), result.in_user_code, len(result.different)]


def table(results):
    lines = ["| | stops | beside gdb | lost | guessed | wrong | beside returns | lost | guessed | wrong | beside neither | in user code "
             "| different |", "| --- |" + " ---: |" * 12]
    rows = {name: cells(result) for name, result in results.items()}
    if len(rows) > 1:
        rows["all"] = [sum(column) for column in zip(*rows.values())]
    return "\n".join(lines + [f"| {name} | " + " | ".join(f"{cell:,}" for cell in row) + " |" for name, row in rows.items()])


def main(profctl, only, stops):
    if not shutil.which("gdb"):
        print("SKIPPED: gdb is not installed")
        return 0
    unknown = [one for one in only or [] if one not in PROGRAMS]
    if unknown:
        sys.exit(f"bench: no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    reader = os.path.join(os.path.dirname(profctl), "bench_recorded_stacks")
    results, said, status = {}, [], 0
    for name in PROGRAMS:
        if only and name not in only:
            continue
        try:
            results[name], wrong = measure(name, profctl, reader, stops or STOPS)
        except Missing as missing:
            print(f"SKIPPED: {name}: {missing}")
            continue
        except Failed as failed:
            print(f"FAILED: {name}: {failed}")
            status = 1
            continue
        said += [f"{name}: wrong: {one}" for one in wrong]
        for what, counter in (("lost and guessed", results[name].reasons), ("beside neither", results[name].neither)):
            if counter:
                said.append(f"{name}: {what}: " + ", ".join(f"{why} {count}" for why, count in counter.most_common()))
        status = 1 if wrong else status
        print(table({name: results[name]}), file=sys.stderr, flush=True)
    print(f"Kernel {os.uname().release}, {len(os.sched_getaffinity(0))} CPUs.\n{table(results)}\n\n" + "\n".join(said))
    return status
