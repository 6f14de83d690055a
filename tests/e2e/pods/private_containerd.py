"""A containerd of its own, and pods in it."""

import glob
import hashlib
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

# What makes pods, of k8s.io/cri-api; daemon/containers/cri.proto has what lists them.
PROTO = """
syntax = "proto3";
package runtime.v1;
message PodSandboxMetadata { string name = 1; string uid = 2; string namespace = 3; uint32 attempt = 4; }
message NamespaceOption { int32 network = 1; int32 pid = 2; int32 ipc = 3; }
message LinuxSandboxSecurityContext { NamespaceOption namespace_options = 1; }
message LinuxPodSandboxConfig { string cgroup_parent = 1; LinuxSandboxSecurityContext security_context = 2; }
message PodSandboxConfig {
  PodSandboxMetadata metadata = 1; string hostname = 2; string log_directory = 3; map<string, string> labels = 6;
  LinuxPodSandboxConfig linux = 8;
}
message RunPodSandboxRequest { PodSandboxConfig config = 1; }
message PodRequest { string pod_sandbox_id = 1; }
message ContainerMetadata { string name = 1; uint32 attempt = 2; }
message ImageSpec { string image = 1; }
message KeyValue { string key = 1; string value = 2; }
message LinuxContainerSecurityContext { NamespaceOption namespace_options = 3; }
message LinuxContainerConfig { LinuxContainerSecurityContext security_context = 2; }
message ContainerConfig {
  ContainerMetadata metadata = 1; ImageSpec image = 2; repeated KeyValue envs = 6; string log_path = 11;
  LinuxContainerConfig linux = 15;
}
message CreateContainerRequest {
  string pod_sandbox_id = 1; ContainerConfig config = 2; PodSandboxConfig sandbox_config = 3;
}
message ContainerRequest { string container_id = 1; }
"""
CONFIG = """
version = 2
root = "{root}"
state = "{state}"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
                    "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  sandbox_image = "profd.test/pause:1"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "{state}/no-networks"
"""
PAUSE = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n"
HOST = 2  # of namespaces: those of the host
SECONDS = 60


