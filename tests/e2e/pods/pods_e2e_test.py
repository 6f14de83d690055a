"""Labels of processes in a pod that a real runtime has made."""

import gzip
import json
import os
import signal
import subprocess
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "fleet")]

from exporting_profd import PPROF, ExportingProfd  # noqa: E402
from private_containerd import PrivateContainerd, missing  # noqa: E402

UID = "0a1b2c3d-1111-2222-3333-444455556666"
POD = "cart-5d8f7c9b6d-x2x9z"
LABELS = {"pod-template-hash": "5d8f7c9b6d", "app.kubernetes.io/component": "backend", "secret": "x"}
PROGRAM = r"""
#include <time.h>
static volatile unsigned long sink;
int main(void) {
  for (;;) {
    for (unsigned long i = 0; i < 3000000; ++i) sink += i;
    struct timespec t = {0, 5000000};
    nanosleep(&t, 0);
  }
}
"""
EXPECTED = {
    "container.image.name": "profd.test/shop/cart",
    "container.image.tags": "1.2",
    "k8s.container.name": "main",
    "k8s.deployment.name": "cart",
    "k8s.namespace.name": "shop",
    "k8s.node.name": "node-1",
    "k8s.pod.label.app.kubernetes.io/component": "backend",
    "k8s.pod.name": POD,
    "k8s.pod.uid": UID,
    "process.executable.name": "cart-program",
    "service.name": "cart",
    "service.version": "1.2",
}


class Pods(ExportingProfd):
    def setUp(self):
        if why := missing():
            self.skipTest(why)
        super().setUp()
        self.runtime = PrivateContainerd(self.path(""))
        if why := self.runtime.start():
            self.skipTest(why)
        self.addCleanup(self.runtime.stop)
        self.runtime.import_image("profd.test/shop/cart:1.2", self.runtime.compile(PROGRAM, "cart-program"))

    def run_cart(self, environment=None):
        pod, config = self.runtime.run_pod(POD, "shop", UID, LABELS)
        return self.runtime.run_container(pod, config, "main", "profd.test/shop/cart:1.2", environment or {})

    def containers(self):
        return f'[containers]\nsockets = "{self.runtime.socket}"\nnode_name = "node-1"\n'

    def rows(self, *filters):
        listed = self.profctl("list", "--since", "1h", "--json", *filters)
        return json.loads(listed.stdout)["rows"] if listed.returncode == 0 else []

    def await_labels(self, *filters):
        """The labels of the one process of the history that passes the filters."""
        rows = self.await_true(lambda: self.rows(*filters), f"a process with {filters}")
        self.assertEqual(len(rows), 1, rows)
        return rows[0]["labels"]

    def test_the_history_and_exported_files_have_the_names_of_the_pod(self):
        container = self.run_cart()
        self.export(self.files('[[export.relabel]]\naction = "keep"\nsource_labels = ["k8s.pod.name"]\nregex = ".+"\n'),
                    more=self.containers())
        labels = self.await_labels("--label", "k8s.pod.name=cart-*", "--label", "k8s.container.name=main")
        self.assertEqual({name: labels.get(name) for name in EXPECTED}, EXPECTED)
        self.assertEqual(labels["container.id"], container)
        self.assertFalse([name for name in labels if "secret" in name])
        self.assertEqual(self.rows("--label", "k8s.pod.name=other"), [])
        query = ("query", "--since", "1h", "-f", "folded", "--label")
        self.assertEqual(self.profctl(*query, "k8s.pod.name=other").returncode, 3)
        self.assertIn("cart-program", self.profctl(*query, "k8s.pod.name=" + POD).stdout)
        grouped = json.loads(self.profctl("list", "--since", "1h", "--group-by", "service", "--json").stdout)["rows"]
        self.assertIn("cart", [row["name"] for row in grouped])

        self.await_true(lambda: any(self.exported(path) for path in self.written()), "a file with the pod")
        found = next(one for one in map(self.exported, self.written()) if one)
        self.assertEqual({name: found.get(name) for name in EXPECTED}, EXPECTED)
        self.assertRegex(self.runtimes()[0], f"^containerd .* at {self.runtime.socket}: 2 containers and pods$")
        self.assertRegex(self.profctl("doctor").stdout, r"(?m)^containers +ok +containerd ")

    def runtimes(self):
        return json.loads(self.profctl("status", "--json").stdout)["container_runtimes"]

    def exported(self, path):
        """The labels of a sample of the container in a pprof file; None: it has none."""
        with gzip.open(path) as file:
            profile = PPROF.Profile.FromString(file.read())
        text = profile.string_table
        for sample in profile.sample:
            labels = {text[label.key]: text[label.str] for label in sample.label}
            self.assertFalse([name for name in labels if name.startswith("__")])
            if labels.get("k8s.container.name") == "main":
                return labels
        return None

    def test_a_process_names_its_service_itself_and_a_session_has_its_labels(self):
        self.run_cart({"OTEL_SERVICE_NAME": "shop-cart", "PASSWORD": "hunter2",
                       "OTEL_RESOURCE_ATTRIBUTES": "service.version=7,team=a%20b,k8s.pod.name=forged"})
        self.configure(self.containers())
        self.start()
        self.await_true(self.runtimes, "the runtime's answer")
        file = self.path("profile.json")
        made = self.profctl("collect", "--comm", "cart-program", "-d", "2", "-o", file)
        self.assertEqual(made.returncode, 0, made.stderr)
        table = self.profctl("report", file, "--by", "label:service.name", "-f", "json")
        self.assertEqual(table.returncode, 0, table.stderr)
        self.assertIn("shop-cart", table.stdout)
        for name, value, there in (("k8s.pod.name", POD, True), ("k8s.pod.name", "forged", False),
                                   ("service.version", "7", True), ("__resource.team", "a b", True)):
            shown = self.profctl("report", file, "--by", "state", "--filter", f"label:{name} = '{value}'")
            self.assertEqual(shown.returncode == 0, there, f"{name} {value}\n{shown.stdout}{shown.stderr}")
        with open(file, encoding="utf-8") as text:
            self.assertNotIn("hunter2", text.read())

    def test_a_runtime_that_hangs_delays_nothing(self):
        self.run_cart()
        self.runtime.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.runtime.process.send_signal, signal.SIGCONT)
        daemon = self.export(more=self.containers())
        # The runtime says nothing; the uid is that of the cgroup.
        labels = self.await_labels("--label", f"k8s.pod.uid={UID}", "--comm", "cart-program")
        self.assertNotIn("k8s.pod.name", labels)
        said = self.await_true(self.runtimes, "what status says")[0]
        self.assertTrue(said.startswith(self.runtime.socket + ": "), said)
        self.end_in_time(daemon)


