"""deploy: the unit and the cluster manifest agree on rights and budget."""

import os
import re
import shutil
import subprocess
import tomllib
import unittest

try:
    import yaml
except ImportError:
    yaml = None

SOURCE = os.environ.get("PROFD_SOURCE_DIR") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
BUILD = os.environ.get("PROFD_BINARY_DIR") or os.path.join(SOURCE, "build")
CAPABILITIES = {"BPF", "PERFMON", "SYS_PTRACE", "SYSLOG", "DAC_READ_SEARCH", "CHECKPOINT_RESTORE"}


def path_of(name):
    return os.path.join(SOURCE, "deploy", name)


def read(name):
    with open(path_of(name), encoding="utf-8") as file:
        return file.read()


def values(unit, key):
    return re.findall(rf"^{key}=(.*)$", read(unit), re.MULTILINE)


class Units(unittest.TestCase):
    def test_the_service_has_the_six_capabilities_and_no_others(self):
        for key in ("AmbientCapabilities", "CapabilityBoundingSet"):
            self.assertEqual({name.removeprefix("CAP_") for name in values("systemd/profd.service", key)[0].split()},
                             CAPABILITIES)

    def test_the_service_is_watched_reloaded_and_not_root(self):
        unit = "systemd/profd.service"
        self.assertEqual(values(unit, "Type"), ["notify"])
        self.assertEqual(values(unit, "User"), ["profd"])
        self.assertGreater(int(values(unit, "WatchdogSec")[0]), 0)
        self.assertIn('/bin/sh -c "kill -HUP $MAINPID"', values(unit, "ExecReload"))

    def test_the_service_has_a_place_for_its_history(self):
        self.assertEqual(values("systemd/profd.service", "StateDirectory"), ["profd"])

    def test_the_service_alone_may_write_its_cache(self):
        self.assertEqual(values("systemd/profd.service", "CacheDirectory"), ["profd"])
        self.assertEqual(values("systemd/profd.service", "CacheDirectoryMode"), ["0700"])

    def test_the_socket_outlives_the_service(self):
        folder = "/run/" + values("systemd/profd.service", "RuntimeDirectory")[0] + "/"
        self.assertTrue(values("systemd/profd.socket", "ListenStream")[0].startswith(folder))
        self.assertEqual(values("systemd/profd.service", "RuntimeDirectoryPreserve"), ["yes"])


