"""TorchServe on two CPUs: workers with more threads than CPUs, and workers that have a CPU and a thread each."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
SERVICE = os.path.join(os.path.dirname(HERE), "service")
FRAMEWORKS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench", "frameworks")
sys.path[:0] = [SERVICE, FRAMEWORKS]

import environments  # noqa: E402
from running_profd import RunningProfd  # noqa: E402

WORKERS = 2
SECONDS = 6
START_SECONDS = 120


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Serving(RunningProfd):
    def setUp(self):
        super().setUp()
        self.cpus = sorted(os.sched_getaffinity(0))[:WORKERS]
        if len(self.cpus) < WORKERS:
            self.skipTest(f"needs {WORKERS} CPUs")
        if shutil.which("java") is None:
            self.skipTest("no Java, which TorchServe runs on, is installed")
        try:
            self.programs = os.path.dirname(environments.installed_python_of("torchserve"))
        except environments.Missing as missing:
            self.skipTest(str(missing))
        self.start("--history-directory", "off")
        self.serve()

    def serve(self):
        archiver = [os.path.join(self.programs, "torch-model-archiver"), "--model-name", "net", "--version", "1", "--handler",
                    os.path.join(HERE, "serving_handler.py"), "--export-path", self.folder]
        subprocess.run(archiver, check=True, capture_output=True)
        inference, management, metrics = (f"http://127.0.0.1:{free_port()}" for _ in range(3))
        with open(self.path("config.properties"), "w", encoding="utf-8") as file:
            file.write(f"inference_address={inference}\nmanagement_address={management}\nmetrics_address={metrics}\n"
                       f"default_workers_per_model={WORKERS}\ndisable_token_authorization=true\n")
        server = subprocess.Popen(
            [os.path.join(self.programs, "torchserve"), "--start", "--foreground", "--ncs", "--disable-token-auth", "--model-store",
             self.folder, "--models", "net=net.mar", "--ts-config", self.path("config.properties")],
            # One server is allowed for each folder of temporary files.
            env={**os.environ, "TMPDIR": self.folder, "PATH": self.programs + ":" + os.environ["PATH"], "OMP_NUM_THREADS": str(WORKERS),
                 "LOG_LOCATION": self.path("logs"), "METRICS_LOCATION": self.path("logs")},
            cwd=self.folder, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(os.killpg, server.pid, signal.SIGKILL)  # Java is a child of it
        self.url = f"{inference}/predictions/net"
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"{management}/models/net", timeout=60) as answer:
                    workers = json.load(answer)[0]["workers"]
                if [worker["status"] for worker in workers] == ["READY"] * WORKERS:
                    break
            except (urllib.error.URLError, ConnectionError):
                pass
            self.assertIsNone(server.poll(), "TorchServe ended")
            self.assertLess(time.monotonic(), until, "TorchServe is not ready")
            time.sleep(0.1)
        self.pids = [worker["pid"] for worker in workers]

    def pin(self, cpus_of):
        for worker, pid in enumerate(self.pids):
            for thread in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(thread), cpus_of(worker))

    def collect(self, name, threads):
        """Under load; what `profctl threads` says of each worker."""
        with subprocess.Popen([sys.executable, os.path.join(HERE, "serving_clients.py"), self.url, str(WORKERS),
                               json.dumps({"threads": threads})], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as clients:
            self.assertEqual(clients.stdout.readline(), "ready\n")
            targets = [word for pid in self.pids for word in ("-p", str(pid))]
            done = self.profctl("collect", "-q", "--budget", "off", *targets, "-d", str(SECONDS), "-F", "199", "-o", self.path(name))
            self.assertEqual(done.returncode, 0, done.stderr)
            clients.stdin.write("end\n")
            clients.stdin.flush()
            answers = int(clients.stdout.readline())
        print(f"{name}: {answers} answers\n{self.profctl('threads', self.path(name)).stdout}")
        report = self.profctl("threads", self.path(name), "-f", "json")
        self.assertEqual(report.returncode, 0, report.stderr)
        return json.loads(report.stdout)

    @staticmethod
    def spinning_share(report):
        spinning, working = (sum(int(process[f"{part}_ns"]) for process in report["processes"]) for part in ("spinning", "working"))
        return spinning / (spinning + working)

    def test_more_threads_than_cpus_and_a_cpu_for_each(self):
        self.pin(lambda _: set(self.cpus))
        shared = self.collect("shared.json", threads=WORKERS)
        self.pin(lambda worker: {self.cpus[worker]})
        pinned = self.collect("pinned.json", threads=1)
        self.pin(lambda _: {self.cpus[0]})
        crowded = self.collect("crowded.json", threads=WORKERS)
        for before, after in (("shared.json", "pinned.json"), ("shared.json", "crowded.json")):
            diff = self.profctl("diff", self.path(before), self.path(after), "-f", "table")
            self.assertEqual(diff.returncode, 0, diff.stderr)
            print(diff.stdout)
        # Threads wait at barriers only where several of them work for a region.
        self.assertLess(self.spinning_share(pinned), self.spinning_share(shared))
        # What the workers may use, and did use, is what they were given.
        for worker, pid in enumerate(self.pids):
            process, = [one for one in pinned["processes"] if one["pid"] == pid]
            self.assertEqual((process["usable_cpus"], process["usable_by"]), (1, "affinity"))
            seen = {cpu for one in pinned["threads"] if one["pid"] == pid for cpu in one["cpus"].split()}
            self.assertEqual(seen, {str(self.cpus[worker])})
        # Two threads of one worker on one CPU are said to be too many.
        advice = [one for one in crowded["advice"] if one["kind"] == "oversubscribed"]
        self.assertEqual(sorted(one["pid"] for one in advice), sorted(self.pids))


if __name__ == "__main__":
    unittest.main(verbosity=2)
