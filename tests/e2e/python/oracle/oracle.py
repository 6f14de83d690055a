"""What profd must see: the script says of itself which stacks it can have, and when.

A case is rehearsed with a trace function, which sees every chain of frames that there is, and then repeated for a
while without. While it is repeated every stack of its thread is the chain that leads to repeat() and, below that, one
that was rehearsed. One line of JSON a case goes to the file that ORACLE_LOG names.
"""
import ast
import ctypes
import json
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MARKS = os.environ.get("ORACLE_MARKS", "")
marks = ctypes.CDLL(MARKS) if MARKS else None
NS = 1000000000
PRCTL_SET_NAME = 15
SYS_GETTID = 186
# From this version on an instruction's line may be any one of its statement.
LINE_OF_EXPRESSION = sys.version_info >= (3, 11)
# To hunt what is rare: cases last this many times longer.
LONGER = float(os.environ.get("ORACLE_LONGER", "1"))
SOURCES = {}  # text by file name, of code that is in no file

libc = ctypes.CDLL(None)
rehearsals = 0  # at the moment


def spin(count=300):
    """Python that computes; less of it while it is traced."""
    total = 0
    for i in range(min(count, 3) if rehearsals else count):
        total += i * i
    return total


class Skip(Exception):
    """The case cannot be had here, for this reason."""


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def name_thread(name):
    libc.prctl(PRCTL_SET_NAME, ctypes.c_char_p(name.encode()), 0, 0, 0)


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def frames_of(frame, end=None):
    """The chain of frames up to `end`, root first: [name, file, line, first line]."""
    chain = []
    while frame is not None and frame is not end:
        code = frame.f_code
        chain.append((name_of(code), code.co_filename, frame.f_lineno or 0, code.co_firstlineno))
        frame = frame.f_back
    return tuple(reversed(chain))


def rehearse(body, times=2):
    """Every chain that there is below this function while `body` runs."""
    chains = set()
    base = sys._getframe()

    def trace(frame, event, argument):
        if frame is base:
            return None
        chains.add(frames_of(frame, base))
        return trace

    global rehearsals
    for _ in range(times):
        rehearsals += 1
        sys.settrace(trace)
        try:
            body()
        finally:
            sys.settrace(None)
            rehearsals -= 1
    return chains


def repeat(body, seconds):
    clock, which = time.clock_gettime_ns, time.CLOCK_MONOTONIC
    begin = clock(which)
    end = begin + int(seconds * LONGER * 1e9)
    while clock(which) < end:
        body()  # the line of CALL
    return begin, clock(which)


CALL = next(repeat.__code__.co_firstlineno + i for i, line in enumerate(
    open(__file__).read().split("\n")[repeat.__code__.co_firstlineno - 1:]) if "the line of CALL" in line)


class Extents:
    """From a line to the first and last one of its statement."""

    def __init__(self):
        self.files = {}

    def of(self, file, line):
        if not LINE_OF_EXPRESSION:
            return line, line
        if file not in self.files:
            self.files[file] = self.parse(file)
        return self.files[file].get(line, (line, line))

    @staticmethod
    def parse(file):
        try:
            tree = ast.parse(SOURCES[file] if file in SOURCES else open(file, encoding="utf-8").read())
        except (OSError, SyntaxError, ValueError):
            return {}
        lines = {}
        for node in ast.walk(tree):
            if not isinstance(node, ast.stmt):
                continue
            first, last = node.lineno, node.end_lineno
            body = getattr(node, "body", None)
            if isinstance(body, list) and body:
                first = min([first] + [one.lineno for one in getattr(node, "decorator_list", [])])
                last = max(first, body[0].lineno - 1)
            for line in range(first, last + 1):
                known = lines.get(line)
                if known is None or last - first < known[1] - known[0]:
                    lines[line] = (first, last)
        return lines


EXTENTS = Extents()


class Table:
    """Frames by number, so that chains are short."""

    def __init__(self):
        self.numbers = {}
        self.rows = []

    def number(self, frame):
        if frame not in self.numbers:
            self.numbers[frame] = len(self.rows)
            name, file, line, first = frame
            self.rows.append([name, file, line, *EXTENTS.of(file, line), first])
        return self.numbers[frame]

    def chain(self, frames):
        return [self.number(frame) for frame in frames]


def say(entry):
    """One whole line, even if other threads write."""
    entry.update(pid=os.getpid(), tid=libc.syscall(SYS_GETTID), version=list(sys.version_info[:3]))
    # Short-lived threads of one name are one row of a profile, without a number.
    if entry["tid"] != entry["pid"]:
        name = os.open("/proc/self/task/%d/comm" % entry["tid"], os.O_WRONLY)
        os.write(name, b"oracle %d" % entry["tid"])
        os.close(name)
    log = os.open(os.environ["ORACLE_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    line = (json.dumps(entry) + "\n").encode("utf-8", "surrogatepass")
    while line:
        line = line[os.write(log, line):]
    os.close(log)


def publish(number, begin, end, prefix, chains, **rules):
    """What holds between two times. Rules:
    before    names of C functions directly below a Python function, towards the root
    after     those that may stand above one, at the leaf
    through   a pattern of the name of a C function between a Python function and its caller
    interrupts  chains that may stand on any other
    waits     what a blocked thread with this leaf waits for
    needs     wait reasons that have to be seen
    loose     lines are not looked at
    gaps      <stale> and <unknown> are allowed
    apart     a stack may be flagged merge=failed
    alone     a chain may be all that there is
    known_by  the thread whose first understood sample begins the time in which all must be seen:
              those with a frame of the file `known_in`
    """
    table = Table()
    entry = dict(rules, case=number, begin=begin, end=end, prefix=table.chain(prefix),
                 chains=[table.chain(chain) for chain in sorted(chains)],
                 interrupts=[table.chain(chain) for chain in sorted(rules.get("interrupts", ()))],
                 call=CALL)
    entry["frames"] = table.rows
    say(entry)


def measure(number, body, seconds=0.1, times=2, chains=None, below=(), end=None, **rules):
    """Rehearses and repeats; the thread may have any stack below, of which another runtime has said `below`, which
    leads to the frames above `end`."""
    if chains is None:
        chains = rehearse(body, times)
    prefix, (first, last) = (*below, *frames_of(sys._getframe(), end)), repeat(body, seconds)
    publish(number, first, last, prefix, chains, **rules)


def hold(number, seconds=0.05, mark="oracle_sleep", **rules):
    """The chain that leads here, while C runs or sleeps."""
    nanoseconds = int(seconds * 1e9)
    function = getattr(marks, mark)
    function.argtypes = [ctypes.c_int64]
    clock, which = time.clock_gettime_ns, time.CLOCK_MONOTONIC
    prefix = frames_of(sys._getframe()); begin = clock(which); function(nanoseconds); end = clock(which)
    after = {"hold": [mark, "oracle_sleep"]} if mark != "oracle_sleep" else {"hold": [mark]}
    publish(number, begin, end, prefix, [], hold=True, after=after, **rules)


CASES = []


def case(number):
    def add(function):
        CASES.append((number, function))
        return function
    return add


def run(wanted=None):
    for number, function in CASES:
        if wanted is not None and number != wanted:
            continue
        begin = now()
        try:
            function()
        except Skip as skip:
            say({"case": number, "skipped": str(skip)})
        except Exception as error:  # of the oracle itself: the test fails with it
            say({"case": number, "error": repr(error)})
        if os.environ.get("ORACLE_VERBOSE"):
            print(number, (now() - begin) // 1000000, "ms", file=sys.stderr)


def in_thread(body):
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