class Budget(unittest.TestCase):
    """The unit's limits follow from profd's own."""

    CPUS = 64  # the largest host that the unit's quota is for without a change

    def setUp(self):
        with open(os.path.join(BUILD, "deploy/profd.toml"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.defaults = tomllib.loads("\n".join(line.removeprefix("#") for line in lines if not line.startswith("# ")))

    def test_the_quota_is_twice_what_sampling_may_cost_there(self):
        with open(os.path.join(BUILD, "deploy/profctl.1"), encoding="utf-8") as file:
            page = file.read()
        collect, cpus = map(int, re.search(r"then (\d+)% for every (\d+) CPUs", page).groups())
        regulated = (self.defaults["history"]["budget"] + collect) * self.CPUS / cpus
        quota = int(values("systemd/profd.service", "CPUQuota")[0].removesuffix("%"))
        self.assertLessEqual(2 * regulated, quota)
        self.assertLessEqual(quota, 100)  # never more than one CPU

    def test_the_memory_is_twice_the_cap(self):
        cap = self.defaults.get("memory", {}).get("cap", "256MiB")
        self.assertEqual(values("systemd/profd.service", "MemoryMax"), [f"{2 * int(cap.removesuffix('MiB'))}M"])

    def test_a_thread_that_was_nicer_may_come_back(self):
        self.assertEqual([f"+{nice}" for nice in values("systemd/profd.service", "Nice")],
                         values("systemd/profd.service", "LimitNICE"))

    def test_the_comment_says_the_same(self):
        unit = read("systemd/profd.service")
        self.assertIn(f"({self.defaults['history']['budget']} % + 5 %) for every 8 CPUs", unit)
        self.assertIn(f"a host of {self.CPUS} CPUs", unit)


@unittest.skipIf(yaml is None, "python3-yaml is not installed")
class DaemonSet(unittest.TestCase):
    def setUp(self):
        documents = list(yaml.safe_load_all(read("kubernetes/base/daemonset.yaml")))
        self.pod = next(one for one in documents if one["kind"] == "DaemonSet")["spec"]["template"]["spec"]
        self.container = self.pod["containers"][0]

    def test_is_not_privileged(self):
        context = self.container["securityContext"]
        self.assertFalse(context["privileged"])
        self.assertEqual(context["capabilities"]["drop"], ["ALL"])
        self.assertEqual(set(context["capabilities"]["add"]), CAPABILITIES)
        self.assertTrue(self.pod["hostPID"])

    def test_every_mount_has_its_volume(self):
        volumes = {volume["name"] for volume in self.pod["volumes"]}
        self.assertEqual({mount["name"] for mount in self.container["volumeMounts"]}, volumes)

    def test_its_history_is_on_the_node(self):
        environment = {one["name"]: one.get("value") for one in self.container["env"]}
        mounts = {mount["mountPath"]: mount["name"] for mount in self.container["volumeMounts"]}
        volume = mounts[environment["STATE_DIRECTORY"]]
        self.assertIn("hostPath", next(one for one in self.pod["volumes"] if one["name"] == volume))

    def test_the_host_has_the_name_of_the_node(self):
        source = next(one for one in self.container["env"] if one["name"] == "PROFD_HOST_NAME")["valueFrom"]
        self.assertEqual(source, {"fieldRef": {"fieldPath": "spec.nodeName"}})

    def test_containers_are_on_the_same_node(self):
        environment = {one["name"]: one.get("value") for one in self.container["env"]}
        self.assertEqual(environment["PROFD_CONTAINERS_NODE_NAME"], "$(PROFD_HOST_NAME)")

    def test_every_variable_that_a_value_names_is_defined(self):
        """Kubernetes leaves $(X) as it is where no variable X stands before it."""
        self.assertEqual(self.undefined(self.container), [])
        wrong = {"env": [{"name": "A", "value": "$(B) $$(C)"}, {"name": "B", "value": "$(A)"}], "args": ["$(A) $(D)"]}
        self.assertEqual(self.undefined(wrong), ["B", "D"])

    @staticmethod
    def undefined(container):
        def named(text):
            # $$(X) is the text "$(X)".
            return re.findall(r"\$\(([^)]*)\)", text.replace("$$", ""))

        defined, missing = set(), []
        for variable in container["env"]:
            missing += [name for name in named(variable.get("value", "")) if name not in defined]
            defined.add(variable["name"])
        for text in container.get("command", []) + container.get("args", []):
            missing += [name for name in named(text) if name not in defined]
        return missing

    def test_memory_is_that_of_the_unit(self):
        self.assertEqual(self.container["resources"]["limits"]["memory"] + "B",
                         values("systemd/profd.service", "MemoryMax")[0].replace("M", "MiB"))

    @unittest.skipIf(shutil.which("kubectl") is None, "kubectl is not installed")
    def test_kubectl_takes_it(self):
        run = subprocess.run(
            ["kubectl", "create", "--dry-run=client", "--validate=false", "-o", "name", "-f",
             path_of("kubernetes/base/daemonset.yaml")],
            capture_output=True, text=True, check=False, env=dict(os.environ, KUBECONFIG="/dev/null"))
        if "refused" in run.stderr or "Unable to connect" in run.stderr or "localhost:8080" in run.stderr:
            self.skipTest("this kubectl asks a server, and there is none: " + run.stderr.strip()[:200])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("daemonset.apps/profd", run.stdout)

    @unittest.skipIf(shutil.which("kubectl") is None, "kubectl is not installed")
    def test_kustomize_adds_a_configuration_and_a_secret(self):
        run = subprocess.run(["kubectl", "kustomize", path_of("kubernetes/fleet")], capture_output=True, text=True,
                             check=False, env=dict(os.environ, KUBECONFIG="/dev/null"))
        self.assertEqual(run.returncode, 0, run.stderr)
        documents = {one["kind"]: one for one in yaml.safe_load_all(run.stdout)}
        self.assertEqual(set(documents), {"Namespace", "ConfigMap", "DaemonSet"})
        pod = documents["DaemonSet"]["spec"]["template"]["spec"]
        container = pod["containers"][0]
        self.assertEqual(set(container["securityContext"]["capabilities"]["add"]), CAPABILITIES)
        self.assertEqual(self.undefined(container), [])
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, set(volumes))
        self.assertEqual(volumes["configuration"]["configMap"]["name"], documents["ConfigMap"]["metadata"]["name"])
        self.assertEqual(documents["ConfigMap"]["data"]["profd.toml"], read("kubernetes/fleet/profd.toml"))

    def test_the_fleet_exports_to_a_target_with_its_headers(self):
        export, = tomllib.loads(read("kubernetes/fleet/profd.toml"))["export"]
        patch = yaml.safe_load(read("kubernetes/fleet/configuration.yaml"))["spec"]["template"]["spec"]
        secrets = next(one for one in patch["containers"][0]["volumeMounts"] if one["name"] == "secrets")
        for path in export["headers_from"]:
            self.assertTrue(path.startswith(secrets["mountPath"] + "/"))


if __name__ == "__main__":
    unittest.main()
