"""deploy/fleet/README.md as it is written: its commands and its configuration, with two profd, ClickHouse's engine, a Collector where
there is one, and a service on both whose newer version is slower."""

import os
import re
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from collector_e2e_test import CONFIG as COLLECTOR_CONFIG, MOST_BYTES, collector  # noqa: E402
from exporting_profd import ExportingProfd  # noqa: E402
from clickhouse_store import Store, missing  # noqa: E402
from running_profd import BINARIES, PROFD  # noqa: E402

GUIDE = os.path.join(os.environ["PROFD_SOURCE_DIR"], "deploy", "fleet", "README.md")
STORE, RECEIVER = 8123, 4317  # as the guide has them
HOSTS = "host-a", "host-b"
# A request is a little of everything. Version 1.4.2 computes a price with twenty times the work.
CART = r"""
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void work(unsigned long n) { for (unsigned long i = 0; i < n; ++i) sink += i; }
__attribute__((noinline)) void price_of(void) { work(PRICE); sink++; }
__attribute__((noinline)) void render_page(void) { work(1000000); sink++; }
__attribute__((noinline)) void await_request(void) { struct timespec t = {0, 5000000}; nanosleep(&t, 0); sink++; }
int main(void) { for (;;) { await_request(); price_of(); render_page(); } }
"""


def blocks(language):
    with open(GUIDE, encoding="utf-8") as file:
        return re.findall(rf"^```{language}\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)


def taken(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


@unittest.skipIf(taken(STORE), f"port {STORE} of the guide is taken")
class Guide(ExportingProfd):
    def setUp(self):
        super().setUp()
        self.assertEqual(len(blocks("sh")), 3)
        self.assertEqual(len(blocks("toml")), 1)
        if why := missing():
            self.skipTest(why)
        self.store = self.enterContext(Store(port=STORE))
        self.no_collector = ""

    def shell(self, text):
        """In a folder of its own, with profctl on the path; returns what each command prints."""
        environment = dict(os.environ, PATH=BINARIES + ":" + os.environ["PATH"])
        done = subprocess.run(["bash", "-euc", text], cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def start_services(self):
        """Both versions, once for each host."""
        for version, price in (("1.4.1", 200_000), ("1.4.2", 4_000_000)):
            self.compile(CART, f"cart-{version}", f"-DPRICE={price}")
        command, = [block for block in blocks("sh") if "OTEL_RESOURCE_ATTRIBUTES" in block]
        for host in HOSTS:
            # All hosts are one machine here: each profd exports what is of its own.
            text = command.replace("service.name", f"service.instance.id={host},service.name")
            shell = subprocess.Popen(["bash", "-euc", text + "wait\n"], cwd=self.folder, start_new_session=True)
            self.addCleanup(shell.wait)
            self.addCleanup(os.killpg, shell.pid, signal.SIGKILL)

    def start_hosts(self):
        """A profd for each host, with the guide's configuration. Its windows are final sooner, so that the test is."""
        table, = blocks("toml")
        if self.no_collector:
            table = table[:table.index("# As many as you like")]
        rule = '[[export.relabel]]\naction = "keep"\nsource_labels = ["service.instance.id"]\nregex = "{}"\n'
        for host in HOSTS:
            exports = [part for part in re.split(r"(?m)^(?=\[\[export\]\])", table) if part.startswith("[[export]]")]
            text = "".join(f'{part}\ninterval = "2s"\n{rule.format(host)}\n' for part in exports)
            path = self.path(f"{host}.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'[history]\ndirectory = "{self.path(host)}"\nwindow = "1s"\ncompact = "2s"\n{text}')
            daemon = subprocess.Popen([PROFD, "--listen", f"unix:{self.path(host)}.sock", "--config", path],
                                      env=dict(os.environ, PROFD_HOST_NAME=host), stdin=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            self.addCleanup(daemon.wait)
            self.addCleanup(daemon.kill)

    def start_collector(self):
        """Unless there is none: then `no_collector` says why."""
        if collector() is None:
            self.no_collector = "there is no OpenTelemetry Collector: scripts/collector --build makes one"
        elif taken(RECEIVER):
            self.no_collector = f"port {RECEIVER} of the guide is taken"
        if self.no_collector:
            return
        with open(self.path("collector.yaml"), "w", encoding="utf-8") as file:
            file.write(COLLECTOR_CONFIG % (RECEIVER, RECEIVER + 1, MOST_BYTES, self.path("collected.json")))
        process = subprocess.Popen([collector(), "--config", self.path("collector.yaml"),
                                    "--feature-gates=+service.profilesSupport"], stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def delivered(self):
        """Whether the store has five windows of each host."""
        rows = self.store.run("SELECT host, count() FROM host_window GROUP BY host ORDER BY host FORMAT TSV").split("\n")[:-1]
        counts = dict(row.split("\t") for row in rows)
        return set(counts) == set(HOSTS) and all(int(count) >= 5 for count in counts.values())

    def test_the_guide(self):
        init, services, questions = blocks("sh")
        self.shell(init)
        self.shell(init)  # brings them up to date: there is nothing to do
        self.start_collector()
        self.start_hosts()
        self.start_services()
        self.await_true(self.delivered, "windows of both hosts")
        done = self.shell(questions)
        for version in ("1.4.1", "1.4.2"):
            self.assertIn(version, done.stdout)
        self.assertIn("price_of", done.stdout)
        with open(self.path("cart.svg"), encoding="utf-8") as file:
            picture = file.read()
        for name in ("price_of", "render_page", "await_request"):
            self.assertIn(name, picture)
        self.check_what_grew(done.stdout)
        with self.subTest("the Collector of the guide"):
            if self.no_collector:
                self.skipTest(self.no_collector)
            self.await_true(lambda: os.path.exists(self.path("collected.json")) and os.path.getsize(self.path("collected.json")),
                            "the Collector's file")
            with open(self.path("collected.json"), encoding="utf-8") as file:
                self.assertIn("price_of", file.read())

    def check_what_grew(self, stacks):
        """Folded stacks of the comparison, with the time of both versions: price_of is what has become slower."""
        grown = {name: [0, 0] for name in ("price_of", "render_page")}
        for line in stacks.splitlines():
            match = re.fullmatch(r"(cart;.*) (\d+) (\d+)", line)
            frames = match.group(1).split(";") if match else []
            # Stacks that wait end in the reason.
            for name in grown:
                if name in frames and not frames[-1].startswith("["):
                    grown[name][0] += int(match.group(2))
                    grown[name][1] += int(match.group(3))
        before, after = (grown["price_of"][side] / max(1, sum(times[side] for times in grown.values())) for side in (0, 1))
        # 17 and 80 % by construction; with 20 samples of each version chance does not bring them together.
        self.assertGreater(after, before)


if __name__ == "__main__":
    unittest.main()
