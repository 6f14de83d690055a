"""Every check under scripts/checks/ accepts a small good tree and names the place in a bad one."""

import os

from small_tree import SmallTreeTest

BPF = "/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */\n"


class Format(SmallTreeTest):
    def test_good(self):
        self.copy(".clang-format")
        self.write("daemon/a.cc", "int main() { return 0; }\n")
        self.assert_passes("format")

    def test_bad(self):
        self.copy(".clang-format")
        self.write("daemon/a.cc", "int ok;\nint   main() {return 0;}\n")
        self.assert_finds("format", "daemon/a.cc:2", "not formatted")

    def test_test_data_is_left_alone(self):
        self.copy(".clang-format")
        self.write("tests/data/a.c", "int   a;\n")
        self.assert_passes("format")


class Layering(SmallTreeTest):
    def includes(self, path, *names):
        self.write(path, "".join(f"#include {name}\n" for name in names))

    def test_good(self):
        self.write("bpf/shared/events.h")
        self.write("bpf/kernel/types.h")
        self.write("bpf/maps.bpf.h")
        self.write("bpf/sample/switch.bpf.h")
        self.includes("bpf/maps.bpf.h", '"bpf/kernel/types.h"')
        self.includes("bpf/thread/clock.bpf.h", '"bpf/maps.bpf.h"')
        self.includes("bpf/profd.bpf.c", '"bpf/sample/switch.bpf.h"')
        self.write("daemon/base/result.h")
        self.includes("daemon/source/bpf/a.h", '"bpf/shared/events.h"', '"daemon/base/result.h"')
        self.includes("daemon/source/bpf/a.cc", '"daemon/source/bpf/a.h"', "<bpf/libbpf.h>", '"profd_bpf.skel.h"')
        self.includes("daemon/elf/file/b.cc", "<elfutils/libdw.h>", "<vector>")
        self.includes("daemon/server/grpc/service/c.cc", '"profd/v1/profile.pb.h"', "<grpcpp/grpcpp.h>",
                      '"daemon/source/bpf/a.h"')
        self.includes("daemon/main.cc", '"daemon/source/bpf/a.h"')
        self.write("client/format/exporter.h")
        self.write("client/system/terminal.h")
        self.includes("client/commands/c.cc", '"daemon/base/result.h"', '"client/format/exporter.h"',
                      '"profd/v1/profiler.grpc.pb.h"', '"client/system/terminal.h"')
        self.write("client/commands/d.h")
        self.includes("client/main.cc", '"client/commands/d.h"')
        self.assert_passes("layering")

    def test_folder_that_comes_later(self):
        for user, used in (("daemon/wire", "daemon/process"), ("daemon/elf/file", "daemon/elf/debug"),
                           ("daemon/source/bpf", "daemon/source/sessions"), ("daemon/pipeline", "daemon/server"),
                           ("client/text", "client/screens/top"), ("bpf/thread", "bpf/sample")):
            with self.subTest(user):
                self.write(f"{used}/x.h")
                self.includes(f"{user}/a.h", "<vector>", f'"{used}/x.h"')
                self.assert_finds("layering", f"{user}/a.h:2", "comes before")

    def test_folder_without_a_place(self):
        self.write("daemon/base/result.h")
        for folder in ("daemon/extra", "daemon/elf/extra", "daemon/base/extra", "daemon"):
            with self.subTest(folder):
                self.includes(f"{folder}/a.cc", '"daemon/base/result.h"')
                self.assert_finds("layering", f"{folder}/a.cc:1", "does not know")

    def test_folder_may_not_include_the_composition_root(self):
        self.write("daemon/app/daemon.h")
        self.includes("daemon/server/grpc/service/a.cc", '"daemon/app/daemon.h"')
        self.assert_finds("layering", "daemon/server/grpc/service/a.cc:1", "may not include")

    def test_client_and_daemon_stay_apart(self):
        self.write("daemon/source/a.h")
        self.write("bpf/shared/events.h")
        self.write("client/text/b.h")
        self.includes("client/commands/c.cc", '"daemon/source/a.h"')
        self.includes("client/commands/d.cc", '"bpf/shared/events.h"')
        self.includes("daemon/server/e.cc", '"client/text/b.h"')
        self.assert_finds("layering", "client/commands/c.cc:1", "may not include")
        self.assert_finds("layering", "client/commands/d.cc:1", "may not include")
        self.assert_finds("layering", "daemon/server/e.cc:1", "may not include")

    def test_only_what_bpf_shares_reaches_the_daemon(self):
        self.write("bpf/kernel/types.h")
        self.includes("daemon/source/bpf/a.cc", '"bpf/kernel/types.h"')
        self.assert_finds("layering", "daemon/source/bpf/a.cc:1", "may not include")

    def test_libraries_have_one_owner(self):
        for header, text in (("bpf/libbpf.h", "libbpf"), ("bpf/bpf.h", "libbpf"), ("gelf.h", "libelf"),
                             ("elfutils/libdw.h", "libelf"), ("google/protobuf/message.h", "protobuf"),
                             ("microhttpd.h", "libmicrohttpd"), ("openssl/x509.h", "OpenSSL"), ("re2/re2.h", "RE2")):
            with self.subTest(header):
                self.includes("daemon/symbolize/live/a.cc", f"<{header}>")
                self.assert_finds("layering", "daemon/symbolize/live/a.cc:1", text)

    def test_protos_skeleton_and_kernel_code(self):
        self.write("bpf/thread/clock.bpf.h")
        for folder in ("aggregate", "pipeline", "server", "server/http"):
            with self.subTest(folder):
                self.includes(f"daemon/{folder}/a.cc", '"profd/v1/profile.pb.h"')
                self.assert_finds("layering", f"daemon/{folder}/a.cc:1", "protos stay")
        self.includes("daemon/process/b.cc", '"profd_bpf.skel.h"')
        self.includes("daemon/source/bpf/c.cc", '"bpf/thread/clock.bpf.h"')
        self.assert_finds("layering", "daemon/process/b.cc:1", "skeleton")
        self.assert_finds("layering", "daemon/source/bpf/c.cc:1", "BPF programs")

    def test_paths_and_own_header_first(self):
        self.write("daemon/base/a.h")
        self.includes("daemon/base/b.cc", '"a.h"')
        self.includes("daemon/base/a.cc", "<vector>", '"daemon/base/a.h"')
        self.assert_finds("layering", "daemon/base/b.cc:1", "relative to the root")
        self.assert_finds("layering", "daemon/base/a.cc:1", "first include")


