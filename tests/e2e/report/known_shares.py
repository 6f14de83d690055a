"""A program that knows the self and the total time of its functions, until a line comes on its standard input.

Writes "ready" at its begin, and at the end one line of JSON: a list of [what, function, begin, end], in ns of
CLOCK_MONOTONIC. What is "self" for each part of a function in which it calls nothing, and "total" for each outermost call.
"""
import json
import sys
import threading
import time

LOG = []


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def outer():
    begin = now()
    total = 0
    for i in range(250000):
        total += i * i
    LOG.append(("self", "outer", begin, now()))
    inner()
    rest()
    walk(4)
    LOG.append(("total", "outer", begin, now()))


def inner():
    begin = now()
    total = 0
    for i in range(500000):
        total += i * i
    LOG.append(("self", "inner", begin, now()))
    LOG.append(("total", "inner", begin, now()))


def rest():
    begin = now()
    time.sleep(0.02)
    LOG.append(("total", "rest", begin, now()))


def walk(depth, outermost=True):
    begin = now()
    total = 0
    for i in range(60000):
        total += i * i
    LOG.append(("self", "walk", begin, now()))
    if depth > 0:
        walk(depth - 1, False)
    if outermost:
        LOG.append(("total", "walk", begin, now()))


def main():
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    print("ready", flush=True)
    while not stop.is_set():
        outer()
    print(json.dumps(LOG), flush=True)


main()
