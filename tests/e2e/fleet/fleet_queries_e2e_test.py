"""Questions of profctl about many hosts, answered by the engine of ClickHouse from rows whose sums are known."""

import html
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from clickhouse_store import Store  # noqa: E402
from fleet_tables import MINUTE, NS, Fleet, Missing, insert_many, store_with_tables  # noqa: E402

PROFCTL = os.path.join(os.environ["PROFD_BINARY_DIR"], "bin", "profctl")
HOUR = 60 * MINUTE
# A whole hour that is over: no window of it may still come.
BEGIN = (int(time.time()) // HOUR - 3) * HOUR
HOSTS = 12
ODD = "web-07"  # spends more of its time in `compress`
GAPPY = "web-03"  # without windows for five minutes
RING = BEGIN - 48 * HOUR
SLOW = "1.4.2"  # of the hosts with odd numbers; spends more of it in `price`

# What no server may answer in part.
WHOLE = {"skip_unavailable_shards": "0", "wait_end_of_query": "1", "limit": "0", "offset": "0",
         **{f"{name}_overflow_mode": "throw" for name in ("distinct", "group_by", "join", "read", "result", "set", "sort", "timeout", "transfer")},
         "read_overflow_mode_leaf": "throw", "timeout_overflow_mode_leaf": "throw"}


def name_of(number):
    return f"web-{number:02}"


def version_of(number):
    return SLOW if number % 2 else "1.4.1"


def is_missing(number, minute):
    return name_of(number) == GAPPY and 10 <= minute < 15


def rows_of(number, minute):
    """Of one minute of one host: three threads, so 180 s."""
    more = 20 * NS if number % 2 else 0
    odd = 15 * NS if name_of(number) == ODD else 0
    noise = (number * 7 + minute * 3) % 11 * NS // 10 + number  # so that no sum is round
    return [(2, "running", "", "worker-#", 10 * NS + more + noise, 300), (3, "spinning", "", "worker-#", 2 * NS, 40),
            (2, "runnable", "", "worker-#", NS, 20), (6, "running", "", "worker-#", NS + odd, 20 + odd // NS),
            (1, "blocked", "net", "worker-#", 106 * NS - more - odd - noise, 2000),
            (1, "blocked", "sleep", "main", 58 * NS, 900), (4, "running", "", "main", 2 * NS - 7, 30),
            (5, "running", "", "main", 7, 0)]


def seconds_text(unix_s):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix_s))


OF_RING = "--service", "ring", "--from", seconds_text(RING), "--to", seconds_text(RING + MINUTE)


