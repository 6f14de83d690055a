"""Sockets that a service manager makes for profd, as systemd does with profd.socket."""

import fcntl
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import OTHER, PROFCTL, PROFD, RunningProfd, as_user  # noqa: E402

# How an HTTP/2 connection begins, from either side: with a frame of this type.
SETTINGS = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0])
FIRST = 3  # SD_LISTEN_FDS_START
# What systemd does between fork and exec: descriptors from FIRST on, their number, and whose they are.
HAND_OVER = """
import os, sys
count = int(sys.argv[1])
for at, fd in enumerate(map(int, sys.argv[2:2 + count])):
    os.dup2(fd, {first} + at, inheritable=True)
os.environ.update(LISTEN_FDS=str(count), LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2 + count], sys.argv[2 + count:])
""".format(first=FIRST)


class Sockets(RunningProfd):
    def make(self, name="profd.sock", kind=socket.SOCK_STREAM):
        made = socket.socket(socket.AF_UNIX, kind)
        self.addCleanup(made.close)
        made.bind(self.path(name))
        if kind == socket.SOCK_STREAM:
            made.listen()
        os.chmod(self.path(name), 0o640)
        return made

    def handing_over(self, *sockets):
        # Above those that they become.
        numbers = [fcntl.fcntl(made.fileno(), fcntl.F_DUPFD, 64) for made in sockets]
        for number in numbers:
            self.addCleanup(os.close, number)
        return {"before": [sys.executable, "-c", HAND_OVER, str(len(numbers)), *map(str, numbers)],
                "pass_fds": numbers}

    def test_serves_there_and_leaves_it_to_its_maker(self):
        made = self.make()
        daemon = self.start(**self.handing_over(made))
        status = self.profctl("status")
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("profd.sock")).st_mode), 0o640)
        self.end(daemon)
        self.assertTrue(os.path.exists(self.path("profd.sock")))

    def test_a_socket_for_everybody_serves_root_and_its_group_alone(self):
        made = self.make()
        os.chmod(self.folder, 0o755)
        os.chmod(self.path("profd.sock"), 0o666)
        self.start(**self.handing_over(made))
        profctl = shutil.copy(PROFCTL, self.folder)
        for arguments in (["status"], ["query"], ["collect", "-a", "-d", "100ms"], ["dump", "-p", "1"]):
            with self.subTest(arguments):
                said = subprocess.run([*as_user(OTHER), profctl, *arguments, "--host", self.address],
                                      capture_output=True, text=True, check=False, cwd="/")
                self.assertEqual((said.returncode, said.stdout), (5, ""), said.stderr)
                self.assertRegex(said.stderr, rf"profd\.sock is for root\b.*, not for uid {OTHER}\n  use sudo")
        self.assertEqual(self.profctl("status").returncode, 0)

    def test_who_connects_early_is_served_later(self):
        made = self.make()
        with socket.socket(socket.AF_UNIX) as early:
            early.settimeout(60)
            early.connect(self.path("profd.sock"))
            early.sendall(PREFACE)
            self.start(**self.handing_over(made))
            self.assertEqual(early.recv(9)[3], SETTINGS)

    def test_connections_do_not_use_up_the_descriptors(self):
        daemon = self.start(before=["prlimit", "--nofile=256:2048"])
        connections = []
        for _ in range(400):
            connections.append(socket.socket(socket.AF_UNIX))
            self.addCleanup(connections[-1].close)
            connections[-1].connect(self.path("profd.sock"))
        self.assertEqual(self.profctl("status").returncode, 0)
        with open(f"/proc/{daemon.pid}/limits", encoding="utf-8") as file:
            self.assertRegex(file.read(), r"Max open files +2048 +2048")
        self.end(daemon)

    def test_a_socket_that_is_not_configured_is_named(self):
        made = self.make("elsewhere.sock")
        self.start(**self.handing_over(made))
        self.assertRegex(self.log(), r"systemd listens at \S+elsewhere\.sock, but profd serves nothing there")

    def test_what_is_no_listening_socket_is_refused(self):
        made = self.make("datagrams", socket.SOCK_DGRAM)
        options = self.handing_over(made)
        said = subprocess.run([*options["before"], PROFD, "--listen", self.address], pass_fds=options["pass_fds"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, 2)
        self.assertIn("descriptor 3 from systemd is not a listening unix socket", said.stderr)

    def test_the_unit_listens_where_profd_does(self):
        with open(os.path.join(os.environ["PROFD_SOURCE_DIR"], "deploy/systemd/profd.socket"), encoding="utf-8") as file:
            unit = file.read()
        path = re.search(r"^ListenStream=(.*)$", unit, re.MULTILINE).group(1)
        settings = subprocess.run([PROFD, "--print-config"], capture_output=True, text=True, check=True,
                                  env={"PROFD_CONFIG": "/dev/null"}).stdout
        self.assertIn(f'listen = "unix://{path}"', settings)


if __name__ == "__main__":
    unittest.main()
