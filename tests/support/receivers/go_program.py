"""Receivers in Go, built on demand in a cache outside the tree."""

import fcntl
import hashlib
import os
import shutil
import subprocess

PEERS = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "profd", "peers")
FOLDER = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    """Why a program cannot be had."""


def built(name):
    """Path of the program of the folder `name`. It is built once for each state of its sources."""
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.path.exists(go):
        raise Missing(f"{name} is not built: there is no Go")
    source = os.path.join(FOLDER, name)
    digest = hashlib.sha256()
    for file in ("main.go", "go.mod", "go.sum"):
        with open(os.path.join(source, file), "rb") as read:
            digest.update(read.read())
    folder = os.path.join(PEERS, name)
    program = os.path.join(folder, digest.hexdigest()[:16])
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(program):
            build(go, source, program)
    return program


def build(go, source, program):
    proxy = subprocess.run([go, "env", "GOPROXY"], capture_output=True, text=True, check=False).stdout.strip()
    # Only the module proxy: never a repository.
    environment = {**os.environ, "GOPROXY": proxy.replace("|", ",").split(",")[0], "GOFLAGS": "-modcacherw -mod=readonly",
                   "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    done = subprocess.run([go, "build", "-o", program + ".part", "."], cwd=source, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines() or ["no reason given"]
        raise Missing(f"{os.path.basename(source)} cannot be built by Go's modules: {lines[-1]}")
    os.replace(program + ".part", program)
