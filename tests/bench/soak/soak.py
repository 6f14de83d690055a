"""profd as the agent of a host under redis, postgres and a Python service, for an hour: what it needs, loses and costs."""

import contextlib
import os
import signal
import sqlite3
import sys
import time

from agent import Agent
from soak_judge import judge, judge_hostile
from soak_loads import all_loads
from soak_looks import Watch, account_of
from soak_report import picture, table
from soak_storms import Storms
from unwind_loads import Missing

PAYLOAD_BYTES = 100_000
# Of a hostile soak: when its storms begin and end.
STORMS = (0.1, 0.85)


def fill(agent, size):
    """Writes so many bytes of old windows, which no query needs; returns their end in seconds since 1970."""
    while not agent.metrics().get("profd_history_windows") and agent.alive:
        time.sleep(0.5)
    agent.end()
    with contextlib.closing(sqlite3.connect(os.path.join(agent.history, "history.db"))) as database, database:
        names = [row[1] for row in database.execute("PRAGMA table_info(window)")]
        last = dict(zip(names, database.execute("SELECT * FROM window ORDER BY id DESC LIMIT 1").fetchone()))
        for number in range(size // PAYLOAD_BYTES):
            row = {**last, "id": last["id"] + 1 + number, "folded": 1, "threads": 0, "samples": 0}
            database.execute(f"INSERT INTO window VALUES ({', '.join('?' * len(names))})", list(row.values()))
            database.execute("INSERT INTO payload VALUES (?, randomblob(?))", (row["id"], PAYLOAD_BYTES))
    agent.start()
    return last["end_unix_ns"] / 1e9


def follow(storms, watch, minutes):
    """Begins and ends the storms in time; notes when they ended."""
    share = watch.seconds / (minutes * 60)
    if not storms.running and watch.storms_ended is None and share >= STORMS[0]:
        storms.start()
    elif storms.running and share >= STORMS[1]:
        storms.stop()
        watch.storms_ended = watch.seconds


def run(profd, minutes, interval, flags=(), full=0, storms=None):
    """(the watch, where samples are, what ended too soon). Ctrl-C ends it early. `storms`: the program of that name, or none."""
    interrupted = []
    before = signal.signal(signal.SIGINT, lambda *_: interrupted.append(True))
    try:
        with contextlib.ExitStack() as stack:
            loads = [stack.enter_context(load) for load in all_loads()]
            storms = stack.enter_context(Storms(storms)) if storms else None
            agent = stack.enter_context(Agent(profd, *flags))
            watch, ended = Watch(agent, fill(agent, full) if full else 0.0), []
            while watch.seconds < minutes * 60 and not interrupted and not ended:
                watch.look()
                if storms:
                    follow(storms, watch, minutes)
                wait(watch, interval, interrupted)
                ended = [name for load in loads for name in load.ended()] + ([] if agent.alive else ["profd"])
            return watch, account_of(agent.end()), ended
    finally:
        signal.signal(signal.SIGINT, before)


def wait(watch, interval, interrupted):
    """Until the next multiple of the interval."""
    until = (watch.seconds // interval + 1) * interval
    while not interrupted and (left := until - watch.seconds) > 0:
        time.sleep(min(left, 0.5))


def main(profd, minutes, interval, plot=None, flags=(), full=0, storms=None):
    """`full`: bytes of a history that is there before. 0: what was seen is what profd may do; 1: it is not; the reasons are on standard error."""
    try:
        watch, account, ended = run(profd, minutes, interval, flags, full, storms)
    except Missing as missing:
        sys.exit(f"soak: there is no {missing}")
    if len(watch.looks) < 8:
        sys.exit("soak: too short to judge")
    beside = ", beside every storm at once" if storms else ""
    title = (f"{watch.looks[-1].seconds / 60:.3g} minutes of profd under redis, postgres and a Python service{beside}; kernel "
             f"{os.uname().release}, {len(os.sched_getaffinity(0))} CPUs")
    if plot:
        with open(plot, "w", encoding="utf-8") as file:
            file.write(picture(watch.looks, watch.windows, title))
    print(title + ".\n")
    print(table(watch.looks, watch.windows))
    if storms:
        verdicts = judge_hostile(watch.looks, watch.windows, account, ended, watch.storms_ended)
    else:
        verdicts = judge(watch.looks, watch.windows, account, ended)
    print()
    for verdict in verdicts:
        print(f"{'good' if verdict.good else 'BAD '}  {verdict.what}: {verdict.words}")
    for verdict in verdicts:
        if not verdict.good:
            print(f"soak: {verdict.what}: {verdict.words}", file=sys.stderr)
    return 0 if all(verdict.good for verdict in verdicts) else 1
