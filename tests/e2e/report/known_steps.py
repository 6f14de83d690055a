"""A training loop that knows its steps, until a line comes on its standard input.

Writes "ready" at its begin, and at the end one line of JSON: for each step when it began, when its batch was there, when it had
computed, and when it ended, in ns of CLOCK_MONOTONIC.
"""
import json
import sys
import threading
import time

STEPS = []


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def load_batch():
    time.sleep(0.02)


def spin(milliseconds):
    begin = time.thread_time_ns()
    total = 0
    while time.thread_time_ns() - begin < milliseconds * 1_000_000:
        total += 1
    return total


def compute():
    spin(15)


def update():
    spin(10)


def train(stop):
    while not stop.is_set():
        times = [now()]
        load_batch()
        times.append(now())
        compute()
        times.append(now())
        update()
        times.append(now())
        STEPS.append(times)


def main():
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    print("ready", flush=True)
    train(stop)
    print(json.dumps(STEPS), flush=True)


main()
