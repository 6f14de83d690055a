"""Threads that take turns with the GIL, two that compute in Python and one that computes in C, and log the turns.

Prints what `truth` prints: the threads, and on whom each of them waited. A thread that has the GIL reads the time again
and again. What lies between the last reading of one thread and the first of another one is of either.
"""

import json
import os
import sys
import threading
import time

SECONDS = float(sys.argv[1])


def run_in_python(now):
    for _ in range(20):
        now ^= 1
    return now


def run_in_c(_):
    return sum(range(3000))


def main():
    names = {"gil-py-one": run_in_python, "gil-py-two": run_in_python, "gil-c": run_in_c}
    turns = []  # who had it, its last reading, who has it then, its first reading
    state = [None, 0]  # who has it, and its last reading
    tids = {}
    barrier = threading.Barrier(len(names))
    end = time.monotonic_ns() + int(SECONDS * 1e9)

    def take_turns(name, work):
        tids[name] = threading.get_native_id()
        with open(f"/proc/self/task/{tids[name]}/comm", "w", encoding="ascii") as comm:
            comm.write(name)
        barrier.wait()
        now = time.monotonic_ns()
        while now < end:
            if state[0] is not name:
                now = time.monotonic_ns()  # the reading before may be from before the wait for the GIL
                turns.append((state[0], state[1], name, now))
                state[0] = name
            state[1] = now
            work(now)
            now = time.monotonic_ns()
        if state[0] is name:
            state[1] = now

    threads = [threading.Thread(target=take_turns, args=item) for item in names.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    # Each turn: who, and the earliest and the latest times of its begin and its end.
    held = []
    for (_, before, name, first), (_, last, _, after) in zip(turns, turns[1:]):
        held.append((name, before, first, last, after))
    whom = [describe(waiter, held) for waiter in names]
    print(json.dumps({"pid": os.getpid(), "threads": [{"name": name, "tid": tid} for name, tid in tids.items()],
                      "whom": whom}))


def describe(waiter, held):
    own = [i for i, turn in enumerate(held) if turn[0] == waiter]
    blocked = [0, 0]
    paths = {}
    hand_over = 0
    for i, after in zip(own, own[1:]):
        others = held[i + 1:after]
        if not others:
            continue
        # It waits from the end of its turn to the begin of its next one.
        add(blocked, held[i][3:5], held[after][1:3])
        hand_over += held[after][2] - held[after][1]
        for name, begin, begin_late, end, end_late in others:
            add(paths.setdefault(name + " runs", [0, 0]), (begin, begin_late), (end, end_late))
    return {"waiter": waiter, "function": "", "gil": True, "blocked": length(blocked), "hand_over_ns": hand_over,
            "paths": {path: length(of) for path, of in paths.items()}}


def add(sums, begin, end):
    sums[0] += max(0, end[0] - begin[1])
    sums[1] += end[1] - begin[0]


def length(sums):
    return {"least_ns": sums[0], "most_ns": sums[1]}


main()
