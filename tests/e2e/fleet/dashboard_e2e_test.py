"""deploy/fleet/grafana: each query of the dashboard, in ClickHouse's engine, over a fleet whose sums are known."""

import collections
import json
import os
import re
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from clickhouse_store import SOURCE  # noqa: E402
import fleet_tables  # noqa: E402

DASHBOARD = os.path.join(SOURCE, "deploy", "fleet", "grafana", "service.json")
BEGIN = int(time.time()) // 3600 * 3600 - 3600  # the tables forget what is old
# (hash, state, wait, thread, ns, count) of a window of each host.
ROWS = {
    "web-1": [(1, "blocked", "net", "worker-#", 50_000_000_000, 900), (2, "running", "", "worker-#", 7_000_000_001, 130),
              (3, "spinning", "", "worker-#", 2_000_000_000, 40), (4, "runnable", "", "cart", 1_000_000_000, 20)],
    "web-2": [(1, "blocked", "net", "worker-#", 55_000_000_000, 990), (2, "running", "", "worker-#", 3_000_000_000, 60),
              (4, "running", "", "cart", 1_500_000_000, 30), (6, "stolen", "", "cart", 500_000_000, 0)],
}
MINUTES = 3


class Dashboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.store = fleet_tables.store_with_tables()
        except fleet_tables.Missing as missing:
            raise unittest.SkipTest(str(missing))
        cls.addClassCleanup(cls.store.stop)
        fleet = fleet_tables.Fleet(cls.store)
        fleet.stacks("cart", BEGIN)
        for minute in range(MINUTES):
            for host, rows in ROWS.items():
                fleet.window(host, BEGIN + 60 * minute, rows, gaps={"spool_full": 2_000_000_000} if host == "web-2" else None)
            # Neither of the service, nor of the range.
            fleet.window("web-3", BEGIN + 60 * minute, [(2, "running", "", "x", 9, 1)], service="search")
        fleet.window("web-1", BEGIN - 600, [(2, "running", "", "x", 11, 1)])
        fleet.write()
        with open(DASHBOARD, encoding="utf-8") as file:
            cls.dashboard = json.load(file)

    def rows(self, title, states="'running', 'spinning'", version=".*", host=".*"):
        """Of a panel, as Grafana asks for them: a dictionary each."""
        panel, = [panel for panel in self.dashboard["panels"] if panel["title"] == title]
        sql = panel["targets"][0]["rawSql"]
        for macro, value in (("$__fromTime", f"toDateTime({BEGIN})"), ("$__toTime", f"toDateTime({BEGIN + 60 * MINUTES})"),
                             ("$__interval_s", "60"), ("${service}", "cart"), ("${version:regex}", version),
                             ("${host:regex}", host), ("${state:singlequote}", states)):
            sql = sql.replace(macro, value)
        self.assertNotIn("$", re.sub(r"\)\$'", ")'", sql), "a macro that this test does not know")
        answer = self.store.run(sql + "\nSETTINGS output_format_json_quote_64bit_integers = 0\nFORMAT JSON")
        return json.loads(answer)["data"]

    def truth(self, states, hosts=ROWS):
        """ns by stack."""
        sums = collections.Counter()
        for host in hosts:
            for number, state, _, _, ns, _ in ROWS[host]:
                if state in states:
                    sums[number] += ns * MINUTES
        return sums

    def check_flame_graph(self, rows, sums):
        """Rows are a walk from the root: a row's children follow it, one level deeper, and its time is its own and theirs."""
        self.assertEqual((rows[0]["level"], rows[0]["value"]), (0, sum(sums.values())))
        open_rows = []
        stacks = collections.Counter()
        for row in rows:
            self.assertLessEqual(row["level"], len(open_rows))
            del open_rows[row["level"]:]
            if open_rows:
                open_rows[-1]["children"] = open_rows[-1].get("children", 0) + row["value"]
            open_rows.append(row)
            if row["self"]:
                stacks[tuple(part["label"] for part in open_rows[1:])] += row["self"]
        for row in rows:
            self.assertEqual(row["value"], row["self"] + row.get("children", 0), row)
        self.assertEqual(stacks, {tuple(frame[0] for frame in reversed(fleet_tables.STACKS[number])): ns
                                  for number, ns in sums.items()})

    def test_the_flame_graph_adds_up(self):
        self.check_flame_graph(self.rows("Where the time goes"), self.truth(("running", "spinning")))

    def test_the_flame_graph_of_one_host_waiting(self):
        self.check_flame_graph(self.rows("Where the time goes", "'blocked'", host="web-1"), self.truth(("blocked",), ["web-1"]))

    def test_threads_by_state_add_up(self):
        rows = self.rows("Threads on average, by state")
        sums = collections.Counter()
        for row in rows:
            sums[row["state"]] += row["threads"] * 60 * 1e9
        for state in ("running", "spinning", "runnable", "blocked", "stolen"):
            self.assertAlmostEqual(sums[state], sum(self.truth((state,)).values()), delta=1_000)
        self.assertEqual(len({row["time"] for row in rows}), MINUTES)

    def test_functions(self):
        rows = {row["function"]: row for row in self.rows("Functions")}
        sums = self.truth(("running", "spinning"))
        self.assertAlmostEqual(rows["main"]["total_seconds"], sum(sums.values()) / 1e9, delta=1e-6)
        self.assertEqual(rows["main"]["self_seconds"], 0)
        self.assertAlmostEqual(rows["price"]["self_seconds"], sums[2] / 1e9, delta=1e-6)
        self.assertAlmostEqual(rows["checkout"]["total_seconds"], (sums[2] + sums[3]) / 1e9, delta=1e-6)

    def test_hosts_and_what_they_delivered(self):
        rows = {row["host"]: row for row in self.rows("Hosts")}
        self.assertEqual(set(rows), set(ROWS))
        for host, row in rows.items():
            for column, states in (("cpu_seconds", ("running", "spinning")), ("blocked_seconds", ("blocked",))):
                self.assertAlmostEqual(row[column], sum(self.truth(states, [host]).values()) / 1e9, delta=1e-6)
        delivered = {row["host"]: row for row in self.rows("What hosts have delivered")}
        self.assertEqual({host: row["windows"] for host, row in delivered.items()}, {"web-1": 3, "web-2": 3, "web-3": 3})
        self.assertEqual(delivered["web-2"]["gap_seconds"], 2 * MINUTES)

    def test_every_variable_has_values(self):
        for variable in self.dashboard["templating"]["list"]:
            if variable["type"] == "query":
                sql = variable["query"].replace("${service}", "cart").replace("now()", f"toDateTime({BEGIN + 60})")
                self.assertTrue(self.store.run(sql + " FORMAT TSV"), variable["name"])


if __name__ == "__main__":
    unittest.main()
