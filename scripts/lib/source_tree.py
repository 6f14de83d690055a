"""What every check needs: the tree's own files, and a list of findings with file and line."""

import os
import subprocess
import sys

SKIPPED_FOLDERS = {".git", "build", "node_modules", "__pycache__"}


class SourceTree:
    """The files of a checkout, or of any folder: tracked ones and new ones that git does not ignore."""

    def __init__(self, root):
        self.root = os.path.abspath(root)
        self.paths = sorted(p for p in self._list() if os.path.isfile(os.path.join(self.root, p)))

    def _list(self):
        if os.path.exists(os.path.join(self.root, ".git")):
            listing = subprocess.run(
                ["git", "-c", f"safe.directory={self.root}", "-C", self.root, "ls-files", "-z",
                 "--cached", "--others", "--exclude-standard"],
                capture_output=True, check=True)
            return listing.stdout.decode().split("\0")
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
            found += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]
        return found

    def select(self, prefixes=("",), suffixes=("",)):
        return [p for p in self.paths
                if p.startswith(tuple(prefixes)) and p.endswith(tuple(suffixes))]

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def lines(self, path):
        """(number, text) of each line, from 1."""
        return enumerate(self.read(path).split("\n"), start=1)


class Findings:
    """Collects findings and turns them into an exit status."""

    def __init__(self, check):
        self.check = check
        self.count = 0

    def error(self, path, line, text):
        self.count += 1
        print(f"{path}:{line}: {text}")

    @staticmethod
    def warn(path, line, text):
        print(f"{path}:{line}: warning: {text}")

    def finish(self):
        if self.count:
            print(f"{self.check}: {self.count} finding{'s' if self.count > 1 else ''}", file=sys.stderr)
        return 1 if self.count else 0


def root_argument():
    """The tree to check: the first argument, else the one this file lies in."""
    if len(sys.argv) > 1:
        return sys.argv[1]
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
