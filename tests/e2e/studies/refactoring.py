"""Refactors files of the standard library with lib2to3 while another profiler watches: refactoring.py PROFILER FILES OUT.

PROFILER is cprofile or pyinstrument. What it saw goes to OUT as JSON: of each function its file, its name, its calls where they
are counted, and its time with what it calls, in ns; a recursion counts once. `elapsed` is the time in which it watched, `call` what a
call costs more under it.
"""

import collections
import contextlib
import glob
import json
import os
import sys
import time
import warnings

warnings.simplefilter("ignore")

from lib2to3.pgen2.parse import ParseError  # noqa: E402
from lib2to3.refactor import RefactoringTool, get_fixers_from_package  # noqa: E402

LARGER = 4  # files of the library that take longer


def work(files):
    tool = RefactoringTool(get_fixers_from_package("lib2to3.fixes"))
    library = os.path.dirname(os.__file__)
    for path in sorted(glob.glob(os.path.join(library, "*.py")), key=os.path.getsize)[-LARGER - files:-LARGER]:
        with open(path, encoding="utf-8") as source, contextlib.suppress(ParseError):  # it does not know the newest syntax
            tool.refactor_string(source.read() + "\n", path)


def empty():
    pass


def calls(number=200_000):
    begin = time.perf_counter()
    for _ in range(number):
        empty()
    return (time.perf_counter() - begin) / number


def with_cprofile(files):
    import cProfile
    import pstats
    bare = min(calls() for _ in range(3))
    profile = cProfile.Profile()
    profile.runcall(calls)  # its own tables grow
    call = min(cProfile.Profile().runcall(calls) for _ in range(3)) - bare
    begin = time.perf_counter()
    profile = cProfile.Profile()
    profile.runcall(work, files)
    elapsed = time.perf_counter() - begin
    rows = [(os.path.basename(file), name, count, total * 1e9)
            for (file, _, name), (_, count, _, total, _) in pstats.Stats(profile).stats.items()]
    return rows, elapsed, call


def with_pyinstrument(files):
    from pyinstrument import Profiler
    profiler = Profiler(interval=0.001, async_mode="disabled")
    begin = time.perf_counter()
    with profiler:
        work(files)
    elapsed = time.perf_counter() - begin
    totals = collections.Counter()
    for frames, seconds in profiler.last_session.frame_records:
        # Of a frame: its name, file and line, and attributes after them.
        for key in {tuple(frame.split("\x01")[0].split("\x00")[:2]) for frame in frames}:
            totals[key] += seconds * 1e9
    rows = [(os.path.basename(file), name, 0, total) for (name, file), total in totals.items()]
    return rows, elapsed, 0.0


def main():
    profiler, files, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    rows, elapsed, call = (with_cprofile if profiler == "cprofile" else with_pyinstrument)(files)
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"elapsed": elapsed * 1e9, "call": call * 1e9, "functions": rows}, file)


if __name__ == "__main__":
    main()