class FleetQueries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.store = store_with_tables()
        except Missing as missing:
            raise unittest.SkipTest(str(missing)) from missing
        cls.addClassCleanup(cls.store.stop)
        fleet = Fleet(cls.store)
        fleet.stacks("cart", BEGIN)
        fleet.stacks("search", BEGIN)
        for number in range(HOSTS):
            for minute in range(-2, 62):
                if is_missing(number, minute):
                    continue
                gaps = {"restart": 5 * MINUTE * NS} if name_of(number) == GAPPY and minute == 15 else None
                lost = {"ring buffer": 3} if number == 1 and minute == 1 else None
                fleet.window(name_of(number), BEGIN + minute * MINUTE, rows_of(number, minute), version=version_of(number),
                             zone="ab"[number % 2], gaps=gaps, lost=lost)
        for minute in range(60):
            fleet.window("db-1", BEGIN + minute * MINUTE, [(2, "running", "", "main", 3 * NS, 100)], service="search", version="7")
        cls.add_ring(fleet)
        fleet.write()

    @classmethod
    def add_ring(cls, fleet):
        """A service of three hosts, of which one knows wakers. Workers wait for the pool, which waits for a database that runs."""
        fleet.stacks("ring", RING)
        fleet.paths("ring", RING, {
            71: [("waits", "woke", "net", "pool-#", "ring", 1, 1), ("runs", "woke", "", "writer", "db", 0, 6)],
            72: [("timer", "woke", "", "", "", 0, 0)], 73: [("hidden", "woke", "", "", "", 0, 0)],
            74: [("not_seen", "woke", "", "", "", 0, 0)]})
        for host in ("ring-1", "ring-2", "ring-3"):
            paths = (71, 72, 73, 74) if host == "ring-1" else (0, 0, 0, 0)
            times = zip(paths, ("lock", "sleep", "pipe", "lock"), (40 * NS, 11 * NS, 5 * NS, 4 * NS - 1))
            fleet.window(host, RING, [(1, "blocked", wait, "worker-#", ns, 90, path) for path, wait, ns in times] +
                         [(5, "blocked", "lock", "", 1, 0), (2, "running", "", "worker-#", NS, 20)], service="ring")

    def profctl(self, *arguments, environment=None):
        return subprocess.run([PROFCTL, *arguments], capture_output=True, text=True, check=False, timeout=120,
                              env={**os.environ, "PROFD_FLEET": self.store.url(), **(environment or {})})

    def ask(self, verb, *arguments, times=("--from", seconds_text(BEGIN), "--to", seconds_text(BEGIN + HOUR))):
        done = self.profctl(verb, "--fleet", self.store.url(), *arguments, *times)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def profile(self, *arguments):
        return json.loads(self.ask("query", "--service", "cart", *arguments, "-f", "json").stdout)["profile"]

    def expected(self, wanted=lambda number: True):
        """ns by (state, thread)."""
        sums = {}
        for number in range(HOSTS):
            for minute in range(60):
                if is_missing(number, minute) or not wanted(number):
                    continue
                for _, state, _, thread, ns, _ in rows_of(number, minute):
                    sums[state, thread] = sums.get((state, thread), 0) + ns
        return sums

    def sums(self, profile):
        """The same, of a profile; by samples, and by clocks."""
        by_samples, by_clocks = {}, {}
        samples, threads = profile["samples"], profile["threads"]
        states = {"STATE_ON_CPU": "running", "STATE_RUNNABLE": "runnable", "STATE_BLOCKED": "blocked", 0: "running", 1: "runnable",
                  2: "blocked"}
        for i, weight in enumerate(samples["weight_ns"]):
            state = states[samples["state"][i]]
            if samples.get("rule") and samples["rule"][i]:
                state = "spinning"
            key = state, threads[samples["thread"][i]]["comm"]
            by_samples[key] = by_samples.get(key, 0) + int(weight)
        for thread in threads:
            clock = {name: int(value) for name, value in thread["clock"].items()}
            self.assertEqual(sum(clock.values()), int(thread["elapsed_ns"]))
            by_clocks[thread["comm"]] = by_clocks.get(thread["comm"], 0) + sum(clock.values())
        return by_samples, by_clocks

    def check_sums(self, profile, expected):
        by_samples, by_clocks = self.sums(profile)
        self.assertEqual(by_samples, expected)
        for thread, ns in by_clocks.items():
            self.assertEqual(ns, sum(part for (_, name), part in expected.items() if name == thread))

    def test_sums_are_those_of_the_tables_to_the_nanosecond(self):
        self.check_sums(self.profile(), self.expected())

    def test_every_filter_takes_its_part(self):
        odd = self.expected(lambda number: number % 2)
        for arguments, expected in ((("--version", SLOW), odd), (("--zone", "b"), odd), (("--version", "1.4.?"), self.expected()),
                                    (("--host", "web-0*"), self.expected(lambda number: number < 10)),
                                    (("--host", "web-01,web-02"), self.expected(lambda number: number in (1, 2))),
                                    (("--pod", "cart-web-05"), self.expected(lambda number: number == 5)),
                                    (("--label", "team=sh*"), self.expected()), (("--label", "k8s.namespace.name=shop"), self.expected()), (("--namespace", "sh*"), self.expected()),
                                    (("--unit", "cart.service"), self.expected()),
                                    (("--exe", "/usr/bin/cart"), self.expected())):
            with self.subTest(arguments=arguments):
                self.check_sums(self.profile(*arguments), expected)
        blocked = {key: ns for key, ns in self.expected().items() if key[0] == "blocked"}
        self.check_sums(self.profile("--state", "blocked"), blocked)
        self.check_sums(self.profile("--wait", "sleep"), {key: ns for key, ns in blocked.items() if key[1] == "main"})

    def test_what_a_user_writes_is_only_a_value(self):
        for name in ("x' OR 1=1 --", "\\", "a\tb", "%", "_art", "ca\nrt"):
            with self.subTest(name=name):
                done = self.profctl("query", "--fleet", "--service", name)
                self.assertEqual(done.returncode, 3, done.stderr)
        done = self.profctl("query", "--fleet", "--service", "cart", "--host", "web%", "--since", "1d")
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_versions_hosts_and_zones_are_processes(self):
        for key, label, values in (("version", "service.version", {"1.4.1": 6, SLOW: 6}), ("zone", "cloud.availability_zone", {"a": 6, "b": 6}),
                                   ("host", "host.name", {name_of(number): 1 for number in range(HOSTS)})):
            with self.subTest(key=key):
                processes = self.profile("--group-by", key)["processes"]
                found = {process["labels"][label]: process["group_size"]
                         for process in processes}
                self.assertEqual(found, values)

    def test_every_format_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            names = ["a.svg", "a.folded", "a.json", "a.html", "a.pb.gz", "a.speedscope.json"]
            self.ask("query", "--service", "cart", *(word for name in names for word in ("-o", os.path.join(folder, name))))
            for name in names:
                self.assertGreater(os.path.getsize(os.path.join(folder, name)), 100, name)
        lines = self.ask("query", "--service", "cart", "--version", SLOW, "-f", "folded").stdout.splitlines()
        self.assertIn(f"cart {SLOW} x 6;main;render (render.py)", [line.rsplit(" ", 1)[0] for line in lines])

    def test_missing_minutes_are_named(self):
        done = self.ask("query", "--service", "cart", "-f", "folded")
        self.assertIn(f"incomplete: 1 host with windows before or in this time did not deliver all of it: {GAPPY} (5 min 0 s)", done.stderr)
        self.assertIn("restart 5 min 0 s", done.stderr)
        self.assertIn("ring buffer 3", done.stderr)
        counters = {(item["name"], item.get("text")): item["count"] for item in self.profile()["counters"]}
        self.assertEqual(counters["fleet_missing_s", f"seconds without windows of {GAPPY}"], 300)
        self.assertEqual(counters["fleet_hosts", "hosts with windows in this time"], HOSTS)
        whole = self.ask("query", "--service", "cart", "--host", "web-01", "-f", "folded")
        self.assertNotIn("incomplete", whole.stderr)

    def test_windows_whose_rows_are_not_there_are_named(self):
        fleet = Fleet(self.store)
        begin = BEGIN - 30 * HOUR
        for minute in range(3):
            fleet.window("half-1", begin + minute * MINUTE, [(2, "running", "", "main", 3 * NS, 100), (6, "running", "", "main", 2 * NS, 70)],
                         service="half")
        fleet.samples.pop()
        fleet.write()
        done = self.ask("query", "--service", "half", "-f", "json",
                        times=("--from", seconds_text(begin), "--to", seconds_text(begin + 3 * MINUTE)))
        self.assertRegex(done.stderr, r"partial: rows of 1 window are not there: half-1 \(2(\.0+)? s of threads\)")
        counters = {(item["name"], item.get("text")): item["count"] for item in json.loads(done.stdout)["profile"]["counters"]}
        self.assertEqual(int(counters["fleet_partial_ns", "ns of threads that windows lack, of half-1"]), 2 * NS)
        self.assertNotIn("partial", self.ask("query", "--service", "cart", "-f", "folded").stderr)

    def test_a_slow_version_is_found_and_hosts_decide(self):
        done = self.ask("diff", "--service", "cart", "--version", "1.4.1", SLOW, "-f", "json")
        functions = {function["name"]: function for function in json.loads(done.stdout)["functions"]}
        price = functions["price"]["total"]
        # 20 s a minute, on six hosts for an hour, but for five minutes of one.
        self.assertAlmostEqual((price["b_ns"] - price["a_ns"]) / (20 * NS * (6 * 60 - 5)), 1, delta=0.02)
        self.assertLess(price["a_high_ns"], price["b_low_ns"])
        # One host of the six does so: no property of its version.
        compress = functions["compress"]["total"]
        self.assertGreater(compress["b_ns"], compress["a_ns"])
        table = self.ask("diff", "--service", "cart", "--version", "1.4.1", SLOW, "-f", "table").stdout
        self.assertRegex(table, r"price .* \+")
        self.assertNotRegex(table, r"(?m)^compress")
        self.assertRegex(self.profctl("diff", "--fleet", "--service", "cart", "--version", "1.4.1", SLOW, "-f", "table", "-v", "--from",
                                      seconds_text(BEGIN), "--to", seconds_text(BEGIN + HOUR)).stdout, r"compress .* ~\+")

    def test_one_host_a_side_is_said(self):
        done = self.ask("diff", "--service", "cart", "--version", "1.4.1", SLOW, "--host", "web-01,web-02", "-f", "table")
        self.assertIn("a side has one host only", done.stderr)

    def test_two_ranges_are_compared(self):
        def word(begin, end):
            return f"{seconds_text(BEGIN + begin)}..{seconds_text(BEGIN + end)}"

        done = self.ask("diff", "--service", "cart", "--version", SLOW, "--before", word(0, HOUR // 2), "--after", word(HOUR // 2, HOUR),
                        "-f", "json", times=())
        diff = json.loads(done.stdout)
        self.assertAlmostEqual(diff["a"]["total_ns"] / diff["b"]["total_ns"], 1, delta=0.01)

    def test_list_has_services_and_hosts(self):
        services = {row["service"]: row for row in json.loads(self.ask("list", "--json").stdout)["rows"]}
        self.assertEqual({name: (row["hosts"], row["versions"]) for name, row in services.items()}, {"cart": (HOSTS, 2), "search": (1, 1)})
        expected = self.expected()
        for state in ("running", "spinning", "runnable", "blocked"):
            self.assertEqual(services["cart"][state + "_ns"], sum(ns for (name, _), ns in expected.items() if name == state))
        hosts = json.loads(self.ask("list", "--service", "cart", "--by", "host", "--json").stdout)
        self.assertEqual(len(hosts["rows"]), HOSTS)
        self.assertEqual([(item["host"], item["missing_s"]) for item in hosts["incomplete"]], [(GAPPY, 300)])
        self.assertRegex(self.ask("list").stdout, r"cart +12 +2 ")

    def test_reports_by_host_version_and_function(self):
        rows = self.ask("report", "--service", "cart", "--by", "version,state", "-f", "csv").stdout.splitlines()
        self.assertEqual(len(rows), 3, rows)
        self.assertEqual(len(self.ask("report", "--service", "cart", "--by", "host", "-f", "csv").stdout.splitlines()), 1 + HOSTS)
        self.assertRegex(self.ask("report", "--service", "cart", "--by", "function").stdout, r"price")

    def test_the_odd_host_is_named_with_its_function(self):
        odd = json.loads(self.ask("report", "--service", "cart", "--outliers", "-f", "json").stdout)["odd"]
        # Versions differ, too, but half of the hosts is no exception.
        self.assertEqual({share["host"] for share in odd}, {ODD})
        share = next(share for share in odd if share["function"] == "compress")
        self.assertAlmostEqual(share["share"] - share["median"], 15 / 180, delta=0.001)
        self.assertRegex(self.ask("report", "--service", "cart", "--outliers").stdout, rf"{ODD} +compress +on a CPU +8.9 %")
        self.assertIn("no host differs", self.ask("report", "--service", "cart", "--zone", "a", "--outliers").stdout)
        self.assertIn("too few hosts", self.ask("report", "--service", "cart", "--host", "web-0[1-4]*,web-01,web-02", "--outliers").stdout)

    def test_top_functions_come_from_samples_and_from_whole_hours(self):
        samples = self.ask("top", "--functions", times=("--from", seconds_text(BEGIN), "--to", seconds_text(BEGIN + HOUR - 1))).stdout
        hours = self.ask("top", "--functions").stdout
        self.assertIn("from the sums of whole hours", hours)
        self.assertNotIn("whole hours", samples)

        def numbers(text):
            return [line.split()[:3] for line in text.splitlines()[3:]]

        self.assertEqual(numbers(samples)[0][0], "price")
        # The same windows: all but what is said of the length.
        self.assertEqual([row[0] for row in numbers(samples)], [row[0] for row in numbers(hours)])
        self.assertRegex(self.ask("top").stdout, r"cart +12 ")

    def test_waits_have_reasons_and_stacks_and_no_wakers(self):
        done = self.ask("waits", "--service", "cart")
        self.assertIn("on whom threads wait is not exported", done.stderr)
        self.assertRegex(done.stdout, r"net +main > serve > epoll_wait")

    def test_on_whom_threads_wait_is_that_of_the_rows(self):
        done = self.ask("waits", *OF_RING, "-f", "json", times=())
        # 56 of 180 s.
        self.assertIn("of 31.1 % of the blocked time the waker is known: 1 of 3 hosts keeps wakers", done.stderr)
        table = json.loads(done.stdout)
        self.assertEqual(table["blocked_ns"], 3 * 60 * NS)
        rows = {(row["waiter"], row["reason"], row["ended_by"]): row["ns"] for row in table["rows"]}
        self.assertEqual(rows, {("worker-#", "lock", "pool-#"): 40 * NS, ("worker-#", "sleep", "[timer]"): 11 * NS,
                                ("worker-#", "pipe", "[not exported]"): 5 * NS,
                                ("worker-#", "lock", "[wake-up not seen]"): 4 * NS - 1 + 2 * (44 * NS - 1),
                                ("worker-#", "sleep", "[wake-up not seen]"): 22 * NS, ("worker-#", "pipe", "[wake-up not seen]"): 10 * NS,
                                ("[unknown]", "lock", "[not sampled]"): 3})
        pool = next(row for row in table["rows"] if row["ended_by"] == "pool-#")
        self.assertEqual([(end["thread"], end["how"], end["ns"]) for end in pool["ends"]], [("db/writer", "runs", 40 * NS)])
        text = self.ask("waits", *OF_RING, times=()).stdout
        self.assertRegex(text, r"worker-# x 3 +lock +pool-# +40\.0 s +22\.2 % +db/writer runs 100\.0 %")
        self.assertNotIn("spurious", text)
        self.assertRegex(text, r"(?s)where they wait.*main > serve > epoll_wait")

    def test_on_whom_threads_wait_is_a_graph_too(self):
        with tempfile.TemporaryDirectory() as folder:
            names = ["a.dot", "a.json", "a.txt"] + (["a.svg"] if shutil.which("dot") else [])
            done = self.ask("waits", *OF_RING, *(word for name in names for word in ("-o", os.path.join(folder, name))), times=())
            self.assertEqual(done.stdout, "")
            self.assertIn("of 31.1 % of the blocked time the waker is known: 1 of 3 hosts keeps wakers", done.stderr)
            texts = {}
            for name in names:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    texts[name] = file.read()
        # 40 of 180 s end at the pool, which waits for the writer.
        nodes = dict(re.findall(r'(?m)^  (g\d+) \[label="([^"\\]*)', texts["a.dot"]))
        named = {name: number for number, name in nodes.items()}
        self.assertRegex(texts["a.dot"], rf'{named["worker-# x 3"]} -> {named["pool-#"]} \[label="22\.2 %')
        self.assertRegex(texts["a.dot"], rf'{named["worker-# x 3"]} -> {named["db/writer"]} \[label="22\.2 %.*style=dashed')
        self.assertEqual(texts["a.json"], self.ask("waits", *OF_RING, "-f", "json", times=()).stdout)
        self.assertIn("pool-#", texts["a.txt"])
        self.assertEqual(self.ask("waits", *OF_RING, "-f", "dot", times=()).stdout, texts["a.dot"])
        for name in ("pool-#", "db/writer", "[timer]"):
            self.assertIn(name, html.unescape(texts.get("a.svg", texts["a.dot"])))

    def test_other_ways_to_ask_have_paths_too(self):
        folded = self.ask("query", *OF_RING, "--host", "ring-1", "--on-whom", "-f", "folded", times=())
        self.assertIn("[blocked:lock];--;[waits for pool-#];[waits for db/writer];[runs] 40000000", folded.stdout)
        self.assertIn("of 93.3 % of the blocked time the waker is known: 1 of 1 host keeps wakers", folded.stderr)
        stacks = self.ask("query", *OF_RING, "--host", "ring-1", "--on-whom=stacks", "-f", "folded", times=()).stdout
        self.assertIn("[waits for db/writer];main;compress;[runs] 40000000", stacks)
        plain = self.ask("query", *OF_RING, "--host", "ring-1", "-f", "folded", times=())
        self.assertNotIn("keeps wakers", plain.stderr)
        report = self.ask("report", *OF_RING, "--by", "on-whom", "-f", "csv", times=())
        self.assertRegex(report.stdout, r"(?m)^\"db/writer, runs\",40000000000,90,")
        self.assertIn("1 of 3 hosts keeps wakers", report.stderr)
        profile = json.loads(self.ask("query", *OF_RING, "-f", "json", times=()).stdout)["profile"]
        words = [item["text"] for item in profile["counters"] if item["name"] == "fleet_words"]
        self.assertIn("of 31.1 % of the blocked time the waker is known: 1 of 3 hosts keeps wakers", words)
        cart = self.profile()
        self.assertFalse(cart.get("wakers"))
        self.assertFalse(cart["samples"].get("path"))

    def test_stacks_beyond_a_limit_are_counted(self):
        fleet = Fleet(self.store)
        begin = BEGIN - 24 * HOUR
        count = 50_010
        fleet.window("big-1", begin, [(1000 + i, "running", "", "main", 1000 + i, 1) for i in range(count)], service="big")
        fleet.write()
        done = self.profctl("query", "--fleet", "--service", "big", "--from", seconds_text(begin), "--to", seconds_text(begin + MINUTE),
                            "-f", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        profile = json.loads(done.stdout)["profile"]
        self.assertEqual(sum(map(int, profile["samples"]["weight_ns"])), sum(range(1000, 1000 + count)))
        counters = {item["name"]: item["count"] for item in profile["counters"]}
        self.assertEqual(counters["fleet_rest_ns"], sum(range(1000, 1010)))

    def test_two_hundred_hosts_for_an_hour(self):
        begin = BEGIN - 48 * HOUR
        rows = insert_many(self.store, "large", begin, hosts=200, minutes=60, rows_a_window=300)
        times = ("--from", seconds_text(begin), "--to", seconds_text(begin + HOUR))
        expected = int(self.store.run("SELECT sum(ns) FROM sample WHERE service = 'large'"))
        for arguments in (("query", "--service", "large", "-f", "folded"), ("top", "--functions", "--service", "large"),
                          ("diff", "--service", "large", "--version", "1.9", "2.0", "-f", "table"), ("list",),
                          ("report", "--service", "large", "--outliers")):
            start = time.monotonic()
            self.ask(*arguments, times=times)
            print(f"{rows:,} rows: profctl {' '.join(arguments)}: {time.monotonic() - start:.2f} s", file=sys.stderr)
        profile = json.loads(self.ask("query", "--service", "large", "-f", "json", times=times).stdout)["profile"]
        self.assertEqual(sum(map(int, profile["samples"]["weight_ns"])), expected)

    def test_the_page_has_the_fleet_in_the_place_of_the_history(self):
        with subprocess.Popen([PROFCTL, "web", "--fleet", self.store.url(), "--service", "cart"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as process:
            self.addCleanup(process.kill)
            address = process.stdout.readline().strip()

            def get(method, **parameters):
                with urllib.request.urlopen(f"{address}api/v1/{method}?{urllib.parse.urlencode(parameters)}", timeout=60) as answer:
                    return answer.read()

            sources = json.loads(get("sources"))
            self.assertFalse(sources["live"])
            self.assertEqual(sources["history"]["first_unix_us"], (BEGIN - 2 * MINUTE) * 1_000_000)
            hour = {"from_unix_us": BEGIN * 1_000_000, "to_unix_us": (BEGIN + HOUR) * 1_000_000}
            columns, begin = [], hour["from_unix_us"]
            while begin < hour["to_unix_us"]:
                strip = json.loads(get("strip", from_unix_us=begin, to_unix_us=hour["to_unix_us"], step_us=10 * MINUTE * 1_000_000))
                columns += strip["columns"]
                begin = strip["next_unix_us"]
            # Each window is in one column.
            self.assertEqual(sum(sum(map(int, column["ns"])) for column in columns), sum(self.expected().values()))
            shown = get("profile", source="history", **hour)
            self.assertIn(b"price", shown)
            notes = json.loads(shown[4:4 + int.from_bytes(shown[:4], "little")])["notes"]
            said = self.ask("query", "--service", "cart", "-f", "folded").stderr
            self.assertTrue([note for note in notes if note.startswith("incomplete: 1 host") and GAPPY in note], notes)
            for note in notes:
                self.assertIn(note, said, "the words of the command line")
            sides = {f"{side}.{name}": value for side in "ab" for name, value in {"source": "history", **hour}.items()}
            diff = json.loads(get("compare", **sides, **{"a.comm": "cart 1.4.1", "b.comm": f"cart {SLOW}"}))
            price = next(function for function in diff["functions"] if function["name"] == "price")
            self.assertGreater(price["total"]["b_ns"], price["total"]["a_ns"])
            process.send_signal(signal.SIGTERM)

    def test_errors_say_what_to_do(self):
        url = self.store.url()
        for arguments, code, words in (
                (("query", "--fleet", url, "--service", "car"), 3, ("no service 'car'", "cart")),
                (("query", "--fleet", url, "--service", "cart", "--version", "9"), 3, ("version 9", "1.4.1")),
                (("query", "--fleet", url), 2, ("no service is named", "profctl list --fleet")),
                (("query", "--fleet", "clickhouse://127.0.0.1:1/profd", "--service", "cart"), 4, ("Couldn't connect",)),
                (("query", "--fleet", url.rsplit("/", 1)[0] + "/nothing", "--service", "cart"), 3, ("no such database", "profctl fleet init")),
                (("query", "--fleet", url.rsplit("/", 1)[0] + "/default", "--service", "cart"), 3, ("a table", "profctl fleet init")),
                (("query", "--service", "cart"), 2, ("--service is for fleets",)),
                (("query", "--fleet", url, "--service", "cart", "-p", "1"), 2, ("-p is not for fleets",)),
                (("query", "--fleet", "http://x", "--service", "cart"), 2, ("no address of ClickHouse",)),
                (("report", "--fleet", url, "--service", "cart", "-d", "3"), 2, ("both a fleet and a collection",)),
                (("report", "x.json", "--outliers"), 2, ("--outliers is for fleets",)),
                (("diff", "--fleet", url, "--service", "cart", "--version", "1"), 2, ("neither two versions nor two ranges",)),
                (("waits", "--fleet", url, "--service", "cart", "-o", "x.png"), 2, ("x.png",)),
                (("waits", "--fleet", url, "--service", "cart", "--since", "1d", "-o", "x.dot"), 3,
                 ("does not know who ends waits", "history.mode")),
                (("top", "--fleet", url, "-n", "3"), 2, ("-n is not for fleets",))):
            with self.subTest(arguments=arguments):
                done = self.profctl(*arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)
        done = self.profctl("list", "--fleet", environment={"PROFD_FLEET": ""})
        self.assertEqual(done.returncode, 2)
        self.assertIn("PROFD_FLEET is not set", done.stderr)

    def test_ctrl_c_ends_a_question(self):
        # A server that takes the question and never answers.
        with socket.create_server(("127.0.0.1", 0)) as silent:
            process = subprocess.Popen([PROFCTL, "list", "--fleet", f"clickhouse://127.0.0.1:{silent.getsockname()[1]}/profd"],
                                       stderr=subprocess.PIPE, text=True)
            connection, _ = silent.accept()
            connection.recv(1)  # the question has begun
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), 130)
            self.assertEqual(process.stderr.read(), "")
            process.stderr.close()
            connection.close()

    def test_the_password_comes_from_the_environment_or_a_file(self):
        keys = []

        class Refusing(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def do_POST(self):
                keys.append((self.headers.get("X-ClickHouse-User"), self.headers.get("X-ClickHouse-Key")))
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(403)
                self.send_header("X-ClickHouse-Exception-Code", "516")
                self.end_headers()

        with http.server.HTTPServer(("127.0.0.1", 0), Refusing) as server, tempfile.NamedTemporaryFile("w") as file:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            file.write("of a file\nmore\n")
            file.flush()
            url = f"clickhouse://reader@127.0.0.1:{server.server_port}/profd"
            done = self.profctl("list", "--fleet", url, environment={"PROFD_FLEET_PASSWORD": "of the environment"})
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("the password is wrong", done.stderr)
            self.profctl("list", "--fleet", url, "--fleet-password-from", file.name)
            server.shutdown()
            thread.join()
        self.assertEqual(keys, [("reader", "of the environment"), ("reader", "of a file")])

    def test_a_part_of_a_cluster_that_does_not_answer_is_an_error(self):

        class Half(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                body = b"Code: 279. DB::Exception: All connection tries failed. shard-2:9000"
                self.send_response(500)
                self.send_header("X-ClickHouse-Exception-Code", "279")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        with http.server.HTTPServer(("127.0.0.1", 0), Half) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            done = self.profctl("query", "--fleet", f"clickhouse://127.0.0.1:{server.server_port}/profd", "--service", "cart")
            server.shutdown()
            thread.join()
        self.assertEqual(done.returncode, 4)
        self.assertIn("a part of the cluster does not answer", done.stderr)
        self.assertIn("shard-2", done.stderr)

    def test_each_question_wants_a_whole_answer(self):
        before = len(self.store.seen())
        self.ask("query", "--service", "cart", "-f", "folded")
        questions = self.store.seen()[before:]
        self.assertGreater(len(questions), 2)
        for question in questions:
            self.assertLessEqual(WHOLE.items(), question["parameters"].items(), question["sql"])

    def test_a_limit_that_would_cut_off_is_an_error(self):
        """The settings of the session are those of the user's profile."""
        for limit, words in ((("max_rows_to_read", "read_overflow_mode", "break"), "too many rows"),
                             (("max_rows_to_group_by", "group_by_overflow_mode", "any"), "Code: 158"),
                             (("max_rows_to_sort", "sort_overflow_mode", "break"), "too many rows"),
                             (("max_result_rows", "result_overflow_mode", "break"), "too many rows")):
            name, mode, cut = limit
            with self.subTest(mode=mode):
                self.store.run(f"SET {name} = 2, {mode} = '{cut}'")
                try:
                    # The server cuts off, and says that all is well.
                    self.store.run("SELECT hash, sum(ns) FROM sample WHERE service = 'cart' GROUP BY hash ORDER BY hash FORMAT TSV")
                    done = self.profctl("query", "--fleet", "--service", "cart", "--from", seconds_text(BEGIN), "--to",
                                        seconds_text(BEGIN + HOUR))
                finally:
                    self.store.run(f"SET {name} = 0, {mode} = 'throw'")
                self.assertEqual(done.stdout, "")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words, done.stderr)

    def test_a_profile_with_a_limit_of_rows_takes_none_away(self):
        whole = self.ask("query", "--service", "cart", "-f", "folded").stdout
        self.store.run("SET limit = 1")
        try:
            self.assertEqual(len(self.store.run("SELECT arrayJoin([1, 2, 3]) FORMAT TSV").split()), 1)
            self.assertEqual(self.ask("query", "--service", "cart", "-f", "folded").stdout, whole)
        finally:
            self.store.run("SET limit = 0")

    def test_a_user_who_can_change_no_setting_asks_as_others_do(self):
        with Store() as store:
            store.make_tables()
            store.run("SET readonly = 1")
            done = self.profctl("list", "--fleet", store.url())
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("no data", done.stderr)

    def test_a_user_whose_answers_would_be_cut_off_gets_none(self):
        with Store() as store:
            store.make_tables()
            store.run("SET timeout_overflow_mode = 'break'")
            store.run("SET readonly = 1")
            done = self.profctl("list", "--fleet", store.url())
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("'timeout_overflow_mode'", done.stderr)
            self.assertIn("readonly = 2", done.stderr)

    def test_settings_that_a_server_does_not_know_are_left_out(self):
        requested = []

        def answer(parameters):
            requested.append(parameters)
            unknown = [name for name in parameters if name in ("limit", "timeout_overflow_mode_leaf")]
            return (404, 115, f"Code: 115. DB::Exception: Unknown setting {unknown[0]}.") if unknown else (200, 0, "")

        done = self.ask_stand_in(answer)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("limit", requested[0])
        self.assertGreaterEqual(len(requested), 2)
        for parameters in requested[1:]:
            self.assertNotIn("limit", parameters, "it is sent once")
            self.assertEqual(parameters["skip_unavailable_shards"], "0")

    def test_a_server_that_is_too_old_is_named_so(self):
        done = self.ask_stand_in(lambda parameters: (404, 115, "Code: 115. DB::Exception: Unknown setting param_from."))
        self.assertIn("the server is too old", done.stderr)
        self.assertIn("24.8", done.stderr)

    def test_an_error_behind_the_first_rows_is_no_answer(self):
        """As ClickHouse has it: the status is sent with the first rows, unless the end is waited for."""
        error = "Code: 241. DB::Exception: Memory limit exceeded."

        def answer(parameters):
            return (500, 241, error) if parameters.get("wait_end_of_query") == "1" else (200, 0, "\0" * 200 + error)

        done = self.ask_stand_in(answer)
        self.assertEqual(done.stdout, "")
        self.assertIn("the server has not enough memory for this", done.stderr)

    def ask_stand_in(self, answer):
        """`profctl list` of a server whose answer is (status, code, text) of the parameters."""

        class StandIn(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                status, code, text = answer(dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query)))
                self.send_response(status)
                if code:
                    self.send_header("X-ClickHouse-Exception-Code", str(code))
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

        with http.server.HTTPServer(("127.0.0.1", 0), StandIn) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            done = self.profctl("list", "--fleet", f"clickhouse://127.0.0.1:{server.server_port}/profd")
            server.shutdown()
            thread.join()
        return done


if __name__ == "__main__":
    unittest.main()
