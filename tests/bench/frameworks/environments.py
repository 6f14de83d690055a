#!/usr/bin/python3
"""Virtual environments with the pinned wheels of one framework each, in a cache outside the tree: environments.py NAME...
installs some."""

import fcntl
import os
import subprocess
import sys

PEERS = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "profd", "peers")
# Environment -> packages. PyPI has no wheel of PyTorch for CPUs only; its wheel runs on them with the same libtorch_cpu.
PACKAGES = {
    "torch": ("torch==2.15.0", "numpy==2.4.6"),
    "onnxruntime": ("onnxruntime==1.32.0", "onnx==1.23.2", "numpy==2.4.6"),
    "paddlepaddle": ("paddlepaddle==3.3.1",),
    "mindspore": ("mindspore==2.10.0",),
    "tensorflow-cpu": ("tensorflow-cpu==2.21.0",),
    "scikit-learn": ("scikit-learn==1.9.1", "numpy==2.4.6"),
    # Of TorchServe's own needs these are not in what its wheels name.
    "torchserve": ("torchserve==0.12.0", "torch-model-archiver==0.12.0", "torch==2.15.0", "numpy==2.4.6", "psutil==7.2.1",
                   "pyyaml==6.0.4"),
    "pyinstrument": ("pyinstrument==5.1.3",),
    # The engine of ClickHouse inside a Python module; tests/support/receivers/clickhouse_front.py makes a server of it.
    "clickhouse": ("chdb-core==26.9.0", "zstandard==0.25.0"),
    # A server of S3.
    "moto": ("moto[server]==5.2.5",),
}
# Prints which of its arguments are installed in just this version.
CHECK = """
import importlib.metadata, sys
for package in sys.argv[1:]:
    name, version = package.split("==")
    if importlib.metadata.version(name.split("[")[0]) != version:
        sys.exit(package)
"""


class Missing(Exception):
    """Why an environment cannot be had."""


def is_complete(python, packages):
    if not os.path.exists(python):
        return False
    done = subprocess.run([python, "-c", CHECK, *packages], capture_output=True, check=False)
    return done.returncode == 0


def last_line(text):
    return (text.strip().splitlines() or ["no reason given"])[-1]


def installed_python_of(name):
    """The interpreter of an environment that is there."""
    python = os.path.join(PEERS, name, "bin", "python")
    if not is_complete(python, PACKAGES[name]):
        raise Missing(f"{', '.join(PACKAGES[name])} not installed; `tests/bench/frameworks/environments.py {name}` does that")
    return python


def python_of(name):
    """The interpreter of the environment, which is made first where it is not complete."""
    folder = os.path.join(PEERS, name)
    python = os.path.join(folder, "bin", "python")
    packages = PACKAGES[name]
    if is_complete(python, packages):
        return python
    os.makedirs(PEERS, exist_ok=True)
    # Tests that run at once may need the same one.
    with open(folder + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_complete(python, packages):
            install(folder, python, packages)
    return python


def install(folder, python, packages):
    print(f"installs {', '.join(packages)} into {folder}", file=sys.stderr)
    for command in ([sys.executable, "-m", "venv", folder],
                    [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", *packages]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise Missing(f"{' '.join(packages)} cannot be installed: {last_line(done.stdout)}")


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        print(python_of(wanted))
