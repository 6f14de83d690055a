"""Exports of a real profd: what receivers get, and what becomes of it when they do not take it."""

import collections
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import grpc  # noqa: E402
from exporting_profd import ExportingProfd, HttpReceiver, OtlpSums, PprofSums, Receiver  # noqa: E402
from running_profd import PROFD, get  # noqa: E402

ONLY_PROGRAM = '[[export.relabel]]\naction = "keep"\nsource_labels = ["service.name"]\nregex = "exported-program"\n'
SERVICE = "exported-program"


class Exports(ExportingProfd):
    def receiver(self, port=0):
        receiver = Receiver(port)
        self.addCleanup(receiver.stop)
        return receiver

    def await_requests(self, receiver, count):
        if not receiver.await_requests(count):
            self.fail(f"{len(receiver.requests)} requests of {count}\n{self.log()}\n{self.status()}")

    def sums(self, receiver):
        return [OtlpSums(self, request) for request in receiver.requests]

    def check_program(self, sums):
        """The one thread of the program: its parts add up to its time."""
        length = sums.end - sums.begin if hasattr(sums, "end") else sums.times[0][1] - sums.times[0][0]
        self.assertEqual(sums.by_service[SERVICE],
                         sum(ns for (service, _), ns in sums.by_state.items() if service == SERVICE))
        # A thread that lives all the time has as many ns as the time has. The history says how far off its clocks are:
        # less than 1 in 1,000, which metrics_e2e_test.py verifies.
        self.assertAlmostEqual(sums.by_service[SERVICE] / length, 1, delta=0.001)
        blocked = sums.by_state[SERVICE, "blocked"]
        self.assertGreater(blocked, 0)
        self.assertEqual(blocked, sum(ns for (service, _), ns in sums.by_wait.items() if service == SERVICE))

    def once(self, receiver):
        """The requests without those that came again, because their answer was lost: under the same ids."""
        by_time = {}
        for sums in self.sums(receiver) if isinstance(receiver, Receiver) else receiver:
            again = by_time.setdefault(sums.times[0], sums)
            self.assertEqual(again.ids, sums.ids)
            self.assertEqual(again.by_state, sums.by_state)
        return list(by_time.values())

    def check_stacks(self, all_sums):
        """What the program does is in some of the profiles: two seconds have few sampling points on a busy host."""
        self.assertTrue(any(sums.by_wait[SERVICE, "sleep"] for sums in all_sums))
        for function in ("busy_part", "lazy_part"):
            self.assertTrue(any(sums.functions[SERVICE, function] for sums in all_sums), function)

    def test_files_and_requests_have_the_same_windows_and_add_up(self):
        receiver = self.receiver()
        self.run_program()
        self.export(self.files(), self.otlp(receiver.port))
        files = self.await_true(lambda: len(self.written()) >= 5 and self.written(), "five files")
        self.await_requests(receiver, 5)
        by_begin = {}
        for path in files[1:]:
            sums = PprofSums(self, path)
            self.check_program(sums)
            self.assertEqual(sums.types, ["samples", "wall", "cpu", "off_cpu"])
            self.assertFalse([name for name in sums.names if name.startswith("__")])
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o640)
            by_begin[sums.begin] = sums
        self.check_stacks(by_begin.values())
        ends = [(sums.begin, sums.end) for sums in by_begin.values()]
        for (_, end), (begin, _) in zip(ends, ends[1:]):
            self.assertLess(abs(begin - end), 1_000_000_000, "windows follow each other")
        requests = self.sums(receiver)
        common = [sums for sums in requests if sums.times[0][0] in by_begin]
        self.assertGreaterEqual(len(common), 2)
        for sums in common:
            self.check_program(sums)
            file = by_begin[sums.times[0][0]]
            # Both have read the same history: equal to the ns, for all programs of the host.
            self.assertEqual(sums.by_service, file.by_service)
            self.assertEqual(sums.by_state, file.by_state)
        self.check_stacks(requests)
        ids = [one for sums in requests for one in sums.ids]
        self.assertEqual(len(ids), len(set(ids)))
        labels = next(labels for labels in common[0].resources if labels["service.name"] == SERVICE)
        self.assertEqual(labels["process.executable.name"], SERVICE)
        self.assertEqual(labels["host.name"], os.uname().nodename)
        for labels in common[0].resources:
            self.assertFalse([name for name in labels if name.startswith("__") or "command" in name])

    def test_relabelling_headers_and_size(self):
        receiver = self.receiver()
        with open(self.path("token"), "w", encoding="utf-8") as file:
            file.write("Authorization: Bearer abc\n")
        self.run_program()
        self.export(self.otlp(receiver.port, f'request = "64KiB"\nheaders_from = ["{self.path("token")}"]\n')
                    + '[[export.relabel]]\nsource_labels = ["__process.pid"]\ntarget_label = "process.pid"\n'
                    + '[[export.relabel]]\naction = "labeldrop"\nregex = "process\\\\.executable.*"\n')
        self.await_requests(receiver, 6)
        self.assertEqual(receiver.metadata[0]["authorization"], "Bearer abc")
        for request in receiver.requests:
            self.assertLessEqual(len(request), 64 << 10)
        labels = [labels for sums in self.sums(receiver) for labels in sums.resources]
        self.assertTrue([one for one in labels if one.get("service.name") == SERVICE])
        for one in labels:
            self.assertFalse([name for name in one if name.startswith("process.executable")])
        self.assertTrue([one for one in labels if "process.pid" in one])

    def certificate(self, name):
        """PEM files of a key and a certificate for localhost that has signed itself."""
        files = self.path(name + ".key"), self.path(name + ".pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", files[0], "-out", files[1],
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                       check=True, capture_output=True)
        return files

    def test_tls_takes_only_receivers_that_the_authorities_know(self):
        good = self.certificate("good")
        receiver = Receiver(identity=good)
        self.addCleanup(receiver.stop)
        impostor = Receiver(identity=self.certificate("impostor"))
        self.addCleanup(impostor.stop)
        ours = self.certificate("ours")
        strict = Receiver(identity=good, client_ca=ours[1])
        self.addCleanup(strict.stop)
        self.run_program()
        table = 'name = "{}"\nto = "otlp+grpcs://localhost:{}"\ninterval = "2s"\ntls_ca = "' + good[1] + '"\n'
        self.export(table.format("good", receiver.port) + ONLY_PROGRAM, table.format("bad", impostor.port) + ONLY_PROGRAM,
                    table.format("strict", strict.port) + f'tls_certificate = "{ours[1]}"\ntls_key = "{ours[0]}"\n' + ONLY_PROGRAM,
                    table.format("unknown", strict.port) + ONLY_PROGRAM)
        self.await_requests(receiver, 3)
        self.await_requests(strict, 1)
        for sums in self.sums(receiver):
            self.check_program(sums)
        self.await_true(lambda: re.search(r"bad: 0 sent.*\n *fails: unavailable", self.status()), "the failure is said")
        self.await_true(lambda: re.search(r"unknown: 0 sent.*\n *fails: unavailable", self.status()), "the failure is said")
        self.assertFalse(impostor.requests)

    def test_requests_over_http(self):
        receiver = HttpReceiver()
        self.addCleanup(receiver.stop)
        receiver.statuses = [503, 400]
        self.run_program()
        self.export(f'name = "http"\nto = "otlp+http://127.0.0.1:{receiver.port}"\ninterval = "2s"\n' + ONLY_PROGRAM)
        self.await_requests(receiver, 3)
        self.assertEqual({path for path, _ in receiver.calls}, {"/v1development/profiles"})
        for _, headers in receiver.calls:
            self.assertEqual(headers["content-type"], "application/x-protobuf")
            self.assertEqual(headers["content-encoding"], "gzip")
        for sums in self.sums(receiver):
            self.check_program(sums)
        # 503 was tried again, 400 was not.
        gaps = json.loads(self.profctl("status", "--json").stdout)["exports"][0]["gaps_ns"]
        self.assertEqual([gap["name"] for gap in gaps], ["refused_http_400"])
        self.assertEqual(sum(sums.notes["profd.gap.refused_http_400"] for sums in self.sums(receiver)),
                         int(gaps[0]["count"]))

    def test_a_receiver_that_comes_back_gets_all_in_order(self):
        receiver = Receiver()
        self.run_program()
        self.export(self.otlp(receiver.port) + ONLY_PROGRAM)
        self.await_requests(receiver, 2)
        receiver.stop()
        before = self.sums(receiver)
        self.await_true(lambda: re.search(r"; ([2-9]|\d\d+) wait", self.status()), "requests wait")
        self.await_true(lambda: "fails: unavailable" in self.status(), "the failure is said")
        again = self.receiver(receiver.port)
        self.await_requests(again, 4)
        times = [sums.times[0] for sums in self.once([*before, *self.sums(again)])]
        self.assertEqual(times, sorted(times))
        for (_, end), (begin, _) in zip(times, times[1:]):
            self.assertLess(abs(begin - end), 1_000_000_000, "no window is missing")
        self.assertFalse([sums.notes for sums in self.sums(again) if any("gap" in note for note in sums.notes)])

    def test_refused_requests_are_gaps_with_their_cause(self):
        receiver = self.receiver()
        left = [2]

        def refuse(context):
            if left[0] > 0:
                left[0] -= 1
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "bad data")

        receiver.answer = refuse
        self.run_program()
        self.export(self.otlp(receiver.port) + ONLY_PROGRAM, more='[metrics]\nlisten = "127.0.0.1:0"\n')
        self.await_requests(receiver, 3)
        notes = sum((sums.notes["profd.gap.refused_invalid_argument"] for sums in self.sums(receiver)), 0)
        exports = json.loads(self.profctl("status", "--json").stdout)["exports"]
        gaps = {gap["name"]: int(gap["count"]) for gap in exports[0]["gaps_ns"]}
        self.assertEqual(set(gaps), {"refused_invalid_argument"})
        self.assertEqual(gaps["refused_invalid_argument"], notes)
        self.assertGreater(notes, 0)
        self.assertRegex(self.status(), r"never sent: .* refused_invalid_argument")
        url = re.search(r"http://127\.0\.0\.1:\d+", self.log()).group(0)
        self.assertRegex(get(url + "/metrics")[1],
                         r'profd_export_gap_seconds_total\{export="otlp",cause="refused_invalid_argument"\} [1-9]')

    def test_requests_that_are_too_large_for_a_receiver_are_halved(self):
        """gRPC itself refuses what is larger than its limit."""
        receiver = Receiver(most_bytes=20_000)
        self.addCleanup(receiver.stop)
        self.run_program()
        self.export(self.otlp(receiver.port), self.files())
        self.await_true(lambda: len({sums.times[0] for sums in self.sums(receiver)}) >= 4, "requests of four times")
        self.await_true(lambda: len(self.written()) >= 4, "four files")
        parts = {}
        for sums in self.sums(receiver):
            parts.setdefault(sums.times[0][0], []).append(sums)
        ids = [one for sums in self.sums(receiver) for one in sums.ids]
        self.assertEqual(len(ids), len(set(ids)))
        # The last time may have come in part.
        whole = sorted(parts)[:-1]
        files = {sums.begin: sums for sums in (PprofSums(self, path) for path in self.written())}
        common = [begin for begin in whole if begin in files]
        self.assertTrue(common)
        for begin in common:
            self.assertGreater(len(parts[begin]), 1)
            total = sum((sums.by_state for sums in parts[begin]), start=collections.Counter())
            self.assertEqual(total, +files[begin].by_state)
        self.assertNotIn("never sent", self.status())

    def test_a_disk_that_is_full_loses_nothing_that_the_history_has(self):
        """The folder of exports is a file system of 512 KiB, and the receiver is away."""
        receiver = Receiver()
        port = receiver.port
        receiver.stop()
        exports = self.path("history/exports")
        os.makedirs(exports)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "profd-test", exports], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", exports], check=True)
        self.run_program()
        self.export(self.otlp(port, 'compression = "none"'))
        self.await_true(lambda: "no space left on device" in self.trouble(), "the full disk is said")
        spool = os.path.join(exports, "otlp", "spool")
        self.assertFalse([name for name in os.listdir(spool) if not name.endswith(".entry")])
        again = self.receiver(port)
        self.await_requests(again, 12)
        times = [sums.times[0] for sums in self.once(again)]
        self.assertEqual(times, sorted(times))
        for (_, end), (begin, _) in zip(times, times[1:]):
            self.assertLess(abs(begin - end), 1_000_000_000, "no window is missing")
        self.await_true(lambda: self.trouble() == "", "all is well again")
        self.assertNotIn("never sent", self.status())

    def test_a_folder_that_is_full_gets_all_when_there_is_room(self):
        """Files go to a file system of 256 KiB."""
        out = self.path("out")
        os.makedirs(out)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "profd-test", out], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", out], check=True)
        self.run_program()
        self.export(self.files('compression = "none"'))
        self.await_true(lambda: "no space left on device" in self.trouble(), "the full disk is said")
        self.await_true(lambda: re.search(r"; ([2-9]|\d\d+) wait", self.status()), "files wait")
        self.assertFalse([name for name in os.listdir(out) if not name.endswith(".pb")], "no part of a file is left")
        subprocess.run(["mount", "-o", "remount,size=64m", out], check=True)
        self.await_true(lambda: self.trouble() == "" and len(os.listdir(out)) >= 8, "all is well again")
        self.assertNotIn("never sent", self.status())
        names = sorted(os.listdir(out), key=lambda name: int(re.search(r"-(\d+)\.pb$", name).group(1)))
        numbers = [int(re.search(r"-(\d+)\.pb$", name).group(1)) for name in names]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        times = [(sums.begin, sums.end) for sums in (PprofSums(self, os.path.join(out, name), open) for name in names)]
        for (_, end), (begin, _) in zip(times, times[1:]):
            self.assertLess(abs(begin - end), 1_000_000_000, "no window is missing")

    def test_a_receiver_that_hangs_delays_nothing_else(self):
        receiver = self.receiver()
        free = threading.Event()
        self.addCleanup(free.set)
        receiver.answer = lambda context: free.wait(250)
        self.run_program()
        daemon = self.export(self.otlp(receiver.port, 'timeout = "500ms"') + ONLY_PROGRAM, self.files())
        self.await_true(lambda: len(self.written()) >= 4, "files of the other export")
        self.await_true(lambda: "deadline_exceeded" in self.status(), "the time-out is said")
        # Sampling and the history go on.
        for path in self.written()[1:]:
            self.check_program(PprofSums(self, path))
        free.set()
        self.await_requests(receiver, 1)
        self.end_in_time(daemon)

    def test_after_kills_nothing_is_missing(self):
        receiver = self.receiver()
        self.run_program()
        daemon = self.export(self.otlp(receiver.port) + ONLY_PROGRAM)
        self.await_requests(receiver, 2)
        os.kill(self.exporter(daemon), signal.SIGKILL)
        seen = len(receiver.requests)
        self.await_requests(receiver, seen + 2)
        self.assertIn("exports: profd-export has ended 1 times, the last time by signal 9 (Killed); it is started again",
                      json.loads(self.profctl("status", "--json").stdout)["degraded"])
        times = [sums.times[0] for sums in self.once(receiver)]
        self.assertEqual(times, sorted(times))
        for (_, end), (begin, _) in zip(times, times[1:]):
            self.assertLess(abs(begin - end), 1_000_000_000)
        # profd takes both processes with it, and goes on where it was.
        exporter = self.exporter(daemon)
        daemon.kill()
        daemon.wait()
        self.await_true(lambda: not os.path.exists(f"/proc/{exporter}"), "profd-export ends with profd")
        self.start()
        seen = len(receiver.requests)
        self.await_requests(receiver, seen + 3)
        times = [sums.times[0] for sums in self.once(receiver)]
        self.assertEqual(times, sorted(times))

    def test_the_process_has_no_rights_and_the_lowest_priority(self):
        daemon = self.export(self.files())
        pid = self.await_true(lambda: self.exporter(daemon), "profd-export runs")
        # It drops its rights before it writes anything.
        state = self.path("history/exports/files/state.json")
        self.await_true(lambda: os.path.exists(state), "its state")
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            status = file.read()
        for line in ("CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"):
            self.assertIn(line, status)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, pid), 19)
        with open(f"/proc/{pid}/limits", encoding="utf-8") as file:
            self.assertRegex(file.read(), r"Max address space +\d+ +\d+ +bytes")
        with open(f"/proc/{pid}/oom_score_adj", encoding="utf-8") as file:
            self.assertEqual(file.read(), "1000\n")
        self.assertEqual(stat.S_IMODE(os.stat(state).st_mode), 0o600)

    def test_without_a_history_profd_says_so(self):
        self.configure("[[export]]\n" + self.files())
        ended = subprocess.run([PROFD, "--listen", self.address, "--config", self.path("profd.toml")],
                               env={k: v for k, v in os.environ.items() if k != "STATE_DIRECTORY"},
                               capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("there are exports, but no history that they send", ended.stderr)


if __name__ == "__main__":
    unittest.main()
