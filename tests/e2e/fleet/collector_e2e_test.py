"""The OpenTelemetry Collector takes what profd exports, and what its file exporter writes has the same sums."""

import collections
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from exporting_profd import ExportingProfd, PprofSums  # noqa: E402

SERVICE = "exported-program"
MOST_BYTES = 20 << 20  # of a request over HTTP
CONFIG = """
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "127.0.0.1:%d"}
      http: {endpoint: "127.0.0.1:%d", max_request_body_size: %d}
exporters:
  file: {path: "%s"}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [otlp], exporters: [file]}
"""


def collector():
    """Path of the program; None: it has not been built."""
    script = os.path.join(os.environ["PROFD_SOURCE_DIR"], "scripts", "collector")
    return subprocess.run([script], capture_output=True, text=True, check=False).stdout.strip() or None


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


# Fields of an OTLP request that are an index, or a list of them, and the table that it is of.
INDEXES = {"mappingIndex": "mappingTable", "functionIndex": "functionTable", "stackIndex": "stackTable", "linkIndex": "linkTable",
           "locationIndices": "locationTable", "attributeIndices": "attributeTable"}


def check_indexes(request):
    """Every index of a request, in every table and profile; returns how many there are, by field."""
    tables = request["dictionary"]
    seen = collections.Counter()

    def walk(holder):
        for item in holder if isinstance(holder, list) else []:
            walk(item)
        for field, value in holder.items() if isinstance(holder, dict) else []:
            is_text = field.endswith("Strindex")
            if not is_text and field not in INDEXES:
                if re.search(r"ind(ex|ices)$", field, re.IGNORECASE):
                    raise AssertionError(f"{field} is an index of no table that is known")
                walk(value)
                continue
            table = tables.get("stringTable" if is_text else INDEXES[field], [])
            for index in value if isinstance(value, list) else [value]:
                seen[field] += 1
                if not isinstance(index, int) or not 0 <= index < len(table):
                    raise AssertionError(f"{field} is {index!r}, of {len(table)}")

    walk(request)
    def is_nothing(value):
        return all(map(is_nothing, value.values())) if isinstance(value, dict) else value in ("", 0, "0", [])

    # The first entry of each table is what 0 stands for.
    for name, table in tables.items():
        if table and not is_nothing(table[0]):
            raise AssertionError(f"{name} begins with {table[0]}")
    return seen


class Indexes(unittest.TestCase):
    """That the check finds what it is for."""

    def test_wrong_indexes_are_found(self):
        def request(**fields):
            mapping = {"filenameStrindex": 1, "attributeIndices": [1]}
            dictionary = {"stringTable": ["", "a"], "mappingTable": [{}, mapping], "attributeTable": [{}, {"keyStrindex": 1}]}
            return {"dictionary": {**dictionary, **fields}, "resourceProfiles": [{"resource": {}}]}

        self.assertEqual(check_indexes(request()), {"filenameStrindex": 1, "attributeIndices": 1, "keyStrindex": 1})
        for wrong in ({"mappingTable": [{}, {"filenameStrindex": 2}]}, {"mappingTable": [{}, {"filenameStrindex": -1}]},
                      {"mappingTable": [{}, {"attributeIndices": [1, -1]}]}, {"functionTable": [{}, {"systemNameStrindex": 2}]},
                      {"locationTable": [{}, {"mappingIndex": 2}]}, {"locationTable": [{}, {"lines": [{"functionIndex": 1}]}]},
                      {"stackTable": [{}, {"locationIndices": [0]}]}, {"stackTable": [{}, {"locationIndices": ["0"]}]},
                      {"linkTable": [{"traceId": "a"}]}, {"stringTable": ["x", "a"]}, {"stackTable": [{}, {"otherIndex": 0}]}):
            with self.subTest(wrong=wrong), self.assertRaises(AssertionError):
                check_indexes(request(**wrong))


