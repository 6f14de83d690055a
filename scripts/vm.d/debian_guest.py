"""A Debian guest with systemd as its first process, and commands that are run in it, one after the other."""

import os
import shutil
import signal
import subprocess
import tempfile
from typing import NamedTuple

import machine

LIFE_S = 3400  # a guest that hangs must end


class Ended(Exception):
    """The guest is gone; the message has the last words of its console."""


class Answer(NamedTuple):
    status: int
    output: str  # of stdout and stderr


class DebianGuest:
    """Boots a copy of an image that is discarded. Its agent (debian_image.py) gets by a serial port the command
    to run; commands and output lie in a folder that both see, the guest as /share."""

    def __init__(self, kernel, image, memory="1G"):
        machine.require_qemu()
        self.share = tempfile.mkdtemp(prefix="profd-vm-")
        self.console = os.path.join(self.share, "console")
        self.commands = 0
        command = machine.qemu_command(
            kernel, 1, memory, self.console, {"share": self.share}, words="disk=/dev/vda rw systemd.getty_auto=0",
            own_clock=True,
            more=["-drive", f"file={image},format=raw,if=virtio,snapshot=on,cache=unsafe",
                  "-chardev", "stdio,id=agent,signal=off", "-serial", "chardev:agent"])
        # `timeout` also ends a guest whose maker was killed.
        self.process = subprocess.Popen(["timeout", str(LIFE_S), *command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        try:
            self._hear("ready")
        except BaseException:
            self.end()
            raise

    def _hear(self, word):
        """The line of the agent that begins with this word."""
        for line in self.process.stdout:
            if line.split()[:1] == [word]:
                return line.split()
        raise Ended(f"the guest ended or ran longer than {LIFE_S} s; its console:\n{machine.last_words(self.console)}")

    def put(self, path):
        """Copies a file of this machine into the guest; returns its name there."""
        return f"/share/{os.path.basename(shutil.copy(path, self.share))}"

    def read(self, name):
        """What the guest has written into /share/NAME."""
        with open(os.path.join(self.share, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def run(self, script):
        """Runs a script of bash as root."""
        self.commands += 1
        with open(os.path.join(self.share, f"{self.commands}.command"), "w", encoding="utf-8") as file:
            file.write(script)
        try:
            self.process.stdin.write(f"{self.commands}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # _hear says why
        status = int(self._hear(str(self.commands))[1])
        return Answer(status, self.read(f"{self.commands}.output"))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()
        shutil.rmtree(self.share)
