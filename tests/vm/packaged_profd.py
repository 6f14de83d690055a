"""A Debian guest with systemd as its first process, and profd's package in it."""

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ["PROFD_SOURCE_DIR"], "scripts/vm.d"))

import debian_guest  # noqa: E402
import debian_image  # noqa: E402
import kernel_package  # noqa: E402

BUILD = os.environ["PROFD_BINARY_DIR"]
KERNEL = "6.1"  # Debian 12's own
CONFIG = "/etc/profd/profd.toml"
SOCKET = "/run/profd/profd.sock"


def make_package(folder):
    made = subprocess.run(["cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", folder],
                          capture_output=True, text=True, check=False)
    files = glob.glob(os.path.join(folder, "*.deb"))
    if made.returncode != 0 or len(files) != 1:
        raise AssertionError(made.stdout + made.stderr)
    return files[0]


def later_version(package, folder):
    """The same again, as the version after it."""
    tree = os.path.join(folder, "tree")
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = os.path.join(tree, "DEBIAN/control")
    with open(control, encoding="utf-8") as file:
        text = file.read()
    with open(control, "w", encoding="utf-8") as file:
        file.write(re.sub(r"(?m)^Version: (.*)$", r"Version: \1+later", text))
    later = os.path.join(folder, "profd_later.deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, later], check=True, capture_output=True)
    return later


class PackagedProfd(unittest.TestCase):
    """The guest has no profd before a test installs it: `package`, `later` are its names there."""

    @classmethod
    def setUpClass(cls):
        if shutil.which("dpkg-shlibdeps") is None:
            raise unittest.SkipTest("dpkg-shlibdeps is not installed")
        folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, folder)
        package = make_package(folder)
        later = later_version(package, folder)
        try:
            cls.guest = debian_guest.DebianGuest(kernel_package.find(KERNEL), debian_image.find(package))
        except kernel_package.Unavailable as reason:
            raise unittest.SkipTest(f"no Debian of our own under qemu here: {reason}") from reason
        cls.addClassCleanup(cls.guest.end)
        cls.package, cls.later = cls.guest.put(package), cls.guest.put(later)

    def ask(self, script):
        """Status and output, whatever they are."""
        return self.guest.run(script)

    def do(self, script):
        """Output of what must succeed."""
        answer = self.guest.run(script)
        if answer.status != 0:
            reported = self.guest.run("systemctl --no-pager status 'profd.*'; journalctl -n 40 -o short-monotonic")
            self.fail(f"{script}: exit status {answer.status}\n{answer.output}\n{reported.output}")
        return answer.output.strip()

    def configure(self, text):
        self.do(f"printf %s {shlex.quote(text)} > {CONFIG}")

    def await_history(self):
        """Until something of the host stands in it: then profctl does not fail."""
        self.do("until profctl list --since 1h 2>/run/why; do grep -q 'no data' /run/why || exit; done")

    def show(self, name, unit="profd.service"):
        return self.do(f"systemctl show -P {name} {unit}")

    def states(self):
        """(of the service, of the socket)"""
        return tuple(self.ask("systemctl is-active profd.service profd.socket").output.split())

    def journal_end(self):
        """For await_journal: what comes from now on."""
        return self.do("journalctl -n 1 -o cat --show-cursor").rpartition("cursor: ")[2]

    def await_journal(self, after, pattern):
        """Until the journal has such a line of profd, or of systemd about it."""
        follow = f"journalctl -f -n all -o cat -u profd.service --after-cursor={shlex.quote(after)}"
        self.do(f"grep -q -e {shlex.quote(pattern)} < <(exec {follow}); found=$?; kill $!; exit $found")

    def journal(self, after):
        return self.do(f"journalctl -o cat -u profd.service --after-cursor={shlex.quote(after)}")
