"""A real profd exports into a real ClickHouse server, Debian's 18.16: what it refuses for ever is a gap with its code, and what an
operator or time repairs is tried again. The engine of today, with the real tables, is in clickhouse_e2e_test.py."""

import os
import shutil
import subprocess
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
sys.path.insert(0, os.path.join(FOLDER, "..", "..", "support", "receivers"))

from exporting_profd import PROGRAM, ExportingProfd  # noqa: E402
from certificates import Certificates  # noqa: E402
from http_front import HttpFront  # noqa: E402
from old_clickhouse import CLUSTER, TABLES, UNKNOWN_SETTINGS, Server, free_port, missing  # noqa: E402
from running_profd import PROFCTL  # noqa: E402

SERVICE = "kept-program"


class WithServer(ExportingProfd):
    def setUp(self):
        super().setUp()
        if why := missing():
            self.skipTest(why)
        self.program = self.compile(PROGRAM, SERVICE)
        self.run_program()

    def server(self, name="server", **options):
        server = Server(self.path(name), **options)
        self.addCleanup(server.kill)
        return server

    def front(self, server):
        front = HttpFront(server.port, without=UNKNOWN_SETTINGS)
        self.addCleanup(front.stop)
        return front

    def table(self, port, name="store", user="", scheme="clickhouse", more="", parameter=""):
        """An export of the program alone, so that rows are few."""
        at = f"{user}@" if user else ""
        return (f'name = "{name}"\nto = "{scheme}://{at}localhost:{port}/profd{parameter}"\ninterval = "2s"\ncompression = "gzip"\n{more}\n'
                f'[[export.relabel]]\naction = "keep"\nsource_labels = ["service.name"]\nregex = "{SERVICE}"\n')

    def await_true(self, condition, what, within=300):
        """The exporter has the lowest priority, and pauses grow with each failure."""
        return super().await_true(condition, what, within)

    def said(self, name="store"):
        return {one["name"]: one for one in self.exports()}.get(name, {})

    def await_error(self, *words, name="store"):
        self.await_true(lambda: all(word in self.said(name).get("last_error", "") for word in words), f"'{words}' is said")

    def gaps(self, name="store"):
        return {gap["name"]: int(gap["count"]) for gap in self.said(name).get("gaps_ns", [])}

    def await_windows(self, server, count, above=0):
        self.await_true(lambda: server.value(f"SELECT count() FROM host_window WHERE toUnixTimestamp(time) > {above}") >= count,
                        f"{count} windows")

    def last_window(self, server):
        return server.value("SELECT toUnixTimestamp(max(time)) FROM host_window")

    def check_sums(self, server, suffix="", above=0):
        """Of each window that begins behind `above` all rows are there: those of `sample` add up to `clock`. This server does not
        know repetitions, so rows of a window whose answer was lost may be there twice."""
        sums, clocks = (server.rows(
            f"SELECT time, state, wait, sum(ns) AS ns FROM (SELECT DISTINCT * FROM {table}{suffix}) WHERE time IN "
            f"(SELECT time FROM host_window{suffix} WHERE toUnixTimestamp(time) > {above}) GROUP BY time, state, wait "
            "ORDER BY time, state, wait") for table in ("sample", "clock"))
        self.assertTrue(sums)
        self.assertEqual(sums, clocks)


class Transport(WithServer):
    def test_rows_are_those_of_the_history(self):
        server = self.server()
        server.make_tables()
        self.export(self.table(self.front(server).port), self.files())
        self.await_windows(server, 4)
        self.check_sums(server)
        self.assertEqual([row["service"] for row in server.rows("SELECT DISTINCT service FROM sample")], [SERVICE])
        named = server.rows("SELECT DISTINCT arrayJoin(functions) AS name FROM stack")
        self.assertLessEqual({"busy_part", "main"}, {row["name"] for row in named})
        self.assertEqual(self.gaps(), {})

    def test_a_server_that_is_killed_gets_all_when_it_is_back(self):
        server = self.server()
        server.make_tables()
        self.export(self.table(self.front(server).port))
        self.await_windows(server, 2)
        server.kill()
        self.await_error("http: ")
        seen = None
        server.start()
        seen = self.last_window(server)
        self.await_windows(server, 3, above=seen)
        self.check_sums(server)
        self.assertEqual(self.gaps(), {})

    @unittest.skipIf(shutil.which("openssl") is None, "openssl is not installed")
    def test_its_own_tls(self):
        certificates = Certificates(self.path)
        for authority in ("ca", "impostor"):
            certificates.authority(authority)
        certificates.issue("ca", "db")
        server = self.server(identity=(self.path("db.pem"), self.path("db.key")))
        server.make_tables()
        port = server.https_port

        def init(authority):
            return subprocess.run([PROFCTL, "fleet", "init", "--to", f"clickhouses://localhost:{port}/profd", "--tls-ca",
                                   self.path(authority + ".pem")], capture_output=True, text=True, check=False)

        too_old = init("ca")
        self.assertIn("is ClickHouse 18.16.1; the tables need 24.8 or newer", too_old.stderr)
        self.assertIn("unable to get local issuer certificate", init("impostor").stderr)
        # No front can be between them here: the server has the last word, and says that it is too old.
        self.export(self.table(port, scheme="clickhouses", more=f'tls_ca = "{self.path("ca.pem")}"'),
                    self.table(port, "impostor", scheme="clickhouses", more=f'tls_ca = "{self.path("impostor.pem")}"'))
        self.await_error("the server is too old", "Unknown setting async_insert")
        self.await_error("unable to get local issuer certificate", "tls_ca", name="impostor")
        self.assertEqual(self.gaps(), {}, "an update of the server repairs it")


