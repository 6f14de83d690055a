"""Whether what a soak saw is what an always-on profiler may do. Functions of numbers; nothing is measured here."""

import math
from typing import NamedTuple

from soak_looks import by_reason

CLOSURE = 1e-3
MIB = 1 << 20
CAP_BYTES = 256 * MIB  # memory.cap
WEEK_HOURS = 7 * 24
# What memory is uncertain by, whatever passes: pages that the allocator keeps, one window's profile, stacks of threads.
MEMORY_NOISE = 4 * MIB
# Of a history at its limit: what its files may fall to. What windows have in common goes with the last window of its
# generation of 360; a limit below that lets most of the file go at once.
LEAST_SHARE_AT_LIMIT = 0.25
REACHED = 0.7  # a quarter of a small limit is spare, for the write-ahead log and the next window
# On-CPU samples of a range of windows may fall to the one before or after by when counters are read.
EDGE_SAMPLES = 2
# What a window adds to the history in the last quarter, as a multiple of what it did in the one before.
MOST_ACCELERATION = 1.3
SEEN = 0.8  # of the time, in windows that were looked at; the last one is not over yet
# A governor that swings goes down after 4 calm looks and up at the next one: of looks each 250 ms, 96 changes a minute. What
# is a quarter of that, or less, follows the load.
MOST_CHANGES_PER_MINUTE = 24
MOST_DRIFT = 4  # of the median factor, from the third quarter to the fourth
OVER_THE_CAP = 1.05
BACK_WITHIN = 10  # seconds
FREE = 0.75  # of the cap; above it samples are dropped
BUDGET = 'profd_budget_cpus{of="history"}'
SPENT = 'profd_budget_spent_cpus{of="history"}'


class Verdict(NamedTuple):
    what: str
    good: bool
    words: str


def part(points, first, last):
    """Those between two shares of the time."""
    begin, length = points[0][0], points[-1][0] - points[0][0]
    return [point for point in points if begin + first * length <= point[0] <= begin + last * length]


def half(points):
    return part(points, 0.5, 1)


