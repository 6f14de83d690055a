"""The Debian package: what is in it, and what lintian says of it."""

import glob
import os
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ["PROFD_BINARY_DIR"]
WANTED = ("./usr/bin/profd", "./usr/bin/profctl", "./etc/profd/profd.toml", "./usr/lib/systemd/system/profd.service",
          "./usr/lib/systemd/system/profd.socket",
          "./usr/lib/sysusers.d/profd.conf", "./usr/lib/tmpfiles.d/profd.conf", "./usr/lib/sysctl.d/10-profd.conf",
          "./usr/share/man/man8/profd.8.gz",
          "./usr/share/man/man5/profd.toml.5.gz", "./usr/share/man/man1/profctl.1.gz",
          "./usr/share/bash-completion/completions/profctl",
          "./usr/share/zsh/vendor-completions/_profctl",
          "./usr/share/fish/vendor_completions.d/profctl.fish", "./usr/share/doc/profd/copyright",
          "./usr/share/doc/profd/changelog.gz", "./usr/share/profd/rules.toml")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


@unittest.skipIf(shutil.which("dpkg-shlibdeps") is None, "dpkg-shlibdeps is not installed")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        made = run("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", cls.folder)
        files = glob.glob(os.path.join(cls.folder, "*.deb"))
        if made.returncode != 0 or len(files) != 1:
            raise AssertionError(made.stdout + made.stderr)
        cls.package = files[0]

    def test_holds_everything(self):
        listed = {line.split()[5]: line.split() for line in
                  run("dpkg-deb", "--contents", self.package).stdout.splitlines()}
        for name in WANTED:
            self.assertIn(name, listed)
            self.assertEqual(listed[name][1], "root/root", name)

    def test_keeps_the_operators_configuration(self):
        self.assertEqual(run("dpkg-deb", "--info", self.package, "conffiles").stdout, "/etc/profd/profd.toml\n")

    def test_depends_on_the_libraries_that_it_is_linked_with(self):
        depends = run("dpkg-deb", "--field", self.package, "Depends").stdout
        for library in ("libbpf1", "libgrpc++1.51", "libsystemd0"):
            self.assertIn(library, depends)

    @unittest.skipIf(shutil.which("lintian") is None, "lintian is not installed")
    def test_lintian_finds_no_error(self):
        said = run("lintian", "--tag-display-limit", "0", self.package).stdout
        self.assertEqual([line for line in said.splitlines() if line.startswith("E:")], [])


if __name__ == "__main__":
    unittest.main()
