"""Pprof files of profd in a store of S3 that verifies signatures; read back, they have the sums of files."""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
sys.path.insert(0, os.path.join(FOLDER, "..", "..", "bench", "frameworks"))

import environments  # noqa: E402
from exporting_profd import ExportingProfd, PprofSums  # noqa: E402

STORE = os.path.join(FOLDER, "..", "..", "support", "receivers", "s3_store.py")
KEY = r"^hosts/a/[^/]+/[^/]+-\d{8}T\d{6}Z-(\d+)\.pb\.gz$"


class S3(ExportingProfd):
    @classmethod
    def setUpClass(cls):
        try:
            cls.python = environments.python_of("moto")
        except environments.Missing as missing:
            raise unittest.SkipTest(str(missing)) from missing

    def start_store(self, port=0):
        """The process, its port and its keys."""
        store = subprocess.Popen([self.python, STORE, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for cleanup in (store.wait, store.kill, store.stdout.close, store.stdin.close):
            self.addCleanup(cleanup)
        return store, *json.loads(store.stdout.readline())

    def write_keys(self, access_key, secret_key):
        with open(self.path("keys.part"), "w", encoding="utf-8") as file:
            file.write(f"access_key: {access_key}\nsecret_key: {secret_key}\n")
        os.replace(self.path("keys.part"), self.path("keys"))

    def to_store(self, port):
        return (f'name = "s3"\nto = "s3://profiles/hosts/a?endpoint=http://127.0.0.1:{port}&region=eu-test-1"\n'
                f'interval = "2s"\ncredentials_from = "{self.path("keys")}"\n')

    def objects(self, store):
        """Paths of copies by number."""
        folder = self.path("objects")
        os.makedirs(folder, exist_ok=True)
        store.stdin.write(f"dump {folder}\n")
        store.stdin.flush()
        found = {}
        for name in json.loads(store.stdout.readline()):
            number = int(re.match(KEY, name).group(1))
            self.assertNotIn(number, found)
            found[number] = os.path.join(folder, name.replace("/", "_"))
        return found

    def test_objects_are_those_files(self):
        store, port, *keys = self.start_store()
        self.write_keys(*keys)
        self.run_program()
        self.export(self.to_store(port), self.files())
        objects = self.await_true(lambda: (found := self.objects(store)) and len(found) >= 4 and found, "four objects")
        self.await_true(lambda: len(self.written()) >= 4, "four files")
        files = {sums.begin: sums for sums in (PprofSums(self, path) for path in self.written())}
        compared = 0
        for path in objects.values():
            sums = PprofSums(self, path)
            if sums.begin in files:
                self.assertEqual(sums.by_state, files[sums.begin].by_state)
                self.assertEqual(sums.functions, files[sums.begin].functions)
                compared += 1
        self.assertGreaterEqual(compared, 3)
        self.assertNotIn("fails:", self.status())

    def test_wrong_keys_are_said_and_lose_nothing(self):
        store, port, access_key, secret_key = self.start_store()
        self.run_program()
        self.export(self.to_store(port))
        self.await_true(lambda: f"credentials_from: cannot read {self.path('keys')}" in self.trouble(), "the missing file is said")
        self.write_keys("AKIANOBODY", secret_key)
        self.await_true(lambda: "InvalidAccessKeyId" in self.trouble(), "the wrong key is said")
        self.write_keys(access_key, "wrong-secret")
        self.await_true(lambda: "SignatureDoesNotMatch" in self.trouble(), "the wrong secret is said")
        self.assertIn("the keys are in the file of credentials_from", self.trouble())
        self.assertNotIn("wrong-secret", self.trouble())
        self.write_keys(access_key, secret_key)
        objects = self.await_true(lambda: (found := self.objects(store)) and len(found) >= 4 and found, "four objects")
        self.assertIn(1, objects)
        self.assertNotIn("never sent", self.status())

    def check_nothing_is_missing(self, objects):
        numbers = sorted(objects)
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        times = [(sums.begin, sums.end) for sums in (PprofSums(self, objects[number]) for number in numbers)]
        for (_, end), (begin, _) in zip(times, times[1:]):
            self.assertLess(abs(begin - end), 1_000_000_000, "no window is missing")

    def test_a_store_that_is_too_busy_gets_all_later(self):
        store, port, *keys = self.start_store()
        self.write_keys(*keys)
        store.stdin.write("busy 3\n")
        store.stdin.flush()
        self.assertEqual(json.loads(store.stdout.readline()), 3)
        self.run_program()
        self.export(self.to_store(port))
        self.await_true(lambda: "http 503 SlowDown: " in self.trouble(), "that it is busy is said")
        objects = self.await_true(lambda: (found := self.objects(store)) and len(found) >= 4 and found, "four objects")
        self.assertIn(1, objects)
        self.check_nothing_is_missing(objects)
        self.assertEqual(int(self.exports()[0]["retries"]), 3)
        self.assertNotIn("never sent", self.status())

    def test_a_store_that_stands_still_gets_all_later(self):
        store, port, *keys = self.start_store()
        self.write_keys(*keys)
        self.run_program()
        self.export(self.to_store(port) + 'timeout = "2s"\n')
        self.await_true(lambda: self.objects(store), "an object")
        os.kill(store.pid, signal.SIGSTOP)
        try:
            self.await_true(lambda: "Timeout was reached" in self.trouble(), "the time-out is said")
            self.await_true(lambda: re.search(r"; ([2-9]|\d\d+) w", self.status()), "files wait")
        finally:
            os.kill(store.pid, signal.SIGCONT)
        before = self.objects(store)
        objects = self.await_true(lambda: (found := self.objects(store)) and len(found) >= len(before) + 3 and found, "more objects")
        self.check_nothing_is_missing(objects)
        self.assertNotIn("never sent", self.status())

    def test_a_store_that_was_killed_gets_the_rest(self):
        store, port, *keys = self.start_store()
        self.write_keys(*keys)
        self.run_program()
        self.export(self.to_store(port))
        self.await_true(lambda: self.objects(store), "an object")
        store.kill()
        store.wait()
        self.await_true(lambda: re.search(r"; ([2-9]|\d\d+) w", self.status()), "files wait")
        self.await_true(lambda: "fails: http:" in self.status(), "the failure is said")
        store, _, *keys = self.start_store(port)
        self.write_keys(*keys)
        objects = self.await_true(lambda: (found := self.objects(store)) and len(found) >= 3 and found, "three objects")
        self.check_nothing_is_missing(objects)


if __name__ == "__main__":
    unittest.main()