class BpfCalls(SmallTreeTest):
    def test_good(self):
        self.write("bpf/a.bpf.h", "// bpf_map_update_elem() would lock\n/* bpf_spin_lock() */\nx = bpf_map_lookup_elem(&map, &key);\n")
        self.write("daemon/source/b.cc", "::bpf_map_update_elem(fd, &key, &value, 0);\n")
        self.assert_passes("bpf_calls")

    def test_bad(self):
        for call in ("bpf_map_update_elem", "bpf_map_delete_elem", "bpf_map_push_elem", "bpf_spin_lock", "bpf_timer_init"):
            for path in ("bpf/a.bpf.h", "bpf/a.bpf.c"):
                with self.subTest(call=call, path=path):
                    self.write(path, f"int a;\n  {call}(&map, &key);\n")
                    self.assert_finds("bpf_calls", f"{path}:2", call)


class FileSize(SmallTreeTest):
    def test_limits(self):
        self.write("daemon/a.h", "\n" * 250)
        self.write("daemon/a.cc", "\n" * 700)
        self.write("bpf/thread/clock.bpf.h", "\n" * 700)
        for i in range(40):
            self.write(f"tests/data/view/{i}.txt")
        self.assert_passes("file_size")

    def test_too_long(self):
        for path, lines in (("daemon/a.h", 251), ("daemon/a.cc", 701), ("bpf/c.bpf.h", 701),
                            ("scripts/demo", 701), ("daemon/CMakeLists.txt", 61), ("bpf/shared/events.h", 401)):
            with self.subTest(path):
                self.write(path, "\n" * lines)
                self.assert_finds("file_size", f"{path}:{lines}", "split it")

    def test_crowded_folders(self):
        for i in range(26):
            self.write(f"daemon/elf/{i}.h")
        status, lines = self.check("file_size")
        self.assertEqual((status, lines), (0, ["daemon/elf:26: warning: 26 files, 25 are better"]))
        for i in range(26, 31):
            self.write(f"daemon/elf/{i}.h")
        self.assert_finds("file_size", "daemon/elf:31", "make folders")


