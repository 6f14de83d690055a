"""A profd of the guest and what profctl gets from it."""

import json
import os
import subprocess
import tempfile

# Of stack_flags (profile.proto).
STACK_NO_USER = 16
STACK_COMPLETE = 32
STACK_TABLES_NOT_READY = 64

BINARIES = os.environ["PROFD_BINARY_DIR"]


def program(name):
    return f"{BINARIES}/testprogs/{name}"


class Profd:
    """A daemon on a socket of its own; ends with the block."""

    def __init__(self, *options):
        self.folder = tempfile.TemporaryDirectory()
        self.host = f"unix://{self.folder.name}/profd.sock"
        # --private: says "ready" when it serves, and ends with its standard input.
        self.process = subprocess.Popen(
            [f"{BINARIES}/bin/profd", "--private", "--listen", self.host, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        if "ready" not in self.process.stdout.readline():
            self.process.stdin.close()
            raise RuntimeError(f"profd ended: {self.process.stderr.read()}")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stderr.read()
        self.process.wait()
        self.folder.cleanup()

    def profctl(self, *arguments):
        return subprocess.Popen([f"{BINARIES}/bin/profctl", "--host", self.host, *arguments],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def collect(self, *arguments):
        """The profile of `profctl collect ARGUMENTS`."""
        path = os.path.join(self.folder.name, "x.json")
        run = self.profctl("-v", "collect", *arguments, "-o", path)
        _, errors = run.communicate()
        if run.returncode:
            raise RuntimeError(f"profctl: {errors}")
        return read_profile(path)


def read_profile(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["profile"]


def stacks_of(profile, thread_name):
    """(state, stack flags, names of functions from the root on) of each sample with user frames."""
    nodes = [None] + profile.get("nodes", [])
    samples = profile["samples"]
    for thread, node, state, flags in zip(*(samples[column] for column in ("thread", "node", "state", "stack_flags"))):
        if profile["threads"][thread]["comm"] != thread_name or flags & STACK_NO_USER:
            continue
        frames = []
        while node:
            frames.append(profile["frames"][nodes[node].get("frame", 0)])
            node = nodes[node].get("parent", 0)
        if any(frame.get("kind", "FRAME_NATIVE") == "FRAME_NATIVE" for frame in frames):
            yield state, flags, [frame.get("name", "") for frame in reversed(frames)]


def functions_of(profile, state):
    """Names of functions -> ns, of all stacks in this state."""
    nodes = [None] + profile.get("nodes", [])
    samples = profile["samples"]
    times = {}
    for node, of_state, weight in zip(samples["node"], samples["state"], samples["weight_ns"]):
        seen = set()
        while node and of_state == state:
            name = profile["frames"][nodes[node].get("frame", 0)].get("name", "")
            if name not in seen:
                times[name] = times.get(name, 0) + int(weight)
            seen.add(name)
            node = nodes[node].get("parent", 0)
    return times