def slope(points):
    """Of (x, y): the median over all pairs, so steps back and single peaks do not count."""
    rises = sorted((y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(points) for x2, y2 in points[i + 1:] if x2 > x1)
    return rises[len(rises) // 2] if rises else 0.0


def of(looks, name):
    return [(look.seconds, look.values.get(name, 0.0)) for look in looks]


def last(looks, name):
    return looks[-1].values.get(name, 0.0)


def judge_end(ended):
    return Verdict("all ran to the end", not ended, ", ".join(ended) or "profd, redis, postgres, the service, their clients")


def judge_memory(looks, cap_bytes=CAP_BYTES):
    """
    Caches fill as programs are seen, up to the cap, and what they give back may stay the allocator's: there either what is
    resident grows, or what is beside the caches. Of a leak both do.
    """
    most = max(look.resident for look in looks)
    all_of_it = half([(look.seconds, look.resident) for look in looks])
    rest = half([(look.seconds, look.resident - sum(look.held.values())) for look in looks])
    hours = (rest[-1][0] - rest[0][0]) / 3600
    an_hour = min(slope(all_of_it), slope(rest)) * 3600
    allowed = max(MEMORY_NOISE, (cap_bytes - most) / WEEK_HOURS * hours)
    return Verdict("memory is flat", most <= cap_bytes and an_hour * hours <= allowed,
                   f"at most {most / MIB:.1f} MiB resident, median {median(all_of_it) / MIB:.1f}, beside caches {median(rest) / MIB:.1f} MiB in the "
                   f"second half; by the lesser slope of both {an_hour * hours / MIB:+.2f} MiB there, of {allowed / MIB:.2f} that it may grow")


def judge_store(looks, limit_bytes):
    """At its limit the history stays there; below, each window adds as much as those before it."""
    sizes = of(looks, "profd_history_bytes")
    most = max(size for _, size in sizes)
    one_window = last(looks, "profd_history_largest_put_bytes")
    reached = next((at for at, size in sizes if size >= REACHED * limit_bytes), None)
    lost = last(looks, "profd_history_windows_lost_total") + last(looks, "profd_history_failed_puts_total")
    words = (f"{most / MIB:.2f} of {limit_bytes / MIB:.0f} MiB at most, {last(looks, 'profd_history_puts_total'):.0f} windows, "
             f"at most {one_window / MIB:.2f} MiB written for one, {lost:.0f} lost")
    if reached is not None:
        least = min(size for at, size in sizes if at >= reached)
        words += f"; at its limit after {reached:.0f} s, then never below {least / MIB:.2f} MiB"
        good = most <= limit_bytes + one_window and least >= LEAST_SHARE_AT_LIMIT * limit_bytes
    else:
        files = [(look.seconds, float(look.database)) for look in looks]
        third, fourth = (slope(part(files, *quarter)) for quarter in ((0.5, 0.75), (0.75, 1)))
        words += f"; it grew by {third * 3600 / MIB:.2f} MiB an hour in the third quarter, {fourth * 3600 / MIB:.2f} in the fourth"
        good = fourth <= third * MOST_ACCELERATION
    return Verdict("the history is flat", good and lost == 0, words)


def judge_closure(looks, windows):
    """Of every window by its own states, and by what profd says."""
    said = max((look.values.get("profd_history_closure_error_ratio", 0.0) for look in looks), default=0.0)
    worst = max((window.closure for window in windows), default=math.inf)
    seen = sum(window.end_ns - window.begin_ns for window in windows) / 1e9
    passed = looks[-1].seconds - looks[0].seconds
    unexplained = [window for window in windows if window.without_clock and not any((*window.lost.values(), *window.dropped.values()))]
    without, silent = (sum(len(window.without_clock) for window in some) for some in (windows, unexplained))
    good = max(said, worst) <= CLOSURE and seen >= SEEN * passed and not unexplained
    words = (f"worst {max(said, worst) * 100:.4f} % in {seen:.0f} s of windows of {passed:.0f} s; {without} threads without a clock, of which "
             f"not accounted for: {silent}")
    return Verdict("closure", good, "; ".join([words, *(window.without_clock[0] for window in unexplained[:3])]))


def judge_samples(looks, windows, account):
    """Each that was made is delivered, unwanted, or given up for a reason; those on the CPU are in their windows."""
    if account is None:
        return Verdict("samples", False, "profd's log does not say what became of them")
    reasons = {**by_reason(looks[-1].values, "profd_lost_total"), **by_reason(looks[-1].values, "profd_dropped_total")}
    named = ", ".join(f"{name} {count}" for name, count in sorted(reasons.items()) if count) or "none"
    words = (f"{account.made:,} made and {account.snapshots:,} snapshots: {account.delivered:,} delivered, {account.unwanted:,} of no "
             f"session, {account.dropped:,} dropped, {account.unaccounted:,} unaccounted; lost or dropped: {named}")
    good = account.unaccounted == 0
    if account.dropped == 0:
        made, marks = (sum(getattr(window, name) for window in windows) for name in ("made_on_cpu", "on_cpu_points"))
        words += f"; on the CPU {made:,} made in the windows, {marks:,} in them"
        ranges = 1 + sum(after.begin_ns != before.end_ns for before, after in zip(windows, windows[1:]))
        good = good and abs(marks - made) <= EDGE_SAMPLES * ranges
    return Verdict("samples", good, words)


def median(points):
    values = sorted(value for _, value in points)
    return values[len(values) // 2]


def judge_governor(looks):
    words, good = [], True
    for name in ("off_cpu", "on_cpu"):
        factors = of(looks, f'profd_budget_period_factor{{of="history",period="{name}"}}')
        changes = half(of(looks, f'profd_budget_period_changes_total{{of="history",period="{name}"}}'))
        a_minute = (changes[-1][1] - changes[0][1]) / max(changes[-1][0] - changes[0][0], 1) * 60
        third, fourth = median(part(factors, 0.5, 0.75)), median(part(factors, 0.75, 1))
        words.append(f"{name} periods x {third:.3g}, then x {fourth:.3g}, changed {a_minute:.1f} times a minute")
        good = good and a_minute <= MOST_CHANGES_PER_MINUTE and 1 / MOST_DRIFT <= fourth / third <= MOST_DRIFT
    words.append(f"median cost {median(half(of(looks, SPENT))) * 100:.2f} % of "
                 f"{last(looks, BUDGET) * 100:.2f} %")
    return Verdict("the governor is stable", good, "second half: " + "; ".join(words))


def judge_memory_of_storms(looks, storms_ended, cap_bytes=CAP_BYTES):
    """By profd's own account, with its readers and the kernel's maps: within the cap, and back soon after the storms."""
    most = max(look.values.get("profd_memory_used_bytes", 0.0) for look in looks)
    after = [look for look in looks if storms_ended is not None and look.seconds >= storms_ended + BACK_WITHIN]
    back = max((look.values.get("profd_memory_used_bytes", 0.0) for look in after), default=math.inf)
    return Verdict("memory", most <= OVER_THE_CAP * cap_bytes and back <= FREE * cap_bytes,
                   f"at most {most / MIB:.1f} of {cap_bytes / MIB:.0f} MiB, at most {back / MIB:.1f} from {BACK_WITHIN} s after the storms")


def judge_windows(looks):
    lost = last(looks, "profd_history_windows_lost_total") + last(looks, "profd_history_failed_puts_total")
    return Verdict("windows", lost == 0, f"{last(looks, 'profd_history_puts_total'):.0f} windows, {lost:.0f} lost")


def judge_hostile(looks, windows, account, ended, storms_ended):
    """The same beside storms: periods may be longer and samples dropped, for a reason."""
    return [judge_end(ended), judge_memory_of_storms(looks, storms_ended), judge_windows(looks), judge_closure(looks, windows),
            judge_samples(looks, windows, account)]


def judge(looks, windows, account, ended):
    limit = last(looks, "profd_history_limit_bytes")
    return [judge_end(ended), judge_memory(looks), judge_store(looks, limit), judge_closure(looks, windows),
            judge_samples(looks, windows, account), judge_governor(looks)]
