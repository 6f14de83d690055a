"""What a label costs the program that publishes it, in C and in Python: begin and end, no profiler running."""

import contextlib
import statistics
import subprocess
import sys
import time

C_COUNT = 2_000_000
PYTHON_COUNT = 200_000
GOAL_NS = 1_000


def per_turn(block):
    """ns of CPU time of one turn of a loop, whose own are left out."""
    begin = time.thread_time_ns()
    for _ in range(PYTHON_COUNT):
        pass
    empty = time.thread_time_ns()
    block(PYTHON_COUNT)
    return (time.thread_time_ns() - empty - (empty - begin)) / PYTHON_COUNT


def python(folder):
    """A round of this interpreter, which is one with nothing else to do."""
    sys.path.insert(0, folder)
    from profd_labels import label, trace  # pylint: disable=import-outside-toplevel

    def labels(count):
        for i in range(count):
            with label(step=i):
                pass

    def traces(count):
        for _ in range(count):
            with trace("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"):
                pass

    def nothing(count):
        for _ in range(count):
            with contextlib.nullcontext():
                pass

    labels(1_000)
    print(f"with nullcontext(), beside it\t{per_turn(nothing):.1f}")
    print(f"with label(step=i)\t{per_turn(labels):.1f}")
    print(f"with trace(...)\t{per_turn(traces):.1f}")
    with label(request=17), label(phase="forward"):
        print(f"with label(step=i), inside of two others\t{per_turn(labels):.1f}")


def main(program, folder, rounds):
    commands = {"C": [program, str(C_COUNT)], "Python": [sys.executable, __file__, folder]}
    seen = {}
    for _ in range(rounds):
        for language, command in commands.items():
            out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            for line in out.splitlines():
                name, number = line.split("\t")
                seen.setdefault((language, name), []).append(float(number))
    print("| a label, begin and end | median ns | min..max |\n| --- | ---: | ---: |")
    for (language, name), numbers in seen.items():
        print(f"| {language}: {name} | {statistics.median(numbers):,.0f} | {min(numbers):,.0f}..{max(numbers):,.0f} |")
    print(f"\nGoal: at most {GOAL_NS:,} ns.")
    return 0


if __name__ == "__main__":
    python(sys.argv[1])
