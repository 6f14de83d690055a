"""Loads beyond what profd can handle: it survives and answers, counts what it did not deliver, and its clocks add up."""

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
        self.assertEqual(len(threads), THREADS + 1)  # and the main thread
        self.assertFalse([thread for thread in threads if thread.get("clock_missing")])
        self.expect_alive(daemon)

    def test_switches_as_fast_as_all_cpus_can(self):
        # In snapshot mode the history counts none.
        daemon = self.start_daemon("--history-mode", "hooks")
        before = self.status()["switches"]
        load = self.start_load("switches")
        at, then = time.monotonic(), self.status()["switches"]
        profile = self.collect("-a", "-d", "3s")
        rate = (self.status()["switches"] - then) / (time.monotonic() - at)
        load.stdin.close()
        rounds = int(load.stdout.read())
        # In each round a thread wakes the other and waits: at least one switch, and all are counted.
        self.assertGreater(rounds, 0)
        self.assertGreaterEqual(self.status()["switches"] - before, rounds)
        mine = [thread for thread in self.expect_whole(profile)
                if profile["processes"][thread.get("process", 0)].get("pid") == load.pid]
        self.assertEqual(len(mine), 1 + 2 * len(os.sched_getaffinity(0)))
        self.expect_alive(daemon)
        if rate < SWITCHES:
            self.skipTest(f"passed at {rate:,.0f} switches/s; {SWITCHES:,} need more CPUs than this host has")

    def test_clocks_that_cost_too_much_make_way_for_snapshot_mode(self):
        # 0.01 % of all CPUs: two switches in a millisecond cost more than that.
        daemon = self.start_daemon("--history-mode", "hooks", "--clock-limit", "0.01")
        load = self.start_load("switches")
        self.await_status("no hooks", lambda status: status["budget"]["hooks_refused"])
        windows = self.status()["history"]["windows"]
        self.await_history(lambda history: history["windows"] > windows + 1)
        out = self.path("history.json")
        done = subprocess.run(self.profctl("query", "-q", "--since", "1h", "--pid", str(load.pid), "-o", out),
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = self.read(out)
        self.expect_whole(kept)
        self.assertIn("clocks_by_kernel_accounting", [note["name"] for note in kept["counters"]])
        # A requested session begins without hooks, too, and says so.
        requested = self.collect("-p", str(load.pid), "-d", "1s")
        self.expect_whole(requested)
        self.assertEqual(requested["hook"], "none (snapshots)")
        load.stdin.close()
        self.assertGreater(int(load.stdout.read()), 0)
        self.expect_alive(daemon)

    def test_a_session_keeps_what_it_has_when_profd_ends(self):
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
        # Those that are short-lived and alike are one row.
        born = sum(thread.get("group_size", 1) for thread in threads if thread.get("comm") == "overload")
        # Every process is either in the profile or counted as lost. The parent is in the profile, too.
        self.assertGreaterEqual(born + threads_lost(profile), FORKS)
        self.expect_alive(daemon)

    def await_history(self, what):
        """The history's status once `what` holds for it."""
        return self.await_status("the history", lambda status: what(status["history"]))["history"]

    def test_windows_that_the_disk_refuses_are_counted(self):
        daemon = self.start_daemon()
        before = self.await_history(lambda history: history["windows"] > 0)
        self.assertEqual(before["windows_lost"] + before["failed_puts"], 0)
        # A lock held by another process acts like a disk that does not respond: a commit waits, then fails.
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
                # There are enough sessions for all clients and the history; only memory may be short.
                self.assertIn("profd is near its memory cap: no new session", words)
                refused += 1
        # Idle clients and one small process take little memory, so profd serves some of the clients.
        self.assertLess(refused, CLIENTS)
        self.assertFalse(self.status()["sessions"])
        self.expect_alive(daemon)


if __name__ == "__main__":
    unittest.main()
