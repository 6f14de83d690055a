"""Parca's own messages, of npm's @parca/client, in a cache outside the tree."""

import fcntl
import json
import os
import shutil
import subprocess

from go_program import FOLDER, PEERS, Missing

PACKAGE = "@parca/client@0.17.24"


def folder():
    """A folder with the package, which is installed first where it is not there."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        raise Missing(f"{PACKAGE} is not installed: there is no npm or no node")
    where = os.path.join(PEERS, "parca-messages", PACKAGE.rsplit("@", 1)[1])
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(where, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(os.path.join(where, "whole")):
            done = subprocess.run([npm, "install", "--prefix", where, "--ignore-scripts", "--no-audit", "--no-fund", PACKAGE],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode != 0:
                raise Missing(f"{PACKAGE} cannot be installed: {(done.stdout.strip().splitlines() or ['no reason given'])[-1]}")
            with open(os.path.join(where, "whole"), "w", encoding="utf-8"):
                pass
    return where


def decoded(paths):
    """The requests in these files: a list of series for each."""
    done = subprocess.run(["node", os.path.join(FOLDER, "parca_messages.mjs"), *map(os.path.abspath, paths)], cwd=folder(),
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)
