"""Every file that a real profd writes is for its user alone, whatever the umask and the folders are."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import RunningProfd  # noqa: E402

PUPPET = r"""
#include <stdio.h>
__attribute__((noinline)) void found_by_download(volatile long *n) { for (;;) ++*n; }
int main(void) { long n = 0; puts("ready"); fflush(stdout); found_by_download(&n); }
"""


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return notes.split("Build ID: ")[1].split()[0]


class Files(RunningProfd):
    def files(self, folder):
        """{path below the folder: mode} of all files."""
        return {os.path.relpath(os.path.join(at, name), folder): stat.S_IMODE(os.stat(os.path.join(at, name)).st_mode)
                for at, _, names in os.walk(folder) for name in names}

    def open_folder(self, name):
        os.mkdir(self.path(name))
        os.chmod(self.path(name), 0o777)
        return self.path(name)

    def start_open(self, *flags, **environment):
        os.environ.update(environment)
        self.addCleanup(lambda: [os.environ.pop(name, None) for name in environment])
        return self.start(*flags, umask=0)

    def expect_private(self, files):
        self.assertEqual({name: oct(mode) for name, mode in files.items() if mode & 0o077}, {})

    def test_history_and_recordings(self):
        history, recordings = self.open_folder("history"), self.open_folder("recordings")
        daemon = self.start_open("--history-directory", history, "--history-window", "1s", "--record",
                                 os.path.join(recordings, "it.profd"))
        said = self.profctl("collect", "-q", "-a", "-d", "100ms", "-o", self.path("out.json"))
        self.assertEqual(said.returncode, 0, said.stderr)
        files = self.files(history)
        self.assertEqual(set(files), {"history.db", "history.db-wal", "history.db-shm", "history.db.lock"})
        self.expect_private(files)
        self.expect_private(self.files(recordings))
        self.assertEqual(set(self.files(recordings)), {"it.profd"})
        self.end(daemon)
        self.expect_private(self.files(history))

    def test_folders_that_it_makes_are_private(self):
        folder = self.open_folder("open")
        self.start_open("--history-directory", os.path.join(folder, "a", "history"))
        for name in ("a", "a/history"):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), 0o700)

    @unittest.skipIf(shutil.which("cc") is None or shutil.which("objcopy") is None, "no C compiler is installed")
    def test_downloads(self):
        # A server that is a folder: libdebuginfod reads file:// URLs.
        server, cache = self.path("server"), self.open_folder("cache")
        puppet = self.compile(PUPPET, "puppet", "-Wl,--build-id")
        debug = os.path.join(server, "buildid", build_id(puppet), "debuginfo")
        os.makedirs(os.path.dirname(debug))
        subprocess.run(["objcopy", "--only-keep-debug", puppet, debug], check=True)
        subprocess.run(["strip", puppet], check=True)
        self.start_open(DEBUGINFOD_URLS=f"file://{server}", DEBUGINFOD_CACHE_PATH=cache)
        process = subprocess.Popen([puppet], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.send_signal, signal.SIGKILL)
        self.assertEqual(process.stdout.readline(), "ready\n")
        # The first collections ask for the download; one after it has the name.
        def has_name():
            said = self.profctl("collect", "-q", "-p", str(process.pid), "-d", "100ms", "-o", "-", "-f", "folded")
            self.assertEqual(said.returncode, 0, said.stderr)
            return "found_by_download" in said.stdout

        self.await_true(has_name, "a collection has the name")
        files = self.files(cache)
        self.assertTrue(any(name.endswith("debuginfo") for name in files), files)
        self.expect_private(files)


if __name__ == "__main__":
    unittest.main()
