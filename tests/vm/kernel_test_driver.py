#!/usr/bin/python3
"""Runs the tests of the BPF side under another kernel: kernel_test_driver.py KERNEL BUILD_FOLDER [--own-clock] [--two-nodes] PART...

A part is "root" (every program of label root), one of these programs, or a file of unittest cases in this folder. The guest runs
guest.py on them, by `scripts/vm [--own-clock] [--two-nodes]`; its cases go, under the kernel's name, into the file that GTEST_OUTPUT names.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
VM_SKIPPED = 77
TIMEOUT_S = 3400


def programs_of_label(build, label):
    """Paths of the test programs that CTest has under this label."""
    listing = subprocess.run(["ctest", "--test-dir", build, "-L", f"^{label}$", "--show-only=json-v1"],
                             capture_output=True, text=True, check=True)
    return [test["command"][0] for test in json.loads(listing.stdout)["tests"] if "command" in test]


def add_case(suite, kernel, name, tag=None, message=""):
    case = ElementTree.SubElement(suite, "testcase", classname=f"kernel {kernel}", name=name, status="run",
                                  result="skipped" if tag == "skipped" else "completed")
    if tag:
        ElementTree.SubElement(case, tag, message=message)


def collect(out, kernel, requested, suite):
    """Every case the guest has written; a part without results has failed."""
    for name in requested:
        path = os.path.join(out, f"{name}.xml")
        try:
            cases = list(ElementTree.parse(path).getroot().iter("testcase"))
        except (OSError, ElementTree.ParseError):
            add_case(suite, kernel, name, "failure", "left no results: it crashed or ran out of time")
            continue
        for case in cases:
            case.set("classname", f"kernel {kernel}: {case.get('classname')}")
            suite.append(case)


def main():
    kernel, build, parts = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
    options = [part for part in parts if part.startswith("--")]
    parts = parts[len(options):]
    commands = {}
    for part in parts:
        if part == "root":
            commands |= {os.path.basename(path): [path] for path in programs_of_label(build, "root")}
        elif not part.endswith(".py"):
            commands[part] = [path for path in programs_of_label(build, "root") if os.path.basename(path) == part]
        else:
            runner = os.path.join(ROOT, "tests/support/run_unittest.py")
            commands[part.removesuffix(".py")] = ["/usr/bin/python3", runner, os.path.join(HERE, part)]

    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", name="vm")
    with tempfile.TemporaryDirectory(prefix="profd-vm-out-") as out:
        with open(os.path.join(out, "commands.json"), "w", encoding="utf-8") as file:
            json.dump(commands, file)
        environment = {**os.environ, "PROFD_BINARY_DIR": build, "PROFD_SOURCE_DIR": os.path.abspath(ROOT)}
        environment.pop("GTEST_OUTPUT", None)
        run = subprocess.run(
            [os.path.join(ROOT, "scripts/vm"), kernel, *options, "--out", out, "--with", build, "--timeout", str(TIMEOUT_S),
             "--", "/usr/bin/python3", os.path.join(HERE, "guest.py")],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
        print(run.stdout)
        if run.returncode == VM_SKIPPED:
            reason = run.stdout.strip().split("\n")[-1].removeprefix("SKIPPED: ")
            add_case(suite, kernel, "all", "skipped", reason)
        else:
            collect(out, kernel, commands, suite)
        for log in sorted(glob.glob(os.path.join(out, "*.log"))):
            with open(log, errors="replace", encoding="utf-8") as file:
                print(f"---- {os.path.basename(log)}\n{file.read()}")
    target = os.environ.get("GTEST_OUTPUT", "").removeprefix("xml:")
    if target:
        ElementTree.ElementTree(root).write(target, encoding="utf-8", xml_declaration=True)
    return 1 if any(case.find("failure") is not None for case in root.iter("testcase")) else 0


if __name__ == "__main__":
    sys.exit(main())
