"""/metrics and /healthz of a real profd."""

import os
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import PROFD, RunningProfd, get  # noqa: E402


def values(text):
    """{"name" or "name{labels}": value} of a page."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


class Metrics(RunningProfd):
    def serve(self):
        self.configure('[metrics]\nlisten = "127.0.0.1:0"\n[history]\nwindow = "1s"\n'
                       f'directory = "{self.path("history")}"\n')
        self.start()
        return re.search(r"http://127\.0\.0\.1:\d+", self.log()).group(0)

    def window(self, url):
        """The page once a window of the history is in it, and something was sampled."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            page = get(url + "/metrics")[1]
            now = values(page)
            if now.get("profd_history_windows") and now["profd_off_cpu_samples_total"]:
                return page
            time.sleep(0.05)
        return self.fail(f"no window and no sample within a minute\n{page}")

    def test_shows_what_it_costs_and_what_it_lost(self):
        url = self.serve()
        first = values(self.window(url))
        second = values(get(url + "/metrics")[1])
        for name in ("process_cpu_seconds_total", "profd_bpf_seconds_total", "profd_off_cpu_samples_total",
                     "profd_names_seconds_total"):
            self.assertGreater(first[name], 0, name)
            self.assertGreaterEqual(second[name], first[name], name)
        threads = sum(value for name, value in second.items() if name.startswith("profd_thread_cpu"))
        self.assertAlmostEqual(threads, second["process_cpu_seconds_total"], places=6)
        self.assertLess(second["profd_history_closure_error_ratio"], 0.001)
        worst = second["profd_history_closure_error_ratio"]
        self.assertLessEqual(abs(second["profd_history_sum_closure_error_ratio"]), worst)
        self.assertIn('profd_lost_total{reason="on_cpu_ring_full"}', second)
        self.assertIn('profd_dropped_total{reason="queue_full"}', second)
        self.assertGreater(second["profd_processes"], 0)
        self.assertIn("profd_unplaced_frames_total", second)
        self.assertEqual(second["profd_missing_capabilities"], 0)
        self.assertEqual(second['profd_budget_limited{of="history"}'], 1)

    def test_health(self):
        url = self.serve()
        self.window(url)
        self.assertEqual(get(url + "/healthz"), (200, "ok\n"))
        self.assertEqual(get(url + "/")[0], 404)

    @unittest.skipIf(shutil.which("promtool") is None, "promtool is not installed")
    def test_promtool_finds_nothing(self):
        page = self.window(self.serve())
        said = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True, check=False)
        self.assertEqual((said.returncode, said.stdout + said.stderr), (0, ""))

    def test_off_by_default(self):
        self.start()
        self.assertNotIn("metrics", self.log())

    def test_for_this_host_only(self):
        said = subprocess.run([PROFD, "--metrics-listen", "0.0.0.0:9899"], capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, 2)
        self.assertEqual(said.stderr.splitlines(), [
            "profd: --metrics-listen is '0.0.0.0:9899': '0.0.0.0:9899' is not a loopback address; metrics are for this "
            "host only",
            "  use 127.0.0.1:PORT or [::1]:PORT, and a collector or proxy on the host"])


if __name__ == "__main__":
    unittest.main()
