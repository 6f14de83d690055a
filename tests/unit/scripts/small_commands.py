"""Small commands that stand in for those of a machine, first in PATH."""

import os


class SmallCommands:
    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def add(self, name, script):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/bash\n{script}\n")
        os.chmod(path, 0o755)

    def environment(self, **more):
        return {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", **more}