class Refusals(WithServer):
    def test_users_and_rights_are_waited_for(self):
        server = self.server()
        server.make_tables()
        port = self.front(server).port
        with open(self.path("key"), "w", encoding="utf-8") as file:
            file.write("X-ClickHouse-Key: wrong\n")
        key = f'headers_from = ["{self.path("key")}"]'
        self.export(self.table(port, "unknown", user="unknown"), self.table(port, "password", user="agent", more=key),
                    self.table(port, "reads", user="reader"), self.table(port, "elsewhere", user="elsewhere"))
        self.await_error("USER@", "Code: 192", name="unknown")
        self.await_error("x-clickhouse-key", "Code: 193", name="password")
        self.await_error("must be allowed to write", "Code: 164", name="reads")
        self.await_error("may not use the database", "Code: 291", name="elsewhere")
        for name in ("unknown", "password", "reads", "elsewhere"):
            self.assertEqual(self.gaps(name), {}, name)
        self.assertEqual(server.value("SELECT count() FROM sample"), 0)
        # The file is read again for each request.
        with open(self.path("key"), "w", encoding="utf-8") as file:
            file.write("X-ClickHouse-Key: secret\n")
        self.await_windows(server, 2)
        self.check_sums(server)

    def test_a_row_that_no_table_takes_is_a_gap(self):
        server = self.server()
        server.make_tables()
        server.run("DROP TABLE clock")
        # Its rows are longer than ours.
        server.make_table("clock", columns=TABLES["clock"][0].replace("ns UInt64", "ns FixedString(1000000)"))
        self.export(self.table(self.front(server).port))
        self.await_true(self.gaps, "windows are given up")
        self.assertEqual(set(self.gaps()), {"refused_clickhouse_33"})
        self.assertEqual(server.value("SELECT count() FROM host_window"), 0)
        server.run("DROP TABLE clock")
        server.make_table("clock")
        self.await_windows(server, 2)
        # Windows that were in the spool before do not know of it.
        self.await_true(lambda: int(server.rows("SELECT sum(gap.2) AS ns FROM (SELECT arrayJoin(gaps.1) AS gap FROM host_window) "
                                                "WHERE gap.1 = 'refused_clickhouse_33'")[0]["ns"])
                        == self.gaps()["refused_clickhouse_33"], "the receiver knows the whole gap")
        self.check_sums(server)

    def test_tables_are_waited_for(self):
        server = self.server()
        server.make_tables()
        self.export(self.table(self.front(server).port))
        self.await_windows(server, 1)
        server.run("DROP TABLE sample")
        self.await_error("`profctl fleet init` creates the tables", "Code: 60")
        before = self.last_window(server)
        server.make_table("sample")
        self.await_windows(server, 3, above=before)
        self.check_sums(server, above=before)  # the others went with the table
        self.assertEqual(self.gaps(), {})

    def test_older_tables_are_waited_for(self):
        server = self.server()
        server.make_tables()
        server.run("DROP TABLE host_window")
        server.make_table("host_window", columns=TABLES["host_window"][0].replace(", lost ", ", other "))
        self.export(self.table(self.front(server).port))
        self.await_error("the tables are older than profd", "Code: 16")
        server.run("DROP TABLE host_window")
        server.make_table("host_window")
        self.await_windows(server, 2)
        self.check_sums(server)
        self.assertEqual(self.gaps(), {})


    def test_tables_without_paths_are_waited_for(self):
        server = self.server()
        server.make_tables()
        server.run("DROP TABLE path")
        server.run("ALTER TABLE sample DROP COLUMN path")
        self.export(self.table(self.front(server).port), more='mode = "hooks"')
        self.await_error("`profctl fleet init` creates the tables", "Code: 60", "path")
        server.make_table("path")
        self.await_error("the tables are older than profd: `profctl fleet init` brings them up to date", "Code: 16")
        self.assertEqual(server.value("SELECT count() FROM sample"), 0)
        server.run("ALTER TABLE sample ADD COLUMN path UInt64 AFTER hash")
        self.await_windows(server, 2)
        self.check_sums(server)
        self.assertEqual(self.gaps(), {})
        # The program sleeps: what ends its waits is a timer.
        ended = server.rows("SELECT DISTINCT kinds FROM path")
        self.assertIn({"kinds": ["timer"]}, ended)
        self.assertEqual(server.value("SELECT count() FROM sample WHERE path != 0 AND path NOT IN (SELECT hash FROM path)"), 0)
        self.assertGreater(server.value("SELECT count() FROM sample WHERE path != 0"), 0)