class TestNaming(SmallTreeTest):
    CASE = "TEST(A, B) {}\n"

    def test_good(self):
        self.write("daemon/base/x.h")
        self.write("tests/unit/base/x_test.cc", self.CASE)
        self.write("tests/unit/base/CMakeLists.txt", "profd_test(x SOURCES x_test.cc LABEL unit)\n")
        self.write("tests/root/y_root_test.cc", self.CASE)
        self.write("tests/root/CMakeLists.txt", "profd_test(y SOURCES y_root_test.cc LABEL root)\n")
        self.assert_passes("test_naming")

    def test_wrong_names_and_places(self):
        for path, text in (("tests/unit/base/x.cc", "not called *_test.cc"),
                           ("daemon/base/x_test.cc", "tests live in"),
                           ("tests/root/x_test.cc", "called *_root_test.cc"),
                           ("tests/unit/base/x_root_test.cc", "lives in tests/root/"),
                           ("tests/unit/nowhere/x_test.cc", "mirrors no folder")):
            with self.subTest(path):
                self.write(path, self.CASE)
                self.assert_finds("test_naming", f"{path}:1", text)

    def test_forgotten(self):
        self.write("tests/rpc/x_test.cc", self.CASE)
        self.write("tests/rpc/CMakeLists.txt", "profd_test(y SOURCES other_x_test.cc LABEL rpc)\n")
        self.assert_finds("test_naming", "tests/rpc/x_test.cc:1", "never runs")

    def test_named_by_the_list_of_another_folder(self):
        self.write("client/format/CMakeLists.txt", "set(exporters\n  folder/x)\n")
        self.write("tests/unit/client/format/CMakeLists.txt", "list(APPEND tests ${exporter}_test.cc)\n")
        self.write("tests/unit/client/format/x_test.cc", self.CASE)
        self.assert_passes("test_naming")
        self.write("tests/unit/client/format/y_test.cc", self.CASE)
        self.assert_finds("test_naming", "tests/unit/client/format/y_test.cc:1", "never runs")

    def test_without_a_case(self):
        self.write("tests/rpc/x_test.cc", "int main() {}\n")
        self.assert_finds("test_naming", "tests/rpc/x_test.cc:1", "no test case")


class TestPrograms(SmallTreeTest):
    SETUP = "test_packages=(\n  # jq and dwz\n  jq binutils\n)\nwanted+=(nodejs npm)\n"
    LOOKS = ('if (FindProgram("{}").empty())', '@unittest.skipIf(shutil.which("{}") is None, "")',
             'Run({{"sh", "-c", "command -v {}"}})', '::access("/usr/bin/{}", X_OK)', 'Run({{"{}", "--version"}})',
             'Run({{"sh", "-c", "jq --version && {} -h"}})', 'needed("jq", "{}")')

    def setUp(self):
        super().setUp()
        self.write("scripts/setup", self.SETUP)

    def test_good(self):
        self.write("tests/e2e/a_test.cc", "".join(f"{look.format(program)}\n" for look in self.LOOKS
                                                  for program in ("jq", "readelf", "node", "docker")))
        self.assert_passes("test_programs")

    def test_what_nothing_installs(self):
        for program, package in (("dwz", "dwz"), ("xz", "xz-utils"), ("frobnicate", "frobnicate")):
            self.write("tests/e2e/a_test.cc", "".join(look.format(program) + "\n" for look in self.LOOKS))
            status, lines = self.check("test_programs")
            self.assertEqual(status, 1)
            self.assertEqual(sorted(line.split(", and")[0] for line in lines),
                             [f"tests/e2e/a_test.cc:{number}: {program}: scripts/setup installs no package {package}"
                              for number in range(1, len(self.LOOKS) + 1)])


