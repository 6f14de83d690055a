"""The guest's part: runs the commands of /run/out/commands.json, each with results and a log in /run/out."""

import json
import os
import subprocess

OUT = "/run/out"
TIMEOUT_S = 600  # emulation is slow; a case that hangs must not take the others' results along


def main():
    with open(f"{OUT}/commands.json", encoding="utf-8") as file:
        commands = json.load(file)
    for name, command in commands.items():
        environment = {**os.environ, "GTEST_OUTPUT": f"xml:{OUT}/{name}.xml"}
        with open(f"{OUT}/{name}.log", "w", encoding="utf-8") as log:
            try:
                status = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        timeout=TIMEOUT_S, check=False).returncode
            except subprocess.TimeoutExpired:
                status = "ran out of time"
        print(f"{name}: {status}", flush=True)


if __name__ == "__main__":
    main()
