"""A program with labels that knows when it had which, until a line comes on its standard input.

    known_labels.py FOLDER    with profd_labels.py in it

Writes "ready" at its begin, and at the end one line of JSON: a list of [name, value, begin, end], in ns of CLOCK_MONOTONIC;
of a turn also when its label was there at the latest.
"""
import json
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])
from profd_labels import label, trace  # noqa: E402

LOG = []


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def spin(milliseconds):
    begin = time.thread_time_ns()
    total = 0
    while time.thread_time_ns() - begin < milliseconds * 1_000_000:
        total += 1
    return total


def load():
    begin = now()
    with label(phase="load"):
        time.sleep(0.02)
    LOG.append(("phase", "load", begin, now()))


def compute(turn):
    ids = ("0af7651916cd43dd8448eb211c80319c", f"{turn + 1:016x}")
    begin = now()
    with trace(*ids), label(phase="compute"):
        spin(5 * (turn + 1))
    end = now()
    LOG.append(("phase", "compute", begin, end))
    LOG.extend((name, value, begin, end) for name, value in zip(("trace_id", "span_id"), ids))


def work(stop):
    turn = 0
    while not stop.is_set():
        begin = now()
        with label(turn=turn):
            labelled = now()
            load()
            compute(turn)
        LOG.append(("turn", str(turn), begin, now(), labelled))
        spin(7)
        turn = (turn + 1) % 4


def main():
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    print("ready", flush=True)
    work(stop)
    print(json.dumps(LOG), flush=True)


main()
