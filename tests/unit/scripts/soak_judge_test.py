"""tests/bench/soak/soak_judge.py: a soak that is as it should be, and each thing that can go wrong with one."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["PROFD_SOURCE_DIR"], "tests/bench/soak"))

import soak_judge  # noqa: E402
from soak_looks import Account, Look, Window, account_of, window_of  # noqa: E402
from soak_plot import MOST_POINTS  # noqa: E402
from soak_report import picture, table  # noqa: E402

MIB = 1 << 20
FACTOR = 'profd_budget_period_factor{of="history",period="%s"}'
CHANGES = 'profd_budget_period_changes_total{of="history",period="%s"}'
SECONDS, INTERVAL = 3600, 10


def looks(resident=lambda s: 120 * MIB, held=lambda s: 60 * MIB, history=lambda s: s * 2048, factor=lambda s: 4.0,
          limit=1024 * MIB, **values):
    """One every 10 s; everything is a function of the seconds."""
    made = []
    turns = 0
    for s in range(0, SECONDS + 1, INTERVAL):
        turns += bool(made) and factor(s) != made[-1].values[FACTOR % "off_cpu"]
        page = {"profd_history_bytes": history(s), "profd_history_limit_bytes": limit, "profd_history_puts_total": s // 10,
                "profd_history_largest_put_bytes": MIB,
                "profd_history_closure_error_ratio": 0, FACTOR % "off_cpu": factor(s), FACTOR % "on_cpu": 1.0,
                CHANGES % "off_cpu": turns, CHANGES % "on_cpu": 0, 'profd_budget_spent_cpus{of="history"}': 0.008,
                'profd_budget_cpus{of="history"}': 0.01,
                "profd_on_cpu_samples_total": 20 * s, "profd_off_cpu_samples_total": 30 * s, "profd_samples_delivered_total": 50 * s,
                "process_cpu_seconds_total": s / 50, "profd_bpf_seconds_total": s / 400, **values}
        made.append(Look(float(s), int(resident(s)), int(resident(s)) // 2, int(history(s)), {"names": int(held(s))}, page))
    return made


def window(s=10, closure=0.0, without_clock=(), marks=200, made=200, lost=None, dropped=None):
    return Window(float(s), s * 10**9, (s + 10) * 10**9, closure, 50, list(without_clock), marks, made, lost or {}, dropped or {})


WINDOWS = [window(s) for s in range(10, SECONDS, 10)]
ACCOUNT = Account(made=220_000, read=180_000, snapshots=500, wakers=40_000, delivered=220_400, unwanted=100, dropped=0)


def step(before, after):
    """A function of the seconds that changes at three quarters of the time."""
    return lambda s: before if s < SECONDS * 3 / 4 else after


class Judge(unittest.TestCase):
    def bad(self, *arguments):
        return [verdict.what for verdict in soak_judge.judge(*arguments) if not verdict.good]

    def test_good(self):
        self.assertEqual(self.bad(looks(), WINDOWS, ACCOUNT, []), [])

    def test_what_ended(self):
        self.assertEqual(self.bad(looks(), WINDOWS, ACCOUNT, ["profd"]), ["all ran to the end"])

    def hostile(self, used, lost=0):
        """What is bad of a hostile soak whose storms end after three quarters."""
        seen = looks()
        for look in seen:
            look.values["profd_memory_used_bytes"] = used(look.seconds)
            look.values["profd_history_windows_lost_total"] = lost
        return [verdict.what for verdict in soak_judge.judge_hostile(seen, WINDOWS, ACCOUNT, [], SECONDS * 3 / 4) if not verdict.good]

    def test_storms(self):
        self.assertEqual(self.hostile(step(260 * MIB, 150 * MIB)), [])
        self.assertEqual(self.hostile(step(270 * MIB, 150 * MIB)), ["memory"])
        self.assertEqual(self.hostile(step(200 * MIB, 200 * MIB)), ["memory"])  # it does not come back
        self.assertEqual(self.hostile(step(100 * MIB, 100 * MIB), lost=1), ["windows"])

    def test_caches_may_fill_and_peaks_pass(self):
        filled = looks(resident=lambda s: 100 * MIB + s * 10240 + (s % 50 == 0) * 20 * MIB, held=lambda s: 40 * MIB + s * 10240)
        self.assertEqual(self.bad(filled, WINDOWS, ACCOUNT, []), [])

    def test_unaccounted_memory_may_not_grow(self):
        leaks = looks(resident=lambda s: 100 * MIB + s * 4096)  # 14 MiB an hour
        self.assertEqual(self.bad(leaks, WINDOWS, ACCOUNT, []), ["memory is flat"])

    def test_the_cap(self):
        self.assertEqual(self.bad(looks(resident=step(100 * MIB, 257 * MIB)), WINDOWS, ACCOUNT, []), ["memory is flat"])

    def test_a_history_that_grows_faster_and_faster(self):
        self.assertEqual(self.bad(looks(history=lambda s: s * s), WINDOWS, ACCOUNT, []), ["the history is flat"])

    def test_a_history_at_its_limit(self):
        at_limit = looks(history=lambda s: min(s * 40_000, 15 * MIB), limit=16 * MIB)
        self.assertEqual(self.bad(at_limit, WINDOWS, ACCOUNT, []), [])
        over = looks(history=lambda s: min(s * 40_000, 18 * MIB), limit=16 * MIB)
        self.assertEqual(self.bad(over, WINDOWS, ACCOUNT, []), ["the history is flat"])
        falls = looks(history=step(15 * MIB, 3 * MIB), limit=16 * MIB)
        self.assertEqual(self.bad(falls, WINDOWS, ACCOUNT, []), ["the history is flat"])

    def test_lost_windows(self):
        self.assertEqual(self.bad(looks(profd_history_windows_lost_total=1), WINDOWS, ACCOUNT, []), ["the history is flat"])

    def test_closure(self):
        self.assertEqual(self.bad(looks(), [*WINDOWS, window(closure=0.0011)], ACCOUNT, []), ["closure"])
        self.assertEqual(self.bad(looks(profd_history_closure_error_ratio=0.0011), WINDOWS, ACCOUNT, []), ["closure"])
        self.assertEqual(self.bad(looks(), WINDOWS[:-90], ACCOUNT, []), ["closure"])

    def test_threads_without_a_clock_have_a_reason(self):
        self.assertEqual(self.bad(looks(), [*WINDOWS, window(without_clock=["sh"])], ACCOUNT, []), ["closure"])
        reported = window(without_clock=["sh"], lost={"event_ring_full": 1})
        self.assertEqual(self.bad(looks(), [*WINDOWS, reported], ACCOUNT, []), [])

    def test_samples(self):
        for wrong in (None, ACCOUNT._replace(made=220_001), ACCOUNT._replace(delivered=220_399), ACCOUNT._replace(unwanted=101)):
            self.assertEqual(self.bad(looks(), WINDOWS, wrong, []), ["samples"], wrong)
        self.assertEqual(self.bad(looks(), [*WINDOWS, window(marks=190)], ACCOUNT, []), ["samples"])
        dropped = ACCOUNT._replace(delivered=220_300, dropped=100)
        self.assertEqual(self.bad(looks(), [*WINDOWS, window(marks=100)], dropped, []), [])

    def test_a_governor_that_swings(self):
        swings = looks()
        swings = [look._replace(values={**look.values, CHANGES % "on_cpu": look.seconds}) for look in swings]
        self.assertEqual(self.bad(swings, WINDOWS, ACCOUNT, []), ["the governor is stable"])
        self.assertEqual(self.bad(looks(factor=step(1.0, 5.0)), WINDOWS, ACCOUNT, []), ["the governor is stable"])
        self.assertEqual(self.bad(looks(factor=step(4.0, 7.0)), WINDOWS, ACCOUNT, []), [])


class Readings(unittest.TestCase):
    def test_the_log(self):
        line = "[info] samples: 16 made, 11 read, 3 snapshots, 4 wakers; 14 delivered, 2 unwanted, 1 dropped\n"
        self.assertEqual(account_of(line), (16, 11, 3, 4, 14, 2, 1))
        self.assertEqual(account_of(line).unaccounted, 2)
        self.assertIsNone(account_of("stopping\n"))

    def test_a_window(self):
        thread = {"tid": 7, "begin_ns": "1000", "end_ns": "2000", "clock": {"on_cpu_ns": "600", "blocked_iowait_ns": "399"}}
        profile = {"start_ns": "1000", "end_ns": "2000", "threads": [thread, {**thread, "clock_missing": True, "clock": {}}],
                   "samples": {"state": ["STATE_ON_CPU", "STATE_BLOCKED", "STATE_ON_CPU"], "count": [2, 5, 1]},
                   "counters": [{"name": "on_cpu_samples", "count": "4"}], "lost": [{"name": "clocks_unread", "count": "1"}]}
        found = window_of(profile, 3.0)
        self.assertAlmostEqual(found.closure, 0.001)
        self.assertEqual((found.threads, len(found.without_clock), found.on_cpu_points, found.made_on_cpu, found.lost, found.dropped),
                         (2, 1, 3, 4, {"clocks_unread": 1}, {}))

    def test_table_and_picture(self):
        seen = looks()
        self.assertEqual(len(table(seen, WINDOWS).splitlines()), 8)
        drawn = picture(seen, WINDOWS, "a title & more")
        self.assertIn("a title &amp; more", drawn)
        self.assertLess(len(drawn), 60_000)
        self.assertGreater(len(seen), MOST_POINTS)


if __name__ == "__main__":
    unittest.main()
