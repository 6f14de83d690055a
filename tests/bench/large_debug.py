"""python3 tests/bench/large_debug.py [BIN [MIB]]: a program with a gigabyte of debug information beside a small one.

Links one unit of MIB / 1024 of it again and again, runs that program and `inlines_program`, collects both at
once, and prints what memory profd takes, when the names of the large one are there, and what the small one lost.
BIN is the folder of profd and profctl. Needs root, gcc, and twice the room on the disk of $TMPDIR.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
FUNCTIONS = 16_000
SECONDS = 8

MAIN = """#include <cstdio>
namespace big {
inline __attribute__((always_inline)) void In(volatile unsigned& s) { for (unsigned i = 0; i < 100000; ++i) s = s + i; }
__attribute__((noinline)) void Out(volatile unsigned& s) { In(s); s = s + 1; }
}
int main() { volatile unsigned s = 0; std::puts("ready"); std::fflush(stdout); for (;;) big::Out(s); }
"""


def unit_text():
    yield "struct s { int a; long b; char *c; };\n"
    for i in range(FUNCTIONS):
        yield (f"__attribute__((used)) static int f{i}(int a, long b, struct s *c) {{ int x = a + {i}; long y = b * x; "
               f"for (int k = 0; k < x; ++k) {{ int z = k ^ {i}; y += z; }} c->b = y; return x; }}\n")


def debug_bytes(path):
    sizes = subprocess.run(["size", "-A", path], capture_output=True, text=True, check=True).stdout
    return sum(int(line.split()[1]) for line in sizes.splitlines() if line.startswith(".debug_info"))


def make_program(folder, wanted):
    def run(*command):
        subprocess.run(command, check=True, cwd=folder)
    with open(os.path.join(folder, "unit.c"), "w", encoding="utf-8") as file:
        file.writelines(unit_text())
    with open(os.path.join(folder, "main.cc"), "w", encoding="utf-8") as file:
        file.write(MAIN)
    # No .eh_frame: the tables of so much code would be what is measured.
    run("gcc", "-g", "-O0", "-fno-asynchronous-unwind-tables", "-c", "unit.c")
    run("g++", "-g", "-O2", "-c", "main.cc")
    copies = -(-wanted // debug_bytes(os.path.join(folder, "unit.o")))
    run("g++", "-o", "linked", "main.o", *["unit.o"] * copies)
    # Nor millions of symbols.
    run("objcopy", "-w", "--strip-symbol", "f[0-9]*", "linked", "large")
    os.remove(os.path.join(folder, "linked"))
    return os.path.join(folder, "large")


def memory_mib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        fields = dict(line.split(":", 1) for line in file)
    return tuple(int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))


def names(path):
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)["profile"]
    frames = profile["frames"]
    nodes = [{}] + profile["nodes"]

    def inlined(node):
        while node:
            if frames[nodes[node].get("frame", 0)].get("inlined"):
                return True
            node = nodes[node].get("parent", 0)
        return False
    samples = profile["samples"]
    start = int(profile["start_ns"])
    times = [int(at) - start for at, node in zip(samples["time_ns"], samples["node"]) if inlined(node)]
    first = f"{min(times) / 1e9:.2f} s" if times else "never"
    dropped = sum(int(count["count"]) for count in profile.get("dropped", []))
    return f"{len(samples['time_ns'])} samples, inlined functions from {first} on, {dropped} dropped"


def main():
    binaries = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build/bin")
    wanted = int(sys.argv[2] if len(sys.argv) > 2 else 1024) << 20
    with tempfile.TemporaryDirectory() as folder:
        large = make_program(folder, wanted)
        print(f".debug_info of the large program: {debug_bytes(large) >> 20} MiB")
        host = f"unix:{folder}/profd.sock"
        started = []
        try:
            for program in (large, os.path.join(binaries, "../testprogs/inlines_program")):
                started.append(subprocess.Popen([program], stdout=subprocess.PIPE))
                started[-1].stdout.readline()
            daemon = subprocess.Popen([os.path.join(binaries, "profd"), "--listen", host], stderr=subprocess.PIPE)
            started.append(daemon)
            while b"serving" not in daemon.stderr.readline():
                pass
            before = memory_mib(daemon.pid)[0]
            collects = [subprocess.Popen([os.path.join(binaries, "profctl"), "collect", "--host", host, "-q", "-p",
                                          str(program.pid), "-d", str(SECONDS), "-o", f"{folder}/{name}.json"])
                        for program, name in zip(started, ("large", "small"))]
            begin = time.monotonic()
            for collect in collects:
                collect.wait()
            took = time.monotonic() - begin
            now, peak = memory_mib(daemon.pid)
            print(f"memory of profd: {before:.0f} MiB before, {peak:.0f} MiB at most, {now:.0f} MiB after")
            print(f"both collections of {SECONDS} s: {took:.1f} s")
            for name in ("large", "small"):
                print(f"{name}: {names(f'{folder}/{name}.json')}")
        finally:
            for process in started:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
