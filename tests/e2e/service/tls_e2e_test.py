"""TCP by TLS with the real binaries: who is let in, who is not, the errors, and a renewal."""

import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from certificates import Certificates  # noqa: E402
from running_profd import PROFCTL, PROFD, RunningProfd  # noqa: E402


@unittest.skipIf(shutil.which("openssl") is None, "openssl is not installed")
class Tls(RunningProfd):
    def setUp(self):
        super().setUp()
        self.certificates = Certificates(self.path)
        self.certificates.authority("ca")
        self.certificates.authority("other")
        self.issue("ca", "profd")
        self.issue("ca", "ops")

    def issue(self, authority, name, days=1):
        """A certificate for the one name by which the tests connect."""
        self.certificates.issue(authority, name, days, "subjectAltName=DNS:localhost")

    def serve(self):
        self.configure(self.certificates.settings())
        self.start()
        port = re.search(r"serving TLS at 127\.0\.0\.1:0, port (\d+)", self.log()).group(1)
        return f"tls://localhost:{port}"

    def ask(self, host, name="ops", authority="ca", environment=None):
        files = self.certificates.flags(name, authority) if environment is None else []
        return subprocess.run([PROFCTL, "status", "--host", host, *files], capture_output=True, text=True, check=False,
                              env=dict(os.environ, **(environment or {})))

    def expect_let_in(self, said):
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertIn("profd ", said.stdout)

    def expect_kept_out(self, said):
        self.assertEqual(said.returncode, 4, said.stderr)
        self.assertEqual(len(said.stderr.splitlines()), 2, said.stderr)
        self.assertIn("profctl: cannot reach profd at tls://localhost:", said.stderr)

    def await_refusal(self):
        self.await_log(r"refused ipv4:127\.0\.0\.1:\d+: connecting: no TLS, or no certificate that tls\.client_ca "
                       r"has signed")

    def test_clients_that_the_ca_has_signed_are_let_in(self):
        host = self.serve()
        self.expect_let_in(self.ask(host))
        self.expect_let_in(self.ask(host, environment={
            "PROFD_TLS_CA": self.path("ca.pem"), "PROFD_TLS_CERT": self.path("ops.pem"),
            "PROFD_TLS_KEY": self.path("ops.key")}))
        collected = subprocess.run(
            [PROFCTL, "collect", "-v", "--host", host, "--tls-ca", self.path("ca.pem"), "--tls-cert",
             self.path("ops.pem"), "--tls-key", self.path("ops.key"), "-p", str(os.getpid()), "-d", "100ms"],
            capture_output=True, text=True, check=False)
        self.assertEqual(collected.returncode, 0, collected.stderr)
        self.assertIn("for certificate 'ops'", self.log())

    def test_others_are_kept_out_and_logged(self):
        host = self.serve()
        self.issue("other", "stranger")
        self.issue("ca", "expired", days=-1)
        for name in ("stranger", "expired"):
            with self.subTest(name):
                self.expect_kept_out(self.ask(host, name))
        plain = subprocess.run([PROFCTL, "status", "--host", host.removeprefix("tls://")], capture_output=True,
                               text=True, check=False)
        self.assertEqual(plain.returncode, 4, plain.stdout)
        self.await_refusal()
        self.assertNotIn("ssl_transport_security", self.log())

    def test_a_profd_of_another_authority_is_not_believed(self):
        said = self.ask(self.serve(), authority="other")
        self.expect_kept_out(said)
        self.assertIn("certificate verify failed", said.stderr)

    def test_without_a_certificate_profctl_says_what_it_needs(self):
        said = subprocess.run([PROFCTL, "status", "--host", "tls://localhost:1"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(said.returncode, 2, said.stderr)
        self.assertIn("TLS needs a certificate and its key", said.stderr)
        said = subprocess.run([PROFCTL, "status", "--tls-cert", "x"], capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, 2, said.stderr)
        self.assertIn("write --host tls://HOST:PORT", said.stderr)

    def test_a_renewed_certificate_is_taken_up(self):
        host = self.serve()
        self.expect_let_in(self.ask(host))
        self.issue("other", "renewed")
        os.replace(self.path("renewed.key"), self.path("profd.key"))
        os.replace(self.path("renewed.pem"), self.path("profd.pem"))
        self.expect_kept_out(self.ask(host))
        self.expect_let_in(self.ask(host, authority="other"))

    def test_half_a_configuration_is_refused(self):
        said = subprocess.run([PROFD, "--check-config", "--tls-listen", "0.0.0.0:9898", "--tls-certificate", "x"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, 2)
        self.assertIn("tls.listen is set and tls.key is not", said.stderr)


if __name__ == "__main__":
    unittest.main()
