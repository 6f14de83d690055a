"""Profiles by pull with the real binaries: scrapers with certificates, what they get, and whom profd refuses."""

import gzip
import http.client
import importlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from certificates import Certificates  # noqa: E402
from running_profd import PROFD, RunningProfd  # noqa: E402

GO = shutil.which("go") or "/usr/local/go/bin/go"
MOST_AT_ONCE = 4
NAME = f"busy-{os.getpid()}"  # of this test alone
TICK_NS = 10_000_000  # of utime in /proc
# One thread that is busy for about half of the time, in a function with a name.
PROGRAM = r"""
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void busy_part(void) { for (unsigned long i = 0; i < 3000000; ++i) sink += i; }
__attribute__((noinline)) void lazy_part(void) { struct timespec t = {0, 5000000}; nanosleep(&t, 0); }
int main(void) { for (;;) { busy_part(); lazy_part(); } }
"""


def message():
    """The class of profile.proto, made by protoc from the tree."""
    source = os.path.join(os.environ["PROFD_SOURCE_DIR"], "daemon", "base", "pprof")
    made = tempfile.mkdtemp()
    subprocess.run(["protoc", "-I", source, "--python_out", made, "pprof.proto"], check=True)
    sys.path.insert(0, made)
    return importlib.import_module("pprof_pb2").Profile