class Questions(WithServer):
    """This server is too old for the tables, and so for the questions, but not for the settings that go with them."""

    def setUp(self):
        super().setUp()
        self.server_of_questions = self.server()

    def ask(self, user, without=lambda name: False):
        front = HttpFront(self.server_of_questions.port, without=without)
        self.addCleanup(front.stop)
        return subprocess.run([PROFCTL, "list", "--fleet", f"clickhouse://{user}@localhost:{front.port}/default"], capture_output=True,
                              text=True, check=False).stderr

    def test_it_is_named_too_old(self):
        said = self.ask("default")
        self.assertIn("the server is too old", said)
        self.assertIn("the tables need 24.8 or newer", said)

    def test_a_user_who_can_change_no_setting_may_say_what_is_so_already(self):
        unknown = {"limit", "offset", "read_overflow_mode_leaf", "timeout_overflow_mode_leaf"}
        for user in ("default", "reader"):
            said = self.ask(user, without=lambda name: name in unknown or name.startswith("param_"))
            self.assertRegex(said, "Code: (60|62|46)", user)  # the statement itself

    def test_a_user_whose_answers_would_be_cut_off_gets_none(self):
        unknown = {"limit", "offset", "read_overflow_mode_leaf", "timeout_overflow_mode_leaf"}
        said = self.ask("cut", without=lambda name: name in unknown or name.startswith("param_"))
        self.assertIn("Cannot override setting (read_overflow_mode)", said)
        self.assertIn("readonly = 2", said)


class Shards(WithServer):
    def start_cluster(self):
        ports = (free_port(), free_port())
        servers = [self.server(f"shard-{port}", port=port, shards=ports) for port in ports]
        for server in servers:
            server.make_tables("_local")
        for server in servers:
            server.make_distributed()
        return servers

    def test_agents_write_where_they_are_and_a_shard_that_is_down_is_none_of_theirs(self):
        near, far = self.start_cluster()
        self.export(self.table(self.front(near).port, parameter=f"?cluster={CLUSTER}"))
        self.await_true(lambda: near.value("SELECT count() FROM host_window_local") >= 2, "windows arrive")
        self.check_sums(near)
        self.assertEqual(near.value("SELECT count() FROM sample"), near.value("SELECT count() FROM sample_local"))
        far.kill()
        seen = near.value("SELECT toUnixTimestamp(max(time)) FROM host_window_local")
        self.await_true(lambda: near.value(f"SELECT count() FROM host_window_local WHERE toUnixTimestamp(time) > {seen}") >= 3,
                        "windows arrive")
        self.check_sums(near, "_local")
        self.assertEqual(self.gaps(), {})
        with self.assertRaises(AssertionError) as refused:
            near.run("SELECT count() FROM host_window")
        self.assertIn("Code: 279", str(refused.exception))

    def test_through_a_distributed_table_a_shard_that_is_down_is_waited_for(self):
        near, far = self.start_cluster()
        self.export(self.table(self.front(near).port))
        self.await_windows(near, 3)
        self.check_sums(near)
        for server in (near, far):
            self.assertGreater(server.value("SELECT count() FROM sample_local"), 0)
        seen = self.last_window(near)
        far.kill()
        self.await_error("a part of the cluster does not answer", "?cluster=NAME", "Connection refused")
        self.assertEqual(self.gaps(), {})
        far.start()
        self.await_windows(near, 3, above=seen)
        self.check_sums(near)
        self.assertEqual(self.gaps(), {})


if __name__ == "__main__":
    unittest.main()
