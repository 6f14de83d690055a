"""Pyroscope's own handlers take what profd exports; a stand-in of its API module has its limits, and no store."""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
sys.path.insert(0, os.path.join(FOLDER, "..", "..", "support", "receivers"))

import go_program  # noqa: E402
from exporting_profd import ExportingProfd, PprofSums  # noqa: E402

SERVICE = "exported-program"
ONLY_PROGRAM = '[[export.relabel]]\naction = "keep"\nsource_labels = ["service.name"]\nregex = "exported-program"\n'
UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"


class Pyroscope(ExportingProfd):
    @classmethod
    def setUpClass(cls):
        try:
            cls.standin = go_program.built("pyroscope")
        except go_program.Missing as missing:
            raise unittest.SkipTest(str(missing)) from missing

    def start_pyroscope(self, port=0):
        """Its process and port."""
        os.makedirs(self.path("pushed"), exist_ok=True)
        with open(self.path("pyroscope.log"), "ab") as log:
            process = subprocess.Popen([self.standin, self.path("pushed"), str(port)], stdout=subprocess.PIPE, stderr=log)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, int(process.stdout.readline())

    def export_to(self, port, scheme="http", more=""):
        return f'name = "pyroscope"\nto = "pyroscope+{scheme}://127.0.0.1:{port}"\ninterval = "2s"\n{more}\n'

    def pushed(self):
        """Profiles in the order of requests."""
        profiles = []
        for name in sorted(name for name in os.listdir(self.path("pushed")) if name.endswith(".json")):
            with open(os.path.join(self.path("pushed"), name), encoding="utf-8") as file:
                profiles += json.load(file)
        return profiles

    def await_pushed(self, count):
        """Until so many intervals have come."""
        self.await_true(lambda: len({one["begin"] for one in self.pushed()}) >= count, f"{count} profiles are pushed")

    def fail_next(self, *lines):
        with open(self.path("pushed/fail.part"), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        os.replace(self.path("pushed/fail.part"), self.path("pushed/fail"))

    def check_adds_up(self, profile):
        """What a flame graph of each type shows: roots are states, and types are parts of wall."""
        wall, cpu, off = (profile["sums"][kind + ":nanoseconds"] for kind in ("wall", "cpu", "off_cpu"))
        for root, ns in wall.items():
            self.assertRegex(root, r"^\[(running|spinning|runnable|blocked(:[a-z]+)?|stolen)\]$")
            self.assertEqual(cpu[root], ns if root in ("[running]", "[spinning]") else 0)
            self.assertEqual(off[root], ns if root == "[runnable]" or root.startswith("[blocked") else 0)
        self.assertRegex(profile["id"], UUID)
        self.assertEqual(profile["labels"]["__name__"], "process_cpu")

    def compare_with_files(self, scheme):
        _, port = self.start_pyroscope()
        self.run_program()
        with open(self.path("tenant"), "w", encoding="utf-8") as file:
            file.write("X-Scope-OrgID: team-a\n")
        self.export(self.export_to(port, scheme, f'headers_from = ["{self.path("tenant")}"]'), self.files())
        self.await_pushed(4)
        self.await_true(lambda: len(self.written()) >= 4, "four files")
        files = {sums.begin: sums for sums in (PprofSums(self, path) for path in self.written())}
        pushed = collections.defaultdict(collections.Counter)
        for profile in self.pushed():
            self.check_adds_up(profile)
            self.assertEqual(profile["tenant"], "team-a")
            self.assertLessEqual(set(profile["labels"]), {"__name__", "service_name"})
            for root, ns in profile["sums"]["wall:nanoseconds"].items():
                state = re.match(r"\[([a-z]+)", root).group(1)
                pushed[profile["begin"]][profile["labels"]["service_name"], state] += ns
        common = sorted(files.keys() & pushed.keys())
        self.assertGreaterEqual(len(common), 3)
        for begin in common:
            self.assertEqual(pushed[begin], files[begin].by_state)
        program = [one for one in self.pushed() if one["labels"]["service_name"] == SERVICE]
        self.assertTrue(any(one["sums"]["wall:nanoseconds"].get("[blocked:sleep]") for one in program))
        for function in ("busy_part", "lazy_part"):
            self.assertTrue(any(one["functions"].get(function) for one in program), function)
        ids = [one["id"] for one in self.pushed()]
        self.assertEqual(len(ids), len(set(ids)))
        # One series of a service: processes and threads are summed.
        services = collections.Counter((one["begin"], one["labels"]["service_name"]) for one in self.pushed())
        self.assertEqual(set(services.values()), {1})

    def test_takes_all_over_http(self):
        self.compare_with_files("http")

    def test_takes_all_over_grpc(self):
        self.compare_with_files("grpc")

    def test_rules_choose_the_labels_of_series(self):
        _, port = self.start_pyroscope()
        self.run_program()
        self.export(self.export_to(port) + ONLY_PROGRAM
                    + '[[export.relabel]]\naction = "labelkeep"\nregex = "(service|host)\\\\.name"\n')
        self.await_pushed(2)
        self.assertEqual(self.pushed()[0]["labels"], {"__name__": "process_cpu", "service_name": SERVICE,
                                                      "host_name": os.uname().nodename})

    def test_answers_mean_what_pyroscope_means(self):
        _, port = self.start_pyroscope()
        self.run_program()
        self.fail_next("resource_exhausted push rate limit (4.0 MB) exceeded", "internal a store is away",
                       "invalid_argument bad data")
        self.export(self.export_to(port) + ONLY_PROGRAM)
        self.await_pushed(3)
        self.await_true(lambda: "refused_http_400" in self.status(), "the refusal is said")
        export = json.loads(self.profctl("status", "--json").stdout)["exports"][0]
        # Two were tried again, the third was given up.
        self.assertEqual([gap["name"] for gap in export["gaps_ns"]], ["refused_http_400"])
        self.assertGreaterEqual(int(export["retries"]), 2)
        comments = [comment for one in self.pushed() for comment in one["comments"] if "gap before" in comment]
        self.assertEqual(len(comments), 1)
        self.assertIn("refused_http_400", comments[0])

    def test_a_limit_that_is_lower_than_ours_halves_requests(self):
        _, port = self.start_pyroscope()
        self.run_program()
        self.fail_next("invalid_argument the profile with labels '{}' exceeds the size limit (max_profile_size_byte, actual: 9, "
                       "limit: 8)")
        self.export(self.export_to(port) + ONLY_PROGRAM, self.files())
        self.await_pushed(3)
        self.await_true(lambda: len(self.written()) >= 3, "three files")
        sums = collections.defaultdict(collections.Counter)
        for profile in self.pushed():
            self.check_adds_up(profile)
            sums[profile["begin"]].update(profile["sums"]["wall:nanoseconds"])
        first = min(sums)
        self.assertGreater(len([one for one in self.pushed() if one["begin"] == first]), 1)
        files = {one.begin: one for one in (PprofSums(self, path) for path in self.written())}
        self.assertEqual(sum(sums[first].values()), files[first].by_service[SERVICE])
        self.assertNotIn("never sent", self.status())

    def test_a_receiver_that_is_killed_or_stands_still_gets_all_in_order(self):
        process, port = self.start_pyroscope()
        self.run_program()
        self.export(self.export_to(port, more='timeout = "500ms"') + ONLY_PROGRAM)
        self.await_pushed(1)
        os.kill(process.pid, signal.SIGSTOP)
        self.await_true(lambda: "fails: http: Timeout" in self.status(), "the time-out is said")
        process.kill()
        process.wait()
        self.await_true(lambda: re.search(r"; ([2-9]|\d\d+) w", self.status()), "requests wait")
        before = len({one["begin"] for one in self.pushed()})
        self.start_pyroscope(port)
        self.await_pushed(before + 3)
        seen = {}
        for one in self.pushed():
            # What was taken while its answer was lost comes again, under the same ID.
            self.assertEqual(seen.setdefault(one["begin"], one["id"]), one["id"])
        times = sorted({(one["begin"], one["end"]) for one in self.pushed()})
        for (_, end), (begin, _) in zip(times, times[1:]):
            self.assertLess(abs(begin - end), 1_000_000_000, "no window is missing")


if __name__ == "__main__":
    unittest.main()