@unittest.skipIf(collector() is None, "there is no OpenTelemetry Collector: scripts/collector --build makes one")
class Collector(ExportingProfd):
    def setUp(self):
        super().setUp()
        self.indexes = collections.Counter()
        self.starts = 0

    def start_collector(self, most_bytes=MOST_BYTES, ports=None):
        """Each start has a file of its own."""
        ports = ports or (free_port(), free_port())
        self.starts += 1
        with open(self.path("collector.yaml"), "w", encoding="utf-8") as file:
            file.write(CONFIG % (*ports, most_bytes, self.path(f"collected-{self.starts}.json")))
        with open(self.path("collector.log"), "ab") as log:
            self.process = subprocess.Popen([collector(), "--config", self.path("collector.yaml"),
                                             "--feature-gates=+service.profilesSupport"], stderr=log, stdout=log)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        return ports

    def collected(self):
        """Whole lines of its files."""
        requests = []
        for start in range(1, self.starts + 1):
            path = self.path(f"collected-{start}.json")
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    requests += [json.loads(line) for line in file.read().split("\n")[:-1] if line]
        return requests

    def sums(self, request):
        """{begin: sums by service and state}. Resources have texts, or indexes of them."""
        tables = request["dictionary"]
        texts = tables["stringTable"]
        self.indexes.update(check_indexes(request))

        def text(holder, plain, index):
            return texts[holder[index]] if index in holder else holder.get(plain, "")

        def attribute(index):
            found = tables["attributeTable"][index]
            return texts[found["keyStrindex"]], text(found.get("value", {}), "stringValue", "stringValueStrindex")

        sums = collections.defaultdict(collections.Counter)
        for resource in request["resourceProfiles"]:
            labels = {text(one, "key", "keyStrindex"): text(one["value"], "stringValue", "stringValueStrindex")
                      for one in resource["resource"]["attributes"]}
            for scope in resource["scopeProfiles"]:
                for profile in scope["profiles"]:
                    self.assertRegex(profile["profileId"], "^[0-9a-f]{32}$")
                    self.assertEqual(texts[profile["sampleType"]["typeStrindex"]], "wall")
                    for sample in profile["samples"]:
                        about = dict(attribute(index) for index in sample["attributeIndices"])
                        self.check_stack(tables, sample["stackIndex"])
                        key = labels["service.name"], about["profd.state"]
                        sums[int(profile["timeUnixNano"])][key] += sum(int(value) for value in sample["values"])
        return sums

    def check_stack(self, tables, index):
        self.assertGreater(index, 0)
        locations = tables["stackTable"][index]["locationIndices"]
        self.assertTrue(locations)
        for location in locations:
            for line in tables["locationTable"][location]["lines"]:
                name = tables["functionTable"][line["functionIndex"]]["nameStrindex"]
                self.assertNotEqual(tables["stringTable"][name], "")

    def test_takes_all_over_grpc(self):
        grpc, _ = self.start_collector()
        self.compare(self.otlp(grpc))

    def test_takes_all_over_http(self):
        _, http = self.start_collector()
        self.compare(f'name = "http"\nto = "otlp+http://127.0.0.1:{http}"\ninterval = "2s"\n')

    def test_takes_halves_of_what_is_too_large_for_it(self):
        """It answers 400 to a body of more bytes."""
        _, http = self.start_collector(most_bytes=12_000)
        self.compare(f'name = "http"\nto = "otlp+http://127.0.0.1:{http}"\ninterval = "2s"\n', halved=True)

    def ids_of(self, request):
        """(begin, id) of its profiles."""
        return [(int(profile["timeUnixNano"]), profile["profileId"]) for resource in request["resourceProfiles"]
                for scope in resource["scopeProfiles"] for profile in scope["profiles"]]

    def test_what_it_misses_comes_later_and_once(self):
        """It stands still, and then it is killed. A request whose answer was lost comes again, with the same ids."""
        ports = self.start_collector()
        self.run_program()
        self.export(self.otlp(ports[0], 'timeout = "1s"'), self.files())
        self.await_true(lambda: len(self.collected()) >= 2, "two requests")
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            self.await_true(lambda: "deadline_exceeded" in self.status(), "the time-out is said")
        finally:
            os.kill(self.process.pid, signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self.await_true(lambda: "fails: unavailable" in self.status(), "that it is away is said")
        killed = time.time_ns()
        self.start_collector(ports=ports)

        def begins():
            return {begin for request in self.collected() for begin, _ in self.ids_of(request)}

        self.await_true(lambda: max(begins()) > killed, "windows of later")
        ids = {}  # of the times of requests
        for request in self.collected():
            of_request = self.ids_of(request)
            self.assertEqual(ids.setdefault(of_request[0][0], of_request), of_request, "the same time, the same ids")
        written = {PprofSums(self, path).begin for path in self.written()}
        between = {begin for begin in written if min(ids) < begin < max(ids)}
        self.assertGreater(len(between), 2)
        self.assertEqual(between - ids.keys(), set(), "no window is missing")
        self.assertNotIn("never sent", self.status())

    def compare(self, export, halved=False):
        self.run_program()
        self.export(export, self.files())
        self.await_true(lambda: len({begin for request in self.collected() for begin in self.sums(request)}) >= 4,
                        "the Collector has written requests of four times")
        self.await_true(lambda: len(self.written()) >= 4, "four files")
        files = {sums.begin: sums for sums in (PprofSums(self, path) for path in self.written())}
        collected = collections.defaultdict(collections.Counter)
        for request in self.collected():
            for begin, sums in self.sums(request).items():
                collected[begin].update(sums)
        common = sorted(files.keys() & collected.keys())
        self.assertGreaterEqual(len(common), 3)
        if halved:
            self.assertGreater(len(self.collected()), len(collected))
            common = common[:-1]  # the last one may have come in part
        for begin in common:
            self.assertEqual(collected[begin], files[begin].by_state)
        self.assertGreater(collected[common[-1]][SERVICE, "blocked"], 0)
        for field in (*sorted(INDEXES.keys() - {"linkIndex"}), "nameStrindex", "filenameStrindex", "keyStrindex", "typeStrindex"):
            self.assertGreater(self.indexes[field], 0, field)
        self.assertIsNone(re.search(r"fails:|never sent", self.status()))


if __name__ == "__main__":
    unittest.main()
