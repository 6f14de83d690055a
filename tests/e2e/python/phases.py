"""A program that knows where its time goes: phases, each in its own function, until it is reported to end.

Writes "ready" when all its threads are there, and at the end one line of JSON: a list of [phase, begin, end] for each
time that it was in one, in ns of CLOCK_MONOTONIC.
"""
import ctypes
import json
import sys
import threading
import time

libc = ctypes.CDLL(None)
LOG = []


def timed(phase):
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    phase()
    LOG.append((phase.__name__, begin, time.clock_gettime_ns(time.CLOCK_MONOTONIC)))


def spin_inner(count):
    total = 0
    for i in range(count):
        total += i * i
    return total


def spinning():
    spin_inner(400000)


def sleeping():
    time.sleep(0.03)


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
def compare(left, right):
    return spin_inner(60) and left[0] - right[0]


def sorting():
    numbers = (ctypes.c_int * 700)(*((i * 7919) % 701 for i in range(700)))
    libc.qsort(numbers, len(numbers), ctypes.sizeof(ctypes.c_int), compare)


class Waiter:
    def __init__(self):
        self.lock = threading.Lock()
        self.lock.acquire()

    def waiting(self):
        self.lock.acquire()


def main():
    waiter = Waiter()
    threading.Thread(target=waiter.waiting, daemon=True).start()
    # A thread that Python knows nothing of.
    thread = ctypes.c_ulong()
    libc.pthread_create(ctypes.byref(thread), None, libc.pause, None)
    print("ready", flush=True)
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    while not stop.is_set():
        for phase in (spinning, sleeping, sorting):
            timed(phase)
    print(json.dumps(LOG), flush=True)


main()
