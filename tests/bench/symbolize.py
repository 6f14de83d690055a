"""scripts/bench symbolize: 10,000 random function addresses of one file, here and with others."""

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

DEFAULT_FILE = "/lib/x86_64-linux-gnu/libc.so.6"


def debug_file(path):
    """The file with the debug information of `path`: itself, or the one of its build id."""
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout
    if ".debug_info" in sections:
        return path
    counters = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
    for line in counters.splitlines():
        if "Build ID:" in line:
            build_id = line.split()[-1]
            found = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
            if os.path.exists(found):
                return found
    sys.exit(f"bench: no debug information of {path} here; install its debug package, or name another --file")


def function_addresses(path, count):
    symbols = subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True).stdout
    functions = []
    for line in symbols.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "tTwWiu" and int(fields[1], 16) > 0:
            functions.append((int(fields[0], 16), int(fields[1], 16)))
    chance = random.Random(4711)
    return [start + chance.randrange(size) for start, size in chance.choices(functions, k=count)]


def timed(command, addresses):
    """Seconds, CPU seconds and peak MB of one run; these addresses on standard input, or none where they are arguments."""
    with tempfile.TemporaryFile("w+") as text:
        text.writelines(f"0x{address:x}\n" for address in addresses)
        text.seek(0)
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=text, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ours(program, path, addresses):
    with tempfile.NamedTemporaryFile("w", suffix=".addresses") as file:
        file.write("".join(f"{address:x}\n" for address in addresses))
        file.flush()
        out = subprocess.run([program, path, file.name], capture_output=True, text=True, check=True).stdout
    return {name: float(value) for name, value in (line.split() for line in out.splitlines())}


def command_for(name, command, addresses):
    return command + [f"0x{address:x}" for address in addresses] if name == "blazecli" else command


def main(program, path, rounds):
    path = os.path.realpath(path or DEFAULT_FILE)
    if not os.path.exists(program):
        sys.exit(f"bench: {program} is missing; cmake --build build --target bench_symbolize")
    debug = debug_file(path)
    addresses = function_addresses(debug, 10_000)
    others = {
        "eu-addr2line -f -i": ["eu-addr2line", "-f", "-i", "-e", debug],
        "addr2line -f -i": ["addr2line", "-f", "-i", "-e", debug],
        "llvm-symbolizer-16": ["llvm-symbolizer-16", "--obj=" + debug],
        "blazecli": ["blazecli", "symbolize", "elf", "--path", debug],
    }
    print(f"{path}, debug information {os.path.getsize(debug) / 1e6:.1f} MB in {debug}")
    print(f"{'':22}{'first address':>14}{'10,000 cold':>14}{'of it CPU':>12}{'peak':>10}")
    rows = {}
    for _ in range(rounds):  # interleaved: the machine changes from minute to minute
        mine = ours(program, path, addresses)
        rows.setdefault("profd", []).append((mine, mine["first_s"], mine["cold_s"], mine["cold_cpu_s"], mine["peak_mb"]))
        for name, command in others.items():
            if shutil.which(command[0]):
                first, _, _ = timed(command_for(name, command, addresses[:1]), addresses[:1])
                rows.setdefault(name, []).append((None, first, *timed(command_for(name, command, addresses), addresses)))
    for name in ["profd", *others]:
        if name not in rows:
            print(f"{name:22}{'not installed':>14}")
            continue
        _, first, cold, cpu, peak = map(list, zip(*rows[name]))
        print(f"{name:22}{statistics.median(first):>12.3f} s{statistics.median(cold):>12.3f} s"
              f"{statistics.median(cpu):>10.3f} s{max(peak):>7.0f} MB")
    found = [row[0] for row in rows["profd"]]
    best = {name: statistics.median(result[name] for result in found) for name in found[0]}
    print(f"named {best['named']:,.0f} of {best['addresses']:,.0f}, {best['inlined']:,.0f} inlined frames")
    print(f"known addresses: {best['known_per_s']:,.0f} a second as samples have them, "
          f"{best['cached_per_s']:,.0f} with all their text copied")
    return 0