def missing():
    """What is not to be had; None: all is there."""
    for program in ("containerd", "ctr", "runc", "protoc"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    try:
        importlib.import_module("grpc")
    except ImportError:
        return "python3-grpcio is not installed"
    return None


def add(archive, name, data, mode=0o644):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mode = mode
    archive.addfile(info, io.BytesIO(data))


def image(path, name, program):
    """An archive as `docker save` makes it, of an image with one program."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive, open(program, "rb") as file:
        add(archive, os.path.basename(program), file.read(), 0o755)
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    config = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]},
              "config": {"Entrypoint": ["/" + os.path.basename(program)]}}
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(path, "w") as archive:
        add(archive, "layer.tar", layer.getvalue())
        add(archive, "config.json", json.dumps(config).encode())
        add(archive, "manifest.json", json.dumps(manifest).encode())


class PrivateContainerd:
    def __init__(self, folder):
        self.folder = folder
        self.socket = os.path.join(folder, "containerd.sock")
        self.pods = []
        self.uids = []
        self.process = None
        sys.path.insert(0, self.compile_proto())
        self.messages = importlib.import_module("make_pods_pb2")
        self.channel = None

    def compile_proto(self):
        made = tempfile.mkdtemp(dir=self.folder)
        with open(os.path.join(made, "make_pods.proto"), "w", encoding="utf-8") as file:
            file.write(PROTO)
        subprocess.run(["protoc", "-I", made, "--python_out", made, "make_pods.proto"], check=True)
        return made

    def compile(self, source, name):
        path = os.path.join(self.folder, name)
        subprocess.run(["cc", "-O1", "-g", "-static", "-x", "c", "-o", path, "-"], input=source, text=True, check=True)
        return path

    def start(self):
        """None: it runs; else why it does not."""
        import grpc

        config = os.path.join(self.folder, "config.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(root=os.path.join(self.folder, "root"), state=os.path.join(self.folder, "state"),
                                     socket=self.socket))
        with open(os.path.join(self.folder, "containerd.log"), "wb") as log:
            self.process = subprocess.Popen(["containerd", "-c", config], stdout=log, stderr=log)
        self.channel = grpc.insecure_channel("unix:" + self.socket, options=[("grpc.default_authority", "localhost")])
        try:
            grpc.channel_ready_future(self.channel).result(SECONDS)
            self.import_image("profd.test/pause:1", self.compile(PAUSE, "pause"))
        except (grpc.FutureTimeoutError, subprocess.CalledProcessError) as error:
            return f"containerd does not run here: {error}\n{self.log()}"
        return None

    def import_image(self, name, program):
        archive = os.path.join(self.folder, "image.tar")
        image(archive, name, program)
        subprocess.run(["ctr", "--address", self.socket, "--namespace", "k8s.io", "images", "import", "--snapshotter",
                        "native", archive], check=True, capture_output=True)
        # The runtime's own list follows by itself.
        until = time.monotonic() + SECONDS
        while name.encode() not in self.call("ListImages", b"", service="ImageService"):
            if time.monotonic() > until:
                raise subprocess.CalledProcessError(1, "images import")
            time.sleep(0.05)

    def log(self):
        with open(os.path.join(self.folder, "containerd.log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-4000:]

    def call(self, method, request, service="RuntimeService"):
        """The answer's bytes. Requests that are empty are the same for all calls."""
        data = request if isinstance(request, bytes) else request.SerializeToString()
        return self.channel.unary_unary(f"/runtime.v1.{service}/{method}")(data, timeout=SECONDS)

    def run_pod(self, name, namespace, uid, labels):
        """Its id, and what containers in it are made from."""
        make = self.messages
        host = make.NamespaceOption(network=HOST)
        config = make.PodSandboxConfig(
            metadata=make.PodSandboxMetadata(name=name, uid=uid, namespace=namespace),
            log_directory=self.folder, labels=labels,
            linux=make.LinuxPodSandboxConfig(
                cgroup_parent=f"/kubepods/burstable/pod{uid}",
                security_context=make.LinuxSandboxSecurityContext(namespace_options=host)))
        # The answer of RunPodSandbox has the id in field 1, as a PodRequest.
        pod = make.PodRequest.FromString(self.call("RunPodSandbox", make.RunPodSandboxRequest(config=config)))
        self.pods.append(pod)
        self.uids.append(uid)
        return pod.pod_sandbox_id, config

    def run_container(self, pod, config, name, image_name, environment):
        """Its id."""
        make = self.messages
        request = make.CreateContainerRequest(
            pod_sandbox_id=pod, sandbox_config=config,
            config=make.ContainerConfig(
                metadata=make.ContainerMetadata(name=name), image=make.ImageSpec(image=image_name),
                log_path=name + ".log",
                envs=[make.KeyValue(key=key, value=value) for key, value in environment.items()],
                linux=make.LinuxContainerConfig(security_context=make.LinuxContainerSecurityContext(
                    namespace_options=make.NamespaceOption(network=HOST)))))
        container = make.ContainerRequest.FromString(self.call("CreateContainer", request))
        self.call("StartContainer", container)
        return container.container_id

    def stop(self):
        import grpc

        for pod in self.pods:
            for method in ("StopPodSandbox", "RemovePodSandbox"):
                try:
                    self.call(method, pod)
                except grpc.RpcError:
                    pass
        self.channel.close()
        self.process.terminate()
        self.process.wait()
        self.remove_cgroups()

    def remove_cgroups(self):
        """Those above the pods, which the kubelet would remove; from the innermost on, while they are empty."""
        for uid in self.uids:
            for path in (f"kubepods/burstable/pod{uid}", "kubepods/burstable", "kubepods"):
                for folder in glob.glob(f"/sys/fs/cgroup/{path}") + glob.glob(f"/sys/fs/cgroup/*/{path}"):
                    try:
                        os.rmdir(folder)
                    except OSError:
                        pass
