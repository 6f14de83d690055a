"""What one user does without end while a soak runs: every storm of tests/testprogs/storms at once, and a file system that hangs."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

from unwind_loads import needed

HERE = os.path.dirname(os.path.abspath(__file__))
HANGING_FILES = os.path.join(HERE, "..", "..", "e2e", "hostile", "hanging_files.py")
UNPRIVILEGED = 65534
# At the lowest priority these threads weigh 30 ordinary ones. Ten times as many would leave no other program a CPU.
CROWD = 2_000
LIBRARY = "int answer(void) { return 42; }\n"
LONG = [250 * letter for letter in "abcdefghijkl"]  # a path of 3,000 bytes


def be_last(pid):
    """A session is a group of the scheduler, in which `nice` has no weight against others: the group needs it, too."""
    try:
        with open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as group:
            group.write("19")
    except OSError:  # a kernel without such groups
        pass


class Storms:
    """A context, in which start() and stop() may be called once each. Everything is at the lowest priority, as an
    unprivileged user."""

    def __init__(self, program):
        self.program = program
        self.running = []

    def __enter__(self):
        needed("setpriv", "cc")
        self.folder = tempfile.mkdtemp(prefix="soak-storms-", dir="/var/tmp")
        self.mount = os.path.join(self.folder, "mount")
        os.mkdir(self.mount)
        self.own = os.path.join(self.folder, "storms")
        shutil.copy(self.program, self.own)
        long = os.path.join(self.folder, *LONG)
        os.makedirs(long)
        for folder in (self.folder, long):
            os.chmod(folder, 0o777)
            with open(os.path.join(folder, "mapped"), "wb") as file:
                file.write(bytes(65536))
        self.long = os.path.join(long, "mapped")
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", os.path.join(self.folder, "library.so"), "-"], input=LIBRARY,
                       text=True, check=True)
        self.files = None
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        for arguments in (["mappings", os.path.join(self.folder, "mapped")], ["mappings", self.long],
                          ["dlopen", os.path.join(self.folder, "library.so")], ["programs"], ["execs"], ["forks"], ["threads"],
                          ["renames"], ["crowd", str(CROWD)], ["perf_map"], ["stacks"]):
            self.run(self.own, *arguments)
        if os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.hang()

    def hang(self):
        """A program whose file does not answer any more."""
        self.files = subprocess.Popen([sys.executable, HANGING_FILES, self.mount, self.own], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.files.stdout.readline()
        self.run(os.path.join(self.mount, "storms"), "stacks", as_user=())
        self.files.stdin.write("hang\n")
        self.files.stdin.flush()

    def run(self, *command, as_user=("setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--clear-groups")):
        storm = subprocess.Popen(["nice", "-n", "19", *as_user, *command], cwd=self.folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        self.running.append(storm)
        be_last(storm.pid)
        storm.stdout.readline()

    def stop(self):
        for storm in self.running:
            os.killpg(storm.pid, signal.SIGKILL)
        if self.files:
            self.files.stdin.close()
            self.files.wait()
            self.files = None
        for storm in self.running:
            storm.wait()
            storm.stdout.close()
            if os.path.exists(path := f"/tmp/perf-{storm.pid}.map"):
                os.unlink(path)
        self.running = []
