"""Sessions by label with the real binaries: two services of one program, of which one is chosen."""

import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import OTHER, PROFCTL, RunningProfd, as_user  # noqa: E402

NOT_FOUND = 3
# Says when it is ready, and when each line on standard input has been done: "start" starts a child of its own.
PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) void busy_part(void) { for (unsigned long i = 0; i < 1000000; ++i) sink += i; }
static void work(void) {
  struct timespec t = {0, 5000000};
  for (;;) { busy_part(); nanosleep(&t, 0); }
}
int main(void) {
  char line[64];
  puts("ready"); fflush(stdout);
  while (fgets(line, sizeof line, stdin) && strcmp(line, "start\n") == 0) {
    if (fork() == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); work(); }
    puts("started"); fflush(stdout);
  }
  work();
}
"""


class Labels(RunningProfd):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.program = self.compile(PROGRAM, "labelled")

    def run_program(self, service, attributes="", before=()):
        environment = dict(os.environ, OTEL_SERVICE_NAME=service, OTEL_RESOURCE_ATTRIBUTES=attributes)
        child = subprocess.Popen([*before, self.program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 cwd="/")
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stdin.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), "ready\n")
        return child

    def collect(self, *arguments):
        """The profile."""
        said = self.profctl("collect", *arguments, "-d", "500ms", "-o", self.path("x.json"))
        self.assertEqual(said.returncode, 0, said.stderr)
        with open(self.path("x.json"), encoding="utf-8") as file:
            return json.load(file)["profile"]

    def await_collecting(self, client):
        for line in client.stderr:
            if "collecting" in line:
                return
        self.fail("profctl has ended")

    def pids(self, *arguments):
        return sorted(process["pid"] for process in self.collect(*arguments)["processes"])

    def test_one_of_two_services_is_chosen(self):
        self.start()
        cart = self.run_program("e2e-cart", "service.version=1.4,team=shop")
        checkout = self.run_program("e2e-checkout", "service.version=2.0")
        profile = self.collect("--service", "e2e-cart")
        self.assertEqual([process["pid"] for process in profile["processes"]], [cart.pid])
        self.assertEqual(profile["target"], "label service.name=e2e-cart")
        self.assertEqual(profile["processes"][0]["labels"]["service.name"], "e2e-cart")
        # The sum is that of the one thread.
        self.assertEqual(sum(int(weight) for weight in profile["samples"]["weight_ns"]),
                         int(profile["end_ns"]) - int(profile["start_ns"]))
        both = sorted([cart.pid, checkout.pid])
        self.assertEqual(self.pids("--service", "e2e-*"), both)
        self.assertEqual(self.pids("--label", "service.name=e2e-cart", "--label", "service.name=e2e-checkout"), both)
        self.assertEqual(self.pids("--label", "process.executable.name=labelled", "--label", "service.version=2.*"), [checkout.pid])
        self.await_log(r"session \d+: label service\.name=e2e-cart, for root")

    def test_other_commands_take_it_too(self):
        self.start()
        self.run_program("e2e-cart")
        self.run_program("e2e-checkout")
        for arguments in (["top", "-n", "1", "-i", "300ms"], ["threads", "-d", "300ms"], ["report", "-d", "300ms", "--by", "label:service.name"],
                          ["waits", "-d", "300ms"], ["symbols", "-d", "300ms"]):
            with self.subTest(arguments[0]):
                said = self.profctl(*arguments, "--service", "e2e-cart")
                self.assertEqual(said.returncode, 0, said.stderr)
                self.assertNotIn("e2e-checkout", said.stdout)
        report = self.profctl("report", "-d", "300ms", "--by", "label:service.name", "--service", "e2e-cart")
        self.assertIn("e2e-cart", report.stdout)

    def test_children_are_members_where_requested(self):
        self.start()
        cart = self.run_program("e2e-cart")
        for flags, count in ((["-s"], 2), ([], 1)):
            said = subprocess.Popen([PROFCTL, "collect", "--host", self.address, "--service", "e2e-cart", *flags, "-v", "-d", "2s", "-o",
                                     self.path("x.json")], stderr=subprocess.PIPE, text=True)
            self.addCleanup(said.stderr.close)
            self.addCleanup(said.kill)
            self.await_collecting(said)
            cart.stdin.write("start\n")
            cart.stdin.flush()
            self.assertEqual(cart.stdout.readline(), "started\n")
            self.assertEqual(said.wait(60), 0)
            with open(self.path("x.json"), encoding="utf-8") as file:
                profile = json.load(file)["profile"]
            pids = {process["pid"] for process in profile["processes"]}
            # The child of the first session has the labels when the second one begins.
            self.assertEqual(len(pids), count + (0 if flags else 1), profile["processes"])
            self.assertIn(cart.pid, pids)

    def test_a_session_ends_with_its_processes(self):
        self.start()
        cart = self.run_program("e2e-cart")
        said = subprocess.Popen([PROFCTL, "collect", "--host", self.address, "--service", "e2e-cart", "-v", "-d", "10m", "-o",
                                 self.path("x.json")], stderr=subprocess.PIPE, text=True)
        self.addCleanup(said.stderr.close)
        self.addCleanup(said.kill)
        self.await_collecting(said)
        cart.kill()
        self.assertEqual(said.wait(60), 0)
        self.assertIn("the target exited after", said.stderr.read())

    def test_what_there_is_is_said_where_nothing_matches(self):
        self.start()
        self.run_program("e2e-cart", "e2e.unheard=1,service.version=e2e-7")
        said = self.profctl("collect", "--service", "e2e-cart", "--label", "service.version=e2e-8", "-d", "100ms")
        self.assertEqual(said.returncode, NOT_FOUND, said.stderr)
        self.assertIn("no process has service.name=e2e-cart, service.version=e2e-8", said.stderr)
        self.assertIn("service.version is ", said.stderr)
        self.assertIn("e2e-7", said.stderr)

    def test_a_private_profd_finds_them(self):
        cart = self.run_program("e2e-cart")
        said = subprocess.run([PROFCTL, "collect", "--service", "e2e-cart", "-d", "500ms", "-o", self.path("x.json")],
                              env=dict(os.environ, PROFD_HOST=""), capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, 0, said.stderr)
        with open(self.path("x.json"), encoding="utf-8") as file:
            self.assertEqual([process["pid"] for process in json.load(file)["profile"]["processes"]], [cart.pid])

    @unittest.skipIf(shutil.which("setpriv") is None, "setpriv is not installed")
    def test_a_user_finds_their_own_alone(self):
        self.start("--public-socket", self.path("public.sock"))
        client = shutil.copy(PROFCTL, self.folder)
        self.run_program("e2e-secret")
        self.run_program("e2e-cart")
        own = self.run_program("e2e-cart", before=as_user(OTHER))
        collect = [*as_user(OTHER), client, "collect", "--host", "unix:" + self.path("public.sock"), "-d", "300ms", "-f", "json"]
        said = subprocess.run([*collect, "--service", "e2e-cart"], capture_output=True, text=True, check=False, cwd="/")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual([process["pid"] for process in json.loads(said.stdout)["profile"]["processes"]], [own.pid])
        for service in ("e2e-secret", "e2e-nothing"):
            said = subprocess.run([*collect, "--service", service], capture_output=True, text=True, check=False, cwd="/")
            self.assertEqual(said.returncode, NOT_FOUND, said.stderr)
            self.assertIn(f"no process of yours has service.name={service}\n", said.stderr)
            # And the client itself.
            self.assertIn("service.name is e2e-cart, profctl here", said.stderr)


if __name__ == "__main__":
    unittest.main()
