"""Threads that know what they do with the GIL: all on one CPU, so that its holder is preempted at times.

The library's functions are called through CDLL, which gives the GIL back meanwhile, or PyDLL, which keeps it. Says
"ready"; at the end one line of JSON: by thread a list of [held, begin, end, cpu]: whether it held the GIL while it ran,
when (CLOCK_MONOTONIC) and how much CPU time it used, all in ns.
"""
import ctypes
import json
import os
import sys
import threading
import time

LIBRARY, CPU = sys.argv[1], int(sys.argv[2])
MS = 1000000
LOG = {}
END = threading.Event()


def function(library, name):
    found = getattr(library, name)
    found.argtypes = [ctypes.c_uint64]
    found.restype = None
    return found


without = ctypes.CDLL(LIBRARY)
keeping = ctypes.PyDLL(LIBRARY)
burn_without_gil = function(without, "burn_without_gil")
nap_without_gil = function(without, "nap_without_gil")
burn_with_gil = function(keeping, "burn_with_gil")
nap_with_gil = function(keeping, "nap_with_gil")


def compute(ns):
    end = time.thread_time_ns() + ns
    total = 0
    while time.thread_time_ns() < end:
        for i in range(2000):
            total += i * i
    return total


def logged(held, function, ns):
    begin, cpu = time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.thread_time_ns()
    function(ns)
    LOG[threading.current_thread().name].append(
        [held, begin, time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.thread_time_ns() - cpu])


def mixed():
    """Computes in C without the GIL, then in Python."""
    logged(False, burn_without_gil, 8 * MS)
    logged(True, compute, 4 * MS)


def holder():
    """Keeps the GIL in C, on the CPU and asleep."""
    logged(True, burn_with_gil, 6 * MS)
    logged(True, nap_with_gil, 2 * MS)
    logged(False, nap_without_gil, 4 * MS)


def rival():
    logged(True, compute, 5 * MS)


def repeat(function):
    while not END.is_set():
        function()


os.sched_setaffinity(0, {CPU})
threads = [threading.Thread(target=repeat, args=(target,), name=target.__name__) for target in (mixed, holder, rival)]
for thread in threads:
    LOG[thread.name] = []
    thread.start()
print("ready", flush=True)
sys.stdin.readline()
END.set()
for thread in threads:
    thread.join()
print(json.dumps(LOG), flush=True)
