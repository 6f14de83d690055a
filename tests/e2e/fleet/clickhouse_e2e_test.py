"""What a real profd exports into a real ClickHouse engine: sums, repetitions, failures, and the SQL of the documents."""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from clickhouse_store import SOURCE, Store, missing  # noqa: E402
from exporting_profd import PROGRAM, ExportingProfd, PprofSums  # noqa: E402
from running_profd import PROFCTL, PROFD  # noqa: E402

SERVICE = "stored-program"
# Two of them give a byte to each other in turn, and keep it for a while.
PAIR = r"""
#include <time.h>
#include <unistd.h>
int main(void) {
  char byte;
  struct timespec t = {0, 20000000};
  while (read(0, &byte, 1) == 1) { nanosleep(&t, 0); if (write(1, &byte, 1) != 1) break; }
}
"""
HOST = os.uname().nodename
NANOSECOND = 1_000_000_000
NO_DATA = 3  # exit code of profctl


def utc(unix_ns):
    second, rest = divmod(unix_ns, NANOSECOND)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)) + f".{rest:09}Z"


class WithStore(ExportingProfd):
    def setUp(self):
        super().setUp()
        if why := missing():
            self.skipTest(why)
        self.program = self.compile(PROGRAM, SERVICE)
        self.store = None
        self.addCleanup(lambda: self.store and self.store.stop())

    def await_true(self, condition, what, within=300):
        """The exporter has the lowest priority, and pauses grow with each failure."""
        return super().await_true(condition, what, within)

    def start_store(self, port=0):
        self.store = Store(self.path("clickhouse"), port)
        self.store.make_tables()
        return self.store

    def address_of_store(self):
        return self.store.url()

    def clickhouse(self, more=""):
        return f'name = "store"\nto = "{self.address_of_store()}"\ninterval = "2s"\n{more}\n'

    def await_windows(self, count, above=0):
        self.await_true(lambda: self.store.value(f"SELECT count() FROM host_window WHERE toUnixTimestamp(time) > {above}")
                        >= count, f"{count} windows in the store")

    def said(self):
        """What profd says of the export."""
        return json.loads(self.profctl("status", "--json").stdout)["exports"][0]

    def gaps(self):
        gaps = self.said()["gaps_ns"]
        return {gap["name"]: int(gap["count"]) for gap in gaps}

    def sums(self, table, with_wait=False):
        """{begin of a window: {(service, state): ns}} of complete windows."""
        sums = collections.defaultdict(collections.Counter)
        wait = ", wait" if with_wait else ""
        for row in self.store.rows(f"SELECT toUnixTimestamp(time) AS begin, service, state{wait}, sum(ns) AS ns FROM {table} "
                                   f"WHERE time IN (SELECT time FROM host_window) GROUP BY begin, service, state{wait}"):
            key = (row["service"], row["state"]) + ((row["wait"],) if with_wait else ())
            sums[int(row["begin"])][key] += int(row["ns"])
        return sums

    def check_store(self):
        """Nothing is there twice, nothing is missing: every table says the same of every window."""
        clocks = self.sums("clock", with_wait=True)
        self.assertEqual(self.sums("sample", with_wait=True), clocks)
        windows = self.store.rows("SELECT toUnixTimestamp(time) AS begin, host, seconds, rows, other_ns FROM host_window "
                                  "ORDER BY time")
        self.assertEqual(len(windows), len({row["begin"] for row in windows}))
        self.assertEqual({row["host"] for row in windows}, {HOST})
        counts = {int(row["begin"]): int(row["rows"]) for row in self.store.rows(
            "SELECT toUnixTimestamp(time) AS begin, count() AS rows FROM sample GROUP BY begin")}
        for row in windows:
            self.assertEqual(int(row["rows"]), counts.get(int(row["begin"]), 0))
        lost = self.store.rows("SELECT service, hash FROM sample WHERE (service, hash) NOT IN (SELECT service, hash FROM stack)")
        self.assertEqual(lost, [], "every stack of a row is there")
        hours = self.store.rows("SELECT (SELECT sum(ns) FROM stack_hour) AS folded, (SELECT sum(ns) FROM sample) AS all")
        self.assertEqual(hours[0]["folded"], hours[0]["all"])
        return clocks

    def check_all_is_there(self):
        self.check_store()
        self.check_none_is_missing()
        self.assertEqual(self.gaps(), {})

    def check_none_is_missing(self):
        """Every window that the export to files has is in the store: a busy host loses some before either has them."""
        stored = {int(row["begin"]) for row in self.store.rows("SELECT toUnixTimestamp(time) AS begin FROM host_window")}
        written = {PprofSums(self, path).begin // NANOSECOND for path in self.written()}
        between = {begin for begin in written if min(stored) < begin < max(stored)}
        self.assertTrue(between)
        self.assertEqual(between - stored, set())


class Sums(WithStore):
    def test_are_those_of_the_history(self):
        self.start_store()
        self.run_program()
        self.export(self.clickhouse(), self.files())
        self.await_windows(5)
        files = {sums.begin // NANOSECOND: sums for sums in map(lambda path: PprofSums(self, path), self.await_true(
            lambda: len(self.written()) >= 5 and self.written()[:5], "five files"))}
        clocks = self.check_store()
        self.check_none_is_missing()
        states = self.sums("clock")
        common = sorted(states.keys() & files.keys())
        self.assertGreaterEqual(len(common), 4)
        for begin in common:
            self.assertEqual(states[begin], files[begin].by_state)
            self.check_program(clocks[begin], files[begin])
        self.check_query({begin: files[begin] for begin in common}, states)
        self.check_stacks()
        self.assertIsNone(re.search(r"fails:|never sent", self.status()))

    def check_program(self, clocks, file):
        ns = {key: value for key, value in clocks.items() if key[0] == SERVICE}
        # See export_e2e_test.py: a thread that lives all the time has as many ns as the time has.
        self.assertAlmostEqual(sum(ns.values()) / (file.end - file.begin), 1, delta=0.001)
        self.assertEqual(sum(value for (_, state, _), value in ns.items() if state == "blocked"),
                         file.by_state[SERVICE, "blocked"])
        for (_, state, wait), _ in ns.items():
            self.assertEqual(wait != "", state == "blocked")

    def check_query(self, files, states):
        """`profctl list` over the same windows has the same clocks."""
        first, last = files[min(files)], files[max(files)]
        listed = self.profctl("list", "--from", utc(first.begin + NANOSECOND // 10), "--to", utc(last.end - NANOSECOND // 10),
                              "--json")
        sums = collections.Counter()
        for row in json.loads(listed.stdout)["rows"]:
            sums["on_cpu"] += row["on_cpu_ns"]
            for state in ("runnable", "blocked", "stolen"):
                sums[state] += row[f"{state}_ns"]
        stored = collections.Counter()
        for begin in files:
            for (_, state), ns in states[begin].items():
                stored["on_cpu" if state in ("running", "spinning") else state] += ns
        self.assertEqual(stored, sums)

    def check_stacks(self):
        named = self.store.rows("SELECT DISTINCT arrayJoin(functions) AS name FROM stack WHERE service = '%s'" % SERVICE)
        self.assertLessEqual({"busy_part", "main"}, {row["name"] for row in named})
        for row in self.store.rows("SELECT functions, modules, files, kinds FROM stack"):
            self.assertTrue(row["functions"])
            self.assertEqual(len({len(column) for column in row.values()}), 1)
            self.assertFalse([module for module in row["modules"] if "/" in module])
        self.assertTrue(self.store.rows("SELECT 1 AS x FROM stack WHERE has(files, '%s') OR has(modules, '%s') LIMIT 1"
                                        % (SERVICE, SERVICE)))

    def test_stay_closed_under_a_limit(self):
        self.start_store()
        self.run_program()
        self.export(self.clickhouse("rows = 10"))
        self.await_windows(3)
        self.check_store()
        other = self.store.rows("SELECT toUnixTimestamp(time) AS begin, sum(ns) AS ns FROM sample WHERE (service, hash) IN "
                                "(SELECT service, hash FROM stack WHERE functions = ['(other)']) GROUP BY begin ORDER BY begin")
        said = self.store.rows("SELECT toUnixTimestamp(time) AS begin, other_ns AS ns FROM host_window WHERE other_ns > 0 "
                               "ORDER BY begin")
        self.assertTrue(other)
        self.assertEqual(other[:len(said)], said)


class Failures(WithStore):
    def test_requests_that_come_twice_are_there_once(self):
        self.start_store()
        self.store.repeat()
        self.run_program()
        self.export(self.clickhouse('request = "64KiB"'), self.files())
        self.await_windows(4)
        self.check_store()
        self.check_none_is_missing()

    def test_a_server_that_comes_back_gets_all(self):
        self.start_store()
        self.run_program()
        self.export(self.clickhouse(), self.files())
        self.await_windows(2)
        self.store.stop()
        self.await_true(lambda: re.search(r"; ([2-9]|\d\d+) wait", self.status()), "windows wait")
        self.await_true(lambda: "fails: http: " in self.status(), "the failure is said")
        port = self.store.port
        seen = int(time.time())
        self.store = Store(self.path("clickhouse"), port)
        self.await_windows(1, above=seen)
        self.check_all_is_there()

    def test_a_server_that_stands_still_gets_all_once(self):
        self.start_store()
        self.run_program()
        self.export(self.clickhouse('timeout = "2s"'), self.files())
        self.await_windows(2)
        os.kill(self.store.process.pid, signal.SIGSTOP)
        try:
            self.await_true(lambda: "Timeout was reached" in self.said()["last_error"], "the time-out is said")
            self.await_true(lambda: re.search(r"; ([2-9]|\d\d+) wait", self.status()), "windows wait")
            seen = int(time.time())
        finally:
            os.kill(self.store.process.pid, signal.SIGCONT)
        self.await_windows(1, above=seen)
        self.check_all_is_there()

    def test_a_server_whose_disk_is_full_is_waited_for(self):
        self.start_store()
        self.store.fail("sample", 243, 500, 3)  # NOT_ENOUGH_SPACE
        self.run_program()
        self.export(self.clickhouse(), self.files())
        self.await_true(lambda: "Code: 243" in self.said()["last_error"], "the full disk is said")
        self.await_windows(3)
        self.check_all_is_there()
        self.assertEqual(self.said()["last_error"], "")

    def test_after_a_start_stacks_of_before_do_not_come_again(self):
        self.start_store()
        self.run_program()
        daemon = self.export(self.clickhouse())
        self.await_windows(2)
        self.await_true(lambda: os.path.exists(self.path("history/exports/store/sent_stacks")), "what was sent is written down")
        self.end_in_time(daemon)
        started = int(time.time())
        self.start()
        self.await_windows(3, above=started)
        # What the first window has had is what is written down.
        first = "(service, hash) IN (SELECT service, hash FROM sample WHERE time = (SELECT min(time) FROM host_window))"
        used = self.store.value(f"SELECT count() FROM sample WHERE toUnixTimestamp(time) > {started} AND {first}")
        self.assertGreater(used, 0)
        again = self.store.value(f"SELECT count() FROM stack WHERE toUnixTimestamp(last_seen) > {started} AND {first}")
        self.assertEqual(again, 0)
        self.check_store()

    def test_codes_decide_not_statuses(self):
        self.start_store()
        self.run_program()
        self.store.fail("clock", 241, 503, 2)
        self.export(self.clickhouse())
        self.await_windows(2)
        self.assertEqual(self.gaps(), {}, "tried again")
        self.check_store()
        # A bad row is bad for ever, though the status is that of a server in trouble.
        self.store.fail("sample", 49, 500, 1)
        self.await_true(self.gaps, "a window is given up")
        seen = int(time.time())
        self.await_windows(1, above=seen)
        gaps = self.gaps()
        self.assertEqual(set(gaps), {"refused_clickhouse_49"})
        reported = self.store.rows("SELECT sum(gaps['refused_clickhouse_49']) AS ns FROM host_window")
        self.assertEqual(int(reported[0]["ns"]), gaps["refused_clickhouse_49"])
        self.check_store()

    def test_tables_that_are_missing_are_waited_for(self):
        self.start_store()
        self.store.post("/?database=profd", b"DROP TABLE sample")
        self.run_program()
        self.export(self.clickhouse())
        self.await_true(lambda: "`profctl fleet init` creates the tables" in self.said()["last_error"], "the remedy is said")
        self.assertEqual(self.gaps(), {})
        made = subprocess.run([PROFCTL, "fleet", "init", "--to", self.address_of_store()], capture_output=True, text=True,
                              check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.await_windows(2)

    def test_a_full_spool_is_a_gap_and_no_stack_is_missing(self):
        self.start_store()
        self.store.stop()
        self.run_program()
        self.export(self.clickhouse('interval = "1s"\nspool = "1MiB"\ncompression = "none"').replace('interval = "2s"\n', ""))
        self.await_true(lambda: self.gaps().get("spool_full"), "the spool is full")
        self.store = Store(self.path("clickhouse"), self.store.port)
        seen = int(time.time())
        self.await_windows(1, above=seen)
        self.check_store()
        reported = self.store.value("SELECT sum(gaps['spool_full']) FROM host_window")
        self.assertGreater(reported, 0)


class Tables(WithStore):
    def fleet(self, *arguments, **environment):
        return subprocess.run([PROFCTL, "fleet", *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, **environment})

    def test_init_is_done_once_and_again(self):
        self.store = Store(self.path("clickhouse"))
        first = self.fleet("init", "--to", self.address_of_store())
        self.assertEqual((first.returncode, first.stdout), (0, ""), first.stderr)
        self.assertIn("made the tables of version 3 in profd", first.stderr)
        tables = self.store.rows("SELECT name FROM system.tables WHERE database = 'profd' ORDER BY name")
        self.assertEqual([row["name"] for row in tables if not row["name"].startswith(".")],
                         ["clock", "function_hour", "host_window", "path", "sample", "schema_version", "stack", "stack_hour",
                          "stack_hour_from_sample"])
        again = self.fleet("init", "--to", self.address_of_store())
        self.assertEqual(again.returncode, 0)
        self.assertIn("the tables of version 3 in profd", again.stderr)
        self.assertEqual(self.store.value("SELECT count() FROM schema_version"), 1)
        # Half of them, as after a loss of the connection.
        self.store.post("/?database=profd", b"DROP TABLE clock")
        self.assertEqual(self.fleet("init", "--to", self.address_of_store()).returncode, 0)
        self.assertEqual(self.store.value("SELECT count() FROM clock"), 0)

    def test_older_tables_are_brought_up_to_date(self):
        self.store = Store(self.path("clickhouse"))
        first = re.split(r"\n-- Version 2\.", self.fleet("schema").stdout)[0]
        for text in first.split(";\n"):
            if text.strip() and not text.startswith("USE "):
                self.store.post("/?database=" + ("default" if "CREATE DATABASE" in text else "profd"), text.encode())
        self.store.run("INSERT INTO schema_version SELECT 1, '0.9.0', now()")
        self.store.run("INSERT INTO host_window (host, time, seconds) SELECT 'web-1', now(), 60")
        done = self.fleet("init", "--to", self.address_of_store())
        self.assertIn("brought up to the tables of version 3 in profd", done.stderr)
        self.assertEqual(self.store.value("SELECT count() FROM host_window WHERE nanosecond = 0"), 1)
        # Those of an older profd still come, and two windows of one second are two; the same one is one.
        self.store.run("INSERT INTO host_window (host, time, seconds) SELECT 'web-1', now() + 60, 60")
        begin = int(time.time()) - 60
        for nanosecond in (7, 8, 8):
            self.store.run("INSERT INTO host_window (host, time, nanosecond, seconds) "
                           f"SELECT 'web-2', toDateTime({begin}), {nanosecond}, 1")
        self.store.run("OPTIMIZE TABLE host_window FINAL")
        self.assertEqual(self.store.value("SELECT count() FROM host_window WHERE host = 'web-1'"), 2)
        self.assertEqual(self.store.value("SELECT count() FROM host_window WHERE host = 'web-2'"), 2)

    def test_tables_of_a_newer_profctl_are_left_alone(self):
        self.start_store()
        self.store.post("/?database=profd", b"INSERT INTO schema_version SELECT 7, 'later', now()")
        self.store.post("/?database=profd", b"DROP TABLE clock")
        refused = self.fleet("init", "--to", self.address_of_store())
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("are of version 7; this profctl knows version 3", refused.stderr)
        self.assertEqual(self.store.value("SELECT count() FROM system.tables WHERE database = 'profd' AND name = 'clock'"), 0)

    def test_the_password_goes_by_variable_or_file(self):
        self.store = Store(self.path("clickhouse"))
        address = self.address_of_store().replace("://", "://admin@")
        self.assertEqual(self.fleet("init", "--to", address, PROFD_FLEET_PASSWORD="secret one").returncode, 0)
        with open(self.path("password"), "w", encoding="utf-8") as file:
            file.write("from a file\n")
        self.assertEqual(self.fleet("init", "--to", address, "--fleet-password-from", self.path("password")).returncode, 0)
        seen = {(entry["user"], entry["key"]) for entry in json.loads(self.store.post("/front/seen"))}
        self.assertEqual(seen, {("admin", "secret one"), ("admin", "from a file")})
        refused = self.fleet("init", "--to", address.replace("admin@", "admin:secret@"))
        self.assertEqual(refused.returncode, 2)
        self.assertNotIn("secret", refused.stderr)

    def test_no_server_is_an_error_with_its_own_code(self):
        self.store = Store(self.path("clickhouse"))
        address = self.address_of_store()
        self.store.stop()
        refused = self.fleet("init", "--to", address)
        self.assertEqual(refused.returncode, 4, refused.stderr)
        self.store = None

    def test_the_statements_of_a_cluster_are_read_by_the_engine(self):
        self.store = Store(self.path("clickhouse"))
        printed = self.fleet("schema", "--cluster", "main").stdout
        statements = [text.strip() for text in printed.split(";\n") if text.strip()]
        self.assertEqual(len([text for text in statements if "Distributed('main', 'profd'," in text]), 6)
        for text in statements:
            if not text.startswith("USE "):
                self.assertIn("ON CLUSTER 'main'", text)
                self.store.post("/?database=default", b"EXPLAIN AST " + text.encode())
        granted = self.fleet("grant", "--agent", "profd", "--reader", "grafana", "--cluster", "main").stdout
        for text in granted.split(";\n"):
            if text.strip():
                self.store.post("/?database=default", b"EXPLAIN AST " + text.encode())

    def test_what_schema_prints_makes_the_tables(self):
        self.store = Store(self.path("clickhouse"))
        for text in self.fleet("schema").stdout.split(";\n"):
            if text.strip() and not text.startswith("USE "):
                self.store.post("/?database=" + ("default" if "CREATE DATABASE" in text else "profd"), text.encode())
        self.assertEqual(self.store.value("SELECT count() FROM sample"), 0)


class OnWhom(WithStore):
    """A host in hook mode knows on whom threads wait; one in snapshot mode beside it, the same machine by another name, does not."""

    BESIDE = "beside"
    CHAIN = "truth"  # its threads chain-a, chain-b and chain-c wait for each other, in this order

    def setUp(self):
        super().setUp()
        self.start_store()

    def keep(self):
        """Both hosts deliver what is of the program, in windows of seconds."""
        # The shares want samples, however busy the machine is.
        self.export(self.clickhouse("rows = 100000"),
                    more='mode = "hooks"\nfrequency = 299\nbudget = 0\n[clock]\nlimit = 0\n[memory]\ncap = "512MiB"')
        with open(self.path("beside.toml"), "w", encoding="utf-8") as file:
            file.write(f'[history]\ndirectory = "{self.path("beside")}"\nwindow = "1s"\ncompact = "2s"\n'
                       "[[export]]\n" + self.clickhouse("rows = 100000"))
        with open(self.path("beside.log"), "wb") as log:
            beside = subprocess.Popen([PROFD, "--listen", "unix:" + self.path("beside.sock"), "--config", self.path("beside.toml")],
                                      env={**os.environ, "PROFD_HOST_NAME": self.BESIDE}, stdin=subprocess.DEVNULL, stderr=log)
        self.addCleanup(beside.wait)
        self.addCleanup(beside.kill)

    def hosts_until(self, unix_s):
        rows = self.store.rows(f"SELECT DISTINCT host FROM host_window WHERE toUnixTimestamp(time) > {unix_s}")
        return {row["host"] for row in rows}

    def run_chain(self):
        """Until both hosts have delivered all of it. The range of time that it is in, for options."""
        self.await_true(lambda: self.hosts_until(0) == {HOST, self.BESIDE}, "windows of both hosts")
        first = int(time.time()) - 2
        subprocess.run([os.path.join(os.environ["PROFD_BINARY_DIR"], "testprogs", "truth"), "chain", "--ms", "6000"], check=True,
                       capture_output=True)
        ended = int(time.time()) + 1
        self.await_true(lambda: self.hosts_until(ended) == {HOST, self.BESIDE}, "the windows of the program")
        return "--from", utc(first * NANOSECOND), "--to", utc(ended * NANOSECOND)

    def fleet(self, verb, *arguments):
        done = subprocess.run([PROFCTL, verb, "--fleet", self.address_of_store(), "--service", self.CHAIN, *arguments],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def waits(self, text):
        """ns of a table of waits by waiter, reason and who ended them; of other processes as one, as their names differ. Rows of a
        fleet do not say why they have no path: of these a host may say that they were not sampled."""
        sums = collections.Counter()
        for row in json.loads(text)["rows"]:
            ended_by = "another process" if "/" in row["ended_by"] else row["ended_by"]
            ended_by = "not known" if ended_by in ("[not sampled]", "[wake-up not seen]") else ended_by
            sums[row["waiter"], row["reason"], ended_by] += row["ns"]
        return +sums

    def test_a_fleet_says_what_its_host_says(self):
        self.keep()
        # A host that is busy enough loses the samples of a whole run, or its windows; then it is done again.
        for _ in range(3):
            times = self.run_chain()
            host = self.profctl("waits", *times, "--exe", self.CHAIN, "-f", "json")
            if host.returncode == NO_DATA:
                continue
            self.assertEqual(host.returncode, 0, host.stderr)
            of_host = self.waits(host.stdout)
            if of_host["chain-a", "lock", "chain-b"] and "[waits for chain-c];[timer]" in self.profctl(
                    "query", *times, "--exe", self.CHAIN, "--on-whom", "-f", "folded").stdout:
                break
        self.assertEqual(host.returncode, 0, host.stderr)
        whole = self.fleet("waits", "--host", HOST, *times, "-f", "json")
        of_fleet = self.waits(whole.stdout)
        self.assertEqual(of_fleet, of_host)
        ended_by = collections.Counter()
        for (waiter, _, waker), ns in of_fleet.items():
            if waiter == "chain-a" and waker not in ("not known", "[still waits]", "[samples lost]"):
                ended_by[waker] += ns
        self.assertEqual(max(ended_by, key=ended_by.get, default=None), "chain-b", of_fleet)
        self.assertRegex(whole.stderr, r"of (\d+\.\d) % of the blocked time the waker is known: 1 of 1 host keeps wakers")
        ends = {(end["thread"], end["how"]) for row in json.loads(whole.stdout)["rows"]
                if (row["waiter"], row["ended_by"]) == ("chain-a", "chain-b") for end in row["ends"]}
        self.assertLessEqual({("chain-b", "runs"), ("chain-c", "runs"), ("chain-c", "timer")}, ends)
        self.check_hosts(times)
        self.check_other_ways(times)
        self.check_rows()

    def check_hosts(self, times):
        both = self.fleet("waits", *times)
        said = re.search(r"of (\d+\.\d) % of the blocked time the waker is known: 1 of 2 hosts keeps wakers", both.stderr)
        self.assertTrue(said, both.stderr)
        begin, end = (f"parseDateTimeBestEffort('{time}')" for time in times[1::2])
        known = self.store.rows(
            "SELECT sumIf(ns, (service, path) IN (SELECT service, hash FROM path WHERE kinds[1] NOT IN ('still_waits', "
            "'not_followed', 'not_seen', 'lost', 'too_long'))) / sum(ns) AS share FROM sample "
            f"WHERE service = '{self.CHAIN}' AND state = 'blocked' AND time >= {begin} AND time < {end}")[0]["share"]
        self.assertAlmostEqual(float(said.group(1)) / 100, known, delta=0.001)
        self.assertTrue(0 < known < 0.6, known)  # the other host has as much of the time
        self.assertRegex(both.stdout, r"chain-a +lock +chain-b ")
        self.assertRegex(both.stdout, r"chain-a +lock +\[wake-up not seen\] ")
        alone = self.fleet("waits", "--host", self.BESIDE, *times)
        self.assertIn("on whom threads wait is not exported by these hosts", alone.stderr)
        self.assertNotIn("chain-b ", re.sub(r"(?s)where they wait.*", "", alone.stdout))

    def check_other_ways(self, times):
        folded = self.fleet("query", *times, "--host", HOST, "--on-whom", "-f", "folded")
        self.assertIn("[waits for chain-b];[waits for chain-c];[timer]", folded.stdout)
        self.assertIn("1 of 1 host keeps wakers", folded.stderr)
        stacks = self.fleet("query", *times, "--host", HOST, "--on-whom=stacks", "-f", "folded").stdout
        self.assertRegex(stacks, r"\[waits for chain-b\];.*truth::ComputeB")
        report = self.fleet("report", *times, "--by", "on-whom")
        self.assertIn("chain-b", report.stdout)
        self.assertIn("1 of 2 hosts keeps wakers", report.stderr)
        without = self.fleet("query", *times, "--host", self.BESIDE, "--on-whom", "-f", "folded")
        self.assertIn("--on-whom shows nothing", without.stderr)
        self.assertNotIn("waits for", without.stdout)

    def check_rows(self):
        self.assertEqual(self.store.value(f"SELECT count() FROM sample WHERE host = '{self.BESIDE}' AND path != 0"), 0)
        self.assertEqual(self.store.value("SELECT count() FROM sample WHERE state != 'blocked' AND path != 0"), 0)
        self.assertGreater(self.store.value(f"SELECT count() FROM sample WHERE host = '{HOST}' AND path != 0"), 0)
        lost = self.store.rows("SELECT service, path FROM sample WHERE path != 0 AND (service, path) NOT IN "
                               "(SELECT service, hash FROM path)")
        self.assertEqual(lost, [], "every path of a row is there")
        lost = self.store.rows("SELECT service, stack FROM path ARRAY JOIN stacks AS stack WHERE stack != 0 AND (service, stack) "
                               "NOT IN (SELECT service, hash FROM stack)")
        self.assertEqual(lost, [], "and every stack of a path")
        different = self.store.rows("SELECT host, state, wait, sum(a) AS of_samples, sum(b) AS of_clocks FROM "
                                    "(SELECT host, time, state, wait, ns AS a, 0 AS b FROM sample UNION ALL "
                                    "SELECT host, time, state, wait, 0 AS a, ns AS b FROM clock) WHERE (host, time) IN "
                                    "(SELECT host, time FROM host_window) GROUP BY host, state, wait HAVING of_samples != of_clocks")
        self.assertEqual(different, [])

    def test_a_limit_keeps_sums_closed(self):
        self.run_program()
        self.export(self.clickhouse("rows = 30"), more='mode = "hooks"')
        self.await_windows(3)
        self.check_store()
        other = "(service, hash) IN (SELECT service, hash FROM stack WHERE functions = ['(other)'])"
        self.assertGreater(self.store.value(f"SELECT count() FROM sample WHERE {other}"), 0)
        self.assertEqual(self.store.value(f"SELECT count() FROM sample WHERE path != 0 AND {other}"), 0)

    def test_tables_of_version_2_take_what_they_know_and_wait_for_the_rest(self):
        for sql in ("ALTER TABLE sample DROP COLUMN path", "DROP TABLE path"):
            self.store.run(sql)
        self.store.run("TRUNCATE TABLE schema_version")
        self.store.run("INSERT INTO schema_version SELECT 2, '0.9.0', now()")
        self.program = self.compile(PROGRAM, self.CHAIN)
        self.run_program()
        self.keep()
        self.await_true(lambda: "`profctl fleet init` creates the tables" in self.said()["last_error"], "the remedy is said")
        self.await_true(lambda: self.hosts_until(0) == {self.BESIDE}, "windows of the host in snapshot mode")
        self.assertEqual(self.gaps(), {})
        answer = self.fleet("waits", "--since", "10m")
        self.assertIn("on whom threads wait is not exported by these hosts", answer.stderr)
        done = subprocess.run([PROFCTL, "fleet", "init", "--to", self.address_of_store()], capture_output=True, text=True, check=False)
        self.assertIn("brought up to the tables of version 3 in profd", done.stderr)
        self.await_true(lambda: self.hosts_until(0) == {HOST, self.BESIDE}, "windows of both hosts")
        self.assertEqual(self.gaps(), {})
        self.assertIn("of 2 hosts keeps wakers", self.fleet("waits", "--since", "10m").stderr)
        self.check_rows()

    def test_threads_that_rules_leave_out_have_no_name(self):
        self.run_program()
        keep = f'[[export.relabel]]\naction = "keep"\nsource_labels = ["service.name"]\nregex = "{SERVICE}|chosen"\n'
        pair = self.compile(PAIR, "chosen")
        for name in ("chosen", "left-out"):
            os.path.exists(self.path(name)) or os.link(pair, self.path(name))
        ends = os.pipe(), os.pipe()
        for name, read, write in (("chosen", ends[0][0], ends[1][1]), ("left-out", ends[1][0], ends[0][1])):
            process = subprocess.Popen([self.path(name)], stdin=read, stdout=write)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
        os.write(ends[0][1], b"x")
        self.export(self.clickhouse(keep), more='mode = "hooks"\nfrequency = 299\nbudget = 0')
        hidden = "SELECT count() FROM path WHERE service = 'chosen' AND kinds = ['hidden']"
        self.await_true(lambda: self.store.value(hidden), "waits for a thread that is left out")
        named = self.store.rows("SELECT DISTINCT arrayJoin(threads) AS name FROM path")
        self.assertEqual([row for row in named if "left" in row["name"]], [])
        self.assertEqual(self.store.rows("SELECT DISTINCT arrayJoin(services) AS name FROM path WHERE name NOT IN ('', 'chosen', "
                                         f"'{SERVICE}')"), [])


class Documents(WithStore):
    def test_every_statement_of_the_document_has_an_answer(self):
        self.start_store()
        self.run_program()
        self.export(self.clickhouse(), more='mode = "hooks"')
        self.await_windows(3)
        path = os.path.join(SOURCE, "deploy", "fleet", "queries.md")
        with open(path, encoding="utf-8") as file:
            statements = re.findall(r"```sql\n(.*?)```", file.read(), re.DOTALL)
        self.assertGreaterEqual(len(statements), 8)
        for statement in statements:
            with self.subTest(statement=statement):
                for name, value in (("checkout", SERVICE), ("parse_order", "busy_part"), ("web-1", HOST)):
                    statement = statement.replace(f"'{name}'", f"'{value}'")
                self.assertTrue(self.store.rows(statement.rstrip().rstrip(";")), statement)


if __name__ == "__main__":
    unittest.main()
