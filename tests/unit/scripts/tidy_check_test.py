"""scripts/checks/tidy: finds, remembers what passed, and looks again when anything has changed."""

import json
import os
import subprocess

from small_tree import SmallTreeTest

GOOD = "int Twice(int number) { return 2 * number; }\n"
RULE = """
rule cc
  command = c++ -I.. -MD -MF $out.d -o $out -c $in
  depfile = $out.d
  deps = gcc
"""


class Tidy(SmallTreeTest):
    def setUp(self):
        super().setUp()
        self.copy(".clang-tidy")
        self.cache = os.path.join(self.root, "cache")
        self.build_folder = os.path.join(self.root, "build")

    def build(self, options="", files=("daemon/base/a.cc",)):
        self.write("build/build.ninja", RULE + "".join(f"build {number}.o: cc ../{path}\n" for number, path in enumerate(files)))
        sources = [os.path.join(self.root, path) for path in files]
        self.write("build/compile_commands.json", json.dumps([
            {"directory": self.build_folder, "file": source,
             "command": f"c++ -std=c++20 {options} -I{self.root} -o {number}.o -c {source}"}
            for number, source in enumerate(sources)]))
        subprocess.run(["ninja", "-C", self.build_folder], stdout=subprocess.DEVNULL, check=True)

    def run_tidy(self):
        return self.check("tidy", self.build_folder, XDG_CACHE_HOME=self.cache)

    def remembered(self):
        folder = os.path.join(self.cache, "profd", "tidy")
        return len(os.listdir(folder)) if os.path.isdir(folder) else 0

    def test_good_is_remembered(self):
        self.write("daemon/base/a.cc", GOOD)
        self.build()
        self.assertEqual(self.run_tidy(), (0, []))
        self.assertEqual(self.remembered(), 1)
        self.assertEqual(self.run_tidy(), (0, []))
        self.assertEqual(self.remembered(), 1)

    def test_an_option_that_only_gcc_knows_is_no_finding(self):
        self.write("daemon/base/a.cc", GOOD)
        self.build("-Werror -Wno-restrict")
        self.assertEqual(self.run_tidy(), (0, []))

    def test_bad_is_found_each_time(self):
        self.write("daemon/base/a.cc", GOOD + "int badly_named(int number) { return number; }\n")
        self.build()
        for _ in range(2):
            status, lines = self.run_tidy()
            self.assertEqual(status, 1)
            self.assertTrue(lines[0].startswith("daemon/base/a.cc:2:"), lines)
        self.assertEqual(self.remembered(), 0)

    def test_what_is_good_beside_a_bad_file_is_remembered(self):
        self.write("daemon/base/a.cc", GOOD)
        self.write("client/b.cc", "int badly_named(int number) { return number; }\n")
        self.build(files=("daemon/base/a.cc", "client/b.cc"))
        status, lines = self.run_tidy()
        self.assertEqual(status, 1)
        self.assertTrue(lines[0].startswith("client/b.cc:1:"), lines)
        self.assertEqual(self.remembered(), 1)

    def test_files_that_do_not_compile_together_are_checked(self):
        self.write("daemon/base/a.cc", GOOD)
        self.write("client/b.cc", GOOD + "int badly_named(int number) { return number; }\n")
        self.build(files=("daemon/base/a.cc", "client/b.cc"))
        status, lines = self.run_tidy()
        self.assertEqual(status, 1)
        self.assertTrue(lines[0].startswith("client/b.cc:2:"), lines)
        self.assertEqual(self.remembered(), 1)

    def test_a_changed_header_is_looked_at(self):
        self.write("daemon/base/a.h", "#pragma once\nint Once(int number);\n")
        self.write("daemon/base/a.cc", '#include "daemon/base/a.h"\n' + GOOD)
        self.build()
        self.assertEqual(self.run_tidy(), (0, []))
        self.write("daemon/base/a.h", "#pragma once\nint once(int number);\n")
        status, lines = self.run_tidy()
        self.assertEqual(status, 1)
        self.assertTrue(lines[0].startswith("daemon/base/a.h:2:"), lines)
