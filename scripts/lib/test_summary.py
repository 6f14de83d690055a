#!/usr/bin/python3
"""Counts the test cases of finished CTest runs: test_summary.py [--failed-step WHAT]... FOLDER[=NAME]...

FOLDER is a build folder in which `ctest --output-junit tests/results/ctest/NAME.xml` has run, perhaps several
times with different entries, and perhaps what failed there once more into tests/results/again/NAME.xml, which counts
then; a test that passed only then is named. `--print-failed FOLDER` prints a line for each entry that failed: a pattern
for ctest's -R, and, where its cases are known, those that failed, for GTEST_FILTER. Before they run, the results of cases
are copied to tests/results/first. An entry that
writes a GoogleTest XML file (its GTEST_OUTPUT says where) counts with its cases; one that should have and
did not, because it crashed or ran out of time, counts as one failed case. The slowest entries are listed first,
with their seconds. Exits 1 when anything failed.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from typing import NamedTuple


WORDS = {"skipped": "SKIPPED", "again": "PASSED ONLY AGAIN", "failed": "FAILED"}
SLOWEST = 20  # entries that are listed


class Case(NamedTuple):
    name: str
    result: str  # "passed", "failed" or "skipped", or "again": an entry that passed at its second run
    reason: str


def expected_outputs(folder):
    """Name of each CTest entry -> the GoogleTest XML file it must write, or None."""
    listing = subprocess.run(
        ["ctest", "--test-dir", folder, "--show-only=json-v1"],
        capture_output=True, text=True, check=True)
    outputs = {}
    for test in json.loads(listing.stdout)["tests"]:
        environment = next((p["value"] for p in test.get("properties", [])
                            if p["name"] == "ENVIRONMENT"), [])
        path = next((v.removeprefix("GTEST_OUTPUT=xml:") for v in environment
                     if v.startswith("GTEST_OUTPUT=xml:")), None)
        outputs[test["name"]] = path
    return outputs


def one_line(text):
    return " ".join(text.split())


def skip_reason(element):
    """GoogleTest puts "file:line\\nreason" into the message of a skip."""
    message = element.get("message", "") or element.text or ""
    return one_line(re.sub(r"^[^\n]*:\d+\n", "", message)) or "no reason given"


def google_test_cases(path):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f'{case.get("classname")}.{case.get("name")}'
        failures = case.findall("failure")
        skipped = case.find("skipped")
        if failures:
            yield Case(name, "failed", one_line(failures[0].get("message", ""))[:300])
        elif skipped is not None or case.get("result") == "skipped":
            yield Case(name, "skipped", skip_reason(skipped) if skipped is not None else "no reason given")
        elif case.get("status", "run") == "run":
            yield Case(name, "passed", "")


def entry_cases(entry, output, build_name):
    """Cases of one CTest entry: `entry` is its JUnit element, `output` its GoogleTest XML file or None."""
    name = f'{build_name}: {entry.get("name")}'
    status = entry.get("status")
    failure = entry.find("failure")
    message = (failure.get("message", "") if failure is not None else "") or "failed"
    if status in ("notrun", "disabled"):
        skipped = entry.find("skipped")
        reason = skipped.get("message", "") if skipped is not None else status
        # CTest says "notrun" both of a skip by exit status and of a program that is not there.
        known = reason.startswith("SKIP_") or status == "disabled"
        return [Case(name, "skipped" if known else "failed", reason_of_output(entry) or reason)]
    if output is None:
        return [Case(name, "passed" if status == "run" else "failed", "" if status == "run" else message)]
    cases = []
    if os.path.exists(output):
        try:
            cases = [c._replace(name=f"{name}: {c.name}") for c in google_test_cases(output)]
        except ElementTree.ParseError:
            message = "its results are cut short"
    if not cases:
        return [Case(name, "failed", message if status != "run" else "no test case ran")]
    if status != "run" and all(c.result != "failed" for c in cases):
        cases.append(Case(name, "failed", f"every case passed, but: {message}"))
    return cases


def reason_of_output(entry):
    output = entry.find("system-out")
    lines = (output.text or "").split("\n") if output is not None else []
    return next((one_line(line.removeprefix("SKIPPED:")) for line in lines
                 if line.startswith("SKIPPED:")), "")


def entries(folder, pattern):
    """Name -> JUnit element of what ran in a build folder; empty when there is no such file."""
    found = {}
    for junit in glob.glob(os.path.join(folder, "tests", "results", pattern)):
        found |= {entry.get("name"): entry for entry in ElementTree.parse(junit).getroot().iter("testcase")}
    return found


def first_entries(folder):
    return entries(folder, "ctest/*.xml")


def failed_lines(folder):
    """What failed at first: "PATTERN FILTER" of each entry; no filter where not every failure is that of a known case."""
    outputs = expected_outputs(folder)
    lines = []
    for name, entry in sorted(first_entries(folder).items()):
        if entry.get("status") != "fail":
            continue
        failed = [case.name.removeprefix(f": {name}: ") for case in entry_cases(entry, outputs.get(name), "")
                  if case.result == "failed"]
        known = failed if all(re.fullmatch(r"[\w./]+", case) for case in failed) else []
        pattern = re.sub("[.+]", r"[\g<0>]", name)
        lines.append(f"^{pattern}$ {':'.join(known)}".rstrip())
    return lines


def folder_cases(folder, build_name):
    results = os.path.join(folder, "tests", "results")
    first, again = first_entries(folder), entries(folder, "again/*.xml")
    if not first:
        return [Case(build_name, "failed", f"CTest left no results in {results}")]
    outputs = expected_outputs(folder)
    cases = []
    for name, entry in first.items():
        output = outputs.get(name)
        if name not in again:
            cases += entry_cases(entry, output, build_name)
            continue
        kept = output and os.path.join(results, "first", os.path.basename(output))
        of_first = {case.name: case for case in entry_cases(entry, kept, build_name) if case.result != "failed"}
        of_again = {case.name: case for case in entry_cases(again[name], output, build_name)}
        cases += (of_first | of_again).values()
        if all(case.result != "failed" for case in of_again.values()):
            cases.append(Case(f"{build_name}: {name}", "again", "failed at first; its output stands above"))
    return cases


def slowest(folders):
    """The entries that took longest, of all folders, as lines."""
    times = []
    for folder, build_name in folders:
        times += [(float(entry.get("time") or 0), f"{build_name}: {name}") for name, entry in first_entries(folder).items()]
    return [f"SLOW: {name}: {seconds:.0f} s" for seconds, name in sorted(times, reverse=True)[:SLOWEST] if seconds >= 1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--failed-step", action="append", default=[])
    parser.add_argument("--print-failed", metavar="FOLDER")
    parser.add_argument("folders", nargs="*")
    arguments = parser.parse_args()
    if arguments.print_failed:
        for line in failed_lines(arguments.print_failed):
            print(line)
        return 0

    cases = [Case(step, "failed", "see above") for step in arguments.failed_step]
    folders = []
    for folder in arguments.folders:
        path, _, name = folder.partition("=")
        folders.append((path, name or os.path.basename(os.path.abspath(path))))
        cases += folder_cases(*folders[-1])

    for line in slowest(folders):
        print(line)
    for result in WORDS:
        for case in (c for c in cases if c.result == result):
            print(f"{WORDS[result]}: {case.name}: {case.reason}")
    count = {result: sum(c.result == result for c in cases) for result in ("passed", "failed", "skipped")}
    print(f'{count["passed"]} passed, {count["failed"]} failed, {count["skipped"]} skipped')
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
