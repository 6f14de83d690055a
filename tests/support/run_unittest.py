#!/usr/bin/python3
"""Runs a file of unittest cases and writes their results as GoogleTest does: run_unittest.py FILE.

The XML goes where GTEST_OUTPUT=xml:PATH says, and GTEST_FILTER=CASE:CASE chooses cases by their whole names, so that
scripts/test treats C++ and Python cases alike.
"""

import importlib.util
import os
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree


class Recorder(unittest.TextTestResult):
    """Keeps every case with its outcome; cases with failed subtests count once, as failed."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.outcomes = {}
        self.begun = {}

    def startTest(self, test):
        super().startTest(test)
        self.begun[test.id()] = time.monotonic()
        self.outcomes[test.id()] = ("passed", "")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.outcomes[test.id()] = ("skipped", reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.outcomes[test.id()] = ("failed", str(err[1]))

    def addError(self, test, err):
        super().addError(test, err)
        self.outcomes[test.id()] = ("failed", f"{err[0].__name__}: {err[1]}")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.outcomes[test.id()] = ("failed", f"{subtest.id()}: {err[1]}")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.outcomes[test.id()] = ("failed", "unexpected success")


def write_xml(path, outcomes):
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", name="python", tests=str(len(outcomes)))
    for name, (result, message) in outcomes.items():
        class_name, _, method = name.rpartition(".")
        case = ElementTree.SubElement(
            suite, "testcase", name=method, classname=class_name, status="run",
            result="skipped" if result == "skipped" else "completed")
        if result != "passed":
            ElementTree.SubElement(case, "skipped" if result == "skipped" else "failure", message=message)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def cases_of(suite):
    for one in suite:
        yield from cases_of(one) if isinstance(one, unittest.TestSuite) else [one]


def chosen(suite):
    """The cases that GTEST_FILTER names; a filter with a star stands for all."""
    names = os.environ.get("GTEST_FILTER", "*").split(":")
    return suite if "*" in names else unittest.TestSuite(case for case in cases_of(suite) if case.id() in names)


def main():
    path = sys.argv[1]
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(path))
    spec.loader.exec_module(module)
    suite = chosen(unittest.defaultTestLoader.loadTestsFromModule(module))
    result = unittest.TextTestRunner(resultclass=Recorder, verbosity=2).run(suite)
    output = os.environ.get("GTEST_OUTPUT", "")
    if output.startswith("xml:"):
        write_xml(output.removeprefix("xml:"), result.outcomes)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
