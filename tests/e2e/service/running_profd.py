"""A background profd with a socket in place of the service manager, for the tests of this folder."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

BINARIES = os.path.join(os.environ["PROFD_BINARY_DIR"], "bin")
PROFD = os.path.join(BINARIES, "profd")
PROFCTL = os.path.join(BINARIES, "profctl")
FREEZER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "frozen_thread.py")
PROMISED_SECONDS = 5  # from SIGTERM to the end
# A user id that no host uses: above those of distributions, below those of namespaces.
OTHER = 4_200_500


def get(url):
    """Status and text of a page."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def as_user(uid, rights=()):
    capabilities = ",".join(["-all", *("+" + right.removeprefix("CAP_").lower() for right in rights)])
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", f"--inh-caps={capabilities}",
            f"--ambient-caps={capabilities}", f"--bounding-set={capabilities}", "--no-new-privs"]


@unittest.skipIf(os.geteuid() != 0, "needs root: real BPF programs are loaded")
class RunningProfd(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.address = "unix:" + self.path("profd.sock")
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.bind(self.path("notify"))
        self.manager.settimeout(60)
        self.states = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, source, name, *flags):
        """Makes a program of C, or a library by its flags; returns its path."""
        path = self.path(name)
        subprocess.run(["cc", "-g", "-O1", *flags, "-x", "c", "-o", path, "-"], input=source, text=True, check=True)
        return path

    def compile_file(self, source, name, *flags):
        """The same from a file of this folder."""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), source), encoding="utf-8") as file:
            return self.compile(file.read(), name, *flags)

    def configure(self, text):
        with open(self.path("profd.toml"), "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, *flags, watchdog_us=None, before=(), stderr=None, **options):
        """`before`: a command that runs profd, as setpriv does. `stderr`: in place of the log."""
        environment = dict(os.environ, NOTIFY_SOCKET=self.path("notify"))
        if watchdog_us:
            environment["WATCHDOG_USEC"] = str(watchdog_us)
        if not os.path.exists(self.path("profd.toml")):
            self.configure("")
        with open(self.path("log"), "wb") as log:
            daemon = subprocess.Popen(
                [*before, PROFD, "--listen", self.address, "--config", self.path("profd.toml"), *flags],
                env=environment, stderr=stderr or log, stdin=subprocess.DEVNULL, **options)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        self.await_state("READY=1")
        return daemon

    def await_state(self, word):
        """Returns the lines of the next message that has this one; fails after a minute."""
        while True:
            try:
                lines = self.manager.recv(4096).decode().split("\n")
            except socket.timeout:
                self.fail(f"profd never said {word}\n{self.log()}")
            self.states.append(lines[0])
            if word in lines:
                return lines

    def log(self):
        with open(self.path("log"), encoding="utf-8") as file:
            return file.read()

    def await_log(self, pattern, within=60):
        """Waits until the log matches `pattern`; fails after `within` seconds."""
        until = time.monotonic() + within
        while not re.search(pattern, self.log()):
            if time.monotonic() > until:
                self.fail(f"the log has no line {pattern}\n{self.log()}")
            time.sleep(0.01)

    def await_true(self, condition, what, within=90):
        """What `condition` returns once that is true; fails after `within` seconds, naming `what`."""
        until = time.monotonic() + within
        while True:
            if found := condition():
                return found
            if time.monotonic() > until:
                self.fail(f"{what}: not within {within} s\n{self.log()}\n{self.profctl('status').stdout}")
            time.sleep(0.05)

    def freeze(self, daemon, thread):
        """Stops one thread; it goes on when standard input of what is returned is closed."""
        freezer = subprocess.Popen([sys.executable, FREEZER, str(daemon.pid), thread], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(freezer.stdout.close)
        self.addCleanup(freezer.wait)
        self.addCleanup(freezer.stdin.close)
        self.assertEqual(freezer.stdout.readline(), "frozen\n")
        return freezer

    def end_in_time(self, daemon, code=0):
        """profd ends by itself, and as soon as it promises."""
        begun = time.monotonic()
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(60), code, self.log())
        self.assertLess(time.monotonic() - begun, PROMISED_SECONDS, self.log())

    def end(self, daemon):
        begun = time.monotonic()
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(60), 0, self.log())
        return time.monotonic() - begun

    def profctl(self, *arguments):
        return subprocess.run([PROFCTL, arguments[0], "--host", self.address, *arguments[1:]],
                              capture_output=True, text=True, check=False)
