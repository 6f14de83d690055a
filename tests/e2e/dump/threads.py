"""Threads that stand in known functions: one holds the GIL and never gives it up, others wait for it, for a lock,
or sleep. Says who is where, then sets the first byte of the file that is its argument when the GIL is taken for good.
From then on a byte a waiter on its input makes them want it."""

import json
import mmap
import os
import sys
import threading
import time

WAITERS = 2
lock = threading.Lock()
with open(sys.argv[1], "r+b") as file:
    taken = mmap.mmap(file.fileno(), 1)
places = []


def native_id():
    return int(os.readlink("/proc/thread-self").rsplit("/", 1)[1])


def enter(function, wait):
    places.append({"tid": native_id(), "function": function.__name__, "wait": wait})
    function()


def sleeps():
    time.sleep(3600)


def wants_the_lock():
    lock.acquire()


def wants_the_gil():
    os.read(0, 1)


def holds_the_gil():
    # Writing gives the GIL up for a moment; the store into shared memory does not.
    os.write(1, (json.dumps({"threads": places}) + "\n").encode())
    taken[0] = 1
    while True:
        pass


def holder():
    enter(holds_the_gil, "")


def until(condition, what):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            sys.exit("not within a minute: " + what)
        time.sleep(0.001)


def start(function, wait):
    before = len(places)
    thread = threading.Thread(target=enter, args=(function, wait), daemon=True)
    thread.start()
    until(lambda: len(places) > before, function.__name__ + " has begun")
    return thread


def looks():
    """How each thread stands, and how often it has waited."""
    found = []
    for place in places:
        with open("/proc/self/task/%d/status" % place["tid"], encoding="utf-8", errors="replace") as status:
            lines = [line.split() for line in status if line.startswith(("State", "voluntary"))]
        found.append((lines[0][1], lines[1][1]))
    return found


def all_wait():
    """Who waits for the GIL would have got it, and so have been woken, between the two looks."""
    before = looks()
    time.sleep(0.001)
    return before == looks() and all(state == "S" for state, _ in before)


lock.acquire()
start(sleeps, "sleep")
start(wants_the_lock, "lock")
for _ in range(WAITERS):
    start(wants_the_gil, "gil")
until(all_wait, "all threads wait")
# From now on no thread requests the GIL from its holder.
sys.setswitchinterval(1000)
holder()
