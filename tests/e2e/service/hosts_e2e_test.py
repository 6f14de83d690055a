"""One collection from many hosts with the real binaries: one profd under several names, and hosts that fail."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fleet"))

from certificates import Certificates  # noqa: E402
from fleet_tables import NS, Fleet, Missing, store_with_tables  # noqa: E402
from running_profd import PROFCTL, RunningProfd  # noqa: E402

PARTIAL = 6
SLEEPER = "import time\nwhile True:\n    end = time.monotonic() + 0.01\n    while time.monotonic() < end: pass\n    time.sleep(0.01)\n"


@unittest.skipIf(shutil.which("openssl") is None, "openssl is not installed")
class Hosts(RunningProfd):
    def setUp(self):
        super().setUp()
        self.certificates = Certificates(self.path)
        self.certificates.authority("ca")
        for name in ("profd", "ops", "scraper"):
            self.certificates.issue("ca", name)

    def serve(self, roles=""):
        self.configure(self.certificates.settings("0.0.0.0:0") + roles)
        self.start()
        return re.search(r"serving TLS at 0\.0\.0\.0:0, port (\d+)", self.log()).group(1)

    def target(self, name="hosts-target", service=None):
        """A busy process that is called so."""
        python = self.path(name)
        if not os.path.exists(python):
            os.symlink(sys.executable, python)
        environment = dict(os.environ, OTEL_SERVICE_NAME=service) if service else None
        child = subprocess.Popen([python, "-c", SLEEPER], env=environment)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def collect(self, hosts, *arguments, name="ops"):
        with open(self.path("hosts"), "w", encoding="utf-8") as file:
            file.write("\n".join(hosts) + "\n")
        return subprocess.run([PROFCTL, "collect", "--hosts", self.path("hosts"), *self.certificates.flags(name),
                               *arguments], capture_output=True, text=True, check=False)

    @staticmethod
    def weights(profile):
        """Of each process: host and pid -> ns of its samples."""
        processes = profile["processes"]
        sums = {}
        samples = profile["samples"]
        for thread, weight in zip(samples["thread"], samples["weight_ns"]):
            process = processes[profile["threads"][int(thread)].get("process", 0)]
            key = (process["labels"]["host.name"], process["pid"])
            sums[key] = sums.get(key, 0) + int(weight)
        return sums

    def test_processes_of_each_host_stand_for_themselves(self):
        port = self.serve()
        child = self.target()
        said = self.collect([f"localhost:{port}", f"127.0.0.1:{port} # the same", f"127.0.0.2:{port}"], "--comm",
                            "hosts-target", "-d", "1s", "-o", self.path("all.json"), "-o", self.path("all.folded"),
                            "-o", self.path("all.pb.gz"), "-o", self.path("all.svg"), "-o", self.path("all.html"))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("one profile of 3 of 3 hosts", said.stderr)
        with open(self.path("all.json"), encoding="utf-8") as file:
            profile = json.load(file)["profile"]
        names = ["127.0.0.1", "127.0.0.2", "localhost"]
        weights = self.weights(profile)
        self.assertEqual(sorted(weights), [(name, child.pid) for name in names])
        self.assertEqual(profile["host"], ", ".join(names))
        by_host = subprocess.run([PROFCTL, "report", self.path("all.json"), "--by", "host", "-f", "csv"],
                                 capture_output=True, text=True, check=True).stdout
        for name in names:
            self.assertIn(name, by_host)
        with open(self.path("all.folded"), encoding="utf-8") as file:
            folded = file.read()
        # A folded stack has whole microseconds; each line is rounded by itself.
        for name in names:
            lines = [line for line in folded.splitlines() if f" on {name};" in line]
            total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
            self.assertAlmostEqual(total, weights[(name, child.pid)] / 1000, delta=len(lines))
        for name in names:
            self.await_log(r"call of certificate 'ops', operator, from ipv4:127\.0\.0\.\d+:\d+: Collect comm "
                           r"hosts-target: \d+ms, ok")

    def test_a_service_is_found_on_each_host(self):
        port = self.serve()
        cart = self.target(service="hosts-cart")
        self.target(service="hosts-checkout")
        said = self.collect([f"localhost:{port}", f"127.0.0.2:{port}"], "--service", "hosts-cart", "-d", "500ms", "-o",
                            self.path("all.json"))
        self.assertEqual(said.returncode, 0, said.stderr)
        with open(self.path("all.json"), encoding="utf-8") as file:
            profile = json.load(file)["profile"]
        self.assertEqual(sorted(self.weights(profile)), [("127.0.0.2", cart.pid), ("localhost", cart.pid)])
        self.assertEqual(profile["target"], "label service.name=hosts-cart")
        said = self.collect([f"localhost:{port}"], "--service", "hosts-card", "-d", "100ms")
        self.assertEqual(said.returncode, 3, said.stderr)
        self.assertIn("nothing of the target on 1 of 1 host: localhost", said.stderr)

    def test_a_fleet_says_which_hosts_run_the_service(self):
        try:
            store = store_with_tables()
        except Missing as missing:
            self.skipTest(str(missing))
        self.addCleanup(store.stop)
        fleet = Fleet(store)
        now = int(time.time())
        row = [(1, "running", "", "main", NS, 10)]
        for host, before, service, zone in (("127.0.0.1", 120, "hosts-cart", "a"), ("127.0.0.2", 90, "hosts-cart", "b"),
                                            ("127.0.0.3", 90, "hosts-checkout", "a"), ("127.0.0.4", 1800, "hosts-cart", "a"),
                                            ("127.0.0.5", 7200, "hosts-cart", "a"), ("no address", 90, "hosts-cart", "a")):
            fleet.window(host, now - before, row, service=service, zone=zone)
        fleet.write()
        port = self.serve()
        cart = self.target(service="hosts-cart")
        self.target(service="hosts-checkout")

        def collect(*arguments):
            return subprocess.run([PROFCTL, "collect", "--fleet", store.url(), "--host-address", f"*:{port}",
                                   *self.certificates.flags("ops"), "-d", "500ms", *arguments], capture_output=True, text=True, check=False)

        said = collect("--service", "hosts-cart", "-o", self.path("all.json"))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stderr, r"left out, as they have sent nothing of it for long: 1 host: 127\.0\.0\.4 \(2\d min")
        self.assertIn("left out, as their names are no addresses: 1 host: no address", said.stderr)
        self.assertIn("one profile of 2 of 2 hosts", said.stderr)
        with open(self.path("all.json"), encoding="utf-8") as file:
            profile = json.load(file)["profile"]
        self.assertEqual(sorted(self.weights(profile)), [("127.0.0.1", cart.pid), ("127.0.0.2", cart.pid)])
        said = collect("--service", "hosts-cart", "--zone", "b", "-o", self.path("b.json"))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("one profile of 1 of 1 host", said.stderr)
        said = collect("--service", "hosts-cart", "--host", "127.0.0.1", "-o", self.path("one.json"))
        self.assertIn("one profile of 1 of 1 host", said.stderr)
        said = collect("--service", "hosts-card")
        self.assertEqual(said.returncode, 3, said.stderr)
        self.assertIn("hosts-card", said.stderr)
        said = collect("--service", "hosts-cart", "--host", "127.0.0.4")
        self.assertEqual(said.returncode, 3, said.stderr)
        self.assertIn("no host has sent windows of hosts-cart, host 127.0.0.4 lately", said.stderr)

    def test_hosts_that_fail_are_listed_by_reason_and_cost_the_others_nothing(self):
        port = self.serve()
        self.target()
        said = self.collect([f"localhost:{port}", "127.0.0.1:1", "127.0.0.2:1", f"127.0.0.3:{port}"], "--comm",
                            "hosts-target", "-d", "300ms", "-o", self.path("some.json"))
        self.assertEqual(said.returncode, PARTIAL, said.stderr)
        self.assertRegex(said.stderr, r"2 of 4 hosts: cannot be reached: connection refused: 127\.0\.0\.1, 127\.0\.0\.2")
        self.assertRegex(said.stderr, r"1 of 4 hosts: cannot be reached: .*: 127\.0\.0\.3")
        self.assertIn("one profile of 1 of 4 hosts", said.stderr)

    def test_a_reader_may_not_collect(self):
        port = self.serve('operators = "CN=ops"\nreaders = "CN=scraper"\n')
        self.target()
        said = self.collect([f"localhost:{port}"], "--comm", "hosts-target", "-d", "300ms", name="scraper")
        self.assertEqual(said.returncode, 5, said.stderr)
        self.assertIn("1 of 1 host: a reader may look at the history, and not Collect: localhost", said.stderr)

    def test_a_target_that_is_nowhere_is_no_failure_of_hosts(self):
        port = self.serve()
        said = self.collect([f"localhost:{port}"], "--comm", "no-such-name", "-d", "100ms")
        self.assertEqual(said.returncode, 3, said.stderr)
        self.assertIn("nothing of the target on 1 of 1 host: localhost", said.stderr)

    def test_ctrl_c_ends_all_sessions_and_writes(self):
        port = self.serve()
        self.target()
        with open(self.path("hosts"), "w", encoding="utf-8") as file:
            file.write(f"localhost:{port}\n127.0.0.1:{port}\n")
        child = subprocess.Popen([PROFCTL, "collect", "--hosts", self.path("hosts"), *self.certificates.flags("ops"),
                                  "--comm", "hosts-target", "-d", "10m", "-o", self.path("cut.json")],
                                 stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.kill)
        self.await_log(r"(?s)(session \d+: comm hosts-target, for certificate 'ops'.*){2}")
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 0, said)
        self.assertIn("one profile of 2 of 2 hosts", said)
        self.assertTrue(os.path.exists(self.path("cut.json")))

    def test_lists_that_make_no_sense_are_refused(self):
        for arguments, words in (
                (["--hosts", "/nonexistent", "-a"], "/nonexistent"),
                (["--hosts", "-", "-p", "1"], "a process of one host has no meaning on many"),
                (["--hosts", "-", "-a", "--host", "x:1"], "both --host and --hosts are named"),
                (["--host-timeout", "1s", "-a"], "--host-timeout is for --hosts"),
                (["--hosts", "-", "-a"], "standard input:1: 'web 1' is no host")):
            said = subprocess.run([PROFCTL, "collect", *arguments], input="web 1\n", capture_output=True, text=True,
                                  check=False)
            self.assertIn(words, said.stderr)
            self.assertNotEqual(said.returncode, 0)


if __name__ == "__main__":
    unittest.main()
