"""scripts/checks/shared_header: headers on which compilers agree, and such on which they do not."""

from small_tree import SmallTreeTest

HEADER = "#pragma once\n#include <linux/types.h>\n"


class SharedHeader(SmallTreeTest):
    def test_good(self):
        self.write("bpf/shared/events.h", HEADER + "struct profd_a { __u32 a; __u32 b; __u64 c; __u64 tail[]; };\n")
        self.write("bpf/thread/clock.bpf.h", "code of the BPF side, not shared\n")
        self.assert_passes("shared_header")

    def test_layout_that_depends_on_the_language(self):
        self.write("bpf/shared/events.h", HEADER + "#ifdef __cplusplus\n#define FIRST __u64 extra;\n#else\n"
                   "#define FIRST\n#endif\nstruct profd_a { FIRST __u64 a; };\n")
        self.assert_finds("shared_header", "bpf/shared/events.h:1", "g++ -std=c++20 disagrees")

    def test_layout_that_depends_on_the_target(self):
        self.write("bpf/shared/events.h", HEADER + "#ifdef __bpf__\n#define LAST __u64 b;\n#else\n"
                   "#define LAST __u32 b; __u32 c;\n#endif\nstruct profd_a { __u32 a; LAST };\n")
        self.assert_finds("shared_header", "bpf/shared/events.h:1", "gcc -x c disagrees")

    def test_header_that_does_not_stand_alone(self):
        self.write("bpf/shared/events.h", "#pragma once\nstruct profd_a { __u32 a; };\n")
        self.assert_finds("shared_header", "bpf/shared/events.h:1", "clang -target bpf")

    def test_header_that_is_not_cpp(self):
        self.write("bpf/shared/events.h", HEADER + "struct profd_a { __u32 class; };\n")
        self.assert_finds("shared_header", "bpf/shared/events.h:1", "g++ -std=c++20")

    def test_a_check_that_sees_nothing_fails(self):
        self.write("bpf/readme.md")
        self.assert_finds("shared_header", "bpf:1", "saw nothing")
