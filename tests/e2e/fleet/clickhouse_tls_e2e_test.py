"""A fleet's store by TLS: the agent and profctl take a server that the right authority has signed for the right host, and no other."""

import os
import shutil
import subprocess
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
sys.path.insert(0, os.path.join(FOLDER, "..", "..", "support", "receivers"))

from clickhouse_store import PROFCTL, Store, missing  # noqa: E402
from exporting_profd import PROGRAM, ExportingProfd  # noqa: E402
from certificates import Certificates  # noqa: E402
from http_front import HttpFront  # noqa: E402

SERVICE = "stored-by-tls"
UNKNOWN = "unable to get local issuer certificate"
OTHER_HOST = "no alternative certificate subject name matches target host name 'localhost'"


@unittest.skipIf(shutil.which("openssl") is None, "openssl is not installed")
class StoreByTls(ExportingProfd):
    def setUp(self):
        super().setUp()
        if why := missing():
            self.skipTest(why)
        self.certificates = Certificates(self.path)
        for authority in ("ca", "impostor"):
            self.certificates.authority(authority)
        self.certificates.issue("ca", "db")
        self.certificates.issue("ca", "agent")
        self.certificates.issue("impostor", "stranger")
        self.certificates.issue("ca", "elsewhere", extensions="subjectAltName=DNS:db.example,IP:127.0.0.3")
        self.store = Store(self.path("clickhouse"))
        self.addCleanup(self.store.stop)
        self.program = self.compile(PROGRAM, SERVICE)

    def front(self, name, client_ca=None):
        front = HttpFront(self.store.port, (self.path(name + ".pem"), self.path(name + ".key")),
                          client_ca and self.path(client_ca + ".pem"))
        self.addCleanup(front.stop)
        return front

    def ca(self, name):
        return ["--tls-ca", self.path(name + ".pem")]

    def init(self, front, *options, scheme="clickhouses", environment=None):
        return subprocess.run(
            [PROFCTL, "fleet", "init", "--to", f"{scheme}://localhost:{front.port}/profd", *options], capture_output=True,
            text=True, check=False, env={**os.environ, **(environment or {})})

    def check_refused(self, done, *words):
        self.assertEqual(done.returncode, 4, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def table(self, name, front, more):
        return (f'name = "{name}"\nto = "clickhouse+https://localhost:{front.port}/profd"\ninterval = "2s"\n{more}\n'
                '[[export.relabel]]\naction = "keep"\nsource_labels = ["service.name"]\n' f'regex = "{SERVICE}"\n')

    def test_profctl_takes_only_the_right_server(self):
        front = self.front("db")
        self.check_refused(self.init(front, *self.ca("impostor")), UNKNOWN, "--tls-ca FILE")
        self.check_refused(self.init(front), UNKNOWN)  # the system's authorities do not know it
        self.check_refused(self.init(self.front("elsewhere"), *self.ca("ca")), OTHER_HOST, "--tls-ca FILE")
        self.check_refused(self.init(front, "--tls-ca", self.path("none.pem")), "tls: ", "none.pem")
        self.assertEqual(front.requests, 0)
        made = self.init(front, *self.ca("ca"))
        self.assertEqual(made.returncode, 0, made.stderr)
        again = self.init(front, scheme="clickhouse+https", environment={"PROFD_FLEET_TLS_CA": self.path("ca.pem")})
        self.assertEqual(again.returncode, 0, again.stderr)
        address = f"clickhouses://127.0.0.1:{front.port}/profd"
        listed = subprocess.run([PROFCTL, "list", "--fleet", address, *self.ca("ca")], capture_output=True, text=True, check=False)
        self.assertIn("the fleet has nothing", listed.stderr)
        listed = subprocess.run([PROFCTL, "list", "--fleet", address, *self.ca("impostor")], capture_output=True, text=True,
                                check=False)
        self.check_refused(listed, UNKNOWN, "--tls-ca FILE")
        plain = subprocess.run([PROFCTL, "list", "--fleet", self.store.url(), *self.ca("ca")], capture_output=True, text=True,
                               check=False)
        self.assertEqual(plain.returncode, 2)
        self.assertIn("write clickhouses://HOST/DATABASE", plain.stderr)

    def test_a_server_may_want_a_certificate(self):
        front = self.front("db", client_ca="ca")
        self.check_refused(self.init(front, *self.ca("ca")), "tls: ", "--tls-cert and --tls-key")
        self.check_refused(self.init(front, *self.certificates.flags("stranger")), "tls: ")
        half = self.init(front, *self.ca("ca"), "--tls-cert", self.path("agent.pem"))
        self.assertEqual(half.returncode, 2)
        self.assertIn("TLS needs both a certificate and its key", half.stderr)
        self.assertEqual(front.requests, 0)
        made = self.init(front, *self.certificates.flags("agent"))
        self.assertEqual(made.returncode, 0, made.stderr)

    def test_agents_take_only_the_right_server(self):
        self.store.make_tables()
        good = self.front("db", client_ca="ca")
        elsewhere = self.front("elsewhere")
        impostor = self.front("stranger")
        ours = f'tls_ca = "{self.path("ca.pem")}"\n'
        process = subprocess.Popen([self.program])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.export(self.table("good", good, ours + f'tls_certificate = "{self.path("agent.pem")}"\n'
                               f'tls_key = "{self.path("agent.key")}"'),
                    self.table("unknown", good, ours), self.table("elsewhere", elsewhere, ours),
                    self.table("impostor", impostor, ours))
        self.await_true(lambda: self.store.value("SELECT count() FROM host_window") >= 3, "windows arrive", within=300)
        self.assertGreater(self.store.value(f"SELECT sum(ns) FROM sample WHERE service = '{SERVICE}'"), 0)
        said = {}

        def all_have_failed():
            for one in self.exports():
                said[one["name"]] = one
            return all(said[name].get("last_error") for name in ("unknown", "elsewhere", "impostor"))

        self.await_true(all_have_failed, "the failures are said", within=300)
        self.assertIn(OTHER_HOST, said["elsewhere"]["last_error"])
        self.assertIn(UNKNOWN, said["impostor"]["last_error"])
        self.assertIn("tls: ", said["unknown"]["last_error"])
        for name in ("unknown", "elsewhere", "impostor"):
            self.assertIn("tls_ca", said[name]["last_error"])
            self.assertEqual(int(said[name].get("sent", 0)), 0)
            self.assertFalse(said[name].get("gaps_ns"), "they wait")
        self.assertEqual(elsewhere.requests + impostor.requests, 0)


if __name__ == "__main__":
    unittest.main()
