"""A warning ends a build with PROFD_WERROR, in C++ and in BPF C, and no build without it."""

import subprocess

from small_tree import SmallTreeTest

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(small VERSION 1 LANGUAGES C CXX)
list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/scripts/cmake)
include(Warnings)
include(Precompiled)
include(BpfObject)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBBPF REQUIRED IMPORTED_TARGET libbpf)
set(PROFD_NO_PRECOMPILED TRUE)
profd_library(own SOURCES own.cc)
bpf_object(kernel kernel.bpf.c)
"""
OBJECTS = {"own.cc": "CMakeFiles/own.dir/own.cc.o", "kernel.bpf.c": "kernel/kernel.bpf.o"}
GOOD = "int Answer(void);\nint Answer(void) { return 42; }\n"
WARNED_OF = {"an unused variable": "int Answer(void);\nint Answer(void) { int unused = 1; return 42; }\n",
             "comparison of signs": "int Answer(int a, unsigned b);\nint Answer(int a, unsigned b) { return a < b; }\n"}


class Warnings(SmallTreeTest):
    def build(self, errors, source, text):
        """Exit status of the compilation of one source, and what it says."""
        self.copy("scripts/cmake/Warnings.cmake", "scripts/cmake/Precompiled.cmake", "scripts/cmake/BpfObject.cmake")
        self.write("CMakeLists.txt", PROJECT)
        for name in OBJECTS:
            self.write(name, text if name == source else GOOD)
        build = f"{self.root}/build"
        subprocess.run(["cmake", "-G", "Ninja", "-S", self.root, "-B", build, f"-DPROFD_WERROR={errors}"],
                       capture_output=True, check=True)
        run = subprocess.run(["ninja", "-C", build, OBJECTS[source]], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout

    def test_a_warning_fails(self):
        for source in OBJECTS:
            self.assertEqual(self.build("ON", source, GOOD)[0], 0)
            for what, text in WARNED_OF.items():
                with self.subTest(source=source, what=what):
                    status, said = self.build("ON", source, text)
                    self.assertNotEqual(status, 0)
                    self.assertIn("-Werror", said)

    def test_it_does_not_where_it_is_only_to_be_said(self):
        for source in OBJECTS:
            for what, text in WARNED_OF.items():
                with self.subTest(source=source, what=what):
                    status, said = self.build("OFF", source, text)
                    self.assertEqual(status, 0, said)
                    self.assertIn("warning:", said)
