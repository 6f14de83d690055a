"""Authorities and certificates, made by the openssl command."""

import subprocess

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Certificates:
    """Files NAME.pem and NAME.key in a folder."""

    def __init__(self, path):
        self.path = path

    @staticmethod
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)

    def authority(self, name):
        self.openssl("req", "-x509", *NEW_KEY, "-days", "1", "-subj", f"/CN={name}", "-keyout",
                     self.path(name + ".key"), "-out", self.path(name + ".pem"))

    def issue(self, authority, name, days=1, extensions="subjectAltName=DNS:localhost,IP:127.0.0.1,IP:127.0.0.2"):
        with open(self.path("ext"), "w", encoding="utf-8") as file:
            file.write(extensions + "\n")
        self.openssl("req", *NEW_KEY, "-subj", f"/CN={name}", "-keyout", self.path(name + ".key"),
                     "-out", self.path("csr"))
        self.openssl("x509", "-req", "-in", self.path("csr"), "-CA", self.path(authority + ".pem"), "-CAkey",
                     self.path(authority + ".key"), "-CAcreateserial", "-days", str(days), "-extfile",
                     self.path("ext"), "-out", self.path(name + ".pem"))

    def settings(self, listen="127.0.0.1:0"):
        """The [tls] table of a profd whose certificate is `profd`, for clients of the CA `ca`."""
        return (f'[tls]\nlisten = "{listen}"\ncertificate = "{self.path("profd.pem")}"\n'
                f'key = "{self.path("profd.key")}"\nclient_ca = "{self.path("ca.pem")}"\n')

    def flags(self, name, authority="ca"):
        """For profctl."""
        return ["--tls-ca", self.path(authority + ".pem"), "--tls-cert", self.path(name + ".pem"), "--tls-key",
                self.path(name + ".key")]