class Licences(SmallTreeTest):
    def setUp(self):
        super().setUp()
        for path in ("LICENSE", "LICENSES/GPL-2.0.txt", "LICENSES/BSD-2-Clause.txt"):
            self.write(path, "text\n")

    def test_good(self):
        self.write("bpf/a.h", BPF)
        self.write("proto/a.proto", "// SPDX-License-Identifier: Apache-2.0\n")
        self.write("daemon/a.cc", "int a;\n")
        self.assert_passes("licences")

    def test_bad(self):
        self.write("bpf/none.c", "int a;\n")
        self.write("bpf/other.h", "// SPDX-License-Identifier: Apache-2.0\n")
        self.write("daemon/copied.cc", "\n" + BPF)
        self.assert_finds("licences", "bpf/none.c:1", "lacks SPDX")
        self.assert_finds("licences", "bpf/other.h:1", "must be GPL-2.0 OR BSD-2-Clause")
        self.assert_finds("licences", "daemon/copied.cc:2", "must be Apache-2.0")

    def test_missing_text(self):
        os.remove(os.path.join(self.root, "LICENSES/BSD-2-Clause.txt"))
        self.assert_finds("licences", "LICENSES/BSD-2-Clause.txt:1", "missing")


class Readmes(SmallTreeTest):
    TABLE = "| file | what |\n| --- | --- |\n"

    def test_good(self):
        for path in ("daemon/base/a.h", "daemon/base/a.cc", "daemon/base/b.h", "daemon/base/c.cc"):
            self.write(path)
        self.write("daemon/base/README.md", self.TABLE + "| `a.{h,cc}` | x |\n| `c` | z |\n")
        self.write("daemon/README.md", self.TABLE + "| `base/` | x |\n")
        self.write("tests/data/view/a.txt")
        self.write("tests/data/README.md", self.TABLE + "| `view/` | x |\n")
        self.write("tests/unit/base/a_test.cc")
        self.write("tests/README.md", self.TABLE + "| `data/` | x |\n| `unit/` | x |\n")
        self.assert_passes("readmes")

    def test_no_readme(self):
        for path in ("daemon/base/a.h", "tests/root/base/a_test.cc"):
            with self.subTest(path):
                self.write(path)
                self.assert_finds("readmes", f"{os.path.dirname(path)}/README.md:1", "missing")

    def test_folder_that_is_not_named(self):
        self.write("daemon/elf/file/a.h")
        self.write("daemon/elf/file/README.md", "ELF files.\n")
        self.write("daemon/elf/README.md", self.TABLE + "| `debug/` | x |\n")
        self.assert_finds("readmes", "daemon/elf/README.md:1", "does not name the folder file/")
        self.assert_finds("readmes", "daemon/elf/README.md:3", "debug/, which is not there")

    def test_one_that_was_formatted_as_code(self):
        self.write("daemon/base/README.md", "#daemon / base\n\nWhat all use;\npure.\n")
        self.assert_finds("readmes", "daemon/base/README.md:1", "a formatter of code")

    def test_stale_names_of_any_kind(self):
        for name in ("gone.h", "gone.mjs", "gone.cmake", "gone.py", "gone/"):
            with self.subTest(name):
                self.write("daemon/base/README.md", self.TABLE + f"| `{name}` | x |\n")
                self.assert_finds("readmes", "daemon/base/README.md:3", f"{name}, which is not there")
