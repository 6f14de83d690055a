"""What a soak sees of profd: a look every few seconds, and every window of its history, once."""

import re
import time
from typing import NamedTuple

STATES = ("on_cpu_ns", "runnable_after_wakeup_ns", "runnable_after_preemption_ns", "runnable_after_yield_ns",
          "blocked_interruptible_ns", "blocked_uninterruptible_ns", "blocked_iowait_ns",
          "stolen_exact_ns", "stolen_spread_ns")


class Look(NamedTuple):
    seconds: float  # since the soak began
    resident: int   # bytes
    anonymous: int  # of these, what is no file's
    database: int   # bytes of the history without its write-ahead log
    held: dict      # what profd's caches, tables and queues hold, by its own account: {name: bytes}
    values: dict    # of /metrics


class Window(NamedTuple):
    """One of the history, or, where looks were late, some that follow each other."""
    seconds: float  # when it was requested, since the soak began
    begin_ns: int
    end_ns: int
    closure: float  # of the worst thread, from its own states
    threads: int
    without_clock: list  # threads, as text
    on_cpu_points: int
    made_on_cpu: int  # as the BPF side counts them
    lost: dict
    dropped: dict


def counts(entries):
    return {entry["name"]: int(entry["count"]) for entry in entries}


def closure_error(thread):
    # Short-lived threads that are alike are one row.
    elapsed = int(thread["elapsed_ns"]) if "group_size" in thread else int(thread["end_ns"]) - int(thread["begin_ns"])
    clock = thread.get("clock", {})
    return abs(sum(int(clock.get(state, 0)) for state in STATES) - elapsed) / elapsed if elapsed > 0 else 0.0


def words_of(thread, profile):
    """Such as "sh 4711: began +0.000 s, exited -0.001 s", by the window's begin and end."""
    began = (int(thread["begin_ns"]) - int(profile["start_ns"])) / 1e9
    ended = (int(thread["end_ns"]) - int(profile["end_ns"])) / 1e9
    return (f"{thread.get('comm', '')} {thread.get('tid', 0)}: {'began' if thread.get('began') else 'was there at'} +{began:.6f} s, "
            f"{'exited' if thread.get('exited') else 'until'} {ended:+.6f} s")


def window_of(profile, seconds):
    threads = profile.get("threads", [])
    samples = profile.get("samples", {})
    marks = sum(count for count, state in zip(samples.get("count", []), samples.get("state", []))
                if state == "STATE_ON_CPU")
    return Window(seconds, int(profile["start_ns"]), int(profile["end_ns"]),
                  max((closure_error(thread) for thread in threads if not thread.get("clock_missing")), default=0.0),
                  len(threads), [words_of(thread, profile) for thread in threads if thread.get("clock_missing")], marks,
                  counts(profile.get("counters", [])).get("on_cpu_samples", 0),
                  counts(profile.get("lost", [])), counts(profile.get("dropped", [])))


def by_reason(values, family):
    """{reason: count} of a family such as "profd_lost_total"."""
    found = (re.fullmatch(family + r'\{reason="(\w+)"\}', name) for name in values)
    return {match.group(1): int(values[match.group(0)]) for match in found if match}


class Watch:
    """Looks at an agent that runs."""

    def __init__(self, agent, seen_until=0.0):
        """`seen_until`: windows that end before are none of this soak."""
        self.agent = agent
        self.begun = time.monotonic()
        self.looks, self.windows = [], []
        self.storms_ended = None  # seconds, of a hostile soak
        self._seen_until = seen_until

    @property
    def seconds(self):
        return time.monotonic() - self.begun

    def look(self):
        resident, values = self.agent.resident(), self.agent.metrics()
        self.looks.append(Look(self.seconds, resident["VmRSS"], resident["RssAnon"],
                               self.agent.database_bytes(), self.agent.held(), values))
        self._look_at_windows(values)

    def _look_at_windows(self, values):
        """Those that were kept since the last look, mostly one."""
        if not values.get("profd_history_puts_total"):
            return
        end = values["profd_history_last_timestamp_seconds"]
        begin = self._seen_until or values["profd_history_first_timestamp_seconds"]
        if end <= begin:
            return
        self._seen_until = end
        if profile := self.agent.windows_between(begin, end):
            self.windows.append(window_of(profile, self.seconds))


class Account(NamedTuple):
    """Where samples are once profd has ended; its log says so."""
    made: int
    read: int
    snapshots: int
    wakers: int
    delivered: int
    unwanted: int
    dropped: int

    @property
    def unaccounted(self):
        """Made and not read, or read and neither delivered nor given up; either way round."""
        read = self.read + self.wakers
        return abs(self.made - read) + abs(read + self.snapshots - self.delivered - self.unwanted - self.dropped)


def account_of(log):
    found = re.search(r"samples: (\d+) made, (\d+) read, (\d+) snapshots, (\d+) wakers; "
                      r"(\d+) delivered, (\d+) unwanted, (\d+) dropped", log)
    return Account(*map(int, found.groups())) if found else None