def cpu_ns(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def sums(profile):
    """By sample type."""
    names = [profile.string_table[one.type] for one in profile.sample_type]
    return {name: sum(sample.value[i] for sample in profile.sample) for i, name in enumerate(names)}


def functions(profile):
    return {profile.string_table[one.name] for one in profile.function}


@unittest.skipIf(shutil.which("openssl") is None, "openssl is not installed")
class Pull(RunningProfd):
    def setUp(self):
        super().setUp()
        self.certificates = Certificates(self.path)
        self.certificates.authority("ca")
        self.certificates.authority("other")
        for name in ("profd", "ops", "scraper", "unknown"):
            self.certificates.issue("ca", name)

    def serve(self, roles='operators = "CN=ops, CN=fleet"\nreaders = "CN=scraper"\n'):
        self.configure(self.certificates.settings("") + roles + '[pprof]\nlisten = "127.0.0.1:0"\n')
        daemon = self.start()
        self.port = int(re.search(r"serving scrapers at 127\.0\.0\.1:0, port (\d+)", self.log()).group(1))
        return daemon

    def program(self, service=None):
        environment = dict(os.environ, OTEL_SERVICE_NAME=service) if service else None
        child = subprocess.Popen([self.compile(PROGRAM, NAME)], env=environment)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child.pid

    def connection(self, name="ops", authority="ca"):
        context = ssl.create_default_context(cafile=self.path(authority + ".pem"))
        if name is not None:
            context.load_cert_chain(self.path(name + ".pem"), self.path(name + ".key"))
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=120, context=context)
        self.addCleanup(connection.close)
        return connection

    def get(self, path, name="ops", method="GET"):
        """Status, headers and body."""
        connection = self.connection(name)
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def profile(self, path):
        status, headers, body = self.get(path)
        self.assertEqual(status, 200, body)
        self.assertEqual(headers["Content-Type"], "application/octet-stream")
        return message().FromString(gzip.decompress(body))

    def test_a_scrape_has_what_the_program_did(self):
        self.serve()
        pid = self.program()
        before = cpu_ns(pid)
        wall = self.profile(f"/debug/pprof/wall?seconds=2&pid={pid}")
        used = cpu_ns(pid) - before
        total = sums(wall)
        self.assertEqual(list(total), ["samples", "wall", "cpu", "off_cpu"])
        # One thread: its parts add up to the time of the session.
        self.assertAlmostEqual(total["wall"], wall.duration_nanos, delta=wall.duration_nanos / 1000)
        self.assertGreaterEqual(wall.duration_nanos, 2_000_000_000)
        self.assertLessEqual(total["cpu"], used + TICK_NS)
        self.assertGreater(total["cpu"], 0)
        self.assertTrue({"busy_part", "lazy_part"} <= functions(wall), functions(wall))
        cpu = self.profile(f"/debug/pprof/profile?seconds=1&pid={pid}")
        self.assertEqual(list(sums(cpu)), ["samples", "cpu"])
        self.assertIn("busy_part", functions(cpu))
        self.assertLessEqual(sums(cpu)["cpu"], cpu.duration_nanos)
        by_name = self.profile("/debug/pprof/wall?seconds=1&comm=" + NAME)
        self.assertAlmostEqual(sums(by_name)["wall"], by_name.duration_nanos, delta=by_name.duration_nanos / 1000)
        self.await_log(rf"call of certificate 'ops', operator, from ipv4:127\.0\.0\.1:\d+: GET /debug/pprof/wall"
                       rf"\?seconds=2&pid={pid}: \d+ms, ok")

    def test_a_scrape_of_a_service(self):
        self.serve()
        self.program("pull-cart")
        self.program("pull-checkout")
        cart = self.profile("/debug/pprof/wall?seconds=1&service=pull-cart")
        # One thread: that of the other service is not in it.
        self.assertAlmostEqual(sums(cart)["wall"], cart.duration_nanos, delta=cart.duration_nanos / 1000)
        both = self.profile("/debug/pprof/wall?seconds=1&service=pull-c*&label=process.executable.name=" + NAME)
        self.assertAlmostEqual(sums(both)["wall"], 2 * both.duration_nanos, delta=both.duration_nanos / 1000)
        status, _, body = self.get("/debug/pprof/profile?seconds=1&service=pull-card")
        self.assertEqual(status, 404)
        self.assertIn("no process has service.name=pull-card", body.decode())
        self.assertIn("service.name is ", body.decode())
        self.await_log(r"GET /debug/pprof/wall\?seconds=1&service=pull-cart: \d+ms, ok")

    @unittest.skipIf(not os.path.exists(GO), "go is not installed")
    def test_go_reads_it(self):
        self.serve()
        pid = self.program()
        status, _, body = self.get(f"/debug/pprof/profile?seconds=1&pid={pid}")
        self.assertEqual(status, 200, body)
        with open(self.path("cpu.pb.gz"), "wb") as file:
            file.write(body)
        top = subprocess.run([GO, "tool", "pprof", "-top", "-nodecount=5", self.path("cpu.pb.gz")], check=False,
                             capture_output=True, text=True,
                             env=dict(os.environ, PPROF_TMPDIR=self.folder, GOTOOLCHAIN="local"))
        if "no such tool" in top.stderr:
            self.skipTest("this go has no pprof")
        self.assertEqual(top.returncode, 0, top.stderr)
        self.assertIn("Type: cpu", top.stdout)
        self.assertIn("busy_part", top.stdout)

    def test_who_has_no_right_gets_nothing(self):
        self.serve()
        path = "/debug/pprof/profile?seconds=1"
        for name, words in ((None, "no certificate of a client"), ("scraper", "a reader may look at the history"),
                            ("unknown", "has no role here")):
            with self.subTest(name):
                status, _, body = self.get(path, name)
                self.assertEqual(status, 403)
                self.assertIn(words, body.decode())
        self.await_log(r"refused ipv4:127\.0\.0\.1:\d+: GET /debug/pprof/profile\?seconds=1: no certificate")
        self.await_log(r"refused certificate 'scraper': GET /debug/pprof/profile\?seconds=1: a reader")
        self.assertNotIn("session 1:", self.log())

    def test_certificates_that_do_not_count(self):
        self.serve(roles="")
        self.certificates.issue("other", "stranger")
        self.certificates.issue("ca", "expired", days=-1)
        self.certificates.issue("ca", "server", extensions="extendedKeyUsage=serverAuth")
        for name in ("stranger", "expired", "server"):
            with self.subTest(name):
                try:
                    status, _, _ = self.get("/debug/pprof/profile?seconds=1", name)
                except (ssl.SSLError, ConnectionError):
                    continue
                self.assertEqual(status, 403)
        self.assertEqual(self.get("/debug/pprof/profile?seconds=1", "ops")[0], 200)

    def test_requests_that_make_no_sense(self):
        self.serve()
        for path, code in (("/", 404), ("/debug/pprof/heap", 404), ("/debug/pprof/profile?seconds=0", 400),
                           ("/debug/pprof/profile?seconds=601", 400), ("/debug/pprof/profile?seconds=1&x=1", 400),
                           ("/debug/pprof/wall?pid=0", 400), ("/debug/pprof/wall?pid=1&comm=a", 400),
                           ("/debug/pprof/wall?comm=a&service=b", 400), ("/debug/pprof/wall?service=", 400),
                           ("/debug/pprof/wall?label=service.name", 400), ("/debug/pprof/wall?label==x", 400),
                           ("/debug/pprof/wall?seconds=1&pid=4194303", 404),
                           ("/debug/pprof/wall?seconds=1&pid=999999999", 400)):
            with self.subTest(path):
                status, _, body = self.get(path)
                self.assertEqual(status, code, body)
        self.assertEqual(self.get("/debug/pprof/profile", method="DELETE")[0], 405)
        self.assertEqual(self.get("/debug/pprof/profile?seconds=1")[0], 200)

    def test_too_many_at_once_are_sent_away_and_clients_that_leave_end_their_sessions(self):
        self.serve()
        pid = self.program()
        scrapers = [self.connection() for _ in range(MOST_AT_ONCE)]
        for scraper in scrapers:
            scraper.request("GET", f"/debug/pprof/profile?seconds=600&pid={pid}")
        self.await_sessions(MOST_AT_ONCE)
        status, headers, body = self.get("/debug/pprof/profile?seconds=1")
        self.assertEqual((status, headers["Retry-After"]), (429, "10"), body)
        for scraper in scrapers:
            scraper.sock.close()
        self.await_sessions(0)
        self.await_log(r"GET /debug/pprof/profile\?seconds=600&pid=\d+: \d+ms, failed: its client has left")
        self.assertEqual(self.get("/debug/pprof/profile?seconds=1")[0], 200)

    def await_sessions(self, count):
        """Fails after a minute."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if len(json.loads(self.profctl("status", "--json").stdout).get("sessions", [])) == count:
                return
        self.fail(f"never {count} sessions: {self.profctl('status').stdout}")

    def test_connections_that_say_nothing_keep_no_scraper_out(self):
        self.serve()
        idle = [self.connection(None) for _ in range(40)]
        for one in idle:
            try:
                one.connect()
            except OSError:
                pass  # closed to make room
        self.assertEqual(self.get("/debug/pprof/profile?seconds=1")[0], 200)

    def test_a_scrape_ends_with_profd(self):
        daemon = self.serve()
        pid = self.program()
        answers = []
        scraper = self.connection()
        scraper.request("GET", f"/debug/pprof/wall?seconds=600&pid={pid}")
        self.await_sessions(1)
        reader = threading.Thread(target=lambda: answers.append(scraper.getresponse().status))
        reader.start()
        self.end_in_time(daemon)
        reader.join(60)
        self.assertEqual(answers, [200])

    def test_a_renewed_certificate_is_taken_up(self):
        self.serve(roles="")
        self.assertEqual(self.get("/debug/pprof/profile?seconds=1")[0], 200)
        self.certificates.issue("other", "renewed")
        os.replace(self.path("renewed.key"), self.path("profd.key"))
        os.replace(self.path("renewed.pem"), self.path("profd.pem"))
        with self.assertRaises(ssl.SSLError):
            self.get("/debug/pprof/profile?seconds=1")
        connection = self.connection(authority="other")
        connection.request("GET", "/debug/pprof/profile?seconds=1")
        self.assertEqual(connection.getresponse().status, 200)

    def test_half_a_configuration_is_refused(self):
        for arguments, words in ((["--pprof-listen", "0.0.0.0:9897"], "pprof.listen is set and tls.certificate is not"),
                                 (["--tls-operators", "ops"], "'ops' is no name of a certificate")):
            said = subprocess.run([PROFD, "--check-config", *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(said.returncode, 2)
            self.assertIn(words, said.stderr)


if __name__ == "__main__":
    unittest.main()