class Services(ExportingProfd):
    """Without a runtime."""

    def test_what_a_process_says_of_itself_is_in_sessions_in_the_history_and_in_files(self):
        rule = '[[export.relabel]]\naction = "keep"\nsource_labels = ["service.name"]\nregex = "shop-cart"\n'
        self.export(self.files(rule), more='[containers]\nsockets = "off"\n')
        environment = {"OTEL_SERVICE_NAME": "shop-cart", "PASSWORD": "hunter2",
                       "OTEL_RESOURCE_ATTRIBUTES": "service.version=7,team=a%20b"}
        process = subprocess.Popen([self.program], env=environment)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        found = self.await_true(
            lambda: json.loads(self.profctl("list", "--since", "1h", "--json", "--label", "service.name=shop-*",
                                            "--label", "service.version=7").stdout or '{"rows": []}')["rows"],
            "the service in the history")
        self.assertTrue("exported-program".startswith(found[0]["name"]), found[0]["name"])
        self.assertEqual(found[0]["labels"]["__resource.team"], "a b")
        made = self.profctl("collect", "-p", str(process.pid), "-d", "1", "-o", self.path("p.json"))
        self.assertEqual(made.returncode, 0, made.stderr)
        with open(self.path("p.json"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(json.loads(text)["profile"]["processes"][0]["labels"]["service.name"], "shop-cart")
        self.assertNotIn("hunter2", text)
        file = self.await_true(self.written, "a file")[0]
        with gzip.open(file) as data:
            profile = data.read()
        self.assertIn(b"shop-cart", profile)
        for secret in (b"hunter2", b"__resource"):
            self.assertNotIn(secret, profile)


if __name__ == "__main__":
    unittest.main()
