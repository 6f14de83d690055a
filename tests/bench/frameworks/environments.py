"""Virtual environments with the pinned wheels of one framework each, in a cache outside the tree."""

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
}
# Prints which of its arguments are installed in just this version.
CHECK = """
import importlib.metadata, sys
for package in sys.argv[1:]:
    name, version = package.split("==")
    if importlib.metadata.version(name) != version:
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


def python_of(name):
    """The interpreter of the environment, which is made first where it is not complete."""
    folder = os.path.join(PEERS, name)
    python = os.path.join(folder, "bin", "python")
    packages = PACKAGES[name]
    if is_complete(python, packages):
        return python
    print(f"installs {', '.join(packages)} into {folder}", file=sys.stderr)
    for command in ([sys.executable, "-m", "venv", folder],
                    [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", *packages]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise Missing(f"{' '.join(packages)} cannot be installed: {last_line(done.stdout)}")
    return python
