"""More than profd can take: it is alive and answers, says what it did not deliver, and exact clocks close."""

import os
import sqlite3
import subprocess
import time
import unittest

from daemon import OverloadTest, threads_lost

THREADS = 10_000
FORKS = 3_000
CLIENTS = 50
SWITCHES = 200_000  # a second


class Overload(OverloadTest):
    def test_ten_thousand_threads_have_a_clock_each(self):
        daemon = self.start_daemon()
        load = self.start_load("threads", THREADS)
        profile = self.collect("-p", str(load.pid), "-d", "2s")
        threads = self.expect_whole(profile)
        # And its first one.
        self.assertEqual(len(threads), THREADS + 1)
        self.assertFalse([thread for thread in threads if thread.get("clock_missing")])
        self.expect_alive(daemon)

    def test_switches_as_fast_as_all_cpus_can(self):
        daemon = self.start_daemon()
        before = self.status()["switches"]
        load = self.start_load("switches")
        at, then = time.monotonic(), self.status()["switches"]
        profile = self.collect("-a", "-d", "3s")
        rate = (self.status()["switches"] - then) / (time.monotonic() - at)
        load.stdin.close()
        rounds = int(load.stdout.read())
        # Each wakes the other and waits: two switches, unless both stay awake. All are counted.
        self.assertGreater(rounds, 0)
        self.assertGreaterEqual(self.status()["switches"] - before, rounds)
        mine = [thread for thread in self.expect_whole(profile)
                if profile["processes"][thread.get("process", 0)]["pid"] == load.pid]
        self.assertEqual(len(mine), 1 + 2 * len(os.sched_getaffinity(0)))
        self.expect_alive(daemon)
        if rate < SWITCHES:
            self.skipTest(f"all of it held, but at {rate:,.0f} switches/s: here it takes more CPUs to reach {SWITCHES:,}")

    def test_clocks_that_cost_too_much_are_the_kernels(self):
        # Of all CPUs: two switches in a millisecond are more than that.
        daemon = self.start_daemon("--clock-limit", "0.01")
        load = self.start_load("switches")
        while not self.status()["budget"]["kernel_accounting"]:
            pass
        windows = self.status()["history"]["windows"]
        self.await_history(lambda history: history["windows"] > windows + 1)
        out = self.path("history.json")
        done = subprocess.run(self.profctl("query", "-q", "--since", "1h", "--pid", str(load.pid), "-o", out),
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        accounted = self.read(out)
        self.expect_whole(accounted)
        self.assertIn("clocks_by_kernel_accounting", [note["name"] for note in accounted["counters"]])
        # Whoever asks for it has its clock, with every switch.
        requested = self.expect_whole(self.collect("-p", str(load.pid), "-d", "1s"))
        counted = sum(int(thread["clock"].get("blocked_interruptible_count", 0)) for thread in requested)
        self.assertGreater(counted, 0)
        load.stdin.close()
        self.assertGreater(int(load.stdout.read()), 0)
        self.expect_alive(daemon)

    def test_an_end_in_the_middle_of_it_all_keeps_what_there_is(self):
        daemon = self.start_daemon()
        self.start_load("threads", 500)
        out = self.path("out.json")
        with subprocess.Popen(self.profctl("collect", "-q", "-a", "-F", "999", "-d", "1h", "-v", "-o", out),
                              stderr=subprocess.PIPE, text=True) as collecting:
            for line in collecting.stderr:
                if "collecting" in line:
                    break
            self.await_history(lambda history: history["windows"] > 0)
            daemon.terminate()
            self.assertEqual(daemon.wait(), 0)
            said = collecting.stderr.read()
        self.assertEqual(collecting.returncode, 0, said)
        self.assertGreater(len(self.expect_whole(self.read(out))), 500)

    def test_a_fork_storm(self):
        daemon = self.start_daemon()
        with subprocess.Popen(self.profctl("collect", "-q", "-a", "-d", "1h", "-v", "-o", self.path("out.json")),
                              stderr=subprocess.PIPE, text=True) as collecting:
            for line in collecting.stderr:
                if "collecting" in line:
                    break
            load = self.start_load("forks", FORKS)
            self.assertEqual(load.wait(), 0)
            collecting.send_signal(2)
            collecting.stderr.read()
        profile = self.read(self.path("out.json"))
        threads = self.expect_whole(profile)
        born = [thread for thread in threads if thread.get("comm") == "overload"]
        # Whoever is not there was counted; its parent is there, too.
        self.assertGreaterEqual(len(born) + threads_lost(profile), FORKS)
        self.expect_alive(daemon)

    def await_history(self, what):
        """The history's status once `what` holds for it; CTest's time-out is the only limit."""
        while not what(history := self.status()["history"]):
            pass
        return history

    def test_a_disk_that_takes_nothing_costs_windows_that_are_counted(self):
        daemon = self.start_daemon()
        before = self.await_history(lambda history: history["windows"] > 0)
        self.assertEqual(before["windows_lost"] + before["failed_puts"], 0)
        # Whoever holds the lock stands for a disk that does not answer: a commit waits, then fails.
        other = sqlite3.connect(os.path.join(self.path("history"), "history.db"), isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        profile = self.collect("-p", str(os.getpid()), "-d", "1s")
        self.expect_whole(profile)
        lost = self.await_history(lambda history: history["windows_lost"] + history["failed_puts"] > 0)
        other.execute("ROLLBACK")
        self.await_history(lambda history: history["windows"] > lost["windows"])
        self.expect_alive(daemon)

    def test_fifty_clients_at_once_get_a_profile_or_a_reason(self):
        daemon = self.start_daemon()
        load = self.start_load("threads", 50)
        clients = [subprocess.Popen(self.profctl("collect", "-q", "-p", str(load.pid), "-d", "2s", "-o",
                                                 self.path(f"{i}.json")), stderr=subprocess.PIPE, text=True)
                   for i in range(CLIENTS)]
        refused = 0
        for i, client in enumerate(clients):
            words = client.communicate()[1]
            if client.returncode == 0:
                self.expect_whole(self.read(self.path(f"{i}.json")))
            else:
                # There are sessions for all of them, and for the history.
                self.assertIn("profd is near its memory cap: no new session", words)
                refused += 1
        # Memory of idle clients and of one small process: most of the cap is left.
        self.assertLess(refused, CLIENTS)
        self.assertFalse(self.status()["sessions"])
        self.expect_alive(daemon)


if __name__ == "__main__":
    unittest.main()
